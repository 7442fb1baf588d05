"""Workspaces as NumPy makes arrays: ``w = np.zeros(n)``, ``np.full_like(x, t)``, ``x.copy()``.

All become dense tensors of the kernel. What only the arguments tell (the dtype of ``x``, how many
dimensions it has) is left to ``DenseLike``; so are values that are no constants.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

import numpy as np

from finch_core.errors import FormatError, Span
from finch_core.frontend.context import NUMBERS
from finch_core.frontend.expressions import is_tensor, literal
from finch_core.frontend.names import ARRAYS, SHOWN, UNBOUND, Binding, Scope, is_copy, lookup
from finch_core.interface.dense_format import dense_format
from finch_core.ir.dense_like import DenseLike
from finch_core.ir.dtypes import is_tuple
from finch_core.ir.expressions import Access, Literal
from finch_core.ir.missing import Missing
from finch_core.ir.operators import tuple_value
from finch_core.ir.program import Declare, Local, Stmt, Update

if TYPE_CHECKING:
    from finch_core.frontend.assignments import AssignmentParser

REQUIRED = ("shape", "a", "prototype", "fill_value")
_HINTS = {
    "shape": "write 'np.zeros(shape, x.dtype)'",
    "order": "leave it out: a workspace is dense, and its order in memory has no meaning",
}
"""What to do about other parameters."""
FLOAT = np.dtype(np.float64)


def make_array(
    parser: AssignmentParser, node: ast.Assign, target: ast.Name, function: Any, scope: Scope
) -> list[Stmt]:
    """The statements that make the workspace ``target`` by a call of ``function``.

    Raises ``KernelSyntaxError`` for arguments that kernels do not take.
    """
    return _Array(parser, node, target, function, scope).made()


def format_with(value: Any, dtype: np.dtype[Any], ndim: int, span: Span | None) -> Any:
    """A dense format of ``ndim`` dimensions. Raises ``FormatError`` where ``dtype`` does not hold
    the value."""
    if dtype.kind in "biuf" and np.iscomplexobj(value):
        raise complex_value(f"the value {value}", dtype, span)
    try:
        counted = dtype.kind in "mM" and not isinstance(value, np.generic)  # units of time
        if is_tuple(dtype):  # a number is that of each element, as NumPy has it
            first = tuple_value(value, dtype)
        else:
            first = np.asarray(value).astype(dtype)[()] if counted else dtype.type(value)
        return dense_format(ndim, first, dtype)
    except (FormatError, TypeError, ValueError, OverflowError) as error:
        raise FormatError(str(error).partition("\n")[0], span=span) from None


def complex_value(what: str, dtype: np.dtype[Any], span: Span | None) -> FormatError:
    """The refusal to fill an array of real numbers with a complex value."""
    return FormatError(
        f"{what} is complex, and the array holds {dtype}",
        span=span,
        hint="give its real part, '.real', or let the array hold complex numbers: 'dtype=complex'",
    )


def fill(value: Any) -> Literal:
    """A fill value as a constant."""
    return Literal(value, value.dtype) if hasattr(value, "dtype") else literal(value)


class _Array:
    """One assignment of an array that is made."""

    def __init__(
        self,
        parser: AssignmentParser,
        node: ast.Assign,
        target: ast.Name,
        function: Any,
        scope: Scope,
    ) -> None:
        assert isinstance(node.value, ast.Call)
        self.parser, self.context, self.scope = parser, parser.context, scope
        self.node, self.target, self.call, self.function = node, target, node.value, function
        self.span = parser.context.span(node)
        self.given = self.arguments()

    def arguments(self) -> dict[str, ast.expr]:
        """The arguments of the call, by name."""
        names, call = ARRAYS[self.function], self.call
        positional = call.args
        if is_copy(self.context.source.function, call):
            assert isinstance(call.func, ast.Attribute)
            positional = [call.func.value]
        given = dict(zip(names, positional, strict=False))
        given |= {str(keyword.arg): keyword.value for keyword in call.keywords}
        shown = ast.unparse(call.func)
        for keyword in call.keywords:
            if keyword.arg not in names:
                self.context.refuse(
                    keyword, f"{shown!r} takes {', '.join(names)} in a kernel, not {keyword.arg!r}",
                    _HINTS.get(str(keyword.arg), ""),
                )  # fmt: skip
        wanted = {name for name in names if name in REQUIRED}
        if len(given) != len(positional) + len(call.keywords) or not wanted <= given.keys():
            self.context.refuse(call, f"{shown!r} takes {', '.join(names)} in a kernel")
        return given

    def made(self) -> list[Stmt]:
        first: list[Stmt] = []
        shape_of, sizes = self.shape()
        value, filled_with = self.value(first)
        dtype = self.dtype(shape_of, value, filled_with)
        copy_of = shape_of if self.function is np.copy else None
        own = self.context.span(self.target)
        self.context.bind(self.target, self.scope, self.target.id, Binding("local", own))
        extents = tuple(self.parser.size(size, self.scope) for size in sizes)
        late = shape_of is not None or filled_with is not None
        format: Any
        if isinstance(dtype, np.dtype) and not late and self.target.id not in self.context.swapped:
            try:
                format = format_with(value, dtype, len(sizes), None)
            except FormatError as error:
                self.context.refuse(self.call, error.message, error.hint)
            init = fill(format.fill_value)
        else:
            format = DenseLike(shape_of, dtype, value, filled_with, copy_of, span=self.span)
            init = literal(0)
        shape = None if shape_of is not None else extents
        self.parser.locals[self.target.id] = Local(self.target.id, format, shape, own)
        return [*first, Declare(self.target.id, init, span=self.span)]

    def shape(self) -> tuple[str | None, list[ast.expr]]:
        """The tensor whose shape is taken, if any; else the size of each dimension."""
        shape = self.given.get("shape")
        if shape is None:
            of = self.given.get("a", self.given.get("prototype"))
            assert of is not None
            return self.steady(of), []
        if isinstance(shape, ast.Attribute) and shape.attr == "shape":
            return self.steady(shape.value), []
        return None, shape.elts if isinstance(shape, (ast.Tuple, ast.List)) else [shape]

    def steady(self, node: ast.expr) -> str:
        """A tensor whose size is known before the program runs."""
        if not isinstance(node, ast.Name):
            self.context.refuse(
                node, f"{ast.unparse(node)!r} is no tensor: it takes a plain name",
                "write the shape out, 'np.zeros(n)' or 'np.zeros((n, m))'",
            )  # fmt: skip
        name = self.parser.expressions.tensor_name(node, self.scope)
        if name not in self.context.declared:
            self.context.steady.add(name)
        return name

    def value(self, first: list[Stmt]) -> tuple[Any, str | None]:
        """The constant that fills the array; or zero, and the variable that has the value, which
        ``first`` computes."""
        node = self.given.get("fill_value")
        if node is None:
            return int(self.function in (np.ones, np.ones_like)), None
        if self.is_outside(node):
            shown = ast.unparse(self.call.func)
            return self.context.evaluate(node, self.scope, f"the fill_value of {shown!r}"), None
        value = self.parser.expressions.parse(node, self.scope)
        if isinstance(value, Literal) and isinstance(value.value, NUMBERS):
            return value.value, None
        name = self.context.fresh(f"{self.target.id}_fill")
        self.parser.locals[name] = Local(name, None)
        span = self.context.span(node)
        first += [Declare(name, Missing()), Update(Access(name, ()), None, value, span=span)]
        return 0, name

    def is_outside(self, node: ast.expr) -> bool:
        """Whether an expression has no names of the kernel, and nothing that is computed in it."""
        for part in ast.walk(node):
            if isinstance(part, ast.Name):
                if self.scope.find(part.id) is not None or part.id in self.context.ended:
                    return False
                if part.id in self.context.subscripted:
                    return False
            if id(part) in self.context.computed:
                return False
        return True

    def dtype(
        self, shape_of: str | None, value: Any, filled_with: str | None
    ) -> np.dtype[Any] | str:
        """The dtype of the array; or the tensor or the variable that has it."""
        node = self.given.get("dtype")
        if node is None:
            if "shape" not in self.given:
                assert shape_of is not None
                return shape_of
            if self.function is not np.full:
                return FLOAT
            return np.asarray(value).dtype if filled_with is None else filled_with
        if isinstance(node, ast.Attribute) and node.attr == "dtype" and self.is_of_tensor(node):
            return self.parser.expressions.tensor_name(node.value, self.scope)
        shown = ast.unparse(self.call.func)
        for part in ast.walk(node):
            bound = self.scope.find(part.id) if isinstance(part, ast.Name) else None
            if isinstance(part, ast.Name) and bound is not None:
                self.context.refuse(
                    part,
                    f"the dtype of {shown!r} is made when the kernel is parsed, and {part.id!r} is "
                    f"{SHOWN[bound.kind]}",
                    "use constants and names from outside the kernel, or the dtype of a tensor, "
                    f"'{part.id}.dtype'",
                )
        given = self.context.evaluate(node, self.scope, f"the dtype of {shown!r}")
        try:
            known: np.dtype[Any] = np.dtype(given)
            return known
        except (TypeError, ValueError) as error:
            self.context.refuse(self.call, str(error).partition("\n")[0])

    def is_of_tensor(self, node: ast.Attribute) -> bool:
        """Whether the dtype is that of a name in the kernel, or of a tensor outside."""
        if not isinstance(node.value, ast.Name):
            return False
        if self.scope.find(node.value.id) is not None:
            return True
        value = lookup(self.context.source.function, node.value.id)
        return value is not UNBOUND and is_tensor(value)


__all__ = ["complex_value", "fill", "format_with", "make_array"]
