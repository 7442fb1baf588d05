"""``einsum``: NumPy's subscripts, and statements over any operators."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from finch_array.elementwise import Elementwise, elementwise_of
from finch_array.functions import FUNCTIONS, cast
from finch_array.manipulation import permute_dims
from finch_array.operands import NUMBERS, operand
from finch_array.products import product, sum_of_products
from finch_array.reductions import array_operand, sum_dtype, wide_dtype
from finch_array.requests import Dtype, Request
from finch_array.run import in_format, run
from finch_core.errors import DimensionMismatch
from finch_core.interface.level import Format
from finch_core.ir import primitives as prim
from finch_core.ir.dtypes import concrete
from finch_core.ir.expressions import Call, Expr, Literal
from finch_core.ir.operators import Operator, operator, operator_for
from finch_core.records import frozen

_STATEMENT = re.compile(r"\s*(\w+)\s*\[([^\]]*)\]\s*([^=\s\[\]]*)=(?!=)(.*)", re.DOTALL)


def einsum(subscripts: str, /, *arrays: Any, format: Format | None = None, **named: Any) -> Any:
    """A sum of products by NumPy's subscripts, or a statement over arrays by name.

    ``einsum("ij,jk->ik", A, B)`` is NumPy's, with ``...`` and without ``->`` too.
    ``einsum("C[i,j] min= A[i,k] + B[k,j]", A=A, B=B)`` takes any expression of the language:
    arithmetic, comparisons, ``and``, ``or`` and ``not``, which give bools as ``logical_and`` does,
    ``x if c else y`` and functions of this package and of ``named``. What stands before ``=``
    reduces the indices that the result lacks: a symbol (``+ * & | ^``), or the name of an operator
    (``min max and or``). ``+`` and ``*`` have the dtypes of ``sum`` and ``prod``, 64 bits of small
    integers and bools, where subscripts keep the dtype of the arrays, as in NumPy.

    Raises ``SyntaxError`` for what is no such text, ``TypeError`` for a name that it does not read,
    ``DimensionMismatch`` for wrong numbers of indices and sizes that disagree.
    """
    if not isinstance(subscripts, str):
        raise TypeError("einsum takes its indices as text, 'ij,jk->ik', before the arrays")
    found = _STATEMENT.fullmatch(subscripts)
    if found is None:
        if "[" in subscripts or "=" in subscripts:
            raise SyntaxError(
                f"{subscripts!r} is no statement: write the result with its indices and an "
                "assignment, 'C[i] += A[i,k]', or 'C[] += A[i,k]' for one number"
            )
        for option, remedy in _ELSEWHERE.items():
            if option in named:
                raise TypeError(f"einsum has no {option}=: {remedy}")
        if named:
            raise TypeError("the arrays of subscripts have no names: einsum('ij,jk->ik', A, B)")
        made = _numpy_style(subscripts, arrays)
    else:
        if arrays:
            raise TypeError(
                "the arrays of a statement are named: einsum('C[i] += A[i,k]', A=A), or "
                "einsum('ik->i', A) without names"
            )
        made = _statement(found, named)
    return made if format is None else in_format(made, format)


_ELSEWHERE = {
    "optimize": "fa.lazy(A) orders the products of several arrays",
    "dtype": "fa.astype casts the arrays, or the result", "casting": "fa.astype casts the arrays",
    "order": "format= says how the result is stored", "out": "the result is a new array",
}  # fmt: skip
"""Options of NumPy's function, and what has their meaning here."""


# -- NumPy's spelling -------------------------------------------------------------------------


