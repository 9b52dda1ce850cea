#!/usr/bin/env python3
"""Runs the loops of tests/pragma/loops and holds what happens against their labels.

    oracle.py [--out DIR] [--seeds N] [--jobs N] [FILE...]

First each function is called with small inputs by chance, compiled so that every read and write is
seen (gcc -fsanitize=thread with a library of our own, oracle/shadow.c): no loop that is labelled
`safe` may have a dependence between iterations that its clauses leave, none that is labelled `if`
while its assumptions hold; one that is labelled `carried` must show it, at the lines named. Then
each `safe` and `if` loop runs with its directive, by gcc and clang, on 1, 2 and 4 threads: memory
must be as after the serial run. A run that leaves its memory or does what C leaves undefined does
not count. Ends with 1 if a label is contradicted; what could not be shown is listed (-v). C++ is
not run.
"""
import argparse
import array
import concurrent.futures
import math
import os
import re
import signal
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "oracle"))
sys.dont_write_bytecode = True
import driver  # noqa: E402
import syntax  # noqa: E402

WRAPPED = ["frexp", "modf", "memcpy", "memmove", "memset"]
INSTRUMENT = ["-fsanitize=thread", "-fsanitize=bounds,shift,integer-divide-by-zero,vla-bound,"
              "signed-integer-overflow,null", "-fsanitize-undefined-trap-on-error"]
LANGUAGE = {".c": ["-std=c11", "-D_GNU_SOURCE"],
            ".cpp": ["-std=c++17", "-D_GNU_SOURCE", "-fno-access-control", "-fpermissive"]}


def balanced(text, at):
    """The end of the parenthesis that opens at a place."""
    depth = 0
    for i in range(at, len(text)):
        depth += text[i] in "([{"
        depth -= text[i] in ")]}"
        if depth == 0:
            return i
    return len(text)


def parts(text, by):
    """What is between the separators that are in no parenthesis."""
    out, depth, start = [], 0, 0
    for i, ch in enumerate(text):
        depth += ch in "([{"
        depth -= ch in ")]}"
        if ch == by and depth == 0:
            out.append(text[start:i].strip())
            start = i + 1
    return out + [text[start:].strip()]


class Loop:
    """A label and the loop below it."""

    def __init__(self, file, number, line, name, what):
        self.file, self.number, self.label_line, self.name = file, number, line, name
        head, *facts = parts(what, ";")
        self.what, self.facts = what, parts(facts[0], ",") if facts else []
        self.verdict = head.split()[0]
        self.clauses, self.assumptions = [], []
        for m in re.finditer(r"\b(private|firstprivate|lastprivate|reduction|linear|distinct|"
                             r"injective|range)\(", head):
            if self.verdict in ("safe", "if"):
                inside = head[m.end():balanced(head, m.end() - 1)]
                to = self.assumptions if m.group(1) in ("distinct", "injective", "range") \
                    else self.clauses
                to.append((m.group(1), inside))
        m = re.match(r"carried (control|io|order)", head)
        if m:
            self.verdict = m.group(1)
        m = re.match(r"carried ([+-]\d+) ([+-]\d+)", head)
        self.lines = (line + int(m.group(1)), line + int(m.group(2))) if m else None
        self.why = None  # it cannot be run
        self.directive = self.refused = self.differs = None
        self.compared = 0
        self.runs = []

    def fact(self, name):
        return any(f.split("(")[0] == name for f in self.facts)

    def where(self):
        return f"{self.file}:{self.label_line} {self.name}: {self.what}"


def read_labels(name, lines):
    loops = []
    for i, line in enumerate(lines):
        m = re.match(r"\s*// loop ([\w.~]+): (.*)", line)
        if not m:
            continue
        loop = Loop(name, len(loops), i + 1, m.group(1), m.group(2).strip())
        at = i + 1
        while re.match(r"\s*(#|//)", lines[at]) or lines[at - 1].rstrip().endswith("\\"):
            at += 1
        loop.line = at + 1
        loops.append(loop)
    return loops


# ---- marks in the source ----------------------------------------------------------------------


