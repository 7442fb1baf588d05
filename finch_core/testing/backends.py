"""The suite of a backend: subclass it, name the backend, and it is compared with what assembly
means and with NumPy."""

from __future__ import annotations

from finch_core.testing.call_tests import CallTests
from finch_core.testing.kernel_tests import KernelTests
from finch_core.testing.memory_tests import MemoryTests
from finch_core.testing.operator_tests import OperatorTests
from finch_core.testing.running import ANY_ORDER
from finch_core.testing.statement_tests import StatementTests


@ANY_ORDER
class BackendSuite(OperatorTests, StatementTests, MemoryTests, CallTests, KernelTests):
    """What every backend must do. A test module needs no more than ::

        class TestMyBackend(BackendSuite):
            name = "mine"  # that of its entry point

    Where the backend is made with options, ``made`` gives the one to test; where it can let an
    allocation fail, ``failing`` gives one that does (else the suite asks for more memory than there
    is). Every operator on every dtype is compared with ``evaluate``, random assembly with the
    interpreter, and programs over all installed formats with NumPy.
    """


__all__ = ["BackendSuite"]
