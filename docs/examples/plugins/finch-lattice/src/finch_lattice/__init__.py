"""A looplet of one's own: a plugin for Finch for Python."""

from finch_lattice.lattice import Every, EveryMask

__all__ = ["Every", "EveryMask"]
