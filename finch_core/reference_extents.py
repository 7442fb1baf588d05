"""The extents of a program's loops and the sizes of its outputs, by a rule of its own.

This is half of the test oracle, so it shares no code with the compiler's dimensionalization: it
works on the sizes of one call's arguments. An index is as long as the dimensions that it alone, or
shifted by a constant, reads (or updates in place); a declared tensor is as large as the loops that
write it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import attrs

from finch_core import primitives as prim
from finch_core.errors import DimensionMismatch
from finch_core.expressions import Access, Call, Expr, Index, Modified, Name
from finch_core.notation import Declare, Loop, Program, Stmt, Update
from finch_core.records import define

Range = tuple[int | None, int | None]
Sizes = list[int | None]


@define
class Extents:
    """What is found: ranges of inferred loops and sizes of declared tensors, by ``id`` of the
    statement. ``shapes`` are the tensors' own sizes, ``scalars`` the known run-time numbers.

    The program is walked until nothing new is learnt: a loop may get its range from an output that
    only a later loop sizes. What is still open then keeps its own size.
    """

    shapes: dict[str, tuple[int, ...]]
    scalars: dict[str, Any]
    fixed: frozenset[str] = frozenset()
    """Locals made with a shape."""
    loops: dict[int, tuple[int, int]] = attrs.field(factory=dict)
    declares: dict[int, Sizes] = attrs.field(factory=dict)
    sizes: dict[str, Sizes] = attrs.field(factory=dict)
    """Sizes as far as they are known at this point of the walk."""
    settled: set[str] = attrs.field(factory=set)
    """Tensors that no write resizes here: not declared, or locals with a shape."""
    strict: bool = False
    """Whether this is the last walk, in which every loop must get one range."""

    def find(self, program: Program) -> None:
        """Fill ``loops`` and ``declares``; raises ``DimensionMismatch``."""
        before = None
        while before != (before := self.round(program)):
            pass
        declares = [node for node in program.body.walk() if isinstance(node, Declare)]
        for node in declares:
            self.keep_own(self.declares[id(node)], str(node.tensor))
        self.strict = True
        self.round(program)

    def round(self, program: Program) -> tuple[Any, ...]:
        """Walk the program once; gives a copy of what is known."""
        self.sizes = {name: list(shape) for name, shape in self.shapes.items()}
        self.settled = set(self.shapes)
        self.walk(program.body, {})
        return dict(self.loops), {key: tuple(sizes) for key, sizes in self.declares.items()}

    def keep_own(self, sizes: Sizes, name: str) -> None:
        sizes[:] = [o if s is None else s for s, o in zip(sizes, self.shapes[name], strict=True)]

    def walk(self, node: Stmt, indices: dict[str, Range]) -> None:
        if isinstance(node, Declare):
            self.declare(node)
        elif isinstance(node, Loop):
            self.walk(node.body, {**indices, node.index.name: self.range(node)})
            return
        elif isinstance(node, Update):
            self.grow(node.target, indices)
        for body in node.bodies:
            self.walk(body, indices)

    def declare(self, node: Declare) -> None:
        name = str(node.tensor)
        self.sizes[name] = self.declared(node)
        if name not in self.fixed:
            self.settled.discard(name)

    def declared(self, node: Declare) -> Sizes:
        """The sizes of a declaration as far as they are known."""
        name = str(node.tensor)
        own = self.shapes[name]
        start: Sizes = list(own) if name in self.fixed else [None] * len(own)
        return self.declares.setdefault(id(node), start)

    def range(self, node: Loop) -> Range:
        if node.extent is not None:
            return self.known(node.extent.start), self.known(node.extent.stop)
        found = sorted(set(self.constraints(node)))
        if self.strict and len(found) != 1:
            what = f"ranges {found}" if found else "no range"
            raise DimensionMismatch(f"the index {node.index.name!r} has {what}", span=node.span)
        if not found:
            return None, None
        self.loops[id(node)] = found[-1]
        return found[-1]

    def constraints(self, loop: Loop) -> Iterator[tuple[int, int]]:
        """The ranges that the accesses below ``loop`` give its index."""
        inside: dict[str, Sizes] = {}
        for node in loop.body.walk():
            if isinstance(node, Declare):
                inside[str(node.tensor)] = self.declared(node)
            for access in accesses(node):
                sizes = self.sizes_of(access, inside)
                for size, expr in zip(sizes, access.indices, strict=True):
                    shifted = self.shifted(expr)
                    if shifted and shifted[1] and self.resized(node, access, inside):
                        continue
                    if shifted and shifted[0] == loop.index.name and size is not None:
                        yield -shifted[1], size - shifted[1]

    def resized(self, node: Stmt, access: Access, inside: Mapping[str, Sizes]) -> bool:
        """Whether ``access`` is a write to a declared tensor, which is sized by it."""
        name = str(access.tensor)
        written = isinstance(node, Update) and access is node.target
        return written and name not in self.fixed and (name in inside or name not in self.settled)

    def sizes_of(self, access: Access, inside: Mapping[str, Sizes]) -> Sizes:
        """The sizes of an accessed tensor, by ``inside`` first; raises where the number of indices
        is another."""
        name = str(access.tensor)
        sizes = inside[name] if name in inside else self.sizes[name]
        if len(access.indices) != len(sizes):
            raise DimensionMismatch(
                f"{name!r} has {len(sizes)} dimensions, not {len(access.indices)}",
                span=access.span,
            )
        return sizes

    def grow(self, target: Access, indices: dict[str, Range]) -> None:
        """Size a declared tensor to the loops of its write indices."""
        name, sizes = str(target.tensor), self.sizes_of(target, self.sizes)
        for dim, expr in enumerate(target.indices):
            shifted = self.shifted(expr)
            stop = indices.get(shifted[0], (None, None))[1] if shifted else None
            if shifted is not None and stop is not None and name not in self.settled:
                sizes[dim] = max(sizes[dim] or 0, stop + shifted[1])

    def shifted(self, expr: Expr) -> tuple[str, int] | None:
        """``(i, c)`` for an index ``i + c`` with a known ``c``; a permissive one says nothing."""
        if isinstance(expr, Modified):
            return None if expr.modifier == "permissive" else self.shifted(expr.index)
        if isinstance(expr, Index):
            return expr.name, 0
        if isinstance(expr, Call) and expr.op in (prim.add, prim.sub):
            first, second = expr.args
            if expr.op is prim.add and self.known(first) is not None:
                first, second = second, first
            base, shift = self.shifted(first), self.known(second)
            if base and shift is not None:
                return base[0], base[1] + (shift if expr.op is prim.add else -shift)
        return None

    def known(self, expr: Expr) -> int | None:
        """The value of an expression over run-time scalars alone."""
        from finch_core.reference_code import evaluate

        for part in expr.walk():
            if isinstance(part, (Index, Access, Modified)):
                return None
            if isinstance(part, Name) and part.name not in self.scalars:
                return None
        return int(evaluate(expr, self.scalars))


def accesses(node: Stmt) -> Iterator[Access]:
    """The accesses of a statement's own expressions, outer ones first."""
    for expr in node.exprs:
        for part in expr.walk():
            if isinstance(part, Access):
                yield part
