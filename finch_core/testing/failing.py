"""Backends that run out of memory at a chosen allocation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from finch_core.interface.abi import Backend, CompiledKernel
from finch_core.ir.assembly import Assign, Block, Grow, If, Kernel, Let, Statement
from finch_core.ir.assembly_rewrite import with_blocks
from finch_core.ir.dtypes import INTP
from finch_core.ir.expressions import Length, Literal, Var
from finch_core.records import define, evolve, field

ALL_MEMORY = Literal(2**60, INTP)
COUNT = Var("allocations_so_far", INTP)


@define
class FailingBackend:
    """``backend``, except that allocation ``number`` (from 0) of each call fails, since the kernel
    requests more memory there than exists."""

    backend: Backend
    number: int
    name: str = field(init=False)

    @name.default
    def _name(self) -> str:
        return self.backend.name

    def available(self) -> str:
        return self.backend.available()

    def compile(self, kernel: Kernel, *, key: str = "") -> CompiledKernel:
        start = Let(COUNT, Literal(0, INTP), mutable=True)
        body = Block((start, *self._block(kernel.body).statements))
        return self.backend.compile(evolve(kernel, body=body))

    def load(self, key: str, params: int) -> CompiledKernel | None:
        return None

    def _block(self, block: Block) -> Block:
        return Block(tuple(s for old in block.statements for s in self._statements(old)))

    def _statements(self, statement: Statement) -> Iterator[Statement]:
        if isinstance(statement, Grow):
            last = COUNT.eq(Literal(self.number, INTP))
            fails = If(last, Block((Grow(statement.buffer, ALL_MEMORY),)))
            counted = Block((fails, Assign(COUNT, COUNT + Literal(1, INTP))))
            size: Any = statement.size
            yield If(size > Length(statement.buffer), counted)
        yield with_blocks(statement, tuple(map(self._block, statement.blocks)))
