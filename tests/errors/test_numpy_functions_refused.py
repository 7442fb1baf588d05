"""Functions of NumPy and parameters that tensors do not have are refused with what would work."""

from __future__ import annotations

import io

import numpy as np
import pytest

from finch_core import Tensor
from finch_levels import Dense, Element, SparseList

A = Tensor(Dense(SparseList(Element(0.0))), np.eye(3))


class Foreign:
    """An array of others, which has every function."""

    def __array_function__(self, *args):
        return "theirs"

    def __array_ufunc__(self, *args, **options):
        return "theirs"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: np.save(io.BytesIO(), A),
         "tensors have no np.save: finch_core.write(path, A) writes a tensor, as .npz, .mtx, .tns "
         "or .ttx"),
        (lambda: np.lexsort(A),
         "tensors have no np.lexsort: np.asarray(A) makes a dense array, which np.lexsort takes"),
        (lambda: np.gcd(A, 6),
         "tensors have no np.gcd: fa.elementwise_of(f) makes an array function of a Python "
         "function of scalars, and np.asarray(A) a dense array"),
        (lambda: np.add.reduceat(A, [0, 1]),
         "tensors have no np.add.reduceat: a kernel adds any parts, and np.asarray(A) makes a dense "
         "array"),
        (lambda: np.add(A, A, where=np.ones((3, 3), bool)),
         "np.add of a tensor takes no where=: fa.where(condition, x, y) chooses elements, and "
         "np.asarray(A) makes a dense array"),
        (lambda: np.std(A, mean=A),
         "np.std of a tensor takes no mean=: np.asarray(A) makes a dense array, which np.std "
         "takes"),
        (lambda: np.einsum(A, [0, 1]),
         "einsum of a tensor takes its indices as text, 'ij,jk->ik'"),
    ],
)  # fmt: skip
def test_what_tensors_do_not_have(call, message):
    with pytest.raises(TypeError) as caught:
        call()
    assert str(caught.value) == message


def test_arrays_of_others_are_asked():
    assert np.polydiv(A, Foreign()) == "theirs"
    assert np.gcd(A, Foreign()) == "theirs"
