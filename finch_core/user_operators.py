"""Operators that a Python function of scalars defines."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np

from finch_core.defined_operators import operator_from
from finch_core.expressions import Expr
from finch_core.frontend.inlining import expression_of
from finch_core.operators import cast_value


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

    The function is inlined (see ``finch_core.frontend.inlining``) when first compiled, where
    ``KernelSyntaxError`` says what cannot be. ``identity`` and ``annihilator`` are values, or
    functions from a dtype to the value. Without ``function`` it is a decorator. The operator is not
    registered: a kernel finds it under the name it is bound to, and a plugin's
    ``finch_operators`` returns it.
    """
    if function is None:
        return partial(
            define_operator, name=name, commutative=commutative, associative=associative,
            idempotent=idempotent, identity=identity, annihilator=annihilator,
        )  # fmt: skip
    target: Callable[..., Any] = function

    @cache
    def template() -> Callable[..., Expr]:
        return expression_of(target)

    return operator_from(
        name or target.__name__, lambda *args: template()(*args), python=(target,),
        commutative=commutative, associative=associative, idempotent=idempotent,
        identity=_value_function(identity), annihilator=_value_function(annihilator),
    )  # fmt: skip


def _value_function(value: Any) -> Callable[[np.dtype[Any]], Any] | None:
    if value is None or callable(value):
        return value  # type: ignore[no-any-return]
    return lambda dtype: cast_value(value, dtype)
