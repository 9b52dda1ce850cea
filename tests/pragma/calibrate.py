#!/usr/bin/env python3
"""calibrate.py collect|fit ...: how often experts marked loops of which `hpccoder pragma` says so and so.

  collect --loops LOOPS.DB --trees DIR --out FILE.jsonl [--model M] [--splits test,validation] [--leave-out A/B,..] [--files N]
      runs `hpccoder pragma --json` over each file of these splits that has loops which an expert marked, or left
      unmarked in a file that uses OpenMP, and writes a line for each such loop: repository, verdict, features,
      and whether it is marked. DIR has a work tree of each repository as OWNER+NAME.
  fit FILE.jsonl [--plot FILE.png] [--table]
      fits logistic regressions, with and without the model, and holds them against repositories that they were not
      fitted to (each left out in turn): area under the curve, Brier score, calibration error in ten bins. --table
      prints the numbers for infer/pragma/weigh.c, fitted to all; --plot draws reliability.

The features are those of infer/pragma/weigh.c, read from the JSON. Loops within a parallel region are left out by
`corpus loops`. Nothing is downloaded.
"""
import argparse, collections, json, math, os, random, re, sqlite3, subprocess, sys

import experts, experts_clauses

KINDS = ["reduction", "call", "control", "memory"]
FEATURES = (["one", "parallel", "conditional", "unsafe", "assumptions", "depth", "within", "holds", "lines", "small",
             "form"] + KINDS + ["likely"])


def logit(p):
    p = min(max(p, 1e-6), 1 - 1e-6)
    return math.log(p / (1 - p))


def features(loops, i):
    """Of loop i, as features_of() in weigh.c has them."""
    l = loops[i]
    around = [k for k in loops[:i] if k["end_line"] >= l["end_line"] and k is not l
              and (k["line"], k["column"]) < (l["line"], l["column"])]
    good = ("parallel", "conditional")
    kinds = {e["kind"] for e in l["evidence"]}
    holds = i + 1 < len(loops) and loops[i + 1]["line"] <= l["end_line"]
    return [1, l["verdict"] == "parallel", l["verdict"] == "conditional", l["verdict"] == "unsafe",
            min(len(l["assumptions"]), 4), min(len(around), 4), any(k["verdict"] in good for k in around), holds,
            math.log(l["end_line"] - l["line"] + 1),
            any(e["kind"] == "cost" and "too few to pay" in e["text"] for e in l["evidence"]),
            l["verdict"] == "unknown" and "form" in kinds] + [k in kinds for k in KINDS] + [
            logit(l["likely"]) if l.get("likely") is not None else None]


def collect(a):
    db = sqlite3.connect(a.loops)
    out = open(a.out, "w")
    splits = a.splits.split(",")
    rows = collections.defaultdict(dict)
    for repository, path, line, kind, directive in db.execute(
            "SELECT repository, path, line, kind, directive FROM loops WHERE kind IN ('annotated', 'presumed-negative')"
            f" AND language IN ('c', 'c++') AND split IN ({','.join('?' * len(splits))})", splits):
        if repository not in a.leave_out.split(","):
            rows[repository, path][line] = (kind, directive)
    known = {}
    chosen = sorted(rows.items())
    if len(chosen) > int(a.files):
        chosen = random.Random(1).sample(chosen, int(a.files))
    for n, ((repository, path), lines) in enumerate(chosen):
        tree = os.path.join(a.trees, repository.replace("/", "+"))
        if not os.path.exists(os.path.join(tree, path)):
            continue
        if repository not in known:
            known[repository] = experts.Tree(os.path.abspath(tree))
        flags = known[repository].flags(os.path.abspath(os.path.join(tree, path))) + ["-fopenmp"] + (
            [] if path.endswith((".c", ".h")) else ["-std=c++17"])
        call = [os.path.abspath(a.hpccoder), "pragma", "-q", "--json", "-j", "2"] + (["--model", os.path.abspath(a.model)] if a.model else [])
        try:
            r = subprocess.run(call + [path, "--"] + flags, cwd=tree, capture_output=True, text=True, timeout=300)
            loops = json.loads(r.stdout)[0]["loops"]
        except (subprocess.TimeoutExpired, ValueError, IndexError, KeyError):
            print(f"{repository}/{path}: nothing", file=sys.stderr)
            continue
        for i, l in enumerate(loops):
            if l["line"] not in lines:
                continue
            kind, directive = lines[l["line"]]
            if kind == "annotated" and not l["existing"]:
                continue
            out.write(json.dumps(dict(repository=repository, path=path, line=l["line"], verdict=l["verdict"],
                                      marked=int(kind == "annotated"), directive=directive, alone=l["alone"],
                                      guess=l.get("guess"), likely=l.get("likely"), x=features(loops, i))) + "\n")
        out.flush()
        if sys.stderr.isatty(): print(f"\r{n + 1} of {len(chosen)} files", end="", file=sys.stderr)


