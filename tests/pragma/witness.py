#!/usr/bin/env python3
"""Breaks loops as faults.py does, runs them, and holds the witness of --verify run against that.

    witness.py [--hpccoder PROGRAM] [--out DIR] [--faults N] [--each N] DIR|FILE... [-- FLAGS]

A copy of each file gets a driver (oracle/driver.py) that calls the functions of its loops with
inputs by chance; in a copy one loop of each function is broken. Which inputs make the dependence
occur is asked of the oracle's own shadow memory (oracle/shadow.c), which shares nothing with the
product. With these inputs `hpccoder pragma --verify run` must name the lines of the change, and no
pair of lines that the oracle does not know. Counted is what did not occur, what is found, and what
is missing or wrong, which is printed and makes the exit status 1. Directives in the files are
blanked, so that loops are as they were without them. Headers are looked for in every folder below
those named. Of C++ only functions are called that belong to no class, with numbers, pointers and
vectors of numbers.
"""
import argparse
import itertools
import json
import os
import re
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "oracle"))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True
import faults  # noqa: E402
import oracle  # noqa: E402
import syntax  # noqa: E402
from driver import size_kind  # noqa: E402

# What the driver includes comes first: a file's macros may be named like functions of the library.
ALL = ["-D_GNU_SOURCE", "-Dmain=oracle_main", "-include", "stdio.h", "-include", "stdlib.h"]
OWN = {".c": ["-std=gnu11", *ALL], ".cpp": ["-std=gnu++17", "-fno-access-control", *ALL]}


SYSTEM = {"unistd.h", "math.h", "string.h", "stdlib.h", "stdio.h"}  # such a folder is for others


class Fault:
    def __init__(self, target, kind, edit, lines):
        self.target, self.kind, self.edit, self.lines = target, kind, edit, lines
        self.line, self.before = target.line, target.found["verdict"]
        self.seed = self.loop = None
        self.is_, self.text = "not run", ""

    def meets(self, a, b):
        x, y = self.lines
        return (a in x and b in y) or (a in y and b in x)

    def touches(self, a, b):
        """One of them is of the change, whose other end another line may have written in between."""
        x, y = self.lines
        return a in x or a in y or b in x or b in y


class Copy(oracle.File):
    """A file with one loop of each of some functions broken."""
    headers = True
    libraries = ["-Wl,--no-demangle"]

    def __init__(self, path, out, seeds, flags, broken):
        self.path, self.out, self.seeds, self.flags = path, out, seeds, flags
        self.name = os.path.basename(path)
        self.stem, ending = os.path.splitext(self.name)
        self.ending, self.cpp = (".cpp", True) if ending in faults.CPP else (ending, False)
        self.compiler = ["g++", "-fpermissive", "-w"] if self.cpp else ["gcc", "-w"]
        with open(path) as f:
            self.source = f.read()
        self.lines = self.source.split("\n")
        self.loops = []
        for n, fault in enumerate(broken):
            loop = oracle.Loop(self.name, n, fault.line - 1, "fault", "carried 0 0")
            loop.line, loop.fault = fault.line, fault
            fault.loop = loop
            self.loops.append(loop)
        self.unit = syntax.parse(path, flags)
        self.all = oracle.find_loops(self.unit, self.loops)
        self.functions, self.refused, self.broken = {}, {}, None
        callers = self.callers()
        for loop in self.loops:
            if loop.function is not None:
                by = [loop.function] + [f for f in callers(loop.function, set())
                                        if f.extent() != loop.function.extent()]
                loop.clauses = [("private", v) for v in variables(loop)]
                loop.calls = [self.functions.setdefault(f.extent(), (len(self.functions), f))[0]
                              for f in by]

    def compile(self, *how):
        """What is defined nowhere ends the run that calls it."""
        try:
            return super().compile(*how)
        except RuntimeError as why:
            missing = sorted(set(re.findall(r"undefined reference[s to]* `([^']+)'", str(why))))
            if not missing:
                raise
        base = os.path.join(self.out, self.stem + ".missing")
        with open(base + ".c", "w") as f:
            for n, name in enumerate(missing):
                f.write(f'void missing_{n}(void) __asm__("{name}");\n'
                        f"void missing_{n}(void) {{ __builtin_trap(); }}\n")
        subprocess.run(["gcc", "-w", "-c", base + ".c", "-o", base + ".o"], check=True)
        self.libraries = [base + ".o"]
        return super().compile(*how)

    def watch_loop(self, program, loop):
        """As the oracle does, without overlaps; of C++ also with the lines at which the loop calls:
        elements of containers are read and written in headers."""
        for call in [c for c in loop.calls if c not in self.refused]:
            done = oracle.run([program, str(call), str(loop.number), "0",
                               *map(str, range(self.seeds))])
            current = None
            for line in done.stdout.split("\n"):
                words = line.split()
                if words[:1] == ["seed"]:
                    current = {"call": call, "seed": words[1], "ok": False, "found": []}
                    loop.runs.append(current)
                elif words[:1] == ["end"]:
                    current.update(ok=True, trips=int(words[1]) - loop.in_head)
                elif words[:1] == ["found"] and words[1] != "u":
                    for a, b in itertools.product((2, 4) if self.cpp else (2,), (3, 5)):
                        if self.cpp or b == 3:
                            current["found"].append((words[1], words[a], words[b], *words[4:6],
                                                     int(words[6]), int(words[7])))
                elif words[:1] == ["left"]:
                    current["ok"] = False
        loop.runs = [r for r in loop.runs if r["ok"] and r["trips"] > 1]


