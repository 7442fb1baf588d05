"""Workspaces that take after a tensor get their formats, once those of the arguments are known.

w = np.zeros_like(x)      ->    w = Tensor(Dense(Element(np.float32(0))), (x.shape[0],))
w = np.full(n, x[0])      ->    w = np.zeros(n, x.dtype); for i in _: w[i] = x[0]
w = x.copy()              ->    w = np.zeros(x.shape, x.dtype); for i in _: w[i] = x[i]
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from finch_core.errors import KernelSyntaxError
from finch_core.frontend.arrays import complex_value, fill, format_with
from finch_core.ir.builder import Names
from finch_core.ir.dense_like import DenseLike
from finch_core.ir.dtypes import Type, concrete, same
from finch_core.ir.expressions import Access, Cast, Dimension, Expr, Index
from finch_core.ir.program import (
    Declare,
    Define,
    Local,
    Loop,
    Program,
    Sequential,
    Stmt,
    Swap,
    Update,
)
from finch_core.ir.rewrite import rewrite_statements
from finch_core.ir.variables import variable_types
from finch_core.records import evolve, field, frozen


@frozen
class Known:
    """What is known of a tensor: ``order`` are its dimensions as they are stored, the outermost
    first."""

    dtype: Type
    ndim: int
    fill_value: Any = field(default=0, eq=False)  # it may be NaN, which equals nothing
    order: tuple[int, ...] | None = None


def made_like(
    program: Program, tensors: Mapping[str, Known], numbers: Mapping[str, Type]
) -> Program:
    """The program with a format for each tensor that it makes.

    ``tensors`` are arguments and free tensors, ``numbers`` the types of those that are numbers.
    Raises ``FinchError`` where a workspace takes after a number, or its dtype does not hold its
    values.
    """
    if not any(isinstance(local.format, DenseLike) for local in program.locals):
        return program
    found = _Formats(program, dict(tensors), numbers)
    locals_ = tuple(map(found.local, program.locals))
    body = rewrite_statements(program.body, _Fill(program, found, locals_).stmt)
    return evolve(program, locals=locals_, body=body)


class _Formats:
    """The dtypes, numbers of dimensions and fill values of the program's tensors, those it makes
    included."""

    def __init__(
        self, program: Program, tensors: dict[str, Known], numbers: Mapping[str, Type]
    ) -> None:
        self.program, self.tensors, self.numbers = program, tensors, numbers
        self.variables: dict[str, np.dtype[Any]] = {}
        pending = []
        for local in program.locals:
            if isinstance(local.format, DenseLike):
                pending.append(local)
            elif not local.is_variable:
                format = local.format
                self.tensors[local.name] = Known(format.dtype, format.ndim, format.fill_value)
        before: Any = None
        while before != self.tensors:  # a variable may depend on a workspace, and the reverse
            before = dict(self.tensors)
            types = {name: known.dtype for name, known in self.tensors.items()}
            self.variables = variable_types(program, {**numbers, **types})
            for local in pending:
                self.take(local)
        self.fills = self.common_fills({local.name for local in pending})

    def common_fills(self, made: set[str]) -> dict[str, Any]:
        """The fill values of workspaces. Tensors that are swapped have one format, so one fill:
        that of what is given, else zero, where they differ; loops then set the values."""
        fills = {name: self.tensors[name].fill_value for name in made}
        groups: list[set[str]] = []
        for part in self.program.body.walk():
            if isinstance(part, Swap):
                pair = {part.first, part.second}
                joined = pair.union(*(group for group in groups if not group.isdisjoint(pair)))
                groups = [*(group for group in groups if group.isdisjoint(pair)), joined]
        for group in groups:
            given = sorted(group - made)
            among = {repr(self.tensors[name].fill_value) for name in group if name in self.tensors}
            if len(among) > 1:
                known = self.tensors.get(given[0]) if given else None
                common = 0 if known is None else known.fill_value
                fills |= dict.fromkeys(group & made, common)
        return fills

    def take(self, local: Local) -> None:
        """Note the dtype and the dimensions of a workspace, if they are known already. Raises
        ``KernelSyntaxError`` where they are to be those of a number."""
        like, ndim = local.format, len(local.shape or ())
        for name in like.sources:
            if name in self.numbers:
                what = "shape to take" if name in (like.shape_of, like.copy_of) else "dtype to take"
                raise KernelSyntaxError(
                    f"{name} is a number, and has no {what}", span=like.span,
                    hint="pass an array or a Tensor, or write the shape and the dtype out",
                )  # fmt: skip
            if name not in self.tensors and name not in self.variables:
                return
        if like.shape_of is not None:
            ndim = self.tensors[like.shape_of].ndim
        dtype = like.dtype
        if isinstance(dtype, str):
            given = self.variables[dtype] if dtype in self.variables else self.tensors[dtype].dtype
            dtype = concrete(given)
        self.tensors[local.name] = Known(dtype, ndim, _value(like, dtype))

    def local(self, local: Local) -> Local:
        """A workspace with its format and its shape."""
        like = local.format
        if not isinstance(like, DenseLike):
            return local
        known, shape = self.tensors[local.name], local.shape
        if like.shape_of is not None:
            shape = tuple(Dimension(like.shape_of, k, span=like.span) for k in range(known.ndim))
        format = format_with(self.fills[local.name], concrete(known.dtype), known.ndim, like.span)
        return evolve(local, format=format, shape=shape)


class _Fill:
    """Lets the declarations that make workspaces give them their values."""

    def __init__(self, program: Program, found: _Formats, made: tuple[Local, ...]) -> None:
        self.found = found
        self.formats = {local.name: local.format for local in made}
        self.left = {x.name: x.format for x in program.locals if isinstance(x.format, DenseLike)}
        self.loops: list[Stmt] = []
        taken = {*program.params, *program.free, *(local.name for local in made)}
        for part in program.body.walk():
            if isinstance(part, Loop):
                taken.add(part.index.name)
            elif isinstance(part, Define):
                taken.add(part.name.name)
        self.names = Names(taken)

    def stmt(self, stmt: Stmt) -> Stmt:
        """The first declaration of a workspace makes it: no name is used before."""
        if isinstance(stmt, Sequential):
            return evolve(stmt, statements=tuple(self.spliced(stmt.statements)))
        if not isinstance(stmt, Declare) or stmt.tensor not in self.left:
            return stmt
        name, like = stmt.tensor, self.left.pop(stmt.tensor)
        made = evolve(stmt, init=fill(self.formats[name].fill_value))
        own = self.found.tensors[name]
        indices = tuple(Index(self.names.fresh(f"{name}_i")) for _ in range(own.ndim))
        found = self.value(like, indices)
        if found is None:
            if repr(own.fill_value) == repr(self.formats[name].fill_value):
                return made
            found = fill(own.fill_value), own.dtype
        element, known = found
        if concrete(known).kind == "c" and concrete(own.dtype).kind in "biuf":
            raise complex_value(f"the value that fills {name}", concrete(own.dtype), like.span)
        if not same(known, own.dtype):
            element = Cast(element, concrete(own.dtype))
        body: Stmt = Update(Access(name, indices, like.span), None, element, span=like.span)
        of = None if like.copy_of is None else self.found.tensors[like.copy_of].order
        for axis in reversed(of or range(own.ndim)):
            body = Loop(indices[axis], None, body, span=like.span)
        self.loops.append(Sequential((made, body)))
        return self.loops[-1]

    def spliced(self, statements: Iterable[Stmt]) -> Iterator[Stmt]:
        """The statements of a block: a workspace is declared in the block of its uses."""
        for stmt in statements:
            if any(stmt is made for made in self.loops):
                yield from stmt.bodies
            else:
                yield stmt

    def value(self, like: DenseLike, indices: tuple[Index, ...]) -> tuple[Expr, Type] | None:
        """What an element is set to, and its type; None if that is a constant."""
        if like.copy_of is not None:
            return Access(like.copy_of, indices, like.span), self.found.tensors[like.copy_of].dtype
        if like.filled_with is None:
            return None
        return Access(like.filled_with, (), like.span), self.found.variables[like.filled_with]


def _value(like: DenseLike, dtype: np.dtype[Any]) -> Any:
    """The constant that fills a workspace."""
    return format_with(like.fill, dtype, 0, like.span).fill_value


__all__ = ["Known", "made_like"]
