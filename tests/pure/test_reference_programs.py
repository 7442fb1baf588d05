"""The reference against NumPy, one program for each thing that it models."""

import math

import attrs
import numpy as np
import pytest

from finch_core.errors import DimensionMismatch, OutOfBounds
from finch_core.frontend import parse
from finch_core.frontend.functions import choose, maxby, minby
from finch_core.ir.missing import coalesce, missing
from finch_core.reference.run import run

PAIR = np.dtype([("f0", "f8"), ("f1", "i8")], align=True)
rng = np.random.default_rng(7)


@attrs.frozen
class Leaf:
    """As much of a format as a local needs here."""

    dtype: np.dtype
    ndim: int
    fill_value: object


class Local:
    """A temporary, as ``Tensor(fmt)`` and ``Scalar(fill)`` make one."""

    __finch_local__ = True

    def __init__(self, fill, ndim=0, shape=None):
        self.fill_value = np.asarray(fill)[()]
        self.format, self.shape = (
            Leaf(self.fill_value.dtype, ndim, self.fill_value),
            shape or (0,) * ndim,
        )
        self.is_sizeless = shape is None


def call(function, **values):
    """Run a kernel: all values by name."""
    program = parse(function)
    return run(program, values, {name: globals()[name] for name in program.free})


def test_spmv():
    def spmv(y, A, x):
        y[...] = 0
        for i, j in _:
            y[i] += A[i, j] * x[j]
        return y

    A, x = rng.random((5, 4)), rng.random(4)
    result = call(spmv, y=np.zeros(0), A=A, x=x)
    assert list(result) == ["y"]
    np.testing.assert_allclose(result["y"], A @ x, rtol=1e-15)


def test_matmul():
    def matmul(C, A, B):
        C[...] = 0
        for i, k, j in _:
            C[i, j] += A[i, k] * B[k, j]
        return C

    A, B = rng.integers(0, 9, (3, 4)), rng.integers(0, 9, (4, 2))
    result = call(matmul, C=np.zeros((0, 0), int), A=A, B=B)["C"]
    np.testing.assert_array_equal(result, A @ B, strict=True)


def test_the_arguments_are_left_alone():
    def double(y):
        for i in _:
            y[i] *= 2

    y = np.arange(3.0)
    np.testing.assert_array_equal(call(double, y=y)["y"], [0, 2, 4])
    np.testing.assert_array_equal(y, [0, 1, 2])


def test_a_stencil_with_permissive_reads():
    def stencil(y, x):
        y[...] = 0
        for i in _:
            y[i] = coalesce(x[~(i - 1)], 0) + x[i] + coalesce(x[~(i + 1)], missing, 10)
        return y

    x = np.arange(1.0, 5.0)
    np.testing.assert_array_equal(call(stencil, y=np.zeros(0), x=x)["y"], [3, 6, 9, 17])


def test_arithmetic_on_missing_is_missing():
    def kernel(y, x):
        for i in _:
            z = 2 * x[~(i - 1)] + 1
            y[i] = coalesce(-z if i < 5 else missing, 100)

    result = call(kernel, y=np.zeros(2), x=np.array([3.0, 4.0]))
    np.testing.assert_array_equal(result["y"], [100, -7])


def test_an_update_with_missing_is_refused():
    def kernel(y, x):
        for i in _:
            y[i] += x[~(i + 1)]

    with pytest.raises(TypeError, match="an update with missing"):
        call(kernel, y=np.zeros(2), x=np.zeros(2))


def test_a_shift_moves_the_extent():
    def kernel(y, x):
        for i in _:
            y[i - 2] = x[i - 2]

    np.testing.assert_array_equal(call(kernel, y=np.zeros(3), x=np.arange(3.0))["y"], [0, 1, 2])


def test_an_index_that_writes_does_not_begin_below_zero():
    def kernel(y, x):
        y[...] = 0
        for i in _:
            y[i] = x[i + 2]

    found = call(kernel, y=np.zeros(0), x=np.arange(5.0))["y"]
    np.testing.assert_array_equal(found, [2, 3, 4])
    with pytest.raises(DimensionMismatch, match="the index 'i' has ranges"):
        run(parse(kernel), {"y": np.zeros(5), "x": np.arange(5.0)}, resize=False)


