"""Random conditions around accesses that ranges would leave: see ``random_conditions``."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.parity.random_conditions import check

pytestmark = pytest.mark.filterwarnings("ignore::finch_core.errors.PerformanceWarning")


def test_random_conditions_on_the_interpreter() -> None:
    found = sum((check(seed, "interpreter") for seed in range(100, 120)), Counter())
    assert found["agree"] > 20


def test_random_conditions_in_c() -> None:
    found = sum((check(seed, "c") for seed in range(200, 204)), Counter())
    assert found["agree"] > 2
