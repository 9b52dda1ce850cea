#!/usr/bin/env python3
"""Renders the documentation to a static site: one HTML file per page, no scripts, nothing external.

    render.py --out DIR README.md docs/completion.md ... CONTRIBUTING.md

README.md becomes index.html, docs/NAME.md becomes NAME.html, other pages their name in lower case.
cmark-gfm converts each page. Links between pages lead to their HTML files; links to other files of
the repository, which the site does not contain, become plain text. Pages appear in the navigation
in the order in which README.md links to them. Images are copied.
"""
import argparse
import html
import os
import re
import shutil
import subprocess
import sys
from urllib.parse import unquote

sys.dont_write_bytecode = True
from pages import Page, is_external  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
FRAME = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<link rel="stylesheet" href="style.css">
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<div class="layout">
<nav aria-label="Pages"><input type="checkbox" id="menu"><label for="menu">Pages</label>
<div class="inner"><ul>
{menu}
</ul></div></nav>
<main id="content">
{body}
<div class="steps">{steps}</div>
</main>
</div>
</body>
</html>
"""


def fail(message):
    sys.exit("render.py: " + message)


def site_name(path):
    """The HTML file of a page."""
    stem = os.path.splitext(os.path.basename(path))[0]
    return "index.html" if stem == "README" else stem.lower() + ".html"


def linked(path, paths):
    """The pages that a page links to, in the order of the links."""
    folder = os.path.dirname(path)
    found = [os.path.normpath(os.path.join(folder, target.split("#")[0]))
             for _, target in sorted(Page(path).links(), key=lambda link: link[0])
             if not is_external(target)]
    return [page for page in dict.fromkeys(found) if page in paths]


def ordered(paths):
    """The first page, those that it links to, each followed by those that it alone leads to; the
    rest as given; CONTRIBUTING.md last."""
    chosen = list(dict.fromkeys([paths[0]] + linked(paths[0], paths)))
    for page in paths:
        if page not in chosen and page not in (p for q in paths for p in linked(q, paths)):
            chosen.append(page)
    k = 0
    while k < len(chosen):
        new = [page for page in linked(chosen[k], paths) if page not in chosen]
        chosen[k + 1:k + 1] = new
        k += 1
    chosen += [page for page in paths if page not in chosen]
    return sorted(chosen, key=lambda page: os.path.basename(page) == "CONTRIBUTING.md")


class Site:
    def __init__(self, out, paths):
        self.out, self.pages = out, [Page(path) for path in paths]
        self.names = {page.path: site_name(page.path) for page in self.pages}
        if len(set(self.names.values())) != len(self.names):
            fail("two pages have the same name")
        self.titles = {page.path: self.title(page) for page in self.pages}

    @staticmethod
    def title(page):
        for _, level, title, _ in page.headings():
            if level == 1:
                return re.sub(r"[`*]", "", title)
        fail("%s: no heading of level 1" % page.path)

    def target(self, page, link):
        """What a link of a page is in the site: a target, or None if the site lacks the file."""
        if is_external(link) or link.startswith("#"):
            return link
        path, mark, anchor = unquote(link).partition("#")
        path = os.path.normpath(os.path.join(os.path.dirname(page.path), path))
        if path in self.names:
            return self.names[path] + mark + anchor
        return None

    def image(self, page, link):
        """Copies an image into the site; returns its path there."""
        if is_external(link):
            fail("%s: image %s: the site loads nothing from elsewhere" % (page.path, link))
        path = os.path.normpath(os.path.join(os.path.dirname(page.path), unquote(link)))
        if not os.path.isfile(path):
            fail("%s: image %s does not exist" % (page.path, link))
        name = re.sub(r"^docs/", "", path)
        copy = os.path.join(self.out, name)
        os.makedirs(os.path.dirname(copy), exist_ok=True)
        shutil.copyfile(path, copy)
        return name

    def body(self, page):
        command = ["cmark-gfm", "--unsafe", "-e", "table", "-e", "strikethrough", "-e", "autolink"]
        text = subprocess.run(command + [page.path], check=True, stdout=subprocess.PIPE,
                              encoding="utf-8").stdout
        return self.with_links(page, self.with_anchors(page, text))

    @staticmethod
    def with_anchors(page, text):
        anchors = iter(page.headings())

        def heading(match):
            level, inner = match.groups()
            _, wanted, title, anchor = next(anchors, (0, 0, "", ""))
            if wanted != int(level):
                fail("%s: heading '%s' is not where pages.py found it" % (page.path, title))
            return '<h%s id="%s">%s<a class="anchor" href="#%s" aria-label="Link">#</a></h%s>' % (
                level, html.escape(anchor), inner, html.escape(anchor), level)

        text = re.sub(r"<h([1-6])>(.*?)</h\1>", heading, text, flags=re.S)
        return text.replace("<table>", '<div class="table"><table>').replace(
            "</table>", "</table></div>").replace("<pre>", '<pre tabindex="0">')

    def with_links(self, page, text):
        def link(match):
            target = self.target(page, html.unescape(match.group(1)))
            if target is None:
                return match.group(2)
            return '<a href="%s">%s</a>' % (html.escape(target), match.group(2))

        def image(match):
            inside = self.image(page, html.unescape(match.group(2)))
            return match.group(1) + html.escape(inside) + '"'

        anchored = re.split(r'(<a class="anchor".*?</a>)', text)
        for k in range(0, len(anchored), 2):
            part = re.sub(r'<a href="([^"]*)"[^>]*>(.*?)</a>', link, anchored[k], flags=re.S)
            anchored[k] = re.sub(r'(<(?:img|source)\b[^>]*?\b(?:src|srcset)=")([^"]*)"', image,
                                 part)
        return "".join(anchored)

    def menu(self, current):
        rows = []
        for page in self.pages:
            mark = ' aria-current="page"' if page is current else ""
            row = '<li><a href="%s"%s>%s</a>' % (self.names[page.path], mark,
                                                html.escape(self.titles[page.path]))
            parts = [h for h in page.headings() if h[1] == 2] if page is current else []
            if parts:
                row += "<ul>%s</ul>" % "".join(
                    '<li><a href="#%s">%s</a></li>' % (html.escape(anchor),
                                                      html.escape(re.sub(r"[`*]", "", title)))
                    for _, _, title, anchor in parts)
            rows.append(row + "</li>")
        return "\n".join(rows)

    def steps(self, k):
        links = []
        for step, arrow in ((k - 1, "\u2190 %s"), (k + 1, "%s \u2192")):
            if 0 <= step < len(self.pages):
                path = self.pages[step].path
                links.append('<a href="%s">%s</a>' % (
                    self.names[path], html.escape(arrow % self.titles[path])))
        return "".join(links)

    def write(self):
        shutil.copyfile(os.path.join(HERE, "style.css"), os.path.join(self.out, "style.css"))
        first = self.titles[self.pages[0].path]
        for k, page in enumerate(self.pages):
            title = self.titles[page.path]
            title = title if title == first else "%s \u00b7 %s" % (title, first)
            text = FRAME.format(title=html.escape(title), menu=self.menu(page),
                                body=self.body(page), steps=self.steps(k))
            with open(os.path.join(self.out, self.names[page.path]), "w", encoding="utf-8") as file:
                file.write(text)


def main():
    parser = argparse.ArgumentParser(description="Render the documentation to a static site.")
    parser.add_argument("--out", required=True, help="folder of the site")
    parser.add_argument("pages", nargs="+", help="README.md first")
    given = parser.parse_args()
    os.makedirs(given.out, exist_ok=True)
    site = Site(given.out, ordered([os.path.normpath(path) for path in given.pages]))
    site.write()


if __name__ == "__main__":
    main()
