"""What makes assembly of a program. It is imported as one, when the first kernel is lowered: a
process whose kernels come from the disk needs none of it."""

from __future__ import annotations

import finch_core.looplets.reversed  # noqa: F401  # only wrappers use it, loaded at any time
from finch_core.lower.parallel import loops_in_turn
from finch_core.runtime.kernel_lowering import (
    MERGE_BY_CASES,
    TooManyRegions,
    check_disabled,
    lower_kernel,
)
from finch_core.runtime.normalize import normalize

__all__ = [
    "MERGE_BY_CASES", "TooManyRegions", "check_disabled", "loops_in_turn", "lower_kernel",
    "normalize",
]  # fmt: skip
