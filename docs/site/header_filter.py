#!/usr/bin/env python3
"""Doxygen's INPUT_FILTER: the comments of our headers, which are plain C comments, as Doxygen has them.

Usage: header_filter.py HEADER

A comment in front of a declaration, and one behind it on its line, become documentation of it; words that
Doxygen would take for commands are escaped; indented lines are formulas and stay as they are.
"""

import re
import sys

TOKEN = re.compile(r'"(?:\\.|[^"\\\n])*"|/\*.*?\*/', re.S)


def escaped(text):
    return re.sub(r"([\\@&$#<>%\"])", r"\\\1", text)


def body(comment):
    """The text of a comment, without its stars, as Doxygen reads it."""
    rows = comment[2:-2].split("\n")
    rows = [rows[0].strip()] + [re.sub(r"^\s*\* ?", "", row).rstrip() for row in rows[1:]]
    out, formula = [], False
    for row in rows:
        code = row.startswith("   ") and bool(row.strip())
        if code != formula and row.strip():
            out.append("@verbatim" if code else "@endverbatim")
            formula = code
        out.append(row if code else escaped(row.strip()))
    return "\n".join(out + (["@endverbatim"] if formula else []))


def rewritten(text):
    """All comments of a header."""
    first = True

    def one(match):
        nonlocal first
        comment = match.group(0)
        if not comment.startswith("/*"):
            return comment
        before = text[text.rfind("\n", 0, match.start()) + 1 : match.start()]
        if first:
            first = False
            words = re.sub(r"^\s*farfield/\w+\.h:\s*", "", body(comment))
            return "/** @file\n" + words[:1].upper() + words[1:] + "\n*/"
        if before.strip().endswith("\\") or before.lstrip().startswith("#") and "define" not in before:
            return comment
        if before.strip():
            return "/**< " + body(trailing(comment)) + " */"
        if re.match(r"\s*\n\s*\n", text[match.end() :]):
            return comment  # about nothing in particular: what follows has a comment of its own
        return "/** " + body(comment) + " */"

    return TOKEN.sub(one, text)


def trailing(comment):
    """A comment behind a member, whose further lines are indented to stand below its first."""
    return re.sub(r"\n\s+(?!\*/)", "\n", comment)


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as header:
        sys.stdout.write(rewritten(header.read()))
