"""Calls in expressions: operators, casts, rounding, and Python functions, which are inlined."""

from __future__ import annotations

import ast
import builtins
import math
from collections.abc import Callable
from types import FunctionType
from typing import Any, NoReturn

import numpy as np

from finch_core.frontend.expressions import ExpressionParser, fold_left
from finch_core.frontend.functions import (
    PROTOCOLS,
    choose,
    freeze,
    ifelse,
    parallel,
    stored,
    swap,
    thaw,
)
from finch_core.frontend.inlining import inline
from finch_core.frontend.names import Scope, is_maker
from finch_core.frontend.refusals import RANDOM, WHOLE_ARRAYS
from finch_core.ir import primitives as prim
from finch_core.ir.dtypes import concrete
from finch_core.ir.expressions import Access, Call, Cast, Expr, Literal, cast
from finch_core.ir.operators import Operator, operator, operator_for
from finch_core.ir.program import Stored

_INT = np.dtype(np.int64)

# Python's rounding gives ints, NumPy's keeps the dtype
ROUNDING: dict[Any, tuple[Operator, np.dtype[Any] | None]] = {
    builtins.round: (operator("round"), _INT),
    math.floor: (operator("floor"), _INT),
    math.ceil: (operator("ceil"), _INT),
    math.trunc: (operator("trunc"), _INT),
    np.round: (operator("round"), None),
}
REFUSED: dict[Any, tuple[str, str]] = {
    builtins.sum: (
        "'sum' is not part of the language",
        "write the loop: 't = 0', then 't += A[i]'",
    ),
    builtins.print: ("'print' is not part of the language", "print results after the call"),
    builtins.range: ("'range' is only the extent of a loop", "write 'for i in range(a, b):'"),
    parallel: ("'parallel' is only for loops", "write 'for i in parallel(_):'"),
    freeze: ("'freeze' is a statement, not a value", "write 'freeze(A)' on a line of its own"),
    swap: ("'swap' is a statement, not a value", "write 'swap(A, B)' on a line of its own"),
    thaw: ("'thaw' is a statement, not a value", "write 'thaw(A)' on a line of its own"),
}

_NARY = (prim.minimum_, prim.maximum_)


def _log(x: Expr, *base: Expr) -> Expr:
    log = operator("log")
    return Call(prim.truediv, (Call(log, (x,)), *(Call(log, (b,)) for b in base)))


def _clip(x: Expr, low: Expr, high: Expr) -> Expr:
    return Call(prim.minimum, (Call(prim.maximum, (x, low)), high))


def _divmod(a: Expr, b: Expr) -> Expr:
    parts = (Call(prim.floordiv, (a, b)), Call(prim.mod, (a, b)))
    return Call(prim.make_tuple, parts)


def _scaled(factor: float) -> Callable[[Expr], Expr]:
    return lambda x: Call(prim.mul, (x, Literal(factor, float)))


REWRITTEN: dict[tuple[Any, int], Callable[..., Expr]] = {
    (np.square, 1): lambda x: Call(prim.mul, (x, x)),
    (np.positive, 1): lambda x: x,
    (np.isnat, 1): lambda x: Call(prim.ne, (x, x)),
    (np.clip, 3): _clip,
    (builtins.divmod, 2): _divmod,
    (builtins.complex, 2): lambda x, y: Call(prim.make_complex, (x, y)),
    (np.divmod, 2): _divmod,
    (math.log, 2): _log,
    (math.hypot, 1): lambda x: Call(prim.hypot, (x, Literal(0.0, float))),
    (math.hypot, 3): lambda x, y, z: Call(prim.hypot, (Call(prim.hypot, (x, y)), z)),
    (math.degrees, 1): _scaled(180 / math.pi),
    (np.degrees, 1): _scaled(180 / math.pi),
    (np.rad2deg, 1): _scaled(180 / math.pi),
    (math.radians, 1): _scaled(math.pi / 180),
    (np.radians, 1): _scaled(math.pi / 180),
    (np.deg2rad, 1): _scaled(math.pi / 180),
}
"""Functions that stand for an expression over operators, by their number of arguments."""


