"""The C compiler: how it is found, its flags, and its error messages.

Modules that are needed only to compile are imported in functions, so that a process that finds its
kernels on disk does not load them.
"""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec

from finch_core.errors import BackendError
from finch_core.locks import cached_property, imported
from finch_core.records import frozen

BASE_FLAGS = (
    "-O3",
    "-std=gnu11",
    "-fPIC",
    "-shared",
    "-fwrapv",
    "-ffp-contract=off",
    "-Werror=implicit-function-declaration",
)
"""Flags that correctness depends on: integers wrap, and ``a * b + c`` rounds twice."""
NO_GATHERS = "-mtune-ctrl=^use_gather_2parts,^use_gather_4parts,^use_gather"
"""Disables gather instructions on x86, which are slower than scalar loads."""
INTEGERS_APART = f"{NO_GATHERS},^inter_unit_moves_to_vec"
"""The same (the last such flag counts), and no integers are kept in vector registers, where
``moves_look_cheap``: an index that is moved from one to be used as an address takes twice as long.
Not for kernels with vectors of their own (``registers``), whose pointers are sooner kept there than
in memory."""
HALF_REGISTERS = "-mprefer-vector-width=256"
"""On processors with AVX-512: vectors that fill half of a register, for kernels that read windows
(``analysis.reads_windows``). A longer vector would almost always lie in two lines of the cache."""
FULL_REGISTERS = "-mprefer-vector-width=512"
"""For other kernels, on processors that ``have_full_registers``: compilers prefer half of one
wherever some processors of a kind ran slower with the whole."""
ALIGNED_LOOPS = "-falign-loops=64"
"""Begins loops where a processor fetches from: a loop of 30 bytes over a row of ten entries takes
1.4 times as long where it lies across two lines of decoded instructions."""
OWN_LIBRARIES = "-nostdlib"
"""Links no default libraries, which halves the time of linking. The C library is already in the
process, and is a dependency of the math library."""
OPTIONAL_FLAGS = (
    "-march=native",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-fopenmp-simd",
    "-Wl,-z,noseparate-code",
    "-Wl,-z,norelro",
    NO_GATHERS,
    INTEGERS_APART,
    HALF_REGISTERS,
    FULL_REGISTERS,
    ALIGNED_LOOPS,
    OWN_LIBRARIES,
)
"""Flags for speed; those that the compiler rejects are left out."""
OTHERWISE = {
    NO_GATHERS: ("-mno-gather",),
    INTEGERS_APART: ("-mtune-ctrl=^inter_unit_moves_to_vec",),
}
"""Other names of a flag: in clang, and in gcc since version 14."""
_TIMEOUT = 600


@frozen
class Compiler:
    """A command that compiles C, and its file, whose date and size identify the version."""

    command: tuple[str, ...]
    file: str

    @cached_property
    def identity(self) -> str:
        """Identifies the compiler and the processor, on which a compiled kernel depends beside its
        text and flags; the compiler is not run for it."""
        status = os.stat(self.file)
        return "\n".join(
            [*self.command, str(status.st_mtime_ns), str(status.st_size), _processor()]
        )


def _processor() -> str:
    """Identifies the processor, for ``-march=native``: different machines may share a cache."""
    try:
        with open("/proc/cpuinfo", "rb", buffering=0) as file:
            first = file.read(4096).partition(b"\n\n")[0].decode(errors="replace")
    except OSError:
        return f"{platform.machine()} {platform.node()}"
    steady = ("model name", "flags", "Features", "CPU implementer", "CPU part")
    return "\n".join(line for line in first.splitlines() if line.startswith(steady))


@cache
def have_full_registers() -> bool:
    """Whether vectors of 64 bytes slow nothing down: on Intel's processors from Sapphire Rapids on,
    which have registers for matrices, too."""
    return "amx_tile" in _processor().split()


@cache
def moves_look_cheap() -> bool:
    """Whether compilers take moves between general and vector registers for cheap: gcc does on
    AMD's processors, where they take as long as a load."""
    lines = _processor().splitlines()
    return any(line.startswith("model name") and "AMD" in line for line in lines)


@cache
def register_bytes() -> int:
    """The length of the processor's vector registers. What it says of itself is read on Linux;
    others are taken for processors with registers of 32 bytes, those of Arm for 16."""
    known = _processor().split()
    if "avx512f" in known:
        return 64
    if platform.machine().lower() not in ("x86_64", "amd64"):
        return 16
    return 32 if "avx" in known or "flags" not in known else 16


