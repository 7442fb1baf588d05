"""Draws what random programs write: outputs, where they are written, and by which operator."""

from __future__ import annotations

from typing import Any

from random_expressions import Expressions, Scope
from random_forms import FORMS
from random_operands import DTYPE, INTS
from random_tree import Declare, Lit, Op, Put, Read, Ref, Wrap

from finch_core.testing import KINDS, array

START = {"+=": 0, "-=": 0, "*=": 1, "min": 9, "max": 0, "|=": 0, "^=": 0, "&=": 7, "=": 0,
         "choose(0)": 0, "minby": (9, -1), "maxby": (0, -1)}  # fmt: skip
BY = ("minby", "maxby")


class Outputs(Expressions):
    """Draws targets of updates and what is written to them."""

    def __init__(self, seed: Any) -> None:
        super().__init__(seed)
        self.ranges: dict[str, str] = {}
        """What is written as the extent of a loop, by its index."""
        self.outputs: list[tuple[Read, Any]] = []
        self.spoiled: set[str] = set()
        """Outputs with numbers so large that their sums are not exact."""

    # -- outputs ----------------------------------------------------------------------------

    def output(self, loops: list[Any]) -> tuple[Any, list[Any]]:
        """A target with its operator, and the declaration of its tensor."""
        if self.chance(0.65):
            chosen = loops[: self.draw.randint(0, len(loops))]
        else:
            chosen = self.subset(loops, self.draw.randint(0, len(loops)))
        op, kind = self.operator(self.kind), self.kind
        dtype = DTYPE[kind]
        if kind == "i" and self.chance(0.25):
            dtype = self.draw.choice(INTS)
        fill = START[op] if op not in ("=", "+=") or self.chance(0.85) else 2
        if op in BY:
            fill, dtype, chosen = (*fill,), None, chosen[:2]
        fill = bool(fill) if kind == "b" and op not in BY else fill
        name = self.fresh("y")
        children, dims, loose = [], [], False
        for index, dim in chosen:
            child, size, keeps = self.place(loops, index, dim)
            children.append(child)
            dims.append(size)
            loose = loose or keeps
        ordered = chosen == loops[: len(chosen)] and all(
            c == self.at(i) for c, (i, _) in zip(children, chosen, strict=True)
        )
        in_place = self.chance(0.12) and op not in BY
        free = in_place or not ordered
        if not dims and self.chance(0.5) and op not in BY:
            format, in_place = self.scalar_format(fill, dtype), False
        else:
            format = self.format(
                len(dims), dtype, fill, output=True, free=free and self.chance(0.9)
            )
        shape = tuple(self.sizes[d] for d in dims)
        in_place = in_place and all(level.thaws for level in format.levels())
        known = (in_place or self.chance(0.4) or loose) and not (op in BY or format.is_leaf)
        if op in BY and loose:
            return self.output(loops)
        wraps: list[Wrap] = []
        stale = None
        if known:
            if len(dims) > 1 and self.chance(0.1):
                perm = self.draw.sample(range(len(dims)), len(dims))
                wraps, shape = [Wrap("swizzle", (tuple(perm),))], tuple(shape[p] for p in perm)
            elif dims and in_place and self.chance(0.2):
                bounds = tuple((1, n + 1) for n in shape)
                wraps, shape = [Wrap("window", bounds)], tuple(n + 1 for n in shape)
            elif dims and self.chance(0.04):
                wraps = [self.around(len(dims))]
            stale = array(shape, dtype, self.draw.choice(KINDS), self.draw.randrange(99), fill)
        partly = any(i in self.ranges and i not in self.shifts for i, _ in chosen)
        if partly:  # it is as large as the loops that write it
            dims = [f"{d}?{name}" for d in dims]
        form = self.form(len(dims), fill, dtype, output=True) if known and not wraps else "tensor"
        if form in FORMS and FORMS[form].of_data:
            format = self.format(len(dims), dtype, fill, plain=True)
        self.add(name, dims, format, stale, "out", wraps, form)
        declare = [] if in_place else [Declare(name, fill)]
        return (Read(name, tuple(children)), op, kind), declare

    def around(self, rank: int) -> Wrap:
        """A wrapper around an output that is not meant for writing, or changes nothing."""
        name = self.draw.choice(("offset", "permissive", "protocolize"))
        parts = {"offset": (0, 0, 1, -1), "permissive": (False, True),
                 "protocolize": (None, "walk")}[name]  # fmt: skip
        chosen = tuple(self.draw.choice(parts) for _ in range(rank))
        if name == "offset" and any(chosen):  # writes beyond, unless nothing is stored there
            self.exact = False
        return Wrap(name, chosen)

    def place(self, loops: list[Any], index: str, dim: str) -> tuple[Any, str, bool]:
        """What is written at an index, the dimension it is in, and whether that stays as it was."""
        choice, at = self.draw.random(), self.at(index)
        if choice < 0.06:
            target = self.draw.choice("nmp")
            if self.sizes[target]:
                return Read(self.indirection(dim, target), (at,)), target, True
        elif choice > 0.96:
            target = self.draw.choice("nmp")
            if self.sizes[target]:
                return Lit(self.place_in(target)), target, True
        elif choice < 0.09:
            count = self.draw.randint(1, 2)
            return Op("+", (at, Lit(count))), self.dimension(dim, count), False
        elif choice < 0.12:
            moved = Op(self.draw.choice("+-"), (at, Lit(self.draw.randint(0, 2))))
            return Op("~", (moved,)), dim, True
        elif choice < 0.15:
            others = [(n, d) for n, d in loops if n != index]
            if others:
                other, size = self.draw.choice(others)
                return Op("+", (self.at(other), at)), self.dimension(dim, size), True
        return at, dim, False

    def operator(self, kind: str) -> str:
        op = self.draw.choice(("+=", "+=", "+=", "=", "=", "min", "max", "*=", "|=", "^=", "-=",
                               "&=", "choose(0)", "minby", "maxby"))  # fmt: skip
        if kind in "fc" and op in ("|=", "^=", "&=", "*="):
            return "+="
        if kind == "b" and op in ("-=", "*=", "min", "max", "choose(0)", *BY):
            return "|="
        return op

    def again(self, loops: list[Any], targets: list[Any]) -> tuple[Any, list[Any]] | None:
        """An output of an earlier nest as a target once more: thawed, or declared anew."""
        taken = {target.tensor for target, *_ in targets}
        for target, kind in self.outputs:
            name = target.tensor
            format, dims = self.operands[name].format, self.dims[name]
            fits = len(dims) <= len(loops) and name not in taken and self.chance(0.3)
            if not fits or format.dtype.names or dims != tuple(d for _, d in loops[: len(dims)]):
                continue
            op = self.operator(kind)
            op = "+=" if op in BY else op
            op = "|=" if kind == "b" and op == "+=" else op
            children = tuple(self.at(index) for index, _ in loops[: len(dims)])
            fill = format.fill_value.item()
            wrapped = any(wrap.name == "window" for wrap in self.operands[name].wraps)
            declare = [Declare(name, fill)] if self.chance(0.3) and not wrapped else []
            if any(isinstance(at, Lit) for at in target.children):
                self.exact = False  # it is outside where this nest's range fixes a smaller extent
            self.readable = [n for n in self.readable if n != name]
            return (Read(name, children), op, kind), declare
        return None

    def put(self, target: Any, op: str, kind: str, scope: Scope) -> Put:
        once = op in ("=", "min", "max") and target.tensor not in scope.temporaries
        self.extremes = kind == "i" or (kind == "f" and once and self.alone(target.tensor))
        value = self.expr(scope, self.draw.choice((0, 1, 1, 2, 2)))
        self.extremes = False
        if kind == "b" and self.kind_of(value) != "b":
            value = Op(">", (value, Lit(0)))
        if "bifc".index(self.kind_of(value)) > "bifc".index(kind):
            value = Op(">", (value, Lit(0)))
        if op in ("-=", *BY) and self.kind_of(value) == "b":
            value = Op("+", (value, Lit(0)))
        if op in BY:
            if self.kind_of(value) in "fc":
                value = Op(">", (value, Lit(0)))
                value = Op("+", (value, Lit(0)))
            indices = [Ref(name) for name, _ in scope.indices]
            second = self.draw.choice(indices) if indices else Lit(1)
            value = Op("tuple", (value, second))
        return Put(target, op, value)

    def alone(self, name: str) -> bool:
        """Whether nothing else will be computed of an output, now that this is decided."""
        if self.operands[name].role != "out" or not self.chance(0.2):
            return False
        self.spoiled.add(name)
        return True