def parse_call(parser: ExpressionParser, node: ast.Call, scope: Scope) -> Expr:
    """The expression of a call; raises ``KernelSyntaxError``."""
    if _conjugates(parser, node, scope):
        assert isinstance(node.func, ast.Attribute)
        return Call(operator("conj"), (parser.parse(node.func.value, scope),))
    function = parser.context.object_of(node.func, scope)
    if not node.keywords and _in(REWRITTEN, (function, len(node.args))):
        args = [parser.parse(arg, scope) for arg in node.args]
        return REWRITTEN[function, len(args)](*args)
    if function is builtins.len:
        _positional(parser, node, "len", 1)
        return parser.dimension(node, node.args[0], 0, scope)
    if function is stored:
        return _stored(parser, node, scope)
    op = operator_of(function)
    if op is not None:
        return _operator_call(parser, node, op, scope)
    if _in(ROUNDING, function):
        return _rounding(parser, node, function, scope)
    dtype = cast_of(function)
    if dtype is not None:
        _positional(parser, node, shown(node), 1)
        return _cast(parser.parse(node.args[0], scope), dtype)
    refused = _in(REFUSED, function) or is_maker(function) or _is_of_arrays(function)
    if isinstance(function, FunctionType) and not refused:
        _refuse_protocol(parser, node, function)
        return inline(parser, node, function, scope)
    _refuse_call(parser, node, function)


def _stored(parser: ExpressionParser, node: ast.Call, scope: Scope) -> Expr:
    """``stored(A[i, j])``."""
    _positional(parser, node, shown(node), 1)
    access = parser.parse(node.args[0], scope)
    if not isinstance(access, Access):
        parser.context.refuse(
            node.args[0], f"{shown(node)!r} asks of an element of a tensor, and this is a value",
            "write 'stored(A[i, j])'",
        )  # fmt: skip
    return Stored(access)


def _conjugates(parser: ExpressionParser, node: ast.Call, scope: Scope) -> bool:
    """Whether this is ``x.conjugate()`` of a number."""
    func = node.func
    if not isinstance(func, ast.Attribute) or func.attr not in ("conjugate", "conj"):
        return False
    return not (node.args or node.keywords or parser.in_module(func.value, scope))


def operator_of(function: Any) -> Operator | None:
    """The operator that a Python object stands for, or ``None``."""
    if isinstance(function, Operator):
        return function
    return prim.ifelse if function is ifelse else operator_for(function)


def cast_of(function: Any) -> np.dtype[Any] | None:
    """The dtype that a Python object casts to when called, or ``None``."""
    if not isinstance(function, type):
        return None
    if function in (int, float, complex):
        return concrete(function)
    if function is bool or issubclass(function, np.generic):
        return np.dtype(function)
    return None


def protocol_of(parser: ExpressionParser, node: ast.Call, scope: Scope) -> str | None:
    """``follow``, ``walk`` or ``gallop`` where ``node`` calls one of them."""
    if not isinstance(node.func, (ast.Name, ast.Attribute)):
        return None
    function = parser.context.object_of(node.func, scope)
    if not _in(PROTOCOLS, function):
        return None
    _positional(parser, node, shown(node), 1)
    return PROTOCOLS[function]


def shown(node: ast.Call) -> str:
    """The function of a call as written in the source."""
    return ast.unparse(node.func)


def _in(table: dict[Any, Any], function: Any) -> bool:
    try:
        return function in table
    except TypeError:  # unhashable
        return False


def _cast(value: Expr, dtype: np.dtype[Any]) -> Expr:
    if not isinstance(value, Literal) or (dtype.kind in "iu" and not _holds(dtype, value.value)):
        return Cast(value, dtype)
    return cast(value, dtype)


def _holds(dtype: np.dtype[Any], value: Any) -> bool:
    """Whether an integer dtype holds a constant: others are refused when types are known."""
    ends = np.iinfo(dtype)
    return not isinstance(value, int) or int(ends.min) <= value <= int(ends.max)


def _rounding(parser: ExpressionParser, node: ast.Call, function: Any, scope: Scope) -> Expr:
    if len(node.args) == 2 and function in (builtins.round, np.round):
        parser.context.refuse(
            node, f"{shown(node)!r} takes 1 argument, not 2",
            "to two digits it is 'np.round(100 * x) / 100'",
        )  # fmt: skip
    _positional(parser, node, shown(node), 1)
    op, dtype = ROUNDING[function]
    value = Call(op, (parser.parse(node.args[0], scope),))
    return value if dtype is None else Cast(value, dtype)


