#!/usr/bin/env python3
"""llama_complete.py MODEL.gguf PROGRAM -- a completion by `hpccoder complete` and by llama.cpp's llama-completion
(PROGRAM), in turns: whole processes, from before they are started until they have ended.

The file has a tokenizer; `hpccoder export --to gguf` makes such a one. Both go on with the beginning of --source,
greedily and without guessing ahead, for 1 and for --tokens tokens, so that the difference is the time from the first token on.
llama.cpp is told to leave out its warming up and its chat, and to go on behind an end. With --packed FILE hpccoder maps
that file, which is of the same model. Prints medians and ratios; above 1 hpccoder is faster. Exit code 1 if hpccoder takes more than half of llama.cpp's
time for --tokens tokens.
"""
import argparse, json, os, statistics, subprocess, sys, tempfile, time


def options():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("model")
    p.add_argument("program")
    p.add_argument("--packed")
    p.add_argument("--source", default="pilot/demo.c")
    p.add_argument("--bytes", type=int, default=200)
    p.add_argument("--tokens", type=int, default=32)
    p.add_argument("--turns", type=int, default=9)
    p.add_argument("--threads", type=int, default=os.cpu_count())
    p.add_argument("--hpccoder", default="build/release/hpccoder")
    return p.parse_args()


def timed(words):
    start = time.monotonic()
    out = subprocess.run(words, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    return time.monotonic() - start, out


def main():
    o = options()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "prompt.c")
        open(path, "w").write(open(o.source).read()[: o.bytes].rstrip())

        def ours(n):
            return [o.hpccoder, "complete", path, "--raw", "--model", o.packed or o.model, "--temperature", "0", "-n", str(n),
                    "--draft-tokens", "0", "-j", str(o.threads), "--cache", "bf16", "--json", "--check", "none"]

        def theirs(n):
            return [o.program, "-m", o.model, "-f", path, "-n", str(n), "--temp", "0", "--no-warmup", "-no-cnv", "--ignore-eos",
                    "-t", str(o.threads), "-c", "1024", "--no-display-prompt", "--simple-io"]

        made = json.loads(timed(ours(o.tokens))[1])["completions"][0]["tokens"]
        if made != o.tokens:
            sys.exit(f"the model ends after {made} tokens: choose another text")
        times = {(who, n): [] for who in (ours, theirs) for n in (1, o.tokens)}
        for turn in range(o.turns + 1):
            for (who, n), list in times.items():
                list.append(timed(who(n))[0])
    middle = {key: 1000 * statistics.median(list[1:]) for key, list in times.items()}
    for what, a, b in [
        (f"{o.tokens} tokens, from the start", middle[ours, o.tokens], middle[theirs, o.tokens]),
        ("the first token, from the start", middle[ours, 1], middle[theirs, 1]),
        (f"{o.tokens - 1} tokens behind the first", middle[ours, o.tokens] - middle[ours, 1], middle[theirs, o.tokens] - middle[theirs, 1]),
    ]:
        print(f"{what:32} {a:7.1f} ms, llama.cpp {b:7.1f} ms: {b / a:.2f}")
    sys.exit(2 * middle[ours, o.tokens] > middle[theirs, o.tokens])


if __name__ == "__main__":
    main()
