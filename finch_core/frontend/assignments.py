"""Parsing of assignments: of elements, of plain names, of tensors that a kernel makes."""

from __future__ import annotations

import ast
from types import FunctionType
from typing import Any, NoReturn

import numpy as np

from finch_core.errors import count
from finch_core.frontend.arrays import fill, make_array
from finch_core.frontend.calls import operator_of
from finch_core.frontend.context import ParseContext
from finch_core.frontend.exchanges import exchanged_names
from finch_core.frontend.expressions import ExpressionParser, is_tensor
from finch_core.frontend.inlining import reduction, substitute
from finch_core.frontend.names import ARRAYS, SHOWN, Binding, Scope, is_copy, is_maker, makes_tensor
from finch_core.frontend.nodes import walk
from finch_core.frontend.variables import Variable
from finch_core.ir import primitives as prim
from finch_core.ir.expressions import Access, Call, Cast, Dimension, Expr, Literal, Name
from finch_core.ir.missing import Missing
from finch_core.ir.operators import Operator
from finch_core.ir.program import Declare, Local, Stmt, Swap, Update
from finch_core.records import evolve, field, frozen


@frozen
class AssignmentParser:
    """Parses the assignments of one kernel, and collects its locals."""

    context: ParseContext
    expressions: ExpressionParser
    locals: dict[str, Local] = field(factory=dict)

    # -- plain names --------------------------------------------------------------------------

    def is_let(self, node: ast.stmt, scope: Scope) -> bool:
        """Whether ``node`` is ``x = e`` with a scalar ``e``, and ``x`` keeps this value."""
        if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Name):
            return False
        variable = self.context.variables.by_node.get(id(node.targets[0]))
        if variable is not None:
            return variable.is_let
        return self.maker(node.value, scope) is None

    def assigned_parameters(self) -> list[Stmt]:
        """What makes variables of the parameters that the kernel assigns."""
        done: list[Stmt] = []
        for name, variable in self.context.variables.parameters.items():
            first = next(
                (n for n in walk(self.context.source.node) if self.is_of(n, variable)), None
            )
            span = None if first is None else self.context.span(first)
            given = Name(name, span=span)
            done += [self.begin(variable), Update(Access(variable.name, ()), None, given)]
            self.context.numbers.add(name)
        return done

    def is_of(self, node: ast.AST, variable: Variable) -> bool:
        """Whether a node of the source is an assignment's target, the name of ``variable``."""
        is_target = isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        return is_target and self.context.variables.by_node.get(id(node)) is variable

    def beginnings(self, node: ast.stmt) -> list[Stmt]:
        """Declarations of the variables that begin before ``node``; one that ``node`` itself
        assigns is declared there."""
        begun = self.context.variables.declared.get(id(node), ())
        return [self.begin(variable) for variable in begun if not self.begins(node, variable)]

    def begins(self, node: ast.stmt, variable: Variable) -> bool:
        """Whether ``node`` is the assignment with which ``variable`` begins."""
        variables = self.context.variables
        return (
            isinstance(node, ast.Assign)
            and variables.by_node.get(id(node.targets[0])) is variable
            and variable in variables.declared.get(id(node), ())
        )

    def begin(self, variable: Variable, init: Expr | None = None) -> Declare:
        """The declaration of a variable, without a value if ``init`` is None."""
        self.locals[variable.name] = Local(variable.name, None)
        return Declare(variable.name, Missing() if init is None else init)

    def set_variable(
        self, node: ast.Assign, target: ast.Name, variable: Variable, scope: Scope
    ) -> list[Stmt]:
        """``t = e``, where ``t`` has other values, too."""
        self.refuse_second_name(node, target, scope)
        span = self.context.span(node)
        access = Access(variable.name, (), self.context.span(target))
        op = self.user_reduction(node.value, access, scope)
        value = None if op is not None else folded(self.expressions.parse(node.value, scope))
        binding = Binding("variable", access.span, access, may_change=True)
        self.context.bind(target, scope, target.id, binding)
        if op is not None:
            assert isinstance(node.value, ast.Call)
            second = self.expressions.parse(node.value.args[1], scope)
            return [Update(access, op, second, span=span)]
        assert value is not None
        if not self.begins(node, variable):
            return self.update(node, access, value)
        if isinstance(value, Literal):
            return [evolve(self.begin(variable, value), span=span)]
        return [self.begin(variable), Update(access, None, value, span=span)]

    def maker(self, node: ast.expr, scope: Scope) -> Any:
        """The class or function if ``node`` is a call that makes a local, else ``None``."""
        if not isinstance(node, ast.Call):
            return None
        if is_copy(self.context.source.function, node):
            return np.copy
        if not scope_free(node.func, scope):
            return None
        function = self.context.object_of(node.func, scope)
        return function if is_maker(function) else None

    def let(self, node: ast.Assign, scope: Scope) -> tuple[Name, Expr]:
        target = self.only_target(node)
        assert isinstance(target, ast.Name)
        self.refuse_second_name(node, target, scope)
        value = self.expressions.parse(node.value, scope)
        span = self.context.span(target)
        known_as = self.context.variables.by_node.get(id(target))
        name = Name(target.id if known_as is None else known_as.name, span=span)
        binding = Binding("variable", span, name, may_change=True)
        self.context.bind(target, scope, target.id, binding)
        variable, known = self.context.variable(target), self.known_value(node.value, scope)
        if variable is not None and known is not None:
            self.context.known[variable] = known
        return name, value

    def refuse_second_name(self, node: ast.Assign, target: ast.Name, scope: Scope) -> None:
        """Refuse ``t = a`` of a tensor."""
        value = node.value
        if not isinstance(value, ast.Name) or self.context.variable(value) is not None:
            return
        binding = scope.find(value.id)
        if binding is None or binding.value is not None:
            return
        if binding.kind == "local" or value.id in self.context.subscripted:
            self.context.refuse(
                node,
                f"{value.id!r} is a tensor, and {target.id!r} would be a second name of it",
                f"exchange tensors in one statement, 'a, b = b, a'; '{target.id} = "
                f"{value.id}.copy()' makes a copy; '{value.id}[i]' is an element",
            )

    def known_value(self, node: ast.expr, scope: Scope) -> Expr | None:
        """The value of an expression of numbers, parameters that are numbers, sizes of tensors that
        are not declared, and names of such values; None for any other."""
        values: dict[str, Expr] = {}
        for part in ast.walk(node):
            variable = self.context.variables.by_node.get(id(part))
            if variable is not None:
                if variable not in self.context.known:
                    return None
                values[variable.name] = self.context.known[variable]
        found = substitute(self.expressions.parse(node, scope), values)
        parts = list(found.walk())
        if len(parts) > _LARGEST or not all(map(self.is_known, parts)):
            return None
        self.context.steady |= {part.tensor for part in parts if isinstance(part, Dimension)}
        return found

    def is_known(self, expr: Expr) -> bool:
        if isinstance(expr, Dimension):
            return expr.tensor not in self.context.declared
        return isinstance(expr, (Call, Cast, Literal, Name))

    # -- elements -----------------------------------------------------------------------------

    def only_target(self, node: ast.Assign) -> ast.expr:
        if len(node.targets) > 1:
            is_new = makes_tensor(self.context.source.function, node.value)
            self.context.refuse(
                node.targets[1],
                f"several targets take one number, not a {'new tensor' if is_new else 'tuple'}",
                "write one line for each target",
            )
        return node.targets[0]

    def assign(self, node: ast.Assign, scope: Scope) -> list[Stmt]:
        target = self.only_target(node)
        if isinstance(target, ast.Name):
            variable = self.context.variable(target)
            if variable is not None:
                return self.set_variable(node, target, variable, scope)
            return self.local(node, target, scope)
        if not isinstance(target, ast.Subscript):
            if exchanged_names(node) is not None:
                return [self.exchanged(node, target, scope)]
            self.refuse_target(node, target)
        if is_whole(target):
            return [self.declare(node, target, scope)]
        access = self.target(target, scope)
        op = self.user_reduction(node.value, access, scope)
        if op is not None:
            assert isinstance(node.value, ast.Call)
            value = self.expressions.parse(node.value.args[1], scope)
            return [Update(access, op, value, span=self.context.span(node))]
        return self.update(node, access, self.expressions.parse(node.value, scope))

    def exchanged(self, node: ast.Assign, target: ast.expr, scope: Scope) -> Stmt:
        """``prev, cur = cur, prev`` of two tensors."""
        assert isinstance(target, ast.Tuple)
        hint = "only tensors and tensors, or numbers and numbers, change places"
        for part in target.elts:
            assert isinstance(part, ast.Name)
            if part.id in self.context.variables.names:
                self.context.refuse(node, f"{part.id!r} is a variable, not a tensor", hint)
            if self.context.find(part, scope, part.id) is None:
                self.context.refuse(
                    node, f"{part.id!r} is a name from outside the kernel, which keeps its meaning",
                    "pass it as an argument, or write 'swap', which exchanges contents",
                )  # fmt: skip
        first, second = (self.expressions.tensor_name(part, scope) for part in target.elts)
        return Swap(first, second, span=self.context.span(node))

    def refuse_target(self, node: ast.Assign, target: ast.expr) -> NoReturn:
        if not isinstance(target, (ast.Tuple, ast.List)):
            self.context.refuse(target, "the target of an assignment must be a name or an access")
        message = "a tuple of targets takes as many values, without '*'"
        if isinstance(node.value, (ast.Tuple, ast.List)):
            targets, values = len(target.elts), len(node.value.elts)
            if targets != values:
                message = f"{count(targets, 'target')} for {count(values, 'value')}"
        self.context.refuse(node, message, "write one value for each target")

    def update(self, node: ast.stmt, target: Access, value: Expr) -> list[Stmt]:
        """``A[i] = op(A[i], a)`` is an update with ``op``, ``A[i] + a + b`` is two of them."""
        terms: list[Expr] = []
        rest, op = value, value.op if isinstance(value, Call) else None
        while isinstance(rest, Call) and rest.op is op and len(rest.args) == 2:
            rest, term = rest.args
            terms.insert(0, term)
        span = self.context.span(node)
        if rest == target and terms and not any(target in term.walk() for term in terms):
            return [Update(target, op, term, span=span) for term in terms]
        return [Update(target, None, value, span=span)]

    def user_reduction(self, node: ast.expr, target: Access, scope: Scope) -> Operator | None:
        """The operator of ``f(A[i], e)`` with a Python function ``f`` and the target ``A[i]``."""
        if not isinstance(node, ast.Call) or len(node.args) != 2 or node.keywords:
            return None
        function = self.context.object_of(node.func, scope)
        if not isinstance(function, FunctionType) or operator_of(function) is not None:
            return None
        first = node.args[0]
        if not isinstance(first, ast.Subscript) and id(first) not in self.context.variables.by_node:
            return None
        if self.expressions.parse(first, scope) != target:
            return None
        return reduction(self.context, node, function)

    def target(self, node: ast.Subscript, scope: Scope) -> Access:
        if not isinstance(node.value, ast.Name):
            self.expressions.one_bracket(node)
            self.context.refuse(node, "the target of an update must be an access to a named tensor")
        return self.expressions.access(node, scope)

    def augmented(self, node: ast.AugAssign, scope: Scope) -> list[Stmt]:
        op = self.expressions.binary_operator(node, node.op)
        if isinstance(node.target, ast.Name):
            return self.augmented_name(node, node.target, op, scope)
        if not isinstance(node.target, ast.Subscript) or is_whole(node.target):
            self.context.refuse(
                node.target, "an update changes one element", "write 'A[i] += e' in a loop"
            )
        target = self.target(node.target, scope)
        value = self.expressions.parse(node.value, scope)
        return [Update(target, op, value, span=self.context.span(node))]

    def augmented_name(
        self, node: ast.AugAssign, target: ast.Name, op: Operator, scope: Scope
    ) -> list[Stmt]:
        """``t += e``."""
        variable, binding = self.context.variable(target), scope.find(target.id)
        if variable is None or (binding is not None and not binding.may_change):
            self.refuse_rebinding(node, target, scope)
        value = self.expressions.parse(node.value, scope)
        access = Access(variable.name, (), self.context.span(target))
        return [Update(access, op, value, span=self.context.span(node))]

    def refuse_rebinding(self, node: ast.AugAssign, target: ast.Name, scope: Scope) -> NoReturn:
        binding = self.context.find(target, scope, target.id)
        shown = "a free name" if binding is None else SHOWN[binding.kind]
        self.context.refuse(
            node, f"{target.id!r} is {shown} and cannot be updated",
            f"update its elements, '{target.id}[i] += e'"
            if binding is None or binding.kind in ("parameter", "local")
            else "use another name: a loop sets its index itself",
        )  # fmt: skip

    # -- tensors ------------------------------------------------------------------------------

    def declare(self, node: ast.Assign, target: ast.Subscript, scope: Scope) -> Stmt:
        name = self.expressions.tensor_name(target.value, scope)
        init = folded(self.expressions.parse(node.value, scope))
        return Declare(name, init, span=self.context.span(node))

    def local(self, node: ast.Assign, target: ast.Name, scope: Scope) -> list[Stmt]:
        """``w = Tensor(fmt)``: the format is made when the kernel is parsed, the declaration
        stands here."""
        if target.id in self.locals:
            self.context.refuse(
                target, f"{target.id!r} is a tensor of this kernel already", "use another name"
            )
        maker = self.maker(node.value, scope)
        if any(maker is function for function in ARRAYS):
            return make_array(self, node, target, maker, scope)
        maker, computed = self.computed_shape(node.value, scope)
        made = self.context.evaluate(maker, scope, "a tensor of a kernel")
        span = self.context.span(target)
        self.context.bind(target, scope, target.id, Binding("local", span))
        self.refuse_data(maker, scope)
        if computed is not None and len(computed) != len(made.shape):
            sizes = count(len(computed), "dimension")
            message = f"a shape of {sizes} for a format of {len(made.shape)}"
            self.context.refuse(node.value, message, "nest one level a dimension, ending in a leaf")
        given = tuple(made.shape) if made.shape and not made.is_sizeless else None
        shape = computed or given
        self.locals[target.id] = Local(target.id, made.format, shape, span)
        return [Declare(target.id, fill(made.fill_value), span=self.context.span(node))]

    def computed_shape(
        self, node: ast.expr, scope: Scope
    ) -> tuple[ast.expr, tuple[Expr, ...] | None]:
        """``Tensor(fmt, (n, 3))`` without a shape that names parameters, and that shape."""
        shape = node.args[1] if isinstance(node, ast.Call) and len(node.args) == 2 else None
        if not isinstance(node, ast.Call) or not isinstance(shape, ast.Tuple):
            return node, None
        parts = list(ast.walk(shape))
        names = {part.id for part in parts if isinstance(part, ast.Name)}
        sizes = any(isinstance(part, (ast.Attribute, ast.Call)) for part in parts)
        if not sizes and all(scope.find(name) is None for name in names):
            return node, None
        maker = ast.copy_location(ast.Call(node.func, node.args[:1], node.keywords), node)
        return maker, tuple(self.size(size, scope) for size in shape.elts)

    def size(self, node: ast.expr, scope: Scope) -> Expr:
        known = self.known_value(node, scope)
        return self.expressions.parse(node, scope) if known is None else known

    def refuse_data(self, node: ast.expr, scope: Scope) -> None:
        """Refuse ``Tensor(fmt, array)``: a local starts empty."""
        assert isinstance(node, ast.Call)
        for arg in node.args[1:]:
            given = self.context.evaluate(arg, scope, "a tensor of a kernel")
            if is_tensor(given) or isinstance(given, list):
                self.context.refuse(
                    arg,
                    "a tensor of a kernel starts empty: it takes a format and a shape",
                    "make it outside the kernel, and pass it or use its name",
                )


_LARGEST = 64
"""The most terms of a value that is known before the program runs."""


def scope_free(node: ast.expr, scope: Scope) -> bool:
    """Whether the name of a callee is free in the kernel."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name) and scope.find(node.id) is None


def is_whole(node: ast.Subscript) -> bool:
    """Whether ``node`` is ``A[...]``, or ``A[:, :]``."""
    if isinstance(node.slice, ast.Constant):
        return node.slice.value is ...
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    return bool(parts) and all(
        isinstance(part, ast.Slice) and part.lower is part.upper is part.step is None
        for part in parts
    )


def folded(expr: Expr) -> Expr:
    """A tuple of constants as one constant."""
    if isinstance(expr, Call) and expr.op is prim.make_tuple:
        parts = [arg for arg in expr.args if isinstance(arg, Literal)]
        if len(parts) == len(expr.args):
            return Literal(tuple(part.value for part in parts), expr.dtype)
    return expr
