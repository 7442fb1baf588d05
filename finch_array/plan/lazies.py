"""Lazy arrays: the operators, functions and methods of tensors, computed when they are asked for.

``compute`` brings several at once to tensors; ``np.asarray``, ``print``, ``float`` and all that
asks for what is stored compute one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from finch_array import run as running
from finch_array.functions import cast
from finch_array.methods import check_fits
from finch_array.operands import NUMBERS, operand
from finch_array.plan import graph, numbers
from finch_array.reductions import array_operand
from finch_core.errors import FormatError
from finch_core.interface.array_methods import ArrayMethods
from finch_core.interface.level import Format
from finch_core.records import frozen


@frozen(eq=False)
class LazySignature:
    """What array functions depend on of a lazy array: its dimensions and dtype."""

    ndim: int
    dtype: Any


_signatures: dict[Any, LazySignature] = {}


class Lazy(ArrayMethods):
    """An array that is computed when it is asked for. ``lazy_node`` is its node in the graph."""

    __slots__ = ("lazy_node",)
    permutes: ClassVar[bool] = False

    def __init__(self, node: graph.Node) -> None:
        self.lazy_node = node

    @property
    def shape(self) -> tuple[int, ...]:
        """The dimensions."""
        return self.lazy_node.shape

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.lazy_node.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the values."""
        return self.lazy_node.dtype

    @property
    def fill_value(self) -> Any:
        """The value of all elements that will not be stored."""
        found = self.lazy_node.fill
        return found if found is not None else self.dtype.type(0)

    @property
    def signature(self) -> LazySignature:
        """What array functions depend on: no tensor has an equal one."""
        key = (self.ndim, self.dtype)
        return _signatures.get(key) or _signatures.setdefault(key, LazySignature(*key))

    def settle(self) -> Any:
        """The tensor, computed each time: its operands may have changed since the last."""
        from finch_array.plan.fusing import evaluated

        return array_operand(evaluated([self.lazy_node])[0])

    @property
    def value(self) -> Any:
        """The value of an array without dimensions, as a Python scalar."""
        return self.settle().value

    def to_numpy(self) -> np.ndarray[Any, Any]:
        """A dense NumPy array of the values."""
        return np.asarray(self.settle().to_numpy())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return np.array(self.to_numpy(), dtype=dtype, copy=copy)

    def __repr__(self) -> str:
        return repr(self.settle())

    def __getattr__(self, name: str) -> Any:
        """What only a tensor has, such as its format and buffers."""
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.settle(), name)

    def __setitem__(self, index: Any, value: Any) -> None:
        raise TypeError("lazy arrays are not assigned to: fa.where, or fa.compute first")

    def __reduce__(self) -> Any:
        return (lazy, (self.settle(),))


def _operator(name: str) -> Any:
    """An operator of lazy arrays; of numbers alone, in a fused function, Python's."""
    operate, function = getattr(ArrayMethods, f"__{name}__"), numbers.FUNCTIONS[name]

    def method(array: Lazy, *others: Any) -> Any:
        from finch_array.plan.fusing import is_tracing, look

        if array.lazy_node.shape or not is_tracing():
            return operate(array, *others)
        parts = tuple(map(numbers.number_of, (array, *others)))
        if any(x is None for x in parts):
            return operate(array, *others)
        found = numbers.reckoned(function, parts)
        if isinstance(found, graph.Source):
            return Lazy(found)
        look()
        return found

    return method


for _name in numbers.FUNCTIONS:
    setattr(Lazy, f"__{_name}__", _operator(_name))


def _functional(name: str) -> Any:
    """An update ``x += y`` of a lazy array: a new one, of the same shape and dtype. What has no
    dimensions may be a number of Python, which takes those of the result."""
    operate = getattr(Lazy, f"__{name}__")

    def update(array: Lazy, other: Any) -> Any:
        found = operate(array, other)
        if found is NotImplemented or not array.ndim:
            return found
        check_fits(array, found)
        return found if found.dtype == array.dtype else cast(found, array.dtype)

    return update


for _name in "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift".split():
    setattr(Lazy, f"__i{_name}__", _functional(_name))


def lazy(x: Any, /) -> Lazy:
    """``x`` as a lazy array: what is computed from it is lazy, until ``compute``. Raises
    ``TypeError`` for what is no array."""
    if x.__class__ is Lazy:
        return x
    return Lazy(graph.source(operand(x)))


def compute(*values: Any, format: Format | None = None) -> Any:
    """The tensors of lazy arrays, planned together; of one, itself, of several a tuple.

    Tuples, lists and dicts are computed inside; other values stay as they are. ``format`` is the
    format of all results. Raises ``FormatError`` if a result does not fit it, and what the
    kernels raise.
    """
    from finch_array.plan.fusing import evaluated

    found: list[Lazy] = []
    given = values[0] if len(values) == 1 else values
    rebuild = taken_apart(given, found)
    arrays = evaluated([x.lazy_node for x in found])
    made = [array_operand(x) for x in arrays]
    if format is not None:
        if not isinstance(format, Format):
            raise FormatError(f"format= is a tree of levels, not {type(format).__name__}")
        made = [running.in_format(x, format) for x in made]
    return rebuild(made)


def taken_apart(value: Any, found: list[Lazy]) -> Callable[[list[Any]], Any]:
    """Collect the lazy arrays inside of ``value``; the result puts arrays in their places."""
    if value.__class__ is Lazy:
        place = len(found)
        found.append(value)
        return lambda arrays: arrays[place]
    if isinstance(value, dict):
        parts = {k: taken_apart(v, found) for k, v in value.items()}
        return lambda arrays: {k: part(arrays) for k, part in parts.items()}
    if isinstance(value, (tuple, list)):
        kind, items = type(value), [taken_apart(v, found) for v in value]
        if hasattr(value, "_fields"):
            return lambda arrays: kind(*(item(arrays) for item in items))
        return lambda arrays: kind(item(arrays) for item in items)
    return lambda arrays: value


__all__ = ["NUMBERS", "Lazy", "compute", "lazy", "taken_apart"]
