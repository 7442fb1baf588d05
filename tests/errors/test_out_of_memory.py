from error_support import VECTOR, refusal

from finch_core import Tensor, kernel
from finch_core.errors import OutOfMemory
from finch_levels import Dense, Element


@kernel
def huge(y, x, n):
    y[...] = 0
    for i in range(0, n):
        y[i] = x[0]


def test_out_of_memory():
    expected = """\
memory ran out while a tensor was growing
  hint: what was declared is empty; compute less at a time, or in narrower dtypes"""
    assert refusal(OutOfMemory, huge, Tensor(Dense(Element(0.0))), VECTOR, 2**59) == expected
