"""Elementwise functions: each is an expression of the language, run on what is stored.

A function of one array and numbers runs over the array's values alone and keeps its levels as they
are, where these pass values (``Format.passes_values``). Others are kernels over all arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import Signature
from types import FunctionType
from typing import Any

import numpy as np

from finch_array import leaves
from finch_array.maps import Map
from finch_array.operands import (
    NUMBERS,
    has_memory,
    is_dense,
    is_lazy,
    kind_of,
    operand,
    stored,
    tells_absent,
    told,
)
from finch_array.parameters import Parameters
from finch_array.requests import Request, Value, letters
from finch_array.run import as_seen, run
from finch_array.scalars import scalar_tensor
from finch_array.structures import (
    constant,
    equal,
    fill_of,
    forgets,
    plain,
    simplified,
    where_stored,
)
from finch_array.wide_numbers import (
    as_words,
    check_range,
    exact,
    hold,
    is_word,
    narrowed,
    one_of,
)
from finch_core.errors import FormatError
from finch_core.frontend.inlining import expression_of
from finch_core.frontend.seen import Seen
from finch_core.ir import primitives as prim
from finch_core.ir.dtypes import concrete, type_of
from finch_core.ir.expressions import Access, Call, Expr, Index, Literal, Name, Var
from finch_core.ir.operators import REMEDY, Operator, cast_value, operator_for
from finch_core.ir.program import Loop, Program, Stored, Update
from finch_core.records import define, evolve
from finch_core.runtime.kernel import Kernel
from finch_core.runtime.options import LINEAR
from finch_core.runtime.pickling import keep_texts
from finch_core.runtime.tensor import Tensor

BITWISE = {"bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_invert"}
MOST = 256
"""The most fills that a function remembers: more would not stay in the processor's cache."""


@define(eq=False)
class Filled:
    """The value of a function on fills and numbers; ``maker`` makes tensors with this fill in the
    format of the one array among the operands, from the second on: numbers are drawn without
    end."""

    fill: Any
    maker: Callable[[Any, list[Any]], Any] | None = None
    seen: bool = False


Rule = tuple[Operator, tuple[np.dtype[Any], ...], np.dtype[Any], tuple[Any, ...]]
"""An operator, the dtypes of its operands and its value, and what the operands are: the numbers of
those of a function, or rules."""


