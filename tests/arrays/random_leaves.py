"""Random arrays: a tensor in some format, perhaps seen through wrappers, and NumPy's array of its
values."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

import finch_array as fa
from finch_core import Tensor
from finch_core.plugins import hub
from finch_core.testing.formats import admit, level_names
from finch_levels import Element
from finch_wrappers import stride, window

DTYPES = (
    np.bool_, np.int8, np.int64, np.int64, np.uint16, np.float32, np.float64, np.float64,
    np.complex128,
)  # fmt: skip
SIZES = (0, 1, 1, 2, 3, 3, 5)
OUTER = ("Dense", "SparseList", "SparseHash", "SparseByteMap", "SparseRunList", "RunList")


class Draws(np.random.Generator):
    """Random numbers of an expression; ``data`` draws the values of its arrays."""

    data: np.random.Generator


def draws(seed: int, count: int) -> Draws:
    """The draws of expression ``seed``, of which ``count`` in a row are one tree over other values:
    so they share kernels, whose making takes most of the time."""
    found = Draws(np.random.PCG64(seed // count))
    found.data = found if count == 1 else np.random.default_rng(seed)
    return found


@attrs.frozen
class Pair:
    """One array: ``mine`` by this package, ``theirs`` by NumPy, a text that tells how it was made,
    and by what relative error its values may differ (0: none)."""

    mine: Any
    theirs: Any
    text: str
    rounded: float = 0.0


def levels(rng: np.random.Generator, ndim: int) -> tuple[str, ...]:
    """The names of levels, outermost first; ``SparseCOO`` takes all dimensions that remain."""
    found: list[str] = []
    installed = [name for name in level_names() if name != "SparseCOO"]  # plugins' too
    while len(found) < ndim:
        if rng.random() < 0.15:
            return (*found, *["SparseCOO"] * (ndim - len(found)))
        inner = len(found) == ndim - 1
        names = installed if inner or rng.random() < 0.3 else OUTER
        found.append(names[rng.integers(len(names))])
    return tuple(found)


def format_of(names: tuple[str, ...], fill: Any) -> Any:
    format: Any = Element(fill)
    for name in reversed(names):
        format = hub().levels[name](format)
    return format


def values(rng: np.random.Generator, shape: tuple[int, ...], dtype: Any, fill: Any) -> Any:
    """Small integers of a dtype, some of them negative, among fills."""
    rng = getattr(rng, "data", rng)
    found = rng.integers(0, 4, shape)
    if dtype.kind in "ifc" and rng.random() < 0.4:
        found = found * rng.choice([-1, 1], shape)
    cast = found.astype(dtype)
    if dtype.kind == "c" and rng.random() < 0.5:
        cast = cast + (1j * rng.integers(0, 3, shape)).astype(dtype)
    return np.where(rng.random(shape) < rng.choice([0.3, 0.6, 0.9]), fill, cast)


def leaf(
    rng: np.random.Generator,
    leaves: list[str],
    shape: tuple[int, ...] | None = None,
    kinds: str = "",
) -> Pair:
    """A random array, of a given shape and kind of dtype if they are given."""
    ndim = int(rng.choice([0, 1, 1, 2, 2, 2, 3])) if shape is None else len(shape)
    sizes = tuple(int(rng.choice(SIZES)) for _ in range(ndim)) if shape is None else shape
    dtypes = [np.dtype(d) for d in DTYPES if not kinds or np.dtype(d).kind in kinds]
    dtype = dtypes[rng.integers(len(dtypes))]
    if rng.random() < 0.15 and ndim:
        array = values(rng, sizes, dtype, dtype.type(0))
        name = f"x{len(leaves)}"
        leaves.append(f"{name} = numpy {dtype} {array.tolist()}")
        return Pair(fa.asarray(array), array, name)
    return _tensor(rng, leaves, sizes, dtype, free=shape is None)


def _tensor(
    rng: np.random.Generator, leaves: list[str], sizes: tuple[int, ...], dtype: Any, free: bool
) -> Pair:
    names = levels(rng, len(sizes))
    only_zero = {"SparseBand", "SparseInterval"} & set(names)
    other = 0 if only_zero or rng.random() < 0.7 else getattr(rng, "data", rng).choice([1, 2, 3, 5])
    fill = dtype.type(other)
    format = format_of(names, fill)
    array = admit(format, values(rng, sizes, dtype, fill))
    tensor: Any = Tensor(format, array)
    name = f"x{len(leaves)}"
    text = f"{name} = {'('.join(names)} {dtype} fill {fill} {array.tolist()}"
    if free and sizes and rng.random() < 0.3:
        tensor, array, how = _wrapped(rng, tensor, array)
        text += f" {how}"
    leaves.append(text)
    return Pair(tensor, array, name)


def _wrapped(rng: np.random.Generator, tensor: Any, array: Any) -> tuple[Any, Any, str]:
    """The tensor through a wrapper: permuted, a window, or with steps."""
    kind = rng.integers(3)
    if kind == 0:
        order = tuple(rng.permutation(array.ndim).tolist())
        return fa.permute_dims(tensor, order), np.transpose(array, order), f"permuted {order}"
    if kind == 1:
        bounds = tuple(_bounds(rng, n) for n in array.shape)
        part = tuple(slice(*pair) for pair in bounds)
        return window(tensor, *bounds), array[part], f"window {bounds}"
    steps = tuple(slice(None, None, int(rng.choice([-2, -1, 1, 2]))) for _ in array.shape)
    return stride(tensor, *steps), array[steps], f"stride {steps}"


def _bounds(rng: np.random.Generator, n: int) -> tuple[int, int]:
    first, last = sorted(rng.integers(0, n + 1, 2).tolist())
    return first, last


__all__ = ["DTYPES", "Draws", "Pair", "draws", "leaf"]
