"""Names: bindings inside a kernel, and the resolution of free names."""

from __future__ import annotations

import ast
import builtins
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from finch_core.errors import Span
from finch_core.frontend.functions import SYNTAX
from finch_core.ir.expressions import Expr
from finch_core.records import define, field, frozen


class _Unbound:
    def __repr__(self) -> str:
        return "UNBOUND"


UNBOUND = _Unbound()
"""The result of ``lookup`` for a name without a value."""


def lookup(function: FunctionType, name: str) -> Any:
    """The present value of a free name of ``function``.

    The closure, globals, builtins and the language's own names are searched in that order;
    ``UNBOUND`` if it is in none.
    """
    code = function.__code__
    if name in code.co_freevars and function.__closure__ is not None:
        try:
            return function.__closure__[code.co_freevars.index(name)].cell_contents
        except ValueError:  # the enclosing function has not assigned it yet
            return UNBOUND
    for scope in (function.__globals__, vars(builtins), SYNTAX):
        if name in scope:
            return scope[name]
    return UNBOUND


def origin(function: FunctionType, name: str) -> Any:
    """The variable that a free name of ``function`` is: equal for the same one."""
    code = function.__code__
    if name in code.co_freevars and function.__closure__ is not None:
        return id(function.__closure__[code.co_freevars.index(name)])
    return id(function.__globals__), name


def makes_tensor(function: FunctionType, node: ast.expr) -> bool:
    """Whether ``node`` is a call, in the source of ``function``, that makes a tensor."""
    if not isinstance(node, ast.Call):
        return False
    return is_copy(function, node) or is_maker(found(function, node.func))


def is_copy(function: FunctionType, node: ast.Call) -> bool:
    """Whether ``node`` is ``x.copy()``, of a tensor as far as its form tells."""
    func = node.func
    if not isinstance(func, ast.Attribute) or func.attr != "copy" or node.args or node.keywords:
        return False
    return isinstance(func.value, ast.Name) and not isinstance(
        found(function, func.value), ModuleType
    )


def is_maker(function: Any) -> bool:
    """Whether calls of a function make tensors of a kernel."""
    return getattr(function, "__finch_local__", False) or any(function is a for a in ARRAYS)


ARRAYS: dict[Any, tuple[str, ...]] = {
    np.zeros: ("shape", "dtype"),
    np.ones: ("shape", "dtype"),
    np.empty: ("shape", "dtype"),
    np.full: ("shape", "fill_value", "dtype"),
    np.zeros_like: ("a", "dtype"),
    np.ones_like: ("a", "dtype"),
    np.empty_like: ("prototype", "dtype"),
    np.full_like: ("a", "fill_value", "dtype"),
    np.copy: ("a",),
}
"""Functions of NumPy that make dense tensors of a kernel, and what kernels take of their
parameters, in their order."""


def found(function: FunctionType, node: ast.expr) -> Any:
    """The object that a free name or a module's attribute stands for, or ``UNBOUND``."""
    if isinstance(node, ast.Name):
        return lookup(function, node.id)
    if isinstance(node, ast.Attribute):
        owner = found(function, node.value)
        return getattr(owner, node.attr, UNBOUND) if isinstance(owner, ModuleType) else UNBOUND
    return UNBOUND


def namespace(function: FunctionType) -> dict[str, Any]:
    """All names visible to an expression of ``function``, except its own variables."""
    names = {**SYNTAX, **function.__globals__}
    for name in function.__code__.co_freevars:
        value = lookup(function, name)
        if value is not UNBOUND:
            names[name] = value
    return names


@frozen
class Binding:
    """The meaning of a name inside a kernel.

    ``kind`` is ``index``, ``variable``, ``parameter`` or ``local``; ``value`` is the expression
    for an index, a variable, or a parameter of an inlined function.
    """

    kind: str
    span: Span | None
    value: Expr | None = None
    may_change: bool = False
    """Whether the name may be assigned (again)."""


SHOWN = {
    "index": "a loop index",
    "variable": "a variable",
    "parameter": "a parameter",
    "local": "a tensor of this kernel",
}


@define
class Scope:
    """The names bound so far in a block and in the blocks around it."""

    parent: Scope | None = None
    names: dict[str, Binding] = field(factory=dict)

    def find(self, name: str) -> Binding | None:
        if name in self.names:
            return self.names[name]
        return None if self.parent is None else self.parent.find(name)

    def inner(self) -> Scope:
        """A scope for a nested block."""
        return Scope(self)
