#!/usr/bin/env python3
"""Compares docs/json*.md with what the commands print on recorded inputs.

    json_reference.py --program build/release/hpccoder [--only SECTION] [--show SECTION] [PAGE...]

json_cases.sh makes the inputs and lists the commands. Each section "### `SECTION`" of a page has
tables of keys: `a.b` is key b of object a, `a[]` an element of list a, `*` any key; `.c` after
`a.b` in the same cell is `a.c`. A type that is the name of a section stands for the keys of that
section. Fails if a command prints a key that its section lacks, or one of another type; if a
documented key never appears; if a command has --json and no section.
"""
import argparse
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.normpath(os.path.join(HERE, "..", ".."))
sys.path[:0] = [HERE, os.path.join(ROOT, "docs")]
import options as opts  # noqa: E402
from pages import Page  # noqa: E402

TYPES = {"string": lambda v: isinstance(v, str), "boolean": lambda v: isinstance(v, bool),
         "integer": lambda v: isinstance(v, int) and not isinstance(v, bool),
         "number": lambda v: isinstance(v, (int, float)) and not isinstance(v, bool),
         "null": lambda v: v is None, "object": lambda v: isinstance(v, dict)}


# Keys that recorded inputs cannot produce everywhere: they need a library to be absent, or a CPU.
ELSEWHERE = {("bench op", "peer_note"), ("bench op", "ops[].skipped")}


class Key:
    """A documented key; `like`: the key of a shared section that it repeats."""

    def __init__(self, path, types, place, like=None):
        self.path, self.types, self.place, self.like, self.seen = path, types, place, like, False
        self.pattern = re.compile("^%s$" % re.escape(path).replace(r"\*", r"[^.\[\]]+"))

    def mark(self):
        self.seen = True
        if self.like:
            self.like.mark()


class Reference:
    """The pages: sections, each a list of keys."""

    def __init__(self, paths):
        self.sections, self.uses, self.faults = {}, [], []
        for path in paths:
            section = None
            for number, line in Page(path).text:
                if re.match(r"^##+ ", line):
                    section = ", ".join(re.findall(r"`([^`]+)`", line)) or None
                row = re.match(r"^\| *(`.*?) *\| *([a-z ]+?) *\| *(.*?) *\|$", line)
                if section and row:
                    self.add(section, row, "%s:%d" % (path, number))
        for title in {title for title, *_ in self.uses}:
            self.expand(title)

    def add(self, title, row, place):
        keys, first = self.sections.setdefault(title, []), ""
        for name in re.findall(r"`([^`]+)`", row.group(1)):
            if name == ".":
                name = ""
            elif name.startswith("."):
                name = first[:first.rindex(".")] + name if "." in first else name[1:]
            else:
                first = name
            kinds = row.group(2).split(" or ")
            if set(kinds) <= set(TYPES):
                keys.append(Key(name, kinds, place))
            else:
                self.uses.append((title, name, row.group(2), place))

    def expand(self, title):
        """The keys of a section with those of the sections that its types name."""
        own = [use for use in self.uses if use[0] == title]
        self.uses = [use for use in self.uses if use[0] != title]
        for _, prefix, kind, place in own:
            if kind not in self.sections:
                self.faults.append("%s: there is no type '%s'" % (place, kind))
                continue
            self.expand(kind)
            for key in self.sections[kind]:
                path = "%s.%s" % (prefix, key.path) if prefix else key.path
                self.sections[title].append(Key(path, key.types, place, key))

    def take(self, title, value, path=""):
        """Marks the keys of a value as seen; faults for those that are not there."""
        own = [key for key in self.sections[title] if key.pattern.match(path)]
        for key in own:
            key.mark()
        if isinstance(value, dict):
            for name, inner in value.items():
                name = name.replace(".", "/")  # a key with points is one part of the path
                self.take(title, inner, path + "." + name if path else name)
        elif isinstance(value, list):
            for inner in value:
                self.take(title, inner, path + "[]")
        elif not own:
            self.faults.append("section `%s` lacks the key %s (%s)"
                               % (title, path, json.dumps(value)[:60]))
        elif not any(TYPES[kind](value) for key in own for kind in key.types):
            self.faults.append("%s: `%s` of `%s` is %s" % (
                own[0].place, path, title, json.dumps(value)[:60]))

    def unseen(self, skipped):
        for title, keys in self.sections.items():
            for key in keys:
                if not (key.seen or key.like or title in skipped or (title, key.path) in ELSEWHERE):
                    yield "%s: `%s` of `%s` never appears" % (key.place, key.path, title)


