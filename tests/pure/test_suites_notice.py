"""The suites of authors notice what is wrong: a backend and wrappers with a mistake each."""

from __future__ import annotations

import sys
import types

import attrs
import numpy as np
import pytest

from finch_core.errors import FinchError, FormatError
from finch_core.ir.assembly import (
    Assign,
    Block,
    Comment,
    Fill,
    If,
    Kernel,
    Prefetch,
    Statement,
    Store,
)
from finch_core.ir.assembly_rewrite import with_blocks, with_children, with_expressions
from finch_core.ir.dtypes import concrete
from finch_core.ir.expressions import TRUE, Call, Cast, Load, call, cast, lift
from finch_core.ir.operators import operator
from finch_core.ir.typing import typed_kernel
from finch_core.plugins import hookimpl, hub
from finch_core.reference.interpreter import InterpretedKernel, Interpreter
from finch_core.runtime.validation import check_pointers, check_range
from finch_core.runtime.wrapping import WrapperTensor, mapped
from finch_core.runtime.wrapping import seen as wrapped_by
from finch_core.testing import BackendSuite, Example, LevelSuite, View, WrapperSuite
from finch_levels import SparseDiagonals, SparseList
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
        body = changed(kernel.body, self.mistake)
        return super().compile(typed_kernel(attrs.evolve(kernel, body=body)))


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


def loading_prefetch(statement: Statement) -> Statement:
    if not isinstance(statement, Prefetch):
        return statement
    loaded = Load(statement.buffer, statement.index)
    return If(loaded.eq(loaded), Block((Comment("loaded"),)))


def storing_all(statement: Statement) -> Statement:
    """Before each assignment, what the value loads is stored back."""
    if not isinstance(statement, Assign):
        return statement
    loads = [part for part in statement.value.walk() if isinstance(part, Load)]
    back = (Store(part.buffer, part.index, part) for part in loads)
    return If(TRUE, Block((*back, statement)))


@pytest.mark.parametrize(
    ("mistake", "test"),
    [
        (loading_prefetch, "a_prefetch_changes_nothing"),
        (storing_all, "what_is_not_written_may_be_read_only"),
    ],
)
def test_what_would_end_the_process_is_noticed(mistake, test: str) -> None:
    """Such tests run in a process of their own."""
    with pytest.raises(AssertionError, match="process"):
        getattr(suite(mistake), f"test_{test}")()


def everywhere(expr, change):
    """An expression in which each part is changed."""
    children = tuple(everywhere(child, change) for child in expr.children)
    return change(with_children(expr, children))


def calls(name, new):
    """A mistake in what an operator means: ``new`` of the operands, in its dtype."""

    def change(expr):
        if isinstance(expr, Call) and expr.op.name == name:
            return cast(new(*expr.args), concrete(expr.dtype))
        return expr

    return change


def saturates(expr):
    if not (isinstance(expr, Cast) and expr.type == np.uint8 and expr.value.dtype == np.float64):
        return expr
    return Cast(expr.value.max(lift(0.0)).min(lift(255.0)), expr.type)


def apply(name, *args):
    return call(operator(name), *args)


