"""The commands of ``python -m finch_core``: plugins, backends, the cache, pages about kernels.

Each command returns a ``Report`` of lines, which ``__main__`` prints.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Iterator, Sequence
from importlib import import_module, metadata
from pathlib import Path
from runpy import run_path
from typing import Any

import numpy as np

from finch_core.errors import BackendError, FinchError, FormatError, quote
from finch_core.interface.abi import CONTROL_WORDS
from finch_core.interface.display import explored
from finch_core.interface.plugin_records import DISTRIBUTION, PluginReport
from finch_core.interface.plugins import hub
from finch_core.records import frozen
from finch_core.runtime.backends import Backends, backends


@frozen
class Report:
    """The output of a command, and whether it found no problem."""

    lines: tuple[str, ...]
    well: bool = True


# -- plugins ----------------------------------------------------------------------------------


def plugins() -> Report:
    """List every plugin: its distribution and version, and what it registers or why it failed."""
    entries = hub().report()
    failed = [entry for entry in entries if entry.failure]
    heads = [(e.name, f"{e.distribution} {e.version}", _told(e)) for e in entries]
    lines = [*_table(heads), "", f"{_count(len(entries), 'plugin')}, {len(failed)} failed"]
    return Report(tuple(lines), not failed)


def _told(entry: PluginReport) -> str:
    if entry.failure:
        return f"FAILED: {entry.failure}"
    return ", ".join(entry.registers) or "(observes)"


def _table(rows: list[tuple[str, str, str]]) -> Iterator[str]:
    """Rows with their first two columns aligned."""
    widths = [max((len(row[k]) for row in rows), default=0) for k in range(2)]
    for name, owner, told in rows:
        yield f"{name:<{widths[0]}}  {owner:<{widths[1]}}  {told}"


# -- doctor -----------------------------------------------------------------------------------


def doctor(installed: Backends | None = None) -> Report:
    """Report versions, backends, which one is chosen and why, and plugins that failed; compile a
    small kernel, without the cache, and run it."""
    found = backends() if installed is None else installed
    chosen = _choice(found)
    parts = [_versions(), _backends(found), chosen, _plugins()]
    if chosen.well:
        parts.append(_trial(found))
    lines = tuple(line for part in parts for line in part.lines)
    return Report(lines, all(part.well for part in parts))


def _versions() -> Report:
    try:
        own = metadata.version(DISTRIBUTION)
    except metadata.PackageNotFoundError:
        own = "(not installed)"
    python = f"{platform.python_implementation()} {platform.python_version()}"
    return Report((f"{DISTRIBUTION} {own}, {python}, numpy {np.__version__}",))


def _backends(found: Backends) -> Report:
    return Report(tuple(line for name in found.installed for line in _backend(found, name)))


def _backend(found: Backends, name: str) -> Iterator[str]:
    """A backend: whether it is available, and its description of itself."""
    try:
        backend = found.load(name)
    except BackendError as error:
        yield f"backend {name!r}: broken: {error.message}"
        return
    try:
        reason = backend.available()
    except BackendError as error:
        reason = error.message
    yield f"backend {name!r}: " + (f"not available: {reason}" if reason else "available")
    for key, value in backend.describe().items():
        yield f"  {key}: {value}"


def _choice(found: Backends) -> Report:
    try:
        choice = found.choose()
    except BackendError as error:
        return Report((f"chosen: none: {error}",), False)
    refused = (f"  not taken: {reason}" for reason in choice.refused)
    return Report((f"chosen: {choice.backend.name!r}: {choice.reason}", *refused))


def _plugins() -> Report:
    report = plugins()
    failed = (f"  {e.name} ({e.distribution} {e.version}): {e.failure}" for e in hub().report()
              if e.failure)  # fmt: skip
    return Report((f"plugins: {report.lines[-1]}", *failed), report.well)


def _sum(s: Any, x: Any) -> Any:
    for i in range(4):
        s[()] += x[i]


def _trial(found: Backends) -> Report:
    """Compile a sum of four numbers on the chosen backend, without the cache, and run it."""
    from finch_core.runtime.convert import asarray
    from finch_core.runtime.kernel import kernel

    s, x = np.zeros(()), np.arange(4.0)
    try:
        backend = found.choose().backend
        lowered = kernel(_sum).lower(s, x)
        started = time.perf_counter()
        compiled = backend.compile(lowered.kernel)
        seconds = time.perf_counter() - started
        control, tensors = np.zeros(CONTROL_WORDS, np.int64), [asarray(s), asarray(x)]
        status = compiled(control.ctypes.data, *(word for t in tensors for word in t.words()))
    except FinchError as error:
        return Report((f"kernel: failed: {error}",), False)
    if status != 0 or s[()] != 6:
        return Report((f"kernel: wrong: status {status}, the sum of 0 to 3 is {s[()]}",), False)
    return Report((f"kernel: compiled in {seconds:.2f} s, and its result is right",))


# -- the cache --------------------------------------------------------------------------------


def clear_cache(installed: Backends | None = None) -> Report:
    """Remove the compiled kernels that backends keep on disk."""
    found = backends() if installed is None else installed
    reports = [_clear(found, name) for name in found.installed]
    return Report(tuple(r.lines[0] for r in reports if r.lines), all(r.well for r in reports))


def _clear(found: Backends, name: str) -> Report:
    try:
        backend = found.load(name)
        removed = backend.clear_cache()
        if removed is None:
            return Report(())
        return Report((f"backend {name!r}: {_count(removed, 'file')} removed",))
    except (BackendError, OSError) as error:
        return Report((f"backend {name!r}: not cleared: {error}",), False)


# -- a new plugin -----------------------------------------------------------------------------


def new_plugin(name: str, folder: str = ".") -> Report:
    """Write a package with a level format, which works and can be changed. Raises ``FormatError``
    for a wrong or taken name."""
    from finch_core.interface.plugin_template import new_plugin as written

    paths = written(name, Path(folder))
    again = f'cd {Path(folder) / name} && python -m pip install -e ".[test]" && python -m pytest'
    return Report((*map(str, paths), "", f"to install and test it: {again}"))


# -- a page about a kernel ----------------------------------------------------------------------


def explore(place: str, values: Sequence[str], output: str | None) -> Report:
    """Run the file (or import the module) of ``place``, ``FILE.py:NAME``, and write the page of
    the kernel ``NAME``: for ``values``, expressions over the file's names; else for the arguments
    of the first call that the file made; else for the file's names that are the parameters'.

    Raises ``FormatError`` for what is no kernel, and for arguments that are not there.
    """
    file, _, name = place.rpartition(":")
    if not file:
        raise FormatError(f"{place!r} names no kernel", hint="FILE.py:NAME, or MODULE:NAME")
    names = run_path(file, run_name="__main__") if Path(file).exists() else _imported(file)
    kernel = names.get(name)
    if not hasattr(kernel, "specialised"):
        raise FormatError(f"{name!r} is no kernel of {file}")
    return Report((f"wrote {explored(_lowered(kernel, names, values), output)}",))


def _imported(module: str) -> dict[str, Any]:
    try:
        return vars(import_module(module))
    except ModuleNotFoundError as error:
        if not f"{module}.".startswith(f"{error.name}."):  # one that the module imports
            raise
        raise FormatError(f"there is no file and no module {module!r}") from None


def _lowered(kernel: Any, names: dict[str, Any], values: Sequence[str]) -> Any:
    """The kernel, specialised to the arguments that are to be explored."""
    if not values and (known := kernel.specialised()):
        return known[0]
    given = values or kernel.program.params
    missing = [] if values else [name for name in given if name not in names]
    if missing:
        raise FormatError(
            f"{kernel.name} is not called, and there is no {quote(missing)} to call it with",
            hint="give the arguments: explore FILE.py:NAME ARGUMENT ...",
        )
    return kernel.lower(*(eval(value, names) for value in given))


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'s' * (number != 1)}"


__all__ = ["Report", "clear_cache", "doctor", "explore", "new_plugin", "plugins"]
