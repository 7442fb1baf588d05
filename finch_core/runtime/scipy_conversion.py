"""The plugin that converts SciPy's sparse arrays (see ``interface.conversions``); it imports SciPy
only when it converts."""

from __future__ import annotations

from typing import Any

from finch_core.interface.conversions import Conversion
from finch_core.interface.plugins import hookimpl


def _arrays() -> Any:
    """The module that reads and makes SciPy's arrays."""
    from finch_core.runtime import scipy_arrays

    return scipy_arrays


def _take(array: Any) -> Any:
    return _arrays().from_scipy(array)


def _give(tensor: Any) -> Any:
    return _arrays().to_scipy(tensor)


def _unchanged(array: Any) -> Any:
    return _arrays().unchanged(array)


def _state(array: Any) -> Any:
    return _arrays().state(array)


def _coordinates(array: Any) -> Any:
    return _arrays().coordinates(array)


@hookimpl
def finch_conversion() -> Conversion:
    """The conversion of SciPy's sparse arrays; CSR and CSC are read in place."""
    return Conversion(
        "scipy", "tocoo", "SciPy arrays", _take, _give, ".to_scipy()", _unchanged, state=_state,
        coordinates=_coordinates,
    )  # fmt: skip
