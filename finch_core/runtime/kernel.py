"""Kernels: Python functions that are parsed, specialised to their arguments, compiled and run.

A call looks for what earlier calls left, in this order. Each table serves what the one before it
does not know; what is found is entered into those before.

    table                     key                    what it saves           emptied
    Kernel._cached            in C: classes, dtypes, all but the call        (1); where others are
                              memory, names seen                             called more
    Kernel._calls             the state of each      all but the call:       at 64 calls; where a
                              argument's buffers     addresses, checks       draft is replaced; (1)
    Kernel._quick             the signatures of      binding of names,       (1)
                              positional arguments   checks of kinds
    Specialization._checked   where the memory of    the check that outputs  by later calls (it has
                              the arguments is       share no memory         four); buffers moved
    Kernel._specializations   signatures, as if all  lowering and            (1)
                              memory were writable   compiling, or loading
    the backend's disk cache  ``Lowered.key``        lowering, compiling     see ``runtime/keys.py``
    Kernel._program           none                   parsing                 (1)

(1) where what was read while parsing has changed: a function that the kernel inlines, say.

A tensor whose buffers have moved has a new ``state``, so a key of ``_calls`` never comes again. A
call is entered there when it comes for the second time, with memory that ``_checked`` knows.
Numbers may differ. Calls with wrappers begin at ``_quick``; those of kernels with free names, at
``_specializations``.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Iterable
from types import FunctionType
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar, overload

from finch_core.errors import FinchError
from finch_core.frontend import parse
from finch_core.frontend.names import lookup
from finch_core.interface.display import explored
from finch_core.interface.inline_cache import MISSED
from finch_core.interface.plugins import when_plugins_change
from finch_core.interface.signatures import Signature, writable
from finch_core.ir.depth import roomy
from finch_core.ir.dtypes import as_number
from finch_core.ir.program import Program, written
from finch_core.locks import Lock, imported
from finch_core.records import evolve
from finch_core.runtime import backends
from finch_core.runtime.arguments import TAKEN, Number, as_argument
from finch_core.runtime.call_interface import ordered
from finch_core.runtime.drafts import may_be_draft
from finch_core.runtime.inline_caches import MOST
from finch_core.runtime.local_formats import with_formats
from finch_core.runtime.options import Options
from finch_core.runtime.pipeline import Lowered
from finch_core.runtime.specialization import Call, Specialization
from finch_core.runtime.statistics import Statistics
from finch_core.runtime.tensor import Tensor

if TYPE_CHECKING:
    from finch_core.frontend.seen import Seen
    from finch_core.symbolic.simplifier import Rule


P = ParamSpec("P")
R = TypeVar("R")


@overload
def kernel(function: Callable[P, R], /) -> Kernel[P, R]: ...
@overload
def kernel(
    *,
    strict: bool = ...,
    backend: str | None = ...,
    rules: Iterable[Rule] = ...,
    disabled: Iterable[str] = ...,
) -> Callable[[Callable[P, R]], Kernel[P, R]]: ...
def kernel(
    function: Callable[..., Any] | None = None,
    /,
    *,
    strict: bool = False,
    backend: str | None = None,
    rules: Iterable[Rule] = (),
    disabled: Iterable[str] = (),
) -> Any:
    """Compile a Python function of loops over tensors: a decorator, bare or with options.

    The function's body is parsed at the first call and never run by Python. A call takes tensors,
    NumPy arrays (written in place), SciPy sparse arrays (read in place) and numbers, compiles a
    specialisation for their formats and dtypes unless there is one, and returns the results that
    the function names after ``return``, or None.

    ``strict``: keep the order of floating-point reductions, so that results are those of the plain
    loops bit for bit; otherwise sums may be reassociated. ``backend``: the name of a backend;
    default: the environment variable ``FINCH_BACKEND``, else the best that is available.
    ``rules``: rewrite rules that are added to the simplifier's, for this kernel only.
    ``disabled``: names of passes, rules and optimisations of the backend to switch off
    (``docs/performance.md``): to find a mistake, or what an optimisation gains.

    A call raises ``KernelSyntaxError`` where the body is not part of the language,
    ``DimensionMismatch`` where dimensions disagree, ``FormatError`` for an argument that the kernel
    cannot take, ``LifecycleError`` where an output shares memory with another argument, and
    ``BackendError`` without a working backend. Tracebacks end in the line of the kernel at fault;
    ``FINCH_TRACEBACK=1`` keeps the frames of the compiler.
    """
    names = {disabled} if isinstance(disabled, str) else disabled
    options = Options(strict, backend, tuple(rules), frozenset(names))

    def made(function: Callable[..., Any]) -> Kernel[..., Any]:
        if not hasattr(function, "__name__"):
            raise TypeError(f"a kernel is made of a Python function, not of {function!r}")
        return Kernel(function, options)

    return made if function is None else made(function)


_kernels: weakref.WeakSet[Kernel[..., Any]] = weakref.WeakSet()
_adding = Lock()


def _forget_all() -> None:
    """Discard what was parsed and compiled: it may depend on what a plugin was before."""
    with _adding:
        known = tuple(_kernels)
    for made in known:
        made._forget()
        made._program, made._seen = made._given, None


when_plugins_change(_forget_all)


class Kernel(Generic[P, R]):
    """A function of tensors and numbers, compiled once for each combination of their formats and
    dtypes (see ``kernel``, which makes it).

    To a type checker a call takes what the function's annotations say, and gives what they say.
    """

    __wrapped__: Callable[P, R]

    def __init__(self, function: Callable[..., Any], options: Options) -> None:
        functools.update_wrapper(self, function)
        self._function = function
        self._options = options
        self._specializations: dict[tuple[Any, ...], Specialization] = {}
        self._quick: dict[tuple[Any, ...], Specialization] = {}
        self._calls: dict[tuple[Any, ...], Call] = {}
        self._cached: tuple[tuple[Callable[[Any], Any], Specialization], ...] = ()
        self._lock = Lock()
        self._warned: set[Any] = set()
        self._program: Program | None = None
        self._arity = -1
        self._given: Program | None = None
        self._seen: Seen | None = None
        self._placed: tuple[Program | None, tuple[tuple[str, bool], ...]] = (None, ())
        with _adding:
            _kernels.add(self)

    @classmethod
    def of_program(
        cls, program: Program, options: Options, *, quiet: bool = False
    ) -> Kernel[..., Any]:
        """A kernel of a program that was built directly, not parsed from a function. ``quiet``: it
        gives no ``PerformanceWarning``, as who built it chose the order of the loops."""

        def made() -> None:
            """Placeholder for the function that was not written."""

        made.__name__ = made.__qualname__ = program.name
        self = cls(made, options)
        self._program = self._given = program
        if quiet:
            self._warned.add(None)
        return self

    @property
    def program(self) -> Program:
        """The parsed program; parses the function at the first use. Raises ``KernelSyntaxError``
        for what is not part of the language."""
        program = self._program
        if program is None:
            with self._lock:
                program = self._program or self._parsed()
        return program

    def _parsed(self) -> Program:
        """The program, which is kept unless a plugin came or went while it was parsed."""
        began = self._specializations
        program = roomy(self._function.__name__, lambda: parse(self._function))
        if self._specializations is began:
            seen = program.seen
            self._seen = seen if seen and seen.surroundings else None
            self._program = program
        return program

    def __finch_program__(self, callers: tuple[FunctionType, ...]) -> Program | None:
        """The program for inlining in the kernels ``callers``; None if it has rules of its own.

        It is parsed anew: the lock of ``program`` is not taken, for which two kernels that call
        each other would wait.
        """
        if self._options.rules:
            return None
        program = self._given or parse(self._function, callers)
        return evolve(program, strict=program.strict or self._options.strict)

    def _notice(self) -> None:
        """Discard the program and its specialisations if something that was read while parsing
        has changed since: a function that the kernel inlines was redefined, say."""
        seen = self._seen
        if seen is None or seen.holds():
            return
        with self._lock:
            self._program = self._seen = None
            self._warned = set()
            self._forget()

    def _forget(self) -> None:
        """Discard the specialisations. A call that is being made enters its own into the tables
        with which it began, and a plugin does not wait for it."""
        self._specializations, self._quick, self._calls = {}, {}, {}
        self._cached = ()

    def _cache(self, specialized: Specialization, call: Callable[[Any], Any] | None) -> None:
        """Let calls be made through an inline cache of a specialisation; None: no longer."""
        known = self._specializations
        entries = [entry for entry in self._cached if entry[1] is not specialized]
        if call is not None and specialized in known.values():
            entries = [(call, specialized), *entries[: MOST - 1]]
        self._cached = tuple(entries)
        if self._specializations is not known:  # a plugin came or went meanwhile
            self._cached = ()

    if TYPE_CHECKING:

        def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
            """Run the kernel on these arguments."""

    def _run(self, *args: Any, **kwargs: Any) -> Any:
        try:
            if not kwargs:
                for cached, _ in self._cached:
                    found = cached(args)
                    if found is not MISSED:
                        return found
            if self._seen is not None:
                self._notice()
            if (kwargs or len(args) != self._arity) and self._arity >= 0:
                args, kwargs = tuple(ordered(self.program, args, kwargs)), {}
            if not kwargs:
                if calls := self._calls:
                    try:
                        states = [
                            (arg if arg.__class__ is Tensor else TAKEN[arg.__class__](arg)).state
                            for arg in args
                        ]
                        known = calls.get(tuple(states))
                    except (KeyError, AttributeError, ValueError, TypeError, BufferError):
                        known = None
                    if known is not None:
                        call, words, arrays, numbers = known
                        for k in arrays:
                            if not args[k].flags.writeable:
                                break
                        else:
                            if not numbers:
                                return call(words, args)
                            words = words.copy()
                            for k, convert in numbers:
                                words[k] = convert(args[k])
                            try:
                                return call(words, args)
                            except OverflowError:
                                if all(Number(args[k]).fits for k, _ in numbers):
                                    raise  # by a handler of signals
                try:
                    values = [
                        arg if (take := TAKEN.get(arg.__class__)) is None else take(arg)
                        for arg in args
                    ]
                    specialized = self._quick[tuple([value.signature for value in values])]
                except (KeyError, AttributeError, ValueError, TypeError, BufferError):
                    pass
                else:
                    if not specialized.arrays or specialized.may_write(args):
                        return specialized.run(values, args, calls)
            return self._call(args, kwargs)
        except FinchError as error:
            raise _shortened(error) from error.__cause__

    if not TYPE_CHECKING:
        __call__ = _run

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The slow path: arguments of any kind, keyword arguments, and free names."""
        quick, calls = self._quick, self._calls
        given, values = self._bind(args, kwargs)
        self._arity = len(self.program.params)
        signatures = tuple([value.signature for value in values])
        specialized = quick.get(signatures)
        if specialized is None:
            draft = may_be_draft(values, self._options)
            specialized = self._specialization(signatures, draft)
        if self.program.free:
            return specialized.run(values, given)
        quick[signatures] = specialized
        return specialized.run(values, given, calls)

    def _bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[list[Any], list[Any]]:
        """The values of parameters and free names, as given and as objects with a signature."""
        program = self.program
        fits = len(args) == len(program.params) and not kwargs
        given = list(args) if fits else ordered(program, args, kwargs)
        given += self._free_values(program)
        values = [
            as_argument(value, name, writes, program)
            for value, (name, writes) in zip(given, self._places(program), strict=True)
        ]
        return given, values

    def _places(self, program: Program) -> tuple[tuple[str, bool], ...]:
        """The parameters and free names, each with whether the program writes it."""
        known, places = self._placed
        if known is not program:
            outputs = written(program)
            places = tuple((name, name in outputs) for name in (*program.params, *program.free))
            self._placed = program, places
        return places

    def _free_values(self, program: Program) -> list[Any]:
        if not program.free:
            return []
        homes = {name: home for name, *home in program.homes}
        own: Any = self._function
        return [lookup(*homes.get(name, (own, name))) for name in program.free]

    def specialized(self, values: Iterable[Any]) -> Specialization | None:
        """What calls with arguments of these signatures run, if there was one; None otherwise, and
        for kernels with free names."""
        return self._quick.get(tuple([value.signature for value in values]))

    def _specialization(
        self, signatures: tuple[Signature, ...], draft: bool = False
    ) -> Specialization:
        signatures, known = tuple(map(writable, signatures)), self._specializations
        specialized = known.get(signatures)
        if specialized is None:
            with self._lock:
                specialized = known.get(signatures)
                if specialized is None:
                    made = signatures
                    specialized = roomy(
                        self._function.__name__,
                        lambda: Specialization(self.lowered(made), Tensor, draft),
                    )
                    specialized.entering = weakref.WeakMethod(self._cache)
                    known[signatures] = specialized
        return specialized

    def lowered(self, signatures: tuple[Signature, ...]) -> Lowered:
        """The stages of the kernel for signatures, each of which is made when it is asked for."""
        backend, disabled = backends.backend(self._options.backend), self._options.disabled
        if disabled:
            backend = backend.without(disabled)
        options = self._options
        if self.program.strict:
            options = evolve(options, strict=True)
        program = with_formats(self.program, signatures)
        return Lowered(program, signatures, options, backend, self._warned)

    def bind(self, *args: P.args, **kwargs: P.kwargs) -> Callable[[], R]:
        """A call of this kernel on these arguments, to be repeated: ``call = spmv.bind(y, A, x)``,
        then ``call()`` means ``spmv(y, A, x)`` and costs much less on small data.

        Tensors and arrays are read and written as they are at each call, numbers and free names
        have the values of now. Compiles the kernel, and raises what a call raises before it runs;
        ``FormatError`` also for an argument that every call copies. A call refuses
        (``DimensionMismatch``, ``FormatError``) an argument that has another shape, dtype or
        format than before; a tensor's buffers that have been replaced are followed.
        """
        bound = imported("finch_core.runtime.bound")
        try:
            self._notice()
            given, values = self._bind(args, kwargs)
            specialized = self._specialization(tuple(value.signature for value in values))
            seen = self._seen
            guards = []
            if seen is not None:
                guards.append(bound.Guard(seen.holds, self.name, "has another meaning"))
            call = bound.BoundCall(bound.binding(specialized, values, given, tuple(guards)))
            run: Callable[[], R] = call.caller()
            return run
        except FinchError as error:
            raise _shortened(error) from error.__cause__

    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """The specialisation of this kernel to these arguments, without running it.

        The result has ``as_text(stage)`` for the stages ``"program"``, ``"normalized"``,
        ``"assembly"`` and ``"source"``, and ``compile()``. Raises what a call raises before it
        runs.
        """
        try:
            self._notice()
            _, values = self._bind(args, kwargs)
            return self._specialization(tuple(value.signature for value in values)).lowered
        except FinchError as error:
            raise _shortened(error) from error.__cause__

    def reference(self, *args: Any, **kwargs: Any) -> Any:
        """The meaning of the program on dense NumPy arrays: the results of a call, as arrays.

        Runs the loops in Python, slowly, for tests and debugging. Tensors among the arguments are
        converted to dense arrays; no argument is changed. A kernel without results gives a dict of
        all its outputs by name. Raises ``KernelSyntaxError`` for an array that the kernel uses
        without an index.
        """
        from finch_core.reference.run import run
        from finch_core.runtime.uses import check_tensors

        self._notice()
        strict = self.program.strict or self._options.strict
        program = evolve(self.program, strict=strict)
        given = dict(zip(program.params, ordered(program, args, kwargs), strict=True))
        free = dict(zip(program.free, self._free_values(program), strict=True))
        check_tensors(program, {**given, **free})
        found = roomy(program.name, lambda: run(program, given, free, resize=False))
        numbers = {local.name for local in program.locals if local.is_variable}
        results = tuple(
            as_number(found[name]) if name in numbers else found[name] for name in program.results
        )
        if not results:
            return found
        return results[0] if program.single else results

    def __reduce__(self) -> Any:
        """Pickle the kernel as its function would be: by name, or by value where the pickler does
        so (cloudpickle: functions of scripts, notebooks, and nested functions). Compiled code is
        not pickled."""
        from finch_core.runtime.pickling import reduced

        return reduced(self, self._function, (self._options,), restored)

    def specialised(self) -> tuple[Lowered, ...]:
        """The specialisations that calls have made, in their order."""
        return tuple(found.lowered for found in self._specializations.values())

    def explore(self, *args: Any, path: Any = None, **kwargs: Any) -> Any:
        """Write an HTML page that shows how this kernel becomes code for these arguments, step by
        step; returns its path (None: ``<name>.html`` here). Raises what ``lower`` raises."""
        return explored(self.lower(*args, **kwargs), path)

    def stats(self) -> Statistics:
        """Statistics, a dict that notebooks show as a table: ``"calls"``, the number of calls;
        ``"signatures"``, the number of specialisations; ``"from_disk"``, how many of those were
        loaded from the disk cache; and ``"seconds"``, a dict of the seconds each stage took."""
        return Statistics.of(self.name, list(self._specializations.values()))

    def __repr__(self) -> str:
        return f"<kernel {self.name}>"

    @property
    def name(self) -> str:
        """The qualified name of the function."""
        return str(vars(self)["__qualname__"])


def _shortened(error: FinchError) -> FinchError:
    from finch_core.runtime.tracebacks import shortened  # few calls fail

    return shortened(error)


def restored(function: FunctionType, options: Options, module: str, name: str) -> Kernel[..., Any]:
    """Unpickle a kernel: the one that has this name if it is there, else a new one."""
    from finch_core.runtime.pickling import named_in

    found = named_in(module, name)
    if isinstance(found, Kernel) and getattr(found, "__wrapped__", None) is function:
        return found
    function.__qualname__ = name
    return Kernel(function, options)
