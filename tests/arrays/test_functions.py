"""Elementwise functions, reductions, products and `einsum` are NumPy's, on several formats."""

from __future__ import annotations

import inspect
import os
import warnings

import numpy as np
import pytest
from array_support import MATRICES, data, fa, held, same, tensor

from finch_array import reductions, remembered
from finch_array.run import prepared, run
from finch_core import DimensionMismatch, FormatError, PerformanceWarning, Tensor
from finch_core.errors import KernelSyntaxError, OutOfBounds
from finch_levels import Dense, Element, RunList, SparseList

NAMES = {
    "acos": "arccos", "asin": "arcsin", "atan": "arctan", "asinh": "arcsinh", "atanh": "arctanh",
    "abs": "abs", "ceil": "ceil", "conj": "conj", "cos": "cos", "cosh": "cosh", "exp": "exp",
    "expm1": "expm1", "floor": "floor", "isfinite": "isfinite", "isinf": "isinf", "isnan": "isnan",
    "log1p": "log1p", "logical_not": "logical_not", "negative": "negative", "positive": "positive",
    "round": "round", "sign": "sign", "signbit": "signbit", "sin": "sin", "sinh": "sinh",
    "sqrt": "sqrt", "square": "square", "tan": "tan", "tanh": "tanh", "trunc": "trunc",
    "log": "log", "log2": "log2", "log10": "log10", "reciprocal": "reciprocal",
}  # fmt: skip
BINARY = (
    "hypot copysign logaddexp maximum minimum nextafter logical_and logical_or logical_xor"
).split()
KINDS = ("rows", "runs", "bands", "hashes")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_functions_of_one_array(name):
    a = data((3, 4)) / 8
    for kind in ("rows", "runs"):
        same(getattr(fa, name)(tensor(a, MATRICES[kind])), getattr(np, NAMES[name])(a))


@pytest.mark.parametrize("name", BINARY)
def test_functions_of_two_arrays(name):
    a, b = data((3, 4), seed=1), data((3, 4), seed=2)
    for kind in ("rows", "dense"):
        A, B = tensor(a, MATRICES[kind]), tensor(b, MATRICES[kind])
        same(getattr(fa, name)(A, B), getattr(np, name)(a, b))


def test_choices_and_bounds():
    a, b = data((3, 4), seed=1), data((3, 4), seed=2)
    A, B = tensor(a, MATRICES["rows"]), tensor(b, MATRICES["bands"])
    same(fa.where(A > 1, A, B), np.where(a > 1, a, b))
    same(fa.where(A > 1, A, -1.0), np.where(a > 1, a, -1.0))
    same(fa.clip(A, 1, 2), a.clip(1, 2))
    same(fa.clip(A, max=2.0), a.clip(max=2.0))
    same(fa.round(A / 3, 1), np.round(a / 3, 1))
    assert bool(fa.all(fa.isclose(A, A)))


def test_python_functions_of_scalars():
    def soft(x, t):
        return np.sign(x) * max(np.absolute(x) - t, 0.0)

    a = data((3, 4))
    shrink = fa.elementwise_of(soft)
    same(shrink(tensor(a, MATRICES["rows"]), 1.5), np.sign(a) * np.maximum(abs(a) - 1.5, 0))
    assert shrink(tensor(a, MATRICES["rows"]), 1.5).fill_value == 0


def test_another_number_compiles_nothing():
    A = tensor(data((3, 4)), MATRICES["rows"])
    A + 1.5
    kernels = [kept.kernel for kept in fa.add._maps.values()]
    before = sum(kernel.stats()["signatures"] for kernel in kernels)
    for k in range(10):
        assert (A + (k + 0.25)).fill_value == k + 0.25
    assert sum(kernel.stats()["signatures"] for kernel in kernels) == before


REDUCED = ("sum", "prod", "max", "min", "any", "all", "mean", "var", "std", "argmax", "argmin")


@pytest.mark.parametrize("name", [*REDUCED, "count_nonzero"])
@pytest.mark.parametrize("kind", KINDS)
def test_reductions_over_each_axis(kind, name):
    a = held(data((4, 5), seed=3), MATRICES[kind])
    A = tensor(a, MATRICES[kind])
    for axis in (None, 0, 1, -1):
        same(getattr(fa, name)(A, axis=axis), getattr(np, name)(a, axis=axis))
        same(
            getattr(fa, name)(A, axis=axis, keepdims=True),
            getattr(np, name)(a, axis=axis, keepdims=True),
        )


