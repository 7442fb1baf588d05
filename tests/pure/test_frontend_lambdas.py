"""Lambdas are inlined as functions written with ``def`` are: their text is found by the places that
Python keeps of their instructions."""

from __future__ import annotations

import linecache

import cloudpickle
import numpy as np
import pytest

import finch_array as fa
from finch_core import Tensor, _, kernel
from finch_core.errors import KernelSyntaxError
from finch_core.frontend import expression_of
from finch_levels import Dense, Element, SparseList

first, second = (
    (lambda v: v + 1),
    lambda v, w=3.0, *, z=1.0: (
        # several lines
        (v + w) * (z if v > 0 else -z)
    ),
)
GREEK = {"ä": (lambda α: α * 2, lambda α: abs(α) ** 2)}  # fmt: skip


LARGER = (lambda a, b: min(a, b), lambda a, b: max(a, b))[1]


def times(factor):
    return lambda v: v * factor


def text(function):
    return str(expression_of(function).expr)


def test_each_of_several_in_a_line_is_found():
    def plain(v):
        return v + 1

    def longer(v, w, z):
        return (v + w) * (z if v > 0 else -z)

    assert text(first) == text(plain)
    assert text(second) == text(longer)
    assert text(GREEK["ä"][0]) == text(lambda α: α * 2)


def test_array_functions_of_lambdas():
    x = np.array([[0.0, 2.0, -1.0], [0.0, 0.0, 4.0]])
    A = fa.asarray(x, format=Dense(SparseList(Element(0.0))))
    for function, args in (
        (first, ()), (second, ()), (times(4.0), ()), (lambda v: np.sqrt(abs(v)), ()),
        (lambda v: v if v > 0 else -1.0, ()), (lambda v: 3.0, ()), (lambda v, w: max(v, w), (1.5,)),
        (lambda v: not v, ()), (lambda v: (v > 0) and (v < 3), ()), (GREEK["ä"][1], ()),
    ):  # fmt: skip
        found = fa.elementwise_of(function)(A, *args)
        wanted = np.vectorize(function)(x, *args)
        np.testing.assert_array_equal(np.asarray(found), wanted)
    np.testing.assert_array_equal(
        np.asarray(fa.elementwise_of(second)(A, z=2.0)), np.vectorize(second)(x, z=2.0)
    )


def test_kernels_call_lambdas_and_reduce_by_them():
    @kernel
    def largest(y, x):
        y[...] = 0
        for i in _:
            y[()] = LARGER(y[()], first(x[i]))

    x = Tensor(SparseList(Element(0.0)), np.array([0.0, 3.0, 1.0]))
    y = np.zeros(())
    largest(y, x)
    assert y == 4
    again = cloudpickle.loads(cloudpickle.dumps(largest))
    again(y, Tensor(SparseList(Element(0.0)), np.array([0.0, 6.0, 1.0])))
    assert y == 7


def test_a_text_that_has_changed_is_told(tmp_path):
    path = tmp_path / "lambdas_of_a_file.py"
    for now in (
        "f = lambda value: other",
        "f = lambda value: valu + 1",
        "f = lambda va",
        "",
        "f = 12345678901234567890123456789",
    ):
        names: dict[str, object] = {}
        path.write_text("f = lambda value: value + 1\n")
        linecache.checkcache(str(path))
        exec(compile(path.read_text(), str(path), "exec"), names)
        path.write_text(now + "\n")
        with pytest.raises(KernelSyntaxError) as error:
            expression_of(names["f"])
        message = "the text of the lambda is not found in line 1 of "
        assert error.value.message.startswith(message)


def test_a_lambda_without_a_text_is_told():
    names: dict[str, object] = {}
    exec("f = lambda value: value + 1", names)
    with pytest.raises(KernelSyntaxError, match="the source of '<lambda>' cannot be read"):
        expression_of(names["f"])


class Private:
    """Python puts the name of a class before private names in it."""

    def scaled(self):
        __by = 2.0
        return lambda v: (v * __by) if v > 0 else (__by)


BRACKETS = (
    lambda v: v if v > 0 else (v - 1),
    lambda v: (v + 1) if v > 0 else v,
    (lambda v: (v + 1) if (v > 0) else (v - 1)), lambda v: (v), lambda v: (v + 1) * (v - 1),
    lambda v: (  # of several lines: (
        v + 1  # more
    )
    if v > 0
    else (v - (2)),  # behind
    Private().scaled(), lambda v, w=(3.0): v + w if v > 0 else (w),
    {"a": [lambda v: max(v, (1)), 0]}["a"][0], (lambda v: (v - 1) if v > 3 else (v)),
)  # fmt: skip


@pytest.mark.parametrize("function", BRACKETS)
def test_expressions_begin_and_end_with_brackets(function):
    x = np.array([-1.5, 0.0, 2.0])
    found = fa.elementwise_of(function)(x)
    assert np.array_equal(found.to_numpy(), [function(v) for v in x.tolist()])


@pytest.mark.parametrize("now", ["8.125", "2.5", "(2.0)  +v", "v"])
def test_another_text_in_its_place_is_told(tmp_path, now):
    names: dict[str, object] = {}
    path = tmp_path / "lambdas_of_a_file.py"
    path.write_text("f = lambda v: v * 2.0\n")
    exec(compile(path.read_text(), str(path), "exec"), names)
    path.write_text(f"f = lambda v: v * {now}\n")
    with pytest.raises(KernelSyntaxError) as error:
        expression_of(names["f"])
    message = "the text of the lambda is not found in line 1 of "
    assert error.value.message.startswith(message)
