"""Sums and products in vector registers: the accumulators of a loop whose terms are arithmetic of
contiguous elements of one dtype, with the vector types of gcc and clang.

    int64_t k_at = 0;
    if (k_at < n) {
        const double *const a_row = a + i * n;
        if (n - k_at >= 16) {
            f64x4_t s_lane = *(const f64x4_t *)&a_row[k_at] * *(const f64x4_t *)&x[k_at];
            ...  // s_lane_2, s_lane_3, s_lane_4 of the next twelve
            k_at += 16;
            while (n - k_at >= 16) {
                s_lane += *(const f64x4_t *)&a_row[k_at] * *(const f64x4_t *)&x[k_at];
                ...
                k_at += 16;
            }
            s_lane += s_lane_3;
            s_lane_2 += s_lane_4;
            s_lane += s_lane_2;
            s += s_lane[0] + s_lane[2] + (s_lane[1] + s_lane[3]);
        }  // a long loop has two vectors f64x8_t instead, which give the same sum
        if (k_at < n) {
            ...  // 8 terms in the same way, once, then 4, 2 and 1
        }
    }

Sums are the same whatever the registers of the processor are: accumulators are as many, and are
added up in one order. Vectors longer than a register would be kept in memory.

Other loops have their lanes in arrays (``lanes``), which the C compiler puts into registers where
it sees that it can.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from finch_backend_c import ctree as c
from finch_backend_c import toolchain
from finch_backend_c.operators import constant
from finch_backend_c.spelling import ctype, suffix
from finch_core.ir import assembly as asm
from finch_core.ir.assembly_rewrite import Substitution, read_names
from finch_core.ir.dtypes import concrete
from finch_core.ir.expressions import Call, Expr, Literal, Load, Var
from finch_core.ir.strides import stride_along
from finch_core.records import define, field, frozen

if TYPE_CHECKING:
    from finch_backend_c.emitter import Emitter

VECTOR = 32
"""Bytes of a vector, in registers of this length or more."""
VECTORS = 4
"""The vectors of this length of each variable, which hide the latency of additions."""
LONG = 4
"""The factor by which a loop is long that has half as many vectors of twice the length, where the
processor has such registers: their elements take longer to add up."""
MOST = 40
"""The most nodes of a term: declarations are substituted into it."""

Reductions = tuple[tuple[Var, Any], ...]
"""The type of ``For.lanes``."""

_SYMBOLS = {"add": "+", "sub": "-", "mul": "*", "truediv": "/"}
_IDENTITIES = {"add": -0.0, "mul": 1.0}


@frozen
class Term:
    """What each turn of a loop adds to a variable, or multiplies it by."""

    var: Var
    op: str
    value: Expr


# -- which loops ---------------------------------------------------------------------------------


def terms(emitter: Emitter, loop: asm.For) -> tuple[Term, ...]:
    """The terms of a loop that only reduces, if vectors of one dtype can compute them; else
    nothing."""
    values: dict[str, Expr] = {}
    inline = Substitution(lambda e: values.get(e.name) if isinstance(e, Var) else None)
    sizes: dict[str, int] = {}
    found = []
    for statement in loop.body.statements:
        if isinstance(statement, asm.Comment):
            continue
        assert isinstance(statement, asm.Let | asm.Assign), "the loop only reduces"
        name = statement.var.name
        sizes[name] = _size(statement.value, sizes)
        if sizes[name] > MOST:
            return ()
        if isinstance(statement, asm.Let):
            values[name] = inline(statement.value)
            inline = Substitution(lambda e: values.get(e.name) if isinstance(e, Var) else None)
            continue
        term = _term(statement, inline)
        if term is None or not _is_arithmetic(emitter, term, loop.var):
            return ()
        found.append(term)
    return tuple(found) if len({concrete(t.var.type) for t in found}) == 1 else ()


def _size(expr: Expr, sizes: dict[str, int]) -> int:
    """The number of nodes of an expression in which variables have these ``sizes``."""
    own = sizes.get(expr.name, 1) if isinstance(expr, Var) else 1
    return own + sum(_size(child, sizes) for child in expr.children)


def _term(statement: asm.Assign, inline: Substitution) -> Term | None:
    value = statement.value
    if not isinstance(value, Call) or len(value.args) != 2 or value.args[0] != statement.var:
        return None
    name = value.op.name
    return Term(statement.var, name, inline(value.args[1])) if name in _IDENTITIES else None


def _is_arithmetic(emitter: Emitter, term: Term, var: Var) -> bool:
    dtype = concrete(term.var.type)
    if dtype.name not in ("float32", "float64") or concrete(term.value.dtype) != dtype:
        return False
    return _kind(emitter, term.value, var, dtype) == "vector"


def _kind(emitter: Emitter, e: Expr, var: Var, dtype: np.dtype[Any]) -> str:
    """Whether an expression of this dtype is a "vector" along ``var``, a "scalar" (the same in all
    turns), or neither."""
    if var.name not in read_names(e):
        return "scalar"
    if isinstance(e, Load):
        is_next = stride_along(e.index, var, {var.name}) == 1
        return "vector" if is_next and e.buffer.dtype == dtype and emitter.is_plain(e) else ""
    if not isinstance(e, Call) or e.op.name not in (*_SYMBOLS, "neg"):
        return ""
    wanted, result = emitter.typing(e)
    kinds = {_kind(emitter, arg, var, dtype) for arg in e.args}
    return "vector" if {*wanted, result} == {dtype} and "" not in kinds else ""


# -- how they are computed -----------------------------------------------------------------------


@define
class Registers:
    """``count`` vectors of ``width`` elements for each of the variables of ``terms``; ``lives_on``
    if they are kept around loops, so that no other loop may reuse their names."""

    emitter: Emitter
    reductions: Reductions
    terms: tuple[Term, ...]
    width: int
    count: int = 1
    lives_on: bool = False
    names: dict[str, list[str]] = field(init=False)

    def __attrs_post_init__(self) -> None:
        name = self.emitter.scope.fresh if self.lives_on else self.emitter.loop_name
        endings = ["", *(f"_{k}" for k in range(2, self.count + 1))]
        self.names = {
            t.var.name: [name(f"{t.var.name}_lane{ending}") for ending in endings]
            for t in self.terms
        }

    @property
    def turns(self) -> int:
        return self.count * self.width

    def declared(self) -> tuple[c.Stmt, ...]:
        """The vectors, with the identities of their operators."""
        return tuple(
            c.Declare(self._type(term), name, c.Initializer(
                (constant(_IDENTITIES[term.op], concrete(term.var.type)).node,) * self.width))
            for term in self.terms for name in self.names[term.var.name]
        )  # fmt: skip

    def _type(self, term: Term) -> str:
        return vector(concrete(term.var.type), self.width)

    def first(self, turns: Turns, at: c.Expr) -> tuple[c.Stmt, ...]:
        """The vectors, with the first terms."""
        return (
            *(c.Declare(self._type(t), name, node) for t, name, node in self._values(turns)),
            _moved(at, self.turns),
        )

    def filled(
        self, turns: Turns, at: c.Expr, stop: c.Expr, terms: tuple[Term, ...] | None = None
    ) -> c.Stmt:
        """The turns, from ``at`` on, that fill all vectors once, with the terms of their loop where
        these vectors are kept around several loops."""
        updates = (
            c.Assign(c.Name(name), node, f"{_SYMBOLS[t.op]}=")
            for t, name, node in self._values(turns, terms)
        )
        body = c.Block((*updates, _moved(at, self.turns)))
        return c.While(_left(at, stop, self.turns), body)

    def _values(
        self, turns: Turns, terms: tuple[Term, ...] | None = None
    ) -> list[tuple[Term, str, c.Expr]]:
        return [
            (term, name, turns.value(term, k * self.width, self.width))
            for k in range(self.count)
            for term in terms or self.terms
            for name in (self.names[term.var.name][k],)
        ]

    def drained(self) -> tuple[c.Stmt, ...]:
        """Reduce the vectors into the variables: the second half into the first, repeatedly."""
        parts: list[c.Stmt] = []
        for term in self.terms:
            names, symbol = self.names[term.var.name], _SYMBOLS[term.op]
            count = self.count
            while count > 1:
                count //= 2
                parts += [
                    c.Assign(c.Name(names[k]), c.Name(names[k + count]), f"{symbol}=")
                    for k in range(count)
                ]
            total = _across(c.Name(names[0]), symbol, self.width)
            parts.append(c.Assign(self.emitter.value(term.var).node, total, f"{symbol}="))
        return tuple(parts)

    def once(self, turns: Turns, at: c.Expr) -> tuple[c.Stmt, ...]:
        """As many turns as there are elements."""
        return *self.first(turns, at), *self.drained()

    def whole(self, turns: Turns, at: c.Expr, stop: c.Expr) -> tuple[c.Stmt, ...]:
        """The turns that fill all vectors, again and again, of a loop that has as many."""
        return *self.first(turns, at), self.filled(turns, at, stop), *self.drained()


@define
class Turns:
    """The turns of a loop: how their terms are spelt."""

    emitter: Emitter
    loop: asm.For
    at: c.Name
    rows: dict[tuple[str, Expr], c.Name] = field(factory=dict)

    def declared(self, terms: tuple[Term, ...]) -> tuple[c.Stmt, ...]:
        """The addresses of rows that the loop walks from their first elements."""
        if not (isinstance(self.loop.start, Literal) and self.loop.start.value == 0):
            return ()
        parts = []
        loads = (e for term in terms for e in term.value.walk() if isinstance(e, Load))
        for load in loads:
            base = self._base(load)
            if base is not None and (load.buffer.name, base) not in self.rows:
                name = c.Name(self.emitter.scope.fresh(f"{load.buffer.name}_row"))
                address = self.emitter.past(load.buffer, base)
                type = f"const {ctype(load.buffer.dtype)} *const"
                parts.append(c.Declare(type, name.text, address))
                self.rows[load.buffer.name, base] = name
        return tuple(parts)

    def _base(self, load: Load) -> Expr | None:
        """What the index of a load adds to the loop's variable."""
        var, index = self.loop.var, load.index
        if not isinstance(index, Call) or index.op.name != "add" or len(index.args) != 2:
            return None
        first, second = index.args if index.args[1] == var else index.args[::-1]
        return first if second == var and var.name not in read_names(first) else None

    def value(self, term: Term, offset: int, width: int) -> c.Expr:
        """``width`` terms in turn, from that of ``offset`` turns later on."""
        return self._vector(term.value, concrete(term.var.type), offset, width)

    def _vector(self, e: Expr, dtype: np.dtype[Any], offset: int, width: int) -> c.Expr:
        if self.loop.var.name not in read_names(e):
            return self.emitter.converted(e, dtype)
        if isinstance(e, Load):
            element = self._element(e, offset)
            if width == 1:
                return element
            place = c.Cast(f"const {vector(dtype, width)} *", c.Unary("&", element))
            return c.Unary("*", place)
        assert isinstance(e, Call), "an arithmetic term"
        args = [self._vector(arg, dtype, offset, width) for arg in e.args]
        return c.Unary("-", args[0]) if len(args) == 1 else c.Binary(_SYMBOLS[e.op.name], *args)

    def _element(self, load: Load, offset: int) -> c.Subscript:
        place = c.Binary("+", self.at, c.Number(str(offset))) if offset else self.at
        base = self._base(load)
        row = self.rows.get((load.buffer.name, base)) if base is not None else None
        if row is not None:
            return c.Subscript(row, place)
        with self.emitter.replaced({self.loop.var.name: place}):
            return self.emitter.element(load.buffer, load.index)


