"""Commands and options that documentation names, compared with what the program's --help lists."""
import os
import re
import shlex
import subprocess

OPTION = re.compile(r"^ {2,}(?:-(\w), )?--(\[no-\])?([a-z0-9-]+)")
TOP = {"--help", "-h", "--version", "--completion", "--man-pages"}
OPERATORS = re.compile(r"^[|&;()<>]+$")


class Options:
    """What one program accepts: `command` maps a name to its options, long and short."""

    def __init__(self, program):
        self.program, self.command, self.examples = program, {}, []
        for line in self._help([]).split("\n"):
            match = re.match(r"^ {2}([a-z]+(?: [a-z]+)?) {2,}\S", line)
            if match:
                self.command[match.group(1)] = self._options(match.group(1))
        if not self.command:
            raise SystemExit("%s --help lists no commands" % program)
        self.known = set().union(*self.command.values()) | TOP

    def _help(self, words):
        env = dict(os.environ, COLUMNS="100")
        text = subprocess.run([self.program] + words + ["--help"], env=env, check=True,
                              stdout=subprocess.PIPE, encoding="utf-8").stdout
        self.examples += [(" ".join(["hpccoder"] + words + ["--help"]), line)
                          for line in text.split("\n") if re.match(r"^ +(mpirun|hpccoder) ", line)]
        return text

    def _options(self, name):
        found = set()
        for line in self._help(name.split()).split("\n"):
            match = OPTION.match(line)
            if match:
                letter, negated, option = match.groups()
                found.add("--" + option)
                if letter:
                    found.add("-" + letter)
                if negated:
                    found.add("--no-" + option)
        return found

    def split(self, words):
        """(command, rest) of words that follow "hpccoder"; command is None when there is none."""
        for n in (2, 1):
            name = " ".join(words[:n])
            if len(words) >= n and name in self.command:
                return name, words[n:]
        return None, words

    def faults_of(self, words):
        """What is wrong with the words after "hpccoder", as texts."""
        if not words or words[0] in TOP or words[0].isupper() or words[0] in ("...", "help"):
            return []
        name, rest = self.split(words)
        if name is None:
            group = [c for c in self.command if c.startswith(words[0] + " ")]
            if group and len(words) == 1:
                return []
            return ["hpccoder has no command '%s'" % " ".join(words[:2 if group else 1])]
        faults = []
        for word in rest:
            if word == "--":
                break
            option = re.match(r"^(--[a-z0-9-]+|-[A-Za-z])", word)
            if option and option.group(1) not in self.command[name]:
                faults.append("hpccoder %s has no option %s" % (name, option.group(1)))
        return faults

    def faults_of_code(self, text):
        """The same for inline code: a command line, a command with options, or options alone."""
        try:
            words = shlex.split(text.replace("\u2026", "..."))
        except ValueError:
            return []
        if not words:
            return []
        if words[0] == "hpccoder":
            return self.faults_of(words[1:])
        if self.split(words)[0]:
            return self.faults_of(words)
        faults = []
        if re.match(r"^--[a-z]", words[0]):
            for word in words:
                option = re.match(r"^--[a-z][a-z0-9-]*", word)
                if option and option.group(0) not in self.known:
                    faults.append("no command of hpccoder has an option %s" % option.group(0))
        return faults

    def faults_of_help(self):
        """(command, fault) of the examples that --help prints."""
        return [(name, fault) for name, line in self.examples for words in commands(line)
                for fault in self.faults_of_words(words)]

    def faults_of_words(self, words):
        """The same for a simple command, which may start hpccoder through another program."""
        names = [os.path.basename(word) for word in words]
        return self.faults_of(words[names.index("hpccoder") + 1:]) if "hpccoder" in names else []


def joined(lines):
    """(offset, line) with lines that end in a backslash joined to the next, prompts removed."""
    start, whole = 0, ""
    for offset, line in enumerate(lines):
        start = start if whole else offset
        whole += re.sub(r"^\s*\$ ", "", line)
        if whole.endswith("\\"):
            whole = whole[:-1] + " "
            continue
        yield start, whole
        whole = ""
    if whole:
        yield start, whole


def commands(line):
    """The simple commands of a line, as lists of words; [] for what is no shell."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    try:
        tokens = list(lexer)
    except ValueError:
        return []
    found = [[]]
    for token in tokens:
        if OPERATORS.match(token):
            found.append([])
        else:
            found[-1].append(token)
    return [words for words in found if words]


def make_targets(makefiles):
    """The targets that rules of these makefiles define by name."""
    found = set()
    for path in makefiles:
        with open(path, encoding="utf-8") as file:
            for line in file:
                rule = re.match(r"^([a-z][a-z -]*):(?!=)", line)
                if rule:
                    found.update(rule.group(1).split())
    return found


def faults_of_make(words, targets):
    """Targets that `make` is asked for and no makefile has."""
    if not words or words[0] != "make":
        return []
    return ["make has no target '%s'" % word for word in words[1:]
            if re.match(r"^[a-z][a-z-]*$", word) and word not in targets]
