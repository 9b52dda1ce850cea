#!/usr/bin/env python3
"""first_token.py [options] -- from the start of a process to the first token of a completion, and its floor.

A file of --tokens tokens, the beginning of --source, is completed in its middle by `hpccoder complete -n 1`; timed is
the whole process, from before it is started until it has ended, which is longer than to the first token. The floor is
what the machine allows the tokens that the model is shown (a model that takes fewer is shown as many as it takes):
multiply-adds of its matrices by the rate of the unit that multiplies such weights, those of attention by f32's, and
reading the file's matrices once, all as `hpccoder bench decode` measures them between the runs. Exit code 1 if the
median is more than 1.3 times the floor and --start ms.
"""
import argparse, json, os, re, statistics, subprocess, sys, tempfile, time


def options():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--model", default="share/pilot.gguf")
    p.add_argument("--source", default="tests/model/gguf_pieces.c")
    p.add_argument("--tokens", type=int, default=2000)
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--runs", type=int, default=5, help="of a round")
    p.add_argument("--start", type=float, default=30)
    p.add_argument("--hpccoder", default="build/release/hpccoder")
    return p.parse_args()


def output(*words, **more):
    return subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True, **more).stdout


def cut(o, path):
    """The first lines that have so many tokens together; their number, and that of tokens."""
    lines, count = open(o.source).readlines(), 0
    low, high = 1, len(lines)
    while low < high:
        middle = (low + high + 1) // 2
        open(path, "w").write("".join(lines[:middle]))
        count = len(output(o.hpccoder, "tokenizer", "encode", path, "--model", o.model).split())
        low, high = (middle, high) if count <= o.tokens else (low, middle - 1)
    open(path, "w").write("".join(lines[:low]))
    return low, len(output(o.hpccoder, "tokenizer", "encode", path, "--model", o.model).split())


def limits(o, weights):
    """Multiply-adds counted twice, and bytes, a second."""
    text = output(o.hpccoder, "bench", "decode", "--shape", "5m", "--weights", weights, "--prompt", "256", "--tokens", "8",
                  "--turns", "1")
    return float(re.search(r"\((\d+) GOP/s\)", text)[1]) * 1e9, float(re.search(r"\(([\d.]+) GB/s\)", text)[1]) * 1e9


def shape(o, folder):
    subprocess.run([o.hpccoder, "import", o.model, "--out", folder], check=True, stdout=subprocess.DEVNULL)
    c = json.load(open(os.path.join(folder, "config.json")))
    head = c.get("head_dim") or c["hidden_size"] // c["num_attention_heads"]
    queries, keys = head * c["num_attention_heads"], head * c.get("num_key_value_heads", c["num_attention_heads"])
    matrices = c["hidden_size"] * (2 * queries + 2 * keys + 3 * c["intermediate_size"]) * c["num_hidden_layers"]
    return matrices, c["vocab_size"] * c["hidden_size"], queries * c["num_hidden_layers"]


def main():
    o = options()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "file.c")
        lines, tokens = cut(o, path)
        words = [o.hpccoder, "complete", path, "--at", str(lines // 2), "-n", "1", "--model", o.model]
        words += ["--prompt-seconds", "0"]
        told = subprocess.run(words + ["-v"], check=True, capture_output=True, text=True).stderr
        shown = int(re.search(r"prompt of (\d+) tokens", told)[1])
        matrices, head, width = shape(o, os.path.join(folder, "model"))
        times, fast, plain, read = [], [], [], []
        for _ in range(o.rounds):
            rate, bandwidth = limits(o, "q8_0")
            fast.append(rate)
            read.append(bandwidth)
            plain.append(limits(o, "f32")[0])
            for _ in range(o.runs):
                start = time.monotonic()
                subprocess.run(words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                times.append(time.monotonic() - start)
    products = 2.0 * shown * matrices + 2.0 * head
    attention = 2.0 * shown * shown * width  # each token looks at those before it
    parts = [products / max(fast), attention / max(plain), os.path.getsize(o.model) / max(read)]
    floor, took = 1000 * sum(parts), 1000 * statistics.median(times)
    most = 1.3 * floor + o.start
    print(f"file of {tokens} tokens, of which the model is shown {shown}")
    print("floor %.1f ms: matrices %.1f (%.0f GOP/s), attention %.1f (%.0f GFLOP/s), reading %.1f (%.0f GB/s)" % (
        floor, 1000 * parts[0], max(fast) / 1e9, 1000 * parts[1], max(plain) / 1e9, 1000 * parts[2], max(read) / 1e9))
    print("process %.1f ms (median of %d; %.1f to %.1f); 1.3 floors and %.0f ms are %.1f: %s" % (
        took, len(times), 1000 * min(times), 1000 * max(times), o.start, most, "within" if took <= most else "over"))
    sys.exit(took > most)


if __name__ == "__main__":
    main()
