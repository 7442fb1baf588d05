"""Which elements a tensor of any format stores, as seen from afar: kernels for the interpreter,
which look at a bounded number of elements.

They ask ``stored(A[i, j])``, which every format answers, those of plugins too.
"""

from __future__ import annotations

import linecache
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np

from finch_core.frontend import parse
from finch_core.frontend.functions import _, stored
from finch_core.interface.structure import Pieces
from finch_core.records import frozen
from finch_core.runtime.backends import LAST
from finch_core.runtime.kernel import Kernel
from finch_core.runtime.options import Options

CELLS = 32
"""The most rows and columns of a plot."""

MOST = 10_000
"""The number of stored elements that a plot looks at, more or less."""

TRIED = 10_000
"""The number of fibers, of levels without gaps, that are searched for one that stores something."""

Array = np.ndarray[Any, np.dtype[Any]]

_WINDOW = """\
def window(there, values, {params}):
    for i in range(there.shape[0]):
        for j in range(there.shape[1]):
            if stored({access}):
                there[i, j] = True
            values[i, j] = {access}
"""
_DENSITY = """\
def density(counts, looked, rows, columns, most, fill, {params}):
    for r in range(len(rows)):
        seen = 0
        for i in range(rows[r, 0], rows[r, 1]):
            if seen >= most:
                break
            looked[r] += 1
            for c in range(len(columns)):
                for j in range(columns[c, 0], columns[c, 1]):
                    if {wanted}:
                        counts[r, j * counts.shape[1] // {width}] += 1
                        seen += 1
                        if seen >= most:
                            break
"""


@frozen(eq=False)
class Sample:
    """How much of each cell of a plot is stored, from 0 to 1; ``partly``: not all was looked at."""

    density: Array
    partly: bool


def leading(tensor: Any) -> tuple[int, ...]:
    """The indices before the last two of the first slice that stores something, as far as a
    bounded search finds one; else zeros."""
    if tensor.ndim < 3:
        return ()
    at = np.zeros(tensor.ndim, np.int64)
    gaps = [level.structure.gaps for level in tensor.format.levels()[:-1]]
    each = int(TRIED ** (1 / max(gaps.count(False), 1)))
    limits = [n if has else min(n, each) for n, has in zip(tensor.shape, gaps, strict=True)]
    _kernel("first", tensor.ndim)(at, np.array(limits), tensor)
    return tuple(at[:-2].tolist())


def window(tensor: Any, lead: Sequence[int]) -> tuple[Array, Array]:
    """Which elements of a small slice are stored, and the values of all."""
    shape = _plane(tensor)
    there, values = np.zeros(shape, bool), np.zeros(shape, tensor.dtype)
    _kernel("window", tensor.ndim)(there, values, tensor, *lead)
    return there, values


def density(tensor: Any, lead: Sequence[int], *, nonfill: bool) -> Sample:
    """How much of each cell of a slice is stored (or differs from the fill value). Of large slices
    some rows, or some columns of some rows, are looked at."""
    height, width = _plane(tensor)
    cells = min(height, CELLS), min(width, CELLS)
    rows, columns, most = _chosen(tensor, height, width)
    counts = np.zeros(cells, np.int64)
    name = "nonfill" if nonfill else "density"
    run = _kernel(name, tensor.ndim)
    seen = np.zeros(cells[0], np.int64)
    run(counts, seen, rows, columns, most, tensor.fill_value, tensor, *lead)
    looked = seen[:, None] * _sizes(columns, width, cells[1])[None, :]
    partly = bool(looked.sum() < height * width)
    return Sample(np.minimum(counts / np.maximum(looked, 1), 1.0), partly)


def _plane(tensor: Any) -> tuple[int, int]:
    """The size of a slice along the last two dimensions; a vector has one row."""
    return (1, tensor.shape[0]) if tensor.ndim == 1 else tensor.shape[-2:]


def _chosen(tensor: Any, height: int, width: int) -> tuple[Array, Array, int]:
    """The ranges of rows and of columns that are looked at, and the most elements of one range of
    rows."""
    bands, cells = min(height, CELLS), min(width, CELLS)
    shares = tensor.format.levels()[-2].structure.pieces is Pieces.RUNS
    each = width if shares else max(tensor.nstored // max(_rows_of(tensor), 1), width // 1000, 1)
    whole = np.array([[0, width]])
    if each * bands <= MOST:
        return _ranges(height, bands, max(MOST // (each * bands), 1)), whole, 2 * MOST // bands
    columns = _ranges(width, cells, max(MOST // (bands * cells), 1))
    return _ranges(height, bands, 1), columns, MOST


def _rows_of(tensor: Any) -> int:
    count = 1
    for n in tensor.shape[:-1]:
        count *= n
    return count


def _ranges(size: int, parts: int, most: int) -> Array:
    """``parts`` ranges spread over ``size`` indices, each of at most ``most``."""
    ends = [size * k // parts for k in range(parts + 1)]
    return np.array([[a, min(b, a + most)] for a, b in pairwise(ends)])


def _sizes(ranges: Array, size: int, cells: int) -> Array:
    """The number of indices looked at in each of ``cells`` parts of ``size`` indices."""
    if len(ranges) == cells:
        return ranges[:, 1] - ranges[:, 0]
    ends = np.array([-(-size * k // cells) for k in range(cells + 1)])
    return np.diff(ends)


# -- the kernels ------------------------------------------------------------------------------


@cache
def _kernel(name: str, ndim: int) -> Any:
    """The kernel of this name for tensors of a number of dimensions."""
    text = _text(name, ndim)
    filename = f"<finch_core.show {name} {ndim}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
    names: dict[str, Any] = {"_": _, "stored": stored}
    exec(compile(text, filename, "exec"), names)
    function = names[text[len("def ") : text.index("(")]]
    return Kernel.of_program(parse(function), Options(backend=LAST), quiet=True)


def _text(name: str, ndim: int) -> str:
    lead = [f"a{k}" for k in range(ndim - 2)]
    indices = [*lead, "i", "j"] if ndim > 1 else ["j"]
    access = f"A[{', '.join(indices)}]"
    if name == "first":
        return _first(indices, access)
    params = ", ".join(["A", *lead])
    if name == "window":
        return _WINDOW.format(params=params, access=access)
    wanted = f"stored({access})" if name == "density" else f"{access} != fill"
    return _DENSITY.format(params=params, wanted=wanted, width=f"A.shape[{ndim - 1}]")


def _first(indices: Sequence[str], access: str) -> str:
    """Loops that end at the first element that is stored, and note its indices."""
    lines = ["def first(at, limits, A):", "    found = False"]
    pads = ["    " * (k + 1) for k in range(len(indices) + 1)]
    for k, index in enumerate(indices):
        lines.append(f"{pads[k]}for {index} in range(limits[{k}]):")
    inner = pads[-1]
    lines.append(f"{inner}if stored({access}):")
    lines += [f"{inner}    at[{k}] = {i}" for k, i in enumerate(indices)]
    lines += [f"{inner}    found = True", f"{inner}    break"]
    for pad in reversed(pads[1:-1]):
        lines += [f"{pad}if found:", f"{pad}    break"]
    return "\n".join(lines) + "\n"


__all__ = ["CELLS", "Sample", "density", "leading", "window"]
