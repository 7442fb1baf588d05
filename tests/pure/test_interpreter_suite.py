"""The interpreter passes the suite that authors of backends subclass."""

from __future__ import annotations

from finch_core.reference.interpreter import Interpreter
from finch_core.testing import BackendSuite


class TestInterpreter(BackendSuite):
    name = "interpreter"

    @classmethod
    def failing(cls, number: int) -> Interpreter:
        return Interpreter(fail_alloc=number)