def find_loops(unit, loops):
    """Gives each label its loop, the function around it and what is declared before it."""
    by_line = {l.line: l for l in loops}
    functions = []
    scopes = (syntax.COMPOUND, syntax.WHILE, syntax.FOR, syntax.RANGE_FOR, 205, 207, 225)

    def visit(cursor, function, scope, declared):
        for k in cursor.children():
            if k.kind in (syntax.FUNCTION, syntax.METHOD, syntax.FUNCTION_TEMPLATE,
                          syntax.CONSTRUCTOR, syntax.DESTRUCTOR):
                if not k.here() or not k.defined():
                    continue
                inner = []
                functions.append(k)
                visit(k, k, k.extent(), inner)
                continue
            start, end, line = k.extent()
            if k.kind == syntax.LAMBDA:
                visit(k, function, (start, end), [])
                continue
            if k.kind in (syntax.VAR, syntax.PARM) and function and not k.static() \
                    and not k.register() and k.name():
                declared.append((end, scope[1], k.name()))
            if k.kind in syntax.LOOPS and line in by_line and not hasattr(by_line[line], "start"):
                loop = by_line[line]
                loop.start, loop.end, loop.function = start, end, function
                loop.kind, loop.body = k.kind, k.children()[-1 if k.kind != syntax.DO else 0]
                loop.own = {v.name() for v in k.walk() if v.kind == syntax.VAR}
                loop.names = list(dict.fromkeys(
                    n for at, to, n in declared if at <= start and end <= to))
            visit(k, function, (start, end) if k.kind in scopes else scope, declared)

    def top(k):
        """The declarations in a file, and in its namespaces and extern "C"."""
        for d in k.children():
            if d.here():
                yield from top(d) if d.kind in (syntax.NAMESPACE, 23) else [d]

    for k in top(unit):
        if k.here():
            if k.kind in (syntax.FUNCTION, syntax.FUNCTION_TEMPLATE):
                if k.defined():
                    functions.append(k)
                    visit(k, k, k.extent(), [])
            elif k.kind in (syntax.STRUCT, syntax.CLASS, syntax.NAMESPACE, syntax.CLASS_TEMPLATE,
                            syntax.METHOD, syntax.CONSTRUCTOR):
                if k.kind in (syntax.METHOD, syntax.CONSTRUCTOR) and k.defined():
                    functions.append(k)
                    visit(k, k, k.extent(), [])
                else:
                    visit(k, None, (0, 0), [])
    for loop in loops:
        if not hasattr(loop, "start"):
            loop.why, loop.function = "no loop is found at its line", None
    return functions


def counters(loop, head):
    """What the head of a for sets and steps; where the loop is another in other words, also what a
    while asks for."""
    if loop.kind == syntax.RANGE_FOR:
        return []
    steps = parts(head, ";")
    text = steps[2] if loop.kind == syntax.FOR and len(steps) == 3 else ""
    name = r"((?:\w+(?:->|\.))*[a-zA-Z_]\w*)"
    names = re.findall(name + r"\s*(?:\+\+|--|[-+*/%<>|&]*=(?!=))", text)
    names += re.findall(r"(?:\+\+|--)\s*" + name, text)
    names = [n for n in names if n not in loop.own]
    if loop.verdict not in ("safe", "if"):
        return names[:1]
    if loop.fact("noncanonical") or loop.kind != syntax.FOR:
        names += [n for n in re.findall(r"\w+", head) if n in loop.names]
    return list(dict.fromkeys(names))


def item(text):
    """Address and size of what a clause names: a variable or a section of an array."""
    m = re.match(r"(.*?)\[(.*)\]$", text)
    if not m:
        return f"&({text}), sizeof({text})"
    base, inside = m.group(1), m.group(2).split("][")[0]
    lower, _, length = inside.partition(":")
    length = length or "1"
    return f"&({base})[{lower or 0}], (size_t)({length}) * sizeof(({base})[0])"


def names_of(loop, head):
    """(address and size, kind) in the order in which they are told."""
    out = [(f"(const void *)&{n}, sizeof {n}", "ORACLE_SHARED") for n in loop.names]
    first = set()
    for kind, inside in loop.clauses:
        if kind == "firstprivate":
            first.update(parts(inside, ","))
    for kind, inside in loop.clauses:
        if kind == "linear":
            inside = inside.rpartition(":")[0] or inside
        elif ":" in inside and kind in ("reduction", "lastprivate"):
            inside = inside.partition(":")[2]
        for x in parts(inside, ","):
            how = {"reduction": "FREE", "linear": "FREE"}.get(kind, "PRIVATE")
            if how == "PRIVATE" and (x in first or kind == "firstprivate"):
                how = "FIRST"
            out.append(("(const void *)" + item(x), f"ORACLE_{how}"))
    free = counters(loop, head)
    for f in loop.facts:
        m = re.match(r"induction\((.*)\)$", f)
        if m:
            free += [p.split("=")[0].strip() for p in parts(m.group(1), ",")]
    return out + [(f"(const void *)&{n}, sizeof {n}", "ORACLE_FREE") for n in free]


