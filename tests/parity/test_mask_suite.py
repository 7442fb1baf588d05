"""The built-in masks pass the suite that authors of masks subclass."""

from __future__ import annotations

from finch_core.testing import MaskSuite
from finch_wrappers import BandMask, DiagMask, LoTriMask, UpTriMask


class TestMasks(MaskSuite):
    masks = (UpTriMask(), LoTriMask(), DiagMask(), BandMask(-1, 1), BandMask(1, 3), BandMask(2, 1))
