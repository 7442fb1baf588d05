"""Wrappers and masks (paper, Table "Wrapper tensors"), each a plugin of its own."""

from finch_wrappers.band_mask import BandMask
from finch_wrappers.diag_mask import DiagMask
from finch_wrappers.lo_tri_mask import LoTriMask
from finch_wrappers.offset import offset
from finch_wrappers.permissive import permissive
from finch_wrappers.protocolize import protocolize
from finch_wrappers.stride import reverse, stride
from finch_wrappers.swizzle import swizzle
from finch_wrappers.toeplitz import toeplitz
from finch_wrappers.up_tri_mask import UpTriMask
from finch_wrappers.window import window

__all__ = [
    "swizzle", "offset", "toeplitz", "permissive", "protocolize", "window", "stride",
    "reverse",
    "UpTriMask", "LoTriMask", "DiagMask", "BandMask",
]  # fmt: skip
