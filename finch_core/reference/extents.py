"""The extents of a program's loops and the shapes of its outputs, for the reference implementation.

It shares no code with the compiler's dimensionalization (``finch_core/lower/dimensionalize.py``),
so that tests compare two implementations of the same rules; it works on the sizes of one call's
arguments. The rules: a dimension begins at 0, and so does an index that writes a tensor unshifted.
The range of an index follows from accesses that must agree; else from written ranges; else from
accesses at other affine indices; else from the current size of a declared tensor.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from finch_core.errors import DimensionMismatch
from finch_core.ir import primitives as prim
from finch_core.ir.expressions import Access, Call, Expr, Index, Literal, Modified, Name
from finch_core.ir.program import Declare, Loop, Program, Stmt, Update
from finch_core.records import define, field, frozen
from finch_core.reference.linear import LINEAR, accesses, linear_sum, plain_index

Sizes = list[int | None]
Range = tuple[int, int]


@frozen(eq=False)
class _IndexUse:
    """One index of one access: dimension ``dim`` of a tensor, at ``expr``.

    ``scope``: the enclosing loops by name. ``declare``: the declaration that sizes it, if any.
    """

    access: Access
    dim: int
    expr: Expr
    written: bool
    scope: Mapping[str, Loop]
    declare: Declare | None


@define
class Extents:
    """The ranges of inferred loops (``loops``) and the sizes of declared tensors (``declares``), by
    ``id`` of the statement.

    ``shapes``: the shapes of the tensors before the call. ``scalars``: the run-time numbers.
    ``fixed``: tensors that a declaration does not resize. ``sizeless``: tensors that were made
    without a shape.
    """

    shapes: dict[str, tuple[int, ...]]
    scalars: dict[str, Any]
    fixed: frozenset[str] = frozenset()
    sizeless: frozenset[str] = frozenset()
    loops: dict[int, Range] = field(factory=dict)
    declares: dict[int, Sizes] = field(factory=dict)
    places: list[_IndexUse] = field(factory=list)
    open: dict[int, Loop] = field(factory=dict)
    """The loops whose range is inferred."""
    firm: dict[int, Range] = field(factory=dict)
    """Ranges of loops by the accesses that must agree and by written ranges alone."""
    sums: dict[int, Range] = field(factory=dict)
    """Ranges of loops by accesses at other sums."""
    nodes: dict[int, Declare] = field(factory=dict)

    def find(self, program: Program) -> None:
        """Fill ``loops`` and ``declares``; raises ``DimensionMismatch``."""
        self.gather(program.body, {}, {})
        self.settle()
        self.firm = dict(self.loops)
        while self.by_sums() or self.by_size():
            self.settle()
        for loop in self.open.values():
            self.range(loop, strict=True)
        for place in self.places:
            self.check_write(place)

    # -- gathering ----------------------------------------------------------------------

    def gather(self, node: Stmt, scope: dict[str, Loop], declared: dict[str, Declare]) -> None:
        if isinstance(node, Declare):
            declared[str(node.tensor)] = node
            own = self.shapes[str(node.tensor)]
            fixed = str(node.tensor) in self.fixed
            self.nodes[id(node)] = node
            self.declares[id(node)] = list(own) if fixed else [None] * len(own)
        for access in accesses(node):
            self.access(access, node, scope, declared)
        if isinstance(node, Loop):
            if node.extent is None:
                self.open[id(node)] = node
            scope = {**scope, node.index.name: node}
        for body in node.bodies:
            self.gather(body, scope, declared)

    def access(
        self, access: Access, node: Stmt, scope: dict[str, Loop], declared: dict[str, Declare]
    ) -> None:
        name, written = str(access.tensor), isinstance(node, Update) and access is node.target
        if len(access.indices) != len(self.shapes[name]):
            raise DimensionMismatch(
                f"{name!r} has {len(self.shapes[name])} dimensions, not {len(access.indices)}",
                span=access.span,
            )
        for dim, expr in enumerate(access.indices):
            plain = plain_index(expr)
            if plain is not None:
                place = _IndexUse(access, dim, plain, written, scope, declared.get(name))
                self.places.append(place)

    # -- what is known of one place -----------------------------------------------------

    def size(self, place: _IndexUse) -> int | None:
        """The size of its dimension, as far as it is known."""
        if place.declare is None:
            return self.shapes[str(place.access.tensor)][place.dim]
        return self.declares[id(place.declare)][place.dim]

    def resized(self, place: _IndexUse) -> bool:
        """Whether its dimension is as large as what is written to it."""
        return place.declare is not None and str(place.access.tensor) not in self.fixed

    def shifted(self, place: _IndexUse) -> tuple[Loop, int] | None:
        """``(loop, c)`` for an index ``i + c`` with a known ``c``."""
        found = self.linear(place.expr)
        if found is None or list(found[0].values()) != [1]:
            return None
        (name,) = found[0]
        return place.scope[name], found[1]

    def linear(self, expr: Expr) -> tuple[dict[str, int], int] | None:
        """An index as an affine expression: integer coefficients of indices, and a constant."""
        value = self.known(expr)
        if value is not None:
            return {}, value
        if isinstance(expr, Index):
            return {expr.name: 1}, 0
        if not isinstance(expr, Call) or expr.op not in LINEAR:
            return None
        if any(self.may_wrap(arg) for arg in expr.args):
            return None  # the index takes that dtype: a gather
        parts = [self.linear(arg) for arg in expr.args]
        if None in parts:
            return None
        if expr.op is prim.mul:
            return self.multiplied(expr, parts)
        sign = -1 if expr.op in (prim.sub, prim.neg) else 1
        first = ({}, 0) if expr.op is prim.neg else parts[0]
        return linear_sum(first, parts[-1], sign)

    def multiplied(self, expr: Call, parts: list[Any]) -> tuple[dict[str, int], int] | None:
        for literal, other in ((0, 1), (1, 0)):
            if isinstance(expr.args[literal], Literal):
                return linear_sum(({}, 0), parts[other], parts[literal][1])
        return None

    def may_wrap(self, expr: Expr) -> bool:
        """Whether an expression of run-time scalars is unsigned, or has fewer than 32 bits."""
        value = self.scalar(expr)
        if not isinstance(value, np.integer):
            return False
        return value.dtype.kind == "u" or value.dtype.itemsize < 4

    def known(self, expr: Expr) -> int | None:
        """The value of an expression of run-time scalars only, else None."""
        value = self.scalar(expr)
        return None if value is None else int(value)

    def scalar(self, expr: Expr) -> Any:
        """What an expression of run-time scalars only evaluates to, else None."""
        from finch_core.ir.python_code import evaluate

        for part in expr.walk():
            if isinstance(part, (Index, Access, Modified)):
                return None
            if isinstance(part, Name) and part.name not in self.scalars:
                return None
        return evaluate(expr, self.scalars)

    # -- accesses that must agree -------------------------------------------------------

    def settle(self) -> None:
        """Propagate ranges between loops and declarations until nothing changes; then size a
        declaration that is still unknown by what is written to it."""
        before = None
        while before != (before := self.state()):
            for loop in self.open.values():
                self.range(loop)
            for place in self.places:
                self.take(place)
            if before == self.state():
                self.by_writes()

    def state(self) -> Any:
        return dict(self.loops), {key: tuple(sizes) for key, sizes in self.declares.items()}

    def range(self, loop: Loop, *, strict: bool = False) -> None:
        """The range of an inferred loop by its accesses. Raises
        ``DimensionMismatch`` if they differ and ``strict``."""
        said = [says for place in self.places for says in self.says(place, loop)]
        if any(self.cuts(place, loop) for place in self.places):
            said = [(a if a is None else max(a, 0), b if b is None else max(b, 0)) for a, b in said]
        by_sum = self.sums.get(id(loop))
        starts = sorted({start for start, _ in said if start is not None})
        stops = {stop for _, stop in said if stop is not None}
        starts = starts or [0 if by_sum is None else by_sum[0]]
        ends = sorted(stops if by_sum is None else stops | {by_sum[1]})
        if strict and (len(starts) != 1 or len(ends) != 1):
            ranges = [(start, end) for start in starts for end in ends]
            what = f"has ranges {ranges}" if ends else "has no range"
            raise DimensionMismatch(f"the index {loop.index.name!r} {what}", span=loop.span)
        if ends:
            self.loops[id(loop)] = starts[-1], ends[-1]

    def says(self, place: _IndexUse, loop: Loop) -> Iterator[tuple[int | None, int | None]]:
        """Where the index of ``loop`` begins and ends by one place."""
        found, size = self.shifted(place), self.size(place)
        if found is None or found[0] is not loop:
            return
        shift = found[1]
        if place.declare is not None and place.written:
            if isinstance(place.expr, Index):
                yield None if self.resized(place) else 0, size
        else:
            yield -shift, None if size is None else size - shift

    def cuts(self, place: _IndexUse, loop: Loop) -> bool:
        """Whether the index of ``loop`` writes a tensor as it is, and so begins at 0."""
        return (
            place.written and isinstance(place.expr, Index) and place.scope[place.expr.name] is loop
        )

    def take(self, place: _IndexUse) -> None:
        """Let a declared dimension be as long as the inferred loop that indexes it."""
        if self.resized(place) and self.size(place) is None and isinstance(place.expr, Index):
            found = self.loops.get(id(place.scope[place.expr.name]))
            if found is not None:
                self.declares[id(place.declare)][place.dim] = found[1]

    # -- written ranges -----------------------------------------------------------------

    def by_writes(self) -> None:
        """Size the first open dimension all of whose writes, if there are any, have known ends."""
        groups: dict[tuple[int, int], list[_IndexUse]] = {}
        for place in self.places:
            if self.resized(place) and self.size(place) is None and place.written:
                groups.setdefault((id(place.declare), place.dim), []).append(place)
        for (declare, dim), places in groups.items():
            ends = [self.end(place) for place in places if self.counts(place)]
            if ends and None not in ends:
                self.declares[declare][dim] = max(0, *ends)  # type: ignore[type-var]
                return

    def counts(self, place: _IndexUse) -> bool:
        """Whether a write tells the size: at a loop's index, shifted or not."""
        found = self.shifted(place)
        plain = isinstance(place.expr, Index)
        return found is not None and not (id(found[0]) in self.open and plain)

    def end(self, place: _IndexUse) -> int | None:
        """Up to where a write reaches."""
        loop, shift = self.shifted(place)  # type: ignore[misc]
        if loop.extent is not None and loop.extent.step is not None:
            range_ = self.range_of(loop, self.loops)
            stop = None if range_ is None else range_[1]
        elif loop.extent is not None:  # wherever it begins
            stop = self.greatest(loop.extent.stop, place.scope)
        else:
            stop = self.loops[id(loop)][1] if id(loop) in self.loops else None
        return None if stop is None else stop + shift

    def greatest(self, stop: Expr, scope: Mapping[str, Loop]) -> int | None:
        """The greatest end of a written range over all turns of the loops around it, if it is
        known before the program runs."""
        found = self.linear(stop)
        if found is None:
            return None
        total = found[1]
        for name, by in found[0].items():
            extent = self.range_of(scope[name], self.loops)
            if extent is None:
                return None
            total += by * (extent[1] - 1 if by > 0 else extent[0])
        return total

    def range_of(self, loop: Loop, loops: Mapping[int, Range]) -> Range | None:
        """The range of a loop, if it is known before the program runs."""
        if loop.extent is None:
            return loops.get(id(loop))
        start, stop, *step = map(self.known, loop.extent.children)
        if start is None or stop is None or None in step:
            return None
        if not step:
            return start, stop
        turns = -((start - stop) // step[0])  # type: ignore[operator]
        if step[0] < 0:  # type: ignore[operator]
            turns = max(turns, 0)  # upwards, a range without turns ends below its start
        last = start + (turns - 1) * step[0]  # type: ignore[operator]
        return (start, last + 1) if step[0] > 0 else (last, start + 1)  # type: ignore[operator]

    def check_write(self, place: _IndexUse) -> None:
        """Refuse a write over a range that ends beyond its dimension. Below it, a condition may
        keep the index inside: each access is checked where it is made."""
        declared = place.written and place.declare is not None
        found = self.shifted(place) if declared else None
        if found is None:
            return
        range_, size = self.range_of(found[0], self.loops), self.size(place)
        if range_ is None or size is None or range_[0] >= range_[1]:
            return
        if range_[1] + found[1] > size:
            name = found[0].index.name
            raise DimensionMismatch(
                f"{name!r} leaves {place.access.tensor}", span=place.access.span
            )

    # -- accesses at other sums ---------------------------------------------------------

    def by_sums(self) -> bool:
        """Set the first loop of unknown range by its accesses at affine indices, if any."""
        for loop in self.open.values():
            if id(loop) not in self.loops:
                found = [r for place in self.places for r in self.reached(place, loop)]
                if found:
                    start = max(first for first, _ in found)
                    if any(self.cuts(place, loop) for place in self.places):
                        start = max(start, 0)
                    self.sums[id(loop)] = start, max(start, min(last for _, last in found))
                    return True
        return False

    def reached(self, place: _IndexUse, loop: Loop) -> Iterator[Range]:
        """The range of an index in which one access stays within its dimension."""
        found, name = self.linear(place.expr), loop.index.name
        if found is None or self.shifted(place) or (place.written and self.resized(place)):
            return
        factor, size = found[0].get(name, 0), self.size(place)
        if not factor or place.scope[name] is not loop or size is None:
            return
        least = most = found[1]
        for other, by in found[0].items():
            extent = self.range_of(place.scope[other], self.firm)
            if other == name:
                continue
            if extent is None:
                return
            ends = [by * extent[0], by * (extent[1] - 1)][:: 1 if by > 0 else -1]
            least, most = least + ends[0], most + ends[1]
        room = size - 1 - most
        if factor > 0:
            yield -(least // factor), room // factor + 1
        else:
            yield -(room // -factor), least // -factor + 1

    # -- sizes that tensors have --------------------------------------------------------

    def by_size(self) -> bool:
        """Let the first declared dimension of unknown size keep its current size.

        Raises ``DimensionMismatch`` if nothing fixes it.
        """
        for key, sizes in self.declares.items():
            name = str(self.nodes[key].tensor)
            for dim, size in enumerate(sizes):
                if size is None:
                    sizes[dim] = self.shapes[name][dim]
                    unsized = name in self.sizeless and sizes[dim] == 0
                    if unsized and self.is_asked(key, dim):
                        span = self.nodes[key].span
                        raise DimensionMismatch(f"nothing fixes the size of {name!r}", span=span)
                    return True
        return False

    def is_asked(self, key: int, dim: int) -> bool:
        """Whether a declared dimension is written, or read at anything but the index of a written
        range."""
        return any(
            id(place.declare) == key and place.dim == dim
            and (place.written or not self.is_ranged(place.expr, place.scope))
            for place in self.places
        )  # fmt: skip

    def is_ranged(self, expr: Expr, scope: Mapping[str, Loop]) -> bool:
        """Whether this is the index of a loop with a written range."""
        return isinstance(expr, Index) and id(scope[expr.name]) not in self.open
