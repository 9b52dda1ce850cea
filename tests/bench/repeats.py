"""repeats.py CORPUS CLONES [SPLIT]: how often the model that ships repeats what it was trained on.

Of 200 C, C++ and CUDA files of a corpus (SPLIT: train, or all), cut at a line of their second third,
the rest of the function is asked for; CLONES has the repositories as OWNER+NAME, as for
pilot/make.sh. Counts the completions that name a source, those of them that name the file's own
repository, and those for which --no-verbatim has another completion. The cuts are always the same.
"""

import json
import os
import random
import sqlite3
import subprocess
import sys
import tempfile

FILES = 200
PROGRAM = os.environ.get("HPCCODER", "build/release/hpccoder")


def chosen(corpus, split):
    db = sqlite3.connect(f"file:{corpus}/corpus.db?mode=ro", uri=True)
    rows = db.execute(
        "SELECT repository, path, git_id FROM files WHERE head = 1 AND reason = 'kept'"
        " AND language IN ('c', 'c++', 'cuda') AND lines > 60"
        " AND (? = 'all' OR split = ?)", (split, split)).fetchall()
    rows.sort()
    random.shuffle(rows)
    return rows[:FILES]


def complete(file, path, *options):
    words = [PROGRAM, "complete", file, "--name", os.path.basename(path), "--stop", "function",
             "--json", "--check", "none", "--context", "none", *options]
    return json.loads(subprocess.run(words, check=True, capture_output=True).stdout)


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    corpus, clones = sys.argv[1:3]
    random.seed(5)
    named = own = other = tokens = 0
    rows = chosen(corpus, sys.argv[3] if len(sys.argv) == 4 else "train")
    with tempfile.TemporaryDirectory() as folder:
        for repository, path, git_id in rows:
            clone = os.path.join(clones, repository.replace("/", "+"))
            text = subprocess.run(["git", "-C", clone, "cat-file", "blob", git_id], check=True,
                                  capture_output=True).stdout
            lines = text.count(b"\n")
            cut = random.randint(lines // 3, 2 * lines // 3)
            file = os.path.join(folder, "file")
            with open(file, "wb") as out:
                out.write(b"".join(text.splitlines(True)[:cut]))
            made = complete(file, path)["completions"][0]
            tokens += made["tokens"]
            if made["source"] is None:
                continue
            named += 1
            own += made["source"]["repository"] == repository
            again = complete(file, path, "--no-verbatim")["completions"]
            other += len(again) > 0 and again[0]["source"] is None
    print(f"{len(rows)} completions, {tokens} tokens: {named} name a source, {own} of them the "
          f"file's repository; --no-verbatim has another for {other}")


main()
