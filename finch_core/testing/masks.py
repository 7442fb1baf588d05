"""The test suite of masks: compares masks with NumPy."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import pytest

from finch_core.errors import FormatError
from finch_core.frontend.functions import _
from finch_core.interface.plugins import hub
from finch_core.runtime.tensor import Tensor
from finch_core.testing.arrays import array
from finch_core.testing.formats import Limit, admit, leaf, level_names, nest
from finch_core.testing.running import ANY_ORDER, backend_names, on, share_of_pairs, using

SHAPES: Mapping[int, tuple[tuple[int, ...], ...]] = {
    1: ((0,), (1,), (7,), (30,)),
    2: ((0, 3), (1, 1), (4, 6), (7, 3)),
}
"""The shapes of the tensors that are masked, by number of dimensions."""


def selected(s: Any, a: Any, mask: Any) -> Any:
    """The sum of a vector where the mask is true."""
    s[...] = 0
    for i in _:
        if mask[i]:
            s[()] += a[i]
    return s


def rejected(s: Any, a: Any, mask: Any) -> Any:
    """The sum of a vector where the mask is false."""
    s[...] = 0
    for i in _:
        if not mask[i]:
            s[()] += a[i]
    return s


def selected_part(s: Any, a: Any, mask: Any, lo: Any, hi: Any) -> Any:
    """``selected`` over some of the indices."""
    s[...] = 0
    for i in range(lo, hi):
        if mask[i]:
            s[()] += a[i]
    return s


def selected_matrix(s: Any, a: Any, mask: Any) -> Any:
    """The sum of a matrix where the mask is true."""
    s[...] = 0
    for i, j in _:
        if mask[i, j]:
            s[()] += a[i, j]
    return s


def rejected_matrix(s: Any, a: Any, mask: Any) -> Any:
    """The sum of a matrix where the mask is false."""
    s[...] = 0
    for i, j in _:
        if not mask[i, j]:
            s[()] += a[i, j]
    return s


def selected_part_matrix(s: Any, a: Any, mask: Any, lo: Any, hi: Any) -> Any:
    """``selected_matrix`` over some of the columns."""
    s[...] = 0
    for i in _:
        for j in range(lo, hi):
            if mask[i, j]:
                s[()] += a[i, j]
    return s


_PROGRAMS = {
    1: (selected, rejected, selected_part),
    2: (selected_matrix, rejected_matrix, selected_part_matrix),
}


def _write_vector(mask: Any) -> None:
    for i in range(3):
        mask[i] = True


def _write_matrix(mask: Any) -> None:
    for i in range(3):
        for j in range(3):
            mask[i, j] = True


@ANY_ORDER
class MaskSuite:
    """The tests that every mask must pass with every format. A complete test module::

        class TestMyMask(MaskSuite):
            masks = (MyMask(1), MyMask(5))

    A mask has one or two dimensions and a method ``to_numpy(shape)`` that returns the array that it
    stands for. ``limits`` and ``backends`` are as in ``LevelSuite``.
    """

    masks: ClassVar[tuple[Any, ...]]
    limits: ClassVar[Mapping[str, Limit]] = {}
    backends: ClassVar[tuple[str | None, ...]] = ("interpreter", None)

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Parametrise tests by backend and, if they take ``other``, by installed format."""
        metafunc.parametrize("backend", backend_names(self.backends))
        if "other" in metafunc.fixturenames:
            names = level_names()
            draw = random.Random(f"{metafunc.cls.__name__} {metafunc.function.__name__}")
            count = max(1, round(len(names) * share_of_pairs()))
            metafunc.parametrize("other", sorted(draw.sample(names, count)))

    def over(self, mask: Any, other: str, shape: tuple[int, ...]) -> Tensor:
        """A tensor of a shape whose innermost level is ``other``, below dense ones."""
        format = nest([*[hub().layout("dense")] * (len(shape) - 1), hub().level(other)], leaf())
        return Tensor(format, admit(format, array(shape, float, "half", sum(shape)), self.limits))

    def check(self, backend: str, number: int, other: str, *bounds: int) -> None:
        """Compare program ``number`` with NumPy, for every mask and shape."""
        for mask in self.masks:
            for shape in SHAPES[mask.ndim]:
                with using("interpreter"):
                    a = self.over(mask, other, shape)
                    x, there = a.to_numpy(), np.asarray(mask.to_numpy(shape))
                ends = [min(b, shape[-1]) for b in bounds]
                part = (..., slice(*ends) if ends else slice(None))
                there = ~there if number == 1 else there
                run = on(backend, _PROGRAMS[mask.ndim][number])
                assert run(Tensor(leaf()), a, mask, *ends).value == x[part][there[part]].sum()

    def test_what_it_selects(self, backend: str, other: str) -> None:
        self.check(backend, 0, other)

    def test_what_it_leaves_out(self, backend: str, other: str) -> None:
        self.check(backend, 1, other)

    def test_parts_of_it(self, backend: str, other: str) -> None:
        for lo, hi in ((0, 5), (2, 3), (3, 30), (4, 4)):
            self.check(backend, 2, other, lo, hi)

    def test_it_cannot_be_written(self, backend: str) -> None:
        for mask in self.masks:
            function = _write_vector if mask.ndim == 1 else _write_matrix
            with pytest.raises(FormatError):
                on(backend, function)(mask)


__all__ = ["SHAPES", "MaskSuite"]
