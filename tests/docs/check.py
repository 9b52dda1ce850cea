#!/usr/bin/env python3
"""Checks README.md, CONTRIBUTING.md and docs/*.md against the repository and the program.

    check.py --program build/release/hpccoder [--quick SECONDS] [PAGE...]

Links and anchors must exist, options and commands must be in --help, targets of make and paths in
inline code must exist; so must the options in the examples of --help. Shell blocks are run in a
scratch copy of the repository, one copy per page:

    ```sh          a console transcript: each line "$ COMMAND" is run, and must print the lines that
                   follow it; a line "..." stands for any lines
    ```sh vary     run, the lines with "$ " if there are any; every command must succeed, and
                   print the same words: numbers, ids and widths may differ
    ```sh machine  the same, whatever it prints, because that depends on the machine
    ```sh norun    not run

--quick gives each page an equal share of the time; blocks that do not finish in it are left out,
with the blocks after them. Exit status: 0 right, 1 something is wrong, 2 bad usage.
"""
import argparse
import glob
import os
import re
import subprocess
import sys
from urllib.parse import unquote

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "..", "docs")]
import options as opts  # noqa: E402
import transcript  # noqa: E402
from pages import Page, is_external  # noqa: E402

SHELL = {"sh": "transcript", "sh vary": "vary", "sh machine": "machine", "sh norun": "norun"}
PATH = re.compile(r"^(?:\.?[a-z][\w.-]*/)+[\w.*-]*$")


class Check:
    def __init__(self, paths, given):
        self.pages = {path: Page(path) for path in paths}
        self.options = opts.Options(os.path.abspath(given.program))
        self.files = set(filter(None, subprocess.run(
            ["git", "-c", "safe.directory=*", "ls-files", "-co", "--exclude-standard", "-z"],
            check=True, stdout=subprocess.PIPE, encoding="utf-8").stdout.split("\0")))
        self.folders = {os.path.dirname(f)[:n] for f in self.files
                        for n in folder_ends(os.path.dirname(f))}
        self.targets = opts.make_targets(
            f for f in self.files if f == "Makefile" or f.endswith(".mk"))
        self.faults, self.count = set(), dict.fromkeys(("links", "names", "commands", "left"), 0)
        self.given = given
        self.updates = []  # (page, index of the first line, lines, what replaces them)

    def fault(self, page, line, text):
        self.faults.add((page.path, line, text))

    # ---- links ----
    def links(self, page):
        for line, target in set(page.links()):
            if is_external(target):
                continue
            self.count["links"] += 1
            path, _, anchor = unquote(target).partition("#")
            path = os.path.normpath(os.path.join(os.path.dirname(page.path), path)) if path \
                else page.path
            if path not in self.files and path not in self.folders:
                self.fault(page, line, "link %s: the repository has no %s" % (target, path))
            elif anchor and path.endswith(".md"):
                other = self.pages.get(path) or Page(path)
                if anchor not in other.anchors():
                    self.fault(page, line, "link %s: no heading of %s has this anchor"
                               % (target, path))

    # ---- names of options, targets, files ----
    def names(self, page):
        for line, text in page.code():
            self.count["names"] += 1
            for fault in self.options.faults_of_code(text) + \
                    opts.faults_of_make(text.split(), self.targets):
                self.fault(page, line, fault)
            top = text.split("/")[0]
            if PATH.match(text) and top in self.folders and not self.exists(page, text):
                self.fault(page, line, "the repository has no %s" % text)
        for block in page.blocks:
            for offset, text in shell_lines(block):
                for words in opts.commands(text):
                    for fault in self.options.faults_of_words(words) + \
                            opts.faults_of_make(words, self.targets):
                        self.fault(page, block.line + offset, fault)

    def exists(self, page, text):
        near = os.path.normpath(os.path.join(os.path.dirname(page.path), text))
        return any(name.rstrip("/") in self.files or name.rstrip("/") in self.folders
                   or name + ".c" in self.files or glob.glob(name) for name in (text, near))

    # ---- fences ----
    def fences(self, page):
        if page.unclosed:
            self.fault(page, page.unclosed, "the fence that begins here is not closed")
        for block in page.blocks:
            prompt = any(line.startswith("$ ") for line in block.lines)
            if block.info.split()[:1] == ["sh"] and block.info not in SHELL:
                self.fault(page, block.line - 1, "'%s': a shell block is %s"
                           % (block.info, ", ".join(SHELL)))
            elif block.info == "sh" and transcript.parse(block.lines) in (None, []):
                self.fault(page, block.line - 1,
                           "a transcript begins with '$ COMMAND'; or use sh vary or sh norun")
            elif block.info not in SHELL and prompt:
                self.fault(page, block.line - 1, "a block with '$ COMMAND' is sh or sh norun")

    # ---- commands ----
    def run_pages(self):
        clock = transcript.Clock(self.given.limit, self.given.quick, len(self.pages))
        with transcript.Scratch(self.given.program) as scratch:
            for page in self.pages.values():
                end, cut = clock.page(), False
                blocks = [b for b in page.blocks if SHELL.get(b.info) not in (None, "norun")]
                for block in blocks:
                    if not cut:
                        cut = not self.run_block(page, block, scratch, clock.left(end))
                    if cut:
                        self.count["left"] += 1
                if blocks:
                    scratch.clean()

    def run_block(self, page, block, scratch, seconds):
        """Whether all commands of a block ended in time."""
        parts = transcript.parse(block.lines) or []
        kind = SHELL[block.info]
        parts = parts or [(0, "set -e\n" + "\n".join(block.lines), None)]
        done = scratch.run([text for _, text, _ in parts], seconds) if seconds > 0 else []
        for (offset, text, expected), (printed, status) in zip(parts, done):
            self.count["commands"] += 1
            line = block.line + offset
            if (kind != "transcript" or expected is None) and status != 0:
                self.fault(page, line, "exit status %d; the last lines are\n%s" % (
                    status, "\n".join("      " + x for x in printed.rstrip().split("\n")[-8:])))
            elif status > 125:
                self.fault(page, line, "exit status %d: %s" % (status, text))
            elif expected is not None and kind != "machine":
                wrong = transcript.difference(expected, printed, kind == "vary")
                if wrong and self.given.update and not any(x.strip() == "..." for x in expected):
                    self.updates.append((page.path, line + text.count("\n"), len(expected),
                                         printed))
                elif wrong:
                    self.fault(page, line, wrong)
        late = len(done) < len(parts)
        if late and not self.given.quick:
            self.fault(page, block.line, "runs longer than %d s" % self.given.limit)
        return not late

    def update(self):
        for path, at, n, printed in sorted(self.updates, reverse=True):
            with open(path, encoding="utf-8") as file:
                lines = file.read().split("\n")
            lines[at:at + n] = printed.rstrip("\n").split("\n") if printed.strip() else []
            with open(path, "w", encoding="utf-8") as file:
                file.write("\n".join(lines))
            print("%s:%d: updated" % (path, at))

    def run(self):
        for page in self.pages.values():
            self.fences(page)
            self.links(page)
            self.names(page)
        self.faults.update((name, 1, fault) for name, fault in self.options.faults_of_help())
        if not self.given.no_run:
            self.run_pages()
            self.update()
        for path, line, text in sorted(self.faults):
            print("%s:%d: %s" % (path, line, text))
        print("docs-check: %d pages, %d links, %d names, %d commands run, %d blocks left out, "
              "%d faults" % (len(self.pages), self.count["links"], self.count["names"],
                             self.count["commands"], self.count["left"], len(self.faults)))
        return 1 if self.faults else 0