def variables(loop):
    """Numbers and pointers of the function: of them only a value counts that comes from another
    iteration, as each could have its own."""
    plain = {v.name() for v in loop.function.walk() if v.kind in (syntax.VAR, syntax.PARM) and (
        v.type().canonical().kind == syntax.POINTER or size_kind(v.type().canonical()))}
    return [n for n in loop.names if n in plain]


def occurs(fault):
    """What the oracle saw of a change, and the first inputs with which it mattered."""
    loop = fault.loop
    if loop.why or loop.function is None:
        fault.is_, fault.text = "not run", loop.why or "no loop"
        return
    if not loop.runs:
        fault.is_, fault.text = "not run", "no input makes it run twice"
        return
    least = None
    for r in loop.runs:
        pairs = {(int(f[1]), int(f[2])) for f in r["found"]}
        if any(fault.meets(*p) for p in pairs) and (least is None or len(pairs) < least):
            fault.seed, least = r, len(pairs)
    if fault.seed:
        return
    fault.is_, fault.text = "does not occur", str(sorted(
        {(f[1], f[2]) for r in loop.runs for f in r["found"]})[:6])


def crashes(copy, folder, seed):
    """Whether it does without a witness, too: where it reads what was never set."""
    for what in ("zero", "pattern"):
        program = os.path.join(folder, "alone")
        made = oracle.run([*copy.compiler, "-O0", "-ftrivial-auto-var-init=" + what, *copy.flags,
                           copy.path, "inputs.o", "-o", program, "-no-pie", "-lm",
                           *copy.libraries], cwd=folder)
        if made.returncode == 0 and oracle.run(
                [program, "watch", str(seed["call"]), seed["seed"]], cwd=folder).returncode < 0:
            return True
    return False


def told(o, copy, folder, calls):
    """By line of a loop: its verdict and witnesses, as --verify run tells them."""
    name = os.path.basename(copy.path)
    only = "case $PATH in *witness*) ;; *) exit 1 ;; esac"  # what comes after it is of other loops
    build = " ".join([only + ";", *copy.compiler, *copy.flags, name, "inputs.o", "-o", "watched",
                      "-no-pie", "-lm", *copy.libraries])
    run = "./watched watch " + " ".join(f"{c} {s}" for c, s in calls)
    done = oracle.run([os.path.abspath(o.hpccoder), "pragma", "-q", "--json", name, "--verify",
                       "run", "--no-sandbox", "--build", build, "--run", run, "--seconds", "30",
                       "--", *copy.flags, "-DORACLE_READS"], cwd=folder)
    try:
        found = json.loads(done.stdout)[0]["loops"]
    except (ValueError, IndexError, KeyError):
        raise RuntimeError(f"{copy.path}: {done.stderr[-500:]}")
    out = {}
    for l in found:
        out.setdefault(l["line"], (l["verdict"], [e["text"] for e in l["evidence"]
                                                 if e["kind"] == "witness"]))
    return out