def _operator_call(parser: ExpressionParser, node: ast.Call, op: Operator, scope: Scope) -> Expr:
    if node.keywords:
        _positional(parser, node, shown(node), 0)
    least, most = op.arity
    count = len(node.args)
    nary = op in _NARY and count > 2
    if count < least or (count > most and not nary):
        wanted = f"{least}" if least == most else f"at least {least}"
        if op in _NARY:
            wanted = "at least 2"
        parser.context.refuse(
            node, f"{shown(node)!r} takes {wanted} argument{'s' * (wanted != '1')}, not {count}",
            WHOLE_ARRAYS["max"] if op in _NARY and count == 1 else "",
        )  # fmt: skip
    args = [parser.parse(arg, scope) for arg in node.args]
    return fold_left(op, args) if nary else Call(op, tuple(args))


def _positional(parser: ExpressionParser, node: ast.Call, name: str, count: int) -> None:
    if node.keywords:
        parser.context.refuse(node, f"{name!r} takes no keyword arguments in a kernel")
    if len(node.args) != count:
        parser.context.refuse(
            node, f"{name!r} takes {count} argument{'s' * (count != 1)}, not {len(node.args)}"
        )


def _refuse_protocol(parser: ExpressionParser, node: ast.Call, function: Any) -> None:
    if _in(PROTOCOLS, function):
        name = PROTOCOLS[function]
        parser.context.refuse(
            node, f"{name!r} is only allowed in an index", f"write 'A[{name}(i)]'"
        )  # fmt: skip
    if function is choose:
        parser.context.refuse(
            node, "'choose(z)' is an operator, not a value", "write 'choose(z)(a, b)'"
        )


def _is_of_arrays(function: Any) -> bool:
    """Whether this is a function of NumPy that takes or makes whole arrays."""
    name = getattr(function, "__name__", "")
    return name in WHOLE_ARRAYS and function is getattr(np, name, None)


def _refuse_call(parser: ExpressionParser, node: ast.Call, function: Any) -> NoReturn:
    name = shown(node)
    if _in(REFUSED, function):
        parser.context.refuse(node, *REFUSED[function])
    if is_maker(function):
        parser.context.refuse(
            node,
            f"{name!r} makes a tensor and is not a value",
            f"write 'w = {name}(...)' on its own",
        )
    if hasattr(type(function), "__finch_program__"):
        parser.context.refuse_recursion(node, function)
        parser.context.refuse(
            node,
            f"{name!r} is a kernel, whose call is a value in a statement of a kernel only",
            f"give its value a name on a line before: 'value = {name}(...)'; a function that calls "
            "kernels is a kernel itself, '@kernel'",
        )
    owner = type(getattr(function, "__self__", None))
    module = getattr(function, "__module__", None) or owner.__module__
    if module.startswith(("numpy.random", "random")):
        parser.context.refuse(node, f"{name!r} draws random numbers, which a kernel cannot", RANDOM)
    called = getattr(function, "__name__", "")
    if _is_of_arrays(function) or module.startswith("numpy.linalg"):
        message = f"{name!r} is of whole arrays, and a kernel computes with elements"
        hint = "call it before the kernel, and pass what it gives"
        parser.context.refuse(node, message, WHOLE_ARRAYS.get(called, hint))
    if not callable(function):
        parser.context.refuse(node, f"{name!r} is a {type(function).__name__}, not a function")
    kind = f"a {type(function).__name__}, not a function written in Python"
    hint = "use the operators, 'math', NumPy's ufuncs or a Python function, or register an operator"
    if isinstance(function, (np.ufunc, type)):
        kind = f"a {'class' if isinstance(function, type) else 'ufunc'} that no operator stands for"
    if isinstance(function, np.ufunc) or function in vars(math).values():
        hint = "write it as a Python function of numbers, which is inlined, or register an operator"
    parser.context.refuse(node, f"{name!r} cannot be inlined: it is {kind}", hint)
