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
_HARMLESS = frozenset(
    {"kind", "optimize", "order", "stable", "subok", "casting", "overwrite_input"}
)
"""Parameters that do not change what a result is."""


def arguments(
    function: Any, own: Callable[..., Any], args: Sequence[Any], options: Mapping[str, Any]
) -> tuple[list[Any], dict[str, Any]]:
    """The arguments of ``own``, the function of this package for NumPy's ``function``, from those
    of the latter, by the names of its parameters, or by their places where ``own`` has other names.
    Raises ``TypeError`` for a parameter that ``own`` lacks, unless it has the value that it has by
    default."""
    names, first, takes_all = _names(function, own)
    if first is None:
        given, kept = dict(options), list(args)
    else:
        given, kept = dict(zip(_defaults(function), args, strict=False)) | dict(options), []
    rest = {}
    for name, value in given.items():
        mine = names.get(name)
        if mine is not None or takes_all:
            rest[mine or name] = value
        elif name not in _HARMLESS and not _is_default(value, _defaults(function).get(name)):
            raise TypeError(
                f"np.{function.__name__} of a tensor takes no {name}=: {remedy(function)}"
            )
    for name in first or ():
        if name not in rest:
            break
        kept.append(rest.pop(name))
    return kept, rest


def parameters_of(function: Callable[..., Any]) -> Callable[[Any], Any]:
    """Give a function that passes all on to another the parameters of that one."""

    def named(own: Any) -> Any:
        own.__signature__ = inspect.signature(function)
        return own

    return named


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
def _names(
    function: Any, own: Callable[..., Any]
) -> tuple[dict[str, str], tuple[str, ...] | None, bool]:
    """The parameters of ``own`` by the names that NumPy's function has for them, those that are
    passed by place alone (None: any number is, as it comes), and whether it takes all others."""
    theirs, found = _defaults(function), inspect.signature(own).parameters.values()
    takes_all = any(p.kind is p.VAR_KEYWORD for p in found)
    by_place = [p.name for p in found if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    names = {p.name: p.name for p in found if p.kind is p.KEYWORD_ONLY}
    mine = {*by_place, *names}
    for name in theirs:
        known = name if name in mine else _RENAMED.get(name)
        if known in mine:
            names[name] = known
    for name, known in zip(theirs or by_place, by_place, strict=False):
        if name not in names and known not in names.values():
            names[name] = known
    if not theirs or any(p.kind is p.VAR_POSITIONAL for p in found):
        return names, None, takes_all
    return names, tuple([p.name for p in found if p.kind is p.POSITIONAL_ONLY]), takes_all


@cache
def _defaults(function: Any) -> dict[str, Any]:
    """The names of the parameters of a function of NumPy, in order, and their defaults."""
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return {}
    return {p.name: p.default for p in found}


def remedy(function: Any) -> str:
    """What would work instead of a function of NumPy."""
    name = function.__name__
    return _OTHERWISE.get(name, f"np.asarray(A) makes a dense array, which np.{name} takes")


_DENSE = "and np.asarray(A) makes a dense array"
_METHODS = {
    "__call__": "fa.elementwise_of(f) makes an array function of a Python function of scalars, and "
    "np.asarray(A) a dense array",
    "outer": f"np.add.outer and those of other array functions are there, {_DENSE}",
    "reduce": "np.sum, np.prod, np.min, np.max, np.any, np.all, np.bitwise_or.reduce and others "
    f"that combine in any grouping reduce, {_DENSE}",
    "accumulate": "np.cumsum, np.cumprod, np.maximum.accumulate and others that combine in any "
    f"grouping accumulate, {_DENSE}",
    "reduceat": f"a kernel adds any parts, {_DENSE}",
    "at": "A[index] = values assigns, fa.from_coo adds the values of equal coordinates, " + _DENSE,
}
"""What there is instead of a ufunc, by its method."""
_FILES = "finch_core.write(path, A) writes a tensor, as .npz, .mtx, .tns or .ttx"
_OTHERWISE = {
    "save": _FILES, "savez": _FILES, "savez_compressed": _FILES, "savetxt": _FILES,
    "piecewise": "np.where and np.select choose between arrays",
    "choose": "np.where and np.select choose between arrays",
    "apply_along_axis": "np.sum, np.max and others take axis=; a kernel has loops of any kind",
    "put": "A[index] = values assigns", "place": "A[mask] = value assigns",
    "putmask": "A[mask] = value assigns",
    "put_along_axis": "A[rows, columns] = values assigns",
    "apply_over_axes": "np.sum, np.max and others take an axis= of several, and keepdims=",
    "einsum_path": "fa.explain shows the plan of a lazy expression",
}  # fmt: skip


def refused(function: Any, types: Sequence[Any]) -> Any:
    """Refuse a function of NumPy that this package does not have: a ``TypeError`` that says what
    would work. ``NotImplemented`` where arrays of others take part, which may have it."""
    if not all(issubclass(kind, (np.ndarray, ArrayMethods)) for kind in types):
        return NotImplemented
    raise TypeError(f"tensors have no np.{function.__name__}: {remedy(function)}")


def refused_ufunc(ufunc: np.ufunc, method: str, inputs: Sequence[Any], spare: Sequence[str]) -> Any:
    """Refuse a ufunc, its method or the options ``spare``, as ``refused`` does."""
    others = [x for x in inputs if hasattr(x, "__array_ufunc__") and not hasattr(x, "signature")]
    if not all(isinstance(x, (*NUMBERS, np.ndarray)) for x in others):
        return NotImplemented
    name = ufunc.__name__ if method == "__call__" else f"{ufunc.__name__}.{method}"
    if ufunc is np.matmul and "axes" in spare:  # what NumPy makes of ``x @= A``
        raise TypeError("NumPy's x @= A takes no tensor A: write x = x @ A")
    if spare:
        told = ", ".join(f"{option}=" for option in spare)
        chosen = "fa.where(condition, x, y) chooses elements, and " if "where" in spare else ""
        raise TypeError(
            f"np.{name} of a tensor takes no {told}: {chosen}np.asarray(A) makes a dense array"
        )
    raise TypeError(f"tensors have no np.{name}: {_METHODS[method]}")


__all__ = ["arguments", "parameters_of", "refused", "refused_ufunc", "remedy", "without_out"]
