"""Plans of programs that are written out, not made from a request."""

from __future__ import annotations

from collections.abc import Sequence

from finch_array.orders import Order
from finch_array.plans import Plan
from finch_array.ready import blank_of
from finch_array.requests import Indices, Request
from finch_core.interface.level import Format
from finch_core.ir.program import Program
from finch_core.runtime.kernel import Kernel
from finch_core.runtime.options import ALONG_DATA, Options


def plan_of(program: Program, loops: Indices, format: Format, extended: Sequence[str] = ()) -> Plan:
    """The plan of a program whose result has these indices, and this format. Its parameters are
    ``out``, the operands, and the sizes ``extended``."""
    count = len(program.params) - 1 - len(extended)
    request = Request(program.name, lambda *x: x[0], (loops,) * count, loops)
    return Plan(
        request, Order(loops, ()), {},
        Kernel.of_program(program, Options(small=ALONG_DATA), quiet=True),
        format=format, stored=loops, extended=tuple(extended), plain=not extended,
        blank=blank_of(format),
    )  # fmt: skip


__all__ = ["plan_of"]
