"""A backend that compiles the kernels of many programs as one library, for searches under the
sanitizers: most of the time of a small kernel goes into starting compilers and linkers."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import cffi

from finch_backend_c import loader, toolchain
from finch_backend_c.entry import signature, translate
from finch_backend_c.inlining import NOINLINE
from finch_core.interface.abi import CompleteBackend
from finch_core.runtime.kernel import Kernel

SANITIZE = ("-O0", "-g0", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
_PARAMETER = {"r": "uintptr_t", "f": "double", "c": "double, double", "i": "int64_t",
              "u": "uint64_t"}  # fmt: skip
_OWN = re.compile(r"\b(work|finch_kernel)\b")
_DEFINED = re.compile(
    r"^(?:static|typedef|int64_t|#define)\b(?:(?!__attribute__).)*?\b(?!__attribute__)(\w+)\(",
    re.MULTILINE,
)


@attrs.define(eq=False)
class Pending:
    """A kernel that is compiled with others of its batch, before it is first called: then
    ``kernel`` is what the backend would have made."""

    source: str
    letters: str
    kernel: Any = None

    def __call__(self, control: int, *args: Any) -> int:
        return int(self.kernel(control, *args))

    def adopt(self, address: int, nbytes: int) -> Any:
        return self.kernel.adopt(address, nbytes)

    def guard(self) -> int:
        return self.kernel.guard()

    def interruption(self) -> BaseException:
        return self.kernel.interruption()


class Batch:
    """The backend ``c``, but that kernels are compiled when ``build`` is called."""

    name = "c"

    def __init__(self, flags: tuple[str, ...] = SANITIZE) -> None:
        self.flags = flags
        self.waiting: list[Pending] = []

    def available(self) -> str:
        return ""

    def compile(self, kernel: Any, *, key: str = "") -> Pending:
        source = translate(kernel).replace(NOINLINE, "")  # without it, helpers are the same text
        self.waiting.append(Pending(source, signature(kernel)))
        return self.waiting[-1]

    def load(self, key: str, params: int) -> None:
        """Nothing is kept."""

    def build(self) -> None:
        """Compile what waits, as one library."""
        for group in groups(self.waiting):
            self._library(group)
        self.waiting = []

    def _library(self, group: list[Pending]) -> None:
        text, flags = "\n\n".join(joined(group)), (*toolchain.BASE_FLAGS, "-fno-math-errno")
        done = toolchain.run(toolchain.find(), (*flags, *self.flags), text)
        if done.library is None:
            raise AssertionError(f"the C compiler failed:\n{done.said}\n{text}")
        ffi = cffi.FFI()
        for k, pending in enumerate(group):
            params = ", ".join(["uintptr_t", *(_PARAMETER[letter] for letter in pending.letters)])
            ffi.cdef(f"int64_t finch_kernel_{k}({params});")
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "batch.so")
            path.write_bytes(done.library)
            library = ffi.dlopen(str(path))
        for k, pending in enumerate(group):
            function = getattr(library, f"finch_kernel_{k}")
            pending.kernel = loader.CKernel(function, pending.source, False, "", library)


class Batched(Kernel):
    """A kernel of a batch."""

    batch: Batch

    def lowered(self, signatures: Any) -> Any:
        lowered = super().lowered(signatures)
        lowered.backend = CompleteBackend(self.batch)
        return lowered


# -- one text of many ---------------------------------------------------------------------------


def joined(group: list[Pending]) -> Iterator[str]:
    """The paragraphs of a translation unit: helpers that several kernels have are there once."""
    seen: set[str] = set()
    for k, pending in enumerate(group):
        for part in paragraphs(_OWN.sub(rf"\1_{k}", pending.source)):
            if part not in seen:
                seen.add(part)
                yield part


def groups(waiting: list[Pending]) -> Iterator[list[Pending]]:
    """Kernels whose helpers of one name are the same text."""
    group: list[Pending] = []
    known: dict[str, str] = {}
    for pending in waiting:
        mine = helpers(pending.source)
        if any(known.get(name, text) != text for name, text in mine.items()):
            yield group
            group, known = [], {}
        known |= mine
        group.append(pending)
    if group:
        yield group


def helpers(source: str) -> dict[str, str]:
    """The paragraphs of a source beside the kernel's own functions, by what they define."""
    found = {}
    for part in paragraphs(source):
        for name in _DEFINED.findall(part):
            if not _OWN.fullmatch(name):
                found[name] = part
    return found


def paragraphs(source: str) -> Iterator[str]:
    """What stands between blank lines, with all that a brace or a condition holds together."""
    held = ""
    for part in source.split("\n\n"):
        held = f"{held}\n\n{part}" if held else part
        if held.count("{") == held.count("}") and held.count("#if") == held.count("#endif"):
            yield held
            held = ""
    if held:
        yield held


__all__ = ["Batch", "Batched"]
