import numpy as np
from error_support import ANY_ORDER, VECTOR, refusal, sparse

from finch_core import FormatError, _, kernel


@kernel
def scatter(y, at):
    y[...] = 0
    for i in _:
        y[at[i]] += 1


def test_write_order_scatter():
    expected = f"""\
y cannot be written here: its SparseList level takes each fiber once, in order
  line 4
    y[at[i]] += 1
    ^^^^^^^^
  hint: one nest of loops must write all of it, in the order of its indices; {ANY_ORDER} can be written in any order"""
    assert refusal(FormatError, scatter, sparse(VECTOR), np.array([2, 0])) == expected
