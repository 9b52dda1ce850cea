#!/usr/bin/env python3
"""Check that `hpccoder pragma --fix` never makes an application more than 3 % slower.

    python3 tests/bench/pragma_fix.py [--program build/release/hpccoder] [--repeat 7]
        [--threads 1,2,4] [--only NAME,...] [--keep FOLDER] [--list FILE] CHECKOUTS

CHECKOUTS is a folder with one checkout per repository, such as CHECKOUTS/HPCCG. Applications that
are not there are skipped. FILE is a JSON list that replaces APPLICATIONS. The script copies the
sources, removes their OpenMP directives, and builds three programs: as they are, after --fix, and
after --fix --guard. Runs of the three alternate. The table shows the median elapsed time of a run,
and the median ratio of paired runs. The serial program runs twice per round: column `noise` is the
ratio of the two. The exit code is 1 if a ratio of --fix or --guard exceeds 1.03.
"""
import argparse
import glob
import json
import os
import random
import re
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import time

POLYBENCH = {"folder": "PolyBenchC-4.2.1", "flags": "-Iutilities -DMEDIUM_DATASET",
             "libraries": "-lm"}
APPLICATIONS = [
    {"name": "HPCCG", "folder": "HPCCG", "sources": "*.cpp", "run": "40 40 40"},
    {"name": "LULESH", "folder": "LULESH", "sources": "*.cc", "flags": "-DUSE_MPI=0",
     "run": "-s 20 -i 30"},
    {"name": "XSBench", "folder": "XSBench/openmp-threading", "sources": "*.c",
     "libraries": "-lm", "run": "-G hash -m event -g 500 -l 100000",
     "exits": 1},
    {"name": "BabelStream", "folder": "BabelStream/src", "sources": "main.cpp serial/*.cpp",
     "flags": "-std=c++17 -DSERIAL -I. -Iserial", "run": "-s 1048576 -n 30"},
    {"name": "llama2.c", "folder": "llama2.c", "sources": "run.c", "libraries": "-lm",
     "run": "model.bin -z tokenizer.bin -t 0 -n 60", "input": "llama",
     "same_output": True},
    {"name": "gemm", "sources": "linear-algebra/blas/gemm/gemm.c utilities/polybench.c",
     **POLYBENCH},
    {"name": "jacobi-2d", "sources": "stencils/jacobi-2d/jacobi-2d.c utilities/polybench.c",
     **POLYBENCH},
    {"name": "atax", "sources": "linear-algebra/kernels/atax/atax.c utilities/polybench.c",
     **POLYBENCH, "flags": "-Iutilities -DLARGE_DATASET"},
    {"name": "lu", "sources": "linear-algebra/solvers/lu/lu.c utilities/polybench.c",
     **POLYBENCH},
    {"name": "libsvm", "folder": "libsvm", "sources": "svm.cpp svm-train.c",
     "run": "-q rows.txt out", "input": "rows"},
    {"name": "minigzip", "folder": "zlib", "sources": "*.c test/minigzip.c",
     "flags": "-DHAVE_UNISTD_H -I.", "run": "-c -9 rows.txt", "input": "rows",
     "same_output": True},
]
SOURCES = (".c", ".cc", ".cpp", ".cxx", ".h", ".hh", ".hpp")
DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*pragma[ \t]+omp\b(?:[^\n\\]|\\(?!\n)|\\\n)*\n", re.M)
KINDS = ("serial", "fix", "guard")
RUNS = KINDS + ("again",)


def strip_directives(folder):
    for base, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(base, name)
            if not name.endswith(SOURCES) or not os.path.isfile(path):
                continue
            with open(path, encoding="latin-1", newline="") as file:
                text = file.read()
            with open(path, "w", encoding="latin-1", newline="") as file:
                file.write(DIRECTIVE.sub("\n", text))


def write_llama(folder):
    """A checkpoint and a tokenizer in the format of llama2.c, with random weights."""
    dim, hidden, layers, heads, vocab, length = 288, 768, 4, 6, 512, 256
    rng = random.Random(1)
    count = (vocab * dim + layers * (2 * dim + 4 * dim * dim + 3 * dim * hidden) + dim
             + length * dim // heads)
    with open(os.path.join(folder, "model.bin"), "wb") as file:
        file.write(struct.pack("7i", dim, hidden, layers, heads, heads, vocab, length))
        file.write(struct.pack(f"{count}f", *(rng.gauss(0, 0.05) for _ in range(count))))
    with open(os.path.join(folder, "tokenizer.bin"), "wb") as file:
        file.write(struct.pack("i", 8))
        for token in range(vocab):
            text = b"t%d " % token
            file.write(struct.pack("fi", 0.0, len(text)) + text)


def write_rows(folder):
    """Labelled rows in the format of libsvm."""
    rng = random.Random(1)
    with open(os.path.join(folder, "rows.txt"), "w", encoding="ascii") as file:
        for _ in range(1500):
            x = [rng.random() for _ in range(30)]
            label = 1 if sum(x) > 15 else -1
            file.write(f"{label} " + " ".join(f"{k + 1}:{v:.4f}" for k, v in enumerate(x)) + "\n")


INPUTS = {"llama": write_llama, "rows": write_rows}


def check_program(program):
    """Fails if the program cannot analyse code: its zero directives would pass as a good result."""
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "a.c"), "w", encoding="ascii") as file:
            file.write("void f(double *y)\n{\n    for (int i = 0; i < 90000000; i++)\n"
                       "        y[i] = 0;\n}\n")
        done = subprocess.run([os.path.abspath(program), "pragma", "--fix", "a.c"], cwd=folder,
                              capture_output=True, text=True, check=False)
        if "1 directive inserted" not in done.stdout + done.stderr:
            sys.exit(f"{program} cannot analyse code: {done.stderr.strip()}")


