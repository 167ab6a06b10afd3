"""Writes photographs.txt: pictures of pictures.txt as torchvision makes a network's inputs of them.

Each line: name, pixels of the shorter side, of the square; then the bytes after Resize and CenterCrop, all reds
before greens and blues. Made with torchvision and Pillow:
    python3 tests/golden/make_photographs.py > tests/golden/photographs.txt
"""
import io
import pathlib

import numpy as np
from PIL import Image
from torchvision.transforms import CenterCrop, Resize

for line in (pathlib.Path(__file__).parent / "pictures.txt").read_text().splitlines():
    name, channels, _, _, data = line.split()[:5]
    if channels == "3" and name in ("rgb.png", "full.jpg", "half.JPEG", "grey.jpg"):
        picture = Image.open(io.BytesIO(bytes.fromhex(data))).convert("RGB")
        for shorter, side in ((3, 2), (5, 3), (11, 8)):
            made = np.asarray(CenterCrop(side)(Resize(shorter)(picture)))
            print(name, shorter, side, *made.transpose(2, 0, 1).reshape(-1))
