"""Results of array functions in levels of plugins: with parameters of any name, of few indices,
and over levels that they do not take. The suite takes such levels, too."""

from __future__ import annotations

from functools import partial
from typing import Any

import attrs
import numpy as np
import pytest
from plugin_support import registered

import finch_array as fa
from finch_core import Tensor
from finch_core.errors import FormatError
from finch_core.level import Field, Format, Order, check_child, check_leaf, integer_dtype
from finch_core.operators import define_operator
from finch_core.testing import LevelSuite
from finch_levels import Dense, Element, SparseList

INT8, INT64 = np.dtype("int8"), np.dtype("int64")


def listed(name: str, child: Any, numbers: Any) -> Any:
    """A list as ``SparseList``, whose indices have the dtype ``numbers``, or that of a parameter
    ``numbers``."""
    own = {k: v for k, v in vars(SparseList).items() if not k.startswith("__")}
    body = {k: own[k] for k in own if k not in ("lvl", "index", "pointer", "layout", "offers")}
    body |= {"name": name, "order": Order.ONCE, "pointer": INT64, "__module__": __name__}
    body |= {"index": property(lambda self: self.fields[1].dtype)}
    body |= {"lvl": attrs.field(converter=child), "__annotations__": {"lvl": Format}}
    if numbers is None:
        body["numbers"] = attrs.field(default=INT8, converter=integer_dtype)
        body["__annotations__"]["numbers"] = Any

    def fields(self: Any) -> tuple[Field, ...]:
        index = getattr(self, "numbers", numbers)
        return (
            Field("ptr", INT64, "where fibers start", ascending=True, nonnegative=True),
            Field("idx", index, "indices", nonnegative=True, indices=True),
        )

    return attrs.frozen(type(name, (Format,), body | {"fields": property(fields)}))


Named = listed("Named", check_child, None)
Tiny = listed("Tiny", check_child, INT8)
Flat = listed("Flat", check_leaf, INT64)

FUNCTIONS = {
    "beside": lambda x: np.concatenate([x, x], axis=1),
    "below": lambda x: np.concatenate([x, x]),
    "tile": lambda x: np.tile(x, (2, 2)),
    "repeat": lambda x: np.repeat(x, 3, axis=1),
    "chosen": lambda x: x[:, np.arange(300) % 100],
    "insert": lambda x: np.insert(x, [1] * 60, 0.0, axis=1),
    "pad": lambda x: np.pad(x, 60),
    "sum": lambda x: x + x,
}


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize(("kind", "kept"), [(Named, True), (Tiny, False)])
def test_indices_that_do_not_hold_a_result(kind, kept, function):
    """Those of a parameter are widened, whatever its name is; others become lists."""
    data = np.arange(400.0).reshape(4, 100) % 7 // 6
    with registered(finch_level_format=lambda: kind):
        for outer in (Dense, kind):
            x = Tensor(outer(kind(Element(0.0))), data)
            found, wanted = FUNCTIONS[function](x), FUNCTIONS[function](data)
            np.testing.assert_array_equal(np.asarray(found), wanted)
            level = found.format.levels()[-2]
            if kept and function not in ("insert", "pad"):
                assert level.name == kind.name
            assert np.iinfo(level.index).max >= wanted.shape[1]


def test_levels_of_leaves_are_not_put_above_others():
    """A level is offered for each dimension of its operand, and takes not each level below it."""
    data = np.arange(48.0).reshape(6, 8) % 5 // 4
    with registered(finch_level_format=lambda: Flat):
        x = Tensor(Dense(Flat(Element(0.0))), data)
        v = Tensor(Flat(Element(0.0)), data[0])
        product = v[:, None] * v
        np.testing.assert_array_equal(product.to_numpy(), np.outer(data[0], data[0]))
        stacked = np.stack([x, x], axis=-1)
        np.testing.assert_array_equal(stacked.to_numpy(), np.stack([data, data], axis=-1))
        spread = x[:, None, :] * x[None, :, :]
        np.testing.assert_array_equal(spread.to_numpy(), data[:, None, :] * data[None, :, :])
        with pytest.raises(FormatError, match="takes leaves alone"):
            Flat(Flat(Element(0.0)))


@pytest.mark.parametrize("kind", [Named, Tiny])
@pytest.mark.parametrize(
    "name", ["entries_lie_far_apart", "fibers_lie_far_apart", "updates_come_one_behind_the_other"]
)
def test_the_suite_has_dimensions_that_indices_hold(kind, name):
    """They had 69633 indices, whatever the level's own dtype is."""
    with registered(finch_level_format=lambda: kind):
        suite = type("Suite", (LevelSuite,), {"format": kind})()
        getattr(suite, f"test_{name}")("interpreter")


@define_operator(name="soft", commutative=True, associative=True, identity=-np.inf)
def soft(a, b):
    """The logarithm of a sum of exponentials."""
    m = max(a, b)
    return m if m == -np.inf else m + np.log(np.exp(a - m) + np.exp(b - m))


def test_reductions_have_the_dtype_of_the_operator():
    """Of integers the result was to be an integer, and took no value of the operator."""
    data = np.array([[1, 2, 0], [3, 0, 0]])
    with registered(finch_operators=lambda: soft):
        for format in (Dense(SparseList(Element(0))), Dense(Dense(Element(0)))):
            found = fa.einsum("C[i] soft= A[i,k]", A=Tensor(format, data))
            assert found.dtype == np.float64
            wanted = np.logaddexp.reduce(data.astype(float), axis=1)
            np.testing.assert_allclose(found.to_numpy(), wanted)


@pytest.mark.parametrize("level", [partial(SparseList, index="int8", pointer="int8"), Named, Tiny])
def test_numbers_that_do_not_hold_what_an_operation_makes(level):
    """A product of two arrays may store more than positions of either number, and be longer."""
    data = np.arange(1.0, 61).reshape(1, 60) % 3 // 2
    with registered(finch_level_format=lambda: [Named, Tiny]):
        x = Tensor(level(level(Element(0.0))), data)
        pairs = x[0][:, None] * x[0]
        np.testing.assert_array_equal(pairs.to_numpy(), np.outer(data[0], data[0]))
        long = x * np.ones((300, 1))
        np.testing.assert_array_equal(long.to_numpy(), np.repeat(data, 300, axis=0))
