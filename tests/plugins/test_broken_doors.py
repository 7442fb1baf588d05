"""Each door broken in each way: what one sees names the plugin, the hook and the remedy, and
nothing else suffers."""

from __future__ import annotations

import contextlib
import re
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from plugin_support import plugin, registered

from finch_core import FormatError, PluginError, Tensor, _, asarray, kernel, read, write
from finch_core.interface.assembly_passes import AssemblyPass
from finch_core.interface.conversions import Conversion
from finch_core.interface.plugin_checks import REGISTERING
from finch_core.io import Coordinates, FileFormat
from finch_core.ir.assembly import For
from finch_core.ir.assembly_rewrite import with_blocks, with_statements
from finch_core.ir.expressions import Var, cast
from finch_core.ir.stored_dtypes import StoredDtype
from finch_core.operators import Operator
from finch_core.plugins import INTERFACE, Hub, hub
from finch_core.records import evolve
from finch_levels import Dense, Element, Scalar, SparseList


def boom(*args: Any) -> Any:
    raise ValueError("boom")


@kernel
def total(s, A):
    for i, j in _:
        s[()] += A[i, j]


@pytest.fixture(autouse=True)
def _nothing_else_suffers() -> Any:
    """What has nothing to do with the broken plugin works, with it and without."""
    yield
    s = Scalar(0.0)
    total(s, np.eye(3))
    assert s.value == 3
    total(s, Tensor(Dense(SparseList(Element(0.0))), np.eye(2)))
    assert s.value == 5


@contextlib.contextmanager
def refused(told: str, **hooks: Any) -> Iterator[pytest.ExceptionInfo[PluginError]]:
    """With a plugin that has these hooks, a ``PluginError`` with this text is raised."""
    with registered("by_hand", **hooks), pytest.raises(PluginError, match=told) as caught:
        yield caught


# -- hooks ----------------------------------------------------------------------------------------


def with_parameter(extra: Any) -> list[Any]:
    return []


def with_default(extra: Any = None) -> list[Any]:
    return []


BROKEN_HOOKS: dict[str, tuple[Callable[..., Any], str]] = {
    "raises": (boom, r"{hook}\(\) failed: ValueError: boom"),
    "exits": (lambda: exec("raise SystemExit(2)"), r"{hook}\(\) failed: SystemExit: 2"),
    "gives nothing": (lambda: None, r"{hook}\(\) returns nothing"),
    "gives a number": (lambda: 5, "5 has no name|lacks the method"),
    "gives an object": (lambda: types.SimpleNamespace(name="x"), "the {kind} 'x' (lacks|is)"),
    "takes more": (with_parameter, "wrong signature"),
    "has a default": (with_default, "the parameter 'extra' of '{hook}' has a default"),
}


@pytest.mark.parametrize("way", BROKEN_HOOKS)
@pytest.mark.parametrize("hook", REGISTERING)
def test_a_broken_hook_is_refused_and_named(hook: str, way: str) -> None:
    function, told = BROKEN_HOOKS[way]
    found = Hub()
    with pytest.raises(PluginError) as caught:
        found.register(plugin(**{hook: function}), "mine")
    message = str(caught.value)
    assert "the plugin 'mine' (registered by hand): " in message
    assert caught.value.hint
    wanted = told.format(hook=hook, kind=REGISTERING[hook])
    assert re.search(wanted, message), message
    assert not found.report()
    found.register(plugin(**{hook: lambda: []}), "mine")  # the name is free


@pytest.mark.parametrize("hook", REGISTERING)
def test_a_plugin_for_a_newer_interface_is_refused(hook: str) -> None:
    module = plugin(**{hook: lambda: []})
    module.finch_interface = INTERFACE + 1
    with pytest.raises(PluginError, match=f"'mine' .*is made for version {INTERFACE + 1}"):
        Hub().register(module, "mine")


# -- conversions ----------------------------------------------------------------------------------


class Table:
    """An object of another library."""

    __table__ = True
    shape = (2, 2)


def conversion(**changes: Any) -> Any:
    fields: dict[str, Any] = {
        "name": "tables", "attribute": "__table__", "objects": "tables",
        "take": lambda table: asarray(np.eye(2)), "give": lambda tensor: Table(),
    }  # fmt: skip
    return {"finch_conversion": lambda: Conversion(**fields | changes)}


