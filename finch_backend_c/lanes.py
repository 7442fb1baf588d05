"""Vectorised reductions: partial results in lanes, an array that the compiler keeps in a vector
register.

    int64_t j_at = start;
    if (j_at < stop) {
        double s_lane[4] = {-0.0, -0.0, -0.0, -0.0};
        while (j_at <= stop - 4) {
            #pragma omp simd
            for (int64_t k = 0; k < 4; k++) {
                const int64_t j = j_at + k;
                s_lane[k] += a[j] * x[j];
            }
            j_at += 4;
        }
        for (int64_t k = 0; k < 4; k++) s += s_lane[k];
        if (j_at <= stop - 2) {
            for (int64_t k = 0; k < 2; k++) {
                const int64_t j = j_at + k;
                s += a[j] * x[j];
            }
            j_at += 2;
        }
        if (j_at < stop) s += a[j_at] * x[j_at];
    }

The first test is for loops without iterations, for which ``stop - 4`` may wrap. Long loops begin
with four times as many lanes. ``#pragma omp simd reduction`` is shorter, but initialises and
reduces its lanes through memory, which is too slow for loops of few iterations.

A loop with indirect loads has lanes only if it is long. Its loads are made one by one before the
vector loop, which would otherwise use gather instructions:

    double x_lane[4];
    for (int64_t k = 0; k < 4; k++) x_lane[k] = x[idx[q_at + k]];
    #pragma omp simd
    for (int64_t k = 0; k < 4; k++) s_lane[k] += a[q_at + k] * x_lane[k];

A loop that also stores has lanes if it is long; the remaining iterations are made one by one.

Sums and products of contiguous elements of one dtype have vectors for lanes (``registers``).
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from finch_backend_c import ctree as c
from finch_backend_c.operators import Value, constant, operate
from finch_backend_c.registers import Reductions, Registers, in_registers, lasting, terms
from finch_backend_c.spelling import ctype
from finch_core.ir import assembly as asm
from finch_core.ir.assembly_rewrite import Substitution, changed_names, own_changes, read_names
from finch_core.ir.dtypes import concrete
from finch_core.ir.expressions import Expr, Literal, Load, Var
from finch_core.ir.strides import LONG_GATHER, scattered, strides
from finch_core.records import define, field

if TYPE_CHECKING:
    from finch_backend_c.analysis import Usage
    from finch_backend_c.emitter import Emitter

VECTOR = 32
"""Bytes of a variable's lanes: one vector register, or two of half the length."""
WIDE = 4
"""The factor by which long loops have more lanes, to hide the latency of additions."""
LONG = 16
"""A loop of at least this many vectors is long."""
LOADED = 2
"""The factor by which loops with indirect loads have more lanes."""
CHAINS = 4
"""The number of lanes that are reduced one by one; other lanes are first added to these."""
FEW = 8
"""Up to this many lanes have their initial values written out."""

_IDENTITIES = {
    "add": -0.0, "mul": 1.0, "min": math.inf, "max": -math.inf, "minimum": math.inf,
    "maximum": -math.inf,
}  # fmt: skip
"""The initial value of an operator's lanes: its identity, which keeps signs of zeros, too."""


def _name(op: Any) -> str:
    """An operator's name; assembly may have the name alone."""
    return str(getattr(op, "name", op))


def permitted(loop: asm.For, usage: Usage) -> bool:
    """Whether the loop permits lanes, and consists of reductions into their variables and of
    stores to memory of which ``usage`` has no other names."""
    variables = {var for var, op in loop.lanes if _name(op) in _IDENTITIES}
    if not variables:
        return False
    stores = False
    for s in loop.body.walk():
        stores = stores or isinstance(s, asm.Store)
        if isinstance(s, asm.Assign) and s.var not in variables:
            return False
        if not isinstance(s, (asm.Let, asm.Comment, asm.Assign, asm.Store)):
            return False
    return not stores or not usage.overlapping & (changed_names(loop) | _loaded(loop))


def _loaded(loop: asm.For) -> set[str]:
    return {load.buffer.name for load, _ in strides(loop)}


