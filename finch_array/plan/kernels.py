"""Kernels of a plan: each one reduction of a product of factors, and what is known of its result.

``Book`` has what is known of all arrays, sources and results; ``priced`` chooses the loop order of
a kernel and whether its result is dense.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from finch_array.plan import loops
from finch_array.plan.estimates import Join, Pattern, expression_pattern, full_pattern, reduced
from finch_array.plan.normal import Reduced, Ref, affine, in_turn, indices_of
from finch_array.plan.products import annihilates, identity
from finch_array.plan.statistics import Statistics
from finch_core.ir import primitives as prim
from finch_core.ir.dtypes import concrete
from finch_core.ir.expressions import Access, Call, Cast, Expr, Index, Literal, Name
from finch_core.ir.operators import Operator, cast_value
from finch_core.records import define, evolve, field, frozen

FULL_ENOUGH = 0.15
"""A result of which more than this part is estimated to be stored is dense."""
CONTRACTED = 0.1
"""A multiplication of a contraction of two dense arrays, where NumPy computes it."""
CALLED = 7000.0
"""A call of NumPy for a contraction."""
SMALL = 4096
"""A result of at most so many elements is dense."""


@frozen(eq=False)
class Known:
    """What is known of an array: statistics, fill, the order in which its dimensions are stored,
    whether it must be read in that order, and by dimension whether indices are absent. ``within``:
    arrays that store something wherever this does, with the dimensions by which they are read."""

    statistics: Statistics
    fill: Any
    axes: tuple[int, ...]
    sparse: bool
    gaps: tuple[bool, ...]
    within: frozenset[tuple[str, tuple[int, ...]]] = frozenset()


@define(eq=False)
class Book:
    """What is known of the arrays by name, and the sizes of indices."""

    arrays: dict[str, Known]
    sizes: dict[str, int]
    patterns: dict[Expr, Pattern] = field(factory=dict)
    factors: dict[Expr, Factor] = field(factory=dict)
    read: dict[Access, Read] = field(factory=dict)
    free: dict[Expr, frozenset[str]] = field(factory=dict)
    masks: dict[Expr, bool] = field(factory=dict)
    fresh: int = 0
    truths: dict[Any, float] = field(factory=dict)
    identities: dict[str, Any] = field(factory=dict)

    def pattern(self, expr: Expr) -> Pattern:
        """The pattern of an expression."""
        found = self.patterns.get(expr)
        if found is None:
            found = self.patterns[expr] = expression_pattern(expr, self.arrays, self.sizes)
        return found

    def factor(self, expr: Expr) -> Factor:
        """What is known of an expression as a factor of kernels."""
        found = self.factors.get(expr)
        if found is None:
            found = self.factors[expr] = Factor(
                self.pattern(expr), reads_of(expr, self), self.indices(expr)
            )
        return found

    def reading(self, access: Access) -> Read:
        """An access as an operand of kernels."""
        found = self.read.get(access)
        if found is None:
            found = self.read[access] = _read(access, self)
        return found

    def indices(self, expr: Expr) -> frozenset[str]:
        """The free indices of an expression."""
        found = self.free.get(expr)
        if found is None:
            found = self.free[expr] = indices_of(expr)
        return found

    def result(self, kernel: Kernel) -> Expr:
        """The result of a kernel that has been priced, in an expression whose factor is known."""
        found = access(kernel)
        if isinstance(found, Access) and found not in self.factors:
            factor = result_factor(kernel, found, self)
            self.factors[found] = factor
            self.patterns[found] = factor.pattern
        return found

    def is_mask(self, expr: Expr) -> bool:
        """Whether an expression is a function of one array that stores few elements."""
        found = self.masks.get(expr)
        if found is None:
            found = self.masks[expr] = _is_mask(expr, self)
        return found

    def name(self) -> str:
        """A name for a result."""
        self.fresh += 1
        return f"w{self.fresh}"


@define(eq=False)
class Kernel:
    """``name[out] op= factors[0] * factors[1] * ...`` where all ``masks`` differ from their fills.

    ``times`` is the operator between factors; ``fixed``: the result's dimensions are wanted in this
    order. The rest is chosen by ``priced``; ``pattern`` is what the result is estimated to store.
    """

    name: str
    out: tuple[str, ...]
    op: Operator | None
    times: Operator | None
    factors: tuple[Expr, ...]
    masks: tuple[Expr, ...]
    dtype: np.dtype[Any]
    fixed: bool = False
    loops: tuple[str, ...] = ()
    copied: tuple[int, ...] = ()
    marked: tuple[Access, ...] = ()
    price: float = 0.0
    by_numpy: bool = False
    """Whether NumPy computes it: see ``contraction_of``."""
    visits: float = 0.0
    dense: bool = False
    pattern: Pattern | None = None
    identity: Any = None
    read: Expr | None = field(default=None, init=False)
    """The result in expressions, see ``access``."""
    rows: bool = False
    """Whether the first dimension of the result is stored without gaps: that of the operands is."""
    runs: bool = False
    """Whether the result has each element, in few runs: what is not sparse is the same along it."""

    @property
    def names(self) -> tuple[str, ...]:
        """All indices: those of the result first."""
        return self.named(set().union(*map(indices_of, (*self.factors, *self.masks))))

    def named(self, own: set[str]) -> tuple[str, ...]:
        """``names``, of all indices of factors and masks."""
        own.difference_update(self.out)
        return (*self.out, *(in_turn(own) if len(own) > 1 else own))

    @property
    def value(self) -> Expr:
        """The value at an index."""
        found = self.factors[0]
        for factor in self.factors[1:]:
            assert self.times is not None
            found = Call(self.times, (found, factor))
        if concrete(found.dtype) != self.dtype:
            found = Cast(found, self.dtype)
        return found


def accesses(expr: Expr) -> Iterator[Access | Name]:
    """The arrays that an expression reads, with indices."""
    for part in expr.walk():
        if isinstance(part, (Access, Name)):
            yield part


# -- prices -----------------------------------------------------------------------------------


@define(eq=False)
class Operands:
    """The operands of a kernel for the choice of its loops, the accesses that they are of, the
    patterns that all must allow an index tuple at which the body is run, and all indices."""

    terms: list[loops.Term] = field(factory=list)
    read: list[Access] = field(factory=list)
    restricted: list[loops.Restriction] = field(factory=list)
    indices: set[str] = field(factory=set)

    @classmethod
    def of(cls, kernel: Kernel, book: Book) -> Operands:
        made, known = cls(), book.factors
        places: dict[Read, int] = {}
        for n, part in enumerate((*kernel.masks, *kernel.factors)):
            factor = known.get(part) or book.factor(part)
            restricts = n < len(kernel.masks) or factor.restricts(kernel)
            made.indices |= factor.indices
            own = []
            for read, within in factor.reads:
                place = places.get(read)
                if place is None:
                    place = places[read] = len(made.read)
                    made.terms.append(read.term(restricts and within))
                    made.read.append(read.access)
                own.append(place)
            if restricts:
                made.restricted.append((tuple(own), factor.pattern))
        return made


@define(eq=False)
class Factor:
    """What is known of a factor of kernels: its pattern, what it reads (``reads_of``), its indices,
    and of the last product asked about, its operator and dtype, whether it is zero where the factor
    is its fill."""

    pattern: Pattern
    reads: tuple[tuple[Read, bool], ...]
    indices: frozenset[str]
    product: tuple[Any, Any] = (None, None)
    zero: bool = False

    def restricts(self, kernel: Kernel) -> bool:
        """Whether the value of a kernel is its fill where that of the factor is."""
        if self.pattern.full:
            return False
        if len(kernel.factors) == 1:
            return True
        times, dtype = self.product
        if times is not kernel.times or dtype is not kernel.dtype:
            self.product = kernel.times, kernel.dtype
            self.zero = annihilates(kernel.times, self.pattern.fill, kernel.dtype)
        return self.zero


@define(eq=False)
class Read:
    """An access as an operand of kernels: see ``loops.Term``."""

    access: Access
    indices: tuple[str, ...]
    pattern: Pattern
    sparse: bool
    lists: frozenset[str]
    terms: dict[bool, loops.Term] = field(factory=dict)

    def term(self, decides: bool) -> loops.Term:
        """The operand, where the value is the fill wherever it stores nothing, or not."""
        decides = decides and not self.pattern.full
        found = self.terms.get(decides)
        if found is None:
            found = self.terms[decides] = loops.Term(
                self.indices, self.pattern, self.sparse, self.lists, decides
            )
        return found


def reads_of(expr: Expr, book: Book) -> tuple[tuple[Read, bool], ...]:
    """The accesses with dimensions of an expression, each with whether it takes part in deciding
    where the value is its fill: alone, or with others (``A + B``)."""
    within = book.pattern(expr).within
    parts = [p for p in accesses(expr) if isinstance(p, Access)]
    return tuple(
        (book.reading(p), len(parts) == 1 or not within or (p.tensor.name, p.indices) in within)
        for p in parts
    )


def _read(part: Access, book: Book) -> Read:
    known = book.arrays[part.tensor.name]
    names = [affine(i)[0] for i in part.indices]
    stored = tuple(i for a in known.axes if (i := names[a]) is not None)
    lists = frozenset(i for i, gap in zip(names, known.gaps, strict=True) if gap and i is not None)
    return Read(part, stored, book.pattern(part), known.sparse, lists)


@define(eq=False)
class Sketch:
    """A kernel before its loops are chosen: its operands, all indices, the join of the patterns
    that restrict it, how often its body is run, and less than its price."""

    kernel: Kernel
    operands: Operands
    names: tuple[str, ...]
    join: Join
    visited: float
    least: float


def sketched(kernel: Kernel, book: Book) -> Sketch:
    """What is known of a kernel before its loops are chosen."""
    operands = Operands.of(kernel, book)
    names = kernel.named(operands.indices)
    join = Join([pattern for _, pattern in operands.restricted], book.sizes)
    visited = join.count(names)
    least = loops.least(len(operands.terms), visited)
    if _contracts(kernel, operands.terms):
        least = min(least, CALLED + CONTRACTED * visited)
    return Sketch(kernel, operands, names, join, visited, least)


def priced(sketch: Sketch, book: Book, limit: float = math.inf) -> bool:
    """Choose loops and the format of the result; False if the price is not below ``limit``."""
    if sketch.least >= limit:
        return False
    kernel, operands, visited = sketch.kernel, sketch.operands, sketch.visited
    terms, restricted = operands.terms, operands.restricted
    fill = result_fill(kernel, book)
    estimated = reduced(sketch.join, visited, kernel.out, book.sizes, fill)
    if book.truths:
        true = book.truths.get(identity_of(kernel, book))
        if true is not None and not estimated.full:
            estimated = evolve(estimated, entries=max(true, 1.0))
    room = 1.0
    for i in kernel.out:
        room *= book.sizes[i]
    keeps = not restricted and kernel.op is None and _sparse_alone(kernel, book)
    dense = not keeps and (room <= SMALL or estimated.entries > FULL_ENOUGH * room)
    runs = _pieces(kernel, operands, book) if dense and room > SMALL else math.inf
    kernel.runs = runs < FULL_ENOUGH * room
    if kernel.runs:
        dense, estimated = False, evolve(estimated, entries=max(runs, 1.0))
    result = loops.Result(kernel.out, kernel.fixed, dense, room if dense else estimated.entries)
    by_numpy = math.inf
    if dense and _contracts(kernel, terms):
        by_numpy = CALLED + CONTRACTED * visited
    if min(loops.least(len(terms), visited, result), by_numpy) >= limit:
        return False
    below = math.inf if by_numpy < limit else limit
    found = loops.choose(
        terms, restricted, sketch.names, result, book.sizes, below, sketch.join,
        _reduces_gaps(kernel, book),
    )  # fmt: skip
    if found is None:
        return False
    kernel.loops, kernel.copied, kernel.price = found.loops, found.copied, found.price
    kernel.marked = tuple([operands.read[k] for k in found.marked])
    kernel.visits, kernel.dense, kernel.pattern = found.visits, dense, estimated
    if kernel.out:
        order = tuple([i for i in found.loops if i in kernel.out])
        kernel.rows = not any(order[0] in term.lists for term in terms)
        if not kernel.fixed:
            kernel.out = order
    kernel.by_numpy = by_numpy < kernel.price
    kernel.price = min(kernel.price, by_numpy)
    return True


def _reduces_gaps(kernel: Kernel, book: Book) -> bool:
    """Whether a kernel reduces the fill of its one sparse factor, too."""
    if kernel.op is None or len(kernel.factors) > 1 or not kernel.factors:
        return False
    pattern, none = book.pattern(kernel.factors[0]), identity(kernel.op, kernel.dtype)
    if pattern.full:
        return False
    fill = pattern.fill
    return fill is None or none is None or bool(cast_value(fill, kernel.dtype) != none)


def _pieces(kernel: Kernel, operands: Operands, book: Book) -> float:
    """About how many runs an elementwise result has along its last dimension, where all arrays with
    this dimension are sparse along it; infinite for others."""
    if kernel.op is not None or not kernel.fixed or not kernel.out:
        return math.inf
    last = kernel.out[-1]
    own = [term for term in operands.terms if last in term.indices]
    if not own or not all(last in term.lists for term in own):
        return math.inf
    rows = math.prod(float(book.sizes[i]) for i in kernel.out[:-1])
    return rows + 2 * sum(term.pattern.entries for term in own)


def _contracts(kernel: Kernel, terms: Sequence[loops.Term]) -> bool:
    """Whether a kernel is a product of two dense arrays, which NumPy can compute."""
    if not len(terms) == len(kernel.factors) == 2 or kernel.masks:
        return False
    dense = not terms[0].sparse and not terms[1].sparse
    return dense and kernel.op is prim.add and kernel.dtype.kind in "fc"


def identity_of(kernel: Kernel, book: Book) -> Any:
    """What a kernel computes, in terms of the sources: equal in all plans of one graph."""
    names = book.identities

    def known(expr: Expr) -> Any:
        if isinstance(expr, Access):
            name = expr.tensor.name
            return names.get(name, name), expr.indices
        if isinstance(expr, Name):
            return names.get(expr.name, expr.name)
        if not expr.children:
            return expr
        kind = expr.op if isinstance(expr, Call) else type(expr)
        return kind, getattr(expr, "type", None), tuple(map(known, expr.children))

    factors = frozenset((known(f), kernel.factors.count(f)) for f in kernel.factors)
    masks = frozenset(map(known, kernel.masks))
    kernel.identity = kernel.op, kernel.times, frozenset(kernel.out), factors, masks
    return kernel.identity


def _sparse_alone(kernel: Kernel, book: Book) -> bool:
    return any(not book.pattern(factor).full for factor in kernel.factors)


def result_fill(kernel: Kernel, book: Book) -> Any:
    """The fill of a kernel's result, as far as it is known."""
    if kernel.op is None:
        return book.pattern(kernel.value).fill
    return identity(kernel.op, kernel.dtype)