USES: dict[str, Callable[[], Any]] = {
    "asarray": lambda: asarray(Table()),
    "Tensor": lambda: Tensor(Dense(Dense(Element(0.0))), Table()),
    "a kernel": lambda: total(np.zeros(()), Table()),
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize(
    ("take", "told"),
    [
        (boom, "failed: ValueError: boom"),
        (lambda table: None, "gives None, which is not a tensor"),
        (lambda table: 5, "gives 5, which is not a tensor"),
        (lambda table: table, "gives <.*, which is not a tensor"),
        (lambda table: np.eye(2), "gives array.*(.|\n)*, which is not a tensor"),
        (
            lambda table: asarray(np.ones((1, 2))),
            r"of the shape \(1, 2\) for an object of the .*2\)",
        ),
        (lambda table: asarray(np.ones(2)), r"of the shape \(2,\) for an object of the .*2\)"),
    ],
)
def test_a_conversion_that_lies(use: str, take: Any, told: str) -> None:
    with (
        registered("by_hand", **conversion(take=take)),
        pytest.raises(PluginError, match=f"take of the conversion 'tables' of 'by_hand'.* {told}"),
    ):
        USES[use]()


@pytest.mark.parametrize(
    ("field", "function", "told"),
    [
        ("state", boom, "state of .* failed: ValueError: boom"),
        ("state", lambda table: 5, "state of .* gives 5, which is not a value and a list of arr"),
        ("unchanged", boom, "unchanged of .* failed: ValueError: boom"),
        ("unchanged", lambda table: 5, "unchanged of .* gives 5, which is not a function"),
    ],
)
def test_other_functions_of_a_conversion(field: str, function: Any, told: str) -> None:
    with refused(told, **conversion(**{field: function})):
        total.bind(np.zeros(()), Table())


@pytest.mark.parametrize(
    ("memory", "told"), [(boom, "memory of .* failed"), (lambda table: 5, "which is not an array")]
)
def test_the_memory_of_a_conversion(memory: Any, told: str) -> None:
    with refused(told, **conversion(memory=memory)):
        total(Table(), np.eye(2))


# -- files ----------------------------------------------------------------------------------------

ONE, TWO = np.array([0]), np.array([0, 1])
BROKEN_LOADS: dict[str, tuple[Any, str]] = {
    "nothing": (None, "gives None, which is no content"),
    "text": ("abc", "gives 'abc', which is no content"),
    "half a tensor": (Coordinates((2, 2), (TWO,), TWO), "1 arrays of indices for 2 dimensions"),
    "unequal": (Coordinates((2, 2), (TWO, ONE), TWO), "that differ in length"),
    "few values": (Coordinates((2, 2), (TWO, TWO), ONE), "that differ in length"),
    "a table": (Coordinates((2,), (np.eye(2, dtype=int),), np.eye(2)), "not one-dimensional"),
    "floats": (Coordinates((2,), (TWO * 0.5,), TWO), "indices of float64, which are not integers"),
    "no shape": (Coordinates("ab", (TWO, TWO), TWO), "'ab', which is not a tuple of integers"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("way", BROKEN_LOADS)
def test_a_reader_that_gives_no_tensor(tmp_path: Path, way: str) -> None:
    content, told = BROKEN_LOADS[way]
    (tmp_path / "a.bad").write_text("x")
    hooks = {"finch_file_format": lambda: FileFormat("bad", (".bad",), lambda path: content)}
    with registered("by_hand", **hooks), pytest.raises(PluginError, match=told) as caught:
        read(tmp_path / "a.bad")
    assert "load of the file format 'bad' of 'by_hand' (registered by hand) gives " in str(
        caught.value
    )
    assert "it returns Coordinates" in caught.value.hint


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (Coordinates((2,), (TWO * 5,), TWO), "a.bad: index 5 of dimension 0"),
        (Coordinates((2,), (TWO - 1,), TWO), "a.bad: index -1 of dimension 0"),
        (np.array(["x"], object), "a.bad: tensors of object are not supported"),
    ],
)
def test_content_that_is_out_of_range_names_the_file(
    tmp_path: Path, content: Any, told: str
) -> None:
    (tmp_path / "a.bad").write_text("x")
    hooks = {"finch_file_format": lambda: FileFormat("bad", (".bad",), lambda path: content)}
    with registered("by_hand", **hooks), pytest.raises(FormatError, match=told):
        read(tmp_path / "a.bad")


@pytest.mark.parametrize(
    ("save", "told"),
    [
        (boom, "save of the file format 'bad' of 'by_hand' .* failed: ValueError: boom"),
        (lambda tensor, path: path.unlink(), "leaves nothing at the path"),
    ],
)
def test_a_writer_that_fails_leaves_the_old_file(tmp_path: Path, save: Any, told: str) -> None:
    (tmp_path / "a.bad").write_text("old")
    with refused(told, finch_file_format=lambda: FileFormat("bad", (".bad",), None, save)):
        write(tmp_path / "a.bad", np.eye(2))
    assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == [("a.bad", "old")]


# -- dtypes ---------------------------------------------------------------------------------------

FLOAT8, UINT8, FLOAT16 = np.dtype(ml_dtypes.float8_e4m3fn), np.dtype("u1"), np.dtype("f2")


def converter(
    name: str, source: Any, target: Any, definition: Any = None, typing: Any = None
) -> Operator:
    return Operator(
        name, target.type, typing or (lambda types: ((source,), target)),
        definition=definition or (lambda value: cast(value, target)),
    )  # fmt: skip


def dtype(**changes: Any) -> Any:
    fields: dict[str, Any] = {
        "name": "f8", "covers": lambda dtype: dtype == FLOAT8, "storage": UINT8,
        "computed": FLOAT16, "decode": converter("f8_decode", UINT8, FLOAT16),
        "encode": converter("f8_encode", FLOAT16, UINT8),
    }  # fmt: skip
    return {"finch_dtypes": lambda: StoredDtype(**fields | changes)}


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"decode": 5}, "has decode = 5: an Operator of one operand"),
        (
            {"decode": converter("d", UINT8, np.dtype("f4"))},
            "has decode = 'd', which takes uint8 to float32: it takes uint8 to float16",
        ),
        (
            {"encode": converter("e", FLOAT16, np.dtype("u2"))},
            "has encode = 'e', which takes float16 to uint16: it takes float16 to uint8",
        ),
        ({"storage": np.dtype("u2")}, "has .*, which takes uint8 to float16: it takes uint16 to"),
        (
            {"decode": Operator("d", float, lambda types: ((UINT8,), FLOAT16))},
            "has decode = 'd', which has no definition",
        ),
        (
            {"decode": converter("d", UINT8, FLOAT16, typing=boom)},
            "has decode = 'd', whose typing f",
        ),
    ],
)
def test_decode_and_encode_fit_the_dtypes(changes: Any, told: str) -> None:
    with pytest.raises(PluginError, match=f"'by_hand' .*the dtype 'f8' {told}"):
        hub().register(plugin(**dtype(**changes)), "by_hand")