def in_lanes(emitter: Emitter, loop: asm.For, stop: c.Expr) -> tuple[c.Stmt, ...]:
    """Emit a loop with lanes; ``stop`` must be cheap to evaluate repeatedly."""
    loads, kept = scattered(loop), emitter.kept.get(loop.lanes)
    stores = asm.contains(loop.body, asm.Store)
    found = () if loads or stores or isinstance(kept, Lanes) else terms(emitter, loop)
    if found:
        return in_registers(emitter, loop, found, stop, _turns(loop))
    at = c.Name(emitter.scope.fresh(loop.var.name + "_at"))
    start = c.Declare(ctype(concrete(loop.var.type)), at.text, emitter.node(loop.start))
    count = _count(loop.lanes)
    if loads:
        lanes = Lanes(emitter, loop.lanes, LOADED * count, loads)
        return start, *_if_long(lanes, loop, at, stop, LONG_GATHER)
    if stores:
        lanes = Lanes(emitter, loop.lanes, WIDE * count)
        return start, *_if_long(lanes, loop, at, stop, 2 * WIDE * count)
    parts: list[c.Stmt] = []
    if kept is None:
        parts += _begun(emitter, loop, at, stop, count)
        parts += Lanes(emitter, loop.lanes, count).whole(loop, at, stop)
    else:
        assert isinstance(kept, Lanes), "all loops with the same reductions have the same lanes"
        parts.append(kept.filled(loop, at, stop))
    parts += _rest(emitter, loop, at, stop, count)
    return start, c.If(c.Binary("<", at, stop), c.Block(tuple(parts)))


def _if_long(
    lanes: Lanes, loop: asm.For, at: c.Expr, stop: c.Expr, least: int
) -> tuple[c.Stmt, ...]:
    """A loop in lanes if it has at least so many iterations; the remaining ones are scalar."""
    emitter = lanes.emitter
    enough = c.Binary("&&", c.Binary("<", at, stop), _at_least(least, at, stop))
    type, name = ctype(concrete(loop.var.type)), emitter.scope.variable(loop.var.name)
    one_by_one = c.For(type, name, at, stop, emitter.block(loop.body))
    return c.If(enough, c.Block(lanes.whole(loop, at, stop))), one_by_one


def _begun(
    emitter: Emitter, loop: asm.For, at: c.Expr, stop: c.Expr, count: int
) -> tuple[c.Stmt, ...]:
    """The iterations of a long loop that fill a multiple of ``count`` lanes."""
    if _turns(loop) < LONG * count:
        return ()
    wide = Lanes(emitter, loop.lanes, WIDE * count)
    long = _at_least(LONG * count, at, stop)
    return (c.If(long, c.Block(wide.whole(loop, at, stop))),)


def _rest(
    emitter: Emitter, loop: asm.For, at: c.Expr, stop: c.Expr, count: int
) -> tuple[c.Stmt, ...]:
    """The remaining iterations, fewer than ``count``: by halving, without a loop."""
    parts: list[c.Stmt] = []
    while count > 2:
        count //= 2
        turns = c.Block((_turn(emitter, loop, at, count), _moved(at, count)))
        parts.append(c.If(_at_most(at, stop, count), turns))
    index = c.Declare(
        f"const {ctype(concrete(loop.var.type))}", emitter.scope.variable(loop.var.name), at
    )
    last = c.Block((index, *emitter.block(loop.body).statements))
    return (*parts, c.If(c.Binary("<", at, stop), last))


def _turn(
    emitter: Emitter,
    loop: asm.For,
    at: c.Expr,
    count: int,
    lanes: Mapping[str, str] | None = None,
    body: asm.Block | None = None,
    pragma: str = "",
) -> c.For:
    """``count`` iterations of a loop, or of another ``body``, where the variables of ``lanes`` are
    elements of arrays."""
    k, type = c.Name(emitter.loop_name("k")), ctype(concrete(loop.var.type))
    name = emitter.scope.variable(loop.var.name)
    index = c.Declare(f"const {type}", name, c.Binary("+", at, k))
    with emitter.replaced({v: c.Subscript(c.Name(a), k) for v, a in (lanes or {}).items()}):
        statements = emitter.block(loop.body if body is None else body).statements
    inner = c.Block((index, *statements))
    return c.For(type, k.text, c.Number("0"), c.Number(str(count)), inner, pragma=pragma)


