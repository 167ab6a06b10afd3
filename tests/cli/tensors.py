"""Safetensors files with Python's standard library alone; also a module.

tensors.py write FILE [KEY=TEXT ...] < LINES   a line: 0.weight 2x1 1 -1 (name, shape, numbers)
tensors.py show FILE NAME                      the numbers, one a line
tensors.py names FILE                          names and shapes
tensors.py text FILE KEY                       of the metadata
"""
import json
import signal
import struct
import sys

TYPES = {"F64": "d", "F32": "f"}


def write(path, pairs, lines):
    header, data = {}, b""
    if pairs:
        header["__metadata__"] = dict(pair.split("=", 1) for pair in pairs)
    for line in lines:
        name, shape, *numbers = line.split()
        shape = [int(side) for side in shape.split("x")]
        values = struct.pack(f"<{len(numbers)}d", *map(float, numbers))
        places = [len(data), len(data) + len(values)]
        header[name] = {"dtype": "F64", "shape": shape, "data_offsets": places}
        data += values
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def read(path):
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        return json.loads(file.read(length)), file.read()


def values(path, name):
    header, data = read(path)
    start, end = header[name]["data_offsets"]
    letter = TYPES[header[name]["dtype"]]
    return [value for (value,) in struct.iter_unpack("<" + letter, data[start:end])]


def names(path):
    header, _ = read(path)
    for name in sorted(set(header) - {"__metadata__"}):
        print(name, "x".join(map(str, header[name]["shape"])))


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    verb, path, *rest = sys.argv[1:]
    if verb == "write":
        write(path, rest, [line for line in sys.stdin if line.strip()])
    elif verb == "show":
        print("\n".join(map(repr, values(path, *rest))))
    elif verb == "names":
        names(path)
    elif verb == "text":
        print(read(path)[0]["__metadata__"][rest[0]])
