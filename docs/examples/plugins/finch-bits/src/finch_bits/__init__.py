"""Sets of indices as bits: a plugin for Finch for Python."""

from finch_bits.bits import Bits

__all__ = ["Bits"]
