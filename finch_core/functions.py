"""The functions of the language, as Python objects that a kernel's file imports.

Each is callable in plain Python with its plain meaning, so that a kernel's body reads as Python.
Operators (``choose(z)``, ``coalesce``, ``minby``, ``maxby``) are ``Operator`` objects; ``follow``,
``walk``, ``gallop``, ``freeze``, ``thaw`` and ``_`` are syntax that the parser knows by identity.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np

from finch_core import primitives as prim
from finch_core.dtypes import Type, is_tuple, promote, tuple_dtype, tuple_fields, type_of
from finch_core.expressions import Call, Expr, Literal, Var
from finch_core.operators import Operator, by_promotion, cast_value, operator, register
from finch_core.records import frozen

# -- missing --------------------------------------------------------------------------------


def _propagate(self: Any, *others: Any) -> Any:
    return self


class MissingType:
    """What a permissive read out of bounds gives; any arithmetic on it gives it again."""

    __slots__ = ()

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _propagate
    __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = _propagate
    __pow__ = __rpow__ = __neg__ = __abs__ = _propagate

    def __repr__(self) -> str:
        return "missing"

    def __bool__(self) -> bool:
        raise TypeError("missing is neither true nor false; use coalesce(x, default)")

    def __reduce__(self) -> str:
        return "missing"


missing = MissingType()
"""The value of a permissive read out of bounds."""


@frozen(order=False)
class Missing(Expr):
    """``missing`` as an expression. It has the type of what it stands for, if that is known."""

    type: Type = MissingType

    @property
    def dtype(self) -> Type:
        return self.type


def _coalesce(*values: Any) -> Any:
    return next((value for value in values if value is not missing), missing)


def _coalesced(types: tuple[Type, ...]) -> tuple[tuple[Type, ...], Type]:
    present = tuple(t for t in types if t is not MissingType)
    if not present:
        return types, MissingType
    common = promote(present)
    return tuple(t if t is MissingType else common for t in types), common


coalesce = register(Operator("coalesce", _coalesce, _coalesced, definition=lambda *args: args[0]))
"""``coalesce(a, b, ...)``: the first argument that is not ``missing``."""


# -- reductions -----------------------------------------------------------------------------


def _fieldwise(types: tuple[Type, ...]) -> tuple[tuple[Type, ...], Type]:
    """Tuples in their promoted fields."""
    if not all(map(is_tuple, types)):
        raise TypeError("minby and maxby compare tuples by their first element")
    fields = [tuple_fields(t) for t in types]
    common: Any = tuple_dtype(tuple(map(np.result_type, *fields)))
    return (common,) * len(types), common


def _better(compare: Operator) -> Callable[[Expr, Expr], Expr]:
    first = prim.field(0)

    def definition(a: Expr, b: Expr) -> Expr:
        return Call(prim.ifelse, (Call(compare, (Call(first, (b,)), Call(first, (a,)))), b, a))

    return definition


minby = register(
    Operator(
        "minby",
        lambda a, b: b if b[0] < a[0] else a,
        _fieldwise,
        definition=_better(prim.lt),
        associative=True,
        idempotent=True,
        selects=True,
    )
)
"""``minby(a, b)``: the tuple whose first element is smaller, ``a`` on ties."""

maxby = register(
    Operator(
        "maxby",
        lambda a, b: b if b[0] > a[0] else a,
        _fieldwise,
        definition=_better(prim.gt),
        associative=True,
        idempotent=True,
        selects=True,
    )
)
"""``maxby(a, b)``: the tuple whose first element is larger, ``a`` on ties."""


def choose(z: Any) -> Operator:
    """The operator that returns any argument that is not ``z``: here ``b if a == z else a``."""
    name = f"choose({z!r})"
    try:
        return operator(name)
    except KeyError:
        return register(_choose(name, z))


def _choose(name: str, z: Any) -> Operator:
    literal, is_nan = Literal(z, type_of(z)), z != z

    def definition(a: Expr, b: Expr) -> Expr:
        test = Call(prim.isnan, (a,)) if is_nan else Call(prim.eq, (a, literal))
        return Call(prim.ifelse, (test, b, a))

    def evaluate(a: Any, b: Any) -> Any:
        return b if (a != a if is_nan else a == z) else a

    def chosen(a: Expr) -> Expr:
        return Call(prim.isnan, (a,)).not_() if is_nan else Call(prim.ne, (a, literal))

    return Operator(
        name, evaluate, by_promotion, associative=True, idempotent=True, definition=definition,
        fixed_point=chosen, selects=True,
        identity=lambda dtype: cast_value(z, dtype),
    )  # fmt: skip


# -- syntax ---------------------------------------------------------------------------------


def ifelse(cond: Any, a: Any, b: Any) -> Any:
    """``a`` if ``cond`` else ``b``; inside a kernel only the chosen one is evaluated."""
    return a if cond else b


def follow(index: Any) -> Any:
    """Protocol: the index drives the loop's order, the tensor only follows it."""
    return index


