"""Tensors to and from NumPy, SciPy and each other."""

import gc
import itertools

import numpy as np
import pytest
import scipy.sparse as sp
import shared_programs
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from finch_core import Tensor, _, asarray, kernel
from finch_core.errors import DimensionMismatch, FormatError, OutOfBounds
from finch_core.ir.dtypes import SUPPORTED
from finch_core.plugins import hub
from finch_core.runtime.validation import validate
from finch_levels import Dense, Element, Pattern, Scalar, SparseList
from finch_wrappers import swizzle

DATA = np.array([[0.0, 1.0, 0.0, 2.0], [0.0, 0.0, 0.0, 0.0], [3.0, 0.0, 4.0, 0.0]])
CSR = Dense(SparseList(Element(0.0)))


def formats(ndim, leaf):
    """All nests of Dense and SparseList."""
    for levels in itertools.product((Dense, SparseList), repeat=ndim):
        format = leaf
        for level in reversed(levels):
            format = level(format)
        yield format


@kernel
def copy(y, x):
    for i in _:
        y[i] = x[i]
    return y


@kernel
def total(s, A):
    s[...] = 0
    for i, j in _:
        s[()] += A[i, j]
    return s


spmv = kernel(shared_programs.spmv)


# -- between formats ------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", SUPPORTED, ids=str)
def test_every_dtype_through_every_format(dtype):
    data = DATA.astype(dtype)
    for format in formats(2, Element(dtype.type(0))):
        tensor = Tensor(format, data)
        validate(tensor)
        assert tensor.dtype == dtype
        assert tensor.shape == (3, 4)
        found = tensor.to_numpy()
        assert found.dtype == dtype
        np.testing.assert_array_equal(found, data)


@settings(max_examples=25, deadline=None)
@given(
    arrays.arrays(
        np.float64,
        arrays.array_shapes(min_dims=2, max_dims=3, min_side=0, max_side=4),
        elements=st.sampled_from([0.0, 0.0, 1.0, -2.5]),
    ),
    st.data(),
)
def test_any_format_converts_to_any_other(data, draw):
    choices = list(formats(data.ndim, Element(0.0)))
    first, second = (draw.draw(st.sampled_from(choices)) for _side in range(2))
    tensor = Tensor(first, data).to(second)
    validate(tensor)
    assert tensor.format == second
    assert tensor.shape == data.shape
    np.testing.assert_array_equal(tensor.to_numpy(), data)


def test_values_equal_to_the_fill_are_not_stored():
    tensor = Tensor(CSR, DATA)
    assert tensor.nstored == 4
    assert Tensor(Dense(Dense(Element(0.0))), DATA).nstored == 12
    assert Tensor(SparseList(Element(2.0)), [2.0, 1.0, 2.0]).nstored == 1


def test_another_fill_value():
    tensor = Tensor(Dense(SparseList(Element(np.inf))), np.where(DATA == 0, np.inf, DATA))
    assert tensor.nstored == 4
    assert tensor.fill_value == np.inf
    np.testing.assert_array_equal(tensor.to(CSR).to_numpy(), tensor.to_numpy())


def test_a_pattern_of_what_is_stored():
    tensor = Tensor(Dense(SparseList(Pattern())), DATA != 0)
    np.testing.assert_array_equal(tensor.to_numpy(), DATA != 0)
    assert set(tensor.buffers) == {"1_ptr", "1_idx"}


def test_a_format_that_is_too_narrow():
    narrow = SparseList(Element(0.0), index=np.int8, pointer=np.int8)
    assert Tensor(narrow, np.ones(100)).nstored == 100
    with pytest.raises(OverflowError):
        Tensor(narrow, np.ones(1000))


# -- NumPy ----------------------------------------------------------------------------------