BEYOND, OPERATORS = (
    "casts_out_of_range_are_those_of_the_contract",
    "operators_mean_what_they_evaluate_to",
)
MISREAD = {
    "casts saturate": (saturates, BEYOND, (), "uint8"),
    "ctz(0) is 0": (
        calls("ctz", lambda x: apply("ifelse", x.eq(0), np.uint8(0), apply("ctz", x))),
        OPERATORS, ["int32"], "ctz: ",
    ),
    "min is NumPy's": (
        calls("min", lambda x, y: apply("minimum", x, y)), OPERATORS, ["float64"], "min: "
    ),
    "half precision is not computed": (
        calls("sqrt", lambda x: x), OPERATORS, ["float16"], "sqrt: "
    ),
    "functions are not accurate": (
        calls("exp", lambda x: apply("exp", x) * 1.00001), OPERATORS, ["float64"], "exp: "
    ),
    "// truncates": (
        calls("floordiv", lambda x, y: (x - apply("fmod", x, y)) // y),
        OPERATORS, ["int64"], "floordiv: ",
    ),
    "complex numbers are in another order": (
        calls("lt", lambda x, y: apply("real", x) < apply("real", y)),
        OPERATORS, ["complex128"], "lt: ",
    ),
}  # fmt: skip
"""Mistakes, the test that notices, with its dtypes, and what it says."""


@pytest.mark.parametrize("mistake", MISREAD)
def test_a_misreading_of_the_contract_is_noticed(mistake: str) -> None:
    change, test, arguments, told = MISREAD[mistake]

    def misread(statement: Statement) -> Statement:
        return with_expressions(
            statement, tuple(everywhere(e, change) for e in statement.expressions)
        )

    with pytest.raises(AssertionError, match=told):
        getattr(suite(misread), f"test_{test}")(*map(np.dtype, arguments))


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


class Repeated(WrapperTensor):
    """A tensor that goes on from its first element after its last."""

    name = "repeated"

    @staticmethod
    def match_access(access, scope):
        argument = wrapped_by(access, Repeated)
        if argument is None:
            return None
        pairs = zip(access.indices, argument.params, strict=True)
        indices = tuple(mapped(index, lambda i, n=n: i % n) for index, n in pairs)
        return attrs.evolve(access, tensor=argument.inner, indices=indices)

    @staticmethod
    def examples(view: View):
        sizes = tuple(stop for _, stop in view.ranges)
        if all(sizes) and not any(start for start, _ in view.ranges):
            place = view.moved(
                lambda index: tuple(i % n for i, n in zip(index, sizes, strict=True)),
                ranges=tuple((-3, n + 5) for n in sizes),
                sized=(False,) * view.ndim,
                endless=True,
            )
            yield Example(lambda tensor: Repeated(tensor, (), sizes), place)


class SaysItEnds(Repeated):
    @staticmethod
    def examples(view: View):
        for example in Repeated.examples(view):
            yield attrs.evolve(example, view=attrs.evolve(example.view, endless=False))


class EndsAfterAll(OffsetTensor):
    @staticmethod
    def examples(view: View):
        for example in OffsetTensor.examples(view):
            yield attrs.evolve(example, view=attrs.evolve(example.view, endless=True))


@pytest.fixture
def repeated():
    """While it is used, kernels know ``Repeated``."""
    hub().register(types.SimpleNamespace(finch_wrapper=hookimpl(lambda: Repeated)), "repeated")
    yield
    hub().unregister("repeated")


@pytest.mark.usefixtures("repeated")
def test_a_wrapper_with_elements_everywhere_passes() -> None:
    made = type("Suite", (WrapperSuite,), {"wrapper": Repeated})()
    for level in ("Dense", "SparseList"):
        made.test_it_reads_what_is_there("interpreter", level, {"interpreter": 1.0})
    made.test_beyond_its_ranges_nothing_is_read("interpreter")
    wrong = type("Suite", (WrapperSuite,), {"wrapper": SaysItEnds})()
    with pytest.raises(pytest.fail.Exception, match="with elements everywhere is `endless`"):
        wrong.test_beyond_its_ranges_nothing_is_read("interpreter")
    wrong = type("Suite", (WrapperSuite,), {"wrapper": EndsAfterAll})()
    with pytest.raises((FinchError, AssertionError, TypeError)):
        wrong.test_beyond_its_ranges_nothing_is_read("interpreter")


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


class SaysAlike(SparseList):
    """Says that all fibers have the same subfibers."""

    name = "SaysAlike"
    layout = ""

    def alike(self, ctx, lvl, other, stop):
        return TRUE, super().alike(ctx, lvl, other, stop)[1]


class SaysAscending(SparseList):
    """Says that indices increase from fiber to fiber."""

    name = "SaysAscending"
    layout = ""

    @property
    def fields(self):
        return tuple(attrs.evolve(field, ascending=True) for field in super().fields)


class SaysNonnegative(SparseDiagonals):
    """Says that no diagonal lies below another."""

    name = "SaysNonnegative"
    layout = ""

    @property
    def fields(self):
        return tuple(attrs.evolve(field, nonnegative=True) for field in super().fields)


class Short(SparseList):
    """Keeps 16 bits of each index, and does not ask whether that is enough."""

    name = "Short"
    layout = ""

    @property
    def fields(self):
        short = {"idx": {"dtype": np.dtype(np.int16), "indices": False}}
        return tuple(attrs.evolve(f, **short.get(f.name, {})) for f in super().fields)


class Unchecked(SparseList):
    """Takes any buffers."""

    name = "Unchecked"
    layout = ""

    def validate(self, positions, shape, fields):
        pass


class InNoOrder(Unchecked):
    """Takes indices in any order, and has no other protocol that would find others than a walk."""

    name = "InNoOrder"
    protocols = frozenset({"walk"})

    def validate(self, positions, shape, fields):
        check_pointers("ptr", fields["ptr"], positions)
        check_range("idx", fields["idx"], int(fields["ptr"][positions]), 0, shape - 1)


class Failing(SparseList):
    """Expects that pointers have been checked before."""

    name = "Failing"
    layout = ""

    def validate(self, positions, shape, fields):
        fields["ptr"][positions], fields["idx"][0], 1 // fields["ptr"][1]
        super().validate(positions, shape, fields)


def levels(level) -> LevelSuite:
    return type("Suite", (LevelSuite,), {"format": level})()


@pytest.mark.parametrize("test", ["test_what_is_stored_is_continued", "test_fibers_are_continued"])
def test_a_thaw_that_forgets_is_noticed(test: str) -> None:
    getattr(levels(SparseList), test)("interpreter")
    getattr(levels(Halting), test)("interpreter")
    with pytest.raises((AssertionError, FormatError)):
        getattr(levels(Forgets), test)("interpreter")


def test_a_lie_about_patterns_is_noticed() -> None:
    levels(SparseList).test_patterns_are_told_apart("interpreter")
    with pytest.raises((AssertionError, FinchError)):
        levels(SaysAlike).test_patterns_are_told_apart("interpreter")
    levels(SparseList).test_what_is_stored_is_asked("interpreter")
    with pytest.raises(AssertionError, match="_idx decreases"):
        levels(SaysAscending).test_what_is_stored_is_asked("interpreter")
    with pytest.raises(AssertionError, match="negative"):
        levels(SaysNonnegative).test_what_is_stored_is_asked("interpreter")


@pytest.mark.parametrize(
    ("level", "told"),
    [
        (
            Unchecked,
            "a kernel ends with AssemblyFault: .* is outside of .*: `validate` is to raise",
        ),
        (InNoOrder, "idx has 3 at 0, not 1, and then `walk` reads other values .*: `validate` is"),
        (Failing, "raises IndexError: "),
    ],
)
def test_a_level_that_does_not_validate_its_buffers_is_noticed(level, told: str) -> None:
    levels(SparseList).test_wrong_buffers_are_refused("interpreter")
    with pytest.raises(AssertionError, match=told):
        levels(level).test_wrong_buffers_are_refused("interpreter")


def test_protocols_that_there_are_not_are_noticed() -> None:
    levels(SparseList).test_each_protocol_reads_what_is_there("interpreter")
    with pytest.raises(AssertionError, match="names protocols that there are not"):
        levels(Misspelt).test_each_protocol_reads_what_is_there("interpreter")


def test_a_failing_assertion_of_a_suite_shows_its_values():
    for suite in (BackendSuite, LevelSuite, WrapperSuite):
        loader = sys.modules[suite.__module__].__loader__
        assert type(loader).__name__ == "AssertionRewritingHook"
