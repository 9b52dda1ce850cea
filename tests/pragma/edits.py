#!/usr/bin/env python3
"""Applies the edits that `hpccoder pragma` names to labelled loops, and judges the edited loops.

    edits.py [--hpccoder PROGRAM] [--cc COMPILER] [FOLDER]

Each edited loop that the edit calls parallel must be `parallel`, or `conditional` where the edit
names a condition. In FILES with a comment "edit: ..." or "no edit" above a function, its first loop
has that edit. Functions of (int n, double *a, double *b, double *c) also run before the edit, and
after it with directives on four threads: the arrays and the result must be equal.
"""
import argparse
import ctypes
import json
import os
import re
import subprocess
import sys
import tempfile

CLAIMS = ("edits.c",)
WAYS = {}


class Unsupported(Exception):
    pass


def way(pattern):
    def add(f):
        WAYS[re.compile(pattern)] = f
        return f
    return add


class Text:
    """The lines of a file with one loop, numbered from 1."""

    def __init__(self, lines, loop):
        self.lines, self.loop = lines, loop
        self.first, self.last = loop["line"], loop["end_line"]

    def line(self, n):
        return self.lines[n - 1]

    def part(self, first, last):
        return self.lines[first - 1:last]

    def head(self):
        if not re.search(r"\)\s*\{$", self.line(self.first)) or \
                self.line(self.last).strip() != "}":
            raise Unsupported("the loop has no line of its own for its head and its end")
        return self.line(self.first)


@way(r"split the loop after lines? (\d+)(?: and (\d+))?(?: and repeat lines? ([\d, and]+))?: (.*)")
def split(t, first, second, repeated, rest):
    """A list of new lines, and the positions of the loops that must be parallel."""
    cuts = [int(x) for x in (first, second) if x]
    repeat = [t.line(int(x)) for x in re.findall(r"\d+", repeated or "")]
    names = {"first": 0, "second": 1, "third": 2}
    must = set(names.values()) if rest.startswith("each") else \
        {names[x] for x in re.findall(r"the (first|second|third)", rest)}
    out, at, begin = t.lines[:t.first - 1], [], t.first + 1
    for k, cut in enumerate(cuts + [t.last - 1]):
        if k in must:
            at.append(len(out))
        out += [t.head()] + (repeat if k else []) + t.part(begin, cut) + [t.line(t.last)]
        begin = cut + 1
    return out + t.lines[t.last:], at


@way(r"move line (\d+) before the loop(?:, if the loop has an iteration)?: it stores")
def move(t, line):
    out = [x for k, x in enumerate(t.lines, 1) if k != int(line)]
    return out[:t.first - 1] + [t.line(int(line))] + out[t.first - 1:], [t.first]


@way(r"declare (.*) in the loop: each")
def declare(t, names):
    lines, moved = list(t.lines), []
    for name in re.findall(r"\w+", names.replace(" and ", " ")):
        n = next(k for k in range(t.first - 1, 0, -1)
                 if re.match(r"\s+\w+ " + name + r"( = [^,]*)?;$", t.line(k)))
        moved.append(t.line(n))
        lines[n - 1] = ""
    t.head()
    return lines[:t.first] + moved + lines[t.first:], [t.first - 1]


@way(r"remove static from the declaration of (.*): each")
def automatic(t, names):
    lines = list(t.lines)
    for k in range(t.first - 1, t.last):
        if re.search(r"\b(" + names.replace(" and ", "|").replace(", ", "|") + r")\b", lines[k]):
            lines[k] = lines[k].replace("static ", "")
    return lines, [t.first - 1]


@way(r"privatise (.*): each iteration")
def privatise(t, names):
    lines, own = list(t.lines), []
    for name in re.findall(r"\w+", names.replace(" and ", " ")):
        n = next(k for k in range(t.first - 1, 0, -1)
                 if re.match(r"\s*(static )?\w+ " + name + r"\[\w+\]( = .*)?;$", t.line(k)))
        own.append(re.sub(r" = .*;", ";", t.line(n).replace("static ", "")))
    t.head()
    return lines[:t.first] + own + lines[t.first:], [t.first - 1]


