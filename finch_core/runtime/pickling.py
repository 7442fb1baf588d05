"""Kernels pickled: by name as functions are, or with their function and its text."""

from __future__ import annotations

import functools
import sys
from types import FunctionType
from typing import Any

from finch_core.errors import KernelSyntaxError

_WRAPPED = ".__wrapped__"


def reduced(kernel: Any, function: Any, arguments: tuple[Any, ...], restore: Any) -> Any:
    """What ``Kernel.__reduce__`` gives: a name, or ``restore`` of the function, ``arguments``, the
    module and the name."""
    module, name = kernel.__module__, kernel.name
    named = named_in(module, name) is kernel
    if named and module != "__main__":
        return name
    if not isinstance(function, FunctionType):
        raise TypeError(f"{kernel!r} was made of no function, and cannot be pickled")
    if named:  # picklers that go by name find the function where the kernel is
        function.__qualname__ = name + _WRAPPED
    _keep_texts(kernel)
    return restore, (function, *arguments, module, name)


def named_in(module: str, name: str) -> Any:
    """What has a name in a module of this process; None where there is nothing."""
    try:
        return functools.reduce(getattr, name.split("."), sys.modules[module])
    except (AttributeError, KeyError):
        return None


def _keep_texts(kernel: Any) -> None:
    """Give the functions that the kernel was parsed from their texts: where a function is loaded,
    its file need not be, and a notebook's cells are not."""
    try:
        seen = kernel.program.seen
    except KernelSyntaxError:  # it will be refused there, too
        return
    for function, lines in seen.texts.items() if seen is not None else ():
        function.__dict__["__finch_text__"] = function.__code__.co_code, lines