def marks(loop, source):
    """Insertions (place, text) that make a loop's iterations, names and assumptions known."""
    n, start = loop.number, loop.start
    word = re.match(r"for|while|do\b", source[start:])
    if not word:
        raise ValueError("its head is a macro's")
    open_ = source.index("(", start)
    close = balanced(source, open_)
    head = source[open_ + 1:close]
    if word.group(0) == "do":
        head = source[loop.body.extent()[1]:loop.end]
    out, tells = [], f"{{ oracle_begin({n}); "
    for what, kind in names_of(loop, head):
        tells += f"oracle_name({n}, {what}, {kind}); "
    body = ""
    for kind, e in loop.assumptions:
        if kind == "range":
            body += f"oracle_holds({n}, ({e}) != 0); "
        elif kind == "injective" and re.match(r"\w+$", e):
            tells += f"for (int oracle_k = 0; oracle_k < 64; oracle_k++) " \
                     f"oracle_value({n}, (long)({e})[oracle_k]); "
        elif kind == "injective":
            body += f"oracle_value({n}, (long)({e})); "
    inside = loop.body.extent()
    compound = source[inside[0]] == "{"
    loop.in_head = False
    if word.group(0) == "while" and "=" not in re.sub(r"[=!<>]=", "", head.split("(")[0]):
        out.append((open_ + 1, f"oracle_iteration({n}), "))
        loop.in_head = True
    elif word.group(0) == "for" and len(parts(head, ";")) == 3:
        condition = parts(head, ";")[1]
        at = open_ + 1 + len(head) - len(head.partition(";")[2])
        at = open_ + 1 + next(i for i, ch in enumerate(head)
                              if ch == ";" and len(parts(head[:i + 1], ";")) == 2) + 1
        out.append((at, f" oracle_iteration({n}), " + ("" if condition else "1")))
        loop.in_head = True
    elif compound:
        body = f"oracle_iteration({n}); " + body
    else:
        raise ValueError("its body has no braces")
    if body and not compound:
        tells += body  # what it speaks of is known before the loop, or it does not compile
    elif body:
        out.append((inside[0] + 1, " " + body))
    end = loop.end
    while source[end - 1] not in ";}":
        end += 1
    return [(start, tells)] + out + [(end, f" oracle_end({n}); }}")]


def insert(source, insertions):
    out, at = [], 0
    for place, _, text in sorted((p, -i if "oracle_end" in t else i, t)
                                 for i, (p, t) in enumerate(insertions)):
        out += [source[at:place], text]
        at = place
    return "".join(out + [source[at:]])


# ---- compiling ---------------------------------------------------------------------------------


def run(command, **more):
    return subprocess.run(command, capture_output=True, text=True, **more)


