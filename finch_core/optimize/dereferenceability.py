"""Dereferenceability: which loads are safe to execute even if the loop around them does not run.

A place (an element of a buffer) is known to exist if its index is computed from variables of
enclosing loops (levels assemble all positions that a loop runs over), or if the program
certainly accesses it nearby.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from finch_core.ir.assembly import Fill, For, Let, Statement
from finch_core.ir.assembly_rewrite import certain, read_names
from finch_core.ir.assembly_text import expr_text
from finch_core.ir.expressions import Call, Cast, Expr, Literal, Load, Var
from finch_core.records import define, field

_LONG = 24


def place_name(place: Load) -> str:
    """A name for the value at ``place``: ``y_val_i`` for ``y_val[i]``."""
    index = re.sub(r"\W+", "_", expr_text(place.index)).strip("_")
    return f"{place.buffer.name}_{index}" if len(index) <= _LONG else place.buffer.name


@define
class Places:
    """The places known to exist at a point of the program. Capacity never shrinks: facts stay
    true."""

    assigned: frozenset[str]
    grounded: set[str] = field(factory=set)
    """Variables of enclosing loops, and variables computed from those alone."""
    declared: set[str] = field(factory=set)
    known: set[Load] = field(factory=set)
    filled: list[Fill] = field(factory=list)

    def inside(self, statement: Statement) -> Places:
        """The facts at the start of a block of ``statement``."""
        inner = Places(
            self.assigned, set(self.grounded), set(self.declared), set(self.known),
            list(self.filled),
        )  # fmt: skip
        if isinstance(statement, For) and not statement.loose:
            inner.grounded.add(statement.var.name)
        if isinstance(statement, For):
            inner.declared.add(statement.var.name)
        inner.access(statement)
        return inner

    def exists(self, place: Load) -> bool:
        """Whether ``place`` is memory that may be read and written at this point."""
        if place.buffer.name in self.assigned:
            return False
        return self.is_certain(place) or self._is_grounded(place.index)

    def is_certain(self, place: Load) -> bool:
        """Whether ``place`` has certainly been accessed before this point."""
        if place.buffer.name in self.assigned:
            return False
        return place in self.known or self._is_filled(place)

    def is_loop_variable(self, index: Expr) -> bool:
        """Whether ``index`` is exactly the variable of an enclosing loop."""
        return isinstance(index, Var) and index.name in self.grounded

    def after(self, statement: Statement) -> None:
        """Update the facts with what ``statement`` declares and accesses."""
        if isinstance(statement, Let):
            self.declared.add(statement.var.name)
            if self._is_grounded(statement.value) and statement.var.name not in self.assigned:
                self.grounded.add(statement.var.name)
        elif isinstance(statement, Fill):
            self.filled.append(statement)
        self.access(statement)

    def access(self, *statements: Statement) -> None:
        """Record the places that ``statements`` certainly access."""
        self.known |= self.accessed(statements)

    def accessed(self, statements: Iterable[Statement]) -> set[Load]:
        """The places that ``statements`` certainly access and whose index never changes."""
        return {p for p in certain(statements) if isinstance(p, Load) and self._is_fixed(p.index)}

    def _is_fixed(self, index: Expr) -> bool:
        return _is_arithmetic(index) and self.assigned.isdisjoint(read_names(index))

    def _is_grounded(self, index: Expr) -> bool:
        names = read_names(index)
        constants = names - self.declared - self.assigned
        return (
            _is_arithmetic(index)
            and bool(names & self.grounded)
            and not names - self.grounded - constants
        )

    def _is_filled(self, place: Load) -> bool:
        return any(
            fill.buffer == place.buffer and _covers(fill, place.index) for fill in self.filled
        )


def _is_arithmetic(index: Expr) -> bool:
    return all(isinstance(part, (Var, Literal, Call, Cast)) for part in index.walk())


def _covers(fill: Fill, index: Expr) -> bool:
    ends = (fill.start, index, fill.stop)
    if not all(isinstance(end, Literal) for end in ends):
        return False
    start, at, stop = (end.value for end in ends if isinstance(end, Literal))
    return bool(start <= at < stop)
