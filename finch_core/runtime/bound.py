"""Calls of kernels that are bound to their arguments, and repeated without looking at them again.

What a call looks up and checks stays the same from one call to the next, unless the shape, the
format or the memory of an argument changes. Those are compared before each run: the words of
tensors' records by the backend (``CompleteKernel.bound``), the rest here.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from textwrap import indent
from typing import Any, NoReturn

import numpy as np

from finch_core.errors import DimensionMismatch, FinchError, FormatError
from finch_core.interface.abi import CHANGED, ELSEWHERE, bound_here
from finch_core.interface.plugins import hub
from finch_core.ir.program import Program
from finch_core.locks import imported
from finch_core.records import define, field, frozen
from finch_core.runtime.bound_caches import cached_caller
from finch_core.runtime.specialization import Specialization
from finch_core.runtime.storage import TensorStorage
from finch_core.runtime.writers import Growing, Writer, marked


@frozen
class Guard:
    """``holds()`` says whether ``name`` is what it was when the call was bound; ``changed`` says
    what it is else. ``array`` has the array that is checked, its shape and its dtype, if it is
    one; ``written``: the kernel writes it."""

    holds: Callable[[], bool]
    name: str
    changed: str
    array: tuple[tuple[Any, Any, Any], ...] = ()
    written: bool = False


@define(eq=False, slots=False)
class BoundArguments:
    """What a bound call is bound to. ``values`` are the arguments as objects with a signature."""

    specialized: Specialization
    values: Sequence[Any]
    given: Sequence[Any]
    names: Sequence[str]
    guards: Sequence[Guard]
    threads: threading.local = field(factory=threading.local)
    """The calls of other threads: a control block belongs to one thread."""

    def tensors(self) -> Iterator[tuple[str, TensorStorage]]:
        """The tensors with memory among the arguments, without their wrappers, and their names."""
        for name, value in zip(self.names, self.values, strict=True):
            while value is not None and not isinstance(value, TensorStorage):
                value = getattr(value, "tensor", None)
            if value is not None:
                yield name, value

    def places(self) -> tuple[list[int], list[str]]:
        """The addresses of words that may not change or must be followed: first those that hold
        dimensions, then those that hold addresses of buffers; and a name for each dimension."""
        dims, buffers, names = [], [], []
        for name, tensor in self.tensors():
            mine, others = tensor.places()
            dims += mine
            buffers += others
            names += [name] * len(mine)
        return dims + buffers, names

    def dimensions(self) -> list[int]:
        """The words that hold dimensions, in the order of ``places``."""
        return [n for _, tensor in self.tensors() for n in tensor.shape]


class BoundCall:
    """A call of a kernel on fixed arguments, from one thread: ``caller()`` is what runs it."""

    def __init__(self, binding: BoundArguments) -> None:
        binding.specialized.finish()
        self._binding = binding
        self._control = binding.specialized.control_block()
        self._locals: Sequence[TensorStorage] = ()
        self.result: Any = None
        self.run: Callable[[], int]
        self._attach()

    def caller(self) -> Callable[[], Any]:
        """The function that runs the kernel: gives its results, and raises what the call of the
        kernel does.

        It raises ``DimensionMismatch`` where the shape of a tensor has changed since the last call,
        and ``FormatError`` where an array, or an object of another library, has changed.
        """
        growing = self._binding.specialized.growing
        call = self._beside_others(
            [(marked(self._binding.values[output.place]), output) for output in growing]
        )
        call = cached_caller(self, self._binding, call) or call
        program = self._program
        call.__name__ = program.name
        call.__qualname__ = f"{program.name}.bind({', '.join(self._binding.names)})"
        call.__doc__ = f"Run {program.name} on the arguments that it was bound to."
        return call

    def follow(self, dims: Sequence[int]) -> None:
        """Go on where other calls have left the arguments, with these dimensions. Raises
        ``DimensionMismatch`` where one has changed since."""
        for name, left, now in zip(self._dims, dims, self._binding.dimensions(), strict=True):
            if left != now:
                raise self._changed(DimensionMismatch, name, "has another shape")
        self._attach()

    def _beside_others(self, alone: Sequence[tuple[Any, Growing]] = ()) -> Callable[[], Any]:
        """``caller()``, beside which no other call writes these tensors; those of others have been
        seen to by the caller."""
        guards = self._binding.guards
        arrays = [known for guard in guards for known in guard.array]
        written = tuple(guard.written for guard in guards if guard.array)
        others = [guard.holds for guard in guards if not guard.array]
        call: Callable[[], Any] = _caller(written, len(others), len(alone))(
            self,
            *(x for known in arrays for x in known),
            *others,
            *(x for t, output in alone for x in (t, output.refuse, output.own_memory)),
        )
        return call

    @property
    def _program(self) -> Program:
        return self._binding.specialized.lowered.program

    def _attach(self) -> None:
        """Bind the compiled kernel to the memory that the arguments have now."""
        binding, specialized = self._binding, self._binding.specialized
        specialized.check_memory(binding.values)
        places, self._dims = binding.places()
        words = [self._control.ctypes.data]
        words += [word for value in binding.values for word in value.words()]
        if specialized.has_locals and not specialized.keeps_locals:
            self.run = bound_here(self._fresh, words, places)
            return
        if specialized.has_locals:
            self._locals, addresses = specialized.made_workspace()
            words += addresses
        run = specialized.compiled.bound(words, places)
        self.run = run if specialized.is_given else partial(self._gathered, run)
        if specialized.is_given:
            self.result = specialized.gather(binding.given, ())

    def _gathered(self, run: Callable[[], int]) -> int:
        """Run a kernel that returns numbers: they are read behind it."""
        code = run()
        self.result = self._binding.specialized.gather(self._binding.given, self._locals)
        return code

    def _fresh(self, *words: Any) -> int:
        """Run a kernel that returns temporaries: they are new tensors at each call."""
        specialized = self._binding.specialized
        self._locals, addresses = specialized.made_workspace()
        code: int = specialized.compiled.function(*words, *addresses)
        self.result = specialized.gather(self._binding.given, self._locals)
        return code

    def leave(self, error: BaseException) -> None:
        """Make the outputs valid after a call that was interrupted by this exception."""
        specialized = self._binding.specialized
        specialized.compiled.blame(error)
        specialized.leave(specialized.compiled, self._binding.values, self._locals)
        self._attach()

    def after(self, code: int) -> BaseException | None:
        """Act on a status other than ``DONE``: the error to raise, if any."""
        if code <= ELSEWHERE:
            return None
        specialized = self._binding.specialized
        return specialized.handle_status(
            code, specialized.compiled, self._binding.values, self._locals, self._control
        )

    def outcome(self, code: int, failure: BaseException | None) -> Any:
        """The results of a call with a status other than ``DONE``; raises ``failure``."""
        if code == ELSEWHERE:
            return self._of_this_thread()()
        if code <= CHANGED:
            self._follow(CHANGED - code)
            return self._beside_others()()
        if failure is None:
            return self.result
        self._attach()
        raise _short(failure) from failure.__cause__

    def _of_this_thread(self) -> Callable[[], Any]:
        """This call for the thread that runs now."""
        threads = self._binding.threads
        try:
            found: Callable[[], Any] = threads.call
        except AttributeError:
            found = threads.call = BoundCall(self._binding)._beside_others()
        return found

    def refuse(self) -> NoReturn:
        """Raise the error of the first guard that fails."""
        guard = next(guard for guard in self._binding.guards if not guard.holds())
        if guard.written:
            arguments = imported("finch_core.runtime.arguments")
            arguments.require_writeable(guard.array[0][0], guard.name, self._program)
        raise self._changed(FormatError, guard.name, guard.changed)

    def _follow(self, place: int) -> None:
        """Follow the buffers to other memory. Raises ``DimensionMismatch`` where the word at
        ``place`` is a dimension."""
        if place < len(self._dims):
            raise self._changed(DimensionMismatch, self._dims[place], "has another shape")
        self._attach()

    def _changed(self, kind: type[FinchError], name: str, what: str) -> BaseException:
        return _short(
            kind(
                f"{name} {what} than when this call was bound",
                span=self._program.spans.get(name),
                hint=f"bind the call again, call = {self._program.name}.bind(...)",
            )
        )


def binding(
    specialized: Specialization,
    values: Sequence[Any],
    given: Sequence[Any],
    more: Sequence[Guard],
) -> BoundArguments:
    """What a call of ``specialized`` on ``given`` is bound to; ``values`` are these as objects with
    a signature. Raises ``FormatError`` for what every call would copy, and for an integer beyond 64
    bits."""
    program = specialized.lowered.program
    specialized.refuse_wide(values)
    names = (*program.params, *program.free)
    guards = [
        _guard_of(value, name, program, k in specialized.arrays)
        for k, (value, name) in enumerate(zip(given, names, strict=True))
    ]
    return BoundArguments(specialized, values, given, names, [*filter(None, guards), *more])


_CALLER = """\
def caller(self{parameters}):
    def call():
{body}
    return call
