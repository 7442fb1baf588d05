"""Checked rewrite rules of plugins and kernels.

The simplifier relies on two properties: a rule returns an expression of the same type or None,
and rewriting terminates.
"""

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
"""The largest number of rewrites of one expression."""

IN_ALL = 200_000
"""The largest number of applications of a rule in one kernel, against rules that generate
matches."""

_LARGE = 40
"""The number of nodes from which an expression is abbreviated in a message."""


class PluginRule:
    """A rule with its checks. A rule that names no operators is offered every call."""

    def __init__(self, rule: Any) -> None:
        self.rule, self.name = rule, str(rule.name)
        self._applied = 0

    def is_about(self, op: Operator) -> bool:
        """Whether the rule may rewrite calls of ``op``."""
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
                hint="its result must not contain more calls that it matches than the original",
            )
        return found

    def _checked(self, call: Call, new: Any) -> Expr:
        if not isinstance(new, Expr):
            hint = "a rule returns an expression, such as lift(7), or None where it does not match"
            raise PluginError(f"{self._told(call, new)}, which is not an expression", hint=hint)
        found, wanted = concrete(new.dtype), concrete(call.dtype)
        if found != wanted:
            why = f"{self._told(call, new)}, which is {found}, and not {wanted}"
            raise PluginError(why, hint=".cast(dtype) keeps the dtype")
        return new

    def _told(self, call: Call, new: Any) -> str:
        return f"the rewrite rule {self.name!r} makes {_shown(new)} of {_shown(call)}"


def checked_rules(rules: Iterable[Any]) -> tuple[PluginRule, ...]:
    """Each of ``rules``, wrapped in its checks; the simplifier's own need none."""
    return tuple(map(PluginRule, rules))


def endless(names: Iterable[str], call: Expr) -> PluginError:
    """The error for rules with these names that keep rewriting one expression."""
    names = sorted(set(names))
    rules = f"the rewrite rule{'s' if len(names) > 1 else ''} {quote(names)}"
    do = "do" if len(names) > 1 else "does"
    return PluginError(
        f"{rules} {do} not end: after {AT_ONCE} times there is {_shown(call)}",
        hint="the result of a rule is offered to it again: it must return None for its own result",
    )


def _shown(value: Any) -> str:
    """An expression as text for a message; of a large one, its outermost operator."""
    if not isinstance(value, Expr):
        return repr(value)
    if sum(1 for _ in islice(value.walk(), _LARGE)) == _LARGE:
        return f"a large {value.op.name}(...)" if isinstance(value, Call) else "a large expression"
    try:
        return expression_text(value)
    except MISTAKES:  # showing it may be what fails
        return repr(value)


__all__ = ["AT_ONCE", "IN_ALL", "PluginRule", "checked_rules", "endless"]
