"""Tensors among SciPy, networkx, pandas, xarray, scikit-learn and torch."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse.linalg as linalg
import xarray as xr
from sklearn import linear_model as models

import finch_array as fa
from finch_array.interop import libraries
from finch_core import Tensor, _, asarray, kernel
from finch_core.errors import FormatError
from finch_levels import Dense, Element, RunList, SparseList

CSR = Dense(SparseList(Element(0.0)))


def plain(seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    return np.where(rng.random((6, 6)) < 0.4, rng.random((6, 6)), 0)


def test_a_library_that_is_not_installed_is_named_with_its_command() -> None:
    with pytest.raises(FormatError, match="no_such_library is not installed") as error:
        libraries.library("no_such_library.part", "torch")
    assert 'python -m pip install "finch-python[torch]"' in str(error.value)


# -- SciPy ------------------------------------------------------------------------------------


@pytest.mark.parametrize("format", [CSR, Dense(RunList(Element(0.0))), None], ids=str)
def test_solvers_of_scipy_take_tensors(format: Any) -> None:
    array = plain() + 10 * np.eye(6)
    positive = array @ array.T
    A, P = fa.asarray(array, format=format), fa.asarray(positive, format=format)
    b = np.arange(6.0)
    operator = linalg.aslinearoperator(A)
    assert np.allclose(operator @ b, array @ b)
    assert np.allclose(operator.H @ b, array.T @ b)
    assert np.allclose(operator @ np.eye(6), array)
    for solver in (linalg.cg, linalg.gmres, linalg.bicgstab):
        found, failed = solver(P, b, rtol=1e-10)
        assert not failed
        assert np.allclose(positive @ found, b)
    assert np.allclose(linalg.eigsh(P, k=2)[0], np.linalg.eigvalsh(positive)[-2:])
    assert np.allclose(sorted(linalg.svds(A, k=2)[1]), np.linalg.svd(array)[1][1::-1])
    assert np.allclose(linalg.lsqr(A, b, atol=1e-12, btol=1e-12)[0], np.linalg.solve(array, b))


def test_the_adjoint_of_a_complex_tensor_is_conjugated() -> None:
    array = plain() + 1j * plain(1)
    operator = linalg.aslinearoperator(fa.asarray(array))
    assert np.allclose(operator.H @ np.ones(6), array.conj().T @ np.ones(6))


def test_tensors_are_over_the_memory_of_scipy_arrays() -> None:
    A = fa.asarray(plain(), format=CSR)
    assert np.shares_memory(A.to_scipy_sparse().data, A.buffers["2_val"])
    turned = A.T.to_scipy_sparse()
    assert turned.format == "csc"
    assert np.shares_memory(turned.data, A.buffers["2_val"])
    assert np.array_equal(Tensor.from_scipy_sparse(turned).to_numpy(), A.to_numpy().T)
    runs = fa.asarray(plain(), format=Dense(RunList(Element(0.0))))
    assert np.array_equal(runs.T.to_scipy_sparse().toarray(), plain().T)
    filled = fa.asarray(plain(), format=Dense(SparseList(Element(np.inf))))
    with pytest.raises(FormatError):
        filled.to_scipy_sparse()
    assert filled.to_scipy_sparse(accept_fv=[0, np.inf]).nnz == 36


NO_ABSTRACT_CLASS = """
import sys, types
sys.modules["sparse"] = types.ModuleType("sparse")
sys.modules["sparse"].SparseArray = type("SparseArray", (), {})
"""


@pytest.mark.parametrize(
    "before", ["", NO_ABSTRACT_CLASS], ids=["as installed", "no registrations"]
)
def test_graphs_and_factors_take_tensors_that_are_registered(before: str) -> None:
    """In a process of its own: SciPy then knows tensors by the name of another library."""
    program = """
