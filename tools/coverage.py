#!/usr/bin/env python3
"""Usage: tools/coverage.py BUILD [--missed FILE...]
Adds up what gcov counted under BUILD and prints line and branch coverage of src by room and file.
A source that was compiled several times (headers of instruction sets, of precisions) counts once:
a branch is covered if any of its compilations took it. Exits with 1 below the limits.
--missed FILE prints the lines of FILE with branches that were never taken."""
import collections
import concurrent.futures
import gzip
import json
import os
import re
import subprocess
import sys
import tempfile

TOTAL_LEAST = 95.0  # branches of src, in percent
FILE_LEAST = 85.0   # branches of any one file
BRACES = re.compile(r"^\s*[{}]*\s*(/\*.*)?$")  # what the compiler adds where nothing is written


def run_gcov(counts):
    """The files of one compilation: gcov writes them beside where it runs."""
    with tempfile.TemporaryDirectory() as scratch:
        gcov = subprocess.run(["gcov", "--json-format", "--branch-probabilities", counts],
                              cwd=scratch, capture_output=True, text=True)
        if gcov.returncode != 0 or "mismatch" in gcov.stderr:
            sys.exit(f"{counts}: counts of another build ({gcov.stderr.strip()}); remove the folder "
                     "and run it again")
        (result,) = os.listdir(scratch)
        with gzip.open(os.path.join(scratch, result)) as packed:
            return json.load(packed)


def find_counts(build):
    for folder, _, names in os.walk(os.path.join(build, "CMakeFiles")):
        yield from (os.path.abspath(os.path.join(folder, n)) for n in names if n.endswith(".gcda"))


def add_line(lines, line):
    """Branches of a line that stands in several functions or compilations are matched in order."""
    count, branches = lines.setdefault(line["line_number"], [0, []])
    taken = [b["count"] for b in line["branches"] if not b["throw"]]
    branches += [0] * (len(taken) - len(branches))
    for i, times in enumerate(taken):
        branches[i] += times
    lines[line["line_number"]][0] = count + line["count"]


def collect(root, build):
    """{path under src: {line: [count, [times each branch was taken]]}}"""
    files = collections.defaultdict(dict)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for report in pool.map(run_gcov, sorted(find_counts(build))):
            for source in report["files"]:
                path = os.path.relpath(
                    os.path.join(report["current_working_directory"], source["file"]), root)
                if path.startswith("src/"):
                    for line in source["lines"]:
                        add_line(files[path], line)
    for path, lines in files.items():
        with open(os.path.join(root, path), encoding="utf-8") as source:
            for number, text in enumerate(source, 1):
                if number in lines and BRACES.match(text):
                    lines[number][1] = []
    return files


def tally(lines):
    branches = [times for _, taken in lines.values() for times in taken]
    return (len(lines), sum(count > 0 for count, _ in lines.values()), len(branches),
            sum(times > 0 for times in branches))


def percent(part, whole):
    return 100.0 * part / whole if whole else 100.0


def print_row(name, counts):
    lines, lines_run, branches, taken = counts
    print(f"{name:36} {lines:6} {percent(lines_run, lines):6.1f} {branches:8} "
          f"{percent(taken, branches):6.1f} {branches - taken:6}")


def print_table(tallies):
    rooms = collections.defaultdict(lambda: (0, 0, 0, 0))
    for path, counts in tallies.items():
        for name in (os.path.dirname(path), "src"):
            rooms[name] = tuple(map(sum, zip(rooms[name], counts)))
    print(f"{'file':36} {'lines':>6} {'%':>6} {'branches':>8} {'%':>6} {'missed':>6}")
    for path in sorted(tallies):
        print_row(path, tallies[path])
    print(f"\n{'room':36} {'lines':>6} {'%':>6} {'branches':>8} {'%':>6} {'missed':>6}")
    for name in sorted(rooms):
        print_row(name, rooms[name])
    return rooms["src"]


def print_missed(root, path, lines):
    with open(os.path.join(root, path), encoding="utf-8") as source:
        for number, text in enumerate(source, 1):
            count, branches = lines.get(number, (1, []))
            missed = [str(i) for i, times in enumerate(branches) if times == 0]
            if count == 0 or missed:
                state = "never run" if count == 0 else f"{','.join(missed)} of {len(branches)}"
                print(f"{path}:{number}: [{state}] {text.rstrip()}")


def main():
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    files = collect(root, sys.argv[1])
    if sys.argv[2:3] == ["--missed"]:
        for path in sys.argv[3:]:
            print_missed(root, path, files[path])
        return
    tallies = {path: tally(lines) for path, lines in files.items()}
    total = print_table(tallies)
    low = {p: percent(t[3], t[2]) for p, t in tallies.items() if percent(t[3], t[2]) < FILE_LEAST}
    for path in sorted(low, key=low.get):
        print(f"under {FILE_LEAST:g}% of branches: {path}, {low[path]:.1f}%")
    if low or percent(total[3], total[2]) < TOTAL_LEAST:
        sys.exit(f"branch coverage of src is {percent(total[3], total[2]):.1f}%; wanted: "
                 f"{TOTAL_LEAST:g}%, and {FILE_LEAST:g}% of each file")


main()
