#!/usr/bin/env python3
"""gpu_table.py [FILE] [--write PAGE] -- the table of docs/gpu.md from what tools/gpu.sh appended to FILE.

Each stage has a row: the result, a figure that its output has, the date. Stages that FILE lacks, or that ran on
another device than cuda, are "not run". --write replaces the table of PAGE, between the lines with its marks.
"""
import argparse, json, os, re, sys

BEGIN, END = "<!-- table of tools/gpu.sh -->", "<!-- end of the table -->"
# Stages by row, and the key of the JSON output that has the row's figure, with its unit and factor.
ROWS = [
    ("device", ["device"], None),
    ("copy", ["ceiling-copy"], ("gbs", "GB/s", 1)),
    ("product 8192 x 8192 x 8192, bf16", ["ceiling-product"], ("gflops", "TFLOP/s", 1e-3)),
    ("launch", ["ceiling-launch"], ("time_ns", "µs", 1e-3)),
    ("primitives", ["primitives-words", "cuda-primitives", "cuda-planted"], None),
    ("graphs", ["cuda-graphs"], None),
    ("tests/ops", ["ops-"], None),
    ("parity with the CPU", ["parity-"], None),
    ("memcheck", ["memcheck-"], None),
    ("racecheck", ["racecheck-"], None),
    ("ops of a 124 M step", ["bench-"], None),
    ("124 M step, graphs", ["step-graphs-on"], ("step_ms", "ms", 1)),
    ("124 M step, no graphs", ["step-graphs-off"], ("step_ms", "ms", 1)),
    ("134 M decode, graphs", ["decode-graphs-on"], ("decode_tokens_per_s", "tokens/s", 1)),
    ("134 M decode, no graphs", ["decode-graphs-off"], ("decode_tokens_per_s", "tokens/s", 1)),
    ("beside torch.compile and SDPA", ["torch-step"], None),
]


def read(path):
    """The last line of each stage."""
    if not path or not os.path.exists(path):
        return {}
    with open(path) as f:
        return {line["stage"]: line for line in map(json.loads, f)}


def figure(stage, key):
    """The last value of a key in the output of a stage."""
    found = re.findall(r'"%s": *([0-9.eE+-]+)' % key[0], stage["output"]) if key else []
    return f"{float(found[-1]) * key[2]:.4g} {key[1]}" if found else ""


def row(name, prefixes, key, stages):
    mine = [s for k, s in stages.items() if any(k == p or p.endswith("-") and k.startswith(p) for p in prefixes)]
    mine = [s for s in mine if s["device"] == "cuda" and s["result"] != "skipped"]
    if not mine:
        return f"| {name} | not run | | |"
    bad = [s["stage"] for s in mine if s["result"] != "ok"]
    result = "failed: " + ", ".join(bad) if bad else "ok"
    cells = [name, result, figure(mine[-1], key), mine[-1]["date"][:10]]
    return "| " + " | ".join(cells).replace("|  |", "| |") + " |"


def table(stages):
    lines = ["| stage | result | figure | date |", "|---|---|---|---|"]
    return "\n".join(lines + [row(*r, stages) for r in ROWS])


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("file", nargs="?")
    p.add_argument("--write", metavar="PAGE")
    o = p.parse_args()
    text = table(read(o.file))
    if not o.write:
        return print(text)
    with open(o.write) as f:
        page = f.read()
    if BEGIN not in page or END not in page:
        sys.exit(f"{o.write} has no table between '{BEGIN}' and '{END}'")
    head, rest = page.split(BEGIN, 1)
    with open(o.write, "w") as f:
        f.write(f"{head}{BEGIN}\n{text}\n{END}{rest.split(END, 1)[1]}")


main()
