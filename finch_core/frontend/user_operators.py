"""Operators that are defined by a Python function of scalars."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from finch_core.frontend.inlining import Template, expression_of
from finch_core.ir.defined_operators import operator_from
from finch_core.ir.expressions import Expr
from finch_core.ir.operators import where_held


def define_operator(
    function: Callable[..., Any] | None = None,
    *,
    name: str | None = None,
    commutative: bool = False,
    associative: bool = False,
    idempotent: bool = False,
    identity: Any = None,
    annihilator: Any = None,
) -> Any:
    """The operator that a Python function of scalars defines, with its algebra.

    The function is inlined (see ``frontend.inlining``) when it is first compiled;
    ``KernelSyntaxError`` is raised then if it cannot be. ``identity`` and ``annihilator`` are
    values, or functions from a dtype to the value; a dtype that does not hold a value, such as
    infinity in an integer, has none. ``TypeError`` is raised for a value that is no number.
    Without ``function`` this is a decorator.
    The operator is not registered: a kernel finds it under the name that it is bound to, and a
    plugin returns it from ``finch_operators``.
    """
    if function is None:
        return partial(
            define_operator, name=name, commutative=commutative, associative=associative,
            idempotent=idempotent, identity=identity, annihilator=annihilator,
        )  # fmt: skip
    target: Callable[..., Any] = function
    return operator_from(
        name or target.__name__, _Inlined(target), python=(target,),
        commutative=commutative, associative=associative, idempotent=idempotent,
        identity=_value_function("identity", identity),
        annihilator=_value_function("annihilator", annihilator),
    )  # fmt: skip


class _Inlined:
    """The meaning of a Python function, as its source and the functions that it calls are at
    present."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._template: Template | None = None

    def template(self) -> Template:
        found = self._template
        if found is None or not found.seen.holds():
            found = self._template = expression_of(self._function)
        return found

    def __call__(self, *args: Expr) -> Expr:
        return self.template()(*args)


def _value_function(part: str, value: Any) -> Callable[[np.dtype[Any]], Any] | None:
    if value is None or callable(value):
        return value  # type: ignore[no-any-return]
    if not isinstance(value, (bool, int, float, complex, tuple, np.generic)):
        raise TypeError(f"{part}={value!r} is no number, and no function of a dtype")
    return where_held(value)
