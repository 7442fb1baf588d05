"""Arguments that a kernel does not take, or takes for another use than its program has: tensors
that are used as numbers, and the reverse. Refused with what would be written instead."""

from __future__ import annotations

import ast
from array import array
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from finch_core.errors import KernelSyntaxError, Span
from finch_core.frontend.assignments import is_whole
from finch_core.frontend.refusals import element_hint
from finch_core.interface.tensorlike import TensorLike
from finch_core.ir.expressions import Access, Dimension, Expr, Name
from finch_core.ir.program import Define, Program

_LETTERS = "ijklmnop"


def check_uses(
    program: Program, tensors: Mapping[str, TensorLike], numbers: Container[str]
) -> None:
    """Raise ``KernelSyntaxError`` where one of ``tensors`` is used without an index, or one of
    ``numbers`` with one."""
    lets = {part.name.name for part in program.body.walk() if isinstance(part, Define)}
    for part in program.body.walk():
        for expr in part.exprs:
            for node in expr.walk():
                if isinstance(node, Name):
                    if node.name in tensors and node.name not in lets:
                        _refuse_tensor(node.name, node.span or part.span, tensors)
                elif isinstance(node, (Access, Dimension)) and node.tensor in numbers:
                    _refuse_number(node, node.tensor)


def check_tensors(program: Program, given: Mapping[str, Any]) -> None:
    """Raise ``KernelSyntaxError`` where a tensor among the arguments and free names ``given``, as
    they are passed, is used without an index."""
    some = {name: x for name, x in given.items() if type(getattr(x, "ndim", None)) is int}
    tensors = {name: x for name, x in some.items() if not isinstance(x, np.generic)}
    check_uses(program, tensors, ())


def _refuse_number(node: Expr, name: str) -> None:
    what = "has no shape" if isinstance(node, Dimension) else "cannot be indexed"
    raise KernelSyntaxError(
        f"{name} is a number, and {what}",
        span=getattr(node, "span", None),
        hint=f"pass an array or a Tensor; a number stands without an index, '{name}'",
    )


def _refuse_tensor(name: str, span: Span | None, tensors: Mapping[str, TensorLike]) -> None:
    loop = None if span is None else in_a_loop(span.text(), tensors)
    raise KernelSyntaxError(
        f"{name} is a tensor, and is used here without an index",
        span=span,
        hint=f"write '{loop}'" if loop is not None else element_hint(name, tensors[name].ndim),
    )


def in_a_loop(text: str, tensors: Mapping[str, TensorLike]) -> str | None:
    """A line that assigns whole tensors, with an index at each: ``y += x`` is
    ``for i in _: y[i] += x[i]``. None for other lines, and tensors of several numbers of
    dimensions."""
    try:
        (node,) = ast.parse(text.strip()).body
    except (SyntaxError, ValueError):
        return None
    if not isinstance(node, (ast.Assign, ast.AugAssign)):
        return None
    target = node.targets[0] if isinstance(node, ast.Assign) else node.target
    if isinstance(target, ast.Subscript) and is_whole(target):
        target = target.value
    parts = [target, *ast.walk(node.value)]
    used = [part for part in parts if isinstance(part, ast.Name) and part.id in tensors]
    counts = {tensors[part.id].ndim for part in used} - {0}
    if target not in used or len(counts) > 1 or any(isinstance(p, ast.Subscript) for p in parts):
        return None
    indices = ", ".join(_LETTERS[: max(counts, default=0)])
    for part in used:
        part.id += f"[{indices}]" if tensors[part.id].ndim else "[()]"
    if isinstance(node, ast.Assign):
        node.targets = [target]
    stmt = ast.unparse(node)
    return f"for {indices} in _: {stmt}" if indices else stmt


# -- what is no argument ------------------------------------------------------------------------


def kind_of(value: Any) -> str:
    """The type of a value, for a message: ``a list``, ``an array.array``, ``None``."""
    if value is None:
        return "None"
    kind = type(value)
    name = kind.__name__
    if kind.__module__ != "builtins" and name.islower():  # array, date: a word that says little
        name = f"{kind.__module__}.{name}"
    return f"{'an' if name[0].lower() in 'aeio' else 'a'} {name}"


def instead_of(value: Any, name: str) -> str:
    """What to pass to a kernel in place of ``value``."""
    if isinstance(value, str):
        return f"let a number stand for it, or pass np.frombuffer({name}.encode(), np.uint8)"
    if isinstance(value, (bytes, bytearray)):
        return f"pass an array of its bytes, np.frombuffer({name}, np.uint8)"
    if isinstance(value, Mapping):
        return "pass its numbers, each as an argument of its own"
    if isinstance(value, tuple):
        return f"pass each number as an argument of its own, or an array, np.asarray({name})"
    if isinstance(value, (Sequence, array, memoryview)):
        return f"pass an array, np.asarray({name})"
    if isinstance(value, Iterable):
        return f"pass an array, np.array(list({name}))"
    if hasattr(type(value), "__float__"):
        return f"pass a number, float({name})"
    return "pass a Tensor, a NumPy array, a SciPy sparse array or a number"


__all__ = ["check_tensors", "check_uses", "in_a_loop", "instead_of", "kind_of"]
