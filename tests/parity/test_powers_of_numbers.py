"""Powers are those of Python's operator: ``(-inf) ** 0.5`` is ``inf``, no square root."""

from __future__ import annotations

import numpy as np
import pytest

from finch_core import kernel

VALUES = [-np.inf, -0.0, 0.0, np.inf, np.nan, 2.0, -2.0, 0.25]
EXPONENTS = [0.5, -0.5, 2.0, 3.0, -1.0, 1 / 3]


def powers(y, x, p):
    for i in range(len(x)):
        y[i, 0] = x[i] ** 0.5
        y[i, 1] = x[i] ** p


@pytest.mark.parametrize("backend", ["c", "interpreter", "reference"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_powers_of_special_numbers(dtype, backend):
    x = np.array(VALUES, dtype)
    for p in EXPONENTS:
        y = np.zeros((len(x), 2), dtype)
        if backend == "reference":
            y = kernel(powers).reference(y, x, p)["y"]
        else:
            kernel(powers, backend=backend)(y, x, p)
        with np.errstate(all="ignore"):
            wanted = [[v**0.5, v**p] for v in x]
        np.testing.assert_allclose(y, wanted, rtol=1e-6)
        real = ~np.isnan(y)
        assert (np.signbit(y) == np.signbit(wanted))[real].all()