class Elementwise:
    """A function of arrays and numbers that is applied element by element, with broadcasting.

    ``function`` is an operator of the language, a NumPy ufunc that it has, or a Python function of
    scalars. A call raises ``DimensionMismatch`` for shapes that do not broadcast, ``TypeError`` for
    dtypes on which the function is not defined, and ``KernelSyntaxError`` for a Python function
    that cannot be inlined.
    """

    __signature__: Signature
    __wrapped__: Any

    def __init__(self, name: str, function: Any) -> None:
        self.__name__ = self.__qualname__ = name
        self._function = function
        self._renew()

    def _renew(self) -> None:
        """Forget what was made of the function."""
        self._key = object()
        """Tells requests of this function, with what it depends on at present."""
        self._parameters = Parameters(self.__name__, self._function)
        self._value: Value | None = None
        self._seen: Seen | None = None
        self._maps: dict[Any, Map] = {}
        self._fills: dict[Any, Filled] = {}
        self._varying: dict[Any, bool] = {}
        self._rules: dict[Any, Rule | tuple[()]] = {}
        self._padding: set[Any] = set()
        self._pairs: dict[Any, tuple[Any, Callable[[], Request]]] = {}

    @property
    def value(self) -> Value:
        """Builds the expression of the function; looked up at the first use."""
        if self._value is None:
            self._value = _value_of(self._function)
            self._seen = getattr(self._value, "seen", None)
        return self._value

    def present(self) -> object:
        """What tells the function from others, and from what it was before anything that it reads
        had changed."""
        if self._seen is not None and not self._seen.holds():
            self._renew()
        return self._key

    def of(self, *exprs: Expr) -> Expr:
        """The expression of the function of these, and of its defaults."""
        args = self._parameters.bound(exprs, {})
        return self.value(*[x if isinstance(x, Expr) else Literal(x, type_of(x)) for x in args])

    def __call__(self, *args: Any, **named: Any) -> Any:
        if self._seen is not None:
            self.present()
        if named or len(args) != self._parameters.count:
            args = self._parameters.bound(args, named)
        if len(args) == 2:  # as in most calls
            a, b = args
            if a.__class__ is Tensor is b.__class__ and a.layout.ndim and b.layout.ndim:
                known = self._pairs.get((a.layout.ndim, b.layout.ndim))
                if known is None:
                    known = self._pair(a.layout.ndim, b.layout.ndim)
                try:
                    return run(*known, args)
                except TypeError as error:
                    if not str(error).startswith("ufunc "):
                        raise
                    raise self._undefined(args) from None
        operands = [operand(arg) for arg in args]
        for x in operands:
            if x.__class__ is int and not is_word(x):
                operands = as_words(operands)
                break
        try:
            return self._called(operands)
        except OverflowError:
            wider = self._widened(operands)
            if wider is None:
                raise
        except TypeError as error:
            if not str(error).startswith("ufunc "):
                raise
            raise self._undefined(operands) from None
        return self._called(wider)

    def _pair(self, *ranks: int) -> tuple[Any, Callable[[], Request]]:
        """The key and the request of the function of two arrays of so many dimensions."""
        found = (self._key, ranks), lambda: self._request(self.value, ranks, max(ranks))
        return self._pairs.setdefault(ranks, found)

    def _undefined(self, operands: Sequence[Any]) -> FormatError:
        """The error for dtypes for which NumPy's function has no loop."""
        kinds = [(np.asarray(x) if isinstance(x, NUMBERS) else x).dtype.name for x in operands]
        hint = "compare first, as in (A > 0) & (B > 0)" if self.__name__ in BITWISE else REMEDY
        return FormatError(f"{self.__name__} is not defined on {' and '.join(kinds)}", hint=hint)

    def _called(self, operands: list[Any]) -> Any:
        arrays = [k for k, x in enumerate(operands) if not isinstance(x, NUMBERS)]
        if not arrays:
            return self._of_numbers(operands)
        if len(arrays) == 1 and is_lazy(operands[arrays[0]]):
            return self._lazily(operands)
        if len(arrays) == 1 and (found := self._mapped(operands, arrays[0])) is not None:
            return found
        return self._merged(operands, arrays)

    def __repr__(self) -> str:
        return f"<array function {self.__name__}>"

    def __copy__(self) -> Elementwise:
        return self

    def __deepcopy__(self, memo: Any) -> Elementwise:
        return self

    def __reduce__(self) -> Any:
        """By name, or by the function of which it was made."""
        found = function_named(self.__name__)
        if found is self:
            return function_named, (self.__name__,)
        if self._seen is not None:
            keep_texts(self._seen.texts)
        return elementwise_of, (self._function,)

    def _widened(self, operands: Sequence[Any]) -> list[Any] | None:
        """The operands with plain integers that an array's dtype cannot hold as numbers that hold
        them, for comparisons and functions that compute with floats, as NumPy has it, and as bools
        for logical functions; None for others."""
        typed = [x for x in operands if isinstance(x, np.generic)]
        arrays = [x for x in operands if not isinstance(x, NUMBERS)] or typed
        wide = [k for k, x in enumerate(operands) if type(x) is int and not hold(arrays, x)]
        if not wide:
            return None
        ones = [1 if k in wide else one_of(x) for k, x in enumerate(operands)]
        kind = self._of_numbers(ones).dtype.kind
        if kind == "b" and operator_for(self._function) in prim.COMPARISONS:
            return [exact(x) if k in wide else x for k, x in enumerate(operands)]
        if self.__name__ in ("logical_and", "logical_or", "logical_xor"):
            return [bool(x) if k in wide else x for k, x in enumerate(operands)]
        if kind != "f":
            return None
        return [float(x) if k in wide else x for k, x in enumerate(operands)]

    # -- numbers ------------------------------------------------------------------------

    def _of_numbers(self, operands: Sequence[Any]) -> Any:
        """The value on numbers alone, as a tensor without dimensions."""
        typed = [x for x in operands if isinstance(x, np.generic)]
        for x in typed:
            check_range(x.dtype, operands)
        found = self._evaluated(operands) if typed else None
        if found is None:
            found = self._folded([Literal(x, type_of(x)) for x in operands])
        return scalar_tensor(found)

    def _folded(self, exprs: Sequence[Expr]) -> Any:
        found = constant(self.value(*map(plain, exprs)))
        if not isinstance(found, Literal):
            found = fill_of(lambda parts: self.value(*parts), exprs)
        if not isinstance(found, Literal):
            raise TypeError(f"{self.__name__} has no value on {exprs}")
        return cast_value(found.value, concrete(found.type))

    # -- one array ----------------------------------------------------------------------

    def _mapped(self, operands: list[Any], place: int) -> Any:
        """The function over the stored values of one array; None where its elements are others."""
        array = operands[place]
        source = array
        while getattr(source, "permutes", False):
            source = source.tensor
        if source.__class__ is not Tensor:
            return None
        if source.layout.values is None:
            return None
        if source.dtype.kind in "iu" and operator_for(self._function) in prim.COMPARISONS:
            operands = narrowed(operands, source.dtype)
        numbers = [x for k, x in enumerate(operands) if k != place]
        given = operands if source is array else [*operands[:place], source, *operands[place + 1 :]]
        known = self._filled(given)
        if known.fill.dtype.kind == "b" and source.dtype.kind != "b" and _has_gaps(source):
            made = self._map_stored(source, numbers, place, known.fill)
        else:
            made = self._map_values(source, numbers, place, known)
        return made if source is array else as_seen(made, stored(array).axes)

    def _map_values(
        self, source: Tensor, numbers: Sequence[Any], place: int, known: Filled
    ) -> Tensor:
        """The tensor of the same structure with the function's values."""
        number = source.layout.values
        assert number is not None
        values = source.arrays[number]
        out = np.empty(values.size, known.fill.dtype)
        if values.size:
            self._map(place, len(numbers))(out, values, numbers)
        arrays = [out if k == number else a.copy() for k, a in enumerate(source.arrays)]
        maker, fill = known.maker, known.fill
        if maker is None and known.seen:
            maker = known.maker = leaves.maker(source.format, fill, fill.dtype)
        known.seen = True
        if maker is not None:
            return maker(source.record, arrays)  # type: ignore[no-any-return]
        other: Tensor = leaves.bare(source.format, fill, fill.dtype)
        other.adopt(source.record, arrays)
        return other

    def _map_stored(self, source: Tensor, numbers: Sequence[Any], place: int, fill: Any) -> Any:
        """The values that differ from their fill: a test of numbers is not true of many."""
        names = letters(source.ndim)

        def value(x: Expr, *others: Expr) -> Expr:
            exprs = list(others)
            exprs.insert(place, x)
            return Call(prim.ifelse, (Stored(x), self.value(*exprs), Literal(fill, fill.dtype)))

        def request() -> Request:
            inputs = (names, *[()] * len(numbers))
            return Request(_identifier(self.__name__), value, inputs, names)

        key = (self._key, "stored", place, bool(fill), source.ndim)
        return run(key, request, [source, *numbers])

    def _map(self, place: int, count: int) -> Map:
        """The kernel ``out[i] = f(a[i], s0, ...)`` over values."""
        found = self._maps.get((place, count))
        if found is None:
            names = [f"s{k}" for k in range(count)]
            exprs: list[Expr] = [Name(n) for n in names]
            exprs.insert(place, Access("a", (Index("i"),)))
            write = Update(Access("out", (Index("i"),)), None, self.value(*exprs))
            program = Program(
                _identifier(self.__name__), ("out", "a", *names), Loop(Index("i"), None, write)
            )
            kernel = Kernel.of_program(program, LINEAR)

            def value(x: Expr, *numbers: Expr) -> Expr:
                return self.value(*numbers[:place], x, *numbers[place:])

            found = self._maps[place, count] = Map(kernel, value)
        return found

    def _lazily(self, operands: list[Any]) -> Any:
        """The function of one lazy array and numbers, which are constants only where the fill
        depends on them."""
        array = next(x for x in operands if is_lazy(x))
        check_range(array.dtype, [x for x in operands if isinstance(x, NUMBERS)])
        ranks = tuple(0 if isinstance(x, NUMBERS) else x.ndim for x in operands)
        if array.ndim and len(operands) > 1 and self._fill_varies(operands):
            return self._with_constants(operands, ranks, array.ndim)
        key = (self._key, ranks)
        return run(key, lambda: self._request(self.value, ranks, array.ndim), operands)

    # -- several arrays -----------------------------------------------------------------

    def _merged(self, operands: list[Any], arrays: Sequence[int]) -> Any:
        """The function of several arrays, by a kernel over all of them."""
        ranks = tuple([x.ndim if k in arrays else 0 for k, x in enumerate(operands)])
        ndim, numbers = max(ranks), len(arrays) < len(operands)
        if numbers and (len(arrays) == 1 or self._fill_varies(operands)):
            found = self._refilled(operands, ranks, ndim)
            return self._with_constants(operands, ranks, ndim) if found is None else found
        key = (self._key, ranks)
        return run(key, lambda: self._request(self.value, ranks, ndim), operands)

    def _refilled(self, operands: list[Any], ranks: Sequence[int], ndim: int) -> Any:
        """The result of a kernel that is passed the numbers and stores a value wherever an array
        does, so that one does for all numbers; the fill, which depends on them, is set afterwards.

        None where the result would store its fill, too, which the kernel does not know, or would
        take what equals the kernel's fill for what is not stored; and for arrays without memory, or
        with elements that only a kernel finds absent."""
        arrays = [x for x in operands if not isinstance(x, NUMBERS)]
        if not all(map(has_memory, arrays)) or any(map(tells_absent, arrays)):
            return None
        thin = tuple([n == 1 for x in arrays for n in x.shape])  # which may stand for longer ones
        key = (ranks, thin, *[x.signature for x in arrays])
        if key in self._padding:
            return None
        fill = self._fill(operands)
        none = leaves.dense_fill(fill.dtype)

        def value(*exprs: Expr) -> Expr:
            return where_stored(exprs, self.value(*exprs), none)

        def request() -> Request:
            return evolve(self._request(value, ranks, ndim), keeps=True)

        found = stored(run((self._key, ranks, "refilled", none.dtype), request, operands))
        if forgets(found.source.layout.levels):
            if len(self._padding) >= MOST:
                self._padding.clear()
            self._padding.add(key)
            return None
        return as_seen(leaves.relabelled(found.source, fill), found.axes)

    def _fill(self, operands: Sequence[Any]) -> Any:
        """The value on the fills of arrays, and on numbers."""
        return self._filled(operands).fill

    def _filled(self, operands: Sequence[Any]) -> Filled:
        """The same, and how to make a result with that fill. Raises ``OverflowError`` for an
        integer that an array's dtype cannot hold."""
        key = tuple([told(x) if isinstance(x, NUMBERS) else x.signature for x in operands])
        found = self._fills.get(key)
        if found is None:
            if len(self._fills) >= MOST:
                self._fills.clear()
            numbers = [x for x in operands if isinstance(x, NUMBERS)]
            for x in operands:
                if not isinstance(x, NUMBERS):
                    check_range(x.dtype, numbers)
            fill = self._evaluated(operands)
            if fill is None:
                fill = self._folded([_on_fill(x) for x in operands])
            if _all_dense(operands):
                fill = leaves.dense_fill(fill.dtype)
            found = self._fills[key] = Filled(fill)
        return found

    def _evaluated(self, operands: Sequence[Any]) -> Any:
        """The value of a primitive operator on fills and numbers, by its meaning on NumPy's
        scalars, without an expression; None for other functions, and where the types of the values
        do not say what is computed."""
        kinds = tuple([kind_of(x) if isinstance(x, NUMBERS) else x.dtype for x in operands])
        known = self._rules.get(kinds)
        if known is None:
            types = [type_of(x) if isinstance(x, NUMBERS) else x.dtype for x in operands]
            known = self._rules[kinds] = self._rule(types)
        if not known:
            return None
        return _by_rule(known, [x if isinstance(x, NUMBERS) else x.fill_value for x in operands])

    def _rule(self, types: Sequence[Any]) -> Rule | tuple[()]:
        """How the function is computed of numbers of these types, by operators on NumPy's scalars;
        () where that is not known."""
        names = {f"x{k}": k for k in range(len(types))}
        found = _rule_of(self.value(*map(Var, names, types)), names)
        return found if found.__class__ is tuple else ()

    def _request(self, value: Value, ranks: Sequence[int], ndim: int) -> Request:
        inputs = tuple(letters(rank, ndim) for rank in ranks)
        return Request(self.__name__, value, inputs, letters(ndim))

    def _with_constants(self, operands: Sequence[Any], ranks: Sequence[int], ndim: int) -> Any:
        """A kernel with the numbers as constants, for a fill that depends on them."""
        arrays = [x for x in operands if not isinstance(x, NUMBERS)]
        known = {
            k: Literal(x, type_of(x)) for k, x in enumerate(operands) if isinstance(x, NUMBERS)
        }
        for array in arrays:
            check_range(array.dtype, [lit.value for lit in known.values()])

        def value(*exprs: Expr) -> Expr:
            rest = iter(exprs)
            return self.value(
                *(known[k] if k in known else next(rest) for k in range(len(operands)))
            )

        constants = tuple((k, told(lit.value)) for k, lit in known.items())
        own = tuple(rank for k, rank in enumerate(ranks) if k not in known)
        return run((self._key, ranks, constants), lambda: self._request(value, own, ndim), arrays)

    def _fill_varies(self, operands: Sequence[Any]) -> bool:
        """Whether the fill of the result depends on numbers: ``0 * x`` is 0 unless ``x`` is not
        finite."""
        if _all_dense(operands):
            return False
        key = tuple([  # in which an array is unlike the number that is its fill
            told(x) if isinstance(x, NUMBERS) else (x.dtype, x.fill_value.tobytes(), "fill")
            for x in operands
        ])  # fmt: skip
        found = self._varying.get(key)
        if found is None:
            if len(self._varying) >= MOST:
                self._varying.clear()
            found = self._varying[key] = self._is_varying(operands)
        return found

    def _is_varying(self, operands: Sequence[Any]) -> bool:
        known = [_on_fill(x) for x in operands]
        unknown = [
            Var(f"x{k}", own.dtype) if isinstance(x, NUMBERS) else own
            for k, (x, own) in enumerate(zip(operands, known, strict=True))
        ]
        exact = fill_of(lambda parts: self.value(*parts), known)
        return not equal(exact, simplified(self.value(*unknown)))


