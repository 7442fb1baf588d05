"""Assignments with several targets, or with an annotation, become plain ones.

    a, b = b, a        ->     b_new = a; a = b; b = b_new
    a, b = x[i], y[i]  ->     a = x[i]; b = y[i]
    a, b = t           ->     values = t; a = values[0]; b = values[1]
    n, m = A.shape     ->     n = A.shape[0]; m = A.shape[1]
    a, b, t = b, a, e  ->     t = e; a, b = b, a      where a and b are tensors
    a = b = f(x[i])    ->     value = f(x[i]); a = value; b = value
    a: float = 0       ->     a = 0

As in Python, all values are computed before the first target takes its own: a value that would see
an earlier target changed is computed first, into a name of its own. Annotations say nothing.
"""

from __future__ import annotations

import ast
from copy import copy
from types import FunctionType
from typing import Any

from finch_core.frontend.exchanges import exchanged_names, in_pairs, parted, tensors_of
from finch_core.frontend.names import makes_tensor
from finch_core.frontend.nodes import walk
from finch_core.records import define

_TUPLES = (ast.Tuple, ast.List)


def with_single_targets(node: ast.FunctionDef, function: FunctionType) -> ast.FunctionDef:
    """The definition ``node`` of ``function``, with its assignments to several targets taken apart,
    in place. Those with another number of values, with ``*``, or of what may be a tensor are left
    as they are; those that exchange tensors exchange two at a time."""
    if any(map(_is_apart, walk(node))):
        found = {part.id for part in walk(node) if isinstance(part, ast.Name)}
        taken = found | {part.arg for part in walk(node) if isinstance(part, ast.arg)}
        assignments = (part for part in walk(node) if isinstance(part, ast.Assign))
        exchanges = any(exchanged_names(part) or parted(part) for part in assignments)
        tensors = tensors_of(function, node) if exchanges else frozenset()
        _Apart(function, taken, tensors).visit(node)
    return node


def _is_apart(node: ast.AST) -> bool:
    """Whether a node is an assignment that may be taken apart."""
    if isinstance(node, ast.AnnAssign):
        return isinstance(node.target, ast.Name) and node.value is not None
    return isinstance(node, ast.Assign) and (len(node.targets) > 1 or _is_tuple(node))


def _is_tuple(node: ast.Assign) -> bool:
    return len(node.targets) == 1 and isinstance(node.targets[0], _TUPLES)


