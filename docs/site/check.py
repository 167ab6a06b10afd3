#!/usr/bin/env python3
"""The built site is whole and needs no network. Usage: check.py HTML_DIR

Every link inside it leads to a file that is there and, with an anchor, to that anchor; no page, style or
script loads anything from elsewhere.
"""

import pathlib
import re
import sys
from html.parser import HTMLParser
from urllib.parse import unquote, urlparse

LOADS = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src", "video": "src"}


class Page(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.anchors, self.links, self.loads = set(), [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.anchors.update(given[k] for k in ("id", "name") if given.get(k))
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
        if tag in LOADS and given.get(LOADS[tag]) and given.get("rel") not in ("canonical",):
            self.loads.append(given[LOADS[tag]])


def elsewhere(target):
    return bool(re.match(r"(https?:)?//", target))


def wrong_link(path, target, pages):
    """Why it leads nowhere, or None."""
    parsed = urlparse(target)
    if parsed.scheme:
        return None if parsed.scheme in ("http", "https", "mailto", "data") else "an unknown scheme"
    there = (path.parent / unquote(parsed.path)).resolve() if parsed.path else path
    if not there.is_file():
        return "there is no such file"
    if parsed.fragment and there in pages and unquote(parsed.fragment) not in pages[there].anchors:
        return "there is no such anchor"
    return None


def main(folder):
    root = pathlib.Path(folder).resolve()
    pages = {p: Page(p.read_text(encoding="utf-8")) for p in root.rglob("*.html")}
    wrong, links = [], 0
    for path, page in pages.items():
        for target in [*page.links, *page.loads]:
            links += 1
            why = wrong_link(path, target, pages)
            if why:
                wrong.append(f"{path.relative_to(root)}: {target}: {why}")
        wrong += [f"{path.relative_to(root)}: loads {t}" for t in page.loads if elsewhere(t)]
    for style in root.rglob("*.css"):
        text = style.read_text(encoding="utf-8")
        wrong += [f"{style.relative_to(root)}: loads {u}" for u in re.findall(r"(?:url\(|@import)\s*[\"']?((?:https?:)?//[^\"')]+)", text)]
    print(*wrong, sep="\n")
    size = sum(p.stat().st_size for p in root.rglob("*") if p.is_file())
    print(f"{len(pages)} pages, {links} links, {size / 1e6:.1f} MB; {len(wrong)} faults")
    return 1 if wrong or len(pages) < 20 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
