"""The functions of the language, as Python objects that a kernel's file imports.

Each is callable in plain Python with the same meaning, so that a kernel's body reads as Python.
Operators (``choose(z)``, ``coalesce``, ``minby``, ``maxby``) are ``Operator`` objects;
``follow``, ``walk``, ``gallop``, ``freeze``, ``thaw``, ``parallel`` and ``_`` are syntax that the
parser recognises by identity.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

import numpy as np

from finch_core.ir import primitives as prim
from finch_core.ir.dtypes import Type, is_tuple, tuple_dtype, tuple_fields, type_of
from finch_core.ir.expressions import Call, Expr, Literal
from finch_core.ir.missing import coalesce, missing
from finch_core.ir.operators import Operator, by_promotion, cast_value, operator, register

T = TypeVar("T")

# -- reductions -----------------------------------------------------------------------------


def _fieldwise(types: tuple[Type, ...]) -> tuple[tuple[Type, ...], Type]:
    """The typing rule of tuples: each field is promoted."""
    if not all(map(is_tuple, types)):
        raise TypeError("minby and maxby compare tuples by their first element")
    fields = [tuple_fields(t) for t in types]
    if len({len(parts) for parts in fields}) > 1:
        raise TypeError("the tuples have different lengths")
    if any(is_tuple(first) for first, *_rest in fields):
        raise TypeError("tuples have no order")
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
    """The operator that returns the argument that is not ``z``: ``b if a == z else a``."""
    name = f"choose({z!r})"
    try:
        return operator(name)
    except KeyError:
        return register(_choose(name, z))


def _without_tuples(types: tuple[Type, ...]) -> tuple[tuple[Type, ...], Type]:
    """``by_promotion`` of operators that compare with a number."""
    if any(map(is_tuple, types)):
        raise TypeError("a tuple is not compared with a number")
    return by_promotion(types)


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
        name, evaluate, _without_tuples, associative=True, idempotent=True, definition=definition,
        fixed_point=chosen, selects=True,
        identity=lambda dtype: cast_value(z, dtype),
    )  # fmt: skip


# -- syntax ---------------------------------------------------------------------------------


def ifelse(cond: Any, a: Any, b: Any) -> Any:
    """``a`` if ``cond`` else ``b``; inside a kernel only the selected one is evaluated."""
    return a if cond else b


def follow(index: Any) -> Any:
    """Protocol: the tensor is read by random access and does not drive the loop."""
    return index


def walk(index: Any) -> Any:
    """Protocol: the tensor's stored values are visited in order."""
    return index


def gallop(index: Any) -> Any:
    """Protocol: the tensor leads the iteration, and others skip ahead to its next stored value."""
    return index


def freeze(tensor: Any) -> None:
    """Inside a kernel: end the updates of ``tensor`` here. In plain Python: no effect."""


def thaw(tensor: Any) -> None:
    """Inside a kernel: make ``tensor`` ready for updates here. In plain Python: no effect."""


def stored(element: Any) -> bool:
    """Whether a tensor stores the element ``A[i, j]``: a condition inside a kernel.

    In plain Python, over NumPy arrays, which store every element, it is True."""
    return True


def swap(first: Any, second: Any) -> None:
    """Exchange the contents of two tensors of one format and shape; inside a kernel, without
    copying elements. In plain Python, of two arrays of one shape."""
    first[...], second[...] = second.copy(), first.copy()


def parallel(extent: Iterable[T]) -> Iterator[T]:
    """Inside a kernel, ``for i in parallel(_)``: the turns of a loop that may run at the same time,
    which the compiler proves to change nothing, or refuses. In plain Python: ``extent`` itself."""
    return iter(extent)


class Whole:
    """``_`` of ``for i in _``: the extent comes from the tensors' dimensions."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "_"

    def __iter__(self) -> Any:
        raise TypeError("'_' is an extent inside a kernel; it cannot be iterated in plain Python")


_ = Whole()

PROTOCOLS: dict[Any, str] = {follow: "follow", walk: "walk", gallop: "gallop"}
"""The protocol that each function names in an index."""

SYNTAX: dict[str, Any] = {
    "_": _, "missing": missing, "ifelse": ifelse, "coalesce": coalesce, "minby": minby,
    "maxby": maxby, "choose": choose, "follow": follow, "walk": walk, "gallop": gallop,
    "freeze": freeze, "thaw": thaw, "swap": swap, "stored": stored, "parallel": parallel,
}  # fmt: skip
"""Names that kernels may use without importing them."""