def suitable(optional: Iterable[str], windows: bool, vectors: bool = False) -> tuple[str, ...]:
    """The optional flags for a kernel that reads ``windows``, and has ``vectors`` of its own, or
    does not."""
    unfit = {HALF_REGISTERS, FULL_REGISTERS}
    if windows:
        unfit.remove(HALF_REGISTERS)
    elif have_full_registers():
        unfit.remove(FULL_REGISTERS)
    if vectors or not moves_look_cheap():
        unfit.update((INTEGERS_APART, *OTHERWISE[INTEGERS_APART]))
    return tuple(flag for flag in optional if flag not in unfit)


# -- discovery --------------------------------------------------------------------------------


def find() -> Compiler:
    """The compiler that ``CC`` names, or ``cc``, ``gcc``, ``clang`` on the path, or the package
    ``ziglang``. Raises ``BackendError`` naming all that was tried."""
    tried = []
    for label, command in _candidates():
        file = _which(command[0])
        if file is not None:
            return Compiler((file, *command[1:]), os.path.realpath(file))
        tried.append(label)
        if label.startswith("CC="):
            break
    else:
        zig = find_spec("ziglang")
        if zig is not None and zig.origin is not None:
            return Compiler((sys.executable, "-m", "ziglang", "cc"), zig.origin)
        tried.append("the package ziglang")
    raise BackendError(
        f"no C compiler was found; tried {', '.join(tried)}",
        hint="install gcc or clang, or `pip install ziglang`, or set CC to a compiler's path",
    )


def _which(command: str) -> str | None:
    """The path of a command, as ``shutil.which`` finds it, without importing ``shutil``."""
    places = [""] if os.path.dirname(command) else os.get_exec_path()
    files = (os.path.join(place, command) for place in places)
    return next((f for f in files if os.path.isfile(f) and os.access(f, os.X_OK)), None)


def _candidates() -> Iterator[tuple[str, list[str]]]:
    named = _words("CC")
    if named:
        yield f"CC={joined(named)}", named
    for name in ("cc", "gcc", "clang"):
        yield name, [name]


def is_named() -> bool:
    """Whether ``CC`` names a compiler."""
    return bool(os.environ.get("CC"))


def extra_flags() -> tuple[str, ...]:
    """The flags that ``FINCH_CFLAGS`` appends."""
    return tuple(_words("FINCH_CFLAGS"))


def _words(variable: str) -> list[str]:
    """An environment variable as the shell splits it."""
    text = os.environ.get(variable, "")
    if not text:
        return []
    try:
        return list(imported("shlex").split(text))
    except ValueError as error:
        raise BackendError(
            f"{variable} cannot be split into words as a shell does: {str(error).lower()}: {text}",
            hint=f"set {variable} as you would type it, with quotes around words that have spaces",
        ) from None


def joined(command: Iterable[str]) -> str:
    """A command as typed in a shell."""
    return str(imported("shlex").join(command))


# -- running ----------------------------------------------------------------------------------


@contextmanager
def scratch(place: str | None = None) -> Iterator[str]:
    """A context with a new temporary folder.

    ``tempfile.TemporaryDirectory`` would also remove it when a forked child process ends.
    """
    folder = _folder(place)
    try:
        yield folder
    finally:
        _remove(folder)


def _folder(place: str | None = None) -> str:
    """A new folder for temporary files."""
    folder = os.path.join(place or places()[0], f"finch-{os.urandom(8).hex()}")
    os.mkdir(folder, 0o700)
    return folder


def _remove(folder: str) -> None:
    """Remove a folder with what is in it."""
    try:
        for name in os.listdir(folder):
            os.unlink(os.path.join(folder, name))
        os.rmdir(folder)
    except OSError:  # a compiler with flags of the user's has left more than files
        imported("shutil").rmtree(folder, ignore_errors=True)


def places() -> list[str]:
    """Folders for temporary files, the first choice first: those that ``tempfile`` would look at.
    Raises ``FileNotFoundError`` if none can be written.

    ``tempfile`` is not imported, nor ``shutil`` elsewhere: with the libraries for compressed files
    and random numbers that they load they take longer than all else around the compiler.
    """
    named = (os.environ.get(variable) for variable in ("TMPDIR", "TEMP", "TMP"))
    known = (*filter(None, named), "/tmp", "/var/tmp", "/usr/tmp")
    found = [p for p in map(os.path.abspath, known) if os.path.isdir(p)]
    found = [place for place in found if os.access(place, os.W_OK | os.X_OK)]
    if not found:
        raise FileNotFoundError("no folder for temporary files can be written; set TMPDIR")
    return found


