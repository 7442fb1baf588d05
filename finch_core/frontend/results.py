"""Results that are numbers: ``return t / n`` assigns ``t / n`` to a variable of its own at the end,
which is returned."""

from __future__ import annotations

import ast
from collections.abc import Container

from finch_core.frontend.nodes import walk


def named_results(
    function: ast.FunctionDef,
    body: list[ast.stmt],
    last: ast.Return | None,
    numbers: Container[str],
) -> tuple[list[ast.stmt], dict[int, str]]:
    """``body`` with assignments of the numbers that ``last`` returns; and the name of the variable
    of each, by the identity of what is returned.

    Names that are not in ``numbers``, those that are assigned numbers, are those of tensors.
    """
    if last is None or last.value is None:
        return body, {}
    nodes = list(walk(function))
    taken = {node.id for node in nodes if isinstance(node, ast.Name)}
    taken |= {node.arg for node in nodes if isinstance(node, ast.arg)}
    found: dict[int, str] = {}
    done = list(body)
    for value in last.value.elts if isinstance(last.value, ast.Tuple) else [last.value]:
        if isinstance(value, ast.Name) and value.id not in numbers:
            continue
        number, name = 1, "result"
        while name in taken:
            number += 1
            name = f"result_{number}"
        taken.add(name)
        found[id(value)] = name
        target = ast.copy_location(ast.Name(name, ast.Store()), value)
        done.append(ast.copy_location(ast.Assign([target], value), value))
    return done, found


__all__ = ["named_results"]
