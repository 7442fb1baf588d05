"""Random formats with narrow indices, of lengths around what these hold: each way to a tensor gives
NumPy's values or is refused as an ``IndexOverflow``, and functions of arrays never wrap.

``python tests/parity/random_narrow.py FIRST COUNT`` runs the seeds from FIRST on.
"""

from __future__ import annotations

import pickle
import random
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import finch_array as fa
from finch_core import Tensor, _, kernel
from finch_core.errors import FormatError, IndexOverflow
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

LEAF = Element(0.0)
SINGLE = [SparsePinpoint, SparseInterval]
LEVELS = [
    *SINGLE, RunList, SparseBand, SparseBlockList, SparseByteMap, SparseCOO, SparseHash, SparseList,
    SparseRunList,
]  # fmt: skip
IN_ANY_ORDER = [SparseByteMap, SparseHash]
FORMAT = LEAF
"""The format of the workspaces of the programs below."""


def check(seed: int) -> None:
    """Check some of the ways to a tensor of the format of a seed."""
    choose = random.Random(seed)
    level, dtype = choose.choice(LEVELS), choose.choice([np.int8, np.int8, np.uint8, np.int16])
    most = int(np.iinfo(dtype).max)
    n = choose.choice([most - 1, most, most + 1, most + 2, most + 40, 2 * most + 4])
    array = np.zeros(n)
    for k in () if level in SINGLE else choose.sample(range(n), 4):
        array[k] = choose.randint(1, 3)
    array[-1] = 7
    rows = choose.choice([0, 0, 1, 2])
    above = [choose.choice([Dense, SparseList, SparseHash])] * min(rows, 1)
    array = np.stack([array] * rows) if rows else array
    format = level(LEAF, index=dtype)
    for outer in above:
        format = outer(format)
    backend = "c" if dtype is np.int16 else choose.choice(["c", "interpreter"])
    fits = n <= most if level is not SparseByteMap else None  # which numbers positions
    ways = dict(ways_of(format, array, backend, level in IN_ANY_ORDER and above != [SparseList]))
    for name in choose.sample(sorted(ways), 6):
        where = f"seed {seed}: {name} of {format}, {array.shape}, {backend}"
        try:
            found = ways[name]()
        except IndexOverflow:
            assert not fits, where
        else:
            assert fits or fits is None, where
            np.testing.assert_array_equal(found, array, err_msg=where)
    if fits and dtype is not np.int16:
        for name, function in choose.sample(sorted(FUNCTIONS.items()), 4):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = function(Tensor(format, array))
            where = f"seed {seed}: {name} of {format}, {array.shape}"
            found = found if isinstance(found, np.ndarray) else found.to_numpy()
            np.testing.assert_array_equal(found, function(array), err_msg=where)


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "concat": lambda A: np.concatenate([A, A, A], axis=-1),
    "expand_dims": lambda A: np.expand_dims(A, 0) + np.zeros((3, *A.shape)),
    "broadcast_to": lambda A: np.broadcast_to(A, (300, *A.shape)),
    "tile": lambda A: np.tile(A, (5,)),
    "repeat": lambda A: np.repeat(A, 4, axis=-1),
    "reshape": lambda A: np.reshape(A, (-1,)),
    "stack": lambda A: np.stack([A] * 3, axis=-1),
    "pad": lambda A: np.pad(A, 200),
    "take": lambda A: A[..., np.arange(4 * A.shape[-1]) % A.shape[-1]],
    "transpose": lambda A: A.T,
    "roll": lambda A: np.roll(A, 3),
    "sum": lambda A: A * 2 + A,
}


