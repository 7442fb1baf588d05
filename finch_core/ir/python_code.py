"""Expressions as Python code for the reference, each with its static type and NumPy's meaning.

Types follow NumPy's promotion; a cast is written where an operator's typing rule requires
another dtype. ``missing`` is a value that all arithmetic propagates.
"""

from __future__ import annotations

import operator as py
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from finch_core.errors import OutOfBounds
from finch_core.ir import primitives as prim
from finch_core.ir.arithmetic import number_of
from finch_core.ir.dtypes import BOOL, Type, concrete, is_weak, same, type_of
from finch_core.ir.expressions import (
    Access,
    Call,
    Cast,
    Dimension,
    Expr,
    Index,
    Literal,
    Modified,
    Name,
    Var,
)
from finch_core.ir.missing import Missing, MissingType, coalesce, missing
from finch_core.ir.operators import Operator, cast_value, literal_value
from finch_core.ir.program import Stored
from finch_core.records import define, evolve, field, frozen

_NATIVE = {prim.add: "+", prim.sub: "-", prim.mul: "*", prim.lt: "<", prim.le: "<=",
           prim.gt: ">", prim.ge: ">=", prim.eq: "==", prim.ne: "!="}  # fmt: skip


@frozen
class Code:
    """Text of an expression, its type, and whether its value may be ``missing``."""

    text: str
    type: Type
    maybe: bool = False
    op: Operator | None = None
    """The operator at the root of the text, if it uses Python's syntax for it in parentheses."""
    may_wrap: bool = False
    """Whether an operation on it, if it is a plain integer, may not fit an int64: it is a
    parameter or a variable, or the result of such an operation."""


