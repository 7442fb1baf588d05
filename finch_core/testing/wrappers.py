"""The test suite of wrappers: compares a wrapper with its own examples."""

from __future__ import annotations

import contextlib
import gc
import itertools
import os
import pickle
import random
import weakref
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import numpy as np
import pytest

from finch_core.errors import DimensionMismatch, FormatError, OutOfBounds
from finch_core.interface.level import Format
from finch_core.interface.plugins import hub
from finch_core.interface.wrapper_examples import Example, Range, View
from finch_core.records import evolve
from finch_core.runtime.tensor import Tensor
from finch_core.testing import wrapped_programs as programs
from finch_core.testing.arrays import Array, array
from finch_core.testing.formats import (
    Limit,
    admit,
    leaf,
    level_names,
    nest,
    takes_any_order,
)
from finch_core.testing.running import ANY_ORDER, FULL, Function, backend_names, on, using

SHAPES: Mapping[int, tuple[tuple[int, ...], ...]] = {
    1: ((0,), (1,), (7,)),
    2: ((0, 3), (1, 1), (4, 5)),
}
"""The shapes of the tensors that are wrapped, by their number of dimensions."""

FILLS: tuple[tuple[Any, Any], ...] = (
    (0, np.int8), (3, np.uint16), (True, np.bool_), (-1.5, np.float32), (1 - 2j, np.complex128),
)  # fmt: skip


def wrapper_names() -> tuple[str, ...]:
    """The names of the installed wrappers that have ``examples``, sorted."""
    found = hub().wrappers.items()
    return tuple(sorted(name for name, wrapper in found if hasattr(wrapper, "examples")))


def within(outer: Any, inner: Any, view: View) -> Iterator[Example]:
    """The examples of the wrapper ``outer`` around each example of ``inner``."""
    for first in inner.examples(view):
        for second in outer.examples(first.view):
            yield _around(second, first)


def _around(outer: Example, inner: Example) -> Example:
    return Example(
        lambda tensor: outer.make(inner.make(tensor)),
        outer.view,
        updates=outer.updates and inner.updates,
        declares=outer.declares and inner.declares,
        protocols=outer.protocols | inner.protocols,
    )