@frozen
class Outcome:
    """The result of running the compiler: the library, or nothing, and the compiler's output."""

    library: bytes | None
    said: str


class Running:
    """The compiler at work on ``source``, in a process and a temporary folder of its own.

    Raises ``OSError`` where it cannot be started.
    """

    def __init__(self, compiler: Compiler, flags: tuple[str, ...], source: str) -> None:
        subprocess = imported("subprocess")
        self._folder = _folder()
        try:
            with open(self._path("kernel.c"), "w", encoding="utf-8") as file:
                file.write(source)
            command = [*compiler.command, *flags, "kernel.c", "-o", "kernel.so"]
            command += ["-lm"] * (OWN_LIBRARIES not in flags or _calls_math(source))
            command += ["-lgcc"] * (OWN_LIBRARIES in flags)
            self._process = subprocess.Popen(
                command,
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
            )
        except BaseException:
            _remove(self._folder)
            raise

    def has_ended(self) -> bool:
        """Whether the compiler has ended."""
        return self._process.poll() is not None

    def forget(self) -> None:
        """In a child process, whose parent waits for the compiler."""
        self._process.returncode = 0
        self._process.stdout.close()

    def outcome(self) -> Outcome:
        """What it made, once it has ended; the folder is removed. It is stopped after
        ``_TIMEOUT`` seconds, and by an exception of a signal's handler."""
        try:
            try:  # ``wait`` with a timeout would look every 50 ms
                said = self._process.communicate(timeout=_TIMEOUT)[0].decode(errors="replace")
            except imported("subprocess").TimeoutExpired as error:
                return Outcome(None, str(error))
            status = self._process.returncode
            if status != 0 or not os.path.isfile(self._path("kernel.so")):
                return Outcome(None, said.strip() or f"exit status {status}")
            with open(self._path("kernel.so"), "rb") as made:
                return Outcome(made.read(), said)
        finally:
            if not self.has_ended():
                self._process.kill()
                self._process.communicate()
            _remove(self._folder)

    def _path(self, name: str) -> str:
        return os.path.join(self._folder, name)


def run(compiler: Compiler, flags: tuple[str, ...], source: str) -> Outcome:
    """Compile ``source``."""
    try:
        return Running(compiler, flags, source).outcome()
    except OSError as error:
        return Outcome(None, str(error))


def _calls_math(source: str) -> bool:
    """Whether a function of the math library is called: to look into it takes 2 ms."""
    from finch_backend_c import helpers, spelling

    return any(map(spelling.is_math, helpers.called(source)))


def accepted(compiler: Compiler) -> tuple[str, ...]:
    """The optional flags that the compiler accepts, under the names that it accepts."""
    trial = "void *malloc(__SIZE_TYPE__);\nvoid *finch_trial(void) { return malloc(8); }\n"

    def takes(flag: str) -> bool:
        return run(compiler, (*BASE_FLAGS, flag), trial).library is not None

    names = ((flag, *OTHERWISE.get(flag, ())) for flag in OPTIONAL_FLAGS)
    return tuple(found for known in names if (found := next(filter(takes, known), None)))


def broken(compiler: Compiler, reason: Exception) -> BackendError:
    """The error if the compiled library cannot be loaded."""
    return BackendError(
        f"the C compiler wrote a library that cannot be loaded: {joined(compiler.command)}\n"
        f"{_indented(str(reason))}",
        hint="set CC to a compiler for this machine; if it is the file system that runs no code, "
        "set TMPDIR to a folder on another",
    )


def refused(compiler: Compiler, flags: tuple[str, ...], said: str) -> BackendError:
    """The error if the compiler fails, with its output."""
    command = joined([*compiler.command, *flags])
    return BackendError(
        f"the C compiler failed: {command}\n{_indented(said)}",
        hint="set CC to another compiler, or check FINCH_CFLAGS if you set it",
    )


def _indented(text: str, most: int = 40) -> str:
    lines = text.splitlines()
    shown = lines[:most] + [f"({len(lines) - most} more lines)"] * (len(lines) > most)
    return "\n".join(f"    {line}" for line in shown)
