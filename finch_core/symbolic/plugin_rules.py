"""Rewrite rules of plugins and of kernels, held to what the simplifier relies on: each gives an
expression of the same type or none, and comes to an end."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Any

from finch_core.errors import MISTAKES, FinchError, PluginError, mistaken, quote
from finch_core.ir.dtypes import concrete
from finch_core.ir.expressions import Call, Expr
from finch_core.ir.operators import Operator
from finch_core.ir.program_text import expression_text

AT_ONCE = 64
"""So often one expression is rewritten, at the most."""

IN_ALL = 200_000
"""So often a rule is applied in a kernel, at the most: rules that make more of what they match."""

_LARGE = 40
"""Nodes of an expression that is not shown whole."""


class PluginRule:
    """A rule with checks around it. Where ``rule`` does not say what it is about it is offered
    every call."""

    def __init__(self, rule: Any) -> None:
        self.rule, self.name = rule, str(rule.name)
        self._applied = 0

    def is_about(self, op: Operator) -> bool:
        """Whether it may rewrite calls of ``op``."""
        about = getattr(self.rule, "is_about", None)
        return about is None or bool(about(op))

    def apply(self, call: Call) -> Expr | None:
        """The new expression, or None. Raises ``PluginError``, naming the rule."""
        try:
            new = self.rule.apply(call)
        except FinchError:
            raise
        except MISTAKES as error:
            raise mistaken(f"the rewrite rule {self.name!r} on {_shown(call)}", error) from error
        if new is None or new is call:
            return None
        found = self._checked(call, new)
        self._applied += 1
        if self._applied > IN_ALL:
            raise PluginError(
                f"the rewrite rule {self.name!r} does not end: it was applied {IN_ALL} times",
                hint="what a rule gives must not have more calls that it matches than there were",
            )
        return found

    def _checked(self, call: Call, new: Any) -> Expr:
        if not isinstance(new, Expr):
            hint = "a rule gives an expression, or None where it does not match; lift(7) is one"
            raise PluginError(f"{self._told(call, new)}, which is no expression", hint=hint)
        found, wanted = concrete(new.dtype), concrete(call.dtype)
        if found != wanted:
            why = f"{self._told(call, new)}, which is {found}, and not {wanted}"
            raise PluginError(why, hint=".cast(dtype) keeps the dtype")
        return new

    def _told(self, call: Call, new: Any) -> str:
        return f"the rewrite rule {self.name!r} makes {_shown(new)} of {_shown(call)}"


def checked_rules(rules: Iterable[Any]) -> tuple[PluginRule, ...]:
    """Rules that are not the simplifier's own, with checks around each."""
    return tuple(map(PluginRule, rules))


def endless(names: Iterable[str], call: Expr) -> PluginError:
    """The error to raise where rules of these names go on rewriting one expression."""
    names = sorted(set(names))
    rules = f"the rewrite rule{'s' if len(names) > 1 else ''} {quote(names)}"
    do = "do" if len(names) > 1 else "does"
    return PluginError(
        f"{rules} {do} not end: after {AT_ONCE} times there is {_shown(call)}",
        hint="what a rule makes is offered to it again: for that it gives None",
    )


def _shown(value: Any) -> str:
    """A value in a message; of an expression that has grown its outermost operator."""
    if not isinstance(value, Expr):
        return repr(value)
    if sum(1 for _ in islice(value.walk(), _LARGE)) == _LARGE:
        return f"a large {value.op.name}(...)" if isinstance(value, Call) else "a large expression"
    try:
        return expression_text(value)
    except MISTAKES:  # what is shown may be what is wrong
        return repr(value)


__all__ = ["AT_ONCE", "IN_ALL", "PluginRule", "checked_rules", "endless"]
