"""Sphinx: how the site is built (``python docs/build.py``)."""

from __future__ import annotations

import os
from importlib import metadata
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent

project = "Finch for Python"
author = "The Finch for Python maintainers"
copyright = author
release = version = metadata.version("finch-python")

extensions = ["myst_parser", "sphinx.ext.autodoc"]
exclude_patterns = ["_build", "examples/plugins/*/tests", "gallery", "made/extra"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
root_doc = "index"
nitpicky = False

myst_heading_anchors = 3
myst_enable_extensions = ["attrs_inline"]
suppress_warnings = ["config.cache"]

autodoc_member_order = "bysource"
autodoc_typehints = "none"
add_module_names = False

html_theme = "pydata_sphinx_theme"
html_title = "Finch for Python"
html_theme_options = {
    "show_toc_level": 2,
    "navigation_with_keys": True,
    "search_as_you_type": True,
    "header_links_before_dropdown": 8,
}
html_sidebars: dict[str, list[str]] = {"decisions/**": []}  # each would list all the others
html_show_sourcelink = False
html_copy_source = False

templates_path: list[str] = []

GALLERY = os.environ.get("FINCH_DOCS_GALLERY", "1") != "0"
if GALLERY:
    extensions.append("sphinx_gallery.gen_gallery")
    html_extra_path = ["made/extra"]
    sphinx_gallery_conf = {
        "examples_dirs": [str(HERE / "gallery")],
        "gallery_dirs": ["made/gallery"],
        "filename_pattern": "/plot_",
        "download_all_examples": False,
        "show_signature": False,
        "min_reported_time": 10_000,
        "abort_on_example_error": True,
        "capture_repr": ("_repr_html_", "__repr__"),
        "plot_gallery": True,
        "write_computation_times": False,
    }
else:
    exclude_patterns += ["made"]


def setup(app: Any) -> None:
    """Change what a page of the repository says where the site has something else."""

    def as_site(app: Any, page: str, source: list[str]) -> None:
        source[0] = source[0].replace("(../../../../README.md)", "(../../../index.md)")
        if page == "index" and not GALLERY:
            source[0] = source[0].replace("made/gallery/index\n", "")

    app.connect("source-read", as_site)
