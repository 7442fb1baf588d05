"""Operations of ``dask.array``, each with its meaning in NumPy: functions of the module (``np`` or
``da``), two matrices of 8 x 12 and one of 12 x 6."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import finch_array as fa

Operation = Callable[[Any, Any, Any, Any], Any]
VECTOR = np.arange(12.0)
EVEN = np.arange(8) % 2 == 0


def _lazy(m: Any) -> bool:
    return m is not np


def _svd(m: Any, a: Any, b: Any, c: Any) -> Any:
    if _lazy(m):
        return m.linalg.svd_compressed(a, 3, seed=1, n_power_iter=8)[1]
    return np.linalg.svd(a)[1][:3]


def _topk(m: Any, a: Any, b: Any, c: Any) -> Any:
    return m.topk(a, 3, axis=1) if _lazy(m) else -np.sort(-a, axis=1)[:, :3]


def _gufunc(m: Any, a: Any, b: Any, c: Any) -> Any:
    if not _lazy(m):
        return a.max(axis=-1)
    rows = a.rechunk({1: -1})
    return m.apply_gufunc(lambda x: fa.max(x, axis=-1), "(i)->()", rows, output_dtypes=a.dtype)


OPERATIONS: dict[str, Operation] = {
    "elementwise": lambda m, a, b, c: a + a * b - m.sin(b),
    "scalar": lambda m, a, b, c: 2 * a + 1,
    "broadcast": lambda m, a, b, c: a * VECTOR + a[:1],
    "comparison": lambda m, a, b, c: a > 3,
    "equality": lambda m, a, b, c: a == b,
    "sum": lambda m, a, b, c: a.sum(),
    "sum of an axis": lambda m, a, b, c: a.sum(axis=0),
    "sum with keepdims": lambda m, a, b, c: a.sum(axis=1, keepdims=True),
    "mean": lambda m, a, b, c: a.mean(axis=0),
    "max": lambda m, a, b, c: a.max(axis=1),
    "min": lambda m, a, b, c: a.min(axis=0),
    "std": lambda m, a, b, c: a.std(axis=0),
    "argmax": lambda m, a, b, c: a.argmax(axis=1),
    "product with a vector": lambda m, a, b, c: a @ VECTOR,
    "product": lambda m, a, b, c: a @ c,
    "tensordot": lambda m, a, b, c: m.tensordot(a, b, axes=((1,), (1,))),
    "dot": lambda m, a, b, c: m.dot(a, c),
    "einsum": lambda m, a, b, c: m.einsum("ij,ij,jk->ik", a, b, c),
    "T": lambda m, a, b, c: a.T + b.T,
    "slices": lambda m, a, b, c: a[1:7, 11:1:-2],
    "integer index": lambda m, a, b, c: a[3],
    "fancy index": lambda m, a, b, c: a[[5, 1, 2]],
    "boolean index": lambda m, a, b, c: a[EVEN],
    "mask": lambda m, a, b, c: a[a > 3],
    "concatenate": lambda m, a, b, c: m.concatenate([a, b], axis=0),
    "stack": lambda m, a, b, c: m.stack([a, b]),
    "rechunk": lambda m, a, b, c: a.rechunk((3, 5)) if _lazy(m) else a,
    "reshape": lambda m, a, b, c: a.reshape(2, 4, 12),
    "cumsum": lambda m, a, b, c: m.cumsum(a, axis=1),
    "where": lambda m, a, b, c: m.where(a > 3, a, b),
    "roll": lambda m, a, b, c: m.roll(a, 3, axis=1),
    "tril": lambda m, a, b, c: m.tril(a) + m.triu(b, 1),
    "diag": lambda m, a, b, c: m.diag(a[:, :8]),
    "diag of a vector": lambda m, a, b, c: m.diag(a[0]),
    "unique": lambda m, a, b, c: m.unique(a),
    "norm": lambda m, a, b, c: m.linalg.norm(a),
    "svd_compressed": _svd,
    "topk": _topk,
    "apply_gufunc": _gufunc,
    "nansum": lambda m, a, b, c: m.nansum(a, axis=0),
    "var": lambda m, a, b, c: a.var(axis=1, ddof=1),
    "prod": lambda m, a, b, c: a.prod(axis=1),
    "any": lambda m, a, b, c: (a > 3).any(axis=0),
    "clip": lambda m, a, b, c: m.clip(a, 0, 3),
    "count_nonzero": lambda m, a, b, c: m.count_nonzero(a),
    "pad": lambda m, a, b, c: m.pad(a, 1),
    "isin": lambda m, a, b, c: m.isin(a, [3.0, 4.0]),
    "histogram": lambda m, a, b, c: m.histogram(a, bins=5, range=(0, 9))[0],
    "digitize": lambda m, a, b, c: m.digitize(a, np.array([1.0, 3.0])),
    "round": lambda m, a, b, c: m.round(a / 3, 2),
    "flip": lambda m, a, b, c: m.flip(a, 0),
    "swapaxes": lambda m, a, b, c: m.swapaxes(a, 0, 1),
    "ravel": lambda m, a, b, c: a.ravel(),
    "astype": lambda m, a, b, c: a.astype("float32"),
    "outer": lambda m, a, b, c: m.outer(a[0], b[0]),
    "diff": lambda m, a, b, c: m.diff(a, axis=1),
    "repeat": lambda m, a, b, c: m.repeat(a, 2, axis=0),
    "median": lambda m, a, b, c: m.median(a, axis=1),
    "quantile": lambda m, a, b, c: m.quantile(a, [0.2, 0.9], axis=1),
}

DENSE_BY_MEANING = {
    "cumsum", "svd_compressed", "unique", "argmax", "histogram", "sum", "norm", "count_nonzero",
    "product with a vector", "sum of an axis", "sum with keepdims", "mean", "max", "min", "std",
    "var", "prod", "any", "nansum", "apply_gufunc", "mask", "topk", "tril",
    "median", "quantile",
}  # fmt: skip
"""Whose results have a value for each element by their meaning, or are short; and ``tril``, for
which dask makes a dense mask itself, chunk by chunk."""