def sources_of(app, folder):
    found = []
    for pattern in app["sources"].split():
        found += sorted(glob.glob(pattern, root_dir=folder))
    return found


def build(app, kind, given, folder):
    """Builds one program; the number of directives that were put in."""
    where = os.path.join(folder, app["name"], kind)
    shutil.copytree(os.path.join(given.checkouts, app["folder"]), where, symlinks=True,
                    ignore=shutil.ignore_patterns(".git"))
    strip_directives(where)
    files, flags = sources_of(app, where), app.get("flags", "").split()
    put = 0
    if kind != "serial":
        command = [os.path.abspath(given.program), "pragma", "--fix"]
        command += ["--guard"] * (kind == "guard") + files + ["--"] + flags
        done = subprocess.run(command, cwd=where, capture_output=True, text=True, check=False)
        if done.returncode > 1:
            sys.stderr.write(f"{app['name']}: pragma exits {done.returncode}: {done.stderr[-400:]}\n")
        words = re.findall(r"(\d+) directives? inserted", done.stdout + done.stderr)
        put = int(words[-1]) if words else 0
    is_cpp = any(f.endswith((".cc", ".cpp", ".cxx")) for f in files)
    compiler = given.cxx if is_cpp else given.cc
    subprocess.run([compiler, "-O2", "-fopenmp", "-w", *flags, *files, "-o", "app",
                    *app.get("libraries", "").split()], cwd=where, check=True)
    if "input" in app:
        INPUTS[app["input"]](where)
    return put


def run(app, kind, threads, folder):
    where = os.path.join(folder, app["name"], kind)
    environment = dict(os.environ, OMP_NUM_THREADS=str(threads))
    start = time.perf_counter()
    done = subprocess.run(["./app", *app.get("run", "").split()], cwd=where, env=environment,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    took = time.perf_counter() - start
    wanted = app.get("exits", 0)
    if done.returncode != wanted:
        raise RuntimeError(f"{app['name']} {kind}: the run exits {done.returncode}, not {wanted}")
    return took


def check_output(app, folder):
    """Fails if a program with directives prints something else, or nothing."""
    seen = set()
    for kind in KINDS:
        where = os.path.join(folder, app["name"], kind)
        seen.add(subprocess.run(["./app", *app.get("run", "").split()], cwd=where, check=True,
                                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout)
    if len(seen) != 1 or len(seen.pop().strip()) == 0:
        raise RuntimeError(f"{app['name']}: outputs differ, or are empty")


def measure(app, put, given, folder):
    """Prints a row per number of threads; the worst ratio."""
    worst = 0.0
    for threads in (int(t) for t in given.threads.split(",")):
        took = {kind: [] for kind in RUNS}
        for k in range(given.repeat + 1):
            for kind in RUNS if k % 2 else RUNS[::-1]:
                program = "serial" if kind == "again" else kind
                took[kind].append(run(app, program, threads, folder))
        took = {kind: times[1:] for kind, times in took.items()}
        ratio = {kind: statistics.median(a / b for a, b in zip(took[kind], took["serial"]))
                 for kind in RUNS}
        worst = max(worst, ratio["fix"], ratio["guard"])
        print(f"{app['name']:<12} {put['fix']:>5} {put['guard']:>5} {threads:>7} "
              + " ".join(f"{statistics.median(took[kind]):>9.3f}" for kind in KINDS)
              + f" {ratio['fix']:>6.2f} {ratio['guard']:>6.2f} {ratio['again']:>6.2f}", flush=True)
    return worst


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkouts")
    parser.add_argument("--program", default="build/release/hpccoder")
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--threads", default="1,2,4")
    parser.add_argument("--only")
    parser.add_argument("--list")
    parser.add_argument("--keep")
    parser.add_argument("--cc", default="gcc")
    parser.add_argument("--cxx", default="g++")
    given = parser.parse_args()
    apps = APPLICATIONS
    if given.list:
        with open(given.list, encoding="utf-8") as file:
            apps = json.load(file)
    check_program(given.program)
    slow = []
    with tempfile.TemporaryDirectory() as folder:
        folder = given.keep or folder
        print("application    fix guard threads  serial s     fix s   guard s    fix  guard  noise")
        for app in apps:
            present = os.path.isdir(os.path.join(given.checkouts, app["folder"]))
            if given.only and app["name"] not in given.only.split(","):
                continue
            if not present:
                print(f"{app['name']}: skipped, {app['folder']} is missing")
                continue
            put = {kind: build(app, kind, given, folder) for kind in KINDS}
            if app.get("same_output"):
                check_output(app, folder)
            if measure(app, put, given, folder) > 1.03:
                slow.append(app["name"])
    if slow:
        print("more than 3 % slower: " + ", ".join(slow))
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
