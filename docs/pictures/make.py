#!/usr/bin/env python3
"""Draw the pictures of README.md from the output of the real program.

Usage: docs/pictures/make.py HPCCODER
Writes complete.svg, pragma.svg and report.svg beside this script. Needs git, make, cc, valgrind
and libclang, which `make deps` installs. Each picture has its own background, so that it is
legible on light and on dark pages.
"""
import html
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent

CELL, LINE, SIZE, PAD, BAR = 7.83, 19, 13, 18, 30  # pixels
FONT = "'DejaVu Sans Mono',Menlo,Consolas,'Liberation Mono',monospace"
COLOURS = {
    "text": "#d5dae0", "dim": "#8b949e", "prompt": "#7ee787", "new": "#79c0ff",
    "good": "#7ee787", "maybe": "#e3b341", "bad": "#ff9a8d",
}


def run(command, folder, program):
    """Run a shell command as a reader would, and return what it prints on standard output."""
    path = f"{program.parent}:{os.environ['PATH']}"
    done = subprocess.run(command, shell=True, cwd=folder, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, env={**os.environ, "PATH": path})
    if done.returncode not in (0, 1):
        sys.exit(f"{command}: exit status {done.returncode}\n{done.stderr}")
    return done.stdout.rstrip("\n").split("\n")


def terminal(name, title, lines):
    """Write a terminal window; a line is a list of (colour, text)."""
    columns = max(sum(len(text) for _, text in line) for line in lines)
    width = round(2 * PAD + columns * CELL)
    height = BAR + PAD + len(lines) * LINE + PAD // 2
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
           f'viewBox="0 0 {width} {height}" role="img" aria-label="{html.escape(title)}">',
           f'<rect x=".5" y=".5" width="{width - 1}" height="{height - 1}" rx="9" '
           'fill="#161b22" stroke="#57606a"/>']
    out += [f'<circle cx="{20 + 17 * i}" cy="17" r="5" fill="#484f58"/>' for i in range(3)]
    out += [f'<text x="{width / 2}" y="21" text-anchor="middle" fill="#8b949e" font-size="12" '
            f'font-family="\'DejaVu Sans\',Helvetica,Arial,sans-serif">{html.escape(title)}</text>',
            f'<g font-family="{FONT}" font-size="{SIZE}">']
    for i, line in enumerate(lines):
        y = BAR + PAD + i * LINE
        x = PAD
        for colour, text in line:
            shown = text.strip()
            left = x + (len(text) - len(text.lstrip())) * CELL
            if shown:
                out.append(f'<text x="{left:.1f}" y="{y}" fill="{COLOURS[colour]}" '
                           f'textLength="{len(shown) * CELL:.1f}">'
                           f'{html.escape(shown).replace("  ", "&#160; ")}</text>')
            x += len(text) * CELL
    out += ["</g>", "</svg>", ""]
    (HERE / name).write_text("\n".join(out))


def prompt(command):
    return [("prompt", "$ "), ("text", command)]


def complete(program, folder):
    shutil.copy(ROOT / "pilot/demo.c", folder / "demo.c")
    command = "hpccoder complete demo.c --stop function"
    lines = [prompt("tail -n 3 demo.c")]
    lines += [[("text", line)] for line in run("tail -n 3 demo.c", folder, program)]
    lines += [prompt(command)]
    lines += [[("new", line)] for line in run(command, folder, program)]
    for command in (command + " --write", "cc -fopenmp -Wall -c demo.c && echo it compiles"):
        lines += [prompt(command)]
        lines += [[("text", line)] for line in run(command, folder, program) if line]
    terminal("complete.svg", "Complete a function", lines)


def verdict(line):
    """Colour a line of `hpccoder pragma` by what it says."""
    for word, colour in (("parallel", "good"), ("conditional", "maybe"), ("unsafe", "bad")):
        if re.fullmatch(r"\S+:\d+: " + word, line):
            return [("text", line[:-len(word)]), (colour, word)]
    if line.startswith("    propose: "):
        return [("dim", "    propose: "), ("new", line[13:])]
    match = re.match(r"    [a-z ]+: ", line)
    if match:
        return [("dim", match.group()), ("text", line[match.end():])]
    return [("text" if "|     " in line and "^" not in line else "dim", line)]


