"""What a call of a kernel looks at in its arguments, for a backend that can do it in C.

A call compares the class, dtype, dimensions and memory of each argument with what the kernel was
compiled for. In Python that takes a microsecond an argument, which is more than a small kernel's
own work. An *inline cache* (Deutsch and Schiffman) is the same comparison for one combination of
arguments, made by the backend (``CompleteKernel.inline_cache``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from finch_core.records import frozen

MISSED: Any = object()
"""What a call through an inline cache gives, having done nothing, for arguments that it does not
know."""
ABSENT: Any = object()
"""The value of a name that is not bound, or an attribute that is not there."""


@frozen
class NumberGuard:
    """A number of exactly this Python or NumPy ``type``, which the kernel takes by value."""

    type: type


@frozen
class ArrayGuard:
    """Any NumPy array of exactly this ``dtype`` object and ``ndim``, and of this ``shape`` if it is
    not None; C-contiguous and aligned, and writeable where the kernel has ``written`` it. Its
    record has its dimensions, its address, its size, and 0 where there are dimensions."""

    dtype: np.dtype[Any]
    ndim: int
    shape: tuple[int, ...] | None
    written: bool


@frozen
class TensorGuard:
    """A tensor of exactly this ``type`` in this ``state`` (``TensorStorage.state``), whose record
    is at ``address`` and whose buffers lie in ``memory``, ranges of addresses. If it is not
    ``alone``, any other with the same ``signature`` does as well, unless its state is of a class
    other than ``object``: its state, address and memory are attributes of it. If it is ``growing``,
    its attribute ``writer`` is there, has ``ended``, and has not ``lent``."""

    type: type
    state: object
    signature: object
    address: int
    memory: tuple[tuple[int, int], ...]
    alone: bool
    written: bool
    growing: bool


@frozen(eq=False)
class InlineCache:
    """What a backend needs for calls of a kernel without a look at its arguments in Python.

    ``names`` and ``attributes`` are what the program was parsed with: dicts with keys, and objects
    with names, whose values must be these still, or ``ABSENT``. Only calls of the thread that made
    it, one at a time, with as many arguments as there are ``guards``, are its own. The memory of an
    argument that is written overlaps with no other's, and each word at an address of ``watched[0]``
    is that of ``watched[1]``, which is set to what a call leaves: else it has missed. ``control``
    is a control block of the thread, ``workspace`` has the addresses of the records that the kernel
    takes behind its arguments, and ``calls`` is a word that counts.

    A call that is done gives the argument at the place ``result``, if that is not None, else what
    ``gather(args)`` gives, if that is not, else None. Any other status is passed to
    ``settle(status, args)``: where it gives None, the call is done, and else fails with the
    exception that it gives. If it raises, which a handler of a signal may do before anything else,
    ``leave(args)`` is called, and the call fails with that exception. Until all of this is done, no
    other call is made, and ``writer``, which has not ``ended``, is that of the tensors that are
    growing.
    """

    guards: Sequence[NumberGuard | ArrayGuard | TensorGuard]
    names: Sequence[tuple[dict[str, Any], str, Any]]
    attributes: Sequence[tuple[Any, str, Any]]
    watched: np.ndarray[Any, np.dtype[np.uint64]]
    workspace: Sequence[int]
    control: np.ndarray[Any, np.dtype[np.int64]]
    calls: np.ndarray[Any, np.dtype[np.uint64]]
    result: int | None
    gather: Callable[[tuple[Any, ...]], Any] | None
    settle: Callable[[int, tuple[Any, ...]], BaseException | None]
    leave: Callable[[tuple[Any, ...]], None]
    writer: object
