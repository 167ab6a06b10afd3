"""The csv files that results are added to, a line each."""
import csv


def read_lines(path):
    if not path.exists():
        return []
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def add_line(path, header, line):
    new = not path.exists()
    with open(path, "a", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if new:
            writer.writerow(header)
        writer.writerow(line)
