"""Random assembly means the same after the passes on it, together and each alone."""

import random

import numpy as np
import pytest

from finch_core.builder import Builder, Names
from finch_core.dtypes import INTP
from finch_core.expressions import Buffer, Load, Var, lift
from finch_core.optimize import PASSES, optimize
from finch_core.run_block import run_block
from finch_core.typing_pass import typed

BUFFERS = [Buffer(name, INTP) for name in ("a", "b", "c")]
SIZE = 6
N = Var("n", INTP)
ALL = {name for name, _ in PASSES}


class Author:
    """Writes random statements; every index is taken modulo the size, so that all is in bounds."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.b = Builder(Names(["a", "b", "c", "n"]), constants=(N,))
        self.values = [N, lift(0), lift(1), lift(2)]
        self.mutable, self.flags = [], []
        self.loops = 0

    def value(self):
        first = self.random.choice(self.values)
        kind = self.random.randrange(5)
        if kind == 0:
            return first + self.random.choice(self.values)
        if kind == 1:
            return self.load()
        return first

    def index(self):
        return self.random.choice(self.values) % SIZE

    def load(self):
        return Load(self.random.choice(BUFFERS), lift(self.index()))

    def cond(self):
        if self.flags and self.random.random() < 0.6:
            flag = self.random.choice(self.flags)
            return flag if self.random.random() < 0.7 else flag.not_()
        return self.value() < self.value()

    def block(self, depth, count):
        """Statements in a scope of their own."""
        saved = list(self.values), list(self.mutable), list(self.flags)
        for _ in range(count):
            self.statement(depth)
        self.values, self.mutable, self.flags = saved

    def statement(self, depth):
        choices = [self.let, self.var, self.flag, self.set, self.store, self.update, self.update]
        if depth:
            choices += [self.branch, self.loop, self.loop, self.turns]
        if self.loops:
            choices.append(self.leave)
        step = self.random.choice(choices)
        step(depth) if step in (self.branch, self.loop, self.turns) else step()

    def let(self):
        self.values.append(self.b.let("v", self.value()))

    def var(self):
        self.mutable.append(self.b.var("m", self.value()))
        self.values.append(self.mutable[-1])

    def flag(self):
        self.flags.append(self.b.var("f", self.random.random() < 0.5))

    def set(self):
        if self.flags and self.random.random() < 0.5:
            self.b.assign(self.random.choice(self.flags), self.random.random() < 0.5)
        elif self.mutable:
            self.b.assign(self.random.choice(self.mutable), self.value())

    def store(self):
        self.b.store(self.random.choice(BUFFERS), self.index(), self.value())

    def update(self):
        place = self.load()
        self.b.store(place.buffer, place.index, place + self.value())

    def branch(self, depth):
        with self.b.if_(self.cond()):
            self.block(depth - 1, 2)
        with self.b.else_():
            self.block(depth - 1, self.random.randrange(2))

    def loop(self, depth):
        with self.b.for_("i", 0, self.random.choice([N, lift(2), lift(3)])) as i:
            self.within(depth, i)

    def turns(self, depth):
        left = self.b.var("left", N)
        with self.b.while_(left > 0):
            self.b.assign(left, left - 1)
            self.within(depth, left)

    def within(self, depth, counter):
        self.values.append(counter)
        self.loops += 1
        self.block(depth - 1, 3)
        self.loops -= 1
        self.values.remove(counter)

    def leave(self):
        with self.b.if_(self.cond()):
            if self.random.random() < 0.5:
                self.b.break_()
            else:
                self.b.fail(1, self.value())


@pytest.mark.parametrize("seed", range(120))
def test_passes_keep_the_meaning(seed):
    author = Author(seed)
    author.block(depth=3, count=6)
    block = typed(author.b.finish())
    variants = [optimize(block), *(optimize(block, ALL - {name}) for name in sorted(ALL))]
    for n in (0, 2):
        values = {N: n, **{b: np.arange(SIZE) * (k + 1) for k, b in enumerate(BUFFERS)}}
        expected = run_block(block, values)
        for variant in variants:
            got = run_block(variant, values)
            assert got[0] == expected[0]
            for name, value in expected[1].items():
                np.testing.assert_array_equal(got[1][name], value)
