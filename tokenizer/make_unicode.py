#!/usr/bin/env python3
"""Writes unicode_table.c: what each code point is to the splitters, and whether NFC may change it.

Ids have to equal those of the `tokenizers` package, so the classes are asked of the package itself:
its regular expressions (Oniguruma) know a later Unicode than Python's unicodedata does, and its NFC
an earlier one. Run with that package installed, then run the formatter:

    python3 tokenizer/make_unicode.py && clang-format-14 -i tokenizer/*_table.c
"""
import pathlib
import unicodedata

import tokenizers
from tokenizers import Regex, normalizers, pre_tokenizers

HERE = pathlib.Path(__file__).parent
POINTS = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
LETTER, NUMBER, SPACE, MARK, PUNCT, SYMBOL, WORD, NFC, OLD_PUNCT, NEW_NUMBER = (1 << i for i in range(10))
nfc = normalizers.NFC().normalize_str


def matched(pattern):
    split = pre_tokenizers.Split(Regex(pattern), "removed", invert=True)
    found = set()
    for i in range(0, len(POINTS), 20000):
        text = "".join(map(chr, POINTS[i : i + 20000]))
        for word, _ in split.pre_tokenize_str(text):
            found.update(map(ord, word))
    return found


def set_apart(split):
    return {c for c in POINTS if len(split.pre_tokenize_str("a" + chr(c))) == 2}


def known_class(c):
    """The combining class, 0 where the package does not know it: it then leaves the order alone."""
    k = unicodedata.combining(chr(c))
    if k == 0:
        return 0
    low, high = "\u0334", "\u0345"  # of class 1 and of the highest class, 240
    for text in (chr(c) + low, high + chr(c)):
        other = unicodedata.combining(text[0]) > unicodedata.combining(text[1])
        if other and nfc("a" + text) == "a" + text:
            return 0
    return k


def pairs():
    """Rows (point, first, second or 0, composes) of canonical decompositions, Hangul apart."""
    rows = []
    for c in POINTS:
        d = unicodedata.decomposition(chr(c))
        if not d or d.startswith("<") or 0xAC00 <= c < 0xD7A4:
            continue
        parts = [int(x, 16) for x in d.split()]
        a, b = parts[0], parts[1] if len(parts) > 1 else 0
        if b and nfc(chr(a) + chr(b)) == chr(a) + chr(b) and nfc(chr(c)) == chr(c):
            continue  # newer than the package
        rows.append((c, a, b, int(bool(b) and nfc(chr(c)) == chr(c))))
    return rows


def runs(value):
    """(first point, value) wherever the value changes."""
    out, last = [], None
    for c in range(0x110000):
        v = value.get(c, 0)
        if v != last:
            out.append((c, v))
            last = v
    return out


def write(name, purpose, body):
    text = f"""/*
 * {name}: {purpose} Made by make_unicode.py from
 * tokenizers {tokenizers.__version__}; not for editing.
 */
#include "tokenizer/priv.h"

{body}"""
    (HERE / name).write_text(text)


def main():
    flags = {}

    def add(points, bit):
        for c in points:
            flags[c] = flags.get(c, 0) | bit

    for pattern, bit in (
        (r"\p{L}", LETTER),
        (r"\p{N}", NUMBER),
        (r"\s", SPACE),
        (r"\p{M}", MARK),
        (r"\p{P}", PUNCT),
        (r"\p{S}", SYMBOL),
        (r"[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}]", WORD),
    ):
        add(matched(pattern), bit)
    # Added tokens ask the \w of Rust, which has the joiners, and not the fractions that \w has here.
    add((0x200C, 0x200D), WORD)
    add(set_apart(pre_tokenizers.Punctuation()), OLD_PUNCT)
    add(set_apart(pre_tokenizers.Digits(individual_digits=True)), NEW_NUMBER)

    rows = pairs()
    combining = {c: known_class(c) for c in POINTS if unicodedata.combining(chr(c))}
    slow = {c for c, k in combining.items() if k}
    slow |= {c for c, _, _, composes in rows if not composes}
    slow |= {b for _, _, b, composes in rows if composes}
    slow |= set(range(0x1161, 0x1176)) | set(range(0x11A8, 0x11C3))
    add(slow, NFC)

    classes = runs(flags)
    body = "/* First code point << 10 | what it and those after it are. */\n"
    body += "const uint32_t tokenizer_unicode_runs[] = {\n"
    body += ", ".join(f"0x{c << 10 | v:x}" for c, v in classes)
    body += f"}};\nconst int tokenizer_unicode_runs_n = {len(classes)};\n"
    write("unicode_table.c", "the classes of all code points, in runs.", body)


main()
