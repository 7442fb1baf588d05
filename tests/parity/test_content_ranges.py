"""Temporaries of indices: reads of them need no bounds check where each update keeps them in range,
and fail as ever where one does not. C, the interpreter and Python agree."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np
import pytest

from finch_core import Tensor, kernel, swap
from finch_core.errors import IndexOverflow, OutOfBounds
from finch_core.testing import backend_names
from finch_levels import Dense, Element, SparseByteMap, SparseHash, SparseList

N = 6
INT = Dense(Element(np.int64(0)))
SHORT = Dense(Element(np.int32(0)))
BYTE = Dense(Element(np.int8(0)))
MAPPED = SparseByteMap(Element(np.int64(0)))
HASHED = SparseHash(Element(np.int64(0)))


def indices_of_a_loop(x, y, a):
    n = len(x)
    w = Tensor(FORMAT, (n,))
    for i in range(n):
        w[n - 1 - i] = i
    for i in range(n):
        x[w[i]] = x[w[0]] + i


def indices_below_an_index(x, y, a):
    n = len(x)
    w = Tensor(FORMAT, (n,))
    for i in range(n):
        for j in range(i + 1):
            for k in range(j, n):
                w[k] = j
    for i in range(n):
        x[w[i]] += i


def elements_of_another(x, y, a):
    n = len(x)
    v = Tensor(FORMAT, (n,))
    w = Tensor(FORMAT, (n,))
    for i in range(n):
        v[i] = i
    for k in range(n):
        w[n - 1 - k] = v[k]
        i = w[n - 1 - k]
        v[i] = w[0]
    for i in range(n):
        x[v[w[i]]] += i


def used_before_and_after(x, y, a):
    n = len(x)
    w = Tensor(FORMAT, (n,))
    for k in range(n):
        e = a[k]
        x[e] = y[k]
        w[k] = e
    for k in range(n):
        e = a[k]
        w[k] = e
        x[e] = y[k] + 1
    for k in range(n):
        x[w[k]] += 1


def exchanged(x, y, a):
    n = len(x)
    v = Tensor(FORMAT, (n,))
    w = Tensor(FORMAT, (n,))
    for k in range(n):
        v[k] = k
    for _k in range(3):
        swap(v, w)
        for i in range(n):
            x[v[i]] += x[w[n - 1 - i]] + i


IN_RANGE = [
    indices_of_a_loop,
    indices_below_an_index,
    elements_of_another,
    used_before_and_after,
    exchanged,
]


def from_outside(x, y, a):
    n = len(x)
    w = Tensor(FORMAT, (n,))
    for k in range(n):
        w[k] = a[k]
    for k in range(n):
        x[k] = y[w[k]]


def used_sometimes(x, y, a):
    n = len(x)
    w = Tensor(FORMAT, (n,))
    for k in range(n):
        e = a[k]
        if k > n:
            x[e] = 1
        w[k] = e
    for k in range(n):
        x[k] = y[w[k]]


def longer_than_it(x, y, a):
    n = len(x)
    w = Tensor(FORMAT, (n,))
    for i in range(n + 1):
        w[0] = i
    x[w[0]] = 1


def one_more(x, y, a):
    n = len(x)
    w = Tensor(FORMAT, (n,))
    for i in range(n):
        w[i] = i
    for i in range(n):
        w[i] += 1
    x[w[n - 1]] = 1


def one_less(x, y, a):
    n = len(x)
    w = Tensor(FORMAT, (n,))
    for i in range(n):
        w[i] = i - 1
    x[w[0]] = 1


def exchanged_with_more(x, y, a):
    n = len(x)
    v = Tensor(FORMAT, (n,))
    w = Tensor(FORMAT, (n,))
    for i in range(n):
        v[i] = i
        w[i] = 2 * i
    swap(v, w)
    for i in range(n):
        x[v[i]] = 1


def resting_on_more(x, y, a):
    n = len(x)
    v = Tensor(FORMAT, (n,))
    w = Tensor(FORMAT, (n,))
    for i in range(n):
        v[i] = w[i]
    for i in range(n):
        w[i] = n + i
    for i in range(n):
        v[i] = w[i]
        x[v[i]] = 1


OUT_OF_RANGE = [
    from_outside,
    used_sometimes,
    longer_than_it,
    one_more,
    one_less,
    exchanged_with_more,
    resting_on_more,
]


def made(program: Callable[..., Any], format: Any, **options: Any) -> Any:
    """The kernel of a program with temporaries of a format."""
    names = {**program.__globals__, "FORMAT": format}
    return kernel(FunctionType(program.__code__, names, program.__name__), **options)


def arguments(a: Any) -> tuple[Any, Any, Any]:
    return np.zeros(N), np.arange(N) * 10.0, np.array(a, np.int64)


def in_python(program: Callable[..., Any]) -> Any:
    given = arguments([3, 0, 5, 5, 1, 2])
    names = {
        **program.__globals__,
        "FORMAT": None,
        "Tensor": lambda _format, shape: np.zeros(shape, np.int64),
        "swap": lambda v, w: v.__setitem__(slice(None), [*w]) or w.__setitem__(slice(None), [*v]),
    }
    if program is exchanged:  # exchanges the contents, not the names
        names["swap"] = lambda v, w: np.copyto(*_both(v, w))
    FunctionType(program.__code__, names)(*given)
    return given[0]


def _both(v: Any, w: Any) -> tuple[Any, Any]:
    before = v.copy()
    v[:] = w
    return w, before


@pytest.mark.parametrize("program", IN_RANGE, ids=lambda p: p.__name__)
@pytest.mark.parametrize("format", [INT, SHORT, BYTE, MAPPED, HASHED], ids=str)
def test_contents_in_range(program: Callable[..., Any], format: Any) -> None:
    expected = in_python(program)
    for backend in backend_names() if format is SHORT else backend_names()[:1]:
        x, *rest = arguments([3, 0, 5, 5, 1, 2])
        made(program, format, backend=backend)(x, *rest)
        assert x.tolist() == expected.tolist()


CHECKS = {
    indices_of_a_loop: (0, 2),
    indices_below_an_index: (0, 1),
    elements_of_another: (0, 3),
    used_before_and_after: (2, 3),
    exchanged: (0, 2),
}
"""The checks of indices with the rule and without it."""


@pytest.mark.parametrize("program", IN_RANGE, ids=lambda p: p.__name__)
def test_reads_are_not_checked(program: Callable[..., Any]) -> None:
    found = []
    for disabled in (frozenset[str](), frozenset({"content_ranges"})):
        code = made(program, SHORT, backend="interpreter", disabled=disabled)
        found.append(code.lower(*arguments(range(N))).as_text("assembly").count(">= uint64("))
    assert tuple(found) == CHECKS[program]


@pytest.mark.parametrize("program", OUT_OF_RANGE, ids=lambda p: p.__name__)
@pytest.mark.parametrize("format", [INT, HASHED], ids=str)
def test_contents_out_of_range(program: Callable[..., Any], format: Any) -> None:
    for backend in backend_names() if format is INT else backend_names()[:1]:
        for a in ([0, 1, 2, 3, 4, N], [-1, 0, 0, 0, 0, 0]):
            with pytest.raises(OutOfBounds, match="out of bounds"):
                made(program, format, backend=backend)(*arguments(a))


@pytest.mark.parametrize("backend", backend_names())
def test_what_is_used_as_an_index_fails_there(backend: str) -> None:
    with pytest.raises(OutOfBounds, match="index 6 is out of bounds for dimension 0 of x of size"):
        made(used_before_and_after, INT, backend=backend)(*arguments([0, 1, 2, 3, 4, N]))


def where_nothing_is_stored(x, A, a):
    n = len(x)
    w = Tensor(FORMAT, (n,))
    u = Tensor(FORMAT, (n,))
    for k in range(n):
        e = a[k]
        for j in range(n):
            u[e] = A[k, j]
            w[j] = e
    for k in range(n):
        x[k] = w[k] + x[w[k]]


@pytest.mark.parametrize("backend", backend_names())
def test_a_store_that_is_left_out_checks_nothing(backend: str) -> None:
    """Where ``A`` stores nothing, ``u`` would be updated to the fill that it has."""
    A = Tensor(Dense(SparseList(Element(np.int64(0)))), np.zeros((N, N), np.int64))
    for a in ([0, 1, 2, 3, 4, N], [-9, 0, 0, 0, 0, -(2**40)]):
        with pytest.raises(OutOfBounds):
            made(where_nothing_is_stored, INT, backend=backend)(
                np.zeros(N), A, np.array(a, np.int64)
            )


def numbers_of_columns(x, A):
    w = Tensor(FORMAT, (A.shape[0],))
    for i in range(A.shape[0]):
        if A[i] > 0:
            w[i] = i
            x[0] += w[w[i]]


NOTHING = {
    "0_ptr": np.zeros(2, np.int64),
    "0_idx": np.zeros(0, np.int64),
    "1_val": np.zeros(0),
}


def test_dtypes_with_too_few_numbers() -> None:
    """Indices beyond int32 would not come back as they were: the tensor is refused."""
    for size, format, error in (
        (2**31, SparseHash(Element(np.int32(0))), None),
        (2**31 + 1, SparseHash(Element(np.int32(0))), IndexOverflow),
        (2**31 + 1, SparseHash(Element(np.int64(0))), None),
    ):
        A = Tensor.from_buffers(SparseList(Element(0.0)), (size,), NOTHING)
        x = np.zeros(1, np.int64)
        run = made(numbers_of_columns, format, backend="interpreter")
        if error is None:
            run(x, A)
            continue
        with pytest.raises(error, match="w has the indices of a dimension of size 2147483649"):
            run(x, A)
