"""The page of the simplifier is what its rules say."""

import runpy
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def test_the_page_of_the_simplifier_is_up_to_date():
    made = runpy.run_path(str(DOCS / "make_simplifier.py"))["page"]()
    assert made == (DOCS / "simplifier.md").read_text(), "run docs/make_simplifier.py"
