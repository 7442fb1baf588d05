"""SciPy arrays that kernels cannot read in place are converted once, until a byte changes."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import shared_programs

from finch_core import Tensor, asarray, kernel
from finch_core.runtime import remembered, scipy_arrays
from finch_levels import Dense, Element

product = kernel(shared_programs.spmv)


def repeated() -> Any:
    """CSR with a duplicate and an unsorted row."""
    parts = np.array([1.0, 2.0, 4.0, 8.0]), np.array([1, 1, 2, 0]), np.array([0, 2, 4, 4])
    return sp.csr_array(parts, shape=(3, 3))


MADE: dict[str, Callable[[], Any]] = {
    "csr": repeated,
    "csc": lambda: repeated().T,
    "coo": lambda: sp.coo_array(([1.0, 2.0, 3.0], ([1, 0, 1], [2, 0, 2])), shape=(3, 3)),
    "bsr": lambda: sp.bsr_array(np.kron(np.eye(2), np.ones((2, 2))), blocksize=(2, 2)),
    "matrix": lambda: sp.coo_matrix(([1.0, 2.0, 3.0], ([1, 0, 1], [2, 0, 2])), shape=(3, 3)),
}
CHANGES: dict[str, Callable[[Any], Any]] = {
    "a value": lambda a: a.data.__setitem__(0, 7.0),
    "minus zero": lambda a: a.data.__setitem__(0, -0.0),
    "not a number": lambda a: a.data.__setitem__(0, np.nan),
    "a smaller dtype": lambda a: setattr(a, "data", a.data.astype(np.float32)),
}


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The arrays that were converted."""
    found: list[Any] = []
    take = scipy_arrays.from_scipy
    monkeypatch.setattr(scipy_arrays, "from_scipy", lambda a: (found.append(a), take(a))[1])
    return found


def check(array: Any) -> None:
    x = np.arange(1.0, array.shape[1] + 1)
    found = product(Tensor(Dense(Element(0.0))), array, x).to_numpy()
    np.testing.assert_array_equal(found, array.toarray() @ x)


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("format", MADE)
def test_converted_once_until_it_changes(format: str, change: str, counted: list[Any]) -> None:
    array = MADE[format]()
    for _call in range(3):
        check(array)
    assert len(counted) == 1
    CHANGES[change](array)
    for _call in range(2):
        check(array)
    assert len(counted) == 2


def test_a_changed_structure(counted: list[Any]) -> None:
    array = repeated()
    check(array)
    array.indices[0] = 2
    check(array)
    array.indptr[1] = 1
    check(array)
    array.resize(3, 4)
    check(array)
    assert len(counted) == 4
    array.sum_duplicates()  # read in place from here on
    check(array)
    array.data[0] = 9.0
    check(array)
    assert id(array) not in remembered._kept


def test_copies_go_with_their_arrays(counted: list[Any]) -> None:
    array = repeated()
    check(array)
    key = id(array)
    assert key in remembered._kept
    counted.clear()
    del array
    gc.collect()
    assert key not in remembered._kept
    arrays = [repeated() for _k in range(2 * remembered.MOST)]
    for each in arrays:
        check(each)
    assert len(remembered._kept) <= remembered.MOST


def test_a_tensor_of_the_user_is_no_kept_copy() -> None:
    array = repeated()
    check(array)
    own = asarray(array)
    own.buffers["2_val"][:] = 100.0
    check(array)
