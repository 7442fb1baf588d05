"""NumPy's questions of memory and dtypes, asked of tensors."""

from __future__ import annotations

import numpy as np
import scipy.sparse
from array_support import fa


def test_who_shares_memory():
    plain = np.zeros(5)
    A, D = fa.asarray(scipy.sparse.eye_array(4, format="csr")), fa.asarray(plain)
    for asked in (np.shares_memory, np.may_share_memory):
        assert asked(A, A)
        assert asked(A.T, A)
        assert not asked(A, A.copy())
        assert asked(D, plain)
        assert asked(plain, D)
        assert not asked(D, np.zeros(5))


def test_the_common_type():
    A = fa.asarray(np.ones(2, np.float32))
    assert np.common_type(A, A) == np.float32
    assert np.common_type(A, np.ones(2, complex)) == np.complex128
    found = scipy.sparse.diags_array(fa.asarray(np.arange(3.0)))
    assert np.array_equal(found.toarray(), np.diag(np.arange(3.0)))
