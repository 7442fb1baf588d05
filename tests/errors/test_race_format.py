import numpy as np
from error_support import refusal

from finch_core import RaceError, Tensor, _, kernel, parallel
from finch_levels import Element, SparseHash


@kernel
def counted(h, x):
    for i in parallel(_):
        h[int(x[i])] += 1


def test_race_format():
    expected = """\
the parallel loop over i updates h, and copies of a SparseHash cannot be merged
  line 3
    h[int(x[i])] += 1
    ^^^^^^^^^^^^
  hint: use 'Dense', or a workspace of the kernel"""
    assert (
        refusal(RaceError, counted, Tensor(SparseHash(Element(0.0)), (4,)), np.arange(4.0))
        == expected
    )
