"""Pickling of kernels: by name, as functions are, or by value with the function and its source."""

from __future__ import annotations

import functools
import sys
from collections.abc import Mapping
from types import FunctionType
from typing import Any

from finch_core.errors import KernelSyntaxError

_WRAPPED = ".__wrapped__"


def reduced(kernel: Any, function: Any, arguments: tuple[Any, ...], restore: Any) -> Any:
    """The result of ``Kernel.__reduce__``: a name, or a call of ``restore`` with the function,
    ``arguments``, the module and the name. Raises ``TypeError`` for a kernel without a function."""
    module, name = kernel.__module__, kernel.name
    named = named_in(module, name) is kernel
    if named and module != "__main__":
        return name
    if not isinstance(function, FunctionType):
        raise TypeError(f"{kernel!r} was made of no function, and cannot be pickled")
    if named:  # picklers that go by name find the function as an attribute of the kernel
        function.__qualname__ = name + _WRAPPED
    _keep_texts(kernel)
    return restore, (function, *arguments, module, name)


def named_in(module: str, name: str) -> Any:
    """The object with a qualified name in an imported module, or None."""
    try:
        return functools.reduce(getattr, name.split("."), sys.modules[module])
    except (AttributeError, KeyError):
        return None


def _keep_texts(kernel: Any) -> None:
    """Attach their source text to the functions that the kernel was parsed from: the process that
    unpickles them may lack the file, and always lacks a notebook's cells."""
    try:
        seen = kernel.program.seen
    except KernelSyntaxError:  # the other process will refuse it, too
        return
    if seen is not None:
        keep_texts(seen.texts)


def keep_texts(texts: Mapping[FunctionType, tuple[str, ...]]) -> None:
    """Attach the source lines that were read to functions, which are pickled with them."""
    for function, lines in texts.items():
        function.__dict__["__finch_text__"] = function.__code__.co_code, lines
