"""Usage: python cdef.py COMPILER INCLUDE OUTPUT

Turns the public headers into OUTPUT, the module farfield._cdef: every type and function of the core
as cffi knows them. It is pure Python, so that one wheel serves every version of it.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

import cffi


def declarations(compiler, include):
    """The text of all core headers behind the preprocessor, without the system's."""
    with tempfile.TemporaryDirectory() as empty:
        for name in ("stddef.h", "stdint.h"):
            pathlib.Path(empty, name).touch()
        header = pathlib.Path(include, "farfield", "farfield.h")
        command = [compiler, "-E", "-P", "-nostdinc", "-I", empty, "-I", include, str(header)]
        text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return re.sub(r"__attribute__\(\(\w+(\([^()]*\))?\)\)", "", text)


def main(compiler, include, output):
    ffi = cffi.FFI()
    ffi.cdef(declarations(compiler, include))
    ffi.set_source("farfield._cdef", None)
    ffi.emit_python_code(output)


if __name__ == "__main__":
    main(*sys.argv[1:])