@kernel
def both(y, z, x):
    for i in _:
        y[i] = x[i] + x[i]
        z[i] = x[i]


@kernel
def copied(y, x):
    for i in _:
        y[i] = x[i]


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"covers": boom}, "covers of the dtype 'f8' of 'by_hand' .* failed: ValueError: boom"),
        ({"call": boom}, "call of the dtype 'f8' of 'by_hand' .* failed: ValueError: boom"),
        (
            {"call": lambda *args: 5},
            "call of the dtype 'f8' .* gives 5, which is not an expression",
        ),
        ({"cast": boom}, "cast of the dtype 'f8' of 'by_hand' .* failed: ValueError: boom"),
        (
            {"cast": lambda *args: 5},
            "cast of the dtype 'f8' .* gives 5, which is not an expression",
        ),
        (
            {"decode": converter("d", UINT8, FLOAT16, boom)},
            "the definition of the operator 'd' of 'by_hand' .* failed: ValueError: boom",
        ),
        (
            {"decode": converter("d", UINT8, FLOAT16, lambda bits: None)},
            "the definition of the operator 'd' of 'by_hand' .* gives None, which is not an expr",
        ),
    ],
)
def test_functions_of_a_dtype(changes: Any, told: str) -> None:
    x = np.array([1, 2], FLOAT8)
    with refused(told, **dtype(**changes)):
        both(np.zeros(2, FLOAT8), np.zeros(2, np.float32), x)


def test_a_dtype_that_covers_too_much() -> None:
    with (
        registered("by_hand", **dtype(covers=lambda dtype: True)),
        pytest.raises(PluginError, match="the dtype 'f8' of 'by_hand' .* covers .S2, of 2 bytes"),
    ):
        Element(np.bytes_(b"ab"))


def test_what_a_row_was_before_is_forgotten() -> None:
    """An author who registers a changed row again gets its meaning, from the same kernels."""
    x, found = np.array([3], FLOAT8), []
    for sign in (1, -1):
        decode = converter("d", UINT8, FLOAT16, lambda bits, sign=sign: cast(bits, FLOAT16) * sign)
        with registered("by_hand", **dtype(decode=decode)):
            y = np.zeros(1)
            copied(y, x)
            found.append(y[0])
    assert found[0] == -found[1] != 0


