#!/usr/bin/env python3
"""program_graph.py loops|changes ... -- samples for `hpccoder eval graph`, from data of other commands.

  loops --loops LOOPS.DB --clones DIR --scores FILE.jsonl --test A/B,.. [--most N] [--files] --out FILE.jsonl
      loops of `corpus loops` that an expert annotated (label 1) or left without a directive in a file that uses
      OpenMP (label 0). Those of the repositories of --test are fold 0, with the score `likely` of `pragma --rank`
      from `tests/pragma/calibrate.py collect`; those of all others are for training, at most N of each label and
      repository, and nothing of corpus/held-out.txt. Test loops without a score are left out. --files adds file and
      line, for graphs of libclang's trees; the clones need work trees then.
  changes --examples FILE.csv --clones DIR --question changed|slower [--folds N] [--same N]
          [--predictions EVALUATED.csv] --out FILE.jsonl
      functions before and after measured commits of perf train's examples, for each commit the pair with most
      changed lines. changed: slower and faster (1) against same (0), at most N of these for each other one;
      slower: slower (1) against faster (0). DIR has a clone of each repository as OWNER+NAME. The score is the
      logarithm of added and removed lines; with the evaluated.csv of `perf train --evaluate` it is the log-odds of
      the predictor that the commit's repository was left out of. Commits without a prediction are left out.

Nothing is downloaded.
"""
import argparse, collections, csv, difflib, fnmatch, glob, json, math, os, random, re, sqlite3, subprocess, sys

C_FILES = (".c", ".h", ".cc", ".cpp", ".hpp", ".cxx")


def held_out():
    """Repositories and patterns of paths that no one may train on."""
    names, paths = set(), []
    here = os.path.dirname(os.path.abspath(__file__))
    for line in open(os.path.join(here, "../../corpus/held-out.txt")):
        kind, _, rest = line.strip().partition(":")
        if kind == "path":
            paths.append(rest.lower())
        elif kind and not kind.startswith("#") and not rest:
            names.add(kind)
    return names, paths


def loops(a):
    tests = set(a.test.split(","))
    names, paths = held_out()
    score = {}
    for line in open(a.scores):
        x = json.loads(line)
        if x["likely"] is not None:
            score[x["repository"], x["path"], x["line"]] = x["likely"]
    rows = collections.defaultdict(list)
    for row in sqlite3.connect(a.loops).execute(
            "SELECT repository, path, line, kind, language, begin, end FROM loops WHERE language IN ('c', 'c++') AND kind IN"
            " ('annotated', 'presumed-negative') ORDER BY repository, path, line"):
        name = f"{row[0]}:{row[1]}".lower()
        if row[0] not in tests and (row[0] in names or any(fnmatch.fnmatch(name, p) for p in paths)):
            continue
        rows[row[0], row[3]].append(row)
    texts = {}
    with open(a.out, "w") as out:
        for (repository, kind), all_of in sorted(rows.items()):
            folder = clone_of(a.clones, repository)
            test = repository in tests
            if not test and len(all_of) > a.most:
                all_of = random.Random(1).sample(all_of, a.most)
            for _, path, line, _, language, begin, end in sorted(all_of):
                if test and (repository, path, line) not in score:
                    continue
                if (repository, path) not in texts:
                    texts[repository, path] = git(folder, "show", f"HEAD:{path}")
                x = dict(group=repository, fold=0 if test else -1, label=int(kind == "annotated"), language=language,
                         code=texts[repository, path][begin:end].decode(errors="replace"))
                if a.files:
                    x.update(file=os.path.join(folder, path), line=line)
                if test:
                    p = min(max(score[repository, path, line], 1e-9), 1 - 1e-9)
                    x["score"] = math.log(p / (1 - p))
                out.write(json.dumps(x) + "\n")


def git(folder, *words):
    return subprocess.run(["git", "-C", folder, *words], capture_output=True).stdout


def clone_of(folder, repository):
    clone = os.path.join(folder, repository.replace("/", "+"))
    return os.path.join(clone, "repo") if os.path.isdir(os.path.join(clone, "repo")) else clone


