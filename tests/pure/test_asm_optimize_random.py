"""Random assembly means the same after the passes on it, together and each alone."""

import numpy as np
import pytest

from finch_core.optimize import PASSES, optimize
from finch_core.testing.random_assembly import BUFFERS, SIZE, N, random_block
from finch_core.testing.run_block import run_block

ALL = {name for name, _ in PASSES}


@pytest.mark.parametrize("seed", range(120))
def test_passes_keep_the_meaning(seed):
    block = random_block(seed)
    variants = [optimize(block), *(optimize(block, ALL - {name}) for name in sorted(ALL))]
    for n in (0, 2):
        values = {N: n, **{b: np.arange(SIZE) * (k + 1) for k, b in enumerate(BUFFERS)}}
        expected = run_block(block, values)
        for variant in variants:
            got = run_block(variant, values)
            assert got[0] == expected[0]
            for name, value in expected[1].items():
                np.testing.assert_array_equal(got[1][name], value)