def fitted(np, x, y, ridge=1.0):
    """Weights by Newton's steps; the first feature is constant and is not damped."""
    w = np.zeros(x.shape[1])
    damp = np.full(x.shape[1], ridge)
    damp[0] = 0
    for _ in range(50):
        p = 1 / (1 + np.exp(-x @ w))
        step = np.linalg.solve((x * (p * (1 - p))[:, None]).T @ x + np.diag(damp + 1e-9), x.T @ (y - p) - damp * w)
        w += step
        if np.abs(step).max() < 1e-9:
            break
    return w


def area(np, p, y):
    """Under the curve: of a marked and an unmarked one, how often the marked has more; ties count half."""
    order = np.argsort(p, kind="stable")
    rank = np.empty(len(p))
    sorted_p = p[order]
    i = 0
    while i < len(p):
        j = i
        while j < len(p) and sorted_p[j] == sorted_p[i]:
            j += 1
        rank[order[i:j]] = (i + j - 1) / 2 + 1
        i = j
    ones = y.sum()
    return (rank[y == 1].sum() - ones * (ones + 1) / 2) / (ones * (len(y) - ones))


def bins_of(np, p, y, n=10):
    at = np.minimum((p * n).astype(int), n - 1)
    return [(p[at == k].mean(), y[at == k].mean(), int((at == k).sum())) for k in range(n) if (at == k).any()]


def describe(np, name, p, y):
    error = sum(n * abs(a - b) for a, b, n in bins_of(np, p, y)) / len(y)
    print(f"{name:28} area {area(np, p, y):.3f}  Brier {((p - y) ** 2).mean():.4f}  calibration error {error:.3f}")


def plot(np, path, curves):
    script = ['set terminal pngcairo size 900,620 font "sans,11"', f'set output "{path}"', "set key left top",
              'set xlabel "confidence that an expert marks the loop"', 'set ylabel "share of such loops that experts marked"',
              "set xrange [0:1]", "set yrange [0:1]", "set size square", "set grid"]
    for k, (name, points) in enumerate(curves):
        script.append(f"$d{k} << E\n" + "\n".join(f"{a} {b} {n}" for a, b, n in points) + "\nE")
    script.append("plot x with lines lc 'gray' dt 2 title 'perfect', " + ", ".join(
        f"$d{k} using 1:2:(0.4 + log10($3) / 2) with linespoints pt 7 ps variable title '{name}'"
        for k, (name, _) in enumerate(curves)))
    subprocess.run(["gnuplot"], input="\n".join(script), text=True, check=True)


def kind_of_schedule(directive):
    kind = [arg for clause, arg in experts_clauses.parse(directive) if clause == "schedule" and arg]
    kind = kind[0].split(",")[0].split(":")[-1].strip() if kind else "static"
    return kind if kind in ("dynamic", "guided") else "static"