@pytest.mark.parametrize("name", ["sum", "prod", "max", "min", "mean", "var"])
def test_fills_count_in_reductions(name):
    a = data((4, 5), fill=3)
    for levels in (("Dense", "SparseList"), ("SparseList", "SparseList")):
        A = tensor(a, levels, 3)
        for axis in (None, 0, 1):
            same(getattr(fa, name)(A, axis=axis), getattr(np, name)(a, axis=axis))
    assert fa.sum(tensor(a, ("SparseList", "SparseList"), 3), axis=1).fill_value == 15


@pytest.mark.parametrize("name", ["max", "min"])
def test_the_extremes_of_bools_are_not_those_of_numbers(name):
    for dtype in (bool, np.int8, np.float64, bool):
        a = data((3, 4), dtype)
        for kind in ("rows", "dense"):
            A = tensor(a, MATRICES[kind])
            same(getattr(fa, name)(A, axis=0), getattr(a, name)(0))
            same(getattr(fa, name)(A), getattr(a, name)())


@pytest.mark.parametrize("levels", [("RunList", "SparseList"), ("RunList", "Dense")])
def test_reductions_into_runs(levels):
    a = np.repeat(data((3, 4)), 2, axis=0)
    A = tensor(a, levels)
    for name in ("sum", "max", "min", "all", "prod"):
        same(getattr(fa, name)(A, axis=1), getattr(np, name)(a, axis=1))


def test_the_variance_of_more_half_floats_than_they_count():
    a = np.zeros(70_000, np.float16)
    a[::7] = 1.5
    found = fa.var(tensor(a, ("SparseList",)))
    assert found.dtype == np.float16
    assert float(found) == pytest.approx(float(np.var(a)), rel=1e-3)


def test_deviations_of_columns_walk_what_is_stored(monkeypatch):
    asked = []
    monkeypatch.setattr(reductions, "run", lambda *call: asked.append(call) or run(*call))
    monkeypatch.setattr(reductions, "spread", lambda *call: None)  # as it is of complex numbers
    A = tensor(np.eye(4), MATRICES["rows"])
    same(fa.std(A, axis=0), np.std(np.eye(4), axis=0))
    for key, request, operands in asked:
        ready, used = prepared(key, request(), operands)
        text = ready.kernel.lower(ready.blank(), *used).as_text("assembly")
        assert "+= 0.0" not in text, text
    assert [call[0][0] for call in asked] == ["sum", "var", "stored"]


def test_the_variance_of_one_element():
    for correction in (0, 1, 3):
        with np.errstate(all="ignore"):
            wanted = np.var(2.5) if correction == 0 else np.nan
        same(fa.var(fa.asarray(2.5), correction=correction), np.float64(wanted))


def test_the_dtype_of_sums():
    for dtype in (bool, np.int8, np.uint8, np.float32):
        a = data((3, 4), dtype)
        same(fa.sum(tensor(a, MATRICES["rows"]), axis=0), a.sum(0))
        same(fa.sum(tensor(a, MATRICES["rows"]), dtype=np.float64), a.sum(dtype=np.float64))


def test_reductions_of_nothing():
    A = Tensor(SparseList(Element(0.0)), (0,))
    assert float(fa.sum(A)) == 0
    assert float(fa.prod(A)) == 1
    assert not bool(fa.any(A))
    with pytest.raises(ValueError, match="max of no elements"):
        fa.max(A)


def test_long_sparse_dimensions_stay_sparse():
    rows = fa.from_coo(([5, 10**9], [3, 10**8]), [1.0, 2.0], (2 * 10**9, 10**9))
    for axis in (0, 1):
        found = fa.sum(rows, axis=axis)
        assert found.nstored == 2
        assert float(fa.sum(found)) == 3
    assert (rows + rows).nstored == 2
    if os.environ.get("FINCH_BACKEND") == "interpreter":  # it visits each row, slowly
        rows = fa.from_coo(([5, 10**3], [3, 10**8]), [1.0, 2.0], (2 * 10**3, 10**9))
    assert float(fa.max(fa.sum(rows + 1, axis=1))) == 1e9 + 2


