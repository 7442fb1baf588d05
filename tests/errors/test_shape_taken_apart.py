import numpy as np
import pytest
from error_support import refusal

from finch_core import kernel
from finch_core.errors import DimensionMismatch


@kernel
def one(y, B):
    n, = B.shape  # fmt: skip
    y[0] = n


@kernel
def unread(y, B):
    n, m, k = B.shape  # noqa: RUF059
    y[0] = 1


@kernel
def of_a_workspace(y, B):
    w = np.zeros_like(B)
    (n,), k = w.shape, 3
    y[0] = n + k


def test_a_matrix_has_two():
    expected = """\
B has 2 dimensions, and its shape is taken apart into 1 name
  line 2
    n, = B.shape  # fmt: skip
         ^^^^^^^
  hint: write 'n, m = B.shape', or take one, 'B.shape[0]'"""
    assert refusal(DimensionMismatch, one, np.zeros(1), np.ones((2, 3))) == expected


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (one, "B has 2 dimensions, and its shape is taken apart into 1 name"),
        (unread, "B has 2 dimensions, and its shape is taken apart into 3 names"),
        (of_a_workspace, "w has 2 dimensions, and its shape is taken apart into 1 name"),
    ],
)
def test_each_backend_and_the_reference_refuse(function, told):
    y, B = np.zeros(1), np.ones((2, 3))
    for run in (function, kernel(backend="interpreter")(function.__wrapped__), function.reference):
        with pytest.raises(DimensionMismatch) as error:
            run(y, B)
        assert error.value.message == told
    assert not y.any()


def test_a_vector_has_one():
    y, x = np.zeros(1), np.ones(5)
    one(y, x)
    assert y[0] == one.reference(y, x)["y"][0] == 5
    with pytest.raises(DimensionMismatch) as error:
        unread(y, x)
    assert error.value.hint == "write 'n, = B.shape', or take one, 'B.shape[0]'"
    with pytest.raises(DimensionMismatch) as error:
        one(y, np.array(3.0))
    assert error.value.hint == "B is one number, 'B[()]'"
