"""Wrappers and levels of plugins that say little of themselves: loops do not take their extents
from the one, and subfibers of the other are not side by side."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import pytest
from plugin_support import format_like, registered

import finch_array as fa
from finch_core import Tensor, _, kernel, parallel
from finch_core.level import Sharing
from finch_core.looplets import Lookup
from finch_core.runtime.wrapping import WrapperTensor, mapped, seen
from finch_core.testing import backend_names
from finch_core.testing.running import using
from finch_levels import Dense, Element, SparseList


class Twice(WrapperTensor):
    """Each row twice. No loop takes its extent from an index that is halved."""

    name, has_array = "twice", True
    shape = property(lambda self: (2 * self.tensor.shape[0], self.tensor.shape[1]))

    @staticmethod
    def match_access(access: Any, scope: Any) -> Any:
        argument = seen(access, Twice)
        if argument is None:
            return None
        first, second = access.indices
        indices = mapped(first, lambda i: i // 2), second
        return attrs.evolve(access, tensor=argument.inner, indices=indices)


class Scaled(WrapperTensor):
    """Each element times a number. Loops take their extents from it; there are no windows of it."""

    name, has_array, gives_extents = "scaled", True, True
    shape = property(lambda self: self.tensor.shape)

    @staticmethod
    def match_access(access: Any, scope: Any) -> Any:
        argument = seen(access, Scaled)
        if argument is None:
            return None
        return argument.params[0] * attrs.evolve(access, tensor=argument.inner)


FUNCTIONS = {
    "product": lambda x: x * 2, "sum": lambda x: x + x, "copy": lambda x: x.copy(),
    "sine": np.sin, "comparison": lambda x: x > 0, "columns": lambda x: np.sum(x, axis=0),
    "any": lambda x: np.any(x, axis=1), "total": np.sum, "turned": lambda x: x.T,
    "vector": lambda x: x.T @ np.ones(len(x)), "slice": lambda x: x[1:4], "row": lambda x: x[2],
    "steps": lambda x: x[::-2, 1:], "one": lambda x: x[1, 0],
    "chosen": lambda x: x[np.array([1, 5])], "columns chosen": lambda x: x[:, np.array([1, 2, 1])],
    "elements": lambda x: x[np.array([1, 5]), np.array([0, 2])],
    "joined": lambda x: np.concatenate([x, x]), "flat": lambda x: np.reshape(x, (-1,)),
    "sorted": lambda x: np.sort(x, axis=0), "cumulated": lambda x: np.cumsum(x, axis=0),
    "array": np.asarray,
}  # fmt: skip


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("format", [Dense(SparseList(Element(0.0))), Dense(Dense(Element(0.0)))])
def test_array_functions_of_a_view_from_which_loops_take_no_extents(format, function):
    data = np.array([[1.0, 0.0, 2.0], [0.0, 0.0, 0.0], [0.0, 3.0, -1.0]])
    with registered(finch_wrapper=lambda: Twice):
        view = Twice(Tensor(format, data))
        found = np.asarray(FUNCTIONS[function](view))
        wanted = np.asarray(FUNCTIONS[function](np.repeat(data, 2, axis=0)))
        assert found.shape == wanted.shape
        assert found.dtype == wanted.dtype
        np.testing.assert_allclose(found, wanted)
        if function == "array":
            np.testing.assert_array_equal(view.to_numpy(), wanted)
            np.testing.assert_array_equal(fa.einsum("ij,ik->jk", view, view), wanted.T @ wanted)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_array_functions_of_a_view_without_windows(function):
    """Slices of it are read from a copy; they were windows, which had no looplets."""
    data = np.array([[1.0, 0.0, 2.0]] * 2 + [[0.0, 0.0, 0.0]] * 2 + [[0.0, 3.0, -1.0]] * 2)
    with registered(finch_wrapper=lambda: Scaled):
        view = Scaled(Tensor(Dense(SparseList(Element(0.0))), data), (), (3,))
        found = np.asarray(FUNCTIONS[function](view))
        wanted = np.asarray(FUNCTIONS[function](3 * data))
        assert found.shape == wanted.shape
        np.testing.assert_allclose(found, wanted)


def _positions(self: Any, positions: Any, shape: Any, fields: Any) -> Any:
    return {}, positions * 2


PAIRS: dict[str, Any] = {
    "protocols": frozenset({"walk", "follow"}),
    "parallel": frozenset({Sharing.DISJOINT}),
    "assemble": lambda self, ctx, lvl, start, stop: lvl.child.assemble(ctx, start * 2, stop * 2),
    "freeze": lambda self, ctx, lvl, stop: lvl.child.freeze(ctx, stop * 2),
    "thaw": lambda self, ctx, lvl, stop: lvl.child.thaw(ctx, stop * 2),
    "sizes": _positions,
    "unfurl": lambda self, ctx, fiber, mode, protocol: Lookup(
        lambda ctx, i: fiber.subfiber(fiber.pos * 2 + i % 2)
    ),
}
"""A level with two subfibers for each fiber, whatever its dimension is."""


@kernel
def last_two(C, A):
    C[...] = 0
    for i in parallel(_):
        for j in _:
            C[i, j] = A[i, j]


@pytest.mark.parametrize("backend", backend_names())
def test_rows_of_a_parallel_loop_are_filled_where_the_level_has_them(backend):
    """They were taken to be as long as the dimension, and memory behind the buffer was filled."""
    pair = format_like("Pair", **PAIRS)
    with registered(finch_level_format=lambda: pair), using(backend):
        A = np.arange(6000.0).reshape(2, 3000) + 1
        C = Tensor(Dense(pair(Element(0.0))), A.shape)
        for _turn in range(3):
            last_two(C, A)
        (values,) = [array for name, array in C.buffers.items() if name.endswith("val")]
        assert values[:4].tolist() == [2999.0, 3000.0, 5999.0, 6000.0]