def data_of(directive):
    return {(c, experts_clauses.blank(g or "").replace(" ", "")) for c, g in experts_clauses.parse(directive)
            if c in experts_clauses.DATA}


def hold_against_experts(rows):
    marked = [r for r in rows if r["marked"] and re.search(r"\bfor\b", r["directive"]) and "\n" not in r["directive"]]
    guessed = [r for r in marked if r["guess"]]
    same = sum(data_of(r["guess"]) == data_of(r["directive"]) for r in guessed)
    bare = sum(not data_of(r["directive"]) for r in guessed)
    print(f"{len(guessed)} marked loops are unknown; the guess has the expert's data clauses in {same} (none would in {bare})")
    found = [r for r in marked if r["alone"]]
    agree = sum(kind_of_schedule(r["alone"]) == kind_of_schedule(r["directive"]) for r in found)
    plain = sum(kind_of_schedule(r["directive"]) == "static" for r in found)
    uneven = [r for r in found if kind_of_schedule(r["directive"]) != "static"]
    met = sum(kind_of_schedule(r["alone"]) != "static" for r in uneven)
    print(f"{len(found)} marked loops are found; the schedule is of the expert's kind in {agree} (always static: {plain}); "
          f"of {len(uneven)} dynamic or guided ones {met} are so too")


def fit(a):
    import numpy as np
    rows = [json.loads(l) for l in open(a.samples)]
    asked = [r for r in rows if r["x"][-1] is not None]
    y = np.array([r["marked"] for r in asked], float)
    x = np.array([r["x"] for r in asked], float)
    of = np.array([r["repository"] for r in asked])
    verdicts = collections.Counter((r["verdict"], r["marked"]) for r in asked)
    print(f"{len(asked)} loops of {len(set(of))} repositories, {int(y.sum())} marked: " + ", ".join(
        f"{verdicts[v, 1]} of {verdicts[v, 0] + verdicts[v, 1]} {v}" for v in ("parallel", "conditional", "unsafe", "unknown")))
    both, alone = np.zeros(len(y)), np.zeros(len(y))
    for name in sorted(set(of)):
        out, rest = of == name, of != name
        both[out] = 1 / (1 + np.exp(-x[out] @ fitted(np, x[rest], y[rest])))
        alone[out] = 1 / (1 + np.exp(-x[out][:, :-1] @ fitted(np, x[rest][:, :-1], y[rest])))
    raw = 1 / (1 + np.exp(-x[:, -1]))
    describe(np, "analysis", alone, y)
    describe(np, "model", raw, y)
    describe(np, "analysis and model", both, y)
    for name in sorted(set(of)):
        k = of == name
        if 5 <= y[k].sum() < k.sum():
            print(f"  {name:28} {int(y[k].sum()):4} of {int(k.sum()):5} marked: area "
                  f"{area(np, alone[k], y[k]):.3f} {area(np, raw[k], y[k]):.3f} {area(np, both[k], y[k]):.3f}")
    hold_against_experts(rows)
    if a.plot:
        plot(np, a.plot, [("analysis", bins_of(np, alone, y)), ("analysis and model", bins_of(np, both, y))])
    if a.table:
        for w in (np.append(fitted(np, x[:, :-1], y), 0), fitted(np, x, y)):
            print("    {" + ", ".join(f"{v:.3f}" for v in w) + "},")
        print("    /* " + ", ".join(FEATURES) + " */")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    s = p.add_subparsers(dest="what", required=True)
    c = s.add_parser("collect")
    for name, fallback in (("loops", None), ("trees", None), ("out", None), ("model", ""), ("splits", "test,validation"),
                           ("leave-out", ""), ("files", "1000000"), ("hpccoder", "build/release/hpccoder")):
        c.add_argument("--" + name, default=fallback, required=fallback is None)
    f = s.add_parser("fit")
    f.add_argument("samples")
    f.add_argument("--plot")
    f.add_argument("--table", action="store_true")
    a = p.parse_args()
    (collect if a.what == "collect" else fit)(a)


main()