def _rule_of(expr: Expr, names: dict[str, int]) -> Any:
    """The rule of an expression of variables of these names; None where it has none."""
    if isinstance(expr, Var):
        return names[expr.name]
    if not isinstance(expr, Call):
        return None
    op, parts, types = expr.op, [], []
    for arg in expr.args:
        part = _rule_of(arg, names)
        if part is None:
            return None
        parts.append(part)
        types.append(arg.type if isinstance(arg, Var) else part[2])
    if op.definition is not None or op.refuses is not None:
        return None
    wanted, result = op.typing(tuple(types))
    kinds = [concrete(type).kind for type in types]
    if isinstance(result, type) or (op in prim.COMPARISONS and set(kinds) <= set("iu")):
        return None  # plain numbers, and integers that are compared, are exact
    dtypes = tuple(map(concrete, wanted))
    if any(dtype.kind not in "biufc" for dtype in (*dtypes, result)):
        return None
    return op, dtypes, result, tuple(parts)


def _by_rule(rule: Rule, values: Sequence[Any]) -> Any:
    """The value that a rule gives for the operands of a function."""
    op, dtypes, result, parts = rule
    found = [values[p] if p.__class__ is int else _by_rule(p, values) for p in parts]
    return cast_value(op.evaluate(*map(cast_value, found, dtypes)), result)


