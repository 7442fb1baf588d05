"""The level formats, leaves and scalars of the paper (Table "The main level formats supported by
Finch"). Each is a plugin of its own, found by entry points as any installed plugin is."""

import sys
from typing import TYPE_CHECKING, Any

from finch_levels.dense import Dense
from finch_levels.element import Element
from finch_levels.pattern import Pattern
from finch_levels.run_list import RunList
from finch_levels.scalar import Scalar
from finch_levels.short_circuit_scalar import ShortCircuitScalar
from finch_levels.sparse_band import SparseBand
from finch_levels.sparse_block_list import SparseBlockList
from finch_levels.sparse_byte_map import SparseByteMap
from finch_levels.sparse_coo import SparseCOO
from finch_levels.sparse_diagonals import SparseDiagonals
from finch_levels.sparse_hash import SparseHash
from finch_levels.sparse_interval import SparseInterval
from finch_levels.sparse_list import SparseList
from finch_levels.sparse_pinpoint import SparsePinpoint
from finch_levels.sparse_run_list import SparseRunList
from finch_levels.sparse_scalar import SparseScalar

if TYPE_CHECKING:
    from finch_core.runtime.format_choice import choose_format

__all__ = [
    "Dense",
    "Element",
    "Pattern",
    "RunList",
    "Scalar",
    "ShortCircuitScalar",
    "SparseBand",
    "SparseBlockList",
    "SparseByteMap",
    "SparseCOO",
    "SparseDiagonals",
    "SparseHash",
    "SparseInterval",
    "SparseList",
    "SparsePinpoint",
    "SparseRunList",
    "SparseScalar",
    "choose_format",
]


def __getattr__(name: str) -> Any:
    """``choose_format`` is imported when it is first used."""
    if name != "choose_format":
        text = f"module 'finch_levels' has no attribute {name!r}"
        raise AttributeError(text, name=name, obj=sys.modules[__name__])
    from finch_core.runtime.format_choice import choose_format

    return choose_format
