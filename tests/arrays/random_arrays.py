"""Random expressions of array functions beside NumPy, in value, dtype and shape.

    python tests/arrays/random_arrays.py --count 50000 --seconds 3600 --seed 1

Each expression is a tree of operators, functions, reductions and indexing over arrays of random
formats, fills, dtypes and shapes that broadcast. A mismatch prints the expression and the leaves.
"""

from __future__ import annotations

import argparse
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

from array_support import LEVELS, fa

from finch_core import Tensor
from finch_core.testing.formats import admit
from finch_levels import Element

DTYPES = (np.bool_, np.int8, np.int64, np.uint16, np.float32, np.float64, np.complex128)
FORMATS = [
    ("Dense",), ("SparseList",), ("RunList",), ("SparseBand",), ("SparseHash",),
    ("Dense", "SparseList"), ("SparseList", "SparseList"), ("Dense", "Dense"),
    ("Dense", "RunList"), ("SparseRunList", "Dense"), ("SparseList", "SparseBlockList"),
    ("SparseByteMap", "SparseHash"), ("Dense", "SparsePinpoint"), ("RunList", "SparseList"),
    ("Dense", "SparseInterval"), ("Dense", "SparseList", "SparseList"),
    ("SparseList", "Dense", "RunList"),
]  # fmt: skip
SIZES = (1, 2, 3, 5)

Pair = tuple[Any, Any]


def leaf(rng: np.random.Generator) -> tuple[Pair, str]:
    """A tensor, the NumPy array of its values, and a text that describes it."""
    names = FORMATS[rng.integers(len(FORMATS))]
    dtype = np.dtype(DTYPES[rng.integers(len(DTYPES))])
    shape = tuple(int(SIZES[rng.integers(len(SIZES))]) for _ in names)
    banded = "SparseBand" in names or "SparseInterval" in names
    fill = dtype.type(0 if banded or rng.random() < 0.7 else 1)
    values = rng.integers(0, 4, shape)
    array = np.where(rng.random(shape) < 0.5, fill, values.astype(dtype))
    format: Any = Element(fill)
    for name in reversed(names):
        format = LEVELS[name](format)
    array = admit(format, array)
    tensor: Any = Tensor(format, array)
    text = f"{'('.join(names)} {dtype} fill {fill} {array.tolist()}"
    if len(names) > 1 and rng.random() < 0.25:
        tensor, array, text = tensor.mT, np.swapaxes(array, -1, -2), text + " mT"
    return (tensor, array), text


BINARY = {
    "+": lambda x, y: x + y, "*": lambda x, y: x * y, "<": lambda x, y: x < y,
    "==": lambda x, y: x == y, "!=": lambda x, y: x != y, ">=": lambda x, y: x >= y,
}  # fmt: skip
NAMED = ("maximum", "minimum", "logical_and", "logical_or", "hypot", "where")
UNARY = ("abs", "square", "sign", "logical_not", "isnan", "expm1", "floor")
REDUCED = ("sum", "max", "min", "any", "all", "mean", "count_nonzero", "argmax", "var")


def grown(rng: np.random.Generator, depth: int, leaves: list[str]) -> tuple[Pair, str]:
    """A random expression: its values by this package and by NumPy, and its text."""
    if depth == 0 or rng.random() < 0.15:
        pair, text = leaf(rng)
        leaves.append(text)
        return pair, f"x{len(leaves) - 1}"
    (a, b), text = grown(rng, depth - 1, leaves)
    step = STEPS[rng.integers(len(STEPS))]
    return step(rng, (a, b), text, depth, leaves)


def binary(rng: Any, first: Pair, text: str, depth: int, leaves: list[str]) -> tuple[Pair, str]:
    if rng.random() < 0.3:
        number: Any = (2, 3, 0.5, True)[rng.integers(4)]
        second, other = (number, number), repr(number)
    else:
        second, other = grown(rng, depth - 1, leaves)
    second = fitted(first, second)
    if rng.random() < 0.6:
        name = list(BINARY)[rng.integers(len(BINARY))]
        found = tuple(BINARY[name](p, q) for p, q in zip(first, second, strict=True))
        return (found[0], found[1]), f"({text} {name} {other})"
    name = NAMED[rng.integers(len(NAMED))]
    mine, theirs = getattr(fa, name), getattr(np, name)
    if name == "where":
        return (
            (mine(first[0], first[0], second[0]), theirs(first[1], first[1], second[1])),
            f"where({text}, {text}, {other})",
        )
    return (mine(first[0], second[0]), theirs(first[1], second[1])), f"{name}({text}, {other})"


def fitted(first: Pair, second: Pair) -> Pair:
    """The second operand cut so that it broadcasts with the first."""
    a, b = np.shape(first[1]), np.shape(second[1])
    index = tuple(
        slice(0, 1) if n not in (1, m) and m != 1 else slice(None)
        for m, n in zip(((1,) * 8 + a)[-len(b) :] if b else (), b, strict=True)
    )
    if all(part == slice(None) for part in index):
        return second
    return second[0][index], second[1][index]


def unary(rng: Any, first: Pair, text: str, depth: int, leaves: list[str]) -> tuple[Pair, str]:
    name = UNARY[rng.integers(len(UNARY))]
    if name in ("square", "sign") and np.asarray(first[1]).dtype.kind == "b":
        return first, text  # NumPy makes an int8 of it, or refuses
    return (getattr(fa, name)(first[0]), getattr(np, name)(first[1])), f"{name}({text})"


