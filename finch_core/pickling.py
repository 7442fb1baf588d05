"""Kernels pickled: by name as functions are, or with their function and its text."""

from __future__ import annotations

import functools
import sys
from types import FunctionType
from typing import TYPE_CHECKING, Any

from finch_core.errors import KernelSyntaxError

if TYPE_CHECKING:
    from finch_core.compile import Options
    from finch_core.kernels import Kernel

_WRAPPED = ".__wrapped__"


def reduced(kernel: Kernel, function: Any, options: Options) -> Any:
    """What ``Kernel.__reduce__`` gives."""
    module, name = kernel.__module__, kernel.name
    named = _found(module, name) is kernel
    if named and module != "__main__":
        return name
    if not isinstance(function, FunctionType):
        raise TypeError(f"{kernel!r} was made of no function, and cannot be pickled")
    if named:  # picklers that go by name find the function where the kernel is
        function.__qualname__ = name + _WRAPPED
    _keep_texts(kernel)
    return restored, (function, options, module, name)


def restored(function: FunctionType, options: Options, module: str, name: str) -> Kernel:
    """The kernel of this name if it is there, else one of the function."""
    from finch_core.kernels import Kernel

    found = _found(module, name)
    if isinstance(found, Kernel) and found._function is function:
        return found
    function.__qualname__ = name
    return Kernel(function, options)


def _found(module: str, name: str) -> Any:
    try:
        return functools.reduce(getattr, name.split("."), sys.modules[module])
    except (AttributeError, KeyError):
        return None


def _keep_texts(kernel: Kernel) -> None:
    """Give the functions that the kernel was parsed from their texts: where a function is loaded,
    its file need not be, and a notebook's cells are not."""
    try:
        seen = kernel.program.seen
    except KernelSyntaxError:  # it will be refused there, too
        return
    for function, lines in seen.texts.items() if seen is not None else ():
        function.__dict__["__finch_text__"] = function.__code__.co_code, lines
