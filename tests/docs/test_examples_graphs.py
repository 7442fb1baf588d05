"""Graph programs against plain NumPy and Python."""

from __future__ import annotations

import math
from collections import deque
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from examples_support import example

programs = example("graphs")


def random_graph(size: int, degree: float, seed: int, directed: bool = False) -> Any:
    adjacent = np.random.default_rng(seed).random((size, size)) < degree / size
    np.fill_diagonal(adjacent, False)
    return adjacent if directed else adjacent | adjacent.T


GRAPHS = {
    "sparse": random_graph(40, 1.5, 0),
    "dense": random_graph(40, 10, 1),
    "directed": random_graph(40, 2, 2, directed=True),
    "path": np.eye(20, k=1, dtype=bool) | np.eye(20, k=-1, dtype=bool),
    "lonely": np.zeros((5, 5), dtype=bool),
}


def levels_by_hand(adjacent: Any, source: int) -> Any:
    levels, queue = np.full(len(adjacent), -1), deque([source])
    levels[source] = 0
    while queue:
        i = queue.popleft()
        for j in np.flatnonzero(adjacent[i] & (levels < 0)):
            levels[j] = levels[i] + 1
            queue.append(j)
    return levels


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("alpha", [0.0, 0.1, 2.0], ids=["pull", "both", "push"])
def test_breadth_first_parents_are_one_level_up(name: str, alpha: float) -> None:
    adjacent = GRAPHS[name]
    A, AT = programs.both_ways(adjacent)
    expected = levels_by_hand(adjacent, 3)
    parents = programs.breadth_first(A, AT, 3, alpha)
    assert np.array_equal(parents >= 0, expected >= 0)
    assert parents[3] == 3
    for j in np.flatnonzero(expected > 0):
        i = parents[j]
        assert adjacent[i, j]
        assert expected[i] == expected[j] - 1


@pytest.mark.parametrize("name", GRAPHS)
def test_levels(name: str) -> None:
    found = programs.levels(programs.stored(GRAPHS[name]), 3)
    assert np.array_equal(found, levels_by_hand(GRAPHS[name], 3))


def lengths_of(adjacent: Any, low: float) -> Any:
    lengths = np.random.default_rng(5).uniform(low, 5, adjacent.shape).round(2)
    return np.where(adjacent, lengths, math.inf)


def as_edges(lengths: Any) -> Any:
    kept = np.isfinite(lengths)
    rows, columns = np.nonzero(kept)
    matrix = scipy.sparse.coo_array((lengths[kept], (rows, columns)), lengths.shape)
    return programs.network(matrix)


def distances_by_hand(lengths: Any) -> Any:
    D = lengths.copy()
    np.fill_diagonal(D, np.minimum(np.diag(D), 0))
    for k in range(len(D)):
        D = np.minimum(D, D[:, k : k + 1] + D[k])
    return D


@pytest.mark.parametrize("name", GRAPHS)
def test_shortest_paths_and_their_tree(name: str) -> None:
    lengths = lengths_of(GRAPHS[name], 0.1)
    expected = distances_by_hand(lengths)
    np.testing.assert_allclose(programs.floyd_warshall(lengths), expected)
    distances, parents = programs.bellman_ford(as_edges(lengths), 3)
    np.testing.assert_allclose(distances, expected[3])
    assert parents[3] == 3
    for j in range(len(lengths)):
        if j != 3 and math.isfinite(distances[j]):
            assert distances[parents[j]] + lengths[parents[j], j] == pytest.approx(distances[j])
        elif j != 3:
            assert parents[j] == -1


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("low", [-0.2, 0.0, 3.0])
@pytest.mark.parametrize("alpha", [-1.0, 0.1, 2.0], ids=["pull", "both", "push"])
def test_distances_however_they_are_found(name: str, low: float, alpha: float) -> None:
    lengths = np.triu(GRAPHS[name], 1) if low < 0 else GRAPHS[name]  # no cycle of negative length
    lengths = lengths_of(lengths, low)
    found = programs.distances(as_edges(lengths), 3, alpha)
    np.testing.assert_allclose(found, distances_by_hand(lengths)[3])


