"""The tests of ``LevelSuite`` on buffers from outside: what is wrong in them is refused."""

from __future__ import annotations

import contextlib
import itertools
import os
import random
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import numpy as np

from finch_core.errors import FinchError, FormatError
from finch_core.frontend.functions import _, follow, gallop, walk
from finch_core.interface.level import Format
from finch_core.interface.plugins import hub
from finch_core.records import frozen
from finch_core.runtime.tensor import Tensor
from finch_core.runtime.validation import validate
from finch_core.testing import wrapped_programs
from finch_core.testing.arrays import Array, array
from finch_core.testing.formats import Limit, admit, leaf, nest, takes_any_order
from finch_core.testing.running import FULL, on, using

WHAT_REFUSES = (
    "`validate` is to raise FormatError where `sizes` cannot be computed (pointers that are too "
    "few, decrease, are negative or do not begin at 0), `validate_contents` where contents are "
    "wrong (indices that are not within the dimension, or do not increase in a fiber)"
)
"""What a level is told whose wrong buffers are taken."""

MOST_CHANGES = 60
"""How many changes of a matrix are tried, drawn with a fixed seed; on compiled backends, which run
what the interpreter has run without a fault, a fifth of that, of vectors too."""

MOST_READ = 4096
"""Values of a tensor up to which it is read."""


def _walked(y: Any, x: Any) -> Any:
    y[...] = 0
    for i in _:
        y[i] = x[walk(i)]
    return y


def _galloped(y: Any, x: Any) -> Any:
    y[...] = 0
    for i in _:
        y[i] = x[gallop(i)]
    return y


def _followed(y: Any, x: Any) -> Any:
    y[...] = 0
    for i in _:
        y[i] = x[follow(i)]
    return y


def _walked_rows(y: Any, x: Any) -> Any:
    y[...] = 0
    for i, j in _:
        y[i, j] = x[walk(i), walk(j)]
    return y


def _galloped_rows(y: Any, x: Any) -> Any:
    y[...] = 0
    for i, j in _:
        y[i, j] = x[gallop(i), gallop(j)]
    return y


def _followed_rows(y: Any, x: Any) -> Any:
    y[...] = 0
    for i, j in _:
        y[i, j] = x[follow(i), follow(j)]
    return y


def _add(x: Any, at: Any) -> None:
    for k in _:
        x[at[k]] += 1


def _add_in_rows(x: Any, at: Any, to: Any) -> None:
    for k in _:
        x[at[k], to[k]] += 1


READERS = {
    1: {"walk": _walked, "gallop": _galloped, "follow": _followed},
    2: {"walk": _walked_rows, "gallop": _galloped_rows, "follow": _followed_rows},
}
WRITERS = {1: _add, 2: _add_in_rows}


@frozen
class Given:
    """What ``from_buffers`` is given: a shape and buffers, one of which is changed."""

    shape: tuple[int, ...]
    buffers: dict[str, Any]
    change: str = ""

    def having(self, name: str, what: str, value: Any) -> Given:
        """The same with another buffer or scalar in place of one."""
        return Given(self.shape, {**self.buffers, name: value}, f"{name} {what}")


def changes(given: Given, format: Format) -> Iterator[Given]:
    """What is wrong in one place, or may be: a dimension, a length, an index, a pointer."""
    for k, n in enumerate(given.shape):
        for size in (0, n - 1, n + 1):
            shape = (*given.shape[:k], size, *given.shape[k + 1 :])
            yield Given(shape, given.buffers, f"dimension {k} is {size}, not {n}")
    leaf_depth = len(format.levels()) - 1
    for name, value in given.buffers.items():
        if np.ndim(value) == 0:
            for other in _others(np.asarray(value)[None], 0, given.shape):
                yield given.having(name, f"is {other}, not {value}", other)
            continue
        for size in range(len(value)):
            yield given.having(name, f"is cut to {size} elements", value[:size].copy())
        if int(name.partition("_")[0]) == leaf_depth or value.dtype.kind not in "iubf":
            continue
        for k in range(len(value)):
            for other in _others(value, k, given.shape):
                changed = value.copy()
                changed[k] = other
                yield given.having(name, f"has {other} at {k}, not {value[k]}", changed)


def _others(array: Array, k: int, shape: tuple[int, ...]) -> list[Any]:
    """Other values of an element: its neighbours, the ends of dimensions and of the dtype."""
    if array.dtype.kind == "b":
        return [not array[k]]
    if array.dtype.kind == "f":
        return [array[k] + 1, -2 * array[k]]
    if array.dtype.kind not in "iu":
        return []
    info, here = np.iinfo(array.dtype), int(array[k])
    values = {0, 1, -1, here - 1, here + 1, len(array), info.min, info.max}
    values |= {n + d for n in shape for d in (-1, 0, 1)}
    return sorted(v for v in values - {here} if info.min <= v <= info.max)


