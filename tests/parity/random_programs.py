"""Makes random programs over the grammar of kernels, with arguments that suit them."""

from __future__ import annotations

import itertools
import random
from typing import Any

import attrs
from random_expressions import COMPARISONS, Scope
from random_operands import DTYPE
from random_outputs import BY, Outputs
from random_tree import (
    CHAINS,
    Change,
    Declare,
    For,
    If,
    Let,
    Lit,
    Op,
    Put,
    Random,
    Read,
    Ref,
    exprs,
    names_in,
    statements,
    walk,
)

from finch_core.testing import KINDS, array

SPLITS = ("~", *COMPARISONS, *CHAINS)


class Maker(Outputs):
    """One random program."""

    def program(self) -> Random:
        body: list[Any] = []
        for _ in range(self.draw.choice((1, 1, 1, 2, 2, 3))):
            body += self.apart() if self.chance(0.06) else self.nest()
        body = [self.settled(stmt) for stmt in self.moded(body)]
        used = set().union(*map(names_in, body))
        kept = tuple(o for o in self.operands.values() if o.name in used)
        return Random(self.seed, self.aliased(kept), tuple(body), self.exact)

    def aliased(self, operands: tuple[Any, ...]) -> tuple[Any, ...]:
        """The operands, now and then one of them passed in the place of another that is like it."""
        if not self.chance(0.08):
            return operands
        there = [o for o in operands if o.role in ("in", "out") and o.data is not None]
        whole = [o for o in there if not o.wraps]
        pairs = [
            (a, b) for a, b in itertools.permutations(whole, 2)
            if a.role == "in" and a.format == b.format and a.data.shape == b.data.shape
            and a.form == b.form == "tensor"
            and not (a.name.startswith("I") or b.name.startswith("I"))
        ]  # fmt: skip
        if not pairs:
            return operands
        a, b = self.draw.choice(pairs)
        changed = {a.name: attrs.evolve(a, data=b.data, form=b.name), b.name: b}
        return tuple(changed.get(o.name, o) for o in operands)

    def apart(self) -> list[Any]:
        """Writes at constant places of one tensor, most often in the order of its storage."""
        name, rank, kind = self.fresh("y"), self.draw.choice((1, 1, 2, 2, 3)), self.kind
        dims = [self.draw.choice("nmp") for _ in range(rank)]
        shape = tuple(self.sizes[d] for d in dims)
        format = self.format(rank, DTYPE[kind], False if kind == "b" else 0, output=True)
        stale = array(shape, DTYPE[kind], self.draw.choice(KINDS), 1, 0)
        self.add(name, dims, format, stale, "out")
        places = [p for p in itertools.product(*map(range, shape)) if self.chance(0.3)]
        if self.chance(0.2):
            self.draw.shuffle(places)
        op = "|=" if kind == "b" else self.draw.choice(("=", "+=", "max"))
        body: list[Any] = [Declare(name, False if kind == "b" else 0)]
        for place in places:
            target = Read(name, tuple(map(Lit, place)))
            body.append(self.put(target, op, kind, Scope()))
        self.readable.append(name)
        return body

    # -- loops ------------------------------------------------------------------------------

    def nest(self) -> list[Any]:
        """Declarations, and a loop nest that writes what they declare."""
        depth = self.draw.choice((1, 1, 1, 2, 2, 2, 2, 3, 3, 4))
        loops: list[tuple[str, str]] = []
        for _ in range(depth):
            loops.append(self.loop(loops))
        before, targets = [], []
        for _ in range(self.draw.choice((1, 1, 1, 2, 2, 3))):
            target, declare = self.again(loops, targets) or self.output(loops)
            targets.append(target)
            before += declare
        body = self.level(loops, 0, targets, Scope())
        for target, op, kind in targets:
            if target.tensor in self.spoiled:
                continue
            if op not in BY and target.tensor not in self.readable:
                self.readable.append(target.tensor)
            self.outputs.append((target, kind))
        return before + body

    def loop(self, outer: list[tuple[str, str]]) -> tuple[str, str]:
        """An index and its dimension. Some loops are over a part of it, or end where an outer index
        is, or do not begin at 0."""
        index, dim = self.fresh("i"), self.draw.choice("nnmp")
        size, choice = self.sizes[dim], self.draw.random()
        same = [name for name, d in outer if d == dim and name not in self.shifts]
        if same and choice < 0.15:
            i = self.draw.choice(same)
            forms = (f"range({i}, {size})", f"range(0, {i} + 1)", f"range(0, {i})")
            self.ranges[index] = self.draw.choice(forms)
        elif choice < 0.23 and size > 1:
            inner = (f"range(1, {size})", f"range(0, {size - 1})", f"range(1, {size - 1})")
            self.ranges[index] = self.draw.choice(inner)
        elif choice < 0.27:
            self.shifts[index] = shift = self.draw.choice((1, 2))
            self.ranges[index] = f"range({-shift}, {size - shift})"
        return index, dim

    def level(self, loops: list[Any], depth: int, targets: list[Any], scope: Scope) -> list[Any]:
        """The statements inside ``depth`` loops."""
        body: list[Any] = []
        if depth and self.chance(0.2):
            name = self.fresh("t")
            value = self.expr(scope, 1)
            self.let_kinds[name] = self.kind_of(value)
            if self.may_be_float(value):
                self.unsigned_lets.add(name)
            body.append(Let(name, value))
            scope = attrs.evolve(scope, lets=(*scope.lets, name))
        if depth < 3 and self.chance(0.15):
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
            if deepest or (self.chance(0.1) and _reaches(target, here)):
                inner.append(self.put(target, op, kind, scope))
        return body + self.guarded(inner, scope, targets)

    def guarded(self, inner: list[Any], scope: Scope, targets: list[Any]) -> list[Any]:
        """Statements, some of them under a condition."""
        if not inner or not scope.indices or not self.chance(0.25):
            return inner
        orelse: tuple[Any, ...] = ()
        if isinstance(inner[-1], Put) and self.chance(0.4):
            put = inner[-1]
            kind = next(k for t, _, k in targets if t == put.target)
            orelse = (self.put(put.target, put.op, kind, scope),)
            if self.chance(0.3):
                last = (self.put(put.target, put.op, kind, scope),) if self.chance(0.5) else ()
                orelse = (If(self.condition(scope), orelse, last),)
        return [If(self.condition(scope), tuple(inner), orelse)]

    # -- temporaries ------------------------------------------------------------------------

    def temporary(self, below: list[Any], scope: Scope) -> tuple[list[Any], Scope]:
        """A temporary that is declared here, the loops that fill it, and the scope beyond."""
        name, dims = self.fresh("w"), [d for _, d in below]
        fill = self.kind != "b" and 0
        rank = self.draw.choice((0, 0, 1, 1, 1, 2)) if below else 0
        picked = [self.draw.choice(dims or ["n"]) for _ in range(rank)]
        if rank:
            format = self.format(rank, DTYPE[self.kind], fill, output=True)
        else:
            format = self.scalar_format(fill, DTYPE[self.kind])
        self.add(name, picked, format, None, "local")
        op = "|=" if self.kind == "b" else self.draw.choice(("+=", "=", "+=", "choose(0)"))
        found: list[Any] = [Declare(name, fill)]
        thaws = all(level.thaws for level in format.levels())
        for _ in range(2 if thaws and self.chance(0.2) else 1):
            found += self.filling(name, picked, op, scope)
        found = self.moded(found)
        return found, attrs.evolve(scope, temporaries=(*scope.temporaries, name))

    def filling(self, name: str, dims: list[str], op: str, scope: Scope) -> list[Any]:
        """The loops that write a temporary."""
        loops = [(self.fresh("k"), dim) for dim in dims or [self.draw.choice("nmp")]]
        indices = tuple(Ref(k) for k, _ in loops[: len(dims)])
        deeper = attrs.evolve(scope, indices=(*scope.indices, *loops))
        body: tuple[Any, ...] = (self.put(Read(name, indices), op, self.kind, deeper),)
        for index, dim in reversed(loops):
            body = (For(index, dim, body),)
        return list(body)

    # -- modes ------------------------------------------------------------------------------

    def moded(self, body: list[Any]) -> list[Any]:
        """A block with some of its changes of mode written out: ``freeze`` and ``thaw``."""
        found: list[Any] = []
        updated: set[str] = set()
        by_hand: set[str] = set()
        """What was thawed in so many words is frozen so, too."""
        for stmt in body:
            declared = {part.tensor for part in statements((stmt,)) if isinstance(part, Declare)}
            targets = sorted(_targets(stmt) - declared)
            for name in sorted((updated & names_in(stmt)) - set(targets) - declared):
                updated.discard(name)
                if name in by_hand or self.chance(0.15):
                    by_hand.discard(name)
                    found.append(Change("freeze", name))
            for name in targets:
                thaws = all(level.thaws for level in self.operands[name].format.levels())
                if name not in updated and thaws and self.chance(0.3):
                    found.append(Change("thaw", name))
                    by_hand.add(name)
            found.append(stmt)
            updated |= {*targets, *([stmt.tensor] if isinstance(stmt, Declare) else ())}
            for name in targets:
                if self.chance(0.1):
                    found.append(Change("freeze", name))
                    updated.discard(name)
                    by_hand.discard(name)
        return found + [Change("freeze", name) for name in sorted(by_hand)]

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
        if loop.index in self.ranges:
            shifted = loop.index in self.shifts and self.chance(0.5) and self.fixed(loop)
            return "_" if shifted else self.ranges[loop.index]
        inferred = self.chance(0.9) and self.fixed(loop) and loop.index not in self.ranged
        return "_" if inferred else f"range(0, {size})"

    def fixed(self, loop: For) -> bool:
        """Whether a read of an input in the loop's body fixes its extent."""
        for stmt in statements(loop.body):
            for expr in (getattr(stmt, "value", None), getattr(stmt, "cond", None)):
                reads = [n for n in walk(expr) if isinstance(n, Read)] if expr is not None else []
                if any(self._fixes(node, loop) for node in reads):
                    return True
        return False

    def _fixes(self, node: Read, loop: For) -> bool:
        operand = self.operands[node.tensor]
        loose = any(wrap.name in ("permissive", "toeplitz") for wrap in operand.wraps)
        return operand.role == "in" and not loose and self.at(loop.index) in node.children


