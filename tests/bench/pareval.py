#!/usr/bin/env python3
"""pareval.py CHECKOUT --model MODEL.gguf [options] -- score completions of ParEval's serial and OpenMP prompts.

CHECKOUT is a clone of parallelcodefoundry/ParEval. Each prompt is completed to the end of its function, built with
ParEval's own drivers and validated by them at reduced problem sizes. Reports, for each method:

  build@1, pass@1   the first choice builds; its results are valid
  build@n, pass@n   any candidate does
  open              first choices that leave their function open
  trivial           valid first choices without a statement that does work
  seconds           median time per prompt

Methods: `greedy` (one candidate), `samples` (--n candidates, ranked by their checks), `auto` (--samples auto), and with
--server URL, a llama.cpp server that holds the same model: `llama-greedy` and `llama-samples` (cut at the end of the
function; its pass@1 is the mean over candidates), and `llama-chat` (greedy; the model's chat template asks for the
function, and the code block of the answer counts). --half 0 or 1 takes every second problem: develop on one half.
Generated programs run under bubblewrap without network. --out FILE keeps all candidates and scores as JSON lines.
"""
import argparse, json, os, re, statistics, subprocess, sys, tempfile, time, urllib.request

BUILD_SECONDS, RUN_SECONDS = 60, 20
FLAGS = {"serial": ["-DUSE_SERIAL"], "omp": ["-DUSE_OMP", "-fopenmp"]}


def options():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("checkout")
    p.add_argument("--model", required=True)
    p.add_argument("--method", action="append", default=[], help="may be given several times; default: all that can run")
    p.add_argument("--server", help="URL of a llama.cpp server")
    p.add_argument("--n", type=int, default=8)
    p.add_argument("--half", type=int, choices=[0, 1])
    p.add_argument("--limit", type=int, default=0, help="only the first prompts")
    p.add_argument("--parallelism", default="serial,omp")
    p.add_argument("--tokens", type=int, default=512, help="limit of llama.cpp, and of hpccoder where it has no budget")
    p.add_argument("--options", default="", help="further options of `hpccoder complete`")
    p.add_argument("--out")
    p.add_argument("--hpccoder", default="build/release/hpccoder")
    return p.parse_args()


def strip(text):
    """Code with comments, strings and character constants blanked."""
    blank = lambda m: re.sub(r"[^\n]", " ", m.group(0))
    return re.sub(r"//[^\n]*|/\*.*?(?:\*/|\Z)|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", blank, text, flags=re.S)


def function_end(text):
    """Where the function that is open at the start of `text` ends; None if it stays open."""
    depth = 1
    for at, c in enumerate(strip(text)):
        depth += (c == "{") - (c == "}")
        if depth == 0:
            return at + 1
    return None


def is_trivial(text):
    body = strip(text)
    end = function_end(text)
    body = body[: end - 1] if end else body
    return not re.search(r"[-+*/%&|^]?=[^=]|\+\+|--|\b(for|while|do)\b|\.\w+\(|\b(?!return\b|if\b)\w+\s*\(", body)


# ---- candidates -----------------------------------------------------------------------------


def ours(o, words):
    def complete(prompt):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "generated.cpp")
            open(path, "w").write(prompt)
            flags = ["--", "-std=c++17"] + (["-fopenmp"] if "omp.h" in prompt else [])
            command = [o.hpccoder, "complete", path, "--json", "--stop", "function", "--model", o.model, *words, *o.options.split(), *flags]
            out = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if out.returncode not in (0, 1):
            sys.exit(f"{' '.join(command)}: {out.stderr}")
        return [{"text": c["text"], "finish": c["finish"], "checks": c["checks"]} for c in json.loads(out.stdout)["completions"]]

    return complete


def llama(o, n):
    def complete(prompt):
        found = []
        for k in range(n):
            body = {"prompt": prompt, "n_predict": o.tokens, "temperature": 0 if n == 1 else 0.6, "seed": k, "cache_prompt": True, "top_k": 0, "top_p": 1, "min_p": 0}
            request = urllib.request.Request(o.server + "/completion", json.dumps(body).encode(), {"Content-Type": "application/json"})
            text = json.load(urllib.request.urlopen(request, timeout=600))["content"]
            found.append({"text": text[: function_end(text)]})
        return found

    return complete


def llama_chat(o):
    """The task as a message; the body that follows the signature in the code block of the answer."""
    def complete(prompt):
        task = f"Complete this C++ function. Answer with the whole function in one code block and nothing else.\n\n```cpp\n{prompt}\n```"
        body = {"messages": [{"role": "user", "content": task}], "max_tokens": o.tokens, "temperature": 0}
        request = urllib.request.Request(o.server + "/v1/chat/completions", json.dumps(body).encode(), {"Content-Type": "application/json"})
        answer = json.load(urllib.request.urlopen(request, timeout=600))["choices"][0]["message"]["content"]
        block = re.search(r"```\w*\n(.*?)(?:```|\Z)", answer, re.S)
        text = block.group(1) if block else answer
        name = re.search(r"(\w+)\s*\([^()]*\)\s*\{\s*\Z", prompt)
        start = re.search(r"\b%s\s*\([^{;]*\)\s*\{" % re.escape(name.group(1)), text) if name else None
        text = text[start.end():] if start else text
        return [{"text": text[: function_end(text)]}]

    return complete


