"""Which rule an operator has on which dtypes."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np
from llvmlite import ir

from finch_backend_llvm import complexes, floats, integers
from finch_backend_llvm.code import Code
from finch_backend_llvm.values import DType, Value, value_type
from finch_core.errors import BackendError
from finch_core.ir.assembly import Sort
from finch_core.ir.dtypes import concrete, is_tuple, tuple_fields
from finch_core.ir.expressions import Call, Cast, Literal

HALF: DType = np.dtype(np.float16)
RELATIONS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_RULES: dict[str, dict[str, Any]] = {
    "b": integers.BOOLS,
    "i": integers.SIGNED,
    "u": integers.UNSIGNED,
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


_ANY = ("ifelse", "tuple", "eq", "ne")


def lacks(lacked: Call | Cast | Sort) -> bool:
    """Whether LLVM has no instruction for it, or has one that is undefined for some operands."""
    if isinstance(lacked, Sort):
        return True
    dtypes = [concrete(child.dtype) for child in lacked.children]
    if any(map(is_tuple, dtypes)):
        return False
    if isinstance(lacked, Cast):
        return _lacks_cast(dtypes[0], lacked.type)
    name, kind = lacked.op.name, dtypes[0].kind
    if name in _ANY or name.startswith("field"):
        return HALF in dtypes and name != "ifelse"
    if name in RELATIONS:
        return kind == "c" or HALF in dtypes
    guarded = name in integers.GUARDED and kind in "iu" and not _is_small(lacked)
    return guarded or name not in _RULES[kind] or (HALF in dtypes and name != "tobits")


def _is_small(call: Call) -> bool:
    """Whether this shifts by less than the width, or divides by a number."""
    by = call.args[1]
    low = 1 if call.op.name in ("floordiv", "mod") else 0
    return isinstance(by, Literal) and low <= int(by.value) < 8


def _lacks_cast(source: DType, target: DType) -> bool:
    halved = target == HALF and source.itemsize == 8 and source.kind == "f"
    to_integer = source.kind == "f" and target.kind in "iu"
    return "c" in (source.kind, target.kind) or halved or to_integer


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
