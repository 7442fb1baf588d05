"""A share of the random parallel loops (``random_parallel.py``)."""

import pytest
from random_parallel import check

from finch_core import set_threads
from finch_core.testing.running import ANY_ORDER

pytestmark = ANY_ORDER


@pytest.mark.parametrize("first", range(0, 200, 20))
def test_random_parallel_loops(first):
    try:
        found = [check(k, compiled=k % 10 == 0) for k in range(first, first + 20)]
    finally:
        set_threads(None)
    assert set(found) == {"agrees", "refused"}
