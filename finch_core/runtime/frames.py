"""Calls on records that are kept: what a repeated call need not pass again."""

from __future__ import annotations

from collections.abc import Callable, MutableSequence, Sequence

from finch_core.errors import LifecycleError
from finch_core.interface.abi import ELSEWHERE
from finch_core.runtime.specialization import Specialization
from finch_core.runtime.storage import TensorStorage


class Frame:
    """A call of a compiled kernel that is repeated by one thread, each time on other tensors.

    ``words[k + 1]`` is the address of the record of argument ``k``, which is set before ``run()``.
    That gives the status: ``after`` acts on one that is not 0, and ``leave`` on what was raised,
    after which the frame is not used again.

    The specialisation has no more draft, and all of its arguments have records
    (``Specialization.has_records``). Results of a call are its arguments.
    """

    __slots__ = ("_control", "_locals", "_specialized", "run", "words")

    def __init__(self, specialized: Specialization, count: int) -> None:
        """A frame for ``count`` arguments. A bound kernel has less to pass; a backend whose bound
        kernels keep their arguments has them passed by the plain function."""
        self._specialized = specialized
        self._locals: Sequence[TensorStorage] = ()
        addresses: Sequence[int] = ()
        if specialized.has_locals:
            self._locals, addresses = specialized.made_workspace()
        self._control = specialized.control_block()
        words = [int(self._control.ctypes.data), *[0] * count, *addresses]
        compiled = specialized.compiled
        self.run: Callable[[], int] = compiled.bound(words, ())
        self.words: MutableSequence[int] = getattr(self.run, "words", words)
        if self.words is words:
            self.run = lambda: compiled.function(*words)

    def after(self, code: int, values: Sequence[TensorStorage]) -> None:
        """Act on a status that is not 0; ``values`` are the tensors of the call. Raises what the
        kernel fails with, and ``LifecycleError`` in another thread."""
        if code == ELSEWHERE:
            raise LifecycleError("a frame was used in another thread than the one that made it")
        specialized, block = self._specialized, self._control
        compiled = specialized.compiled
        failure = specialized.handle_status(code, compiled, values, self._locals, block)
        if failure is not None:
            raise failure

    def leave(self, error: BaseException, values: Sequence[TensorStorage]) -> None:
        """Make the outputs among ``values`` valid after a call that raised ``error``."""
        compiled = self._specialized.compiled
        compiled.blame(error)
        self._specialized.leave(compiled, values, self._locals)


__all__ = ["Frame"]
