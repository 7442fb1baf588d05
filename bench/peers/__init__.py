"""The systems that one would use instead, one module each.

A module has functions named after workloads (``spmv``, ``spgemm``, ``bfs``, ...), which take the
workload's data and give contenders: functions without arguments, by name, whose results compare.
Whatever a system needs to convert, it converts before; ``converted`` says how, to be timed, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module
from types import ModuleType
from typing import Any

import attrs
import numpy as np

Contenders = dict[str, Callable[[], Any]]

MODULES = {
    "taco": "taco",
    "hand": "hand_c",
    "hand programs": "hand_programs",
    "scipy": "scipy_sparse",
    "mkl": "mkl",
    "eigen": "eigen",
    "numba": "numba_loops",
    "numba programs": "numba_programs",
    "pyamg": "pyamg_",
    "sparse": "pydata_sparse",
    "finch-tensor": "finch_tensor",
    "lagraph": "lagraph",
    "graphblas": "graphblas_",
    "igraph": "igraph_",
    "networkit": "networkit_",
    "opencv": "opencv",
    "skimage": "skimage_",
}
"""The module of each peer. LAGraph comes before python-graphblas, which finds GraphBLAS started;
LAGraph itself refuses to start where it is."""


@attrs.frozen
class Levels:
    """The result of a search that knows how far away vertices are, but not their parents."""

    steps: Any


def converted(run: Callable[[], Any], convert: Callable[[], Any]) -> Callable[[], Any]:
    """A contender whose conversion of the data from SciPy's CSR is timed, too."""

    def once() -> Any:
        return run()

    once.convert = convert  # type: ignore[attr-defined]
    return once


def aligned(array: Any) -> Any:
    """A copy that begins at a line of the cache."""
    memory = np.empty(array.nbytes + 64, np.uint8)
    start = -memory.ctypes.data % 64
    found = memory[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    found[...] = array
    return found


def remembered(convert: Callable[..., Any]) -> Callable[..., Any]:
    """A conversion that is not made again where it was the last one asked for, of the same data."""
    last: dict[tuple[Any, ...], tuple[Any, Any]] = {}

    def converted(data: Any, **options: Any) -> Any:
        how = tuple(options.items())
        if how not in last or last[how][0] is not data:
            last[how] = data, convert(data, **options)
        return last[how][1]

    return converted


def load(names: Iterable[str] | None = None) -> tuple[dict[str, ModuleType], dict[str, str]]:
    """The peers that are there, and why the others are not."""
    found, missing = {}, {}
    for name in names if names is not None else MODULES:
        try:
            found[name] = import_module(f"bench.peers.{MODULES[name]}")
        except (ImportError, OSError, RuntimeError, KeyError) as error:
            missing[name] = f"{type(error).__name__}: {error}"
    return found, missing


def contenders(peers: dict[str, ModuleType], workload: str, *data: Any) -> Contenders:
    """What the peers have to offer for one workload."""
    found: Contenders = {}
    for module in peers.values():
        make = getattr(module, workload, None)
        if make is not None:
            found.update(make(*data))
    return found
