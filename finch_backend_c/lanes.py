"""Sums in lanes: partial sums side by side, which a compiler keeps in a vector.

    int64_t j_at = start;
    double s_lane[4] = {-0.0, -0.0, -0.0, -0.0};
    if (j_at < stop)
        while (j_at <= stop - 4) {
            #pragma omp simd
            for (int64_t k = 0; k < 4; k++) {
                const int64_t j = j_at + k;
                s_lane[k] += a[j] * x[j];
            }
            j_at += 4;
        }
    for (int64_t j = j_at; j < stop; j++) s += a[j] * x[j];
    s += s_lane[0] + s_lane[1] + (s_lane[2] + s_lane[3]);

The first test is for loops without turns, of which ``stop - 4`` may wrap. Long loops begin with
twice as many lanes. ``#pragma omp simd reduction`` would say the same in a line, but its lanes are
filled and drained through memory: too slow for loops of a few turns.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import attrs

from finch_backend_c import ctree as c
from finch_backend_c.operators import constant
from finch_backend_c.spelling import ctype
from finch_core import assembly as asm
from finch_core.assembly_rewrite import changed_names, own_changes, read_names
from finch_core.dtypes import concrete
from finch_core.expressions import Literal, Var

if TYPE_CHECKING:
    from finch_backend_c.emitter import Emitter

Reductions = tuple[tuple[Var, Any], ...]
"""What ``For.lanes`` is."""

VECTOR = 32
"""Bytes of a variable's lanes: one vector, or two of half the length."""
LONG = 32
"""Vectors from which a loop begins with twice as many lanes."""

_OPERATORS = {"add": ("+", -0.0), "mul": ("*", 1.0)}
"""C's operator, and what lanes start from: the number that changes none, nor its sign."""


def permitted(loop: asm.For) -> bool:
    """Whether the loop permits lanes, and does nothing but reduce the variables that have them."""
    variables = {var for var, op in loop.lanes if getattr(op, "name", op) in _OPERATORS}
    return bool(variables) and all(
        isinstance(s, (asm.Let, asm.Comment)) or (isinstance(s, asm.Assign) and s.var in variables)
        for s in loop.body.walk()
    )


def in_lanes(emitter: Emitter, loop: asm.For, stop: c.Expr) -> tuple[c.Stmt, ...]:
    """A loop whose lanes are ``permitted``; ``stop`` may be evaluated again and again."""
    at = c.Name(emitter.scope.fresh(loop.var.name + "_at"))
    start = c.Declare(ctype(concrete(loop.var.type)), at.text, emitter.node(loop.start))
    kept = emitter.kept.get(loop.lanes)
    if kept is not None:
        return (start, kept.filled(loop, at, stop), _rest(emitter, loop, at, stop))
    count = _count(loop.lanes)
    narrow = Lanes(emitter, loop.lanes, count)
    parts: list[c.Stmt] = [start]
    if _turns(loop) >= LONG * count:
        enough = c.Binary(">=", c.Binary("-", stop, at), c.Number(str(LONG * count)))
        long = c.Binary("&&", c.Binary("<", at, stop), enough)
        wide = Lanes(emitter, loop.lanes, 2 * count)
        body = (*wide.declared(), wide.filled(loop, at, stop), *wide.drained())
        parts.append(c.If(long, c.Block(body)))
    parts += [*narrow.declared(), narrow.filled(loop, at, stop), _rest(emitter, loop, at, stop)]
    return (*parts, *narrow.drained())


def _rest(emitter: Emitter, loop: asm.For, at: c.Expr, stop: c.Expr) -> c.Stmt:
    """The turns that are left, one by one."""
    type, name = ctype(concrete(loop.var.type)), emitter.scope.variable(loop.var.name)
    return c.For(type, name, at, stop, emitter.block(loop.body))


def _turns(loop: asm.For) -> int:
    """How many turns a loop takes at most."""
    if isinstance(loop.start, Literal) and isinstance(loop.stop, Literal):
        return int(loop.stop.value) - int(loop.start.value)
    return sys.maxsize


def _count(reductions: Reductions) -> int:
    return VECTOR // min(concrete(var.type).itemsize for var, _ in reductions)


# -- around other loops -----------------------------------------------------------------------


