"""The tests of ``LevelSuite`` on thawing and further updates, and on protocols."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import pytest

from finch_core.errors import FormatError, LifecycleError
from finch_core.frontend.functions import _
from finch_core.interface.abilities import PROTOCOLS
from finch_core.interface.level import Format
from finch_core.interface.plugins import hub
from finch_core.runtime.tensor import Tensor
from finch_core.runtime.validation import validate
from finch_core.testing import wrapped_programs
from finch_core.testing.arrays import Array, array
from finch_core.testing.formats import Limit, admit, leaf, nest, takes_any_order
from finch_core.testing.running import on, using


def more(out: Any, a: Any) -> Any:
    """``out += a`` for vectors."""
    for i in _:
        out[i] += a[i]
    return out


def more_of_matrix(out: Any, a: Any) -> Any:
    """``more`` for matrices."""
    for i, j in _:
        out[i, j] += a[i, j]
    return out


def nothing_more(out: Any, n: Any) -> Any:
    """Thaw ``out``, and write nothing."""
    for i in range(0, n):
        if i < 0:
            out[i] += 1
    return out


def in_turn(out: Any, where: Any, n: Any) -> None:
    """Read elements of ``out`` that the turn, or one before it, has written."""
    for i in range(n):
        out[i] += 1
        out[where[i]] = out[i] + 2 * out[where[i]]
        if out[i] > 40:
            out[i] -= 40
            out[where[i]] *= 0


def in_turn_by_rows(out: Any, where: Any, n: Any) -> None:
    """``in_turn`` for matrices."""
    for i in range(n):
        for j in range(n):
            out[i, j] += 1
            out[where[i], j] = out[i, j] + 2 * out[i, where[j]]
            if out[i, where[j]] > 40:
                out[i, j] = 0


class LevelUpdates:
    """Tests of ``thaw``, and of reading by each protocol; ``format`` and ``limits`` are those of
    the suite."""

    format: ClassVar[Any]
    limits: ClassVar[Mapping[str, Limit]] = {}

    def _leaf_over(self, *levels: Any) -> Format:
        return nest(list(levels), leaf())

    def updated(self, backend: str, format: Format, first: Array, rest: Array) -> None:
        """Add ``rest`` to a tensor of ``first``; check that it holds the sum, or that it refuses,
        and that its buffers are valid."""
        with using(backend):
            first = admit(format, first, self.limits)
            tensor = Tensor(format, first)
            other = Tensor(nest([hub().layout("compressed")] * rest.ndim, leaf()), rest)
        run = on(backend, more if rest.ndim == 1 else more_of_matrix)
        continues = all(level.thaws for level in format.levels())
        sums = first + rest
        if continues and np.array_equal(admit(format, sums, self.limits), sums):
            assert run(tensor, other) is tensor
        else:
            with pytest.raises(FormatError):
                run(tensor, other)
            validate(tensor)
            sums = first if not continues else tensor.to_numpy()
        validate(tensor)
        np.testing.assert_array_equal(tensor.to_numpy(), sums, err_msg=str(format), strict=True)

    def test_what_is_stored_is_continued(self, backend: str) -> None:
        """After ``thaw``, a level appends after the entries that are stored."""
        format = self._leaf_over(type(self).format)
        for n in (0, 1, 9, 50):
            for kind in ("half", "runs", "empty", "full", "first"):
                first, rest = array((n,), float, kind, 1), array((n,), float, "half", 2)
                first[n // 2 :], rest[: n // 2] = 0, 0
                self.updated(backend, format, first, rest)

    def test_fibers_are_continued(self, backend: str) -> None:
        """Rows are appended after those that are stored, with this level and others."""
        this, dense = type(self).format, hub().layout("dense")
        compressed = hub().layout("compressed")
        for levels in ((dense, this), (this, dense), (this, this), (compressed, this),
                       (this, compressed)):  # fmt: skip
            for kind in ("half", "rows", "empty"):
                for shape in ((6, 4), (1, 5), (40, 3)):
                    first = array(shape, float, kind, 3)
                    rest = array(shape, float, "half", 4)
                    first[shape[0] // 2 :], rest[: shape[0] // 2] = 0, 0
                    self.updated(backend, self._leaf_over(*levels), first, rest)

    def test_what_is_stored_is_updated_in_place(self, backend: str) -> None:
        """Levels that can be written in any order update stored elements."""
        this, dense = type(self).format, hub().layout("dense")
        for levels in ((this,), (dense, this), (this, dense), (this, this)):
            format = self._leaf_over(*levels)
            if takes_any_order(format):
                for seed, kind in enumerate(("half", "empty", "full", "runs")):
                    shape = (7, 5)[: len(levels)]
                    first = array(shape, float, kind, seed)
                    self.updated(backend, format, first, array(shape, float, "half", seed + 9))

    def test_updates_are_read_in_turn(self, backend: str) -> None:
        """A level with ``reads_updates`` finds at once what was written; others are refused."""
        this, dense = type(self).format, hub().layout("dense")
        where = np.array([3, 0, 4, 4, 1, 2])
        for levels in ((this,), (dense, this), (this, dense), (this, this)):
            format = self._leaf_over(*levels)
            program = in_turn if len(levels) == 1 else in_turn_by_rows
            for seed, kind in enumerate(("half", "empty", "full")):
                data = admit(format, array((6, 6)[: len(levels)], float, kind, seed), self.limits)
                with using(backend):
                    tensor = Tensor(format, data)
                if not all(level.reads_updates for level in format.levels()):
                    with pytest.raises(LifecycleError, match="read and updated"):
                        on(backend, program)(tensor, where, 6)
                    break
                expected = np.array(data)
                program(expected, where, 6)
                on(backend, program)(tensor, where, 6)
                validate(tensor)
                np.testing.assert_array_equal(tensor.to_numpy(), expected, err_msg=str(format))

    def test_a_thaw_alone_changes_nothing(self, backend: str) -> None:
        format = self._leaf_over(type(self).format)
        if not all(level.thaws for level in format.levels()):
            return
        for kind in ("half", "runs", "empty", "full"):
            with using(backend):
                tensor = Tensor(format, admit(format, array((9,), float, kind, 5), self.limits))
            before = tensor.to_numpy().copy()
            for _again in range(2):
                on(backend, nothing_more)(tensor, 9)
                validate(tensor)
                np.testing.assert_array_equal(tensor.to_numpy(), before, err_msg=str(format))

    def test_each_protocol_reads_what_is_there(self, backend: str) -> None:
        format = self._leaf_over(type(self).format)
        unknown = set(type(format).protocols) - set(PROTOCOLS)
        assert not unknown, f"{format.name} names protocols that there are not: {sorted(unknown)}"
        for protocol in sorted(format.protocols):
            run = on(backend, wrapped_programs.BY_PROTOCOL[protocol])
            for n in (0, 1, 9):
                for kind in ("half", "runs", "last", "empty"):
                    with using(backend):
                        data = admit(format, array((n,), float, kind, 6), self.limits)
                        tensor = Tensor(format, data)
                    x = np.arange(1.0, n + 1)
                    for lo, hi in ((0, n), (n // 3, n - n // 4)):
                        found = run(Tensor(leaf()), tensor, x, lo, hi).value
                        assert found == data[lo:hi] @ x[lo:hi], (protocol, kind, n)


__all__ = ["LevelUpdates", "more", "more_of_matrix", "nothing_more"]
