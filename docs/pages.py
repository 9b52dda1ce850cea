"""Pages in GitHub's dialect of Markdown: fences, headings with their anchors, links, inline code.

render.py and tests/docs/check.py share this, so that an anchor that the check accepts exists in the
rendered page. It reads the constructs that the pages use; it is no complete parser.
"""
import re

FENCE = re.compile(r"^( {0,3})(`{3,}|~{3,})\s*(.*?)\s*$")
HEADING = re.compile(r"^ {0,3}(#{1,6})\s+(.*?)\s*#*\s*$")
CODE = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.S)
LINK = re.compile(r"\[(?:[^\[\]]|\[[^\[\]]*\])*\]"
                  r"\(\s*<?([^()\s<>]+(?:\([^()\s]*\))?)>?(?:\s+\"[^\"]*\")?\s*\)")
REFERENCE = re.compile(r"^ {0,3}\[[^\]]+\]:\s*<?(\S+?)>?(?:\s+\".*\")?\s*$")
ATTRIBUTE = re.compile(r"<(?:a|img|source)\b[^>]*?\b(?:href|src|srcset)=\"([^\"]+)\"")
NAMED = re.compile(r"<[a-z0-9]+\b[^>]*?\b(?:id|name)=\"([^\"]+)\"")


class Block:
    """A fenced block: its info string, its lines, and the number of its first line."""

    def __init__(self, info, line):
        self.info, self.line, self.lines = info, line, []


class Page:
    """A page cut into fenced blocks and `text`: (line number, line) outside of fences."""

    def __init__(self, path):
        self.path, self.blocks, self.text = path, [], []
        self.unclosed = 0  # line of a fence that nothing closes
        with open(path, encoding="utf-8") as file:
            self._cut(file.read().split("\n"))

    def _cut(self, lines):
        block = mark = None
        for number, line in enumerate(lines, 1):
            fence = FENCE.match(line)
            if block is None and fence and "`" not in fence.group(3):
                mark, indent = fence.group(2), len(fence.group(1))
                block = Block(fence.group(3), number + 1)
                self.blocks.append(block)
            elif block is None:
                self.text.append((number, line))
            elif fence and fence.group(2).startswith(mark) and not fence.group(3):
                block = None
            else:
                block.lines.append(re.sub("^ {0,%d}" % indent, "", line))
        self.unclosed = block.line - 1 if block else 0

    def headings(self):
        """(line number, level, source text, anchor) of each heading."""
        seen, found = {}, []
        for number, line in self.text:
            match = HEADING.match(line)
            if match:
                title = match.group(2)
                found.append((number, len(match.group(1)), title, anchor(title, seen)))
        return found

    def anchors(self):
        named = {name for _, line in self.text for name in NAMED.findall(line)}
        return named | {heading[3] for heading in self.headings()}

    def paragraphs(self):
        """(first line number, lines joined): what inline constructs may span."""
        start, joined = 0, []
        for number, line in self.text + [(0, "")]:
            if line.strip() and (not joined or number == start + len(joined)):
                start = start if joined else number
                joined.append(line)
                continue
            if joined:
                yield start, "\n".join(joined)
            start, joined = number, [line] if line.strip() else []

    def links(self):
        """(line number, target) of every link and image, HTML included."""
        for start, text in self.paragraphs():
            plain = CODE.sub(lambda m: re.sub(r"[^\n]", " ", m.group(0)), text)
            for pattern in (LINK, ATTRIBUTE):
                for match in pattern.finditer(plain):
                    yield start + plain.count("\n", 0, match.start()), match.group(1)
        for number, line in self.text:
            match = REFERENCE.match(line)
            if match:
                yield number, match.group(1)
        for start, text in self.paragraphs():  # a link around inline code or an image
            for match in re.finditer(r"\]\(([^()\s]+)\)", text):
                yield start + text.count("\n", 0, match.start()), match.group(1)

    def code(self):
        """(line number, text) of inline code, its line ends as blanks."""
        for start, text in self.paragraphs():
            for match in CODE.finditer(text):
                yield start + text.count("\n", 0, match.start()), " ".join(match.group(2).split())


def anchor(title, seen):
    """GitHub's anchor of a heading; `seen` counts those that the page already has."""
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title)
    plain = re.sub(r"<[^>]*>", "", plain).replace("`", "").replace("*", "").strip().lower()
    name = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
    count = seen.get(name, 0)
    seen[name] = count + 1
    return "%s-%d" % (name, count) if count else name


def is_external(target):
    return re.match(r"^([a-z][a-z0-9+.-]*:|//)", target, re.I) is not None
