#!/usr/bin/env python3
"""The runner of code blocks finds what is wrong: usage test_blocks.py BUILD."""

import pathlib
import sys
import tempfile

import blocks
import page

GOOD = {
    "sh": "```sh\nfarfield --version >here\ntest -s here\n```\n",
    "console": "```console\n$ printf 'one 2\\nthree\\n'\none ...\nthree\n```\n",
    "lines": "```console\n$ seq 1 9\n1\n...\n9\n```\n",
    "no lines": "```console\n$ seq 1 2\n...\n1\n...\n2\n...\n```\n",
    "c": "```c\n#include <farfield/farfield.h>\nputs(far_version());\n```\n",
    "file": "<!-- file: f.txt -->\n```sh\nnot a command\n```\n\n```sh\ngrep -q 'not a' f.txt\n```\n",
    "before": "<!-- before: echo hidden >h -->\n```sh\ngrep -q hidden h\n```\n",
    "not run": "<!-- not run (data): none -->\n```sh\nfalse\n```\n",
    "in a list": "1. step\n\n   ```sh\n   true\n   ```\n",
    "json": '```json\n{"a": 1}\n```\n',
}
BAD = {
    "a command fails": "```sh\nfalse\n```\n",
    "a command in the middle fails": "```sh\nfalse\ntrue\n```\n",
    "other output": "```console\n$ echo 3.05\n3.04\n```\n",
    "more output": "```console\n$ seq 1 3\n1\n2\n```\n",
    "less output": "```console\n$ echo 1\n1\n2\n```\n",
    "c does not compile": "```c\n#include <farfield/farfield.h>\nfar_nothing();\n```\n",
    "c fails": "```c\n#include <stdlib.h>\nexit(3);\n```\n",
    "json is none": "```json\n{a: 1}\n```\n",
    "no reason": "<!-- not run: because -->\n```sh\nfalse\n```\n",
    "indented code": "Text:\n\n    farfield fit\n",
    "an unknown language": "```fortran\nend\n```\n",
    "commands as text": "```text\nfarfield fit x.csv\n```\n",
    "a comment elsewhere": "<!-- not run (data): none -->\n\nText.\n\n```sh\nfalse\n```\n",
    "no end": "```sh\ntrue\n",
}


def holds(text, build):
    with tempfile.TemporaryDirectory() as place:
        path = pathlib.Path(place, "page.md")
        path.write_text(text)
        try:
            blocks.run_page(path, build)
        except (blocks.Failed, ValueError):
            return False
    return True


def main(build):
    wrong = [name for name, text in GOOD.items() if not holds(text, build)]
    wrong += [name for name, text in BAD.items() if holds(text, build)]
    text = "# A `b` c, d\n\n[x](y.md#z) `[no](n.md)`\n\n```sh\n# not a heading\n[no](n.md)\n```\n"
    if page.anchors(text) != {"a-b-c-d"} or page.links(text) != ["y.md#z"]:
        wrong.append("links and headings")
    print(*(f"FAILED {name}" for name in wrong), sep="\n")
    print(f"{len(GOOD) + len(BAD) + 1} cases, {len(wrong)} of them failed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]).resolve()))