# -- products ---------------------------------------------------------------------------------


@pytest.mark.parametrize("first", KINDS)
@pytest.mark.parametrize("second", ["rows", "dense", "blocks"])
def test_matrix_products(first, second):
    a = held(data((4, 5), seed=1), MATRICES[first])
    b = held(data((5, 3), seed=2), MATRICES[second])
    A, B = tensor(a, MATRICES[first]), tensor(b, MATRICES[second])
    same(A @ B, a @ b)
    same(B.T @ A.T, b.T @ a.T)
    same(A @ np.arange(5.0), a @ np.arange(5.0))
    same(np.arange(4.0) @ A, np.arange(4.0) @ a)
    same(A.T @ np.arange(4.0), a.T @ np.arange(4.0))


def test_products_of_stacks_and_vectors():
    a, b = data((2, 3, 4)), data((4, 5), seed=1)
    A, B = tensor(a, ("Dense", "SparseList", "SparseList")), tensor(b, MATRICES["rows"])
    same(A @ B, a @ b)
    same(fa.tensordot(A, B, axes=1), np.tensordot(a, b, 1))
    same(fa.tensordot(A, B, axes=([2], [0])), np.tensordot(a, b, ([2], [0])))
    same(fa.vecdot(A, A), np.vecdot(a, a))
    same(fa.outer(A[0, 0], B[0]), np.outer(a[0, 0], b[0]))
    same(fa.kron(B, B), np.kron(b, b))
    same(fa.linalg.trace(A[0, :3, :3]), np.trace(a[0, :3, :3]))
    same(fa.linalg.diagonal(B, offset=1), np.diagonal(b, 1))
    same(fa.norm(B), np.linalg.norm(b))
    same(fa.linalg.matrix_norm(B, ord=1), np.linalg.norm(b, 1))
    same(fa.linalg.matrix_power(B[:, :4], 3), np.linalg.matrix_power(b[:, :4], 3))


def test_decompositions_refuse_sparse_matrices():
    A = tensor(np.eye(3), MATRICES["rows"])
    with pytest.raises(FormatError, match="cholesky is of dense arrays"):
        fa.linalg.cholesky(A)
    same(fa.linalg.inv(tensor(np.eye(3) * 2, MATRICES["dense"])), np.eye(3) / 2)


@pytest.mark.parametrize(
    "text", ["ij,kj->ik", "ij,ij->", "ij,ij->ij", "ij,kl->il", "ij,kj", "ij,ij->j"]
)
def test_einsum_by_subscripts(text):
    a, b = data((3, 4), seed=1), data((3, 4), seed=2)
    A, B = tensor(a, MATRICES["rows"]), tensor(b, MATRICES["runs"])
    same(fa.einsum(text, A, B), np.einsum(text, a, b))
    same(np.einsum(text, A, B), np.einsum(text, a, b))


def test_einsum_of_one_array_and_of_three():
    a = data((4, 4))
    A = tensor(a, MATRICES["rows"])
    for text in ("ij->ji", "ij->j", "ii->i", "ii", "...j->...", "ij"):
        same(fa.einsum(text, A), np.einsum(text, a))
    same(fa.einsum("ij,jk,ki->", A, A, A), np.einsum("ij,jk,ki->", a, a, a))


def test_einsum_of_statements():
    a, b = data((3, 4), seed=1), data((4, 5), seed=2)
    A, B = tensor(a, MATRICES["rows"]), tensor(b, MATRICES["rows"])
    far = (a[:, :, None] + b[None]).min(1)
    same(fa.einsum("C[i,j] min= A[i,k] + B[k,j]", A=A, B=B), far)
    same(fa.einsum("y[i] += A[i,j] if A[i,j] > s else 0", A=A, s=2), np.where(a > 2, a, 0).sum(1))
    same(fa.einsum("C[j,i] = -A[i,j] ** 2", A=A), -(a.T**2))
    same(fa.einsum("s[] max= sqrt(abs(A[i,j]))", A=A), np.sqrt(a).max())
    same(fa.einsum("y[i] or= 1 < A[i,j] <= 3", A=A), ((a > 1) & (a <= 3)).any(1))
    same(fa.einsum("C[i,j] = A[i,j] or False", A=A), np.logical_or(a, False))
    same(fa.einsum("C[i,j] = not (A[i,j] and True)", A=A), ~np.logical_and(a, True))

    def double(x):
        return 2 * x

    twice = fa.einsum("y[i] += f(A[i,j])", A=A, f=double)
    same(twice, 2 * a.sum(1))