def ways_of(
    format: Any, array: Any, backend: str, updates: bool
) -> Iterator[tuple[str, Callable[[], Any]]]:
    """The ways to a tensor of a format with the values of an array, as functions."""
    shape, dense = array.shape, Dense(LEAF) if array.ndim == 1 else Dense(Dense(LEAF))
    yield "Tensor", lambda: Tensor(format, array).to_numpy()
    yield "empty", lambda: Tensor(format, shape).to_numpy() + array
    yield "zeros", lambda: fa.zeros(shape, format=format).to_numpy() + array
    yield "to", lambda: Tensor(dense, array).to(format).to_numpy()
    yield "pickle", lambda: pickle.loads(pickle.dumps(Tensor(format, array))).to_numpy()
    coords = array.nonzero()
    yield "coo", lambda: fa.from_coo(coords, array[coords], shape, format=format).to_numpy()
    yield "buffers", lambda: Tensor.from_buffers(*_wider(format, array)).to_numpy()
    yield "elements", lambda: _assigned(format, array)
    yield "declared", lambda: _written(declared, Tensor(format), array, backend)
    if updates:
        yield "updated", lambda: _written(updated, Tensor(format, shape), array, backend)
    for program in (copied, copied_in_turns, copied_of_shape):
        yield program.__name__, lambda program=program: _copied(program, format, array, backend)


def _wider(format: Any, array: Any) -> Any:
    """The arguments of ``from_buffers``, the indices cut from those of a wider format."""
    *levels, _leaf = format.levels()
    wide: Any = LEAF
    for level in reversed(levels):
        wide = type(level)(wide)
    buffers, made = Tensor(wide, array).buffers, Tensor(format)
    fields = {f"{p.level}_{p.field.name}": p.field.dtype for p in made.layout.buffers}
    return format, array.shape, {key: b.astype(fields[key]) for key, b in buffers.items()}


def _assigned(format: Any, array: Any) -> Any:
    made = Tensor(format, array.shape)
    for place in zip(*array.nonzero(), strict=True):
        made[tuple(map(int, place))] = array[place]
    return made.to_numpy()


def _written(programs: Any, tensor: Any, array: Any, backend: str) -> Any:
    kernel(programs[array.ndim], backend=backend)(tensor, array)
    return tensor.to_numpy()


def _copied(program: Any, format: Any, array: Any, backend: str) -> Any:
    rows = np.atleast_2d(array)
    found = np.zeros_like(rows)
    globals()["FORMAT"] = format if array.ndim == 2 else Dense(format)
    kernel(program, backend=backend)(found, rows)
    return found.reshape(array.shape)


def declared_vector(y: Any, x: Any) -> None:
    y[...] = 0
    for i in _:
        if x[i] != 0:
            y[i] = x[i]


def declared_matrix(y: Any, x: Any) -> None:
    y[...] = 0
    for i, j in _:
        if x[i, j] != 0:
            y[i, j] = x[i, j]


def updated_vector(y: Any, x: Any) -> None:
    for i in _:
        if x[i] != 0:
            y[i] += x[i]


def updated_matrix(y: Any, x: Any) -> None:
    for i, j in _:
        if x[i, j] != 0:
            y[i, j] += x[i, j]


declared = {1: declared_vector, 2: declared_matrix}
updated = {1: updated_vector, 2: updated_matrix}


def copied(y: Any, x: Any) -> None:
    w = Tensor(FORMAT)
    w[...] = 0
    for i, j in _:
        if x[i, j] != 0:
            w[i, j] = x[i, j]
    for i, j in _:
        y[i, j] = w[i, j]


def copied_in_turns(y: Any, x: Any) -> None:
    for _k in range(2):
        w = Tensor(FORMAT)
        w[...] = 0
        for i, j in _:
            if x[i, j] != 0:
                w[i, j] = x[i, j]
        for i, j in _:
            y[i, j] = w[i, j]


def copied_of_shape(y: Any, x: Any) -> None:
    w = Tensor(FORMAT, (len(x), x.shape[1]))
    for i, j in _:
        if x[i, j] != 0:
            w[i, j] = x[i, j]
    for i, j in _:
        y[i, j] = w[i, j]


if __name__ == "__main__":
    first, count = map(int, sys.argv[1:])
    for number in range(first, first + count):
        try:
            check(number)
        except (AssertionError, FormatError, ValueError) as error:
            print(f"seed {number}: {error}", flush=True)
