"""The plugin that converts SciPy's sparse arrays (see ``interface.conversions``); it imports SciPy
only when it converts."""

from __future__ import annotations

from typing import Any

from finch_core.interface.conversions import Conversion
from finch_core.interface.plugins import hookimpl


def _take(array: Any) -> Any:
    from finch_core.runtime.scipy_arrays import from_scipy

    return from_scipy(array)


def _give(tensor: Any) -> Any:
    from finch_core.runtime.scipy_arrays import to_scipy

    return to_scipy(tensor)


def _unchanged(array: Any) -> Any:
    from finch_core.runtime.scipy_arrays import unchanged

    return unchanged(array)


def _state(array: Any) -> Any:
    from finch_core.runtime.scipy_arrays import state

    return state(array)


@hookimpl
def finch_conversion() -> Conversion:
    """The conversion of SciPy's sparse arrays; CSR and CSC are read in place."""
    return Conversion(
        "scipy", "tocoo", "SciPy arrays", _take, _give, ".to_scipy()", _unchanged, state=_state
    )
