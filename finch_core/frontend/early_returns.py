"""Returns before the end: what is returned is assigned, the loops around are left, and what follows
is done only if nothing has been returned.

    for i in range(n):                       returned = False
        if x[i] == v:                        for i in range(n):
            return i                             if x[i] == v:
    return -1                       ->               result = i
                                                     returned = True
                                                     break
                                             if not returned:
                                                 result = -1

The last statement of a branch that always returns needs no flag: what follows becomes the other
branch.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from copy import copy

from finch_core.records import define

Assign = Callable[[ast.Return], list[ast.stmt]]
"""Gives the assignments of what a statement returns."""


def returns(body: Sequence[ast.stmt]) -> list[ast.Return]:
    """The ``return`` statements of a function, in their order; not those of functions in it."""
    found: list[ast.Return] = []
    for stmt in body:
        if isinstance(stmt, ast.Return):
            found.append(stmt)
        elif isinstance(stmt, (ast.If, ast.For, ast.While)):
            found += returns([*stmt.body, *stmt.orelse])
    return found


def always_returns(body: Sequence[ast.stmt]) -> bool:
    """Whether the end of a block is never reached, since it returns before, or loops for ever."""
    return any(map(_ends, body))


def _ends(stmt: ast.stmt) -> bool:
    if isinstance(stmt, ast.If):
        return always_returns(stmt.body) and always_returns(stmt.orelse)
    if isinstance(stmt, ast.While):
        endless = isinstance(stmt.test, ast.Constant) and bool(stmt.test.value)
        return endless and not _breaks(stmt.body)
    return isinstance(stmt, ast.Return)


def _breaks(body: Sequence[ast.stmt]) -> bool:
    """Whether a loop with this body may be left by its own ``break``."""
    for stmt in body:
        if isinstance(stmt, ast.Break):
            return True
        if isinstance(stmt, ast.If) and (_breaks(stmt.body) or _breaks(stmt.orelse)):
            return True
    return False


def without_returns(body: Sequence[ast.stmt], assign: Assign, flag: str) -> list[ast.stmt]:
    """``body`` with assignments in place of its returns; ``flag`` is the name of a variable that
    says that something was returned. The nodes of ``body`` are not changed."""
    made = _Returns(assign, flag)
    done = made.block(body, False)
    if not made.asked:
        return [stmt for stmt in map(made.without_flag, done) if stmt is not None]
    return [made.set(body[0], False), *done]


@define(eq=False)
class _Returns:
    assign: Assign
    flag: str
    asked: bool = False
    """Whether the flag is read."""

    def block(self, body: Sequence[ast.stmt], looped: bool) -> list[ast.stmt]:
        """``body`` in a loop, or outside of all loops."""
        done: list[ast.stmt] = []
        for k, stmt in enumerate(body):
            rest = body[k + 1 :]
            if isinstance(stmt, ast.Return):
                ending: list[ast.stmt] = [self.set(stmt, True)]
                if looped:
                    ending.append(ast.copy_location(ast.Break(), stmt))
                return [*done, *self.assign(stmt), *ending]
            if not returns([stmt]):
                done.append(stmt)
            elif isinstance(stmt, ast.If) and looped:
                done.append(self.branches(stmt, stmt.body, stmt.orelse, True))
            elif isinstance(stmt, ast.If) and always_returns(stmt.body):
                return [*done, self.branches(stmt, stmt.body, [*stmt.orelse, *rest], False)]
            elif isinstance(stmt, ast.If) and always_returns(stmt.orelse):
                return [*done, self.branches(stmt, [*stmt.body, *rest], stmt.orelse, False)]
            elif isinstance(stmt, ast.If):
                done.append(self.branches(stmt, stmt.body, stmt.orelse, False))
                return [*done, *self.unless_returned(stmt, rest)]
            else:
                loop = copy(stmt)
                loop.body = self.block(stmt.body, True)  # type: ignore[attr-defined]
                done.append(loop)
                if not looped:
                    return [*done, *self.unless_returned(stmt, rest)]
                self.asked = True
                test, leave = self.read(stmt), ast.copy_location(ast.Break(), stmt)
                done.append(ast.copy_location(ast.If(test, [leave], []), stmt))
        return done

    def branches(
        self, node: ast.If, body: Sequence[ast.stmt], orelse: Sequence[ast.stmt], looped: bool
    ) -> ast.stmt:
        first, second = self.block(body, looped), self.block(orelse, looped)
        return ast.copy_location(ast.If(node.test, first, second), node)

    def unless_returned(self, node: ast.stmt, rest: Sequence[ast.stmt]) -> list[ast.stmt]:
        """What follows ``node``, where that has not returned."""
        if not rest:
            return []
        self.asked = True
        test = ast.copy_location(ast.UnaryOp(ast.Not(), self.read(node)), node)
        return [ast.copy_location(ast.If(test, self.block(rest, False), []), node)]

    def read(self, node: ast.stmt) -> ast.Name:
        return ast.copy_location(ast.Name(self.flag, ast.Load()), node)

    def set(self, node: ast.stmt, value: bool) -> ast.stmt:
        target = ast.copy_location(ast.Name(self.flag, ast.Store()), node)
        constant = ast.copy_location(ast.Constant(value), node)
        return ast.copy_location(ast.Assign([target], constant), node)

    def without_flag(self, stmt: ast.stmt) -> ast.stmt | None:
        """``stmt`` without assignments of the flag; None if it is one."""
        if isinstance(stmt, ast.Assign) and isinstance(stmt.targets[0], ast.Name):
            return None if stmt.targets[0].id == self.flag else stmt
        bodies = {k: getattr(stmt, k) for k in ("body", "orelse") if getattr(stmt, k, None)}
        if not bodies:
            return stmt
        made = copy(stmt)
        for name, body in bodies.items():
            kept = [found for found in map(self.without_flag, body) if found is not None]
            fill = [ast.copy_location(ast.Pass(), stmt)] if name == "body" else []
            setattr(made, name, kept or fill)
        return made


__all__ = ["always_returns", "returns", "without_returns"]