def in_registers(
    emitter: Emitter, loop: asm.For, terms: tuple[Term, ...], stop: c.Expr, most: int
) -> tuple[c.Stmt, ...]:
    """Emit a loop of at most ``most`` turns; ``stop`` must be cheap to evaluate repeatedly."""
    type = ctype(concrete(loop.var.type))
    at = c.Name(emitter.scope.fresh(loop.var.name + "_at"))
    turns, kept = Turns(emitter, loop, at), emitter.kept.get(loop.lanes)
    parts = list(turns.declared(terms))
    if isinstance(kept, Registers):
        parts.append(kept.filled(turns, at, stop, terms))
        left = kept.turns
    else:
        left = VECTORS * VECTOR // itemsize(terms)
        forms = [(elements(terms), left)]
        if toolchain.register_bytes() > VECTOR:
            forms.insert(0, (2 * elements(terms), LONG * left))
        for width, least in forms:
            vectors = Registers(emitter, loop.lanes, terms, width, left // width)
            if most >= least:
                whole = c.Block(vectors.whole(turns, at, stop))
                parts.append(c.If(_left(at, stop, least), whole))
    parts.append(c.If(c.Binary("<", at, stop), c.Block(_rest(turns, terms, stop, left))))
    start = c.Declare(type, at.text, emitter.node(loop.start))
    return start, c.If(c.Binary("<", at, stop), c.Block(tuple(parts)))


def _rest(turns: Turns, terms: tuple[Term, ...], stop: c.Expr, left: int) -> tuple[c.Stmt, ...]:
    """The remaining turns, fewer than ``left``: by halving, without a loop."""
    parts: list[c.Stmt] = []
    emitter, at, width = turns.emitter, turns.at, elements(terms)
    while left > 2:
        left //= 2
        count = max(1, left // width)
        some = Registers(emitter, turns.loop.lanes, terms, left // count, count)
        parts.append(c.If(_left(at, stop, left), c.Block(some.once(turns, at))))
    last = c.Block(
        tuple(
            c.Assign(emitter.value(t.var).node, turns.value(t, 0, 1), f"{_SYMBOLS[t.op]}=")
            for t in terms
        )
    )
    return (*parts, c.If(c.Binary("<", at, stop), last))


def lasting(emitter: Emitter, reductions: Reductions, terms: tuple[Term, ...]) -> Registers:
    """Accumulators that are kept around several loops: ``VECTOR`` bytes for each variable."""
    count = VECTOR // itemsize(terms) // elements(terms)
    return Registers(emitter, reductions, terms, elements(terms), count, lives_on=True)


def elements(terms: tuple[Term, ...]) -> int:
    """The elements of a vector, which fits into a register."""
    return min(VECTOR, toolchain.register_bytes()) // itemsize(terms)


def itemsize(terms: tuple[Term, ...]) -> int:
    """The bytes of an element."""
    return concrete(terms[0].var.type).itemsize


def vector(dtype: np.dtype[Any], width: int) -> str:
    """The type of a vector, of which the preamble has the definition."""
    return f"{suffix(dtype)}x{width}_t"


def _across(name: c.Expr, symbol: str, width: int) -> c.Expr:
    """The elements of a vector reduced: the second half with the first, repeatedly."""
    parts: list[c.Expr] = [c.Subscript(name, c.Number(str(k))) for k in range(width)]
    while len(parts) > 1:
        half = len(parts) // 2
        parts = [c.Binary(symbol, a, b) for a, b in zip(parts[:half], parts[half:], strict=True)]
    return parts[0]


def _moved(at: c.Expr, turns: int) -> c.Stmt:
    return c.Assign(at, c.Number(str(turns)), "+=")


def _left(at: c.Expr, stop: c.Expr, turns: int) -> c.Expr:
    """A condition: at least ``turns`` turns are left."""
    return c.Binary(">=", c.Binary("-", stop, at), c.Number(str(turns)))
