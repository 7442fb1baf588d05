"""The parameters of elementwise functions: their number, their names and their defaults."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import CO_VARARGS, CO_VARKEYWORDS, Signature, signature
from types import FunctionType
from typing import Any

import numpy as np

from finch_core.ir.operators import Operator


class Parameters:
    """Those of a function of scalars. ``count`` is how many there are; None if it does not tell."""

    def __init__(self, name: str, function: Any) -> None:
        self.name, self.count, self._function = name, _count_of(function), function
        self._signature: Signature | None = None

    def bound(self, args: tuple[Any, ...], named: Mapping[str, Any]) -> tuple[Any, ...]:
        """The arguments of all parameters in turn, of a Python function with its defaults. Raises
        ``TypeError`` for others than it has."""
        if not named and self.count in (None, len(args)):
            return args
        if not isinstance(self._function, FunctionType):
            if named:
                raise TypeError(f"{self.name} has no parameter {next(iter(named))!r}")
            counted = f"{self.count} argument" + "s" * (self.count != 1)
            raise TypeError(f"{self.name} takes {counted}, not {len(args)}")
        if self._signature is None:
            self._signature = signature(self._function)
        try:
            bound = self._signature.bind(*args, **named)
        except TypeError as error:
            raise TypeError(f"{self.name}: {error}") from None
        bound.apply_defaults()
        return tuple(bound.arguments.values())


def _count_of(function: Any) -> int | None:
    if isinstance(function, np.ufunc):
        return function.nin
    if isinstance(function, Operator):
        return _count_of(function.evaluate)
    code = getattr(function, "__code__", None)
    if code is None or code.co_flags & (CO_VARARGS | CO_VARKEYWORDS):
        return None
    return int(code.co_argcount + code.co_kwonlyargcount)


__all__ = ["Parameters"]
