"""The test suite of level formats: compares a format with NumPy."""

from __future__ import annotations

import itertools
import os
import random
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

import numpy as np
import pytest

from finch_core.errors import FormatError
from finch_core.interface.abilities import Order
from finch_core.interface.level import Format
from finch_core.interface.plugins import hub
from finch_core.runtime.convert import asarray, convert_into
from finch_core.runtime.lists import fields_from_array
from finch_core.runtime.tensor import Tensor
from finch_core.testing import programs
from finch_core.testing.arrays import DTYPES, INDEX_DTYPES, KINDS, Array, array
from finch_core.testing.formats import (
    Level,
    Limit,
    admit,
    indexed,
    leaf,
    level_names,
    nest,
    takes_any_order,
)
from finch_core.testing.level_buffers import LevelBuffers, contents
from finch_core.testing.level_gaps import LevelGaps
from finch_core.testing.level_in_place import LevelInPlace
from finch_core.testing.level_parallel import LevelInParallel
from finch_core.testing.level_updates import LevelUpdates
from finch_core.testing.level_values import LevelValues
from finch_core.testing.running import (
    ANY_ORDER,
    FULL,
    RunsOnBackends,
    backend_names,
    by_kernels,
    on,
    share_of_pairs,
    using,
)

FILLS: tuple[tuple[Any, Any], ...] = (
    (np.inf, np.float64), (-np.inf, np.float32), (-1, np.int64), (True, np.bool_), (3, np.uint8),
    (1 - 2j, np.complex128), (-0.0, np.float64),
)  # fmt: skip
"""Fill values other than zero, with a dtype each."""