@define
class _Apart(ast.NodeTransformer):
    """Takes the assignments of ``function`` apart; ``taken`` are names that are in use, ``tensors``
    some of those of tensors."""

    function: Any
    taken: set[str]
    tensors: frozenset[str]

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt:
        if not _is_apart(node) or node.value is None:
            return node
        return ast.copy_location(ast.Assign([node.target], node.value), node)

    def visit_Assign(self, node: ast.Assign) -> ast.Assign | list[ast.stmt]:
        if len(node.targets) > 1 and self.is_number(node.value):
            return self.chained(node)
        if not _is_tuple(node) or not _matches(node.targets[0], node.value):
            return node
        exchanged = exchanged_names(node)
        if exchanged is not None and not self.tensors.isdisjoint(dict(exchanged)):
            return in_pairs(node)
        both = parted(node)
        if both is not None and not self.tensors.isdisjoint(dict(exchanged_names(both[0]) or ())):
            rest = self.visit_Assign(both[1])
            return [*(rest if isinstance(rest, list) else [rest]), *in_pairs(both[0])]
        first: list[ast.stmt] = []
        pairs = self.pairs(node.targets[0], node.value, first, node)
        done: list[ast.stmt] = []
        for k, (target, value) in enumerate(pairs):
            if any(_changes(before, value) for before, _ in pairs[:k]):
                value = self.kept(f"{_name(target)}_new", value, first, node)
            done.append(_assignment(target, value, node))
        return [*first, *done]

    def is_number(self, value: ast.expr) -> bool:
        """Whether a value is one number. A new tensor is refused: it would have two names."""
        return not isinstance(value, _TUPLES) and not makes_tensor(self.function, value)

    def chained(self, node: ast.Assign) -> list[ast.stmt]:
        """``a = b = e``."""
        first: list[ast.stmt] = []
        value = node.value
        if not isinstance(value, (ast.Constant, ast.Name)):
            value = self.kept("value", value, first, node)
        for target in node.targets:
            first.append(_assignment(target, copy(value), node))
        return first

    def pairs(
        self, target: ast.expr, value: ast.expr, first: list[ast.stmt], node: ast.Assign
    ) -> list[tuple[ast.expr, ast.expr]]:
        """Each single target with its value; ``first`` takes what must be computed before."""
        if not isinstance(target, _TUPLES):
            return [(target, value)]
        if isinstance(value, _TUPLES):
            values: list[ast.expr] = value.elts
        elif isinstance(value, ast.Attribute) and value.attr == "shape":
            values = [_of_shape(value, k, len(target.elts)) for k in range(len(target.elts))]
        else:
            self.kept("values", value, first, node)
            values = [_element(first[-1], k, value) for k in range(len(target.elts))]
        found = zip(target.elts, values, strict=True)
        return [pair for one, part in found for pair in self.pairs(one, part, first, node)]

    def kept(self, name: str, value: ast.expr, first: list[ast.stmt], node: ast.Assign) -> ast.expr:
        """A new name of ``value``, which is computed first."""
        number, fresh = 1, name
        while fresh in self.taken:
            number += 1
            fresh = f"{name}_{number}"
        self.taken.add(fresh)
        target = ast.copy_location(ast.Name(fresh, ast.Store()), value)
        first.append(_assignment(target, value, node))
        return ast.copy_location(ast.Name(fresh, ast.Load()), value)


def _assignment(target: ast.expr, value: ast.expr, node: ast.Assign) -> ast.Assign:
    return ast.copy_location(ast.Assign([target], value), node)


def _element(kept: ast.stmt, k: int, value: ast.expr) -> ast.expr:
    """Element ``k`` of the name that the statement ``kept`` assigns."""
    assert isinstance(kept, ast.Assign)
    assert isinstance(kept.targets[0], ast.Name)
    return _part(ast.copy_location(ast.Name(kept.targets[0].id, ast.Load()), value), k)


def _of_shape(value: ast.expr, k: int, parts: int) -> ast.expr:
    """Dimension ``k`` of a shape that is taken apart into ``parts`` names."""
    found = _part(value, k)
    vars(found)[_PARTS] = parts
    return found


_PARTS = "finch_parts"


def parts_of(node: ast.expr) -> int | None:
    """How many names take apart the shape that ``node`` is a dimension of; None if it is not one
    of ``n, m = A.shape``."""
    found: int | None = vars(node).get(_PARTS)
    return found


def _part(value: ast.expr, k: int) -> ast.expr:
    """Element ``k`` of a value."""
    number = ast.copy_location(ast.Constant(k), value)
    return ast.copy_location(ast.Subscript(value, number, ast.Load()), value)


def _matches(target: ast.expr, value: ast.expr) -> bool:
    """Whether tuples of targets have as many values, none of them with ``*``."""
    if not isinstance(target, _TUPLES):
        return not isinstance(target, ast.Starred)
    if not isinstance(value, _TUPLES):
        return all(_matches(one, value) for one in target.elts)
    if len(target.elts) != len(value.elts):
        return False
    pairs = zip(target.elts, value.elts, strict=True)
    return all(not isinstance(part, ast.Starred) and _matches(one, part) for one, part in pairs)


def _name(target: ast.expr) -> str:
    """The name that a target changes, or whose elements it changes."""
    while isinstance(target, ast.Subscript):
        target = target.value
    return target.id if isinstance(target, ast.Name) else "value"


def _changes(target: ast.expr, value: ast.expr) -> bool:
    """Whether ``value`` may be another one after an assignment to ``target``."""
    name = _name(target)
    return any(isinstance(part, ast.Name) and part.id == name for part in walk(value))


__all__ = ["parts_of", "with_single_targets"]
