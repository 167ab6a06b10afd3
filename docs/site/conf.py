"""Sphinx over the pages that stage.py has laid out. Nothing is loaded from a network: the theme brings its
fonts and scripts, formulas are MathML."""

import os
import pathlib
import re

from docutils import nodes
from latex2mathml.converter import convert

ROOT = pathlib.Path(__file__).resolve().parents[2]

project = "Farfield"
author = "The Farfield developers"
copyright = author
version = release = re.search(r"project\(farfield VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text()).group(1)

# Commands over two lines, with "> " before the second as a shell shows them, are more than its lexer knows.
suppress_warnings = ["misc.highlighting_failure"]
extensions = ["myst_parser", "sphinx.ext.autodoc", "breathe"]
source_suffix = {".md": "markdown"}
exclude_patterns = []
smartquotes = False  # --target is not a dash
nitpicky = False
html_math_renderer = "mathml"

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 4
myst_heading_slug_func = "docs_slug.slug"

breathe_projects = {"farfield": os.environ["FARFIELD_DOXYGEN"]}
breathe_default_project = "farfield"
breathe_domain_by_extension = {"h": "c"}
breathe_show_include = False

autodoc_mock_imports = ["torch", "matplotlib", "tqdm", "gpytorch", "jax"]
autodoc_typehints = "none"
autodoc_member_order = "bysource"

html_theme = "furo"
html_title = f"Farfield {release}"
html_static_path = [str(pathlib.Path(__file__).parent / "static")]
html_css_files = ["farfield.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
templates_path = []
pygments_style = "default"
html_theme_options = {"navigation_with_keys": True}


def literal(line):
    """A line of a docstring as reStructuredText: `name` is code, everything else is text."""
    parts = re.split(r"`+([^`]+)`+", line)
    text = [re.sub(r"([\\*_|<>])", r"\\\1", p) if i % 2 == 0 else f"``{p}``" for i, p in enumerate(parts)]
    return "".join(text)


def docstring(app, what, name, obj, options, lines):
    """Docstrings are plain text: paragraphs, and what is indented or begins with >>> is code."""
    out = []
    for paragraph in "\n".join(lines).split("\n\n"):
        rows = [row for row in paragraph.split("\n") if row.strip()]
        if not rows:
            continue
        if rows[0].lstrip().startswith(">>>") or all(row.startswith(" ") for row in rows):
            out += ["::", "", *("    " + row for row in rows), ""]
        elif all(row.lstrip().startswith("- ") or row.startswith("  ") for row in rows):
            out += [*(literal(row) for row in rows), ""]
        else:
            out += [literal(" ".join(row.strip() for row in rows)), ""]
    lines[:] = out


def formula(self, node, block):
    """LaTeX as MathML, which browsers draw by themselves."""
    tree = convert(node.astext(), display="block" if block else "inline")
    self.body.append(f'<div class="math">{tree}</div>\n' if block else tree)
    raise nodes.SkipNode


def setup(app):
    app.add_html_math_renderer("mathml", (lambda s, n: formula(s, n, False), None),
                               (lambda s, n: formula(s, n, True), None))  # fmt: skip
    app.connect("autodoc-process-docstring", docstring)
