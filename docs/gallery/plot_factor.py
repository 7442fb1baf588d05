"""
A factor and its fill
=====================

The Cholesky factor of a matrix stores more than the matrix: *fill*. The kernel factors in place, in
a tensor that stores what will be filled.
`How the kernel becomes C <../../explorer/cholesky.html>`__.
"""

import matplotlib.pyplot as plt
import numpy as np

from finch_core import Tensor, kernel, stored
from finch_levels import Dense, Element, SparseList


@kernel
def cholesky(L):
    for i in range(len(L)):
        for j in range(i):
            if stored(L[i, j]):
                t = L[i, j]
                for k in range(j):
                    t -= L[i, k] * L[j, k]
                L[i, j] = t / L[j, j]
        d = L[i, i]
        for k in range(i):
            d -= L[i, k] * L[i, k]
        if stored(L[i, i]):
            L[i, i] = np.sqrt(d)


# %%
# The five-point Laplacian on a square of 7 by 7, its lower triangle.

side = 7
n = side * side
A = np.zeros((n, n))
for v in range(n):
    A[v, v] = 4.1
    if v % side:
        A[v, v - 1] = -1
    if v >= side:
        A[v, v - side] = -1

# %%
# What is filled: all from the first element of each row on.

first = np.array([np.flatnonzero(row)[0] for row in A])
envelope = (np.arange(n) >= first[:, None]) & (np.arange(n) <= np.arange(n)[:, None])
places = [np.flatnonzero(row) for row in envelope]
ptr = np.cumsum([0, *map(len, places)])
buffers = {"1_ptr": ptr, "1_idx": np.concatenate(places), "2_val": A[envelope]}
L = Tensor.from_buffers(Dense(SparseList(Element(0.0))), (n, n), buffers)
L

# %%
# The factor. What the matrix stores is black, the fill is hatched by small dots.

cholesky(L)
full = np.where(A, A, A.T)
assert np.allclose(L.to_numpy() @ L.to_numpy().T, full)
plt.spy(A, markersize=4, color="black")
plt.spy((L.to_numpy() != 0) & (A == 0), markersize=1.2, color="black", marker=".")
many, more = np.count_nonzero(A), np.count_nonzero(L.to_numpy())
plt.title(f"{many} stored in the matrix, {more} in its factor")
plt.show()
