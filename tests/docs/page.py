"""Markdown pages as the tests see them: code blocks with the comments in front of them, headings, links."""

import re
from dataclasses import dataclass, field

FENCE = re.compile(r"^( *)(```+)\s*([\w+-]*)\s*$")
COMMENT = re.compile(r"^\s*<!--\s*(.*?)\s*-->\s*$", re.S)
MARK = re.compile(r"(not run|before|file|needs)\b:?\s*(.*)", re.S)


@dataclass
class Block:
    language: str
    text: str
    line: int
    marks: dict = field(default_factory=dict)  # of the comments in front: "not run", "before", "file", "needs"


def _close(lines, i, indent, fence):
    """The number of the line that closes the fence which line i opens."""
    for j in range(i + 1, len(lines)):
        if lines[j].strip() == fence and len(lines[j]) - len(lines[j].lstrip()) <= len(indent) + 3:
            return j
    raise ValueError(f"line {i + 1}: this code block has no end")


def _comment(lines, i):
    """The comment that begins in line i and the number of its last line."""
    j = i
    while "-->" not in lines[j]:
        j += 1
        if j == len(lines):
            raise ValueError(f"line {i + 1}: this comment has no end")
    return COMMENT.match("\n".join(lines[i : j + 1])), j


def blocks(text):
    """The fenced code blocks of a page, in order."""
    lines, found, marks, i = text.split("\n"), [], {}, 0
    while i < len(lines):
        opening = FENCE.match(lines[i])
        if opening:
            indent, fence, language = opening.groups()
            end = _close(lines, i, indent, fence)
            body = "\n".join(line[len(indent) :] for line in lines[i + 1 : end]) + "\n"
            found.append(Block(language, body, i + 1, marks))
            marks, i = {}, end
        elif lines[i].lstrip().startswith("<!--"):
            comment, i = _comment(lines, i)
            mark = comment and MARK.match(comment.group(1))
            if mark:
                marks[mark.group(1)] = mark.group(2).strip()
        elif lines[i].strip():
            marks = {}
        i += 1
    return found


def indented(text):
    """Code that is only indented, which no reader of blocks finds: (line, text) of where it begins."""
    inside, before, items = False, "", False
    for number, line in enumerate(text.split("\n"), 1):
        if FENCE.match(line):
            inside = not inside
        elif not inside and line.strip():
            if not line.startswith(" "):
                items = bool(re.match(r"([-*+]|\d+[.)])\s", line))
            elif line.startswith("    ") and not before.strip() and not items:
                yield number, line
        before = line if not (line.startswith("    ") and not before.strip()) else before


def _prose(text):
    """The page without its code."""
    text = re.sub(r"(?ms)^( *)(```+)[^\n]*\n.*?^\s*\2\s*$", "", text)
    return re.sub(r"(?s)<!--.*?-->", "", text)


def slug(heading):
    """The anchor of a heading, by GitHub's rule."""
    heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", heading).replace(" ", "-")


def anchors(text):
    return {slug(h) for h in re.findall(r"(?m)^#+ +(.*)$", _prose(text))}


def links(text):
    """Targets of all links and pictures."""
    bare = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", _prose(text))
    found = re.findall(r"\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)", bare)
    return found + re.findall(r"(?m)^\[[^\]]+\]:\s*(\S+)", bare)
