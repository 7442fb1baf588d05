"""Random programs over workspaces against the functions that they are."""

from __future__ import annotations

import pytest
from random_workspaces import check


@pytest.mark.parametrize("block", range(4))
def test_random_programs(block):
    for seed in range(30 * block, 30 * block + 30):
        check(seed)


def test_random_programs_in_c():
    for seed in range(120, 126):
        check(seed, "c")
