"""The suite of wrappers takes views with arrays that give loops no extents, and wrappers of some
sizes alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import attrs
import pytest
from plugin_support import registered

from finch_core.interface.wrapper_examples import Example, View
from finch_core.runtime.wrapping import WrapperTensor, mapped, seen
from finch_core.testing import WrapperSuite


class Swapped(WrapperTensor):
    """The wrapped tensor with the two of each pair of neighbours swapped; of even sizes."""

    name = "swapped"
    has_array = True

    @staticmethod
    def match_access(access: Any, scope: Any) -> Any:
        wrapper = seen(access, Swapped)
        if wrapper is None:
            return None
        indices = tuple(mapped(i, lambda i: i ^ 1) for i in access.indices)
        return attrs.evolve(access, tensor=wrapper.inner, indices=indices)

    @staticmethod
    def examples(view: View) -> Iterator[Example]:
        if all(start % 2 == stop % 2 == 0 for start, stop in view.ranges):
            swapped = view.moved(
                lambda index: tuple(i ^ 1 for i in index), sized=(False,) * view.ndim
            )
            yield Example(lambda tensor: Swapped(tensor, (), ()), swapped)


class OfEvenSizes(WrapperSuite):
    wrapper = Swapped
    shapes: ClassVar[Any] = {1: ((0,), (8,)), 2: ((4, 6),)}


class OfAnySizes(WrapperSuite):
    wrapper = Swapped


@pytest.fixture(autouse=True)
def _known() -> Iterator[None]:
    with registered(finch_wrapper=lambda: Swapped):
        yield


def test_views_with_arrays_need_no_extents() -> None:
    suite = OfEvenSizes()
    suite.test_it_has_examples("interpreter")
    suite.test_it_has_a_dense_array_where_it_begins_at_0("interpreter")
    suite.test_other_fills_and_dtypes("interpreter", 3, "uint16")


def test_shapes_without_examples_are_told() -> None:
    with pytest.raises(AssertionError) as error:
        OfAnySizes().test_it_has_examples("interpreter")
    assert str(error.value).startswith(
        "examples of swapped gives none for tensors of the shapes ((0, 3), (1, 1), (4, 5)): "
        "`shapes` of the suite has others"
    )
    with pytest.raises(AssertionError, match="`shapes` of the suite has others"):
        OfAnySizes().test_other_fills_and_dtypes("interpreter", 3, "uint16")
