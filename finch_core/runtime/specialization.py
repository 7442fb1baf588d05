"""A kernel specialised to one tuple of signatures: compiled, at first perhaps as a draft, and
called."""

from __future__ import annotations

import threading
import warnings
from collections import deque
from collections.abc import Callable, Sequence
from functools import cache, partial
from itertools import pairwise
from time import perf_counter
from typing import Any

import numpy as np

from finch_core.errors import (
    BackendError,
    FormatError,
    IndexOverflow,
    LifecycleError,
    OutOfMemory,
    PerformanceWarning,
)
from finch_core.interface.abi import (
    CONTROL_WORDS,
    DONE,
    FAILED,
    GUARD,
    INTERRUPTED,
    MOVED,
    POOL,
    CompleteKernel,
)
from finch_core.interface.level import Format
from finch_core.interface.signatures import ScalarSignature, Signature, TensorSignature
from finch_core.ir.assembly import OUT_OF_MEMORY
from finch_core.ir.depth import roomy
from finch_core.ir.dtypes import concrete
from finch_core.ir.program import swapped, written
from finch_core.locks import Lock
from finch_core.runtime.arguments import Number, as_value, is_writeable
from finch_core.runtime.call_interface import TAKE, Result, declared, result_plan
from finch_core.runtime.drafts import Draft
from finch_core.runtime.inline_caches import CallCounts, inline_cache
from finch_core.runtime.local_formats import record_formats
from finch_core.runtime.new_outputs import NewOutputs, blank_places
from finch_core.runtime.pipeline import Lowered
from finch_core.runtime.storage import TensorStorage
from finch_core.runtime.writers import Growing, grows, one_at_a_time

MOST_CALLS = 64
"""The most calls whose arguments a kernel remembers as checked."""

Caller = Callable[..., Any]
Values = Sequence[Any]
Call = tuple[Caller, list[Any], tuple[int, ...], tuple[tuple[int, type], ...]]
"""What a call on known tensors needs while their buffers stay in place: the function to run, the
addresses of the tensors' records, the positions of arrays that are written, and those of numbers,
with their type as words."""

Entering = Callable[["Specialization", Callable[[Any], Any] | None], None]
"""Tells a kernel of the function of tuples of arguments by which calls of a specialisation are
made, if it has an inline cache (``interface.inline_cache``); None: it has none any more."""


def _draft_of(lowered: Lowered, compiled: CompleteKernel) -> Draft:
    lowers = compiled.is_simpler or lowered.cached
    return Draft(compiled, lowered.options, lowers, lowered.compile_beside)


def _nobody() -> None:
    """No kernel waits for an inline cache."""


Workspace = tuple[tuple[TensorStorage, ...], list[int]]
"""The temporary tensors of a call, and the addresses of their records."""


