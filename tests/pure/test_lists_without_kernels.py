"""Lists are made of arrays, and arrays of lists, without a kernel: as a kernel makes them."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from finch_core import Tensor
from finch_core.errors import IndexOverflow
from finch_core.runtime import convert, lists
from finch_levels import Dense, Element, RunList, SparseByteMap, SparseList, SparseRunList

VALUES = {
    "float": ([0.0, 1.5, -0.0, np.nan, np.inf], 0.0),
    "nan": ([0.0, 1.5, np.nan], np.nan),
    "int8": ([0, 3, -7], np.int8(3)),
    "bool": ([False, True], True),
    "complex": ([0, 1j, complex(0, np.nan)], 1j),
    "half": ([0, 1.5], np.float16(0)),
}


def format_of(ndim: int, dense: int, fill: Any, index: Any) -> Any:
    format: Any = Element(fill)
    for k in range(ndim):
        format = SparseList(format, index=index) if k < ndim - dense else Dense(format)
    return format


@pytest.mark.parametrize(
    ("kind", "ndim"), [*itertools.product(VALUES, [1, 2]), ("float", 3), ("nan", 3)]
)
def test_they_are_as_kernels_make_them(kind, ndim, monkeypatch):
    choices, fill = VALUES[kind]
    rng = np.random.default_rng(ndim)
    dtype = np.asarray(fill).dtype
    for dense, shape in itertools.product(range(ndim), itertools.product((0, 1, 4), repeat=ndim)):
        data = rng.choice(np.array(choices, dtype), shape)
        for array in (data, np.asfortranarray(data), data[..., ::-1]):
            format = format_of(ndim, dense, fill, (np.uint8, np.int32, np.int64)[dense])
            convert._copying.clear()  # a kernel that is there would be used
            made = Tensor(format, array)
            with monkeypatch.context() as patch:
                patch.setattr(lists, "MOST", 0)
                wanted = Tensor(format, array)
                back = made.to_numpy()
            assert made.shape == wanted.shape
            for name, buffer in wanted.buffers.items():
                np.testing.assert_array_equal(made.buffers[name], buffer, strict=True)
            np.testing.assert_array_equal(made.to_numpy(), back, strict=True)
            assert not np.shares_memory(made.to_numpy(), made.buffers[f"{ndim}_val"])


LEVELS = (Dense, SparseList, SparseRunList, RunList)


@pytest.mark.parametrize(
    ("kind", "levels"),
    [
        *itertools.product(VALUES, [(SparseRunList,), (RunList,)]),
        *(("float", levels) for levels in itertools.product(LEVELS, repeat=2)),
    ],
)
def test_runs_are_as_kernels_make_them(kind, levels, monkeypatch):
    choices, fill = VALUES[kind]
    rng = np.random.default_rng(len(levels))
    format: Any = Element(fill)
    for level in levels:
        format = level(format)
    for shape in (
        (0,) * len(levels),
        (1,) * len(levels),
        (6,) * len(levels),
        (2, 7)[-len(levels) :],
    ):
        data = rng.choice(np.array(choices, np.asarray(fill).dtype), shape)
        data[..., 1:3], data[1:3] = data[..., 0:1], data[:1]
        convert._copying.clear()
        made = Tensor(format, data)
        with monkeypatch.context() as patch:
            patch.setattr(lists, "MOST", 0)
            wanted = Tensor(format, data)
            back = made.to_numpy()
        for name, buffer in wanted.buffers.items():
            np.testing.assert_array_equal(made.buffers[name], buffer, strict=True)
        np.testing.assert_array_equal(made.to_numpy(), back, strict=True)
        np.testing.assert_array_equal(np.signbit(made.to_numpy().real), np.signbit(back.real))


def test_nested_runs_need_no_kernel(monkeypatch):
    def fails(*args):
        raise AssertionError("a kernel is compiled")

    monkeypatch.setattr(convert, "_copying_kernel", fails)
    data = np.zeros((4, 5, 6))
    data[1:3], data[:, 2] = 2.5, 1
    for levels in itertools.product((SparseRunList, RunList), repeat=3):
        format: Any = Element(0.0)
        for level in levels:
            format = level(format)
        np.testing.assert_array_equal(Tensor(format, data).to_numpy(), data)


def test_runs_that_are_not_merged_have_kernels():
    tensor, data = Tensor(SparseRunList(Element(0.0), merge=False)), convert.asarray(np.ones(3))
    assert lists.fields_from_array(tensor, data) is None


def test_they_share_nothing_with_the_array():
    plain = np.eye(3)
    made = Tensor(Dense(SparseList(Element(0.0))), plain)
    plain[...] = 7
    np.testing.assert_array_equal(made.to_numpy(), np.eye(3))


def test_lists_too_narrow_are_refused_as_by_kernels():
    with pytest.raises(IndexOverflow, match="a dimension of 300 is too long for indices of int8"):
        Tensor(SparseList(Element(0.0), index=np.int8), np.ones(300))
    with pytest.raises(IndexOverflow):
        Tensor(SparseList(Element(0.0), pointer=np.int8), np.ones(300))


def test_a_kernel_is_compiled_for_many_elements(monkeypatch):
    format, compiled = SparseList(Element(0.5)), []
    made = convert._copying_kernel
    monkeypatch.setattr(
        convert, "_copying_kernel", lambda *args: compiled.append(args) or made(*args)
    )
    monkeypatch.setattr(lists, "MOST", 250)
    monkeypatch.setattr(lists, "_done", {})
    for many, kernels in ((100, 0), (100, 0), (100, 1), (5, 1)):
        tensor = Tensor(format, np.arange(float(many)))
        assert len(compiled) == kernels
        assert tensor.nstored == many


def test_other_formats_and_dtypes_have_kernels():
    for format, data in (
        (SparseByteMap(Element(0.0)), np.arange(3.0)),
        (Dense(Element(0.0)), np.arange(3.0)),
        (SparseList(Element(0.0)), np.arange(3)),
    ):
        tensor = Tensor(format, data)
        assert lists.fields_from_array(tensor, convert.asarray(data)) is None
        np.testing.assert_array_equal(tensor.to_numpy(), data)
