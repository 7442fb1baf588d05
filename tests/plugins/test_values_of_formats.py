"""Array functions take formats whose elements are not the values of a leaf's buffer: leaves that
store them in a form of their own, or say that a value is absent, and levels that compute them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import attrs
import numpy as np
import pytest
from formats_of_values import FLOAT, Counted, Keyed, Maybe, Shifted, Twice
from plugin_support import plugin

import finch_array as fa
from finch_core import FormatError, Tensor, _, read, write
from finch_core.errors import PluginError
from finch_core.level import Field
from finch_core.plugins import Hub
from finch_core.runtime.lists import memory_of
from finch_core.testing import LeafSuite, LevelSuite, on
from finch_core.testing.running import using
from finch_levels import Dense, Element, RunList, SparseHash, SparseList
from finch_wrappers import swizzle

DATA = np.array([[0, 1.5, 0, -2.0], [3, 0, 0.5, 0]])


@pytest.fixture(params=["interpreter", "c"], autouse=True)
def backend(request: pytest.FixtureRequest) -> Iterator[str]:
    with using(request.param):
        yield request.param


def absent(outer: Any, fill: float = 0.0) -> tuple[Tensor, Any]:
    """A vector of positions of which some have no value, and its elements."""
    data = np.array([1, np.nan, 2, 0, -3])
    buffers: dict[str, Any] = {"1_val": data}
    if outer is SparseList:
        buffers |= {"0_ptr": np.array([0, 5]), "0_idx": np.arange(5)}
    return (
        Tensor.from_buffers(outer(Maybe(fill)), (5,), buffers),
        np.where(np.isnan(data), fill, data),
    )


def shifted(outer: Any = Dense, dtype: Any = np.float64) -> tuple[Tensor, Any]:
    """A matrix whose rows are shifted by 10, 0 and -3, and its elements."""
    add, values = np.array([10, 0, -3], dtype), np.arange(12).astype(dtype)
    buffers = {"1_add": add, "2_val": values}
    if outer is SparseList:
        buffers |= {"0_ptr": np.array([0, 3]), "0_idx": np.array([0, 1, 2])}
    tensor = Tensor.from_buffers(outer(Shifted(Element(dtype(0)))), (3, 4), buffers)
    return tensor, values.reshape(3, 4) + add[:, None]


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "scaled": lambda x: x * 2,
    "plus": lambda x: x + 1,
    "minus": lambda x: 1 - x,
    "negative": lambda x: -x,
    "absolute": abs,
    "is zero": lambda x: x == 0,
    "greater": lambda x: x > 1,
    "squared": lambda x: x * x,
    "narrow": lambda x: x.astype(np.float32),
    "integers": lambda x: x.astype(np.int64),
    "exp": np.exp,
    "clipped": lambda x: np.clip(x, -1, 2),
    "chosen": lambda x: np.where(x > 1, x, -1.0),
    "masked": lambda x: x[x > 1],
    "sum": np.sum,
    "largest": np.max,
    "product": lambda x: np.prod(x, axis=0),
    "mean": np.mean,
    "variance": np.var,
    "sorted": np.sort,
    "distinct": np.unique,
    "nonzero": lambda x: np.nonzero(x)[0],
    "cumulated": lambda x: np.cumsum(x, axis=-1),
    "turned": lambda x: x.T,
    "longer": lambda x: x[None],
    "thicker": lambda x: x[..., None],
    "joined": lambda x: np.concatenate([x, x]),
    "rolled": lambda x: np.roll(x, 1),
    "repeated": lambda x: np.repeat(x, 2, axis=0),
    "counted": np.count_nonzero,
    "without NaN": np.nansum,
    "copied": lambda x: x.copy(),
    "places": lambda x: np.searchsorted([0.0, 1.0, 2.0], x),
}


def agree(array: Any, data: Any) -> None:
    for name, function in FUNCTIONS.items():
        for k in range(2):  # a second time, as calls that are known
            found, wanted = np.asarray(function(array)), function(data)
            np.testing.assert_array_equal(found, wanted, f"{name} of {array.format}, call {k}")


@pytest.mark.parametrize("outer", [Dense, SparseList])
def test_elements_that_are_computed(outer: Any) -> None:
    agree(*shifted(outer))


@pytest.mark.parametrize("outer", [Dense, SparseList])
@pytest.mark.parametrize("fill", [0.0, 2.5])
def test_elements_that_are_absent(outer: Any, fill: float) -> None:
    agree(*absent(outer, fill))


@pytest.mark.parametrize("outer", [Dense, SparseList, SparseHash, RunList])
@pytest.mark.parametrize("fill", [0.0, 2.5])
def test_elements_in_another_form(outer: Any, fill: float) -> None:
    data = np.where(DATA == 0, fill, DATA)
    agree(Tensor(Dense(outer(Twice(fill))), data), data)


def counted() -> tuple[Tensor, Any]:
    """A matrix of which no element is stored, and its elements."""
    buffers = {"2_val": np.zeros(0)}
    tensor = Tensor.from_buffers(Dense(Counted(Element(0.0))), (2, 3), buffers)
    return tensor, np.array([[0.0, 1, 2], [1, 2, 3]])


def test_elements_of_which_none_is_stored() -> None:
    agree(*counted())


@pytest.mark.parametrize("make", [fa.zeros_like, fa.ones_like, fa.empty_like, fa.full_like])
def test_arrays_of_one_value_do_not_compute_others(make: Any) -> None:
    """They had the format, and with it the elements, of the array that they are like."""
    value = {fa.ones_like: 1, fa.full_like: 7}.get(make, 0)
    given = (7,) if make is fa.full_like else ()
    for array in (counted()[0], shifted(SparseList)[0]):
        found = make(array, *given)
        assert found.fill_value == value
        assert found.to_numpy().tolist() == np.full(array.shape, value).tolist()


def test_each_field_has_its_dtype() -> None:
    """A level with a field of the values' dtype is written anew in another dtype."""
    tensor, data = shifted(dtype=np.float32)
    for made in (fa.astype(tensor, np.float64), tensor.like(2.0, np.float64), tensor > 1):
        for depth, level in enumerate(made.format.levels()):
            for field in level.fields:
                assert made.buffers[f"{depth}_{field.name}"].dtype == field.dtype
    np.testing.assert_array_equal(tensor.like(2.0, np.float64).to_numpy(), np.full((3, 4), 2.0))
    np.testing.assert_array_equal(fa.astype(tensor, np.float64).to_numpy(), data)


