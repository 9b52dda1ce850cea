#!/usr/bin/env python3
"""Breaks loops that the analysis calls parallel or conditional, and counts what it says then.

    faults.py [--hpccoder PROGRAM] [--out DIR] [--loops N] [--jobs N] DIR|FILE... [-- FLAGS]

Of each such loop in the C and C++ files below the folders, copies are made that are broken in one
way each (KINDS below), so that iterations depend on each other, and judged again: none of them may
be `parallel`, and of all at most 3 % `conditional`, apart from those that list the assumption which
the change violates ("listed"). Those that still are remain in --out and are
printed, for a person to look at: now and then a change leaves a loop what it was. Nothing is
compiled or run. Headers are looked for in every folder below those named.
"""
import argparse
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "oracle"))
sys.dont_write_bytecode = True
import syntax  # noqa: E402
from driver import size_kind  # noqa: E402
from oracle import balanced, insert, parts  # noqa: E402

UNARY, ASSIGN, COMPOUND_ASSIGN, SUBSCRIPT, SWITCH, DECLARATIONS = 112, 114, 115, 113, 206, 231
UNIT, LINKAGE = (300, 350), 23
CPP = (".cpp", ".cc", ".cxx", ".C")
HEADERS = (".h", ".hpp", ".hxx", ".hh")
FUNCTIONS = (syntax.FUNCTION, syntax.METHOD, syntax.CONSTRUCTOR, syntax.DESTRUCTOR,
             syntax.FUNCTION_TEMPLATE)


def word(name):
    return re.compile(r"(?<![\w.>])" + re.escape(name) + r"(?!\w)")


class Target:
    """A loop over one counter that steps by one, and a store in it whose place has the counter."""

    def __init__(self, source, cursor, function, outer, found):
        """outer: the declaration around it that no class or function is around."""
        self.source, self.found, self.function, self.outer = source, found, function, outer
        self.start, self.end, self.line = cursor.extent()
        if not re.match(r"for\s*\(", source[self.start:]):
            raise ValueError("no for")
        open_ = source.index("(", self.start)
        head = parts(source[open_ + 1:balanced(source, open_)], ";")
        step = re.fullmatch(r"(\w+)\s*\+\+|\+\+\s*(\w+)|(\w+)\s*\+=\s*1", head[2]) \
            if len(head) == 3 else None
        if not step:
            raise ValueError("no counter that steps by one")
        if any(re.search(r"\b[01] iterations? ", e["text"]) for e in found["evidence"]):
            raise ValueError("no two iterations")
        self.counter = next(g for g in step.groups() if g)
        body = cursor.children()[-1].extent()
        self.body, self.braces = body, source[body[0]] == "{"
        inside = {v.name() for v in cursor.walk() if v.kind == syntax.VAR}
        self.numbered = not any(
            v.kind == syntax.VAR and v.name() == self.counter and
            v.type().canonical().kind in (syntax.POINTER, syntax.RECORD) for v in function.walk())
        self.store = None
        self.nested = [k.extent()[:2] for k in cursor.walk() if k.kind in (*syntax.LOOPS, SWITCH)]
        for k in cursor.walk():
            if k.kind in (ASSIGN, COMPOUND_ASSIGN) and len(k.children()) == 2:
                self.look(k, inside)
        self.locals = []
        if self.braces:
            for k in cursor.children()[-1].children():
                for v in k.children() if k.kind == DECLARATIONS else []:
                    self.locals.append(v)

    def look(self, k, inside):
        """Whether an assignment writes an element that the counter names, of something outside."""
        left, right = k.children()
        if left.kind not in (SUBSCRIPT, syntax.CALL, UNARY) or self.store:
            return
        a, b, _ = left.extent()
        text = self.source[a:b]
        operator = self.source[b:right.extent()[0]].strip()
        follows = text.startswith("*")  # *it, *(p + i)
        base = re.search(r"\w+", text) if follows else re.match(r"\w+", text)
        if not base or not operator.endswith("=") or operator == "==" or \
                (base.group(0) in inside and base.group(0) != self.counter):
            return
        if not re.fullmatch(r"[\w\s\[\]+\-*().>]+", text) or \
                not (follows or text.endswith("]") and "[" in text):
            return
        # the last index only: others may be names of pointers to rows
        if not word(self.counter).search(text if follows else text[text.index("["):]) or \
                not size_kind(left.type().canonical()):
            return
        self.store, self.operator = text, operator
        self.inner = any(x <= a < y for x, y in self.nested)  # a break leaves another loop
        self.right = right.extent()[:2]
        self.real = left.type().canonical().kind in (syntax.FLOAT, syntax.DOUBLE)
        self.of = left.children()[0].type().canonical()
        self.element = left.type().canonical() if left.kind in (syntax.CALL, UNARY) or \
            self.of.kind == syntax.RECORD else \
            self.of.pointee() if self.of.kind == syntax.POINTER else self.of.element()
        self.base = base.group(0)
        end = self.right[1]
        while end < len(self.source) and self.source[end] in " )\n":
            end += 1
        self.after = end + 1 if self.source[end:end + 1] == ";" else None
        self.of_store = (a, self.right[1])

    # ---- lines, which insertions leave as they are ----
    def line_of(self, offset):
        return self.source.count("\n", 0, offset) + 1

    def lines_of(self, start, end):
        return set(range(self.line_of(start), self.line_of(end) + 1))

    # ---- insertions ----
    def at(self, e):
        return word(self.counter).sub(f"({e})", self.store)

    def more(self, text):
        """The stored value, and something else added to it."""
        a, b = self.right
        return [(a, "("), (b, f") + ({text})")]

    def first(self, text):
        return [(self.body[0] + 1, " " + text)] if self.braces else None

    def before(self, text):
        end = self.end + (self.source[self.end - 1] not in ";}")
        return [(self.start, f"{{ {text} "), (end, " }")]

    def outside(self, text):
        return [(self.outer.extent()[0], text + " ")]