def _moved(at: c.Expr, count: int) -> c.Stmt:
    return c.Assign(at, c.Number(str(count)), "+=")


def _at_most(at: c.Expr, stop: c.Expr, count: int) -> c.Expr:
    """A condition: at least ``count`` iterations are left."""
    return c.Binary("<=", at, c.Binary("-", stop, c.Number(str(count))))


def _at_least(count: int, at: c.Expr, stop: c.Expr) -> c.Expr:
    return c.Binary(">=", c.Binary("-", stop, at), c.Number(str(count)))


def _turns(loop: asm.For) -> int:
    """An upper bound on the number of iterations of a loop."""
    if isinstance(loop.start, Literal) and isinstance(loop.stop, Literal):
        return int(loop.stop.value) - int(loop.start.value)
    return sys.maxsize


def _count(reductions: Reductions) -> int:
    return VECTOR // min(concrete(var.type).itemsize for var, _ in reductions)


# -- around other loops -----------------------------------------------------------------------


def kept_around(emitter: Emitter, loop: asm.For | asm.While) -> tuple[Lanes | Registers, ...]:
    """Lanes that are kept across iterations of ``loop``.

    Reducing the lanes costs as much as some iterations, which is too much for short inner loops.
    Where the lengths of inner loops are data, and nothing else in ``loop`` uses the variables, the
    lanes are reduced after ``loop``.
    """
    inside = [
        s for s in loop.walk()
        if isinstance(s, asm.For) and permitted(s, emitter.usage)
        and not (scattered(s) or asm.contains(s.body, asm.Store))
    ]  # fmt: skip
    found = dict.fromkeys(inner.lanes for inner in inside if inner is not loop)
    changed = changed_names(*loop.body.statements)
    kept: list[Lanes | Registers] = []
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
            alike = [s for s in inside if s.lanes == reductions]
            kept.append(_kept(emitter, reductions, alike))
    return tuple(kept)


def _kept(emitter: Emitter, reductions: Reductions, loops: Sequence[asm.For]) -> Lanes | Registers:
    """The lanes that these loops share: in registers, if all of them can."""
    found = [terms(emitter, loop) for loop in loops]
    if all(found):
        return lasting(emitter, reductions, found[0])
    return Lanes(emitter, reductions, _count(reductions))


def _names_around(loop: asm.For | asm.While, reductions: Reductions) -> set[str]:
    """Names that ``loop`` uses outside the inner loops with these reductions."""
    names: set[str] = set()
    pending: list[asm.Statement] = [loop]
    while pending:
        statement = pending.pop()
        names |= own_changes(statement).union(*map(read_names, statement.expressions))
        if not (isinstance(statement, asm.For) and statement.lanes == reductions):
            pending += [s for block in statement.blocks for s in block.statements]
    return names