def _on_fill(operand: Any) -> Expr:
    """A number, or the fill of an array, as a constant."""
    if isinstance(operand, NUMBERS):
        return Literal(operand, type_of(operand))
    return Literal(operand.fill_value, operand.dtype, structural=True)


def _identifier(name: str) -> str:
    return name if name.isidentifier() else "array_function"


def _value_of(function: Any) -> Value:
    op = function if isinstance(function, Operator) else operator_for(function)
    if op is not None:
        return lambda *exprs: Call(op, tuple(exprs))
    if isinstance(function, np.ufunc):
        raise TypeError(f"the language has no operator for {function.__name__}")
    return expression_of(function)


def _all_dense(operands: Sequence[Any]) -> bool:
    """Whether all arrays among some operands are dense."""
    return all(isinstance(x, NUMBERS) or is_dense(x) for x in operands)


def _has_gaps(tensor: Tensor) -> bool:
    return any(level.structure.gaps for level in tensor.layout.levels[:-1])


def function_named(name: str) -> Any:
    """The array function of this name; None if there is none."""
    from finch_array.functions import FUNCTIONS

    return FUNCTIONS.get(name)


def elementwise_of(function: Callable[..., Any]) -> Elementwise:
    """An elementwise function of arrays from a Python function of scalars, a lambda too, or a NumPy
    ufunc. Its parameters are those of the function, with their names and defaults. Numbers from
    outside the function, its defaults and the functions that it calls are those of the time of a
    call; its expression, and kernels of it, are made again when they have changed.

    Raises ``KernelSyntaxError`` for a Python function that cannot be inlined, ``TypeError`` for a
    ufunc that the language lacks.
    """
    made = Elementwise(getattr(function, "__name__", "function"), function)
    _ = made.value  # raises what it does now, not at the first call
    if isinstance(function, FunctionType):
        made.__wrapped__ = function  # what it reads is followed by ``fused``
    return made
