"""The exact buffers of SparseByteMap and SparseHash for small cases, and of what is malformed."""

import numpy as np
import pytest

from finch_core import FormatError, Tensor, _, kernel
from finch_levels import Dense, Element, SparseByteMap, SparseHash
from finch_levels.common.hashing import blank_table

VECTOR = np.array([0, 2, 2, 0, 3, 3])


@kernel
def scatter(out, at, v):
    out[...] = 0
    for k in _:
        out[at[k]] += v[k]
    return out


@kernel
def add(out, at, v):
    for k in _:
        out[at[k]] += v[k]
    return out


def buffers(tensor):
    return {name: part.tolist() for name, part in tensor.buffers.items()}


def test_byte_map_of_a_vector():
    assert buffers(Tensor(SparseByteMap(Element(0)), VECTOR)) == {
        "0_ptr": [0, 4],
        "0_tbl": [False, True, True, False, True, True],
        "0_pos": [1, 2, 4, 5],
        "1_val": [0, 2, 2, 0, 3, 3],
    }


def test_byte_map_of_rows_lists_positions():
    matrix = np.array([[0, 1], [0, 0], [3, 4]])
    assert buffers(Tensor(Dense(SparseByteMap(Element(0))), matrix)) == {
        "1_ptr": [0, 1, 1, 3],
        "1_tbl": [False, True, False, False, True, True],
        "1_pos": [1, 4, 5],
        "2_val": [0, 1, 0, 0, 3, 4],
    }


@pytest.mark.parametrize("level", [SparseByteMap, SparseHash])
def test_only_stored_values_count(level):
    assert Tensor(level(Element(0)), VECTOR).nstored == 4
    assert Tensor(Dense(level(Element(0))), VECTOR.reshape(2, 3)).nstored == 4
    assert Tensor(level(Dense(Element(0))), VECTOR.reshape(3, 2)).nstored == 6
    assert Tensor(level(level(Element(0))), VECTOR.reshape(3, 2)).nstored == 4


def test_byte_map_declared_again_keeps_its_room():
    out = Tensor(SparseByteMap(Element(0)), (100,))
    scatter(out, np.array([70, 3, 70]), np.array([1, 2, 4]))
    assert out.buffers["0_pos"].tolist() == [3, 70]
    scatter(out, np.array([5]), np.array([9]))
    assert out.buffers["0_pos"].tolist() == [5]
    assert np.flatnonzero(out.buffers["0_tbl"]).tolist() == [5]
    assert np.flatnonzero(out.buffers["1_val"]).tolist() == [5]


def test_hash_of_a_vector():
    found = buffers(Tensor(SparseHash(Element(0)), VECTOR))
    table = found.pop("0_tbl")
    assert found == {
        "0_ptr": [0, 4],
        "0_idx": [1, 2, 4, 5],
        "0_pos": [0, 1, 2, 3],
        "0_key": [1, 2, 4, 5],
        "1_val": [2, 2, 3, 3],
    }
    pairs = sorted(zip(table[2::2], table[3::2], strict=True))
    assert table[:2] == [32, 4]  # a quarter of 16 is not to be full
    assert pairs == [(-1, -1)] * 28 + [(1, 0), (2, 1), (4, 2), (5, 3)]


def test_hash_keeps_values_in_the_order_of_first_writes():
    out = Tensor(SparseHash(Element(0)), (10,))
    scatter(out, np.array([7, 2, 7, 5]), np.array([1, 2, 4, 8]))
    found = buffers(out)
    assert found["0_idx"] == [2, 5, 7]
    assert found["0_pos"] == [1, 2, 0]
    assert found["0_key"] == [7, 2, 5]
    assert found["1_val"] == [5, 2, 8]
    add(out, np.array([1, 7]), np.array([16, 32]))
    found = buffers(out)
    assert found["0_idx"] == [1, 2, 5, 7]
    assert found["0_pos"] == [3, 1, 2, 0]
    assert found["1_val"] == [37, 2, 8, 16]


@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 47, 48, 49, 300, 3000])
def test_hash_sorts_any_number_of_entries(count):
    rng = np.random.default_rng(count)
    keys = rng.choice(1 << 40, count, replace=False)
    out = Tensor(SparseHash(Element(0)), (1 << 40,))
    scatter(out, keys, np.arange(count))
    assert np.array_equal(out.buffers["0_idx"], np.sort(keys))
    assert np.array_equal(out.buffers["1_val"][out.buffers["0_pos"]], np.argsort(keys))


def test_an_empty_table_is_like_one_that_a_kernel_made():
    out = Tensor(SparseHash(Element(0)), (3,))
    scatter(out, np.zeros(0, int), np.zeros(0, int))
    assert out.buffers["0_tbl"].tolist() == blank_table().tolist()


