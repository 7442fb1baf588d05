"""Programs of the random tests as small trees that can be written as Python and made smaller."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs
import numpy as np
from random_text import argument_text, helpers_of, text_of

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


CHAINS = ("<= <", "< <=", "<= <=", "< <")
"""Chained comparisons, of three children."""


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
        if self.op == "neg":
            return f"(-{self.children[0]})"
        if self.op == "tuple":
            return f"({', '.join(map(str, self.children))})"
        if self.op in CHAINS:
            first, second, third = self.children
            a, b = self.op.split()
            return f"({first} {a} {second} {b} {third})"
        if self.op == "ifelse":
            cond, yes, no = self.children
            return f"({yes} if {cond} else {no})"
        if self.op[0].isalpha() and self.op not in ("and", "or"):
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
        if len(self.orelse) == 1 and isinstance(self.orelse[0], If):
            first, *rest = self.orelse[0].lines()
            yield from (f"el{first}", *rest)
        elif self.orelse:
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
    """``target op value``; ``op`` is ``=``, ``+=``, ... or ``min``, ``max``, ``choose(0)``, ..."""

    target: Read
    op: str
    value: Any

    def lines(self):
        if self.op[0].isalpha():
            yield f"{self.target} = {self.op}({self.target}, {self.value})"
        else:
            yield f"{self.target} {self.op} {self.value}"


@attrs.frozen
class Declare:
    tensor: str
    fill: Any

    def lines(self):
        yield f"{self.tensor}[...] = {self.fill!r}"


@attrs.frozen
class Change:
    """``freeze(tensor)`` or ``thaw(tensor)``."""

    to: str
    tensor: str

    def lines(self):
        yield f"{self.to}({self.tensor})"


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
        if isinstance(part, (Declare, Change)):
            found.add(part.tensor)
        for expr in exprs(part):
            for node in walk(expr):
                found.add(getattr(node, "tensor", None) or getattr(node, "name", ""))
    return found


# -- programs -----------------------------------------------------------------------------------


@attrs.frozen
class Wrap:
    """A wrapper around an argument: the function of its name, called with ``arguments``."""

    name: str
    arguments: tuple

    def text(self, inner: str) -> str:
        return f"{self.name}({', '.join([inner, *map(repr, self.arguments)])})"


@attrs.frozen(eq=False)
class Operand:
    """A tensor, mask or number. ``data`` is an array, a number, the text of a mask, or None for a
    tensor left empty; ``wraps`` are what it is passed in, outermost first."""

    name: str
    format: Format | None
    data: Any
    role: str
    """``in``, ``out``, ``local``, ``mask`` or ``number``."""
    wraps: tuple[Wrap, ...] = ()
    form: str = "tensor"
    """How it is handed over: one of ``random_forms.FORMS``, or the name of an operand that is
    passed in its place."""


FUNCTIONS = {
    "scaled": "def scaled(a, b):\n    return a + b * 2\n",
    "larger": "def larger(a, b):\n    return b if a < b else a\n",
    "squared": "def squared(a):\n    c = a * a\n    return c + a\n",
    "within": "def within(a, b):\n    return a > b and b < 2\n",
    "clipped": "def clipped(a):\n    return min(max(a, 0), 2)\n",
}
"""Functions of the user, which are inlined."""


@attrs.frozen(eq=False)
class Random:
    """A whole program and its arguments."""

    seed: Any
    operands: tuple[Operand, ...]
    body: tuple
    exact: bool = True
    """Whether the plain reading must be refused where the compiled one is; not so where indices
    come from data that reach outside: what is not stored is not looked up."""

    @property
    def params(self) -> list[Operand]:
        return [o for o in self.operands if o.role != "local"]

    def names(self) -> set[str]:
        return {o.name for o in self.operands}

    def helpers(self) -> str:
        """The functions that the program calls."""
        nodes = (node for stmt in statements(self.body) for e in exprs(stmt) for node in walk(e))
        used = {getattr(node, "op", "") for node in nodes}
        return "".join(f"{text}\n\n" for name, text in FUNCTIONS.items() if name in used)

    def source(self) -> str:
        """The kernel as a Python function named ``program``."""
        lines = [f"def program({', '.join(o.name for o in self.params)}):"]
        for local in self.operands:
            if local.role == "local":
                scalar = type(local.format).__name__.endswith("ScalarLeaf")
                text = text_of(local.format)
                lines.append(f"    {local.name} = {text if scalar else f'Tensor({text})'}")
        lines += indented(self.body)
        outs = ", ".join(o.name for o in self.operands if o.role == "out")
        return "\n".join([*lines, f"    return {outs}"]) + "\n"

    def runnable(self, backend: str | None) -> str:
        """Python text that shows what the program gives and what it should."""
        plain = self.plain()
        decorator = f"@kernel(backend={backend!r})\n" if backend else "@kernel\n"
        lines = [
            "import numpy as np", "from finch_core import *", "from finch_core import _",
            "from finch_levels import *", "from finch_wrappers import *", "import scipy.sparse", "",
            helpers_of(self.operands) + self.helpers() + decorator + self.source(),
            *(f"{o.name} = {argument_text(o)}" for o in self.params),
        ]  # fmt: skip
        shown = "program"
        if plain is not self:
            lines += ["", decorator + plain.source().replace("def program(", "def plain(")]
            lines += [f"{o.name}_plain = {argument_text(o)}" for o in plain.params]
            shown = "plain"
        args = ", ".join(o.name for o in self.params)
        theirs = ", ".join(f"{o.name}_plain" if shown == "plain" else o.name for o in plain.params)
        return "\n".join(
            [*lines, f"print({shown}.reference({theirs}))", f"print(program({args}))", ""]
        )

    def plain(self) -> Random:
        """The program without wrappers around its arguments and without masks: they are written as
        what they mean. ``self`` if it has none."""
        meant = {o.name: o for o in self.operands if o.wraps or o.role == "mask"}
        if not meant:
            return self
        body = tuple(mapped(stmt, lambda e: unwrapped(e, meant)) for stmt in self.body)
        kept = tuple(without_wraps(o) for o in self.operands if o.role != "mask")
        return attrs.evolve(self, operands=kept, body=body)


def mapped(stmt: Any, rule: Any) -> Any:
    """A statement with ``rule`` applied to every node of its expressions, operands first."""

    def expr(node: Any) -> Any:
        return rule(rebuilt(node, tuple(map(expr, node.children))))

    changes = {}
    for field in attrs.fields(type(stmt)):
        value = getattr(stmt, field.name)
        if field.name in ("body", "orelse"):
            changes[field.name] = tuple(mapped(part, rule) for part in value)
        elif isinstance(value, (Lit, Ref, Read, Op)):
            changes[field.name] = expr(value)
    return attrs.evolve(stmt, **changes)


# -- what wrappers and masks mean ---------------------------------------------------------------

MASKS = {"UpTriMask()": "<=", "LoTriMask()": ">=", "DiagMask()": "=="}


def unwrapped(node: Any, meant: dict[str, Operand]) -> Any:
    """An access of a wrapped argument as an access of what it wraps."""
    if not isinstance(node, Read) or node.tensor not in meant:
        return node
    operand, children = meant[node.tensor], node.children
    if operand.role == "mask":
        if operand.data in MASKS:
            return Op(MASKS[operand.data], children)
        low, high = map(int, operand.data.removeprefix("BandMask(").removesuffix(")").split(","))
        i, j = children
        return Op("<= <=", (Op("+", (i, Lit(low))), j, Op("+", (i, Lit(high)))))
    for wrap in operand.wraps:
        children = _MEANINGS.get(wrap.name, lambda children, *_: children)(
            children, *wrap.arguments
        )
    return Read(node.tensor, tuple(children))


def _shifted(children, *deltas):
    return [moved_by(c, d) if d else c for c, d in zip(children, deltas, strict=True)]


def moved_by(child, delta):
    """``child + delta``; what is permissive is so at the outside of an index."""
    if isinstance(child, Op) and child.op == "~":
        return Op("~", (moved_by(child.children[0], delta),))
    return Op("+", (child, Lit(delta)))


_MEANINGS = {
    "swizzle": lambda children, perm: [children[p] for p in perm],
    "offset": _shifted,
    "permissive": lambda children, *flags: [
        Op("~", (c,)) if flag else c for c, flag in zip(children, flags, strict=True)
    ],
    "toeplitz": lambda children, k: [
        *children[:k], Op("+", (children[k], children[k + 1])), *children[k + 2 :],
    ],
}  # fmt: skip


def without_wraps(operand: Operand) -> Operand:
    """The operand as it is stored; of one behind a window, the part that is seen."""
    if operand.data is not None and operand.wraps:
        data, cut = operand.data, None
        for wrap in operand.wraps:
            if wrap.name == "window":
                cut = [slice(*b) if b else slice(None) for b in wrap.arguments]
            if wrap.name == "swizzle" and cut is not None:
                cut = [cut[p] for p in wrap.arguments[0]]
        data = data if cut is None else data[tuple(cut)]
        operand = attrs.evolve(operand, data=data)
    return attrs.evolve(operand, wraps=())


def as_seen(operand: Operand, array: Any) -> Any:
    """A stored array as the operand's wrappers show it (those that outputs have)."""
    for wrap in reversed(operand.wraps):
        if wrap.name == "swizzle":
            array = array.transpose(np.argsort(wrap.arguments[0]))
    return array
