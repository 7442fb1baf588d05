"""NumPy's protocols: ufuncs and functions of NumPy on tensors are those of this package."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import Any

import numpy as np

from finch_array.cumulative import accumulated
from finch_array.elementwise import Elementwise
from finch_array.functions import cast, dtype_of
from finch_array.namespace import RENAMED, look_up
from finch_array.numpy_arguments import arguments, refused, refused_ufunc, without_out
from finch_array.operands import NUMBERS, array_of
from finch_array.reductions import folded, folding
from finch_core.interface.array_methods import ArrayMethods

_REDUCTIONS = {
    "add": "sum", "multiply": "prod", "minimum": "min", "maximum": "max", "logical_and": "all",
    "logical_or": "any",
}  # fmt: skip


def array_ufunc(_: Any, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
    """A ufunc on tensors. Raises ``TypeError`` for one, a method or an option that has no meaning
    here; ``NotImplemented`` where arrays of others take part."""
    out = options.pop("out", None)
    own, known = _own(ufunc, method), _TAKEN.get(method, ())
    for name in LAYOUT & set(options):
        del options[name]
    if own is None or not set(options) <= set(known):
        spare = [k for k in options if k not in known] if own is not None else []
        return refused_ufunc(ufunc, method, inputs, spare)
    found = own(inputs, options)
    return found if out is None else _given(out, found, options.get("casting", USUAL))


LAYOUT = frozenset({"order", "subok"})
"""Options that say how NumPy lays a result out, which has the levels that fit here."""
_TAKEN = {
    "__call__": ("dtype", "casting"), "outer": ("dtype", "casting"),
    "reduce": ("axis", "dtype", "keepdims", "initial", "where"), "accumulate": ("axis", "dtype"),
}  # fmt: skip
"""The options of each method of ufuncs."""

Own = Callable[[Sequence[Any], Mapping[str, Any]], Any]
"""What computes a ufunc, of its inputs and options."""


@cache
def _own(ufunc: np.ufunc, method: str) -> Own | None:
    """What computes a method of a ufunc; None if there is nothing."""
    from finch_array.nan_reductions import extreme_by
    from finch_array.numpy_numbers import UFUNCS, outer_by

    beside_nan = extreme_by(ufunc, method)
    if beside_nan is not None:
        return partial(_folded_by, beside_nan)
    if method == "reduce":
        name = _REDUCTIONS.get(ufunc.__name__)
        if name is not None:
            return partial(_reduced, name)
        return partial(_folded, ufunc) if folding(ufunc) else None
    if method == "accumulate":
        return partial(_accumulated, ufunc) if folding(ufunc) else None
    function = UFUNCS.get(ufunc) or _function_of(ufunc)
    if function is None or method not in ("__call__", "outer"):
        return None
    return partial(_called, ufunc, partial(outer_by, function) if method == "outer" else function)


def _accumulated(ufunc: np.ufunc, inputs: Sequence[Any], options: Mapping[str, Any]) -> Any:
    return accumulated(ufunc, *inputs, **options)


def _folded_by(own: Callable[..., Any], inputs: Sequence[Any], options: Mapping[str, Any]) -> Any:
    return own(*inputs, **{k: v for k, v in options.items() if k == "axis" or v is not None})


def _folded(ufunc: np.ufunc, inputs: Sequence[Any], options: Mapping[str, Any]) -> Any:
    return _folded_by(partial(folded, ufunc), inputs, options)


def _called(
    ufunc: np.ufunc, call: Callable[..., Any], inputs: Sequence[Any], options: Mapping[str, Any]
) -> Any:
    """A ufunc of arrays, or of all pairs of their elements: ``call``, with NumPy's dtypes."""
    from finch_array.numpy_numbers import UFUNCS
    from finch_array.numpy_ufuncs import WRITTEN

    given = [x if isinstance(x, NUMBERS) or hasattr(x, "dtype") else array_of(x) for x in inputs]
    dtype, casting = options.get("dtype"), options.get("casting", USUAL)
    if dtype is None and casting == USUAL and ufunc not in WRITTEN:
        found = call(*given)
        has_own = ufunc.nout > 1 or ufunc in UFUNCS or ufunc.signature is not None
        if has_own or ufunc.resolve_dtypes((*_kinds(given), None))[-1] == found.dtype:
            return found
    return _in_dtypes(ufunc, call, given, dtype, casting)  # rint of integers is of floats, say


USUAL = "same_kind"
"""NumPy's rule for the casts of a ufunc that names none."""


