"""From a program and signatures to a compiled kernel, stage by stage."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from finch_core.errors import Span
from finch_core.interface.abi import Compilation, CompleteBackend, CompleteKernel
from finch_core.interface.layout import local_records
from finch_core.interface.plugins import hub
from finch_core.interface.signatures import Signature, parameters
from finch_core.ir import assembly as asm
from finch_core.ir.depth import roomy
from finch_core.ir.program import Declare, Program, Stmt, Swap, Thaw
from finch_core.locks import cached_property, imported
from finch_core.records import define, evolve, field
from finch_core.runtime.options import Options

if TYPE_CHECKING:  # what lowers is imported when something is lowered
    from finch_core.interface.watch import Watch
    from finch_core.lower.access_order import Discordance
    from finch_core.lower.passes import Unit
    from finch_core.runtime.parameters import BoundParameter

STAGES = ("program", "normalized", "assembly", "source")


@define(eq=False)
class Lowered:
    """A program specialised to signatures. Each stage is made when it is first asked for."""

    program: Program
    signatures: tuple[Signature, ...]
    options: Options
    backend: CompleteBackend
    warned: set[Span | None] = field(factory=set)
    """The reads that a ``PerformanceWarning`` has been given for, in any specialisation."""
    seconds: dict[str, float] = field(factory=dict)
    _compiled: CompleteKernel | None = None
    _is_lowered: bool = False
    cached: bool = False

    def as_text(self, stage: str) -> str:
        """The text of a stage: ``"program"`` as written, ``"normalized"`` in Finch Normal Form,
        ``"assembly"``, or the backend's ``"source"``. Raises ``ValueError`` for another name."""
        return roomy(self.program.name, lambda: self._text(stage))

    def _text(self, stage: str) -> str:
        from finch_core.ir.program_text import program_text

        if stage == "program":
            return program_text(self.program)
        if stage == "normalized":
            return program_text(evolve(self.program, body=self.normal, locals=()))
        if stage == "assembly":
            return self.kernel.as_text()
        if stage == "source":
            compiled = self._compiled
            if compiled is None or (self.is_draft and self._simpler is not None):
                compiled = self.compile()
            return compiled.source
        raise ValueError(f"there is no stage {stage!r}; there are {', '.join(STAGES)}")

    @property
    def normal(self) -> Stmt:
        """The program's body in Finch Normal Form."""
        return self._normalized[0]

    def keeps(self, k: int) -> bool:
        """Whether argument ``k``, a tensor, keeps its structure: its values alone are written."""
        body, _, arguments = roomy(self.program.name, lambda: self._normalized)
        own = arguments[k].tensor
        assert own is not None
        name = own.name
        return not any(
            (isinstance(part, (Declare, Thaw)) and part.tensor.name == name)
            or (isinstance(part, Swap) and name in (part.first.name, part.second.name))
            for part in body.walk()
        )

    @cached_property
    def _normalized(self) -> tuple[Stmt, Unit, tuple[BoundParameter, ...]]:
        self._made("program", self.program)
        found: tuple[Stmt, Unit, tuple[BoundParameter, ...]]
        with self._timed("normalize"):
            found = _compiler().normalize(self.program, self.signatures, self.options)
        self._made("normalized", evolve(self.program, body=found[0], locals=()))
        self._warn(found[1].costly)
        return found

    def _warn(self, costly: Sequence[Discordance]) -> None:
        """Warn, once for each, of reads against the order of the storage."""
        costly = [cost for cost in costly if cost.span not in self.warned]
        if costly:
            _access_order().warn(costly, self.program.name)
            self.warned.update(cost.span for cost in costly)

    @cached_property
    def kernel(self) -> asm.Kernel:
        """The assembly."""
        kernel = self._lowered()
        self._made("assembly", kernel)
        return kernel

    @cached_property
    def _simpler(self) -> asm.Kernel | None:
        """The assembly of a draft: with parallel loops as plain ones, which takes less time to
        lower and to compile, where these compute the same bits. None where there are none."""
        body, unit, _ = self._normalized
        if not unit.parallel or _compiler().loops_in_turn(body, unit.parallel) is body:
            return None
        kernel = self._lowered(in_turn=True)
        self._made("assembly", kernel)
        return kernel

    def _lowered(self, in_turn: bool = False) -> asm.Kernel:
        found = self._normalized
        with self._timed("lower"):
            compiler = _compiler()
            compiler.check_disabled(self.options, self.backend)
            if self._is_lowered:  # what is normalised is lowered but once
                found = compiler.normalize(self.program, self.signatures, self._lowering_options)
            self._is_lowered = True
            kernel: asm.Kernel
            try:
                kernel = compiler.lower_kernel(*found, self._lowering_options, in_turn=in_turn)
            except compiler.TooManyRegions:
                disabled = self.options.disabled | {compiler.MERGE_BY_CASES}
                options = self._lowering_options = evolve(self.options, disabled=disabled)
                found = compiler.normalize(self.program, self.signatures, options)
                kernel = compiler.lower_kernel(*found, options, in_turn=in_turn)
        unit = found[1]
        if unit.costly:
            notes = _access_order().noted(unit.costly, self.program.source)
            kernel = evolve(kernel, notes=notes)
        return kernel

    def watched(self, watch: Watch) -> asm.Kernel:
        """The assembly, made anew while ``watch`` is told of each step."""
        return roomy(self.program.name, lambda: self._watched(watch))

    def _watched(self, watch: Watch) -> asm.Kernel:
        _ = self.kernel  # finds the options
        compiler, options = _compiler(), self._lowering_options
        found = compiler.normalize(self.program, self.signatures, options, watch)
        kernel: asm.Kernel = compiler.lower_kernel(*found, options, watch)
        return kernel

    @cached_property
    def _lowering_options(self) -> Options:
        """The options; without merges by cases, once it is known that these are too many."""
        return self.options

    def compile(self, *, draft: bool = False) -> CompleteKernel:
        """The compiled kernel: loaded from the disk cache or compiled at the first call.

        If ``draft``, accept a less optimised kernel that compiles sooner, where the backend has
        one. Raises ``BackendError`` where the backend fails.
        """
        if self._compiled is None or (self.is_draft and not draft):
            backend = self.backend
            if draft:
                backend = backend.draft()
            cached, is_first = self.cached, self._compiled is None
            self._compiled = self._load(backend) or self._build(backend, draft)
            if not is_first:
                self.cached = cached  # it says where the draft was found
            self._made("source", self._compiled)
            hub().kernel_built(self.program.name, dict(self.seconds), self.cached)
        return self._compiled

    @property
    def is_draft(self) -> bool:
        """Whether the compiled kernel is a draft."""
        return self._compiled is not None and self._compiled.is_draft

    def _made(self, stage: str, value: Any) -> None:
        """Call the plugins' hook ``finch_after_stage``; ``FINCH_TRACE=1`` prints the stage."""
        hub().after_stage(self.program.name, stage, value)
        if os.environ.get("FINCH_TRACE", "0") not in ("", "0"):
            text = value.source if stage == "source" else value.as_text()
            print(f"-- {self.program.name}: {stage}\n{text}", file=sys.stderr)

    def _load(self, backend: CompleteBackend) -> CompleteKernel | None:
        if not self.key:
            return None
        with self._timed("load"):
            params = sum(map(parameters, self.signatures)) + len(local_records(self.program))
            found: CompleteKernel | None = backend.load(self.key, params)
        self.cached = found is not None
        if found is not None:
            self._read_notes(found.notes)
        return found

    def _read_notes(self, notes: str | None) -> None:
        """Repeat the warnings that the cache kept with a kernel; derive them again if it has not
        kept them (``notes`` is None)."""
        if notes is None:
            _ = self.normal
        elif notes:
            self._warn(_access_order().read_notes(notes, self.program.source))

    def _build(self, backend: CompleteBackend, draft: bool) -> CompleteKernel:
        simpler = self._simpler if draft and backend.compiles_simpler else None
        kernel = self.kernel if simpler is None else simpler
        with self._timed("compile"):
            if simpler is None:
                return backend.compile(kernel, key=self.key)
            return backend.compile_simpler(kernel, lambda: self.kernel, key=self.key)

    def compile_beside(self) -> Compilation | None:
        """Begin to compile the kernel that replaces a draft, beside the caller; None where the
        backend cannot."""
        kernel = roomy(self.program.name, lambda: self.kernel)
        return self.backend.draft().compile_beside(kernel, key=self.key)

    @cached_property
    def key(self) -> str:
        """The key in the disk cache; empty for a kernel that must not be kept there: one with
        rules of its own, or with a part that cannot be identified across processes."""
        if self.options.rules:
            return ""
        keys = imported("finch_core.runtime.keys")
        return str(keys.kernel_key(self.program, self.signatures, self.options.key(), self.backend))

    def sites(self, compiled: CompleteKernel) -> tuple[asm.Site, ...]:
        """Where a compiled kernel may fail. One from the disk is lowered for it, a draft as it was:
        plain loops have other checks than parallel ones."""
        is_draft = compiled.is_draft and self.backend.compiles_simpler
        simpler = self._simpler if is_draft else None
        return self.kernel.sites if simpler is None else simpler.sites

    def _timed(self, stage: str) -> _Timer:
        return _Timer(self.seconds, stage)


@define
class _Timer:
    seconds: dict[str, float]
    stage: str
    started: float = 0.0

    def __enter__(self) -> None:
        self.started = time.perf_counter()

    def __exit__(self, *exc: object) -> None:
        took = time.perf_counter() - self.started
        self.seconds[self.stage] = self.seconds.get(self.stage, 0.0) + took


def _compiler() -> Any:
    """What lowers."""
    return imported("finch_core.runtime.compiler")


def _access_order() -> Any:
    """What warns of costly reads: a kernel from the disk needs it only where it has notes."""
    return imported("finch_core.lower.access_order")


__all__ = ["STAGES", "Lowered"]
