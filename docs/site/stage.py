#!/usr/bin/env python3
"""Lays the pages out for Sphinx: docs/ as it is, the pages beside README.md, and those that are made.

Usage: stage.py STAGE MAN_PAGE_AS_MARKDOWN GALLERY

docs/README.md is the start page and the order of everything: each of its sections becomes a part of the
navigation, with the pages that it links to. Made are the C API (a page for each header), the Python API, the
manual page and the gallery. Links out of the site (to sources) become plain text.
"""

import os
import pathlib
import re
import shutil
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
BESIDE = {"CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "SUPPORT.md", "CODE_OF_CONDUCT.md"}
MADE = {"Reference": ["reference/python-api"], "Benchmarks": ["gallery"]}  # pages without a source in docs/
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")


def staged(path):
    """Where a file of the project is in the stage; None: it is not part of the site."""
    there = path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else ""
    if there == "docs/README.md":
        return "index.md"
    if there == "README.md":
        return "overview.md"
    if there in BESIDE:
        return "project/" + there
    if there == "docs/man/farfield.1":
        return "reference/man.md"
    header = re.fullmatch(r"include/farfield/(\w+)\.h", there)
    if header:
        return f"reference/c/{header.group(1)}.md"
    if there == "include/farfield":
        return "reference/c-api.md"
    if there.startswith("docs/") and path.is_file() and not there.startswith("docs/site/"):
        return there[len("docs/") :]
    return None


def relinked(text, source, place):
    """The page with its links as they are in the stage; code is left alone."""

    def one(match):
        picture, words, target = match.groups()
        if re.match(r"(https?|mailto):|#", target):
            return match.group(0)
        name, _, anchor = target.partition("#")
        there = staged((source.parent / name).resolve())
        if there is None:
            return words
        link = os.path.relpath(there, pathlib.Path(place).parent)
        return f"{picture}[{words}]({link}{'#' + anchor if anchor else ''})"

    pieces = re.split(r"(?ms)(^ *```.*?^ *```\s*?$)", text)
    return "".join(p if i % 2 else LINK.sub(one, p) for i, p in enumerate(pieces))


def lexed(text):
    """Blocks that are run are marked by comments, which readers of the site need not see."""
    return re.sub(r"(?ms)^\s*<!--.*?-->\n", "", text)


def put(stage, place, text):
    path = stage / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def parts(text):
    """(title, pages) of each section of docs/README.md, in its order."""
    for section in re.split(r"(?m)^## ", text)[1:]:
        title, _, body = section.partition("\n")
        targets = [t.partition("#")[0] for _, _, t in LINK.findall(body)]
        pages = [staged((DOCS / t).resolve()) for t in targets if not re.match(r"https?:", t)]
        yield title, [p[:-3] for p in dict.fromkeys(pages) if p and p.endswith(".md") and p != "index.md"]


def trees():
    """The navigation: a tree for each section of the start page."""
    found = parts((DOCS / "README.md").read_text(encoding="utf-8"))
    titled = {"overview": "Overview <overview>"}  # its own title is the project's name
    return "".join("\n```{toctree}\n:hidden:\n:caption: " + title + "\n\n" + "\n".join(titled.get(p, p) for p in pages + MADE.get(title, [])) + "\n```\n"
                   for title, pages in found if pages)  # fmt: skip


def c_pages(stage):
    """A page for each header, and their table of contents."""
    names = sorted(h.stem for h in (ROOT / "include" / "farfield").glob("*.h"))
    for name in names:
        put(stage, f"reference/c/{name}.md",
            f"# {name}.h\n\n```{{eval-rst}}\n.. doxygenfile:: {name}.h\n```\n")
    page = stage / "reference" / "c-api.md"
    tree = "\n```{toctree}\n:hidden:\n\n" + "\n".join(f"c/{n}" for n in names) + "\n```\n"
    page.write_text(page.read_text(encoding="utf-8") + tree, encoding="utf-8")


def public_names():
    """(module, name, kind) of what the package offers, as it says itself."""
    import inspect

    import farfield

    for name in sorted(farfield.__all__, key=str.lower):
        thing = getattr(farfield, name, None)
        if inspect.isclass(thing):
            yield name, "autoexception" if issubclass(thing, BaseException) else "autoclass"
        elif callable(thing):
            yield name, "autofunction"


def python_page(stage):
    kinds = {"autoclass": "Classes", "autofunction": "Functions", "autoexception": "Exceptions"}
    names = list(public_names())
    text = "# Python API\n\nMade from the docstrings; [Farfield in Python](python.md) is the tour.\n"
    for kind, title in kinds.items():
        text += f"\n## {title}\n\n```{{eval-rst}}\n.. currentmodule:: farfield\n\n"
        for name in (n for n, k in names if k == kind):
            members = "   :members:\n   :inherited-members: BaseEstimator, tuple\n" if kind == "autoclass" else ""
            text += f".. {kind}:: farfield.{name}\n{members}\n"
        text += "```\n"
    put(stage, "reference/python-api.md", text)


def man_page(stage, made):
    """mandoc's Markdown, with one title."""
    text = pathlib.Path(made).read_text(encoding="utf-8")
    text = re.sub(r"(?m)^#", "##", text.split("\n", 1)[1].rsplit("\n\n", 1)[0])
    put(stage, "reference/man.md", "# farfield(1)\n\nThe manual page of the command, as `man farfield` shows it.\n" + text + "\n")


def gallery(stage, pictures):
    """The pictures that the program drew, with the command of each."""
    text = "# Gallery\n\nPictures that the program draws, made while these pages were built. Most are quick forms: fewer seeds and epochs than\nthe experiments in full, which [Reproductions](reproductions/README.md) reports.\n"
    for line in (pathlib.Path(pictures) / "index.tsv").read_text(encoding="utf-8").splitlines():
        name, command, words = line.split("\t")
        shutil.copy(pathlib.Path(pictures) / name, stage / "images" / name)
        text += f"\n## {words}\n\n![{words}](images/{name})\n\n```sh\n{command}\n```\n"
    put(stage, "gallery.md", text)


def main(stage, man, pictures):
    stage = pathlib.Path(stage)
    shutil.rmtree(stage, ignore_errors=True)
    shutil.copytree(DOCS / "images", stage / "images")
    pages = [p for p in DOCS.rglob("*.md") if "site" not in p.parts] + [ROOT / b for b in ("README.md", *BESIDE)]
    for page in pages:
        place = staged(page)
        text = relinked(lexed(page.read_text(encoding="utf-8")), page, place)
        put(stage, place, text + trees() if place == "index.md" else text)
    man_page(stage, man)
    gallery(stage, pictures)
    python_page(stage)
    c_pages(stage)


if __name__ == "__main__":
    main(*sys.argv[1:])