def test_other_fills_beside_what_is_absent() -> None:
    """Fills that are passed to one kernel: of matrices times vectors, and of sums of arrays."""
    for fill in (2.5, 3.5, 4.5):
        tensor, data = absent(SparseList, fill)
        fixed = Tensor(SparseList(Twice(fill)), data)
        x = np.arange(5.0)
        for array in (tensor, fixed):
            assert array @ x == data @ x
            for other in (tensor, fixed, Tensor(SparseList(Element(fill)), data)):
                found = (array + other) * fill + (array - fill)
                np.testing.assert_array_equal(found.to_numpy(), (data + data) * fill + data - fill)


def test_like_stores_what_is_stored() -> None:
    tensor, _ = absent(SparseList)
    stored = np.array([1, 0, 1, 1, 1])
    np.testing.assert_array_equal(tensor.like(7.0).to_numpy(), 7 * stored)
    np.testing.assert_array_equal(tensor.like().structure(), stored)


ASSIGNMENTS: dict[str, Callable[[Any], Any]] = {
    "element": lambda x: x.__setitem__((1, 2), 9),
    "row": lambda x: x.__setitem__(1, 5),
    "slices": lambda x: x.__setitem__((slice(0, 2), slice(None, None, 2)), 4),
    "values": lambda x: x.__setitem__((slice(None), 1), np.array([7.0, 8.0])),
    "mask": lambda x: x.__setitem__(np.asarray(x) > 1, -1),
    "integers": lambda x: x.__setitem__(np.array([1, 0]), 2.5),
    "all": lambda x: x.__setitem__(Ellipsis, DATA * 2),
    "turned": lambda x: x.T.__setitem__((2, 1), 6),
    "in place": lambda x: x.__iadd__(1),
    "scaled": lambda x: x.__imul__(2),
    "turned in place": lambda x: x.T.__imul__(3),
    "out": lambda x: np.add(DATA, 1, out=x),
    "copyto": lambda x: np.copyto(x, DATA + 2),
}


