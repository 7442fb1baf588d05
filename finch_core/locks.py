"""Locks that a forked child can take.

A child process has one thread, the one that forked, and the memory of all: a lock that another
thread held is held for ever. What our locks guard is changed in one step when it is done, so a
child may begin with locks that are free.
"""

from __future__ import annotations

import functools
import importlib
import os
import threading
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from functools import cached_property as cached_property
else:

    class cached_property(functools.cached_property):  # noqa: N801 (a decorator)
        """``functools.cached_property`` without a lock. That of Python 3.11 has one for all objects
        of a class, which stays held in a child that is forked while a thread computes a value."""

        def __get__(self, instance, owner=None):
            if instance is None:
                return self
            values, name = instance.__dict__, self.attrname
            if name not in values:
                values[name] = self.func(instance)
            return values[name]


if TYPE_CHECKING:

    class _RLock:
        def acquire(self, blocking: bool = True, timeout: float = -1) -> bool: ...
        def release(self) -> None: ...
        def __enter__(self) -> bool: ...
        def __exit__(self, *exc: object) -> None: ...
        def _is_owned(self) -> bool: ...
        def _at_fork_reinit(self) -> None: ...

else:
    _RLock = type(threading.RLock())


class Lock(_RLock):
    """A lock that one thread may take several times, and that is free in a forked child unless the
    thread that forked holds it. For ``with`` statements.

    It is taken and given back by C alone: a handler of a signal that raises an exception, as
    Control-C does, runs between steps of Python, of which there is none between the lock that is
    taken and the body of ``with``. One more would leave the lock held for ever.
    """

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__()
        _locks.add(self)

    def renew(self) -> None:
        """Free the lock from a thread that is gone."""
        if not self._is_owned():
            self._at_fork_reinit()


_locks: weakref.WeakSet[Lock] = weakref.WeakSet()
_then: list[Callable[[], None]] = []


def on_fork(action: Callable[[], None]) -> Callable[[], None]:
    """Have ``action`` run in every child process, before it goes on."""
    _then.append(action)
    return action


importing = Lock()
"""Held by a thread that imports what compiles: Python's own locks of modules stay held in a child,
so a fork waits until the modules are there."""


@functools.cache
def imported(name: str) -> Any:
    """The module ``name``, imported under that lock when it is first asked for."""
    with importing:
        return importlib.import_module(name)


_PATIENCE = 10.0
"""Seconds: a module that forks while another thread waits for it would wait for ever."""
_holding: list[bool] = []


def _before() -> None:
    _holding.append(importing.acquire(timeout=_PATIENCE))


def _after() -> None:
    if _holding and _holding.pop():
        importing.release()


def _in_child() -> None:
    _after()
    for lock in list(_locks):
        lock.renew()
    for action in _then:
        action()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_after, after_in_child=_in_child)
