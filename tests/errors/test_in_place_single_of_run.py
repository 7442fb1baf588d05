import numpy as np
from error_support import APART, refusal

from finch_core import FormatError, Tensor, kernel, stored
from finch_levels import Element, SparseRunList

RUNS = Tensor(SparseRunList(Element(0.0)), np.array([0.0, 2.0, 2.0, 0.0]))


@kernel
def doubled(A, k):
    if stored(A[k]):
        A[k] *= 2


def test_in_place_single_of_run():
    expected = f"""\
A cannot be updated in place here: its SparseRunList level has one value for many indices, and this would change a part of them
  line 3
    A[k] *= 2
    ^^^^
  hint: change whole runs alike, in a loop over all of A; or use a level that has a value for each index: {APART}"""
    assert refusal(FormatError, doubled, RUNS, 1) == expected
