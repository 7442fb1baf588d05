"""What tensors store, in the reference implementation: beside the array of a tensor's values, one
of bools for the tensors that ``stored(A[i, j])`` asks about.

A tensor that the program declares stores what it writes, other than the fill value, or all if its
format stores every element.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from finch_core.interface.plugins import hub
from finch_core.ir.expressions import Access
from finch_core.ir.program import Program, Stored, Swap
from finch_core.records import frozen


@frozen(eq=False)
class Structures:
    """The structures that a program asks about.

    ``names`` maps tensors to the names of the arrays of bools, and ``arrays`` those names to what
    the arguments store; ``fills`` maps tensors to fill values, ``formats`` to formats (None: every
    element is stored).
    """

    names: Mapping[str, str]
    arrays: dict[str, np.ndarray[Any, Any]]
    fills: Mapping[str, Any]
    formats: Mapping[str, Any]

    @classmethod
    def of(cls, program: Program, values: Mapping[str, Any]) -> Structures:
        """``values``: the program's arguments."""
        taken = {*values, *(local.name for local in program.locals)}
        names = {name: _unused(f"stored_{name}", taken) for name in sorted(_followed(program))}
        given = {name: _as_tensor(values[name]) for name in names if name in values}
        arrays = {names[name]: structure(value) for name, value in given.items()}
        formats = {name: getattr(value, "format", None) for name, value in given.items()}
        fills = {name: getattr(value, "fill_value", 0) for name, value in given.items()}
        for local in program.locals:
            if local.is_variable:
                continue
            formats[local.name] = local.format
            fills[local.name] = local.format.fill_value
        return cls(names, arrays, fills, formats)

    def full(self, name: str) -> bool:
        """Whether a declared tensor stores every element."""
        format = self.formats[name]
        return format is None or all(lvl.stores_fill or lvl.is_leaf for lvl in format.levels())


def structure(value: Any) -> np.ndarray[Any, Any]:
    """Which elements an argument stores, as an array of bools."""
    if hasattr(value, "structure"):
        found: np.ndarray[Any, Any] = value.structure()
        return found
    return np.ones(np.shape(value), bool)


def _as_tensor(value: Any) -> Any:
    conversion = None if hasattr(value, "structure") else hub().conversion_of(value)
    return value if conversion is None else conversion.take(value)


def _followed(program: Program) -> set[str]:
    """The tensors that the program asks about, and those that may be exchanged with one."""
    asked = set(_asked(program))
    swaps = [part for part in program.body.walk() if isinstance(part, Swap)]
    exchanged = {str(name) for part in swaps for name in (part.first, part.second)}
    return asked if asked.isdisjoint(exchanged) else asked | exchanged


def _asked(program: Program) -> Iterator[str]:
    for stmt in program.body.walk():
        for expr in stmt.exprs:
            for node in expr.walk():
                if isinstance(node, Stored) and isinstance(node.access, Access):
                    yield str(node.access.tensor)


def _unused(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    return name


__all__ = ["Structures", "structure"]
