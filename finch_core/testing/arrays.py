"""The data of the suites: small arrays with patterns of zeros that sparse formats must handle."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from finch_core.ir.dtypes import INTEGERS, SUPPORTED

Array = np.ndarray[Any, Any]

DTYPES: tuple[np.dtype[Any], ...] = SUPPORTED
"""The dtypes of tensors that the suites cover."""

INDEX_DTYPES = INTEGERS
"""The dtypes of indices and pointers."""


def _empty(mask: Array, rng: np.random.Generator) -> None:
    """Fill values only."""


def _full(mask: Array, rng: np.random.Generator) -> None:
    mask[...] = True


def _sparse(mask: Array, rng: np.random.Generator) -> None:
    mask[...] = rng.random(mask.shape) < 0.25


def _half(mask: Array, rng: np.random.Generator) -> None:
    mask[...] = rng.random(mask.shape) < 0.6


def _first(mask: Array, rng: np.random.Generator) -> None:
    mask.reshape(-1)[:1] = True


def _last(mask: Array, rng: np.random.Generator) -> None:
    mask.reshape(-1)[-1:] = True


def _single(mask: Array, rng: np.random.Generator) -> None:
    if mask.size:
        mask.reshape(-1)[rng.integers(mask.size)] = True


def _rows(mask: Array, rng: np.random.Generator) -> None:
    """Whole rows, with empty ones between them."""
    if mask.ndim:
        mask[rng.random(mask.shape[0]) < 0.5] = True


def _blocks(mask: Array, rng: np.random.Generator) -> None:
    """Runs of neighbouring elements along the last dimension."""
    if mask.size and mask.ndim:
        edges = rng.random(mask.shape) < 0.3
        mask[...] = np.cumsum(edges, axis=-1) % 2 == 1


_MASKS: dict[str, Callable[[Array, np.random.Generator], None]] = {
    "sparse": _sparse, "half": _half, "empty": _empty, "full": _full, "first": _first,
    "last": _last, "single": _single, "rows": _rows, "blocks": _blocks, "runs": _blocks,
}  # fmt: skip

KINDS: tuple[str, ...] = tuple(_MASKS)
"""The patterns of ``array``: which elements differ from the fill value."""


def values(shape: tuple[int, ...], dtype: Any, rng: np.random.Generator) -> Array:
    """An array of random small nonzero integers of a dtype: their sums are exact in any order."""
    dtype = np.dtype(dtype)
    found = rng.integers(1, 4, shape)
    if dtype.kind in "ifc":
        found = np.where(rng.random(shape) < 0.4, -found, found)
    if dtype.kind == "c":
        found = found + 1j * rng.integers(-2, 3, shape)
    return np.asarray(found).astype(dtype)


def array(
    shape: tuple[int, ...], dtype: Any = np.float64, kind: str = "sparse", seed: int = 0,
    fill: Any = 0,
) -> Array:  # fmt: skip
    """An array of ``fill`` with a pattern, one of ``KINDS``, of other small integers.

    ``"runs"`` repeats one value along each run; other patterns draw each value independently. The
    same arguments give the same array.
    """
    rng = np.random.default_rng(seed)
    mask = np.zeros(shape, bool)
    _MASKS[kind](mask, rng)
    found = values(shape, dtype, rng)
    if kind == "runs" and found.ndim and found.size:
        found[...] = found[..., :1]
    result = np.full(shape, fill, dtype)
    result[mask] = found[mask]
    if result.dtype.kind == "b" and fill:
        result[mask] = False
    return result


__all__ = ["DTYPES", "INDEX_DTYPES", "KINDS", "array", "values"]