def reduced(rng: Any, first: Pair, text: str, depth: int, leaves: list[str]) -> tuple[Pair, str]:
    name = REDUCED[rng.integers(len(REDUCED))]
    ndim = np.ndim(first[1])
    axis = int(rng.integers(ndim)) if ndim and rng.random() < 0.8 else None
    keep = bool(rng.random() < 0.3)
    options: Any = {"axis": axis, "keepdims": keep}
    mine = getattr(fa, name)(first[0], **options)
    return (mine, np.asarray(getattr(np, name)(first[1], **options))), f"{name}({text}, {options})"


def indexed(rng: Any, first: Pair, text: str, depth: int, leaves: list[str]) -> tuple[Pair, str]:
    shape = np.shape(first[1])
    if not shape:
        return first, text
    index = tuple(_item(rng, n) for n in shape[: int(rng.integers(1, len(shape) + 1))])
    array = first[0]
    return (array[index], np.asarray(first[1])[index]), f"{text}[{index}]"


def _item(rng: Any, n: int) -> Any:
    kind = rng.integers(5)
    if n == 0 or kind == 0:
        return slice(None)
    if kind == 1:
        return int(rng.integers(-n, n))
    if kind == 2:
        return slice(int(rng.integers(n)), None)
    if kind == 3:
        return slice(None, None, int(rng.choice([-2, -1, 2])))
    return rng.integers(0, n, 2).tolist()


def shaped(rng: Any, first: Pair, text: str, depth: int, leaves: list[str]) -> tuple[Pair, str]:
    a, b = first
    ndim = np.ndim(b)
    if ndim == 0:
        return first, text
    kind = rng.integers(5)
    axis = int(rng.integers(ndim))
    if kind == 0:
        return (fa.reshape(a, (-1,)), np.reshape(b, (-1,))), f"reshape({text}, (-1,))"
    if kind == 1:
        return (fa.flip(a, axis=axis), np.flip(b, axis)), f"flip({text}, {axis})"
    if kind == 2:
        return (fa.roll(a, 1, axis=axis), np.roll(b, 1, axis)), f"roll({text}, 1, {axis})"
    if kind == 3:
        both = (fa.concat([a, a], axis=axis), np.concatenate([b, b], axis=axis))
        return both, f"concat({text}, {axis})"
    order = tuple(rng.permutation(ndim).tolist())
    return (fa.permute_dims(a, order), np.transpose(b, order)), f"permute({text}, {order})"


def product(rng: Any, first: Pair, text: str, depth: int, leaves: list[str]) -> tuple[Pair, str]:
    a, b = first
    if np.ndim(b) == 0 or b.dtype.kind == "b":
        return first, text
    if np.ndim(b) == 1:
        return (a @ a, b @ b), f"({text} @ itself)"
    return (a @ a.mT, b @ np.swapaxes(b, -1, -2)), f"({text} @ its mT)"


STEPS: tuple[Callable[..., tuple[Pair, str]], ...] = (
    binary, binary, binary, unary, reduced, reduced, indexed, shaped, product,
)  # fmt: skip


def differs(found: Any, wanted: Any) -> str:
    """How a result differs from NumPy's; empty if it does not."""
    wanted = np.asarray(wanted)
    if tuple(found.shape) != wanted.shape:
        return f"shape {found.shape} instead of {wanted.shape}"
    if found.dtype != wanted.dtype:
        return f"dtype {found.dtype} instead of {wanted.dtype}"
    mine = np.asarray(found)
    rtol = 1e-3 if wanted.dtype in (np.float32, np.complex64) else 1e-9
    if wanted.dtype.kind in "fc":
        same = np.isclose(mine, wanted, rtol=rtol, atol=rtol, equal_nan=True)
    else:
        same = mine == wanted
    return "" if np.all(same) else f"values {mine.tolist()} instead of {wanted.tolist()}"


def check(seed: int, depth: int = 3) -> str:
    """What is wrong with the expression of this seed; empty if nothing is, or NumPy refuses it."""
    rng = np.random.default_rng(seed)
    leaves: list[str] = []
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            (found, wanted), text = grown(rng, int(rng.integers(1, depth + 1)), leaves)
        except (TypeError, OverflowError) as error:
            return _excused(error, seed)
        except Exception:
            return f"seed {seed}\n" + "\n".join(leaves) + "\n" + traceback.format_exc(limit=-6)
    wrong = differs(found, wanted)
    return f"seed {seed}: {text}: {wrong}\n" + "\n".join(leaves) if wrong else ""


def _excused(error: Exception, seed: int) -> str:
    """An error that NumPy raises, or both do: an operator that a dtype does not have."""
    told = str(error)
    known = ("not supported", "not defined", "no order", "no loop", "ufunc", "complex", "bool")
    return "" if any(word in told for word in known) else f"seed {seed}: {type(error)}: {told}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    started, bad, done = time.monotonic(), 0, 0
    for seed in range(options.seed, options.seed + options.count):
        if time.monotonic() - started > options.seconds:
            break
        wrong = check(seed)
        done += 1
        if wrong:
            bad += 1
            print(wrong, flush=True)
    print(f"{done} expressions, {bad} wrong, {time.monotonic() - started:.0f} s")
    return min(bad, 1)


if __name__ == "__main__":
    sys.exit(main())