def test_an_array_is_used_in_place():
    data = np.arange(6.0).reshape(2, 3)
    assert np.shares_memory(asarray(data).to_numpy(), data)
    out = np.zeros(3)
    assert copy(out, np.array([1.0, 2.0, 3.0])) is out
    assert out.tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    "data",
    [
        DATA.T,
        np.asfortranarray(DATA),
        DATA[::2, ::-1],
        np.broadcast_to(np.float64(2), (3, 4)),
        np.frombuffer(b"\0" + DATA.tobytes(), np.uint8)[1:].view(np.float64).reshape(3, 4),
        np.zeros((0, 3)),
        np.zeros((2, 0)),
    ],
    ids=["transposed", "fortran", "strided", "broadcast", "unaligned", "no rows", "no columns"],
)
def test_arrays_of_any_layout_are_read(data):
    assert total(Scalar(0.0), data).value == data.sum()
    np.testing.assert_array_equal(Tensor(CSR, data).to_numpy(), data)


def test_a_read_only_array_is_read():
    data = DATA.copy()
    data.flags.writeable = False
    assert total(Scalar(0.0), data).value == data.sum()


def test_no_dimensions():
    tensor = asarray(np.array(2.5))
    assert (tensor.ndim, tensor.shape, tensor.value) == (0, (), 2.5)
    out = np.array(1.0)

    @kernel
    def add(s, x):
        s[()] += x[()]

    add(out, tensor)
    assert out == 3.5
    assert Tensor(Element(0), np.array(7)).value == 7


def test_an_output_of_the_wrong_size_is_left_as_it_was():
    out = np.full(2, 7.0)
    with pytest.raises(DimensionMismatch):
        spmv(out, DATA, np.ones(4))
    assert out.tolist() == [7, 7]
    kept = Tensor(SparseList(Element(0.0)), [0.0, 5.0])
    with pytest.raises(DimensionMismatch):
        spmv(Tensor(Dense(Element(0.0)), [5.0]), DATA, kept)
    assert kept.to_numpy().tolist() == [0, 5]


def test_as_an_array():
    tensor = Tensor(CSR, DATA)
    np.testing.assert_array_equal(np.asarray(tensor), DATA)
    assert np.asarray(tensor, dtype=np.int8).dtype == np.int8
    dense = asarray(DATA)
    assert not np.shares_memory(np.array(dense), DATA)
    with pytest.raises(ValueError, match="copy"):
        np.array(tensor, copy=False)


def test_the_memory_of_an_array_lives_as_long_as_its_tensor():
    tensor = asarray(np.arange(1000.0))
    gc.collect()
    assert tensor.to_numpy().sum() == 499500


# -- data of other kinds --------------------------------------------------------------------


def test_nested_lists():
    np.testing.assert_array_equal(Tensor(CSR, DATA.tolist()).to_numpy(), DATA)
    assert Tensor(SparseList(Element(0)), [0, 3]).dtype == np.int64
    with pytest.raises(FormatError, match="lists"):
        Tensor(CSR, [[1.0], [1.0, 2.0]])
    with pytest.raises(DimensionMismatch):
        Tensor(CSR, [1.0, 2.0])


def test_values_that_the_format_cannot_hold():
    with pytest.raises(FormatError, match="holds int64, and cannot take data of float64"):
        Tensor(Dense(Element(0)), [1.5])


def test_shapes():
    empty = Tensor(CSR)
    assert (empty.shape, empty.nstored) == ((0, 0), 0)
    tensor = Tensor(CSR, (2, 3))
    validate(tensor)
    assert tensor.shape == (2, 3)
    assert not tensor.to_numpy().any()
    assert Tensor(Dense(Element(1.5)), (2,)).to_numpy().tolist() == [1.5, 1.5]
    for wrong in ((2,), (2, 3, 4), (-1, 2)):
        with pytest.raises(DimensionMismatch):
            Tensor(CSR, wrong)


def test_a_copy_has_memory_of_its_own():
    tensor = Tensor(CSR, DATA)
    other = tensor.copy()
    assert other.format == tensor.format
    for name, array in other.buffers.items():
        assert not np.shares_memory(array, tensor.buffers[name])
        np.testing.assert_array_equal(array, tensor.buffers[name])
    array = asarray(DATA).copy()
    spmv(array_out := Tensor(Dense(Element(0.0))), array, np.ones(4))
    np.testing.assert_array_equal(array_out.to_numpy(), DATA.sum(1))


