"""Writes ``docs/simplifier.md`` from the simplifier's rules: ``python docs/make_simplifier.py``. A
test compares the page with what this makes; ``tests/pure/test_simplifier_rules.py`` holds each rule
to it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from finch_core.ir.primitives import PRIMITIVES
from finch_core.looplets.invariant import LOOP_RULES
from finch_core.operators import Operator, operator
from finch_core.symbolic.algebra import RULES
from finch_core.symbolic.simplifier import STATEMENT_RULES

PAGE = Path(__file__).with_name("simplifier.md")

KINDS = {"b": "bool", "i": "int", "u": "uint", "f": "float", "c": "complex"}

HEAD = """\
# The simplifier

Looplets uncover constants; the simplifier makes code of less out of them (paper, rule *Simplify*).
Its rules are data: those on expressions are in `finch_core/symbolic/algebra.py`, and read the
algebra off the operators, so that an operator of a plugin takes part as ours do.
`kernel(..., rules=[...])` adds rules to one kernel, the hook `finch_rewrite_rules` to all.

A rule is applied only on the dtypes on which the result is the same to the last bit, NaN,
infinities and signed zeros included. One thing goes further: a *structural* fill, which no memory
stores, is exact. `0 * x` is 0 for it, as in every sparse library, and `x + 0` is `x`.

This page is made by `docs/make_simplifier.py`; a test evaluates every rule on the edges of every
dtype, and shows what would go wrong on the others.

## Expressions
"""

OPERATORS = """
## The algebra of the operators

`e` with `op(x, e) = x`, `z` with `op(x, z) = z`, and where that is exact; what else the rules read.
An operator is *modular* if the last bits of its result depend on as many last bits of its operands
alone, and *selects* if its result is one of them: an update that stores less than it computes is
computed narrow by the one, and repeated only once by the other.
"""

STATEMENTS = """
## Statements
"""

LOOPS = """
## Loops in which nothing varies

A sum of floats is reassociated by the last of these, as `np.sum` does; `kernel(strict=True)` keeps
the order of the loop, and leaves that rule to integers.
"""


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    cells = ([cell.replace("|", "\\|") for cell in line] for line in lines)
    return "\n" + "".join(f"| {' | '.join(line)} |\n" for line in cells)


def kinds(exact: str) -> str:
    if exact == "".join(KINDS):
        return "all"
    return ", ".join(KINDS[kind] for kind in KINDS if kind in exact) or "only as a fill"


def constant(op: Operator, of: Callable[..., Any] | None, exact: str) -> str:
    """An identity or annihilator, for 64-bit integers or bools, and where it is exact."""
    if of is None:
        return ""
    word = np.dtype(np.int64)
    logical = op.typing((word, word))[0][0] == np.dtype(bool)
    value = of(np.dtype(bool) if logical else word)
    info = np.iinfo(word)
    shown = {info.max: "largest", info.min: "smallest"}.get(value, str(value))
    return shown if logical else f"{shown} ({kinds(exact)})"


def further(op: Operator) -> str:
    """What else is known of an operator, in words."""
    words = ("associative", "commutative", "idempotent", "modular", "selects")
    found = [word for word in words if getattr(op, word)]
    if op.undoes:
        found.append(f"undoes `{op.undoes}`")
    if op.dual:
        found.append(f"dual of `{op.dual}`")
    if op.distributes:
        found.append("over " + " and ".join(f"`{name}`" for name in op.distributes))
    if op.left_annihilator is not None:
        value = op.left_annihilator(np.dtype(np.int64))
        found.append(f"`op({value}, x) = {value}` ({kinds(op.exact_left)})")
    if op.repeated is not None:
        found.append(f"repeated: `{op.repeated.name}`")
    return ", ".join(found)


def algebra() -> Iterable[tuple[str, ...]]:
    for op in map(operator, PRIMITIVES):
        identity = constant(op, op.identity, op.exact_identity)
        annihilator = constant(op, op.annihilator, op.exact_annihilator)
        if identity or annihilator or further(op):
            yield f"`{op.name}`", identity, annihilator, further(op)


def page() -> str:
    """The text of the page."""
    rules = ((r.name, r.meaning, kinds(r.exact), r.otherwise) for r in RULES)
    parts = [HEAD, table(("rule", "what it does", "exact on", "elsewhere"), rules)]
    parts += [OPERATORS, table(("operator", "identity", "annihilator", "further"), algebra())]
    statements = ((r.name, r.meaning) for r in STATEMENT_RULES)
    parts += [STATEMENTS, table(("rule", "what it does"), statements)]
    parts += [LOOPS, table(("rule", "what it does"), ((r.name, r.meaning) for r in LOOP_RULES))]
    return "".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page())