@pytest.mark.parametrize("name", ASSIGNMENTS)
@pytest.mark.parametrize("leaf", [Twice(0.0), Maybe(0.0), Element(0.0)], ids=str)
def test_assignments(leaf: Any, name: str) -> None:
    """What is written to an array is in it, whatever form its leaf has."""
    for format in (Dense(Dense(leaf)), Dense(SparseList(leaf)), Dense(SparseHash(leaf))):
        array, data = Tensor(format, DATA), DATA.copy()
        ASSIGNMENTS[name](array)
        ASSIGNMENTS[name](data)
        np.testing.assert_array_equal(array.to_numpy(), data, f"{name} of {format}")
        assert array.format == format


def test_a_scalar_is_assigned() -> None:
    for leaf in (Twice(0.0), Maybe(0.0), Element(0.0)):
        scalar = Tensor(leaf)
        scalar[...] = 3.0
        assert scalar.value == 3.0


def test_memory_is_told_from_copies() -> None:
    for leaf in (Twice(0.0), Maybe(0.0)):
        array = Tensor(Dense(Dense(leaf)), DATA)
        assert memory_of(array) is None
        assert memory_of(swizzle(array, (1, 0))) is None
        with pytest.raises(BufferError):
            np.from_dlpack(array)
    plain = Tensor(Dense(Dense(Element(0.0))), DATA.copy())
    for view in (plain, swizzle(plain, (1, 0))):
        memory = memory_of(view)
        assert memory is not None
        memory[1, 1] = 8
        assert view.to_numpy()[1, 1] == 8
    assert memory_of(Tensor(Dense(SparseList(Element(0.0))), DATA)) is None


def test_a_file_does_not_take_another_form_for_values(tmp_path: Any) -> None:
    for leaf in (Twice(0.0), Maybe(0.0)):
        tensor = Tensor(Dense(SparseList(leaf)), DATA)
        for suffix in ("mtx", "tns", "npz"):
            path = tmp_path / f"x.{suffix}"
            write(path, tensor)
            np.testing.assert_array_equal(read(path).to_numpy(), DATA, str(path))
        np.testing.assert_array_equal(tensor.to_scipy().toarray(), DATA)


def test_a_level_with_a_field_of_values_passes_none() -> None:
    """The declaration is looked at when the plugin is registered, and where a level is kept."""
    told = "passes values, and its field 'most' has their dtype"
    with pytest.raises(PluginError, match=told):
        Hub().register(plugin(finch_level_format=lambda: Keyed), "keyed")
    buffers = {"0_at": np.array([1]), "0_most": np.array([5.0]), "1_val": np.array([5.0])}
    tensor = Tensor.from_buffers(Keyed(Element(0.0)), (3,), buffers)
    with pytest.raises(PluginError, match=told):
        fa.astype(tensor, np.float32)


class TestLeaves(LeafSuite):
    leaves = (Twice(0.0), Twice(2.5), Maybe(0.0), Maybe(-1.0))


@attrs.frozen
class Plain(Shifted):
    """The same with numbers of a dtype of its own, as if it passed values."""

    name = "Plain"
    passes_values = True

    @property
    def fields(self) -> Any:
        return (Field("add", FLOAT, "what is added to each value of a fiber"),)


def suite(format: Any) -> LevelSuite:
    return type("Suite", (LevelSuite,), {"format": format})()


def test_the_suite_asks_where_elements_come_from(backend: str) -> None:
    suite(Shifted).test_array_functions_are_of_all_elements(backend)
    suite(Shifted).test_values_are_passed(backend)
    for format, told in ((Plain, "Plain.* with other values"), (Keyed, "field 'most' has their")):
        with pytest.raises(AssertionError, match=told):
            suite(format).test_values_are_passed(backend)
    with pytest.raises(AssertionError, match="x > 1 of|x . 2 of|1 - x of"):
        suite(Plain).test_array_functions_are_of_all_elements(backend)


def scaled(a: Any) -> Any:
    for i, j in _:
        a[i, j] *= 2.0
    return a


def test_what_is_computed_is_not_updated_in_place(backend: str) -> None:
    """It was left as it is, without a word."""
    tensor, data = shifted(SparseList)
    with pytest.raises(FormatError, match="that its level computes cannot be updated in place"):
        on(backend, scaled)(tensor)
    np.testing.assert_array_equal(tensor.to_numpy(), data)
