#!/usr/bin/env python3
"""How long `hpccoder pragma` takes for files of 10,000 lines and more, of five kinds of loops.

    python3 tests/bench/pragma_time.py [--program build/release/hpccoder] [--repeat 5]
"""
import argparse
import os
import subprocess
import tempfile
import time

KINDS = [
    ["for (int i = 0; i < n; i++)", "    a[i] = b[i] * 2.0;"],
    ["double s = 0;", "for (int i = 0; i < n; i++) {", "    double t = b[i] - a[i];",
     "    s += t * t;", "}", "a[0] = s;"],
    ["for (int i = 1; i < n; i++)", "    a[i] += a[i - 1] * b[i];"],
    ["for (int i = 0; i < n; i++)", "    for (int j = 0; j < m; j++)",
     "        a[i * m + j] = b[j * n + i];"],
    ["#pragma omp parallel for", "for (int i = 0; i < n; i++)",
     "    a[i] = b[i] > 0 ? b[i] : 0;"],
]
HEAD = "(int n, int m, double *restrict a, const double *restrict b)"


def text(lines, loops, functions):
    """As many lines, with as many loops, in a function each or all in one."""
    out, made = [], 0
    if functions == 1:
        out += [f"void f{HEAD}", "{"]
    while made < loops:
        body = KINDS[made % len(KINDS)]
        if functions != 1:
            out += [f"void f{made}{HEAD}", "{"]
        else:
            out += ["    {"]
        out += ["    " + line for line in body]
        made += sum("for (" in line for line in body)
        while len(out) < lines * made // loops - 1:
            out.append(f"    a[{len(out) % 7}] = b[m] + {len(out)};")
        out += ["}" if functions != 1 else "    }"]
    return "\n".join(out + (["}"] if functions == 1 else [])) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default="build/release/hpccoder")
    parser.add_argument("--repeat", type=int, default=5)
    given = parser.parse_args()
    for lines, loops, functions in ((10000, 300, 0), (10000, 300, 1), (100000, 3000, 0),
                                    (100000, 3000, 1), (100000, 6000, 0)):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "a.c")
            with open(path, "w", encoding="ascii") as file:
                file.write(text(lines, loops, functions))
            took = []
            for _ in range(given.repeat):
                start = time.perf_counter()
                subprocess.run([given.program, "pragma", "-q", path], check=True,
                               stdout=subprocess.DEVNULL)
                took.append(time.perf_counter() - start)
            with open(path, encoding="ascii") as file:
                n = sum(1 for _ in file)
            print(f"{n} lines, {loops} loops, {'one function' if functions else 'functions'}: "
                  f"{min(took):.2f} s (of {given.repeat})")


if __name__ == "__main__":
    main()