def methods(o):
    all = {"greedy": ours(o, ["--samples", "1"]), "samples": ours(o, ["--samples", str(o.n)]), "auto": ours(o, ["--samples", "auto"])}
    if o.server:
        all |= {"llama-greedy": llama(o, 1), "llama-samples": llama(o, o.n), "llama-chat": llama_chat(o)}
    chosen = o.method or [m for m in all if m != "auto"]
    return {m: all[m] for m in chosen}


# ---- scores ---------------------------------------------------------------------------------


def size_of(sizes, name, kind):
    exponent = int(re.search(r"<<\s*(\d+)", sizes[name][kind]).group(1))
    return f"(1<<{max(5, min(10, exponent - 4))})"


def source_of(prompt, text):
    """As ParEval's wrapper writes it: the function is marked so that the driver cannot inline it."""
    head, last = prompt.rsplit("\n", 1)
    words = last.split(" ")
    words.insert(1, "NO_INLINE")
    return head + "\n" + " ".join(words) + "\n" + text


def score(drivers, sizes, task, candidate):
    kind, name = task["parallelism_model"], task["name"]
    with tempfile.TemporaryDirectory() as folder:
        open(os.path.join(folder, "generated-code.hpp"), "w").write(source_of(task["prompt"], candidate["text"]))
        program = os.path.join(folder, "a.out")
        build = ["g++", "-std=c++17", "-O1", f"-I{drivers}/cpp", f"-I{drivers}/cpp/models", *FLAGS[kind], f"-I{folder}",
                 f"-DDRIVER_PROBLEM_SIZE={size_of(sizes, name, kind)}", f"{drivers}/cpp/models/{kind}-driver.cc",
                 f"{drivers}/cpp/benchmarks/{task['problem_type']}/{name}/cpu.cc", "-o", program]
        try:
            built = subprocess.run(build, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=BUILD_SECONDS).returncode == 0
        except subprocess.TimeoutExpired:
            built = False
        passed = built and is_valid(folder, program, ["2"] if kind == "omp" else [])
    left_open = function_end(candidate["text"]) is None
    candidate |= {"build": built, "pass": passed, "open": left_open, "trivial": passed and is_trivial(candidate["text"])}


def is_valid(folder, program, arguments):
    """The driver validates before it measures: its first line is enough."""
    box = ["bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--unshare-net", "--unshare-pid", "--die-with-parent", "timeout", str(RUN_SECONDS)]
    out = subprocess.run([*box, program, *arguments], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, errors="replace")
    return out.returncode == 0 and "Validation: PASS" in out.stdout


def report(method, rows, n):
    first = [r["candidates"][0] for r in rows]
    share = lambda key, of: sum(c[key] for c in of) / len(of)
    any_of = lambda key: sum(any(c[key] for c in r["candidates"]) for r in rows) / len(rows)
    if method == "llama-samples":
        one = lambda key: statistics.mean(share(key, r["candidates"]) for r in rows)
    else:
        one = lambda key: share(key, first)
    seconds = statistics.median(r["seconds"] for r in rows)
    print(f"{method:14} {len(rows):4} {one('build'):8.3f} {any_of('build'):8.3f} {one('pass'):7.3f} {any_of('pass'):7.3f}"
          f" {sum(c['open'] for c in first):5} {sum(c['trivial'] for c in first):8} {seconds:8.2f}", flush=True)


def main():
    o = options()
    drivers = os.path.join(o.checkout, "drivers")
    sizes = json.load(open(os.path.join(drivers, "problem-sizes.json")))
    tasks = [t for t in json.load(open(os.path.join(o.checkout, "prompts", "generation-prompts.json")))
             if t["parallelism_model"] in o.parallelism.split(",")]
    problems = sorted({t["name"] for t in tasks})
    if o.half is not None:
        tasks = [t for t in tasks if problems.index(t["name"]) % 2 == o.half]
    tasks = tasks[: o.limit or None]
    cache, out = {}, open(o.out, "w") if o.out else None
    print(f"{'method':14} {'n':>4} {'build@1':>8} {'build@n':>8} {'pass@1':>7} {'pass@n':>7} {'open':>5} {'trivial':>8} {'seconds':>8}")
    for method, complete in methods(o).items():
        rows = []
        for task in tasks:
            start = time.monotonic()
            found = complete(task["prompt"]) or [{"text": ""}]
            row = {"method": method, "name": task["name"], "model": task["parallelism_model"], "seconds": time.monotonic() - start, "candidates": found}
            for c in found:
                key = (task["name"], task["parallelism_model"], c["text"])
                if key not in cache:
                    score(drivers, sizes, task, c)
                    cache[key] = {k: c[k] for k in ("build", "pass", "open", "trivial")}
                c |= cache[key]
            rows.append(row)
            if out:
                print(json.dumps(row), file=out, flush=True)
        report(method, rows, o.n)


if __name__ == "__main__":
    main()
