#!/usr/bin/env python3
"""simulate.py [--hpccoder PROGRAM] [--keep MACHINE.json]: how near `plan simulate` comes to the time of
a step here.

It measures this machine with `bench op` and `bench link` (one core a rank, two ranks as threads), writes
that as a machine, runs `train` on a few plans and prints the best step beside the prediction, which is made
of the best times of ops. Bytes must be equal; times are printed with their ratio, and the last line says how
many are within 15 %. Let it run alone: with a second program on the same cores both sides are noise. Text to
learn from is that of this repository.
"""
import argparse, csv, json, os, statistics, subprocess, sys, tempfile

root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
parser = argparse.ArgumentParser()
parser.add_argument("--hpccoder", default=os.path.join(root, "build/release/hpccoder"))
parser.add_argument("--keep")
asked = parser.parse_args()

SHAPE = dict(hidden=128, layers=4, heads=4, ffn=352, length=64)
SHAPE["kv-heads"] = 4
ROWS, STEPS = 16, 200
PLANS = [("", 0, 1), ("data=2", 0, 1), ("data=2", 1, 1), ("data=2", 3, 1), ("depth=2", 0, 1), ("row=2", 0, 1),
         ("data=2", 1, 2)]


def run(*words):
    done = subprocess.run([asked.hpccoder, *map(str, words)], capture_output=True, text=True)
    if done.returncode > 1:
        sys.exit(f"{' '.join(map(str, words))}: {done.stderr}")
    return done.stdout


def bench(op, *words):
    return json.loads(run("bench", "op", "--op", op, "-j", 1, "--no-peer", "--seconds", 0.5, "--json", *words))


def measure():
    tokens, h, f, heads = ROWS * SHAPE["length"] // 2, SHAPE["hidden"], SHAPE["ffn"], SHAPE["heads"]
    products = bench("matmul", "--shape", f"{tokens},{h},{f}")
    limits = products["limits"]
    peak = limits["f32_gflops"] * 1e9
    rate = statistics.mean(r["flops"] / r["min_ns"] * 1e9 for r in products["ops"])
    attention = [r["flops"] / r["min_ns"] * 1e9 for r in bench("attention")["ops"] + bench("attention_grad")["ops"]]
    other = [r["flops"] / r["min_ns"] * 1e9 for r in bench("glu")["ops"] + bench("glu_grad")["ops"]]
    sums = json.loads(run("bench", "link", "--ranks", 2, "--operation", "all_reduce", "--json", "-q", "--most", 1 << 22))
    small = min(r["us"] for r in sums["results"] if r["bytes"] <= 2048)
    least = max(r["bytes"] / r["us"] for r in sums["results"] if r["bytes"] >= 1 << 17) * 1e6
    share = min(1, rate / peak)
    return {
        "machine_version": 1, "name": "two cores, a rank each (ranks as threads)",
        "source": ["tests/bench/simulate.py: bench op (matmul, attention, glu), bench link"],
        "host": True, "memory_bytes": 8e9,
        "operations_per_s": {"f64": peak / 2, "f32": peak, "bf16": limits["bf16_gflops"] * 1e9},
        "product_share": {"f64": share, "f32": share, "bf16": share},
        "attention_share": min(1, statistics.mean(attention) / peak),
        "other_share": min(1, statistics.mean(other) / peak), "product_half": 0,
        "memory_bytes_per_s": limits["read_gbs"] * 1e9, "stream_share": 0.5, "launch_s": 1e-6, "outside_bytes_per_s": 3e9,
        "levels": [{"name": "memory", "bandwidth": least,
                    "latency": small * 1e-6 / 2}],
    }


def words(**more):
    return [w for k, v in {**SHAPE, **more}.items() for w in (f"--{k}", v)]


def step_of(folder, data, grid, zero, accumulate):
    out = os.path.join(folder, f"run-{grid}-{zero}-{accumulate}")
    more = ["--grid", grid, "--zero", zero] if grid else []
    run("train", "--data", data[0], "--tokenizer", data[1], "--out", out, "--steps", STEPS, "-q", "-j", 1,
        "--optimizer", "adamw", "--validate-every", 0, *words(rows=ROWS // accumulate, accumulate=accumulate), *more)
    rows = list(csv.DictReader(open(os.path.join(out, "metrics.csv"))))[2:]
    return min(float(r["step_ms"]) for r in rows), int(float(rows[-1]["comm_bytes"]))


def simulated(machine, vocabulary, grid, zero, accumulate):
    more = ["--grid", grid, "--zero", zero] if grid else []
    told = json.loads(run("plan", "simulate", "--machine", machine, "--json", "--tied", "--vocab", vocabulary, "--accumulate",
                          accumulate, *words(sequences=ROWS), *more))
    return told["plans"][0]


with tempfile.TemporaryDirectory() as folder:
    corpus, tok, shards = (os.path.join(folder, n) for n in ("corpus", "tok", "shards"))
    run("corpus", "harvest", root, "--out", corpus, "-q")
    run("tokenizer", "train", corpus, "--out", tok, "--vocab", 4096, "-q")
    run("corpus", "pack", corpus, "--tokenizer", tok, "--out", shards, "-q")
    train = os.path.join(shards, "train") if os.path.isdir(os.path.join(shards, "train")) else shards
    machine = asked.keep or os.path.join(folder, "machine.json")
    with open(machine, "w") as f:
        json.dump(measure(), f, indent=4)
        f.write("\n")
    near = 0
    print(f"{'plan':24} {'measured ms':>12} {'predicted ms':>13} {'ratio':>6}  bytes")
    for grid, zero, accumulate in PLANS:
        ms, sent = step_of(folder, (train, tok), grid, zero, accumulate)
        told = simulated(machine, 4096, grid, zero, accumulate)
        ratio = told["step_s"] * 1e3 / ms
        near += abs(ratio - 1) <= 0.15
        alike = "equal" if sent == told["sent_bytes"] else f"{sent}, predicted {told['sent_bytes']}"
        name = f"{grid or 'one rank'} zero={zero} x{accumulate}"
        print(f"{name:24} {ms:12.1f} {told['step_s'] * 1e3:13.1f} {ratio:6.2f}  {alike}", flush=True)
    print(f"{near} of {len(PLANS)} within 15 %")