def test_negative_edges_and_negative_cycles() -> None:
    lengths = np.full((4, 4), math.inf)
    lengths[0, 1], lengths[1, 2], lengths[0, 2], lengths[2, 3] = 4, -3, 2, 1
    distances, parents = programs.bellman_ford(as_edges(lengths), 0)
    assert distances.tolist() == [0, 4, 1, 2]
    assert parents.tolist() == [0, 0, 1, 2]
    lengths[3, 1] = 1.0
    with pytest.raises(programs.NegativeCycle):
        programs.bellman_ford(as_edges(lengths), 0)


@pytest.mark.parametrize("name", GRAPHS)
def test_ranks_degrees_and_components(name: str) -> None:
    adjacent = GRAPHS[name]
    A, AT = programs.both_ways(adjacent)
    out, n = adjacent.sum(1), len(adjacent)
    np.testing.assert_allclose(programs.degree_centrality(A), out / (n - 1))
    step = np.where(out[:, None] > 0, adjacent / np.maximum(out, 1)[:, None], 1 / n)
    ranks = np.linalg.solve(np.eye(n) - 0.85 * step.T, np.full(n, 0.15 / n))
    np.testing.assert_allclose(programs.pagerank(A, AT), ranks, atol=1e-8)
    if np.array_equal(adjacent, adjacent.T):
        least = [np.flatnonzero(levels_by_hand(adjacent, i) >= 0)[0] for i in range(n)]
        assert programs.components(A).tolist() == least
        cubes = np.linalg.matrix_power(adjacent.astype(int), 3)
        assert programs.triangles(adjacent) == np.trace(cubes) // 6


def cores_by_hand(adjacent: Any) -> Any:
    left, core, degree = np.ones(len(adjacent), bool), np.zeros(len(adjacent), int), 0
    while left.any():
        degrees = np.where(left, adjacent[:, left].sum(1), len(adjacent))
        degree = max(degree, degrees.min())
        core[degrees.argmin()] = degree
        left[degrees.argmin()] = False
    return core


@pytest.mark.parametrize("name", ["sparse", "dense", "path", "lonely"])
def test_cores_and_matchings(name: str) -> None:
    adjacent = GRAPHS[name]
    A = programs.stored(adjacent)
    assert programs.cores(A).tolist() == cores_by_hand(adjacent).tolist()
    mate = programs.matching(A)
    for i, j in enumerate(mate):
        assert j < 0 or (adjacent[i, j] and mate[j] == i)
    alone = mate < 0
    assert not adjacent[np.ix_(alone, alone)].any()


def test_an_edge_that_weighs_nothing_is_one() -> None:
    path = scipy.sparse.coo_array(([0.0, 0.0, 1.0], ([0, 1, 3], [1, 2, 4])), shape=(5, 5)).tocsr()
    ways = (np.zeros(6), ([0, 1, 1, 2, 3, 4], [1, 0, 2, 1, 4, 3]))
    both = scipy.sparse.coo_array(ways, shape=(5, 5)).tocsr()
    assert programs.components(programs.stored(both)).tolist() == [0, 0, 0, 3, 3]
    A, AT = programs.both_ways(path)
    assert [A.to_numpy()[0, 1], AT.to_numpy()[0, 1], AT.to_numpy()[1, 0]] == [True, False, True]


def test_topological_order() -> None:
    adjacent = np.triu(random_graph(25, 4, 7, directed=True), 1)
    shuffle = np.random.default_rng(0).permutation(25)
    adjacent = adjacent[np.ix_(shuffle, shuffle)]
    order = programs.topological_order(programs.stored(adjacent)).tolist()
    assert sorted(order) == list(range(25))
    place = np.argsort(order)
    assert all(place[i] < place[j] for i, j in zip(*np.nonzero(adjacent), strict=True))
    adjacent[order[-1], order[0]] = adjacent[order[0], order[-1]] = True
    with pytest.raises(ValueError, match="cycle"):
        programs.topological_order(programs.stored(adjacent))


def test_it_runs(capsys: pytest.CaptureFixture[str]) -> None:
    programs.main([])
    assert "900 reached from 0, in 58 steps" in capsys.readouterr().out