@define
class Lanes:
    """Arrays with ``count`` lanes for each of some variables, and for indirect ``loads``."""

    emitter: Emitter
    reductions: Reductions
    count: int
    loads: frozenset[Load] = frozenset()
    arrays: dict[str, str] = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.arrays = {var.name: self._array(var.name) for var, _ in self.reductions}

    def _array(self, name: str) -> str:
        return self.emitter.scope.fresh(f"{name}_lane")

    def declared(self) -> tuple[c.Stmt, ...]:
        return tuple(
            self._declared(self.arrays[var.name], concrete(var.type), _IDENTITIES[_name(op)])
            for var, op in self.reductions
        )

    def filled(self, loop: asm.For, at: c.Expr, stop: c.Expr) -> c.Stmt:
        """The iterations of the loop, from ``at`` on, that fill all lanes once."""
        turns = self._split(loop, at) if self.loads else self._reduced(loop, at, loop.body)
        return c.While(_at_most(at, stop, self.count), c.Block((*turns, _moved(at, self.count))))

    def drained(self) -> tuple[c.Stmt, ...]:
        """Reduce the lanes into the variables."""
        zero, chains = c.Number("0"), min(CHAINS, self.count)
        k = c.Name(self.emitter.loop_name("k"))
        sums = []
        for var, op in self.reductions:
            name, dtype = _name(op), concrete(var.type)
            array, target = c.Name(self.arrays[var.name]), self.emitter.value(var)
            total = Value(c.Subscript(array, k), dtype)
            for first in range(chains, self.count, chains):
                place = c.Binary("+", k, c.Number(str(first)))
                total = operate(name, (total, Value(c.Subscript(array, place), dtype)), dtype)
            total = operate(name, (target, total), dtype)
            sums.append(self.emitter.assigned(target, total.node))
        body = c.Block(tuple(sums))
        return (c.For("int64_t", k.text, zero, c.Number(str(chains)), body),)

    def whole(self, loop: asm.For, at: c.Expr, stop: c.Expr) -> tuple[c.Stmt, ...]:
        """Lanes that only this loop uses."""
        return (*self.declared(), self.filled(loop, at, stop), *self.drained())

    def _reduced(
        self, loop: asm.For, at: c.Expr, body: asm.Block, loaded: Mapping[str, str] | None = None
    ) -> tuple[c.Stmt, ...]:
        """One iteration of the loop in each lane."""
        lanes = {**self.arrays, **(loaded or {})}
        return (_turn(self.emitter, loop, at, self.count, lanes, body, "omp simd"),)

    def _split(self, loop: asm.For, at: c.Expr) -> tuple[c.Stmt, ...]:
        """The same, after scalar ``loads``."""
        reducing, held = _without_loads(loop.body, self.loads)
        arrays = {var.name: self._array(load.buffer.name) for load, var in held.items()}
        loading = (
            *_needed(loop.body.statements, held),
            *(asm.Assign(var, load) for load, var in held.items()),
        )
        return (
            *(self._declared(arrays[v.name], load.buffer.dtype) for load, v in held.items()),
            _turn(self.emitter, loop, at, self.count, arrays, asm.Block(loading)),
            *self._reduced(loop, at, reducing, arrays),
        )

    def _declared(
        self, array: str, dtype: np.dtype[Any], identity: float | None = None
    ) -> c.Declare:
        text = f"{array}[{self.count}]"
        if identity is None:
            return c.Declare(ctype(dtype), text)
        value = constant(identity, dtype).node
        few = self.count <= FEW
        items = (value,) * self.count if few else (c.Range(self.count, value),)
        return c.Declare(ctype(dtype), text, c.Initializer(items))


# -- loads apart from the rest ------------------------------------------------------------------


def _without_loads(body: asm.Block, loads: frozenset[Load]) -> tuple[asm.Block, dict[Load, Var]]:
    """The reductions in ``body`` with ``loads`` replaced by variables, and these variables."""
    held: dict[Load, Var] = {}

    def variable(expr: Expr) -> Var | None:
        if not isinstance(expr, Load) or expr not in loads:
            return None
        return held.setdefault(expr, Var(f"{expr.buffer.name} {len(held)}", expr.buffer.dtype))

    replaced, needed = Substitution(variable), set[str]()
    kept: list[asm.Statement] = []
    for statement in reversed(body.statements):
        if isinstance(statement, asm.Assign) or _declares(statement, needed):
            kept.append(replaced.statement(statement))
            needed |= set().union(*map(read_names, kept[-1].expressions))
    return asm.Block(tuple(reversed(kept))), held


def _needed(statements: Iterable[asm.Statement], exprs: Iterable[Expr]) -> list[asm.Statement]:
    """The declarations among ``statements`` that ``exprs`` need."""
    needed, kept = set().union(*map(read_names, exprs)), list[asm.Statement]()
    for statement in reversed(tuple(statements)):
        if _declares(statement, needed):
            kept.append(statement)
            needed |= set().union(*map(read_names, statement.expressions))
    return kept[::-1]


def _declares(statement: asm.Statement, needed: set[str]) -> bool:
    return isinstance(statement, asm.Let) and statement.var.name in needed
