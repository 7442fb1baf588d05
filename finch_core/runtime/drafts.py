"""Drafts: kernels that are compiled sooner, with less optimisation, and replaced by the optimised
kernel when they have much to do (``docs/decisions/024-drafts.md``)."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

from finch_core.errors import BackendError
from finch_core.interface.abi import Compilation, CompleteKernel
from finch_core.locks import Lock
from finch_core.records import define, field
from finch_core.runtime.arguments import are_small
from finch_core.runtime.options import Options

DRAFT_SECONDS, DRAFT_CALLS = 0.05, 1000
"""A draft that has run this long is recompiled at full optimisation, which takes about as long: so
at most half of the time is lost, whichever would have been better. One with more calls is, too: a
draft is called in a slower way."""


def drafts() -> bool:
    """Whether drafts are compiled: unless ``FINCH_DRAFTS`` is 0."""
    return os.environ.get("FINCH_DRAFTS", "1") not in ("", "0")


def may_be_draft(values: Sequence[Any], options: Options) -> bool:
    """Whether a draft is compiled for these arguments."""
    return drafts() and are_small(values, options.beside or options.small)


@define(eq=False)
class Draft:
    """What is known of a draft: how long it has run, and the compiler that works on the kernel
    which will replace it.

    ``made`` may begin to compile that. If it ``lowers``, the kernel has to be lowered first, by the
    caller: ``beside`` does, and begins to compile it."""

    made: CompleteKernel
    options: Options
    lowers: bool
    beside: Callable[[], Compilation | None]
    seconds: float = 0.0
    _compilation: Compilation | None = None
    _lock: Lock = field(factory=Lock)

    def begin(self, calls: int) -> bool:
        """Whether the kernel is compiled beside the caller, who has called the draft so often: from
        now on, if it was not before. If it has to be lowered first, the draft will do until it has
        run for long."""
        if self.lowers and not self.is_long(calls):
            return True
        with self._lock:
            if self._compilation is None:
                try:
                    self._compilation = self.beside() if self.lowers else self.made.optimised()
                except (BackendError, OSError):  # the caller compiles it, and tells
                    return False
            return self._compilation is not None

    def will_do(self, values: Sequence[Any], calls: int) -> bool:
        """Whether the draft is to run on these arguments, after so many calls. Begins to compile
        the kernel if they are more than a draft is for."""
        if are_small(values, self.options.small):
            return True
        beside = self.options.beside
        return beside is not None and are_small(values, beside) and self.begin(calls)

    def is_long(self, calls: int) -> bool:
        """Whether it has run for so long, in so many calls, that it is to be replaced."""
        return self.seconds > DRAFT_SECONDS or calls > DRAFT_CALLS

    def is_over(self) -> bool:
        """Whether the kernel that replaces it has been compiled."""
        return self._compilation is not None and self._compilation.has_ended()

    def wait(self) -> None:
        """Wait for the compiler that works on the kernel, if one does."""
        if self._compilation is not None:
            self._compilation.wait()
