#!/usr/bin/env python3
"""Every link of every Markdown page of the project leads to a file that is there, and to a heading in it.

Usage: links.py ROOT. Addresses on the web are left to `make docs-links`.
"""

import os
import pathlib
import re
import sys

import page

WITHOUT = ("build", ".git", "dist", "node_modules")


def pages(root):
    for folder, folders, names in os.walk(root):
        folders[:] = [f for f in folders if not f.startswith(WITHOUT) and not f.startswith(".")]
        yield from (pathlib.Path(folder, name) for name in names if name.endswith(".md"))


def broken(path, target):
    """Why the link leads nowhere, or None."""
    if re.match(r"(https?|mailto):", target):
        return None
    name, _, anchor = target.partition("#")
    there = (path.parent / name).resolve() if name else path
    if not there.exists():
        return "there is no such file"
    if anchor and (there.suffix != ".md" or anchor not in page.anchors(there.read_text(encoding="utf-8"))):
        return "there is no such heading"
    return None


def main(root):
    count, bad = 0, 0
    for path in sorted(pages(pathlib.Path(root).resolve())):
        for target in page.links(path.read_text(encoding="utf-8")):
            count += 1
            why = broken(path, target)
            if why:
                print(f"{path}: {target}: {why}")
                bad += 1
    print(f"{count} links, {bad} of them broken")
    return 1 if bad or not count else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