@define
class Emitter:
    """Emits the code of expressions.

    ``types`` maps names to types, ``tensors`` to dtypes; ``constants`` collects the objects
    that the text refers to; ``safe`` are accesses whose plain indices are known to be in
    bounds.
    """

    types: dict[str, Code]
    tensors: Mapping[str, np.dtype[Any]] = field(factory=dict)
    structures: Mapping[str, str] = field(factory=dict)
    """The names of the arrays that say which elements of a tensor are stored."""
    safe: frozenset[tuple[str, str]] = frozenset()
    constants: dict[str, Any] = field(
        factory=lambda: {
            "missing": missing, "_at": in_bounds, "_read": permissive_read, "_present": present,
            "_true": is_true, "_and": both, "_or": either, "_one": one_of,
            "_int64": wrap,
        }
    )  # fmt: skip

    def constant(self, value: Any) -> str:
        """A name for ``value`` in the text."""
        name = f"k{len(self.constants)}"
        self.constants[name] = value
        return name

    def emit(self, node: Expr) -> Code:
        """The code of an expression."""
        if isinstance(node, (Index, Name, Var)):
            code = self.types[node.name]
            return code if isinstance(node, Index) else evolve(code, may_wrap=True)
        if isinstance(node, Literal):
            value = node.value if is_weak(node.type) else literal_value(node.value, node.type)
            return Code(self.constant(value), node.type)
        if isinstance(node, Missing):
            return Code("missing", MissingType, True)
        if isinstance(node, Access):
            return self.access(node)
        if isinstance(node, Dimension):
            return Code(f"t_{node.tensor}.shape[{node.axis}]", int)
        if isinstance(node, Stored):
            return self.stored(node.access)
        if isinstance(node, Cast):
            return self.cast(self.emit(node.value), node.type)
        assert isinstance(node, Call)
        number = number_of(node)  # which is exact, where operators may wrap
        if isinstance(number, Literal) and number.type is int:
            return self.emit(number)
        return self.call(node)

    # -- accesses ---------------------------------------------------------------------------

    def access(self, node: Access) -> Code:
        name = str(node.tensor)
        dtype = self.tensors[name]
        indices = [self.emit(strip(index)) for index in node.indices]
        modes = [is_permissive(index) for index in node.indices]
        if any(modes) or any(index.maybe for index in indices):
            listed = "".join(f"{index.text}, " for index in indices)
            return Code(f"_read(t_{name}, ({listed}), {modes})", dtype, True)
        copied = ".copy()" if dtype.names is not None else ""
        return Code(self.element(node) + copied, dtype)

    def stored(self, node: Expr) -> Code:
        """Whether an access is of a stored element; a mask, a comparison here, stores what is
        true."""
        if isinstance(node, Access):
            node = evolve(node, tensor=self.structures[str(node.tensor)])
        found = self.emit(node)
        return Code(f"_true({found.text})" if found.maybe else f"bool({found.text})", BOOL)

    def element(self, node: Access) -> str:
        """``t[i, j]`` with bounds checks."""
        name = str(node.tensor)
        parts = [self.position(name, dim, strip(i)) for dim, i in enumerate(node.indices)]
        return f"t_{name}[{', '.join(parts) or '()'}]"

    def position(self, tensor: str, dim: int, index: Expr) -> str:
        text = self.emit(index).text
        if isinstance(index, Index) and (tensor, index.name) in self.safe:
            return text
        return f"_at({text}, t_{tensor}.shape[{dim}])"

    # -- operations -------------------------------------------------------------------------

    def cast(self, code: Code, wanted: Type) -> Code:
        """``code`` cast to ``wanted``; weak numbers stay weak if ``wanted`` is."""
        if same(code.type, wanted) or is_weak(wanted) or code.type is MissingType:
            return code
        convert = caster(code.type, concrete(wanted))
        if code.maybe:
            convert = passing(convert)
        return Code(f"{self.constant(convert)}({code.text})", wanted, code.maybe)

    def call(self, node: Call) -> Code:
        args = [self.emit(arg) for arg in node.args]
        types = tuple(arg.type for arg in args)
        if node.op in (prim.and_value, prim.or_value):
            return self.choice(prim.and_ if node.op is prim.and_value else prim.or_, args)
        if node.op is prim.ifelse and MissingType in types[1:]:
            kind = next((t for t in types[1:] if t is not MissingType), MissingType)
            return Code(self.chosen(args, (BOOL, kind, kind)).text, kind, True)
        if MissingType in types and node.op not in (coalesce, prim.and_, prim.or_):
            return Code("missing", MissingType, True)
        wanted, result = node.op.typing(types)
        return self.operation(node.op, args, wanted, result)

    def choice(self, op: Operator, args: list[Code]) -> Code:
        """``a and b`` or ``a or b`` as a value, see ``primitives.chosen``."""
        types = tuple(arg.type for arg in args)
        if MissingType in types or all(concrete(t).kind == "b" for t in types):
            return self.operation(op, args, *op.typing(types))
        first, second = args
        args = [first, second, first] if op is prim.and_ else [first, first, second]
        return self.chosen(args, prim.ifelse.typing(tuple(arg.type for arg in args))[0])

    def operation(
        self, op: Operator, args: list[Code], wanted: tuple[Type, ...], result: Type
    ) -> Code:
        """``op`` on arguments cast to the types ``wanted``."""
        maybe = any(arg.maybe for arg in args)
        if op is prim.ifelse:
            return self.chosen(args, wanted)
        if op in (prim.and_, prim.or_):
            word, (first, second) = "and" if op is prim.and_ else "or", (arg.text for arg in args)
            if maybe:
                return Code(f"_{word}({first}, lambda: {second})", BOOL, True)
            return Code(f"(bool({first}) {word} bool({second}))", BOOL)
        wraps = result is int and any(arg.may_wrap for arg in args)
        if op in _NATIVE and not maybe and native(args, wanted):
            text = f"({self._open(args[0], op)} {_NATIVE[op]} {args[1].text})"
            return Code(f"_int64{text}" if wraps else text, result, op=op, may_wrap=wraps)
        cast_args = [self.cast(arg, t) for arg, t in zip(args, wanted, strict=True)]
        function = evaluator(op, result)
        if op is coalesce:
            maybe = all(arg.maybe for arg in args)
        elif maybe:
            function = passing(function)
        text = ", ".join(arg.text for arg in cast_args)
        text = f"{self.constant(function)}({text})"
        if wraps and not maybe:
            text = f"_int64({text})"
        return Code(text, result, maybe, may_wrap=wraps)

    @staticmethod
    def _open(first: Code, op: Operator) -> str:
        """The first operand of ``op``, without parentheses in sums and products: Python parses
        no more than 200 nested ones."""
        chained = first.op is op and op in (prim.add, prim.sub, prim.mul)
        return first.text.removeprefix("_int64")[1:-1] if chained else first.text

    def chosen(self, args: list[Code], wanted: tuple[Type, ...]) -> Code:
        """``a if c else b``: only the selected one is evaluated."""
        cond, first, second = (self.cast(a, t) for a, t in zip(args, wanted, strict=True))
        text = f"({first.text} if {cond.text} else {second.text})"
        if cond.maybe:
            text = f"_one({cond.text}, lambda: {first.text}, lambda: {second.text})"
        maybe = any(part.maybe for part in (cond, first, second))
        return Code(text, wanted[1], maybe, may_wrap=first.may_wrap or second.may_wrap)


def native(args: list[Code], wanted: tuple[Type, ...]) -> bool:
    """Whether Python's operator on these values has the operator's meaning: all are Python ints,
    or NumPy floats and integers of exactly the wanted dtype."""
    if all(arg.type is int for arg in args):
        return True
    return all(
        same(arg.type, want) and not is_weak(arg.type) and concrete(arg.type).kind in "iuf"
        for arg, want in zip(args, wanted, strict=True)
    )


