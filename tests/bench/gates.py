#!/usr/bin/env python3
"""gates.py TRAIN VALIDATION OUT [options] -- dense-to-sparse against Switch gates, on shards of one's own.

Both train the same mixture at a constant rate from the same seeds. The dense-to-sparse gate takes --steps
steps; Switch takes --longer times as many. Compared is the validation loss of Switch after as many tokens,
and after as many floating-point operations, as the other has used at the end (the columns tokens and flops
of metrics.csv, between validations linearly). Validation gives each token one expert. Runs that are
finished are not repeated; one that was stopped continues.
"""
import argparse, csv, os, statistics, subprocess

p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
p.add_argument("train")
p.add_argument("validation")
p.add_argument("out")
p.add_argument("--steps", type=int, default=400)
p.add_argument("--longer", type=float, default=1.6)
p.add_argument("--seeds", type=int, default=2)
p.add_argument("--experts", type=int, default=4)
p.add_argument("--threads", type=int, default=os.cpu_count())
p.add_argument("--hpccoder", default="build/release/hpccoder")
p.add_argument("--shape", default="--hidden 128 --layers 4 --heads 4 --kv-heads 4 --ffn 352 --length 128")
o = p.parse_args()

GATES = {
    "dense-to-sparse": (o.steps, f"--temperature 2 --temperature-least 0.3 --anneal-steps {o.steps * 6 // 10} "
                                 f"--hard-from {o.steps * 7 // 10}"),
    "switch": (int(o.steps * o.longer), "--capacity 1.25"),
}


def train(gate, seed):
    """The rows of metrics.csv, with the sum of operations so far."""
    steps, more = GATES[gate]
    folder = os.path.join(o.out, f"{gate}-{seed}")
    words = (f"train --data {o.train} --validation {o.validation} --out {folder} {o.shape} --rows 8 --experts {o.experts} "
             f"--expert-every 2 --top-k 1 --gate {gate} {more} --steps {steps} --seed {seed} --schedule constant "
             f"--lr 0.002 --optimizer adamw --warmup 40 --validate-every {max(o.steps // 10, 1)} --validate-batches 16 "
             f"--save-every {o.steps} --keep 1 --threads {o.threads} --resume -q")
    subprocess.run([o.hpccoder, *words.split()], check=True)
    rows, flops = [], 0.0
    for r in csv.DictReader(open(os.path.join(folder, "metrics.csv"))):
        flops += float(r["flops"])
        rows.append({"tokens": float(r["tokens"]), "flops": flops, "experts": float(r["experts"]),
                     "loss": float(r["validation_loss"]) if r["validation_loss"] else None})
    return rows


def loss_at(rows, key, x):
    """The validation loss where column `key` reaches x, or None."""
    known = [r for r in rows if r["loss"] is not None]
    for a, b in zip(known, known[1:]):
        if a[key] <= x <= b[key]:
            return a["loss"] + (b["loss"] - a["loss"]) * (x - a[key]) / (b[key] - a[key])
    return None


os.makedirs(o.out, exist_ok=True)
print("seed  experts at first  loss  switch, equal tokens  switch, equal FLOPs  FLOPs over switch's a token")
differences = {"tokens": [], "flops": []}
for seed in range(1, o.seeds + 1):
    soft, hard = train("dense-to-sparse", seed), train("switch", seed)
    end = soft[-1]
    at = {key: loss_at(hard, key, end[key]) for key in differences}
    for key, x in at.items():
        if x is not None:
            differences[key].append(end["loss"] - x)
    text = {key: "-" if x is None else f"{x:.4f}" for key, x in at.items()}
    ratio = end["flops"] / end["tokens"] / (hard[-1]["flops"] / hard[-1]["tokens"])
    print(f"{seed:4}  {soft[0]['experts']:16.2f}  {end['loss']:.4f}  {text['tokens']:>20}  {text['flops']:>19}  {ratio:.2f}")
for key, d in differences.items():
    if d:
        spread = statistics.stdev(d) if len(d) > 1 else float("nan")
        print(f"equal {key}: dense-to-sparse minus switch {statistics.mean(d):+.4f}, standard deviation {spread:.4f}, {len(d)} seeds")