def _numpy_style(subscripts: str, given: Any) -> Any:
    arrays = [array_operand(x) for x in given]
    like = (subscripts, *[(x.ndim, x.dtype) for x in arrays])
    known = _products.get(like)
    if known is not None:
        try:
            found = run(known[0], known[1], arrays)
        except DimensionMismatch:
            pass  # which is told of the indices below
        else:
            return found if found.dtype == known[2] else cast(found, known[2])
    text = subscripts.replace(" ", "")
    left, arrow, right = text.partition("->")
    parts = left.split(",")
    if not re.fullmatch(r"[A-Za-z.,]*", left) or not re.fullmatch(r"[A-Za-z.]*", right):
        raise SyntaxError(f"{subscripts!r} is no einsum: letters, commas, ... and one ->")
    if len(parts) != len(arrays):
        raise DimensionMismatch(f"einsum of {len(arrays)} arrays by {len(parts)} subscripts")
    inputs = [_indices(part, x.ndim) for part, x in zip(parts, arrays, strict=True)]
    out = _out_indices(right, inputs) if arrow else _implied(inputs)
    flat = [name for names in inputs for name in names]
    if len(set(out)) != len(out) or not set(out) <= set(flat):
        raise SyntaxError(f"the result of {subscripts!r} has an index twice, or one of no array")
    with _told(list(zip(map(repr, parts), inputs, arrays, strict=True))):
        return _product(arrays, inputs, out, like)


_products: dict[Any, tuple[Any, Callable[[], Request], np.dtype[Any]]] = {}
"""The key, the request and the dtype of sums of products by subscripts, for those and for numbers
of dimensions and dtypes of the arrays."""


@contextmanager
def _told(operands: list[tuple[str, tuple[str, ...], Any]]) -> Iterator[None]:
    """Say of sizes that disagree which index has both; ``operands`` are what each array is called,
    its indices and itself."""
    try:
        yield
    except DimensionMismatch:
        shapes = [getattr(x, "shape", None) or () for _, _, x in operands]
        seen: dict[str, tuple[int, str]] = {}
        for (what, names, _), shape in zip(operands, shapes, strict=True):
            for name, n in zip(names, shape, strict=False):
                known, where = (n, what) if n in (1, None) else seen.setdefault(name, (n, what))
                if known != n:
                    index = "a dimension of '...'" if name[0] == "_" else f"the index {name}"
                    raise DimensionMismatch(
                        f"einsum: {index} has size {known} in {where}, but {n} in {what}",
                        hint=f"the shapes are {', '.join(map(str, shapes))}",
                    ) from None
        raise


def _indices(part: str, ndim: int) -> tuple[str, ...]:
    """The index names of one operand; those of ``...`` are numbered from the last."""
    before, dots, after = part.partition("...")
    rest = ndim - len(before) - len(after)
    if rest < 0 or (rest and not dots) or "." in before + after:
        raise DimensionMismatch(f"the subscripts {part!r} for an array of {ndim} dimensions")
    return (*before, *(f"_{rest - k}" for k in range(rest)), *after)


def _dotted(inputs: list[tuple[str, ...]]) -> tuple[str, ...]:
    """The indices of ``...``, of the operand that has most."""
    kinds = [tuple(n for n in names if n[0] == "_") for names in inputs]
    return max(kinds, key=len, default=())


def _out_indices(right: str, inputs: list[tuple[str, ...]]) -> tuple[str, ...]:
    before, dots, after = right.partition("...")
    return (*before, *(_dotted(inputs) if dots else ()), *after)


def _implied(inputs: list[tuple[str, ...]]) -> tuple[str, ...]:
    """The result's indices where none are given: those that occur once, in order."""
    flat = [name for names in inputs for name in names if name[0] != "_"]
    return (*_dotted(inputs), *sorted(n for n in set(flat) if flat.count(n) == 1))


