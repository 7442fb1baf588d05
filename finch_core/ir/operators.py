"""Operators: the meaning of each on NumPy scalars, and its algebra.

An operator is *primitive* (every backend implements it, for the dtypes of its ufunc) or is
*defined* by an expression over other operators, so that a plugin's operator works on every
backend. The simplifier uses the algebra and refers to no operator by name.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterable
from functools import cache
from types import FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np

from finch_core.errors import MISTAKES, FinchError, PluginError, mistaken
from finch_core.ir.dtypes import Type, concrete, is_tuple, promote, resolve, tuple_fields
from finch_core.ir.owners import of_owner
from finch_core.ir.stored_dtypes import stored_dtype
from finch_core.records import frozen

if TYPE_CHECKING:
    from finch_core.ir.arithmetic import Expr

Typing = Callable[[tuple[Type, ...]], tuple[tuple[Type, ...], Type]]


@frozen(eq=False, repr=False)
class Operator:
    """A scalar function and its algebra.

    Meaning:

    - ``evaluate``: the function on NumPy scalars of the dtypes that ``typing`` gives.
    - ``typing``: maps argument types to the types that arguments are cast to, and the result type.
    - ``definition``: builds the expression that a defined operator stands for.
    - ``refuses``: the reason why a call with these operands is an error, or an empty text.
    - ``symbol``: its spelling in a program (``None``: as a call).
    - ``python``: the Python callables that stand for this operator inside a kernel.

    Algebra:

    - ``identity``, ``annihilator``: map a dtype to the value ``e`` with ``op(x, e) == x``, or ``z``
      with ``op(x, z) == z`` (``None``: there is none).
    - ``exact_identity``, ``exact_annihilator``: the dtype kinds on which that holds for every
      ``x``, NaN and signed zeros included. ``exact_first``: the kinds for the identity as the first
      operand, if they differ.
    - ``structural_annihilator``: whether a value is an annihilator if it is a structural fill
      (infinity in a sum).
    - ``left_annihilator``: a value ``z`` with ``op(z, x) == z`` if ``z`` is a structural fill, and
      bitwise for every ``x`` on the dtype kinds ``exact_left``.
    - ``modular``: on integers, the low bits of the result depend only on the low bits of the
      operands.
    - ``selects``: the result is one of the operands (see ``symbolic.updates``).
    - ``repeated``: the operator that combines ``x`` with itself ``n`` times (``n`` is an int64, or
      a float for floats).
    - ``undoes``: the operator that this one inverts: ``this(op(x, y), y)`` is ``x`` on integers.
    - ``dual``: the other operator of a lattice: ``this(x, dual(x, y))`` is ``x``, and each
      distributes over the other.
    - ``distributes``: operators with ``op(this(x, y), this(x, z))`` equal to ``this(x, op(y, z))``.
    - ``fixed_point``: builds the condition on ``x`` under which ``op(x, y)`` is ``x`` for every
      ``y`` (None: that ``x`` is the annihilator, where that is exact).

    Code generation:

    - ``library``: the C library's function on doubles that computes it (with a suffix ``f`` for
      floats, a prefix ``c`` for complex numbers).
    - ``approximate``: the dtype kinds, of operands or result, for which C libraries may differ in
      the last digits.
    - ``costly``: whether it takes longer than a load, and so is not evaluated speculatively.
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
    repeated: Operator | None = None
    undoes: str = ""
    dual: str = ""
    distributes: tuple[str, ...] = ()
    fixed_point: Callable[[Expr], Expr | None] | None = None
    definition: Callable[..., Expr] | None = None
    refuses: Callable[..., str] | None = None
    python: tuple[Any, ...] = ()
    left_annihilator: Callable[[np.dtype[Any]], Any] | None = None
    exact_left: str = ""
    library: str = ""
    approximate: str = ""
    costly: bool = False

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> Any:
        return (operator, (self.name,))

    def __call__(self, *args: Any) -> Any:
        """The operator applied to Python or NumPy scalars."""
        return self.evaluate(*args)

    @property
    def spelling(self) -> str:
        """The operator as a program spells it, for messages."""
        return repr(self.symbol or self.name)

    @property
    def arity(self) -> tuple[int, int]:
        """The least and the largest number of operands."""
        return _arity(self)

    def result(self, *types: Type) -> Type:
        """The type of the result; ``TypeError`` if the operator is not defined on ``types``, and
        ``PluginError`` for a typing that fails otherwise."""
        return typing_of(self, types)[1]


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
    """Register an operator under its name and its Python callables; ``ValueError`` if the name
    is taken."""
    if _BY_NAME.get(op.name, op) is not op:
        raise ValueError(f"an operator named {op.name!r} is registered already")
    _BY_NAME[op.name] = op
    for function in op.python:
        _BY_CALLABLE.setdefault(function, op)
    return op