def walk(index: Any) -> Any:
    """Protocol: the tensor is read in order, one stored value after another."""
    return index


def gallop(index: Any) -> Any:
    """Protocol: the tensor leads the iteration and others skip ahead to it."""
    return index


def freeze(tensor: Any) -> None:
    """Inside a kernel: end the updates of ``tensor`` here. In plain Python it does nothing."""


def thaw(tensor: Any) -> None:
    """Inside a kernel: make ``tensor`` ready for updates here. In plain Python: nothing."""


class Whole:
    """``_`` of ``for i in _``: the extent that the tensors' dimensions give."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "_"

    def __iter__(self) -> Any:
        raise TypeError("'_' is an extent inside a kernel; it cannot be iterated in plain Python")


_ = Whole()

PROTOCOLS: dict[Any, str] = {follow: "follow", walk: "walk", gallop: "gallop"}
"""The protocol that a function names in an index."""

SYNTAX: dict[str, Any] = {
    "_": _, "missing": missing, "ifelse": ifelse, "coalesce": coalesce, "minby": minby,
    "maxby": maxby, "choose": choose, "follow": follow, "walk": walk, "gallop": gallop,
    "freeze": freeze, "thaw": thaw,
}  # fmt: skip
"""What these names mean inside a kernel whose file does not define them."""


# -- operators of users ---------------------------------------------------------------------


def operator_from(name: str, definition: Callable[..., Expr], **algebra: Any) -> Operator:
    """An operator with the meaning of the expression that ``definition`` builds."""

    def typing(types: tuple[Type, ...]) -> tuple[tuple[Type, ...], Type]:
        holders = (Var(f"x{k}", t) for k, t in enumerate(types))
        return types, definition(*holders).dtype

    @cache
    def compiled(types: tuple[Type, ...]) -> Callable[..., Any]:
        from finch_core.reference_code import function_of

        return function_of(definition, types)

    def evaluate(*values: Any) -> Any:
        with np.errstate(all="ignore"):
            return compiled(tuple(map(type_of, values)))(*values)

    return Operator(name, evaluate, typing, definition=definition, **algebra)


def define_operator(
    function: Callable[..., Any] | None = None,
    *,
    name: str | None = None,
    commutative: bool = False,
    associative: bool = False,
    idempotent: bool = False,
    identity: Any = None,
    annihilator: Any = None,
) -> Any:
    """The operator that a Python function of scalars defines, with its algebra.

    The function is inlined (see ``finch_core.frontend.inlining``) when first compiled, where
    ``KernelSyntaxError`` says what cannot be. ``identity`` and ``annihilator`` are values, or
    functions from a dtype to the value. Without ``function`` it is a decorator. The operator is not
    registered: a kernel finds it under the name it is bound to, and a plugin's
    ``finch_operators`` returns it.
    """
    if function is None:
        return partial(
            define_operator, name=name, commutative=commutative, associative=associative,
            idempotent=idempotent, identity=identity, annihilator=annihilator,
        )  # fmt: skip
    target: Callable[..., Any] = function

    @cache
    def template() -> Callable[..., Expr]:
        from finch_core.frontend import expression_of

        return expression_of(target)

    return operator_from(
        name or target.__name__, lambda *args: template()(*args), python=(target,),
        commutative=commutative, associative=associative, idempotent=idempotent,
        identity=_value_function(identity), annihilator=_value_function(annihilator),
    )  # fmt: skip


def _value_function(value: Any) -> Callable[[np.dtype[Any]], Any] | None:
    if value is None or callable(value):
        return value  # type: ignore[no-any-return]
    return lambda dtype: cast_value(value, dtype)
