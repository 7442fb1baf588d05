"""Dimensionalization: every loop and every declaration gets an extent (paper, "Dimensionalization
Rules").

    C[...] = 0                               C[...] = 0            # 3 x 5
    for i in range(0, 3):                    for i in range(0, 3):
        for j in _:                              for j in range(0, 5):
            for k in _:                  ->          for k in range(0, 4):
                C[i, j] += A[i, k] * B[k, j]             C[i, j] += A[i, k] * B[k, j]

The extent of an index is the *meet* of the dimensions that it indexes in reads and in updates of
tensors that were not declared; the dimension of a declared tensor is that of the indices with which
it is written. Indices and dimensions that must agree form a class with one extent; where several
are known they are compared before the program runs. A range that the program writes out must lie
within the dimensions that it indexes, unless it is empty: that too is checked before the program
runs, or else where the loop begins (see ``finch_core.bounds``).
"""

from __future__ import annotations

import attrs

from finch_core import primitives as prim
from finch_core.affine import is_given
from finch_core.binding import ZERO, BoundTensor
from finch_core.errors import DimensionMismatch, FormatError, Span
from finch_core.expressions import Access, Call, Expr, Index, Literal, Load, Modified, Name, lift
from finch_core.looplets.transform import minus, plus
from finch_core.notation import Declare, Extent, Loop, Stmt, Update
from finch_core.passes.unit import Check, Unit
from finch_core.records import define, frozen


@frozen
class _Range:
    """A range that the program writes out, and the dimension that it indexes."""

    index: Index
    extent: Extent
    dim: Extent
    what: str
    span: Span | None


@frozen(eq=False)
class _Shifted:
    """A declared dimension that is accessed at an index plus ``shift``."""

    dim: _Dim
    shift: Expr


@frozen(eq=False)
class _Relation:
    """An inferred index that stands, shifted, for a declared dimension."""

    index: Index
    other: _Dim
    shift: Expr
    dim: Extent
    what: str
    span: Span | None


@define(eq=False)
class _Dim:
    """A class of equal dimensions: the extents known for it, and what it can fall back on.

    ``own`` are the present dimensions of tensors that are declared with this dimension, ``ranges``
    the ranges with which those are written, ``fits`` those with which they are only read. Where an
    index is shifted in an access of a declared tensor, ``written`` has the indices that write this
    dimension, ``read`` the dimensions that this index reads.
    """

    parent: _Dim | None = None
    known: list[tuple[Extent, Span | None, str]] = attrs.field(factory=list)
    ranges: list[_Range] = attrs.field(factory=list)
    fits: list[_Range] = attrs.field(factory=list)
    own: list[Extent] = attrs.field(factory=list)
    written: list[_Relation] = attrs.field(factory=list)
    read: list[_Relation] = attrs.field(factory=list)
    extent: Extent | None = None
    solving: bool = False

    def find(self) -> _Dim:
        return self if self.parent is None else self.parent.find()

    def join(self, other: _Dim) -> None:
        a, b = self.find(), other.find()
        if a is not b:
            b.parent = a
            a.known += b.known
            a.ranges += b.ranges
            a.fits += b.fits
            a.own += b.own
            a.written += b.written
            a.read += b.read


def dimensionalize(stmt: Stmt, unit: Unit) -> Stmt:
    """Give every loop and declaration of ``stmt`` its extent; adds to ``unit.checks``."""
    pass_ = _Dimensionalizer(unit)
    pass_.collect(stmt)
    return pass_.resolve(stmt)


