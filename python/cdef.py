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

HEADERS = "#include <farfield/farfield.h>\n#include <farfield/plot.h>\n"

# Arrow's C data and C stream interfaces, by which farfield/_arrow.py reads tables.
ARROW = """
struct ArrowSchema {
    const char *format, *name, *metadata;
    int64_t flags, n_children;
    struct ArrowSchema **children, *dictionary;
    void (*release)(struct ArrowSchema *);
    void *private_data;
};
struct ArrowArray {
    int64_t length, null_count, offset, n_buffers, n_children;
    const void **buffers;
    struct ArrowArray **children, *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
};
struct ArrowArrayStream {
    int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *);
    int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *);
    const char *(*get_last_error)(struct ArrowArrayStream *);
    void (*release)(struct ArrowArrayStream *);
    void *private_data;
};
"""


def declarations(compiler, include):
    """The text of all headers in a wheel behind the preprocessor, without the system's."""
    with tempfile.TemporaryDirectory() as empty:
        for name in ("stddef.h", "stdint.h"):
            pathlib.Path(empty, name).touch()
        command = [compiler, "-E", "-P", "-nostdinc", "-I", empty, "-I", include, "-x", "c", "-"]
        text = subprocess.run(
            command, input=HEADERS, check=True, capture_output=True, text=True
        ).stdout
    return re.sub(r"__attribute__\(\(\w+(\([^()]*\))?\)\)", "", text)


def main(compiler, include, output):
    ffi = cffi.FFI()
    ffi.cdef(declarations(compiler, include) + ARROW)
    ffi.set_source("farfield._cdef", None)
    ffi.emit_python_code(output)


if __name__ == "__main__":
    main(*sys.argv[1:])
