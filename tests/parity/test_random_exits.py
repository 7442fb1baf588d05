"""Random programs with early exits and steps against the functions that they are."""

from __future__ import annotations

import pytest
from random_exits import check


@pytest.mark.parametrize("block", range(4))
def test_random_programs(block):
    for seed in range(10 * block, 10 * block + 10):
        check(seed)


def test_random_programs_in_c():
    for seed in range(40, 44):
        check(seed, "c")
