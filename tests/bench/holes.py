#!/usr/bin/env python3
"""holes.py REPOSITORY... [options] -- complete holes in the C and C++ files of checkouts, and judge the files that result.

Each hole is a line, a block or a function body that is removed from a file; `hpccoder complete --at … --stop KIND` fills it.
Every second block keeps its closing bracket, as editors insert it. Report, for each kind of hole:

  holes       number of holes
  complete    exit status 0: the program reports the completion as complete
  empty       complete, and nothing was added
  parse       of the complete ones: the file has no syntax error (by `clang -fsyntax-only`) that it did not have before
  close       of the complete ones: the file's brackets pair as they did before; for a line without braces, since it may
              open a block
  duplicate   of the complete ones: the last line repeats the next line of the file (longer than four characters)
  exact       of the complete ones: the text that was removed, blanks aside
  seconds     median and 95th percentile of the time per hole

The holes depend on --seed alone. --out FILE keeps each hole and its scores as JSON lines.
"""
import argparse, json, os, pathlib, random, re, statistics, subprocess, sys, tempfile, time

SUFFIXES = {".c", ".cc", ".cpp", ".cxx", ".h", ".hpp"}
SYNTAX = re.compile(r":(\d+):\d+: (?:fatal )?error: (expected|extraneous|unterminated|missing terminating|function definition is"
                    r" not allowed|invalid preprocessing|stray|unexpected)", re.M)


def options():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("repository", nargs="+")
    p.add_argument("--model", default="share/pilot.gguf")
    p.add_argument("--holes", type=int, default=2000)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--options", default="", help="further options of `hpccoder complete`")
    p.add_argument("--out")
    p.add_argument("--hpccoder", default="build/release/hpccoder")
    return p.parse_args()


def code(text):
    """The text with comments, strings and character constants blanked."""
    blank = lambda m: re.sub(r"[^\n]", " ", m.group(0))
    return re.sub(r"//[^\n]*|/\*.*?(?:\*/|\Z)|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", blank, text, flags=re.S)


def brackets(text):
    return [text.count(a) - text.count(b) for a, b in ("{}", "()", "[]")]


def pair_of(bare, at):
    """The position of the bracket that closes the one at `at`, or None."""
    depth = 0
    for k in range(at, len(bare)):
        depth += (bare[k] == "{") - (bare[k] == "}")
        if depth == 0:
            return k
    return None


def blocks(bare):
    """Blocks that begin at the end of a line: (bracket, its pair, depth)."""
    found, depth = [], 0
    for k, c in enumerate(bare):
        if c == "{":
            end = pair_of(bare, k)
            if bare[k + 1 : k + 2] == "\n" and end and "\n" in bare[k + 2 : end]:
                found.append((k, end, depth))
            depth += 1
        elif c == "}":
            depth -= 1
    return found


def is_function(bare, at):
    head = bare[: at].rstrip()
    return head.endswith(")") and not re.search(r"\b(if|for|while|switch|catch)\s*\([^{};]*$", head)


def line_hole(text, bare, draw):
    """The rest of a statement's line, from its indentation on or from a position within it."""
    lines, at = [], 0
    for line in bare.split("\n"):
        if re.search(r"[;{]\s*$", line) and len(line.strip()) > 8 and text[at : at + len(line)].strip() == line.strip():
            lines.append((at, line))
        at += len(line) + 1
    if not lines:
        return None
    at, line = draw.choice(lines)
    indent = len(line) - len(line.lstrip())
    cut = draw.choice([indent, draw.randrange(indent + 1, len(line) - 1)])
    return at + cut, at + len(line)


def block_hole(text, bare, draw, function):
    alone = lambda b: re.match(r"[ \t]*;?[ \t]*\n", bare[b[1] + 1 :])  # nothing else on the line of its end
    chosen = [b for b in blocks(bare) if alone(b) and is_function(bare, b[0]) == function and (not function or b[1] - b[0] < 4000)]
    if not chosen:
        return None
    begin, end, _ = draw.choice(chosen)
    if function or draw.random() < 0.5:
        feed = bare.find("\n", end)
        return begin + 1, feed if bare[end + 1 : feed].strip() == "" else end + 1  # with a comment on its last line
    return begin + 1, bare.rfind("\n", 0, end)


