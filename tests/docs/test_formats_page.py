"""The page of formats is what the formats say and store."""

import runpy
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def test_the_page_of_formats_is_up_to_date():
    made = runpy.run_path(str(DOCS / "make_formats.py"))["page"]()
    assert made == (DOCS / "formats.md").read_text(), "run docs/make_formats.py"
