"""Reads at indices that may be missing: so is the element. Statements with one were left out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from shared_programs import function_of

from finch_core import Tensor, coalesce, kernel, missing, stored
from finch_core.errors import FinchError, FormatError
from finch_levels import Dense, Element, SparseList

NAMES: dict[str, Any] = {"coalesce": coalesce, "missing": missing, "stored": stored}
BACKENDS = "interpreter", "c"


def made(body: str, backend: str) -> Callable[..., Any]:
    lines = "".join(f"        {line}\n" for line in body.splitlines())
    text = f"def k(y, x, A, p):\n    for i in range(len(y)):\n{lines}    return y\n"
    return kernel(backend=backend)(function_of(text, **NAMES))


def arguments() -> tuple[Any, ...]:
    a = np.arange(9.0).reshape(3, 3)
    return (
        np.full(3, 7.0),
        Tensor(SparseList(Element(0.0)), np.array([1.0, 0.0, 3.0])),
        Tensor(Dense(SparseList(Element(0.0))), a % 4),
        np.array([0, 1, 2]),
    )


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("y[i] = coalesce(x[p[~(i + 1)]], 5)", [0, 3, 5]),
        ("y[i] = coalesce(x[~p[~(i + 1)]], 5)", [0, 3, 5]),
        ("y[i] = coalesce(x[~(p[~(i + 1)] + 1)], 5)", [3, 5, 5]),
        ("y[i] += coalesce(A[p[~(i + 1)], i] + 1, 5)", [11, 11, 12]),
        ("y[i] += coalesce(A[i, p[~(i + 1)]], 5)", [8, 8, 12]),
        ("v = p[~(i + 1)]\ny[i] = coalesce(x[v], 5)", [0, 3, 5]),
        ("y[i] = coalesce(x[coalesce(p[~(i + 1)], 0)], 5)", [0, 3, 1]),
        ("y[i] = 2 if stored(x[p[~(i + 1)]]) else 4", [4, 2, 4]),
        ("if coalesce(x[p[~(i + 1)]] > 0, True):\n    y[i] = 1", [7, 1, 1]),
    ],
)
def test_an_element_there_is_missing(body: str, expected: list[float], backend: str) -> None:
    call = made(body, backend)
    assert call(*arguments()).tolist() == expected
    if "stored" not in body:
        found = call.reference(*arguments())  # type: ignore[attr-defined]
        assert np.asarray(found).tolist() == expected


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("y[i] = x[p[~(i + 1)]]", "missing cannot be stored or tested"),
        ("y[p[~(i + 1)]] += 1", "the index of what is written is missing"),
        ("for j in range(p[~(i + 1)]):\n    y[i] += 1", "an end of a range is missing"),
        ("y[i] = missing + 1", "missing is no value that y can store"),
        ("y[i] = (missing, 1)[0]", "missing is no value that y can store"),
    ],
)
def test_what_needs_a_number_is_refused(body: str, told: str, backend: str) -> None:
    with pytest.raises(FormatError) as error:
        made(body, backend)(*arguments())
    assert str(error.value).startswith(told)


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_index_that_is_there_is_checked(backend: str) -> None:
    y, x, a, _p = arguments()
    with pytest.raises(FinchError, match="index 9 is out of bounds for dimension 0 of x"):
        made("y[i] = coalesce(x[p[~(i + 1)]], 5)", backend)(y, x, a, np.array([0, 9, 1]))
    empty = Tensor(SparseList(Element(0.0)), (0,))
    call = made("y[i] = coalesce(x[p[~(i + 1)]], 5)", backend)
    assert call(y, empty, a, np.zeros(0, int)).tolist() == [5, 5, 5]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("coalesce(missing + 1, 2)", [2, 2, 2]),
        ("coalesce(missing > 0, 3)", [3, 3, 3]),
        ("coalesce(missing if i > 0 else 2, 9)", [2, 9, 9]),
        ("coalesce(x[i] if i < 2 else missing, 9)", [1, 0, 9]),
    ],
)
def test_missing_is_written_out(value: str, expected: list[float], backend: str) -> None:
    assert made(f"y[i] = {value}", backend)(*arguments()).tolist() == expected
