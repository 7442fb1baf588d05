import numpy as np
from error_support import refusal

from finch_core import RaceError, Tensor, _, kernel, parallel
from finch_levels import Element, SparseHash


@kernel
def copied(y, x):
    for i in parallel(_):
        y[i] = x[i]


def test_race_structure():
    expected = """\
the parallel loop over i updates y where it may store nothing yet, and a SparseHash cannot take that from several turns
  line 3
    y[i] = x[i]
    ^^^^
  hint: update only what it stores, under 'if stored(...)'; or use 'Dense'"""
    assert (
        refusal(RaceError, copied, Tensor(SparseHash(Element(0.0)), (4,)), np.arange(4.0))
        == expected
    )
