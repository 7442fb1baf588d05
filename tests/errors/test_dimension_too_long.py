import numpy as np
import pytest

from finch_core import FormatError, Tensor, _, kernel
from finch_core.errors import IndexOverflow, OutOfMemory
from finch_core.interface.abi import MOST_INDICES
from finch_core.runtime.convert import from_coordinates
from finch_levels import Dense, Element, RunList, SparseByteMap, SparseList, SparsePinpoint

VECTOR = SparseList(Element(0.0))


@kernel
def squares(y, n):
    y[...] = 0
    for i in range(n):
        y[i] = i * i
    return y


@kernel
def total(s, A):
    s[...] = 0
    for i in _:
        s[()] += A[i]
    return s


def test_dimension_too_long():
    with pytest.raises(IndexOverflow) as error:
        Tensor(VECTOR, (2**63 - 1,))
    expected = """\
a dimension of 9223372036854775807 is too long: a tensor has at most 4611686018427387904 indices
  hint: split the dimension in two"""
    assert str(error.value) == expected


@pytest.mark.parametrize("n", [2**62 + 1, 2**63 - 1, 2**63, 2**64 - 1, 2**64, 10**30])
def test_every_way_to_a_dimension(n):
    parts = {"0_ptr": np.array([0, 2]), "0_idx": np.array([1, 5]), "1_val": np.ones(2)}
    for make in (
        lambda: Tensor(VECTOR, (n,)),
        lambda: Tensor(VECTOR).fill((n,)),
        lambda: Tensor.from_buffers(VECTOR, (n,), parts),
        lambda: from_coordinates(VECTOR, (n,), [[1, 5]], [1.0, 2.0]),
    ):
        with pytest.raises(IndexOverflow, match="is too long"):
            make()


@pytest.mark.parametrize("size", [2.5, "3", None, True])
def test_what_is_no_dimension(size):
    with pytest.raises(FormatError, match="a dimension is an integer, not"):
        Tensor.from_buffers(VECTOR, (size,), {})


@pytest.mark.parametrize("backend", ["interpreter", None])
@pytest.mark.parametrize("level", [Dense, RunList, SparseByteMap, SparseList, SparsePinpoint])
def test_a_range_that_is_too_long(backend, level):
    run = kernel(backend=backend)(squares.__wrapped__)
    for n in (2**62 + 1, 2**63 - 1):
        y = Tensor(level(Element(0.0)), (3,))
        assert f"y would have {n} indices" in refusal_of_range(run, y, n)
        assert y.shape == (3,)


def refusal_of_range(run, y, n):
    with pytest.raises(IndexOverflow) as error:
        run(y, n)
    return str(error.value)


@pytest.mark.parametrize("backend", ["interpreter", None])
def test_the_longest_dimension(backend):
    from finch_levels import Scalar

    n = MOST_INDICES
    parts = {
        "0_ptr": np.array([0, 2]),
        "0_idx": np.array([1, n - 1]),
        "1_val": np.array([3.0, 4.0]),
    }
    tensor = Tensor.from_buffers(VECTOR, (n,), parts)
    run = kernel(backend=backend)(total.__wrapped__)
    assert run(Scalar(0.0), tensor).value == 7
    for level in (SparsePinpoint, RunList):
        assert run(Scalar(0.0), Tensor(level(Element(0.0)), (n,))).value == 0


@pytest.mark.parametrize("lower", [Dense, RunList, SparseList, SparseByteMap, SparsePinpoint])
def test_rows_beyond_all_memory(lower):
    n = MOST_INDICES
    A = from_coordinates(SparseList(VECTOR), (n, 3), [[0, n - 1], [0, 2]], [1.0, 2.0])
    with pytest.raises(OutOfMemory):
        Tensor(Dense(lower(Element(0.0))), A)
