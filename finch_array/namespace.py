"""The names of the namespace, and the module that each is found in."""

from __future__ import annotations

import importlib
import sys
from importlib.util import find_spec
from types import ModuleType
from typing import Any

import numpy

_HOMES = {
    "creation": (
        "arange asarray diags empty empty_like eye from_coo from_dlpack full full_like linspace "
        "meshgrid ones ones_like random tril triu zeros zeros_like"
    ),
    "functions": (
        "abs ceil clip conj divmod expm1 floor imag isclose isfinite isinf isnan isnat negative "
        "positive real reciprocal round sign trunc where"
    ),
    "elementwise": "elementwise_of",
    "plan": "compute explain fused lazy",
    "dtypes": (
        "__array_namespace_info__ astype can_cast finfo iinfo isdtype result_type"
    ),
    "searching": (
        "argmax argmin argsort argwhere diff isin nonzero "
        "searchsorted sort top_k unique_all unique_counts unique_inverse unique_values"
    ),
    "cumulative": "cumulative_prod cumulative_sum",
    "indexing": "take take_along_axis",
    "protocols": "allclose array_equal",
    "numpy_functions": "pad",
    "neighbours": (
        "from_networkx from_pandas from_torch register_with_scipy to_networkx to_pandas to_torch"
    ),
    "einsums": "einsum",
    "linalg": "diagonal trace norm",
    "quantiles": "median quantile",
    "reductions": "all any count_nonzero max mean min prod std sum var",
    "kronecker": "kron",
    "products": "matmul matrix_transpose outer tensordot vecdot",
    "manipulation": (
        "broadcast_arrays broadcast_shapes broadcast_to concat expand_dims flip moveaxis "
        "permute_dims repeat reshape roll squeeze stack tile transpose unstack"
    ),
}  # fmt: skip

_TABLE = (
    "acos acosh add asin asinh atan atan2 atanh bitwise_and bitwise_count bitwise_invert "
    "bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor cbrt copysign cos cosh divide "
    "equal exp exp2 expit floor_divide fmod greater greater_equal hypot less less_equal log "
    "log10 log1p log2 logaddexp logical_and logical_not logical_or logical_xor maximum minimum "
    "multiply nextafter not_equal pow remainder signbit sin sinh sqrt square subtract tan tanh"
).split()

_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}

_METHODS = {
    "products": "dot transposed_matrix", "manipulation": "transpose_method",
    "indexing": "getitem", "assignment": "setitem", "protocols": "array_ufunc array_function",
    "numpy_functions": "swapaxes axes_diagonal axes_trace", "methods": "copied",
    "numpy_numbers": "cumprod cumsum",
    "numpy_shapes": "flattened ravel repeat_method reshape_method take_method", "chunks": "token",
    "neighbours": "matvec rmatvec matmat rmatmat to_scipy_sparse from_scipy_sparse",
}  # fmt: skip
_METHOD_HOMES = {name: home for home, names in _METHODS.items() for name in names.split()}

_VALUES = (
    "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 "
    "complex128 e inf nan newaxis pi"
).split()
MODULES = ("linalg",)
"""The submodules of the namespace."""

NAMES: tuple[str, ...] = (*sorted({*_HOME_OF, *_TABLE, *_VALUES, *MODULES}),)
"""The functions, dtypes, constants and submodules of the namespace."""


RENAMED = {
    "absolute": "abs", "fabs": "abs", "arccos": "acos", "arccosh": "acosh", "arcsin": "asin",
    "arcsinh": "asinh", "arctan": "atan", "arctan2": "atan2", "arctanh": "atanh",
    "true_divide": "divide", "power": "pow", "invert": "bitwise_invert", "rint": "round",
    "left_shift": "bitwise_left_shift", "right_shift": "bitwise_right_shift",
    "conjugate": "conj", "concatenate": "concat", "amax": "max",
    "amin": "min", "around": "round", "cumsum": "cumulative_sum", "cumprod": "cumulative_prod",
    "unique": "unique_values", "mod": "remainder",
}  # fmt: skip
"""The functions of NumPy that have another name here."""


