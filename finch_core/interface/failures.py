"""Failures of kernels: the sites at which they may fail, and the tests before them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from finch_core.errors import FinchError, OutOfMemory, PluginError, Span, count
from finch_core.interface.lowering import Thawed
from finch_core.ir.assembly import OUT_OF_MEMORY, Site
from finch_core.ir.builder import Builder, Names, negation
from finch_core.ir.expected import tested
from finch_core.ir.expressions import Literal, Var
from finch_core.symbolic.prover import Prover, balanced

MOST_VALUES = 3
"""A message has no more numbers."""

_NO_MEMORY = Site(
    OutOfMemory,
    "memory ran out while a tensor was growing",
    hint="what was declared is empty; compute less at a time, or in narrower dtypes",
)
assert OUT_OF_MEMORY == 0
"""The number of this site, the first of every kernel."""


class Failures(Builder):
    """A builder with the sites at which the kernel may fail."""

    def __init__(self, names: Names, prover: Prover, constants: Iterable[Var] = ()) -> None:
        super().__init__(names, constants)
        self.prover = prover
        self.sites: list[Site] = [_NO_MEMORY]
        self.thawed: tuple[Thawed, ...] = ()

    def site(
        self, error: type[FinchError], message: str, span: Span | None = None, hint: str = ""
    ) -> int:
        """The number of a new failure site. ``message`` may contain ``{0}`` to ``{2}``.

        Raises ``PluginError`` for an error that is none of this package.
        """
        if not (isinstance(error, type) and issubclass(error, FinchError)):
            raise PluginError(
                f"a kernel is to fail with {getattr(error, '__name__', error)}, which is no error "
                "of Finch",
                hint="FormatError, IndexOverflow and OutOfBounds of finch_core.errors are, and "
                "classes of one's own that derive from them",
            )
        self.sites.append(Site(error, message, span, hint))
        return len(self.sites) - 1

    def fail(self, site: int, *values: Any) -> None:
        """Emit the failure at ``site`` with up to three integers for its message.

        Thawed tensors are frozen first, and so keep their contents. Raises ``PluginError`` for a
        message with other places than there are values.
        """
        _check_places(self.sites[site].message, len(values))
        thawed, self.thawed = self.thawed, ()
        for tensor in thawed:
            tensor.freeze_before_failure(self)  # type: ignore[arg-type]
        super().fail(site, *values)
        self.thawed = thawed

    def require(
        self,
        cond: Any,
        error: type[FinchError],
        message: str,
        *values: Any,
        span: Span | None = None,
        hint: str = "",
    ) -> None:
        """Emit a failure unless ``cond`` holds at run time; nothing is emitted if that is known.

        ``message`` may contain ``{0}`` to ``{2}``, for ``values``. Raises ``PluginError`` for an
        error that is none of this package, for a message with other places than there are values,
        and for a bool of Python.
        """
        cond = balanced(self.prover.decide(tested(cond)))
        if isinstance(cond, Literal) and cond.value:
            return
        with self.if_(negation(cond)):
            self.fail(self.site(error, message, span, hint), *values)
        self.prover.know(cond)


def _check_places(message: str, values: int) -> None:
    """Raise ``PluginError`` unless a message has places for no more than this many values."""
    if values > MOST_VALUES:
        raise PluginError(
            f"the message {message!r} is given {values} values, and takes {MOST_VALUES} at most"
        )
    try:
        message.format(*range(values))
    except (LookupError, ValueError, AttributeError) as error:
        raise PluginError(
            f"the message {message!r} does not fit {count(values, 'value')}",
            hint="{0} is the first value; {{ and }} are braces",
        ) from error


__all__ = ["Failures"]
