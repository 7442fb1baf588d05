"""NumPy's protocols: ufuncs and functions of NumPy on tensors are those of this package."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from finch_array.elementwise import Elementwise
from finch_array.functions import cast, dtype_of
from finch_array.namespace import look_up
from finch_array.operands import NUMBERS, array_of

_RENAMED = {
    "absolute": "abs", "fabs": "abs", "arccos": "acos", "arccosh": "acosh", "arcsin": "asin",
    "arcsinh": "asinh", "arctan": "atan", "arctan2": "atan2", "arctanh": "atanh",
    "true_divide": "divide", "power": "pow", "invert": "bitwise_invert", "rint": "round",
    "left_shift": "bitwise_left_shift", "right_shift": "bitwise_right_shift",
    "conjugate": "conj", "concatenate": "concat", "transpose": "permute_dims", "amax": "max",
    "amin": "min", "around": "round", "cumsum": "cumulative_sum", "cumprod": "cumulative_prod",
    "array_equiv": "array_equal", "unique": "unique_values", "mod": "remainder",
}  # fmt: skip
"""The functions of NumPy that have another name here."""

_REDUCTIONS = {
    "add": "sum", "multiply": "prod", "minimum": "min", "maximum": "max", "logical_and": "all",
    "logical_or": "any",
}  # fmt: skip


def array_ufunc(_: Any, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
    """A ufunc on tensors. ``NotImplemented`` for methods and options that have no meaning here."""
    out = options.pop("out", None)
    if method == "reduce":
        found = _reduced(ufunc, inputs[0], options)
    elif method == "outer" and ufunc is np.multiply and not options:
        found = look_up("tensordot")(*inputs, axes=0)
    elif method != "__call__" or not set(options) <= {"dtype", "casting"}:
        return NotImplemented
    else:
        function = _function_of(ufunc)
        if function is None:
            return NotImplemented
        found = _as_by(ufunc, function, inputs)
        if options.get("dtype") is not None:
            found = found.astype(options["dtype"])
    return found if out is None else _given(out, found)


def _as_by(ufunc: np.ufunc, function: Callable[..., Any], inputs: Sequence[Any]) -> Any:
    """The function of the standard, with the dtypes of NumPy's ufunc: ``rint`` of integers is of
    floats, ``square`` of bools of integers."""
    found = function(*inputs)
    if isinstance(found, tuple) or ufunc.nout != 1:
        return found
    kinds = [type(x) if type(x) in (int, float, complex) else dtype_of(x) for x in inputs]
    *wanted, result = ufunc.resolve_dtypes((*kinds, None))
    if found.dtype == result:
        return found
    own = zip(inputs, wanted, strict=True)
    found = function(*(x if isinstance(x, NUMBERS) else cast(x, t) for x, t in own))
    return found if found.dtype == result else cast(found, result)


def _reduced(ufunc: np.ufunc, x: Any, options: dict[str, Any]) -> Any:
    name = _REDUCTIONS.get(ufunc.__name__)
    known = {"axis", "keepdims", "dtype"}
    rest = {
        k: v for k, v in options.items() if k not in known and v not in (None, np._NoValue, True)
    }
    if name is None or rest:
        return NotImplemented
    given = {k: v for k, v in options.items() if k in known and v is not None}
    return look_up(name)(
        x, **{"axis": 0, **given} if "axis" not in options else {**given, "axis": options["axis"]}
    )


@cache
def _function_of(ufunc: np.ufunc) -> Callable[..., Any] | None:
    name = _RENAMED.get(ufunc.__name__, ufunc.__name__)
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


def _given(out: Any, found: Any) -> Any:
    """Store a result where ``out=`` asks for it."""
    (target,) = out if isinstance(out, tuple) else (out,)
    if isinstance(target, np.ndarray):
        target[...] = found.to_numpy()
    else:
        target[...] = found
    return target


# -- functions --------------------------------------------------------------------------------


def array_function(_: Any, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
    """A function of NumPy on tensors; ``NotImplemented``, NumPy's ``TypeError``, for those that
    this package does not have."""
    found = _SPECIAL.get(function) or _more().get(function)
    if found is not None:
        return found(*args, **kwargs)
    if function.__module__ not in ("numpy", "numpy.linalg"):
        return NotImplemented
    name = _RENAMED.get(function.__name__, function.__name__)
    out = kwargs.pop("out", None)
    try:
        home = look_up("linalg") if function.__module__ == "numpy.linalg" else None
        own = getattr(home, name) if home is not None else look_up(name)
    except AttributeError:
        return NotImplemented
    kwargs = {k: v for k, v in kwargs.items() if v is not np._NoValue}
    made = own(*_positional(own, args, kwargs), **kwargs)
    return made if out is None else _given(out, made)


@cache
def _more() -> dict[Any, Callable[..., Any]]:
    """The functions of NumPy that the standard does not have."""
    from finch_array import numpy_functions, numpy_parts

    return {**numpy_functions.FUNCTIONS, **numpy_parts.FUNCTIONS}


def _positional(function: Any, args: Any, kwargs: Any) -> Any:
    """The positional arguments; NumPy's ``axis``, where it is the second, as a keyword."""
    if len(args) == 2 and function.__name__ in _AXIS_SECOND:
        kwargs["axis"] = args[1]
        return args[:1]
    if function.__name__ == "permute_dims" and len(args) + len(kwargs) == 1:
        return (*args, tuple(reversed(range(args[0].ndim))))
    return args