FUNCTION = re.compile(r"^[A-Za-z_][^;{}#]*\([^;{}]*\)[^;{}]*\{", re.M)


def functions(text):
    """Name and text of each definition that begins in the first column."""
    found = {}
    for m in FUNCTION.finditer(text):
        depth, at = 0, m.end() - 1
        for k in re.finditer(r"[{}]", text[at:]):
            depth += 1 if k.group() == "{" else -1
            if depth == 0:
                name = re.search(r"([A-Za-z_]\w*)\s*\(", m.group())
                found[name.group(1) if name else ""] = text[m.start():at + k.end()]
                break
    return found


def largest_change(folder, base, head):
    """The function pair with most changed lines, and the changed lines of the commit."""
    best, most, total = None, 0, 0
    for line in git(folder, "diff", "--numstat", "--no-renames", base, head).decode(errors="replace").splitlines():
        added, removed, path = line.split("\t", 2)
        if not path.endswith(C_FILES) or re.search(r"test|bench|example|doc", path, re.I) or added == "-":
            continue
        total += int(added) + int(removed)
        before = functions(git(folder, "show", f"{base}:{path}").decode(errors="replace"))
        after = functions(git(folder, "show", f"{head}:{path}").decode(errors="replace"))
        for name in before.keys() & after.keys():
            if before[name] == after[name]:
                continue
            lines = sum(1 for d in difflib.ndiff(before[name].splitlines(), after[name].splitlines()) if d[0] in "+-")
            if lines > most:
                best, most = (before[name], after[name]), lines
    return best, total


def predicted(path, question):
    """The log-odds of label 1 by repository and commit, from probabilities of held-out commits."""
    odds = {}
    for row in csv.DictReader(open(path)) if path else ():
        slower, same, faster = (max(float(row["p_" + label]), 1e-9) for label in ("slower", "same", "faster"))
        one, zero = (slower + faster, same) if question == "changed" else (slower, faster)
        odds[row["repository"], row["commit"]] = math.log(one / zero)
    return odds


def changes(a):
    odds = predicted(a.predictions, a.question)
    names = [os.path.basename(d.rstrip("/")) for d in glob.glob(os.path.join(a.clones, "*/"))]
    clones = {name.split("+")[-1].lower(): name for name in names}
    rows = collections.defaultdict(list)
    for row in csv.DictReader(open(a.examples)):
        if row["repository"].lower() in clones:
            rows[row["repository"]].append(row)
    with open(a.out, "w") as out:
        for repository, all_of in sorted(rows.items()):
            folder = clone_of(a.clones, clones[repository.lower()])
            effects = [r for r in all_of if r["label"] != "same"]
            if a.question == "changed":
                same = [r for r in all_of if r["label"] == "same" and r["no_effect"] != "1"]
                n = min(len(same), a.same * len(effects))
                effects += random.Random(1).sample(same, n)
            for r in effects:
                pair, lines = largest_change(folder, r["base"], r["commit"])
                if not pair or a.predictions and (r["repository"], r["commit"]) not in odds:
                    continue
                score = odds[r["repository"], r["commit"]] if a.predictions else math.log(1 + lines)
                label = r["label"] != "same" if a.question == "changed" else r["label"] == "slower"
                out.write(json.dumps(dict(group=repository, fold=sum(map(ord, repository)) % a.folds, label=int(label),
                                          score=score, base=pair[0], head=pair[1])) + "\n")
            out.flush()


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    s = p.add_subparsers(dest="what", required=True)
    l = s.add_parser("loops")
    for name in "loops", "clones", "scores", "test", "out":
        l.add_argument("--" + name, required=True)
    l.add_argument("--most", type=int, default=200)
    l.add_argument("--files", action="store_true")
    c = s.add_parser("changes")
    for name in "examples", "clones", "out":
        c.add_argument("--" + name, required=True)
    c.add_argument("--question", choices=["changed", "slower"], required=True)
    c.add_argument("--predictions")
    c.add_argument("--folds", type=int, default=5)
    c.add_argument("--same", type=int, default=2)
    a = p.parse_args()
    (loops if a.what == "loops" else changes)(a)


if __name__ == "__main__":
    main()
