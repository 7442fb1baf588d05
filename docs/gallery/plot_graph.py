"""
A graph and its search tree
===========================

A breadth-first search with a queue, in one kernel. The edges are a tensor of bools; the loop over
the neighbours of a vertex visits the edges that are stored.
`How the kernel becomes C <../../explorer/search.html>`__.
"""

import matplotlib.pyplot as plt
import numpy as np

from finch_core import Tensor, _, kernel
from finch_levels import Dense, Pattern, SparseList


@kernel
def search(parent, queue, A, source):
    head = 0
    tail = 1
    queue[0] = source
    parent[source] = source
    while head < tail:
        v = queue[head]
        head += 1
        for u in _:
            if A[v, u] and parent[u] < 0:
                parent[u] = v
                queue[tail] = u
                tail += 1


# %%
# Points in the plane; those that are close are joined.

rng = np.random.default_rng(4)
points = rng.random((120, 2))
gaps = np.linalg.norm(points[:, None] - points, axis=2)
near = (gaps < 0.14) & (gaps > 0)
A = Tensor(Dense(SparseList(Pattern())), near)
A

# %%
# The tree of the search, drawn over the graph.

parent, queue = np.full(120, -1), np.zeros(120, int)
search(parent, queue, A, 0)
for i, j in zip(*np.nonzero(np.triu(near)), strict=True):
    plt.plot(*points[[i, j]].T, color="0.85", zorder=0)
for v, p in enumerate(parent):
    if p >= 0:
        plt.plot(*points[[v, p]].T, color="black", linewidth=2, zorder=1)
plt.scatter(*points.T, s=18, color="black")
plt.scatter(*points[0], s=120, marker="*", color="black")
plt.axis("equal")
plt.axis("off")
plt.show()