def unregister(op: Operator) -> None:
    """Remove an operator and its Python callables from the registry."""
    if _BY_NAME.get(op.name) is op:
        del _BY_NAME[op.name]
    for function in [f for f, known in _BY_CALLABLE.items() if known is op]:
        del _BY_CALLABLE[function]


def typing_of(op: Operator, types: tuple[Type, ...]) -> tuple[tuple[Type, ...], Type]:
    """What ``op.typing`` gives, checked.

    Raises ``TypeError`` if it does, and ``PluginError`` for a typing that fails or gives no types.
    """
    what = f"the typing of the operator {op.name!r}{of_owner(op)}"
    try:
        found: Any = op.typing(types)
    except (FinchError, TypeError):
        raise
    except MISTAKES as error:
        raise mistaken(what, error) from error
    if isinstance(found, tuple) and len(found) == 2 and isinstance(found[0], tuple):
        wanted, result = found
        if all(isinstance(t, (np.dtype, type)) for t in (*wanted, result)):
            return wanted, result
    raise PluginError(
        f"{what} gives {found!r:.60}, which is not the types of the operands "
        "and that of the result",
        hint="it gives ((dtype, ...), dtype), or raises TypeError where there is no meaning",
    )


def expanded(op: Operator, args: tuple[Expr, ...]) -> Expr:
    """The expression that an operator with a definition stands for.

    Raises ``PluginError`` for a definition that fails, or gives no expression.
    """
    assert op.definition is not None
    what = f"the definition of the operator {op.name!r}{of_owner(op)}"
    try:
        found = op.definition(*args)
    except FinchError:
        raise
    except MISTAKES as error:
        raise mistaken(what, error) from error
    if hasattr(found, "rebuild") and hasattr(found, "dtype"):
        return found
    raise PluginError(
        f"{what} gives {found!r:.60}, which is not an expression",
        hint="it builds an expression of its arguments, as lambda x: x * x does",
    )


def operator(name: str) -> Operator:
    """The operator of this name; ``KeyError`` if there is none."""
    return _BY_NAME[name]


def operator_for(function: Any) -> Operator | None:
    """The operator that a Python callable stands for, or ``None``."""
    try:
        return _BY_CALLABLE.get(function)
    except TypeError:  # unhashable
        return None


def operators() -> tuple[Operator, ...]:
    """All registered operators, in order of registration."""
    return tuple(_BY_NAME.values())


# -- typing rules ---------------------------------------------------------------------------


def by_ufunc(ufunc: np.ufunc) -> Typing:
    """The typing rule of a ufunc: NumPy's type resolution."""

    def typing(types: tuple[Type, ...]) -> tuple[tuple[Type, ...], Type]:
        resolved = ufunc.resolve_dtypes((*types, *(None,) * ufunc.nout))
        return resolved[: ufunc.nin], resolve(ufunc, types)[1]

    return typing


def by_promotion(types: tuple[Type, ...]) -> tuple[tuple[Type, ...], Type]:
    """The typing rule that casts all arguments to their promoted type, which is also the
    result's."""
    common = promote(types)
    return (common,) * len(types), common


def ordered(types: tuple[Type, ...]) -> tuple[tuple[Type, ...], Type]:
    """``by_promotion`` of operators that compare: tuples have no order here."""
    _require_order(types)
    return by_promotion(types)


def compared_in_order(types: tuple[Type, ...]) -> tuple[tuple[Type, ...], Type]:
    """``compared``, but of tuples, which have no order here."""
    _require_order(types)
    return compared(types)


