"""Generates the table of what ``ctx`` has in ``docs/write-a-format.md``: ``python
docs/make_context.py``.

A test checks that it is up to date.
"""

from __future__ import annotations

import inspect
from pathlib import Path

from finch_core.interface.context import Context

PAGE = Path(__file__).with_name("write-a-format.md")
BEGIN, END = "<!-- made by docs/make_context.py -->\n", "<!-- until here -->\n"

GROUPS = {
    "expressions and variables": "let var assign lift ifelse bind",
    "buffers": "store grow fill move sort",
    "control": "if_ else_ while_ for_ break_ fork under",
    "failures": "require site fail",
    "routines of a kernel": "function ret invoke",
    "regions and statements": "lower look",
}


def call(name: str) -> str:
    """How a method is called: parameters that may be left out are in brackets."""
    shown = []
    for param in list(inspect.signature(getattr(Context, name)).parameters.values())[1:]:
        starred = param.kind is inspect.Parameter.VAR_POSITIONAL
        optional = param.default is not inspect.Parameter.empty
        text = f"*{param.name}" if starred else param.name
        shown.append(f"[{text}]" if optional else text)
    return f"`ctx.{name}({', '.join(shown)})`"


def meaning(name: str) -> str:
    """The first paragraph of a method's docstring, without the errors."""
    text = " ".join((inspect.getdoc(getattr(Context, name)) or "").split("\n\n")[0].split())
    return text.split(" Raises ``")[0].replace("``", "`").replace("|", "\\|")


def table() -> str:
    lines = ["| | |", "| --- | --- |"]
    for title, names in GROUPS.items():
        lines.append(f"| **{title}** | |")
        lines += [f"| {call(name)} | {meaning(name)} |" for name in names.split()]
    return "\n".join(lines) + "\n"


def page() -> str:
    """The page with the table of now."""
    before, _, rest = PAGE.read_text().partition(BEGIN)
    return f"{before}{BEGIN}\n{table()}\n{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    PAGE.write_text(page())
