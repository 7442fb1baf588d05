"""One function of NumPy over dense arrays, or over what one array stores: no kernel."""

from __future__ import annotations

import numpy as np
import pytest
from array_support import MATRICES, data, fa, same, tensor

from finch_array import run
from finch_array.one_pass import OnePass
from finch_array.scalars import scalar_tensor
from finch_core import Tensor
from finch_core.runtime import worth
from finch_core.runtime.kernel import Kernel
from finch_levels import Dense, Element

DTYPES = ("f8", "f4", "i8", "i1", "u2", "?")
SHAPES = (((4, 5), (4, 5)), ((4, 5), (5,)), ((4, 1), (1, 5)), ((1,), (3, 1, 2)), ((0, 3), (3,)),
          ((3,), (3,)), ((1, 1), (1, 1)))  # fmt: skip
TWO = ("add", "subtract", "multiply", "divide", "less", "equal", "bitwise_and", "floor_divide",
       "maximum", "copysign", "logical_or", "atan2")  # fmt: skip
ONE = ("negative", "abs", "sqrt", "isnan", "logical_not", "trunc", "square", "floor")


@pytest.fixture(autouse=True)
def by_one_function(monkeypatch):
    monkeypatch.setattr(worth, "ONE_FUNCTION", 1 << 16)
    monkeypatch.setattr(worth, "WORTH_OF_VALUES", worth.WORTH)
    run._forget()
    yield
    run._forget()


@pytest.fixture
def compiled(monkeypatch):
    """The kernels that are specialised."""
    names: list[str] = []
    specialize = Kernel._specialization

    def specialized(self, *args, **options):
        names.append(self.program.name)
        return specialize(self, *args, **options)

    monkeypatch.setattr(Kernel, "_specialization", specialized)
    return names


@pytest.mark.parametrize("name", TWO)
@pytest.mark.parametrize("dtype", DTYPES)
def test_two_dense_arrays(name, dtype):
    numpy_name = {"atan2": "arctan2"}.get(name, name)
    for first, second in SHAPES:
        a, b = data(first, dtype, seed=1), data(second, dtype, seed=2)
        with np.errstate(all="ignore"):
            try:
                wanted = getattr(np, numpy_name)(a, b)
            except TypeError:
                with pytest.raises(TypeError):
                    getattr(fa, name)(fa.asarray(a), fa.asarray(b))
                continue
            for _call in range(3):
                same(getattr(fa, name)(fa.asarray(a), fa.asarray(b)), wanted)


@pytest.mark.parametrize("name", ONE)
@pytest.mark.parametrize("form", ["dense", "rows", "lists"])
def test_one_array(name, form):
    for dtype in ("f8", "f4", "i2"):
        values = abs(data((6, 7), dtype))
        with np.errstate(all="ignore"):
            wanted = getattr(np, name)(values)
            for _call in range(3):
                same(getattr(fa, name)(tensor(values, MATRICES[form])), wanted)


@pytest.mark.parametrize("number", [2, 2.5, -1, True, np.float32(1.5), np.int64(3), 2**62])
def test_one_array_and_a_number(number):
    for dtype in ("f8", "f4", "i8"):
        values = data((6, 7), dtype)
        array = tensor(values, MATRICES["rows"])
        for name in ("multiply", "add", "less", "divide", "greater_equal"):
            with np.errstate(all="ignore"):
                for args in ((array, number), (number, array)):
                    plain = [values if x is array else x for x in args]
                    same(getattr(fa, name)(*args), getattr(np, name)(*plain))


def test_no_kernel_is_compiled_however_often(compiled):
    add, multiply = fa.elementwise_of(np.add), fa.elementwise_of(np.multiply)
    x, A = fa.asarray(np.arange(3000.0)), tensor(data((30, 40)), MATRICES["rows"])
    for k in range(300):
        same(add(x, x), 2 * x.to_numpy())
        same(multiply(A, float(k)), A.to_numpy() * k)
    assert not compiled


def test_kernels_compute_many_elements(monkeypatch, compiled):
    add, multiply = fa.elementwise_of(np.add), fa.elementwise_of(np.multiply)
    x = fa.asarray(np.arange(40.0))
    same(add(x, x), 2 * x.to_numpy())
    assert any(plan[0].__class__ is OnePass for plan in run._quick.values())
    monkeypatch.setattr(worth, "ONE_FUNCTION", 39)
    monkeypatch.setattr(worth, "WORTH_OF_VALUES", -1)
    same(add(x, x), 2 * x.to_numpy())
    same(multiply(x, 2.0), 2 * x.to_numpy())
    assert len(compiled) == 2


def test_more_than_one_function_is_a_kernel(monkeypatch, compiled):
    add, x = fa.elementwise_of(np.add), fa.asarray(np.arange(40.0))
    monkeypatch.setattr(worth, "WORTH_OF_VALUES", -1)
    same(fa.elementwise_of(lambda a, b: a * b + a)(x, x), x.to_numpy() ** 2 + x.to_numpy())
    same(add(x, fa.asarray(np.arange(40))), 2 * x.to_numpy())  # a conversion, too
    assert len(compiled) == 2


def test_memory_that_is_longer_than_the_array():
    format = Dense(Element(0.0))
    long = Tensor.from_buffers(format, (4,), {"val": np.arange(9.0)})
    short = fa.asarray(np.arange(4.0))
    for _call in range(3):
        same(long + short, 2 * np.arange(4.0))
        same(short + long, 2 * np.arange(4.0))
        same(long * 2.0, 2 * np.arange(4.0))


def test_results_have_memory_of_their_own():
    x = fa.asarray(np.arange(4.0))
    first, second = x + x, x + x
    assert not np.may_share_memory(first.to_numpy(), second.to_numpy())
    first.to_numpy()[:] = 7
    same(second, 2 * np.arange(4.0))
    same(x + x, 2 * np.arange(4.0))


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "u1", "?", "c16"])
def test_arrays_without_dimensions(dtype):
    one, two = (np.asarray(n).astype(dtype)[()] for n in (3, 1))
    a, b = scalar_tensor(one), scalar_tensor(two)
    for name in ("add", "multiply", "divide", "equal", "less"):
        with np.errstate(all="ignore"):
            wanted = getattr(np, name)(one, two) if dtype != "c16" or name != "less" else None
            if wanted is None:
                continue
            for _call in range(2):
                same(getattr(fa, name)(a, b), wanted)
                same(getattr(fa, name)(a, 1), getattr(np, name)(one, 1))


@pytest.mark.parametrize(("dtype", "number"), [("u1", 300), ("i1", -200), ("?", 2**70)])
def test_numbers_that_a_dtype_without_dimensions_does_not_hold(dtype, number):
    """As of arrays with dimensions: another number came out."""
    one = scalar_tensor(np.asarray(1).astype(dtype)[()])
    for function in (fa.add, fa.multiply, fa.maximum):
        for args in ((one, number), (number, one)):
            with pytest.raises(OverflowError, match="out of bounds for"):
                function(*args)
    if dtype != "?":
        same(fa.less(one, number), np.less(1, number))
        same(fa.divide(one, number), np.divide(np.asarray(1, dtype)[()], number))