def word(name):
    return r"(?<![\w.>])" + re.escape(name) + r"(?!\w)"


@way(r"copy (.*) to a local variable before the loop, if it does not change")
def copy_bound(t, what):
    head = re.sub(word(what), "edit_limit", t.line(t.first))
    if head == t.line(t.first):
        raise Unsupported("the bound is not in the first line")
    kind = "auto" if t.cpp else "__auto_type"
    return t.lines[:t.first - 1] + [f"{kind} edit_limit = {what};", head] + t.lines[t.first:], \
        [t.first]


def use_copies(t, names, declare, after=None):
    """Each name stands for a variable of its own within the loop."""
    body, before, behind = t.part(t.first, t.last), [], []
    for k, name in enumerate(re.split(r", | and ", names)):
        body = [re.sub(word(name), f"edit_{k}", x) for x in body]
        before.append(declare(f"edit_{k}", name))
        behind += [after(f"edit_{k}", name)] if after else []
    return t.lines[:t.first - 1] + before + body + behind + t.lines[t.last:], \
        [t.first - 1 + len(before)]


@way(r"copy ([^,;]*) to a local variable before the loop(, and back after it)?$")
def copy(t, names, back):
    kind = "auto" if t.cpp else "__auto_type"
    return use_copies(t, names, lambda new, old: f"{kind} {new} = {old};",
                      (lambda new, old: f"{old} = {new};") if back else None)


@way(r"load into local pointers with restrict before the loop: (.*)$")
def load(t, names):
    return use_copies(t, names, lambda new, old: f"__typeof__(&({old})[0]) __restrict {new} = {old};")


@way(r"restrict in the declarations excludes an overlap of (.*)$")
def restrict(t, names):
    key, lines = "__restrict" if t.cpp else "restrict", list(t.lines)
    begin = next((k for k in range(t.first, 0, -1) if t.line(k)[:1].isalpha()), 1)
    for k in range(begin - 1, t.first - 1):
        for name in re.findall(r"\w+", names.replace(" and ", " ")):
            x = re.sub(r"\*(const )?" + name + r"\b(?!\[)", rf"*\1{key} {name}", lines[k], count=1)
            lines[k] = re.sub(r"(?<=\w )" + name + r"\[(?=[^\]]*\]( *\[[^\]]*\])*[,)])",
                              f"{name}[{key} ", x, count=1)
    return lines, [t.first - 1]


def judge(o, path, flags=(), line=0):
    done = subprocess.run([o.hpccoder, "pragma", "-q", "--json", "--at", str(line), path, "--", *flags],
                          capture_output=True, text=True)
    return json.loads(done.stdout)[0]


def function_of(lines, line):
    """The name of a function of (n, a, b, c) with the line in it; None: another function."""
    for k in range(line, 0, -1):
        m = re.match(r"(void|double) (\w+)\(int n, double \*restrict a, double \*restrict b, "
                     r"double \*restrict c\)$", lines[k - 1])
        if m:
            return m.groups()
        if lines[k - 1].startswith("}"):
            return None
    return None


def run(o, lines, kind, name, file):
    """What a function leaves in its arrays, and its result."""
    source, library = os.path.join(o.out, file + ".c"), os.path.join(o.out, file + ".so")
    with open(source, "w") as f:
        f.write("\n".join(lines))
    subprocess.run([o.cc, "-O1", "-fopenmp", "-shared", "-fPIC", "-o", library, source, "-lm"],
                   check=True)
    call = getattr(ctypes.CDLL(library), name)
    call.restype = ctypes.c_double if kind == "double" else None
    n = 4096
    arrays = [(ctypes.c_double * (n + 16))(*((i * (k + 3)) % 97 / 16.0 for i in range(n + 16)))
              for k in range(3)]
    result = call(n, *arrays)
    return result, [list(a) for a in arrays]


