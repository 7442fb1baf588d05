"""The backend object: translates, compiles, caches and loads kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, ClassVar

from finch_backend_c import cache, loader, toolchain
from finch_core.errors import BackendError
from finch_core.locks import imported
from finch_core.records import define, evolve, field, frozen

if TYPE_CHECKING:
    from finch_backend_c import beside
    from finch_core.ir.assembly import Kernel

LARGE = 100_000
"""A kernel with more characters of C is compiled with fewer optimisations: compile time grows
faster than the text, and the run time of a large merge is dominated by branches anyway."""

_SPARING = ("-O1",)
_DRAFTS = ("-Og", "-Dinline=inline __attribute__((always_inline))")
"""A draft is compiled in two thirds of the time of ``-O1``: gcc leaves out its passes over loops,
and that which inlines (``docs/decisions/242-larger-drafts-on-one-thread.md``)."""

_PLAIN = ("-O", "-g", "-m", "-D", "-W")
"""Prefixes of flags that need no library."""


OPTIMISATIONS = frozenset({"restrict", "rooms", "sort", "peeling", "equal_names"})
"""The optimisations of this backend that ``Options.disabled`` can name (docs/performance.md)."""


@frozen(eq=False)
class _Translated:
    """A kernel as C: its text, the letters of its parameters, its notes, and whether it reads
    windows."""

    source: str
    letters: str
    notes: str
    windows: bool

    @property
    def told(self) -> tuple[str, str, str]:
        """What is stored beside the library."""
        return self.source, self.letters, self.notes


@define
class CBackend:
    """The backend ``c``: kernels in C, compiled by the system's compiler and cached on disk.

    ``flags`` are added to the compiler's. ``fail_alloc`` is the number of the allocation that
    fails, counted from 1 since the kernel was loaded. ``disabled`` names optimisations to switch
    off. These three are for tests. If ``drafts``, kernels are compiled with fewer optimisations.
    """

    flags: tuple[str, ...] = ()
    fail_alloc: int = 0
    disabled: frozenset[str] = frozenset()
    drafts: bool = False
    name: str = field(default="c", init=False)
    optimisations: ClassVar[frozenset[str]] = OPTIMISATIONS

    def without(self, names: frozenset[str]) -> CBackend:
        """This backend with the optimisations in ``names`` switched off; ignores other names."""
        disabled = self.disabled | (names & OPTIMISATIONS)
        return self if disabled == self.disabled else evolve(self, disabled=disabled)

    def draft(self) -> CBackend:
        """This backend with fewer optimisations, for kernels on small data."""
        if any(flag.startswith("-O") for flag in self._extra()):
            return self  # the user has set the level of optimisation
        return evolve(self, drafts=True)

    def available(self) -> str:
        """An empty string if there is a C compiler, else the reason why not.

        Raises ``BackendError`` if ``CC`` names a compiler that does not exist or ``FINCH_CFLAGS``
        cannot be parsed: a user who sets these variables expects the C backend.
        """
        toolchain.extra_flags()
        try:
            toolchain.find()
        except BackendError as error:
            if toolchain.is_named():
                raise
            return error.message
        return ""

    def compile(self, kernel: Kernel, *, key: str = "") -> loader.CKernel:
        """Compile a kernel. Raises ``BackendError`` with the compiler's output if that fails."""
        return self._compiled(self._translated(kernel), key)

    def compile_simpler(
        self, kernel: Kernel, full: Callable[[], Kernel], *, key: str = ""
    ) -> loader.CKernel:
        """The same of a draft of ``kernel``, a simpler form of what ``full`` gives; of that where
        no draft is made."""
        translated = self._translated(kernel)
        if not self._is_draft(translated):
            return self.compile(full(), key=key)
        return self._compiled(translated, key, is_simpler=True)

    def compile_beside(self, kernel: Kernel, *, key: str = "") -> beside.Beside | None:
        """Begin to compile a kernel of which there is a draft, beside this process, into the cache;
        None without one."""
        return self._beside(toolchain.find(), key, self._translated(kernel)) if key else None

    def _translated(self, kernel: Kernel) -> _Translated:
        translator = imported("finch_backend_c.entry")
        source = translator.translate(kernel, fail_alloc=self.fail_alloc, disabled=self.disabled)
        windows = imported("finch_backend_c.analysis").reads_windows(kernel)
        return _Translated(source, translator.signature(kernel), kernel.notes, windows)

    def _is_draft(self, translated: _Translated) -> bool:
        return self.drafts and len(translated.source) <= LARGE

    def _compiled(self, given: _Translated, key: str, is_simpler: bool = False) -> loader.CKernel:
        """A kernel, compiled; a draft of a simpler form of it if it ``is_simpler``."""
        compiler, is_draft, told = toolchain.find(), self._is_draft(given), given.told
        if loader.is_parallel(given.source) and not is_draft:
            imported("finch_backend_c.threads").begin()

        def use(path: str) -> loader.CKernel:
            made = loader.load(path, *told[:2], is_draft, told[2])
            made.is_simpler = is_simpler
            if is_draft and key and not is_simpler:
                made.optimised = lambda: self._beside(compiler, key, given)
            return made

        if not key:
            library = self._build(compiler, given.source, given.windows)
            return self._used(compiler, "", library, None, use)
        entry = self._entry(compiler, key, is_draft)
        with cache.compiling(entry):
            found = self._loaded(key, len(given.letters), is_draft)  # another process was first
            if found is not None:
                return found
            library = self._build(compiler, given.source, given.windows)
            kept = cache.store(entry, library, *told)
        return self._used(compiler, entry, library, kept, use)

    def _used(
        self, compiler: toolchain.Compiler, entry: str, library: bytes,
        kept: cache.CachedKernel | None, use: Callable[[str], loader.CKernel],
    ) -> loader.CKernel:  # fmt: skip
        """A library, loaded from where the cache keeps it. Raises ``BackendError`` if it cannot be
        used."""
        try:
            if kept is None:
                return loader.aside(library, use)
            return loader.in_place(kept.library, use)
        except (OSError, AttributeError) as error:
            if kept is not None:
                cache.drop(entry, kept)
            raise toolchain.broken(compiler, error) from error

    def _beside(
        self, compiler: toolchain.Compiler, key: str, given: _Translated
    ) -> beside.Beside | None:
        """The kernel of which there is a draft, compiled beside this process into the cache; None
        without one."""
        if cache.directory() is None:
            return None
        if loader.is_parallel(given.source):
            imported("finch_backend_c.threads").begin()
        full = evolve(self, drafts=False)
        flags, _ = full._chosen(compiler, given.source, given.windows)
        entry = full._entry(compiler, key, False)
        made: beside.Beside = imported("finch_backend_c.beside").Beside(
            compiler, flags, given.source, lambda library: cache.store(entry, library, *given.told)
        )
        return made

    def load(self, key: str, params: int) -> loader.CKernel | None:
        """The kernel that an earlier process compiled with this key, by the same compiler and
        flags; None if there is none or it does not take ``params`` parameters. Prefers an optimised
        kernel to a draft."""
        kinds = (False, True) if self.drafts else (False,)
        loaded = (self._loaded(key, params, is_draft) for is_draft in kinds)
        found = next((kernel for kernel in loaded if kernel is not None), None)
        if found is None:
            _begin_interrupts()
        return found

    def _loaded(self, key: str, params: int, is_draft: bool) -> loader.CKernel | None:
        try:
            kept = cache.load(self._entry(toolchain.find(), key, is_draft))
            if kept is None or len(kept.signature) != params:
                return None
            told = kept.source, kept.signature, is_draft, kept.notes
            return loader.in_place(kept.library, lambda path: loader.load(path, *told))
        except (BackendError, OSError, AttributeError):
            return None

    def describe(self) -> dict[str, str]:
        """The compiler, the flags that kernels are compiled with, and the cache."""
        told = {}
        with suppress(BackendError):
            compiler = toolchain.find()
            told["compiler"] = toolchain.joined(compiler.command)
            told["flags"] = toolchain.joined(self._flags(compiler))
        path, files, size = cache.info()
        where = "none: no directory can be used" if path is None else path
        if cache.runs_no_code(path):
            where += " (where no code can be run: libraries are copied from there)"
        return {**told, "cache": f"{where}, {files:,} files, {size:,} bytes"}

    def clear_cache(self) -> int:
        """Remove all kernels on disk; returns the number of files removed."""
        return cache.clear()

    def _flags(self, compiler: toolchain.Compiler) -> tuple[str, ...]:
        """The flags that ``compiler`` is known to accept."""
        known = cache.recall(self._taken(compiler))
        optional = toolchain.OPTIONAL_FLAGS if known is None else known
        return (*toolchain.BASE_FLAGS, *self._fitting(optional), *self._extra())

    def _fitting(self, optional: Sequence[str]) -> tuple[str, ...]:
        """The optional flags that fit the user's flags: instrumentation needs libraries."""
        if all(flag.startswith(_PLAIN) for flag in self._extra()):
            return tuple(optional)
        return tuple(flag for flag in optional if flag != toolchain.OWN_LIBRARIES)

    def _taken(self, compiler: toolchain.Compiler) -> str:
        """The name under which the cache stores the optional flags that ``compiler`` accepts."""
        return cache.name("flags", compiler.identity, *toolchain.OPTIONAL_FLAGS)

    def _extra(self) -> tuple[str, ...]:
        return (*toolchain.extra_flags(), *self.flags)

    def _entry(self, compiler: toolchain.Compiler, key: str, is_draft: bool) -> str:
        sparing = _DRAFTS if is_draft else ()
        flags = (*toolchain.BASE_FLAGS, *toolchain.OPTIONAL_FLAGS, *sparing, *self._extra())
        own = str(self.fail_alloc), *sorted(self.disabled)
        return cache.name(key, compiler.identity, *flags, *own)

    def _build(self, compiler: toolchain.Compiler, source: str, windows: bool) -> bytes:
        """Compile the library with all optional flags that the compiler accepts, and that suit a
        kernel that reads ``windows`` or does not."""
        flags, known = self._chosen(compiler, source, windows)
        outcome = toolchain.run(compiler, flags, source)
        if outcome.library is None and not known:
            taken = toolchain.accepted(compiler)
            if taken != toolchain.OPTIONAL_FLAGS:
                cache.remember(self._taken(compiler), taken)
                flags = self._suitable(taken, source, windows)
                outcome = toolchain.run(compiler, flags, source)
        if outcome.library is None:
            raise toolchain.refused(compiler, flags, outcome.said)
        return outcome.library

    def _chosen(
        self, compiler: toolchain.Compiler, source: str, windows: bool
    ) -> tuple[tuple[str, ...], bool]:
        """The flags for a kernel, and whether ``compiler`` is known to accept the optional ones of
        them."""
        optional = cache.recall(self._taken(compiler))
        taken = toolchain.OPTIONAL_FLAGS if optional is None else optional
        return self._suitable(taken, source, windows), optional is not None

    def _suitable(self, optional: Sequence[str], source: str, windows: bool) -> tuple[str, ...]:
        sparing = _SPARING if len(source) > LARGE else _DRAFTS if self.drafts else ()
        from finch_backend_c import spelling  # not needed where kernels are on disk

        vectors = bool(spelling.vectors(source))
        suitable = toolchain.suitable(self._fitting(optional), windows, vectors)
        return (*toolchain.BASE_FLAGS, *suitable, *sparing, *self._extra())


def _begin_interrupts() -> None:
    """Start to compile what a first call needs, too, while its kernel is lowered."""
    imported("finch_backend_c.interrupts").begin()
