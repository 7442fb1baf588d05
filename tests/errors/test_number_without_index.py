import numpy as np
import pytest
from error_support import VECTOR, refusal

from finch_core import kernel
from finch_core.errors import KernelSyntaxError


@kernel
def scaled(y, x, a):
    for i in range(len(x)):
        y[i] = a * x[i]


def test_an_array_without_dimensions():
    expected = """\
a is a tensor, and is used here without an index
  line 3
    y[i] = a * x[i]
           ^
  hint: write 'a[()]', or pass a number, 'float(a)'"""
    assert refusal(KernelSyntaxError, scaled, np.zeros(4), VECTOR, np.array(2.0)) == expected


def test_the_reference_refuses_it():
    with pytest.raises(KernelSyntaxError) as refused:
        scaled.reference(np.zeros(4), VECTOR, np.array(2.0))
    assert str(refused.value).startswith("a is a tensor, and is used here without an index\n")
    assert scaled.reference(np.zeros(2), np.ones(2), np.float32(2))["y"].tolist() == [2, 2]


def test_a_vector():
    found = refusal(KernelSyntaxError, scaled, np.zeros(4), VECTOR, np.ones(4))
    assert found.endswith("hint: read or update an element, a[i], in a loop")


@kernel
def greatest(x):
    return max(x)


def test_the_greatest_of_an_array():
    found = refusal(KernelSyntaxError, greatest, VECTOR)
    assert found.startswith("'max' takes at least 2 arguments, not 1\n")
    loop = "write the loop: 't = 0', then 't += A[i]', or with 'min' and 'max', 't = max(t, A[i])'"
    assert found.endswith(f"hint: {loop}")
