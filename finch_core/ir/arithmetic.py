"""The expressions that Python's operators build: constants, calls and casts.

``q + 1``, ``i < n`` and ``a.eq(b)`` are calls; ``call`` folds constants at once.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NoReturn

import numpy as np

from finch_core import records
from finch_core.errors import PluginError
from finch_core.ir import primitives as prim
from finch_core.ir.dtypes import BOOL, Type, concrete, is_tuple, is_weak, same, type_of
from finch_core.ir.kept import kept
from finch_core.ir.operators import Operator, alike, literal_value, opposite
from finch_core.ir.whole_numbers import WIDE, computed, has_none, is_too_long, is_wide

ExprLike = "Expr | int | float | complex | bool | np.generic"


class Expr:
    """A scalar expression: ``dtype`` is its type, ``children`` its operands."""

    __slots__ = tuple("_defined _dtype _indices _names _simple _slots _written".split())
    """What was found of it (``ir/kept.py``)."""

    @property
    def dtype(self) -> Type:
        raise NotImplementedError

    @property
    def children(self) -> tuple[Expr, ...]:
        return ()

    def rebuild(self, children: tuple[Expr, ...]) -> Expr:
        """This node with other operands."""
        return self

    def walk(self) -> Iterator[Expr]:
        """This node and all its descendants, in preorder."""
        left: list[Expr] = [self]
        while left:
            node = left.pop()
            yield node
            left.extend(reversed(node.children))

    def __bool__(self) -> NoReturn:
        raise PluginError(
            f"{type(self).__name__} expressions have no truth value while code is emitted: "
            f"Python's if, while, and, or and not cannot test them",
            hint="ctx.if_(cond), ctx.while_(cond) and ctx.ifelse(cond, a, b) emit a test; "
            "a.and_(b), a.or_(b) and a.not_() make conditions",
        )

    def _unlike(self, other: object) -> Any:
        """The result of ``self == other`` where ``other`` is of another class."""
        return unlike(self, other)

    def __add__(self, other: Any) -> Expr:
        return call(prim.add, self, other)

    def __radd__(self, other: Any) -> Expr:
        return call(prim.add, other, self)

    def __sub__(self, other: Any) -> Expr:
        return call(prim.sub, self, other)

    def __rsub__(self, other: Any) -> Expr:
        return call(prim.sub, other, self)

    def __mul__(self, other: Any) -> Expr:
        return call(prim.mul, self, other)

    def __rmul__(self, other: Any) -> Expr:
        return call(prim.mul, other, self)

    def __floordiv__(self, other: Any) -> Expr:
        return call(prim.floordiv, self, other)

    def __mod__(self, other: Any) -> Expr:
        return call(prim.mod, self, other)

    def __and__(self, other: Any) -> Expr:
        return call(prim.bitand, self, other)

    def __or__(self, other: Any) -> Expr:
        return call(prim.bitor, self, other)

    def __xor__(self, other: Any) -> Expr:
        return call(prim.bitxor, self, other)

    def __lshift__(self, other: Any) -> Expr:
        return call(prim.lshift, self, other)

    def __rshift__(self, other: Any) -> Expr:
        return call(prim.rshift, self, other)

    def __lt__(self, other: Any) -> Expr:
        return call(prim.lt, self, other)

    def __le__(self, other: Any) -> Expr:
        return call(prim.le, self, other)

    def __gt__(self, other: Any) -> Expr:
        return call(prim.gt, self, other)

    def __ge__(self, other: Any) -> Expr:
        return call(prim.ge, self, other)

    def eq(self, other: Any) -> Expr:
        return call(prim.eq, self, other)

    def ne(self, other: Any) -> Expr:
        return call(prim.ne, self, other)

    def and_(self, other: Any) -> Expr:
        return call(prim.and_, self, other)

    def or_(self, other: Any) -> Expr:
        return call(prim.or_, self, other)

    def not_(self) -> Expr:
        return call(prim.not_, self)

    def min(self, other: Any) -> Expr:
        return call(prim.minimum_, self, other)

    def max(self, other: Any) -> Expr:
        return call(prim.maximum_, self, other)

    def cast(self, dtype: np.dtype[Any]) -> Expr:
        return cast(self, dtype)


def unlike(expr: Expr, other: object) -> Any:
    """The result of ``expr == other`` where ``other`` is of another class: ``NotImplemented``.

    Raises ``PluginError`` if ``other`` is a number: the comparison of an expression with a
    number would be decided while code is emitted.
    """
    if isinstance(other, (int, float, complex, np.generic)):
        raise PluginError(
            f"an expression ({type(expr).__name__}) is compared with {other!r} by == or !=, which "
            "compare the expressions themselves, not their values",
            hint="a.eq(b) and a.ne(b) make conditions of values",
        )
    return NotImplemented


@records.frozen(order=False, eq=False)
class Literal(Expr):
    """A constant.

    ``structural`` marks a fill value that is not stored in memory: ``0 * x`` is 0 for it, even
    where ``x`` is NaN. A result computed from it is structural if it is the same fill
    (``fold_literals``). The mark has no other meaning: whether a value *equals* a fill is
    decided by comparing values.

    Equality is by type and bits: ``0.0`` and ``-0.0`` differ, and NaN equals itself.
    """

    value: Any
    type: Type
    structural: bool = False
    _known: Any = records.field(default=None, init=False, eq=False, repr=False)
    """What ``_key`` found: passes compare and hash constants again and again."""

    @property
    def dtype(self) -> Type:
        return self.type

    @property
    def is_wide(self) -> bool:
        """Whether this is a plain integer that does not fit an int64."""
        return self.type is int and is_wide(self.value)

    def cast_to(self, dtype: np.dtype[Any]) -> Literal:
        """This constant as ``dtype``. A plain integer is converted to a float directly, not
        through int64."""
        plain = self.type is int and self.value.__class__ is int
        value = self.value if plain else literal_value(self.value, self.type)
        return Literal(literal_value(value, dtype), dtype, self.structural)

    def _key(self) -> tuple[Any, ...]:
        found: tuple[Any, ...] | None = self._known
        if found is None:
            number = self.value if self.is_wide else literal_value(self.value, self.type).tobytes()
            found = (number, is_weak(self.type), self.type, self.structural)
            object.__setattr__(self, "_known", found)
        return found

    def _is_plain(self) -> bool:
        """Whether its number alone distinguishes it among constants of its type (most indices
        and sizes)."""
        return self.value.__class__ is int and self.type is int and -WIDE <= self.value < WIDE

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Literal):
            unlike(self, other)
            return False
        if self._is_plain() and other._is_plain():
            return bool(self.value == other.value) and self.structural == other.structural
        return self._key() == other._key()

    def __hash__(self) -> int:
        if self.type is not int:
            return hash(self._key())
        return hash(self.value if self._is_plain() else int(literal_value(self.value, int)))


@records.frozen(order=False, eq=False, unsafe_hash=True, cache_hash=True)
class Call(Expr):
    """An operator applied to arguments."""

    op: Operator
    args: tuple[Expr, ...]

    def __eq__(self, other: object) -> bool:
        if other.__class__ is not self.__class__:
            return unlike(self, other)  # type: ignore[no-any-return]
        return self.op == other.op and self.args == other.args

    @property
    def dtype(self) -> Type:
        return _dtype_of_call(self)

    @property
    def children(self) -> tuple[Expr, ...]:
        return self.args

    def rebuild(self, children: tuple[Expr, ...]) -> Expr:
        return Call(self.op, children)


@kept("_dtype")
def _dtype_of_call(expr: Call) -> Type:
    return expr.op.result(*[arg.dtype for arg in expr.args])


@records.frozen(order=False, eq=False, unsafe_hash=True, cache_hash=True)
class Cast(Expr):
    """A value converted to another dtype (C's rules; NumPy's ``astype``)."""

    value: Expr
    type: np.dtype[Any]

    def __eq__(self, other: object) -> bool:
        if other.__class__ is not self.__class__:
            return unlike(self, other)  # type: ignore[no-any-return]
        return self.value == other.value and self.type == other.type

    @property
    def dtype(self) -> Type:
        return self.type

    @property
    def children(self) -> tuple[Expr, ...]:
        return (self.value,)

    def rebuild(self, children: tuple[Expr, ...]) -> Expr:
        try:
            return cast(children[0], self.type)
        except TypeError:  # an operand is not bound yet
            return Cast(children[0], self.type)


# -- building -----------------------------------------------------------------------------


def lift(value: Any) -> Expr:
    """``value`` as an expression; Python and NumPy scalars become literals."""
    return value if isinstance(value, Expr) else Literal(value, type_of(value))


def cast(value: Expr, dtype: np.dtype[Any]) -> Expr:
    """``value`` as ``dtype``; unchanged if it has that dtype already."""
    if isinstance(value, Literal):
        if same(value.type, dtype):
            return value
        return value.cast_to(dtype)
    return value if same(value.dtype, dtype) else Cast(value, dtype)


def call(op: Operator, *args: Any) -> Expr:
    """``op`` applied to ``args``; folded if all are literals, or if 0 or 1 is an identity.

    Only integers and bools are folded here: the simplifier decides when floats may be.
    """
    exprs = tuple(map(lift, args))
    folded = _fold(op, exprs)
    return Call(op, exprs) if folded is None else folded


def _fold(op: Operator, args: tuple[Expr, ...]) -> Expr | None:
    literals = [a for a in args if isinstance(a, Literal) and concrete(a.type).kind in "biu"]
    if not literals:
        return None
    if len(literals) == len(args):
        return fold_literals(op, tuple(literals))
    if len(args) != 2:
        return None
    first, second = args
    constant, other = (second, first) if second is literals[0] else (first, second)
    assert isinstance(constant, Literal)
    try:
        kind = concrete(other.dtype).kind
    except TypeError:  # a name that is not bound yet
        return None
    if op is prim.and_ or op is prim.or_:
        if kind != "b":
            return None
        return other if bool(constant.value) == (op is prim.and_) else lift(bool(constant.value))
    if kind not in "iu" or not (is_weak(constant.type) or same(constant.type, other.dtype)):
        return None  # the other operand does not have the type of the result
    value = int(constant.value)
    if op is prim.add and value == 0:
        return other
    if op is prim.sub and value == 0 and other is first:
        return other
    if op is prim.mul and value == 1:
        return other
    if op is prim.mul and value == 0:
        return constant if is_weak(other.dtype) else cast(constant, concrete(other.dtype))
    if op in (prim.add, prim.sub) and other is first and isinstance(first, Call):
        return _merge_constants(op, first, value)
    return None


def _merge_constants(op: Operator, first: Call, value: int) -> Expr | None:
    """``(x + 1) - 1`` is ``x``: constants of a sum are combined at its end."""
    if first.op not in (prim.add, prim.sub) or not isinstance(first.args[1], Literal):
        return None
    if not is_weak(first.args[1].type):
        return None
    inner = int(first.args[1].value)
    inner = inner if first.op is prim.add else -inner
    total = inner + (value if op is prim.add else -value)
    if total < 0:
        return call(prim.sub, first.args[0], -total)
    return call(prim.add, first.args[0], total)


def fold_literals(op: Operator, args: tuple[Literal, ...]) -> Literal:
    """The value of ``op`` on constants, in the types of its typing rule.

    It is structural if it equals a structural operand up to sign (``-0.0``, ``0 / 2``, ``max(0,
    0)``).
    """
    if (plain := _plain(op, args)) is not None:
        return plain
    wanted, result = op.typing(tuple(a.type for a in args))
    whole = result is int and all(_is_whole(op, arg) for arg in args)
    if whole and (exact := computed(op.name, _numbers(args))) is not None:
        return Literal(exact, int)
    values = [literal_value(a.value, t) for a, t in zip(args, wanted, strict=True)]
    if op in prim.COMPARISONS and all(concrete(a.type).kind in "iu" for a in args):
        values = [int(a.value) for a in args]  # exact, whatever their signs
    value = op.evaluate(*values)
    value = result(value) if isinstance(result, type) else literal_value(value, result)
    return Literal(value, result, _remains_fill(args, value, result))


@kept("_written")
def _is_written(expr: Expr) -> bool:
    """Whether an expression is made of integers as written alone, and of what compares them."""
    if isinstance(expr, Literal):
        return expr.type is int or same(expr.type, BOOL)
    return isinstance(expr, Call) and all(map(_is_written, expr.args))


def number_of(expr: Expr) -> Expr:
    """The number that an expression of integers as written alone is, exactly; another expression is
    itself, and so is one that is no number, or one of too many bits."""
    if not isinstance(expr, Call) or not _is_written(expr):
        return expr
    args = [number_of(arg) for arg in expr.args]
    whole = [arg for arg in args if isinstance(arg, Literal) and _is_whole(expr.op, arg)]
    return call(expr.op, *args) if len(whole) == len(args) and _is_kept(expr.op, whole) else expr


def _is_whole(op: Operator, arg: Literal) -> bool:
    """Whether this is an integer as written, or a condition in logic."""
    return arg.type is int or (op in _LOGIC and same(arg.type, BOOL))


def _is_kept(op: Operator, args: list[Literal]) -> bool:
    """Whether folding ``op`` computes with these numbers themselves: none is wrapped, and there is
    a result."""
    numbers = _numbers(args)
    if is_too_long(op.name, numbers) or has_none(op.name, numbers):
        return False
    wanted, result = op.typing(tuple([arg.type for arg in args]))
    if op in prim.COMPARISONS or (result is int and computed(op.name, numbers) is not None):
        return True
    return not any(
        arg.is_wide and concrete(type_).kind in "iu"
        for arg, type_ in zip(args, wanted, strict=True)
    )


_LOGIC = (prim.and_, prim.or_, prim.not_, prim.ifelse)


def _numbers(args: Iterable[Literal]) -> list[int]:
    return [int(arg.value) for arg in args]


def _plain(op: Operator, args: tuple[Literal, ...]) -> Literal | None:
    """The value of ``op`` on two plain integers that no fill is computed from, in Python's
    arithmetic: most constants are indices and sizes. None for others."""
    if op not in _PYTHON or not all(a._is_plain() and not a.structural for a in args):
        return None
    value = _PYTHON[op](*[a.value for a in args])
    if value.__class__ is bool:
        return Literal(np.bool_(value), BOOL)
    return Literal(value, int) if -WIDE <= value < WIDE else None


_PYTHON: dict[Operator, Callable[[int, int], int]] = {
    prim.add: operator.add, prim.sub: operator.sub, prim.mul: operator.mul,
    prim.minimum_: min, prim.maximum_: max,
    prim.lt: operator.lt, prim.le: operator.le, prim.gt: operator.gt,
    prim.ge: operator.ge, prim.eq: operator.eq, prim.ne: operator.ne,
}  # fmt: skip


def _remains_fill(args: tuple[Literal, ...], value: Any, result: Type) -> bool:
    """Whether a value computed from ``args`` is one of the structural fills among them.

    Otherwise it is not structural: ``0 + inf`` is not an annihilator of sums, while a fill of
    ``inf`` is.
    """
    fills = [arg for arg in args if arg.structural]
    if not fills:
        return False
    if is_tuple(result) or any(
        is_tuple(arg.type) for arg in args
    ):  # a field of a fill, or a tuple of fills
        return len(fills) == len(args)
    known = [literal_value(fill.value, fill.type) for fill in fills]
    return any(alike(fill, value) or opposite(fill, value) for fill in known)


def zero_of(dtype: Type) -> Literal:
    """The zero of a type."""
    return Literal(0, dtype) if is_weak(dtype) else Literal(np.zeros((), dtype)[()], dtype)