def values(title, text):
    """The JSON values that a command printed: one, or one per line; of a CSV its rows."""
    if title.endswith(".csv"):
        head, *rows = [line.split(",") for line in text.split()]
        return [{name: float(cell) if cell else None for name, cell in zip(head, row)}
                for row in rows]
    try:
        return [json.loads(text)]
    except ValueError:
        return [json.loads(line) for line in text.splitlines() if line.strip()]


class Cases:
    def __init__(self, program, folder):
        self.program, self.folder = os.path.abspath(program), folder
        self.env = dict(os.environ, ROOT=ROOT, NO_COLOR="1", LC_ALL="C.UTF-8", PATH=os.path.dirname(
            self.program) + os.pathsep + os.environ["PATH"])
        self.skipped = {}

    def available(self, needs):
        beside = os.path.dirname(self.program)
        return all(os.path.exists(os.path.join(beside, need)) if need.endswith(".so")
                   else shutil.which(need) for need in needs.split())

    def list(self):
        run = subprocess.run(["sh", os.path.join(HERE, "json_cases.sh")], cwd=self.folder,
                             env=self.env, stdout=subprocess.PIPE, encoding="utf-8", check=True)
        return [[part.strip() for part in line.split("|", 2)] for line in run.stdout.splitlines()]

    def run(self, reference, show, only):
        for title, needs, command in self.list():
            if only not in (None, title):
                continue
            if not self.available(needs):
                self.skipped[title] = needs
                continue
            run = subprocess.run(["bash", "-c", command], cwd=self.folder, env=self.env,
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, encoding="utf-8", timeout=300, check=False)
            if show == title:
                print(run.stdout)
            try:
                found = values(title, run.stdout)
            except (ValueError, IndexError) as error:
                reference.faults.append("`%s`: no JSON (%s), exit status %d: %s" % (
                    command, error, run.returncode, run.stderr.strip()[-300:]))
                continue
            if title not in reference.sections:
                reference.faults.append("no section `%s`" % title)
                reference.sections[title] = []
            for value in found:
                reference.take(title, value)


def covered(reference, program):
    """Faults for commands with --json that no section names."""
    titles = "\n".join(reference.sections)
    for name, known in opts.Options(program).command.items():
        if "--json" in known and not re.search(r"\b%s\b" % re.escape(name), titles):
            reference.faults.append("no section describes hpccoder %s --json" % name)


def main():
    parser = argparse.ArgumentParser(description="Compare docs/json.md with real output.")
    parser.add_argument("--program", required=True)
    parser.add_argument("pages", nargs="*", default=[
        os.path.relpath(path)
        for path in sorted(glob.glob(os.path.join(ROOT, "docs", "json*.md")))])
    parser.add_argument("--only", help="run the commands of this section, and judge no other")
    parser.add_argument("--show", help="print what the commands of this section print")
    given = parser.parse_args()
    reference = Reference(given.pages)
    with tempfile.TemporaryDirectory() as folder:
        cases = Cases(given.program, folder)
        cases.run(reference, given.show, given.only)
    if given.only:
        cases.skipped.update((title, "--only") for title in reference.sections
                             if title != given.only)
    else:
        covered(reference, given.program)
    reference.faults += reference.unseen(cases.skipped)
    for title, needs in cases.skipped.items() if not given.only else ():
        print("SKIP: `%s` needs %s" % (title, needs))
    for fault in sorted(set(reference.faults)):
        print(fault)
    keys = sum(not key.like for keys in reference.sections.values() for key in keys)
    print("json: %d sections, %d keys, %d faults" % (len(reference.sections), keys,
                                                     len(set(reference.faults))))
    return 1 if reference.faults else 0


if __name__ == "__main__":
    sys.exit(main())
