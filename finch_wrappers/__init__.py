"""Wrappers and masks (paper, Table "Wrapper tensors"), each a plugin of its own."""

from finch_wrappers.swizzle import swizzle

__all__ = ["swizzle"]
