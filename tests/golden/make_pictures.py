"""Writes pictures.txt: small pictures of many kinds, and the pixels that Pillow reads in them.

Each line: name, channels, rows, cols, the file in hexadecimal digits, then the pixels from 0 to 255, all of
one colour before those of the next. Made with Pillow 13.0 and numpy:
    python3 tests/golden/make_pictures.py > tests/golden/pictures.txt
"""
import io
import struct
import zlib

import numpy as np
from PIL import Image

ROWS, COLS = 7, 5
rng = np.random.default_rng(1)
colours = rng.integers(0, 256, (ROWS, COLS, 3), dtype=np.uint8)
rgb, grey = Image.fromarray(colours), Image.fromarray(colours[:, :, 0])
opaque = np.full((ROWS, COLS), 255, np.uint8)


def chunk(name, data):
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def interlaced(a):
    """Adam7, which Pillow does not write."""
    lines = b""
    for x, y, dx, dy in [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]:
        part = a[y::dy, x::dx]
        lines += b"".join(b"\0" + row.tobytes() for row in part if row.size)
    head = struct.pack(">IIBBBBB", COLS, ROWS, 8, 2, 0, 0, 1)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b"")


def saved(picture, kind, **how):
    to = io.BytesIO()
    picture.save(to, kind, **how)
    return to.getvalue()


files = {
    "rgb.png": saved(rgb, "PNG"),
    "grey.png": saved(grey, "PNG"),
    "bits.png": saved(grey.convert("1"), "PNG"),
    "palette.png": saved(rgb.quantize(13), "PNG"),
    "alpha.png": saved(Image.fromarray(np.dstack([colours, opaque])), "PNG"),
    "interlaced.png": interlaced(colours),
    "full.jpg": saved(rgb, "JPEG", quality=95, subsampling=0),
    "half.JPEG": saved(rgb, "JPEG", quality=60, subsampling=2),
    "progressive.jpeg": saved(rgb, "JPEG", quality=80, progressive=True),
    "grey.jpg": saved(grey, "JPEG"),
}
for name, data in files.items():
    for channels in (1, 3):
        a = np.asarray(Image.open(io.BytesIO(data)).convert("L" if channels == 1 else "RGB"))
        pixels = a.reshape(-1) if channels == 1 else a.transpose(2, 0, 1).reshape(-1)
        print(name, channels, ROWS, COLS, data.hex(), *pixels)