def evaluator(op: Operator, result: Type) -> Callable[..., Any]:
    """A function that evaluates ``op`` and gives a Python number if its result type is weak."""
    if isinstance(result, type) and result in (int, float, complex):
        weak = result
        return lambda *args: weak(op.evaluate(*args))
    return op.evaluate


def caster(source: Type, target: np.dtype[Any]) -> Callable[[Any], Any]:
    """A function that converts a value of type ``source`` to ``target``."""
    direct = target.kind == "f" and concrete(source).kind in "biuf"
    return target.type if direct else lambda value: cast_value(value, target)


def passing(function: Callable[..., Any]) -> Callable[..., Any]:
    """``function`` extended to give ``missing`` if an argument is."""

    def passed(*args: Any) -> Any:
        return missing if any(arg is missing for arg in args) else function(*args)

    return passed


# -- run-time support of the text ---------------------------------------------------------------


def in_bounds(index: Any, size: int) -> int:
    """``index`` as a position in a dimension of ``size``; raises ``OutOfBounds``."""
    position = py.index(index)
    if not 0 <= position < size:
        raise OutOfBounds(f"the index {position} is outside a dimension of {size}")
    return position


def permissive_read(array: Any, indices: tuple[Any, ...], modes: list[bool]) -> Any:
    """An element, or ``missing`` if a permissive index is out of bounds or an index is missing."""
    if any(index is missing for index in indices):
        return missing
    if not inside(array, indices, modes):
        return missing
    return array[tuple(map(in_bounds, indices, array.shape))]


def inside(array: Any, indices: tuple[Any, ...], modes: list[bool]) -> bool:
    """Whether all permissive indices are in bounds."""
    return all(
        not permissive or 0 <= py.index(index) < size
        for index, size, permissive in zip(indices, array.shape, modes, strict=True)
    )


def both(first: Any, second: Callable[[], Any]) -> Any:
    """``first and second()``, where either may be ``missing``: one that is false decides."""
    if first is not missing and not first:
        return False
    other = second()
    if other is missing or (first is missing and other):
        return missing
    return bool(other)


def either(first: Any, second: Callable[[], Any]) -> Any:
    """``first or second()``, where either may be ``missing``: one that is true decides."""
    found = both(negated(first), lambda: negated(second()))
    return negated(found)


def one_of(cond: Any, first: Callable[[], Any], second: Callable[[], Any]) -> Any:
    """``first() if cond else second()``; ``missing`` where the condition is."""
    return missing if cond is missing else first() if cond else second()


def negated(value: Any) -> Any:
    """``not value``, which may be ``missing``."""
    return missing if value is missing else not value


def present(value: Any) -> Any:
    """``value``; ``TypeError`` if it is ``missing``."""
    if value is missing:
        raise TypeError("an update with missing: resolve it with coalesce(x, default)")
    return value


def wrap(value: int) -> int:
    """An integer wrapped to the range of int64, as compiled code has plain ones."""
    return value if -(1 << 63) <= value < 1 << 63 else (value + (1 << 63)) % (1 << 64) - (1 << 63)


def is_true(value: Any) -> bool:
    """Whether ``value`` is neither ``missing`` nor false."""
    return value is not missing and bool(value)


def strip(index: Expr) -> Expr:
    """An index without its modifiers."""
    while isinstance(index, Modified):
        index = index.index
    return index


def is_permissive(index: Expr) -> bool:
    """Whether one of an index's modifiers is ``~``."""
    return isinstance(index, Modified) and (
        index.modifier == "permissive" or is_permissive(index.index)
    )


def evaluate(expr: Expr, values: Mapping[str, Any] | None = None) -> Any:
    """The value of an expression whose names have the given values."""
    values = values or {}
    emitter = Emitter({name: Code(f"x_{name}", type_of(value)) for name, value in values.items()})
    code = emitter.emit(expr)
    names = {f"x_{name}": value for name, value in values.items()}
    with np.errstate(all="ignore"):
        return eval(code.text, {**emitter.constants, **names})


def function_of(definition: Callable[..., Expr], types: tuple[Type, ...]) -> Callable[..., Any]:
    """The Python function, on values of these types, that an expression defines."""
    names = [f"a{k}" for k in range(len(types))]
    emitter = Emitter({name: Code(name, t) for name, t in zip(names, types, strict=True)})
    code = emitter.emit(definition(*(Var(n, t) for n, t in zip(names, types, strict=True))))
    return eval(f"lambda {', '.join(names)}: {code.text}", emitter.constants)  # type: ignore[no-any-return]
