#!/usr/bin/env python3
"""Compares the JSON that two builds print on the recorded inputs of json_cases.sh.

    same_json.py OLD NEW [--only SECTION]    OLD, NEW: programs, such as build/release/hpccoder
    same_json.py --self-test                 check that planted differences are found

Keys, types, verdicts and numbers must be equal. Texts with a space are for people and are not
compared, nor are measured times, rates and sizes of memory (TIMED). Exit status: 0 equal, 1
different, 2 bad usage.
"""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.normpath(os.path.join(HERE, "..", ".."))
TIMED = re.compile(r"(^|_)(ms|ns|us|seconds?|s|time|elapsed|gflops|gb|peak|rss|version|date|ratio|"
                   r"compiler|built|ts|dur|hours|gbs|gops|fraction|samples|over_adamw)(_|$)|"
                   r"per_s|_s$|bytes_per|throughput")
NEAR = 1e-6
# Below the limit, the share of a file that is held out is an estimate: the filter of the sketch
# accepts some foreign windows, how many depends on its bits per slot. What exceeds the limit is in
# `findings`, which is compared.
ESTIMATED = ("worst_share", "worst")


def differences(old, new, path=""):
    if type(old) is not type(new) and not (is_number(old) and is_number(new)):
        return ["%s: type %s, was %s" % (path, type(new).__name__, type(old).__name__)]
    if isinstance(old, dict):
        out = ["%s: key %s is missing" % (path or "top", k) for k in old if k not in new]
        out += ["%s: key %s is new" % (path or "top", k) for k in new if k not in old]
        for k in old:
            if k in new and k not in ESTIMATED and not (TIMED.search(k) and not isinstance(old[k], (dict, list))):
                out += differences(old[k], new[k], path + "." + k)
        return out
    if isinstance(old, list):
        if len(old) != len(new):
            return ["%s: %d elements, was %d" % (path, len(new), len(old))]
        return [d for k, pair in enumerate(zip(old, new))
                for d in differences(*pair, "%s[%d]" % (path, k))]
    if isinstance(old, str) and (" " in old or " " in new or "/" in old):
        return []
    equal = abs(old - new) <= NEAR * max(abs(old), abs(new)) if is_number(old) else old == new
    return [] if equal else ["%s: %.60r, was %.60r" % (path, new, old)]


def is_number(x):
    return isinstance(x, (int, float)) and not isinstance(x, bool)


def run_all(program, only):
    """The output of each case, in order: (section and command, exit status, parsed or None)."""
    folder = tempfile.mkdtemp()
    try:
        os.mkdir(os.path.join(folder, "bin"))
        os.symlink(os.path.abspath(program), os.path.join(folder, "bin", "hpccoder"))
        env = dict(os.environ, ROOT=ROOT, LC_ALL="C", NO_COLOR="1",
                   PATH=os.path.join(folder, "bin") + ":" + os.environ["PATH"])
        work = os.path.join(folder, "work")
        os.mkdir(work)
        cases = subprocess.run(["sh", os.path.join(HERE, "json_cases.sh")], cwd=work, env=env,
                               check=True, stdout=subprocess.PIPE, encoding="utf-8").stdout
        out = []
        for line in cases.splitlines():
            section, _, command = (part.strip() for part in line.split("|", 2))
            p = subprocess.run(["sh", "-c", command], cwd=work, env=env, encoding="utf-8",
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            if only and section != only:
                continue
            try:
                value = json.loads(p.stdout)
            except ValueError:
                value = None
            out.append(("%s: %s" % (section, command), p.returncode, value))
        return out
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def self_test():
    old = {"loops": [{"line": 3, "verdict": "safe", "why": "no dependence"}], "n": 1.0, "ms": 3}
    planted = [dict(old, n=1.1), dict(old, n="1"), dict(old, extra=1), {"loops": [], "n": 1.0, "ms": 3},
               dict(old, loops=[dict(old["loops"][0], verdict="unsafe")]),
               dict(old, loops=[dict(old["loops"][0], line=4)])]
    old["worst_share"], old["worst"] = 0.002, "a.c"
    fine = [dict(old, worst_share=0.0, worst=None), dict(old, ms=9), dict(old, loops=[dict(old["loops"][0], why="it has none")])]
    wrong = [p for p in planted if not differences(old, p)] + \
            [p for p in fine if differences(old, p)]
    for p in wrong:
        print("same_json.py judges this wrongly: %s" % p)
    return 1 if wrong else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("programs", nargs="*", metavar="PROGRAM")
    parser.add_argument("--only", metavar="SECTION")
    parser.add_argument("--self-test", action="store_true")
    given = parser.parse_args()
    if given.self_test:
        return self_test()
    if len(given.programs) != 2:
        parser.error("two programs are needed")
    old, new = (run_all(p, given.only) for p in given.programs)
    status = 0
    for (name, was, a), (_, now, b) in zip(old, new):
        found = ["exit status %d, was %d" % (now, was)] if was != now else []
        if (a is None) != (b is None):
            found.append("JSON from one build alone")
        elif a is not None:
            found += differences(a, b)
        for d in found[:20]:
            print("%s\n    %s" % (name, d))
        status |= bool(found)
    compared = sum(a[2] is not None and b[2] is not None for a, b in zip(old, new))
    print("%d cases, %d with JSON compared" % (len(old), compared))
    return int(status or not compared)


if __name__ == "__main__":
    sys.exit(main())