class File:
    """One file of labelled loops: its functions by number, and the programs made of it."""
    flags, libraries, headers, without = [], [], False, ()

    def __init__(self, path, out, seeds):
        self.path, self.out, self.seeds = path, out, seeds
        self.name = os.path.basename(path)
        self.stem, self.ending = os.path.splitext(self.name)
        with open(path) as f:
            self.source = f.read()
        self.lines = self.source.split("\n")
        self.loops = read_labels(self.name, self.lines)
        self.unit = syntax.parse(path, LANGUAGE[self.ending])
        self.all = find_loops(self.unit, self.loops)
        self.functions = {}
        callers = self.callers()
        for loop in self.loops:
            if loop.function is not None:
                from_outside = callers(loop.function, set()) or [loop.function]
                loop.calls = [self.functions.setdefault(f.extent(), (len(self.functions), f))[0]
                              for f in from_outside]
        self.refused, self.broken = {}, None

    def callers(self):
        """Of a static function: those in its file that others can call, and that reach it."""
        named = {f.name(): f for f in self.all}
        calls = {}
        for f in self.all:
            for k in f.walk():
                if k.kind == syntax.CALL and k.name() in named and k.name() != f.name():
                    calls.setdefault(k.name(), []).append(f)

        def reach(f, seen):
            if f.kind != syntax.FUNCTION or not f.static():
                return [f]
            if f.name() in seen:
                return []
            seen.add(f.name())
            return [g for by in calls.get(f.name(), []) for g in reach(by, seen)]
        return reach

    def driver(self):
        make = driver.Driver(self.unit, self.source, self.headers, self.without,
                             self.ending == ".cpp")
        wanted = [(n, f) for n, f in self.functions.values() if n not in self.refused]
        text, refused = make.text(wanted)
        self.refused.update(refused)
        return text

    def compile(self, kind, compiler, flags, edit):
        """The source with edit()'s insertions and the driver behind it, as an object and linked;
        what does not compile is left out and it is tried again."""
        base = os.path.join(self.out, f"{self.stem}.{kind}")
        own = base + self.ending
        for _ in range(12):
            text = insert(self.plain(), edit())
            with open(base + ".driver.h", "w") as f:
                f.write(self.driver())
            with open(own, "w") as f:
                f.write(text + f'\n#include "{base}.driver.h"\n')
            made = run([compiler, *LANGUAGE[self.ending], "-g", "-O0", "-w", "-I" + HERE,
                        "-include", HERE + "/oracle/oracle.h", *self.flags, *flags, "-c", own,
                        "-o", base + ".o"])
            if made.returncode == 0:
                break
            if not self.leave_out(kind, made.stderr, base + ".driver.h"):
                raise RuntimeError(f"{self.name}: {made.stderr[:2000]}")
        else:
            raise RuntimeError(f"{self.name} does not compile: {made.stderr[:2000]}")
        link = run([compiler if self.ending == ".c" else compiler.replace("gcc", "g++")
                    .replace("clang", "clang++"), base + ".o", self.out + "/shadow.o",
                    self.out + "/inputs.o", "-no-pie", "-o", base, "-lm", "-latomic", "-pthread",
                    *self.libraries,
                    *[f for f in flags if f.startswith("-fopenmp")],
                    *[f"-Wl,--wrap={w}" for w in WRAPPED]])
        if link.returncode:
            raise RuntimeError(f"{self.name}: {link.stderr[:100000]}")
        return base

    def plain(self):
        """The source without the directives of loops; what is inside of them stays."""
        lines = list(self.lines)
        for loop in self.loops:
            for i in range(loop.label_line, loop.line - 1):
                lines[i] = " " * len(lines[i])
        return "\n".join(lines)

    def leave_out(self, kind, errors, driver_path):
        """Leaves out the loops and functions in whose lines the errors are."""
        some = False
        for m in re.finditer(r"^(\S+?):(\d+):.*?error: (.*)", errors, re.M):
            line = int(m.group(2))
            if m.group(1).endswith(os.path.basename(driver_path)):
                with open(driver_path) as f:
                    text = f.read().split("\n")[:line]
                called = [re.match(r"static void call_(\d+)", t) for t in text]
                called = [c for c in called if c]
                if called:
                    self.refused[int(called[-1].group(1))] = m.group(3)
                    some = True
                elif self.headers:  # a body that was made for a function
                    body = [re.match(r"\w.*?(\w+)\(", t) for t in text]
                    self.without = {*self.without, [b for b in body if b][-1].group(1)}
                    some = True
            else:
                for loop in self.loops:
                    if kind == "watch" and loop.why is None and abs(loop.line - line) < 2:
                        loop.why = m.group(3)
                        some = True
                    elif kind != "watch" and loop.directive and loop.line == line:
                        loop.directive, loop.refused = None, f"{kind}: {m.group(3)}"
                        some = True
        return some

    # ---- first: dependences ----
    def marked(self):
        out = []
        for loop in self.loops:
            if loop.why is None:
                try:
                    out += marks(loop, self.source)
                except ValueError as why:
                    loop.why = str(why)
        return out

    def watch(self):
        program = self.compile("watch", "gcc", INSTRUMENT, self.marked)
        places = set()
        for loop in self.loops:
            if loop.why is None and all(c in self.refused for c in loop.calls):
                loop.why = self.refused[loop.calls[0]]
            if loop.why is None:
                self.watch_loop(program, loop)
                places.update(a for r in loop.runs for f in r["found"] for a in f[1:5])
        places = sorted(places)
        said = run(["addr2line", "-e", program], input="\n".join(places)).stdout.split("\n")
        line_of = {}
        for place, answer in zip(places, said):
            m = re.search(r":(\d+)", answer)
            line_of[place] = int(m.group(1)) if m else 0
        for loop in self.loops:
            for r in loop.runs:
                r["found"] = [(f[0], *[line_of[a] for a in f[1:5]], *f[5:])
                              for f in r["found"]]

    def watch_loop(self, program, loop):
        for mode, call in [(m, c) for c in loop.calls if c not in self.refused for m in (0, 1)]:
            seeds = [str(x) for x in range(self.seeds)]
            done = run([program, str(call), str(loop.number), str(mode), *seeds])
            current = None
            for line in done.stdout.split("\n"):
                words = line.split()
                if not words:
                    continue
                if words[0] == "seed":
                    current = {"call": call, "mode": mode, "seed": words[1], "ok": False,
                               "global": False, "found": []}
                    loop.runs.append(current)
                elif words[0] == "global":
                    current["global"] = True
                elif words[0] == "end":
                    current["ok"] = True
                    current["trips"] = int(words[1]) - loop.in_head
                    current["holds"], current["atomics"] = int(words[2]), int(words[3])
                elif words[0] == "found":
                    current["found"].append((*words[1:6], int(words[6]), int(words[7])))
                elif words[0] == "left":
                    current["ok"] = False
        loop.runs = [r for r in loop.runs if r["ok"]]


    # ---- second: results ----
    def directives(self):
        return [(l.start, f'_Pragma("omp parallel for{l.directive} if(oracle_on == {l.number})") ')
                for l in self.loops if l.directive is not None]

    @staticmethod
    def comparable(loop):
        return [r for r in loop.runs if r["holds"] and r["trips"] >= 2 and not r["global"] and
                (r["mode"] == 0 or loop.verdict == "safe")]

    def compare(self, compiler):
        for loop in self.loops:
            loop.directive = loop.refused = None
            runs = self.comparable(loop)
            clauses = "".join(f" {k}({x})" for k, x in loop.clauses)
            if loop.verdict in ("safe", "if") and runs and not loop.why and not any(
                    map(loop.fact, ("noncanonical", "local", "induction"))) and not (
                    compiler == "clang" and "conditional" in clauses):
                loop.directive = clauses
        serial = self.compile("serial", "gcc", [], lambda: [])
        program = self.compile(compiler, compiler, ["-fopenmp"], self.directives)
        for loop in self.loops:
            if loop.directive is not None:
                self.compare_loop(compiler, serial, program, loop)

    def compare_loop(self, compiler, serial, program, loop):
        runs = self.comparable(loop)
        runs = sorted(runs, key=lambda r: -r["trips"])[:2] + runs[:1]
        for r in runs:
            said = {}
            for threads in (0, 1, 2, 4):
                with tempfile.TemporaryDirectory(dir=self.out) as folder:
                    done = run([program if threads else serial, str(r["call"]), str(loop.number),
                                str(r["mode"]), r["seed"]],
                               env={**os.environ, "ORACLE_OUT": folder,
                                    "OMP_NUM_THREADS": str(threads or 1), "OMP_DYNAMIC": "false",
                                    "OMP_WAIT_POLICY": "passive"})
                    if "left" in done.stdout:
                        said[threads] = done.stdout.split("\n")[1]
                        continue
                    with open(f"{folder}/{r['call']}.{r['seed']}", "rb") as f:
                        said[threads] = f.read()
            for threads in (1, 2, 4):
                if said[threads] == LATE:
                    continue
                loop.compared = loop.compared + 1
                if not same(said[0], said[threads]):
                    loop.differs = f"{compiler}, {threads} threads, mode {r['mode']}, " \
                                   f"seed {r['seed']}: memory is not as after the serial run"


