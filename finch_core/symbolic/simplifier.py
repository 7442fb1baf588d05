"""The simplifier: applies rewrite rules to expressions and statements until none matches.

Paper, rule *Simplify*. The rules on expressions are in ``symbolic.algebra``, those on
statements here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import is_not
from typing import Any

from finch_core.errors import PluginError
from finch_core.ir import primitives as prim
from finch_core.ir.assembly_rewrite import Substitution
from finch_core.ir.dtypes import concrete
from finch_core.ir.expressions import Call, Cast, Expr, Literal, Var, call, cast
from finch_core.ir.missing import Missing
from finch_core.ir.operators import Operator
from finch_core.ir.program import (
    Define,
    Labelled,
    Leave,
    Loop,
    Sequential,
    Sieve,
    Stmt,
    Update,
    While,
    leaves,
)
from finch_core.ir.rewrite import substitute_name
from finch_core.records import evolve, frozen
from finch_core.symbolic.algebra import RULES, Rule, is_identity
from finch_core.symbolic.constant_variables import constant_variables
from finch_core.symbolic.dead_locals import NOTHING, blank_locals, dead_locals
from finch_core.symbolic.outcomes import equals
from finch_core.symbolic.plugin_rules import AT_ONCE, PluginRule, endless
from finch_core.symbolic.updates import update_dtype


class Simplifier:
    """Applies rules until none matches. Unchanged nodes stay identical."""

    def __init__(self, rules: Iterable[Rule | PluginRule] = RULES, watch: Any = None) -> None:
        self._rules = tuple(rules if watch is None else watch.rules(rules))
        self._watch = watch
        self._by_op: dict[Operator, tuple[Rule | PluginRule, ...]] = {}

    def rules_for(self, op: Operator) -> tuple[Rule | PluginRule, ...]:
        """The rules that may rewrite calls of ``op``."""
        if op not in self._by_op:
            self._by_op[op] = tuple(rule for rule in self._rules if rule.is_about(op))
        return self._by_op[op]

    def expr_rule(self, expr: Expr) -> Expr:
        """One node, whose operands are simplified already."""
        applied: list[str] = []
        while isinstance(expr, Call):
            for rule in self.rules_for(expr.op):
                new = rule.apply(expr)
                if new is not None and new != expr:
                    applied.append(rule.name)
                    if len(applied) > AT_ONCE:
                        raise self._endless(applied, expr)
                    expr = new
                    break
            else:
                return expr
        if isinstance(expr, Cast):
            if isinstance(expr.value, Missing):
                return Missing(expr.type)
            return cast(expr.value, expr.type)
        return expr

    def _endless(self, applied: list[str], expr: Expr) -> PluginError:
        """The error for rewriting that does not terminate; it names the rules of plugins."""
        names = {rule.name for rule in self._rules if isinstance(rule, PluginRule)}
        return endless([n for n in applied[-AT_ONCE // 2 :] if n in names] or applied, expr)

    def stmt(self, stmt: Stmt) -> Stmt:
        """A statement with its expressions simplified and statements without effect removed."""
        return self._reduce(self._with_expressions(stmt))

    # Each node remembers the simplifier that leaves it as it is: loops are split and unrolled into
    # many statements that have most of their parts in common.

    def expr(self, expr: Expr) -> Expr:
        """An expression, simplified."""
        children = expr.children
        if not children:
            return self.expr_rule(expr)
        if getattr(expr, "_simple", None) is self:
            return expr
        new = tuple([self.expr(child) for child in children])
        found = self.expr_rule(expr.rebuild(new) if any(map(is_not, new, children)) else expr)
        if found is expr:
            _remember(expr, "_simple", self)
        return found

    def _with_expressions(self, stmt: Stmt) -> Stmt:
        if getattr(stmt, "_plain", None) is self:
            return stmt
        exprs, bodies = stmt.exprs, stmt.bodies
        simple = tuple([self.expr(expr) for expr in exprs])
        parts = tuple([self._with_expressions(body) for body in bodies])
        if any(map(is_not, simple, exprs)) or any(map(is_not, parts, bodies)):
            return stmt.rebuild(simple, parts)
        _remember(stmt, "_plain", self)
        return stmt

    def _reduce(self, stmt: Stmt) -> Stmt:
        if getattr(stmt, "_reduced", None) is self:
            return stmt
        new = self._reduced(stmt)
        if new is stmt:
            _remember(stmt, "_reduced", self)
        return new

    def _reduced(self, stmt: Stmt) -> Stmt:
        if isinstance(stmt, Define) and isinstance(stmt.value, (Literal, Missing)):
            return self.stmt(substitute_name(stmt.body, stmt.name, stmt.value))
        bodies = stmt.bodies
        if bodies:
            parts = tuple([self._reduce(body) for body in bodies])
            if any(map(is_not, parts, bodies)):
                stmt = stmt.rebuild(stmt.exprs, parts)
        for rule in _BY_STATEMENT.get(type(stmt), ()):
            new: Stmt | None = rule.apply(stmt)
            if new is not None:
                if self._watch is not None:
                    self._watch.rewritten(rule, stmt, new)
                return self.stmt(new) if rule.substitutes else new
        return stmt


_remember = object.__setattr__
_CORE = Simplifier()
_FOLDING = Simplifier(r for r in RULES if r.name in ("constants", "identity", "ifelse"))


def folded(expr: Expr) -> Expr:
    """An assembly node, after constants were substituted in its operands, folded.

    ``x if 0 == 0 else 0`` is ``x``. Values in memory are not structural fills, so only exact
    rules apply.
    """
    if any(isinstance(c, Literal) and c.structural for c in expr.children):
        expr = expr.rebuild(tuple(map(_number, expr.children)))
    if isinstance(expr, Call):
        expr = call(expr.op, *expr.args)
    return _FOLDING.expr_rule(expr)


class ConstantFolding(Substitution):
    """Folds operators whose operands are all constant, and those that a constant decides or leaves
    as they are."""

    def __init__(self) -> None:
        super().__init__(lambda expr: None)
        self._done: dict[int, tuple[Expr, Expr]] = {}
        """By identity, which is faster than by value: each expression, and what became of it."""

    def __call__(self, expr: Expr) -> Expr:
        parts = expr.children
        if not parts:
            return expr
        known = self._done.get(id(expr))
        if known is None:
            new = [self(part) for part in parts]
            again = expr.rebuild(tuple(new)) if any(map(is_not, new, parts)) else expr
            known = self._done[id(expr)] = expr, self._of(again, new)
        return known[1]

    def _of(self, expr: Expr, parts: list[Expr]) -> Expr:
        constant = [part.__class__ is Literal for part in parts]
        if True not in constant:
            return expr
        if False not in constant or (isinstance(expr, Call) and expr.op is prim.ifelse):
            return folded(expr)
        if not isinstance(expr, Call):
            return expr
        new = call(expr.op, *parts)
        return expr if isinstance(new, Call) and new.op is expr.op else new


def _number(expr: Expr) -> Expr:
    return evolve(expr, structural=False) if isinstance(expr, Literal) else expr


@frozen
class StatementRule:
    """A rewrite rule on statements of class ``about``; ``apply`` gives None where it does not
    match.

    ``substitutes``: it changes expressions, so that what it gives is simplified in turn.
    """

    name: str
    about: type[Stmt]
    apply: Callable[[Any], Stmt | None]
    meaning: str = ""
    substitutes: bool = False


def _discarded(stmt: Update) -> Stmt | None:
    return NOTHING if stmt.target.tensor.drops_updates else None


def _update_by_identity(stmt: Update) -> Stmt | None:
    if stmt.op is None or not isinstance(stmt.value, Literal):
        return None
    dtype = update_dtype(stmt.op, concrete(stmt.target.dtype), stmt.value)
    if dtype is None:
        return None
    held = Var("held", dtype)
    neutral = is_identity(stmt.op, stmt.value, dtype)
    return (
        NOTHING if neutral or _CORE.expr_rule(Call(stmt.op, (held, stmt.value))) == held else None
    )


def _fill_over_fill(stmt: Update) -> Stmt | None:
    fill = stmt.target.tensor.fill_value
    if not stmt.fresh or fill is None:
        return None
    held = Literal(fill, concrete(stmt.target.dtype))
    value = stmt.value if stmt.op is None else Call(stmt.op, (held, stmt.value))
    return NOTHING if equals(value, held) else None


def _decided(stmt: Sieve) -> Stmt | None:
    if isinstance(stmt.cond, Literal):
        return stmt.body if stmt.cond.value else stmt.orelse
    return None


def _empty_branches(stmt: Sieve) -> Stmt | None:
    return NOTHING if stmt.body == NOTHING and stmt.orelse == NOTHING else None


def _empty_body(stmt: Loop | Define) -> Stmt | None:
    return NOTHING if stmt.body == NOTHING else None


def _never(stmt: While) -> Stmt | None:
    return NOTHING if isinstance(stmt.cond, Literal) and not stmt.cond.value else None


def _not_left(stmt: Labelled) -> Stmt | None:
    return None if stmt.label in leaves(stmt.body) else stmt.body


def _flattened(stmt: Sequential) -> Stmt | None:
    flat: list[Stmt] = []
    for part in stmt.statements:
        flat.extend(part.statements if isinstance(part, Sequential) else (part,))
    left = next((k for k, part in enumerate(flat) if isinstance(part, Leave)), len(flat))
    flat = flat[: left + 1]
    if len(flat) == 1:
        return flat[0]
    if len(flat) == len(stmt.statements) and all(
        a is b for a, b in zip(flat, stmt.statements, strict=True)
    ):
        return None
    return Sequential(tuple(flat), span=stmt.span)


STATEMENT_RULES: tuple[StatementRule, ...] = (
    StatementRule(
        "discarded update", Update, _discarded, "an update whose target is discarded is removed"
    ),
    StatementRule(
        "update by identity", Update, _update_by_identity, "`s += 0`, `s -= 0`, `s *= 1` do nothing"
    ),
    StatementRule(
        "fill over fill",
        Update,
        _fill_over_fill,
        "the fill value is not stored where nothing else was written",
    ),
    StatementRule(
        "decided sieve", Sieve, _decided, "`if True: s` is `s`, `if False: s` is nothing"
    ),
    StatementRule(
        "empty branches", Sieve, _empty_branches, "an `if` with empty branches is removed"
    ),
    StatementRule("dead loop", Loop, _empty_body, "a loop with an empty body is removed"),
    StatementRule("while False", While, _never, "`while False: s` is nothing"),
    StatementRule(
        "unused label", Labelled, _not_left, "a loop without a `break` that is left needs no label"
    ),
    StatementRule("dead definition", Define, _empty_body, "a `let` with an empty body is removed"),
    StatementRule(
        "blank local",
        Sequential,
        blank_locals,
        "a local that nothing updates is its fill value where it is read",
        substitutes=True,
    ),
    StatementRule(
        "constant variable",
        Sequential,
        lambda stmt: constant_variables(stmt, _CORE.expr),
        "a name that is set again is a constant where it is known to hold that",
        substitutes=True,
    ),
    StatementRule(
        "dead local",
        Sequential,
        dead_locals,
        "statements that compute a local which nothing reads are removed",
    ),
    StatementRule(
        "block",
        Sequential,
        _flattened,
        "nested blocks are flattened; nothing follows a `break` or `continue`",
    ),
)
"""The rules on statements; those on loops are in ``looplets.invariant``."""

_BY_STATEMENT: dict[type, tuple[StatementRule, ...]] = {
    kind: tuple(rule for rule in STATEMENT_RULES if rule.about is kind)
    for kind in (Update, Sieve, Loop, While, Labelled, Define, Sequential)
}

__all__ = [
    "NOTHING", "RULES", "STATEMENT_RULES", "Rule", "Simplifier", "StatementRule", "is_identity",
]  # fmt: skip
