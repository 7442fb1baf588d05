"""``missing``, the value of a permissive read out of bounds, and ``coalesce``, which replaces it
(paper, Table of index modifiers)."""

from __future__ import annotations

from typing import Any

from finch_core.ir.dtypes import BOOL, Type, promote
from finch_core.ir.expressions import TRUE, Expr
from finch_core.ir.operators import Operator, register
from finch_core.records import frozen


def _propagate(self: Any, *others: Any) -> Any:
    return self


class MissingType:
    """The class of ``missing``; any arithmetic with it gives ``missing``."""

    __slots__ = ()

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _propagate
    __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = _propagate
    __pow__ = __rpow__ = __neg__ = __abs__ = _propagate

    def __repr__(self) -> str:
        return "missing"

    def __bool__(self) -> bool:
        raise TypeError("missing is neither true nor false; use coalesce(x, default)")

    def __reduce__(self) -> str:
        return "missing"


missing = MissingType()
"""The value of a permissive read out of bounds."""


@frozen(order=False)
class Missing(Expr):
    """``missing`` as an expression, with the type of the value that it replaces if that is
    known."""

    type: Type = MissingType

    @property
    def dtype(self) -> Type:
        return self.type


def _coalesce(*values: Any) -> Any:
    return next((value for value in values if value is not missing), missing)


def _coalesced(types: tuple[Type, ...]) -> tuple[tuple[Type, ...], Type]:
    present = tuple(t for t in types if t is not MissingType)
    if not present:
        return types, MissingType
    common = promote(present)
    return tuple(t if t is MissingType else common for t in types), common


coalesce = register(Operator("coalesce", _coalesce, _coalesced, definition=lambda *args: args[0]))
"""``coalesce(a, b, ...)``: the first argument that is not ``missing``."""


def _whether(types: tuple[Type, ...]) -> tuple[tuple[Type, ...], Type]:
    return types, BOOL


def _is_present(value: Any) -> bool:
    return value is not missing


present = register(Operator("present", _is_present, _whether, definition=lambda _value: TRUE))
"""``present(a)``: whether ``a`` is not ``missing``. Programs do not spell it; passes do."""