def _kinds(inputs: Sequence[Any]) -> list[Any]:
    """What NumPy finds the dtypes of a ufunc by."""
    return [type(x) if type(x) in (int, float, complex) else dtype_of(x) for x in inputs]


def _in_dtypes(
    ufunc: np.ufunc, call: Callable[..., Any], inputs: Sequence[Any], dtype: Any, casting: Any
) -> Any:
    """A ufunc with the dtypes of NumPy's: the inputs are cast to those in which it computes, for a
    result of ``dtype`` where one is asked for. Raises ``TypeError`` where NumPy does."""
    asked: dict[str, Any] = {"casting": casting}
    if dtype is not None:
        asked["signature"] = (*[None] * ufunc.nin, *[np.dtype(dtype)] * ufunc.nout)
    found = ufunc.resolve_dtypes((*_kinds(inputs), *[None] * ufunc.nout), **asked)
    wanted, results = found[: ufunc.nin], found[ufunc.nin :]
    if any(result.kind != "b" for result in results):  # a test is exact of inputs as they are
        inputs = [_as_dtype(x, own) for x, own in zip(inputs, wanted, strict=True)]
    made = call(*inputs)
    parts = made if isinstance(made, tuple) else (made,)
    parts = tuple([
        x if x.dtype == own else cast(x, own) for x, own in zip(parts, results, strict=True)
    ])  # fmt: skip
    return parts if isinstance(made, tuple) else parts[0]


def _as_dtype(x: Any, dtype: np.dtype[Any]) -> Any:
    """An input as a ufunc takes it that computes in ``dtype``: a plain integer may be of any
    size."""
    if not isinstance(x, NUMBERS):
        return x if x.dtype == dtype else cast(x, dtype)
    return np.asarray(x, dtype)[()] if type(x) is int else np.asarray(x).astype(dtype)[()]


def _reduced(name: str, inputs: Sequence[Any], options: Mapping[str, Any]) -> Any:
    """A reduction of this name along the first axis, unless another is named."""
    (x,) = inputs
    given = {"axis": 0, **{k: v for k, v in options.items() if k == "axis" or v is not None}}
    if given.get("where") is True:
        del given["where"]
    if "dtype" in given and name not in ("sum", "prod"):
        x = cast(x, given.pop("dtype"))
    some = given.keys() & {"initial", "where"}
    function = of_numpy()[getattr(np, name)] if some else look_up(name)
    return function(x, **given)


@cache
def _function_of(ufunc: np.ufunc) -> Callable[..., Any] | None:
    from finch_array.numpy_ufuncs import WRITTEN

    if ufunc in WRITTEN:
        return WRITTEN[ufunc]
    name = RENAMED.get(ufunc.__name__, ufunc.__name__)
    try:
        found: Callable[..., Any] = look_up(name)
    except AttributeError:
        pass
    else:
        return found
    try:
        made = Elementwise(ufunc.__name__, ufunc)
        _ = made.value
    except TypeError:
        return None
    return made


def _given(out: Any, found: Any, casting: str = "same_kind") -> Any:
    """Store a result where ``out=`` asks for it, each of several in its own, if it has one. Raises
    ``TypeError`` where NumPy does not cast, and for what is no array."""
    if isinstance(found, tuple):
        pairs = zip(out, found, strict=True)
        return tuple([x if to is None else _given(to, x, casting) for to, x in pairs])
    (target,) = out if isinstance(out, tuple) else (out,)
    if not isinstance(target, (np.ndarray, ArrayMethods)):
        raise TypeError(f"out is an array, not {type(target).__name__} {target!r}")
    dtypes = dtype_of(found), dtype_of(target)
    if not np.can_cast(*dtypes, casting):  # type: ignore[arg-type]
        raise TypeError(
            f"out has dtype {dtypes[1]}, and the result {dtypes[0]}, which is not cast to it under "
            f"the rule {casting!r}: cast it by .astype, or give an out of its dtype"
        )
    if isinstance(target, np.ndarray):
        target[...] = found.to_numpy()
    else:
        target[...] = found
    return target


# -- functions --------------------------------------------------------------------------------