@pytest.mark.parametrize("lazily", [False, True])
@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.bool_, np.float32])
def test_statements_add_and_multiply_in_the_dtypes_of_sum_and_prod(dtype, lazily):
    a = (data((3, 4)) * 20).astype(dtype)
    A = fa.asarray(a, format=Dense(SparseList(Element(dtype(0)))))
    X = fa.lazy(A) if lazily else A
    for text, wanted in (
        ("C[i] += A[i,k] != 0", (a != 0).sum(1)),
        ("C[i] *= A[i,k] == 0", (a == 0).prod(1)),
        ("C[i] += A[i,k]", a.sum(1)),
        ("C[k,i] += A[i,k]", a.T.sum(axis=())),
        ("C[i] add= A[i,k] * A[i,k]", (a * a).sum(1)),
        ("C[] *= A[i,k]", a.prod()),
        ("C[()] += A[i,k] != 0", (a != 0).sum()),
        ("C[i,j] += (A[i,k] != 0) * (A[j,k] != 0)", (a != 0).astype(int) @ (a.T != 0)),
        ("C[i] max= A[i,k]", a.max(1)),
        ("C[i] |= A[i,k] != 0", (a != 0).any(1)),
    ):
        found = fa.compute(fa.einsum(text, A=X))
        assert found.dtype == wanted.dtype, text
        same(found, wanted)
    assert fa.einsum("ik->i", A).dtype == np.einsum("ik->i", a).dtype


@pytest.mark.parametrize(
    "text", ["C[i,j] = A[i,k]", "C[i] += Z[i]", "C[i] += A[i,j]:", "C[i] nope= A[i,j]", "ij->k"]
)
def test_what_is_no_einsum(text):
    A = tensor(data((3, 4)), MATRICES["rows"])
    with pytest.raises(SyntaxError):
        fa.einsum(text, *(() if "=" in text else (A,)), **({"A": A} if "=" in text else {}))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("C += A[i,k]", r"is no statement: .* 'C\[\] \+= A\[i,k\]' for one number"),
        ("[i] += [i,k]", "is no statement"),
        ("A[i,k]", "is no statement"),
        ("C[i] == A[i,k]", "is no statement"),
        ("C[...] += A[i,k]", "the indices of the result are names, and '...' is not"),
        ("C[0] += A[i,k]", "the indices of the result are names, and '0' is not"),
        ("C[i] += [i,k]", r"\[i, k\] lacks the name of an array"),
        ("C[i] += A[i,0]", "indices are names, and '0' is not"),
        ("C[j] += A[i,k]", "no array has the index 'j'"),
        ("C[i,i] += A[i,k]", "has the index 'i' twice"),
    ],
)
def test_statements_that_are_refused_say_what_to_write(text, told):
    with pytest.raises(SyntaxError, match=told):
        fa.einsum(text, A=tensor(data((3, 4)), MATRICES["rows"]))
    with pytest.raises(TypeError, match="are named: einsum"):
        fa.einsum("C[i] += A[i,k]", np.ones((3, 4)))


def test_sizes_that_disagree():
    A = tensor(data((3, 4)), MATRICES["rows"])
    with pytest.raises(DimensionMismatch):
        fa.einsum("ij,ij->", A, A[:2])
    with pytest.raises(DimensionMismatch):
        fa.einsum("C[i] += A[i]", A=A)


def test_a_large_dense_result_is_told():
    A = Tensor(Dense(SparseList(Element(0.0))), (5000, 4000))
    x, y = np.ones(5000), np.ones(4000)
    with pytest.warns(PerformanceWarning, match=r"the result of einsum is dense: \(5000, 4000\)"):
        fa.einsum("C[i,j] = A[i,j] + x[i] + y[j]", A=A, x=x, y=y)


def test_a_row_added_to_a_sparse_matrix_is_not_repeated():
    A = fa.random((5000, 4000), 1e-5, rng=0)
    found = A + np.ones(4000)
    assert found.nnz < 3 * (A.nstored + 4000)
    same(fa.sum(found, axis=1), A.to_numpy().sum(1) + 4000)