@pytest.mark.parametrize("format", list(formats(2, Element(0.0))), ids=str)
def test_element_access(format):
    tensor = Tensor(format, DATA)
    for i, j in np.ndindex(*DATA.shape):
        assert tensor[i, j] == DATA[i, j]
    assert tensor[-1, -2] == DATA[-1, -2]
    assert type(tensor[0, 1]) is np.float64
    for index in ((3, 0), (0, 4), (-4, 0)):
        with pytest.raises(OutOfBounds):
            tensor[index]
    with pytest.raises(OutOfBounds):
        tensor[0, 0, 0]
    with pytest.raises(FormatError):
        tensor[0, 1.5]


def test_scalars():
    s = Scalar(1.5)
    assert (s.value, s[()], s.shape, s.ndim, s.dtype) == (1.5, 1.5, (), 0, np.float64)
    assert type(s.value) is float
    assert Scalar(0, dtype=np.int8).dtype == np.int8
    assert Scalar((np.inf, -1)).value == (np.inf, -1)
    assert Scalar(1 + 2j).value == 1 + 2j
    with pytest.raises(DimensionMismatch):
        _ = Tensor(CSR, DATA).value


def test_the_repr_shows_the_levels():
    shown = repr(Tensor(CSR, DATA))
    for part in ("Dense", "SparseList", "Element", "3", "4", "float64"):
        assert part in shown
    assert "1.5" in repr(Scalar(1.5))


def test_the_repr_shows_the_elements_of_short_buffers():
    shown = repr(Tensor(SparseList(Element(0.0)), np.array([0.0, 1.5, 0.0, 2.5])))
    assert "idx int64[2] = [1 3]" in shown
    assert "val float64[2] = [1.5 2.5]" in shown
    assert "=" not in repr(Tensor(Dense(Element(0.0)), np.arange(9.0)))


# -- buffers --------------------------------------------------------------------------------


def parts():
    return {
        "ptr": np.array([0, 2, 3], np.int32),
        "idx": np.array([1, 3, 0], np.int32),
        "val": np.array([1.0, 2.0, 3.0]),
    }


NARROW = Dense(SparseList(Element(0.0), index=np.int32, pointer=np.int32))


def test_buffers_are_used_without_a_copy():
    given = parts()
    tensor = Tensor.from_buffers(NARROW, (2, 4), given)
    assert tensor.to_numpy().tolist() == [[0, 1, 0, 2], [3, 0, 0, 0]]
    for name, array in tensor.buffers.items():
        assert np.shares_memory(array, given[name.split("_")[1]])
    given["val"][0] = 9.0
    assert tensor[0, 1] == 9.0


@pytest.mark.parametrize(
    ("name", "array", "message"),
    [
        ("ptr", [1, 2, 3], "ptr[0] is 1, and must be 0"),
        ("ptr", [0, 2, 1], "ptr[2] is 1, less than ptr[1], 2"),
        ("ptr", [0, 2], "ptr has 2 elements, and needs 3"),
        ("idx", [1, 4, 0], "idx[1] is 4, and not within the dimension, 4"),
        ("idx", [-1, 3, 0], "idx[0] is -1, and not within the dimension, 4"),
        ("idx", [3, 1, 0], "idx[1] is 1, not more than idx[0], 3"),
        ("idx", [1, 1, 0], "idx[1] is 1, not more than idx[0], 1"),
        ("idx", [1, 3], "idx has 2 elements, and needs 3"),
        ("val", [1.0, 2.0], "val has 2 elements, and needs 3"),
    ],
)
def test_malformed_buffers(name, array, message):
    given = parts()
    given[name] = np.array(array, given[name].dtype)
    with pytest.raises(FormatError) as error:
        Tensor.from_buffers(NARROW, (2, 4), given)
    depth, level = (2, "Element") if name == "val" else (1, "SparseList")
    assert error.value.message == f"level {depth} ({level}): {message}"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda p: p.pop("idx"), "the buffer 1_idx (the index of each stored subfiber) is missing"),
        (lambda p: p.update(extra=np.ones(1)), "the format has no buffers 'extra'"),
        (lambda p: p.update(idx=[1, 3, 0]), "the buffer idx is a list, not a NumPy array"),
        (
            lambda p: p.update(idx=p["idx"].astype(np.int64)),
            "the buffer idx has dtype int64, and the format wants int32",
        ),
        (
            lambda p: p.update(val=np.ones(6)[::2]),
            "the buffer val is not a contiguous, aligned array of one dimension",
        ),
    ],
)
def test_buffers_of_the_wrong_kind(change, message):
    given = parts()
    change(given)
    with pytest.raises(FormatError) as error:
        Tensor.from_buffers(NARROW, (2, 4), given)
    assert error.value.message == message


