"""The exceptions users see: what is wrong, where (file, line, caret), why, and what would work."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from finch_core.records import field, frozen


@frozen
class Source:
    """The text of a kernel's file that spans point into."""

    filename: str
    lines: tuple[str, ...] = field(repr=False)
    first_line: int = 1
    """Line number in the file of ``lines[0]``."""


@frozen
class Span:
    """A stretch of one source line: 1-based line number in the file, 0-based columns."""

    source: Source = field(repr=False)
    line: int
    column: int
    end_column: int

    def text(self) -> str:
        index = self.line - self.source.first_line
        return self.source.lines[index] if 0 <= index < len(self.source.lines) else ""

    def code(self) -> str:
        """What stands there; nothing where it goes on in other lines."""
        text = self.text()
        return text[self.column : self.end_column] if self.end_column <= len(text) else ""

    def show(self) -> str:
        """Three lines: the place, the code, and a caret under the code at fault."""
        code = self.text().rstrip("\n")
        indent = len(code) - len(code.lstrip())
        width = max(1, min(self.end_column, len(code)) - self.column)
        caret = " " * (self.column - indent) + "^" * width
        return (
            f'  File "{self.source.filename}", line {self.line}\n    {code[indent:]}\n    {caret}'
        )


def explained(message: str, span: Span | None, hint: str) -> str:
    """A message with the place in the kernel that it is about, and what would work."""
    parts = [message]
    if span is not None:
        parts.append(span.show())
    if hint:
        parts.append(f"  hint: {hint}")
    return "\n".join(parts)


class FinchError(Exception):
    """Base of all errors raised by Finch.

    ``span`` is the place in the kernel at fault (``None`` where there is no kernel), ``hint`` says
    what would work.
    """

    def __init__(self, message: str = "", *, span: Span | None = None, hint: str = "") -> None:
        self.message, self.span, self.hint = message, span, hint
        super().__init__(message)

    def __str__(self) -> str:
        return explained(self.message, self.span, self.hint)


class KernelSyntaxError(FinchError, SyntaxError):
    """Python that is not part of the language, or a name used wrongly."""

    def __init__(self, message: str = "", *, span: Span | None = None, hint: str = "") -> None:
        super().__init__(message, span=span, hint=hint)
        self.msg = str(self)  # tracebacks of syntax errors print ``msg`` alone


class LifecycleError(FinchError, RuntimeError):
    """A tensor read and updated at once, or memory shared between an output and anything else."""


class DimensionMismatch(FinchError, ValueError):
    """Dimensions that disagree, a wrong number of indices, or an extent that nothing fixes."""


class FormatError(FinchError, TypeError):
    """Something the tensor's format or dtype cannot do."""


class OutOfBounds(FinchError, IndexError):
    """A gather, scatter or element access outside a tensor."""


class OutOfMemory(FinchError, MemoryError):
    """A buffer could not grow."""


class IndexOverflow(FinchError, OverflowError):
    """A count or an index that the format's index or pointer dtype cannot hold."""


class RaceError(FinchError, RuntimeError):
    """A parallel loop whose turns may not run at the same time: what one does depends on another.

    ``other`` is the place of the second access, where there is one.
    """

    def __init__(
        self,
        message: str = "",
        *,
        span: Span | None = None,
        other: Span | None = None,
        hint: str = "",
    ) -> None:
        super().__init__(message, span=span, hint=hint)
        self.other = other

    def __str__(self) -> str:
        if self.other is None or self.span is None:
            return super().__str__()
        shown = f"{self.span.show()}\n{self.other.show()}"
        return explained(f"{self.message}\n{shown}", None, self.hint)


class BackendError(FinchError, RuntimeError):
    """No such backend, no compiler, or a compiler that fails."""


class PluginError(FinchError, RuntimeError):
    """A plugin that does not load, lacks a method or claims a taken name; a method or a looplet of
    one that fails, or gives what is wanted of none."""

    def of(self, origin: str) -> PluginError:
        """This error with what failed in front, unless that has been said; ``""`` where it is."""
        if not self._told:
            self._told = True
            self.message = f"{origin}: {self.message}" if origin else self.message
        return self

    _told = False


MISTAKES = (
    ArithmeticError, AssertionError, AttributeError, LookupError, NameError, NotImplementedError,
    TypeError, ValueError,
)  # fmt: skip
"""What is raised by code that has a mistake in it; none of the errors here, which are told as they
are."""


def mistaken(what: str, error: BaseException) -> PluginError:
    """The error to raise where ``what``, the code of a plugin, raised ``error``."""
    told = " ".join(f"{type(error).__name__}: {error}".split()).rstrip(": ")
    trace, hint = error.__traceback__, ""
    while trace is not None:
        hint = f"raised in line {trace.tb_lineno} of {trace.tb_frame.f_code.co_filename}"
        trace = trace.tb_next
    return PluginError(f"{what} failed: {told}", hint=hint)


@contextmanager
def placed(span: Span | None) -> Iterator[None]:
    """Give errors that are raised within, and know no place, this one."""
    try:
        yield
    except FinchError as error:
        error.span = error.span or span
        raise


def count(number: int, noun: str, plural: str = "") -> str:
    """``1 dimension``, ``2 dimensions``: a number of things, for a message."""
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


class PerformanceWarning(UserWarning):
    """An access that costs more than it looks: it goes against the order of the storage. Or a
    kernel that stays less optimised, as it could not be compiled again.

    Given once for each kernel, when it is compiled anew; silenced as any warning is, or for one
    access by the protocol ``follow`` (see ``lower.access_order``).
    """


def quote(names: Any) -> str:
    """Names for a message: ``'a', 'b' and 'c'``."""
    shown = [repr(str(name)) for name in names]
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)