def test_sums_of_runs_visit_runs():
    runs = Tensor(RunList(Element(0.0)), np.repeat([1.0, 2.0], 10**6))
    assert float(fa.sum(runs)) == 3e6
    assert float(fa.sum(runs * runs + 1)) == 7e6


def test_elementwise_functions_have_the_parameters_of_the_standard():
    for name, names in {"add": ["x1", "x2"], "sin": ["x"], "expm1": ["x"]}.items():
        parameters = inspect.signature(getattr(fa, name)).parameters.values()
        assert [p.name for p in parameters] == names
        assert all(p.kind is p.POSITIONAL_ONLY for p in parameters)


def test_bools_are_rounded_to_the_floats_of_numpy():
    a = data((3, 4), bool)
    same(np.round(tensor(a, MATRICES["rows"])), np.round(a))


def test_diagonals_far_outside_are_empty():
    for k in (2**63, -(2**63), 5, -5):
        assert fa.eye(3, 4, k=k).nstored == 0
    same(fa.eye(3, 4, k=-2), np.eye(3, 4, k=-2))


def test_the_only_element_is_a_python_number():
    A = tensor(np.array([[0.0, 2.5]]), ("Dense", "SparseList"))
    assert type(fa.sum(A).item()) is float
    assert fa.sum(fa.lazy(A)).item() == 2.5
    assert A[:, 1:].item() == A.item(0, 1) == A.item((0, 1)) == 2.5
    assert A.item(0, 0) == A.item(0) == 0.0
    assert A.item(1) == A.item(-1) == 2.5
    with pytest.raises(OutOfBounds, match="index 2 is out of bounds for 2 elements"):
        A.item(2)
    with pytest.raises(ValueError, match="no single value"):
        A.item()


def test_coordinates_are_integers_and_as_many_as_the_values():
    with pytest.raises(TypeError, match="the coordinates of dimension 0 are float64, not integers"):
        fa.from_coo(([0.0, 1.5], [1, 1]), [1.0, 2.0], (3, 3))
    with pytest.raises(DimensionMismatch, match=r"have shapes \(1,\) and \(2,\), not one length"):
        fa.from_coo(([0], [1, 1]), [1.0, 2.0], (3, 3))
    with pytest.raises(DimensionMismatch, match="1 arrays of coordinates for 2 dimensions"):
        fa.from_coo(([0, 1],), [1.0, 2.0], (3, 3))
    assert fa.from_coo(([], []), np.zeros(0), (3, 3)).nstored == 0


def test_an_array_that_a_statement_does_not_read_is_refused():
    A = np.eye(3)
    with pytest.raises(TypeError, match=r"'A\[i,i\]' does not read B"):
        fa.einsum("y[i] = A[i,i]", A=A, B=A)


def test_a_name_that_is_close_to_another_is_told_by_tracebacks():
    with pytest.raises(
        AttributeError, match="module 'finch_array' has no attribute 'summ'"
    ) as error:
        _ = fa.summ
    assert (error.value.name, error.value.obj) == ("summ", fa)


def test_products_with_arrays_of_numpy_are_remembered(monkeypatch):
    monkeypatch.setenv("FINCH_DRAFTS", "0")
    a = data((3, 4)).astype(float)
    A = tensor(a, MATRICES["rows"])
    vectors = [np.arange(4.0) + k for k in range(4)]
    kept = [A @ x for x in vectors]
    assert remembered.recall(remembered.key_of(A, vectors[0])) is not None
    for x, found in zip(vectors, kept, strict=True):  # each has memory of its own
        same(found, a @ x)
        same((x[:3] + 1) @ A, (x[:3] + 1) @ a)
        same(A @ np.stack([x, -x], axis=1), a @ np.stack([x, -x], axis=1))
    for other in (np.arange(8.0)[::2], np.arange(4), np.arange(4, dtype=np.float32)):
        same(A @ other, a @ other)
    with pytest.raises(DimensionMismatch):
        A @ np.ones(5)
    B = tensor(np.concatenate([a, a]), MATRICES["rows"])
    same(B @ vectors[1], np.concatenate([a, a]) @ vectors[1])


