"""Graphs of networkx as adjacency matrices."""

from __future__ import annotations

from typing import Any

from finch_array.creation import asarray
from finch_array.interop.libraries import library
from finch_array.neighbours import to_scipy_sparse

EXTRA = "networkx"


def from_networkx(graph: Any, nodelist: Any, weight: str, dtype: Any, format: Any) -> Any:
    """The adjacency matrix of a graph."""
    networkx = library("networkx", EXTRA)
    if not isinstance(graph, networkx.Graph):
        raise TypeError(f"from_networkx takes a graph of networkx, not {type(graph).__name__}")
    if not graph:
        return asarray([[]], dtype=dtype)[:0]
    found = networkx.to_scipy_sparse_array(graph, nodelist, dtype, weight, "csr")
    found.sum_duplicates()
    return asarray(found, format=format)


def to_networkx(array: Any, create_using: Any, weight: str) -> Any:
    """The graph of an adjacency matrix."""
    networkx = library("networkx", EXTRA)
    kind = networkx.DiGraph if create_using is None else create_using
    found = to_scipy_sparse(array)
    return networkx.from_scipy_sparse_array(found, create_using=kind, edge_attribute=weight)
