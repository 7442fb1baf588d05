"""Indirect lanes: long sums whose loads go through an index may be computed in several lanes, too.

    for q in range(p, p_stop):             for q in range(p, p_stop):  # lanes: add s
        j = idx[q]                             j = idx[q]
        s += a[q] * x[j]           ->          s += a[q] * x[j]

What is gained is that no addition waits for the one before. Where the loop is short that costs
more than it gives, so a backend asks for its length first; and no load may become part of a gather,
which is slower than the loads that it replaces. A load that may be skipped stays where it is.
"""

from __future__ import annotations

from finch_core.ir.assembly import Block, For
from finch_core.ir.builder import Names
from finch_core.ir.strides import LONG_GATHER, is_shorter, scattered
from finch_core.optimize.vector_reductions import permit


def gather_reductions(block: Block, names: Names) -> Block:
    """``block`` with lanes permitted in the sums that load through indices."""
    return permit(block, _goes_through_indices)


def _goes_through_indices(loop: For) -> bool:
    return not is_shorter(loop, LONG_GATHER) and bool(scattered(loop))
