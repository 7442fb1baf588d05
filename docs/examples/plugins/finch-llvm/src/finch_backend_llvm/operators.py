"""Which rule an operator has on which dtypes."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np
from llvmlite import ir

from finch_backend_llvm import complexes, floats, integers
from finch_backend_llvm.casts import cast
from finch_backend_llvm.code import Code
from finch_backend_llvm.values import DType, Value, value_type
from finch_core.errors import BackendError
from finch_core.ir.dtypes import is_tuple, tuple_fields

HALF: DType = np.dtype(np.float16)
SINGLE: DType = np.dtype(np.float32)
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
    if HALF in dtypes and name != "tobits":
        return _in_single_precision(c, name, dtypes, result, args)
    rule = _RULES.get(dtypes[0].kind, {}).get(name)
    if rule is None:
        raise BackendError(f"the LLVM backend has no operator {name!r} on {dtypes[0]}")
    return rule(c, dtypes[0], *args)


def _in_single_precision(
    c: Code, name: str, dtypes: tuple[DType, ...], result: DType, args: list[Value]
) -> Value:
    """Half precision is only stored: operators compute in single precision, as NumPy's do."""
    wide = tuple(SINGLE if dtype == HALF else dtype for dtype in dtypes)
    values = [cast(c, *each) for each in zip(args, dtypes, wide, strict=True)]
    via = SINGLE if result == HALF else result
    return cast(c, apply(c, name, wide, via, values), via, result)


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
