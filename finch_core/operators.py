"""What authors of operators import (public; see ``docs/public-modules.md``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from finch_core.ir.operators import (
    Operator,
    by_promotion,
    by_ufunc,
    cast_value,
    constant,
    exact_value,
    literal_value,
    operator,
    operator_for,
    operators,
    register,
    unregister,
)

if TYPE_CHECKING:
    from finch_core.frontend.user_operators import define_operator
    from finch_core.ir.defined_operators import operator_from

__all__ = [
    "Operator",
    "by_promotion",
    "by_ufunc",
    "cast_value",
    "constant",
    "define_operator",
    "exact_value",
    "literal_value",
    "operator",
    "operator_for",
    "operator_from",
    "operators",
    "register",
    "unregister",
]


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """The two that need more of the compiler are imported when they are first used."""
        if name == "define_operator":
            from finch_core.frontend.user_operators import define_operator

            return define_operator
        if name == "operator_from":
            from finch_core.ir.defined_operators import operator_from

            return operator_from
        raise AttributeError(f"module 'finch_core.operators' has no attribute {name!r}")
