"""Random programs over the grammar of kernels and all installed formats equal their reference.

A failing program is made small and printed as Python that can be run. ``FINCH_TESTS_SECONDS`` says
how long to look for one (10 seconds a test without it); ``random_search.py`` looks through a number
of them.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from random_checks import outcome, report
from random_programs import make
from random_shrink import shrunk
from random_tree import Op, exprs, statements, walk

from finch_core.testing import backend_names

SECONDS = "FINCH_TESTS_SECONDS"
BATCHES = 4


def search(seeds: Any, backend: str, share: float) -> Counter:
    """Check programs until the time is over; fails with the first bad one. Gives the outcomes."""
    stop = time.monotonic() + float(os.environ.get(SECONDS, "10")) * share
    found: Counter = Counter()
    for seed in seeds:
        program = make(seed)
        what, why = outcome(program, backend)
        if what == "failed":
            pytest.fail(report(program, backend, why), pytrace=False)
        found[what] += 1
        if time.monotonic() > stop:
            break
    return found


@pytest.mark.parametrize("batch", range(BATCHES))
def test_the_interpreter_equals_the_reference(batch: int) -> None:
    found = search((f"{batch}.{k}" for k in range(100_000)), "interpreter", 1.0)
    assert found["ok"] + 10 > 2 * found["refused"]  # few are looked at where time is short


@pytest.mark.parametrize("batch", range(2))
def test_a_compiled_backend_equals_the_reference(batch: int) -> None:
    compiled = backend_names()[-1]
    found = search((f"c{batch}.{k}" for k in range(100_000)), compiled, 1.0)
    assert found["ok"] + 10 > 2 * found["refused"]  # few are looked at where time is short


@settings(
    max_examples=25,
    deadline=None,
    database=None,
    derandomize=not os.environ.get(SECONDS),
    suppress_health_check=list(HealthCheck),
)
@given(st.integers(0, 2**32))
def test_programs_of_any_seed(seed: int) -> None:
    """Programs that differ from run to run, where a time for searching was given."""
    program = make(seed)
    what, why = outcome(program, "interpreter")
    if what == "failed":
        pytest.fail(report(program, "interpreter", why), pytrace=False)


def test_the_same_seed_makes_the_same_program() -> None:
    for seed in range(20):
        assert make(seed).runnable("c") == make(seed).runnable("c")


def test_a_failing_program_is_made_small() -> None:
    """Shrinking keeps what fails, here any use of ``min``, and little more."""

    def fails(program: Any) -> bool:
        return any(
            isinstance(node, Op) and node.op == "min"
            for stmt in statements(program.body)
            for expr in exprs(stmt)
            for node in walk(expr)
        )

    big = next(p for p in (make(seed) for seed in range(100)) if fails(p))
    small = shrunk(big, fails)
    assert fails(small)
    assert len(small.source().splitlines()) < len(big.source().splitlines())
    assert len(list(statements(small.body))) <= 2