def test_a_convolution_reads_sums_of_indices():
    def convolve(y, x, w):
        y[...] = 0
        for i in range(3):
            for j in _:
                y[i] += x[i + j] * w[j]

    x, w = rng.integers(0, 9, 5), rng.integers(0, 9, 3)
    result = call(convolve, y=np.zeros(0, int), x=x, w=w)["y"]
    np.testing.assert_array_equal(result, np.correlate(x, w, "valid"))


def test_gather_and_scatter():
    def kernel(y, z, x, index):
        y[...] = 0
        for i in _:
            y[index[i]] += x[i]
            z[i] = x[index[i]]

    index, x = np.array([2, 0, 2]), np.array([1.0, 2.0, 4.0])
    result = call(kernel, y=np.zeros(4), z=np.zeros(3), x=x, index=index)
    np.testing.assert_array_equal(result["y"], [2, 0, 5, 0])
    np.testing.assert_array_equal(result["z"], [4, 1, 4])


@pytest.mark.parametrize("index", [-1, 3])
def test_a_gather_out_of_bounds(index):
    def kernel(y, x, index):
        for i in _:
            y[i] = x[index[i]]

    with pytest.raises(OutOfBounds, match="outside a dimension of 3"):
        call(kernel, y=np.zeros(1), x=np.zeros(3), index=np.array([index]))


def test_minby_keeps_the_first_on_ties():
    def kernel(m, n, A):
        m[...] = (math.inf, -1)
        n[...] = (-math.inf, -1)
        for i in _:
            m[()] = minby(m[()], (A[i], i))
            n[()] = maxby(n[()], (A[i], i))
        return m, n

    m = np.array((0, 0), PAIR)
    result = call(kernel, m=m, n=m, A=np.array([3.0, 1.0, 4.0, 1.0, 4.0]))
    assert result["m"].item() == (1.0, 1)
    assert result["n"].item() == (4.0, 2)


def test_a_variable_keeps_a_tuple_that_changes_later():
    def kernel(y, m):
        t = m[()]
        m[()] = (5.0, 5)
        y[()] = t[0] + t[1]

    result = call(kernel, y=np.array(0.0), m=np.array((1, 2), PAIR))
    assert result["y"] == 3


def test_choose():
    def kernel(s, A):
        for i in _:
            s[()] = choose(0)(s[()], A[i])

    assert call(kernel, s=np.array(0), A=np.array([0, 0, 7, 8]))["s"] == 7


def test_locals_start_anew_where_they_are_made():
    def kernel(y, A):
        y[...] = 0
        for i in _:
            w = Local(0.0, 1)
            t = Local(1)
            for j in _:
                w[j] += A[i, j]
                t[()] += 1
            for j in _:
                y[i] += w[j] * t[()]
        return y

    A = rng.random((3, 4))
    np.testing.assert_allclose(call(kernel, y=np.zeros(0), A=A)["y"], 5 * A.sum(1))


def test_a_local_that_is_returned():
    def kernel(A):
        w = Local(0.0, 1)
        for i in _:
            w[i] = A[i]
        return w

    np.testing.assert_array_equal(call(kernel, A=np.arange(3.0))["w"], [0, 1, 2])


def test_a_local_with_a_shape_gives_extents():
    def kernel(s):
        w = Local(2.0, 1, (3,))
        for i in _:
            s[()] += w[i]

    assert call(kernel, s=np.array(0.0))["s"] == 6


def test_branches():
    def kernel(y, A):
        for i in _:
            if A[i] > 3:
                y[i] = 1
            elif 1 < A[i] <= 2 or i == 0:
                y[i] = 2
            else:
                y[i] = 3

    result = call(kernel, y=np.zeros(5), A=np.array([0, 1, 2, 3, 4]))
    np.testing.assert_array_equal(result["y"], [2, 3, 2, 3, 1])


def test_only_the_chosen_branch_is_evaluated():
    def kernel(y, A):
        for i in range(4):
            y[i] = A[i] if i < 2 and A[i] > 0 else -1

    np.testing.assert_array_equal(
        call(kernel, y=np.zeros(4), A=np.array([1, 0]))["y"], [1, -1, -1, -1]
    )


def test_triangular_ranges_and_redeclared_outputs():
    def kernel(y, n):
        y[...] = 0
        for i in range(n):
            y[i] = 1
        y[...] = 0
        for i in range(n + 1):
            for j in range(i, n):
                y[i] += j

    np.testing.assert_array_equal(call(kernel, y=np.zeros(0, int), n=3)["y"], [3, 3, 2, 0])


