#!/usr/bin/env python3
"""two_ranks.py DATA TOKENIZER [--hpccoder PROGRAM] [--rounds N] [--steps N] [--dtype T]: two processes of one
thread each, data=2 with ZeRO-1 under mpirun, against one process of two threads, on the same batches.

Runs take turns; the median of all steps but each run's first three counts. Ratio: tokens a second of the two
ranks over those of the two threads. Waiting is what `exposed_ms` says, the mean of both ranks. Let it run alone.
"""
import argparse, csv, os, statistics, subprocess, sys, tempfile

root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
parser = argparse.ArgumentParser()
parser.add_argument("data")
parser.add_argument("tokenizer")
parser.add_argument("--hpccoder", default=os.path.join(root, "build/release/hpccoder"))
parser.add_argument("--rounds", type=int, default=5)
parser.add_argument("--steps", type=int, default=12)
parser.add_argument("--dtype", default="f32")
parser.add_argument("--shape", default="--hidden 512 --layers 6 --heads 8 --kv-heads 8 --ffn 1376 --length 512 --rows 8")
parser.add_argument("more", nargs="*", help="further options of the two ranks, behind --")
asked = parser.parse_args()
WAYS = {
    "one rank, two threads": (["-j", "2"], 1),
    "two ranks, zero 1": (["-j", "1", "--grid", "data=2", "--zero", "1", *asked.more], 2),
    "two ranks, zero 1, no overlap": (["-j", "1", "--grid", "data=2", "--zero", "1", "--no-overlap", *asked.more], 2),
}


def run(folder, options, ranks):
    out = os.path.join(folder, "run")
    words = ["mpirun", "--oversubscribe", "--bind-to", "none", "-n", str(ranks)] if ranks > 1 else []
    words += [asked.hpccoder, "train", "-q", "--data", asked.data, "--tokenizer", asked.tokenizer, "--out", out, *asked.shape.split(),
              "--dtype", asked.dtype, "--steps", str(asked.steps), "--save-every", "0", "--validate-every", "0", "--optimizer", "adamw"]
    done = subprocess.run(words + options, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(words + options)}: {done.stderr}")
    with open(os.path.join(out, "metrics.csv")) as f:
        rows = list(csv.DictReader(f))
    subprocess.run(["rm", "-r", out], check=True)
    return [(float(r["step_ms"]), float(r["exposed_ms"])) for r in rows[3:]], int(rows[-1]["tokens"]) // len(rows)


found = {way: [] for way in WAYS}
with tempfile.TemporaryDirectory() as folder:
    for _ in range(asked.rounds):
        for way, (options, ranks) in WAYS.items():
            steps, tokens = run(folder, options, ranks)
            found[way].append(steps)
first = None
for way, runs in found.items():
    ms = statistics.median(m for steps in runs for m, _ in steps)
    waited = statistics.median(e for steps in runs for _, e in steps)
    each = [statistics.median(m for m, _ in steps) for steps in runs]
    first = first or ms
    print(f"{way:32} {ms:8.1f} ms a step of {tokens} tokens ({min(each):.1f} to {max(each):.1f}), waiting {waited:5.1f}, "
          f"{first / ms:.3f} of two threads")
