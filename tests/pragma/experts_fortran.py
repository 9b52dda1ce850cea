#!/usr/bin/env python3
"""What `hpccoder pragma` says of the Fortran loops that experts put a directive before.

    experts_fortran.py [--show] [--files GLOB] [--speed FLANG] FOLDER... [-- FLAGS]

A row for each folder: the directives with a `do` in its text, the verdicts on their loops, and the causes that
leave loops unknown. Directives in program units that do not compile count as such. Without FLAGS each file gets
the folders of its tree that have included files, and the macros that its tests for OpenMP and MPI name. --show
prints each loop that is not found, with its first evidence. --speed compares the CPU time with that of
`FLANG -fsyntax-only` on the same files, in the order of their modules.
"""
import argparse, collections, fnmatch, json, os, re, resource, subprocess, sys, tempfile

from experts import generic

SOURCES = (".f", ".for", ".ftn", ".f77", ".f90", ".f95", ".f03", ".f08")


def read(path):
    with open(path, encoding="utf-8", errors="replace") as f:
        return f.read()


def directives(text):
    """The lines of directives for a loop, with their continuations joined."""
    out, lines = [], text.split("\n")
    for i, line in enumerate(lines):
        if not re.match(r"[ \t]*[!cC*]\$omp\b(?![ \t]*end)", line, re.I):
            continue
        if re.match(r"[!cC*]\$omp[^ 0]", line, re.I):  # fixed form: a continuation
            continue
        if re.search(r"\bdo\b|\btaskloop\b", re.sub(r"!.*", "", re.sub(r"^[ \t]*[!cC*]\$omp", "", line, flags=re.I)), re.I):
            out.append(i + 1)
    return out


class Tree:
    def __init__(self, folder):
        self.paths = sorted(os.path.join(at, n) for at, _, names in os.walk(folder) for n in names)
        self.includes = {}
        for p in self.paths:
            self.includes.setdefault(os.path.basename(p).lower(), []).append(os.path.dirname(p))

    def files(self, pattern):
        for p in self.paths:
            if p.lower().endswith(SOURCES) and fnmatch.fnmatch(p, pattern) and directives(read(p)):
                yield p

    def flags(self, path):
        text, out = read(path), []
        for name in re.findall(r"^[ \t]*#?[ \t]*include[ \t]*['\"<]([^'\">\n]+)", text, re.M | re.I):
            found = self.includes.get(os.path.basename(name).lower(), [])
            found = sorted(found, key=lambda f: (-len(os.path.commonpath([f, path])), f))
            out += ["-I" + found[0]] if found and found[0] != os.path.dirname(path) else []
        names = set(re.findall(r"^[ \t]*#[ \t]*(?:el)?if(?:def)?\b.*?\b(\w*(?:OPENMP|OMP|MPI)\w*)", text, re.M | re.I))
        return out + ["-D" + n for n in sorted(names) if not re.search(r"NO_|TARGET|INTEL", n)]


class Counts:
    def __init__(self):
        self.verdicts, self.why = collections.Counter(), collections.Counter()
        self.files = self.n = self.alone = self.wrong = 0

    def loops(self, loops, path, show):
        for l in loops:
            if not l["existing"]:
                self.alone += l["pragma"] is not None
                continue
            if not re.search(r"\bdo\b|\btaskloop\b", l["existing"], re.I):
                continue
            self.verdicts[l["verdict"]] += 1
            self.wrong += l["existing_is"] in ("racy", "clause", "reduction")
            if l["verdict"] in ("unknown", "unsafe"):
                e = l["evidence"][0] if l["evidence"] else {"kind": "form", "text": "?", "line": 0}
                self.why[f'{l["verdict"]}: {e["kind"]}: {generic(e["text"])}'] += 1
                if show:
                    print(f'{path}:{l["line"]}: {l["verdict"]}: {e["line"]}: {e["text"]}')

    def row(self, name):
        v = self.verdicts
        found = v["parallel"] + v["conditional"]
        print(f'| {name} | {self.n} | {v["parallel"]} | {v["conditional"]} | {v["unsafe"]} | '
              f'{self.n - found - v["unsafe"]} | {100 * found / max(self.n, 1):.1f} % |')
        print(f"    {self.files} files; {self.alone} loops without a directive get a proposal; "
              f"{self.wrong} directives are called wrong")
        for k, m in self.why.most_common():
            print(f"    {m:4d} {k}")


def judge(counts, hpccoder, path, flags, show):
    r = subprocess.run([hpccoder, "pragma", "-q", "--json", path, "--"] + flags, capture_output=True, text=True,
                       errors="replace")
    at = directives(read(path))
    counts.files += 1
    counts.n += len(at)
    f = json.loads(r.stdout)[0] if r.stdout else {"loops": [], "error": {"text": r.stderr}}
    before = sum(counts.verdicts.values())
    counts.loops(f.get("loops", []), path, show)
    lost = len(at) - (sum(counts.verdicts.values()) - before)
    if lost > 0:
        counts.why["unknown: in a unit that does not compile"] += lost
        if show:
            print(f"{path}: {lost} directives are lost: {f.get('error')}")


def cpu(command, folder):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def in_order(files):
    """Files that define modules before those that use them."""
    defines = {p: set(m.lower() for m in re.findall(r"^[ \t]*module[ \t]+(\w+)", read(p), re.M | re.I)) for p in files}
    uses = {p: set(m.lower() for m in re.findall(r"^[ \t]*use\b[^\n:]*?(?:::)?[ \t]*(\w+)", read(p), re.M | re.I))
            for p in files}
    out = []
    while len(out) < len(files):
        rest = [p for p in files if p not in out]
        unmet = set().union(*(defines[p] for p in rest))
        out += [p for p in rest if not (uses[p] & (unmet - defines[p]))] or rest
    return out


def speed(hpccoder, flang, tree, files):
    ours = theirs = 0.0
    with tempfile.TemporaryDirectory() as folder:
        folders = sorted({os.path.dirname(os.path.abspath(p)) for p in files})
        every = [os.path.abspath(p) for p in tree.paths if p.lower().endswith(SOURCES)
                 and os.path.dirname(os.path.abspath(p)) in folders]
        for p in in_order(every):
            flags = [os.path.abspath(f) if not f.startswith("-") else f for f in tree.flags(p)]
            theirs += cpu([flang, "-fsyntax-only", "-fopenmp", p] + flags, folder)
        ours = cpu([hpccoder, "pragma", "-q", "-j", "1"] + every, folder)
    print(f"    {len(every)} files: {ours:.2f} s of CPU time, {flang} -fsyntax-only {theirs:.2f} s, "
          f"ratio {ours / max(theirs, 1e-9):.2f}")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--hpccoder", default="build/release/hpccoder")
    p.add_argument("--show", action="store_true")
    p.add_argument("--files", default="*")
    p.add_argument("--speed", metavar="FLANG")
    p.add_argument("folder", nargs="+")
    at = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    a, flags = p.parse_args(sys.argv[1:at]), sys.argv[at + 1:]
    program = os.path.abspath(a.hpccoder)
    print("| program | directives | parallel | conditional | unsafe | unknown | found |")
    for folder in a.folder:
        tree, counts = Tree(folder), Counts()
        files = list(tree.files(a.files))
        for path in files:
            judge(counts, program, path, flags or tree.flags(path), a.show)
        counts.row(os.path.basename(os.path.normpath(folder)))
        if a.speed:
            speed(program, a.speed, tree, files)


if __name__ == "__main__":
    main()
