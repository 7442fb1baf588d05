"""What tensors do not have of NumPy's functions is refused by its name; methods of ufuncs."""

from __future__ import annotations

import numpy as np
import pytest
from array_support import MATRICES, data, fa, same, tensor
from numpy.lib.stride_tricks import sliding_window_view

A = tensor(data((3, 4), seed=1), MATRICES["rows"])
V = tensor(data((4,), seed=1), ("SparseList",))
MASK = np.random.default_rng(3).random((3, 4)) < 0.5


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: np.hypot.accumulate(A, axis=1), "no np.hypot.accumulate: np.cumsum, np.cump"),
        (lambda: np.add.at(A, [0, 0], 1), r"no np.add.at: A\[index\] = values assigns"),
        (lambda: np.add.at(A, slice(0, 2), 1), "no np.add.at: A"),
        (lambda: np.subtract.reduce(A), "no np.subtract.reduce: np.sum, np.prod"),
        (lambda: np.sin(A, signature="d->d"), "np.sin of a tensor takes no signature=: np.asarray"),
        (lambda: np.sin(A, where=MASK), r"takes no where=: fa.where\(condition, x, y\)"),
        (lambda: np.intersect1d(V, V, return_indices=True), "intersect1d .* no return_indices="),
        (lambda: np.intersect1d(V, V, False, True), "intersect1d .* no return_indices="),
        (lambda: np.quantile(A, 0.5, weights=MASK), "np.quantile of a tensor takes no weights="),
        (lambda: np.percentile(A, 5, weights=MASK), "np.percentile of a tensor takes no weights="),
        (lambda: sliding_window_view(V, 2, writeable=True), "window_view of a tensor takes no"),
        (lambda: np.einsum("i->", V, order="F", spam=1), "einsum of a tensor takes no spam="),
    ],
)  # fmt: skip
def test_what_is_refused_is_named(call, message):
    with pytest.raises(TypeError, match=message):
        call()


@pytest.mark.parametrize("kind", ["rows", "dense"])
@pytest.mark.parametrize(
    "call",
    [
        lambda x: np.add.reduce(x, where=MASK), lambda x: np.add.reduce(x, initial=5),
        lambda x: np.multiply.reduce(x, axis=1, keepdims=True, where=MASK),
        lambda x: np.maximum.reduce(x, axis=None, where=MASK, initial=-1),
        lambda x: np.maximum.reduce(x, dtype=np.int64), lambda x: np.logical_or.reduce(x, axis=1),
        lambda x: np.minimum.reduce(x, 1, None, None, True, initial=3), lambda x: np.amin(x, 1),
        lambda x: np.amax(x, axis=0, where=MASK, initial=2), lambda x: np.add.reduce(x, None),
        lambda x: np.vstack([x, x], casting="no"), lambda x: np.meshgrid(x[0], x[1], copy=True)[1],
        lambda x: np.hstack([x, x], dtype=np.int8, casting="unsafe"),
        lambda x: np.moveaxis(x, source=0, destination=1), lambda x: np.clip(a=x, a_min=1, a_max=2),
        lambda x: np.sum(a=x, axis=0), lambda x: np.round(x / 3, 1), lambda x: np.sort(x, 0, None),
    ],
)  # fmt: skip
def test_arguments_are_those_of_numpy(call, kind):
    a = data((3, 4), seed=1)
    same(call(tensor(a, MATRICES[kind])), call(a))


@pytest.mark.parametrize("kind", ["rows", "dense"])
def test_a_new_dimension_has_a_place(kind):
    """None is all dimensions of a reduction, and no place of a new one."""
    array = tensor(data((3, 4), seed=1), MATRICES[kind])
    for call in (fa.expand_dims, np.expand_dims):
        for axis in (None, (0, None)):
            with pytest.raises(TypeError, match="an axis is an integer, not NoneType"):
                call(array, axis=axis)
    assert fa.expand_dims(array, axis=()).shape == (3, 4)


@pytest.mark.parametrize("kind", ["rows", "dense"])
def test_taken_along_no_axis_are_elements_in_a_row(kind):
    a, places = data((3, 4), seed=1), np.array([11, 0, -1, 5])
    array = tensor(a, MATRICES[kind])
    same(np.take_along_axis(array, places, axis=None), np.take_along_axis(a, places, axis=None))
    with pytest.raises(ValueError, match="the indices are a vector, not of 2 dimensions"):
        np.take_along_axis(array, places[None], axis=None)


def test_blocks_are_nested_alike():
    for call in (
        lambda x: np.block([[x, x], x]), lambda x: np.block([x, [x]]), lambda x: np.block([[], x]),
        lambda x: np.block([[x, []]]),
    ):  # fmt: skip
        for x in (A, A.to_numpy()):
            with pytest.raises(ValueError, match=r"np.block|[Ll]ist"):
                call(x)
    with pytest.raises(TypeError, match="casting='unsafe' does"):
        np.vstack([A, A], dtype=np.int8)


def test_random_arrays_without_dimensions():
    assert fa.random((), 0.2).shape == ()
    found = fa.random((), 1, rng=0, dtype=np.float32)
    assert found.dtype == np.float32
    assert 0 < float(found) < 1


@pytest.mark.parametrize("kind", ["rows", "dense"])
def test_arrays_are_equivalent_where_their_shapes_are_broadcast(kind):
    a = data((3, 4), seed=1)
    x = tensor(a, MATRICES[kind])
    for other in (a[None], a[:1], a[:2], a[:, 1:], np.broadcast_to(a, (2, 3, 4)), a + 1, 0):
        assert np.array_equiv(x, other) is np.array_equiv(a, other)
    assert np.array_equiv(np.zeros_like(x), 0) is True


def test_several_results_are_each_given_where_asked_for():
    a = A.to_numpy()
    whole, rest = np.empty_like(a), np.empty_like(a)
    found = np.divmod(A, 2, out=(whole, rest))
    assert found[0] is whole
    assert found[1] is rest
    same(whole, np.divmod(a, 2)[0])
    same(rest, np.divmod(a, 2)[1])
    found = np.modf(A / 2, out=(None, rest))
    same(found[0], np.modf(a / 2)[0])
    same(rest, np.modf(a / 2)[1])


def test_what_is_no_array_takes_no_result():
    for call in (lambda: np.max(A, 0, complex), lambda: np.sum(A, 0, out=[1])):
        with pytest.raises(TypeError, match="out is an array, not (type|list)"):
            call()


def test_products_with_matrices_need_one():
    for call in (lambda: np.vecmat(A, V), lambda: np.matvec(V, V)):
        with pytest.raises(ValueError, match="a matrix has two dimensions, and this array 1"):
            call()