"""
_BODY = """\
        if {changed}:
            self.refuse()
        try:
            code = self.run()
            if code:
                failure = self.after(code)
        except BaseException as error:  # signal handlers run, and raise, as the kernel returns
            self.leave(error)
            raise
        return self.outcome(code, failure) if code else self.result
"""
_ALONE = """\
        own = Writer()
        try:
{marks}
{body}
        finally:
            own.ended = True
"""
_MARK = """\
            before = t{k}.writer
            if not before.ended:
                refuse{k}()
            t{k}.writer = own
            if before.lent:
                own_memory{k}(t{k}, own)
"""


@lru_cache(maxsize=64)
def _caller(written: tuple[bool, ...], others: int, tensors: int) -> Callable[..., Any]:
    """A function that makes the caller, given the bound call, each array with its shape and dtype,
    other guards, and each tensor that one call at a time may write, with what refuses. It is made
    as text: a loop over the guards costs as much as they do. ``written`` tells for each array
    whether the kernel writes it."""
    arrays = len(written)
    given = "".join(f", a{k}, s{k}, d{k}" for k in range(arrays))
    given += "".join(f", h{k}" for k in range(others))
    given += "".join(f", t{k}, refuse{k}, own_memory{k}" for k in range(tensors))
    changed = [f"a{k}.shape != s{k} or a{k}.dtype is not d{k}" for k in range(arrays)]
    changed += [f"not a{k}.flags.writeable" for k in range(arrays) if written[k]]
    changed += [f"not h{k}()" for k in range(others)]
    made: dict[str, Any] = {"Writer": Writer}
    body = _BODY.format(changed=" or ".join(changed) or "False")
    if tensors:
        marks = "".join(_MARK.format(k=k) for k in range(tensors))
        body = _ALONE.format(marks=marks.rstrip(), body=indent(body, "    "))
    exec(_CALLER.format(parameters=given, body=body), made)
    caller: Callable[..., Any] = made["caller"]
    return caller


def _guard_of(value: Any, name: str, program: Program, written: bool) -> Guard | None:
    """The check of an argument that is neither a tensor nor a number."""
    array: tuple[Any, ...] = ()
    why = "is copied at each call"
    if isinstance(value, np.ndarray):
        holds = _unchanged(value, written)
        array = ((value, value.shape, value.dtype),)
        remedy = f"bind np.ascontiguousarray({name})"
    elif hasattr(value, "signature") or (conversion := hub().conversion_of(value)) is None:
        return None
    else:
        holds = conversion.unchanged(value)
        remedy = f"bind asarray({name}), a tensor with these values"
        if holds is None and conversion.memory(value) is not None:
            why = f"may move: the conversion {conversion.name!r} does not tell"
            remedy = f"bind the NumPy array over its memory; or {conversion.name!r} has unchanged"
    if holds is None:
        raise FormatError(
            f"{name} {why}, so that no call can be bound to it",
            span=program.spans.get(name),
            hint=remedy,
        )
    what = "has another shape, dtype or memory"
    return Guard(holds, name, what, array, bool(array) and written)


def _unchanged(array: np.ndarray[Any, Any], written: bool) -> Callable[[], bool] | None:
    """A function that says whether an array has the shape and dtype that it has now, and may be
    written, if it is; None for one that kernels do not access in place. The memory of an array that
    is referenced stays."""
    if not (array.flags.c_contiguous and array.flags.aligned):
        return None
    shape, dtype = array.shape, array.dtype
    referenced = weakref.ref(array)  # by which NumPy knows not to resize it

    def holds() -> bool:
        array = referenced()
        if array is None or array.shape != shape or array.dtype is not dtype:
            return False
        return not written or bool(array.flags.writeable)

    return holds


def _short(error: BaseException) -> BaseException:
    from finch_core.runtime.tracebacks import shortened

    return shortened(error) if isinstance(error, FinchError) else error
