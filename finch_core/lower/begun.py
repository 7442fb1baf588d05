"""What is known when a loop over a stated range begins: for checks that are made then."""

from __future__ import annotations

from collections.abc import Callable

from finch_core.ir.expressions import Access, Call, Expr, Index, Literal, Name, Var
from finch_core.ir.program import Loop
from finch_core.ir.rewrite import replaced
from finch_core.locks import cached_property
from finch_core.lower.changes import Changes
from finch_core.lower.index_conditions import bound_of_loop, is_int64, terms_of
from finch_core.records import define, field


@define
class Begun:
    """A loop over a stated range, and what is known when it begins."""

    loop: Loop
    given: frozenset[Expr]
    """The indices and names that statements around the loop bind."""
    bounds: dict[Expr, Var] = field(factory=dict)
    """The values of this kind with which conditions compare, and what stands for them."""

    @cached_property
    def changes(self) -> Changes:
        return Changes.of((self.loop.body,))

    @cached_property
    def read(self) -> frozenset[Expr]:
        """What the range reads: it is there when the loop begins."""
        assert self.loop.extent is not None
        return frozenset(node for node in self.loop.extent.walk() if isinstance(node, Access))

    def is_known(self, expr: Expr) -> bool:
        """Whether a value is known when the loop begins, without a look at memory that the program
        may have a condition for, and does not change while it runs."""
        for node in expr.walk():
            if isinstance(node, (Index, Name)) and node not in self.given:
                return False
            if isinstance(node, Access) and node.indices and node not in self.read:
                return False
        return self.changes.keep(expr)

    def or_known(self, known: Callable[[Expr], bool]) -> Callable[[Expr], bool]:
        """Whether a value is known then, or before the program runs."""
        return lambda expr: known(expr) or self.is_known(expr)

    def at_start(self, cond: Call, known: Callable[[Expr], bool]) -> Call:
        """A comparison in which what is known when the loop begins, not before, has names."""
        meant: dict[Expr, Expr] = {}
        for side in cond.args:
            for _, part in terms_of(side):
                if part == self.loop.index or isinstance(part, Literal) or known(part):
                    continue
                if is_int64(part) and self.is_known(part):
                    name = bound_of_loop(len(self.bounds))
                    meant[part] = self.bounds.setdefault(part, name)
        found = replaced(cond, meant) if meant else cond
        assert isinstance(found, Call)
        return found


__all__ = ["Begun"]
