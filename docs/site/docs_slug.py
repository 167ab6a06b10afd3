"""Anchors by GitHub's rule, so that one link serves both: tests/docs/page.py has it."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests" / "docs"))
from page import slug  # noqa: E402, F401
