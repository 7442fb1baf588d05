"""What names stand for while a function is emitted, and what memory they reach."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations
from typing import Any

import attrs

from finch_backend_llvm.code import Code
from finch_backend_llvm.values import DType, Tag, Value, no_tag
from finch_core.ir.assembly import Kernel, Record, Swap
from finch_core.ir.expressions import Buffer, Expr, Overlaps


@attrs.frozen(eq=False)
class Variable:
    """A mutable variable: a stack slot, which LLVM promotes to a register."""

    room: Any

    def get(self, c: Code) -> Value:
        return c.get(self.room)


@attrs.frozen(eq=False)
class Memory:
    """A buffer: its address and capacity, each a value or, where it grows, a ``Variable``.

    ``owned`` says whether this call allocated it; ``tag`` puts on an access what it cannot alias;
    ``home`` is where the record says where it is.
    """

    dtype: DType
    address: Any
    capacity: Any
    owned: Variable | None = None
    tag: Tag = no_tag
    home: Any = None

    def base(self, c: Code) -> Value:
        return self.address.get(c) if self.owned else self.address

    def length(self, c: Code) -> Value:
        return self.capacity.get(c) if self.owned else self.capacity


def buffers(kernel: Kernel) -> list[Buffer]:
    """The buffers of a kernel's records, in order."""
    slots = [s for p in kernel.params if isinstance(p, Record) for s in p.slots]
    return [slot.target for slot in slots if isinstance(slot.target, Buffer)]


def tags(module: Any, kernel: Kernel) -> dict[str, Tag]:
    """How accesses to each buffer are marked: buffers share no memory, but for those of which the
    kernel itself asks whether they overlap."""
    names = [buffer.name for buffer in buffers(kernel)]
    if len(names) < 2:
        return {}
    overlapping = _asked(kernel)
    domain = module.add_metadata(["finch"])
    scopes = {name: module.add_metadata([f"buffer {name}", domain]) for name in names}
    found = {}
    for name in names:
        others = [scopes[n] for n in names if n != name and frozenset((n, name)) not in overlapping]
        found[name] = _tag(module.add_metadata([scopes[name]]), module.add_metadata(others))
    return found


def _tag(own: Any, others: Any) -> Tag:
    def tag(instruction: Any) -> None:
        instruction.set_metadata("alias.scope", own)
        instruction.set_metadata("noalias", others)

    return tag


def _asked(kernel: Kernel) -> set[frozenset[str]]:
    """Pairs of names of buffers that may overlap, or be exchanged."""
    swaps = [s for s in kernel.body.walk() if isinstance(s, Swap)]
    exchanged = {buffer.name for s in swaps for buffer in (s.first, s.second)}
    found = {frozenset(pair) for pair in combinations(exchanged, 2)}
    seen: set[int] = set()

    def visit(exprs: Iterable[Expr]) -> None:
        for expr in exprs:
            if id(expr) in seen:
                continue
            seen.add(id(expr))
            if isinstance(expr, Overlaps):
                found.add(frozenset((expr.first.name, expr.second.name)))
            visit(expr.children)

    for statement in kernel.body.walk():
        visit(statement.expressions)
    return found
