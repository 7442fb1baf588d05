"""What the backend, and a routine, do for speed: switched off, answers stay."""

import numpy as np
import pytest

from finch_core import Tensor, _
from finch_core.runtime.kernel import Kernel
from finch_core.runtime.options import Options
from finch_levels import Dense, Element, RunList, SparseByteMap, SparseList, SparseRunList

CSR = Dense(SparseList(Element(0.0), index=np.int32))
SIZE = 150


def product(C, A, B):
    C[...] = 0
    for i in _:
        w = Tensor(SparseByteMap(Element(0.0)))
        for k, j in _:
            w[j] += A[i, k] * B[k, j]
        for j in _:
            C[i, j] = w[j]
    return C


def total(c, a, b):
    c[...] = 0
    for i in _:
        c[i] = a[i] + b[i]
    return c


def lowered(program, arguments, *disabled):
    made = Kernel(program, Options(backend="c", disabled=frozenset(disabled)))
    return made, made.lower(*arguments).as_text("source")


@pytest.mark.parametrize(
    ("name", "told", "instead"),
    [("restrict", "restrict C1_ptr", "int64_t *C1_ptr"), ("sort", " sort_i64(", " heapsort_i64(")],
)
def test_a_product_without(name, told, instead):
    rng = np.random.default_rng(0)
    dense = [rng.integers(1, 9, (SIZE, SIZE)) * (rng.random((SIZE, SIZE)) < 0.1) for _k in range(2)]
    A, B = (Tensor(CSR, each.astype(float)) for each in dense)
    arguments = Tensor(CSR), A, B
    assert told in lowered(product, arguments)[1]
    made, text = lowered(product, arguments, name)
    assert told not in text
    assert instead in text
    np.testing.assert_array_equal(made(*arguments).to_numpy(), dense[0] @ dense[1])


@pytest.mark.parametrize("stored", [0, 1, 4, 5, 9, SIZE])
def test_a_sum_in_loops_that_are_parted_from_making_room(stored):
    rng = np.random.default_rng(stored)
    a, b = np.zeros((2, SIZE))
    for each in (a, b):
        each[rng.choice(SIZE, stored, replace=False)] = rng.integers(1, 9, stored)
    kind = SparseList(Element(0.0))
    arguments = Tensor(kind), Tensor(kind, a), Tensor(kind, b)
    made, text = lowered(total, arguments)
    assert text.count(" < c0_room);") == 3
    assert "} while (i_reached < i_stop && c0_stored < c0_room);" in text
    np.testing.assert_array_equal(made(*arguments).to_numpy(), a + b)
    made, text = lowered(total, arguments, "rooms")
    assert " < c0_room);" not in text
    np.testing.assert_array_equal(made(*arguments).to_numpy(), a + b)


@pytest.mark.parametrize("kind", [RunList, SparseRunList])
def test_runs_without_a_routine(kind):
    values = np.array([[0.0, 0, 1, 1, 1, 0, 2, 2, 0, 0], [1, 0, 1, 1, 0, 1, 1, 3, 0, 0]])
    for a in (values[:, :0], values[:, :1], values):
        arguments = Tensor(kind(Element(0.0))), *(Tensor(kind(Element(0.0)), row) for row in a)
        assert "append_" in lowered(total, arguments)[1]
        made, text = lowered(total, arguments, "appending")
        assert "append_" not in text
        found, default = made(*arguments), Kernel(total, Options())(*arguments)
        np.testing.assert_array_equal(found.to_numpy(), a.sum(axis=0))
        np.testing.assert_array_equal(found.buffers["0_ptr"], default.buffers["0_ptr"])
