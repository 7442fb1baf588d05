"""The simplifier: named rules on expressions and statements (paper, rule *Simplify*; the algebra of
[ahrens_looplets_2023, Figure 5]).

Rules on expressions read the algebra off the operators. A float operand is dropped or absorbed only
where that is exact, or where the constant is *structural*: a fill value that no memory stores.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import attrs
import numpy as np

from finch_core import primitives as prim
from finch_core.absent import first_present, propagate
from finch_core.binding import Discard
from finch_core.dtypes import concrete, is_tuple, is_weak
from finch_core.expressions import (
    FALSE,
    TRUE,
    Call,
    Cast,
    Expr,
    Literal,
    cast,
    fold_literals,
)
from finch_core.functions import Missing
from finch_core.notation import Define, Loop, Sequential, Sieve, Stmt, Update
from finch_core.operators import literal_value
from finch_core.rewrite import rewrite, substitute_name

NOTHING = Sequential()


@attrs.frozen
class Rule:
    """A rewriting of calls: ``apply`` gives the new expression, or None where it does not match.

    ``ops`` names the operators it is about (None: any). ``exact`` lists the dtype kinds on which
    the result is the same to the last bit for all operands; where a structural fill takes part,
    the rule may apply beyond them.
    """

    name: str
    apply: Callable[[Call], Expr | None]
    ops: tuple[str, ...] | None = None
    exact: str = "biufc"


def _same_type(expr: Expr, call: Call) -> Expr:
    """``expr`` in the type that the call has."""
    if expr.dtype == call.dtype or is_weak(call.dtype):
        return expr
    return cast(expr, concrete(call.dtype))


def _equals(literal: Literal, value: Any, dtype: Any) -> bool:
    if value is None or is_tuple(literal.type):
        return False
    mine = literal_value(literal.value, dtype)
    return bool(mine == value) or bool(mine != mine and value != value)


def _constants(call: Call) -> Expr | None:
    if all(isinstance(arg, Literal) for arg in call.args) and call.op.definition is None:
        return fold_literals(call.op, call.args)  # type: ignore[arg-type]
    return None


def _annihilator(call: Call) -> Expr | None:
    op = call.op
    if op.annihilator is None and op.structural_annihilator is None:
        return None
    dtype = concrete(op.typing(tuple(a.dtype for a in call.args))[0][0])
    for arg in call.args:
        if isinstance(arg, Literal) and _annihilates(op, arg, dtype):
            value = literal_value(arg.value, dtype)
            return Literal(value, concrete(call.dtype), structural=arg.structural)
    return None


def _annihilates(op: Any, arg: Literal, dtype: Any) -> bool:
    swallows = op.structural_annihilator if arg.structural and dtype.kind in "fc" else None
    if swallows is not None and swallows(literal_value(arg.value, dtype)):
        return True
    if op.annihilator is None or not (arg.structural or dtype.kind in op.exact_annihilator):
        return False
    return _equals(arg, op.annihilator(dtype), dtype)


def _identity(call: Call) -> Expr | None:
    op = call.op
    if op.identity is None or len(call.args) != 2:
        return None
    dtype = concrete(op.typing(tuple(a.dtype for a in call.args))[0][0])
    for arg, other in zip(call.args, reversed(call.args), strict=True):
        if isinstance(arg, Literal) and is_identity(op, arg, dtype):
            return _same_type(other, call)
    return None


def is_identity(op: Any, arg: Expr, dtype: Any) -> bool:
    """Whether ``op(x, arg)`` is ``x`` for ``x`` of ``dtype``, exactly or for a structural fill."""
    if not isinstance(arg, Literal) or op.identity is None:
        return False
    if not (arg.structural or dtype.kind in op.exact_identity):
        return False
    return _equals(arg, op.identity(dtype), dtype)


def _idempotent(call: Call) -> Expr | None:
    if call.op.idempotent and len(call.args) == 2 and call.args[0] == call.args[1]:
        return _same_type(call.args[0], call)
    return None


def _ifelse(call: Call) -> Expr | None:
    cond, yes, no = call.args
    if isinstance(cond, Literal):
        return _same_type(yes if cond.value else no, call)
    return _same_type(yes, call) if yes == no else None


def _not(call: Call) -> Expr | None:
    (arg,) = call.args
    if not isinstance(arg, Call):
        return None
    if arg.op is prim.not_:
        return arg.args[0]
    total = all(concrete(a.dtype).kind in "iub" for a in arg.args)
    if arg.op in (prim.eq, prim.ne) or (total and arg.op in _OPPOSITE):
        return Call(_OPPOSITE[arg.op], arg.args)
    return None


_OPPOSITE = {
    prim.eq: prim.ne, prim.ne: prim.eq, prim.lt: prim.ge, prim.ge: prim.lt, prim.gt: prim.le,
    prim.le: prim.gt,
}  # fmt: skip


def _reflexive(call: Call) -> Expr | None:
    first, second = call.args
    if first == second and concrete(first.dtype).kind in "biu":
        return TRUE if call.op in (prim.eq, prim.le, prim.ge) else FALSE
    return None


def _infinity(call: Call) -> Expr | None:
    """Nothing exceeds infinity, and nothing is below minus infinity."""
    first, second = call.args
    if call.op in (prim.gt,):
        first, second = second, first
    for literal, sign in ((first, 1), (second, -1)):
        if not isinstance(literal, Literal) or concrete(literal.type).kind != "f":
            continue
        if float(literal.value) == sign * np.inf:
            return FALSE
    return None


def _double_negation(call: Call) -> Expr | None:
    (arg,) = call.args
    return arg.args[0] if isinstance(arg, Call) and arg.op is call.op else None


def _subtract_zero(call: Call) -> Expr | None:
    first, second = call.args
    if not isinstance(second, Literal) or is_tuple(second.type):
        return None
    value = literal_value(second.value, concrete(call.dtype))
    plain = concrete(call.dtype).kind in "iu" or second.structural or not np.signbit(value.real)
    return _same_type(first, call) if value == 0 and plain else None


def _divide_by_one(call: Call) -> Expr | None:
    first, second = call.args
    if isinstance(second, Literal) and not is_tuple(second.type) and second.value == 1:
        return _same_type(first, call)
    return None


def _structural_dividend(call: Call) -> Expr | None:
    """A fill of zero over anything is zero, as a fill of zero times anything is."""
    first, _ = call.args
    if isinstance(first, Literal) and first.structural and first.value == 0:
        return cast(first, concrete(call.dtype))
    return None


RULES: tuple[Rule, ...] = (
    Rule("missing", propagate),
    Rule("coalesce", first_present, ("coalesce",)),
    Rule("annihilator", _annihilator, exact="biu"),  # before constants: a fill stays structural
    Rule("constants", _constants),
    Rule("identity", _identity, exact="biu"),
    Rule("idempotence", _idempotent),
    Rule("ifelse", _ifelse, ("ifelse",)),
    Rule("negation", _not, ("not",)),
    Rule("reflexivity", _reflexive, ("eq", "ne", "lt", "le", "gt", "ge"), exact="biu"),
    Rule("infinity", _infinity, ("lt", "gt"), exact="f"),
    Rule("double negation", _double_negation, ("neg", "invert", "conj")),
    Rule("subtract zero", _subtract_zero, ("sub",)),
    Rule("divide by one", _divide_by_one, ("truediv",)),
    Rule("structural dividend", _structural_dividend, ("truediv", "floordiv"), exact=""),
)
"""The rules of the core, in the order in which they are tried."""


class Simplifier:
    """Applies rules until none matches. Unchanged nodes stay identical."""

    def __init__(self, rules: Iterable[Rule] = RULES) -> None:
        self._rules = tuple(rules)
        self._by_op: dict[str, tuple[Rule, ...]] = {}

    def rules_for(self, op: str) -> tuple[Rule, ...]:
        if op not in self._by_op:
            chosen = tuple(r for r in self._rules if r.ops is None or op in r.ops)
            self._by_op[op] = chosen
        return self._by_op[op]

    def expr_rule(self, expr: Expr) -> Expr:
        """One node whose operands are simple already."""
        while isinstance(expr, Call):
            for rule in self.rules_for(expr.op.name):
                new = rule.apply(expr)
                if new is not None and new != expr:
                    expr = new
                    break
            else:
                return expr
        if isinstance(expr, Cast):
            if isinstance(expr.value, Missing):
                return Missing(expr.type)
            return cast(expr.value, expr.type)
        return expr

    def stmt(self, stmt: Stmt) -> Stmt:
        """A statement with its expressions simplified and what does nothing removed."""
        return self._reduce(rewrite(stmt, self.expr_rule))

    def _reduce(self, stmt: Stmt) -> Stmt:
        if isinstance(stmt, Define) and isinstance(stmt.value, (Literal, Missing)):
            return self.stmt(substitute_name(stmt.body, stmt.name, stmt.value))
        bodies = stmt.bodies
        if bodies:
            parts = tuple([self._reduce(body) for body in bodies])
            if any(a is not b for a, b in zip(parts, bodies, strict=True)):
                stmt = stmt.rebuild(stmt.exprs, parts)
        reduce = _REDUCTIONS.get(type(stmt))
        return stmt if reduce is None else reduce(stmt)


def _update(stmt: Update) -> Stmt:
    """An update by the operator's identity does nothing; nor does writing the fill over itself."""
    if isinstance(stmt.target.tensor, Discard):
        return NOTHING
    dtype = concrete(stmt.target.dtype)
    if stmt.op is None:
        return NOTHING if stmt.fresh and _is_fill(stmt) else stmt
    return NOTHING if is_identity(stmt.op, stmt.value, dtype) else stmt