def test_parameters_of_functions_of_scalars_have_names_and_defaults():
    def scaled(x, y, by=2.0, *, shift=0.0):
        return (x + y) * by + shift

    function = fa.elementwise_of(scaled)
    a = data((3, 4), np.float64)
    A = tensor(a, MATRICES["rows"])
    same(function(A, A), (a + a) * 2)
    same(function(A, y=1.0, by=3.0), (a + 1) * 3)
    same(function(y=A, x=2.0, shift=1.0), (a + 2) * 2 + 1)
    same(function(1.0, 2.0), np.float64(6))
    same(function(A, 0.0, A), a * a)


def test_what_cannot_be_inlined_is_told_when_the_function_is_made():
    def looped(x):
        while x > 1:
            x = x / 2
        return x

    with pytest.raises(KernelSyntaxError):
        fa.elementwise_of(looped)
    with pytest.raises(TypeError, match="no operator for divmod"):
        fa.elementwise_of(np.divmod)


def test_fills_beyond_all_numbers_enter_the_variance_of_rows_that_have_them():
    s = np.array([[0, 1.0, 0, 2], [np.inf, 1, 2, 3], [np.nan, np.nan, 2, -1]])
    for fill in (np.inf, -np.inf, 1e200, -1.0):
        x = np.where(np.isinf(s), fill, s)
        A = fa.asarray(x, format=Dense(SparseList(Element(fill))))
        for axis in (None, 0, 1):
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)
                wanted = np.nanvar(x, axis)
            np.testing.assert_allclose(np.asarray(np.nanvar(A, axis)), wanted)


@pytest.mark.parametrize("fill", [0.0, 2.5, np.inf, np.nan, 1 + 2j], ids=str)
@pytest.mark.parametrize("axis", [0, 1, 2, (0, 2)])
def test_variances_of_lists_of_lists_need_no_kernel_that_merges_their_parts(
    fill, axis, monkeypatch
):
    rng = np.random.default_rng(5)
    x = np.where(rng.random((7, 8, 9)) < 0.03, rng.random((7, 8, 9)), fill)
    A = fa.asarray(x, format=SparseList(SparseList(SparseList(Element(fill)))))
    if fill == 0:
        monkeypatch.setattr(reductions, "_of_sparse", None)  # no kernel merges them
    for correction in (0, 1, 8):
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            for name in ("var", "std"):
                wanted = getattr(np, name)(x, axis=axis, ddof=correction)
                found = getattr(fa, name)(A, axis=axis, correction=correction)
                assert found.dtype == wanted.dtype
                np.testing.assert_allclose(np.asarray(found), wanted, atol=1e-15)


def test_zeros_of_both_signs_keep_their_order():
    z = np.array([[0.0, -0.0, 1.0, -0.0, 0.0, -1.0] * 30])
    found = fa.sort(fa.asarray(z), axis=1).to_numpy()
    np.testing.assert_array_equal(np.signbit(found), np.signbit(np.sort(z, kind="stable")))


@pytest.mark.parametrize(
    "name",
    "sum prod min max any all mean var std count_nonzero argmax argmin sort argsort flip".split(),
)
def test_the_axis_may_be_given_by_its_place(name):
    """As in NumPy; in the standard it has a name alone."""
    a = data((3, 4), float)
    A = tensor(a, MATRICES["rows"])
    for axis in (0, 1):
        same(getattr(fa, name)(A, axis), getattr(np, name)(a, axis))


def test_other_arguments_that_numpy_takes_by_place():
    a = data((3, 4), float)
    A = tensor(a, MATRICES["rows"])
    for name, args in {
        "take": ([2, 0], 1), "repeat": (2, 0), "roll": (1, 1), "tril": (1,), "triu": (-1,),
        "diff": (2, 0), "take_along_axis": (np.array([[0, 1, 2, 0]]), 0),
    }.items():  # fmt: skip
        same(getattr(fa, name)(A, *args), getattr(np, name)(a, *args))
    same(fa.concat([A, A], 1), np.concat([a, a], 1))
    same(fa.stack([A, A], 1), np.stack([a, a], 1))
    same(fa.tensordot(A, A.T, 1), np.tensordot(a, a.T, 1))
    same(fa.eye(3, 4, 1), np.eye(3, 4, 1))
