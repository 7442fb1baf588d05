"""The table of what ``ctx`` has in ``docs/write-a-format.md`` is up to date."""

import runpy
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def test_the_table_is_up_to_date() -> None:
    made = runpy.run_path(str(DOCS / "make_context.py"))["page"]()
    assert made == (DOCS / "write-a-format.md").read_text(), "run docs/make_context.py"
