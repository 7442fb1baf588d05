"""The plugin of the libraries next door: file formats and conversions, imported at first use."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from finch_core.interface.conversions import Conversion
from finch_core.interface.file_formats import FileFormat
from finch_core.plugins import hookimpl


def _of(module: str, name: str) -> Callable[..., Any]:
    """The function ``name`` of a module of this package, imported at its first call."""

    def call(*args: Any) -> Any:
        return getattr(import_module(f"finch_array.interop.{module}"), name)(*args)

    return call


@hookimpl
def finch_file_format() -> list[FileFormat]:
    """binsparse, and tables of coordinates."""
    bsp, table = "binsparse_files", "arrow_files"
    return [
        FileFormat(
            "binsparse HDF5", (".bsp.h5", ".bsp.hdf5"), _of(bsp, "load_h5"), _of(bsp, "save_h5"),
            (b"\x89HDF\r\n\x1a\n",),
        ),
        FileFormat("binsparse NumPy", (".bsp.npz",), _of(bsp, "load_npz"), _of(bsp, "save_npz")),
        FileFormat(
            "binsparse Zarr", (".bsp.zarr",), _of(bsp, "load_zarr"), _of(bsp, "save_zarr"),
            folders=True,
        ),
        FileFormat(
            "Parquet", (".parquet",), _of(table, "load_parquet"), _of(table, "save_parquet"),
            (b"PAR1",),
        ),
        FileFormat(
            "Arrow", (".arrow", ".feather"), _of(table, "load_arrow"), _of(table, "save_arrow"),
            (b"ARROW1",),
        ),
    ]  # fmt: skip


@hookimpl
def finch_conversion() -> list[Conversion]:
    """Objects of pandas and torch."""
    return [
        Conversion(
            "pandas", "", "data frames of pandas", _of("frames", "from_pandas"),
            _of("frames", "to_pandas"), "fa.to_pandas(A)",
            types=("pandas.core.frame.DataFrame", "pandas.DataFrame",
                   "pandas.core.series.Series", "pandas.Series"),
        ),
        Conversion(
            "torch", "", "tensors of torch", _of("torch_layouts", "from_torch"),
            _of("torch_layouts", "to_torch"), "fa.to_torch(A)", types=("torch.Tensor",),
            memory=_of("torch_layouts", "memory"),
        ),
    ]  # fmt: skip