def array_function(_: Any, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
    """A function of NumPy on tensors. Raises ``TypeError`` for one, or a parameter, that this
    package does not have; ``NotImplemented`` where arrays of others take part."""
    args, out, kwargs = without_out(function, args, kwargs)
    own = of_numpy().get(function) or _standard(function)
    if own is None:
        return refused(function, types)
    args, kwargs = arguments(function, own, args, kwargs)
    made = own(*args, **{k: v for k, v in kwargs.items() if v is not np._NoValue})
    return made if out is None else _given(out, made)


def _standard(function: Any) -> Callable[..., Any] | None:
    """The function of the standard that NumPy's is; None if there is none."""
    if function.__module__ not in ("numpy", "numpy.linalg"):
        return None
    name = RENAMED.get(function.__name__, function.__name__)
    try:
        if function.__module__ == "numpy":
            return look_up(name)  # type: ignore[no-any-return]
        return getattr(look_up("linalg"), name)  # type: ignore[no-any-return]
    except AttributeError:
        return None


@cache
def of_numpy() -> dict[Any, Callable[..., Any]]:
    """The functions of NumPy that the standard does not have, or has with other arguments."""
    from finch_array import (
        nan_reductions,
        numpy_functions,
        numpy_neighbours,
        numpy_numbers,
        numpy_parts,
        numpy_shapes,
        numpy_statistics,
        quantiles,
    )

    homes = (
        numpy_functions, numpy_parts, numpy_shapes, numpy_numbers, quantiles, nan_reductions,
        numpy_statistics, numpy_neighbours,
    )  # fmt: skip
    found = {key: own for home in homes for key, own in home.FUNCTIONS.items()}
    return {**found, **_SPECIAL}


def allclose(
    x: Any, y: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> bool:
    """Whether all elements are close (see ``isclose``)."""
    close = look_up("isclose")(x, y, rtol=rtol, atol=atol, equal_nan=equal_nan)
    return bool(look_up("all")(close))


def array_equal(x: Any, y: Any, equal_nan: bool = False) -> bool:
    """Whether two arrays have the same shape and elements."""
    a, b = array_of(x), array_of(y)
    if a.shape != b.shape:
        return False
    same = look_up("equal")(a, b)
    if equal_nan:
        isnan = look_up("isnan")
        same = look_up("logical_or")(same, look_up("logical_and")(isnan(a), isnan(b)))
    return bool(look_up("all")(same))


def array_equiv(x: Any, y: Any) -> bool:
    """Whether two arrays have the same elements where their shapes are broadcast together."""
    a, b = array_of(x), array_of(y)
    try:
        np.broadcast_shapes(a.shape, b.shape)
    except ValueError:
        return False
    return bool(look_up("all")(look_up("equal")(a, b)))


def _copied_array(x: Any) -> Any:
    return look_up("asarray")(x, copy=True)


def _size(x: Any, axis: int | None = None) -> int:
    return int(x.size if axis is None else x.shape[axis])


def _tensordot(x: Any, y: Any, axes: Any = 2) -> Any:
    return look_up("tensordot")(x, y, axes=axes)


def _einsum(subscripts: Any, *operands: Any, dtype: Any = None, casting: Any = "safe") -> Any:
    if not isinstance(subscripts, str):
        raise TypeError("einsum of a tensor takes its indices as text, 'ij,jk->ik'")
    if dtype is None:
        return look_up("einsum")(subscripts, *operands)
    for x in operands:
        if not np.can_cast(own := array_of(x).dtype, dtype, casting):
            raise TypeError(
                f"einsum casts no {own} to {np.dtype(dtype)} under the rule {casting!r}: "
                "casting='unsafe' does"
            )
    return look_up("einsum")(subscripts, *[cast(x, dtype) for x in operands])


def _common_type(*arrays: Any) -> Any:
    return np.common_type(*[np.empty(0, array_of(x).dtype) for x in arrays])


def _share_memory(x: Any, y: Any, max_work: Any = None) -> bool:
    """Whether what two arrays store may lie in the same memory."""
    return any(a < d and c < b for a, b in _spans(x) for c, d in _spans(y))


def _spans(x: Any) -> Sequence[tuple[int, int]]:
    found: Sequence[tuple[int, int]] = (
        x.memory if hasattr(x, "signature") else [np.lib.array_utils.byte_bounds(np.asarray(x))]
    )
    return found


_SPECIAL: dict[Any, Callable[..., Any]] = {
    np.common_type: _common_type,
    np.shares_memory: _share_memory, np.may_share_memory: _share_memory,
    np.allclose: allclose, np.array_equal: array_equal,
    np.array_equiv: array_equiv, np.shape: lambda x: tuple(x.shape),
    np.ndim: lambda x: x.ndim, np.size: _size, np.copy: _copied_array,
    np.tensordot: _tensordot, np.einsum: _einsum,
    np.iscomplexobj: lambda x: x.dtype.kind == "c",
    np.array_repr: lambda x, **options: repr(x), np.array_str: lambda x, **options: str(x),
    np.array2string: lambda x, **options: str(x),
}  # fmt: skip
"""Functions of NumPy whose arguments differ, or that give no array."""
