import pickle

import numpy as np
import pytest
from error_support import VECTOR, dense, refusal, sparse

from finch_core import FormatError, Tensor, _, asarray, kernel
from finch_levels import Dense, Element
from finch_wrappers import swizzle, window

READ_ONLY = np.zeros(4)
READ_ONLY.flags.writeable = False
FORMAT = Dense(Element(0.0))


@kernel
def add(y, x):
    for i in _:
        y[i] += x[i]


@kernel
def declared(y, x):
    y[...] = 0
    for i in _:
        y[i] = x[i]


def over(array):
    return Tensor.from_buffers(FORMAT, array.shape, {"1_val": array})


def unpickled():
    """A tensor over the ``bytes`` that a pickle was sent as."""
    buffers = []
    text = pickle.dumps(dense(np.zeros(4)), protocol=5, buffer_callback=buffers.append)
    return pickle.loads(text, buffers=[bytes(b) for b in buffers])


def test_written_read_only_buffer():
    expected = """\
y is written, and its buffer 1_val is read-only
  line 1
    def add(y, x):
            ^
  hint: pass a copy, y.copy()"""
    assert refusal(FormatError, add, over(READ_ONLY), VECTOR) == expected


def test_written_read_only_memory_map(tmp_path):
    np.save(tmp_path / "a.npy", np.zeros(4))
    mapped = np.load(tmp_path / "a.npy", mmap_mode="r")
    for program in (add, declared):
        assert "its buffer 1_val is read-only" in refusal(
            FormatError, program, over(mapped), VECTOR
        )


def test_written_bytes():
    for tensor in (over(np.frombuffer(bytes(32))), unpickled()):
        assert "its buffer 1_val is read-only" in refusal(FormatError, add, tensor, VECTOR)


def test_written_after_others_were():
    for _turn in range(3):
        add(dense(VECTOR), VECTOR)
        assert "is read-only" in refusal(FormatError, add, over(READ_ONLY), VECTOR)


def test_written_through_wrappers():
    expected = "the array that it wraps is read-only, or was copied to be wrapped"
    for array in (READ_ONLY, np.zeros(8)[::2], np.zeros(33, np.uint8)[1:].view(float)):
        for wrapper in (
            window(array, (0, 4)),
            swizzle(array, (0,)),
            window(over(READ_ONLY), (0, 4)),
        ):
            if wrapper.tensor.signature.fixed:
                assert expected in refusal(FormatError, add, wrapper, VECTOR)
            else:
                assert "1_val is read-only" in refusal(FormatError, add, wrapper, VECTOR)
    assert "is read-only" in refusal(FormatError, add, asarray(READ_ONLY), VECTOR)
    aligned = np.zeros(4)
    add(window(aligned, (0, 4)), VECTOR)
    np.testing.assert_array_equal(aligned, VECTOR)


def test_read_only_buffers_are_read_and_copied():
    tensor, y = over(READ_ONLY), np.zeros(4)
    add(y, tensor)
    assert len({id(e) for e in add._specializations.values()}) == len(add._specializations)
    copy = tensor.copy()
    add(copy, VECTOR)
    np.testing.assert_array_equal(copy.to_numpy(), VECTOR)
    tensor.fill((3,))
    add(tensor, np.ones(3))
    assert tensor.to_numpy().tolist() == [1, 1, 1]
    assert not READ_ONLY.any()


@pytest.mark.parametrize("name", ["1_ptr", "1_idx", "2_val"])
def test_any_read_only_buffer_counts(name):
    first = sparse(np.eye(3))
    buffers = {key: part.copy() for key, part in first.buffers.items()}
    buffers[name].flags.writeable = False
    tensor = Tensor.from_buffers(first.format, first.shape, buffers)

    @kernel
    def twice(y, x):
        y[...] = 0
        for i, j in _:
            y[i, j] = 2 * x[i, j]

    assert f"its buffer {name} is read-only" in refusal(FormatError, twice, tensor, first)
    tensor.fill((3, 3))
    twice(tensor, first)
    np.testing.assert_array_equal(tensor.to_numpy(), 2 * np.eye(3))
