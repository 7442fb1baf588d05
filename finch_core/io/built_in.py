"""The plugin with the built-in file formats: Matrix Market, FROSTT and NumPy's.

A function of the module that reads or writes is imported when it is first called: no kernel needs
one.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from finch_core.interface.file_formats import FileFormat
from finch_core.interface.plugins import hookimpl


def _of(module: str, name: str) -> Callable[..., Any]:
    """The function ``name`` of a module of this package, imported at its first call."""

    def call(*args: Any) -> Any:
        return getattr(import_module(f"finch_core.io.{module}"), name)(*args)

    return call


_MARKET, _FROSTT, _NUMPY = "market_files", "coordinate_files", "numpy_files"


@hookimpl
def finch_file_format() -> list[FileFormat]:
    """The built-in file formats."""
    market = _of(_MARKET, "read_market")
    return [
        FileFormat(
            "Matrix Market", (".mtx", ".mtx.gz"), market, _of(_MARKET, "write_matrix"),
            (b"%%MatrixMarket", b"%MatrixMarket"),
        ),
        FileFormat(
            "Matrix Market tensor", (".ttx", ".ttx.gz"), market, _of(_MARKET, "write_tensor")
        ),
        FileFormat(
            "FROSTT", (".tns", ".tns.gz"),
            _of(_FROSTT, "read_frostt"), _of(_FROSTT, "write_frostt"),
        ),
        FileFormat(
            "NumPy array", (".npy",), _of(_NUMPY, "read_npy"), _of(_NUMPY, "write_npy"),
            (b"\x93NUMPY",),
        ),
        FileFormat("NumPy archive", (".npz",), _of(_NUMPY, "read_npz"), _of(_NUMPY, "write_npz")),
    ]  # fmt: skip
