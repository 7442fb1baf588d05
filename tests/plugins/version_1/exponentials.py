"""``log_add_exp(a, b)``: the logarithm of ``exp(a) + exp(b)``, which does not overflow."""

from __future__ import annotations

import numpy as np
from finch_core.dtypes import FLOAT64, concrete
from finch_core.expressions import Expr, call
from finch_core.functions import operator_from

from finch_core.operators import Operator, operator
from finch_core.plugins import hookimpl


def _log_add_exp(a: Expr, b: Expr) -> Expr:
    """The larger one, and what the smaller one adds to it; equal ones may be infinite."""
    a, b = _floats(a), _floats(b)
    high, low = call(operator("maximum"), a, b), call(operator("minimum"), a, b)
    more = call(operator("log1p"), call(operator("exp"), low - high))
    return call(operator("ifelse"), a.eq(b), a + float(np.log(2)), high + more)


def _floats(a: Expr) -> Expr:
    return a if concrete(a.dtype).kind == "f" else a.cast(FLOAT64)


def _repeated(a: Expr, n: Expr) -> Expr:
    """``n`` equal terms: the logarithm of ``n * exp(a)``."""
    return a + call(operator("log"), n)


repeated = operator_from("log_add_exp_repeated", _repeated)

log_add_exp: Operator = operator_from(
    "log_add_exp",
    _log_add_exp,
    commutative=True,
    associative=True,
    identity=lambda dtype: dtype.type(-np.inf) if dtype.kind == "f" else None,
    structural_annihilator=lambda value: value == np.inf,
    repeated=repeated,
    python=(np.logaddexp,),
)


@hookimpl
def finch_operators() -> list[Operator]:
    """Register ``log_add_exp``, which ``np.logaddexp`` means in a kernel, and its repetition."""
    return [log_add_exp, repeated]


__all__ = ["log_add_exp"]
