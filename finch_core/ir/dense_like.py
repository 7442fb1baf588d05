"""Workspaces that take after a tensor, ``w = np.zeros_like(x)``: what is known when the kernel is
parsed. The rest is known with its arguments (``lower.made_like``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from finch_core.errors import Span
from finch_core.records import evolve, field, frozen


@frozen
class DenseLike:
    """In place of the format of a ``Local``: that of a dense tensor.

    ``shape_of`` is the tensor whose shape it has (None: the ``Local`` has a shape); ``dtype`` a
    dtype, or the tensor or variable that has it. All elements are ``fill``, a constant; or the
    value of the variable ``filled_with``; or, of a copy, those of ``copy_of``.
    """

    shape_of: str | None
    dtype: np.dtype[Any] | str
    fill: Any = 0
    filled_with: str | None = None
    copy_of: str | None = None
    span: Span | None = field(default=None, eq=False, repr=False)

    @property
    def sources(self) -> tuple[str, ...]:
        """The tensors and variables that it depends on."""
        dtype = self.dtype if isinstance(self.dtype, str) else None
        found = (self.shape_of, dtype, self.filled_with, self.copy_of)
        return tuple(name for name in found if name is not None)

    def text(self, sizes: str, fill: str) -> str:
        """The call that makes it, with the text of its sizes and of its constant."""
        if self.copy_of is not None:
            return f"{self.copy_of}.copy()"
        value, dtype = self.filled_with or fill, ""
        if self.dtype not in (self.shape_of, self.filled_with):
            shown = f"{self.dtype}.dtype" if isinstance(self.dtype, str) else f"np.{self.dtype}"
            dtype = f", dtype={shown}"
        if self.shape_of is not None:
            return f"np.full_like({self.shape_of}, {value}{dtype})"
        return f"np.full(({sizes}), {value}{dtype})"

    def renamed(self, name: Callable[[str], str]) -> DenseLike:
        """The same, of tensors and variables of other names."""

        def other(old: Any) -> Any:
            return name(old) if isinstance(old, str) else old

        return evolve(
            self, shape_of=other(self.shape_of), dtype=other(self.dtype),
            filled_with=other(self.filled_with), copy_of=other(self.copy_of),
        )  # fmt: skip


__all__ = ["DenseLike"]