def _require_order(types: tuple[Type, ...]) -> None:
    if any(map(is_tuple, types)):
        raise TypeError("tuples have no order")


REMEDY = "cast the operands, as in int(x) or np.float64(x)"


def remedy(types: Iterable[Type]) -> str:
    """What works where an operator is not defined on operands of these types."""
    firsts = [tuple_fields(type_)[0] for type_ in types if is_tuple(type_)]
    if any(map(is_tuple, firsts)):
        return "minby(a, b) and maxby(a, b) compare first elements that are numbers"
    if firsts:
        return "minby(a, b) and maxby(a, b) compare tuples by their first elements"
    return REMEDY


def spelled(dtype: np.dtype[Any]) -> str:
    """A dtype as messages have it."""
    fields = tuple_fields(dtype) if is_tuple(dtype) else ()
    return f"({', '.join(map(spelled, fields))})" if fields else str(dtype)


def choosing(types: tuple[Type, ...]) -> tuple[tuple[Type, ...], Type]:
    """The typing rule of ``(condition, a, b)``: the condition is bool, the rest is promoted."""
    common = promote(types[1:])
    return (np.dtype(bool), *(common,) * (len(types) - 1)), common


def predicate(types: tuple[Type, ...]) -> tuple[tuple[Type, ...], Type]:
    """The typing rule of logical operators: bool from bools."""
    return (np.dtype(bool),) * len(types), np.dtype(bool)


def compared(types: tuple[Type, ...]) -> tuple[tuple[Type, ...], Type]:
    """The typing rule of comparisons: bool from arguments in their promoted type (tuples too).

    Integers are compared exactly: a plain one is not wrapped to the width of the other operand,
    and a signed one and a uint64 keep their types, since no integer dtype holds both.
    """
    if any(stored_dtype(concrete(t)) is not None for t in types):
        return by_ufunc(np.less)(types)
    common = promote(types)
    kinds = {concrete(t).kind for t in types}
    if kinds == {"i", "u"} and any(concrete(t) == np.uint64 for t in types):
        return types, np.dtype(bool)
    if (
        any(t is int for t in types)
        and concrete(common).kind in "iu"
        and concrete(common).itemsize < 8
    ):
        common = np.dtype(np.int64)
    return (common,) * len(types), np.dtype(bool)


# -- values ---------------------------------------------------------------------------------


def constant(value: Any) -> Callable[[np.dtype[Any]], Any]:
    """An identity or annihilator that is ``value`` in every dtype."""
    return lambda dtype: cast_value(value, dtype)


def where_held(value: Any) -> Callable[[np.dtype[Any]], Any]:
    """An identity or annihilator that is ``value`` in the dtypes that hold it, and None in others:
    an integer that infinity, 0.5 or a wider integer becomes by a cast is another value."""

    def held(dtype: np.dtype[Any]) -> Any:
        if dtype.kind in "mM":
            return cast_value(value, dtype) if np.asarray(value).dtype.kind == dtype.kind else None
        try:
            return exact_value(value, dtype)
        except (TypeError, ValueError):
            return None

    return held


def largest(dtype: np.dtype[Any]) -> Any:
    """The identity of ``min``: infinity, the largest integer or date, or True; None for complex."""
    if dtype.kind in "mM":
        return np.int64(np.iinfo(np.int64).max).view(dtype)
    if dtype.kind == "b":
        return np.True_
    return dtype.type(np.iinfo(dtype).max) if dtype.kind in "iu" else _infinity(np.inf, dtype)


def smallest(dtype: np.dtype[Any]) -> Any:
    """The identity of ``max``: minus infinity, the smallest integer or date, or False."""
    if dtype.kind in "mM":
        return np.int64(np.iinfo(np.int64).min + 1).view(dtype)  # the smallest is NaT
    if dtype.kind == "b":
        return np.False_
    return dtype.type(np.iinfo(dtype).min) if dtype.kind in "iu" else _infinity(-np.inf, dtype)


def _infinity(value: float, dtype: np.dtype[Any]) -> Any:
    """``value`` in ``dtype``, which may be of another package; None where it has none."""
    if dtype.kind == "c" or dtype.fields is not None:
        return None
    found = np.asarray(value).astype(dtype)[()]
    return found if found == value else None