def kept_around(emitter: Emitter, loop: asm.For | asm.While) -> tuple[Lanes, ...]:
    """Lanes that stay filled from one turn of ``loop`` to the next.

    Draining them costs as much as some turns: too much where the loops within are short. So where
    their lengths are data, and nothing else in ``loop`` has to do with the variables, the lanes are
    drained behind it.
    """
    inside = [s for s in loop.walk() if isinstance(s, asm.For) and permitted(s)]
    found = dict.fromkeys(inner.lanes for inner in inside if inner is not loop)
    changed = changed_names(*loop.body.statements)
    kept = []
    for reductions in found:
        names = {var.name for var, _ in reductions}
        bounds = {
            name for s in inside if s.lanes == reductions for e in s.expressions
            for name in read_names(e)
        }  # fmt: skip
        if (
            reductions not in emitter.kept
            and bounds & changed
            and not names & _names_around(loop, reductions)
        ):
            kept.append(Lanes(emitter, reductions, _count(reductions)))
    return tuple(kept)


def _names_around(loop: asm.For | asm.While, reductions: Reductions) -> set[str]:
    """Names of all that ``loop`` has to do with but for the loops with these reductions."""
    names: set[str] = set()
    pending: list[asm.Statement] = [loop]
    while pending:
        statement = pending.pop()
        names |= own_changes(statement).union(*map(read_names, statement.expressions))
        if not (isinstance(statement, asm.For) and statement.lanes == reductions):
            pending += [s for block in statement.blocks for s in block.statements]
    return names


@attrs.define
class Lanes:
    """Arrays with ``count`` lanes for each of some variables."""

    emitter: Emitter
    reductions: Reductions
    count: int
    arrays: dict[Var, str] = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        fresh = self.emitter.scope.fresh
        self.arrays = {var: fresh(f"{var.name}_lane") for var, _ in self.reductions}

    def declared(self) -> tuple[c.Stmt, ...]:
        return tuple(map(self._declared, self.arrays))

    def filled(self, loop: asm.For, at: c.Expr, stop: c.Expr) -> c.Stmt:
        """As many turns of the loop, from ``at`` on, as fill all lanes."""
        last = c.Binary("-", stop, c.Number(str(self.count)))
        step = c.Assign(at, c.Number(str(self.count)), "+=")
        turns = c.While(c.Binary("<=", at, last), c.Block((self._one_turn(loop, at), step)))
        return c.If(c.Binary("<", at, stop), c.Block((turns,)))

    def drained(self) -> tuple[c.Stmt, ...]:
        return tuple(map(self._sum, self.arrays))

    def _one_turn(self, loop: asm.For, at: c.Expr) -> c.Stmt:
        """One turn of the loop in each lane."""
        lane, type = c.Name(self.emitter.loop_name("k")), ctype(concrete(loop.var.type))
        name = self.emitter.scope.variable(loop.var.name)
        index = c.Declare(f"const {type}", name, c.Binary("+", at, lane))
        lanes = {v.name: c.Subscript(c.Name(array), lane) for v, array in self.arrays.items()}
        with self.emitter.replaced(lanes):
            body = c.Block((index, *self.emitter.block(loop.body).statements))
        zero, count = c.Number("0"), c.Number(str(self.count))
        return c.For(type, lane.text, zero, count, body, pragma="omp simd")

    def _operator(self, var: Var) -> tuple[str, float]:
        op = dict(self.reductions)[var]
        return _OPERATORS[getattr(op, "name", op)]

    def _declared(self, var: Var) -> c.Stmt:
        dtype, (_, identity) = concrete(var.type), self._operator(var)
        items = (constant(identity, dtype).node,) * self.count
        return c.Declare(ctype(dtype), f"{self.arrays[var]}[{self.count}]", c.Initializer(items))

    def _sum(self, var: Var) -> c.Stmt:
        """All lanes into the variable: in pairs, so that few wait for others."""
        op, array = self._operator(var)[0], c.Name(self.arrays[var])
        parts: list[c.Expr] = [c.Subscript(array, c.Number(str(k))) for k in range(self.count)]
        while len(parts) > 1:
            parts = [c.Binary(op, a, b) for a, b in zip(parts[::2], parts[1::2], strict=True)]
        return c.Assign(self.emitter.node(var), parts[0], op + "=")