WITNESS = re.compile(r"(?:writes|reads) .*? at (?:line |\S+:)(\d+), "
                     r"iteration .*? at (?:line |\S+:)(\d+)$")


def hold(fault, verdict, texts):
    pairs = [tuple(map(int, m.groups())) for m in map(WITNESS.search, texts) if m]
    known = {(int(f[1]), int(f[2])) for r in fault.loop.runs for f in r["found"]}
    known |= {(b, a) for a, b in known}
    strange = [p for p in pairs if p not in known and not fault.meets(*p)]
    fault.text = " | ".join(texts)
    if strange:
        fault.is_ = "wrong line"
    elif any(fault.meets(*p) or (p in known and fault.touches(*p)) for p in pairs):
        fault.is_ = "right"
    elif pairs:  # of a loop three are told
        fault.is_ = "another" if len(pairs) < 3 else "three others"
    else:
        fault.is_ = "no witness"
    if verdict in ("parallel", "conditional"):
        fault.is_ = "verdict " + verdict


def blank(text):
    """Without the directives of OpenMP; lines stay."""
    return re.sub(r"^[ \t]*#[ \t]*pragma[ \t]+omp\b(?:.*\\\n)*.*",
                  lambda m: re.sub(r"[^\n]", " ", m[0]), text, flags=re.M)


def rounds(o, found, number):
    """Lists of faults: one of each function in each, kinds in turn."""
    by_function = {}
    for n, t in enumerate(found):
        kinds = list(faults.KINDS)
        shift = (number * 7 + n * 5) % len(kinds)
        of = []
        for kind in kinds[shift:] + kinds[:shift]:
            edit = faults.KINDS[kind](t) if len(of) < o.each else None
            lines = faults.accesses(t, kind) if edit else None
            if lines:
                edit = [(at, text.replace("fault_", f"fault{t.line}_")) for at, text in edit]
                of.append(Fault(t, kind, edit, lines))
        by_function.setdefault(t.function.extent()[0], []).append(of)
    out = []
    for of in by_function.values():
        flat = [f for k in range(o.each) for one in of for f in one[k:k + 1]]
        for k, f in enumerate(flat[:o.rounds]):
            while len(out) <= k:
                out.append([])
            out[k].append(f)
    return out


def file_faults(o, path, folders, number):
    folder = os.path.join(o.out, str(number))
    os.makedirs(folder, exist_ok=True)
    here = os.path.dirname(os.path.abspath(path))
    nearest = sorted(folders, key=lambda f: -len(os.path.commonpath([f, here])))
    own = OWN[".cpp" if path.endswith(faults.CPP) else ".c"]
    flags = [*own, "-I" + here, *("-I" + f for f in nearest), "-I" + HERE + "/oracle", *o.flags]
    with open(path, errors="replace") as f:
        text = blank(f.read())
    if not text.isascii() or text.count("\n") > o.lines:
        return []
    plain = os.path.join(folder, os.path.basename(path))
    with open(plain, "w") as f:
        f.write(text)
    found = faults.targets(o, plain, flags)
    done = []
    for k, broken in enumerate(rounds(o, found, number)):
        try:
            one_round(o, os.path.join(folder, f"r{k}"), plain, flags, broken)
        except (RuntimeError, subprocess.SubprocessError) as why:
            for f in broken:
                f.text = str(why)[:300]
        done += broken
        if all("does not compile" in f.text or ": error" in f.text for f in broken):
            break
    return done


