"""What an array function asks for: a value at each index, and how it is reduced."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from finch_core.ir.expressions import Expr, Literal
from finch_core.ir.operators import Operator
from finch_core.records import field, frozen

Value = Callable[..., Expr]
"""Builds the value at an index from one expression for each operand."""

Indices = tuple[str, ...]

Dtype = np.dtype[Any] | Callable[[np.dtype[Any]], np.dtype[Any]] | None
"""The dtype of a result: a function of the value's, or the value's where it is None."""


@frozen(eq=False)
class Request:
    """``out[...] op= value(operand[...], ...)``, for all indices.

    ``inputs`` has the index names of each operand, ``()`` for a number; a dimension of size 1 may
    stand for a longer one of the same name. Without ``op`` the values are the result's. ``dtype``
    is that of the result, or a function that gives it for the value's, which it is by default.
    ``sizes`` are the sizes of indices that no operand has; those in ``fixed`` are 0, of dimensions
    of size 1. Those in ``exact`` have one size in all operands: a dimension of 1 does not stand for
    a longer one. ``loops`` and ``dense`` decide the order of the loops and whether the result is
    dense, chosen where they are None. Rows of the operands ``marked`` are copied into a workspace,
    in which their last index is looked up. ``shared``: whether loops run on several cores, decided
    by the shapes where it is None. ``keeps``: values that equal the fill are stored, too.
    ``constants`` are numbers that requests of one kind differ by: ``value`` is given them behind
    the operands.
    """

    name: str
    value: Value
    inputs: tuple[Indices, ...]
    out: Indices
    op: Operator | None = None
    dtype: Dtype = None
    sizes: dict[str, int] = field(factory=dict)
    fixed: frozenset[str] = frozenset()
    exact: frozenset[str] = frozenset()
    loops: Indices | None = None
    dense: bool | None = None
    marked: tuple[int, ...] = ()
    shared: bool | None = None
    keeps: bool = False
    constants: tuple[Literal, ...] = ()

    def valued(self, operands: Sequence[Expr]) -> Expr:
        """The value at an index, from one expression for each operand."""
        return self.value(*operands, *self.constants)


def letters(ndim: int, last: int | None = None) -> Indices:
    """Names of the last ``ndim`` dimensions of an array of ``last`` dimensions."""
    return _LETTERS[last if last is not None else ndim][-ndim:] if ndim else ()


_LETTERS = {n: tuple(f"i{k}" for k in range(n)) for n in range(65)}


__all__ = ["Dtype", "Indices", "Request", "Value", "letters"]
