"""The nodes of a piece of syntax."""

from __future__ import annotations

import ast
from collections.abc import Iterator


def fresh(wanted: str, taken: set[str]) -> str:
    """``wanted``, or ``wanted_2``, ``wanted_3``, ... if that is ``taken``; it is taken then."""
    number, name = 1, wanted
    while name in taken:
        number += 1
        name = f"{wanted}_{number}"
    taken.add(name)
    return name


def walk(node: ast.AST) -> Iterator[ast.AST]:
    """``ast.walk``, in its order and in two thirds of the time: a small program is parsed by a
    dozen walks of a few nodes."""
    found = [node]
    for node in found:
        for name in node._fields:
            value = getattr(node, name, None)
            if value.__class__ is list:
                found += [part for part in value if isinstance(part, ast.AST)]
            elif isinstance(value, ast.AST):
                found.append(value)
        yield node
