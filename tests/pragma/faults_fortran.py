#!/usr/bin/env python3
"""Breaks Fortran loops that the analysis calls parallel, and counts what it says then (faults.py for Fortran).

    faults_fortran.py [--hpccoder PROGRAM] [--loops N] FILE... [-- FLAGS]

Each such loop that steps by one and stores into an element that its variable selects is broken in the ways of
KINDS, so that iterations depend on each other. None of the copies may be `parallel`. Those that are, are printed.
Exit status 1 if there are any.
"""
import argparse, collections, json, os, re, subprocess, sys

HEAD = re.compile(r"^[ \t]*(?:\w+[ \t]*:[ \t]*)?do[ \t]+(?:\d+[ \t]+)?(\w+)[ \t]*=[ \t]*([^,]+),[ \t]*([^,!]+)$", re.I)
STORE = re.compile(r"^([ \t]*)(\w+(?:%\w+)*)[ \t]*\(([^()=]*)\)[ \t]*=(?!=)[ \t]*([^&!]+)$", re.I)
END = re.compile(r"^[ \t]*(?:\d+[ \t]+)?(?:end[ \t]*do|continue)\b", re.I)


class Target:
    """The lines of a loop, and a store at its top level whose subscripts have its variable once."""

    def __init__(self, lines, loop):
        self.lines, self.at = lines, loop["line"] - 1
        m = HEAD.match(lines[self.at])
        if not m or loop["end_line"] - loop["line"] < 2 or m.group(2).strip() == m.group(3).strip():
            raise ValueError
        self.variable, self.end = m.group(1), loop["end_line"] - 1
        depth = 0
        for k in range(self.at + 1, loop["end_line"]):
            line = lines[k]
            if re.match(r"[ \t]*(do|if[ \t]*\(.*\)[ \t]*then|where|select)\b", line, re.I):
                depth += 1
            if re.match(r"[ \t]*(\d+[ \t]+)?end[ \t]*(do|if|where|select)?\b", line, re.I) or END.match(line):
                depth -= 1
            s = STORE.match(line)
            if not s or depth > 0 or (k > 0 and lines[k - 1].rstrip().endswith("&")):
                continue
            uses = self.word().findall(s.group(3))
            if len(uses) == 1 and not re.search(r":", s.group(3)):
                self.indent, self.name, self.subscripts, self.value = s.groups()
                self.store = k
                return
        raise ValueError

    def word(self):
        return re.compile(r"(?<![\w%])" + re.escape(self.variable) + r"(?!\w)", re.I)

    def element(self, index):
        return f"{self.name}({self.word().sub('(' + index + ')', self.subscripts)})"

    def put(self, *replaced):
        out = list(self.lines)
        out[self.store:self.store + 1] = [self.indent + text for text in replaced]
        return "\n".join(out)

    def original(self):
        return self.lines[self.store].strip()

    def leave_from_inside(self):
        """An inner loop that leaves the loop, which gets a name; None: the loop has a name or a label."""
        head, end = self.lines[self.at], self.lines[self.end]
        if not re.match(r"[ \t]*do\b", head, re.I) or not re.match(r"[ \t]*end[ \t]*do[ \t]*$", end, re.I):
            return None
        copy = Target.__new__(Target)
        copy.__dict__.update(self.__dict__)
        copy.lines = list(self.lines)
        copy.lines[self.at] = re.sub(r"\bdo\b", "broken: do", head, count=1, flags=re.I)
        copy.lines[self.end] = end.rstrip() + " broken"
        return copy.put(self.original(), f"do while ({self.variable} > 7)", "exit broken", "end do")


def assign(t, element, value):
    return t.put(f"{element} = {value}")


KINDS = {
    "read the next element": lambda t: assign(t, t.element(t.variable), f"{t.element(t.variable + '+1')}"),
    "read the previous element": lambda t: assign(t, t.element(t.variable), f"{t.element(t.variable + '-1')}"),
    "write one element": lambda t: t.put(t.original(), f"{t.element('1')} = {t.element(t.variable)}"),
    "write every second": lambda t: assign(t, t.element(t.variable + "/2+1"), t.value.strip()),
    "write two in turn": lambda t: assign(t, t.element(f"mod({t.variable},2)+1"), t.value.strip()),
    "write the next element, too": lambda t: t.put(t.original(), f"{t.element(t.variable + '+1')} = "
                                                                 f"{t.element(t.variable)}"),
    "leave early": lambda t: t.put(t.original(), f"if ({t.variable} > 7) exit"),
    "leave from an inner loop": lambda t: t.leave_from_inside(),
    "return": lambda t: t.put(f"if ({t.variable} > 7) return", t.original()),
    "stop": lambda t: t.put(f"if ({t.variable} > 7) stop", t.original()),
    "print": lambda t: t.put(t.original(), f"print *, {t.variable}"),
}


def judge(hpccoder, path, flags):
    r = subprocess.run([hpccoder, "pragma", "-q", "--json", path, "--"] + flags, capture_output=True, text=True)
    return json.loads(r.stdout)[0] if r.stdout else {"loops": []}


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--hpccoder", default="build/release/hpccoder")
    p.add_argument("--loops", type=int, default=1000000)
    p.add_argument("files", nargs="+")
    at = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    a, flags = p.parse_args(sys.argv[1:at]), sys.argv[at + 1:]
    said, wrong, loops = collections.Counter(), 0, 0
    for path in a.files:
        with open(path, encoding="utf-8", errors="replace") as f:
            lines = f.read().split("\n")
        for loop in judge(a.hpccoder, path, flags).get("loops", []):
            try:
                t = Target(lines, loop) if loop["verdict"] == "parallel" and loops < a.loops else None
            except ValueError:
                t = None
            if not t:
                continue
            loops += 1
            # all copies in one file would be one parse, but a broken unit would take the others with it
            for kind, change in KINDS.items():
                text = change(t)
                if text is None:
                    continue
                copy = os.path.join(os.path.dirname(path), "faults_copy" + os.path.splitext(path)[1])
                try:
                    with open(copy, "w") as f:
                        f.write(text)
                    found = [l for l in judge(a.hpccoder, copy, flags).get("loops", []) if l["line"] == loop["line"]]
                finally:
                    os.unlink(copy)
                verdict = found[0]["verdict"] if found else "lost"
                said[verdict] += 1
                if verdict == "parallel":
                    wrong += 1
                    print(f"{path}:{loop['line']}: {kind}: parallel")
    print(f"{loops} loops, {sum(said.values())} copies: " + ", ".join(f"{n} {v}" for v, n in said.most_common()))
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())
