"""Kernels: Python functions that are parsed, specialised to their arguments, compiled and run."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from types import FunctionType
from typing import TYPE_CHECKING, Any, overload

from finch_core.errors import FinchError
from finch_core.frontend import parse
from finch_core.interface.signatures import Signature, writable
from finch_core.ir.depth import roomy
from finch_core.ir.program import Program
from finch_core.locks import Lock
from finch_core.runtime import backends
from finch_core.runtime.arguments import TAKEN, are_small, as_argument
from finch_core.runtime.pipeline import Lowered, Options
from finch_core.runtime.specialization import Call, Entry, drafts, written
from finch_core.runtime.tensor import Tensor
from finch_core.runtime.tracebacks import shortened

if TYPE_CHECKING:
    from finch_core.frontend.seen import Seen
    from finch_core.symbolic.simplifier import Rule


@overload
def kernel(function: Callable[..., Any], /) -> Kernel: ...
@overload
def kernel(
    *, strict: bool = ..., backend: str | None = ..., rules: Iterable[Rule] = ...
) -> Callable[[Callable[..., Any]], Kernel]: ...
def kernel(
    function: Callable[..., Any] | None = None,
    /,
    *,
    strict: bool = False,
    backend: str | None = None,
    rules: Iterable[Rule] = (),
) -> Any:
    """Turn a Python function into a Finch program (LANGUAGE, "Kernels").

    ``strict`` keeps the order of floating-point reductions as the loops have it, bit for bit.
    ``backend`` names the backend to use; without it ``FINCH_BACKEND`` does, and else the best one
    that is installed is taken. ``rules`` are added to the simplifier's.

    The body is parsed when the kernel is first used, and never run. Raises ``KernelSyntaxError``
    then for what is not part of the language. Refusals have short tracebacks, which end in the line
    of the kernel at fault (``FINCH_TRACEBACK=1``: all of it).
    """
    options = Options(strict=strict, backend=backend, rules=tuple(rules))
    if function is None:
        return lambda f: Kernel(f, options)
    return Kernel(function, options)


class Kernel:
    """A function of tensors and numbers; calling it compiles what is new and runs it."""

    def __init__(self, function: Callable[..., Any], options: Options) -> None:
        functools.update_wrapper(self, function)
        self._function = function
        self._options = options
        self._entries: dict[tuple[Any, ...], Entry] = {}
        self._quick: dict[tuple[Any, ...], Entry] = {}
        self._calls: dict[tuple[Any, ...], Call] = {}
        self._lock = Lock()
        self._warned: set[Any] = set()
        self._program: Program | None = None
        self._seen: Seen | None = None
        self._placed: tuple[Program | None, tuple[tuple[str, bool], ...]] = (None, ())

    @classmethod
    def of_program(cls, program: Program, options: Options) -> Kernel:
        """A kernel of a program that was made otherwise than by parsing a function."""

        def made() -> None:
            """Stands for the program."""

        made.__name__ = made.__qualname__ = program.name
        self = cls(made, options)
        self._program = program
        return self

    @property
    def program(self) -> Program:
        """The parsed program."""
        if self._program is None:
            with self._lock:
                if self._program is None:
                    self._program = roomy(self._function.__name__, lambda: parse(self._function))
                    seen = self._program.seen
                    self._seen = seen if seen and seen.surroundings else None
        return self._program

    def _notice(self) -> None:
        """Begin anew where what the program was given meaning by has changed: a function that it
        inlines was defined again, say."""
        if self._seen is None or self._seen.holds():
            return
        with self._lock:
            self._program = self._seen = None
            self._entries, self._quick, self._calls = {}, {}, {}
            self._warned = set()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            if self._seen is not None:
                self._notice()
            if not kwargs:
                if calls := self._calls:
                    try:
                        states = [
                            (arg if arg.__class__ is Tensor else TAKEN[arg.__class__](arg))._state
                            for arg in args
                        ]
                        call, words, arrays = calls[tuple(states)]
                    except (KeyError, AttributeError, ValueError, TypeError, BufferError):
                        pass
                    else:
                        for k in arrays:
                            if not args[k].flags.writeable:
                                break
                        else:
                            return call(words, args)
                try:
                    values = [
                        arg if (take := TAKEN.get(arg.__class__)) is None else take(arg)
                        for arg in args
                    ]
                    entry = self._quick[tuple([value.signature for value in values])]
                except (KeyError, AttributeError, ValueError, TypeError, BufferError):
                    pass
                else:
                    if not entry.arrays or entry.may_write(args):
                        return entry.run(values, args, self._calls)
            return self._call(args, kwargs)
        except FinchError as error:
            raise shortened(error) from error.__cause__

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The general way: arguments of any kind, in any order, and free names beside them."""
        given, values = self._bind(args, kwargs)
        signatures = tuple([value.signature for value in values])
        entry = self._entry(signatures, draft=drafts() and are_small(values))
        if self.program.free:
            return entry.run(values, given)
        self._quick[signatures] = entry
        return entry.run(values, given, self._calls)

    def _bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[list[Any], list[Any]]:
        """The arguments and free names, as given and as values with a signature."""
        program = self.program
        fits = len(args) == len(program.params) and not kwargs
        given = list(args) if fits else _ordered(program, args, kwargs)
        given += self._free_values(program)
        values = [
            as_argument(value, name, writes, program)
            for value, (name, writes) in zip(given, self._places(program), strict=True)
        ]
        return given, values

    def _places(self, program: Program) -> tuple[tuple[str, bool], ...]:
        """The names of the arguments and free names, and whether they are written."""
        known, places = self._placed
        if known is not program:
            outputs = written(program)
            places = tuple((name, name in outputs) for name in (*program.params, *program.free))
            self._placed = program, places
        return places

    def _free_values(self, program: Program) -> list[Any]:
        if not program.free:
            return []
        from finch_core.frontend.names import lookup

        return [lookup(self._function, name) for name in program.free]  # type: ignore[arg-type]

    def _entry(self, signatures: tuple[Signature, ...], draft: bool = False) -> Entry:
        signatures = tuple(map(writable, signatures))
        entry = self._entries.get(signatures)
        if entry is None:
            with self._lock:
                entry = self._entries.get(signatures)
                if entry is None:
                    made = signatures
                    entry = roomy(
                        self._function.__name__, lambda: Entry(self._lowered(made), Tensor, draft)
                    )
                    self._entries[signatures] = entry
        return entry

    def _lowered(self, signatures: tuple[Signature, ...]) -> Lowered:
        backend, disabled = backends.backend(self._options.backend), self._options.disabled
        if disabled:
            backend = backend.without(disabled)
        return Lowered(self.program, signatures, self._options, backend, self._warned)

    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """The kernel specialised to these arguments, without running it.

        The result has ``as_text(stage)`` for the stages ``"program"``, ``"normalized"``,
        ``"assembly"`` and ``"source"``, and ``compile()``.
        """
        try:
            self._notice()
            _, values = self._bind(args, kwargs)
            return self._entry(tuple(value.signature for value in values)).lowered
        except FinchError as error:
            raise shortened(error) from error.__cause__

    def reference(self, *args: Any, **kwargs: Any) -> Any:
        """What the program means on dense NumPy arrays: the same results, as arrays, slowly.

        The arguments are left as they are.
        """
        from finch_core.reference.run import run

        self._notice()
        program = self.program
        given = dict(zip(program.params, _ordered(program, args, kwargs), strict=True))
        free = dict(zip(program.free, self._free_values(program), strict=True))
        found = roomy(program.name, lambda: run(program, given, free, resize=False))
        results = tuple(found[name] for name in program.results)
        if not results:
            return found
        return results[0] if program.single else results

    def __reduce__(self) -> Any:
        """A kernel is pickled as its function is: by name, or by value where the pickler does that
        (cloudpickle, of functions in scripts and notebooks, and within functions). What has been
        compiled is not."""
        from finch_core.runtime.pickling import reduced

        return reduced(self, self._function, (self._options,), restored)

    def stats(self) -> dict[str, Any]:
        """How often it was called, for how many signatures it was made, how many of those were
        found on disk, and the seconds each stage took."""
        entries = list(self._entries.values())
        seconds: dict[str, float] = {}
        for entry in entries:
            for stage, value in entry.lowered.seconds.items():
                seconds[stage] = seconds.get(stage, 0.0) + value
        return {
            "calls": sum(entry.calls for entry in entries),
            "signatures": len(entries),
            "from_disk": sum(entry.lowered.cached for entry in entries),
            "seconds": seconds,
        }

    def __repr__(self) -> str:
        return f"<kernel {self.name}>"

    @property
    def name(self) -> str:
        """The name of the function in its module, with dots."""
        return str(vars(self)["__qualname__"])


def _ordered(program: Program, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """The arguments in the order of the parameters; ``TypeError`` as Python would raise it."""
    names = program.params
    if len(args) > len(names):
        raise TypeError(f"{program.name}() takes {len(names)} arguments, {len(args)} were given")
    given = dict(zip(names, args, strict=False))
    for name, value in kwargs.items():
        if name not in names:
            raise TypeError(f"{program.name}() has no parameter {name!r}")
        if name in given:
            raise TypeError(f"{program.name}() got {name!r} twice")
        given[name] = value
    missing = [name for name in names if name not in given]
    if missing:
        raise TypeError(f"{program.name}() lacks the argument {missing[0]!r}")
    return [given[name] for name in names]


def restored(function: FunctionType, options: Options, module: str, name: str) -> Kernel:
    """The kernel of this name if it is there, else one of the function: what unpickling calls."""
    from finch_core.runtime.pickling import named_in

    found = named_in(module, name)
    if isinstance(found, Kernel) and found._function is function:
        return found
    function.__qualname__ = name
    return Kernel(function, options)
