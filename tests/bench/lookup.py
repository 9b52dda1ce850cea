#!/usr/bin/env python3
"""lookup.py CLONE... -- what guessing ahead is worth on real edits: the same tokens with and without, in turns.

From the latest commits of each repository that change C, C++ or CUDA functions come two kinds of cases. `function`:
the file as it was up to the end of a function that the commit changes, and then that function as it became, as an
editor asks a model to write it again. `lines`: the file as it became up to lines that the commit adds, and then these
alone. The next token is forced to be that of the commit: a model that were always right would write these, in the time
that the model measured takes. Beside that the model goes on by itself, greedily.

Prints, for each kind, tokens a second without and with guesses and their ratio (tests/bench/lookup/measure.c, which it
compiles). The cases are always the same: at most --each of a repository and kind, and one of a commit.
"""
import argparse, os, pathlib, re, subprocess, sys, tempfile

ROOMS = "infer-engine model program link device tokenizer source git shard proc base".split()


def options():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("clones", nargs="+")
    p.add_argument("--model", default="share/pilot.gguf")
    p.add_argument("--tokenizer", default="share/pilot.gguf", help="whose ids the model has too")
    p.add_argument("--each", type=int, default=10)
    p.add_argument("--turns", type=int, default=3)
    p.add_argument("--build", default="build/release")
    return p.parse_args()


def git(clone, *words):
    return subprocess.run(["git", "-C", clone, *words], check=True, capture_output=True).stdout


def hunks(diff):
    """Of a diff: the first line before, and the lines with their marks."""
    for part in re.split(rb"^@@ ", diff, flags=re.M)[1:]:
        head, _, body = part.partition(b"\n")
        yield int(re.match(rb"-(\d+)", head)[1]), [x for x in body.splitlines(True) if x[:1] in b" +-"]


def function_case(before, start, lines):
    old = [x[1:] for x in lines if x[:1] != b"+"]
    new = [x[1:] for x in lines if x[:1] != b"-"]
    if not 8 <= len(new) <= 80 or b"{" not in b"".join(new):
        return None
    return b"".join(before[: start - 1] + old) + b"\n", b"".join(new)


def lines_case(after, lines, first):
    """The first run of at least three lines that are added; first: the line of the file as it became."""
    at, run = first, []
    for x in lines + [b" "]:
        if x[:1] == b"+":
            run.append(x[1:])
        elif len(run) >= 3:
            return b"".join(after[: at - len(run) - 1]), b"".join(run)
        else:
            run = []
        at += x[:1] != b"-"
    return None


def of_commit(clone, commit):
    """At most one case of each kind."""
    found = {}
    names = git(clone, "diff", "--name-only", "--diff-filter=M", commit + "^", commit).decode("utf-8", "replace").split("\n")
    for name in names:
        if not re.search(r"\.(c|h|cc|cpp|cxx|hpp|cu)$", name):
            continue
        diff = git(clone, "diff", "-W", commit + "^", commit, "--", name)
        before = git(clone, "show", f"{commit}^:{name}").splitlines(True)
        after = git(clone, "show", f"{commit}:{name}").splitlines(True)
        shift = 0
        for start, lines in hunks(diff):
            for kind, case in (("function", function_case(before, start, lines)), ("lines", lines_case(after, lines, start + shift))):
                if case and min(len(case[0]), len(case[1])) > 100:
                    found.setdefault(kind, case)
            shift += sum(x[:1] == b"+" for x in lines) - sum(x[:1] == b"-" for x in lines)
        if len(found) == 2:
            break
    return found


def cases(o):
    out = {"function": [], "lines": []}
    for clone in o.clones:
        left = dict.fromkeys(out, o.each)
        for commit in git(clone, "log", "--no-merges", "-n", "400", "--skip", "1", "--format=%H").decode().split():
            if not any(left.values()):
                break
            try:
                found = of_commit(clone, commit)
            except subprocess.CalledProcessError:
                continue  # the first commit of all has none before it
            for kind, case in found.items():
                if left[kind]:
                    out[kind].append(case)
                    left[kind] -= 1
    return out


def build(o, folder):
    program = os.path.join(folder, "measure")
    words = [os.environ.get("CC", "gcc"), "-std=c11", "-O2", "-D_GNU_SOURCE", "-I.", "-I" + o.build, "-pthread"]
    words += ["tests/bench/lookup/measure.c", "-o", program, "-Wl,--start-group"]
    words += [f"{o.build}/libhpc-{room}.a" for room in ROOMS]
    words += ["-Wl,--end-group", "-ljansson", "-lsqlite3", "-lzstd", "-lpcre2-8", "-lm", "-ldl"]
    subprocess.run(words, check=True)
    return program


def main():
    o = options()
    with tempfile.TemporaryDirectory() as folder:
        program = build(o, folder)
        for kind, some in cases(o).items():
            path = pathlib.Path(folder, "cases")
            path.write_bytes(b"".join(b"%d %d\n%s%s" % (len(a), len(b), a, b) for a, b in some))
            print(f"{kind}, {o.model}:", flush=True)
            if subprocess.run([program, o.model, o.tokenizer, path, str(o.turns)]).returncode:
                sys.exit(1)


if __name__ == "__main__":
    main()