def read_neighbour(t):
    return t.store and t.more(t.at(t.counter + " + 1"))


def read_previous(t):
    return t.store and t.more(t.at(t.counter + " - 1"))


def write_neighbour(t):
    if any(v.kind == syntax.VAR and v.name() == getattr(t, "base", "") and
           v.type().canonical().kind != syntax.POINTER for v in t.function.walk()):
        return None  # of a local array each thread may have its own
    return t.after and [(t.after, f" {t.at(t.counter + ' + 1')} = {t.store};")] \
        if t.store and t.after and t.in_block() else None


def two_write_one(t):
    if not t.store or t.operator != "=" or not t.numbered:
        return None
    a = t.source.rindex(t.store, 0, t.right[0])
    return [(a, t.at(t.counter + " / 2") + " = "), (a, "/*"), (t.right[0], "*/")]


def through_index(t):
    if not t.store or t.operator != "=" or not t.numbered:
        return None
    a = t.source.rindex(t.store, 0, t.right[0])
    return t.outside("extern int fault_at[];") + [
        (a, t.at(f"fault_at[{t.counter}]") + " = "), (a, "/*"), (t.right[0], "*/")]


def through_alias(t):
    m = t.store and re.match(r"(\w+)\[", t.store)
    vector = m and t.of.kind == syntax.RECORD and "vector<" in t.of.name()
    if not m or not (vector or t.of.kind in (syntax.POINTER, syntax.CONSTANT_ARRAY)):
        return None
    element = t.element
    if "[" in element.name() or t.store.count("[") != 1 or t.base == t.counter:
        return None
    name = re.sub(r"\b(const|restrict) ?", "", element.name())
    if word(t.base).search(t.source[t.start:t.body[0]]):
        return None
    index = t.at(t.counter + " + 1")[len(t.base):]
    place = f"&{t.base}[0]" if vector else t.base
    return t.before(f"{name} *fault_alias = ({name} *){place};") + t.more("fault_alias" + index)


