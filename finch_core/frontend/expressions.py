"""Parsing of expressions: from Python's syntax tree to scalar expressions of the program."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from types import ModuleType
from typing import Any

import numpy as np

from finch_core.frontend.context import NUMBERS, ParseContext
from finch_core.frontend.names import SHOWN, Scope
from finch_core.frontend.nodes import walk
from finch_core.frontend.refusals import EXPRESSIONS, OPERATIONS, OUTSIDE, TEXT
from finch_core.frontend.tuple_targets import parts_of
from finch_core.frontend.variables import Variable
from finch_core.ir import primitives as prim
from finch_core.ir.dtypes import type_of
from finch_core.ir.expressions import Access, Call, Dimension, Expr, Literal, Modified, Name
from finch_core.ir.missing import Missing, missing
from finch_core.ir.operators import Operator
from finch_core.records import frozen

BINARY: dict[type[ast.operator], Operator] = {
    ast.Add: prim.add, ast.Sub: prim.sub, ast.Mult: prim.mul, ast.Div: prim.truediv,
    ast.FloorDiv: prim.floordiv, ast.Mod: prim.mod, ast.Pow: prim.power, ast.BitAnd: prim.bitand,
    ast.BitOr: prim.bitor, ast.BitXor: prim.bitxor, ast.LShift: prim.lshift,
    ast.RShift: prim.rshift,
}  # fmt: skip
COMPARE: dict[type[ast.cmpop], Operator] = {
    ast.Eq: prim.eq, ast.NotEq: prim.ne, ast.Lt: prim.lt, ast.LtE: prim.le, ast.Gt: prim.gt,
    ast.GtE: prim.ge,
}  # fmt: skip


@frozen
class ExpressionParser:
    """Parses the expressions of one function; ``context`` collects free names and captured
    functions."""

    context: ParseContext

    def parse(self, node: ast.expr, scope: Scope) -> Expr:
        """The expression of ``node``; raises ``KernelSyntaxError``."""
        computed = self.context.computed.get(id(node))
        if computed is not None:
            return computed
        handler = _HANDLERS.get(type(node))
        if handler is None:
            message, hint = EXPRESSIONS.get(
                type(node), (f"{type(node).__name__!r} is not part of the language", "")
            )
            self.context.refuse(node, message, hint)
        result: Expr = handler(self, node, scope)
        return result

    # -- leaves -----------------------------------------------------------------------------

    def constant(self, node: ast.Constant, scope: Scope) -> Expr:
        if isinstance(node.value, int) and not -(2**63) <= node.value < 2**64:
            self.context.refuse(
                node,
                "an integer of more than 64 bits is not a value",
                f"write a float, {float(node.value)!r}",
            )
        if isinstance(node.value, NUMBERS):
            return literal(node.value)
        kind = {str: "a string", bytes: "a string", type(None): "None", type(...): "'...'"}
        shown = kind.get(type(node.value), repr(node.value))
        self.context.refuse(
            node, f"{shown} is not a value of the language",
            TEXT if shown == "a string" else "write numbers, tuples of numbers, or 'missing'",
        )  # fmt: skip

    def name(self, node: ast.Name, scope: Scope) -> Expr:
        variable = self.context.variable(node)
        if variable is not None:
            return self.variable(variable, node)
        binding = self.context.find(node, scope, node.id)
        if binding is None:
            return self.free_name(node)
        if binding.value is not None:
            return binding.value
        if binding.kind == "local" or node.id in self.context.subscripted:
            self.bare_tensor(node)
        self.context.numbers.add(node.id)
        return Name(node.id, span=self.context.span(node))

    def variable(self, variable: Variable, node: ast.Name) -> Expr:
        """The present value of a name that the kernel assigns. A name for the size of a tensor
        stands for that, so that ranges and indices are compared with it."""
        span = self.context.span(node)
        known = self.context.known.get(variable)
        if isinstance(known, Dimension):
            return known
        if variable.is_let:
            return Name(variable.name, span=span)
        return Access(variable.name, (), span)

    def bare_tensor(self, node: ast.Name) -> Any:
        self.context.refuse(
            node,
            f"{node.id!r} is a tensor, not a number",
            f"read an element, '{node.id}[i]', or '{node.id}[()]' of a scalar",
        )

    def free_name(self, node: ast.Name) -> Expr:
        value = self.context.resolve(node, node.id)
        if value is missing:
            self.context.seen.name(self.context.source.function, node.id)
            return Missing()
        if isinstance(value, NUMBERS):
            return self.free_number(node, value)
        if is_tensor(value):
            self.bare_tensor(node)
        if callable(value):
            self.context.refuse(
                node, f"{node.id!r} is a function, not a number", f"call it: '{node.id}(x)'"
            )
        self.context.refuse(node, f"{node.id!r} is a {type(value).__name__}, not a number")

    def free_number(self, node: ast.Name, value: Any) -> Expr:
        """A free name that is a number: a run-time value, looked up at each call."""
        self.context.free[node.id] = None
        return Name(node.id, span=self.context.span(node))

    def attribute(self, node: ast.Attribute, scope: Scope) -> Expr:
        if node.attr == "shape" and not self.in_module(node.value, scope):
            self.context.refuse(
                node, "a shape is not a number", f"take a dimension, '{ast.unparse(node)}[0]'"
            )
        if node.attr in ("real", "imag") and not self.in_module(node.value, scope):
            part = prim.real if node.attr == "real" else prim.imag
            return Call(part, (self.parse(node.value, scope),))
        value = self.context.object_of(node, scope)
        owner = self.context.object_of(node.value, scope)
        if not isinstance(value, NUMBERS):
            self.context.refuse(
                node,
                f"'{ast.unparse(node)}' is a {type(value).__name__}, not a number",
                "call it, if it is a function" if callable(value) else "",
            )
        if owner.__name__.partition(".")[0] not in ("math", "cmath", "numpy"):
            self.context.refuse(
                node,
                f"'{ast.unparse(node)}' is a number of another module",
                f"bind it to a name outside the kernel: '{node.attr} = {ast.unparse(node)}'",
            )
        return literal(value)

    def in_module(self, node: ast.expr, scope: Scope) -> bool:
        if not isinstance(node, ast.Name) or scope.find(node.id) is not None:
            return False
        return isinstance(self.context.resolve(node, node.id), ModuleType)

    # -- operations -------------------------------------------------------------------------

    def binary(self, node: ast.BinOp, scope: Scope) -> Expr:
        op = self.binary_operator(node, node.op)
        return Call(op, (self.parse(node.left, scope), self.parse(node.right, scope)))

    def binary_operator(self, node: ast.AST, op: ast.operator) -> Operator:
        if type(op) not in BINARY:
            self.context.refuse(node, *OPERATIONS[type(op)])
        return BINARY[type(op)]

    def unary(self, node: ast.UnaryOp, scope: Scope) -> Expr:
        if isinstance(node.op, ast.Not):
            return Call(prim.not_, (self.condition(node.operand, scope),))
        operand = self.parse(node.operand, scope)
        if isinstance(node.op, ast.UAdd):
            return operand
        if isinstance(node.op, ast.USub):
            return negate(operand)
        return Call(prim.invert, (operand,))

    def boolean(self, node: ast.BoolOp, scope: Scope) -> Expr:
        """``a or b`` as a value: one of both."""
        op = prim.and_value if isinstance(node.op, ast.And) else prim.or_value
        *first, result = [self.parse(value, scope) for value in node.values]
        for value in reversed(first):
            result = Call(op, (value, result))
        return result

    def condition(self, node: ast.expr, scope: Scope) -> Expr:
        """An expression of which only the truth is used."""
        if not isinstance(node, ast.BoolOp):
            return self.parse(node, scope)
        op = prim.and_ if isinstance(node.op, ast.And) else prim.or_
        return fold_left(op, [self.condition(value, scope) for value in node.values])

    def compare(self, node: ast.Compare, scope: Scope) -> Expr:
        among = node.comparators[0]
        is_member = len(node.ops) == 1 and isinstance(node.ops[0], (ast.In, ast.NotIn))
        if is_member and isinstance(among, (ast.Tuple, ast.List, ast.Set)) and among.elts:
            return self.member(node, among.elts, scope)
        for op in node.ops:
            if type(op) not in COMPARE:
                self.context.refuse(node, *OPERATIONS[type(op)])
        terms = [self.parse(term, scope) for term in (node.left, *node.comparators)]
        links: list[Expr] = [
            Call(COMPARE[type(op)], (a, b))
            for op, a, b in zip(node.ops, terms, terms[1:], strict=False)
        ]
        return fold_left(prim.and_, links)

    def member(self, node: ast.Compare, among: list[ast.expr], scope: Scope) -> Expr:
        """``x in (a, b)``: ``x == a or x == b``."""
        value, others = self.parse(node.left, scope), [self.parse(e, scope) for e in among]
        if isinstance(node.ops[0], ast.In):
            return fold_left(prim.or_, [Call(prim.eq, (value, other)) for other in others])
        return fold_left(prim.and_, [Call(prim.ne, (value, other)) for other in others])

    def conditional(self, node: ast.IfExp, scope: Scope) -> Expr:
        values = (self.parse(part, scope) for part in (node.body, node.orelse))
        return Call(prim.ifelse, (self.condition(node.test, scope), *values))

    def tuple(self, node: ast.Tuple, scope: Scope) -> Expr:
        if not node.elts:
            self.context.refuse(node, "an empty tuple is not a value of the language")
        return Call(prim.make_tuple, tuple(self.parse(element, scope) for element in node.elts))

    def call(self, node: ast.Call, scope: Scope) -> Expr:
        from finch_core.frontend.calls import parse_call

        return parse_call(self, node, scope)

    # -- accesses ---------------------------------------------------------------------------

    def subscript(self, node: ast.Subscript, scope: Scope) -> Expr:
        if isinstance(node.value, ast.Attribute) and node.value.attr == "shape":
            return self.dimension(node, node.value.value, self.axis(node.slice), scope)
        if isinstance(node.value, ast.Name) and self.context.variable(node.value) is None:
            binding = self.context.find(node.value, scope, node.value.id)
            if binding is None or binding.value is None or binding.kind == "index":
                return self.access(node, scope)
        return self.field(node, scope)

    def access(self, node: ast.Subscript, scope: Scope) -> Access:
        """``A[i, j]``: of a parameter, a local or a free tensor."""
        name = self.tensor_name(node.value, scope)
        if isinstance(node.slice, ast.Constant) and node.slice.value is ...:
            self.context.refuse(
                node, f"'{name}[...]' declares a tensor and is not a value",
                f"read an element, '{name}[i]'",
            )  # fmt: skip
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        indices = tuple(self.index(part, scope) for part in parts)
        return Access(name, indices, self.context.span(node))

    def dimension(self, node: ast.expr, tensor: ast.expr, axis: int, scope: Scope) -> Expr:
        """``len(A)``, ``A.shape[axis]``."""
        name = self.tensor_name(tensor, scope)
        return Dimension(name, axis, span=self.context.span(node), parts=parts_of(node))

    def axis(self, node: ast.expr) -> int:
        sign = -1 if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) else 1
        number = node.operand if isinstance(node, ast.UnaryOp) and sign < 0 else node
        if not isinstance(number, ast.Constant) or type(number.value) is not int:
            self.context.refuse(
                node, "a dimension is selected by a number, as in 'A.shape[0]'",
            )  # fmt: skip
        return sign * number.value

    def tensor_name(self, node: ast.expr, scope: Scope) -> str:
        """The name of a tensor; refused if the name stands for something else."""
        if not isinstance(node, ast.Name):
            hint = "bind it to a name outside the kernel"
            if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
                name = node.value.id
                hint = f"'{name}.shape[0]', '{name}.shape[1]', ... are the sizes of {name}"
            self.context.refuse(node, "a tensor must be a plain name", hint)
        if self.context.variable(node) is not None:
            self.context.refuse(node, f"{node.id!r} is {SHOWN['variable']}, not a tensor")
        binding = self.context.find(node, scope, node.id)
        if binding is not None:
            if binding.kind in ("index", "variable"):
                self.context.refuse(node, f"{node.id!r} is {SHOWN[binding.kind]}, not a tensor")
            return node.id
        value = self.context.resolve(node, node.id)
        if not is_tensor(value):
            shown = f"a {type(value).__name__}"
            hint = "make it an array with 'np.array'" if isinstance(value, (list, tuple)) else ""
            hint = OUTSIDE if isinstance(value, Mapping) else hint
            self.context.refuse(node, f"{node.id!r} is {shown}, not a tensor", hint)
        self.context.free[node.id] = None
        return node.id

    def index(self, node: ast.expr, scope: Scope) -> Expr:
        """An index: ``~e``, a protocol, or an expression."""
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert):
            return Modified("permissive", self.index(node.operand, scope))
        if isinstance(node, ast.Call):
            from finch_core.frontend.calls import protocol_of

            protocol = protocol_of(self, node, scope)
            if protocol is not None:
                return Modified(protocol, self.index(node.args[0], scope))
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            self.context.refuse(node, "an index is an integer, not a string", OUTSIDE)
        expr = self.parse(node, scope)
        if isinstance(expr, Literal) and expr.value < 0:
            self.context.refuse(
                node,
                "a negative index does not count from the end",
                "indices start at 0; the last one is 'len(A) - 1', that of dimension k "
                "'A.shape[k] - 1'",
            )
        return expr

    def field(self, node: ast.Subscript, scope: Scope) -> Expr:
        """``t[0]``: an element of a tuple."""
        value = self.parse(node.value, scope)
        if not isinstance(node.slice, ast.Constant) or type(node.slice.value) is not int:
            self.one_bracket(node)
            message = "an element of a tuple is selected by a number, as in 't[0]'"
            hint = "only a tensor takes indices: bind it to a name outside the kernel"
            if isinstance(node.value, ast.Name):
                self.refuse_row(node, node.value.id)
                message = f"{node.value.id!r} is no tensor, and {message}"
                hint = "write all indices of an element of a tensor, 'A[i, j]'"
            self.context.refuse(node, message, hint)
        return take_field(value, node.slice.value)

    def refuse_row(self, node: ast.Subscript, name: str) -> None:
        """Refuse ``row[j]`` after ``row = A[i]``, ``t[i]`` after ``t = x``."""
        for part in walk(self.context.source.node):
            if not isinstance(part, ast.Assign):
                continue
            target, value = part.targets[0], part.value
            if not isinstance(target, ast.Name) or target.id != name:
                continue
            if isinstance(value, ast.Name) and self.context.variable(value) is None:
                self.context.refuse(
                    node, f"{name!r} is no tensor: '{ast.unparse(part)}' copies a number",
                    f"write '{value.id}' itself; '{name} = {value.id}.copy()' is a dense copy",
                )  # fmt: skip
            if isinstance(value, ast.Subscript):
                row = ast.unparse(value)
                whole = ast.unparse(node.slice).strip("()")
                self.context.refuse(
                    node, f"{name!r} is the element '{row}', and not a row",
                    f"write all indices at once, '{row[:-1]}, {whole}]'",
                )  # fmt: skip

    def one_bracket(self, node: ast.Subscript) -> None:
        """Refuse ``A[i][j]`` of a tensor."""
        found: ast.expr = node
        parts: list[ast.expr] = []
        while isinstance(found, ast.Subscript):
            inner = found.slice
            parts[:0] = inner.elts if isinstance(inner, ast.Tuple) else [inner]
            found = found.value
        if isinstance(found, ast.Name) and self.context.variable(found) is None:
            indices = ", ".join(map(ast.unparse, parts))
            self.context.refuse(
                node, "the indices of a tensor stand in one pair of brackets",
                f"write '{found.id}[{indices}]'",
            )  # fmt: skip


_HANDLERS: dict[type[ast.AST], Any] = {
    ast.Constant: ExpressionParser.constant,
    ast.Name: ExpressionParser.name,
    ast.Attribute: ExpressionParser.attribute,
    ast.BinOp: ExpressionParser.binary,
    ast.UnaryOp: ExpressionParser.unary,
    ast.BoolOp: ExpressionParser.boolean,
    ast.Compare: ExpressionParser.compare,
    ast.IfExp: ExpressionParser.conditional,
    ast.Tuple: ExpressionParser.tuple,
    ast.Call: ExpressionParser.call,
    ast.Subscript: ExpressionParser.subscript,
}


def literal(value: Any) -> Literal:
    """A constant; Python numbers stay weak, so they take the other operand's width."""
    kind = type_of(value)
    return Literal(np.bool_(value) if isinstance(value, bool) else value, kind)


def negate(operand: Expr) -> Expr:
    """``-operand``, folded for a constant."""
    if isinstance(operand, Literal) and not isinstance(operand.value, (np.generic, tuple)):
        return Literal(-operand.value, operand.type)
    return Call(prim.neg, (operand,))


def fold_left(op: Operator, terms: list[Expr]) -> Expr:
    """``((a op b) op c) ...``."""
    result = terms[0]
    for term in terms[1:]:
        result = Call(op, (result, term))
    return result


def take_field(value: Expr, index: int) -> Expr:
    """Element ``index`` of a tuple."""
    if isinstance(value, Call) and value.op is prim.make_tuple and index < len(value.args):
        return value.args[index]
    return Call(prim.field(index), (value,))


def is_tensor(value: Any) -> bool:
    """Whether a Python object can be a tensor of a program: it has a shape and a dtype."""
    return (
        hasattr(value, "shape")
        and hasattr(value, "dtype")
        and not isinstance(value, (*NUMBERS, type))
    )
