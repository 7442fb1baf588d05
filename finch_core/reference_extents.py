"""The extents of a program's loops and the sizes of its outputs, by a rule of its own.

This is half of the test oracle, so it shares no code with the compiler's dimensionalization: it
works on the sizes of one call's arguments. An index is as long as the dimensions that it alone, or
shifted by a constant, reads (or updates in place); a declared tensor is as large as the loops that
write it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs

from finch_core import primitives as prim
from finch_core.errors import DimensionMismatch
from finch_core.expressions import Access, Call, Expr, Index, Modified, Name
from finch_core.notation import Declare, Loop, Program, Stmt, Update

Range = tuple[int | None, int | None]


@attrs.define
class Extents:
    """What is found: ranges of inferred loops and sizes of declared tensors, by ``id`` of the
    statement. ``shapes`` are the tensors' own sizes, ``scalars`` the known run-time numbers."""

    shapes: dict[str, tuple[int, ...]]
    scalars: dict[str, Any]
    fixed: frozenset[str] = frozenset()
    """Locals made with a shape."""
    loops: dict[int, tuple[int, int]] = attrs.field(factory=dict)
    declares: dict[int, list[int | None]] = attrs.field(factory=dict)
    sizes: dict[str, list[int | None]] = attrs.field(factory=dict)
    """Sizes as far as they are known at this point of the walk."""
    settled: set[str] = attrs.field(factory=set)
    """Tensors that no write resizes here: not declared, or locals with a shape."""

    def find(self, program: Program) -> None:
        """Walk the program once; raises ``DimensionMismatch``."""
        self.sizes = {name: list(shape) for name, shape in self.shapes.items()}
        self.settled = set(self.shapes)
        self.walk(program.body, {})
        for node in program.body.walk():
            if isinstance(node, Declare):
                sizes = self.declares[id(node)]
                own = self.shapes[str(node.tensor)]
                sizes[:] = [o if s is None else s for s, o in zip(sizes, own, strict=True)]

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
        own = self.shapes[name]
        sizes: list[int | None] = list(own) if name in self.fixed else [None] * len(own)
        if name not in self.fixed:
            self.settled.discard(name)
        self.sizes[name] = self.declares[id(node)] = sizes

    def range(self, node: Loop) -> Range:
        if node.extent is not None:
            return self.known(node.extent.start), self.known(node.extent.stop)
        found = sorted(set(self.constraints(node)))
        if len(found) != 1:
            what = f"ranges {found}" if found else "no range"
            raise DimensionMismatch(f"the index {node.index.name!r} has {what}", span=node.span)
        self.loops[id(node)] = found[0]
        return found[0]

    def constraints(self, loop: Loop) -> Iterator[tuple[int, int]]:
        """The ranges that the accesses below ``loop`` give its index."""
        nodes = list(loop.body.walk())
        inside = {str(node.tensor) for node in nodes if isinstance(node, Declare)}
        for node in nodes:
            for access in accesses(node):
                if str(access.tensor) in inside:
                    continue
                is_target = isinstance(node, Update) and access is node.target
                for size, expr in zip(self.known_sizes(access, is_target), access.indices,
                                      strict=True):  # fmt: skip
                    shifted = self.shifted(expr)
                    if shifted and shifted[0] == loop.index.name and size is not None:
                        yield -shifted[1], size - shifted[1]

    def known_sizes(self, access: Access, is_target: bool) -> list[int | None]:
        """The sizes of an accessed tensor; one that is read has its own where no write fixed it."""
        name = str(access.tensor)
        sizes, own = self.sizes[name], self.shapes[name]
        if len(access.indices) != len(own):
            raise DimensionMismatch(
                f"{name!r} has {len(own)} dimensions, not {len(access.indices)}", span=access.span
            )
        if is_target:
            return sizes
        return [o if s is None else s for s, o in zip(sizes, own, strict=True)]

    def grow(self, target: Access, indices: dict[str, Range]) -> None:
        """Size a declared tensor to the loops of its write indices."""
        name, sizes = str(target.tensor), self.known_sizes(target, True)
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
