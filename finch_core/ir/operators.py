"""Operators: what each means on NumPy scalars, and its algebra.

An operator is *primitive* (every backend implements it, on the dtypes its ufunc has) or is
*defined* by an expression over other operators, so that an operator registered by a plugin works
on every backend. The simplifier reads the algebra off the operator and knows none by name.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable
from functools import cache
from types import FunctionType
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from finch_core.ir.dtypes import Type, concrete, promote, resolve

if TYPE_CHECKING:
    from finch_core.ir.expressions import Expr

Typing = Callable[[tuple[Type, ...]], tuple[tuple[Type, ...], Type]]


@attrs.frozen(eq=False, repr=False)
class Operator:
    """A scalar function and its algebra.

    ``evaluate`` is the meaning on NumPy scalars of the dtypes that ``typing`` asks for.
    ``typing`` maps argument types to the types the arguments are cast to and the result type.
    ``symbol`` is how it prints in a program (``None``: as a call). ``identity`` and ``annihilator``
    map a dtype to the value ``e`` with ``op(x, e) == x`` or ``op(x, z) == z`` (``None``: there is
    none); ``exact_identity``/``exact_annihilator`` say on which dtype kinds that holds for every
    ``x``, NaN and signed zeros included (``exact_first``: for the identity as the first operand,
    where that is another matter); ``structural_annihilator`` tells further values that
    swallow all others where they are structural fills (infinity in a sum). ``left_annihilator``
    is a value of the first operand alone: ``op(z, x)`` equals ``z`` where ``z`` is a structural
    fill, and to the last bit for every ``x`` on the kinds of ``exact_left``. ``modular`` says that
    of integers the last bits of the result depend on as many last bits of the operands alone;
    ``selects``, that the result is one of the operands (see ``symbolic.updates``).
    ``repeated`` gives ``x`` combined ``n`` times with itself (``n`` an integer of 64 bits, or a
    float for floats).
    ``undoes`` names the operator that this one reverts: ``this(op(x, y), y)`` is ``x`` on integers.
    ``dual`` names the other half of a lattice: ``this(x, dual(x, y))`` is ``x``, and each
    distributes over the other. ``distributes`` names further operators: ``op(this(x, y), this(x,
    z))`` is ``this(x, op(y, z))``. ``fixed_point`` builds the condition on ``x`` under which
    ``op(x, y)`` is ``x`` for every ``y``, if there is one (None: that it is the annihilator, where
    that is exact).
    ``library`` is the name of the C library's function that computes it, a double of doubles (an
    ``f`` behind it gives that of floats, a ``c`` before it that of complex numbers),
    ``approximate`` the dtype kinds, of operands or result, on which two libraries may differ in the
    last places, ``costly`` whether it takes longer than a load: it is not evaluated where it may
    not be needed.
    ``refuses`` says why a call of these operands, as the program has them, means nothing (an empty
    text: it does). ``definition`` builds the expression a defined operator stands for. ``python``
    lists the Python callables that mean this operator inside a kernel.
    """

    name: str
    evaluate: Callable[..., Any]
    typing: Typing
    symbol: str | None = None
    commutative: bool = False
    associative: bool = False
    idempotent: bool = False
    modular: bool = False
    selects: bool = False
    identity: Callable[[np.dtype[Any]], Any] | None = None
    annihilator: Callable[[np.dtype[Any]], Any] | None = None
    structural_annihilator: Callable[[Any], bool] | None = None
    exact_identity: str = "biu"
    exact_first: str | None = None
    exact_annihilator: str = "biu"
    left_annihilator: Callable[[np.dtype[Any]], Any] | None = None
    exact_left: str = ""
    repeated: Operator | None = None
    undoes: str = ""
    dual: str = ""
    distributes: tuple[str, ...] = ()
    fixed_point: Callable[[Expr], Expr | None] | None = None
    definition: Callable[..., Expr] | None = None
    refuses: Callable[..., str] | None = None
    python: tuple[Any, ...] = ()
    library: str = ""
    approximate: str = ""
    costly: bool = False

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> Any:
        return (operator, (self.name,))

    def __call__(self, *args: Any) -> Any:
        """The operator's meaning on plain values, so that it is a Python function too."""
        return self.evaluate(*args)

    @property
    def spelling(self) -> str:
        """The operator as a program writes it, for messages."""
        return repr(self.symbol or self.name)

    @property
    def arity(self) -> tuple[int, int]:
        """The least and the largest number of operands."""
        return _arity(self)

    def result(self, *types: Type) -> Type:
        """The type of the result; raises ``TypeError`` where the operator is not defined."""
        return self.typing(types)[1]


@cache
def _arity(op: Operator) -> tuple[int, int]:
    for function in op.python:
        if isinstance(function, np.ufunc):
            return function.nin, function.nin
    function = op.python[0] if op.python and isinstance(op.python[0], FunctionType) else op.evaluate
    kinds = [p.kind for p in inspect.signature(function).parameters.values()]
    if inspect.Parameter.VAR_POSITIONAL in kinds:
        return max(1, len(kinds) - 1), 1 << 30
    return len(kinds), len(kinds)


_BY_NAME: dict[str, Operator] = {}
_BY_CALLABLE: dict[Any, Operator] = {}


def register(op: Operator) -> Operator:
    """Make an operator known under its name and its Python callables; raises on a taken name."""
    if _BY_NAME.get(op.name, op) is not op:
        raise ValueError(f"an operator named {op.name!r} is registered already")
    _BY_NAME[op.name] = op
    for function in op.python:
        _BY_CALLABLE.setdefault(function, op)
    return op