def with_directives(lines, loops, at):
    out = list(lines)
    for k in sorted(at, reverse=True):
        pragma = next(l["pragma"] for l in loops if l["line"] == k + 1)
        out.insert(k, re.sub(r" if\(.*\)$", "", pragma))
    return out


def apply(o, path, lines, loop):
    """Why the edit is wrong; None: it is right."""
    t = Text(lines, loop)
    t.cpp = path.endswith(".cpp")
    if "; " in loop["edit"]:
        raise Unsupported("it has two parts")
    found = [(f, m) for p, f in WAYS.items() for m in [p.match(loop["edit"])] if m]
    if not found:
        raise Unsupported("no way to apply it")
    edited, at = found[0][0](t, *found[0][1].groups())
    copy_path = os.path.join(o.out, "edited" + os.path.splitext(path)[1])
    with open(copy_path, "w") as f:
        f.write("\n".join(edited))
    done = judge(o, copy_path, ["-I" + os.path.dirname(os.path.abspath(path))],
                 at[0] + 1 if len(at) == 1 else 0)
    if done["errors"]:
        return f"it does not compile: {done['error']}"
    right = {"parallel", "conditional"} if " if " in loop["edit"] else {"parallel"}
    for k in at:
        new = [l for l in done["loops"] if l["line"] == k + 1]
        if not new or new[0]["verdict"] not in right:
            return f"the loop is {new[0]['verdict'] if new else 'lost'} after it"
    kind_name = function_of(lines, t.first) if os.path.basename(path) in CLAIMS else None
    if kind_name:
        before = run(o, lines, *kind_name, f"before{o.runs}")
        o.runs += 1
        if run(o, with_directives(edited, done["loops"], at), *kind_name, f"after{o.runs}") != before:
            return "the results differ after it"
    return None


def check_claims(lines, loops):
    """Comments that name an edit, against the edits of the loops below them."""
    for n, text in enumerate(lines, 1):
        m = re.match(r"/\* (?:edit: (.*)|(no edit)\b.*) \*/$", text)
        if not m:
            continue
        loop = next(l for l in loops if l["line"] > n)
        want = re.sub(r"\+(\d+)", lambda x: str(loop["line"] + int(x.group(1))), m.group(1) or "")
        is_ = loop["edit"] or ""
        if not is_.startswith(want) or bool(want) != bool(is_):
            yield f"{loop['line']}: the edit is '{is_}', not '{want}'"


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("folder", nargs="?", default="tests/pragma/loops")
    p.add_argument("--hpccoder", default="build/release/hpccoder")
    p.add_argument("--cc", default="cc")
    o = p.parse_args()
    o.runs, wrong, applied, left = 0, [], 0, 0
    with tempfile.TemporaryDirectory(prefix="edits.") as o.out:
        for name in sorted(os.listdir(o.folder)):
            path = os.path.join(o.folder, name)
            if not name.endswith((".c", ".cpp")):
                continue
            with open(path) as f:
                lines = f.read().split("\n")
            loops = judge(o, path)["loops"]
            if name in CLAIMS:
                wrong += [f"{path}:{x}" for x in check_claims(lines, loops)]
            for loop in loops:
                if not loop["edit"]:
                    continue
                try:
                    why = apply(o, path, lines, loop)
                except (Unsupported, StopIteration) as e:
                    left += 1
                    print(f"not applied: {path}:{loop['line']}: {loop['edit']}: {e}")
                    continue
                applied += 1
                if why:
                    wrong.append(f"{path}:{loop['line']}: {loop['edit']}: {why}")
    for x in wrong:
        print("WRONG", x)
    print(f"{applied} edits applied, {o.runs} of them run before and after, {left} not applied, "
          f"{len(wrong)} wrong")
    return 1 if wrong or not applied else 0


if __name__ == "__main__":
    sys.exit(main())
