import numpy as np
from error_support import ANY_ORDER, VECTOR, refusal, sparse

from finch_core import FormatError, _, kernel


@kernel
def again(y, x, s):
    y[...] = 0
    while s[()] < 3:
        s[()] += 1
        for i in _:
            y[i] = x[i]


def test_write_order_while():
    expected = f"""\
y cannot be written here: its SparseList level takes each fiber once, in order
  line 6
    y[i] = x[i]
    ^^^^
  hint: the loops around this write must begin with i, in that order; {ANY_ORDER} can be written in any order"""
    assert refusal(FormatError, again, sparse(VECTOR), VECTOR, np.zeros(())) == expected
