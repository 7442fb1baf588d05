"""Sums in lanes: partial sums side by side, which a compiler keeps in a vector.

    int64_t j_at = start;
    double s_lane[4] = {-0.0, -0.0, -0.0, -0.0};
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

Long loops begin with twice as many lanes. ``#pragma omp simd reduction`` would say the same in a
line, but its lanes are filled and drained through memory: too slow for loops of a few turns.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import attrs

from finch_backend_c import ctree as c
from finch_backend_c.operators import constant
from finch_backend_c.spelling import ctype
from finch_core import assembly as asm
from finch_core.dtypes import concrete
from finch_core.expressions import Literal, Var

if TYPE_CHECKING:
    from finch_backend_c.emitter import Emitter

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
    count = VECTOR // min(concrete(var.type).itemsize for var, _ in loop.lanes)
    at = c.Name(emitter.scope.fresh(loop.var.name + "_at"))
    type, name = ctype(concrete(loop.var.type)), emitter.scope.variable(loop.var.name)
    parts: list[c.Stmt] = [c.Declare(type, at.text, emitter.node(loop.start))]
    if _turns(loop) >= LONG * count:
        long = c.Binary(">=", c.Binary("-", stop, at), c.Number(str(LONG * count)))
        wide = _Stretch(emitter, loop, at, stop, 2 * count)
        parts.append(c.If(long, c.Block((*wide.filled(), *wide.drained()))))
    narrow = _Stretch(emitter, loop, at, stop, count)
    rest = c.For(type, name, at, stop, emitter.block(loop.body))
    return (*parts, *narrow.filled(), rest, *narrow.drained())


def _turns(loop: asm.For) -> int:
    """How many turns a loop takes at most."""
    if isinstance(loop.start, Literal) and isinstance(loop.stop, Literal):
        return int(loop.stop.value) - int(loop.start.value)
    return sys.maxsize


@attrs.define
class _Stretch:
    """The part of a loop, from ``at`` on, that fills ``count`` lanes again and again."""

    emitter: Emitter
    loop: asm.For
    at: c.Name
    stop: c.Expr
    count: int
    arrays: dict[Var, str] = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        fresh = self.emitter.scope.fresh
        self.arrays = {var: fresh(f"{var.name}_lane") for var, _ in self.loop.lanes}

    def filled(self) -> tuple[c.Stmt, ...]:
        last = c.Binary("-", self.stop, c.Number(str(self.count)))
        step = c.Assign(self.at, c.Number(str(self.count)), "+=")
        body = c.Block((self._one_turn(), step))
        return (*map(self._declared, self.arrays), c.While(c.Binary("<=", self.at, last), body))

    def drained(self) -> tuple[c.Stmt, ...]:
        return tuple(map(self._sum, self.arrays))

    def _one_turn(self) -> c.Stmt:
        """One turn of the loop in each lane."""
        loop, scope = self.loop, self.emitter.scope
        lane, type = c.Name(self.emitter.loop_name("k")), ctype(concrete(loop.var.type))
        here = c.Binary("+", self.at, lane)
        index = c.Declare(f"const {type}", scope.variable(loop.var.name), here)
        lanes = {v.name: c.Subscript(c.Name(array), lane) for v, array in self.arrays.items()}
        with self.emitter.replaced(lanes):
            body = c.Block((index, *self.emitter.block(loop.body).statements))
        zero, count = c.Number("0"), c.Number(str(self.count))
        return c.For(type, lane.text, zero, count, body, pragma="omp simd")

    def _operator(self, var: Var) -> tuple[str, float]:
        op = dict(self.loop.lanes)[var]
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
