"""Arrays to and from the libraries next door (``docs/neighbours.md``), which are imported here."""

from __future__ import annotations

import sys
import types
from abc import ABC, ABCMeta
from typing import Any

import numpy as np

from finch_array.leaves import relabelled
from finch_array.operands import array_of, stored
from finch_array.run import coordinates, materialised, sorted_tensor
from finch_core.interface.array_methods import ArrayMethods
from finch_core.runtime.tensor import Tensor

# -- SciPy ------------------------------------------------------------------------------------


def matvec(array: Any, x: Any) -> Any:
    """``array @ x`` as a NumPy vector, for SciPy's solvers."""
    return (array @ _plain(x)).to_numpy()


def rmatvec(array: Any, x: Any) -> Any:
    """The conjugate transpose times ``x``, as a NumPy vector."""
    found = array.T if array.dtype.kind != "c" else array.conj().T
    return (found @ _plain(x)).to_numpy()


def _plain(x: Any) -> Any:
    return x.reshape(-1) if x.ndim == 2 and x.shape[1] == 1 else x


def matmat(array: Any, x: Any) -> Any:
    """``array @ x`` as a NumPy matrix."""
    return (array @ x).to_numpy()


def rmatmat(array: Any, x: Any) -> Any:
    """The conjugate transpose times ``x``, as a NumPy matrix."""
    found = array.T if array.dtype.kind != "c" else array.conj().T
    return (found @ x).to_numpy()


def to_scipy_sparse(array: Any, /, *, accept_fv: Any = None, index_dtype: Any = None) -> Any:
    """A SciPy array of the same values: over the memory of CSR, and as CSC of what is permuted.
    ``index_dtype=np.int32``: its index arrays are of that dtype, copies where they were of another.

    Raises ``FormatError`` if the fill value is not 0, nor one of ``accept_fv``: with that, what is
    not stored counts as 0. Raises ``IndexOverflow`` for indices that do not fit in ``index_dtype``.
    """
    if accept_fv is not None and array.fill_value != 0:
        accepted = np.atleast_1d(accept_fv)
        fill = array.fill_value
        if (accepted == fill).any() or (fill != fill and (accepted != accepted).any()):
            shape, coords, values = coordinates(array)
            array = sorted_tensor(shape, coords, values, array.dtype.type(0))
    found = stored(array)
    if found.axes == (1, 0) and isinstance(found.source, Tensor):
        return found.source.to_scipy(index_dtype=index_dtype).T
    tensor = array if isinstance(array, Tensor) else materialised(array)
    return tensor.to_scipy(index_dtype=index_dtype)


def from_scipy_sparse(matrix: Any, /, *, fill_value: Any = None) -> Any:
    """A tensor of a SciPy array, over its memory where the layout allows; what is not stored is
    ``fill_value`` (default 0)."""
    found = array_of(matrix)
    if fill_value is None:
        return found
    return relabelled(found, np.asarray(fill_value, found.dtype)[()])


def register_with_scipy() -> None:
    """Have ``scipy.sparse.csgraph``, ``splu``, ``spsolve`` and others take tensors as they are.

    SciPy takes sparse arrays of other libraries if they are instances of ``sparse.SparseArray``,
    the class of pydata. Tensors are registered as such; where that package is not installed, a
    stand-in module of its name that has this class alone is put into ``sys.modules``. Where its
    class takes no registrations, one that does, of which its instances are too, takes its name.
    """
    try:
        import sparse
    except ImportError:
        sparse = types.ModuleType("sparse", "A stand-in by which SciPy knows tensors of Finch.")
        sparse.SparseArray = type("SparseArray", (ABC,), {})  # type: ignore[attr-defined]
        sys.modules["sparse"] = sparse
    own = sparse.SparseArray
    if not isinstance(own, ABCMeta):
        sparse.SparseArray = type("SparseArray", (ABC,), {})
        sparse.SparseArray.register(own)
    sparse.SparseArray.register(ArrayMethods)


# -- the others: imported at their first use ------------------------------------------------------


def _networks() -> Any:
    from finch_array.interop import networks

    return networks


def _frames() -> Any:
    from finch_array.interop import frames

    return frames


def _torch_layouts() -> Any:
    from finch_array.interop import torch_layouts

    return torch_layouts


def from_networkx(graph: Any, /, nodelist: Any = None, *, weight: str = "weight",
                  dtype: Any = None, format: Any = None) -> Any:  # fmt: skip
    """The adjacency matrix of a graph of networkx: edges of ``nodelist`` (default: all nodes), by
    their attribute ``weight``, 1 without."""
    return _networks().from_networkx(graph, nodelist, weight, dtype, format)


def to_networkx(array: Any, /, create_using: Any = None, *, weight: str = "weight") -> Any:
    """A graph of networkx with an edge for each stored element of a square matrix; directed unless
    ``create_using`` says otherwise."""
    return _networks().to_networkx(array, create_using, weight)


def from_pandas(frame: Any, /) -> Any:
    """An array of a data frame or series of pandas; sparse columns stay sparse."""
    return _frames().from_pandas(frame)


def to_pandas(array: Any, /, index: Any = None, columns: Any = None) -> Any:
    """A data frame (of a vector: a series) of pandas, with sparse columns unless dense."""
    return _frames().to_pandas(array, index, columns)


def from_torch(tensor: Any, /) -> Any:
    """An array over the memory of a torch tensor of layout strided, COO, CSR or CSC; a copy of one
    of BSR or BSC."""
    return _torch_layouts().from_torch(tensor)


def to_torch(array: Any, /) -> Any:
    """A torch tensor: strided of a dense array, CSR, CSC or COO of a sparse one."""
    return _torch_layouts().to_torch(array)