# -- operators, wrappers and masks ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("definition", "told"),
    [
        (boom, "failed: ValueError: boom"),
        (lambda x: None, "gives None, which is not an expression"),
    ],
)
def test_the_definition_of_an_operator(definition: Any, told: str) -> None:
    op = Operator(
        "mine", float, lambda types: (types, types[0]), python=(boom,), definition=definition
    )

    @kernel
    def applied(y, x):
        for i in _:
            y[i] = boom(x[i])

    told = f"the definition of the operator 'mine' of 'by_hand' .* {told}"
    with refused(told, finch_operators=lambda: op):
        applied(np.zeros(2), np.ones(2))


@pytest.mark.parametrize(
    ("typing", "told"),
    [
        (boom, "failed: ValueError: boom"),
        (lambda types: None, "gives None, which is not the types of the operands and that of"),
        (lambda types: (types, "f8"), "gives .*'f8'., which is not the types"),
    ],
)
def test_the_typing_of_an_operator(typing: Any, told: str) -> None:
    op = Operator("mine", float, typing, python=(boom,), definition=lambda x: x)

    @kernel
    def applied(y, x):
        for i in _:
            y[i] = boom(x[i])

    told = f"the typing of the operator 'mine' of 'by_hand' .* {told}"
    with refused(told, finch_operators=lambda: op) as caught:
        applied(np.zeros(2), np.ones(2))
    assert caught.value.span is not None


def test_a_kernel_has_the_operator_that_is_registered_now() -> None:
    """And none, where there is none: its program is read again."""

    def grown(x):
        return x

    @kernel
    def applied(y, x):
        for i in _:
            y[i] = grown(x[i])

    def scaling(factor):
        op = Operator(
            "grown", float, lambda types: (types, types[0]), python=(grown,),
            definition=lambda x: x * factor,
        )  # fmt: skip
        return lambda: op

    found = []
    for factor in (2, 3):
        with registered("by_hand", finch_operators=scaling(factor)):
            y = np.zeros(1)
            applied(y, np.ones(1))
            found.append(y[0])
    applied(y, np.ones(1))
    assert [*found, y[0]] == [2, 3, 1]


@pytest.mark.parametrize(
    ("hook", "method"), [("finch_wrapper", "match_access"), ("finch_mask", "match_condition")]
)
@pytest.mark.parametrize(("function", "told"), [(boom, "ValueError: boom"), (lambda a, s: 5, "5")])
def test_a_rule_of_a_wrapper_or_mask(hook: str, method: str, function: Any, told: str) -> None:
    broken = type("Broken", (), {"name": "broken", method: staticmethod(function)})

    @kernel
    def chequered(s, A):
        for i, j in _:
            if (i + j) % 2 == 0:
                s[()] += A[i, j]

    with refused(told, **{hook: lambda: broken}) as caught:
        chequered(np.zeros(()), np.eye(3))
    assert method in str(caught.value)
    assert "'broken'" in str(caught.value)
    assert "by_hand" in str(caught.value)
    s = np.zeros(())
    chequered(s, np.eye(3))
    assert s == 3


def test_a_wrapper_that_never_ends() -> None:
    broken = type("Broken", (), {"name": "broken", "match_access": staticmethod(lambda a, s: a)})
    with (
        registered("by_hand", finch_wrapper=lambda: broken),
        pytest.raises(PluginError, match="match_access of the wrapper 'broken' .* does not end"),
    ):
        copied(np.zeros(3), np.ones(3))


# -- passes ---------------------------------------------------------------------------------------


def interrupted(block: Any, names: Any) -> Any:
    raise KeyboardInterrupt


def narrowed(block: Any, names: Any) -> Any:
    """Loops count in int32, and what they contain does not know."""

    def changed(statement: Any) -> Any:
        if isinstance(statement, For):
            return evolve(statement, var=Var(statement.var.name, np.dtype(np.int32)))
        return with_blocks(statement, tuple(narrowed(b, names) for b in statement.blocks))

    return with_statements(block, [changed(s) for s in block.statements])


def test_a_pass_that_changes_dtypes() -> None:
    row = AssemblyPass("narrowed", narrowed)
    told = "the assembly pass 'narrowed' of 'by_hand' .* made illegal assembly"
    with refused(told, finch_assembly_passes=lambda: row) as caught:
        copied(np.zeros(3), np.ones(3))
    assert caught.value.hint == "kernel(disabled={'narrowed'}) compiles without it"


def test_a_pass_that_never_ends_is_named_where_it_is_interrupted() -> None:
    row = AssemblyPass("endless", interrupted)
    hooks = {"finch_assembly_passes": lambda: row}
    with registered("by_hand", **hooks), pytest.raises(KeyboardInterrupt) as caught:
        copied(np.zeros(3), np.ones(3))
    (note,) = caught.value.__notes__
    assert "the assembly pass 'endless' of 'by_hand' (registered by hand) was running" in note
    assert "kernel(disabled={'endless'}) compiles without it" in note
