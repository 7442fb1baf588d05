"""Indirect lanes: long sums whose loads go through an index may be computed in several lanes, too.

    for q in range(p, p_stop):             for q in range(p, p_stop):  # lanes: add s
        j = idx[q]                             j = idx[q]
        s += a[q] * x[j]           ->          s += a[q] * x[j]

What is gained is that no addition waits for the one before. Where the loop is short that costs
more than it gives, so a backend asks for its length first; and no load may become part of a gather,
which is slower than the loads that it replaces. A load that may be skipped stays where it is.
"""

from __future__ import annotations

from collections.abc import Iterator

from finch_core.assembly import Block, For
from finch_core.assembly_rewrite import certain_parts
from finch_core.builder import Names
from finch_core.expressions import Expr, Load
from finch_core.optimize.lanes import is_shorter, permit, strides

LONG = 16
"""Turns from which lanes pay in such a loop."""


def indirect(block: Block, names: Names) -> Block:
    """``block`` with lanes permitted in the sums that load through indices."""
    return permit(block, _goes_through_indices)


def _goes_through_indices(loop: For) -> bool:
    return not is_shorter(loop, LONG) and bool(scattered(loop))


def scattered(loop: For) -> frozenset[Load]:
    """The loads that a loop makes neither from one place nor from one place after another; none
    where one of them may be skipped."""
    found = {load for load, step in strides(loop) if step not in (0, 1)}
    return frozenset(found if found <= set(_certain(loop)) else ())


def _certain(loop: For) -> Iterator[Expr]:
    """What is evaluated in every turn."""
    for statement in loop.body.statements:
        for expr in statement.expressions:
            yield from certain_parts(expr)