class LevelBuffers:
    """Tests of ``from_buffers``; ``format`` and ``limits`` are those of the suite."""

    format: ClassVar[Any]
    limits: ClassVar[Mapping[str, Limit]] = {}

    def test_wrong_buffers_are_refused(self, backend: str) -> None:
        """Buffers with one change are refused with a ``FormatError``; or they are valid, so that
        kernels stay within them, and each protocol reads the same."""
        this, dense = type(self).format, hub().layout("dense")
        for levels in ((this,), (dense, this), (this, dense), (this, this)):
            format, shape = nest([*levels], leaf()), (6,) if len(levels) == 1 else (3, 4)
            with using("interpreter"):
                tensor = Tensor(format, admit(format, array(shape, float, "half", 4), self.limits))
            tried = list(changes(Given(shape, contents(tensor)), format))
            most = MOST_CHANGES if backend == "interpreter" else MOST_CHANGES // 5
            if (len(levels) > 1 or backend != "interpreter") and not os.environ.get(FULL):
                draw = random.Random(f"{format.name} {len(tried)}")
                tried = draw.sample(tried, min(len(tried), most))
            for given in tried:
                wrong = trouble(format, given, backend)
                told = f"{format} takes buffers in which {given.change}, and then {wrong}"
                assert not wrong, f"{told}: {WHAT_REFUSES}"


def contents(tensor: Tensor) -> dict[str, Any]:
    """All buffers and scalars of a tensor, by the names that ``from_buffers`` takes."""
    found: dict[str, Any] = {name: part.copy() for name, part in tensor.buffers.items()}
    for depth, level in enumerate(tensor.format.levels()):
        values = tensor.fields(depth)
        found |= {f"{depth}_{f.name}": values[f.name] for f in level.fields if not f.is_buffer}
    return found


def trouble(format: Format, given: Given, backend: str) -> str:
    """What is wrong with a tensor that ``from_buffers`` makes; empty if nothing is, or if it
    refuses. The interpreter comes first: what it faults never runs without checks."""
    copies = {k: v.copy() if np.ndim(v) else v for k, v in given.buffers.items()}
    try:
        tensor = Tensor.from_buffers(format, given.shape, copies)
    except FinchError as error:
        told = isinstance(error, FormatError) or given.change.startswith("dimension")
        return "" if told else f"raises {type(error).__name__}: {error}"
    except Exception as error:
        return f"raises {type(error).__name__}: {error}"
    try:
        found = [_trouble_on(each, tensor) for each in dict.fromkeys(("interpreter", backend))]
    except Exception as error:  # a fault of the interpreter among others
        return f"a kernel ends with {type(error).__name__}: {error}"
    return next(filter(None, found), "")


def _trouble_on(backend: str, tensor: Tensor) -> str:
    """What is wrong with how a backend reads and updates a tensor."""
    if np.prod(tensor.shape) > MOST_READ:
        return ""
    protocols = [level.protocols for level in tensor.format.levels()[:-1]]
    with using("interpreter"):
        assert tensor.nstored >= 0
        found = {
            protocol: on(backend, reader)(np.zeros(tensor.shape), tensor)
            for protocol, reader in READERS[tensor.ndim].items()
            if all(protocol in known for known in protocols)
        }
    for (one, first), (other, second) in itertools.pairwise(found.items()):
        if not np.array_equal(first, second):
            return f"`{one}` reads {first.tolist()}, `{other}` {second.tolist()}"
    _update(backend, tensor)
    return _trouble_in_parts(backend, tensor, found)


def _trouble_in_parts(backend: str, tensor: Tensor, found: Mapping[str, Array]) -> str:
    """What is wrong where loops begin at an index of a vector, to which they seek."""
    for protocol, whole in found.items() if tensor.ndim == 1 else ():
        n, x = len(whole), 7.0 ** np.arange(len(whole))
        for k in range(1, n):
            part = on(backend, wrapped_programs.BY_PROTOCOL[protocol])(
                Tensor(leaf()), tensor, x, k, n
            )
            if part.value != whole[k:] @ x[k:]:
                return f"`{protocol}` reads other values where it begins at {k}, as if not in order"
    return ""


def _update(backend: str, tensor: Tensor) -> None:
    """Add 1 to the last element and to the first; raises where that does not stay in memory, or
    leaves invalid buffers. What comes of it depends on values that are said not to be stored."""
    if not takes_any_order(tensor.format) or 0 in tensor.shape:
        return
    copy = tensor.copy()
    with contextlib.suppress(FormatError):  # the level cannot hold it
        on(backend, WRITERS[tensor.ndim])(copy, *(np.array([n - 1, 0]) for n in tensor.shape))
    validate(copy)


__all__ = ["LevelBuffers", "contents"]