_AXIS_SECOND = frozenset(
    "sum prod min max mean std var any all argmin argmax cumulative_sum cumulative_prod sort "
    "argsort concat stack flip squeeze count_nonzero".split()
)


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


def _joined(axis: int) -> Callable[..., Any]:
    return lambda arrays, **options: look_up("concat")([array_of(x) for x in arrays], axis=axis)


def _copied_array(x: Any, **options: Any) -> Any:
    return look_up("asarray")(x, copy=True)


def _size(x: Any, axis: int | None = None) -> int:
    return int(x.size if axis is None else x.shape[axis])


def _norm(x: Any, order: Any = None, **options: Any) -> Any:
    order = options.pop("ord", order)
    return look_up("linalg").vector_norm(x, ord=2 if order is None else order, **options)


def _hstack(arrays: Any, **options: Any) -> Any:
    return _joined(int(arrays[0].ndim > 1))(arrays)


def _tensordot(x: Any, y: Any, axes: Any = 2) -> Any:
    return look_up("tensordot")(x, y, axes=axes)


def _trace(x: Any, offset: int = 0, **options: Any) -> Any:
    return look_up("linalg").trace(x, offset=offset)


def _passed_on(name: str) -> Callable[..., Any]:
    """The function of this name, called with positional arguments alone."""
    return lambda *args, **options: look_up(name)(*args)


_SPECIAL: dict[Any, Callable[..., Any]] = {
    np.allclose: allclose, np.array_equal: array_equal, np.shape: lambda x: tuple(x.shape),
    np.ndim: lambda x: x.ndim, np.size: _size, np.vstack: _joined(0),
    np.hstack: _hstack, np.copy: _copied_array,
    np.dot: lambda x, y: look_up("tensordot")(x, y, axes=1),
    np.tensordot: _tensordot, np.trace: _trace, np.einsum: _passed_on("einsum"),
    np.result_type: _passed_on("result_type"),
    np.iscomplexobj: lambda x: x.dtype.kind == "c", np.where: _passed_on("where"),
    np.linalg.norm: _norm, np.array_repr: repr, np.array_str: str,
    np.moveaxis: _passed_on("moveaxis"),
}  # fmt: skip
"""Functions of NumPy whose arguments differ, or that give no array."""
