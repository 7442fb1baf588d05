import numpy as np
import pytest
from error_support import refusal

from finch_core import DimensionMismatch, kernel
from finch_levels import Scalar


def counted(s, n):
    for i in range(0, n):
        s[()] += 1 + 0 * i


def copied(y, x, n):
    for i in range(n):
        y[i] = x[i]


def begun(s, n):
    for i in range(n, 5):
        s[()] += 1 + 0 * i


@pytest.mark.parametrize("backend", ["c", "interpreter"])
@pytest.mark.parametrize("n", [2**63, 2**64 - 1])
def test_range_unsigned_end(backend, n):
    n = np.uint64(n)
    what, *_rest, hint = refusal(
        DimensionMismatch, kernel(backend=backend)(counted), Scalar(0), n
    ).splitlines()
    assert what == "the range of i ends at n, which is 2**63 or more"
    assert hint == "  hint: positions are numbers of int64"
    y = np.zeros(3)
    message = refusal(DimensionMismatch, kernel(backend=backend)(copied), y, np.ones(3), n)
    assert message.startswith("the range of i ends at n, which is 2**63 or more")
    assert y.tolist() == [0, 0, 0]
    message = refusal(DimensionMismatch, kernel(backend=backend)(begun), Scalar(0), n)
    assert message.startswith("the range of i starts at n")


@pytest.mark.parametrize("backend", ["c", "interpreter"])
def test_small_ones_are_taken(backend):
    s = Scalar(0)
    kernel(backend=backend)(counted)(s, np.uint64(7))
    kernel(backend=backend)(begun)(s, np.uint64(2))
    assert s.value == 10
