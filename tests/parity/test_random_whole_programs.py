"""Random whole programs mean what the undecorated function does over NumPy arrays."""

from __future__ import annotations

import os
import time
import warnings

import numpy as np
import pytest
from random_whole_programs import data, outcome, told
from random_whole_text import Writer

from finch_core.errors import PerformanceWarning
from finch_core.testing import backend_names

SECONDS = float(os.environ.get("FINCH_TESTS_SECONDS", "10"))


@pytest.mark.parametrize("backend", backend_names())
def test_kernel_and_reference_equal_the_undecorated_function(backend: str) -> None:
    stop, agreed = time.monotonic() + SECONDS, 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PerformanceWarning)
        for k in range(100_000):
            what, why = outcome(f"suite.{k}", backend)
            if what == "differ":
                pytest.fail(told(f"suite.{k}", why), pytrace=False)
            agreed += what == "agree"
            if time.monotonic() > stop:
                break
    assert agreed > k / 2


def test_a_parallel_loop_is_refused_or_gives_the_same() -> None:
    """On the interpreter, which runs its parts out of order."""
    stop, found = time.monotonic() + SECONDS, []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PerformanceWarning)
        for k in range(100_000):
            found.append(outcome(f"suite.{k}", "interpreter", shared=True))
            if found[-1][0] == "differ":
                pytest.fail(told(f"suite.{k}", found[-1][1], shared=True), pytrace=False)
            if time.monotonic() > stop:
                break
    assert {what for what, _ in found} == {"agree", "refused"}
    assert any(why.startswith("RaceError") for _, why in found)


def test_programs_are_reproducible_and_use_what_they_are_for() -> None:
    texts = [Writer(f"whole.{k}").program() for k in range(300)]
    assert texts == [Writer(f"whole.{k}").program() for k in range(300)]
    whole = "\n".join(texts)
    for part in (
        "while ",
        "break",
        "continue",
        "reversed(",
        ", -2)",
        "stored(S",
        "Tensor(",
        "helper(",
    ):
        assert part in whole
    assert [{0, 1, 2, 3, 4, 5}] == [{data(f"whole.{k}")["n"] for k in range(100)}]


def test_a_difference_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    import random_whole_programs as module

    right = module.expected
    monkeypatch.setattr(
        module,
        "expected",
        lambda *args: {**right(*args), "x": np.full(data(args[1])["n"], 99.0)},
    )
    found = [outcome(f"suite.{k}", "interpreter") for k in range(4)]
    assert any(what == "differ" and "instead of" in why for what, why in found)
    assert "# seed suite.0" in told("suite.0", "why")
