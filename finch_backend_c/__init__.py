"""The C backend: translates assembly to a typed C tree, compiled by the system's compiler."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from finch_core.interface.abi import Backend

__all__ = ["backend"]


def backend() -> Backend:
    """The backend ``c``; an entry point of the group ``finch.backends``."""
    from finch_backend_c.cbackend import CBackend

    return CBackend()
