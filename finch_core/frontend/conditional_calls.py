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
                                    if value:
                                        value = f(x)
                                    if value: ...

The program of a kernel that is called stands before the statement that needs its value
(``kernel_calls``), which is then made once, and where the conditions hold.
"""

from __future__ import annotations

import ast
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
            test = self.value(stmt.test, first)
            end = ast.If(_at(ast.UnaryOp(ast.Not(), test), test), [_at(ast.Break(), test)], [])
            stmt.test = _at(ast.Constant(True), test)
            stmt.body = [*first, _at(end, test), *stmt.body]
            return [stmt]
        for name in ("value", "test", "iter"):
            whole = getattr(stmt, name, None)
            if isinstance(whole, ast.expr):
                setattr(stmt, name, self.value(whole, first))
        return [*first, stmt]

    def value(self, node: ast.expr, first: Block) -> ast.expr:
        """``node`` where its calls are made for certain; ``first`` takes what is done before."""
        if isinstance(node, ast.IfExp) and (self.calls(node.body) or self.calls(node.orelse)):
            test, name = self.value(node.test, first), fresh("value", self.taken)
            branches = [self.assigned(name, part) for part in (node.body, node.orelse)]
            first.append(_at(ast.If(test, *branches), node))
            return _at(ast.Name(name, ast.Load()), node)
        if isinstance(node, ast.BoolOp) and any(map(self.calls, node.values[1:])):
            name = fresh("value", self.taken)
            block = first
            for k, part in enumerate(node.values):
                block += self.assigned(name, part)
                if k + 1 < len(node.values):
                    test = _at(ast.Name(name, ast.Load()), part)
                    if isinstance(node.op, ast.Or):
                        test = _at(ast.UnaryOp(ast.Not(), test), part)
                    inner: Block = []
                    block.append(_at(ast.If(test, inner, []), part))
                    block = inner
            return _at(ast.Name(name, ast.Load()), node)
        for field, part in ast.iter_fields(node):
            if isinstance(part, ast.expr):
                setattr(node, field, self.value(part, first))
            elif isinstance(part, list):
                setattr(node, field, [self.part(each, first) for each in part])
        return node

    def part(self, node: ast.AST, first: Block) -> ast.AST:
        """One of several parts of an expression."""
        if isinstance(node, ast.keyword):
            node.value = self.value(node.value, first)
        return self.value(node, first) if isinstance(node, ast.expr) else node

    def assigned(self, name: str, value: ast.expr) -> Block:
        done: Block = []
        value = self.value(value, done)
        return [*done, _at(ast.Assign([_at(ast.Name(name, ast.Store()), value)], value), value)]


def _at(made: Node, node: ast.AST) -> Node:
    return ast.copy_location(made, node)


__all__ = ["is_kernel", "with_calls_apart"]
