"""The paper's programs over several formats each, on sizes from 0 on: the interpreter, C, the
reference and NumPy agree."""

from __future__ import annotations

import os
import random
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from paper_programs import relaxation
from paper_table import PROGRAMS, Case, cases

from finch_core import Tensor, kernel
from finch_core.testing import KINDS, array, using

SIZES = st.sampled_from((0, 1, 2, 3, 4, 6))
CASES = cases()

quick = settings(
    max_examples=4, deadline=None, derandomize=True, database=None,
    suppress_health_check=list(HealthCheck),
)  # fmt: skip


@cache
def on(backend: str, function: Any) -> Any:
    return kernel(backend=backend)(function)


def in_c() -> list[Case]:
    """One case of each program in every run, all of them where a long run was asked for."""
    if os.environ.get("FINCH_TESTS_FULL"):
        return CASES
    draw = random.Random("paper")
    return [draw.choice(list(program.cases())) for program in PROGRAMS]


def check(case: Case, backend: str, data: Any) -> None:
    program = case.program
    dims = {name: data.draw(SIZES, name) for name in "nmklp"}
    arrays = []
    for role in program.inputs:
        kind, seed = data.draw(st.sampled_from(KINDS)), data.draw(st.integers(0, 99))
        made = array(*role.sizes(dims), role.dtype, kind, seed, role.fill)
        arrays.append(made if role.suited is None else role.suited(made))
    numbers = program.numbers(dims)
    run = on(backend, program.function)
    with using("interpreter"):  # conversions
        count = len(program.outputs)
        inputs = [Tensor(f, a) for f, a in zip(case.formats[count:], arrays, strict=True)]

        def outputs() -> list[Any]:
            pairs = zip(case.formats, program.outputs, strict=False)
            return [Tensor(format, *role.sizes(dims)) for format, role in pairs]

        expected = run.reference(*outputs(), *inputs, *numbers)
        found = run(*outputs(), *inputs, *numbers)
    listed = (found, expected) if isinstance(expected, tuple) else ((found,), (expected,))
    meant = program.meaning(*arrays, *numbers)
    meant = meant if isinstance(meant, tuple) else (meant,)
    for result, theirs, numpys in zip(*listed, meant, strict=True):
        np.testing.assert_array_equal(result.to_numpy(), theirs, strict=True)
        np.testing.assert_array_equal(theirs, numpys)


@pytest.mark.parametrize("case", CASES, ids=str)
@quick
@given(data=st.data())
def test_the_interpreter_agrees(case: Case, data: Any) -> None:
    check(case, "interpreter", data)


@pytest.mark.parametrize("case", in_c(), ids=str)
@quick
@given(data=st.data())
def test_c_agrees(case: Case, data: Any) -> None:
    check(case, "c", data)


RELAXED = [case for case in CASES if case.program.function is relaxation]


@pytest.mark.parametrize("case", RELAXED, ids=str)
def test_shortest_paths(case: Case) -> None:
    """Floyd and Warshall's algorithm is a relaxation for each vertex."""
    for n, seed in ((0, 0), (1, 1), (5, 2), (6, 3)):
        expected = np.abs(array((n, n), float, "sparse", seed, np.inf))
        np.fill_diagonal(expected, 0)
        with using("interpreter"):
            paths = Tensor(case.formats[1], expected)
            for k in range(n):
                out = on("interpreter", relaxation)(Tensor(case.formats[0]), paths, k)
                paths = out.to(case.formats[1])
                expected = np.minimum(expected, expected[:, k : k + 1] + expected[k : k + 1])
        np.testing.assert_array_equal(paths.to_numpy(), expected)


def test_every_program_is_there_in_several_formats() -> None:
    assert all(len(program.formats) >= 4 for program in PROGRAMS)
    assert {made for case in CASES for made in case.text if made.isalpha()} >= set("dsrqbnhm")
