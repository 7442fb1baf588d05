"""Programs of the random tests as small trees that can be written as Python and made smaller."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs
import numpy as np

from finch_core.level import Format

# -- expressions --------------------------------------------------------------------------------


@attrs.frozen
class Lit:
    value: Any
    children = ()

    def __str__(self):
        return repr(self.value)


@attrs.frozen
class Ref:
    """An index, a ``let`` or a number."""

    name: str
    children = ()

    def __str__(self):
        return self.name


@attrs.frozen
class Read:
    tensor: str
    children: tuple

    def __str__(self):
        return f"{self.tensor}[{', '.join(map(str, self.children)) or '()'}]"


@attrs.frozen
class Op:
    """``a op b``, or ``op(a, ...)`` for a name."""

    op: str
    children: tuple

    def __str__(self):
        if self.op == "~":
            return f"~({self.children[0]})"
        if self.op == "not":
            return f"(not {self.children[0]})"
        if self.op == "ifelse":
            cond, yes, no = self.children
            return f"({yes} if {cond} else {no})"
        if self.op.isidentifier() and self.op not in ("and", "or"):
            return f"{self.op}({', '.join(map(str, self.children))})"
        return "(" + f" {self.op} ".join(map(str, self.children)) + ")"


def rebuilt(node: Any, children: tuple) -> Any:
    return node if not children else attrs.evolve(node, children=children)


def walk(expr: Any) -> Iterator[Any]:
    yield expr
    for child in expr.children:
        yield from walk(child)


# -- statements ---------------------------------------------------------------------------------


@attrs.frozen
class For:
    index: str
    extent: str
    body: tuple

    def lines(self):
        yield f"for {self.index} in {self.extent}:"
        yield from indented(self.body)


@attrs.frozen
class If:
    cond: Any
    body: tuple
    orelse: tuple = ()

    def lines(self):
        yield f"if {self.cond}:"
        yield from indented(self.body)
        if self.orelse:
            yield "else:"
            yield from indented(self.orelse)


@attrs.frozen
class Let:
    name: str
    value: Any

    def lines(self):
        yield f"{self.name} = {self.value}"


@attrs.frozen
class Put:
    """``target op value``; ``op`` is ``=``, ``+=``, ... or ``min``, ``max``."""

    target: Read
    op: str
    value: Any

    def lines(self):
        if self.op.isidentifier():
            yield f"{self.target} = {self.op}({self.target}, {self.value})"
        else:
            yield f"{self.target} {self.op} {self.value}"


@attrs.frozen
class Declare:
    tensor: str
    fill: Any

    def lines(self):
        yield f"{self.tensor}[...] = {self.fill!r}"


def indented(body):
    for stmt in body:
        for line in stmt.lines():
            yield f"    {line}"


def exprs(stmt: Any) -> tuple:
    """The expressions of one statement."""
    if isinstance(stmt, Put):
        return (stmt.target, stmt.value)
    if isinstance(stmt, Let):
        return (stmt.value,)
    return (stmt.cond,) if isinstance(stmt, If) else ()


def statements(body: tuple) -> Iterator[Any]:
    """All statements, outer ones first."""
    for stmt in body:
        yield stmt
        yield from statements(getattr(stmt, "body", ()))
        yield from statements(getattr(stmt, "orelse", ()))


def names_in(stmt: Any) -> set[str]:
    """The names of tensors, indices and lets that a statement uses, those inside it included."""
    found = set()
    for part in statements((stmt,)):
        if isinstance(part, Declare):
            found.add(part.tensor)
        for expr in exprs(part):
            for node in walk(expr):
                found.add(getattr(node, "tensor", None) or getattr(node, "name", ""))
    return found


# -- programs -----------------------------------------------------------------------------------


@attrs.frozen(eq=False)
class Operand:
    """A tensor or number. ``data`` is an array, a number, or None for a tensor left empty."""

    name: str
    format: Format | None
    data: Any
    role: str
    """``in``, ``out``, ``local`` or ``number``."""


@attrs.frozen(eq=False)
class Random:
    """A whole program and its arguments."""

    seed: Any
    operands: tuple[Operand, ...]
    body: tuple

    @property
    def params(self) -> list[Operand]:
        return [o for o in self.operands if o.role != "local"]

    def source(self) -> str:
        """The kernel as a Python function named ``program``."""
        lines = [f"def program({', '.join(o.name for o in self.params)}):"]
        for local in self.operands:
            if local.role == "local":
                scalar = local.format.is_leaf
                made = leaf_text(local.format, "Scalar") if scalar else text_of(local.format)
                lines.append(f"    {local.name} = {made if scalar else f'Tensor({made})'}")
        lines += indented(self.body)
        outs = ", ".join(o.name for o in self.operands if o.role == "out")
        return "\n".join([*lines, f"    return {outs}"]) + "\n"

    def runnable(self, backend: str | None) -> str:
        """Python text that shows what the program gives and what it should."""
        makes = [f"{o.name} = {argument_text(o)}" for o in self.params]
        args = ", ".join(o.name for o in self.params)
        decorator = f"@kernel(backend={backend!r})" if backend else "@kernel"
        return "\n".join([
            "import numpy as np", "from finch_core import *", "from finch_core import _",
            "from finch_levels import *", "from finch_wrappers import *", "", decorator,
            self.source(), *makes, f"print(program.reference({args}))",
            f"print(program({args}))", "",
        ])  # fmt: skip


def argument_text(operand: Operand) -> str:
    if operand.format is None:
        return repr(operand.data)
    data = operand.data
    if data is None:
        return f"Tensor({text_of(operand.format)})"
    shown = f"np.array({data.tolist()!r}, np.{data.dtype}).reshape({data.shape})"
    return f"Tensor({text_of(operand.format)}, {shown})"


def leaf_text(format: Any, name: str) -> str:
    dtype = "bool_" if format.dtype.kind == "b" else str(format.dtype)
    return f"{name}({np.asarray(format.fill_value).item()!r}, np.{dtype})"


def text_of(format: Any) -> str:
    """A format as it is written, index and pointer dtypes left out."""
    if format.child is not None:
        return f"{type(format).__name__}({text_of(format.child)})"
    if not format.fields:
        return f"{type(format).__name__}()"
    return leaf_text(format, type(format).__name__)