def draw_hole(files, kind, draw):
    while True:
        path = draw.choice(files)
        text = path.read_text(errors="replace")
        bare = code(text)
        found = line_hole(text, bare, draw) if kind == "line" else block_hole(text, bare, draw, kind == "function")
        if found and found[0] < found[1]:
            return path, text, *found


def syntax_errors(path, text):
    """Number of syntax errors; the text stands beside the file, so that its own headers are found."""
    flags = ["-x", "c" if path.suffix in (".c",) else "c++", "-fsyntax-only", "-w", "-ferror-limit=0", "-fopenmp", f"-I{path.parent}", "-"]
    out = subprocess.run(["clang", *flags], input=text, capture_output=True, text=True, errors="replace")
    return len(SYNTAX.findall(out.stderr))


def fill(o, path, text, begin, end, kind):
    """What `complete` adds at the hole, its exit status, and seconds."""
    left = text[:begin] + text[end:]
    line, column = text.count("\n", 0, begin) + 1, begin - (text.rfind("\n", 0, begin) + 1) + 1
    with tempfile.TemporaryDirectory() as folder:
        copy = os.path.join(folder, path.name)
        pathlib.Path(copy).write_text(left)
        command = [o.hpccoder, "complete", copy, "--at", f"{line}:{column}", "--stop", kind, "--json", "--model", o.model, *o.options.split(), "--", f"-I{path.parent}"]
        start = time.monotonic()
        out = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if out.returncode not in (0, 1):
        sys.exit(f"{' '.join(command)}: {out.stderr}")
    first = json.loads(out.stdout)["completions"][0]
    return first, out.returncode, time.monotonic() - start


def score(o, hole, kind):
    path, text, begin, end = hole
    first, status, seconds = fill(o, path, text, begin, end, kind)
    added = first["text"]
    filled = text[:begin] + added + text[end:]
    last = next((l.strip() for l in reversed(added.split("\n")) if l.strip()), "")
    following = next((l.strip() for l in text[end:].split("\n")[1:] if l.strip()), "")
    truth = next((l.strip() for l in reversed(text[begin:end].split("\n")) if l.strip()), "")
    return {"kind": kind, "file": str(path), "begin": begin, "end": end, "text": added, "finish": first.get("finish", first.get("stop")), "complete": status == 0,
            "empty": not added.strip(), "seconds": seconds,
            "parse": syntax_errors(path, filled) <= syntax_errors(path, text), "close": brackets(code(filled))[kind == "line":] == brackets(code(text))[kind == "line":],
            "duplicate": len(last) > 4 and last == following and truth != following,
            "exact": "".join(added.split()) == "".join(text[begin:end].split())}


def report(kind, rows):
    done = [r for r in rows if r["complete"]]
    share = lambda key: sum(r[key] for r in done) / max(1, len(done))
    times = sorted(r["seconds"] for r in rows)
    print(f"{kind:9} {len(rows):6} {len(done):9} {sum(r['empty'] for r in done):6} {share('parse'):7.3f} {share('close'):7.3f} {sum(r['duplicate'] for r in done):10}"
          f" {share('exact'):7.3f} {statistics.median(times):8.2f} {times[int(0.95 * (len(times) - 1))]:6.2f}", flush=True)


def main():
    o = options()
    files = sorted(p for r in o.repository for p in pathlib.Path(r).resolve().rglob("*")
                   if p.suffix in SUFFIXES and p.is_file() and 500 < p.stat().st_size < 200000)
    draw, rows, out = random.Random(o.seed), [], open(o.out, "w") if o.out else None
    print(f"{'kind':9} {'holes':>6} {'complete':>9} {'empty':>6} {'parse':>7} {'close':>7} {'duplicate':>10} {'exact':>7} {'seconds':>8} {'p95':>6}")
    for k in range(o.holes):
        kind = ("line", "block", "function")[k % 3]
        rows.append(score(o, draw_hole(files, kind, draw), kind))
        if out:
            print(json.dumps(rows[-1]), file=out, flush=True)
    for kind in ("line", "block", "function"):
        report(kind, [r for r in rows if r["kind"] == kind])
    report("all", rows)


if __name__ == "__main__":
    main()
