"""The base class of the parts of ``BackendSuite``: the backend under test."""

from __future__ import annotations

from typing import ClassVar

from finch_core.interface.abi import Backend
from finch_core.runtime.backends import backends
from finch_core.testing.failing import FailingBackend


class Subject:
    """A backend under test."""

    name: ClassVar[str]

    @classmethod
    def made(cls) -> Backend:
        """The backend to test: the one installed as ``name``. Override it for another."""
        return backends().load(cls.name)

    @classmethod
    def failing(cls, number: int) -> Backend:
        """The backend with allocation ``number`` (from 0) of each call failing. By default the
        kernel requests more memory there than exists; override it for a backend with a test hook.
        """
        return FailingBackend(cls.made(), number)
