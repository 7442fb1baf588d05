"""What the parts of ``BackendSuite`` share: the backend that they test."""

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
        """The backend: the one that is installed as ``name``, or a special one of the author's."""
        return backends().load(cls.name)

    @classmethod
    def failing(cls, number: int) -> Backend:
        """A backend of which the allocation of this number (from 0) fails in each call.

        Without a hook into the backend's allocator, more is asked for there than any machine has.
        """
        return FailingBackend(cls.made(), number)