def through_callee(t):
    """A function of the file reads the neighbour."""
    m = t.store and re.match(r"(\w+)\[(.*)\]$", t.store)
    if not m or t.store.count("[") != 1:
        return None
    element = t.element
    if not size_kind(element):
        return None
    name = re.sub(r"\b(const|restrict|volatile) ?", "", element.name())
    return t.outside(f"static {name} fault_read(const {name} *p) {{ return *p; }}") + \
        t.more(f"fault_read(&{t.at(t.counter + ' + 1')})")


def impure_call(t):
    how = "static int fault_calls; static int fault_tick(void) { return fault_calls++; }"
    if t.store:
        return t.outside(how) + t.more("fault_tick()")
    return t.first("fault_tick();") and t.outside(how) + t.first("fault_tick();")


def call_unknown(t):
    how = "int fault_unknown(void);"
    return t.first("fault_unknown();") and t.outside(how) + t.first("fault_unknown();")


def shared_counter(t):
    """How often a condition held so far."""
    if not t.store or not t.after or not t.in_block():
        return None
    return t.before("int fault_n = 0;") + \
        [(t.after, f" if ({t.store} > 1) fault_n++; {t.store} += fault_n;")]


def keeps_last(t):
    """What the iteration before stored."""
    if not t.store or not t.after or not t.in_block():
        return None
    return t.before("double fault_last = 0;") + t.more("fault_last") + \
        [(t.after, f" fault_last = {t.store};")]


def running_sum(t):
    if not t.store or not t.after or not t.in_block():
        return None
    return t.before("double fault_sum = 0;") + \
        [(t.after, f" fault_sum += {t.store}; {t.store} = fault_sum;")]


def reduced(t):
    """A number that is reduced, and no array or complex one."""
    m = re.search(r"reduction\((?:\+|\*|min|max) ?: ?(\w+)\)", t.found["pragma"] or "")
    for v in t.function.walk() if m else []:
        kind = v.type().canonical()
        if v.kind in (syntax.VAR, syntax.PARM) and v.name() == m.group(1) and \
                size_kind(kind) and kind.kind != syntax.COMPLEX:
            return v.name()
    return None


def reduction_read(t):
    """A sum is looked at in the midst of it."""
    name = reduced(t)
    return name and t.first(f"if ({name} > 3) {name} = 1;")


def reduction_stored(t):
    name = reduced(t) if t.braces else None
    return name and t.before("static double fault_seen[1];") + \
        t.first(f"if (fault_seen[0] < {name}) fault_seen[0] += 1;")


def hoisted(t):
    """A local goes on from what it was in the iteration before."""
    for v in t.locals:
        start, end, _ = v.extent()
        text, name = t.source[start:end], v.name()
        kind = v.type().canonical()
        m = re.match(r"((?:const )?[\w: ]+?)\s*\b" + re.escape(name) + r"\s*=\s*(.*)$", text, re.S)
        rest = t.source[end:t.end]
        if not m or not size_kind(kind) or kind.kind == syntax.ENUM_TYPE or rest[0] != ";" or \
                not word(name).search(rest):
            continue
        spelled = re.sub(r"\b(const|volatile) ?", "", kind.name())
        return t.before(f"{spelled} {name} = 0;") + [
            (start, "/*"), (start + m.start(2), f"*/ {name} = {name} * 2 + ("), (end, ")")]
    return None


def static_local(t):
    """The same by one word: `static`."""
    for v in t.locals:
        start, end, _ = v.extent()
        name, rest = v.name(), t.source[end:t.end]
        m = re.match(r"([\w: ]+?)\s*\b" + re.escape(name) + r"\s*=\s*(.*)$",
                     t.source[start:end], re.S)
        if m and size_kind(v.type().canonical()) and rest[0] == ";" and \
                not re.search("static|auto", m.group(1)) and word(name).search(rest) and \
                not v.type().const():
            return [(start, "static "), (start + m.end(1), f" {name}; {name} = {name} * 2 + ("),
                    (start + m.end(1), "/*"), (start + m.start(2), "*/"), (end, ")")]
    return None


