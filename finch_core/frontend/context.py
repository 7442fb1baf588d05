"""The state of parsing one function."""

from __future__ import annotations

import ast
import builtins
from types import FunctionType, ModuleType
from typing import Any, NoReturn

import numpy as np

from finch_core.errors import IndexOverflow, KernelSyntaxError, Span
from finch_core.frontend.names import SHOWN, UNBOUND, Binding, Scope, lookup, namespace, origin
from finch_core.frontend.refusals import EXPRESSIONS, attribute_hint
from finch_core.frontend.seen import Seen
from finch_core.frontend.source import FunctionSource
from finch_core.frontend.variables import Variable, Variables
from finch_core.ir.close_names import nearest
from finch_core.ir.expressions import Expr
from finch_core.ir.operators import Operator
from finch_core.records import define, field

NUMBERS = (bool, int, float, complex, np.generic)


@define
class ParseContext:
    """The function that is being parsed, and what it has used so far.

    ``site`` is the place in the kernel of the call that is being inlined (``None`` for the
    kernel's own source), ``callers`` are the functions being inlined, outermost first.
    """

    source: FunctionSource
    subscripted: frozenset[str] = frozenset()
    free: dict[str, None] = field(factory=dict)
    captured: dict[str, Any] = field(factory=dict)
    ended: dict[str, Binding] = field(factory=dict)
    operators: dict[Any, Operator] = field(factory=dict)
    site: Span | None = None
    callers: tuple[FunctionType, ...] = ()
    numbers: set[str] = field(factory=set)
    """Parameters that are used as numbers."""
    variables: Variables = field(factory=Variables)
    """The names that are assigned, and what belongs together of each."""
    known: dict[Variable, Expr] = field(factory=dict)
    """The values of those that are known before the program runs."""
    computed: dict[int, Expr] = field(factory=dict)
    """The values of calls of kernels, whose programs stand before, by the identity of the node."""
    kernels: tuple[FunctionType, ...] = ()
    """The kernels that are being parsed, this one last: each calls the next."""
    names: set[str] = field(factory=set)
    """The names that the program has."""
    homes: dict[str, tuple[FunctionType, str]] = field(factory=dict)
    """For the free names of kernels that this one calls: the function there, and the name in it."""
    steady: set[str] = field(factory=set)
    """The tensors whose size was taken to be that from before the program runs."""
    strict: bool = False
    """Whether one of the kernels that this one calls keeps the order of reductions."""
    declared: frozenset[str] = frozenset()
    """The names of the tensors that the function declares."""
    swapped: frozenset[str] = frozenset()
    """The names that the function may swap: those of exchanges, and of arguments of calls."""
    seen: Seen = field(factory=Seen)
    """The objects that names in this function, and in those that it calls, were resolved to."""

    def __attrs_post_init__(self) -> None:
        self.seen.function(self.source.function, self.source.source.lines)

    def refuse(self, node: ast.AST, message: str, hint: str = "") -> NoReturn:
        """Raise ``KernelSyntaxError`` at ``node`` or, when inlining, at the call."""
        if self.site is None:
            self.source.refuse(node, message, hint)
        span = self.source.span(node)
        where = f'line {span.line} of "{span.source.filename}"'
        raise KernelSyntaxError(
            f"{self.source.node.name!r} cannot be inlined: {message} ({where})",
            span=self.site,
            hint=hint,
        )

    def span(self, node: ast.AST) -> Span:
        return self.source.span(node) if self.site is None else self.site

    def fresh(self, name: str) -> str:
        """A name that the program does not have yet: ``name``, or with a number."""
        found, number = name, 1
        while found in self.names:
            number += 1
            found = f"{name}_{number}"
        self.names.add(found)
        return found

    def shared(self, function: FunctionType, name: str) -> str:
        """The program's name for what ``name`` is in ``function``, which this one calls: the same
        for one variable."""
        own, wanted = self.source.function, origin(function, name)
        bound = (*own.__code__.co_varnames, *own.__code__.co_cellvars)
        if name not in bound and origin(own, name) == wanted:
            self.names.add(name)
            return name
        known = (as_ for as_, home in self.homes.items() if origin(*home) == wanted)
        found = next(known, None) or self.fresh(name)
        self.homes[found] = function, name
        return found

    def bind(self, node: ast.AST, scope: Scope, name: str, binding: Binding) -> None:
        """Bind a name in ``scope``; refused if it is bound already."""
        earlier = scope.find(name)
        if earlier is not None and not (earlier.may_change and binding.kind == "variable"):
            line = "" if earlier.span is None else f" since line {earlier.span.line}"
            hint = "a name keeps its meaning to the end of its block: use another name"
            self.refuse(node, f"{name!r} is bound already: {SHOWN[earlier.kind]}{line}", hint)
        if name in self.free:
            self.refuse(
                node,
                f"{name!r} is already used as a name from outside the kernel",
                "a name keeps its meaning: use another name",
            )
        scope.names[name] = binding
        self.ended[name] = binding

    def variable(self, node: ast.expr) -> Variable | None:
        """The variable that a plain name stands for; None if it stands for something else.

        Refused if it may have no value there.
        """
        assignment = self.variables.unset.get(id(node))
        if assignment is not None:
            line = self.source.span(assignment).line
            name = assignment.id
            others = {n.id for n in ast.walk(self.source.node) if isinstance(n, ast.Name)}
            meant = nearest(name, sorted(others - {name}))
            first = f"give it a value first, '{name} = 0'; a number from outside needs another name"
            self.refuse(
                node,
                f"{name!r} may have no value here: line {line} assigns it, but not on every way "
                "to this place",
                f"{meant} Else {first}" if meant else first,
            )
        return self.variables.by_node.get(id(node))

    def find(self, node: ast.AST, scope: Scope, name: str) -> Binding | None:
        """The binding of a name of this function; refused if its block has ended."""
        found = scope.find(name)
        if found is None and name in self.ended:
            binding = self.ended[name]
            if binding.kind == "index":
                self.refuse(
                    node, f"the index {name!r} is used outside its loop",
                    f"keep it in a name that begins before the loop: 'last = {name}'",
                )  # fmt: skip
            shown = "tensor" if binding.kind == "local" else binding.kind
            self.refuse(
                node,
                f"the {shown} {name!r} is used outside the block that binds it",
                "bind it before the block, or keep the value in a Scalar",
            )
        return found

    def resolve(self, node: ast.AST, name: str) -> Any:
        """The object that a free name is bound to at present."""
        value = lookup(self.source.function, name)
        if value is UNBOUND:
            known = {*self.source.function.__code__.co_varnames, *self.ended}
            known |= {*namespace(self.source.function), *vars(builtins)}
            meant = nearest(name, sorted(known))
            hint = "make it a parameter, or define it before the kernel"
            self.refuse(
                node, f"the name {name!r} is not bound", f"{meant} Else {hint}" if meant else hint
            )
        return value

    def refuse_recursion(self, node: ast.Call, kernel: Any) -> None:
        """Refuse the call ``node`` of a kernel that is being parsed."""
        if kernel.__wrapped__ in self.kernels:
            itself = kernel.__wrapped__ is self.kernels[-1]
            self.refuse(
                node,
                f"{ast.unparse(node.func)!r} calls "
                f"{'itself' if itself else 'the kernel that calls it'}: kernels are inlined, and "
                "cannot be recursive",
                "write a loop, and keep what is left to do in a tensor",
            )

    def capture(self, name: str, value: Any) -> None:
        """Record that the program depends on ``name`` being bound to ``value``."""
        self.seen.name(self.source.function, name)
        if self.site is None:
            self.captured[name] = value

    def object_of(self, node: ast.expr, scope: Scope) -> Any:
        """The Python object that a callee stands for: a free name or a module's attribute."""
        if isinstance(node, ast.Name):
            return self._named(node, scope)
        if isinstance(node, ast.Attribute):
            return self._attribute(node, scope)
        if isinstance(node, ast.Call):
            return self.evaluate(node, scope, "a function that is called")
        message, hint = EXPRESSIONS.get(type(node), ("this cannot be called", ""))
        self.refuse(node, message, hint or "call a function by its name")

    def _named(self, node: ast.Name, scope: Scope) -> Any:
        binding = self.find(node, scope, node.id)
        if binding is not None:
            hint = "functions are resolved when the kernel is parsed: use a free name"
            self.refuse(node, f"{node.id!r} is {SHOWN[binding.kind]}, not a function", hint)
        value = self.resolve(node, node.id)
        self.capture(node.id, value)
        return value

    def _attribute(self, node: ast.Attribute, scope: Scope) -> Any:
        root: ast.expr = node.value
        while isinstance(root, ast.Attribute):
            root = root.value
        if isinstance(root, ast.Name) and self.find(root, scope, root.id) is None:
            owner = self.object_of(node.value, scope)
            if isinstance(owner, ModuleType):
                value = getattr(owner, node.attr, UNBOUND)
                self.seen.attribute(owner, node.attr)
                if value is not UNBOUND:
                    return value
                self.refuse(
                    node,
                    f"the module {owner.__name__!r} has no {node.attr!r}",
                    nearest(node.attr, dir(owner)),
                )
        self.refuse(
            node,
            f"the attribute {node.attr!r} is not part of the language",
            attribute_hint(node.attr),
        )

    def evaluate(self, node: ast.expr, scope: Scope, what: str) -> Any:
        """The present value of an expression over free names (a format, ``choose(0)``).

        ``what`` names it in a message.
        """
        for part in ast.walk(node):
            if isinstance(part, ast.Name):
                self._outside(part, scope, what)
        names = namespace(self.source.function)
        try:
            self._see_attributes(node, names)
            return self._evaluated(node, names)
        except IndexOverflow as error:  # as of sizes that are known when the kernel runs
            error.span = error.span or self.span(node)
            raise
        except Exception as error:
            self.refuse(node, f"{what} cannot be made: {type(error).__name__}: {error}")

    def _evaluated(self, node: ast.expr, names: dict[str, Any]) -> Any:
        return eval(compile(ast.Expression(node), self.source.source.filename, "eval"), names)

    def _see_attributes(self, node: ast.expr, names: dict[str, Any]) -> None:
        """Record the attributes of modules in an expression that is evaluated."""
        for part in ast.walk(node):
            if isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name | ast.Attribute):
                owner = self._evaluated(part.value, names)
                if isinstance(owner, ModuleType):
                    self.seen.attribute(owner, part.attr)

    def _outside(self, node: ast.Name, scope: Scope, what: str) -> None:
        binding = self.find(node, scope, node.id)
        if binding is not None:
            self.refuse(
                node,
                f"{what} is made when the kernel is parsed, and {node.id!r} is "
                f"{SHOWN[binding.kind]}",
                "use constants and names from outside the kernel",
            )
        self.capture(node.id, self.resolve(node, node.id))
