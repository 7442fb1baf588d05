"""The tests of ``LevelSuite`` on parallel loops: what ``Abilities.parallel`` declares holds."""

from __future__ import annotations

import math
import os
import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any, ClassVar
from unittest import mock

import numpy as np
import pytest

from finch_core.errors import RaceError
from finch_core.frontend.functions import _, parallel
from finch_core.interface.abilities import Order, Sharing
from finch_core.interface.level import Format
from finch_core.interface.plugins import hub
from finch_core.runtime.kernel import Kernel
from finch_core.runtime.options import Options
from finch_core.runtime.tensor import Tensor
from finch_core.runtime.threads import set_threads
from finch_core.runtime.validation import validate
from finch_core.testing.arrays import Array, array
from finch_core.testing.formats import Limit, admit, leaf, nest
from finch_core.testing.running import FULL, using

SHAPES = ((0, 3), (1, 1), (7, 6))
KINDS = ("half", "rows", "empty", "full", "last")
FEW = 1
"""The nestings that compiled code is tested with; the interpreter runs twice as many and one."""


def written(out: Any, a: Any) -> Any:
    """``out = a``, by rows: each turn writes its own, or joins it to those before."""
    out[...] = 0
    for i in parallel(_):
        for j in _:
            out[i, j] = a[i, j]
    return out


def added(out: Any, a: Any) -> Any:
    """``out += a``, by rows: each turn updates what no other does."""
    for i in parallel(_):
        for j in _:
            out[i, j] += a[i, j]
    return out


def scaled(out: Any, a: Any) -> Any:
    """``out *= 2`` in place."""
    for i in parallel(_):
        for j in _:
            out[i, j] *= 2
    return out


def scattered(out: Any, a: Any, where: Any) -> Any:
    """Rows of ``a`` are added to rows of ``out``, several to one: each part has a copy."""
    for i in parallel(_):
        for j in _:
            out[where[i], j] += a[i, j]
    return out


def written_vector(out: Any, a: Any) -> Any:
    """``written`` for vectors."""
    out[...] = 0
    for i in parallel(_):
        out[i] = a[i]
    return out


def row_sums(y: Any, a: Any) -> Any:
    """Sums of rows, whose work is divided by what is stored."""
    y[...] = 0
    for i in parallel(_):
        for j in _:
            y[i] += a[i, j]
    return y


def total(s: Any, a: Any) -> Any:
    """The sum of a matrix."""
    s[...] = 0
    for i in parallel(_):
        for j in _:
            s[()] += a[i, j]
    return s


def total_of_vector(s: Any, a: Any) -> Any:
    """The sum of a vector."""
    s[...] = 0
    for i in parallel(_):
        s[()] += a[i]
    return s


