"""What dimensionalization promises to the passes behind it: every loop has an extent, and the
dimensions of declared tensors begin at 0."""

from __future__ import annotations

import pytest

from finch_core.interface.tensorlike import BoundTensor, bind_level
from finch_core.ir.builder import Names
from finch_core.ir.dtypes import FLOAT64, INTP
from finch_core.ir.expressions import Index, Literal, Var, lift
from finch_core.ir.program import Declare, Extent, Loop, Sequential, Stmt
from finch_core.lower.dimensionalize import check_extents
from finch_levels import Dense, Element

N = Var("n", INTP)
FORMAT = Dense(Element(0.0))
TENSOR = BoundTensor("A", FORMAT, bind_level(FORMAT, "A", Names()))


def declared(*dims: Extent | None) -> Declare:
    return Declare(TENSOR, Literal(0.0, FLOAT64), dims)


def over(extent: Extent | None, *statements: Stmt) -> Loop:
    return Loop(Index("i"), extent, Sequential(statements))


@pytest.mark.parametrize(
    "stmt",
    [
        declared(Extent(lift(0), N)),
        declared(None),  # it keeps its own
        over(Extent(lift(-1), N)),  # that of a loop begins anywhere
    ],
)
def test_invariants_hold(stmt: Stmt) -> None:
    check_extents(stmt)


@pytest.mark.parametrize(
    ("stmt", "why"),
    [
        (over(None), "the loop over i has no extent"),
        (over(Extent(lift(0), N), over(None)), "the loop over i has no extent"),
        (declared(Extent(lift(1), N)), "a dimension of A begins elsewhere"),
        (declared(Extent(N, N)), "a dimension of A begins elsewhere"),
        (declared(), "A has 1 dimensions"),
    ],
)
def test_what_breaks_an_invariant_is_named(stmt: Stmt, why: str) -> None:
    with pytest.raises(AssertionError, match=f"^{why}"):
        check_extents(Sequential((stmt,)))
