"""What masks have in common: they are Boolean tensor-likes without memory and dimensions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from finch_core.errors import FormatError
from finch_core.interface.level import Mode
from finch_core.interface.tensorlike import TensorLike
from finch_core.ir.dtypes import BOOL
from finch_core.ir.program import Extent

if TYPE_CHECKING:
    from finch_core.interface.context import Context
    from finch_core.interface.looplet import Looplet


class BooleanTensor(TensorLike):
    """A Boolean tensor-like that is only read: a mask or a row of one.

    A subclass has ``looplet``, and ``ndim`` unless it is a vector. Its dimensions are open: the
    extents of loops come from other accesses or from written ranges.
    """

    __slots__ = ()

    @property
    def ndim(self) -> int:
        return 1

    @property
    def dtype(self) -> np.dtype[np.bool_]:
        return BOOL

    @property
    def dims(self) -> tuple[Extent | None, ...]:
        return (None,) * self.ndim

    def unfurl(self, ctx: Context, mode: Mode, protocol: str) -> Looplet:
        """``looplet``, for reads. Raises ``FormatError`` for updates."""
        if mode is Mode.UPDATE:
            raise FormatError(
                "a mask cannot be written",
                hint="write a tensor of bools, such as Tensor(Dense(Dense(Element(False))))",
            )
        return self.looplet()

    def looplet(self) -> Looplet:
        """Where the vector, or each row, is true: a looplet of ``Constant``s, or of rows."""
        raise NotImplementedError


__all__ = ["BooleanTensor"]