def known_result(kernel: Kernel, book: Book) -> Known:
    """What is known of the result of a kernel that has been priced."""
    assert kernel.pattern is not None
    found, shape = kernel.pattern, tuple(book.sizes[i] for i in kernel.out)
    order = [i for i in kernel.loops if i in kernel.out]
    axes = tuple(range(len(shape)) if kernel.dense else map(kernel.out.index, order))
    full = kernel.dense or kernel.runs
    entries = math.prod(map(float, shape)) if full else found.entries
    if full:
        statistics = Statistics(
            shape, entries, tuple(map(float, shape)), tuple(entries / max(n, 1) for n in shape),
            (None,) * len(shape), True,
        )  # fmt: skip
    else:
        statistics = Statistics(
            shape, entries, tuple(found.distinct[i] for i in kernel.out),
            tuple(found.degrees[i] for i in kernel.out), (None,) * len(shape), False,
        )  # fmt: skip
    first = axes[0] if axes and kernel.rows else -1
    gaps = tuple(not full and k != first for k in range(len(shape)))
    within = frozenset(
        (array, tuple(kernel.out.index(affine(i)[0] or "") for i in indices))
        for array, indices in found.within
        if not full and all(affine(i)[0] in kernel.out for i in indices)
    )
    return Known(statistics, result_fill(kernel, book), axes, not kernel.dense, gaps, within)


