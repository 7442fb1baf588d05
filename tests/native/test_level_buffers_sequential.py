"""The exact buffers of small tensors, for the levels that are written in order."""

import numpy as np
import pytest

from finch_core import Tensor, _, kernel
from finch_core.errors import FormatError, IndexOverflow
from finch_levels import (
    Dense,
    Element,
    Pattern,
    RunList,
    SparseBand,
    SparseBlockList,
    SparseInterval,
    SparseList,
    SparsePinpoint,
    SparseRunList,
)

BACKENDS = ["interpreter", "c"]
VECTOR = np.array([0.0, 2, 2, 0, 3, 3])
MATRIX = np.array([[0.0, 2, 2, 0], [0, 0, 0, 0], [1, 0, 0, 3]])
ROWS = np.array([[1.0, 2], [1, 2], [0, 0], [1, 2]])
V = Element(0.0)


def made(monkeypatch, backend, format, array):
    monkeypatch.setenv("FINCH_BACKEND", backend)
    tensor = Tensor(format, array)
    np.testing.assert_array_equal(tensor.to_numpy(), array)
    return {name: buffer.tolist() for name, buffer in tensor.buffers.items()}


CASES = {
    "list": (
        SparseList(V), VECTOR, {"0_ptr": [0, 4], "0_idx": [1, 2, 4, 5], "1_val": [2, 2, 3, 3]},
    ),
    "runs": (RunList(V), VECTOR, {"0_ptr": [0, 4], "0_right": [1, 3, 4, 6], "1_val": [0, 2, 0, 3]}),
    "sparse runs": (
        SparseRunList(V), VECTOR,
        {"0_ptr": [0, 2], "0_left": [1, 4], "0_right": [2, 5], "1_val": [2, 3]},
    ),
    "blocks": (
        SparseBlockList(V), VECTOR,
        {"0_ptr": [0, 2], "0_idx": [2, 5], "0_ofs": [0, 2, 4], "1_val": [2, 2, 3, 3]},
    ),
    "band": (SparseBand(V), VECTOR, {"0_idx": [5], "0_ofs": [0, 5], "1_val": [2, 2, 0, 3, 3]}),
    "interval": (
        SparseInterval(V), VECTOR * (VECTOR == 2),
        {"0_left": [1], "0_right": [2], "1_val": [2]},
    ),
    "pinpoint": (SparsePinpoint(V), np.array([0.0, 0, 5, 0]), {"0_idx": [2], "1_val": [5]}),
    "runs, not merged": (
        RunList(V, merge=False), VECTOR,
        {"0_ptr": [0, 6], "0_right": [1, 2, 3, 4, 5, 6], "1_val": [0, 2, 2, 0, 3, 3]},
    ),
    "sparse runs, not merged": (
        SparseRunList(V, merge=False), VECTOR,
        {"0_ptr": [0, 4], "0_left": [1, 2, 4, 5], "0_right": [1, 2, 4, 5], "1_val": [2, 2, 3, 3]},
    ),
    "rows of runs": (
        Dense(RunList(V)), MATRIX,
        {"1_ptr": [0, 3, 4, 7], "1_right": [1, 3, 4, 4, 1, 3, 4], "2_val": [0, 2, 0, 0, 1, 0, 3]},
    ),
    "rows of sparse runs": (
        Dense(SparseRunList(V)), MATRIX,
        {"1_ptr": [0, 1, 1, 3], "1_left": [1, 0, 3], "1_right": [2, 0, 3], "2_val": [2, 1, 3]},
    ),
    "rows of blocks": (
        Dense(SparseBlockList(V)), MATRIX,
        {"1_ptr": [0, 1, 1, 3], "1_idx": [2, 0, 3], "1_ofs": [0, 2, 3, 4], "2_val": [2, 2, 1, 3]},
    ),
    "rows of bands": (
        Dense(SparseBand(V)), MATRIX,
        {"1_idx": [2, 0, 3], "1_ofs": [0, 2, 2, 6], "2_val": [2, 2, 1, 0, 0, 3]},
    ),
    "rows of pinpoints": (
        Dense(SparsePinpoint(V)), MATRIX * (MATRIX == 3),
        {"1_idx": [4, 4, 3], "2_val": [0, 0, 3]},
    ),
    "rows of intervals": (
        Dense(SparseInterval(V)), MATRIX * (MATRIX == 2),
        {"1_left": [1, 4, 4], "1_right": [2, 3, 3], "2_val": [2, 0, 0]},
    ),
    "runs of rows": (
        RunList(Dense(V)), ROWS,
        {"0_ptr": [0, 3], "0_right": [2, 3, 4], "2_val": [1, 2, 0, 0, 1, 2]},
    ),
    "runs of lists": (
        RunList(SparseList(V)), ROWS,
        {"0_ptr": [0, 3], "0_right": [2, 3, 4], "1_ptr": [0, 2, 2, 4], "1_idx": [0, 1, 0, 1],
         "2_val": [1, 2, 1, 2]},
    ),
    "sparse runs of rows": (
        SparseRunList(Dense(V)), ROWS,
        {"0_ptr": [0, 2], "0_left": [0, 3], "0_right": [1, 3], "2_val": [1, 2, 1, 2]},
    ),
    "sparse runs of runs": (
        SparseRunList(RunList(V)), ROWS,
        {"0_ptr": [0, 2], "0_left": [0, 3], "0_right": [1, 3], "1_ptr": [0, 2, 4],
         "1_right": [1, 2, 1, 2], "2_val": [1, 2, 1, 2]},
    ),
    "an interval of rows": (
        SparseInterval(Dense(V)), ROWS[:3], {"0_left": [0], "0_right": [1], "2_val": [1, 2]},
    ),
    "an interval of lists": (
        SparseInterval(SparseList(V)), ROWS[2:],
        {"0_left": [1], "0_right": [1], "1_ptr": [0, 2], "1_idx": [0, 1], "2_val": [1, 2]},
    ),
    "an interval of intervals": (
        SparseInterval(SparseInterval(V)), np.array([[0, 0, 0], [0, 4, 4], [0, 4, 4]]),
        {"0_left": [1], "0_right": [2], "1_left": [1], "1_right": [2], "2_val": [4]},
    ),
    "intervals of runs": (
        Dense(SparseInterval(RunList(V))), np.array([ROWS[:3], 0 * ROWS[:3], ROWS[[3, 2, 2]]]) % 2,
        {"1_left": [0, 3, 0], "1_right": [1, 2, 0], "2_ptr": [0, 2, 3, 5],
         "2_right": [1, 2, 2, 1, 2], "3_val": [1, 0, 0, 1, 0]},
    ),
    "sparse runs of nothing": (
        SparseRunList(Pattern()), VECTOR != 0,
        {"0_ptr": [0, 2], "0_left": [1, 4], "0_right": [2, 5]},
    ),
    "no dimension": (RunList(V), np.zeros(0), {"0_ptr": [0, 0], "0_right": [], "1_val": []}),
}  # fmt: skip


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("case", CASES)
def test_buffers(monkeypatch, backend, case):
    format, array, expected = CASES[case]
    assert made(monkeypatch, backend, format, array) == expected


