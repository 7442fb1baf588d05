"""Random expressions: reads of every kind, conditions, calls of the user's functions."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
from random_operands import WHOLE, Operands
from random_tree import CHAINS, Lit, Op, Read, Ref, walk

COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")
TRUTHS = (*COMPARISONS, *CHAINS, "not", "within")
UNARY = {
    "i": ("neg", "abs", "np.sign"), "f": ("neg", "abs", "np.sign", "np.floor", "np.trunc"),
    "c": ("neg", "np.conj", "np.real", "np.imag"),
}  # fmt: skip
CASTS = {
    "f": ("np.float32", "np.float64"), "c": ("np.complex64", "np.complex128"),
    **dict.fromkeys("bi", ("int", "np.int8", "np.float64")),
}  # fmt: skip
OPS = ("+", "*", "*", "*", "+", "-", "min", "max", "cmp", "ifelse", "//", "%", "call", "cast",
       "unary", "bits", "steps", "meets", "meets")  # fmt: skip

MEETS = {
    "i": ("+0", "-0", "*0", "*1", "//2", "%2", "<<1", "**2", "&3", "|0", "^0"),
    "f": ("+0", "-0", "*0", "*1", "/2", "**2"),
    "c": ("+0", "-0", "*0", "*1", "/2"),
}
"""Operators with a constant, by the kind of the other operand."""


@attrs.frozen
class Scope:
    """What an expression may use: indices and their dimensions, lets, temporaries."""

    indices: tuple[tuple[str, str], ...] = ()
    lets: tuple[str, ...] = ()
    temporaries: tuple[str, ...] = ()


class Expressions(Operands):
    """Draws expressions of a scope."""

    def __init__(self, seed: Any) -> None:
        super().__init__(seed)
        self.let_kinds: dict[str, str] = {}
        self.unsigned_lets: set[str] = set()
        self.extremes = False
        """Whether literals at the ends of their types may be drawn: where their sums are exact."""

    def kind_of(self, expr: Any) -> str:
        """``b``, ``i``, ``f`` or ``c``: the kind of number that an expression gives."""
        if isinstance(expr, Lit):
            return "b" if isinstance(expr.value, bool) else "i"
        if isinstance(expr, Read):
            operand = self.operands[expr.tensor]
            return operand.format.dtype.kind.replace("u", "i") if operand.format else "b"
        if isinstance(expr, Ref):
            return self.let_kinds.get(expr.name, "i")
        if expr.op in TRUTHS:
            return "b"
        if expr.op in ("np.float32", "np.float64", "np.real", "np.imag"):
            return "f"
        if expr.op in ("np.complex64", "np.complex128"):
            return "c"
        if expr.op == "/" and self.kind_of(expr.children[0]) != "c":
            return "f"
        children = expr.children[1:] if expr.op == "ifelse" else expr.children
        least = "i" if expr.op in ("int", "np.int8", "scaled", "clipped") else "b"
        return max(least, *map(self.kind_of, children), key="bifc".index)

    def may_be_float(self, *expressions: Any) -> bool:
        """Whether uint64 takes part, which gives floats beside signed numbers: there a fill of 0
        over 0 is 0 by the algebra of fills, and NaN in NumPy."""
        return any(self._is_uint64(part) for given in expressions for part in walk(given))

    def _is_uint64(self, expr: Any) -> bool:
        if isinstance(expr, Lit):
            return expr.value >= 2**63
        if isinstance(expr, Ref) and expr.name in self.unsigned_lets:
            return True
        operand = self.operands.get(getattr(expr, "tensor", getattr(expr, "name", "")))
        if operand is None or operand.format is None:
            return operand is not None and isinstance(operand.data, np.uint64)
        return operand.format.dtype == np.uint64

    # -- expressions ------------------------------------------------------------------------

    def expr(self, scope: Scope, depth: int = 2) -> Any:
        if depth == 0 or self.chance(0.3):
            return self.atom(scope)
        op = self.draw.choice(OPS)
        if op == "ifelse":
            return Op(op, (self.condition(scope), self.expr(scope, 0), self.expr(scope, depth - 1)))
        if op == "cmp":
            return self.condition(scope)
        first = self.expr(scope, depth - 1)
        kind = self.kind_of(first)
        if op == "unary":
            return Op(self.draw.choice(UNARY[kind]), (first,)) if kind != "b" else first
        if op == "cast":
            known = self.kind in "fc" or kind == "i"
            return Op(self.draw.choice(CASTS[kind]), (first,)) if known else first
        if op == "meets":
            return self.meeting(first, kind)
        if op == "steps":  # by small constants, so that whole numbers stay exact
            op = {"i": self.draw.choice(("<<", ">>", "**")), "f": "/"}.get(kind, "*")
            return Op(op, (first, Lit(2)))
        if op == "call" and self.chance(0.4):
            return Op(self.draw.choice(("squared", "clipped")), (first,))
        second = self.expr(scope, depth - 1)
        kinds = {kind, self.kind_of(second)}
        if op == "call":
            op = self.draw.choice(("scaled", "larger", "within"))
        if op == "bits":
            op = self.draw.choice("&|^") if kinds <= {"b", "i"} else "*"
        whole = kinds == {"i"} and not self.may_be_float(first, second)
        if (op == "-" and "b" in kinds) or (op in ("//", "%") and not whole):
            op = "*"
        return Op(op, (first, second))

    def atom(self, scope: Scope) -> Any:
        choice = self.draw.random()
        if choice < 0.07:
            if self.extremes and self.chance(0.3):
                whole = self.kind == "i"
                return Lit(self.draw.choice(WHOLE) if whole else 2.0 ** self.draw.choice((63, 64)))
            return Lit(self.draw.randint(0, 3))
        if choice < 0.11 and scope.indices:
            return Ref(self.draw.choice(scope.indices)[0])
        if choice < 0.2 and scope.lets:
            return Ref(self.draw.choice(scope.lets))
        if choice < 0.23:
            return Ref(self.number())
        if choice < 0.25 and len(scope.indices) > 1:
            return self.masked(scope)
        if choice < 0.5 and scope.temporaries:
            name = self.draw.choice(scope.temporaries)
            found = self.over(scope, self.dims[name])
            if found is not None:
                return Read(name, found)
        return self.read(scope)

    def meeting(self, first: Any, kind: str) -> Any:
        """A value and a constant, most often such that the value's fill stays a fill."""
        if kind == "b":
            return Op(self.draw.choice(("and", "or")), (first, Lit(self.chance(0.5))))
        choice = self.draw.random()
        if choice < 0.2 and kind != "c":
            other = Lit(self.draw.choice((0, 0, 1, 2)))
            return Op(self.draw.choice(("min", "max")), (first, other))
        if choice < 0.3:
            return Op("-", (Op("+", (first, Lit(1))), Lit(1)))
        if choice < 0.4 and kind != "c":
            least = Op(self.draw.choice((">", ">=", "!=")), (first, Lit(0)))
            return Op("ifelse", (least, first, Lit(0)))
        if choice < 0.45:
            return Op(self.draw.choice(("and", "or")), (first, Lit(self.draw.choice((0, 0, 1, 2)))))
        text = self.draw.choice(MEETS[kind])
        op, pair = text[:-1], (first, Lit(int(text[-1])))
        turns = op not in ("//", "%", "/", "**", "<<") and self.chance(0.2)
        return Op(op, pair[::-1] if turns else pair)

    def masked(self, scope: Scope) -> Any:
        pair = self.draw.sample(scope.indices, 2)
        return Read(self.mask(), tuple(Ref(name) for name, _ in pair))

    # -- reads ------------------------------------------------------------------------------

    def read(self, scope: Scope) -> Any:
        """A read of an input, or of an output that an earlier nest wrote."""
        known = [n for n in self.readable if self.over(scope, self.dims[n]) is not None]
        if known and self.chance(0.4):
            name = self.draw.choice(known)
            return Read(name, self.over(scope, self.dims[name]))
        count = self.draw.choice((1, 1, 2, 2, 3, 4)) if scope.indices else 0
        chosen = self.subset(scope.indices, count)
        if len(chosen) > 1 and self.chance(0.2):
            self.draw.shuffle(chosen)
        pairs = [self.index(scope, name, dim) for name, dim in chosen]
        children, dims = [c for c, _ in pairs], [d for _, d in pairs]
        wild = [pair for pair in pairs if isinstance(pair[0], Read) and pair[0].tensor in self.wild]
        maybe = any(isinstance(child, Op) and child.op == "~" for child in children)
        if chosen and self.chance(0.15):
            found, missing = self.wrapped(children, dims)
            maybe = maybe or missing
        else:
            found = Read(self.input(tuple(dims)), tuple(children))
        if maybe:
            found = self.present(found, scope)
        for index, target in wild:
            inside = Op("<= <", (Lit(0), index, Lit(self.sizes[target])))
            found = Op("ifelse", (inside, found, Lit(self.draw.randint(0, 2))))
        return found

    def present(self, read: Read, scope: Scope) -> Any:
        """A value in place of what may be missing."""
        if self.chance(0.2):
            read = Op("+", (read, Lit(1)))
        others = (Lit(self.draw.randint(0, 2)),)
        if self.chance(0.2):
            others = (self.atom(scope),)
        return Op("coalesce", (read, *others))

    def index(self, scope: Scope, name: str, dim: str) -> tuple[Any, str]:
        """What stands for an index in an access, and the dimension that it reaches into."""
        choice, at = self.draw.random(), self.at(name)
        if choice < 0.08:
            target = self.draw.choice("nmp")
            if self.sizes[target]:
                wild = self.chance(0.3)
                name = self.indirection(dim, target, wild)
                if wild:
                    self.wild.add(name)
                return Read(name, (at,)), target
        elif choice < 0.11:
            target = self.draw.choice("nmp")
            if self.sizes[target]:
                return Lit(self.place_in(target)), target
        elif choice < 0.13:
            return Op(self.draw.choice(("walk", "walk", "gallop", "follow")), (at,)), dim
        elif choice < 0.19:
            shifted = self.shifted(scope, name, at)
            return Op("~", (shifted,)), dim
        elif choice < 0.25:
            if self.chance(0.85):  # else the read fixes where the loop begins
                self.ranged.add(name)
            if self.chance(0.3):
                count = self.draw.randint(0, 2)
                return Op("+", (at, Ref(self.number(count)))), self.dimension(dim, count)
            count = self.draw.randint(1, 2)
            return Op("+", (at, Lit(count))), self.dimension(dim, count)
        elif choice < 0.30:
            others = [(n, d) for n, d in scope.indices if n != name]
            if others:
                other, size = self.draw.choice(others)
                self.ranged |= {name, other}
                both = (self.at(other), at)
                return Op("+", both), self.dimension(dim, size)
        return at, dim

    def place_in(self, dim: str) -> int:
        """A constant index of a dimension; now and then one that is outside."""
        if self.chance(0.02):
            self.exact = False
            return self.sizes[dim]
        return self.draw.randrange(self.sizes[dim])

    def shifted(self, scope: Scope, name: str, at: Any) -> Any:
        """An index moved by a little, or by another index."""
        others = [n for n, _ in scope.indices if n != name]
        if others and self.chance(0.3):
            moved = Op("+", (Ref(self.draw.choice(others)), at))
            return Op("-", (moved, Lit(self.draw.randint(0, 2))))
        return Op(self.draw.choice("+-"), (at, Lit(self.draw.randint(0, 2))))

    def subset(self, indices: Any, count: int) -> list[Any]:
        picked = sorted(self.draw.sample(range(len(indices)), min(count, len(indices))))
        return [indices[k] for k in picked]

    def over(self, scope: Scope, dims: tuple[str, ...]) -> tuple[Any, ...] | None:
        """Indices of the scope for a tensor's dimensions, or None where one lacks an index."""
        found = []
        for dim in dims:
            fitting = [name for name, d in scope.indices if d == dim]
            if not fitting:
                return None
            found.append(self.at(self.draw.choice(fitting)))
        return tuple(found)

    # -- conditions -------------------------------------------------------------------------

    def condition(self, scope: Scope, depth: int = 1) -> Any:
        if depth and self.chance(0.2):
            parts = (self.condition(scope, 0), self.condition(scope, 0))
            return Op(self.draw.choice(("and", "or")), parts)
        if depth and self.chance(0.08):
            return Op("not", (self.condition(scope, 0),))
        if len(scope.indices) > 1 and self.chance(0.1):
            return self.masked(scope)
        op = self.draw.choice(COMPARISONS)
        if scope.indices and self.chance(0.6):
            index = Ref(self.draw.choice(scope.indices)[0])
            if self.chance(0.12):
                return Op(self.draw.choice(CHAINS), (self.bound(scope), index, self.bound(scope)))
            if self.chance(0.15):
                index = Op(self.draw.choice("+-"), (index, Lit(1)))
            pair = (index, self.bound(scope))
            return Op(op, pair if self.chance(0.8) else pair[::-1])
        return Op(op, (self.read(scope), self.atom(scope)))

    def bound(self, scope: Scope) -> Any:
        """What an index is compared with: another index, a number, or data."""
        choice = self.draw.random()
        if choice < 0.5:
            found = Ref(self.draw.choice(scope.indices)[0])
        elif choice < 0.65:
            found = Lit(self.draw.randint(0, 3))
        elif choice < 0.75:
            found = Ref(self.number())
        elif choice < 0.9:
            outer = attrs.evolve(scope, indices=scope.indices[:-1])
            found = self.read(outer)
        else:
            found = self.atom(scope)
        if self.chance(0.2) and self.kind_of(found) == "i":
            found = Op(self.draw.choice("+-"), (found, Lit(1)))
        return found