def pragma(program, folder):
    shutil.copy(ROOT / "examples/heat.c", folder / "heat.c")
    lines = []
    for at in (29, 40, 49):
        command = f"hpccoder pragma heat.c --at {at}"
        lines += [prompt(command)]
        found = run(command, folder, program)
        end = found.index("") if "" in found else len(found)
        lines += [verdict(line) for line in found[:end]] + [[("dim", "")]]
    terminal("pragma.svg", "Suggest a directive, with evidence", lines[:-1])


def report(program, folder):
    run(f"sh {ROOT}/examples/history.sh heat", folder, program)
    run("hpccoder perf collect --repo heat --build make --run './heat 5' -m cost"
        " --machine 'two cores' --db perf.db", folder, program)
    text = run("hpccoder perf report --db perf.db --repo heat --out report", folder, program)
    ids = run("git -C heat log --reverse --format=%h", folder, program)
    page = (folder / "report/index.html").read_text()
    style = re.search(r"<style>(.*?)</style>", page, re.S).group(1)
    style = re.sub(r"@media \(prefers-color-scheme:dark\)\{.*?\}\}\n?", "", style, flags=re.S)
    style = "\n".join(line for line in style.split("\n") if line.startswith(".plot"))
    svg = re.search(r"<svg.*?</svg>", page, re.S).group()
    svg = re.sub(r'<g class="hint.*?</g>\n?|<rect class="hint.*?</rect>\n?', "", svg, flags=re.S)
    body = svg[svg.index(">") + 1:]
    (HERE / "report.svg").write_text(
        '<svg class="plot" xmlns="http://www.w3.org/2000/svg" width="1160" height="460" '
        'viewBox="0 -40 1160 460" role="img" aria-label="Cost of each commit" '
        f'style="color:#1f2328">\n<style>\n{style}\n</style>\n'
        '<rect x="1" y="-39" width="1158" height="458" rx="9" fill="#fff" stroke="#b0b7bf"/>\n'
        '<text x="20" y="-14" font-size="15" font-weight="bold">hpccoder perf report: '
        "cost of each commit, and where it changed</text>"
        f"{body[:body.rindex('</svg>')]}{labels(text, body, ids)}</svg>\n")


def labels(text, body, ids):
    """Name the change points that the report printed beside their strips in the plot."""
    found = re.findall(r"^ *([+-][\d.]+ %) .*?\[1\]  (\w+)  this one +(.*)$", "\n".join(text), re.M)
    found.sort(key=lambda point: next(i for i, k in enumerate(ids) if point[1].startswith(k)))
    strips = [(float(x), float(width)) for x, width in
              re.findall(r'<rect class="strip" x="([\d.]+)"[^>]*? width="([\d.]+)"', body)]
    out = []
    for i, ((change, commit, subject), (x, width)) in enumerate(zip(found, strips)):
        at, anchor = (x + width + 8, "start") if i == 0 else (x - 8, "end")
        colour = "#b34700" if change[0] == "+" else "#007a56"
        y = 130 + 130 * i
        out.append(f'<text x="{at:.0f}" y="{y}" text-anchor="{anchor}" font-size="15" '
                   f'font-weight="bold" style="fill:{colour}">{change}</text>\n'
                   f'<text x="{at:.0f}" y="{y + 18}" text-anchor="{anchor}">{commit[:9]}</text>\n'
                   f'<text x="{at:.0f}" y="{y + 34}" text-anchor="{anchor}">'
                   f"{html.escape(subject)}</text>\n")
    return "".join(out)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    program = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as folder:
        for draw in (complete, pragma, report):
            draw(program, pathlib.Path(folder))


if __name__ == "__main__":
    main()