@pytest.mark.parametrize("case", CASES)
def test_buffers_are_taken_back(case):
    format, array, _expected = CASES[case]
    buffers = Tensor(format, array).buffers
    again = Tensor.from_buffers(format, array.shape, buffers)
    np.testing.assert_array_equal(again.to_numpy(), array)
    assert not any("scratch" in name for name in buffers)


def test_merging_keeps_signs_of_zero_and_joins_nans():
    values = np.array([0.0, -0.0, -0.0, np.nan, np.nan])
    tensor = Tensor(RunList(Element(1.0)), values)
    assert tensor.buffers["0_right"].tolist() == [1, 3, 5]
    assert np.signbit(tensor.buffers["1_val"]).tolist()[:2] == [False, True]


@kernel
def doubled(out, data):
    out[...] = 0
    for i in _:
        out[i] = data[i] * 2


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("level", [SparseInterval, SparseRunList])
def test_equal_subfibers_are_one_run_however_they_are_written(backend, level):
    @kernel(backend=backend)
    def product(out, x, y):
        out[...] = 0
        for i, j in _:
            out[i, j] = x[i] * y[j]

    x, y = np.array([0.0, 3, 3, 0]), np.array([1.0, 0, 2])
    for rows, runs in (
        (x, [0, 1, 3]),
        (Tensor(RunList(V), x), [0, 1, 3]),
        (Tensor(level(V), x), [1]),
    ):
        out = Tensor(level(SparseList(V)))
        product(out, rows, y)
        np.testing.assert_array_equal(out.to_numpy(), np.outer(x, y))
        # zeros that are written are runs, but no second run
        assert out.buffers["0_left"].tolist() == ([1] if level is SparseInterval else runs)


@pytest.mark.parametrize("format", [RunList(V, merge=False), SparseRunList(V, merge=False)])
def test_whole_runs_are_taken_at_once(format):
    data = Tensor(SparseRunList(V), VECTOR)
    out = Tensor(format)
    doubled(out, data)
    assert out.buffers["0_right"].tolist() in ([1, 3, 4, 6], [2, 5])
    np.testing.assert_array_equal(out.to_numpy(), VECTOR * 2)


def test_a_band_over_a_pattern_has_no_gaps():
    with pytest.raises(FormatError, match="index 4 of out is not adjacent to its band"):
        Tensor(SparseBand(Pattern()), VECTOR != 0)


def test_a_run_list_holds_fill():
    with pytest.raises(FormatError, match="a RunList stores runs of fill values"):
        RunList(Pattern())
    assert RunList(SparseList(Pattern())).holds_fill


