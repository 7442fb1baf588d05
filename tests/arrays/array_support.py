"""Arrays of many formats beside NumPy's, and how they are compared."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

import finch_array as fa
import finch_array.elementwise
import finch_array.plans
import finch_array.written_plans
import finch_core.runtime.convert
from finch_core import Tensor
from finch_core.optimize import PASSES
from finch_core.records import evolve
from finch_core.runtime import worth
from finch_core.runtime.options import LINEAR, Options
from finch_core.testing.formats import admit
from finch_levels import (
    Dense,
    Element,
    RunList,
    SparseBand,
    SparseBlockList,
    SparseByteMap,
    SparseCOO,
    SparseHash,
    SparseInterval,
    SparseList,
    SparsePinpoint,
    SparseRunList,
)

LEVELS: dict[str, Any] = {
    level.name: level
    for level in (
        Dense, RunList, SparseBand, SparseBlockList, SparseByteMap, SparseCOO, SparseHash,
        SparseInterval, SparseList, SparsePinpoint, SparseRunList,
    )
}  # fmt: skip

MATRICES: dict[str, tuple[str, str]] = {
    "rows": ("Dense", "SparseList"), "lists": ("SparseList", "SparseList"),
    "runs": ("Dense", "RunList"), "bands": ("Dense", "SparseBand"),
    "blocks": ("SparseList", "SparseBlockList"), "hashes": ("SparseHash", "SparseByteMap"),
    "dense": ("Dense", "Dense"), "gapped runs": ("SparseRunList", "SparseList"),
}  # fmt: skip


def data(shape: tuple[int, ...], dtype: Any = np.float64, fill: Any = 0, seed: int = 0) -> Any:
    """An array of ``fill`` with some small integers."""
    rng = np.random.default_rng(seed)
    found = rng.integers(1, 5, shape).astype(dtype)
    return np.where(rng.random(shape) < 0.5, np.asarray(fill, found.dtype), found)


def tensor(array: Any, levels: tuple[str, ...], fill: Any = 0) -> Tensor:
    """``array`` in these levels."""
    format: Any = Element(array.dtype.type(fill))
    for name in reversed(levels):
        format = LEVELS[name](format)
    return Tensor(format, array)


def held(array: Any, levels: tuple[str, ...], fill: Any = 0) -> Any:
    """``array`` without the elements that these levels cannot hold."""
    format: Any = Element(array.dtype.type(fill))
    for name in reversed(levels):
        format = LEVELS[name](format)
    return admit(format, array)


def same(found: Any, wanted: Any, rtol: float = 1e-12) -> None:
    """Raise ``AssertionError`` unless an array has the values, dtype and shape of NumPy's."""
    wanted = np.asarray(wanted)
    assert tuple(found.shape) == wanted.shape
    assert found.dtype == wanted.dtype
    np.testing.assert_allclose(np.asarray(found), wanted, rtol=rtol, atol=1e-12, equal_nan=True)


@contextmanager
def computed_by_kernels(always: bool = True) -> Iterator[None]:
    """Kernels compute few elements, too, or (not ``always``) NumPy any number of them."""
    before, worth.WORTH_OF_VALUES = worth.WORTH_OF_VALUES, -1 if always else 1 << 60
    try:
        yield
    finally:
        worth.WORTH_OF_VALUES = before


def without_passes() -> None:
    """Kernels of array functions are run as they are lowered, which takes half of the time."""
    plain = frozenset(name for name, _ in PASSES)
    for module in (
        finch_array.plans,
        finch_array.elementwise,
        finch_array.written_plans,
        finch_core.runtime.convert,
    ):
        module.Options = partial(Options, disabled=plain)  # type: ignore[attr-defined]
        module.LINEAR = evolve(LINEAR, disabled=plain)


__all__ = [
    "LEVELS", "MATRICES", "computed_by_kernels", "data", "fa", "held", "same", "tensor",
    "without_passes",
]  # fmt: skip
