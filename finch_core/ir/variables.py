"""The dtypes of variables: of plain names that a program assigns more than once.

A variable has the dtype to which all values that are assigned to it promote, as NumPy promotes
them: ``t = 0`` and ``t += x[j]`` make a float32 of ``t`` if ``x`` is one. As values may depend on
variables, types are found by iteration; they only ever grow.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from finch_core.errors import FormatError
from finch_core.ir.dtypes import (
    FLOAT64,
    Type,
    concrete,
    is_tuple,
    is_weak,
    promote,
    same,
    tuple_dtype,
    tuple_fields,
)
from finch_core.ir.expressions import Access, Call, Dimension, Expr, Index, Literal, Name
from finch_core.ir.missing import Missing
from finch_core.ir.program import Declare, Define, Program, Stmt, Update

_INT64 = np.dtype(np.int64)


def variable_types(program: Program, types: Mapping[str, Type]) -> dict[str, np.dtype[Any]]:
    """The dtype of each variable of a program, by name.

    ``types`` are those of the elements of arguments, free tensors and locals, and of numbers.
    Raises ``FormatError`` for a variable that would hold a tuple and a number. What no operator is
    defined on is left out: binding the program's names refuses it, at its place.
    """
    names = [local.name for local in program.locals if local.is_variable]
    if not names:
        return {}
    search = _Search(frozenset(names), dict(types))
    search.run(program.body)
    for name in names:
        search.types[name] = concrete(search.types.get(name, FLOAT64))
    search.run(program.body)
    return {name: concrete(search.types[name]) for name in names}


class _Search:
    """The types that are known so far; those of variables are raised until nothing changes."""

    def __init__(self, names: frozenset[str], types: dict[str, Type]) -> None:
        self.names, self.types, self.changed = names, types, True

    def run(self, body: Stmt) -> None:
        self.changed = True
        while self.changed:
            self.changed = False
            self.statement(body, {})

    def statement(self, stmt: Stmt, lets: dict[str, Type | None]) -> None:
        if isinstance(stmt, Define):
            found = self.type_of(stmt.value, lets)
            self.statement(stmt.body, {**lets, stmt.name.name: found})
            return
        if isinstance(stmt, Declare) and stmt.tensor in self.names:
            self.assign(stmt.tensor, self.assigned(stmt.tensor, stmt.init, lets), stmt)
        elif isinstance(stmt, Update) and stmt.target.tensor in self.names:
            name, op = stmt.target.tensor, stmt.op
            if op is None:
                self.assign(name, self.assigned(name, stmt.value, lets), stmt)
            else:
                self.assign(name, self.type_of(Call(op, (stmt.target, stmt.value)), lets), stmt)
        for body in stmt.bodies:
            self.statement(body, lets)

    def assigned(self, name: str, value: Expr, lets: dict[str, Type | None]) -> Type | None:
        """The type that an assigned value asks for: a plain integer that the dtype known so far
        may not hold is an int64."""
        found = self.type_of(value, lets)
        if found is not int:
            return found
        if isinstance(value, Literal):
            known = self.types.get(name, int)
            return int if is_weak(known) or _holds_integer(known, value.value) else _INT64
        given = any(isinstance(part, (Dimension, Index, Name)) for part in value.walk())
        return _INT64 if given else int

    def assign(self, name: str, found: Type | None, stmt: Stmt) -> None:
        """Widen the type of a variable to one that also has values of type ``found``. Raises
        ``FormatError`` if there is none."""
        if found is None:
            return
        known = self.types.get(name)
        try:
            common = found if known is None else _common(known, found)
        except TypeError:
            raise self.apart(name, found, stmt) from None
        if known is None or not same(known, common):
            self.types[name] = common
            self.changed = True

    def apart(self, name: str, found: Type, stmt: Stmt) -> FormatError:
        """The error for a variable of values that no type has."""
        kinds = [concrete(type_) for type_ in (self.types[name], found)]
        told = f"{name} is assigned values of {kinds[0]} and of {kinds[1]}"
        if any(map(is_tuple, kinds)):
            told = f"{name} is assigned both numbers and tuples, or tuples of several lengths"
        return FormatError(told, span=stmt.span, hint="use a name for each")

    def type_of(self, expr: Expr, lets: dict[str, Type | None]) -> Type | None:
        """The type of an expression; None as long as it is not known."""
        if isinstance(expr, Access):
            return self.types.get(expr.tensor)
        if isinstance(expr, Name):
            return lets[expr.name] if expr.name in lets else self.types.get(expr.name)
        if isinstance(expr, Missing):
            return None
        if not isinstance(expr, Call):
            return expr.dtype
        operands = [self.type_of(arg, lets) for arg in expr.args]
        if any(operand is None for operand in operands):
            return None
        try:
            return expr.op.result(*operands)  # type: ignore[arg-type]
        except TypeError:
            return None


def _holds_integer(dtype: Type, value: int) -> bool:
    kind = concrete(dtype)
    return kind.kind not in "iu" or bool(np.iinfo(kind).min <= value <= np.iinfo(kind).max)


def _common(first: Type, second: Type) -> Type:
    """The type to which two types promote, tuples field by field."""
    if not is_tuple(first) or not is_tuple(second):
        return promote((first, second))
    fields = tuple_fields(first), tuple_fields(second)
    if len(fields[0]) != len(fields[1]):
        raise TypeError("tuples of different lengths do not mix")
    return tuple_dtype(tuple(map(np.result_type, *fields)))


__all__ = ["variable_types"]