def shell_lines(block):
    """(offset, text) of the commands of a block; of a plain block only calls of the program."""
    if block.info and block.info not in SHELL:
        return []
    if any(line.startswith("$ ") for line in block.lines):
        return [(offset, text.replace("\\\n", " "))
                for offset, text, _ in transcript.parse(block.lines) or []]
    lines = list(opts.joined(block.lines))
    return lines if block.info else [x for x in lines if x[1].startswith("hpccoder ")]


def folder_ends(folder):
    """The lengths of a folder's path and of those above it."""
    return [k for k in range(len(folder) + 1) if k == len(folder) or folder[k] == "/"]


def main():
    parser = argparse.ArgumentParser(description="Check the documentation.")
    parser.add_argument("--program", required=True, help="the hpccoder to run")
    parser.add_argument("--quick", type=float, metavar="SECONDS", help="time for all commands")
    parser.add_argument("--limit", type=float, default=900, help="seconds for one block")
    parser.add_argument("--update", action="store_true",
                        help="put the printed lines into the pages; then read the difference")
    parser.add_argument("--no-run", action="store_true", help="run no commands")
    parser.add_argument("pages", nargs="*", help="README.md, CONTRIBUTING.md and docs/*.md")
    given = parser.parse_args()
    pages = given.pages or [p for p in ["README.md"] + sorted(glob.glob("docs/*.md")) +
                            ["CONTRIBUTING.md"] if os.path.isfile(p)]
    if not pages:
        parser.error("no README.md and no docs/*.md here")
    return Check(pages, given).run()


if __name__ == "__main__":
    sys.exit(main())
