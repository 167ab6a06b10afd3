#!/usr/bin/env python3
"""Runs the code blocks of Markdown pages.

Usage: blocks.py BUILD PAGE...      run them over the command and the library in BUILD
       blocks.py --count PAGE...    only say how many there are, and which are not run, and why

The blocks of a page run in order in one scratch directory:
  sh       by bash, which must exit with 0
  console  each command after "$ "; what it prints must be what stands there ("..." is any text,
           and on a line of its own any lines)
  c        a program, or, without a main, the body of one together with the C blocks before it
  python   in one interpreter for the page; pycon: as doctest
  json     must be JSON
  others   (text: formulas, output) are not code

A comment in front of a block says more:
  <!-- not run (minutes): why -->  not run; the word is data, gpu, minutes, network, installs, or part (of a program)
  <!-- before: commands -->        shell commands to run first, that readers need not see
  <!-- file: name -->              the block is a file of that name, and not run by itself
  <!-- needs: module -->           Python: skipped where the module is not installed

Exits with 1 if a block failed, 77 if something that a page needs is not there.
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import page

ROOT = pathlib.Path(__file__).resolve().parents[2]
REASONS = ("data", "gpu", "minutes", "network", "installs", "part")
CODE = ("sh", "console", "c", "python", "pycon", "json")
SECONDS = 300  # for one block on a busy machine; a page is to take a few


class Failed(Exception):
    pass


class Absent(Exception):
    pass


def matches(wanted, got):
    """Whether got is the text wanted, in which "..." stands for any text, and alone on a line for any lines."""
    pattern = ""
    for line in wanted.strip("\n").split("\n"):
        lines = r"(?:[^\n]*\n)*"
        pattern += lines if line.strip() == "..." else re.escape(line).replace(r"\.\.\.", "[^\n]*") + "\n"
    return re.fullmatch(pattern, got.strip("\n") + "\n") is not None


def commands(text):
    """Pairs of command and what it prints, of a console block."""
    found = []
    for line in text.rstrip("\n").split("\n"):
        if line.startswith("$ "):
            found.append([line[2:], ""])
        elif line.startswith("> ") and found and not found[-1][1]:
            found[-1][0] += "\n" + line[2:]
        elif found:
            found[-1][1] += line + "\n"
        else:
            raise Failed("a console block begins with '$ '")
    return found


DRIVER = """
import doctest, json, sys, traceback
space, real = {"__name__": "__main__"}, sys.stdout
sys.stdout = sys.stderr
for line in sys.stdin:
    kind, code, where = json.loads(line)
    error = ""
    try:
        if kind == "pycon":
            test = doctest.DocTestParser().get_doctest(code, space, where, where, 0)
            said = []
            runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
            runner.run(test, out=said.append, clear_globs=False)
            space.update(test.globs)
            error = "".join(said) if runner.failures else ""
        else:
            exec(compile(code, where, "exec"), space)
    except BaseException:
        error = traceback.format_exc()
    print(json.dumps(error), file=real, flush=True)
