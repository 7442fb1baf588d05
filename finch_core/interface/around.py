"""Tensor-likes around another."""

from __future__ import annotations

from typing import Any

from finch_core.interface.tensorlike import BoundTensor, TensorLike
from finch_core.ir.dtypes import Type
from finch_core.ir.expressions import Expr


class Around(TensorLike):
    """A tensor-like around another, ``inner``, whose type, fill value and memory it has."""

    __slots__ = ()
    inner: TensorLike

    @property
    def dtype(self) -> Type:
        return self.inner.dtype

    @property
    def fill_value(self) -> Any:
        return self.inner.fill_value

    @property
    def shifts(self) -> tuple[Expr, ...]:
        return self.inner.shifts

    @property
    def root(self) -> BoundTensor | None:
        return self.inner.root

    @property
    def whole(self) -> bool:
        return self.inner.whole


__all__ = ["Around"]
