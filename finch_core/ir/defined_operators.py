"""Operators that are defined by an expression over other operators."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from finch_core.ir.dtypes import Type, type_of
from finch_core.ir.expressions import Expr, Var
from finch_core.ir.operators import Operator


def operator_from(name: str, definition: Callable[..., Expr], **algebra: Any) -> Operator:
    """An operator with the meaning of the expression that ``definition`` builds."""

    def typing(types: tuple[Type, ...]) -> tuple[tuple[Type, ...], Type]:
        holders = (Var(f"x{k}", t) for k, t in enumerate(types))
        return types, definition(*holders).dtype

    inlined: Callable[[], Any] = getattr(definition, "template", lambda: definition)

    @cache
    def compiled(meaning: Callable[..., Expr], types: tuple[Type, ...]) -> Callable[..., Any]:
        from finch_core.ir.python_code import function_of  # few processes evaluate one

        return function_of(meaning, types)

    def evaluate(*values: Any) -> Any:
        with np.errstate(all="ignore"):
            return compiled(inlined(), tuple(map(type_of, values)))(*values)

    return Operator(name, evaluate, typing, definition=definition, **algebra)