class LevelInParallel:
    """Tests of parallel loops over many small parts, on the interpreter, which runs parts out of
    order, before anything else; ``format`` and ``limits`` are those of the suite."""

    format: ClassVar[Any]
    limits: ClassVar[Mapping[str, Limit]] = {}

    def test_parallel_loops_write_what_sequential_ones_do(self, backend: str) -> None:
        """Each role that the level has is taken, others are refused."""
        for format in self._nestings(backend, "written"):
            writes = _takes(format, Sharing.DISJOINT) or _joins(format)
            self._run(backend, format, written, writes, lambda data, a: a)
        for format in self._nestings(backend, "added"):
            alone = _takes(format, Sharing.DISJOINT)
            self._run(backend, format, added, alone, lambda data, a: data + a)
            in_place = alone or _takes(format, Sharing.IN_PLACE)
            self._run(backend, format, scaled, in_place, lambda data, a: data * 2)

    def test_parallel_reductions_are_copied(self, backend: str) -> None:
        for format in self._nestings(backend, "scattered"):
            taken = _takes(format, Sharing.COPIED)
            self._run(backend, format, scattered, taken, _scattered)

    def test_parts_of_a_fiber_are_joined(self, backend: str) -> None:
        format = nest([type(self).format], leaf())
        taken = _takes(format, Sharing.DISJOINT) or _joins(format)
        self._run(backend, format, written_vector, taken, lambda data, a: a)

    def test_work_is_divided_by_what_is_stored(self, backend: str) -> None:
        for format in self._nestings(backend, "read"):
            for data in self._arrays(format):
                with using("interpreter"):
                    tensor = Tensor(format, data)
                for name in dict.fromkeys(("interpreter", backend)):
                    with _threads():
                        sums = _split(name, row_sums)(np.full(len(data), -1.0), tensor)
                        whole = _split(name, total)(Tensor(leaf()), tensor).value
                    np.testing.assert_array_equal(sums, data.sum(axis=1), err_msg=str(format))
                    assert whole == data.sum(), format
        format = nest([type(self).format], leaf())
        for data in self._arrays(format):
            with using("interpreter"):
                tensor = Tensor(format, data)
            for name in dict.fromkeys(("interpreter", backend)):
                with _threads():
                    assert _split(name, total_of_vector)(Tensor(leaf()), tensor).value == data.sum()

    def _nestings(self, backend: str, test: str) -> list[Format]:
        """Formats that have this level, alone and with others: some of them, drawn by the test."""
        this, dense = type(self).format, hub().layout("dense")
        compressed = hub().layout("compressed")
        nestings = [(dense, this), (this, dense), (this, this), (compressed, this),
                    (this, compressed)]  # fmt: skip
        if not os.environ.get(FULL):
            count = FEW if backend != "interpreter" else 2 * FEW + 1
            nestings = random.Random(f"{type(self).__name__} {test}").sample(nestings, count)
        return [nest(list(levels), leaf()) for levels in nestings]

    def _arrays(self, format: Format) -> Iterator[Array]:
        for seed, kind in enumerate(KINDS):
            for shape in SHAPES:
                shown = shape if format.ndim == 2 else (math.prod(shape),)
                yield admit(format, array(shown, float, kind, seed), self.limits)

    def _run(
        self,
        backend: str,
        format: Format,
        program: Callable[..., Any],
        taken: bool,
        wanted: Callable[[Array, Array], Array],
    ) -> None:
        """Run a program in parts on the interpreter, then on ``backend``: the result is that of
        NumPy, with as much stored as by a single part; or all refuse it."""
        for before, a in zip(self._arrays(format), self._arrays(format), strict=True):
            a = np.roll(a, 1, axis=0)
            given = [np.arange(len(a)) // 3] if program is scattered else []
            expected = wanted(before, a)
            if not np.array_equal(admit(format, expected, self.limits), expected):
                continue
            with using("interpreter"):
                source = Tensor(nest([hub().layout("compressed")] * a.ndim, leaf()), a)
                single = Tensor(format, before)
            if not taken:
                with pytest.raises(RaceError):
                    _split(backend, program)(single, source, *given)
                return
            _whole(program)(single, source, *given)
            for name in dict.fromkeys(("interpreter", backend)):
                with using("interpreter"):
                    out = Tensor(format, before)
                for _again in range(1 if program in (added, scaled, scattered) else 2):
                    with _threads():
                        assert _split(name, program)(out, source, *given) is out
                    validate(out)
                    np.testing.assert_array_equal(out.to_numpy(), expected, err_msg=str(format))
                    assert out.nstored == single.nstored, format


def _scattered(data: Array, a: Array) -> Array:
    found = data.copy()
    np.add.at(found, np.arange(len(a)) // 3, a)
    return found


def _takes(format: Format, wanted: Sharing) -> bool:
    return all(wanted in level.parallel for level in format.levels())


def _joins(format: Format) -> bool:
    """Whether each part of a loop can write rows of its own, which are joined."""
    outer = format.levels()[0]
    again = Sharing.ROWS in outer.parallel or outer.order is Order.ANY or outer.resumes
    return again and _takes(format, Sharing.JOINED)


@cache
def _split(backend: str | None, program: Callable[..., Any]) -> Kernel[..., Any]:
    """A kernel whose parallel loops have a part for every few elements."""
    return Kernel(program, Options(backend=backend, least_work=4))


@cache
def _whole(program: Callable[..., Any]) -> Kernel[..., Any]:
    """A kernel on the interpreter whose parallel loops have one part."""
    return Kernel(program, Options(backend="interpreter"))


@contextmanager
def _threads() -> Iterator[None]:
    """A context in which three threads run the parts of parallel loops."""
    with mock.patch.dict(os.environ, FINCH_OVERSUBSCRIBE="1"):
        set_threads(3)
        try:
            yield
        finally:
            set_threads(None)


__all__ = ["LevelInParallel"]
