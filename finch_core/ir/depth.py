"""Deeply nested programs: a larger stack for passes, and a limit.

Passes recurse into expressions and statements: a sum of N terms, or N variables in sequence, is
N levels deep. Programs that exceed Python's recursion limit are rare; their work is repeated on
a thread with a larger stack.
"""

from __future__ import annotations

import contextvars
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

from finch_core.errors import FinchError, KernelSyntaxError, Span
from finch_core.ir.expressions import Expr
from finch_core.ir.program import Program, Stmt
from finch_core.locks import Lock

T = TypeVar("T")

MOST_NESTED = 2000
"""The greatest nesting depth of expressions and statements: terms of a sum, variables in
sequence, nested loops and conditions."""

_FRAMES, _STACK = 50_000, 256 << 20
"""The recursion limit and stack size of that thread, at 5 KiB of stack for each call."""

_lock = Lock()
_deep = threading.local()


def roomy(name: str, work: Callable[[], T]) -> T:
    """``work()``, which may be run twice, with enough stack for programs of ``MOST_NESTED``
    levels.

    Raises ``KernelSyntaxError`` for the kernel ``name`` if even that stack is too small.
    """
    try:
        return work()
    except RecursionError:
        if is_deep():
            raise
    try:
        return on_a_thread(work)
    except RecursionError:
        raise _too_deep(name, "too deeply for the memory that a stack may have") from None


class _Abandoned(SystemExit):
    """The waiting thread has been interrupted. Python ends a thread by it without a word."""


def on_a_thread(work: Callable[[], T]) -> T:
    """``work()`` on a thread with a larger stack. What a signal's handler raises ends it."""
    found: list[Any] = []
    context = contextvars.copy_context()
    done = threading.Event()  # Python 3.11 takes a thread for ended whose join is interrupted

    def run() -> None:
        _deep.here = True
        try:
            found.append((context.run(work), None))
        except BaseException as error:  # it is raised in the waiting thread
            found.append((None, error))
        finally:
            done.set()

    with _lock:
        limit, size = sys.getrecursionlimit(), threading.stack_size(_STACK)
        thread = threading.Thread(target=run, name="finch-deep", daemon=True)
        try:
            sys.setrecursionlimit(max(limit, _FRAMES))
            thread.start()
            threading.stack_size(size)
            done.wait()
        except BaseException as error:
            if thread.ident is not None:
                _abandon(thread.ident, done)
            elif isinstance(error, RuntimeError):  # no memory for such a stack
                raise RecursionError(str(error)) from None
            raise
        finally:
            threading.stack_size(size)
            sys.setrecursionlimit(limit)
    result, raised = found[0]
    if raised is not None:
        raise raised
    value: T = result
    return value


def _abandon(thread: int, done: threading.Event) -> None:
    """End a thread, and wait for that: the recursion limit is that of all threads, and one that is
    deeper than the limit when this falls ends the process."""
    import ctypes  # nobody else needs it

    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(_Abandoned))
    while not done.is_set() and thread in sys._current_frames():
        with suppress(BaseException):  # of a further signal
            done.wait(0.1)


def is_deep() -> bool:
    """Whether this is the thread with the larger stack."""
    return bool(getattr(_deep, "here", False))


def check_depth(program: Program) -> None:
    """Raise ``KernelSyntaxError`` if a program is nested more than ``MOST_NESTED`` levels deep."""
    left: list[tuple[Stmt | Expr, int, Span | None]] = [(program.body, 1, None)]
    while left:
        node, depth, span = left.pop()
        span = getattr(node, "span", None) or span
        if depth > MOST_NESTED:
            raise _too_deep(program.name, f"more than {MOST_NESTED} levels deep", span)
        parts: tuple[Stmt | Expr, ...] = (
            (*node.exprs, *node.bodies) if isinstance(node, Stmt) else node.children
        )
        left.extend((part, depth + 1, span) for part in parts)


def _too_deep(name: str, how: str, span: Span | None = None) -> FinchError:
    return KernelSyntaxError(
        f"{name} is nested {how}",
        span=span,
        hint="each term of a sum and each variable is a level: "
        "add up in several statements or in a loop",
    )


__all__ = ["MOST_NESTED", "check_depth", "is_deep", "on_a_thread", "roomy"]
