"""Makes random programs over the grammar of kernels, with arguments that suit them.

The data are small whole numbers, so that a sum is the same in any order.
"""

from __future__ import annotations

import random
from typing import Any

import attrs
import numpy as np
from random_tree import (
    Declare,
    For,
    If,
    Let,
    Lit,
    Op,
    Operand,
    Put,
    Random,
    Read,
    Ref,
    names_in,
    statements,
    walk,
)

from finch_core.level import Order
from finch_core.plugins import hub
from finch_core.testing import KINDS, admit, array, leaf, level_names, nest

SIZES = (0, 1, 2, 3, 3, 4, 4, 5, 6)
INTS = (np.int64, np.int64, np.int64, np.int32, np.int8, np.uint8)
FLOATS = (np.float64, np.float64, np.float32)
COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")
START = {"+=": 0, "-=": 0, "*=": 1, "min": 9, "max": 0, "|=": 0, "^=": 0, "=": 0}


@attrs.frozen
class Scope:
    """What an expression may use: indices and their dimensions, lets, temporaries."""

    indices: tuple[tuple[str, str], ...] = ()
    lets: tuple[tuple[str, str], ...] = ()
    temporaries: tuple[str, ...] = ()


class Maker:
    """One random program."""

    def __init__(self, seed: Any, limits: Any) -> None:
        self.seed, self.limits = seed, limits
        self.draw = random.Random(seed)
        self.sizes = {d: self.draw.choice(SIZES) for d in "nmp"}
        self.kind = self.draw.choice("iiiiffb")
        """Of the data: whole numbers, floats or bools."""
        self.operands: dict[str, Operand] = {}
        self.dims: dict[str, tuple[str, ...]] = {}
        self.readable: list[str] = []
        self.counter = 0

    # -- small choices ----------------------------------------------------------------------

    def chance(self, p: float) -> bool:
        return self.draw.random() < p

    def fresh(self, base: str) -> str:
        self.counter += 1
        return f"{base}{self.counter}"

    def dtype(self) -> Any:
        if self.kind == "b" or self.chance(0.1):
            return np.bool_
        return self.draw.choice(INTS if self.kind == "i" else FLOATS)

    def crowded(self) -> bool:
        """Whether there are as many sparse inputs as merge into code of bearable size."""
        levels = [
            level
            for operand in self.operands.values()
            for level in (operand.format.levels()[:-1] if operand.format else ())
            if not level.stores_fill
        ]
        return len(levels) >= 5

    def format(
        self,
        rank: int,
        dtype: Any,
        fill: Any = 0,
        *,
        output: bool = False,
        plain: bool = False,
        free: bool = False,
    ) -> Any:
        """A random format: ``plain`` is dense, ``free`` takes updates in any order."""
        if plain:
            return nest([hub().layout("dense")] * rank, leaf(fill, dtype))
        if free:
            names = [n for n in level_names() if hub().level(n).order is Order.ANY]
            return nest(
                [hub().level(self.draw.choice(names)) for _ in range(rank)], leaf(fill, dtype)
            )
        names = [n for n in level_names() if not (output and n in self.limits)]
        common = [n for n in names if getattr(hub().level(n), "layout", "")]
        levels = [
            hub().level(self.draw.choice(common if self.chance(0.4) else names))
            for _ in range(rank)
        ]
        below = leaf(fill, dtype)
        boolean = np.dtype(dtype).kind == "b" and not fill and rank
        if boolean and not levels[-1].stores_fill and self.chance(0.4):
            below = hub().level("Pattern")()
        return nest(levels, below)

    def kind_of(self, expr: Any) -> str:
        """``b``, ``i`` or ``f``: the kind of number that an expression gives."""
        if isinstance(expr, Lit):
            return "b" if isinstance(expr.value, bool) else "i"
        if isinstance(expr, Read):
            return self.operands[expr.tensor].format.dtype.kind.replace("u", "i")
        if isinstance(expr, Ref):
            return self.let_kinds.get(expr.name, "i")
        if expr.op in COMPARISONS or expr.op in ("and", "or", "not"):
            return "b"
        children = expr.children[1:] if expr.op == "ifelse" else expr.children
        return max(map(self.kind_of, children), key="bif".index)

    # -- operands ---------------------------------------------------------------------------

    def input(self, dims: tuple[str, ...]) -> str:
        """An input with these dimensions: one that is there already, or a new one."""
        known = [n for n in self.readable if self.dims[n] == dims]
        if known and self.chance(0.6):
            return self.draw.choice(known)
        name, dtype = self.fresh("A"), self.dtype()
        fill = 0 if self.chance(0.85) else self.draw.choice((1, 2))
        shape = tuple(self.sizes[d] for d in dims)
        format = self.format(len(dims), dtype, fill, plain=self.crowded())
        data = array(shape, dtype, self.draw.choice(KINDS), self.draw.randrange(999), fill)
        return self.add(name, dims, format, admit(format, data, self.limits), "in")

    def indirection(self, dim: str, target: str) -> str:
        """A dense vector over ``dim`` of indices into ``target``."""
        name = self.fresh("I")
        rng = np.random.default_rng(self.draw.randrange(999))
        data = rng.integers(0, self.sizes[target], self.sizes[dim])
        found = self.add(name, (dim,), nest([hub().layout("dense")], leaf(0, np.int64)), data, "in")
        self.readable.remove(name)
        return found

    def add(self, name: str, dims: Any, format: Any, data: Any, role: str) -> str:
        self.operands[name] = Operand(name, format, data, role)
        self.dims[name] = tuple(dims)
        if role == "in":
            self.readable.append(name)
        return name

    # -- expressions ------------------------------------------------------------------------

    def expr(self, scope: Scope, depth: int = 2) -> Any:
        if depth == 0 or self.chance(0.3):
            return self.atom(scope)
        op = self.draw.choice(
            ("+", "*", "*", "*", "+", "-", "min", "max", "cmp", "ifelse", "//", "%")
        )
        if op == "ifelse":
            return Op(op, (self.condition(scope), self.expr(scope, 0), self.expr(scope, depth - 1)))
        if op == "cmp":
            return self.condition(scope)
        a, b = self.expr(scope, depth - 1), self.expr(scope, depth - 1)
        kinds = {self.kind_of(a), self.kind_of(b)}
        if (op == "-" and "b" in kinds) or (op in ("//", "%") and kinds != {"i"}):
            op = "*"
        return Op(op, (a, b))

    def atom(self, scope: Scope) -> Any:
        choice = self.draw.random()
        if choice < 0.07:
            return Lit(self.draw.randint(0, 3))
        if choice < 0.11 and scope.indices:
            return Ref(self.draw.choice(scope.indices)[0])
        if choice < 0.2 and scope.lets:
            return Ref(self.draw.choice(scope.lets)[0])
        if choice < 0.23:
            return Ref(self.number())
        if choice < 0.5 and scope.temporaries:
            name = self.draw.choice(scope.temporaries)
            found = self.over(scope, self.dims[name])
            if found is not None:
                return Read(name, found)
        return self.read(scope)

    def number(self) -> str:
        name = self.fresh("c")
        self.operands[name] = Operand(name, None, self.draw.randint(0, 3), "number")
        self.dims[name] = ()
        return name

    def read(self, scope: Scope) -> Any:
        """A read of an input, or of an output that an earlier nest wrote."""
        known = [n for n in self.readable if self.over(scope, self.dims[n]) is not None]
        if known and self.chance(0.4):
            name = self.draw.choice(known)
            return Read(name, self.over(scope, self.dims[name]))
        count = self.draw.randint(1, 3) if scope.indices else 0
        chosen = self.subset(scope.indices, count)
        if len(chosen) > 1 and self.chance(0.2):
            self.draw.shuffle(chosen)
        children, dims = [], []
        for name, dim in chosen:
            child, size = self.index(name, dim)
            children.append(child)
            dims.append(size)
        found = Read(self.input(tuple(dims)), tuple(children))
        if any(isinstance(child, Op) and child.op == "~" for child in children):
            return Op("coalesce", (found, Lit(self.draw.randint(0, 2))))
        return found

    def index(self, name: str, dim: str) -> tuple[Any, str]:
        """What stands for an index in an access, and the dimension that it reaches into."""
        if self.chance(0.08):
            target = self.draw.choice("nmp")
            if self.sizes[target]:
                return Read(self.indirection(dim, target), (Ref(name),)), target
        if self.chance(0.05):
            return Op(self.draw.choice(("walk", "walk", "gallop")), (Ref(name),)), dim
        if self.chance(0.06):
            shifted = Op(self.draw.choice("+-"), (Ref(name), Lit(self.draw.randint(1, 2))))
            return Op("~", (shifted,)), dim
        return Ref(name), dim

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
            found.append(Ref(self.draw.choice(fitting)))
        return tuple(found)

    def condition(self, scope: Scope, depth: int = 1) -> Any:
        if depth and self.chance(0.2):
            parts = (self.condition(scope, 0), self.condition(scope, 0))
            return Op(self.draw.choice(("and", "or")), parts)
        if depth and self.chance(0.08):
            return Op("not", (self.condition(scope, 0),))
        op = self.draw.choice(COMPARISONS)
        if scope.indices and self.chance(0.6):
            first = Ref(self.draw.choice(scope.indices)[0])
            second = (
                Ref(self.draw.choice(scope.indices)[0])
                if self.chance(0.7)
                else Lit(self.draw.randint(0, 3))
            )
            if self.chance(0.2):
                second = Op("+", (second, Lit(1)))
            return Op(op, (first, second))
        return Op(op, (self.read(scope), self.atom(scope)))

    # -- statements -------------------------------------------------------------------------

    def program(self) -> Random:
        self.let_kinds: dict[str, str] = {}
        body: list[Any] = []
        for _ in range(self.draw.choice((1, 1, 1, 2, 2, 3))):
            body += self.nest()
        loops = [stmt for stmt in statements(tuple(body)) if isinstance(stmt, For)]
        self.partial = loops[-1].index if loops else ""
        body = [self.settled(stmt) for stmt in body]
        used = set().union(*map(names_in, body))
        kept = tuple(o for o in self.operands.values() if o.name in used)
        return Random(self.seed, kept, tuple(body))

    def nest(self) -> list[Any]:
        """Declarations, and a loop nest that writes what they declare."""
        depth = self.draw.choice((1, 1, 2, 2, 2, 3))
        dims = [self.draw.choice("nnmp") for _ in range(depth)]
        loops = [(self.fresh("i"), dim) for dim in dims]
        before, targets = [], []
        for _ in range(self.draw.choice((1, 1, 1, 2))):
            target, declare = self.output(loops)
            targets.append(target)
            before += declare
        body = self.level(loops, 0, targets, Scope())
        for target, *_ in targets:
            self.readable.append(target.tensor)
        return before + body

    def output(self, loops: list[Any]) -> tuple[Any, list[Any]]:
        """A target with its operator, and the declaration of its tensor."""
        if self.chance(0.65):
            chosen = loops[: self.draw.randint(0, len(loops))]
        else:
            chosen = self.subset(loops, self.draw.randint(0, len(loops)))
        op = self.draw.choice(("+=", "+=", "+=", "=", "=", "min", "max", "*=", "|=", "^=", "-="))
        kind = self.kind
        if (op in ("|=", "^=") and kind == "f") or (op == "*=" and kind == "f"):
            op = "+="
        if kind == "b" and op in ("-=", "*=", "min", "max"):
            op = "|="
        dtype = {"i": np.int64, "f": np.float64, "b": np.bool_}[kind]
        fill = START[op] if op not in ("=", "+=") or self.chance(0.85) else 2
        fill = bool(fill) if kind == "b" else fill
        name = self.fresh("y")
        children, dims = [], []
        for index, dim in chosen:
            scatter = self.chance(0.06)
            target = self.draw.choice("nmp") if scatter else dim
            scatter = scatter and bool(self.sizes[target])
            found = Read(self.indirection(dim, target), (Ref(index),)) if scatter else Ref(index)
            children.append(found)
            dims.append(target if scatter else dim)
        ordered = chosen == loops[: len(chosen)] and all(isinstance(c, Ref) for c in children)
        in_place = self.chance(0.12)
        free = in_place or not ordered
        format = self.format(len(dims), dtype, fill, output=True, free=free and self.chance(0.9))
        shape = tuple(self.sizes[d] for d in dims)
        stale = array(shape, dtype, self.draw.choice(KINDS), self.draw.randrange(99), fill)
        in_place = in_place and all(level.thaws for level in format.levels())
        known = in_place or self.chance(0.4) or any(isinstance(c, Read) for c in children)
        self.add(name, dims, format, stale if known else None, "out")
        declare = [] if in_place else [Declare(name, fill)]
        return (Read(name, tuple(children)), op, kind), declare

    def level(self, loops: list[Any], depth: int, targets: list[Any], scope: Scope) -> list[Any]:
        """The statements inside ``depth`` loops."""
        body: list[Any] = []
        if depth and self.chance(0.2):
            name = self.fresh("t")
            value = self.expr(scope, 1)
            self.let_kinds[name] = self.kind_of(value)
            body.append(Let(name, value))
            scope = attrs.evolve(scope, lets=(*scope.lets, (name, "")))
        if self.chance(0.15):
            found, scope = self.temporary(loops[depth:], scope)
            body += found
        inner = []
        if depth < len(loops):
            index, dim = loops[depth]
            deeper = attrs.evolve(scope, indices=(*scope.indices, (index, dim)))
            inner.append(For(index, dim, tuple(self.level(loops, depth + 1, targets, deeper))))
        here = {index for index, _ in loops[:depth]}
        for target, op, kind in targets:
            deepest = depth == len(loops)
            if deepest or (self.chance(0.1) and self._reaches(target, here)):
                put = self.put(target, op, kind, scope)
                inner.append(put)
        return body + self.guarded(inner, scope, targets)

    def guarded(self, inner: list[Any], scope: Scope, targets: list[Any]) -> list[Any]:
        """Statements, some of them under a condition."""
        if not inner or not scope.indices or not self.chance(0.25):
            return inner
        orelse = ()
        if isinstance(inner[-1], Put) and self.chance(0.4):
            put = inner[-1]
            kind = next(k for t, _, k in targets if t == put.target)
            orelse = (self.put(put.target, put.op, kind, scope),)
        return [If(self.condition(scope), tuple(inner), orelse)]

    def _reaches(self, target: Any, here: set[str]) -> bool:
        names = {node.name for node in walk(target) if isinstance(node, Ref)}
        return names <= here

    def put(self, target: Any, op: str, kind: str, scope: Scope) -> Put:
        value = self.expr(scope, self.draw.choice((0, 1, 1, 2, 2)))
        if kind == "b" and self.kind_of(value) != "b":
            value = Op(">", (value, Lit(0)))
        if "bif".index(self.kind_of(value)) > "bif".index(kind):
            value = Op(">", (value, Lit(0)))
        if op == "-=" and self.kind_of(value) == "b":
            value = Op("+", (value, Lit(0)))
        return Put(target, op, value)

    def temporary(self, below: list[Any], scope: Scope) -> tuple[list[Any], Scope]:
        """A temporary that is declared here, the loop that fills it, and the scope beyond."""
        name, index = self.fresh("w"), self.fresh("k")
        dim = self.draw.choice([d for _, d in below] or ["n"])
        dtype = {"i": np.int64, "f": np.float64, "b": np.bool_}[self.kind]
        fill = self.kind != "b" and 0
        vector = bool(below) and self.chance(0.5)
        if vector:
            self.add(name, (dim,), self.format(1, dtype, fill, output=True), None, "local")
        else:
            self.add(name, (), hub().scalar("Scalar")(fill, dtype=dtype), None, "local")
        target = Read(name, (Ref(index),) if vector else ())
        deeper = attrs.evolve(scope, indices=(*scope.indices, (index, dim)))
        op = "|=" if self.kind == "b" else self.draw.choice(("+=", "=", "+="))
        loop = For(index, dim, (self.put(target, op, self.kind, deeper),))
        found = [Declare(name, fill), loop]
        return found, attrs.evolve(scope, temporaries=(*scope.temporaries, name))

    # -- extents ----------------------------------------------------------------------------

    def settled(self, stmt: Any) -> Any:
        """A statement whose loops have extents in place of the names of dimensions."""
        if isinstance(stmt, For):
            body = tuple(self.settled(s) for s in stmt.body)
            return For(stmt.index, self.extent(stmt), body)
        if isinstance(stmt, If):
            parts = (tuple(map(self.settled, stmt.body)), tuple(map(self.settled, stmt.orelse)))
            return If(stmt.cond, *parts)
        return stmt

    def extent(self, loop: For) -> str:
        size = self.sizes[loop.extent]
        choice = self.draw.random()
        if choice < 0.2 and size > 1 and loop.index == self.partial:
            return f"range(1, {size})" if self.chance(0.5) else f"range(0, {size - 1})"
        return "_" if choice < 0.9 and self.fixed(loop) else f"range(0, {size})"

    def fixed(self, loop: For) -> bool:
        """Whether a read of an input in the loop's body fixes its extent."""
        for stmt in statements(loop.body):
            for expr in (getattr(stmt, "value", None), getattr(stmt, "cond", None)):
                reads = [n for n in walk(expr) if isinstance(n, Read)] if expr is not None else []
                if any(self._input_over(node, loop) for node in reads):
                    return True
        return False

    def _input_over(self, node: Read, loop: For) -> bool:
        return self.operands[node.tensor].role == "in" and Ref(loop.index) in node.children


def make(seed: Any, limits: Any) -> Random:
    """The random program of this seed."""
    return Maker(seed, limits).program()