def leaves(t):
    return t.store and t.after and t.in_block() and not t.inner and \
        [(t.after, f" if ({t.store} > 100) break;")] or None


KINDS = {f.__name__: f for f in (
    read_neighbour, read_previous, write_neighbour, two_write_one, through_index, through_alias,
    through_callee, impure_call, call_unknown, shared_counter, keeps_last, running_sum,
    reduction_read, reduction_stored, hoisted, static_local, leaves)}


def accesses(t, kind):
    """The lines of the two accesses that a change makes meet, in either order; None: of no memory,
    or of none that is known."""
    text = t.source.split("\n")

    def naming(name):
        return {n for n in t.lines_of(t.start, t.end) if word(name).search(text[n - 1])}

    if kind in ("hoisted", "static_local"):
        change = " ".join(x for _, x in KINDS[kind](t))
        own = [naming(v.name()) for v in t.locals if word(v.name()).search(change)]
        return (own[0], own[0]) if own else None
    body, outside = {t.line_of(t.body[0])}, {t.line_of(t.outer.extent()[0])}
    if kind == "impure_call":
        return outside, outside
    if kind == "reduction_stored":
        return body, body
    if kind == "reduction_read":
        return body, naming(reduced(t))
    if kind in ("leaves", "call_unknown") or not t.store:
        return None
    store, read = t.lines_of(*t.of_store), {t.line_of(t.right[1])}
    elements = {n for n in naming(t.base) if re.search(
        r"\b" + t.base + r"\b[\w.>-]*(\[|\])|\*\s*\(?" + t.base, text[n - 1])}
    after = {t.line_of(t.after)} if t.after else set()
    return {"read_neighbour": (store, read), "read_previous": (store, read),
            "write_neighbour": (after, store | after), "two_write_one": (store, store),
            "through_index": (store, store | elements), "through_alias": (store, read),
            "through_callee": (store, outside), "shared_counter": (after, after),
            "keeps_last": (after, read), "running_sum": (after, after)}[kind]


def in_block(t):
    """Whether what is put behind the store runs with it: it stands in a block, not under an if."""
    at = t.source.rindex(t.store, 0, t.right[0])
    return t.source[:at].rstrip()[-1:] in "{};" and at > t.body[0]


Target.in_block = in_block


def judge(o, paths, flags, line=0):
    done = subprocess.run([o.hpccoder, "pragma", "-q", "--json", "--at", str(line), *paths, "--",
                           *flags], capture_output=True, text=True)
    try:
        return {f["file"]: f["loops"] for f in json.loads(done.stdout)}
    except ValueError:
        return {}


def targets(o, path, flags=()):
    """The loops of a file that are found parallel or conditional."""
    flags = flags or o.flags
    with open(path, errors="replace") as f:
        source = f.read()
    if not source.isascii():
        return []
    found = judge(o, [path], flags).get(path, [])
    found = {(l["line"]): l for l in found if l["verdict"] in ("parallel", "conditional")}
    if not found:
        return []
    out, seen = [], set()

    def visit(cursor, function, outer):
        for k in cursor.children():
            apart = cursor.kind in (*UNIT, syntax.NAMESPACE, LINKAGE)
            if apart and not k.here():
                continue
            inner = k if k.kind in FUNCTIONS and k.defined() else function
            if k.kind == syntax.FOR and inner is not None:
                line = k.extent()[2]
                if line in found and line not in seen:
                    seen.add(line)
                    try:
                        out.append(Target(source, k, inner, outer, found[line]))
                    except (ValueError, IndexError):
                        pass
            visit(k, inner, k if apart else outer)

    visit(syntax.parse(path, flags), None, None)
    return out


