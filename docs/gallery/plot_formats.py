"""
One matrix in many formats
==========================

The same kernel runs on each; what it costs is what is stored.
`How the kernel becomes C <../../explorer/spmv.html>`__.
"""

import matplotlib.pyplot as plt
import numpy as np

from finch_core import Tensor, _, kernel
from finch_levels import (
    Dense,
    Element,
    RunList,
    SparseBand,
    SparseBlockList,
    SparseList,
    SparseRunList,
    choose_format,
)


@kernel
def spmv(y, A, x):
    y[...] = 0
    for i, j in _:
        y[i] += A[i, j] * x[j]
    return y


# %%
# A matrix of blocks along its diagonal.

E = Element(0.0)
blocks = np.kron(np.eye(6), np.arange(1.0, 26).reshape(5, 5))
x = np.ones(30)
expected = blocks @ x
for level in (Dense, SparseList, SparseBlockList, SparseBand, RunList, SparseRunList):
    A = Tensor(Dense(level(E)), blocks)
    assert np.allclose(spmv(Tensor(Dense(E)), A, x).to_numpy(), expected)

# %%
# How its rows are stored in a list ...

Tensor(Dense(SparseList(E)), blocks)

# %%
# ... and in blocks.

Tensor(Dense(SparseBlockList(E)), blocks)

# %%
# What each takes, as ``choose_format`` computes it.

choice = choose_format(blocks)
print(choice)
names, sizes = zip(*sorted(choice.bytes.items(), key=lambda row: row[1]), strict=True)
plt.barh(names, sizes, color="0.4")
plt.xlabel("bytes")
plt.tight_layout()
plt.show()