class Specialization:
    """A kernel for one tuple of signatures: compiled, and how to call it.

    A ``draft`` is less optimised and compiles sooner. It runs on small data only, on one thread; on
    larger data, or when it has run for long (``drafts.Draft``), the kernel is recompiled at full
    optimisation: beside the calls, where the backend can.
    """

    def __init__(
        self, lowered: Lowered, make: Callable[[Format], TensorStorage], draft: bool
    ) -> None:
        self.lowered = lowered
        self._make = make
        self._counts = CallCounts()
        self.entering: Callable[[], Entering | None] = _nobody
        program = lowered.program
        self._compiled: CompleteKernel = lowered.compile(draft=draft)
        self._draft = _draft_of(lowered, self._compiled) if lowered.is_draft else None
        self._local_formats = record_formats(program, lowered.signatures)
        self.has_locals = bool(self._local_formats)
        self._pool: list[Workspace] = []
        self._checked: deque[list[Any]] = deque(maxlen=4)
        self._entered: dict[tuple[Any, ...], Call] = {}
        self._threads = threading.local()
        self._lock = Lock()
        names = (*program.params, *program.free)
        self._simple = all(isinstance(s, TensorSignature) for s in lowered.signatures)
        self._is_repeatable = all(map(_is_word, lowered.signatures))
        outputs = written(program)
        self.outputs = tuple(k for k, name in enumerate(names) if name in outputs)
        self._new = NewOutputs(self.outputs)
        self.growing = tuple(
            Growing(k, names[k], program.spans.get(names[k]), cache(partial(lowered.keeps, k)))
            for k in self.outputs
            if grows(lowered.signatures[k])
        )
        self.arrays = tuple(k for k in self.outputs if _is_array(lowered.signatures[k]))
        self._declared = declared(program)
        self._swaps = swapped(program)
        self._swapped = tuple(k for k, name in enumerate(names) if name in self._swaps)
        self._names = names
        self._results = result_plan(program)
        # temporaries are kept for the next call, unless they are returned to the caller
        own = [kind for kind, _ in self._results if kind is not Result.ARGUMENT]
        self.keeps_locals = self.has_locals and Result.TENSOR not in own
        self.is_given = not own
        self._single = program.single
        self._set_caller(self._draft)

    def run(
        self,
        values: Sequence[Any],
        given: Sequence[Any],
        calls: dict[tuple[Any, ...], Call] | None = None,
    ) -> Any:
        """Run on ``values``, which have this specialisation's signatures; return the results, taken
        from ``given``, the arguments as the caller passed them.

        A call on tensors and arrays, and on numbers where this is no draft, which may be for small
        numbers alone, is entered into ``calls`` when it is repeated. Raises
        ``LifecycleError`` where an output shares memory with another argument, or one that grows is
        being written by another call, ``FormatError`` for an integer beyond 64 bits, and whatever
        the kernel fails with.
        """
        if (draft := self._draft) is not None and not draft.will_do(values, self._counts.in_python):
            self.finish()
        call, repeatable = self.call_alone, self._is_repeatable
        blank = blank_places(values) if repeatable else ()
        roomy = not blank and self._new.give(values)
        if roomy:
            calls = None  # it is not repeated: its output is new
        memory = [() if k in blank else value.memory for k, value in enumerate(values)]
        if blank:
            call = self._new.caller(call, blank, self._check_given)
            if any(given[k] is not values[k] for k in blank):
                calls = None  # a repeated call knows what was given alone
        if memory not in self._checked:
            self.check_memory(values)
            self._checked.append(memory)
        elif calls is not None and repeatable and (self._simple or self._draft is None):
            self._enter(calls, values, given, call)
        if self._simple:
            words = [value.address for value in values]
        else:
            words = [word for value in values for word in value.words()]
        try:
            found = call(words, given, values)
        except OverflowError:
            self.refuse_wide(values)
            raise
        if roomy:
            self._new.look_back(values)
        return found

    def run_apart(self, values: Sequence[Any]) -> Any:
        """Run on ``values``, tensors, wrappers and ``Number``s with this specialisation's
        signatures, of which those that are written were made for this call: they share no memory
        with others. Raises ``FormatError`` for an integer beyond 64 bits, and whatever the kernel
        fails with."""
        if (draft := self._draft) is not None and not draft.will_do(values, self._counts.in_python):
            self.finish()
        if self._simple:
            words = [value.address for value in values]
        else:
            words = [word for value in values for word in value.words()]
        try:
            return self.call(words, values, values)
        except OverflowError:
            self.refuse_wide(values)
            raise

    def refuse_wide(self, values: Sequence[Any]) -> None:
        """Raise ``FormatError`` if one of the arguments is an integer of more than 64 bits."""
        for name, value in zip(self._names, values, strict=True):
            if value.__class__ is Number and not value.fits:
                raise FormatError(
                    f"{name} is {value.value}, which does not fit in int64",
                    span=self.lowered.program.spans.get(name),
                    hint="pass a float, or np.uint64(n) up to 2**64 - 1",
                ) from None

    @property
    def calls(self) -> int:
        """The number of calls."""
        return self._counts.all

    @property
    def is_draft(self) -> bool:
        """Whether the kernel will be compiled again."""
        return self._draft is not None

    def suits(self, length: int, nbytes: int) -> bool:
        """Whether this is no draft, or will do for arrays of this length and so many bytes."""
        if self._draft is None:
            return True
        small = self.lowered.options.small
        return length <= small.extent and 4 * nbytes <= small.bytes

    @property
    def has_records(self) -> bool:
        """Whether each argument is one word, the address of a record."""
        return self._simple

    def finish(self) -> None:
        """Replace the draft, if it is one, by the optimised kernel; calls in progress finish in the
        draft. Where that cannot be compiled, the draft stays for good, with a warning."""
        failure: Exception | None = None
        with self._lock:
            if self._draft is not None:
                self._draft.wait()
                try:
                    self._compiled = roomy(self.lowered.program.name, self.lowered.compile)
                except (BackendError, OSError) as error:
                    failure = error
                self._threads = threading.local()  # the kernel may have more threads
                self._set_caller(None)
                self._draft = None
                self._counts.try_soon()
                self._entered.clear()
        if failure is not None:
            name = self.lowered.program.name
            warnings.warn(
                f"{name} stays as it was compiled first, less optimised: {failure}",
                PerformanceWarning,
                stacklevel=2,
            )

    def _set_caller(self, draft: Draft | None) -> None:
        """``call`` runs the kernel, ``call_alone`` while no other call writes the same outputs."""
        call = self._caller()
        self.call = self.call_alone = call if draft is None else self._drafted(call, draft)
        if self.growing:
            self.call_alone = one_at_a_time(self.call, self.growing)

    def _drafted(self, call: Caller, draft: Draft) -> Caller:
        """``call`` while this is the draft ``draft``. From the call that takes it too far on, the
        optimised kernel is compiled: this may be the last call in this process, and the next finds
        the kernel on disk."""

        def drafted(words: Values, given: Values, values: Values | None = None) -> Any:
            if draft.is_over():
                self.finish()
            if self._draft is None:
                return self.call(words, given, values)
            start = perf_counter()
            found = call(words, given, values)
            draft.seconds += perf_counter() - start
            calls = self._counts.in_python
            if draft.is_long(calls):
                later = calls > 1 or self.lowered.cached  # not twice in one call
                if (later or not draft.lowers) and not draft.begin(calls) and later:
                    self.finish()
            return found

        return drafted

    def _enter(
        self,
        calls: dict[tuple[Any, ...], Call],
        values: Sequence[Any],
        given: Sequence[Any],
        call: Caller,
    ) -> None:
        if len(calls) >= MOST_CALLS:
            calls.clear()
        arrays = tuple(k for k in self.arrays if isinstance(given[k], np.ndarray))
        self._entered = calls
        numbers = tuple(
            (k, float if value.kind == "f" else int)
            for k, value in enumerate(values) if value.__class__ is Number
        )  # fmt: skip
        words = [word for value in values for word in value.words()]
        calls[tuple([value.state for value in values])] = call, words, arrays, numbers

    def _caller(self) -> Caller:
        """The function that runs the kernel on checked arguments, given as addresses of records
        and numbers. What is known in advance is in local variables: on small data a look-up costs
        as much as the kernel's own work."""
        compiled = self._compiled  # kept alive: a call may still run when its draft is replaced
        function: Any = compiled.function
        threads, pool, place = self._threads, self._pool, self.given_result()
        has_locals, keeps_locals = self.has_locals, self.keeps_locals
        counts = self._counts

        def call(words: Values, given: Values, values: Values | None = None) -> Any:
            counts.in_python = calls = counts.in_python + 1
            if calls == counts.at:
                self._cache(given, values or [*map(as_value, given)])
            try:
                control = threads.address
            except AttributeError:
                control = self._control()
            locals_: tuple[TensorStorage, ...] = ()
            failure = None
            try:
                if has_locals:
                    try:
                        workspace = pool.pop()
                    except IndexError:
                        workspace = self.made_workspace()
                    locals_, addresses = workspace
                    code = function(control, *words, *addresses)
                else:
                    code = function(control, *words)
                if code != DONE:
                    tensors = values or [*map(as_value, given)]
                    failure = self.handle_status(code, compiled, tensors, locals_, threads.block)
            except (OverflowError, TypeError):  # a number that the kernel's parameter does not hold
                raise
            except BaseException as error:  # signal handlers run, and raise, as the kernel returns
                compiled.blame(error)
                self.leave(compiled, values or [*map(as_value, given)], locals_)
                raise
            if failure is not None:
                raise failure
            found = self.gather(given, locals_) if place is None else given[place]
            if keeps_locals:
                pool.append(workspace)
            return found

        return call

    def _cache(self, given: Values, values: Values) -> None:
        """Give the kernel an inline cache for arguments like these, if there can be one."""
        self._counts.at *= 2
        enter = self.entering()
        if self._draft is not None or enter is None or self.lowered.program.free:
            return
        cache = inline_cache(self, given, values, end=self._leave_cache)
        call = None if cache is None else self._compiled.inline_cache(cache)
        if cache is not None and call is not None:
            self._counts.count_in(cache)
            enter(self, call)

    def _leave_cache(self) -> None:
        """Let the kernel use no inline cache of this any more."""
        if (enter := self.entering()) is not None:
            enter(self, None)

    @property
    def is_cacheable(self) -> bool:
        """Whether calls with some arguments may go through an inline cache: the kernel exchanges no
        tensors, and makes none for its caller."""
        return not self._swaps and (self.keeps_locals or not self.has_locals)

    @property
    def has_results(self) -> bool:
        """Whether a call gives anything."""
        return bool(self._results)

    def given_result(self) -> int | None:
        """The place of the argument that is the one result; None if another value is."""
        if not self._single or not self._results:
            return None
        kind, place = self._results[0]
        return place if kind is Result.ARGUMENT else None

    def number_reader(self, locals_: Sequence[TensorStorage]) -> Callable[[], Any] | None:
        """A function that gives the result of a call from its temporaries, where it is one number
        that is read at once."""
        if not self._single or not self._results or self._results[0][0] is not Result.NUMBER:
            return None
        return locals_[self._results[0][1]].number_reader()

    def gather(self, given: Sequence[Any], locals_: Sequence[Any]) -> Any:
        """The results of a call: arguments as they were given, temporaries, and the numbers of
        variables."""
        if not self._results:
            return None
        found = tuple(TAKE[kind](given, locals_, k) for kind, k in self._results)
        return found[0] if self._single else found

    def _control(self) -> int:
        self._threads.block = block = self.control_block()
        self._threads.address = address = int(block.ctypes.data)
        return address

    def control_block(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        """A control block for calls of this thread (see ``interface.abi``)."""
        block = np.zeros(CONTROL_WORDS, np.int64)
        block[GUARD] = self._compiled.guard()
        block[POOL] = self._compiled.pool()
        return block

    # -- memory -------------------------------------------------------------------------

    def may_write(self, args: Sequence[Any]) -> bool:
        """Whether every array that the kernel writes is writeable."""
        return all(is_writeable(args[k]) for k in self.arrays)

    def check_memory(self, values: Sequence[Any]) -> None:
        """Raise ``LifecycleError`` for an output that shares memory with another argument, or of
        which two buffers share memory that is written."""
        for k in self.outputs:
            if _overlap(values[k].memory) and not (
                _values_apart(values[k].memory) and self._keeps(k)
            ):
                raise LifecycleError(
                    f"{self._names[k]} is written, and two of its buffers share memory",
                    span=self.lowered.program.spans.get(self._names[k]),
                    hint=f"pass a copy of it, {self._names[k]}.copy()",
                )
            for other, value in enumerate(values):
                if other == k or not _shared(values[k], value):
                    continue
                raise LifecycleError(
                    f"{self._names[k]} is written, and shares memory with {self._names[other]}",
                    span=self.lowered.program.spans.get(self._names[k]),
                    hint=f"pass a copy of it, {self._names[other]}.copy()",
                )

    def _keeps(self, k: int) -> bool:
        """Whether the structure of an output stays as it is."""
        return any(output.place == k and output.keeps() for output in self.growing)

    def _check_given(self, given: Sequence[Any]) -> None:
        self.check_memory([*map(as_value, given)])

    def made_workspace(self) -> Workspace:
        """New temporaries for a call."""
        made = tuple(map(self._make, self._local_formats))
        return made, [tensor.address for tensor in made]

    def leave(
        self,
        compiled: CompleteKernel,
        values: Sequence[Any],
        locals_: Sequence[TensorStorage] = (),
    ) -> None:
        """Make the outputs valid after a call that was interrupted."""
        self._settle(compiled, values, locals_)
        for tensor in (*(values[k] for k in self.outputs), *locals_):
            tensor.adopt_moved(compiled)
        self._checked.clear()
        self._reset(values, True)

    def _settle(
        self, compiled: CompleteKernel, values: Sequence[Any], locals_: Sequence[TensorStorage]
    ) -> None:
        """Let tensors that the kernel swapped hold the memory that they have now."""
        if self._swaps:
            from finch_core.runtime.exchanged import settle_exchanged

            settle_exchanged([*(values[k] for k in self._swapped), *locals_], compiled)

    @property
    def compiled(self) -> CompleteKernel:
        """The compiled kernel, at present."""
        return self._compiled

    def handle_status(
        self,
        code: int,
        compiled: CompleteKernel,
        values: Sequence[Any],
        locals_: Sequence[TensorStorage],
        block: np.ndarray[Any, np.dtype[np.int64]],
    ) -> BaseException | None:
        """Act on a status other than ``DONE``: adopt buffers that the kernel reallocated; return
        the error of the site at which it failed, or that of an interrupt. ``block`` is the control
        block that it was called with. Where a signal's handler raises in here, ``leave`` does the
        rest."""
        if code == INTERRUPTED:
            self.leave(compiled, values, locals_)
            return compiled.interruption()
        failed = code != MOVED
        sites = self.lowered.sites(compiled) if failed else ()
        if failed and code not in range(FAILED, FAILED + len(sites)):
            self.leave(compiled, values, locals_)
            return compiled.unknown(code)
        moved = code == MOVED or (failed and int(block[3]) != 0)
        if moved:
            self._settle(compiled, values, locals_)
            for k in self.outputs:
                values[k].adopt_moved(compiled)
            for local in locals_:
                local.adopt_moved(compiled, keep=self.keeps_locals)
            self._checked.clear()
            self._new.note(values)
        if not failed:
            return None
        numbers = [int(v) for v in block[:3]]
        site = sites[code - FAILED]
        error = site.error(site.message.format(*numbers), span=site.span, hint=site.hint)
        if isinstance(error, OutOfMemory):
            from finch_core.runtime.out_of_memory import out_of_memory

            outputs = [(self._names[k], values[k]) for k in self.outputs]
            error = out_of_memory(self.lowered.program, outputs, locals_, error)
        if not site.early:
            self._reset(values, code - FAILED == OUT_OF_MEMORY)
        return error

    def _reset(self, values: Sequence[Any], memory: bool) -> None:
        """Make the outputs valid after a failure: those that the kernel declares, and those whose
        structure is inconsistent, become empty. Arrays keep what was written to them."""
        from finch_core.runtime.validation import is_valid

        for k in self.outputs:
            signature = self.lowered.signatures[k]
            while not isinstance(signature, TensorSignature):
                signature = signature.inner  # type: ignore[attr-defined]
            if signature.fixed:
                continue
            levels = signature.format.levels()
            cut = memory and any(level.fields for level in levels if not level.is_leaf)
            if self._names[k] in self._declared or cut or not is_valid(values[k]):
                _empty(values[k])


def _is_array(signature: Signature) -> bool:
    return isinstance(signature, TensorSignature) and signature.fixed


def _empty(value: Any) -> None:
    """Make an output empty: with its shape if memory and its index dtype suffice, else with
    dimensions of 0."""
    try:
        value.fill(value.shape)
    except (MemoryError, IndexOverflow):
        value.fill((0,) * value.ndim)


def _overlap(ranges: Sequence[tuple[int, int]]) -> bool:
    """Whether two of these ranges of addresses overlap."""
    if len(ranges) < 2:  # dense outputs, in each call
        return False
    return any(stop > start for (_, stop), (start, _) in pairwise(sorted(ranges)))


def _values_apart(ranges: Sequence[tuple[int, int]]) -> bool:
    """Whether the last range, that of the values of a tensor, overlaps none before it."""
    *others, (first, last) = ranges
    return not any(start < last and first < stop for start, stop in others)


def _shared(a: Any, b: Any) -> bool:
    if a is b:
        return True
    for start, stop in a.memory:
        for other_start, other_stop in b.memory:
            if start < other_stop and other_start < stop:
                return True
    return False


def _is_word(signature: Signature) -> bool:
    """Whether an argument is one word: the address of a record, or a real number."""
    if isinstance(signature, ScalarSignature):
        return concrete(signature.type).kind in "biuf"
    return isinstance(signature, TensorSignature)
