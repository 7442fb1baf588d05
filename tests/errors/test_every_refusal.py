"""What the language refuses, by the exception that says so: each refusal has a file of its own in
this room, with its message pinned."""

from __future__ import annotations

from pathlib import Path

import pytest

from finch_core import errors
from finch_core.errors import FinchError

ROOM = Path(__file__).parent

REFUSALS: dict[str, tuple[str, type[Exception], str]] = {
    "Python that is not part of the language": (
        "KernelSyntaxError", SyntaxError, "syntax_class syntax_slice syntax_lambda"
    ),
    "unbound names": ("KernelSyntaxError", SyntaxError, "syntax_unbound"),
    "a name bound twice": ("KernelSyntaxError", SyntaxError, "syntax_bound_twice"),
    "a name without a value": ("KernelSyntaxError", SyntaxError, "syntax_name_unset"),
    "an index used outside its loop": ("KernelSyntaxError", SyntaxError, "syntax_index_outside"),
    "a function that cannot be inlined": (
        "KernelSyntaxError", SyntaxError, "syntax_inline_loop syntax_inline_recursion syntax_inline_size",
    ),
    "a tensor read and updated within one statement below its scope": (
        "LifecycleError", RuntimeError, "read_and_updated read_by_walking"
    ),
    "two reduction operators on one tensor there": (
        "LifecycleError", RuntimeError, "two_operators two_operators_named"
    ),
    "returning a tensor mid-update": ("LifecycleError", RuntimeError, "returned_thawed"),
    "the same tensor passed as both input and output": (
        "LifecycleError", RuntimeError, "same_tensor same_scalar"
    ),
    "two outputs that share memory": ("LifecycleError", RuntimeError, "shared_outputs"),
    "float into int": ("FormatError", TypeError, "float_into_int"),
    "complex into float": ("FormatError", TypeError, "complex_into_float"),
    "dimensions that disagree": (
        "DimensionMismatch", ValueError, "dimension_mismatch dimension_mismatch_output"
    ),
    "wrong number of indices": ("DimensionMismatch", ValueError, "number_of_indices"),
    "an extent that nothing fixes": ("DimensionMismatch", ValueError, "extent_unknown"),
    "a write that the format cannot take in that loop order": (
        "FormatError", TypeError,
        "write_order write_order_repeated write_order_scatter write_order_two_nests",
    ),
    "a protocol that a level lacks": ("FormatError", TypeError, "protocol_lacking"),
    "a thaw that a level lacks": ("FormatError", TypeError, "thaw_lacking"),
    "declaring to a value that is not the fill": ("FormatError", TypeError, "declared_not_fill"),
    "Pattern with a fill other than False": ("FormatError", TypeError, "pattern_fill"),
    "a gather out of bounds": ("OutOfBounds", IndexError, "gather_out_of_bounds gather_negative"),
    "a scatter out of bounds": ("OutOfBounds", IndexError, "scatter_out_of_bounds"),
    "an element access out of bounds": ("OutOfBounds", IndexError, "element_out_of_bounds"),
    "a SparsePinpoint given two nonzeros in a fiber": ("FormatError", TypeError, "two_nonzeros"),
    "a SparseInterval given two runs": ("FormatError", TypeError, "two_runs"),
    "buffers: unsorted": ("FormatError", TypeError, "buffer_unsorted buffer_decreasing"),
    "buffers: out of range": ("FormatError", TypeError, "buffer_out_of_range"),
    "buffers: wrong lengths": ("FormatError", TypeError, "buffer_short buffer_missing"),
    "buffers: wrong dtypes": ("FormatError", TypeError, "buffer_dtype"),
    "a malformed file": (
        "FormatError", TypeError, "file_malformed file_out_of_range"
    ),
    "turns that may not run at the same time": (
        "RaceError", RuntimeError,
        "race_read race_write race_operators race_variable race_ended race_private_used "
        "race_declared_argument race_strict race_structure race_format",
    ),
    "memory runs out": ("OutOfMemory", MemoryError, "out_of_memory"),
    "unknown backend": ("BackendError", RuntimeError, "backend_unknown"),
    "no compiler": ("BackendError", RuntimeError, "backend_no_compiler"),
    "a compiler that fails": ("BackendError", RuntimeError, "backend_compiler_fails"),
    "unknown plugin names": ("PluginError", RuntimeError, "plugin_unknown"),
    "clashing plugin names": ("PluginError", RuntimeError, "plugin_clash"),
    "a plugin that does not load": ("PluginError", RuntimeError, "plugin_does_not_load"),
    "a plugin that lacks a method": ("PluginError", RuntimeError, "plugin_lacks_method"),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSALS)
def test_every_refusal_has_its_file_and_its_exception(what: str) -> None:
    name, builtin, files = REFUSALS[what]
    exception = getattr(errors, name)
    assert issubclass(exception, FinchError)
    assert issubclass(exception, builtin)
    for file in files.split():
        text = (ROOM / f"test_{file}.py").read_text()
        assert name in text or builtin.__name__ in text, file
        assert f"def test_{file.removeprefix('syntax_')}" in text or f"def test_{file}" in text


def test_every_file_pins_a_message() -> None:
    for path in ROOM.glob("test_*.py"):
        text = path.read_text()
        assert "==" in text or "startswith" in text, path.name
