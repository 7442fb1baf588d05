"""Functions of the values of one array, ``out[i] = f(a[i], s0, ...)``, called on new memory: NumPy
computes few values, kernels others."""

from __future__ import annotations

from array import array as words_of
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from finch_array.operands import kind_of
from finch_array.vectorised import Code, function_of, one_function
from finch_array.wide_numbers import is_word
from finch_core.interface.signatures import TensorSignature
from finch_core.ir.dtypes import type_of
from finch_core.ir.expressions import Expr, Var
from finch_core.runtime import worth
from finch_core.runtime.arguments import Number, array_argument
from finch_core.runtime.kernel import Kernel
from finch_core.runtime.tensor_records import ADDRESS, cast, from_buffer

PLAIN = "biufc"
"""The kinds of dtypes whose arrays have buffers, and whose numbers are machine words."""


class Map:
    """A kernel over values, and the value that it computes of a value and numbers. NumPy computes
    it, where it gives the same bits, until so many values are worth the kernel; always if it is one
    function of NumPy, of at most ``ONE_FUNCTION`` values. A call that any caller could make
    compiles the kernel; later ones pass the records of both arrays, which have no more than a
    length and an address, without tensors."""

    def __init__(self, kernel: Kernel[..., Any], value: Callable[..., Expr]) -> None:
        self.kernel, self._value = kernel, value
        self._known: dict[Any, Any] = {}
        self._codes: dict[Any, Code | None] = {}
        self._functions: dict[Any, tuple[np.ufunc, tuple[Any, ...]] | None] = {}

    def __call__(self, out: Any, values: Any, numbers: Sequence[Any]) -> None:
        """Set ``out``, a new array as long as ``values``. Raises what the kernel does."""
        if out.size <= worth.ONE_FUNCTION and self._is_one_function(out, values, numbers):
            return
        passed = [Number(x) for x in numbers]
        key = (out.dtype, values.dtype, *[x.signature for x in passed])
        known = self._known.get(key)
        if known is None and self._is_computed(key, out, values, numbers):
            return
        if known is None or not values.flags.carray or not known[0].suits(out.size, out.nbytes):
            self.kernel(out, values, *numbers)
            if known is None:
                self._remember(key, out, values, passed)
            return
        specialized, free = known
        try:
            records, first, second = free.pop()
        except IndexError:
            records = words_of("Q", [0] * 8)
            first = records.buffer_info()[0]
            second = first + 4 * records.itemsize
        records[0] = records[2] = records[4] = records[6] = out.size
        records[1] = int(cast(ADDRESS, from_buffer(out)))
        records[5] = int(cast(ADDRESS, from_buffer(values)))
        words = [first, second]
        for x in passed:
            words += x.words()
        try:
            specialized.call(words, (out, values, *numbers))
        except OverflowError:  # an integer beyond 64 bits
            self.kernel(out, values, *numbers)
        free.append((records, first, second))

    def _is_one_function(self, out: Any, values: Any, numbers: Sequence[Any]) -> bool:
        """Compute values by one function of NumPy; whether that was done."""
        key = (out.dtype, values.dtype, *[kind_of(x) for x in numbers])
        try:
            found = self._functions[key]
        except KeyError:
            value = self._value_of(values, numbers)
            found = self._functions[key] = one_function(value, out.dtype, "a")
        if found is None:
            return False
        function, args = found
        given = {"a": values}
        for k, x in enumerate(numbers):
            if not is_word(x):
                return False
            given[f"s{k}"] = x
        with np.errstate(all="ignore"):
            function(*[x(given) for x in args], out=out)
        return True

    def _value_of(self, values: Any, numbers: Sequence[Any]) -> Expr:
        parts = [Var(f"s{k}", type_of(x)) for k, x in enumerate(numbers)]
        return self._value(Var("a", values.dtype), *parts)

    def _is_computed(self, key: Any, out: Any, values: Any, numbers: Sequence[Any]) -> bool:
        """Compute few values by NumPy; whether that was done."""
        try:
            code = self._codes[key]
        except KeyError:
            code = self._codes[key] = function_of(self._value_of(values, numbers), out.dtype)
        if code is None or not all(map(is_word, numbers)):
            return False
        if not worth.are_few((self, key), len(values), worth.WORTH_OF_VALUES):
            return False
        given = {f"s{k}": x for k, x in enumerate(numbers)}
        with np.errstate(all="ignore"):
            out[:] = code({"a": values, **given})
        return True

    def _remember(self, key: Any, out: Any, values: Any, passed: Sequence[Number]) -> None:
        """Remember what has been compiled."""
        if any(x.kind not in PLAIN for x in passed) or out.dtype.kind not in PLAIN:
            return
        if values.dtype.kind not in PLAIN or not values.flags.carray:
            return
        program = self.kernel.program
        arrays = [
            array_argument(x, name, False, program) for x, name in ((out, "out"), (values, "a"))
        ]
        assert all(isinstance(x.signature, TensorSignature) for x in arrays)
        specialized = self.kernel.specialized([*arrays, *passed])
        if specialized is not None:
            self._known[key] = specialized, []


__all__ = ["Map"]
