"""Lazy expressions, fused and ordered by cost: ``docs/plans.md`` explains how.

A lazy array is a node of a graph (``graph``). Computing it brings the graph to normal form
(``normal``), chooses by statistics (``statistics``, ``estimates``) what is summed first and what is
stored between kernels (``search``), and runs the kernels by the door of eager functions
(``steps``). ``fused`` remembers all of that for a function.
"""

from __future__ import annotations

from finch_array.plan.fusing import fused
from finch_array.plan.lazies import Lazy, compute, lazy
from finch_array.plan.shown import explain

__all__ = ["Lazy", "compute", "explain", "fused", "lazy"]