def broken(o, path, number):
    """(kind, line, verdict before, verdict after, file) of each broken copy of a file's loops."""
    out = []
    if time.monotonic() > o.until:
        return path, None
    folder = os.path.join(o.out, str(number))
    flags = o.flags + ["-I" + os.path.dirname(os.path.abspath(path))]
    for n, t in enumerate(targets(o, path)):
        made = []
        for kind in (list(KINDS) * 2)[(number + n * 5) % len(KINDS):][:len(KINDS)]:
            edit = KINDS[kind](t) if len(made) < o.each else None
            if edit:
                copy = os.path.join(folder, f"{kind}.{t.line}.{os.path.basename(path)}")
                os.makedirs(folder, exist_ok=True)
                with open(copy, "w") as f:
                    f.write(insert(t.source, edit))
                made.append((copy, kind))
        judged = judge(o, [m[0] for m in made], flags, t.line) if made else {}
        for copy, kind in made:
            loops = [l for l in judged.get(copy, []) if l["line"] == t.line]
            after = loops[0]["verdict"] if loops else "lost"
            if after == "conditional" and kind == "through_index" and any(
                    "fault_at has no repeated entry" in x["text"] for x in loops[0]["assumptions"]):
                after = "listed"
            out.append((kind, t.line, t.found["verdict"], after, copy))
            if after in ("unsafe", "unknown", "listed"):
                os.remove(copy)
    return path, out


def main():
    argv, flags = sys.argv[1:], []
    if "--" in argv:
        argv, flags = argv[:argv.index("--")], argv[argv.index("--") + 1:]
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("paths", nargs="+")
    p.add_argument("--hpccoder", default="build/release/hpccoder")
    p.add_argument("--out")
    p.add_argument("--loops", type=int,
                   help="that there must be at least (default: 200 in folders, 0 in single files)")
    p.add_argument("--each", type=int, default=len(KINDS), help="copies of a loop at most")
    p.add_argument("--seconds", type=float, default=1e9, help="begin no file after so many")
    p.add_argument("--jobs", type=int, default=2)
    o = p.parse_args(argv)
    o.until = time.monotonic() + o.seconds
    if o.loops is None:
        o.loops = 200 if any(os.path.isdir(path) for path in o.paths) else 0
    o.out = o.out or tempfile.mkdtemp(prefix="faults.")
    files, folders = [], set()
    for path in o.paths:
        one = [(os.path.dirname(path), [], [os.path.basename(path)])]
        for top, _, names in os.walk(path) if os.path.isdir(path) else one:
            folders.update({top} if any(n.endswith(HEADERS) for n in names) else set())
            files += [os.path.join(top, n) for n in sorted(names) if n.endswith((".c", *CPP))]
    o.flags = flags + ["-I" + f for f in sorted(folders)]
    counts, loops, by_kind, left_out = {}, set(), {}, 0
    with concurrent.futures.ThreadPoolExecutor(o.jobs) as pool:
        for path, out in pool.map(lambda a: broken(o, a[1], a[0]), enumerate(files)):
            left_out += out is None
            for kind, line, before, after, copy in out or []:
                loops.add((path, line))
                counts[after] = counts.get(after, 0) + 1
                row = by_kind.setdefault(kind, {})
                row[after] = row.get(after, 0) + 1
                if after in ("parallel", "conditional", "lost"):
                    print(f"{after}: {kind} {path}:{line} (was {before}): {copy}", flush=True)
            if out:
                print(f"{path}: {len({x[1] for x in out})} loops, {len(out)} copies",
                      file=sys.stderr, flush=True)
    for kind in KINDS:
        print(f"{kind:16}", ", ".join(f"{n} {v}" for v, n in sorted(by_kind.get(kind, {}).items())))
    total = sum(counts.values()) - counts.get("lost", 0)
    print(f"{len(loops)} loops, {total} broken copies:",
          ", ".join(f"{n} {v}" for v, n in sorted(counts.items())) +
          (f"; {left_out} of {len(files)} files were not begun" if left_out else ""))
    bad = counts.get("parallel", 0) or counts.get("conditional", 0) > 0.03 * max(total, 1)
    return 1 if bad or len(loops) < o.loops else 0


if __name__ == "__main__":
    sys.exit(main())