class _Dimensionalizer:
    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self.indices: dict[Index, _Dim] = {}
        self.explicit: dict[Index, Extent] = {}
        self.declared: dict[BoundTensor, list[_Dim]] = {}
        self.declarations: dict[int, list[_Dim]] = {}

    # -- gathering ----------------------------------------------------------------------

    def collect(self, stmt: Stmt) -> None:
        if isinstance(stmt, Loop):
            if stmt.extent is None:
                self.indices[stmt.index] = _Dim()
            else:
                self.explicit[stmt.index] = stmt.extent
        if isinstance(stmt, Declare):
            self.declare(stmt)
        for expr in stmt.exprs:
            for node in expr.walk():
                if isinstance(node, Access):
                    self.access(node, isinstance(stmt, Update) and node is stmt.target)
        for body in stmt.bodies:
            self.collect(body)

    def declare(self, stmt: Declare) -> None:
        present = self.present(stmt)
        if stmt.tensor.fixed:
            names = (f"dimension {k} of {stmt.tensor}" for k in range(len(present)))
            dims = [_Dim(known=[(e, stmt.span, n)]) for e, n in zip(present, names, strict=True)]
        else:
            dims = [_Dim(own=[extent]) for extent in present]
        self.declared[stmt.tensor] = self.declarations[id(stmt)] = dims

    def present(self, stmt: Declare) -> list[Extent]:
        """The dimensions that a declared tensor has before the program runs."""
        return [Extent(ZERO, self.unit.present(e.stop)) for e in stmt.tensor.fiber.dims]

    def access(self, node: Access, written: bool) -> None:
        for index in node.indices:
            if isinstance(index, Modified) and not is_given(index):
                raise FormatError(
                    f"no wrapper that is installed knows what {index.modifier} means here",
                    span=node.span,
                    hint="install the plugin that does, or leave it out",
                )
        dims = self.dims_of(node)
        for k, (index, dim) in enumerate(zip(node.indices, dims, strict=True)):
            if dim is None or not isinstance(index, Index):
                continue
            extent = node.tensor.dims[k]
            assert extent is not None
            if isinstance(dim, _Shifted):
                self.shifted(index, dim, extent, _what(node, k), node, written)
            elif index in self.indices:
                self.indices[index].join(dim)
                self.unit.fitting.add((index, extent))
            elif index in self.explicit:
                range_ = self.explicit[index]
                self.within(_Range(index, range_, extent, _what(node, k), node.span), dim, written)

    def shifted(
        self, index: Index, dim: _Shifted, extent: Extent, what: str, node: Access, written: bool
    ) -> None:
        """An index that is shifted before it is one of a declared tensor."""
        if index in self.explicit:
            range_ = moved(self.explicit[index], dim.shift)
            self.within(_Range(index, range_, extent, what, node.span), dim.dim, written)
        elif index in self.indices:
            here, there = self.indices[index].find(), dim.dim.find()
            if written:
                relation = _Relation(index, here, dim.shift, extent, what, node.span)
                there.written.append(relation)
            else:
                here.read.append(_Relation(index, there, dim.shift, extent, what, node.span))

    def dims_of(self, node: Access) -> list[_Dim | _Shifted | None]:
        """The dimension classes of an access: of the tensor's declaration, or what it has now."""
        root = node.tensor.root
        extents = node.tensor.dims
        if root is None or root not in self.declared:
            return [self.known(extent, k, node) for k, extent in enumerate(extents)]
        own = {e.stop: d for e, d in zip(root.fiber.dims, self.declared[root], strict=True)}
        return [None if e is None else own.get(e.stop) or _shifted(e, own) for e in extents]

    def known(self, extent: Extent | None, k: int, node: Access) -> _Dim | None:
        """The class of a dimension as it is before the program runs."""
        if extent is None:
            return None
        extent = Extent(self.unit.present(extent.start), self.unit.present(extent.stop))
        return _Dim(known=[(extent, node.span, _what(node, k))])

    def within(self, range_: _Range, dim: _Dim, written: bool) -> None:
        """A written-out range: it fixes a declared tensor's dimension that it writes, and must fit
        any other."""
        if dim.own and not dim.known:
            found = dim.find()
            (found.ranges if written else found.fits).append(range_)
        else:
            self.fit(range_, dim.known[0][0])

    def fit(self, range_: _Range, known: Extent) -> None:
        """Check a range before the program runs, if its ends are known by then."""
        extent, what = range_.extent, range_.what
        if not (self.evaluable(extent.start) and self.evaluable(extent.stop)):
            return
        early = f"the range starts at {{1}}, and {what} at {{0}}"
        late = f"the range ends at {{0}}, and {what} has size {{1}}"
        hint = f"for {range_.index.name} in _: takes the whole dimension"
        for first, second, message in (
            (known.start, extent.start, early), (extent.stop, known.stop, late),
        ):  # fmt: skip
            check = Check(first, second, message, range_.span, "<=", hint=hint, range=extent)
            self.unit.checks.append(check)
        self.unit.fitting.add((range_.index, range_.dim))

    # -- solving ------------------------------------------------------------------------

    def resolve(self, stmt: Stmt) -> Stmt:
        bodies = tuple(self.resolve(body) for body in stmt.bodies)
        if isinstance(stmt, Loop):
            return attrs.evolve(stmt, extent=self.loop_extent(stmt), body=bodies[0])
        if isinstance(stmt, Declare):
            classes = zip(self.declarations[id(stmt)], self.present(stmt), strict=True)
            dims = tuple(self.tensor_extent(dim, own) for dim, own in classes)
            return attrs.evolve(stmt, dims=dims)
        return stmt.rebuild(stmt.exprs, bodies)

    def loop_extent(self, stmt: Loop) -> Extent:
        if stmt.extent is not None:
            return stmt.extent
        extent = self.solve(self.indices[stmt.index])
        if extent is None:
            raise DimensionMismatch(
                f"nothing fixes the extent of {stmt.index.name}",
                span=stmt.span,
                hint=f"write it out, as in: for {stmt.index.name} in range(0, n)",
            )
        return extent

    def tensor_extent(self, dim: _Dim, own: Extent) -> Extent | None:
        """The new extent of a declared dimension, or None where it keeps its own."""
        extent = self.solve(dim)
        return None if extent == own else extent

    def solve(self, dim: _Dim) -> Extent | None:
        dim = dim.find()
        if dim.extent is None and not dim.solving:
            dim.solving = True
            self.relate(dim)
            dim.extent = self.meet(dim)
            dim.solving = False
        return dim.extent

    def relate(self, dim: _Dim) -> None:
        """What the shifted accesses of a class tell of it."""
        for r in dim.written:
            extent = self.solve(r.other)
            if extent is not None:
                range_ = _Range(r.index, moved(extent, r.shift), r.dim, r.what, r.span)
                dim.ranges.append(range_)
        for r in dim.read:
            extent = self.solve(r.other)
            if extent is not None:
                dim.known.append((moved(extent, minus(ZERO, r.shift)), r.span, r.what))
                self.unit.fitting.add((r.index, r.dim))

    def meet(self, dim: _Dim) -> Extent | None:
        if dim.known:
            first, _, what = dim.known[0]
            for other, span, which in dim.known[1:]:
                if other.start != first.start:
                    message = f"{what} starts at {{0}}, but {which} at {{1}}"
                    check = Check(first.start, other.start, message, span, hint=_SAME_INDEX)
                    self.unit.checks.append(check)
                if other.stop != first.stop:
                    message = f"{what} is {{0}}, but {which} is {{1}}"
                    self.unit.checks.append(
                        Check(first.stop, other.stop, message, span, hint=_SAME_INDEX)
                    )
            for range_ in dim.ranges + dim.fits:
                self.fit(range_, first)
            return first
        found = self.covered(dim.ranges) or (dim.own[0] if dim.own else None)
        if found is not None:
            for range_ in dim.ranges + dim.fits:
                self.fit(range_, found)
        return found

    def covered(self, ranges: list[_Range]) -> Extent | None:
        """The least extent with all these ranges in it; None if one is not known in advance."""
        stops = list(dict.fromkeys(range_.extent.stop for range_ in ranges))
        if not stops or not all(self.evaluable(stop) for stop in stops):
            return None
        least = stops[0] if _never_negative(stops[0]) else stops[0].max(lift(0))
        for stop in stops[1:]:
            least = least.max(stop)
        return Extent(ZERO, least)

    def evaluable(self, expr: Expr) -> bool:
        """Whether an extent is known before the program runs: it has no index and reads nothing."""
        return not any(isinstance(n, (Index, Access, Load)) or _bound(n) for n in expr.walk())


