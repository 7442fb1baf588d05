"""The tests of ``BackendSuite`` on programs, and on the state they leave when they fail."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from finch_core.errors import OutOfBounds
from finch_core.interface.abi import Backend, CompleteBackend
from finch_core.interface.level import Format
from finch_core.interface.plugins import hub
from finch_core.interface.signatures import Signature
from finch_core.ir.dtypes import SUPPORTED
from finch_core.runtime.kernel import Kernel, kernel
from finch_core.runtime.local_formats import with_formats
from finch_core.runtime.options import Options
from finch_core.runtime.pipeline import Lowered
from finch_core.runtime.tensor import Tensor
from finch_core.runtime.validation import validate
from finch_core.testing import programs
from finch_core.testing.arrays import KINDS, Array, array
from finch_core.testing.formats import (
    admit,
    leaf,
    level_names,
    nest,
    takes_any_order,
)
from finch_core.testing.running import Function, using
from finch_core.testing.subject import Subject

VECTORS = np.array([[0, 1, 0, 2, 3, 0, 0, 4, 5, 6, 0, 7.0], [1, 0, 0, 3, 4, 0, 0, 5, 0, 8, 0, 9]])
WHERE = np.array([0, 3, 4, 12, 1])
"""Indices into a vector, one of them out of bounds."""

ALLOCATING = (
    ("union", "d"), ("union", "c"), ("outer", "dd"), ("outer", "dc"), ("outer", "cc"),
    ("append", "c"),
)  # fmt: skip
"""Programs that allocate, and the levels of their outputs: dense or compressed."""


def kernel_on(backend: Backend, function: Function) -> Kernel[..., Any]:
    """A new kernel of ``function`` that compiles on this backend object."""
    return _KernelOn(function, CompleteBackend(backend))


class _KernelOn(Kernel[..., Any]):
    """A kernel that compiles on a backend that is not installed."""

    def __init__(self, function: Function, backend: CompleteBackend) -> None:
        super().__init__(function, Options())
        self.backend = backend

    def lowered(self, signatures: tuple[Signature, ...]) -> Lowered:
        program = with_formats(self.program, signatures)
        return Lowered(program, signatures, Options(), self.backend)


def _without_spare_room(tensor: Tensor) -> Tensor:
    """The tensor in buffers of its size: that a conversion gives room for more depends on those
    before it."""
    buffers = {name: np.array(buffer) for name, buffer in tensor.buffers.items()}
    return Tensor.from_buffers(tensor.format, tensor.shape, buffers)


def of(levels: str) -> Format:
    """A format of dense (``d``) and compressed (``c``) levels."""
    names = {"d": "dense", "c": "compressed"}
    return nest([hub().layout(names[level]) for level in levels], leaf())


def held(level: str, rank: int, kind: str, seed: int) -> Tensor:
    """A tensor whose innermost level is ``level``, below dense ones, with data that it can hold."""
    format = nest([*[hub().layout("dense")] * (rank - 1), hub().level(level)], leaf())
    data = array((5, 9)[-rank:], float, kind, seed)
    with using("interpreter"):
        return Tensor(format, admit(format, data))


class KernelTests(Subject):
    """Programs over every installed format, and the state of outputs after failures."""

    # -- programs -----------------------------------------------------------------------------

    @pytest.mark.parametrize("level", level_names())
    def test_programs_over_every_format_are_what_numpy_says(self, level: str) -> None:
        runs = {
            name: kernel_on(self.made(), getattr(programs, name))
            for name in ("dot", "union", "product", "triangle")
        }
        for seed, kind in enumerate(("half", "runs", "empty", "full")):
            x, matrix = held(level, 1, kind, seed), held(level, 2, kind, seed)
            y, whole = Tensor(of("c"), array((9,), float, "half", 9)), matrix.to_numpy()
            assert runs["dot"](Tensor(leaf()), x, y).value == x.to_numpy() @ y.to_numpy()
            assert runs["triangle"](Tensor(leaf()), matrix).value == np.triu(whole).sum()
            self._gives(runs["product"], of("d"), whole @ y.to_numpy(), matrix, y)
            self._gives(runs["union"], of("c"), x.to_numpy() + y.to_numpy(), x, y)

    @pytest.mark.parametrize("dtype", SUPPORTED, ids=str)
    def test_programs_in_every_dtype_are_what_numpy_says(self, dtype: np.dtype[Any]) -> None:
        compressed = hub().layout("compressed")
        add, multiply = (kernel_on(self.made(), f) for f in (programs.union, programs.intersection))
        for n, kind in itertools.product((0, 1, 9), KINDS[:5]):
            a, b = array((n,), dtype, kind, n), array((n,), dtype, "half", n + 1)
            format = compressed(leaf(0, dtype))
            with using("interpreter"):
                x, y = Tensor(format, a), Tensor(format, b)
                self._gives(add, format, a + b, x, y)
                self._gives(multiply, format, a * b, x, y)

    def _gives(
        self, run: Kernel[..., Any], format: Format, expected: Array, *operands: Any
    ) -> None:
        """Run it into an empty tensor, and again over what that left."""
        out = Tensor(format)
        for _ in "12":
            assert run(out, *operands) is out
            validate(out)
            np.testing.assert_array_equal(out.to_numpy(), expected, strict=True)

    @pytest.mark.parametrize("level", level_names())
    def test_sums_in_any_order(self, level: str) -> None:
        out = Tensor(nest([hub().level(level)], leaf()), (5,))
        if takes_any_order(out.format):
            where = np.array([4, 0, 2, 4, 1, 0])
            values = np.arange(1.0, 7.0)
            expected = np.bincount(where, values, 5)
            run = kernel_on(self.made(), programs.scatter)
            for _ in "12":
                np.testing.assert_array_equal(run(out, where, values).to_numpy(), expected)

    # -- failures -----------------------------------------------------------------------------

    @pytest.mark.parametrize("level", ["d", "c"])
    def test_a_gather_out_of_bounds_leaves_valid_tensors(self, level: str) -> None:
        run = kernel_on(self.made(), programs.gather)
        for other in "dc":
            x, out = Tensor(of(level), VECTORS[0]), Tensor(of(other), [7.0, 8.0, 0.0, 9.0])
            with pytest.raises(OutOfBounds, match=r"index 12 is out of bounds for dimension 0"):
                run(out, WHERE, x)
            validate(out)
            assert not out.to_numpy().any(), "a declared output is left empty"
            validate(x)
            np.testing.assert_array_equal(x.to_numpy(), VECTORS[0])
            found = run(out, WHERE % 12, x).to_numpy()
            np.testing.assert_array_equal(found, VECTORS[0][WHERE % 12])

    def test_a_scatter_out_of_bounds_writes_nothing_beyond(self) -> None:
        room = np.zeros(30)
        out = room[10:20]
        with pytest.raises(OutOfBounds):
            kernel_on(self.made(), programs.scatter)(out, np.array([1, 2, 12]), np.ones(3))
        assert not room[:10].any()
        assert not room[20:].any()

    @pytest.mark.parametrize("length", [10**15, 2**62])
    def test_more_than_all_memory_is_a_memory_error(self, length: int) -> None:
        run, out = kernel_on(self.made(), programs.squares), Tensor(of("d"), [5.0])
        with pytest.raises(MemoryError, match="memory ran out"):
            run(out, length)
        validate(out)
        np.testing.assert_array_equal(run(out, 4).to_numpy(), [0, 1, 4, 9])

    @pytest.mark.parametrize(("program", "levels"), ALLOCATING)
    def test_each_allocation_may_fail(self, program: str, levels: str) -> None:
        function = getattr(programs, program)
        tried = next(k for k in itertools.count() if not self._fails(function, of(levels), k))
        assert tried > 0, "the program allocates nothing"

    def _fails(self, function: Function, format: Format, number: int) -> bool:
        """Make one allocation of a program fail, then run it again normally and check the result.
        Returns whether the program has that allocation."""
        inputs = [Tensor(of("c"), vector) for vector in VECTORS]
        begun = np.zeros(VECTORS.shape[1] if function is programs.append else (3,) * format.ndim)
        begun.reshape(-1)[1] = 5
        out, before, failed = _without_spare_room(Tensor(format, begun)), begun, False
        try:
            kernel_on(self.failing(number), function)(out, *inputs)
        except MemoryError:
            failed = True
            validate(out)
            for tensor, vector in zip(inputs, VECTORS, strict=True):
                validate(tensor)
                np.testing.assert_array_equal(tensor.to_numpy(), vector)
            before = out.to_numpy().copy()
            kernel_on(self.made(), function)(out, *inputs)
        validate(out)
        plain = Tensor(of("d" * before.ndim), before)  # an array would keep its shape
        expected = kernel(function).reference(plain, *VECTORS)
        np.testing.assert_array_equal(out.to_numpy(), expected)
        return failed