def _product(arrays: Any, inputs: list[tuple[str, ...]], out: tuple[str, ...], like: Any) -> Any:
    """The sum of products, by names that do not depend on those of the user; ``like`` is what it
    has in common with others (see ``_products``)."""
    flat = dict.fromkeys(name for names in inputs for name in names)
    known = {name: f"e{k}" for k, name in enumerate(flat)}
    own = [tuple(known[n] for n in names) for names in inputs]
    wanted = tuple(known[n] for n in out)
    used = [(x, names) for x, names in zip(arrays, own, strict=True) if names]
    dtype = np.result_type(*(x.dtype for x in arrays))
    number = None
    with np.errstate(all="ignore"):
        for x, names in zip(arrays, own, strict=True):
            if not names:
                value = np.asarray(x.value).astype(dtype)[()]
                number = value if number is None else number * value
    if not used:
        return array_operand(number)
    kept, names_of = [x for x, _ in used], [n for _, n in used]
    first = names_of[0]
    if len(kept) == 1 and set(first) == set(wanted) and len(set(first)) == len(first):
        made = permute_dims(kept[0], [first.index(n) for n in wanted])
    else:
        made = sum_of_products("einsum", kept, names_of, wanted, dtype)
        if number is None:
            if len(_products) >= MOST:
                _products.clear()
            of = product("einsum", kept, names_of, wanted, dtype=wide_dtype(dtype))
            _products[like] = *of, dtype
    return made if number is None else FUNCTIONS["multiply"](made, number)


# -- statements -------------------------------------------------------------------------------

_BINARY: Mapping[type, Any] = {
    ast.Add: prim.add, ast.Sub: prim.sub, ast.Mult: prim.mul, ast.Div: prim.truediv,
    ast.FloorDiv: prim.floordiv, ast.Mod: prim.mod, ast.Pow: prim.power, ast.BitAnd: prim.bitand,
    ast.BitOr: prim.bitor, ast.BitXor: prim.bitxor, ast.LShift: prim.lshift,
    ast.RShift: prim.rshift, ast.Eq: prim.eq, ast.NotEq: prim.ne, ast.Lt: prim.lt,
    ast.LtE: prim.le, ast.Gt: prim.gt, ast.GtE: prim.ge, ast.And: prim.and_, ast.Or: prim.or_,
    ast.USub: prim.neg, ast.Invert: prim.invert, ast.Not: prim.not_,
}  # fmt: skip

_REDUCING = {
    "+": "add", "*": "mul", "&": "bitand", "|": "bitor", "^": "bitxor", "min": "minimum",
    "max": "maximum",
}  # fmt: skip
BOOL = np.dtype(bool)


class _Reader:
    """The right side of a statement: its accesses in order, and its value."""

    def __init__(self, named: Mapping[str, Any]) -> None:
        self.named = named
        self.accesses: list[tuple[str, tuple[str, ...]]] = []

    def read(self, node: ast.expr) -> Callable[[list[Expr]], Expr]:
        """Builds the expression, given those of the accesses."""
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
            return self.access(node.value.id, _names(node.slice))
        if isinstance(node, ast.Name):
            return self.access(node.id, ())
        if isinstance(node, ast.Constant) and isinstance(node.value, (bool, int, float, complex)):
            value = node.value
            kind: Any = BOOL if isinstance(value, bool) else type(value)
            return lambda exprs: Literal(value, kind)
        return self.compound(node)

    def access(self, name: str, names: tuple[str, ...]) -> Callable[[list[Expr]], Expr]:
        if name not in self.named:
            told = " (indices are no values)" if not names else ""
            raise SyntaxError(f"there is no array {name!r} among the arguments{told}")
        key = (name, names)
        if key not in self.accesses:
            self.accesses.append(key)
        place = self.accesses.index(key)
        return lambda exprs: exprs[place]

    def compound(self, node: ast.expr) -> Callable[[list[Expr]], Expr]:
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
            raise SyntaxError(
                f"{ast.unparse(node)!r} multiplies elements: write '*', whose products '+=' adds"
            )
        if isinstance(node, ast.BinOp):
            return self.call(_BINARY[type(node.op)], [node.left, node.right])
        if isinstance(node, ast.UnaryOp):
            if isinstance(node.op, ast.UAdd):
                return self.read(node.operand)
            return self.call(_BINARY[type(node.op)], [node.operand])
        if isinstance(node, ast.BoolOp):
            return self.chain(_BINARY[type(node.op)], [self.read(v) for v in node.values])
        if isinstance(node, ast.Compare) and all(type(op) in _BINARY for op in node.ops):
            sides = [node.left, *node.comparators]
            tests = [
                self.call(_BINARY[type(op)], [a, b])
                for op, a, b in zip(node.ops, sides, sides[1:], strict=False)
            ]
            return self.chain(prim.and_, tests)
        if isinstance(node, ast.IfExp):
            return self.call(prim.ifelse, [node.test, node.body, node.orelse])
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
            return self.function(node.func.id, node.args)
        if isinstance(node, ast.List):
            raise SyntaxError(f"{ast.unparse(node)} lacks the name of an array before its indices")
        raise SyntaxError(f"{ast.unparse(node)!r} is no part of an einsum statement")

    def call(self, op: Operator, args: list[ast.expr]) -> Callable[[list[Expr]], Expr]:
        parts = [self.read(arg) for arg in args]
        return lambda exprs: Call(op, tuple(part(exprs) for part in parts))

    def chain(self, op: Operator, parts: list[Any]) -> Callable[[list[Expr]], Expr]:
        def built(exprs: list[Expr]) -> Expr:
            found = parts[0](exprs)
            for part in parts[1:]:
                found = Call(op, (found, part(exprs)))
            return found  # type: ignore[no-any-return]

        return built

    def function(self, name: str, args: list[ast.expr]) -> Callable[[list[Expr]], Expr]:
        value = _function(name, self.named)
        parts = [self.read(arg) for arg in args]
        return lambda exprs: value(*(part(exprs) for part in parts))


