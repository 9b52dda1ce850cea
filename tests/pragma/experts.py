#!/usr/bin/env python3
"""experts.py PROGRAM [--show KIND] -- COMMAND...: what `hpccoder pragma` says of loops that experts marked.

COMMAND is a list of calls `FILE... [-- FLAGS]`, separated by `:`; each is given to `hpccoder pragma --json`.
Of the loops that carry a directive for threads (a `for`, `do` in it) it counts verdicts and what the analysis
says of the directive itself: right (harmless and redundant parts too), racy, a clause or a reduction wrong,
not proven. Recall is the share that is found parallel, or conditional. --show racy,clause,reduction,unknown,
unsafe prints those, with what decides.
"""
import argparse, collections, json, re, subprocess, sys

def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--hpccoder", default="build/release/hpccoder")
    p.add_argument("--show", default="")
    p.add_argument("calls", nargs=argparse.REMAINDER)
    a = p.parse_args()
    show = set(filter(None, a.show.split(",")))
    words = a.calls[1:] if a.calls[:1] == ["--"] else a.calls
    calls, call = [], []
    for w in words + [":"]:
        if w == ":":
            if call: calls.append(call)
            call = []
        else:
            call.append(w)
    verdicts, says, errors, files = collections.Counter(), collections.Counter(), 0, 0
    for call in calls:
        r = subprocess.run([a.hpccoder, "pragma", "-q", "--json"] + call, capture_output=True, text=True)
        if not r.stdout:
            sys.exit(f"{call}: {r.stderr}")
        for f in json.loads(r.stdout):
            files += 1
            for l in f.get("loops", []):
                d = l["existing"]
                if not d or not re.search(r"\bomp\b.*\bfor\b", d):
                    continue
                verdicts[l["verdict"]] += 1
                is_ = l.get("existing_is") or l.get("existing_verdict") or "?"
                says[is_] += 1
                if is_ in show or l["verdict"] in show:
                    print(f'{f["file"]}:{l["line"]}: {l["verdict"]}; {d}: {is_}')
                    for e in l["evidence"][:3]:
                        print(f'    {e["kind"]} {e["line"]}: {e["text"]}')
    n = sum(verdicts.values())
    found = verdicts["parallel"] + verdicts["conditional"]
    right = says["right"] + says["harmless"] + says["redundant"]
    wrong = says["racy"] + says["clause"] + says["reduction"]
    print(f"{files} files, {n} directives: " + ", ".join(f"{verdicts[v]} {v}" for v in
          ("parallel", "conditional", "unsafe", "unknown")) +
          f"; found {found} ({100 * found / max(n, 1):.1f} %); the directive is right {right}, wrong {wrong} "
          f"({says['racy']} racy, {says['clause']} clause, {says['reduction']} reduction), not proven {says['unproven']}")

main()
