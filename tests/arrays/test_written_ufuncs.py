"""NumPy's ufuncs that the language lacks, written here: values and dtypes are NumPy's."""

from __future__ import annotations

import warnings
from itertools import product

import numpy as np
import pytest
from array_support import MATRICES, fa, tensor

from finch_array.numpy_ufuncs import WRITTEN

VALUES = (0.0, 1.5, -2.5, 3.0, 0.25, np.inf, -np.inf, np.nan)
PAIRS = np.array(list(product(VALUES, VALUES))).reshape(8, 8, 2)
DTYPES = "?", "i1", "u1", "i8", "f2", "f4", "f8"


def operands(dtype):
    kind = np.dtype(dtype).kind
    pairs = PAIRS if kind == "f" else np.nan_to_num(np.abs(PAIRS), nan=2, posinf=3, neginf=1)
    return pairs[..., 0].astype(dtype), pairs[..., 1].astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("ufunc", WRITTEN)
def test_values_and_dtypes_are_those_of_numpy(ufunc, dtype):
    given = operands(dtype)[: ufunc.nin]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        wanted = ufunc(*given)
        wanted = wanted if ufunc.nout > 1 else (wanted,)
        for kind in ("rows", "dense", "hashes"):
            arrays = [tensor(x, MATRICES[kind]) for x in given]
            for operand in (arrays, [fa.lazy(x) for x in arrays]):
                found = ufunc(*operand)
                for own, expected in zip(
                    found if ufunc.nout > 1 else (found,), wanted, strict=True
                ):
                    own = fa.compute(own)
                    assert own.dtype == expected.dtype
                    np.testing.assert_allclose(own.to_numpy(), expected, rtol=4e-3)


def test_numbers_and_broadcasts():
    a, b = operands("f8")
    A = tensor(a, MATRICES["rows"])
    np.testing.assert_array_equal(np.fmax(A, 1.0).to_numpy(), np.fmax(a, 1.0))
    np.testing.assert_array_equal(np.fmin(2, A).to_numpy(), np.fmin(2, a))
    np.testing.assert_array_equal(np.heaviside(A, b[0]).to_numpy(), np.heaviside(a, b[0]))
    assert np.fmax(A, 1.0, dtype=np.float32).dtype == np.float32
    with pytest.raises(TypeError):
        np.heaviside(A, 1j)
