"""Injective indices: accesses of different turns of a loop that share no element.

y[i], A[i, j], x[2 * i + 1]               the index of a dimension is a multiple of i
x[3 * i] = ...; x[3 * i + 2] = ...        the rests differ by less than the factor
for k in range(0, 4): x[4 * i + k] = ...
for j in range(0, n): x[i * n + j] = ...  the rest is below the factor, whatever that is
"""

from __future__ import annotations

import numpy as np

from finch_core.interface.tensorlike import BoundTensor
from finch_core.ir import primitives as prim
from finch_core.ir.dtypes import Type, concrete, is_weak
from finch_core.ir.expressions import (
    Access,
    Call,
    Cast,
    Dimension,
    Expr,
    Index,
    Literal,
    Modified,
    Name,
)
from finch_core.ir.program import Define, Extent, Loop
from finch_core.records import frozen
from finch_core.symbolic.affine import linear

LARGE = 1 << 20
"""Factors of a loop's index from which on a loop is thought to be long enough to wrap around."""


class Turns:
    """What is known of the turns of a loop: the ranges of the loops inside, and what changes."""

    def __init__(self, loop: Loop, written: frozenset[BoundTensor]) -> None:
        self.index, self.written = loop.index, written
        parts = tuple(loop.body.walk())
        self.inner = {p.index: p for p in parts if isinstance(p, Loop)}
        self._lets = {part.name for part in parts if isinstance(part, Define)}

    def is_fixed(self, expr: Expr) -> bool:
        """Whether an expression has one value in all turns."""
        return all(map(self._is_fixed, expr.walk()))

    def _is_fixed(self, node: Expr) -> bool:
        if isinstance(node, Index):
            return node != self.index and node not in self.inner
        if isinstance(node, Name):
            return node not in self._lets
        sized = isinstance(node, Dimension) and node.size is None
        return not ((sized or isinstance(node, Access)) and node.tensor.root in self.written)  # type: ignore[attr-defined]


@frozen
class _IndexForm:
    """An index as ``factor * i + same + rest``, with ``rest`` in ``range(low, high + 1)``.

    A ``factor`` that is no constant is above every rest, where the rest takes any value."""

    factor: Expr | int
    same: frozenset[tuple[int, Expr]]
    low: int
    high: int


def are_apart(accesses: list[Access], turns: Turns) -> bool:
    """Whether these accesses of a tensor are of different elements in different turns."""
    first = accesses[0].tensor
    if not first.keeps_apart or any(access.tensor != first for access in accesses):
        return False
    return any(
        _differ([_place(access.indices[k], turns) for access in accesses])
        for k in range(len(accesses[0].indices))
    )


def _differ(places: list[_IndexForm | None]) -> bool:
    """Whether these places never meet in different turns."""
    known = [place for place in places if place is not None]
    if len(known) < len(places) or len({(p.factor, p.same) for p in known}) != 1:
        return False
    factor = known[0].factor
    if not isinstance(factor, int):
        return True
    return max(p.high for p in known) - min(p.low for p in known) < abs(factor)


def _place(index: Expr, turns: Turns) -> _IndexForm | None:
    while isinstance(index, Modified):
        index = index.index
    factor, low, high = 0, 0, 0
    same: set[tuple[int, Expr]] = set()
    others: list[tuple[int, Expr]] = []
    for by, term in linear(index):
        if term == turns.index:
            factor += by
        elif isinstance(term, Literal):
            low, high = low + by * int(term.value), high + by * int(term.value)
        elif turns.is_fixed(term):
            same.add((by, term))
        else:
            others.append((by, term))
    if not _is_exact(index, factor, others):
        return None
    if not factor:
        return _row_major(others, turns) if not same and low == high == 0 else None
    for by, term in others:
        range_ = _range(term, turns)
        if range_ is None:
            return None
        ends = by * range_[0], by * range_[1]
        low, high = low + min(ends), high + max(ends)
    return _IndexForm(factor, frozenset(same), low, high)


def _is_exact(index: Expr, factor: int, others: list[tuple[int, Expr]]) -> bool:
    """Whether the index cannot wrap around to that of another turn. A shift of the loop's index
    alone is computed in 64 bits, whatever its dtype."""
    if abs(factor) >= LARGE:
        return False
    return (abs(factor) == 1 and not others) or not _is_narrow(index)


def may_wrap(access: Access) -> bool:
    """Whether an index is computed in fewer than 64 bits."""
    return any(map(_is_narrow, access.indices))


def _is_narrow(index: Expr) -> bool:
    return not all(_is_wide(node.dtype) for node in index.walk() if isinstance(node, Call))


def _is_wide(dtype: Type) -> bool:
    return is_weak(dtype) or (concrete(dtype).kind == "i" and concrete(dtype).itemsize == 8)


def _range(term: Expr, turns: Turns) -> tuple[int, int] | None:
    """The least and the greatest value of the index of an inner loop, if they are constants."""
    loop = turns.inner.get(term) if isinstance(term, Index) else None
    if loop is None or loop.extent is None:
        return None
    start, stop = loop.extent.start, loop.extent.stop
    if not (isinstance(start, Literal) and isinstance(stop, Literal)):
        return None
    return int(start.value), max(int(stop.value) - 1, int(start.value))


def _row_major(terms: list[tuple[int, Expr]], turns: Turns) -> _IndexForm | None:
    """``i * n + j`` with ``j`` in ``range(0, n)``."""
    products = [term for by, term in terms if by == 1 and isinstance(term, Call)]
    rests = [term for by, term in terms if by == 1 and isinstance(term, Index)]
    if len(terms) != 2 or len(products) != 1 or len(rests) != 1:
        return None
    (product,), (rest,) = products, rests
    if product.op is not prim.mul or turns.index not in product.args:
        return None
    size = product.args[1] if product.args[0] == turns.index else product.args[0]
    loop = turns.inner.get(rest)
    if loop is None or not turns.is_fixed(size) or loop.extent is None or loop.step is not None:
        return None
    within = Extent(Literal(0, int), _plain(size))
    found = Extent(loop.extent.start, _plain(loop.extent.stop))
    return _IndexForm(_plain(size), frozenset(), 0, 0) if found == within else None


def _plain(expr: Expr) -> Expr:
    """An integer without the casts that keep its value."""
    if isinstance(expr, Cast) and np.can_cast(concrete(expr.value.dtype), expr.dtype, "safe"):
        return _plain(expr.value)
    return expr


__all__ = ["Turns", "are_apart", "may_wrap"]