def result_factor(kernel: Kernel, read: Access, book: Book) -> Factor:
    """The result of a kernel, which has dimensions, as a factor of others: what ``known_result``
    and ``pattern_of`` tell of ``read``."""
    found, out = kernel.pattern, kernel.out
    assert found is not None
    fill = result_fill(kernel, book)
    if kernel.dense or kernel.runs:
        pattern = full_pattern(out, book.sizes, fill)
        dense = Read(read, out, pattern, kernel.runs, frozenset())
        return Factor(pattern, ((dense, True),), frozenset(out))
    order = tuple([i for i in kernel.loops if i in out])
    lists = frozenset(order[1:] if kernel.rows else order)
    within = {(kernel.name, read.indices)}
    for array, indices in found.within:
        names = [affine(i)[0] for i in indices]
        if None not in names and all(i in out for i in names):
            within.add((array, tuple([Index(i) for i in names if i is not None])))
    pattern = Pattern(
        out, found.entries, found.distinct, found.degrees, {}, False, fill, frozenset(within)
    )
    return Factor(pattern, ((Read(read, order, pattern, True, lists), True),), frozenset(out))


def _is_mask(expr: Expr, book: Book) -> bool:
    reads = [part for part in expr.walk() if isinstance(part, (Access, Name, Reduced))]
    if len(reads) != 1 or not isinstance(reads[0], Access):
        return False
    if not all(isinstance(i, Index) for i in reads[0].indices):
        return False
    pattern = book.pattern(expr)
    return not pattern.full and pattern.fill is not None and bool(pattern.names)


def access(kernel: Kernel) -> Expr:
    """The result of a kernel that has been priced, in an expression."""
    if kernel.read is None:
        kernel.read = Name(kernel.name, kernel.dtype)
        if kernel.out:
            kernel.read = Access(Ref(kernel.name, kernel.dtype), tuple(map(Index, kernel.out)))
    return kernel.read


__all__ = [
    "Book", "Kernel", "Known", "access", "accesses", "known_result", "prim",
    "identity_of", "priced", "sketched", "Literal", "Mapping", "Sequence",
]  # fmt: skip
