#!/usr/bin/env python3
"""heal.py OTHER FILE... -- how often the next word or operator is right at places in the middle of lines, by `hpccoder
complete` and by OTHER, a build of it that does otherwise (one from before tokens were taken back, say).

Places are drawn with --seed; the text behind a place is not shown (--fill: the lines behind its own are). Told for places
within a word, behind a word, behind a blank and behind anything else: how many there are, how often the next word or run
of other characters is right, and how often the rest of the line, for OTHER and then for hpccoder.
"""
import argparse, pathlib, random, re, subprocess


def options():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("other")
    p.add_argument("files", nargs="+")
    p.add_argument("--model", default="share/pilot.gguf")
    p.add_argument("--places", type=int, default=400)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--fill", action="store_true")
    p.add_argument("--hpccoder", default="build/release/hpccoder")
    return p.parse_args()


def place(texts):
    """What stands before a place, the rest of its line, and what is behind that."""
    while True:
        text = random.choice(texts)
        at = random.randrange(100, len(text) - 50)
        begin, end = text.rfind("\n", 0, at) + 1, text.find("\n", at)
        if end > 0 and text[at:end].strip() and text[begin:at].strip():
            return text[:at], text[at:end], text[end:]


def kind(before, rest):
    word = lambda c: c.isalnum() or c == "_"
    if before[-1].isspace():
        return "behind a blank"
    if not word(before[-1]):
        return "behind an operator"
    return "in a word" if word(rest[0]) else "behind a word"


def complete(o, program, before, behind):
    line = before.count("\n") + 1
    words = [program, "complete", "-", "--name", "x.c", "--at", str(line), "--stop", "line", "-n", "24", "--check", "none",
             "--passages", "none", "-q", "-m", o.model]
    return subprocess.run(words, input=before + (behind if o.fill else ""), capture_output=True, text=True, check=True).stdout


def main():
    o = options()
    random.seed(o.seed)
    texts = [pathlib.Path(f).read_text(errors="replace") for f in o.files]
    texts = [t for t in texts if len(t) > 500 and t.isascii() and "\r" not in t]
    found = {}
    for _ in range(o.places):
        before, rest, behind = place(texts)
        next_one = re.match(r"\s*(\w+|[^\w\s]+)", rest)[0]
        row = found.setdefault(kind(before, rest), [0, 0, 0, 0, 0])
        row[0] += 1
        for k, program in enumerate([o.other, o.hpccoder]):
            text = complete(o, program, before, behind)
            row[1 + k] += text.startswith(next_one)
            row[3 + k] += text.strip() == rest.strip()
    for name, row in sorted(found.items()):
        print("%s: %d places; next one right %d and %d, line right %d and %d" % (name, *row))


main()