@pytest.mark.parametrize("first", ["?", "i1", "u1", "i4", "u8", "f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("second", ["?", "i1", "u1", "i4", "u8", "f4", "f8", "c8", "c16"])
def test_promotion_is_that_of_numpy(first, second):
    def kernel(y, a, b):
        y[()] = a[()] * b[()] + a[()]

    a, b = (np.array(200).astype(t) for t in (first, second))
    with np.errstate(all="ignore"):
        expected = a[()] * b[()] + a[()]
    result = call(kernel, y=np.zeros((), expected.dtype), a=a, b=b)["y"]
    assert result == expected


def test_weak_numbers_follow_the_other_operand():
    def kernel(y, x, n):
        for i in _:
            y[i] = (x[i] + n) * 2 + i

    x = np.array([250, 251], np.uint8)
    expected = (x + 3) * 2 + np.arange(2, dtype=np.uint8)
    result = call(kernel, y=np.zeros(2), x=x, n=3)["y"]
    np.testing.assert_array_equal(result, expected.astype(float))


def test_integer_division_floors():
    def kernel(y, z, a, b):
        for i in _:
            y[i] = a[i] // b[i]
            z[i] = a[i] % b[i]

    a, b = np.array([7, -7, 7, -7, 5]), np.array([2, 2, -2, -2, 0])
    result = call(kernel, y=np.zeros(5, int), z=np.zeros(5, int), a=a, b=b)
    np.testing.assert_array_equal(result["y"], [3, -4, -4, 3, 0])
    np.testing.assert_array_equal(result["z"], [1, 1, -1, -1, 0])


def test_rounding_gives_integers_as_in_python():
    def kernel(y, x):
        for i in _:
            y[i] = round(x[i]) * 10 + math.floor(x[i])

    x = np.array([0.5, 1.5, -1.2])
    expected = [round(v) * 10 + math.floor(v) for v in x]
    np.testing.assert_array_equal(call(kernel, y=np.zeros(3, int), x=x)["y"], expected)


def test_an_extent_that_nothing_fixes():
    def kernel(y):
        for i in _:
            y[()] += i

    with pytest.raises(DimensionMismatch, match="the index 'i' has no range"):
        call(kernel, y=np.zeros(()))


def test_a_declared_output_that_nothing_sizes_keeps_its_own():
    def kernel(y):
        y[...] = 0
        for i in _:
            y[i] = i

    np.testing.assert_array_equal(call(kernel, y=np.ones(3))["y"], [0, 1, 2])


def test_a_later_loop_sizes_an_output_for_an_earlier_one():
    def kernel(y, x):
        y[...] = 0
        for i in _:
            y[i] = 1
        for i in _:
            y[i] += x[i]

    np.testing.assert_array_equal(call(kernel, y=np.zeros(0), x=np.arange(3))["y"], [1, 2, 3])


def test_ranges_size_an_output_to_the_longest():
    def kernel(y):
        y[...] = 7
        for i in range(1, 2):
            y[i] = 1
        for i in range(3):
            y[i + 1] += 2

    np.testing.assert_array_equal(call(kernel, y=np.zeros(0))["y"], [7, 3, 9, 9])


def test_dimensions_that_disagree():
    def kernel(y, x):
        for i in _:
            y[i] = x[i]

    with pytest.raises(DimensionMismatch, match="the index 'i' has ranges"):
        call(kernel, y=np.zeros(3), x=np.zeros(4))


def test_a_wrong_number_of_indices():
    def kernel(y, x):
        for i in _:
            y[i] = x[i, i]

    with pytest.raises(DimensionMismatch, match="'x' has 1 dimensions, not 2"):
        call(kernel, y=np.zeros(3), x=np.zeros(3))


weights = np.array([1.0, 10.0])
factor = 3


def test_free_names():
    def kernel(y):
        for i in _:
            y[i] = factor * weights[i]

    np.testing.assert_array_equal(call(kernel, y=np.zeros(2))["y"], [3, 30])


def test_a_shift_by_a_narrow_number_is_a_gather() -> None:
    """The index takes the number's width and may wrap, so that it fixes no extent."""

    def shifted(s, a, b, c):
        for i in _:
            s[()] += a[i] * b[i + c]

    values = [np.zeros(()), np.ones(4), np.ones(6)]
    assert run(parse(shifted), dict(zip("sabc", (*values, np.uint8(2)), strict=True)), {})["s"] == 4
    with pytest.raises(DimensionMismatch, match="ranges"):
        run(parse(shifted), dict(zip("sabc", (*values, 2), strict=True)), {})