MALFORMED = [
    (SparseByteMap, "0_tbl", 0, True, r"tbl\[0\] is True"),
    (SparseByteMap, "0_pos", 1, 1, r"pos\[1\] is 1, not more than"),
    (SparseByteMap, "0_pos", 3, 6, r"pos\[3\] is 6, which is not a position of fiber 0"),
    (SparseByteMap, "0_ptr", 1, 3, r"tbl\[5\] is True"),
    (SparseHash, "0_idx", 1, 1, r"idx\[1\] is 1, not more than"),
    (SparseHash, "0_idx", 1, 3, r"key\[1\] is 2, and must be 3"),
    (SparseHash, "0_pos", 1, 0, "pos lacks position 1"),
    (SparseHash, "0_key", 1, 3, r"key\[1\] is 3, and must be 2"),
    (SparseHash, "0_tbl", 0, 12, r"tbl\[0\] is 12, and must be a power of two"),
    (SparseHash, "0_tbl", 1, 3, r"tbl\[1\] is 3, and must be 4"),
]


@pytest.mark.parametrize(("level", "name", "at", "value", "message"), MALFORMED)
def test_malformed_buffers_are_refused(level, name, at, value, message):
    tensor = Tensor(level(Element(0)), VECTOR)
    parts = {key: part.copy() for key, part in tensor.buffers.items()}
    Tensor.from_buffers(tensor.format, tensor.shape, parts)
    parts[name][at] = value
    with pytest.raises(FormatError, match=message):
        Tensor.from_buffers(tensor.format, tensor.shape, parts)


def test_a_key_in_the_wrong_slot_is_refused():
    tensor = Tensor(SparseHash(Element(0)), VECTOR)
    parts = {key: part.copy() for key, part in tensor.buffers.items()}
    pairs = parts["0_tbl"][2:].reshape(-1, 2)
    taken, free = np.flatnonzero(pairs[:, 0] >= 0), np.flatnonzero(pairs[:, 0] < 0)
    pairs[[taken[0], free[-1]]] = pairs[[free[-1], taken[0]]]
    with pytest.raises(
        FormatError, match="a key that linear probing from its home slot does not reach"
    ):
        Tensor.from_buffers(tensor.format, tensor.shape, parts)


def test_a_thawed_tensor_from_buffers_goes_on():
    for level in (SparseByteMap, SparseHash):
        tensor = Tensor(level(Element(0)), VECTOR)
        again = Tensor.from_buffers(tensor.format, tensor.shape, tensor.copy().buffers)
        add(again, np.array([0, 5, 3]), np.array([1, 1, 1]))
        assert again.to_numpy().tolist() == [1, 2, 2, 1, 3, 4]
        scatter(again, np.array([2]), np.array([8]))
        assert again.to_numpy().tolist() == [0, 0, 8, 0, 0, 0]


@kernel
def gathered(out, at, v, x):
    out[...] = 0
    for k in _:
        out[at[k]] += v[x[k]]
    return out


@pytest.mark.parametrize("level", [SparseByteMap, SparseHash])
def test_a_kernel_that_fails_leaves_an_empty_output(level):
    out = Tensor(level(Element(0)), (6,))
    at, v = np.array([4, 2, 1]), np.array([7])
    with pytest.raises(IndexError):
        gathered(out, at, v, np.array([0, 0, 5]))
    assert out.to_numpy().tolist() == [0] * 6
    gathered(out, at[1:2], v, np.array([0]))
    assert out.to_numpy().tolist() == [0, 0, 7, 0, 0, 0]
    assert out.nstored == 1


@pytest.mark.parametrize("lie", [{}, {"0_room": 100}, {"0_count": 7, "0_room": 5}, {"0_stride": 3}])
def test_what_is_said_of_memory_that_is_not_there_is_not_believed(lie):
    """`buffers` has what is in use, and no room beyond it."""
    data = np.array([0.0, 5, 0, 6, 0])
    tensor = Tensor.from_buffers(
        SparseByteMap(Element(0.0)), (5,), Tensor(SparseByteMap(Element(0.0)), data).buffers | lie
    )
    np.testing.assert_array_equal(tensor.to_numpy(), data)
    more(tensor, data + 1)
    np.testing.assert_array_equal(tensor.to_numpy(), data * 2 + 1)
    anew(tensor, data + 1)
    np.testing.assert_array_equal(tensor.to_numpy(), data + 1)


@kernel
def more(y, x):
    for i in _:
        y[i] += x[i]


@kernel
def anew(y, x):
    y[...] = 0
    for i in _:
        y[i] = x[i]