LATE = f"left {signal.SIGALRM:d}"


def same(a, b):
    """Whether results are the same but for the order of sums."""
    if a == b:
        return True
    if isinstance(a, str) or isinstance(b, str) or len(a) != len(b):
        return False
    return all(x == y or math.isclose(x, y, rel_tol=1e-12, abs_tol=1e-12) or (x != x and y != y)
               for x, y in zip(array.array("d", a), array.array("d", b)))


# ---- judgement ---------------------------------------------------------------------------------

KIND = {"r": "is read after another wrote it", "w": "is written after another wrote it",
        "a": "is written after another read it",
        "p": "a private one is read after another wrote it",
        "u": "a private one is read before it is written"}


def witness(found):
    kind, source, sink, _, _, first, second = found
    return f"iteration {first} at line {source}, iteration {second} at line {sink}: {KIND[kind]}"


def sync_inside(file, loop):
    text = file.source[loop.start:loop.end]
    return re.search(r"#pragma omp (atomic|critical|ordered)|omp_set_lock|mutex|lock\(", text)


def judge(file, loop):
    """(class, text): contradicted, agrees, shown, not shown, elsewhere, not run."""
    if loop.why:
        return "not run", loop.why
    if loop.differs:
        return "contradicted", loop.differs
    runs = [r for r in loop.runs if r["trips"] >= 2]
    if not runs:
        if loop.verdict in ("safe", "if") and loop.runs:
            return "agrees", "fewer than two iterations"
        return "not run", "no input makes it run"
    found = [f for r in runs for f in r["found"]]
    if loop.verdict in ("control", "io", "order", "unknown"):
        return "not of memory", ""
    if any(r["atomics"] for r in runs) or sync_inside(file, loop):
        return "not of memory", "atomic operations or locks"
    if loop.verdict == "safe":
        bad = [(f, r) for r in runs for f in r["found"]]
        if bad:
            return "contradicted", f"{witness(bad[0][0])} (mode {bad[0][1]['mode']}, " \
                                   f"seed {bad[0][1]['seed']})"
        return "agrees", ""
    if loop.verdict == "if":
        held = [r for r in runs if r["mode"] == 0 and r["holds"]]
        bad = [(f, r) for r in held for f in r["found"]]
        if bad:
            return "contradicted", f"{witness(bad[0][0])} though it holds " \
                                   f"(seed {bad[0][1]['seed']})"
        if not held:
            return "not run", "no input keeps its assumptions"
        broken = [f for r in runs if r["mode"] == 1 or not r["holds"] for f in r["found"]]
        return ("agrees", "") if broken else ("not shown", "nothing when they are broken")
    plain = [f for r in runs if r["mode"] == 0 for f in r["found"]]
    if not plain:
        return "not shown", "with overlaps only" if found else "nothing is carried"
    if loop.lines is None or any(loop.lines[0] in (f[1], f[3]) and loop.lines[1] in (f[2], f[4])
                                 for f in plain):
        return "agrees", ""
    pairs = sorted({(f[3] - loop.label_line, f[4] - loop.label_line) for f in plain})
    return "elsewhere", f"lines are {pairs}"


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("files", nargs="*")
    p.add_argument("--out")
    p.add_argument("--seeds", type=int, default=60)
    p.add_argument("--jobs", type=int, default=2)
    p.add_argument("--compilers", default="gcc,clang")
    p.add_argument("-v", action="store_true", help="list what could not be shown, too")
    o = p.parse_args()
    files = o.files or sorted(os.path.join(HERE, "loops", f) for f in os.listdir(HERE + "/loops")
                              if f.endswith(".c"))
    with tempfile.TemporaryDirectory() as scratch:
        out = o.out or scratch
        os.makedirs(out, exist_ok=True)
        for part in ("shadow", "inputs"):
            subprocess.run(["gcc", "-O2", "-g", "-w", "-fno-builtin-malloc", "-D_GNU_SOURCE", "-c",
                            f"{HERE}/oracle/{part}.c", "-o", f"{out}/{part}.o"], check=True)
        counts, compared = {}, 0
        def one(path):
            file = File(path, out, o.seeds)
            try:
                file.watch()
                for compiler in o.compilers.split(","):
                    file.compare(compiler)
            except RuntimeError as why:
                file.broken = str(why)
            return file
        with concurrent.futures.ThreadPoolExecutor(o.jobs) as pool:
            for file in pool.map(one, files):
                if file.broken:
                    print(file.broken)
                    counts["contradicted"] = counts.get("contradicted", 0) + 1
                    continue
                for loop in file.loops:
                    kind, text = judge(file, loop)
                    compared += loop.compared > 0
                    if loop.refused:
                        kind, text = "contradicted", "its directive: " + loop.refused
                    counts[kind] = counts.get(kind, 0) + 1
                    if kind == "contradicted" or (o.v and kind != "agrees" and text):
                        print(f"{kind}: {loop.where()}\n    {text}")
        print(", ".join(f"{n} {k}" for k, n in sorted(counts.items())) +
              f"; {compared} run with their directive")
    return 1 if counts.get("contradicted") else 0


if __name__ == "__main__":
    sys.exit(main())