# -- SciPy ----------------------------------------------------------------------------------


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("make", [sp.csr_array, sp.csr_matrix])
def test_csr_is_used_without_a_copy(index, make):
    A = make(DATA)
    A.indices, A.indptr = A.indices.astype(index), A.indptr.astype(index)
    tensor = asarray(A)
    assert tensor.format == Dense(SparseList(Element(0.0), index=index, pointer=index))
    for name, array in (("1_ptr", A.indptr), ("1_idx", A.indices), ("2_val", A.data)):
        assert np.shares_memory(tensor.buffers[name], array)
    np.testing.assert_array_equal(tensor.to_numpy(), DATA)
    back = tensor.to_scipy()
    assert back.format == "csr"
    assert np.shares_memory(back.data, A.data)
    np.testing.assert_array_equal(back.toarray(), DATA)


def test_csc_is_a_swizzle_without_a_copy():
    A = sp.csc_array(DATA)
    seen = asarray(A)
    assert seen.shape == DATA.shape
    assert np.shares_memory(seen.tensor.buffers["2_val"], A.data)
    np.testing.assert_array_equal(seen.to_numpy(), DATA)
    np.testing.assert_array_equal(Tensor(CSR, A).to_numpy(), DATA)
    x = np.arange(4.0)
    np.testing.assert_allclose(spmv(Tensor(Dense(Element(0.0))), A, x).to_numpy(), A @ x)


@pytest.mark.parametrize("format", ["coo", "dok", "lil", "dia", "bsr", "csr", "csc"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.complex128, np.bool_])
def test_any_scipy_array_converts(format, dtype):
    A = sp.coo_array(DATA.astype(dtype)).asformat(format)
    for tensor in (asarray(A), Tensor(Dense(SparseList(Element(dtype(0)))), A)):
        assert tensor.dtype == dtype
        np.testing.assert_array_equal(tensor.to_numpy(), DATA.astype(dtype))


def test_unsorted_indices_and_duplicates():
    ptr, idx = np.array([0, 3, 4]), np.array([2, 0, 2, 1])
    A = sp.csr_array((np.array([1.0, 2.0, 4.0, 8.0]), idx, ptr), shape=(2, 3))
    np.testing.assert_array_equal(asarray(A).to_numpy(), [[2, 0, 5], [0, 8, 0]])
    assert idx.tolist() == [2, 0, 2, 1], "the array passed stays as it is"
    assert A.data.tolist() == [1, 2, 4, 8]
    coo = sp.coo_array((np.ones(3), ([1, 0, 1], [2, 2, 2])), shape=(2, 3))
    np.testing.assert_array_equal(asarray(coo).to_numpy(), [[0, 0, 1], [0, 0, 2]])


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0), (2, 2)])
@pytest.mark.parametrize("format", ["csr", "csc", "coo"])
def test_empty_scipy_arrays(shape, format):
    tensor = asarray(sp.coo_array(shape).asformat(format))
    assert tensor.shape == shape
    assert not tensor.to_numpy().any()


def test_one_dimension():
    A = sp.coo_array(DATA[0])
    tensor = asarray(A)
    assert tensor.ndim == 1
    np.testing.assert_array_equal(tensor.to_numpy(), DATA[0])
    np.testing.assert_array_equal(tensor.to_scipy().toarray(), DATA[0])


def test_a_scipy_array_that_changes_is_seen():
    A = sp.csr_array(DATA)
    x, y = np.ones(4), Tensor(Dense(Element(0.0)))
    assert spmv(y, A, x).to_numpy().tolist() == [3, 0, 7]
    A.data[:] = 1
    assert spmv(y, A, x).to_numpy().tolist() == [2, 0, 2]
    A.data = np.full(4, 2.0)
    assert spmv(y, A, x).to_numpy().tolist() == [4, 0, 4]
    A.resize((2, 4))
    assert spmv(y, A, x).to_numpy().tolist() == [4, 0]


