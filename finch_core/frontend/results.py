"""Results that are numbers: ``return t / n`` assigns ``t / n`` to a variable of its own at the end,
which is returned. All returns of a function give as many results, and the same tensors."""

from __future__ import annotations

import ast
from collections.abc import Callable, Container
from typing import NoReturn

from finch_core.frontend.early_returns import always_returns, returns, without_returns
from finch_core.frontend.nodes import fresh, walk
from finch_core.records import frozen

Refuse = Callable[[ast.AST, str, str], NoReturn]


@frozen(eq=False)
class Results:
    """A function's ``body`` without returns, the ``return`` that says what its results are, and the
    name of the variable of each that is a number, by the identity of what is returned."""

    body: list[ast.stmt]
    last: ast.Return | None
    numbered: dict[int, str]


def named_results(
    function: ast.FunctionDef,
    body: list[ast.stmt],
    numbers: Container[str],
    tensors: Container[str],
    refuse: Refuse,
) -> Results:
    """What the statements of a function return.

    ``numbers`` are the names that are assigned numbers; other names are those of tensors, as those
    in ``tensors`` are for certain.
    """
    found = returns(body)
    if not found:
        return Results(body, None, {})
    last, names = found[-1], _Names(function)
    rows = [returned_values(node) for node in found]
    if len(found) > 1 or body[-1] is not last:
        _check(found, body, refuse)
    numbered: dict[int, str] = {}
    places: dict[int, str] = {}
    for k, values in enumerate(zip(*rows, strict=True)):
        first = values[0]
        plain = isinstance(first, ast.Name) and first.id not in numbers
        if plain and all(isinstance(v, ast.Name) and v.id == first.id for v in values):
            continue
        for value in values if len(values) > 1 else ():
            if isinstance(value, ast.Name) and value.id in tensors:
                refuse(
                    value,
                    f"'return' gives {value.id!r}, a tensor, here, and another result elsewhere",
                    "let each 'return' give the same tensor, or a number",
                )  # fmt: skip
        places[k] = numbered[id(rows[-1][k])] = names.fresh("result")

    def assign(node: ast.Return) -> list[ast.stmt]:
        return [
            _assigned(places[k], value)
            for k, value in enumerate(returned_values(node))
            if k in places
        ]

    if len(found) == 1 and body[-1] is last:
        return Results([*body[:-1], *assign(last)], last, numbered)
    return Results(without_returns(body, assign, names.fresh("returned")), last, numbered)


def _check(found: list[ast.Return], body: list[ast.stmt], refuse: Refuse) -> None:
    """Refuse returns that differ in what they give, and an end that gives nothing."""
    last = found[-1]
    count, is_tuple = len(returned_values(last)), _is_tuple(last)
    for node in found:
        if (len(returned_values(node)), _is_tuple(node)) != (count, is_tuple):
            refuse(
                node, f"this 'return' gives {_shown(node)}, the last one {_shown(last)}",
                "let each 'return' give the same number of results",
            )  # fmt: skip
    if count and not always_returns(body):
        refuse(
            last, "the kernel may end without a 'return', where Python gives None",
            "end it with a 'return' of the same results",
        )  # fmt: skip


def _shown(node: ast.Return) -> str:
    if node.value is None:
        return "nothing"
    count = len(returned_values(node))
    return f"{count} result{'s' * (count != 1)}" if _is_tuple(node) else "one value"


def _is_tuple(node: ast.Return) -> bool:
    return isinstance(node.value, ast.Tuple)


def returned_values(node: ast.Return | None) -> list[ast.expr]:
    """The expressions that are returned."""
    if node is None or node.value is None:
        return []
    return node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]


def _assigned(name: str, value: ast.expr) -> ast.stmt:
    target = ast.copy_location(ast.Name(name, ast.Store()), value)
    return ast.copy_location(ast.Assign([target], value), value)


class _Names:
    """Names that a function does not have."""

    def __init__(self, function: ast.FunctionDef) -> None:
        nodes = list(walk(function))
        self.taken = {node.id for node in nodes if isinstance(node, ast.Name)}
        self.taken |= {node.arg for node in nodes if isinstance(node, ast.arg)}

    def fresh(self, wanted: str) -> str:
        return fresh(wanted, self.taken)


__all__ = ["Results", "named_results", "returned_values"]