def _targets(stmt: Any) -> set[str]:
    """The tensors that a statement updates."""
    return {part.target.tensor for part in statements((stmt,)) if isinstance(part, Put)}


def _reaches(target: Any, here: set[str]) -> bool:
    names = {node.name for node in walk(target) if isinstance(node, Ref)}
    return names <= here


def make(seed: Any) -> Random:
    """The random program of this seed. Code grows fast with what is merged in one loop, so most of
    what would be large is drawn again."""
    draw = random.Random(seed)
    bearable = draw.choices((2.0, 3.5, 7.0), (50, 44, 6))[0]
    for attempt in itertools.count():
        program = Maker(f"{seed}/{attempt}").program()
        if weight(program) <= bearable:
            return attrs.evolve(program, seed=seed)
    raise AssertionError


def weight(program: Random) -> float:
    """How many sparse levels, masks and paddings the largest loop nest merges."""
    levels = {o.name: o.format.levels()[:-1] for o in program.operands if o.format}
    sparse = {name: sum(not lvl.stores_fill for lvl in of) for name, of in levels.items()}
    return max((_weight(stmt, sparse) for stmt in program.body), default=0.0)


def _weight(stmt: Any, sparse: dict[str, int]) -> float:
    nodes = [n for part in statements((stmt,)) for e in exprs(part) for n in walk(e)]
    reads = sum(sparse.get(n.tensor, 1) for n in nodes if isinstance(n, Read))
    return reads + 0.7 * sum(isinstance(n, Op) and n.op in SPLITS for n in nodes)
