"""The suites of authors notice what is wrong: a backend and wrappers with a mistake each."""

from __future__ import annotations

import sys

import attrs
import numpy as np
import pytest

from finch_core.errors import FormatError
from finch_core.ir.assembly import Block, Fill, If, Kernel, Statement
from finch_core.ir.assembly_rewrite import with_blocks
from finch_core.reference.interpreter import InterpretedKernel, Interpreter
from finch_core.testing import BackendSuite, Example, LevelSuite, View, WrapperSuite
from finch_levels import SparseList
from finch_wrappers import offset
from finch_wrappers.offset import OffsetTensor


def changed(block: Block, change) -> Block:
    """A block whose statements are changed, from the innermost on."""
    inside = (with_blocks(s, tuple(changed(b, change) for b in s.blocks)) for s in block.statements)
    return Block(tuple(change(statement) for statement in inside))


class Mistaken(Interpreter):
    """An interpreter that reads assembly wrongly."""

    def __init__(self, mistake) -> None:
        super().__init__()
        object.__setattr__(self, "mistake", mistake)

    def compile(self, kernel: Kernel, *, key: str = "") -> InterpretedKernel:
        return super().compile(attrs.evolve(kernel, body=changed(kernel.body, self.mistake)))


def no_else(statement: Statement) -> Statement:
    return attrs.evolve(statement, orelse=Block()) if isinstance(statement, If) else statement


def long_fill(statement: Statement) -> Statement:
    if not isinstance(statement, Fill):
        return statement
    return attrs.evolve(statement, start=statement.stop.min(statement.start + 1))


def suite(mistake) -> BackendSuite:
    members = {"name": "interpreter", "made": classmethod(lambda cls: Mistaken(mistake))}
    return type("Suite", (BackendSuite,), members)()


def test_a_lost_branch_is_noticed() -> None:
    suite(lambda s: s).test_one_of_two_blocks_runs()
    with pytest.raises(AssertionError):
        suite(no_else).test_one_of_two_blocks_runs()


def test_a_fill_that_begins_late_is_noticed() -> None:
    dtype = np.dtype(np.float64)
    suite(lambda s: s).test_fills_are_of_a_range_or_of_nothing(dtype)
    with pytest.raises(AssertionError):
        suite(long_fill).test_fills_are_of_a_range_or_of_nothing(dtype)


class Late(OffsetTensor):
    """Says that it shifts by one more than it does."""

    @staticmethod
    def examples(view: View):
        ranges = tuple((lo - 2, hi - 2) for lo, hi in view.ranges)
        seen = view.moved(lambda index: tuple(i + 2 for i in index), ranges=ranges)
        yield Example(lambda tensor: offset(tensor, *(1,) * view.ndim), seen)


@pytest.mark.parametrize("test", ["test_it_reads_what_is_there", "test_it_is_updated_or_refuses"])
def test_a_wrapper_that_does_not_do_what_it_says_is_noticed(test: str) -> None:
    made = type("Suite", (WrapperSuite,), {"wrapper": Late})()
    run = getattr(made, test)
    with pytest.raises((AssertionError, LookupError, ValueError)):
        run("interpreter", "Dense", {"interpreter": 1.0})
    right = type("Suite", (WrapperSuite,), {"wrapper": OffsetTensor})()
    getattr(right, test)("interpreter", "Dense", {"interpreter": 1.0})


def test_a_wrapper_without_examples_is_noticed() -> None:
    nothing = type("Nothing", (OffsetTensor,), {"examples": staticmethod(lambda view: ())})
    made = type("Suite", (WrapperSuite,), {"wrapper": nothing})()
    with pytest.raises(AssertionError):
        made.test_it_has_examples("interpreter")


class Forgets(SparseList):
    """Begins anew where it is thawed, and forgets what it holds."""

    name = "Forgets"
    layout = ""

    def thaw(self, ctx, lvl, stop):
        lvl.state["stored"] = ctx.var(f"{lvl.name}_stored", 0)
        lvl.state["room"] = ctx.var(f"{lvl.name}_room", 0)
        ctx.fill(lvl.buffer("ptr"), 0, stop + 1, 0)
        lvl.child.thaw(ctx, ctx.lift(0))


class Halting(SparseList):
    """Says that it cannot be thawed."""

    name = "Halting"
    layout = ""
    thaws = False


class Misspelt(SparseList):
    name = "Misspelt"
    layout = ""
    protocols = frozenset({"walk", "folow"})


def levels(level) -> LevelSuite:
    return type("Suite", (LevelSuite,), {"format": level})()


@pytest.mark.parametrize("test", ["test_what_is_stored_is_continued", "test_fibers_are_continued"])
def test_a_thaw_that_forgets_is_noticed(test: str) -> None:
    getattr(levels(SparseList), test)("interpreter")
    getattr(levels(Halting), test)("interpreter")
    with pytest.raises((AssertionError, FormatError)):
        getattr(levels(Forgets), test)("interpreter")


def test_protocols_that_there_are_not_are_noticed() -> None:
    levels(SparseList).test_each_protocol_reads_what_is_there("interpreter")
    with pytest.raises(AssertionError, match="names protocols that there are not"):
        levels(Misspelt).test_each_protocol_reads_what_is_there("interpreter")


def test_a_failing_assertion_of_a_suite_shows_its_values():
    for suite in (BackendSuite, LevelSuite, WrapperSuite):
        loader = sys.modules[suite.__module__].__loader__
        assert type(loader).__name__ == "AssertionRewritingHook"
