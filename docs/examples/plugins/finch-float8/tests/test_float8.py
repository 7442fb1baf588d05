"""The suite of dtypes."""

from __future__ import annotations

import ml_dtypes
import numpy as np

from finch_core.testing import DtypeSuite

FLOAT8 = np.dtype(ml_dtypes.float8_e5m2)


class TestFloat8(DtypeSuite):
    name = "float8"
    dtype = FLOAT8
    edges = np.array([0, -0.0, 1, -1.5, 3, 7, 0.25, 57344, np.inf, -np.inf, np.nan], FLOAT8)
    casts = ("float16", "float32", "int32", "bool")
    rtol = 2.0**-2
    inexact = frozenset(
        "pow exp exp2 expm1 sinh cosh tan log log2 log10 log1p hypot mod floordiv fmod".split()
    )
