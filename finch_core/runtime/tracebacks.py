"""Short tracebacks: the caller's frames and the line of the kernel at fault, without the frames of
the compiler. ``FINCH_TRACEBACK=1`` keeps those."""

from __future__ import annotations

import os
import sys
from types import TracebackType
from typing import TypeVar

from finch_core.errors import FinchError, Span

Error = TypeVar("Error", bound=FinchError)


def shortened(error: Error) -> Error:
    """``error`` with a traceback of one frame, the line of the kernel at fault. Raising it again
    adds the caller's frames."""
    if os.environ.get("FINCH_TRACEBACK", "0") not in ("", "0"):
        return error
    return error.with_traceback(None if error.span is None else _at(error.span))


def _at(span: Span) -> TracebackType | None:
    """A traceback of one frame: a line of a kernel."""
    code = compile("raise Exception", span.source.filename, "exec")
    try:
        exec(code.replace(co_name="kernel", co_qualname="kernel"), {})
    except Exception:
        made = sys.exc_info()[2]
        assert made is not None
        assert made.tb_next is not None
        return TracebackType(None, made.tb_next.tb_frame, -1, span.line)
    return None


__all__ = ["shortened"]
