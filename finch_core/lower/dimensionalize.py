"""Dimensionalization: every loop and every declaration gets an extent (paper, "Dimensionalization
Rules").

    C[...] = 0                               C[...] = 0            # 3 x 5
    for i in range(0, 3):                    for i in range(0, 3):
        for j in _:                              for j in range(0, 5):
            for k in _:                  ->          for k in range(0, 4):
                C[i, j] += A[i, k] * B[k, j]             C[i, j] += A[i, k] * B[k, j]

**Dimensions begin at 0.** The range of an index need not: in ``s[()] += x[i + 1]`` it begins at
-1, where ``x[0]`` is read. But an index that writes a tensor unshifted, ``y[i] = ...``, begins
at 0 or above: the ranges implied by reads are clipped there, so ``y[i] = x[i + 1]`` runs over
``range(0, n - 1)``. (A shifted write, ``y[i - 1] = x[i]``, is not clipped: it is refused if it
would be below 0.)

The range of an index is given by the first of these that applies:

1. the dimensions that it indexes, shifted by a constant or not, in reads and in updates of tensors
   that are not declared. They must agree after clipping. Indices and dimensions that must be equal
   form a class with one end; each index has its own start.
2. the ranges that the program states for other indices of the class: a declared tensor is as large
   as the range written to it, whatever the conditions around the write.
3. accesses at other sums, ``x[2 * i + k]``, if 1 or 2 gives the ranges of all other terms: the
   index takes all values for which these accesses stay within their dimensions.
4. the present size of a declared tensor. Size 0 is refused if no other index implies the size: the
   tensor was made without a shape.

A stated range must lie within the dimensions that it indexes, unless it is empty, as far as the
conditions around the access hold (``lower.index_conditions``). Sizes are compared before the
program runs where they are known then, else where the loop begins (``lower.bounds``).

A tensor that is declared in a branch or a loop has another size there than outside, and in later
turns (``lower.declared_sizes``): accesses that a declaration need not precede are checked where
their loops begin.

**Invariants** of the result, which are checked (``check_extents``): every loop has an extent; a
declared tensor has an extent, or keeps its own, for each dimension, and both begin at 0. What
follows relies on them: levels have a ``shape`` and no beginning.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from finch_core.errors import DimensionMismatch, FormatError, Span
from finch_core.interface.abi import MOST_INDICES
from finch_core.interface.tensorlike import ZERO, BoundTensor
from finch_core.ir.expressions import (
    TRUE,
    Access,
    Call,
    Expr,
    Index,
    Literal,
    Modified,
    Var,
    lift,
)
from finch_core.ir.program import Declare, Define, Extent, Loop, Stmt, Update
from finch_core.ir.python_code import is_permissive
from finch_core.lower.begun import Begun
from finch_core.lower.declared_sizes import DeclaredSizes, Parts
from finch_core.lower.dimensions import (
    Dim,
    Known,
    Range,
    Reach,
    Relation,
    Shifted,
    begins_at_0,
    first_own,
    moved,
    shifted,
)
from finch_core.lower.extents import Solver, is_settled
from finch_core.lower.index_conditions import (
    ANY,
    comparisons,
    inside,
    narrowed,
)
from finch_core.lower.pass_state import Check, Unit
from finch_core.records import evolve
from finch_core.symbolic.affine import is_given, linear
from finch_core.symbolic.guards import guarded


def dimensionalize(stmt: Stmt, unit: Unit) -> Stmt:
    """Give every loop and declaration of ``stmt`` its extent.

    Adds to ``unit.checks`` the comparisons to make before the program runs. Raises
    ``DimensionMismatch`` where sizes are known to differ or nothing gives an extent,
    ``FormatError`` for an index that no installed wrapper handles.
    """
    pass_ = _Dimensionalizer(unit, stmt)
    pass_.collect(stmt)
    resolved = pass_.resolve(stmt)
    pass_.have_sizes()
    later = pass_.sizes.to_check(resolved)
    unit.fitting -= later
    for index, extent in later & pass_.spans.keys():
        unit.spanning.setdefault(index, {})[extent] = pass_.spans[index, extent]
    check_extents(resolved)
    return resolved


def check_extents(stmt: Stmt) -> None:
    """Raise ``AssertionError`` if an invariant on which later passes rely does not hold."""
    if isinstance(stmt, Loop):
        assert stmt.extent is not None, f"the loop over {stmt.index.name} has no extent"
    if isinstance(stmt, Declare):
        own = stmt.tensor.fiber.dims
        assert len(stmt.dims) == len(own), f"{stmt.tensor} has {len(own)} dimensions"
        given = [extent for extent in (*stmt.dims, *own) if extent is not None]
        assert all(e.start == ZERO for e in given), f"a dimension of {stmt.tensor} begins elsewhere"
    for body in stmt.bodies:
        check_extents(body)


class _Dimensionalizer:
    def __init__(self, unit: Unit, stmt: Stmt) -> None:
        self.unit = unit
        self.sizes = DeclaredSizes(stmt)
        self.indices: dict[Index, Dim] = {}
        self.explicit: dict[Index, Extent] = {}
        self.solver = Solver(unit, self.indices, self.explicit)
        self.declarations: dict[int, list[Dim]] = {}
        self.meant = dict(unit.compared)
        self.parts: dict[Index, dict[Extent, list[Extent]]] = {}
        self.loops: dict[Index, Begun] = {}
        self.places: list[tuple[Dim, int, Span | None]] = []
        self.sized: list[Dim] = []
        self.spans: dict[tuple[Index, Extent], tuple[str, str, Span | None]] = {}
        """The dimensions through all of which loops go that have no range."""

    # -- gathering ----------------------------------------------------------------------

    def collect(
        self, stmt: Stmt, conds: tuple[Call, ...] = (), given: frozenset[Expr] = frozenset()
    ) -> None:
        """Gather the facts of a statement, which runs where all of ``conds`` hold, and may use the
        indices and names ``given``."""
        if isinstance(stmt, Loop):
            if stmt.extent is None:
                self.indices[stmt.index] = Dim()
            else:
                self.explicit[stmt.index] = stmt.extent
                self.loops[stmt.index] = Begun(stmt, given)
            given |= {stmt.index}
        if isinstance(stmt, Declare):
            self.declare(stmt)
        for expr in stmt.exprs:
            for guard, node in guarded(expr, TRUE, Access):
                written = isinstance(stmt, Update) and node is stmt.target
                self.access(node, written, (*conds, *comparisons(guard, self.meant)))
                plain = self.unit.plain.get(node, node)
                self.reaches(plain, written)
                self.place(plain)
        if isinstance(stmt, Define):
            self.meant[stmt.name] = stmt.value
            given |= {stmt.name}
        parts = Parts(self.sizes, stmt)
        for body, more in inside(stmt, self.meant):
            with parts.part():
                self.collect(body, (*conds, *more), given)
        parts.leave()

    def declare(self, stmt: Declare) -> None:
        present, tensor = self.present(stmt), stmt.tensor
        lasts = tensor in self.sizes.lasting and tensor.shape is None
        fixed = [e.stop for e in present] if tensor.fixed or lasts else tensor.shape
        if lasts and tensor.sizeless is not None:
            what = f"the size of {tensor}, which is declared in a loop and has no shape"
            self.made_with_shape(tensor, ZERO, what, "", stmt.span)
        if fixed is not None:
            whats = [f"dimension {k} of {tensor}" for k in range(len(fixed))]
            known = zip(fixed, whats, strict=True)
            dims = [Dim(known=[Known(None, ZERO, size, what, stmt.span)]) for size, what in known]
            if not (tensor.fixed or lasts):
                self.not_negative(fixed, whats, stmt.span)
        else:
            dims = [Dim(own=[(len(self.declarations), tensor, extent.stop)]) for extent in present]
        self.declarations[id(stmt)] = dims
        self.sizes.declare(tensor, dims)

    def not_negative(self, sizes: Iterable[Expr], whats: list[str], span: Span | None) -> None:
        """Check that the sizes that a program gives to a local are not negative. Raises
        ``DimensionMismatch`` for constants that are."""
        hint = "give a size that is 0 or more"
        for size, what in zip(sizes, whats, strict=True):
            if isinstance(size, Literal):
                if size.value < 0:
                    message = f"{what} cannot be {size.value}: it is negative"
                    raise DimensionMismatch(message, span=span, hint=hint)
            else:
                message = f"{what} cannot be {{1}}: it is negative"
                self.unit.checks.append(Check(ZERO, size, message, span, "<=", hint=hint))

    def present(self, stmt: Declare) -> list[Extent]:
        """The dimensions of a declared tensor before the program runs."""
        return [Extent(ZERO, self.unit.present(e.stop)) for e in stmt.tensor.fiber.dims]

    def access(self, node: Access, written: bool, conds: tuple[Call, ...]) -> None:
        for index in node.indices:
            if isinstance(index, Modified) and not is_given(index):
                raise FormatError(
                    f"no installed wrapper handles {index.modifier} here",
                    span=node.span,
                    hint="install the plugin that handles it, or remove it",
                )
        self.not_far(node)
        self.sizes.access(node)
        for dims in self.dims_of(node):
            self.along(node, dims, written, conds)

    def along(
        self, node: Access, dims: list[Dim | Shifted | Extent | None], written: bool,
        conds: tuple[Call, ...],
    ) -> None:  # fmt: skip
        """Gather what an access of a tensor of these dimensions implies."""
        places = zip(node.indices, node.tensor.dims, dims, strict=True)
        for k, (index, extent, dim) in enumerate(places):
            if dim is None or not isinstance(index, Index):
                continue
            what = self.what(node, k, index)
            if index in self.explicit:
                self.ranged(index, dim, extent, what, node.span, written, conds)
                continue
            if index not in self.indices:
                continue
            if isinstance(dim, Shifted):
                self.shifted(index, dim, extent, what, node.span, written)
                continue
            name = self.unit.name_of(index)
            self.spans.setdefault((index, extent), (name, what, node.span))
            if isinstance(dim, Extent):
                hint = self.undeclared(node) if written else ""
                known = Known(index, dim.start, dim.stop, what, node.span, hint)
                self.indexed(index, known, extent, written and dim.start == ZERO)
            else:
                self.indices[index].join(dim)
                says = not written or bool(dim.known)  # else its size is that of the range
                known = Known(index, ZERO, None, what, node.span)
                self.indexed(index, known if says else None, extent, written)

    def not_far(self, node: Access) -> None:
        """Check that an index that may be out of bounds is not shifted so far that it wraps."""
        for shift in node.tensor.shifts:
            if isinstance(shift, Literal) and abs(shift.value) <= MOST_INDICES:
                continue
            for k, ends in enumerate(((shift, lift(MOST_INDICES)), (lift(-MOST_INDICES), shift))):
                message = f"an index that may be out of bounds is shifted by {{{k}}}"
                self.unit.checks.append(Check(*ends, message, node.span, "<=", hint=_FAR))

    def what(self, node: Access, k: int, index: Index) -> str:
        """How a message names a dimension: that of the argument, if the access is of the argument
        as it is, else the access as it is written."""
        tensor = node.tensor
        if tensor.root is not None and tensor.dims == tensor.root.fiber.dims:
            found: str = tensor.root.dimension(k)
            return found
        written = "" if node.span is None else node.span.code()
        if written:
            return f"index {self.unit.name_of(index)} of {written}".replace("{", "{{").replace(
                "}", "}}"
            )
        return f"dimension {k} of {tensor}"

    def indexed(self, index: Index, known: Known | None, extent: Extent, cut: bool) -> None:
        """Record that an access implies ``known`` for an inferred index whose loop lies in
        ``extent``."""
        dim = self.indices[index].find()
        if known is not None:
            dim.known.append(known)
        if cut:
            dim.cut.append(index)
        self.unit.fitting.add((index, extent))

    def shifted(
        self,
        index: Index,
        dim: Shifted,
        extent: Extent,
        what: str,
        span: Span | None,
        written: bool,
    ) -> None:
        """An inferred index that is shifted in an access of a declared tensor."""
        here, there = self.indices[index].find(), dim.dim.find()
        if written:
            there.written.append(Relation(index, here, dim.shift, extent, what, span))
        else:
            here.read.append(Relation(index, there, dim.shift, extent, what, span))

    def ranged(
        self,
        index: Index,
        dim: Dim | Shifted | Extent,
        extent: Extent,
        what: str,
        span: Span | None,
        written: bool,
        conds: tuple[Call, ...],
    ) -> None:
        """A stated range: it gives the end of the dimension of a declared tensor that it writes,
        and must lie within any other where ``conds`` hold."""
        stated = self.explicit[index]
        range_ = Range(index, stated, extent, what, span)
        base = dim.dim if isinstance(dim, Shifted) else dim
        gives = isinstance(base, Dim) and written and bool(base.find().own)
        known: Callable[[Expr], bool] = self.is_known
        if not is_settled(stated):  # the check is at run time
            begun = self.loops[index]
            counted = tuple(begun.at_start(cond, known) for cond in conds)
            self.within(index, extent, narrowed(ANY, index, counted, known))
            known = begun.or_known(known)
        part = narrowed(stated, index, conds, known)
        if gives:  # it ends where the range does, whatever the conditions
            part = evolve(part, stop=stated.stop)
        if part != stated or not gives:
            parts = self.parts.setdefault(index, {})
            parts.setdefault(extent, []).append(part)
            if part != stated:
                range_ = evolve(range_, extent=part)
                self.unit.loose[index] = parts
        if isinstance(dim, Extent):
            self.solver.fit(range_, dim)
            return
        if isinstance(dim, Shifted):
            range_ = evolve(range_, extent=moved(range_.extent, dim.shift))
            dim = dim.dim
        found = dim.find()
        (found.ranges if written and dim.own else found.fits).append(range_)

    def within(self, index: Index, extent: Extent, part: Extent) -> None:
        """Record the part of a range that an access needs to lie within its dimension. It is not
        told whose: equal accesses become one, which then stands where either of them did."""
        found = self.unit.within.get((index, extent), ())
        if part not in found:
            self.unit.within[index, extent] = (*found, part)

    def is_known(self, expr: Expr) -> bool:
        """Whether a value is known before the program runs, and does not change."""
        return is_settled(expr) and self.unit.changing.isdisjoint(expr.walk())

    def dims_of(self, node: Access) -> list[list[Dim | Shifted | Extent | None]]:
        """The dimensions of an access: classes for each declaration of the tensor that it may be
        behind, else present extents."""
        root = node.tensor.root
        extents = node.tensor.dims
        known = self.sizes.sizes(root)
        if root is None or not known:
            return [[None if e is None else self.known(e) for e in extents]]
        found: list[list[Dim | Shifted | Extent | None]] = []
        for dims in known:
            own = {e.stop: d for e, d in zip(root.fiber.dims, dims, strict=True)}
            found.append(
                [None if e is None else own.get(e.stop) or shifted(e, own) for e in extents]
            )
        return found

    def known(self, extent: Extent) -> Extent:
        """A dimension as it is before the program runs."""
        return Extent(self.unit.present(extent.start), self.unit.present(extent.stop))

    def undeclared(self, node: Access) -> str:
        """The hint where a tensor that is updated without a declaration has another size."""
        root = node.tensor.root
        return "" if root is None or root.fixed else _UNDECLARED.format(root)

    def reaches(self, node: Access, written: bool) -> None:
        """Record the accesses of a tensor at sums of indices."""
        if written and self.sizes.sizes(node.tensor.root):
            return
        for _, index, dim in self.each(node):
            terms = _sum(index)
            if isinstance(dim, (Dim, Extent)) and _from_zero(dim) and not _is_shift(terms):
                for factor, part in terms:
                    if isinstance(part, Index) and part in self.indices:
                        rest = tuple(term for term in terms if term[1] != part)
                        found = Reach(part, factor, rest, dim)
                        self.indices[part].find().reaches.append(found)

    def place(self, node: Access) -> None:
        """Record dimensions of declared tensors that are accessed at an index that is not a
        loop's."""
        for k, index, dim in self.each(node):
            if isinstance(dim, Dim) and not isinstance(index, Index) and not is_permissive(index):
                self.places.append((dim, k, node.span))

    def each(self, node: Access) -> Iterator[tuple[int, Expr, Dim | Shifted | Extent | None]]:
        """The numbers and indices of the dimensions of an access, each with what it is by each
        declaration."""
        for dims in self.dims_of(node):
            yield from zip(range(len(dims)), node.indices, dims, strict=True)

    # -- solving ------------------------------------------------------------------------

    def resolve(self, stmt: Stmt) -> Stmt:
        bodies = tuple(self.resolve(body) for body in stmt.bodies)
        if isinstance(stmt, Loop):
            begun = self.loops.get(stmt.index)
            bounds = () if begun is None else tuple(begun.bounds)
            return evolve(stmt, extent=self.loop_extent(stmt), body=bodies[0], bounds=bounds)
        if isinstance(stmt, Declare):
            classes = zip(self.declarations[id(stmt)], self.present(stmt), strict=True)
            dims = tuple(self.tensor_extent(dim, own) for dim, own in classes)
            return evolve(stmt, dims=dims)
        return stmt.rebuild(stmt.exprs, bodies)

    def loop_extent(self, stmt: Loop) -> Extent:
        if stmt.extent is not None:
            return stmt.extent
        name, dim = self.unit.name_of(stmt.index), self.indices[stmt.index].find()
        if self.solver.solve(dim) is None:
            hint = f"write it out, as in: for {name} in range(0, n)"
            raise DimensionMismatch(
                f"nothing fixes the extent of {name}", span=stmt.span, hint=hint
            )
        if dim.source == "own":
            self.loop_has_size(stmt, dim)
        extent = dim.extent(stmt.index)
        assert extent is not None
        assert stmt.index not in dim.cut or begins_at_0(extent), "an output is written before 0"
        return extent

    def loop_has_size(self, stmt: Loop, dim: Dim) -> None:
        """Check that the only tensor that gives the extent of a loop was made with a shape."""
        tensor, name = first_own(dim)[0], self.unit.name_of(stmt.index)
        what = f"the extent of {name}: {tensor} has no shape"
        self.has_size(dim, what, f", or write the range, for {name} in range(0, n)", stmt.span)

    def have_sizes(self) -> None:
        """Check that tensors have a shape if nothing else gives their size: neither a loop, nor a
        written range whose end is known before the program runs."""
        ranged = [
            (dim, k, range_.span)
            for dims in self.declarations.values()
            for k, dim in enumerate(dims)
            for range_ in dim.find().ranges[:1]
        ]
        for dim, k, span in self.places + ranged:
            found = dim.find()
            if found.source == "own" and all(found is not other for other in self.sized):
                what = f"the size of dimension {k} of {first_own(found)[0]}, which has no shape"
                self.has_size(found, what, "", span)

    def has_size(self, dim: Dim, what: str, other: str, span: Span | None) -> None:
        """Check that the tensor that gives the size of a class was made with a shape.

        ``other`` is a second remedy for the hint. The check precedes those of the class, which the
        size 0 would fail.
        """
        self.sized.append(dim)
        self.made_with_shape(*first_own(dim), what, other, span)

    def made_with_shape(
        self, tensor: BoundTensor, size: Expr, what: str, other: str, span: Span | None
    ) -> None:
        """Check that a tensor of a size was made with a shape."""
        if tensor.sizeless is not None:
            shape = ("(n,)", "(n, m)", "(n, m, ...)")[min(tensor.format.ndim, 3) - 1]
            hint = f"make {tensor} with a shape, as in Tensor(format, {shape}){other}"
            message = f"nothing fixes {what}"
            check = Check(tensor.sizeless, size, message, span, "<=", hint=hint)
            self.unit.checks.insert(0, check)

    def tensor_extent(self, dim: Dim, own: Extent) -> Extent | None:
        """The new extent of a declared dimension, or None if it keeps ``own``."""
        stop = self.solver.solve(dim)
        return None if stop is None or stop == own.stop else Extent(ZERO, stop)


def _from_zero(dim: Dim | Extent) -> bool:
    return isinstance(dim, Dim) or dim.start == ZERO


def _sum(index: Expr) -> list[tuple[int, Expr]]:
    """The terms of an index that is a sum; none if it may be out of bounds."""
    if is_permissive(index):
        return []
    while isinstance(index, Modified):
        index = index.index
    return linear(index)


def _is_shift(terms: list[tuple[int, Expr]]) -> bool:
    """Whether this is an index plus loop-invariant terms, as an offset is."""
    parts = [(factor, part) for factor, part in terms if not isinstance(part, (Literal, Var))]
    return len(parts) == 1 and parts[0][0] == 1 and isinstance(parts[0][1], Index)


_FAR = "shift it by at most 2**62"
_UNDECLARED = (
    "{0} is updated without a declaration, and so keeps its size; write {0}[...] = 0 first"
)
