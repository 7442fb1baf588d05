import numpy as np
from error_support import refusal

from finch_core import RaceError, kernel, parallel


@kernel
def flattened(y, n, m):
    for i in parallel(range(m)):
        for j in range(n):
            y[i * n + j] = j


def test_race_index_wraps():
    """``i * n`` of int32 is 0 again at ``i == 2**32 // n``."""
    expected = """\
one turn of the parallel loop over i may write what another writes to y
  line 4
    y[i * n + j] = j
    ^^^^^^^^^^^^
  hint: write y at an index that cannot wrap around, computed in int64, or only reduce into it, by one operator such as +=, or use a workspace of the kernel"""
    assert refusal(RaceError, flattened, np.zeros(12), np.int32(3), 4) == expected
