#!/usr/bin/env python3
"""What `hpccoder pragma` says of the loops that experts put a directive before.

    experts.py [--show KIND] -- FILE... [-- FLAGS] [: FILE... [-- FLAGS]]...
    experts.py --tree FOLDER [--name NAME] [-- FLAGS]
    experts.py --part tune|test --trees FOLDER

The first takes lists of files with their flags. The second looks through a folder for files of C and C++ that
have loops under OpenMP's `for`, and gives each the folders of the headers that it includes, as far as they are
in the tree, and the macros of the tests for OpenMP that it has. The third does the same for one part of the
repositories of PARTS, each in FOLDER/NAME, and prints a row of docs/pragma.md for each. Rules may be
written after reading loops of the part "tune". The part "test" is only measured.

Of the loops that carry a directive for threads (a `for` in it) it counts verdicts, what the analysis says of
the directive itself (right: harmless and redundant too), why loops are unknown, and, of those that are found,
whether the clauses that are proposed are the expert's (experts_clauses.py). Recall is the share that is found
parallel, or conditional. --show racy,clause,reduction,unproven,unknown,unsafe,clauses prints those, with what
decides. --disagree FILE adds all disagreements to a file, a line of JSON each; --sample N FILE... draws
N of them, the same with each run.
"""
import argparse, collections, json, os, random, re, subprocess, sys

import experts_clauses

SOURCES = (".c", ".cc", ".cpp", ".cxx", ".h", ".hh", ".hpp", ".hxx", ".inl", ".tcc")
DIRECTIVE = re.compile(r"\bomp\b.*\bfor\b")


# Repositories with their commits. The parts have similar shares of templates and of files that do not compile.
PARTS = {
    "tune": {"amgcl": "3f7970bdd5", "RAJAPerf": "9af20b3fce", "Tengine": "c73708ceb4", "qulacs": "4f6de32cca",
             "CoMD": "3d48396b77", "miniBUDE": "570f66c1fd"},
    "test": {"faiss": "02dbb4e42f", "viennacl-dev": "dc552a8d4b", "sundials": "c8dabcea90", "axom": "dc40842391",
             "xgboost": "379b29f083", "exafmm": "9a8aac6c9d", "llama2.c": "350e04fe35"},
}


# ---- flags of a tree without a build ---------------------------------------------------------------

def system_folders():
    r = subprocess.run(["c++", "-E", "-v", "-xc++", "/dev/null"], capture_output=True, text=True)
    return [l.strip() for l in r.stderr.split("\n") if l.startswith(" /")]


class Tree:
    def __init__(self, folder):
        self.folder, self.system, self.by_name, self.read = folder, system_folders(), {}, {}
        for at, below, names in os.walk(folder):
            below[:] = sorted(b for b in below if not b.startswith("."))
            for n in sorted(names):
                self.by_name.setdefault(n, []).append(os.path.join(at, n))

    def text(self, path):
        if path not in self.read:
            with open(path, encoding="utf-8", errors="replace") as f:
                self.read[path] = f.read()
        return self.read[path]

    def files(self):
        """Those with a loop under OpenMP's `for`."""
        pragma = re.compile(r"^[ \t]*#[ \t]*pragma[ \t]+omp\b(?:[^\n]*\\\n)*[^\n]*\bfor\b", re.M)
        for name, paths in sorted(self.by_name.items()):
            if name.endswith(SOURCES):
                yield from (p for p in paths if pragma.search(self.text(p)))

    def flags(self, path):
        """Folders of what it includes, and of what that includes; the nearest where there are several."""
        folders, seen, todo = [], set(), [path]
        while todo:
            at = todo.pop()
            if at in seen:
                continue
            seen.add(at)
            for m in re.finditer(r'^\s*#\s*include\s*(["<])([^">\n]+)[">]', self.text(at), re.M):
                want = m.group(2)
                here = os.path.normpath(os.path.join(os.path.dirname(at), want))
                known = [os.path.join(f, want) for f in folders]
                if m.group(1) == '"' and os.path.isfile(here):
                    todo.append(here)
                elif any(os.path.isfile(os.path.join(s, want)) for s in self.system):
                    pass
                elif any(map(os.path.isfile, known)):
                    todo.append(next(k for k in known if os.path.isfile(k)))
                else:
                    ends = [p for p in self.by_name.get(os.path.basename(want), []) if p.endswith("/" + want)]
                    if ends:
                        best = max(ends, key=lambda p: (len(os.path.commonpath([p, at])), -len(p), p))
                        folders.append(best[:-len(want) - 1])
                        todo.append(best)
        text = self.text(path)
        macros = set()
        for m in re.finditer(r"^\s*#\s*(?:el)?if(?:def)?\b([^\n]*)", text, re.M):
            macros |= set(re.findall(r"(?<![!\w(])\b(\w*(?:OPENMP|OMP)\w*)|defined\s*\(\s*(\w*OPENMP\w*)\s*\)",
                                     m.group(1)))
        names = sorted({n for pair in macros for n in pair if n})
        names = [n for n in names if n != "_OPENMP" and not re.search(r"TARGET|NO_|INTEL|COMP|OMPDEV|OMP5|TASK", n)]
        return ["-idirafter" + f for f in folders] + ["-D" + n for n in names]


