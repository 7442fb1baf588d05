import numpy as np
from error_support import APART, refusal

from finch_core import FormatError, Tensor, _, kernel, stored
from finch_levels import Element, RunList

RUNS = Tensor(RunList(Element(0.0)), np.array([0.0, 2.0, 2.0, 0.0]))


@kernel
def shifted(A, x):
    for i in _:
        if stored(A[i]):
            A[i] = A[i] + x[i]


def test_in_place_part_of_run():
    expected = f"""\
A cannot be updated in place here: its RunList level has one value for many indices, and this would change a part of them
  line 4
    A[i] = A[i] + x[i]
    ^^^^
  hint: change whole runs alike, in a loop over all of A; or use a level that has a value for each index: {APART}"""
    assert refusal(FormatError, shifted, RUNS, np.ones(4)) == expected