def _is_fill(stmt: Update) -> bool:
    fill = stmt.target.tensor.fill_value
    if not isinstance(stmt.value, Literal) or fill is None or not stmt.value.structural:
        return False
    return Literal(fill, concrete(stmt.target.dtype)) == Literal(
        literal_value(stmt.value.value, stmt.target.dtype), concrete(stmt.target.dtype)
    )


def _sieve(stmt: Sieve) -> Stmt:
    if isinstance(stmt.cond, Literal):
        return stmt.body if stmt.cond.value else stmt.orelse
    return NOTHING if stmt.body == NOTHING and stmt.orelse == NOTHING else stmt


def _loop(stmt: Loop) -> Stmt:
    return NOTHING if stmt.body == NOTHING else stmt


def _define(stmt: Define) -> Stmt:
    return NOTHING if stmt.body == NOTHING else stmt


def _sequential(stmt: Sequential) -> Stmt:
    flat: list[Stmt] = []
    for part in stmt.statements:
        flat.extend(part.statements if isinstance(part, Sequential) else (part,))
    if len(flat) == 1:
        return flat[0]
    if len(flat) == len(stmt.statements) and all(
        a is b for a, b in zip(flat, stmt.statements, strict=True)
    ):
        return stmt
    return Sequential(tuple(flat), span=stmt.span)


_REDUCTIONS: dict[type, Callable[[Any], Stmt]] = {
    Update: _update,
    Sieve: _sieve,
    Loop: _loop,
    Define: _define,
    Sequential: _sequential,
}

__all__ = ["NOTHING", "RULES", "Rule", "Simplifier", "is_identity"]