def unregister(op: Operator) -> None:
    """Forget an operator and its Python callables."""
    if _BY_NAME.get(op.name) is op:
        del _BY_NAME[op.name]
    for function in [f for f, known in _BY_CALLABLE.items() if known is op]:
        del _BY_CALLABLE[function]


def operator(name: str) -> Operator:
    """The operator of this name; ``KeyError`` if there is none."""
    return _BY_NAME[name]


def operator_for(function: Any) -> Operator | None:
    """The operator that a Python callable means, or ``None``."""
    try:
        return _BY_CALLABLE.get(function)
    except TypeError:  # unhashable
        return None


def operators() -> tuple[Operator, ...]:
    """All registered operators, in order of registration."""
    return tuple(_BY_NAME.values())


# -- typing rules ---------------------------------------------------------------------------


def by_ufunc(ufunc: np.ufunc) -> Typing:
    """Arguments and result as NumPy's type resolution has them."""

    def typing(types: tuple[Type, ...]) -> tuple[tuple[Type, ...], Type]:
        resolved = ufunc.resolve_dtypes((*types, *(None,) * ufunc.nout))
        return resolved[: ufunc.nin], resolve(ufunc, types)[1]

    return typing


def by_promotion(types: tuple[Type, ...]) -> tuple[tuple[Type, ...], Type]:
    """All arguments in the promoted type, which is the result's too."""
    common = promote(types)
    return (common,) * len(types), common


def choosing(types: tuple[Type, ...]) -> tuple[tuple[Type, ...], Type]:
    """``(condition, a, b)``: the condition is bool, the rest promoted."""
    common = promote(types[1:])
    return (np.dtype(bool), *(common,) * (len(types) - 1)), common


def predicate(types: tuple[Type, ...]) -> tuple[tuple[Type, ...], Type]:
    """Bool from bools."""
    return (np.dtype(bool),) * len(types), np.dtype(bool)


def compared(types: tuple[Type, ...]) -> tuple[tuple[Type, ...], Type]:
    """Bool from arguments in their promoted type (tuples too).

    A plain integer is compared as it is, not wrapped to the width of the other operand.
    """
    common = promote(types)
    if (
        any(t is int for t in types)
        and concrete(common).kind in "iu"
        and concrete(common).itemsize < 8
    ):
        common = np.dtype(np.int64)
    return (common,) * len(types), np.dtype(bool)


# -- values ---------------------------------------------------------------------------------


def constant(value: Any) -> Callable[[np.dtype[Any]], Any]:
    """``value`` in every dtype, as an identity or annihilator."""
    return lambda dtype: dtype.type(value)


def largest(dtype: np.dtype[Any]) -> Any:
    """The identity of ``min``: infinity, or the largest integer, or True; None for complex."""
    if dtype.kind == "f":
        return dtype.type(np.inf)
    if dtype.kind == "b":
        return np.True_
    return dtype.type(np.iinfo(dtype).max) if dtype.kind in "iu" else None


def smallest(dtype: np.dtype[Any]) -> Any:
    """The identity of ``max``: minus infinity, or the smallest integer, or False."""
    if dtype.kind == "f":
        return dtype.type(-np.inf)
    if dtype.kind == "b":
        return np.False_
    return dtype.type(np.iinfo(dtype).min) if dtype.kind in "iu" else None


def ones(dtype: np.dtype[Any]) -> Any:
    """All bits set: the identity of ``&``."""
    return np.True_ if dtype.kind == "b" else np.bitwise_not(dtype.type(0))


def cast_value(value: Any, dtype: np.dtype[Any]) -> Any:
    """``value`` as a scalar of ``dtype``, wrapping integers and truncating floats as C casts do."""
    if dtype.names is not None:
        return np.array(value, dtype=dtype)[()]
    with np.errstate(all="ignore"):
        if isinstance(value, np.generic):
            if value.dtype.kind == "c" and dtype.kind not in "bc":
                value = value.real
            return value.astype(dtype)
        if isinstance(value, int) and dtype.kind in "iu":
            return np.array(value & 0xFFFFFFFFFFFFFFFF, dtype=np.uint64).astype(dtype)[()]
        return np.array(value).astype(dtype)[()]


def exact_value(value: Any, dtype: np.dtype[Any]) -> Any:
    """``value`` as a scalar of ``dtype``, rounded where that is of floats. Raises ``TypeError`` for
    what is no number, ``ValueError`` for a number that the dtype cannot hold."""
    if dtype.names is not None:
        parts = [dtype[name] for name in dtype.names]
        found = value.item() if isinstance(value, np.void) else value
        if not isinstance(found, tuple) or len(found) != len(parts):
            raise TypeError(f"{value!r} is no tuple of {len(parts)} numbers")
        return np.array(tuple(map(exact_value, found, parts)), dtype=dtype)[()]
    if not isinstance(value, (bool, int, float, complex, np.number, np.bool_)):
        raise TypeError(f"{value!r} is no number")
    if isinstance(value, int) and dtype.kind in "iu":
        info = np.iinfo(dtype)
        if not info.min <= value <= info.max:
            raise ValueError(f"{dtype} is from {info.min} to {info.max}")
        return dtype.type(value)
    if isinstance(value, (complex, np.complexfloating)) and dtype.kind != "c" and value.imag == 0:
        value = value.real
    if dtype.kind == "c" or not isinstance(value, (complex, np.complexfloating)):
        with contextlib.suppress(OverflowError):  # an int beyond all floats
            found = cast_value(value, dtype)
            if dtype.kind in "fc":
                same = np.isfinite(found) or not np.isfinite(value)
            else:
                same = found == value
            if same:
                return found
    raise ValueError(f"{dtype} cannot hold it")


def literal_value(value: Any, dtype: Type) -> Any:
    """``value`` in its concrete dtype."""
    return cast_value(value, concrete(dtype))
