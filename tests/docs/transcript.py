"""Runs the shell blocks of pages in a scratch copy of the repository and compares their output."""
import os
import re
import secrets
import shutil
import signal
import subprocess
import tempfile
import time

SMALL = 1 << 16  # bytes: build files up to this size are copied, larger ones are linked


CONFIG = """[user]
    name = A Reader
    email = reader@example.org
[safe]
    directory = *
[advice]
    detachedHead = false
"""


class Scratch:
    """A copy of the repository: its files in a git clone of their own, and the build."""

    def __init__(self, program):
        self.variant = os.path.dirname(os.path.abspath(program))
        self.root = tempfile.mkdtemp(prefix="docs-check.", dir=self.variant)
        self.tree = os.path.join(self.root, "tree")
        self.config = os.path.join(self.root, "gitconfig")
        with open(self.config, "w", encoding="utf-8") as file:
            file.write(CONFIG)
        inside = os.path.relpath(self.variant)
        self.inside = "build/release" if inside.startswith("..") else inside
        self._clone()
        self._build(whole=not inside.startswith(".."))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.root, ignore_errors=True)

    def _git(self, *words, cwd=None):
        return subprocess.run(["git"] + list(words), check=True,
                              cwd=cwd or self.tree, env=self.environment(),
                              stdout=subprocess.PIPE, encoding="utf-8").stdout

    def _clone(self):
        names = self._git("ls-files", "-co", "--exclude-standard", "-z", cwd=".").split("\0")
        self._git("clone", "-q", "--shared", "--no-checkout", ".", self.tree, cwd=".")
        for name in filter(os.path.isfile, names):
            path = os.path.join(self.tree, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            shutil.copy2(name, path)  # with its time: make finds the build up to date
        exclude = os.path.join(self.tree, ".git", "info", "exclude")
        with open(exclude, "a", encoding="utf-8") as file:
            file.write("/build/\n")
        self._git("add", "-A")
        if self._git("status", "--porcelain"):
            self._git("commit", "-q", "-m", "The working tree")

    def _build(self, whole):
        """Programs are copied, the rest is linked; without the pages and other scratch copies."""
        to = os.path.join(self.tree, self.inside)
        for folder, folders, names in os.walk(self.variant):
            below = os.path.relpath(folder, self.variant)
            folders[:] = [f for f in folders if whole and not f.startswith("docs-check.")
                          and f not in ("tests", "html", "lint")]
            os.makedirs(os.path.join(to, below), exist_ok=True)
            for name in names:
                if whole or name == "hpccoder" or name.endswith(".so"):
                    link_or_copy(os.path.join(folder, name), os.path.join(to, below, name))

    def environment(self):
        env = {name: value for name, value in os.environ.items()
               if not name.startswith(("HPCCODER", "HPC_", "MAKE", "MFLAGS", "GIT_", "CMOCKA"))}
        env.update(HPC_DOCS_CHECK="1", GIT_CONFIG_GLOBAL=self.config, COLUMNS="80",
                   LC_ALL="C.UTF-8", TZ="UTC", NO_COLOR="1", PYTHONDONTWRITEBYTECODE="1",
                   XDG_DATA_HOME="/nonexistent",
                   PATH=os.path.join(self.tree, self.inside) + os.pathsep + env["PATH"])
        return env

    def clean(self):
        """Undoes what a page's commands did to the files; the build stays."""
        self._git("reset", "-q", "--hard")
        self._git("clean", "-q", "-ff", "-d", "-x", "-e", "/build")

    def run(self, commands, limit):
        """[(output, status)] of commands in one shell; shorter than `commands` if time ran out."""
        mark = "--%s--" % secrets.token_hex(8)
        script = "".join("%s\nprintf '\\n%s %%d\\n' $?\n" % (text, mark) for text in commands)
        shell = subprocess.Popen(["bash", "-c", script], cwd=self.tree, env=self.environment(),
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, start_new_session=True)
        try:
            text = shell.communicate(timeout=limit)[0]
        except subprocess.TimeoutExpired:
            os.killpg(shell.pid, signal.SIGKILL)
            text = shell.communicate()[0]
        parts = re.split(r"\n%s (\d+)\n" % mark, text.decode("utf-8", "replace"))
        done = list(zip(parts[0::2], map(int, parts[1::2])))
        if shell.returncode >= 0 and len(done) < len(commands):  # `exit`, or a syntax error
            done.append((parts[-1], shell.returncode or 1))
        return done


def link_or_copy(source, to):
    if os.path.getsize(source) > SMALL and not os.access(source, os.X_OK):
        try:
            os.link(source, to)
            return
        except OSError:
            pass
    shutil.copy2(source, to)


def parse(lines):
    """[(offset, command, expected lines)] of a console transcript; None before the first prompt."""
    found, k = [], 0
    while k < len(lines):
        if not lines[k].startswith("$ "):
            if not found:
                return None
            found[-1][2].append(lines[k])
            k += 1
            continue
        offset, text = k, lines[k][2:]
        while k + 1 < len(lines) and (text.endswith("\\") or lines[k + 1].startswith("> ")):
            k += 1
            text += "\n" + re.sub(r"^> ", "", lines[k])
        found.append((offset, text, []))
        k += 1
    return found


def words_of(line):
    """A line without what varies with the run and the machine: ids, numbers and units, widths."""
    line = re.sub(r"(?:avx512\w*|avx2|amx\w*|neon\w*|base)\b", "isa", line)
    line = re.sub(r" on [^,]+(, \d+ CPU)s?$", r" on machine\1", line)
    line = re.sub(r"\b(?=[a-f]*\d)[0-9a-f]{7,40}\b", "#", line)
    line = re.sub(r"[-+]?\d[\d.,]*", "#", line)
    line = re.sub(r"#(?: ?[kKMGT]?i?B\b| ?[um]?s\b|[kMG]\b)", "#", line)
    return re.sub(r"\s+", " ", line)


def difference(expected, printed, vary=False):
    """"" if the lines match, else a text that shows where they differ. "..." is any lines. Lines
    that vary match if they have the same words."""
    clean = (lambda line: words_of(line).rstrip()) if vary else str.rstrip
    wanted = [clean(line) for line in expected]
    while wanted and not wanted[-1]:
        wanted.pop()
    got = [clean(line) for line in printed.split("\n")]
    while got and not got[-1]:
        got.pop()
    runs = [[]]
    for line in wanted:
        if line.strip() == "...":
            runs.append([])
        else:
            runs[-1].append(line)
    at = 0
    for k, run in enumerate(runs):
        last = k == len(runs) - 1
        places = [0] if k == 0 else [len(got) - len(run)] if last else range(at, len(got))
        found = next((p for p in places if p >= at and got[p:p + len(run)] == run), None)
        if found is None or (last and k == 0 and len(got) != len(run)):
            return shown(run, got, at)
        at = found + len(run)
    return ""


def shown(run, got, at):
    """The first line that differs, with what was printed around it."""
    same = 0
    while same < len(run) and at + same < len(got) and run[same] == got[at + same]:
        same += 1
    first = run[same] if same < len(run) else "(nothing more)"
    start = max(0, at + same - 2)
    lines = got[start:start + 12]
    return "stale output: the page has\n      %s\n    the program printed%s\n%s" % (
        first, " (from line %d)" % (start + 1) if start else "",
        "\n".join("      " + line for line in lines) or "      (nothing)")


class Clock:
    """Time for the blocks of all pages: a limit for each block, and a budget shared by pages."""

    def __init__(self, limit, budget, pages):
        self.limit, self.end, self.pages = limit, budget and time.monotonic() + budget, pages

    def page(self):
        """The time at which the next page has used its share of the budget."""
        share = (self.end - time.monotonic()) / self.pages if self.end else 0
        self.pages -= 1
        return time.monotonic() + share if self.end else None

    def left(self, page_end):
        return self.limit if page_end is None else max(0.0, page_end - time.monotonic())