def look_up(name: str) -> Any:
    """The function, dtype or constant of this name. Raises ``AttributeError``."""
    if name in _TABLE:
        return importlib.import_module("finch_array.functions").FUNCTIONS[name]
    if name in _VALUES:
        dtypes = importlib.import_module("finch_array.dtypes")
        return {**dtypes.DTYPES, **dtypes.CONSTANTS}[name]
    if name in MODULES:
        return importlib.import_module(f"finch_array.{name}")
    home = _HOME_OF.get(name)
    if home is None:
        module = sys.modules["finch_array"]  # of which a traceback tells the name that is close
        text = f"module 'finch_array' has no attribute {name!r}{_instead_of(name)}"
        raise AttributeError(text, name=name, obj=module)
    return getattr(importlib.import_module(f"finch_array.{home}"), name)


_LISTS = "finch_array.asarray(x) takes SciPy's arrays and others, and format= says how it is stored"
_COO = "finch_array.from_coo((i, j), values, shape) makes an array of coordinates"
_OF_OTHERS = {
    **dict.fromkeys(
        "csr_array csr_matrix csc_array csc_matrix bsr_array bsr_matrix lil_array lil_matrix "
        "dok_array dok_matrix GCXS DOK SparseArray".split(), _LISTS,
    ),
    **dict.fromkeys("coo_array coo_matrix COO".split(), _COO),
    **dict.fromkeys("dia_array dia_matrix diags_array spdiags".split(),
                    "finch_array.diags(d, k) makes a matrix of diagonals"),
    **dict.fromkeys("save_npz mmwrite".split(),
                    "finch_core.write(path, A) writes a tensor, as .npz, .mtx, .tns or .ttx"),
    **dict.fromkeys("load_npz mmread".split(), "finch_core.read(path) reads a tensor"),
    **dict.fromkeys("eye_array identity".split(), "it is finch_array.eye"),
    "random_array": "it is finch_array.random", "find": "it is finch_array.nonzero",
    "elemwise": "finch_array.elementwise_of(f) makes an array function of one of scalars",
    "bmat": "np.block takes tensors", "block_array": "np.block takes tensors",
    "issparse": "A.nnz is how many elements are stored, A.format how",
}  # fmt: skip
"""Names of SciPy and pydata/sparse, and what does the same here (docs/arrays.md, Names
elsewhere)."""


def _instead_of(name: str) -> str:
    """What an error adds for a name of NumPy, or of SciPy or pydata/sparse, that the namespace
    lacks; empty for other names, among which are those of modules that are imported."""
    if name in _OF_OTHERS:
        return f": {_OF_OTHERS[name]}"
    own = "asarray" if name == "array" else RENAMED.get(name)
    if own is not None:
        return f": it is finch_array.{own}"
    if name.startswith("_") or find_spec(f"finch_array.{name}") is not None:
        return ""
    there = vars(numpy).get(name)
    if isinstance(there, ModuleType) or (there is None and find_spec(f"numpy.{name}") is not None):
        return f": np.{name} takes NumPy's arrays, and np.asarray(A) makes one"
    if isinstance(there, numpy.ufunc) or hasattr(there, "_implementation"):
        known = importlib.import_module("finch_array.protocols").of_numpy()
        if isinstance(there, numpy.ufunc) or there in known:
            return f": np.{name} takes tensors"
        return f": {importlib.import_module('finch_array.numpy_arguments').remedy(there)}"
    return "" if there is None else f": NumPy has np.{name}"


def home_of(name: str) -> str | None:
    """The module of this package that has the name; None for what is made from a table."""
    return _HOME_OF.get(name)


def method(name: str) -> Any:
    """The function of an array method: one of the namespace, or one for methods alone."""
    home = _METHOD_HOMES.get(name)
    if home is None:
        return look_up(name)
    return getattr(importlib.import_module(f"finch_array.{home}"), name)
