"""Which rule an operator has on which dtypes."""

from __future__ import annotations

from functools import reduce
from typing import Any

from llvmlite import ir

from finch_backend_llvm import complexes, floats, integers
from finch_backend_llvm.code import Code
from finch_backend_llvm.values import DType, Value, value_type
from finch_core.errors import BackendError
from finch_core.ir.dtypes import is_tuple, tuple_fields

RELATIONS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_RULES: dict[str, dict[str, Any]] = {
    "b": integers.BOOLS,
    "i": integers.INTEGERS,
    "u": integers.INTEGERS,
    "f": floats.FLOATS,
    "c": complexes.COMPLEXES,
}
_COMPARE: dict[str, Any] = {
    "b": integers.compare,
    "i": integers.compare,
    "u": integers.compare,
    "f": floats.compare,
    "c": complexes.compare,
}


def apply(c: Code, name: str, dtypes: tuple[DType, ...], result: DType, args: list[Value]) -> Value:
    """The operator ``name`` on values of ``dtypes``. Raises ``BackendError`` where it has no rule.

    ``and``, ``or`` and ``ifelse`` are here too, with all their arguments evaluated.
    """
    if name == "ifelse":
        return c.builder.select(*args)
    if name == "tuple":
        return _tuple(c, result, args)
    if name.startswith("field"):
        return c.builder.extract_value(args[0], int(name.removeprefix("field")))
    if name in RELATIONS:
        return compare(c, dtypes[0], RELATIONS[name], *args)
    rule = _RULES.get(dtypes[0].kind, {}).get(name)
    if rule is None:
        raise BackendError(f"the LLVM backend has no operator {name!r} on {dtypes[0]}")
    return rule(c, dtypes[0], *args)


def compare(c: Code, dtype: DType, relation: str, x: Value, y: Value) -> Value:
    """A comparison; tuples are equal where all their fields are."""
    if not is_tuple(dtype):
        return _COMPARE[dtype.kind](c, dtype, relation, x, y)
    b = c.builder
    fields = [
        compare(c, field, relation, b.extract_value(x, k), b.extract_value(y, k))
        for k, field in enumerate(tuple_fields(dtype))
    ]
    return reduce(b.or_ if relation == "!=" else b.and_, fields)


def _tuple(c: Code, result: DType, args: list[Value]) -> Value:
    value = ir.Constant(value_type(result), ir.Undefined)
    for k, arg in enumerate(args):
        value = c.builder.insert_value(value, arg, k)
    return value