@pytest.mark.parametrize("format", ["coo", "dok", "lil", "dia", "bsr", "csr", "csc"])
def test_every_scipy_array_that_changes_is_seen(format):
    A = sp.csr_array(DATA).asformat(format)
    np.testing.assert_array_equal(asarray(A).to_numpy(), DATA)
    if format in ("dok", "lil"):
        A[1, 0] = 5.0
    else:
        A.data *= 2
    np.testing.assert_array_equal(asarray(A).to_numpy(), A.toarray())


def test_a_scipy_array_with_duplicates_that_changes_is_seen():
    A = sp.csr_array((np.ones(3), np.array([1, 1, 0]), np.array([0, 2, 3])), shape=(2, 2))
    assert asarray(A).to_numpy().tolist() == [[0, 2], [1, 0]]
    A.data *= 3
    assert asarray(A).to_numpy().tolist() == [[0, 6], [3, 0]]
    A.sum_duplicates()
    assert asarray(A).to_numpy().tolist() == [[0, 6], [3, 0]]
    assert asarray(A).buffers["2_val"].ctypes.data == A.data.ctypes.data
    A.resize((2, 5))
    assert asarray(A).shape == (2, 5)


def test_a_structure_that_was_replaced_is_checked_again():
    A = sp.csr_array(DATA)
    first = asarray(A)
    A.indices = A.indices.copy()
    assert asarray(A) is not first
    A.indices = A.indices.copy()
    A.indices[3] = 9
    with pytest.raises(FormatError, match=r"idx\[3\] is 9, and not within the dimension, 4"):
        asarray(A)
    A = sp.csr_array(DATA)
    A.indptr = np.array([0, 5, 2, 4], A.indptr.dtype)
    with pytest.raises(FormatError, match="ptr"):
        asarray(A)


def test_a_scipy_array_that_grows_bad_is_refused():
    A = sp.csr_array(DATA)
    A.indices = np.array([1, 3, 0, 9], A.indices.dtype)
    with pytest.raises(FormatError, match=r"idx\[3\] is 9, and not within the dimension, 4"):
        asarray(A)


def test_other_formats_to_scipy():
    for format in formats(2, Element(0.0)):
        found = Tensor(format, DATA).to_scipy()
        assert found.format == "csr"
        assert found.nnz == 4
        np.testing.assert_array_equal(found.toarray(), DATA)
    cube = np.arange(8.0).reshape(2, 2, 2)
    found = Tensor(Dense(CSR), cube).to_scipy()
    np.testing.assert_array_equal(found.toarray(), cube)
    with pytest.raises(FormatError, match="the fill value is 1.0"):
        Tensor(SparseList(Element(1.0)), [1.0]).to_scipy()


def test_a_swizzle_converts_in_the_order_in_which_it_is_seen():
    seen = swizzle(Tensor(CSR, DATA), (1, 0))
    for format in formats(2, Element(0.0)):
        tensor = seen.to(format)
        validate(tensor)
        np.testing.assert_array_equal(tensor.to_numpy(), DATA.T)


@pytest.mark.parametrize("name", sorted(n for n, f in hub().levels.items() if not f.is_leaf))
def test_tensors_without_a_shape_share_no_memory(name: str) -> None:
    """What is copied for each new tensor of a format is as new."""
    made = [Tensor(hub().levels[name](Element(0.0))) for _ in range(3)]
    buffers = [b for tensor in made for b in tensor.arrays if b.size]
    for k, one in enumerate(buffers):
        assert not any(np.may_share_memory(one, other) for other in buffers[k + 1 :])
    for tensor in made[:2]:
        tensor.fill((4,))
        for buffer in tensor.arrays:
            buffer.view(np.uint8)[:] = 1
    last = Tensor(hub().levels[name](Element(0.0)))
    assert last.shape == (0,)
    assert last.is_sizeless
    assert last.to_numpy().tolist() == []
    validate(last)
