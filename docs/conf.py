"""The documentation as a site: `make docs` builds it with Sphinx, to be read without a network."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import reference  # noqa: E402  # beside this file

import clew  # noqa: E402

project = "clew"
author = "The clew authors"
copyright = "the clew authors"
release = version = clew.__version__

extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
exclude_patterns: list[str] = []
# Headings are reached by the names that GitHub gives them.
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]
# A link that leads nowhere is a warning, and `make docs` takes warnings for errors.
nitpicky = True

html_theme = "furo"
html_title = "clew"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_show_sphinx = False
html_copy_source = False
highlight_language = "none"  # a block that names none is what a program prints
pygments_style, pygments_dark_style = "friendly", "native"
toc_object_entries_show_parents = "hide"
python_maximum_signature_line_length = 88


def setup(app: object) -> None:
    reference.write(HERE / "api")