@ANY_ORDER
class WrapperSuite:
    """The tests that every wrapper must pass. A complete test module::

        class TestMyWrapper(WrapperSuite):
            wrapper = MyTensor  # what its hook registers

    The wrapper has a static method ``examples(view)``: given the wrapped tensor as a ``View``, it
    yields one or more ``Example``, each with the ``View`` that results. The suite reads, updates
    and declares the wrapper, alone and nested with every other one, over every installed format.
    ``shapes`` are those of the tensors that are wrapped, by their number of dimensions; there is an
    example for one of each. ``limits`` and ``backends`` are as in ``LevelSuite``. Each backend runs
    the part of the formats, examples and nestings that ``shares`` gives; with ``FINCH_TESTS_FULL``
    all of them.
    """

    wrapper: ClassVar[Any]
    shapes: ClassVar[Mapping[int, tuple[tuple[int, ...], ...]]] = SHAPES
    limits: ClassVar[Mapping[str, Limit]] = {}
    backends: ClassVar[tuple[str | None, ...]] = ("interpreter", None)
    shares: ClassVar[tuple[float, ...]] = (0.5, 0.15)

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Parametrise tests by backend and, if they take them, by formats or other wrappers."""
        backends = backend_names(self.backends)
        shares = dict.fromkeys(backends, 1.0)
        if not os.environ.get(FULL):
            shares = dict(zip(backends, self.shares, strict=False))
        if "share" not in metafunc.fixturenames:
            metafunc.parametrize("backend", backends)
            return
        metafunc.parametrize("share", [shares], ids=[""])
        over = "level" if "level" in metafunc.fixturenames else "other"
        names = level_names() if over == "level" else wrapper_names()
        draw = random.Random(f"{metafunc.cls.__name__} {metafunc.function.__name__}")
        cases = [
            (backend, name)
            for backend in backends
            for name in drawn(names, shares[backend] * (3 if over == "other" else 1), draw.random())
        ]
        metafunc.parametrize(("backend", over), cases)

    # -- helpers ----------------------------------------------------------------------------

    def tensor(self, level: str, data: Array, fill: Any = 0) -> Tensor:
        """A tensor of one level format in every dimension, with data that it can hold."""
        format = nest([hub().level(level)] * data.ndim, leaf(fill, data.dtype))
        with using("interpreter"):
            return Tensor(format, admit(format, data, self.limits))

    def reads(self, backend: str, example: Example, tensor: Tensor) -> None:
        """Check the value of a wrapped tensor at each index of its example."""
        if not _readable(example, tensor.format):
            return
        view = example.view
        out = Tensor(leaf(0, np.result_type(tensor.dtype, np.int64)))
        bounds = [bound for pair in view.ranges for bound in pair]
        run = on(backend, programs.WEIGH[view.ndim])
        found = run(out, example.make(tensor), *bounds).value
        assert found == weighed(view, tensor.to_numpy()), (view.ranges, str(tensor.format))

    def writes(
        self, backend: str, example: Example, level: str, shape: tuple[int, ...],
        functions: Mapping[int, Function], start: int,
    ) -> None:  # fmt: skip
        """Check that updates through the wrapper change the right elements of the tensor inside."""
        view = example.view
        if view.ndim not in functions:
            return
        tensor = Tensor(nest([hub().level(level)] * len(shape), leaf(0)), np.full(shape, start))
        expected = np.zeros(shape, np.int64)
        for index in indices(view):
            place = view.element(index)
            if place is not None:
                expected[place] += programs.weight(index)
        wrapped, bounds = example.make(tensor), [b for pair in view.ranges for b in pair]
        kept = start if functions is programs.ADD else 0
        assert on(backend, functions[view.ndim])(wrapped, *bounds) is wrapped
        np.testing.assert_array_equal(tensor.to_numpy(), expected + kept, strict=True)

    def singles(self, ndim: int) -> Iterator[tuple[tuple[int, ...], Example]]:
        """Shapes, and the wrapper's examples on them."""
        for shape in self.shapes[ndim]:
            for example in self.wrapper.examples(View.of(shape)):
                yield shape, example

    def largest(self, ndim: int) -> tuple[tuple[int, ...], Example]:
        """The last of them."""
        found = list(self.singles(ndim))
        assert found, (
            f"examples of {self.wrapper.name} gives none for tensors of the shapes "
            f"{self.shapes[ndim]}: `shapes` of the suite has others"
        )
        return found[-1]

    def nested(self, other: str, ndim: int) -> list[tuple[tuple[int, ...], Example]]:
        """The largest shape, and examples around and within another wrapper."""
        shape, inner = self.shapes[ndim][-1], hub().wrappers[other]
        view = View.of(shape)
        found = [*within(self.wrapper, inner, view), *within(inner, self.wrapper, view)]
        return [(shape, example) for example in found if example.view.ndim in programs.WEIGH]

    # -- reading ----------------------------------------------------------------------------

    def test_it_has_examples(self, backend: str) -> None:
        for ndim in self.shapes:
            self.largest(ndim)
            for shape, example in self.singles(ndim):
                wrapped = example.make(np.zeros(shape))
                assert wrapped.ndim == len(wrapped.shape) == example.view.ndim

    def test_it_reads_what_is_there(self, backend: str, level: str, share: Any) -> None:
        for ndim in self.shapes:
            for shape, example in drawn(self.singles(ndim), share[backend], level, ndim):
                for kind in ("half", "runs", "full"):
                    self.reads(backend, example, self.tensor(level, array(shape, float, kind, 3)))

    def test_it_has_extents_of_its_own(self, backend: str, level: str, share: Any) -> None:
        """Loops over dimensions of known size need no written ranges."""
        for ndim in self.shapes:
            for shape, example in drawn(self.singles(ndim), share[backend], level, ndim):
                view, tensor = example.view, self.tensor(level, array(shape, float, "half", 4))
                sized = all(view.sized) and view.ndim in programs.WEIGH_ALL
                if sized and _readable(example, tensor.format):
                    run = on(backend, programs.WEIGH_ALL[view.ndim])
                    found = run(Tensor(leaf()), example.make(tensor)).value
                    assert found == weighed(view, tensor.to_numpy())

    def test_kernels_have_its_sizes(self, backend: str) -> None:
        """``A.shape`` in a kernel is that of the view, where it is not refused (``sizes_of``)."""
        for ndim in self.shapes:
            for shape, example in self.singles(ndim):
                name = hub().layout("dense").name
                tensor = self.tensor(name, array(shape, float, "half", 4))
                if example.view.ndim in programs.SIZES and _readable(example, tensor.format):
                    wrapped = example.make(tensor)
                    found = np.full(wrapped.ndim, -1)
                    with contextlib.suppress(DimensionMismatch):  # one of them has no size
                        on(backend, programs.SIZES[wrapped.ndim])(found, wrapped)
                        assert found.tolist() == list(wrapped.shape)

    def test_it_has_a_dense_array_where_it_begins_at_0(self, backend: str) -> None:
        for ndim in self.shapes:
            for shape, example in self.singles(ndim):
                data, view = array(shape, float, "half", 9), example.view
                wrapped = example.make(data)
                begins = not any(lo for lo, _ in view.ranges)
                shown = wrapped.has_array and not view.endless  # it may give loops no extents
                if not (begins and (all(view.sized) or shown)):
                    with pytest.raises(FormatError):
                        np.asarray(wrapped)
                    continue
                expected = np.zeros([hi for _, hi in view.ranges])
                for index in indices(view):
                    expected[index] = seen(view, data, index)
                np.testing.assert_array_equal(np.asarray(wrapped), expected, strict=True)
                assert wrapped.shape == expected.shape

    def test_it_locates_what_it_shows(self, backend: str) -> None:
        """``located``, where it tells."""
        for ndim in self.shapes:
            for shape, example in self.singles(ndim):
                wrapped, coords = example.make(np.zeros(shape)), np.indices(shape).reshape(ndim, -1)
                found = getattr(wrapped, "located", lambda coords: None)(list(coords))
                if found is None:
                    continue
                inside, places = found
                assert all(len(c) == coords.shape[1] for c in places)
                inside = np.ones(coords.shape[1], bool) if inside is None else inside
                shown = zip(coords.T[inside].tolist(), np.transpose(places)[inside], strict=True)
                there = {tuple(map(int, place)): tuple(index) for index, place in shown}
                places_of = ((index, example.view.place(index)) for index in indices(example.view))
                limits = np.array(shape)
                assert there == {
                    index: tuple(place)
                    for index, place in places_of
                    if place is not None
                    and all(0 <= p < n for p, n in zip(place, limits, strict=True))
                }

    @pytest.mark.parametrize(("fill", "dtype"), FILLS, ids=str)
    def test_other_fills_and_dtypes(self, backend: str, fill: Any, dtype: Any) -> None:
        for ndim, level in ((1, "sparse"), (2, "sparse"), (1, "dense")):
            shape, example = self.largest(ndim)
            name = hub().layout("compressed" if level == "sparse" else "dense").name
            data = array(shape, dtype, "half", 5, fill)
            self.reads(backend, example, self.tensor(name, data, fill))

    def test_it_merges_with_what_else_is_read(self, backend: str, level: str, share: Any) -> None:
        compressed = hub().layout("compressed")
        for ndim in self.shapes:
            for shape, example in drawn(self.singles(ndim), share[backend], level, ndim, 1):
                view = example.view
                tensor = self.tensor(level, array(shape, float, "half", 6))
                if view.ndim not in programs.BESIDE or not _readable(example, tensor.format):
                    continue
                ranges = [(max(lo, 0), max(lo, hi, 0)) for lo, hi in view.ranges]
                data = array(tuple(hi for _, hi in ranges), float, "half", 7)
                with using("interpreter"):
                    other = Tensor(nest([compressed] * view.ndim, leaf()), data)
                run = on(backend, programs.BESIDE[view.ndim])
                bounds = [bound for pair in ranges for bound in pair]
                found = run(Tensor(leaf()), example.make(tensor), other, *bounds).value
                expected = sum(
                    (x * data[i] + x + data[i]) * programs.weight(i)
                    for i in indices(evolve(view, ranges=tuple(ranges)))
                    for x in [seen(view, tensor.to_numpy(), i)]
                )
                assert found == expected, (ranges, str(tensor.format))

    def test_protocols_reach_what_is_wrapped(self, backend: str, level: str, share: Any) -> None:
        for protocol in sorted(hub().level(level).protocols & set(programs.BY_PROTOCOL)):
            for shape, example in drawn(self.singles(1), share[backend], level, protocol, 1):
                tensor = self.tensor(level, array(shape, float, "half", 8))
                if example.view.ndim > 1 or not _readable(example, tensor.format):
                    continue
                (lo, hi), view = example.view.ranges[0], example.view
                lo, hi = max(lo, 0), max(lo, hi, 0)
                run, other = on(backend, programs.BY_PROTOCOL[protocol]), np.arange(1.0, hi + 1)
                found = run(Tensor(leaf()), example.make(tensor), other, lo, hi).value
                data = tensor.to_numpy()
                assert found == sum(seen(view, data, (i,)) * other[i] for i in range(lo, hi))

    def test_beyond_its_ranges_nothing_is_read(self, backend: str) -> None:
        """An index before the first or after the last fails, or has an element if it is endless."""
        for ndim, side in itertools.product(self.shapes, (0, 1)):
            shape = self.shapes[ndim][-1]
            for example in self.wrapper.examples(View.of(shape)):
                view, format = example.view, nest([hub().layout("dense")] * ndim, leaf())
                if view.permissive or not _readable(example, format):
                    continue
                ranges: list[Range] = list(view.ranges)
                lo, hi = ranges[0]
                ranges[0] = (lo - 1, hi) if side == 0 else (lo, hi + 1)
                if view.endless:
                    beyond = evolve(example, view=evolve(view, ranges=tuple(ranges)))
                    data = array(shape, float, "half", 2)
                    self.reads(backend, beyond, self.tensor(hub().layout("dense").name, data))
                    continue
                bounds = [bound for pair in ranges for bound in pair]
                wrapped = example.make(Tensor(format, shape))
                try:
                    on(backend, programs.WEIGH[view.ndim])(Tensor(leaf()), wrapped, *bounds)
                except (DimensionMismatch, OutOfBounds):
                    continue
                told = f"it is read over {ranges}, and its view has {view.ranges}"
                pytest.fail(f"{told}; that of a tensor with elements everywhere is `endless`")

    # -- memory -----------------------------------------------------------------------------

    def test_its_signature_keeps_no_memory(self, backend: str) -> None:
        """Signatures live as long as the process, tensors that were wrapped do not."""
        made = []
        for ndim in self.shapes:
            for shape, example in self.singles(ndim):
                tensor = self.tensor(level_names()[0], array(shape, float, "half", 5))
                made.append((example.make(tensor).signature, weakref.ref(tensor)))
                del tensor
        gc.collect()
        for signature, there in made:
            assert there() is None, signature

    def test_it_is_pickled_without_its_signature(self, backend: str) -> None:
        """A wrapper that was pickled runs the same compiled code."""
        for ndim in self.shapes:
            for shape, example in self.singles(ndim):
                made = [example.make(self.tensor(level_names()[0], array(shape, float, kind, 5)))
                        for kind in ("half", "full")]  # fmt: skip
                again = pickle.loads(pickle.dumps(made[1]))
                assert again.signature is made[1].signature
                assert again.signature is made[0].signature

    # -- nesting ----------------------------------------------------------------------------

    def test_it_nests_with_every_wrapper(self, backend: str, other: str, share: Any) -> None:
        for ndim in self.shapes:
            cases = drawn(self.nested(other, ndim), share[backend] / ndim, other, ndim, 2)
            for k, (shape, example) in enumerate(cases):
                level = random.Random(f"{other} {ndim} {k}").choice(level_names())
                self.reads(backend, example, self.tensor(level, array(shape, float, "half", k)))

    def test_updates_go_through_every_wrapper(self, backend: str, other: str, share: Any) -> None:
        for ndim in self.shapes:
            cases = [case for case in self.nested(other, ndim) if case[1].updates]
            for shape, example in drawn(cases, share[backend] / ndim, other, ndim, 1):
                level = hub().layout("dense").name
                self.writes(backend, example, level, shape, programs.ADD, 4)

    # -- writing ----------------------------------------------------------------------------

    def test_it_is_updated_or_refuses(self, backend: str, level: str, share: Any) -> None:
        for ndim in self.shapes:
            for shape, example in drawn(self.singles(ndim), share[backend], level, ndim, 1):
                if not takes_any_order(nest([hub().level(level)], leaf())):
                    continue
                if example.updates:
                    self.writes(backend, example, level, shape, programs.ADD, 4)
                else:
                    with pytest.raises(FormatError):
                        self.writes(backend, example, level, shape, programs.ADD, 4)

    def test_it_is_declared_or_refuses(self, backend: str) -> None:
        dense = hub().layout("dense").name
        for ndim in self.shapes:
            for shape, example in self.singles(ndim):
                if not example.updates or example.view.ndim not in programs.MAKE:
                    continue
                if example.declares:
                    for start in (0, 4):
                        self.writes(backend, example, dense, shape, programs.MAKE, start)
                else:
                    with pytest.raises(FormatError):
                        self.writes(backend, example, dense, shape, programs.MAKE, 0)


def drawn(cases: Any, share: float, *seed: Any) -> list[Any]:
    """A fraction of the cases, at least one, drawn with a fixed seed."""
    cases = list(cases)
    count = min(len(cases), max(1, round(share * len(cases))))
    return random.Random(str(seed)).sample(cases, count)


def indices(view: View) -> Iterator[tuple[int, ...]]:
    """All indices at which a view is read."""
    return itertools.product(*(range(lo, hi) for lo, hi in view.ranges))


def seen(view: View, data: Array, index: tuple[int, ...]) -> Any:
    """The expected value at an index of a view of an array."""
    place = view.element(index)
    return programs.OUTSIDE if place is None else data[place]


def weighed(view: View, data: Array) -> Any:
    """The expected result of ``wrapped_programs.weigh``."""
    total = np.result_type(data.dtype, np.int64).type(0)
    for index in indices(view):
        total += seen(view, data, index) * np.int64(programs.weight(index))
    return total


def _readable(example: Example, format: Format) -> bool:
    return all(example.protocols <= level.protocols for level in format.levels()[:-1])


__all__ = ["WrapperSuite", "wrapper_names"]