def _names(node: ast.expr) -> tuple[str, ...]:
    items = node.elts if isinstance(node, ast.Tuple) else [node]
    for item in items:
        if not isinstance(item, ast.Name):
            raise SyntaxError(_no_name(ast.unparse(item)))
    return tuple(item.id for item in items if isinstance(item, ast.Name))


def _no_name(text: str) -> str:
    return f"indices are names, and {text!r} is not: take a part of the array before, A=A[0]"


def _result_names(text: str) -> tuple[str, ...]:
    """The indices of the result; none in ``C[]``, and in ``C[()]`` as Python spells it."""
    inner = text.strip()
    if inner.startswith("(") and inner.endswith(")"):
        inner = inner[1:-1]
    names = [part.strip() for part in inner.split(",") if part.strip()]
    for name in names:
        if not name.isidentifier():
            raise SyntaxError(
                f"the indices of the result are names, and {name!r} is not: 'C[i] += A[i,k]', or "
                "'C[] += A[i,k]' for one number"
            )
    return tuple(names)


def _function(name: str, named: Mapping[str, Any]) -> Any:
    """Builds calls of a function: one of ``named``, of this package, or of the language."""
    if callable(named.get(name)):
        return _elementwise(named[name]).of
    if name in FUNCTIONS:
        return FUNCTIONS[name].value
    op = operator_for(getattr(np, name, None)) or operator_for(_BUILTINS.get(name))
    if op is None:
        raise SyntaxError(f"there is no function {name!r}; pass it by name, {name}=...")
    return lambda *exprs: Call(op, exprs)


_BUILTINS = {"abs": abs, "min": min, "max": max, "pow": pow}


def _statement(found: re.Match[str], named: Mapping[str, Any]) -> Any:
    functions = _functions(named)
    key = (found.group(0), tuple(named), functions)
    reading = _readings.get(key)
    if reading is None:
        if len(_readings) >= MOST:
            _readings.clear()
        reading = _readings[key] = _read(found, named)
    accesses = reading.accesses
    operands = [operand(named[name]) for name, _ in accesses]
    _check_indices(accesses, operands)
    with _told([(s, a[1], x) for s, a, x in zip(reading.shown, accesses, operands, strict=True)]):
        return run(("statement", *key, _kinds(operands)), reading.request, operands)


