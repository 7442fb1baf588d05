"""The choice of a backend: the one that is named, else the best that is installed.

A backend is an entry point of the group ``finch.backends``: a name, and a function that returns an
object with the methods of ``interface.abi.Backend``. Only the chosen one is loaded. If a backend is
named and does not work, that is an error; no other is tried.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from finch_core.errors import BackendError
from finch_core.interface.abi import REQUIRED, CompleteBackend
from finch_core.interface.discovery import EntryPoint, installed
from finch_core.interface.plugin_checks import describe
from finch_core.interface.versions import version_objection, version_objection_in_file
from finch_core.locks import Lock, importing
from finch_core.records import frozen

GROUP = "finch.backends"
"""The entry-point group of backends."""

VARIABLE = "FINCH_BACKEND"
"""The environment variable that names a backend; read whenever a kernel is specialised."""

PREFERRED = "c"
LAST = "interpreter"


@frozen
class ChosenBackend:
    """A backend and the reason why it was chosen; ``refused`` has a reason for each better one
    that was not."""

    backend: CompleteBackend
    reason: str
    refused: tuple[str, ...] = ()


class Backends:
    """The installed backends, each loaded at its first use. Thread-safe."""

    def __init__(self, entries: Iterable[EntryPoint] | None = None) -> None:
        self._lock = Lock()
        found = installed(GROUP) if entries is None else entries
        self._entries = _by_name(found)
        self._loaded: dict[str, CompleteBackend] = {}
        self._best: ChosenBackend | None = None

    @property
    def installed(self) -> tuple[str, ...]:
        """Names of the installed backends, in the order in which they are tried."""
        return tuple(sorted(self._entries, key=lambda name: (_rank(name), name)))

    def choose(self, name: str | None = None) -> ChosenBackend:
        """The backend called ``name``, else the one that ``FINCH_BACKEND`` names, else the best.

        Raises ``BackendError`` if it is not installed, does not load, or cannot compile here.
        """
        if name is not None:
            return ChosenBackend(self._named(name), f"{name!r} was asked for")
        variable = os.environ.get(VARIABLE)
        if variable:
            return ChosenBackend(self._named(variable), f"{VARIABLE}={variable}")
        with self._lock:
            if self._best is None:
                self._best = self._choose_best()
            return self._best

    def _named(self, name: str) -> CompleteBackend:
        backend = self.load(name)
        reason = backend.available()
        if reason:
            raise BackendError(
                f"the backend {name!r} cannot be used here: {reason}", hint=self._list()
            )
        return backend

    def _choose_best(self) -> ChosenBackend:
        refused: list[str] = []
        for name in self.installed:
            try:
                backend = self.load(name)
            except BackendError as error:
                refused.append(error.message)
                continue
            reason = backend.available()  # raises where the user configured it wrongly
            if reason:
                refused.append(f"the backend {name!r} cannot be used here: {reason}")
                continue
            place = "the first choice" if name == PREFERRED else "the best that is available"
            return ChosenBackend(
                backend, f"none was named, and {name!r} is {place}", tuple(refused)
            )
        raise BackendError("\n".join(["no backend is available", *refused]), hint=self._list())

    def load(self, name: str) -> CompleteBackend:
        """The backend called ``name``, whether or not it can compile here.

        Raises ``BackendError`` if it is not installed or does not load.
        """
        with self._lock:
            if name not in self._loaded:
                self._loaded[name] = _load(self._entry(name))
            return self._loaded[name]

    def _entry(self, name: str) -> EntryPoint:
        claims = self._entries.get(name, ())
        if not claims:
            raise BackendError(f"there is no backend {name!r}", hint=self._list())
        if len(claims) > 1:
            owners = " and ".join(_owner(entry) for entry in claims)
            raise BackendError(f"the backend name {name!r} is claimed by {owners}")
        return claims[0]

    def _list(self) -> str:
        if not self._entries:
            return "none is installed; install the package, also to work on it: pip install -e ."
        return "installed: " + ", ".join(
            f"{name!r} ({'; '.join(_owner(e) for e in self._entries[name])})"
            for name in self.installed
        )


def _rank(name: str) -> int:
    return {PREFERRED: 0, LAST: 2}.get(name, 1)


def _owner(entry: EntryPoint) -> str:
    return " ".join(entry.origin)


def _by_name(
    entries: Iterable[EntryPoint],
) -> Mapping[str, tuple[EntryPoint, ...]]:
    table: dict[str, tuple[EntryPoint, ...]] = {}
    for entry in sorted(entries, key=lambda e: (e.name, e.origin)):
        table[entry.name] = (*table.get(entry.name, ()), entry)
    return MappingProxyType(table)


def _load(entry: EntryPoint) -> CompleteBackend:
    where = f"the backend {entry.name!r} ({_owner(entry)})"
    try:
        with importing:
            backend = entry.load()()
    # third-party code: whatever it raises, name the distribution
    except (Exception, SystemExit) as error:
        why = version_objection_in_file(entry.module) or describe(error)
        raise BackendError(f"{where} does not load: {why}") from error
    objection = version_objection(backend)
    if objection:
        raise BackendError(f"{where} does not fit: {objection}")
    missing = [m for m in REQUIRED if not callable(getattr(backend, m, None))]
    if missing:
        raise BackendError(f"{where} lacks {', '.join(missing)}")
    return CompleteBackend(backend)


_lock = Lock()
_backends: Backends | None = None


def backends() -> Backends:
    """The backends that are installed; looked up at the first call of the process."""
    global _backends
    if _backends is None:
        with _lock:
            _backends = _backends or Backends()
    return _backends


def backend(name: str | None = None) -> CompleteBackend:
    """The backend to compile with: ``name``, else ``FINCH_BACKEND``, else the best available.

    Raises ``BackendError``, with a list of what is installed, if the named one is not installed,
    does not load, or cannot compile here, or if none is available.
    """
    return backends().choose(name).backend


def compiles() -> bool:
    """Whether kernels are compiled here, and not interpreted: where they are not, NumPy is the
    faster way for work of our own."""
    try:
        return backend().name != LAST
    except BackendError:
        return False


def explain(name: str | None = None) -> str:
    """The backend that ``backend(name)`` chooses and why: one line, and one for each better backend
    that is not available. Raises as ``backend`` does."""
    choice = backends().choose(name)
    lines = [f"backend {choice.backend.name!r}: {choice.reason}"]
    return "\n".join([*lines, *(f"  not taken: {reason}" for reason in choice.refused)])
