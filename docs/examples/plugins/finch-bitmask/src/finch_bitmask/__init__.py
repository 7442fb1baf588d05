"""A level format that keeps a bit for each index: ``Tensor(Dense(SparseBitmap(Element(0.0))))``."""

from finch_bitmask.sparse_bitmap import SparseBitmap

__all__ = ["SparseBitmap"]