import numpy as np, scipy.sparse.csgraph as g, scipy.sparse.linalg as l
import finch_array as fa
fa.register_with_scipy()
A = fa.eye(5, k=1) + 0
assert g.shortest_path(A)[0].tolist() == [0, 1, 2, 3, 4]
assert g.connected_components(A)[0] == 1
assert type(g.minimum_spanning_tree(A)).__name__ == "Tensor"
B, b = A + 2 * fa.eye(5), np.ones(5)
assert np.allclose(l.spsolve(B, b), np.linalg.solve(B.to_numpy(), b))
assert np.allclose((A @ np.ones(5)).to_numpy(), [1, 1, 1, 1, 0])
"""
    command = [sys.executable, "-c", before + program]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_scipys_own_tests_pass_with_tensors() -> None:
    pytest.importorskip("scipy.sparse.csgraph.tests.test_pydata_sparse")
    modules = (f"scipy.sparse.{part}.tests.test_pydata_sparse" for part in ("csgraph", "linalg"))
    command = [sys.executable, "-m", "pytest", "-q", "-c", os.devnull, "-p", "scipy_stand_in"]
    options = ["-p", "no:cacheprovider", "-k", "not DOK", "--pyargs", *modules]
    path = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [*command, *options], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path}
    )
    assert done.returncode == 0, done.stdout
    assert "65 passed" in done.stdout


# -- the others -------------------------------------------------------------------------------


def test_graphs_of_networkx_come_and_go() -> None:
    graph = nx.karate_club_graph()
    A = fa.from_networkx(graph)
    assert np.array_equal(A.to_numpy(), nx.to_numpy_array(graph))
    assert A.nnz == 2 * graph.number_of_edges()
    back = fa.to_networkx(A, nx.Graph)
    assert nx.utils.graphs_equal(fa.to_networkx(A), nx.DiGraph(back))
    some = fa.from_networkx(graph, [3, 1, 2], weight="none", dtype=np.float32, format=CSR)
    assert some.shape == (3, 3)
    assert fa.from_networkx(nx.DiGraph()).shape == (0, 0)


def test_frames_of_pandas_come_and_go() -> None:
    A = fa.asarray(plain(), format=CSR)
    frame = fa.to_pandas(A, columns=list("abcdef"))
    assert all(isinstance(kind, pd.SparseDtype) for kind in frame.dtypes)
    assert np.array_equal(frame.to_numpy(), plain())
    for found in (fa.from_pandas(frame), asarray(frame)):
        assert np.array_equal(found.to_numpy(), plain())
        assert found.nnz == A.nnz
    series = fa.to_pandas(A[0])
    assert np.array_equal(fa.from_pandas(series).to_numpy(), plain()[0])
    assert np.array_equal(fa.from_pandas(pd.DataFrame(plain())).to_numpy(), plain())
    days = pd.Series(pd.date_range("2026-01-01", periods=3))
    assert np.array_equal(fa.from_pandas(days).to_numpy(), days.to_numpy())
    with pytest.raises(FormatError, match=r"select_dtypes\(\"number\"\)"):
        fa.from_pandas(pd.DataFrame({"a": [1.0], "b": ["x"]}))
    filled = fa.asarray(plain(), format=Dense(SparseList(Element(2.0))))
    assert fa.from_pandas(fa.to_pandas(filled)).fill_value == 2.0
    columns = {"a": [0.0, 1.0, 0.0], "b": [np.nan, 1.0, np.nan], "c": [2.0, 0.0, 0.0]}
    fills = {"a": 0.0, "b": np.nan, "c": 0.0}
    sparse = {k: pd.arrays.SparseArray(c, fill_value=fills[k]) for k, c in columns.items()}
    mixed = pd.DataFrame(sparse)
    found = fa.from_pandas(mixed)
    assert (found.fill_value, found.nnz) == (0.0, 5)
    assert np.array_equal(found.to_numpy(), np.column_stack([*columns.values()]), equal_nan=True)
    missing = fa.from_pandas(pd.DataFrame(pd.arrays.SparseArray([1.0, np.nan, 2.0])))
    assert np.isnan(missing.fill_value)
    with pytest.raises(FormatError, match="which are no numbers"):
        fa.from_pandas(pd.DataFrame({"a": ["x"]}))


OF_XARRAY = {
    "+": lambda x: x + x, "*": lambda x: 2 * x, "sum": lambda x: x.sum("a"),
    "mean": lambda x: x.mean("b"), "max": lambda x: x.max("a"), "std": lambda x: x.std("a"),
    "isel": lambda x: x.isel(a=[1, 2]), "sel": lambda x: x.sel(a=2),
    "transpose": lambda x: x.transpose("b", "a"), "where": lambda x: x.where(x > 0, 0),
    "@": lambda x: x @ x.rename(a="b", b="c"), "sin": np.sin, "any": lambda x: x.any("a"),
    "expand_dims": lambda x: x.expand_dims("t"), "stack": lambda x: x.stack(z=("a", "b")),
    "shift": lambda x: x.shift(a=1, fill_value=0), "argmax": lambda x: x.argmax("a"),
    "count": lambda x: x.count("a"), "fillna": lambda x: x.fillna(0),
    "clip": lambda x: x.clip(0, 1),
    "cumsum": lambda x: x.cumsum("a"), "roll": lambda x: x.roll(a=1), "diff": lambda x: x.diff("a"),
    "median": lambda x: x.median("a"), "medians": lambda x: x.median(("a", "b"), skipna=False),
    "quantiles": lambda x: x.quantile([0.2, 0.5], "b"),
    "quantile": lambda x: x.quantile(0.9, "a", skipna=False),
    "round": lambda x: x.round(1), "var": lambda x: x.var("a"), "prod": lambda x: x.prod("a"),
    "any of numpy": lambda x: np.any(x, axis=0), "all of numpy": lambda x: np.all(x, axis=1),
}  # fmt: skip


@pytest.mark.parametrize("name", OF_XARRAY)
def test_arrays_of_xarray_stay_tensors(name: str) -> None:
    dims = ("a", "b")
    found = OF_XARRAY[name](xr.DataArray(fa.asarray(plain(), format=CSR), dims=dims))
    wanted = OF_XARRAY[name](xr.DataArray(plain(), dims=dims))
    assert hasattr(found.data, "signature")
    assert found.dims == wanted.dims
    assert np.allclose(found.data.to_numpy(), wanted.to_numpy())
    assert "Tensor" in repr(xr.DataArray(fa.asarray(plain(), format=CSR)))


def test_estimators_of_scikit_learn_take_views() -> None:
    A = fa.random((200, 20), 0.2, format=CSR, rng=0)
    view = A.to_scipy(index_dtype=np.int32)
    assert np.shares_memory(view.data, A.buffers["2_val"])
    assert models.LogisticRegression(solver="liblinear").fit(view, A[:, 0].to_numpy() > 0)
    target = A.to_numpy() @ np.arange(20.0)
    fitted = models.Ridge(alpha=1e-6, fit_intercept=False, solver="lsqr", tol=1e-12).fit(
        view, target
    )
    assert np.allclose(fitted.coef_, np.arange(20.0), atol=1e-3)


IN_BETA = "ignore:Sparse (CSR|CSC|BSR|BSC) tensor support is in beta:UserWarning"


@pytest.mark.filterwarnings(IN_BETA)
def test_tensors_of_torch_come_and_go() -> None:
    torch = pytest.importorskip("torch")
    dense = torch.from_numpy(plain())
    for made in (dense.to_sparse(), dense.to_sparse_csr(), dense.to_sparse_csc(), dense,
                 dense.to_sparse_bsr((2, 3)), dense.to_sparse(1)):  # fmt: skip
        found = fa.from_torch(made)
        assert np.array_equal(found.to_numpy(), plain())
        assert np.array_equal(asarray(made).to_numpy(), plain())
        back = fa.to_torch(found)
        assert np.array_equal(back.to_dense().numpy(), plain())
    rows = dense.to_sparse_csr()
    assert np.shares_memory(fa.from_torch(rows).buffers["2_val"], rows.values().numpy())
    A = fa.asarray(plain(), format=CSR)
    assert np.shares_memory(fa.to_torch(A).values().numpy(), A.buffers["2_val"])
    assert fa.to_torch(A.T).layout == torch.sparse_csc


@pytest.mark.filterwarnings(IN_BETA)
@pytest.mark.parametrize("dtype", ["bool", "uint8", "int32", "float16", "bfloat16", "complex64"])
def test_dtypes_of_torch_come_and_go(dtype: str) -> None:
    torch = pytest.importorskip("torch")
    dense = torch.tensor([[0, 1, 0], [2, 0, 3]]).to(getattr(torch, dtype))
    for made in (dense, dense.T, dense.to_sparse(), dense.to_sparse_csr(), dense[:0].to_sparse()):
        back = fa.to_torch(fa.from_torch(made))
        assert (back.dtype, back.layout) == (dense.dtype, made.layout)
        assert torch.equal(back.to_dense(), made.to_dense())


@kernel
def product(y, A, x):
    y[...] = 0
    for i, j in _:
        y[i] += A[i, j] * x[j]
    return y


@pytest.mark.filterwarnings(IN_BETA)
def test_kernels_write_strided_tensors_of_torch_in_place() -> None:
    torch = pytest.importorskip("torch")
    A = torch.from_numpy(plain())
    x, y = torch.arange(A.shape[1], dtype=A.dtype), torch.ones(A.shape[0], dtype=A.dtype)
    assert product(y, A.to_sparse_csr(), x) is y
    assert torch.allclose(y, A @ x)
    half = torch.ones(A.shape[0], dtype=torch.bfloat16)
    assert torch.allclose(product(half, A, x).double(), A @ x, rtol=2**-5)  # rounds at each +=
    refused = {
        "tensors of torch are read only": torch.zeros(A.shape[0]).to_sparse(),
        "tensors of torch are read only ": torch.zeros(A.shape[0], requires_grad=True),
        "the array is not contiguous": torch.zeros(A.shape[0] * 2, dtype=A.dtype)[::2],
    }
    for message, output in refused.items():
        with pytest.raises(FormatError, match=f"y is written, and {message.strip()}"):
            product(output, A, x)
    with pytest.raises(FormatError, match="torch follows the gradient of this tensor"):
        product(y, A, x.clone().requires_grad_())


def test_other_objects_than_frames_and_graphs_are_refused() -> None:
    with pytest.raises(TypeError, match="takes a data frame or a series, not ndarray"):
        fa.from_pandas(np.ones(3))
    with pytest.raises(TypeError, match="takes a graph of networkx, not int"):
        fa.from_networkx(5)
