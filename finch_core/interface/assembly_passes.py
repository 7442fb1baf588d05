"""Passes over assembly that plugins add."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from finch_core.records import frozen

if TYPE_CHECKING:
    from finch_core.ir.assembly import Block
    from finch_core.ir.builder import Names


@frozen
class AssemblyPass:
    """A pass over typed assembly, which is the same for every backend.

    ``run(block, names)`` returns a block of the same meaning, ``block`` itself if there is nothing
    to do; ``names`` makes the names of new variables. It is called for the body of a kernel and of
    each of its functions, given that distinct buffers never alias. ``after`` are the names of the
    passes that it follows; without any, it comes last. A pass that ``reassociates`` sums of floats
    is left out of ``strict`` kernels. ``kernel(disabled={name})`` switches it off.
    """

    name: str
    run: Callable[[Block, Names], Block]
    after: tuple[str, ...] = ()
    reassociates: bool = False

    @property
    def objection(self) -> str:
        """Why this is no pass; else an empty text."""
        after: Any = self.after  # of a plugin: anything
        if isinstance(after, str) or not all(isinstance(name, str) for name in after):
            return f"has after = {after!r}: a tuple of names of passes"
        if self.name in after:
            return "comes after itself"
        return ""


__all__ = ["AssemblyPass"]
