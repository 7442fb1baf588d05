"""The test suite of backends: compares a backend with the interpreter and with NumPy."""

from __future__ import annotations

from finch_core.testing.call_tests import CallTests
from finch_core.testing.kernel_tests import KernelTests
from finch_core.testing.memory_tests import MemoryTests
from finch_core.testing.operator_tests import OperatorTests
from finch_core.testing.running import ANY_ORDER
from finch_core.testing.statement_tests import StatementTests


@ANY_ORDER
class BackendSuite(OperatorTests, StatementTests, MemoryTests, CallTests, KernelTests):
    """The tests that every backend must pass. A complete test module::

        class TestMyBackend(BackendSuite):
            name = "mine"  # the name of its entry point

    Override ``made`` to test a backend made with options, and ``failing`` if the backend can make
    an allocation fail (by default the suite requests more memory than there is). The suite compares
    every operator on every dtype with ``Operator.evaluate``, random assembly with the interpreter,
    and programs over all installed formats with NumPy.
    """


__all__ = ["BackendSuite"]
