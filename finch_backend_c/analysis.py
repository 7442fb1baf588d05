"""Use analysis: the buffers and variables that a kernel writes, grows, measures and assigns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from finch_core.ir import assembly as asm
from finch_core.ir.assembly_rewrite import read_names
from finch_core.ir.dtypes import INTP
from finch_core.ir.expressions import (
    Buffer,
    Expr,
    Invoke,
    Length,
    Literal,
    Load,
    Overlaps,
    Var,
)
from finch_core.ir.strides import stride_along, strides
from finch_core.locks import cached_property
from finch_core.records import frozen
from finch_core.symbolic.affine import linear

Params = tuple[Var | Buffer, ...]


@frozen(eq=False)
class Usage:
    """The uses in a block, including those in functions that it invokes."""

    body: asm.Block

    @cached_property
    def statements(self) -> tuple[asm.Statement, ...]:
        return tuple(self.body.walk())

    @cached_property
    def expressions(self) -> tuple[Expr, ...]:
        return tuple(e for s in self.statements for top in s.expressions for e in top.walk())

    @cached_property
    def assigned(self) -> frozenset[str]:
        """Names of variables that are assigned to."""
        return frozenset(s.var.name for s in self.statements if isinstance(s, asm.Assign))

    @cached_property
    def set_first(self) -> frozenset[str]:
        """Names of variables that are set before any read or exit from the block."""
        found: set[str] = set()
        seen: set[str] = set()
        for statement in self.body.statements:
            parts = tuple(statement.walk())
            seen |= {n for part in parts for e in part.expressions for n in read_names(e)}
            if any(isinstance(part, (asm.Fail, asm.Return, asm.Grow)) for part in parts):
                break
            if isinstance(statement, asm.Assign) and statement.var.name not in seen:
                found.add(statement.var.name)
            seen |= {part.var.name for part in parts if isinstance(part, asm.Assign)}
        return frozenset(found)

    @cached_property
    def grown(self) -> frozenset[str]:
        """Names of buffers that may be reallocated, or exchanged for others."""
        grown = {s.buffer.name for s in self.statements if isinstance(s, asm.Grow)}
        return frozenset(grown | self.swapped)

    @cached_property
    def allocates(self) -> bool:
        """Whether memory may run out."""
        return any(isinstance(s, asm.Grow) for s in self.statements)

    @cached_property
    def swapped(self) -> frozenset[str]:
        """Names of buffers that are exchanged."""
        swaps = [s for s in self.statements if isinstance(s, asm.Swap)]
        return frozenset(b.name for s in swaps for b in (s.first, s.second))

    @cached_property
    def stored(self) -> frozenset[str]:
        """Names of buffers whose elements are written, by invoked functions too."""
        direct = {b.name for s in self.statements for b in _written(s)}
        return frozenset(direct | {b.name for b in self._passed("stored")})

    @cached_property
    def overlapping(self) -> frozenset[str]:
        """Names of buffers that may alias: the kernel tests whether they overlap."""
        asked = [e for e in self.expressions if isinstance(e, Overlaps)]
        names = {buffer.name for e in asked for buffer in (e.first, e.second)}
        return frozenset(names | {b.name for b in self._passed("overlapping")})

    @cached_property
    def measured(self) -> frozenset[str]:
        """Names of buffers whose capacity is used."""
        names = {e.buffer.name for e in self.expressions if isinstance(e, Length)}
        names |= self.grown | self.overlapping
        return frozenset(names | {b.name for b in self._passed("measured")})

    @cached_property
    def used(self) -> frozenset[str]:
        """Names of variables and buffers that occur."""
        names: set[str] = set(self.assigned | self.stored | self.measured)
        for s in self.statements:
            if isinstance(s, asm.Move):
                names.add(s.source.name)
            if isinstance(s, asm.Prefetch):
                names.add(s.buffer.name)
        for e in self.expressions:
            names |= {item.name for item in _mentioned(e)}
        return frozenset(names)

    def _passed(self, property: str) -> Iterator[Buffer]:
        """Buffers passed to functions whose parameter has this property."""
        for e in self.expressions:
            if isinstance(e, Invoke):
                names = getattr(Usage(e.function.body), property)
                for param, arg in zip(e.function.params, e.args, strict=True):
                    if isinstance(arg, Buffer) and param.name in names:
                        yield arg


MANY = 10
"""C compilers test at run time that so many places that are read do not overlap what is written,
for more they give up."""


def independence(loop: asm.For, usage: Usage) -> str:
    """The pragma by which a C compiler learns that the turns of a loop are independent, where it
    cannot see that: each stores the next element of a buffer that may have been reallocated, and
    reads no other element of it. Empty where they are not, or the compiler sees it."""
    *before, last = loop.body.statements or (asm.Block(),)
    lets = [s for s in before if isinstance(s, asm.Let)]
    if isinstance(last, asm.If) and not last.orelse.statements and len(last.body.statements) == 1:
        (last,) = last.body.statements
    if not isinstance(last, asm.Store) or len(lets) < len(before):
        return ""
    buffer, inside = last.buffer.name, {loop.var.name} | {let.var.name for let in lets}
    if buffer not in usage.grown or buffer in usage.overlapping:
        return ""
    parts = Usage(loop.body).expressions
    loads = {e for e in parts if isinstance(e, Load)}
    own = {load for load in loads if load.buffer.name == buffer}
    if own == loads or any(load.index != last.index for load in own):
        return ""
    if any(isinstance(e, (Invoke, Length, Overlaps)) for e in parts):
        return ""
    if stride_along(last.index, loop.var, inside) != 1:
        return ""
    return "omp simd" if len(loads) > MANY else "GCC ivdep"


def is_nonnegative(e: Expr) -> bool:
    """Whether an expression is an element that is not negative, of a signed integer narrower than
    an index."""
    if not isinstance(e, Load) or not e.buffer.nonnegative:
        return False
    return e.buffer.dtype.kind == "i" and e.buffer.dtype.itemsize < INTP.itemsize


def nonnegative(usage: Usage) -> frozenset[str]:
    """Names of variables that hold such an element wherever they are declared."""
    lets = [s for s in usage.statements if isinstance(s, asm.Let)]
    found = {s.var.name for s in lets if _holds_nonnegative(s)}
    return frozenset(found - {s.var.name for s in lets if not _holds_nonnegative(s)})


def _holds_nonnegative(s: asm.Let) -> bool:
    return not s.mutable and s.var.type == s.value.dtype and is_nonnegative(s.value)


def _written(statement: asm.Statement) -> tuple[Buffer, ...]:
    if isinstance(statement, asm.Store | asm.Fill | asm.Sort):
        return (statement.buffer,)
    return (statement.target,) if isinstance(statement, asm.Move) else ()


def _mentioned(e: Expr) -> Iterable[Var | Buffer]:
    if isinstance(e, Var):
        return (e,)
    if isinstance(e, Invoke):
        return (arg for arg in e.args if isinstance(arg, Buffer))
    buffer = getattr(e, "buffer", None)
    return () if buffer is None else (buffer,)


def reads_windows(kernel: asm.Kernel) -> bool:
    """Whether an innermost loop reads elements of a buffer side by side in each turn, and none has
    lanes."""
    loops = [s for s in kernel.body.walk() if isinstance(s, asm.For)]
    innermost = (loop for loop in loops if not asm.contains(loop.body, asm.For, asm.While))
    return not any(loop.lanes for loop in loops) and any(map(_reads_window, innermost))


def _reads_window(loop: asm.For) -> bool:
    """Whether a loop reads a buffer at places a constant apart, which move on by an element a
    turn."""
    moving = {load for load, stride in strides(loop) if stride == 1}
    return len({(load.buffer, _variable(load.index)) for load in moving}) < len(moving)


def _variable(index: Expr) -> frozenset[tuple[int, Expr]]:
    """The terms of an index that are not constant."""
    return frozenset((by, term) for by, term in linear(index) if not isinstance(term, Literal))