"""


class Python:
    """The interpreter of a page; it begins with the first block."""

    def __init__(self, build, scratch, environment):
        self.build, self.scratch, self.process = build, scratch, None
        self.environment = {**environment, "PYTHONPATH": str(build / "python-package"),
                            "MPLBACKEND": "Agg"}

    def interpreter(self):
        for place in ("python-docs", "python-tests"):
            python = self.build / place / "bin" / "python"
            if python.exists() and (self.build / "python-package" / "farfield").exists():
                return str(python)
        raise Absent("no Python package in the build: run the test 'python' first")

    def has(self, module):
        test = f"import importlib.util as u, sys; sys.exit(u.find_spec({module!r}) is None)"
        return subprocess.run([self.interpreter(), "-c", test], check=False,
                              env=self.environment).returncode == 0

    def run(self, block, where):
        if self.process is None:
            self.process = subprocess.Popen(
                [self.interpreter(), "-c", DRIVER], cwd=self.scratch, env=self.environment, text=True,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=open(self.scratch / ".python", "w"))
        print(json.dumps([block.language, block.text, where]), file=self.process.stdin, flush=True)
        answer = self.process.stdout.readline()
        if not answer:
            raise Failed("Python died\n" + (self.scratch / ".python").read_text())
        if json.loads(answer):
            raise Failed(json.loads(answer))

    def end(self):
        if self.process is not None:
            self.process.stdin.close()
            self.process.wait()


class Page:
    def __init__(self, path, build):
        self.path, self.build = path, build
        self.scratch = pathlib.Path(tempfile.mkdtemp())
        self.environment = {
            **os.environ, "LC_ALL": "C.UTF-8", "OMP_WAIT_POLICY": "passive", "HOME": str(self.scratch / ".home"),
            "PATH": f"{self.scratch}/.bin:{os.environ['PATH']}",
            "PKG_CONFIG_PATH": f"{self.scratch}/.pc",
        }  # fmt: skip
        self.environment.pop("FARFIELD_ISA", None)
        self.prepare()
        self.python = Python(build, self.scratch, self.environment)
        self.c_before = ""

    def prepare(self):
        """The command on the PATH, as build/farfield too, and the library through pkg-config."""
        for folder in (".bin", ".home", ".pc", "build"):
            (self.scratch / folder).mkdir()
        for folder in (".bin", "build"):
            (self.scratch / folder / "farfield").symlink_to(self.build / "farfield")
        (self.scratch / "examples").symlink_to(ROOT / "examples")
        flags = {"farfield": "-lfarfield", "farfield-extras": "-lfarfield-extras -lfarfield"}
        for name, libraries in flags.items():
            (self.scratch / ".pc" / f"{name}.pc").write_text(
                f"Name: {name}\nDescription: the build tree\nVersion: 0\nCflags: -I{ROOT}/include\n"
                f"Libs: -L{self.build} -Wl,-rpath,{self.build} {libraries} -lm\n")

    def shell(self, text):
        """What it prints, to either stream."""
        try:
            done = subprocess.run(["bash", "-eu", "-o", "pipefail", "-c", text], cwd=self.scratch,
                                  env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, timeout=SECONDS, check=False)
        except subprocess.TimeoutExpired as late:
            raise Failed(f"not done in {SECONDS} s: {text}") from late
        if done.returncode:
            raise Failed(f"exit code {done.returncode}: {text}\n{done.stdout[-3000:]}")
        return done.stdout

    def console(self, block):
        for command, wanted in commands(block.text):
            got = self.shell(command)
            if not matches(wanted, got):
                raise Failed(f"$ {command}\n-- the page has:\n{wanted}\n-- printed:\n{got}")

    def c(self, block):
        """Compiles with the warnings that the project has, but for results that a short block ignores."""
        text = block.text
        if not re.search(r"\bmain\(", text):
            self.c_before += text
            includes = re.findall(r"(?m)^#include.*$", self.c_before)
            body = re.sub(r"(?m)^#include.*$", "", self.c_before)
            extra = ["#include <math.h>", "#include <stdio.h>", "#include <stdlib.h>"]
            text = "\n".join(dict.fromkeys(includes + extra)) + "\nint main(void)\n{\n" + body + "return 0;\n}\n"
        (self.scratch / "block.c").write_text(text)
        self.shell("cc -std=c17 -Wall -Wextra -Werror -Wno-unused-result -Wno-unused-variable "
                   "-Wno-unused-but-set-variable block.c -o block $(pkg-config --cflags --libs farfield) && ./block")

    def run(self, block):
        kind = block.language
        if block.marks.get("before"):
            self.shell(block.marks["before"])
        if block.marks.get("file"):
            (self.scratch / block.marks["file"]).write_text(block.text)
        elif kind == "sh":
            self.shell(block.text)
        elif kind == "console":
            self.console(block)
        elif kind == "c":
            self.c(block)
        elif kind in ("python", "pycon"):
            self.python.run(block, f"{self.path}:{block.line}")
        elif kind == "json":
            json.loads(block.text)

    def missing(self, block):
        """What the block needs and is not there, or None."""
        needs = block.marks.get("needs", "").split()
        return next((m for m in needs if not self.python.has(m)), None)

    def end(self):
        self.python.end()
        shutil.rmtree(self.scratch)


def reason(block):
    """Why a block is not run, or None."""
    mark = block.marks.get("not run")
    if mark is None:
        return None
    word = re.match(r"\((\w+)\)", mark)
    if not word or word.group(1) not in REASONS:
        raise Failed(f"'not run' needs one of ({'), ('.join(REASONS)}), and why")
    return mark


def code_of(path):
    """The blocks that are code; a page with code that nobody would find is refused."""
    text = path.read_text(encoding="utf-8")
    for line, code in page.indented(text):
        raise Failed(f"{path}:{line}: indented code: put it between ``` with its language (text: a formula): {code}")
    found = page.blocks(text)
    for block in found:
        if block.language not in (*CODE, "text"):
            raise Failed(f"{path}:{block.line}: a block of '{block.language}': use {', '.join(CODE)} or text")
        if block.language == "text" and re.search(r"(?m)^(\$ |build/farfield|farfield [a-z]+ |make |import |pip )", block.text):
            raise Failed(f"{path}:{block.line}: a block of text with commands in it: say sh, or console")
    return [b for b in found if b.language in CODE]


def run_page(path, build):
    """Counts of what ran, what is not run, and what was skipped."""
    place, ran, left, skipped = Page(path, build), 0, 0, []
    try:
        for block in code_of(path):
            try:
                lacks = place.missing(block)
                if reason(block):
                    left += 1
                elif lacks:
                    skipped.append(f"line {block.line} needs {lacks}")
                else:
                    place.run(block)
                    ran += 1
            except Failed as why:
                raise Failed(f"{path}:{block.line}: {why}") from why
    finally:
        place.end()
    return ran, left, skipped


def count(paths):
    total, left = 0, []
    for path in paths:
        for block in code_of(path):
            total += 1
            if reason(block):
                left.append(f"{path}:{block.line}: {reason(block)}")
    print(*left, sep="\n")
    print(f"{total} blocks of code, {len(left)} of them not run")


def main():
    arguments = argparse.ArgumentParser(description="Runs the code blocks of Markdown pages.")
    arguments.add_argument("--count", action="store_true")
    arguments.add_argument("paths", nargs="+", type=pathlib.Path)
    given = arguments.parse_args()
    try:
        if given.count:
            return count(given.paths)
        build, absent = given.paths[0].resolve(), False
        for path in given.paths[1:]:
            ran, left, skipped = run_page(path.resolve(), build)
            print(f"{path}: {ran} blocks ran, {left} are not run", *skipped, sep="\n  skipped: ")
            absent = absent or (skipped and not ran)
    except Failed as why:
        print(f"FAILED {why}")
        return 1
    except Absent as why:
        print(f"skipped: {why}")
        return 77
    return 77 if absent else 0


if __name__ == "__main__":
    sys.exit(main())