@ANY_ORDER
class LevelSuite(
    RunsOnBackends,
    LevelUpdates,
    LevelInPlace,
    LevelInParallel,
    LevelBuffers,
    LevelGaps,
    LevelValues,
):
    """The tests that every level format must pass, compared with NumPy. A complete test module::

        class TestMyFormat(LevelSuite):
            format = MyFormat

    ``format``, a class or static method, makes a level over a child format. A format that cannot
    hold every fiber declares what it can hold by ``Format.limit`` (or ``limits`` here, by the name
    of the format); it must refuse other fibers with a ``FormatError`` and leave the output empty.
    ``backends`` are the names of backends to run on; None stands for the default backend, which
    ``FINCH_BACKEND`` can name.

    Pairs with other installed formats are sampled with a fixed seed: each backend runs the part of
    them that ``shares`` gives. With the environment variable ``FINCH_TESTS_FULL`` all are run, with
    ``FINCH_TESTS_SHARE=0.3`` that part of them.
    """

    format: ClassVar[Any]
    limits: ClassVar[Mapping[str, Limit]] = {}
    backends: ClassVar[tuple[str | None, ...]] = ("interpreter", None)
    shares: ClassVar[tuple[float, ...]] = (1.0, 0.34)

    # -- what the tests range over ----------------------------------------------------------

    @classmethod
    def others(cls) -> tuple[str, ...]:
        """The names of the level formats that this one is paired with."""
        return level_names()

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Parametrise tests by backend and, if they take ``other``, by installed format."""
        backends = backend_names(self.backends)
        if "other" not in metafunc.fixturenames:
            metafunc.parametrize("backend", backends)
            return
        draw = random.Random(f"{metafunc.cls.__name__} {metafunc.function.__name__}")
        shares = dict.fromkeys(backends, 1.0)
        if not os.environ.get(FULL):
            shares = {b: s * share_of_pairs() for b, s in zip(backends, self.shares, strict=False)}
        cases = [(b, o) for b in backends for o in self.others()]
        drawn = [case for case in cases if draw.random() < shares[case[0]]]
        metafunc.parametrize(("backend", "other"), drawn or cases[:1])

    # -- helpers ----------------------------------------------------------------------------

    def make(self, fill: Any = 0.0, dtype: Any = None, rank: int = 1) -> Format:
        """The format ``rank`` levels deep over values."""
        return nest([type(self).format] * rank, leaf(fill, dtype))

    def admitted(self, format: Format, data: Array) -> Array:
        """A copy of ``data`` in which elements that ``format`` cannot hold are fill values."""
        return admit(format, data, self.limits)

    def round_trip(self, format: Format, data: Array) -> Tensor:
        """Make a tensor of ``data``, check that it has the same values, and return it: by a kernel,
        and without one, which is to give the same buffers."""
        data = self.admitted(format, data)
        with by_kernels():
            tensor = Tensor(format, data)
            equal(tensor.to_numpy(), data, format)
        assert tensor.shape == data.shape
        assert tensor.dtype == data.dtype
        equal(tensor.to_numpy(), data, format)
        same = Tensor(format)
        fields = fields_from_array(same, asarray(data))
        if fields is not None:
            same.set_fields(data.shape, fields)
            for name, buffer in tensor.buffers.items():
                equal(same.buffers[name], buffer, f"{name}, from_rows of {format}")
        return tensor

    def empty(self, format: Format) -> None:
        """Check that matrices made without data hold fill values."""
        for shape in ((0, 0), (3, 2), (1, 1)):
            equal(Tensor(format, shape).to_numpy(), np.full(shape, format.fill_value), format)
        assert Tensor(format).shape == (0, 0)

    def writes(self, out: Tensor, run: Any, expected: Array, *operands: Any) -> None:
        """Check the result of ``run`` in ``out``, or that it refuses what ``out`` cannot hold."""
        for _ in range(2):  # into an empty tensor, and into the result of that
            if not np.array_equal(self.admitted(out.format, expected), expected):
                with pytest.raises(FormatError):
                    run(out, *operands)
                assert (out.to_numpy() == out.fill_value).all()
            else:
                assert run(out, *operands) is out
                equal(out.to_numpy(), expected, out.format)

    # -- round trips ------------------------------------------------------------------------

    @pytest.mark.parametrize("kind", KINDS)
    def test_a_vector_comes_back(self, backend: str, kind: str) -> None:
        with using(backend):
            for n in (0, 1, 2, 9):
                for seed in range(3):
                    self.round_trip(self.make(), array((n,), float, kind, seed))

    @pytest.mark.parametrize("kind", KINDS)
    def test_a_matrix_comes_back(self, backend: str, kind: str) -> None:
        with using(backend):
            for shape in ((0, 0), (0, 3), (3, 0), (1, 1), (1, 5), (5, 1), (4, 7)):
                self.round_trip(self.make(rank=2), array(shape, float, kind, sum(shape)))

    def test_indices_of_every_dtype(self, backend: str) -> None:
        """Parameters that ``integer_dtype`` converts may be any integer."""
        with using(backend):
            for dtype in INDEX_DTYPES:
                format = indexed(self.make(rank=2), dtype)
                self.round_trip(format, array((4, 7), float, "half", 1))

    @pytest.mark.parametrize("dtype", DTYPES, ids=str)
    def test_every_dtype_comes_back(self, backend: str, dtype: Any) -> None:
        with using(backend):
            for kind in ("runs", "half"):
                self.round_trip(self.make(0, dtype), array((9,), dtype, kind, 1))

    @pytest.mark.parametrize(("fill", "dtype"), FILLS, ids=str)
    def test_other_fills_come_back(self, backend: str, fill: Any, dtype: Any) -> None:
        with using(backend):
            for kind in ("empty", "half", "runs"):
                format = self.make(fill, dtype)
                tensor = self.round_trip(format, array((9,), dtype, kind, 2, fill))
                assert tensor.fill_value == fill
                assert np.signbit(tensor.fill_value.real) == np.signbit(np.real(fill))

    def test_an_empty_tensor_is_fill(self, backend: str) -> None:
        with using(backend):
            for fill in (0.0, np.inf, -1.0):
                self.empty(self.make(fill, rank=2))

    def test_a_copy_is_independent(self, backend: str) -> None:
        with using(backend):
            first = self.round_trip(self.make(), array((6,), float, "half", 4))
            kept, other = first.to_numpy().copy(), first.copy()
            first.fill((3,))
            equal(other.to_numpy(), kept, other.format)

    def test_elements_are_read(self, backend: str) -> None:
        with using(backend):
            tensor = self.round_trip(self.make(rank=2), array((4, 5), float, "half", 3))
            expected = tensor.to_numpy()
            for index in np.ndindex(4, 5):
                assert tensor[index] == expected[index]

    def test_buffers_make_the_same_tensor(self, backend: str) -> None:
        with using(backend):
            first = self.round_trip(self.make(rank=2), array((4, 5), float, "rows", 3))
            again = Tensor.from_buffers(first.format, first.shape, contents(first))
            equal(again.to_numpy(), first.to_numpy(), first.format)
            assert again.nstored == first.nstored
            more = self.admitted(first.format, array((6, 7), float, "full", 3))
            convert_into(again, more)  # the buffers have room for what they held, and no more
            equal(again.to_numpy(), more, first.format)

    def test_what_is_not_written_is_not_committed(self, backend: str, other: str) -> None:
        """Through this level, whatever is below: a list above stores no index for nothing."""
        compressed = hub().layout("compressed")
        format = nest([compressed, type(self).format, hub().level(other)], leaf())
        with using(backend):
            data = array((6, 3, 4), float, "half", 5)
            data[[0, 2, 3]] = 0
            tensor = self.round_trip(format, data)
            level, positions, _, below = next(tensor.levels())
            stored = level.entries(positions, len(data), tensor.fields(0), below)
            assert stored == self.admitted(format, data).any(axis=(1, 2)).sum()

    # -- among other formats ----------------------------------------------------------------

    def test_to_another_format(self, backend: str, other: str) -> None:
        with using(backend):
            for kind in ("half", "runs", "empty", "full", "last"):
                target = nest([hub().level(other)], leaf())
                data = self.admitted(target, array((9,), float, kind, 5))
                tensor = self.round_trip(self.make(), data)
                data = self.admitted(target, tensor.to_numpy())
                source = Tensor(self.make(), data)
                equal(source.to(target).to_numpy(), data, target)

    def test_over_another_format(self, backend: str, other: str) -> None:
        with using(backend):
            format = nest([type(self).format, hub().level(other)], leaf())
            self.empty(format)
            for kind, shape in (
                ("half", (4, 5)),
                ("rows", (5, 3)),
                ("runs", (1, 6)),
                ("last", (3, 3)),
            ):
                self.round_trip(format, array(shape, float, kind, 6))

    def test_under_another_format(self, backend: str, other: str) -> None:
        with using(backend):
            format = nest([hub().level(other), type(self).format], leaf())
            self.empty(format)
            for kind, shape in (
                ("half", (4, 5)),
                ("rows", (5, 3)),
                ("full", (2, 2)),
                ("empty", (3, 2)),
            ):
                self.round_trip(format, array(shape, float, kind, 7))

    def test_three_levels(self, backend: str, other: str) -> None:
        draw = random.Random(f"{type(self).__name__} {other}")
        with using(backend):
            levels = [
                type(self).format,
                hub().level(other),
                hub().level(draw.choice(self.others())),
            ]
            draw.shuffle(levels)
            for kind in ("half", "rows"):
                self.round_trip(nest(levels, leaf()), array((3, 4, 3), float, kind, 8))

    # -- programs ---------------------------------------------------------------------------

    def test_union_with_another_format(self, backend: str, other: str) -> None:
        self._elementwise(backend, other, programs.union, np.add)

    def test_intersection_with_another_format(self, backend: str, other: str) -> None:
        self._elementwise(backend, other, programs.intersection, np.multiply)

    def _elementwise(self, backend: str, other: str, function: Any, ufunc: Any) -> None:
        run = on(backend, function)
        for out in self._outputs(other, function.__name__):
            with using("interpreter"):
                for seed, (kind, n) in enumerate(
                    [("half", 9), ("runs", 9), ("empty", 3), ("full", 1)]
                ):
                    a = self.round_trip(self.make(), array((n,), float, kind, seed))
                    b = self.round_trip(
                        nest([hub().level(other)], leaf()), array((n,), float, "half", 9)
                    )
                    expected = ufunc(a.to_numpy(), b.to_numpy())
                    self.writes(Tensor(nest([out], leaf())), run, expected, a, b)

    def _outputs(self, other: str, test: str) -> Iterable[Level]:
        """This format, and another to write to (all others in full mode)."""
        draw = random.Random(f"{type(self).__name__} {other} {test}")
        names = self.others() if os.environ.get(FULL) else [draw.choice(self.others())]
        return [type(self).format, *map(hub().level, names)]

    def test_element_wise_matrices(self, backend: str, other: str) -> None:
        with using("interpreter"):
            a = self.round_trip(self.make(rank=2), array((4, 5), float, "half", 1))
            b = self.round_trip(
                nest([hub().level(other)] * 2, leaf()), array((4, 5), float, "rows", 2)
            )
            for function, ufunc in (
                (programs.matrix_union, np.add),
                (programs.matrix_intersection, np.multiply),
            ):
                expected = ufunc(a.to_numpy(), b.to_numpy())
                out = Tensor(self.make(rank=2))
                self.writes(out, on(backend, function), expected, a, b)

    @pytest.mark.parametrize("kind", KINDS)
    def test_reductions(self, backend: str, kind: str) -> None:
        with using("interpreter"):
            for n in (0, 1, 9):
                a = self.round_trip(self.make(), array((n,), float, kind, n))
                expected = a.to_numpy()
                for function, value in (
                    (programs.total, expected.sum()),
                    (programs.largest, expected.max(initial=0)),
                ):
                    out = Tensor(leaf())
                    assert on(backend, function)(out, a) is out
                    assert out.value == value

    def test_dot_with_another_format(self, backend: str, other: str) -> None:
        with using("interpreter"):
            for kind in ("half", "runs", "last"):
                a = self.round_trip(self.make(), array((9,), float, kind, 1))
                b = self.round_trip(
                    nest([hub().level(other)], leaf()), array((9,), float, "half", 2)
                )
                out = on(backend, programs.dot)(Tensor(leaf()), a, b)
                assert out.value == a.to_numpy() @ b.to_numpy()

    def test_row_sums(self, backend: str) -> None:
        with using("interpreter"):
            for kind in ("half", "rows", "empty"):
                a = Tensor(nest([hub().layout("dense")] * 2, leaf()), array((4, 5), float, kind, 1))
                run = on(backend, programs.row_sums)
                self.writes(Tensor(self.make()), run, a.to_numpy().sum(axis=1), a)

    def test_sums_in_any_order_are_written_or_refused(self, backend: str) -> None:
        with using("interpreter"):
            a = Tensor(nest([hub().layout("dense")] * 2, leaf()), array((4, 5), float, "half", 1))
            run, out = on(backend, programs.column_sums), Tensor(self.make())
            if takes_any_order(out.format):
                self.writes(out, run, a.to_numpy().sum(axis=0), a)
            else:
                with pytest.raises(FormatError, match="cannot be written here"):
                    run(out, a)

    def test_scatters_are_written_or_refused(self, backend: str) -> None:
        where = np.array([4, 0, 2, 4, 1, 0])
        data = array((6,), float, "full", 3)
        expected = np.zeros(5)
        np.add.at(expected, where, data)
        with using("interpreter"):
            run, out = on(backend, programs.scatter), Tensor(self.make(), (5,))
            if takes_any_order(out.format):
                self.writes(out, run, expected, where, data)
            else:
                with pytest.raises(FormatError):
                    run(out, where, data)

    def test_writes_in_turn_are_made_or_refused(self, backend: str) -> None:
        """Several loops write one behind the other: where the level resumes, or takes any order."""
        dense = nest([hub().layout("dense")] * 2, leaf())
        for kind in ("half", "empty", "full"):
            a, b = (Tensor(dense, array((4, 4), float, kind, seed)) for seed in (1, 2))
            expected = np.zeros((4, 4))
            expected[:, :2], expected[:, 2:] = a.to_numpy()[:, :2], b.to_numpy()[:, 2:]
            expected[3, 3] = 1
            with using("interpreter"):
                run, out = on(backend, programs.in_turn), Tensor(self.make(rank=2), (4, 4))
                levels = out.format.levels()
                if all(level.order is Order.ANY or level.resumes for level in levels):
                    self.writes(out, run, expected, a, b)
                else:
                    with pytest.raises(FormatError, match="cannot be written here"):
                        run(out, a, b)

    def test_gathers(self, backend: str) -> None:
        where = np.array([4, 0, 2, 4, 1, 0])
        for fill, kind in itertools.product((0.0, np.inf, 2.0), ("half", "empty", "last", "runs")):
            with using("interpreter"):
                a = self.round_trip(self.make(fill), array((5,), float, kind, 3, fill))
            out = on(backend, programs.gather)(np.zeros(6), where, a)
            equal(out, a.to_numpy()[where], a.format)


def equal(found: Any, expected: Array, format: Format | str) -> None:
    """Raise ``AssertionError`` unless two arrays have equal values, dtypes and shapes."""
    np.testing.assert_array_equal(found, expected, strict=True, err_msg=str(format))


__all__ = ["FILLS", "LevelSuite", "equal"]
