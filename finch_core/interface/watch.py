"""A watch: what is told of each step by which one kernel is made.

``Lowered.watched`` makes a kernel anew under a watch. Without one, nothing is recorded: each place
that tells of a step compares with None.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any


class Watch:
    """Takes note of nothing; a subclass overrides what it wants to know."""

    def rules(self, rules: Iterable[Any]) -> Iterable[Any]:
        """The rules on expressions that the simplifier is to use in place of ``rules``."""
        return rules

    def rewritten(self, rule: Any, before: Any, after: Any) -> None:
        """A rule on statements has replaced ``before`` by ``after``."""

    def normalized(self, name: str, stmt: Any) -> None:
        """The pass ``name`` to normal form has made ``stmt``."""

    @contextmanager
    def statement(self, ctx: Any, stmt: Any) -> Iterator[None]:
        """A context in which a statement is lowered."""
        yield

    @contextmanager
    def region(self, ctx: Any, region: Any) -> Iterator[None]:
        """A context in which a region of a loop is lowered, by the rule of one of its looplets."""
        yield

    def optimised(self, name: str, kernel: Any) -> None:
        """The pass ``name`` over assembly has made ``kernel``."""


Lower = Callable[[Any, Any], None]


def watched(kind: str) -> Callable[[Lower], Lower]:
    """Makes a function ``lower(ctx, step)`` tell the context's watch, if there is one, of each
    step, which is of this kind: ``statement`` or ``region``."""

    def telling(lower: Lower) -> Lower:
        @wraps(lower)
        def told(ctx: Any, step: Any) -> None:
            if ctx.watch is None:
                lower(ctx, step)
                return
            with getattr(ctx.watch, kind)(ctx, step):
                lower(ctx, step)

        return told

    return telling


__all__ = ["Watch", "watched"]
