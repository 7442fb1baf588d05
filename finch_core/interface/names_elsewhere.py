"""Attributes that arrays of other libraries have and tensors lack: who asks for one is told what
does the same here (docs/arrays.md, Names elsewhere)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn

_DENSE = "todense() gives a NumPy array"
_SCIPY = "to_scipy_sparse() gives a SciPy array, to(format) a tensor of another format"
_PARTS = "buffers has the arrays of the format, nonzero() the indices of what is not 0"
_FUNCTIONS = "ceil deg2rad expm1 floor log1p rad2deg sin sinh sqrt tan tanh trunc".split()
_OTHER_NAMES = {
    "arcsin": "asin", "arcsinh": "asinh", "arctan": "atan", "arctanh": "atanh", "conjugate": "conj",
    "rint": "round",
}  # fmt: skip
_INSTEAD = {
    **dict.fromkeys(("toarray", "to_dense", "dense", "numpy"), _DENSE),
    **dict.fromkeys(
        "asformat to_coo tobsr tocoo tocsc tocsr todia todok tolil".split(), _SCIPY
    ),
    **dict.fromkeys("col coords data indices indptr row values".split(), _PARTS),
    **{name: f"{name}(A) of NumPy gives it" for name in _FUNCTIONS},
    **{name: f"{own}(A) of the array namespace gives it" for name, own in _OTHER_NAMES.items()},
    **{name: f"np.{name}(A, axis) gives it" for name in ("nanmax", "nanmin")},
    "setdiag": "A[i, i] = values, for a vector i of integers, sets a diagonal",
    "argsort": "argsort(A) of the array namespace, or of NumPy, gives it",
    "count_nonzero": "count_nonzero(A) of the array namespace counts",
    "density": "it is nnz / size",
    "eliminate_zeros": "a kernel that copies an array stores nothing that equals the fill "
    "(docs/recipes.md, Drop small elements)",
    "getcol": "A[:, j] gives a column",
    "getnnz": "nnz is the number of stored values",
    "getrow": "A[i] gives a row",
    "maximum": "maximum(A, B) of the array namespace, or of NumPy, gives it",
    "minimum": "minimum(A, B) of the array namespace, or of NumPy, gives it",
    "multiply": "A * B multiplies element by element",
    "power": "A ** n gives powers of elements",
    "searchsorted": "searchsorted(A, v) of the array namespace, or of NumPy, gives it",
    "sort": "sort(A) of the array namespace, or of NumPy, gives a sorted array",
}  # fmt: skip
ELSEWHERE = frozenset(_INSTEAD)
"""The names."""


class Elsewhere:
    """A name that is not there, not for ``hasattr``, either; and what does the same."""

    def __init__(self, name: str, instead: str) -> None:
        self.name, self.instead = name, instead

    def __get__(self, array: Any, owner: type) -> NoReturn:
        raise AttributeError(
            f"{owner.__name__!r} object has no attribute {self.name!r}: {self.instead}",
            name=self.name,
            obj=array,
        )


class NamesElsewhere:
    """A base class with these names."""

    __slots__ = ()

    def __dir__(self) -> Iterable[str]:
        return sorted(set(super().__dir__()) - ELSEWHERE)


for _name in ELSEWHERE:
    setattr(NamesElsewhere, _name, Elsewhere(_name, _INSTEAD[_name]))


__all__ = ["ELSEWHERE", "Elsewhere", "NamesElsewhere"]
