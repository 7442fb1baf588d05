import numpy as np
from error_support import refusal

from finch_core import LifecycleError, Tensor, kernel, stored
from finch_levels import Dense, Element, SparseBand


@kernel
def cholesky(A):
    for i in range(len(A)):
        for j in range(i):
            if stored(A[i, j]):
                A[i, j] /= A[j, j]
        A[i, i] = np.sqrt(A[i, i] + 1)


def test_the_update_that_is_not_in_place_is_named():
    A = Tensor(Dense(SparseBand(Element(0.0))), np.eye(3))
    message = refusal(LifecycleError, cholesky, A)
    assert message.startswith(
        "A is read and updated within one loop, and a SparseBand cannot be read while it is updated"
    )
    assert "under 'if stored(A[i, i]):'" in message
