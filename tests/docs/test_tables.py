"""The tables of the pages for authors name all there is, and nothing else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from finch_core import looplets
from finch_core.ir import arithmetic, assembly, expressions
from finch_core.ir.expressions import Access, Dimension, Index, Modified, Name

DOCS = Path(__file__).parents[2] / "docs"
IN_PROGRAMS = {Access, Dimension, Index, Modified, Name}


def first_column(page: str, head: str) -> set[str]:
    """The names that begin the rows of the table whose first heading is ``head``."""
    text = (DOCS / page).read_text()
    table = re.search(rf"^\| {head} \|.*\n\|[-| ]+\n((?:\|.*\n)+)", text, re.MULTILINE)
    return {re.match(r"\| `(\w+)", row)[1] for row in table[1].splitlines()}


def kinds(modules, base: type) -> set[str]:
    """The classes of modules that stand for something."""
    own = (
        c for module in modules for c in vars(module).values()
        if isinstance(c, type) and c.__module__ == module.__name__
    )  # fmt: skip
    return {
        c.__name__ for c in own if issubclass(c, base) and c is not base and c not in IN_PROGRAMS
    }


@pytest.mark.parametrize(
    ("head", "modules", "base"),
    [
        ("statement", [assembly], assembly.Statement),
        ("expression", [arithmetic, expressions], expressions.Expr),
    ],
)
def test_all_of_assembly_is_explained(head, modules, base) -> None:
    assert first_column("write-a-backend.md", head) == kinds(modules, base)


def test_all_looplets_are_listed() -> None:
    listed = first_column("write-a-format.md", "looplet")
    named = {name for name in looplets.__all__ if isinstance(getattr(looplets, name), type)}
    assert listed == named - {"Looplet", "Precedence", "Phase", "Region"}


def test_the_story_has_every_looplet_in_order_of_precedence() -> None:
    text = (DOCS / "looplets.md").read_text()
    rows = text.partition("| first | because |")[2].partition("\n\n")[0].splitlines()[2:]
    told = [name for row in rows for name in re.findall(r"`(\w+)`", row)]
    table = sorted(looplets.Precedence, reverse=True)
    assert told == [p.name.title().replace("_", "") for p in table]
    headings = " ".join(re.findall(r"^## (.*)$", text, re.MULTILINE))
    assert [name for name in told if name not in headings] == []
