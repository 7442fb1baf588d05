"""Gather reductions: long sums of indirect loads may be computed in several lanes.

    for q in range(p, p_stop):             for q in range(p, p_stop):  # lanes: add s
        j = idx[q]                             j = idx[q]
        s += a[q] * x[j]           ->          s += a[q] * x[j]

Independent lanes break the chain in which each addition waits for the previous one. Short loops
lose by it, so a backend tests the number of iterations first. The loads themselves stay scalar:
gather instructions would be slower. A load under a condition stays under it.
"""

from __future__ import annotations

from finch_core.ir.assembly import Block, For, Store, contains
from finch_core.ir.builder import Names
from finch_core.ir.strides import LONG_GATHER, is_shorter, scattered
from finch_core.optimize.vector_reductions import permit


def gather_reductions(block: Block, names: Names) -> Block:
    """``block`` with lanes permitted in sums whose loads go through indices."""
    return permit(block, _goes_through_indices)


def _goes_through_indices(loop: For) -> bool:
    if is_shorter(loop, LONG_GATHER) or contains(loop.body, Store):
        return False
    return bool(scattered(loop))
