#!/usr/bin/env python3
"""Shows that two commits have the same code: C and C++ files differ in comments and layout alone.

    same_code.py BASE [HEAD]      compare the files that differ between two commits
    same_code.py --self-test      check that planted changes are found

Files are compared as preprocessing tokens, before macros are expanded: without comments and white
space, with spliced lines joined, with adjacent string literals joined, and with the ends of
directives kept. Equal tokens give equal translation units in every configuration, and therefore
equal object code except for line numbers (__LINE__, debug information). Comparing object files
would show that for one configuration. Added, removed and renamed files count as different. Exit
status: 0 equal, 1 different, 2 bad usage.
"""
import re
import subprocess
import sys

TOKEN = re.compile(r"""
    (?P<comment>/\*.*?\*/|//[^\n]*)
  | (?P<raw>(?:u8|[uUL])?R"(?P<mark>[^()\\ \n]*)\(.*?\)(?P=mark)")
  | (?P<string>(?:u8|[uUL])?"(?:[^"\\\n]|\\.)*")
  | (?P<char>[uUL]?'(?:[^'\\\n]|\\.)*')
  | (?P<number>\.?\d(?:[eEpP][+-]|['\w.])*)
  | (?P<name>[A-Za-z_]\w*)
  | (?P<newline>\n)
  | (?P<space>[ \t\r\f\v]+)
  | (?P<mark2>%:%:|<=>|<<=|>>=|\.\.\.|->\*|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||::|\#\#|[-+*/%&|^]=|.)
""", re.X | re.S)
DEFINITION = re.compile(r"\#[ \t]*define[ \t]+\w+\(")


def tokens(text):
    text = text.replace("\\\r\n", "").replace("\\\n", "")
    out, directive, fresh = [], False, True
    for m in TOKEN.finditer(text):
        kind, word = m.lastgroup, m.group()
        if kind == "mark":
            kind = "raw"
        if kind in ("comment", "space"):
            continue
        if kind == "newline":
            if directive:
                out.append("\n")
            directive, fresh = False, True
            continue
        if word == "#" and fresh:
            directive = True
            # `#define f(x)` and `#define f (x)` differ by a space alone.
            if DEFINITION.match(text, m.start()):
                out.append("function-like")
        fresh = False
        if kind == "string" and out and out[-1][:1] == out[-1][-1:] == '"' and word[0] == '"':
            out[-1] = out[-1][:-1] + word[1:]
        else:
            out.append(word)
    return out


def git(*words):
    return subprocess.run(("git",) + words, check=True, stdout=subprocess.PIPE,
                          encoding="utf-8", errors="surrogateescape").stdout


def self_test():
    code = '#define TWO(x) ((x) + 2)\nint f(int a)\n{\n    /* Adds. */\n    return g("a" "b", a + 1);\n}\n'
    same = ['#define TWO(x) \\\n    ((x) + 2)\nint f(int a) // sum\n{ return g("ab",\n a+1); }\n']
    differ = [code.replace("a + 1", "a + 2"), code.replace("a + 1", "a - 1"),
              code.replace("TWO(x)", "TWO (x)"), code.replace('"b"', '"c"'),
              code.replace("+ 2)\n", "+ 2) "), code.replace("a + 1", "a + + 1"),
              code.replace("return", "/* return */")]
    wrong = [t for t in same if tokens(t) != tokens(code)] + \
            [t for t in differ if tokens(t) == tokens(code)]
    if tokens("a++b") == tokens("a + + b"):
        wrong.append("a++b")
    for text in wrong:
        print("same_code.py judges this wrongly:\n" + text)
    return 1 if wrong else 0


def main(argv):
    if argv == ["--self-test"]:
        return self_test()
    if not 1 <= len(argv) <= 2 or argv[0].startswith("-"):
        print("usage: same_code.py BASE [HEAD] | --self-test", file=sys.stderr)
        return 2
    base, head = argv[0], argv[1] if len(argv) > 1 else "HEAD"
    status, count = 0, 0
    listing = git("diff", "--no-renames", "--name-status", "-z", base, head, "--",
                  "*.c", "*.h", "*.cc", "*.cu", "*.cuh").split("\0")
    for state, path in zip(listing[::2], listing[1::2]):
        count += 1
        if state == "M":
            old, new = (tokens(git("show", "%s:%s" % (c, path))) for c in (base, head))
            if old == new:
                continue
            at = next((k for k in range(min(len(old), len(new))) if old[k] != new[k]), 0)
            print("%s: code differs: %s | %s" % (path, " ".join(old[at:at + 8]).replace("\n", ";"),
                                                 " ".join(new[at:at + 8]).replace("\n", ";")))
        else:
            print("%s: %s" % (path, {"A": "added", "D": "removed"}.get(state, state)))
        status = 1
    print("%d files differ between the commits; their code is %s"
          % (count, "different" if status else "the same"))
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