def calls_of_tree(tree, more):
    for path in tree.files():
        cpp = not path.endswith((".c", ".h"))
        yield [path], tree.flags(path) + ["-fopenmp"] + (["-std=c++17"] if cpp else []) + more


# ---- what is said ----------------------------------------------------------------------------------

def generic(text):
    """Evidence without what it is about."""
    known = ("is not defined in this file", "reads from unknown memory", "writes to unknown memory",
             "calls an unknown function", "passes on its object", "passes on an unknown pointer",
             "allocates or frees memory", "calls a method of another object", "constructs an object of a class",
             "is not analysed", "its form is not supported", "is virtual", "does not compile", "reads a variable that others may change",
             "the code around it does not compile", "the compiler reports an error", "may be the same location",
             "two iterations may write the same location", "target of the call", "is unknown", "too large",
             "changes a variable that outlives it", "the index is read from memory", "carries a value from one iteration",
             "but it is also updated with", "the same location", "input and output", "terminates the program",
             "neither an integer nor a pointer", "type of its loop variable", "hidden state", "may throw",
             "is left early", "static member", "address of", "updated with different operators", "may terminate the program",
             "the memory that", "takes a lock", "reads or writes files")
    for k in known:
        if k in text:
            return k
    return re.sub(r"\b\d+\b", "N", text)


def is_template(text, loop):
    """Whether a brace around the loop opens under `template <...>`. The text is without comments."""
    text = "\n".join(text.split("\n")[:loop["line"] - 1])
    depth = 0
    for i in range(len(text) - 1, -1, -1):
        depth += (text[i] == "}") - (text[i] == "{")
        if depth < 0:
            depth = 0
            cut = max(text.rfind(c, 0, i) for c in ";{}")
            if re.search(r"\btemplate\s*<", text[cut + 1:i]):
                return True
    return False


def reason(f, loop, text):
    """Why it is unknown."""
    e = loop["evidence"][0] if loop["evidence"] else {"kind": "form", "text": f.get("failed") or "?"}
    lost = "does not compile" in e["text"] or "an error" in e["text"]
    if f["missing"] and (lost or e["kind"] in ("call", "form")):
        return "missing headers"
    if f["errors"] and lost:
        return "does not compile"
    if is_template(text, loop):
        return "template"
    return e["kind"] + ": " + generic(e["text"])


class Counts:
    def __init__(self):
        self.files = 0
        self.verdicts, self.says, self.why, self.against = (collections.Counter() for _ in range(4))
        self.compared = self.same = self.same_speed = self.alone = 0
        self.found = collections.Counter()
        self.disagree = []

    def disagreement(self, path, loop, kind, detail):
        self.disagree.append({
            "file": path, "line": loop["line"], "verdict": loop["verdict"], "alone": loop["alone"],
            "expert": loop["existing"], "is": loop["existing_is"], "kind": kind, "detail": detail,
            "evidence": [f'{e["kind"]} {e["line"]}: {e["text"]}' for e in loop["evidence"][:4]]})

    def loop(self, f, loop, text, lines, path, show):
        v, is_ = loop["verdict"], loop["existing_is"] or "?"
        self.verdicts[v] += 1
        self.says[is_] += 1
        if v == "parallel":
            self.found["proven"] += 1
        elif v == "conditional":
            untested = any(a["check"] is None for a in loop["assumptions"])
            self.found["untestable" if untested else "testable"] += 1
        kinds = {v, is_}
        if is_ in ("racy", "clause", "reduction"):
            self.disagreement(path, loop, "directive: " + is_, loop["evidence"][-1]["text"])
        elif v == "unsafe":
            self.against[loop["evidence"][0]["kind"] + ": " + generic(loop["evidence"][0]["text"])] += 1
            self.disagreement(path, loop, "unsafe", loop["evidence"][0]["text"])
        elif v == "unknown":
            why = reason(f, loop, text)
            self.why[why] += 1
            if why not in ("missing headers", "template", "does not compile"):
                self.disagreement(path, loop, "unknown", why)
        if v in ("parallel", "conditional") and loop["alone"]:
            place = experts_clauses.Place(lines, loop, loop["existing"])
            differ, speed = experts_clauses.compare(loop["alone"], loop["existing"], place)
            self.compared += 1
            self.same += not differ
            self.same_speed += not differ and speed
            if differ:
                kinds.add("clauses")
                if is_ not in ("racy", "clause", "reduction"):
                    self.disagreement(path, loop, "clauses", "; ".join(differ))
        if kinds & show:
            print(f'{path}:{loop["line"]}: {v}; {loop["existing"]}: {is_}; {loop["alone"]}')
            for e in loop["evidence"][:3]:
                print(f'    {e["kind"]} {e["line"]}: {e["text"]}')

    def report(self):
        n = sum(self.verdicts.values())
        found = self.verdicts["parallel"] + self.verdicts["conditional"]
        right = self.says["right"] + self.says["harmless"] + self.says["redundant"]
        wrong = self.says["racy"] + self.says["clause"] + self.says["reduction"]
        lost = self.why["missing headers"] + self.why["does not compile"]
        print(f"{self.files} files, {n} directives: " + ", ".join(
            f"{self.verdicts[v]} {v}" for v in ("parallel", "conditional", "unsafe", "unknown")) +
            f"; found {found} ({100 * found / max(n, 1):.1f} %), of those that compile "
            f"{100 * found / max(n - lost, 1):.1f} %; the directive is right {right}, wrong {wrong} "
            f"({self.says['racy']} racy, {self.says['clause']} clause, {self.says['reduction']} reduction), "
            f"not proven {self.says['unproven']}")
        print("found: " + ", ".join(f"{self.found[k]} {k}" for k in ("proven", "testable", "untestable")) +
              f"; {self.alone} loops without a directive get a proposal")
        print(f"clauses: of {self.compared} found, {self.same} have the expert's data clauses "
              f"({100 * self.same / max(self.compared, 1):.1f} %), {self.same_speed} with schedule and collapse")
        for name, c in (("unknown", self.why), ("unsafe", self.against)):
            for k, m in c.most_common():
                print(f"    {name} {m:4d} {k}")

    def row(self, name):
        n = sum(self.verdicts.values())
        found = self.verdicts["parallel"] + self.verdicts["conditional"]
        lost = self.why["missing headers"] + self.why["does not compile"]
        return (f"| {name} | {n} | {self.found['proven']} | {self.found['testable']} | {self.found['untestable']} | "
                f"{self.verdicts['unsafe']} | {self.verdicts['unknown']} | {lost} | {self.alone} | "
                f"{100 * found / max(n, 1):.1f} % |")

    def add(self, other):
        for mine, more in ((self.verdicts, other.verdicts), (self.why, other.why), (self.found, other.found)):
            mine.update(more)
        self.alone += other.alone


