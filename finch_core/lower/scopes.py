"""Scopes: loop indices and ``let`` names are made unique, and names are bound to their meaning.

    for i in _: s[()] += x[i] * c          for i in _: s[()] += x[i] * c
    for i in _: s[()] += y[i]       ->     for i_2 in _: s[()] += y[i_2]

Tensors, scalars and the types of ``let`` names are bound here, so that a type error is reported
at its place in the program.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from finch_core.errors import (
    DimensionMismatch,
    FinchError,
    FormatError,
    KernelSyntaxError,
    PluginError,
    Span,
    count,
)
from finch_core.frontend.refusals import element_hint
from finch_core.interface.dense_format import dense_format
from finch_core.interface.tensorlike import BoundTensor, TensorLike
from finch_core.ir import primitives as prim
from finch_core.ir.arithmetic import number_of
from finch_core.ir.assembly_rewrite import with_children
from finch_core.ir.builder import Names
from finch_core.ir.dtypes import INTP, as_number, concrete, is_tuple
from finch_core.ir.expressions import (
    Access,
    Call,
    Cast,
    Dimension,
    Expr,
    Index,
    Literal,
    Modified,
    Name,
    Var,
    cast,
    lift,
)
from finch_core.ir.missing import Missing
from finch_core.ir.operators import REMEDY, remedy, spelled
from finch_core.ir.program import (
    Declare,
    Define,
    Extent,
    Freeze,
    Loop,
    Sieve,
    Stmt,
    Swap,
    Thaw,
    Update,
    While,
)
from finch_core.ir.program_text import expression_text
from finch_core.ir.rewrite import rewrite_expr
from finch_core.looplets.far_ranges import may_be_far
from finch_core.lower.held_numbers import (
    fits,
    is_beyond,
    is_fill,
    require_computed,
    require_held,
    require_kept,
    require_word,
    shortened,
    store_hint,
)
from finch_core.lower.index_casts import dimension_casts
from finch_core.lower.local_shapes import unknown_shape
from finch_core.lower.pass_state import Check, Unit
from finch_core.lower.sizes import dimension, sized
from finch_core.lower.strides import ascending, held
from finch_core.lower.tuples import ELEMENT, require_condition, require_numbers
from finch_core.records import evolve
from finch_core.symbolic.affine import total
from finch_core.symbolic.missing_values import with_types
from finch_core.symbolic.outcomes import outcomes


def scopes(stmt: Stmt, unit: Unit) -> Stmt:
    """Bind every name in ``stmt``.

    Raises ``KernelSyntaxError`` for unbound names and tensors used as numbers or the reverse,
    ``DimensionMismatch`` for a wrong number of indices, ``FormatError`` for types that do not
    fit.
    """
    return _Scopes(unit).stmt(stmt, {})


class _Scopes:
    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self.names = Names((*unit.arguments, *unit.scalars))

    def stmt(self, stmt: Stmt, scope: dict[str, Expr]) -> Stmt:
        if isinstance(stmt, Loop):
            index = Index(self.names.fresh(stmt.index.name))
            if index != stmt.index:
                self.unit.written[index] = stmt.index.name
            step: Expr | None = None
            extent: Any = None if stmt.extent is None else self.expr(stmt.extent, scope, stmt.span)
            if extent is not None:
                extent = sized(extent.rebuild(tuple(map(dimension_casts, extent.children))))
                self.range(stmt.index.name, extent, stmt.span)
                ends = (held(end, self.type_of(end, stmt.span)) for end in extent.children)
                extent = extent.rebuild(tuple(ends))
                scalars = set(self.unit.scalars.values())
                extent, step = ascending(extent, scalars)
                if may_be_far(extent, scalars, self.unit.far):
                    self.unit.far.add(index)
            body = self.stmt(stmt.body, {**scope, stmt.index.name: index})
            return evolve(stmt, index=index, extent=extent, body=body, step=step)
        if isinstance(stmt, Define):
            value = self.expr(stmt.value, scope, stmt.span)
            require_word(
                value,
                f"{stmt.name.name} is",
                stmt.span,
                "write a float, or np.uint64(n) up to 2**64 - 1",
            )
            name = Name(self.names.fresh(stmt.name.name), self.type_of(value, stmt.span))
            body = self.stmt(stmt.body, {**scope, stmt.name.name: name})
            return Define(name, value, body, span=stmt.span)
        if isinstance(stmt, Update):
            return self.update(stmt, scope)
        if isinstance(stmt, Declare):
            return self.declare(stmt, scope)
        if isinstance(stmt, (Freeze, Thaw)):
            return evolve(stmt, tensor=self.plain(stmt.tensor, stmt.span))
        if isinstance(stmt, Swap):
            return self.swap(stmt)
        exprs = tuple(
            sized(dimension_casts(self.expr(expr, scope, stmt.span))) for expr in stmt.exprs
        )
        types = [self.type_of(expr, stmt.span) for expr in exprs]
        if isinstance(stmt, (Sieve, While)):
            require_condition(types[0], stmt.span)
        return stmt.rebuild(exprs, tuple(self.stmt(body, scope) for body in stmt.bodies))

    def swap(self, stmt: Swap) -> Stmt:
        """Refuse to swap what is not two whole tensors of one format."""
        first, second = (self.plain(name, stmt.span) for name in (stmt.first, stmt.second))
        for name, tensor in ((stmt.first, first), (stmt.second, second)):
            if self.unit.arguments[name] != tensor.fiber:
                raise FormatError(
                    f"{name} is a wrapper or a part of a tensor, and cannot be swapped",
                    span=stmt.span,
                    hint="swap the tensors themselves, and wrap them afterwards",
                )
        if first.format != second.format:
            raise FormatError(
                f"{first} and {second} have different formats, and cannot be swapped: "
                f"{first.format} and {second.format}",
                span=stmt.span,
                hint="make both of one format",
            )
        return Swap(first, second, span=stmt.span)

    def range(self, name: str, extent: Extent, span: Span | None) -> None:
        """Refuse a range whose ends and step are not integers; note to check that a uint64 among
        the arguments is an int64."""
        ways = ("starts at", "ends at", "has the step of")
        for end, how in zip(extent.children, ways, strict=False):
            type_ = concrete(self.type_of(end, span))
            require_word(end, f"the range of {name} {how}", span)
            if type_.kind not in "biu":
                whole = _floored(end)
                raise FormatError(
                    f"the range of {name} {how} a value of {spelled(type_)}, not an integer",
                    span=span,
                    hint="give an integer, or cast it, as in range(int(n))"
                    if whole is None
                    else f"write {whole}, or cast it, int({_code(end)})",
                )
            if type_ == np.uint64 and isinstance(end, Var):
                message = f"the range of {name} {how} {end.name}, which is 2**63 or more"
                hint = "positions are numbers of int64"
                bits = Cast(end, INTP)
                check = Check(Literal(0, int), bits, message, span, relation="<=", hint=hint)
                self.unit.checks.append(check)

    def update(self, stmt: Update, scope: dict[str, Expr]) -> Stmt:
        target: Any = self.expr(stmt.target, scope, stmt.span)
        if target.tensor.root is None:
            raise _unwritable(stmt.target.tensor, target.span)
        value = self.expr(stmt.value, scope, stmt.span)
        if isinstance(value, Missing):
            raise FormatError(
                f"missing is no value that {stmt.target.tensor} can store",
                span=stmt.span,
                hint="write a number, or nothing, under a condition",
            )
        mine, other = concrete(target.dtype), self.type_of(value, stmt.span)
        if stmt.op in (prim.and_value, prim.or_value):
            return self.update(_chosen(stmt, {mine.kind, concrete(other).kind} == {"b"}), scope)
        try:
            result = other if stmt.op is None else stmt.op.result(mine, other)
        except TypeError:
            raise FormatError(
                f"{stmt.op and stmt.op.spelling} is not defined on {spelled(mine)} and "
                f"{spelled(concrete(other))}",
                span=stmt.span,
                hint=remedy((mine, other)),
            ) from None
        if stmt.op is not None and isinstance(value, Literal):
            require_held(stmt.op, (target, value), stmt.span)
        if not fits(mine, result, value if stmt.op is None else None):
            name = stmt.target.tensor
            given = f"a value of {spelled(concrete(result))}"
            beyond = is_beyond(mine, value)
            if beyond:
                assert isinstance(value, Literal)
                given = f"{shortened(value.value)}, which does not fit"
            raise FormatError(
                f"{name} holds {spelled(mine)}, and cannot take {given}",
                span=stmt.span,
                hint=store_hint(name, mine, concrete(result), beyond),
            )
        return Update(target, stmt.op, value, span=stmt.span)

    def declare(self, stmt: Declare, scope: dict[str, Expr]) -> Stmt:
        tensor = self.plain(stmt.tensor, stmt.span)
        if tensor.local:
            tensor.shape = self.shape(stmt, scope)
        if not self.unit.arguments[stmt.tensor].whole:
            raise FormatError(
                f"{stmt.tensor} is a part of a tensor, and cannot be declared",
                span=stmt.span,
                hint="declare the whole tensor, or write zeros in a loop",
            )
        if tensor.format.is_variable:
            return Declare(tensor, self.first_value(stmt, tensor), span=stmt.span)
        init = self.expr(stmt.init, scope, stmt.span)
        fill, dtype = tensor.format.fill_value, tensor.format.dtype
        known = outcomes(init)  # 1 + 2j is a sum
        given = known[0] if len(known) == 1 else None
        if not isinstance(given, Literal) or not is_fill(given, fill, dtype):
            if is_array(tensor):
                return self.stmt(_filled(stmt, tensor.format.ndim), scope)
            leaf = tensor.format.levels()[-1]
            if not isinstance(given, Literal):
                shown = "a run-time value"
                other = "a number: a name stands for a value that is known at run time alone"
            elif leaf.holds_fill:
                shown, other = _shown(given.value), "or make the tensor with that fill value"
            else:
                shown = _shown(given.value)
                other = f"or use another leaf, as a {leaf.name} has no other fill"
            raise FormatError(
                f"{stmt.tensor} is declared to {shown}, but its fill value is {as_number(fill)}",
                span=stmt.span,
                hint=f"write {stmt.tensor}[...] = {_spelled(fill)}, {other}",
            )
        return Declare(tensor, Literal(fill, dtype, structural=True), span=stmt.span)

    @staticmethod
    def first_value(stmt: Declare, tensor: BoundTensor) -> Expr:
        """The constant to which a variable is declared."""
        init = Literal(0, int) if isinstance(stmt.init, Missing) else stmt.init
        dtype = tensor.format.dtype
        return cast(init, dtype) if not is_tuple(dtype) else outcomes(init)[0]

    def shape(self, stmt: Declare, scope: dict[str, Expr]) -> tuple[Expr, ...] | None:
        """The shape with which a local is made, or None. Raises ``FormatError`` if it is not of
        integers, ``KernelSyntaxError`` if it depends on tensors or loops."""
        found_locals = (local for local in self.unit.program.locals if local.name == stmt.tensor)
        local = next(found_locals, None)
        if local is None or local.shape is None:
            return None
        found = [sized(self.expr(lift(size), scope, stmt.span)) for size in local.shape]
        for size in found:
            if concrete(self.type_of(size, stmt.span)).kind not in "iu":
                raise FormatError(
                    f"a dimension of {stmt.tensor} is not an integer", span=stmt.span, hint=REMEDY
                )
            require_word(size, f"a dimension of {stmt.tensor} is", stmt.span)
            if any(isinstance(node, (Index, Access, Dimension, Name)) for node in size.walk()):
                raise unknown_shape(stmt.tensor, stmt.span)
        return tuple(total([(1, size)]) for size in found)

    def plain(self, name: str, span: Span | None) -> Any:
        """The tensor of this name; refused if it is a wrapper."""
        argument = self.unit.arguments.get(name)
        if argument is None:
            raise KernelSyntaxError(f"{name} is a number, not a tensor", span=span)
        root = argument.root
        if root is None:
            raise _unwritable(name, span)
        return root

    def expr(self, expr: Expr, scope: dict[str, Expr], span: Span | None) -> Expr:
        def rule(node: Expr) -> Expr:
            if isinstance(node, (Index, Name)):
                return self.name(node, scope, span)
            if isinstance(node, Access) and isinstance(node.tensor, str):
                return self.access(node)
            if isinstance(node, Call) and node.op in (prim.and_value, prim.or_value):
                for arg in node.args:
                    self.type_of(arg, span)
                node = prim.chosen(node.op, *node.args)
            if isinstance(node, Call):
                node = with_types(node)
            if isinstance(node, Cast):
                require_kept(node, span)
            if isinstance(node, (Call, Cast)):
                return with_children(node, tuple(map(number_of, node.children)))
            return dimension(self.unit, node, span) if isinstance(node, Dimension) else node

        return number_of(rewrite_expr(expr, rule))

    def name(self, node: Index | Name, scope: dict[str, Expr], span: Span | None) -> Expr:
        if node.name in scope:
            return scope[node.name]
        if node.name in self.unit.scalars:
            return self.unit.scalars[node.name]
        where = getattr(node, "span", None) or span
        if node.name in self.unit.arguments:
            raise KernelSyntaxError(
                f"{node.name} is a tensor, and is used here without an index",
                span=where,
                hint=element_hint(node.name, self.unit.arguments[node.name].ndim),
            )
        raise KernelSyntaxError(f"the name {node.name} is not bound", span=where)

    def access(self, node: Access) -> Expr:
        tensor = self.unit.arguments[node.tensor]
        if tensor.ndim != len(node.indices):
            raise DimensionMismatch(
                f"{node.tensor} has {count(tensor.ndim, 'dimension')} and is accessed with "
                f"{count(len(node.indices), 'index', 'indices')}",
                span=node.span,
                hint=_indices_hint(node.tensor, tensor),
            )
        for k, index in enumerate(node.indices):
            self.index(index, node, k)
        indices = tuple(sized(number_of(index)) for index in node.indices)
        return evolve(node, tensor=tensor, indices=indices)

    def index(self, index: Expr, node: Access, k: int) -> None:
        inner = index.index if isinstance(index, Modified) else index
        dtype = concrete(self.type_of(inner, node.span))
        require_word(inner, f"index {k} of {node.tensor} is", node.span)
        if dtype.kind in "iu":
            return
        code, whole = _code(inner), _floored(inner)
        hint = f"cast it, int({code})"
        if whole is not None:
            hint = f"write {whole}, or {hint}"
        if is_tuple(dtype):
            hint = ELEMENT
        if dtype.kind == "b":
            hint = f"a condition selects where it is tested, as in if {code}:, or {hint}"
        raise FormatError(
            f"index {k} of {node.tensor} is {_article(dtype)}, not an integer",
            span=node.span,
            hint=hint,
        )

    def type_of(self, expr: Expr, span: Span | None) -> Any:
        """The type of an expression; refused if an operator is not defined on its operands."""
        for node in expr.walk():
            require_numbers(node, span)
            if isinstance(node, Call):
                try:
                    _ = node.dtype
                except PluginError as error:
                    error.span = error.span or span
                    raise
                except TypeError as error:
                    raise self.undefined(node, span, error) from None
                require_computed(node, span)
                if number_of(node) is node:
                    args = tuple([number_of(arg) for arg in node.args])
                    require_held(node.op, args, span)
                why = node.op.refuses(*node.args) if node.op.refuses is not None else ""
                if why:
                    raise FormatError(why, span=span, hint=REMEDY)
        try:
            return expr.dtype
        except NotImplementedError:
            return None

    @staticmethod
    def undefined(node: Call, span: Span | None, error: Exception) -> FinchError:
        """The refusal of the innermost operator that is not defined on its operands."""
        calls = [part for part in node.walk() if isinstance(part, Call) and not _has_type(part)]
        node = next((c for c in calls if all(map(_has_type, c.args))), node)
        dtypes = [concrete(arg.dtype) for arg in node.args]
        if node.op.name.startswith("field"):
            return FormatError(str(error), span=span, hint="tensors and tuples have elements")
        what = f"{node.op.spelling} is not defined on {' and '.join(map(spelled, dtypes))}"
        joined = node.op in (prim.bitand, prim.bitor)
        return FormatError(what, span=span, hint=_JOINED if joined else remedy(dtypes))


def is_array(tensor: BoundTensor) -> bool:
    """Whether a tensor is an array of NumPy's, or a workspace of this kind with a size of its
    own: any value may be written to all of its elements."""
    if tensor.fixed or not tensor.local or tensor.shape is None:
        return tensor.fixed
    plain = dense_format(tensor.format.ndim, tensor.format.fill_value, tensor.format.dtype)
    return tensor.format == plain


def _filled(stmt: Declare, ndim: int) -> Stmt:
    """``A[...] = e`` as the loops that store the value, which is computed once."""
    name = Name("value", span=stmt.span)
    init = number_of(stmt.init)
    value = init if isinstance(init, Literal) else name
    indices = tuple(Index(f"{stmt.tensor}_{k}") for k in range(ndim))
    body: Stmt = Update(Access(stmt.tensor, indices, stmt.span), None, value, span=stmt.span)
    for index in reversed(indices):
        body = Loop(index, None, body, span=stmt.span)
    return body if value is init else Define(name, init, body, span=stmt.span)


def _code(expr: Expr) -> str:
    """An expression as it is written in a kernel, where variables have no index."""

    def rule(node: Expr) -> Expr:
        root = node.tensor.root if isinstance(node, Access) else None
        return Name(root.name) if root is not None and root.format.is_variable else node

    return expression_text(rewrite_expr(expr, rule))


def _floored(expr: Expr) -> str | None:
    """The quotient in whole numbers that is written in place of one in floats; None of others."""
    if isinstance(expr, Call) and expr.op is prim.truediv:
        return _code(evolve(expr, op=prim.floordiv))
    return None


_JOINED = "join conditions by 'and' and 'or': '&' and '|' bind tighter than comparisons do"


def _has_type(expr: Expr) -> bool:
    try:
        _ = expr.dtype
    except TypeError:
        return False
    except NotImplementedError:
        return True
    return True


def _shown(value: Any) -> Any:
    return as_number(value) if isinstance(value, np.generic) else value


def _article(dtype: Any) -> str:
    return "a bool" if dtype.kind == "b" else f"a value of {spelled(dtype)}"


def _spelled(value: Any) -> str:
    """A number in the spelling of a program."""
    shown = str(value)
    return shown.replace("inf", "math.inf").replace("nan", "math.nan")


def _chosen(stmt: Update, bools: bool) -> Update:
    """``A[i] = A[i] or e`` as an update with an operator, or as an assignment of one of both."""
    assert stmt.op is not None
    if bools:
        return evolve(stmt, op=prim.and_ if stmt.op is prim.and_value else prim.or_)
    return evolve(stmt, op=None, value=Call(stmt.op, (stmt.target, stmt.value)))


def _unwritable(name: str, span: Span | None) -> FinchError:
    return FormatError(
        f"{name} is a mask, which cannot be written: it has no memory",
        span=span,
        hint="write a tensor of bools, such as Tensor(Dense(Dense(Element(False))))",
    )


def _indices_hint(name: str, tensor: TensorLike) -> str:
    indices = ", ".join("ijklmnop"[: tensor.ndim])
    return f"write {name}[{indices or '()'}]"