def one_round(o, folder, plain, flags, broken):
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, os.path.basename(plain))
    with open(path, "w") as f:
        f.write(oracle.insert(broken[0].target.source, [e for b in broken for e in b.edit]))
    copy = Copy(path, o.out, o.seeds, flags, broken)
    copy.watch()
    for f in broken:
        occurs(f)
    wanted = [f for f in broken if f.seed]
    if not wanted:
        return
    with open(os.path.join(folder, "driver.h"), "w") as f:
        f.write('#include "oracle.h"\n' + copy.driver())
    with open(path, "w") as f:
        f.write(copy.source + '\n#ifndef ORACLE_READS\n#include "driver.h"\n#endif\n')
    subprocess.run(["cp", f"{o.out}/inputs.o", folder], check=True)
    calls = list(dict.fromkeys((f.seed["call"], f.seed["seed"]) for f in wanted))
    said = told(o, copy, folder, calls)
    for f in wanted:
        if len(calls) > 1 and any("run was ended by" in t for t in said.get(f.line, ("", ()))[1]):
            # what one call left behind is another's end
            alone = told(o, copy, folder, [(f.seed["call"], f.seed["seed"])])
            said[f.line] = alone.get(f.line, said[f.line])
        if f.line in said:
            hold(f, *said[f.line])
            if f.is_ == "no witness" and "run was ended by signal" in f.text and \
                    crashes(copy, folder, f.seed):
                f.is_ = "undefined"
        else:
            f.is_ = "lost"


def main():
    argv, flags = sys.argv[1:], []
    if "--" in argv:
        argv, flags = argv[:argv.index("--")], argv[argv.index("--") + 1:]
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("paths", nargs="+")
    p.add_argument("--hpccoder", default="build/release/hpccoder")
    p.add_argument("--out")
    p.add_argument("--faults", type=int, default=0, help="that must be found at least")
    p.add_argument("--each", type=int, default=3, help="changes of a loop at most")
    p.add_argument("--rounds", type=int, default=6, help="copies of a file at most")
    p.add_argument("--lines", type=int, default=4000, help="leave longer files out")
    p.add_argument("--seeds", type=int, default=32)
    p.add_argument("--seconds", type=float, default=1e9, help="begin no file after so many")
    p.add_argument("-v", action="store_true", help="tell of every change")
    o = p.parse_args(argv)
    until = time.monotonic() + o.seconds
    files = []
    for path in o.paths:
        one, folders = [(os.path.dirname(path), [], [os.path.basename(path)])], set()
        for top, _, names in os.walk(path) if os.path.isdir(path) else one:
            folders.update({os.path.abspath(top)}
                           if any(n.endswith(faults.HEADERS) for n in names)
                           and not SYSTEM & set(names) else set())
            files += [(os.path.join(top, n), folders) for n in sorted(names)
                      if n.endswith((".c", *faults.CPP))]
    o.flags = flags
    counts, by_kind, loops = {}, {}, set()
    with tempfile.TemporaryDirectory(prefix="witness.") as scratch:
        o.out = os.path.abspath(o.out or scratch)
        os.makedirs(o.out, exist_ok=True)
        for part in ("shadow", "inputs"):
            subprocess.run(["gcc", "-O2", "-g", "-w", "-fno-builtin-malloc", "-D_GNU_SOURCE", "-c",
                            f"{HERE}/oracle/{part}.c", "-o", f"{o.out}/{part}.o"], check=True)
        for number, (path, folders) in enumerate(files):
            if time.monotonic() > until:
                counts["file not begun"] = counts.get("file not begun", 0) + 1
                continue
            done = file_faults(o, path, folders, number)
            for f in done:
                counts[f.is_] = counts.get(f.is_, 0) + 1
                row = by_kind.setdefault(f.kind, {})
                row[f.is_] = row.get(f.is_, 0) + 1
                if f.is_ == "right":
                    loops.add((path, f.line))
                if o.v or f.is_ in BAD:
                    print(f"{f.is_}: {f.kind} {path}:{f.line} {sorted(f.lines[0])} "
                          f"{sorted(f.lines[1])}: {f.text}", flush=True)
            if done:
                print(f"{path}: {len(done)} changes, {sum(f.is_ == 'right' for f in done)} right",
                      file=sys.stderr, flush=True)
    for kind in faults.KINDS:
        print(f"{kind:16}", ", ".join(f"{n} {v}" for v, n in sorted(by_kind.get(kind, {}).items())))
    print(f"{len(loops)} loops with a right witness; changes:",
          ", ".join(f"{n} {k}" for k, n in sorted(counts.items())))
    return 1 if any(counts.get(k) for k in BAD) or counts.get("right", 0) < o.faults else 0


BAD = ("wrong line", "no witness", "another", "lost", "verdict parallel", "verdict conditional")


if __name__ == "__main__":
    sys.exit(main())
