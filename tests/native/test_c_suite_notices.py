"""``BackendSuite`` notices C backends that are careless with memory."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from finch_backend_c.cbackend import CBackend
from finch_backend_c.loader import CKernel, ffi
from finch_core.ir.assembly import Assign, Block, Kernel, Record
from finch_core.ir.expressions import Var
from finch_core.testing import BackendSuite
from finch_core.testing.isolation import isolated


class Replacing(CBackend):
    """A C backend with a mistake in its text."""

    old, new = "", ""

    def _build(self, compiler: Any, source: str, windows: bool) -> bytes:
        assert self.old in source
        return super()._build(compiler, source.replace(self.old, self.new), windows)


class LeavesOldRoom(Replacing):
    old, new = "free(old);", ";"


class LoadsAhead(Replacing):
    old, new = "__builtin_prefetch(", "(void)*(volatile const char *)("


class Keeping(CKernel):
    def adopt(self, address: int, nbytes: int) -> Any:
        return ffi().buffer(ffi().cast("char *", address), nbytes)


class KeepsAdopted(CBackend):
    def compile(self, kernel: Kernel, *, key: str = "") -> CKernel:
        made = super().compile(kernel)
        return Keeping(made.function, made.source, library=made._library)


class StoresAllBack(CBackend):
    """Takes all variables of the records for such as change."""

    def compile(self, kernel: Kernel, *, key: str = "") -> CKernel:
        (record,) = kernel.params
        assert isinstance(record, Record)
        slots = tuple(attrs.evolve(slot, written=True) for slot in record.slots)
        variables = (slot.target for slot in slots if isinstance(slot.target, Var))
        body = Block((*(Assign(v, v) for v in variables), *kernel.body.statements))
        params = (attrs.evolve(record, slots=slots),)
        return super().compile(attrs.evolve(kernel, params=params, body=body))


CRASH = "SIGSEGV ended the process:"
MISTAKES = {
    "adopted_memory_is_freed_with_its_last_user": (KeepsAdopted, "memory that was adopted is not"),
    "what_a_growth_replaces_is_freed": (LeavesOldRoom, "what a growth replaces is not freed"),
    "what_is_not_written_may_be_read_only": (
        StoresAllBack,
        f"{CRASH} a kernel stores to what it does not write",
    ),
    "a_prefetch_changes_nothing": (LoadsAhead, f"{CRASH} a Prefetch loads its element"),
}
"""What the suite tests, a backend that does not do it, and what one is told."""


@pytest.mark.parametrize("test", MISTAKES)
def test_careless_memory_is_noticed(test: str, capfd: pytest.CaptureFixture[str]) -> None:
    """In a process of its own, since what is not freed stays."""
    backend, told = MISTAKES[test]

    def run() -> None:
        members = {"name": "c", "made": classmethod(lambda cls: backend(flags=("-O1",)))}
        getattr(type("Suite", (BackendSuite,), members)(), f"test_{test}")()

    with pytest.raises(AssertionError, match="in a process of its own"):
        isolated(run, "")
    assert f"AssertionError: {told}" in capfd.readouterr().err
