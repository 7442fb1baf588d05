"""Wrappers and masks as arguments of the reference: an access of one is written as what it means of
the tensor inside, until plain arrays are left.

    offset(A, 1)[i]    is    A[i + 1]              UpTriMask()[i, j]    is    i <= j
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
import numpy as np

from finch_core.expressions import Access, Expr
from finch_core.notation import Program
from finch_core.rewrite import rewrite


def unwrapped(program: Program, values: Mapping[str, Any]) -> tuple[Program, dict[str, Any]]:
    """A program of the tensors inside of wrappers, by the same names, and those. Masks are gone.

    What has a dense array of its own stays: a window, say.
    """
    plain = dict(values)
    if not all(map(is_array, values.values())):
        program = _typed(program, values)
    for name, value in values.items():
        while not is_array(value):
            program, value = _without(program, name, value), getattr(value, "tensor", None)
            plain[name] = value
        if value is None:
            del plain[name]
    return program, plain


class _Typed(str):
    """The name of a tensor that is not bound, with the dtype of its elements: what an expression
    is made of says what it gives."""

    __slots__ = ("dtype",)
    dtype: np.dtype[Any]


def _typed(program: Program, values: Mapping[str, Any]) -> Program:
    """The program with the dtypes of its tensors in their names."""
    dtypes = {name: _dtype(value) for name, value in values.items()}
    dtypes |= {local.name: np.dtype(local.format.dtype) for local in program.locals}

    def rule(node: Expr) -> Expr:
        if not isinstance(node, Access) or node.tensor not in dtypes:
            return node
        name = _Typed(node.tensor)
        name.dtype = dtypes[node.tensor]
        return attrs.evolve(node, tensor=name)

    return attrs.evolve(program, body=rewrite(program.body, rule))


def _dtype(value: Any) -> np.dtype[Any]:
    """Of what a tensor, array or wrapper holds; that of a mask is bool."""
    while not hasattr(value, "dtype") and hasattr(value, "tensor"):
        value = value.tensor
    return np.dtype(getattr(value, "dtype", bool))


def is_array(value: Any) -> bool:
    """Whether a value is a number, an array or a tensor: something with a dense array."""
    if not hasattr(value, "dense_access"):
        return True
    return getattr(value, "has_array", False) and is_array(value.tensor)


def as_seen(value: Any, array: Any) -> Any:
    """An array for what is inside of ``value``, as it is seen from outside."""
    if is_array(value):
        return array
    array = as_seen(value.tensor, array)
    return value.dense_result(array) if hasattr(value, "dense_result") else array


def _without(program: Program, name: str, value: Any) -> Program:
    def rule(node: Expr) -> Expr:
        if isinstance(node, Access) and node.tensor == name:
            found: Expr = value.dense_access(node)
            return found
        return node

    return attrs.evolve(program, body=rewrite(program.body, rule))


__all__ = ["as_seen", "is_array", "unwrapped"]
