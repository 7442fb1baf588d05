"""Calls of kernels that are not always made, or more than once: the conditions become statements.

    while norm(x) > e:       ->     while True:
        ...                             if not norm(x) > e:
                                            break
                                        ...
    t = f(x) if c else 0     ->     if c:
                                        value = f(x)
                                    else:
                                        value = 0
                                    t = value
    if a and f(x): ...       ->     value = a
                                    if a:
                                        value = f(x)
                                    if a and value: ...

The program of a kernel that is called stands before the statement that needs its value
(``kernel_calls``), which is then made once, and where the conditions hold.
"""

from __future__ import annotations

import ast
from copy import deepcopy
from types import FunctionType
from typing import Any, TypeVar

from finch_core.frontend.names import found
from finch_core.frontend.nodes import fresh, walk
from finch_core.records import define

Block = list[ast.stmt]
Node = TypeVar("Node", bound=ast.AST)


def with_calls_apart(node: ast.FunctionDef, function: FunctionType) -> ast.FunctionDef:
    """The definition ``node`` of ``function``, in place, with conditional calls of kernels taken
    apart."""
    if any(isinstance(part, (ast.While, ast.IfExp, ast.BoolOp)) for part in walk(node)):
        nodes = list(walk(node))
        taken = {part.id for part in nodes if isinstance(part, ast.Name)}
        taken |= {part.arg for part in nodes if isinstance(part, ast.arg)}
        apart = _Apart(function, taken)
        if apart.calls(node):
            node.body = apart.block(node.body)
    return node


_PART = "finch_part"


def _note_parts(*nodes: ast.expr) -> None:
    """Note that the calls in expressions are not the first to be evaluated in a statement."""
    for part in (part for node in nodes for part in walk(node)):
        if isinstance(part, ast.Call):
            vars(part)[_PART] = True


def is_part(node: ast.Call) -> bool:
    """Whether a call was a part of a value, of which something may be evaluated before."""
    return _PART in vars(node)


def is_kernel(function: object) -> bool:
    """Whether an object is a kernel, whose program can be inlined."""
    return hasattr(type(function), "__finch_program__")


@define(eq=False)
class _Apart:
    function: Any
    taken: set[str]

    def calls(self, node: ast.AST) -> bool:
        """Whether a kernel is called in a node."""
        return any(
            isinstance(part, ast.Call) and is_kernel(found(self.function, part.func))
            for part in walk(node)
        )

    def block(self, body: Block) -> Block:
        done: Block = []
        for stmt in body:
            done += self.statement(stmt)
        return done

    def statement(self, stmt: ast.stmt) -> Block:
        if isinstance(stmt, (ast.If, ast.For, ast.While)):
            stmt.body, stmt.orelse = self.block(stmt.body), self.block(stmt.orelse)
        first: Block = []
        if isinstance(stmt, ast.While) and self.calls(stmt.test):
            test = self.value(stmt.test, first, True)
            end = ast.If(_at(ast.UnaryOp(ast.Not(), test), test), [_at(ast.Break(), test)], [])
            stmt.test = _at(ast.Constant(True), test)
            stmt.body = [*first, _at(end, test), *stmt.body]
            return [stmt]
        for name in ("value", "test", "iter"):
            whole = getattr(stmt, name, None)
            if isinstance(whole, ast.expr):
                alone = not isinstance(stmt, (ast.AugAssign, ast.For))
                setattr(stmt, name, self.value(whole, first, alone))
        return [*first, stmt]

    def value(self, node: ast.expr, first: Block, alone: bool = False) -> ast.expr:
        """``node`` where its calls are made for certain; ``first`` takes what is done before.
        ``alone``: nothing else is evaluated before it."""
        if isinstance(node, ast.IfExp) and (self.calls(node.body) or self.calls(node.orelse)):
            if not alone:
                _note_parts(node)
            test, name = self.value(node.test, first, alone), fresh("value", self.taken)
            branches = [self.assigned(name, part) for part in (node.body, node.orelse)]
            first.append(_at(ast.If(test, *branches), node))
            return _at(ast.Name(name, ast.Load()), node)
        if isinstance(node, ast.BoolOp) and any(map(self.calls, node.values[1:])):
            _note_parts(*(node.values[1:] if alone else node.values))
            return self.boolean(node, first)
        for field, part in ast.iter_fields(node):
            if isinstance(part, ast.expr):
                setattr(node, field, self.value(part, first))
            elif isinstance(part, list):
                setattr(node, field, [self.part(each, first) for each in part])
        return node

    def boolean(self, node: ast.BoolOp, first: Block) -> ast.expr:
        """``and`` or ``or``: the operands before the first call stay as they are, so that what they
        say of an index counts."""
        before, name = list(node.values), fresh("value", self.taken)
        if self.calls(before[0]):
            begun = fresh("value", self.taken)
            first += self.assigned(begun, before[0])
            before[0] = _at(ast.Name(begun, ast.Load()), before[0])
        rest: list[ast.expr] = []
        while not rest or any(map(self.calls, before)):
            rest.insert(0, before.pop())
        test = _joined(node.op, before)
        first += self.assigned(name, test)
        if isinstance(node.op, ast.Or):
            test = _at(ast.UnaryOp(ast.Not(), test), test)
        inner = self.assigned(name, _joined(node.op, rest))
        first.append(_at(ast.If(deepcopy(test), inner, []), node))
        return _at(
            ast.BoolOp(node.op, [*map(deepcopy, before), _at(ast.Name(name, ast.Load()), node)]),
            node,
        )

    def part(self, node: ast.AST, first: Block) -> ast.AST:
        """One of several parts of an expression."""
        if isinstance(node, ast.keyword):
            node.value = self.value(node.value, first)
        return self.value(node, first) if isinstance(node, ast.expr) else node

    def assigned(self, name: str, value: ast.expr) -> Block:
        done: Block = []
        value = self.value(value, done, True)
        return [*done, _at(ast.Assign([_at(ast.Name(name, ast.Store()), value)], value), value)]


def _joined(op: ast.boolop, values: list[ast.expr]) -> ast.expr:
    """``values`` joined by ``and`` or ``or``."""
    return _at(ast.BoolOp(op, values), values[0]) if len(values) > 1 else values[0]


def _at(made: Node, node: ast.AST) -> Node:
    return ast.copy_location(made, node)


__all__ = ["is_kernel", "is_part", "with_calls_apart"]