def _what(node: Access, k: int) -> str:
    """A dimension for a message; the tensor that was passed, where it is seen as it is."""
    tensor = node.tensor
    plain = tensor.root is not None and tensor.dims == tensor.root.fiber.dims
    return f"dimension {k} of {tensor.root if plain else tensor}"


def moved(extent: Extent, shift: Expr) -> Extent:
    """An extent whose ends are both shifted."""
    return Extent(plus(extent.start, shift), plus(extent.stop, shift))


def _shifted(extent: Extent, own: dict[Expr, _Dim]) -> _Shifted | None:
    """Which of a tensor's dimensions ``own``, by their ends, was shifted to ``extent``."""
    start = extent.start
    if isinstance(start, Literal):
        shift: Expr = Literal(-int(start.value), int)
    elif isinstance(start, Call) and start.op is prim.sub and start.args[0] == ZERO:
        shift = start.args[1]
    else:
        return None
    found = (dim for stop, dim in own.items() if minus(stop, shift) == extent.stop)
    dim = next(found, None)
    return None if dim is None else _Shifted(dim, shift)


_SAME_INDEX = "dimensions with the same index must be equal; range(0, n) indexes a part of one"


def _bound(node: Expr) -> bool:
    return isinstance(node, Name)


def _never_negative(expr: Expr) -> bool:
    return isinstance(expr, Literal) and expr.value >= 0
