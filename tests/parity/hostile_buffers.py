"""Buffers that are wrong in some places: ``python tests/parity/hostile_buffers.py 10000``.

Tensors of every format are taken apart, their buffers changed, and given to ``from_buffers``. What
it takes must be valid: the interpreter, which checks every access, reads the same values by every
protocol, and updates it where that can be. What it does not take is refused with a ``FormatError``
that names the buffer, and the position where one element is at fault.

The command tries every single change, and that many of two or three at once, of which number ``k``
is the one of seed ``buffers.k``. ``--bytes`` tries every change of one byte of a small tensor of
each level instead; what is taken is read and updated by compiled kernels, too.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import random
import re
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import attrs
import numpy as np

from finch_core import FormatError, PerformanceWarning, Tensor, _, follow, gallop, kernel
from finch_core.errors import DimensionMismatch, FinchError, IndexOverflow
from finch_core.level import Format
from finch_core.plugins import hub
from finch_core.runtime.validation import validate
from finch_core.testing.formats import admit, takes_any_order
from finch_levels import (
    Dense,
    Element,
    Pattern,
)

Array = np.ndarray[Any, Any]
LEVELS: tuple[Any, ...] = tuple(
    level
    for _name, level in sorted(hub().levels.items())
    if level.__module__.startswith("finch_levels.") and not level.is_leaf
)
"""The levels that are built in."""
MOST_READ = 4096
"""Values of a tensor up to which it is read."""


@attrs.frozen(eq=False)
class Subject:
    """A tensor that is taken apart; with several changes made, one that is wrong."""

    format: Format
    shape: tuple[Any, ...]
    buffers: dict[str, Any]
    changes: tuple[str, ...] = ()

    def with_(self, change: str, **parts: Any) -> Subject:
        """The same but for ``parts``; ``change`` says so."""
        return attrs.evolve(self, changes=(*self.changes, change), **parts)

    def with_buffer(self, change: str, name: str, value: Any) -> Subject:
        return self.with_(f"{name} {change}", buffers={**self.buffers, name: value})

    def __str__(self) -> str:
        return f"{self.format} of shape {self.shape}: {', '.join(self.changes)}"


# -- what is changed ----------------------------------------------------------------------------


def subjects() -> Iterator[Subject]:
    """Small tensors of every format: each level alone and in narrow dtypes, each over each."""
    for level in LEVELS:
        yield _subject(level(Element(0.0)), (6,))
        with contextlib.suppress(FormatError):  # a level that stores fills has no Pattern below it
            yield _subject(level(Pattern()), (5,))
        names = {field.name for field in attrs.fields(level)}
        for narrow in (np.int8, np.uint64):
            dtypes = {name: narrow for name in ("index", "pointer") if name in names}
            if dtypes:
                yield _subject(Dense(level(Element(0), **dtypes)), (2, 4))
    for upper, lower in itertools.product(LEVELS, LEVELS):
        yield _subject(upper(lower(Element(0.0))), (3, 4))


def _subject(format: Format, shape: tuple[int, ...]) -> Subject:
    draw = np.random.default_rng(len(str(format)))
    data = np.where(draw.random(shape) < 0.6, draw.integers(1, 4, shape), 0).astype(format.dtype)
    if isinstance(format.levels()[-1], Pattern):
        data = np.arange(shape[0]) % 4 > 0  # a band without gaps: a Pattern stores no fill
    tensor = Tensor(format, admit(format, data))
    return Subject(format, shape, {name: part.copy() for name, part in tensor.buffers.items()})


def single_changes(subject: Subject) -> Iterator[Subject]:
    """Everything that can be changed in one place."""
    yield from _shapes(subject)
    for name, array in subject.buffers.items():
        yield from _arrays(subject, name, array)
        if array.dtype.kind in "iub":
            for k in range(len(array)):
                for value in _values(array, k, subject.shape):
                    changed = array.copy()
                    changed[k] = value
                    if changed[k] != array[k]:
                        yield subject.with_buffer(f"has {value} at {k}", name, changed)


def small_subjects() -> Iterator[Subject]:
    """A small tensor of each level, in wide and in narrow dtypes."""
    for level in LEVELS:
        yield _subject(level(Element(0, np.int8)), (4,))
        names = {field.name for field in attrs.fields(level)}
        narrow = {name: np.int8 for name in ("index", "pointer") if name in names}
        yield _subject(level(Element(False), **narrow), (4,))


def byte_changes(subject: Subject) -> Iterator[Subject]:
    """Every change of one byte of a buffer."""
    for name, array in subject.buffers.items():
        size = array.dtype.itemsize
        for place, byte in itertools.product(range(array.nbytes), range(256)):
            changed = array.copy()
            view = changed.view(np.uint8)
            if view[place] != byte:
                view[place] = byte
                change = f"has byte {place % size} as {byte} at {place // size}"
                yield subject.with_buffer(change, name, changed)


def _shapes(subject: Subject) -> Iterator[Subject]:
    for k, n in enumerate(subject.shape):
        for size in (
            0,
            n - 1,
            n + 1,
            -1,
            127,
            2**31,
            2**62,
            2**62 + 1,
            2**63 - 1,
            2**64,
            2.5,
            None,
        ):
            shape = (*subject.shape[:k], size, *subject.shape[k + 1 :])
            yield subject.with_(f"dimension {k} is {size}", shape=shape)
    yield subject.with_("a dimension too many", shape=(*subject.shape, 2))
    yield subject.with_("a dimension too few", shape=subject.shape[1:])


def _arrays(subject: Subject, name: str, array: Array) -> Iterator[Subject]:
    without = {key: part for key, part in subject.buffers.items() if key != name}
    yield subject.with_(f"{name} is missing", buffers=without)
    for size in range(len(array)):
        yield subject.with_buffer(f"is cut to {size}", name, array[:size].copy())
    yield subject.with_buffer("is longer", name, np.concatenate([array, array[:1], array[-1:]]))
    others: dict[str, Any] = {
        "is None": None,
        "is a list": array.tolist(),
        "is a number": 3,
        "has an axis more": array[None],
        "has no axis": np.zeros((), array.dtype),
        "is strided": np.repeat(array, 2)[::2],
        "is backwards": array[::-1].copy()[::-1],
        "is unaligned": _unaligned(array),
        "is read-only": _read_only(array),
        "is masked": np.ma.masked_array(array, np.arange(len(array)) == 0),
    }
    for change, value in others.items():
        yield subject.with_buffer(change, name, value)
    for dtype in ("i1", "u1", "i4", "u8", "i8", "f4", "f8", "?", "O", ">i8", "M8[s]", "S3"):
        if np.dtype(dtype) != array.dtype:
            with np.errstate(invalid="ignore"):
                yield subject.with_buffer(f"is {dtype}", name, array.astype(dtype))


def _unaligned(array: Array) -> Array:
    room = np.zeros(array.nbytes + 1, np.uint8)[1:].view(array.dtype)
    room[:] = array
    return room


def _read_only(array: Array) -> Array:
    array = array.copy()
    array.flags.writeable = False
    return array


def _values(array: Array, k: int, shape: tuple[Any, ...]) -> list[Any]:
    if array.dtype.kind == "b":
        return [not array[k]]
    info, here = np.iinfo(array.dtype), int(array[k])
    values = {
        0,
        1,
        2,
        -1,
        here - 1,
        here + 1,
        len(array),
        info.min,
        info.max,
        info.max - 1,
        1 << 62,
    }
    values |= {n + d for n in shape for d in (-1, 0, 1)}
    return sorted(v for v in values if info.min <= v <= info.max)


# -- what comes of it ---------------------------------------------------------------------------


def trouble(subject: Subject, backends: tuple[str, ...] = ("interpreter",)) -> str:
    """What is wrong with what ``from_buffers`` makes of a subject; empty if nothing is. The
    interpreter comes first: what it faults never runs without checks."""
    try:
        tensor = Tensor.from_buffers(subject.format, subject.shape, subject.buffers)
    except FormatError as error:
        return _misnamed(subject, error.message)
    except (DimensionMismatch, IndexOverflow) as error:
        told = any("dimension" in change for change in subject.changes)
        return "" if told else f"{type(error).__name__}: {error}"
    except Exception as error:  # what is looked for
        return f"refused by {type(error).__name__}: {error}"
    try:
        return _unreadable(tensor, backends)
    except Exception as error:  # a fault of the interpreter among others
        return f"taken, and then {type(error).__name__}: {error}"


def is_taken(subject: Subject) -> bool:
    """Whether ``from_buffers`` takes it."""
    try:
        Tensor.from_buffers(subject.format, subject.shape, subject.buffers)
    except FinchError:
        return False
    return True


def _misnamed(subject: Subject, message: str) -> str:
    """Whether a refusal leaves out which buffer it is about, or where in it."""
    if any("dimension" in change for change in subject.changes):
        return ""
    names = {field.name for level in subject.format.levels() for field in level.fields}
    if not re.search(rf"\b(\d_)?({'|'.join(names)})\b", message):
        return f"the refusal names no buffer: {message}"
    if all(" at " in change for change in subject.changes) and not re.search(r"\d", message):
        return f"the refusal names no position: {message}"
    return ""


def _unreadable(tensor: Tensor, backends: tuple[str, ...]) -> str:
    assert tensor.nstored >= 0
    assert repr(tensor)
    if any(n > MOST_READ for n in tensor.shape) or np.prod(tensor.shape) > MOST_READ:
        return ""
    protocols = [level.protocols for level in tensor.format.levels()[:-1]]
    found = [
        compiled(reader, backend)(Tensor(_dense(tensor)), tensor).to_numpy()
        for backend in backends
        for protocol, reader in READERS[tensor.ndim].items()
        if all(protocol in known for known in protocols)
    ]
    for other in found[1:]:
        if not np.array_equal(found[0], other):
            return f"read as {found[0].tolist()} by walking, else as {other.tolist()}"
    wrong = (_unwritable(tensor, found[0], backend) for backend in backends)
    return next(filter(None, wrong), "")


def _unwritable(tensor: Tensor, before: Array, backend: str) -> str:
    format = tensor.format
    plain = takes_any_order(format) and isinstance(format.levels()[-1], Element)
    if not plain or not before.size or tensor.signature.readonly or before.dtype.kind == "b":
        return ""
    indices = [np.array([n - 1, 0]) for n in tensor.shape]
    tensor, before = tensor.copy(), before.copy()  # the buffers are those of others, too
    with np.errstate(over="ignore"):  # the largest integer is followed by the least, in C as well
        for at in zip(*indices, strict=True):
            before[at] += 1
    compiled(WRITERS[tensor.ndim], backend)(tensor, *indices)
    validate(tensor)
    after = READERS[tensor.ndim]["walk"](Tensor(_dense(tensor)), tensor).to_numpy()
    return "" if np.array_equal(before, after) else f"updated to {after.tolist()}, not {before}"


def _dense(tensor: Tensor) -> Format:
    format: Format = Element(tensor.fill_value)
    for _dim in range(tensor.ndim):
        format = Dense(format)
    return format


def _interpreted(function: Callable[..., Any]) -> Any:
    return kernel(backend="interpreter")(function)


@cache
def compiled(kernel_: Any, backend: str) -> Any:
    """A kernel of this module by another backend."""
    return kernel_ if backend == "interpreter" else kernel(backend=backend)(kernel_.__wrapped__)


@_interpreted
def walk1(y, x):
    y[...] = 0
    for i in _:
        y[i] = x[i]
    return y


@_interpreted
def gallop1(y, x):
    y[...] = 0
    for i in _:
        y[i] = x[gallop(i)]
    return y


@_interpreted
def follow1(y, x):
    y[...] = 0
    for i in _:
        y[i] = x[follow(i)]
    return y


@_interpreted
def walk2(y, x):
    y[...] = 0
    for i, j in _:
        y[i, j] = x[i, j]
    return y


@_interpreted
def gallop2(y, x):
    y[...] = 0
    for i, j in _:
        y[i, j] = x[gallop(i), gallop(j)]
    return y


@_interpreted
def follow2(y, x):
    y[...] = 0
    for i, j in _:
        y[i, j] = x[follow(i), follow(j)]
    return y


@_interpreted
def add1(x, at):
    for k in _:
        x[at[k]] += 1


@_interpreted
def add2(x, at, to):
    for k in _:
        x[at[k], to[k]] += 1


READERS = {
    1: {"walk": walk1, "gallop": gallop1, "follow": follow1},
    2: {"walk": walk2, "gallop": gallop2, "follow": follow2},
}
WRITERS = {1: add1, 2: add2}


# -- the long search ----------------------------------------------------------------------------


def several(all_: list[Subject], seed: str) -> Subject:
    """A subject with two or three changes."""
    draw = random.Random(seed)
    subject = draw.choice(all_)
    for _turn in range(draw.choice((2, 2, 3))):
        whole = attrs.evolve(
            subject,
            buffers={k: v for k, v in subject.buffers.items() if type(v) is np.ndarray},
        )
        if any(v.ndim != 1 or v.dtype.kind not in "iufb?" for v in whole.buffers.values()):
            break
        if any(type(n) is not int or n < 0 for n in subject.shape):
            break
        changed = draw.choice(list(single_changes(whole)))
        subject = attrs.evolve(changed, buffers={**subject.buffers, **changed.buffers})
    return subject


def main() -> int:
    parser = argparse.ArgumentParser(description="Look for buffers that are wrongly taken.")
    parser.add_argument(
        "count", type=int, nargs="?", default=0, help="how many, beside all that have one change"
    )
    parser.add_argument("--bytes", action="store_true", help="every change of one byte instead")
    parser.add_argument("--first", type=int, default=0, help="the number of the first")
    options = parser.parse_args()
    warnings.simplefilter("ignore", PerformanceWarning)
    if options.bytes:
        return all_bytes()
    started, found = time.monotonic(), Counter[str]()
    all_ = list(subjects())
    singles = (change for subject in all_ for change in single_changes(subject))
    numbers = range(options.first, options.first + options.count)
    for subject in itertools.chain(singles, (several(all_, f"buffers.{k}") for k in numbers)):
        why = trouble(subject)
        found["in trouble" if why else "taken" if is_taken(subject) else "refused"] += 1
        if why:
            print(f"{subject}\n    {why}", flush=True)
    seconds = time.monotonic() - started
    seeds = f"buffers.{numbers.start} up to buffers.{numbers.stop}"
    print(f"-- {found.total() - len(numbers)} with one change, and those of the seeds {seeds}: "
          f"{dict(found)}, in {seconds:.0f} s")  # fmt: skip
    return found["in trouble"]


def all_bytes() -> int:
    """Try every change of one byte of a small tensor of each level, in C too."""
    started, total = time.monotonic(), Counter[str]()
    for subject in small_subjects():
        found = Counter[str]()
        for change in byte_changes(subject):
            why = trouble(change, ("interpreter", "c"))
            found["in trouble" if why else "taken" if is_taken(change) else "refused"] += 1
            if why:
                print(f"{change}\n    {why}", flush=True)
        print(f"{subject.format}: {dict(found)}", flush=True)
        total += found
    seconds = time.monotonic() - started
    print(f"-- {total.total()} with one byte changed: {dict(total)}, in {seconds:.0f} s")
    return total["in trouble"]


if __name__ == "__main__":
    sys.exit(min(main(), 1))
