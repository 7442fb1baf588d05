"""Methods of arrays take what those of NumPy's arrays take, and name what they do not."""

from __future__ import annotations

import numpy as np
import pytest
from array_support import MATRICES, data, fa, same, tensor

a = data((3, 4), seed=2)
KINDS = ("rows", "runs", "hashes", "dense")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "call",
    [
        lambda x: x.cumsum(), lambda x: x.cumprod(None), lambda x: x.cumsum(1, np.float32),
        lambda x: x.cumsum(axis=0), lambda x: x.cumsum(dtype=np.complex128),
        lambda x: x.reshape(4, 3, order="F"), lambda x: x.reshape((6, -1), order="F"),
        lambda x: x.reshape(12, order="C"), lambda x: x.ravel("F"), lambda x: x.flatten(order="F"),
        lambda x: x.diagonal(offset=1), lambda x: x.diagonal(1, 1, 0), lambda x: x.repeat(2, 1),
        lambda x: x.repeat(repeats=2), lambda x: x.dot(b=a.T), lambda x: x.astype(dtype=np.int8),
        lambda x: x.astype("f4", "C", "same_kind"), lambda x: x.astype("f4", subok=False),
    ],
)  # fmt: skip
def test_they_take_what_those_of_numpy_take(call, kind):
    array = tensor(a, MATRICES[kind])
    same(call(array), call(a))
    same(call(array.T.T), call(a))


def test_lazy_arrays_have_them():
    lazy = fa.lazy(tensor(a, MATRICES["rows"]))
    same(fa.compute(lazy.cumsum()), a.cumsum())
    same(fa.compute(lazy.reshape(4, 3, order="F")), a.reshape(4, 3, order="F"))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda x: x.diagonal(k=1),
            r"^diagonal\(\) takes no k=: it takes offset=, axis1=, axis2=$",
        ),
        (lambda x: x.reshape(3, 4, spam=1), r"^reshape\(\) takes no spam=: it takes order=, copy="),
        (lambda x: x.mean(dtype="f4"), r"^mean\(\) takes no dtype=: np.mean\(A, dtype=...\)"),
        (lambda x: x.cumsum(out=a), r"^cumsum\(\) takes no out=: np.cumsum\(A, out=...\)"),
        (lambda x: x.tolist(1), r"^tolist\(\) takes 1 positional argument but 2 were given"),
        (lambda x: x.take(), r"^take\(\) missing 1 required positional argument: 'indices'"),
        (lambda x: x.astype(np.int8, casting="safe"), "float64 is not cast to int8 by the rule"),
        (lambda x: x.sum(axis="x"), "an axis is an integer, not str 'x'"),
    ],
)
def test_what_they_do_not_take_is_named(call, message):
    for array in (tensor(a, MATRICES["rows"]), tensor(a, MATRICES["rows"]).T):
        with pytest.raises(TypeError, match=message):
            call(array)