def judge(counts, hpccoder, files, flags, show, root):
    r = subprocess.run([hpccoder, "pragma", "-q", "--json"] + files + (["--"] + flags if flags else []),
                       capture_output=True, text=True, errors="replace")
    if not r.stdout:
        sys.exit(f"{files}: {r.stderr}")
    for f in json.loads(r.stdout):
        counts.files += 1
        with open(f["file"], encoding="utf-8", errors="replace") as file:
            text = experts_clauses.blank(file.read())
        lines = text.split("\n")
        path = os.path.relpath(f["file"], root) if root else f["file"]
        for loop in f.get("loops", []):
            if loop["existing"] and DIRECTIVE.search(loop["existing"]):
                counts.loop(f, loop, text, lines, path, show)
            elif not loop["existing"] and loop["pragma"]:
                counts.alone += 1


def part(hpccoder, names, folder):
    everything = Counts()
    for name in names:
        counts = Counts()
        root = os.path.join(folder, name)
        for files, flags in calls_of_tree(Tree(root), []):
            judge(counts, hpccoder, files, flags, set(), root)
        print(counts.row(name), flush=True)
        everything.add(counts)
    print(everything.row("all"))


def sample(n, files):
    rows = []
    for name in files:
        with open(name) as f:
            rows += [json.loads(l) for l in f]
    rows.sort(key=lambda r: (r["name"], r["file"], r["line"]))
    print(json.dumps(random.Random(20261124).sample(rows, min(n, len(rows))), indent=1))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--hpccoder", default="build/release/hpccoder")
    p.add_argument("--show", default="")
    p.add_argument("--tree")
    p.add_argument("--name", default="")
    p.add_argument("--part", choices=PARTS)
    p.add_argument("--trees", default=".")
    p.add_argument("--disagree")
    p.add_argument("--sample", type=int)
    p.add_argument("rest", nargs=argparse.REMAINDER)
    a = p.parse_args()
    show = set(filter(None, a.show.split(",")))
    words = a.rest[1:] if a.rest[:1] == ["--"] else a.rest
    if a.sample:
        return sample(a.sample, words)
    if a.part:
        return part(a.hpccoder, PARTS[a.part], a.trees)
    counts = Counts()
    if a.tree:
        for files, flags in calls_of_tree(Tree(a.tree), words):
            judge(counts, a.hpccoder, files, flags, show, a.tree)
    else:
        for call in " ".join(words).split(" : "):
            files, _, flags = call.partition(" -- ")
            if files.split():
                judge(counts, a.hpccoder, files.split(), flags.split(), show, None)
    counts.report()
    if a.disagree:
        with open(a.disagree, "a") as f:
            for d in counts.disagree:
                f.write(json.dumps({"name": a.name, **d}) + "\n")


if __name__ == "__main__":
    main()
