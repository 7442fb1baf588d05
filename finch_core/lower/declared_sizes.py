"""Which accesses may meet another size of their tensor than that of its last declaration.

    if m > 5:                             for t in range(3):
        u[...] = 0                            for i in _: x[i] += u[i]       # of the turn before
        for i in range(2): u[i] = 1           u[...] = 0
    for i in range(n): x[i] += u[i]           for j in range(2): u[j] += 1

A declaration *reaches* the statements behind it in its block, and what is inside of these. All
other accesses of a tensor that is declared in a branch or in a loop are *unsure*: the tensor may
have the size that it was passed with, or that of another declaration, unless all sizes are one.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from finch_core.interface.tensorlike import BoundTensor
from finch_core.ir.expressions import Access, Expr, Index
from finch_core.ir.program import Declare, Extent, Loop, Sieve, Stmt, While
from finch_core.lower.dimensions import Dim

Tensors = frozenset[BoundTensor]
Sizes = tuple[list[Dim], ...]
"""The classes of the dimensions of a tensor by each of some declarations."""
Place = tuple[Index, Extent]
"""A loop, by its index, and a dimension that it goes through."""


class DeclaredSizes:
    """Follows the statements of a program in order, and collects the accesses that are unsure."""

    def __init__(self, stmt: Stmt) -> None:
        self.unsure: Tensors = _inside(stmt) if isinstance(stmt, _NESTING) else _nested(stmt)
        """The tensors of whose size this statement knows nothing."""
        self.nests = bool(self.unsure)
        """Whether a branch or loop declares anything, which is rare."""
        self.declared: Tensors = frozenset()
        """The tensors of which some declaration has been executed before this statement."""
        self.reaching: dict[BoundTensor, Sizes] = {}
        """The sizes by the last declaration, by any of those that may have been the last."""
        self.latest: dict[BoundTensor, Sizes] = {}
        """Those by the declaration that is the last one in the text."""
        self.lasting = _lasting(stmt, self.unsure)
        """The tensors whose declarations may not change their size: they are accessed at the index
        of a loop that declares them, before or behind, so that no check before the loop would do.
        """
        self.places: dict[BoundTensor, dict[Place, bool]] = {}
        """The unsure accesses of each tensor, and whether some declaration precedes all of them."""

    def declare(self, tensor: BoundTensor, dims: list[Dim]) -> None:
        """Go on behind a declaration of these sizes."""
        self.unsure -= {tensor}
        self.declared |= {tensor}
        self.reaching[tensor] = self.latest[tensor] = (dims,)

    def sizes(self, tensor: BoundTensor | None) -> Sizes:
        """The sizes that an access may meet; none if it is only that which was passed."""
        if tensor is None:
            return ()
        found = self.reaching.get(tensor, ())
        return found if found or tensor not in self.unsure else self.latest.get(tensor, ())

    def access(self, node: Access) -> None:
        """Note an access."""
        tensor = node.tensor.root
        if tensor is None or tensor not in self.unsure:
            return
        found = self.places.setdefault(tensor, {})
        for index, extent in zip(node.indices, node.tensor.dims, strict=True):
            if not isinstance(index, Index) or extent is None:
                continue
            place = index, extent
            found[place] = found.get(place, True) and tensor in self.declared

    def to_check(self, stmt: Stmt) -> set[Place]:
        """The places to check where their loops begin; ``stmt`` has the sizes of declarations."""
        sizes: dict[BoundTensor, set[tuple[Extent | None, ...]]] = {}
        for part in stmt.walk():
            if isinstance(part, Declare):
                sizes.setdefault(part.tensor, set()).add(part.dims)
        found: set[Place] = set()
        for tensor, places in self.places.items():
            if len(sizes[tensor]) == 1:  # that it was passed with, or that of all declarations
                (dims,) = sizes[tensor]
                kept = all(extent is None for extent in dims)
                found |= {place for place, after in places.items() if not (kept or after)}
            else:
                found |= places.keys()
        return found


class Parts:
    """The parts of one statement: in those of a branch or a loop, declarations are theirs."""

    def __init__(self, state: DeclaredSizes, stmt: Stmt) -> None:
        self.state, self.stmt = state, stmt
        self.nests = state.nests and isinstance(stmt, _NESTING)
        self.inner: Tensors = _inside(stmt) if self.nests else frozenset()
        self.unsure, self.declared, self.before = state.unsure, state.declared, state.reaching
        self.ends: dict[BoundTensor, Sizes] = {}
        if isinstance(stmt, (Loop, While)):
            self.unsure |= self.inner

    @contextmanager
    def part(self) -> Iterator[None]:
        """Go through the next part."""
        state = self.state
        if not self.nests:
            yield
            return
        state.unsure, state.declared, state.reaching = self.unsure, self.declared, {**self.before}
        yield
        for tensor in self.inner:
            self.ends[tensor] = (*self.ends.get(tensor, ()), *state.reaching.get(tensor, ()))

    def leave(self) -> None:
        """Go on behind the statement."""
        if not self.nests:
            return
        state = self.state
        state.unsure, state.declared = self.unsure | self.inner, self.declared
        state.reaching = {**self.before}
        for tensor in self.inner:
            known = (*self.before.get(tensor, ()), *self.ends.get(tensor, ()))
            state.reaching[tensor] = tuple({id(dims): dims for dims in known}.values())


_NESTING = (Loop, While, Sieve)


def _inside(stmt: Stmt) -> Tensors:
    """The tensors that are declared in a statement."""
    return frozenset(part.tensor for part in stmt.walk() if isinstance(part, Declare))


def _nested(stmt: Stmt) -> Tensors:
    """The tensors that are declared in its branches and loops."""
    found: set[BoundTensor] = set()
    for body in stmt.bodies:
        found |= _inside(body) if isinstance(body, _NESTING) else _nested(body)
    return frozenset(found)


def _lasting(stmt: Stmt, unsure: Tensors) -> Tensors:
    found: set[BoundTensor] = set()
    if unsure:
        _add_lasting(stmt, unsure, {}, found)
    return frozenset(found)


def _add_lasting(
    stmt: Stmt, unsure: Tensors, within: dict[Index, Tensors], found: set[BoundTensor]
) -> Tensors:
    """Add the tensors of unsure accesses at the indices of loops, of which ``within`` tells what
    they declare; the tensors that are unsure behind the statement."""
    if isinstance(stmt, Declare):
        return unsure - {stmt.tensor}
    for node in (node for expr in stmt.exprs for node in expr.walk()):
        tensor = node.tensor.root if isinstance(node, Access) else None
        if tensor in unsure and any(tensor in within.get(index, ()) for index in _indices(node)):
            found.add(tensor)
    if not isinstance(stmt, _NESTING):
        for body in stmt.bodies:
            unsure = _add_lasting(body, unsure, within, found)
        return unsure
    inner = _inside(stmt)
    start = unsure if isinstance(stmt, Sieve) else unsure | inner
    if isinstance(stmt, Loop):
        within = {**within, stmt.index: inner}
    for body in stmt.bodies:
        _add_lasting(body, start, within, found)
    return unsure | inner


def _indices(node: Expr) -> Iterator[Index]:
    return (part for part in node.walk() if isinstance(part, Index))


__all__ = ["DeclaredSizes", "Parts"]
