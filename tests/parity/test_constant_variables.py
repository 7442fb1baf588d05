"""Names that are set again, to constants where something is not stored: loops visit what is
stored, and compute what the same loops over NumPy arrays do."""

import numpy as np
import pytest
from shared_programs import function_of

from finch_core import Tensor, kernel
from finch_core.testing import backend_names
from finch_levels import (
    Dense,
    Element,
    Scalar,
    SparseByteMap,
    SparseHash,
    SparseList,
    SparseRunList,
)

BACKENDS = backend_names()
SIZE = 40
HEAD = "def k(s, x, d, c):\n    s[...] = 0\n    for i in _:\n        t = x[i]\n"


def compiled(text: str, backend: str):
    return kernel(backend=backend)(function_of(text, np=np))


def made(body: str, backend: str, head: str = HEAD):
    text = head + "".join(f"        {line}\n" for line in body.splitlines()) + "    return s\n"
    return compiled(text, backend)


def data(fill: float = 0.0) -> np.ndarray:
    found = np.full(SIZE, fill)
    found[[2, 3, 20, 31]] = 1.5, -2.0, 0.25, 7.0
    return found


def loops(k, *args) -> list[str]:
    lines = k.lower(*args).as_text("assembly").splitlines()
    return [line for line in lines if line.strip().startswith(("for ", "while "))]


SPARSE = {
    "a branch": "if t > 1:\n    t = 1.0\ns[()] += t",
    "two branches": "if t > 1:\n    t = 1.0\nelif t < -1:\n    t = -1.0\ns[()] += t * d[i]",
    "an update": "t *= 2\ns[()] += t",
    "updates in a row": "t *= 2\nt -= 0\nt = -t\ns[()] += t * c",
    "a loop": "while abs(t) > 1:\n    t = t / 2\ns[()] += t",
    "the next turn": "t *= 2\nif t < 0.25:\n    continue\nif t > 3:\n    t = 3.0\ns[()] += t",
    "a name beside it": "u = 0.0\nif t != 0:\n    u = 1.0\ns[()] += u",
    "what both ways set": "if t > 0:\n    t = 0.5\nelse:\n    t = 0.0\ns[()] += t",
    "a turn of a loop": "for r in range(3):\n    if t > 1:\n        t = t - 1\ns[()] += t",
    "a number that is not known": "u = c\nif t == 0:\n    u = 0.0\ns[()] += u",
}
DENSE = {
    "a condition on what is not known": "if d[i] > 0:\n    t = 1.0\ns[()] += t",
    "a loop that updates": "for r in range(3):\n    t = t + r\ns[()] += t",
    "a loop that may be left": "while t < 2:\n    t = t + 1\n    if d[i] > 0:\n        break\n"
    "s[()] += t",
    "an update by what is not known": "t += d[i]\ns[()] += t",
    "a branch that is taken": "if t < 1:\n    t = 1.0\ns[()] += t",
    "an index": "j = 0\nif t > 0:\n    j = i\ns[()] += d[j]",
    "a way that ends": "if d[i] > 0:\n    t = 4.0\nelse:\n    continue\ns[()] += t",
}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", [*SPARSE, *DENSE])
@pytest.mark.parametrize("level", [SparseList, SparseByteMap, SparseHash, SparseRunList])
def test_the_result_is_that_of_the_loops(name, level, backend):
    k = made({**SPARSE, **DENSE}[name], backend)
    d = np.linspace(-1.05, 2, SIZE)
    x = Tensor(level(Element(0.0)), data())
    expected = k.reference(np.zeros(()), data(), d, 3.0)
    np.testing.assert_allclose(k(Scalar(0.0), x, d, 3.0).value, expected)


@pytest.mark.parametrize("name", SPARSE)
def test_what_is_stored_is_visited(name):
    k = made(SPARSE[name], "interpreter")
    x = Tensor(SparseList(Element(0.0)), data())
    found = loops(k, Scalar(0.0), x, np.ones(SIZE), 3.0)
    assert all(" q" in line or " r" in line or "abs" in line for line in found), found


@pytest.mark.parametrize("backend", BACKENDS)
def test_fills_other_than_zero(backend):
    k = made("if t > 4:\n    t = 0.0\ns[()] += t", backend)
    x = Tensor(SparseList(Element(5.0)), data(5.0))
    assert all(" q" in line for line in loops(k, Scalar(0.0), x, np.ones(SIZE), 3.0))
    assert k(Scalar(0.0), x, np.ones(SIZE), 3.0).value == -0.25


@pytest.mark.parametrize("backend", BACKENDS)
def test_narrow_variables_wrap(backend):
    k = made("t = np.int8(t + 127)\nt += np.int8(1)\nif t < 0:\n    s[()] += 1", backend)
    x = Tensor(SparseList(Element(np.int8(0))), np.array([0, 1, -1, 0], np.int8))
    expected = k.reference(np.zeros((), int), x.to_numpy(), np.ones(4), 3.0)
    assert k(Scalar(0), x, np.ones(4), 3.0).value == expected == 3


@pytest.mark.parametrize("backend", BACKENDS)
def test_both_operands_may_store_nothing(backend):
    """The larger of two lists, by a name that is set again."""
    text = (
        "def k(y, a, b):\n    y[...] = 0\n    for i in _:\n        t = a[i]\n"
        "        if b[i] > t:\n            t = b[i]\n        y[i] = t\n    return y\n"
    )
    k, b = compiled(text, backend), np.roll(data(), 1)
    args = [Tensor(SparseList(Element(0.0)), v) for v in (data(), b)]
    found = k(Tensor(SparseList(Element(0.0))), *args)
    assert (found.to_numpy() == np.maximum(data(), b)).all()
    assert found.nstored <= 8


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_variable_of_the_kernel_is_known_until_a_loop_updates_it(backend):
    text = (
        "def k(x):\n    most = 0.0\n    turns = 0\n    for i in _:\n        t = x[i]\n"
        "        if most > 2:\n            t = 0.0\n        if t > most:\n"
        "            most = t\n            turns += 1\n    return most, turns\n"
    )
    k = compiled(text, backend)
    x = Tensor(SparseList(Element(0.0)), data())
    assert k(x) == k.reference(data()) == (7.0, 2)


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_index_that_is_out_of_bounds_is_told(backend):
    """What is known of a variable does not take the place of an index that is checked."""
    from finch_core.errors import OutOfBounds

    k = made("j = 50\nif t > 0:\n    j = i\ns[()] += d[j]", backend)
    with pytest.raises(OutOfBounds):
        k(Scalar(0.0), Tensor(SparseList(Element(0.0)), data()), np.ones(SIZE), 3.0)


def test_rows_of_a_matrix():
    k = compiled(
        "def k(y, A, x):\n    y[...] = 0\n    for i, j in _:\n        t = A[i, j]\n"
        "        if t > 1:\n            t = 1.0\n        y[i] += t * x[j]\n    return y\n",
        "interpreter",
    )
    A = Tensor(Dense(SparseList(Element(0.0))), np.eye(5) * 3)
    y, x = Tensor(Dense(Element(0.0))), np.arange(5.0)
    assert len(loops(k, y, A, x)) == 2
    assert (k(y, A, x).to_numpy() == x).all()
