"""How a kernel is compiled: what its maker may choose."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from finch_core.records import frozen

if TYPE_CHECKING:
    from finch_core.symbolic.simplifier import Rule


class Small(NamedTuple):
    """Up to which arguments a draft will do: their ``bytes`` in all, the ``extent`` of each
    dimension, and integers, over all of which loops without data may be nested."""

    bytes: int
    extent: int
    integer: int = 1 << 12


ALONG_DATA = Small(1 << 23, 1 << 18, 1 << 18)
"""For kernels with little work where the data are little, such as conversions: no loops of theirs
are nested without data."""
BESIDE = Small(1 << 27, 1 << 24, 1 << 24)
"""For those of them whose work is at most in proportion to the data, while the optimised kernel is
compiled beside the draft."""


@frozen
class Options:
    """How a kernel is compiled: the options of ``kernel``, and ``disabled``, names of rules of
    lowering, of passes over assembly and of optimisations of the backend to switch off. Disabling
    changes run times, never results; tests and ``bench/passes.py`` use it. A name that nothing has
    is refused when the kernel is lowered."""

    strict: bool = False
    backend: str | None = None
    rules: tuple[Rule, ...] = ()
    disabled: frozenset[str] = frozenset()
    least_work: int = 1 << 16
    """The work of a part of a parallel loop, at least: some ten microseconds. Tests take less."""
    small: Small = Small(1 << 22, 1 << 14)
    """Up to which arguments the kernel is compiled as a draft first."""
    beside: Small | None = None
    """Up to which arguments a draft runs while the kernel is compiled beside it; None: up to
    ``small``."""

    def key(self) -> str:
        """A text that differs between different options; those that change no code left out."""
        return f"strict={self.strict} disabled={sorted(self.disabled)} work={self.least_work}"


LINEAR = Options(small=ALONG_DATA, beside=BESIDE)
"""For kernels whose work is at most in proportion to their data."""

__all__ = ["ALONG_DATA", "LINEAR", "Options", "Small"]