def ones(dtype: np.dtype[Any]) -> Any:
    """All bits set: the identity of ``&``."""
    return np.True_ if dtype.kind == "b" else np.bitwise_not(dtype.type(0))


_EXACT = {float: np.dtype(float), bool: np.dtype(bool), complex: np.dtype(complex)}
"""The dtypes that have every value of a type of Python's."""


def cast_value(value: Any, dtype: np.dtype[Any]) -> Any:
    """``value`` as a scalar of ``dtype``; integers wrap and floats truncate, as in C."""
    if _EXACT.get(value.__class__) is dtype:
        return dtype.type(value)
    if dtype.names is not None:
        return tuple_value(value, dtype)
    if isinstance(value, np.generic) and value.dtype == dtype:
        return value
    with np.errstate(all="ignore"):
        if isinstance(value, np.generic):
            if value.dtype.kind == "c" and dtype.kind not in "bc":
                value = value.real
            return value.astype(dtype)
        if isinstance(value, int) and dtype.kind in "iu":
            return np.array(value & 0xFFFFFFFFFFFFFFFF, dtype=np.uint64).astype(dtype)[()]
        return np.array(value).astype(dtype)[()]


def tuple_value(value: Any, dtype: np.dtype[Any]) -> Any:
    """A tuple as a scalar of ``dtype``. What lies between its elements is zero: it is compared by
    its bytes, where memory that is not set would make equal formats and constants differ."""
    found = np.zeros((), dtype)
    if isinstance(value, np.void):
        value = tuple(value[name] for name in value.dtype.names or ())
    if not isinstance(value, tuple):
        found[()] = value
        return found[()]
    for name, part in zip(dtype.names or (), value, strict=True):
        inner = dtype[name]
        found[name] = part if inner.names is None else tuple_value(part, inner)
    return found[()]


def exact_value(value: Any, dtype: np.dtype[Any]) -> Any:
    """``value`` as a scalar of ``dtype``, rounded if that is a float dtype.

    Raises ``TypeError`` if it is not a number, ``ValueError`` if the dtype cannot represent it.
    """
    if _EXACT.get(value.__class__) is dtype:
        return dtype.type(value)
    if value.__class__ is dtype.type and dtype.kind in "biufc":
        return value
    if dtype.names is not None:
        parts = [dtype[name] for name in dtype.names]
        found = value.item() if isinstance(value, np.void) else value
        if not isinstance(found, tuple) or len(found) != len(parts):
            raise TypeError(f"{value!r} is no tuple of {len(parts)} numbers")
        return tuple_value(tuple(map(exact_value, found, parts)), dtype)
    if stored_dtype(dtype) is not None:
        return _stored_value(value, dtype)
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
        with contextlib.suppress(OverflowError):  # an int beyond the range of floats
            found = cast_value(value, dtype)
            if dtype.kind in "fc":
                same = np.isfinite(found) or not np.isfinite(value)
            else:
                same = found == value
            if same:
                return found
    raise ValueError(f"{dtype} cannot hold it")


def _stored_value(value: Any, dtype: np.dtype[Any]) -> Any:
    """``exact_value`` for a dtype that NumPy and a plugin know."""
    given = np.asarray(value)
    if not np.can_cast(given.dtype, dtype, "same_kind") and given.dtype.kind not in "biuf":
        raise TypeError(f"{value!r} is no {dtype}")
    found = given.astype(dtype)[()]
    if given.dtype.kind != "f" and not alike(found.astype(given.dtype), given[()]):
        raise ValueError(f"{dtype} cannot hold it")
    return found


def literal_value(value: Any, dtype: Type) -> Any:
    """``value`` as a scalar of the concrete dtype of ``dtype``."""
    return cast_value(value, concrete(dtype))


def alike(one: Any, other: Any) -> bool:
    """Whether two values are equal (``==``: zeros of both signs are), or both NaN."""
    return bool(one == other) or bool(one != one and other != other)


def opposite(one: Any, other: Any) -> bool:
    """Whether one value is the negative of the other; False for a date, which has none."""
    if getattr(one, "dtype", np.dtype(float)).kind == "M":
        return False
    with np.errstate(all="ignore"):
        return bool(np.multiply(one, -1.0) == other)
