"""Classes of dimensions that must be equal, and the facts about them before they are solved.

The rules are in ``lower/dimensionalize.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

from finch_core.errors import Span
from finch_core.interface.tensorlike import ONE, ZERO, BoundTensor
from finch_core.ir import primitives as prim
from finch_core.ir.expressions import Call, Expr, Index, Literal, lift
from finch_core.ir.program import Extent
from finch_core.looplets.transform import minus, plus
from finch_core.records import define, evolve, field, frozen
from finch_core.symbolic.affine import combination


@frozen
class Range:
    """A range that the program states, and the dimension that it indexes."""

    index: Index
    extent: Extent
    dim: Extent
    what: str
    span: Span | None


@frozen(eq=False)
class Shifted:
    """A declared dimension that is accessed at an index plus ``shift``."""

    dim: Dim
    shift: Expr


@frozen(eq=False)
class Relation:
    """An inferred index that is used, shifted, for a declared dimension."""

    index: Index
    other: Dim
    shift: Expr
    dim: Extent
    what: str
    span: Span | None


@frozen(eq=False)
class Known:
    """What an access, or a tensor of fixed size, implies for a dimension.

    ``start`` is the start of ``index``, ``stop`` the common end of all indices of the class
    (None: not implied). ``hint`` is the remedy to suggest where this contradicts another fact,
    if there is a special one.
    """

    index: Index | None
    start: Expr
    stop: Expr | None
    what: str
    span: Span | None
    hint: str = ""

    def cut(self) -> Known:
        """These bounds for an index clipped to begin at 0."""
        if _never_negative(self.start) or self.stop is None:
            return self
        start: Expr = ZERO if isinstance(self.start, Literal) else self.start.max(ZERO)
        return evolve(self, start=start, stop=self.stop.max(ZERO))


@frozen(eq=False)
class Reach:
    """An access at ``factor * index + rest``, which limits the index to values for which that
    sum lies within ``dim`` (an extent, or a class)."""

    index: Index
    factor: int
    rest: tuple[tuple[int, Expr], ...]
    dim: Extent | Dim


@define(eq=False)
class Dim:
    """A class of dimensions that must be equal and of the indices that run over them.

    All end at ``stop``. Dimensions begin at 0, and so do indices that are not in ``begins``.
    ``known`` are the facts from accesses; ``own`` the present sizes of tensors declared with
    this dimension, with the number of the declaration; ``ranges`` the stated ranges with which
    those are written, ``fits`` those with which they are only read. ``cut`` are the indices
    that write a tensor unshifted, and so begin at 0 or above. For indices shifted in accesses
    of declared tensors, ``written`` has those that write this dimension, ``read`` the
    dimensions that this index reads.
    """

    parent: Dim | None = None
    known: list[Known] = field(factory=list)
    ranges: list[Range] = field(factory=list)
    fits: list[Range] = field(factory=list)
    own: list[tuple[int, BoundTensor, Expr]] = field(factory=list)
    cut: list[Index] = field(factory=list)
    reaches: list[Reach] = field(factory=list)
    written: list[Relation] = field(factory=list)
    read: list[Relation] = field(factory=list)
    begins: dict[Index, Expr] = field(factory=dict)
    stop: Expr | None = None
    source: str = ""
    """Which rule gave ``stop``: ``"known"``, ``"reach"`` or ``"own"``."""
    solving: bool = False

    def find(self) -> Dim:
        return self if self.parent is None else self.parent.find()

    def join(self, other: Dim) -> None:
        a, b = self.find(), other.find()
        if a is b:
            return
        b.parent = a
        for name in _LISTS:
            getattr(a, name).extend(getattr(b, name))

    def extent(self, index: Index) -> Extent | None:
        """The extent of one of its indices, once the class is solved."""
        return None if self.stop is None else Extent(self.begins.get(index, ZERO), self.stop)


_LISTS = ("known", "ranges", "fits", "own", "cut", "reaches", "written", "read")


def first_own(dim: Dim) -> tuple[BoundTensor, Expr]:
    """The first declared tensor with this dimension, and its size."""
    _, tensor, size = min(dim.own, key=lambda own: own[0])
    return tensor, size


def moved(extent: Extent, shift: Expr) -> Extent:
    """An extent with both ends shifted."""
    return Extent(plus(extent.start, shift), plus(extent.stop, shift))


def shifted(extent: Extent, own: dict[Expr, Dim]) -> Shifted | None:
    """The dimension among ``own`` (keyed by their ends) that was shifted to give ``extent``."""
    start = extent.start
    if isinstance(start, Literal):
        shift: Expr = Literal(-int(start.value), int)
    elif isinstance(start, Call) and start.op is prim.sub and start.args[0] == ZERO:
        shift = start.args[1]
    else:
        return None
    found = (dim for stop, dim in own.items() if minus(stop, shift) == extent.stop)
    dim = next(found, None)
    return None if dim is None else Shifted(dim, shift)


Terms = list[tuple[int, Expr]]
"""A sum of terms with integer coefficients."""


def reached(factor: int, least: Terms, most: Terms, size: Expr) -> Extent:
    """The range of an index for which ``factor * index + rest`` lies in ``0 .. size``, for every
    value of the rest from ``least`` up to ``most``."""
    by = abs(factor)
    end, slack = (1, size), (1, lift(by - 1))
    if factor > 0:
        return Extent(_quotient([*_negative(least), slack], by),
                      _quotient([end, *_negative(most), slack], by))  # fmt: skip
    one = (1, ONE)
    return Extent(_quotient([*most, *_negative([end]), one, slack], by),
                  _quotient([*least, one, slack], by))  # fmt: skip


def _negative(terms: Terms) -> Terms:
    return [(-factor, term) for factor, term in terms]


def _quotient(terms: Terms, by: int) -> Expr:
    """The sum of ``terms`` divided by ``by``, rounded down."""
    found = combination(terms)
    if by == 1:
        return found
    return lift(int(found.value) // by) if isinstance(found, Literal) else found // by


def spread(factor: int, extent: Extent) -> tuple[Terms, Terms]:
    """The least and the greatest value of ``factor * i`` for ``i`` in ``extent``."""
    first: Terms = [(factor, extent.start)]
    last: Terms = [(factor, extent.stop), (-factor, ONE)]
    return (first, last) if factor > 0 else (last, first)


def greatest(exprs: list[Expr]) -> Expr:
    """The maximum of some sizes; their constants are folded into one."""
    return _chosen(exprs, max, Expr.max)


def least(exprs: list[Expr]) -> Expr:
    """The minimum of some sizes; their constants are folded into one."""
    return _chosen(exprs, min, Expr.min)


def _chosen(exprs: list[Expr], best: Callable[..., Any], pick: Callable[..., Expr]) -> Expr:
    fixed = [int(expr.value) for expr in exprs if isinstance(expr, Literal)]
    rest = [expr for expr in dict.fromkeys(exprs) if not isinstance(expr, Literal)]
    return reduce(pick, [*rest, *([lift(best(fixed))] if fixed else [])])


def begins_at_0(extent: Extent) -> bool:
    """Whether an extent is seen to begin at 0 or above from its form."""
    start = extent.start
    parts = start.args if isinstance(start, Call) and start.op is prim.maximum_ else (start,)
    return any(isinstance(part, Literal) and part.value >= 0 for part in parts)


def at_least_zero(expr: Expr) -> Expr:
    """The maximum of ``expr`` and 0."""
    return expr if _never_negative(expr) else expr.max(ZERO)


def _never_negative(expr: Expr) -> bool:
    return isinstance(expr, Literal) and bool(expr.value >= 0)


def is_plain(what: str) -> bool:
    """Whether a dimension's text names a tensor's own dimension, not a shifted access."""
    return what.startswith("dimension ")