LEVELS = [RunList, SparseRunList, SparseInterval, SparsePinpoint, SparseBlockList, SparseBand]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.uint32, np.uint64])
def test_index_dtypes(level, dtype):
    array = np.zeros(100)
    array[99] = 1
    tensor = Tensor(level(V, index=dtype), array)
    np.testing.assert_array_equal(tensor.to_numpy(), array)
    assert {b.dtype for name, b in tensor.buffers.items() if "ptr" not in name} >= {np.dtype(dtype)}


@pytest.mark.parametrize("level", LEVELS)
def test_a_dimension_too_long_for_its_indices(level):
    array = np.zeros(300)
    array[7] = 1
    with pytest.raises(IndexOverflow, match="300"):
        Tensor(level(V, index=np.uint8), array)


@pytest.mark.parametrize("level", [RunList, SparseRunList, SparseBlockList, SparseBand])
def test_more_entries_than_pointers_count(level):
    array = np.arange(600.0) * (np.arange(600) % 2)
    with pytest.raises(IndexOverflow, match="pointer"):
        Tensor(level(V, pointer=np.uint8), array)


BROKEN = [
    (SparsePinpoint(V), 4, {"idx": [5], "val": [1.0]}, r"idx\[0\] is 5"),
    (SparseInterval(V), 4, {"left": [2], "right": [1], "val": [1.0]}, r"right\[0\] is 1, less"),
    (SparseInterval(V), 4, {"left": [2], "right": [4], "val": [1.0]}, r"right\[0\] is 4"),
    (RunList(V), 4, {"ptr": [0, 2], "right": [1, 3], "val": [1.0, 2]}, r"right\[1\], the last"),
    (RunList(V), 4, {"ptr": [0, 2], "right": [4, 4], "val": [1.0, 2]}, r"right\[1\] is 4, not"),
    (RunList(V), 4, {"ptr": [0, 0], "right": [], "val": []}, "fiber 0 has no runs"),
    (SparseRunList(V), 4, {"ptr": [0, 2], "left": [0, 1], "right": [1, 2], "val": [1.0, 2]},
     r"left\[1\] is 1"),
    (SparseBlockList(V), 4, {"ptr": [0, 1], "idx": [1], "ofs": [0, 3], "val": [1.0, 2, 3]},
     r"ofs\[1\] is 3"),
    (SparseBlockList(V), 4, {"ptr": [0, 2], "idx": [1, 2], "ofs": [0, 1, 3], "val": [1.0, 2, 3]},
     r"ofs\[2\] is 3"),
    (SparseBand(V), 4, {"idx": [1], "ofs": [0, 3], "val": [1.0, 2, 3]}, r"ofs\[1\] is 3"),
    (SparseBand(V), 4, {"idx": [4], "ofs": [0, 1], "val": [1.0]}, r"idx\[0\] is 4"),
]  # fmt: skip


@pytest.mark.parametrize(("format", "n", "buffers", "message"), BROKEN)
def test_malformed_buffers(format, n, buffers, message):
    arrays = {k: np.array(v, float if k == "val" else np.intp) for k, v in buffers.items()}
    with pytest.raises(FormatError, match=message):
        Tensor.from_buffers(format, (n,), arrays)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("format", "array", "message"),
    [
        (SparsePinpoint(V), VECTOR, "index 2 of out is written where its SparsePinpoint"),
        (SparseInterval(V), VECTOR, "index 4 of out is written where its SparseInterval"),
        (SparseInterval(Dense(V)), ROWS, "index 3 of out is written where its SparseInterval"),
    ],
)
def test_a_second_nonzero_is_refused(backend, format, array, message):
    @kernel(backend=backend)
    def copied(out, data):
        out[...] = 0
        for i in _:
            if data[i] != 0:
                out[i] = data[i]

    @kernel(backend=backend)
    def copied2(out, data):
        out[...] = 0
        for i, j in _:
            if data[i, j] != 0:
                out[i, j] = data[i, j]

    out = Tensor(format)
    with pytest.raises(FormatError, match=message):
        (copied if array.ndim == 1 else copied2)(out, array)
    assert not out.to_numpy().any()
    assert out.shape == array.shape


@pytest.mark.parametrize("level", [SparsePinpoint, SparseInterval])
def test_empty_fibers_store_nothing(level):
    leaf = Element(0.0)
    assert Tensor(level(leaf), (5,)).nstored == 0
    assert Tensor(level(leaf), (0,)).nstored == 0
    assert Tensor(level(Dense(leaf)), (3, 4)).nstored == 0
    assert Tensor(Dense(level(leaf)), (3, 5)).nstored == 0
    assert Tensor(Dense(level(leaf)), [[0, 1.0, 0], [0, 0, 0]]).nstored == 1
    assert Tensor(Dense(level(Dense(leaf))), np.eye(4).reshape(2, 2, 4)[:, :1]).nstored == 8
