#!/usr/bin/env python3
"""llmc_step.py --program PATH [options] -- a training step of hpccoder and of llm.c, in turns on the same machine.

PATH is llm.c's train_gpt2, built with its own flags and OpenMP (`make train_gpt2`), and for another length than 64
with the `int T = 64` of its main changed and --length saying so. It trains GPT-2 of 124 M parameters on 4 sequences,
by AdamW; what it reads, a checkpoint and tokens, is drawn here. Ours is `bench step` of as many parameters and
multiplications (Llama's shape: 12 blocks of 768, tied head of 50304). While the one runs the other is stopped.
Prints medians and their ratio; above 1 hpccoder is faster.
"""
import argparse, array, json, os, random, re, signal, statistics, subprocess, tempfile

PARAMETERS = 124475904  # with a vocabulary of 50304


def options():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--program", required=True)
    p.add_argument("--length", type=int, default=64, help="tokens in a sequence, as the program was built for")
    p.add_argument("--dtype", choices=["f32", "bf16"], default="f32", help="of ours: llm.c has f32 alone on CPUs")
    p.add_argument("--turns", type=int, default=3)
    p.add_argument("--threads", type=int, default=os.cpu_count())
    p.add_argument("--hpccoder", default="build/release/hpccoder")
    return p.parse_args()


def prepare(folder):
    """A checkpoint and tokens as llm.c reads them: 256 words of header, then numbers."""
    random.seed(1)
    some = array.array("f", [random.gauss(0, 0.02) for _ in range(1 << 16)])
    head = [20240326, 3, 1024, 50257, 12, 12, 768, 50304]
    with open(f"{folder}/gpt2_124M.bin", "wb") as f:
        array.array("i", head + [0] * (256 - len(head))).tofile(f)
        for at in range(0, PARAMETERS, len(some)):
            some[: PARAMETERS - at].tofile(f)
    data = f"{folder}/dev/data/tinyshakespeare"
    os.makedirs(data)
    tokens = array.array("H", [random.randrange(50257) for _ in range(1 << 16)])
    for part in "train", "val":
        with open(f"{data}/tiny_shakespeare_{part}.bin", "wb") as f:
            array.array("i", [20240520, 1, len(tokens)] + [0] * 253).tofile(f)
            tokens.tofile(f)


def next_step(child):
    line = ""
    for line in child.stdout:
        found = re.search(r"took ([0-9.]+) ms", line)
        if found:
            return float(found[1])
    raise SystemExit("llm.c ended: " + line)


def ours(o):
    words = [o.hpccoder, "bench", "step", "--json", "--tied", "--hidden", "768", "--layers", "12", "--heads", "12"]
    words += ["--kv-heads", "12", "--ffn", "2048", "--vocab", "50304", "--sequences", "4", "--length", str(o.length)]
    out = subprocess.run(
        words + ["--steps", "3", "--threads", str(o.threads), "--dtype", o.dtype], check=True, stdout=subprocess.PIPE, text=True
    ).stdout
    return [json.loads(line)["step_ms"] for line in out.splitlines() if line.startswith("{")][1:]


o = options()
with tempfile.TemporaryDirectory() as folder:
    prepare(folder)
    environment = {"OMP_PROC_BIND": "true", **os.environ, "OMP_NUM_THREADS": str(o.threads)}
    program = ["stdbuf", "-oL", os.path.abspath(o.program)]
    child = subprocess.Popen(program, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True)
    a, b = [], []
    try:
        for turn in range(o.turns):
            next_step(child)  # one that was stopped, or the first
            b.append(next_step(child))
            child.send_signal(signal.SIGSTOP)
            a += ours(o)
            child.send_signal(signal.SIGCONT)
    finally:
        child.kill()
        child.wait()
x, y = statistics.median(a), statistics.median(b)
print(f"124 M, 4 x {o.length} tokens, {o.threads} threads, ours in {o.dtype}")
print(f"hpccoder {x:9.1f} ms, llm.c {y:9.1f} ms: {y / x:.2f}")
