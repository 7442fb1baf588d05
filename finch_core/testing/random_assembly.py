"""Random assembly that terminates and stays in bounds."""

from __future__ import annotations

import random
from typing import Any

from finch_core.ir.assembly import Block
from finch_core.ir.builder import Builder, Names
from finch_core.ir.dtypes import INTP
from finch_core.ir.expressions import Buffer, Expr, Load, Var, lift
from finch_core.ir.typing import typed

SIZE = 6
N = Var("n", INTP)
BUFFERS = tuple(Buffer(name, INTP) for name in ("a", "b", "c"))


def random_block(seed: int) -> Block:
    """Typed statements over ``BUFFERS``, of ``SIZE`` elements each, and the small number ``N``."""
    author = Author(seed)
    author.block(depth=3, count=6)
    return typed(author.b.finish())


class Author:
    """Writes random statements; indices are taken modulo the size of buffers."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.b = Builder(Names(["a", "b", "c", "n"]), constants=(N,))
        self.values: list[Expr] = [N, lift(0), lift(1), lift(2)]
        self.mutable: list[Var] = []
        self.flags: list[Var] = []
        self.loops = 0

    def value(self) -> Expr:
        """An integer expression."""
        first = self.random.choice(self.values)
        kind = self.random.randrange(5)
        if kind == 0:
            return first + self.random.choice(self.values)
        return self.load() if kind == 1 else first

    def index(self) -> Expr:
        """An index into a buffer."""
        return self.random.choice(self.values) % SIZE

    def load(self) -> Load:
        """An element of a buffer."""
        return Load(self.random.choice(BUFFERS), lift(self.index()))

    def cond(self) -> Expr:
        """A condition."""
        if self.flags and self.random.random() < 0.6:
            flag = self.random.choice(self.flags)
            return flag if self.random.random() < 0.7 else flag.not_()
        return self.value() < self.value()

    def block(self, depth: int, count: int) -> None:
        """Statements in a scope of their own."""
        saved = list(self.values), list(self.mutable), list(self.flags)
        for _ in range(count):
            self.statement(depth)
        self.values, self.mutable, self.flags = saved

    def statement(self, depth: int) -> None:
        """One statement, with loops and branches to this depth."""
        plain = [self.let, self.var, self.flag, self.set, self.store, self.update, self.update,
                 self.range]  # fmt: skip
        if self.loops:
            plain.append(self.leave)
        nested = [self.branch, self.loop, self.loop, self.turns, self.sieve] if depth else []
        k = self.random.randrange(len(plain) + len(nested))
        if k < len(plain):
            plain[k]()
        else:
            nested[k - len(plain)](depth)

    def let(self) -> None:
        """A constant."""
        self.values.append(self.b.let("v", self.value()))

    def var(self) -> None:
        """A variable."""
        self.mutable.append(self.b.var("m", self.value()))
        self.values.append(self.mutable[-1])

    def flag(self) -> None:
        """A boolean variable."""
        self.flags.append(self.b.var("f", self.random.random() < 0.5))

    def set(self) -> None:
        """An assignment to a variable."""
        if self.flags and self.random.random() < 0.5:
            self.b.assign(self.random.choice(self.flags), self.random.random() < 0.5)
        elif self.mutable:
            self.b.assign(self.random.choice(self.mutable), self.value())

    def store(self) -> None:
        """A store."""
        self.b.store(self.random.choice(BUFFERS), self.index(), self.value())

    def update(self) -> None:
        """An update of an element."""
        place = self.load()
        self.b.store(place.buffer, place.index, place + self.value())

    def range(self) -> None:
        """A fill, a move or a sort of a range, perhaps empty."""
        start, stop = sorted(self.random.randrange(SIZE + 1) for _ in "xy")
        buffer, other = (self.random.choice(BUFFERS) for _ in "xy")
        kind = self.random.randrange(3)
        if kind == 0:
            self.b.fill(buffer, start, stop, self.value())
        elif kind == 1:
            self.b.move(buffer, start, other, SIZE - stop, stop - start)
        else:
            self.b.sort(buffer, start, stop)

    def branch(self, depth: int) -> None:
        """One of two blocks."""
        with self.b.if_(self.cond()):
            self.block(depth - 1, 2)
        with self.b.else_():
            self.block(depth - 1, self.random.randrange(2))

    def loop(self, depth: int) -> None:
        """A loop over a range."""
        with self.b.for_("i", 0, self.random.choice([N, lift(2), lift(3)])) as i:
            self.within(depth, i)

    def sieve(self, depth: int) -> None:
        """A loop whose iterations test an element, and may set a flag."""
        buffer = self.random.choice(BUFFERS)
        with self.b.for_("i", self.random.randrange(2), self.random.choice([N, lift(3)])) as i:
            flag = self.b.var("f", False)
            test = Load(buffer, i) < self.value()
            more = self.random.choice([None, self.cond()])
            with self.b.if_(test if more is None else test.and_(more)):
                if self.random.random() < 0.5:
                    self.b.assign(flag, True)
                self.loop(depth)
            with self.b.if_(flag):
                self.update()

    def turns(self, depth: int) -> None:
        """A loop with a condition."""
        left = self.b.var("left", N)
        with self.b.while_(left > 0):
            self.b.assign(left, left - 1)
            self.within(depth, left)

    def within(self, depth: int, counter: Any) -> None:
        """The body of a loop."""
        self.values.append(counter)
        self.loops += 1
        self.block(depth - 1, 3)
        self.loops -= 1
        self.values.remove(counter)

    def leave(self) -> None:
        """A conditional break or failure."""
        with self.b.if_(self.cond()):
            if self.random.random() < 0.5:
                self.b.break_()
            else:
                self.b.fail(1, self.value())