@frozen(eq=False)
class _Reading:
    """A statement over arrays of given names: the names and indices of its accesses, how these are
    written, and its request."""

    accesses: Sequence[tuple[str, tuple[str, ...]]]
    shown: Sequence[str]
    request: Callable[[], Request]


MOST = 1024
"""The most statements that are remembered; beyond it all are forgotten."""
_readings: dict[Any, _Reading] = {}


def _read(found: re.Match[str], named: Mapping[str, Any]) -> _Reading:
    """The statement taken apart; the arrays are not looked at."""
    _, indices, sign, text = found.groups()
    out = _result_names(indices)
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except SyntaxError as error:
        raise SyntaxError(f"{text.strip()!r} is no expression: {error.msg}") from None
    reader = _Reader(named)
    build, accesses = reader.read(tree), reader.accesses
    read = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    if spare := sorted(named.keys() - read):
        raise TypeError(f"{text.strip()!r} does not read {', '.join(spare)}")
    names = list(dict.fromkeys(n for _, own in accesses for n in own))
    for name in out:
        if name not in names:
            raise SyntaxError(f"no array has the index {name!r} of the result")
        if out.count(name) > 1:
            raise SyntaxError(f"the result has the index {name!r} twice")
    op = _reducing(sign, bool(set(names) - set(out)))
    known = {n: f"e{k}" for k, n in enumerate(names)}
    inputs = tuple([tuple([known[n] for n in own]) for _, own in accesses])
    wanted = tuple([known[n] for n in out])
    shown = [f"{name}[{', '.join(own)}]" for name, own in accesses]
    dtype: Dtype = sum_dtype if _REDUCING.get(sign, sign) in ("add", "mul") else None
    if op is not None and op.definition is not None:  # of a plugin, as is its dtype
        dtype = partial(_closed, op)

    def request() -> Request:
        return Request("einsum", lambda *e: build(list(e)), inputs, wanted, op, dtype)

    return _Reading(accesses, shown, request)


def _closed(op: Operator, dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype in which values of a dtype are reduced: that of the operator's results, if it has
    others."""
    for _turn in range(MOST_STEPS):
        found = concrete(op.typing((dtype, dtype))[1])
        if found == dtype:
            break
        dtype = found
    return dtype


MOST_STEPS = 4
"""So many dtypes are tried until an operator gives the one that it takes."""


def _kinds(operands: Any) -> tuple[bool, ...]:
    return tuple(isinstance(x, NUMBERS) for x in operands)


def _functions(named: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(
        (k, _elementwise(v).present())
        for k, v in named.items()
        if callable(v) and not hasattr(v, "shape")
    )


def _elementwise(function: Any) -> Elementwise:
    """The elementwise function of one that is passed by name."""
    if isinstance(function, Elementwise):
        return function
    found = _made.get(function)
    if found is None:
        if len(_made) >= MOST:
            _made.clear()
        found = _made[function] = elementwise_of(function)
    return found


_made: dict[Any, Elementwise] = {}


def _check_indices(accesses: Any, operands: Any) -> None:
    for (name, names), x in zip(accesses, operands, strict=True):
        ndim = 0 if isinstance(x, NUMBERS) else x.ndim
        if len(names) != ndim:
            raise DimensionMismatch(f"{name} has {ndim} dimensions, and {len(names)} indices here")


def _reducing(sign: str, needed: bool) -> Operator | None:
    """The operator that stands before ``=``."""
    if not sign:
        if needed:
            raise SyntaxError(
                "indices that the result lacks need an operator, as in C[i] += A[i,k]"
            )
        return None
    name = _REDUCING.get(sign, sign)
    try:
        op = operator(name)
    except KeyError:
        raise SyntaxError(f"there is no operator {sign!r} to reduce by") from None
    if op.identity is None:
        raise SyntaxError(f"{sign!r} has no identity to begin a reduction with")
    return op if needed else None
