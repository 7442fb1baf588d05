"""NumPy's arguments as those of this package, and what is refused of NumPy's functions."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from finch_array.operands import NUMBERS
from finch_core.interface.array_methods import ArrayMethods

_RENAMED = {"a_min": "min", "a_max": "max", "ddof": "correction"}
_HARMLESS = frozenset({"kind", "optimize", "subok", "casting", "overwrite_input"})
"""Parameters that do not change what a result is."""


def arguments(
    function: Any, own: Callable[..., Any], args: Sequence[Any], options: Mapping[str, Any]
) -> tuple[list[Any], dict[str, Any]]:
    """The arguments of ``own``, the function of this package for NumPy's ``function``, from those
    of the latter. Raises ``TypeError`` for a parameter that ``own`` lacks, unless it has the value
    that it has by default."""
    places = _parameters(own)
    if places is None:
        return list(args), dict(options)
    first, known = places
    defaults = _defaults(function)
    named = list(defaults)
    given = dict(zip(named[first:], args[first:], strict=False)) | dict(options)
    kept = {}
    for name, value in given.items():
        mine = _RENAMED.get(name, name)
        if mine in known:
            kept[mine] = value
        elif name not in _HARMLESS and not _is_default(value, defaults.get(name)):
            raise TypeError(
                f"np.{function.__name__} of a tensor takes no {name}=: {_remedy(function)}"
            )
    return list(args[:first]), kept


def without_out(
    function: Any, args: Sequence[Any], options: Mapping[str, Any]
) -> tuple[list[Any], Any, dict[str, Any]]:
    """Arguments without ``out``, that, and the options without it."""
    given, rest = list(args), dict(options)
    out = rest.pop("out", None)
    place = _place_of_out(function)
    if place is not None and place < len(given):
        out, given[place] = given[place], None
    return given, out, rest


@cache
def _place_of_out(function: Any) -> int | None:
    """The position of the parameter ``out``; None if it has none."""
    for place, name in enumerate(_defaults(function)):
        if name in ("out", "operands"):  # any number of operands
            return place if name == "out" else None
    return None


def _is_default(value: Any, default: Any) -> bool:
    return value is np._NoValue or value is None or value is default or _equal(value, default)


def _equal(value: Any, other: Any) -> bool:
    plain = isinstance(value, (*NUMBERS, str)) and isinstance(other, (*NUMBERS, str))
    return plain and bool(value == other)


@cache
def _parameters(function: Callable[..., Any]) -> tuple[int, frozenset[str]] | None:
    """How many arguments a function takes by position, and the names of all; None if it takes any
    number."""
    kinds = inspect.signature(function).parameters.values()
    if any(p.kind is p.VAR_POSITIONAL for p in kinds):
        return None
    return sum(p.kind is not p.KEYWORD_ONLY for p in kinds), frozenset(p.name for p in kinds)


@cache
def _defaults(function: Any) -> dict[str, Any]:
    """The names of the parameters of a function of NumPy, in order, and their defaults."""
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return {}
    return {p.name: p.default for p in found}


def _remedy(function: Any) -> str:
    """What would work instead of a function of NumPy."""
    name = function.__name__
    return _OTHERWISE.get(name, f"np.asarray(A) makes a dense array, which np.{name} takes")


_FILES = "finch_core.write(path, A) writes a tensor, as .npz, .mtx, .tns or .ttx"
_SCALARS = "fa.elementwise_of(f) makes an array function of a Python function of scalars"
_OTHERWISE = {
    "save": _FILES, "savez": _FILES, "savez_compressed": _FILES, "savetxt": _FILES,
    "piecewise": "np.where and np.select choose between arrays",
    "choose": "np.where and np.select choose between arrays",
    "apply_along_axis": "np.sum, np.max and others take axis=; a kernel has loops of any kind",
    "put": "A[index] = values assigns", "place": "A[mask] = value assigns",
    "putmask": "A[mask] = value assigns",
    "convolve": "a kernel is short: y[i] += x[i - k] * w[k], see docs/examples.md",
    "correlate": "a kernel is short: y[i] += x[i + k] * w[k], see docs/examples.md",
    "einsum_path": "fa.explain shows the plan of a lazy expression",
}  # fmt: skip


def refused(function: Any, types: Sequence[Any]) -> Any:
    """Refuse a function of NumPy that this package does not have: a ``TypeError`` that says what
    would work. ``NotImplemented`` where arrays of others take part, which may have it."""
    if not all(issubclass(kind, (np.ndarray, ArrayMethods)) for kind in types):
        return NotImplemented
    raise TypeError(f"tensors have no np.{function.__name__}: {_remedy(function)}")


def refused_ufunc(ufunc: np.ufunc, method: str, inputs: Sequence[Any], options: Any) -> Any:
    """Refuse a ufunc, its method or its options, as ``refused`` does."""
    known = (*NUMBERS, np.ndarray, list, tuple)
    if not all(isinstance(x, known) or hasattr(x, "signature") for x in inputs):
        return NotImplemented
    name = ufunc.__name__ if method == "__call__" else f"{ufunc.__name__}.{method}"
    told = [f"{option}=" for option in options if option not in ("dtype", "casting", "out")]
    if ufunc is np.matmul and "axes" in options:  # what NumPy makes of ``x @= A``
        raise TypeError("NumPy's x @= A takes no tensor A: write x = x @ A")
    if told:
        raise TypeError(
            f"np.{name} of a tensor takes no {', '.join(told)}: fa.where(condition, x, y) chooses "
            "elements, and np.asarray(A) makes a dense array"
        )
    raise TypeError(f"tensors have no np.{name}: {_SCALARS}, and np.asarray(A) a dense array")


__all__ = ["arguments", "refused", "refused_ufunc", "without_out"]
