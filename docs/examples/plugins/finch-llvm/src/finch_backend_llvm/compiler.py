"""The backend ``llvm``."""

from __future__ import annotations

import os
import platform
from functools import cache
from typing import TYPE_CHECKING

import attrs

from finch_backend_llvm import cache as disk
from finch_backend_llvm.cache import Stored
from finch_core.errors import BackendError
from finch_core.ir.assembly import Kernel
from finch_core.ir.common_subexpressions import bind_common_subexpressions
from finch_core.ir.expansions import in_terms_of_others

if TYPE_CHECKING:  # LLVM is loaded when it is used, so that a failure of that can be told
    from pathlib import Path

    from finch_backend_llvm.callable import LlvmKernel

LEVEL = "FINCH_LLVM_OPT"
"""The environment variable that sets how much LLVM optimises, 0 to 3; read at each compilation."""


@attrs.frozen
class LlvmBackend:
    """Compiles kernels in process. ``level``: how much LLVM optimises, 0 to 3 (``None``: as the
    environment says, else 3)."""

    level: int | None = None
    name: str = attrs.field(default="llvm", init=False)

    def available(self) -> str:
        """An empty string if LLVM can be used here, else the reason why not."""
        if os.name != "posix":
            return f"it does not know how to load machine code on {platform.system()}"
        return _llvm_missing()

    def compile(self, kernel: Kernel, *, key: str = "") -> LlvmKernel:
        """Compile ``kernel``. Raises ``BackendError``."""
        from finch_backend_llvm.kernels import module_of, prototype
        from finch_backend_llvm.machine import machine
        from finch_backend_llvm.operators import lacks

        kernel = bind_common_subexpressions(in_terms_of_others(kernel, lacks))
        text = str(module_of(kernel))
        code = machine().object_code(text, self._level())
        stored = Stored(len(kernel.params), prototype(kernel), text, code)
        path = self._place(key)
        if path is not None:
            disk.write(path, stored)
        return _kernel(stored)

    def load(self, key: str, params: int) -> LlvmKernel | None:
        """The kernel of an earlier process, or ``None``."""
        path = self._place(key)
        stored = None if path is None else disk.read(path)
        return None if stored is None or stored.params != params else _kernel(stored)

    def describe(self) -> dict[str, str]:
        """LLVM, the processor, how much is optimised, and the cache."""
        told = {"optimisation": str(self._level())}
        if not self.available():
            from finch_backend_llvm.machine import processor, version

            told |= {"LLVM": version(), "processor": processor()}
        folder, found = disk.folder(), disk.files()
        where = "none: no folder can be used" if folder is None else str(folder)
        size = sum(path.stat().st_size for path in found)
        return {**told, "cache": f"{where}, {len(found):,} files, {size:,} bytes"}

    def clear_cache(self) -> int:
        """Remove all kernels on disk; gives the number of files that went."""
        return disk.clear()

    def _place(self, key: str) -> Path | None:
        if not key:
            return None
        from finch_backend_llvm.machine import describe

        return disk.place(key, describe(), str(self._level()))

    def _level(self) -> int:
        text = os.environ.get(LEVEL, "") or "3"
        if self.level is not None:
            return self.level
        if text not in ("0", "1", "2", "3"):
            raise BackendError(f"{LEVEL}={text}", hint="it is a number from 0 to 3")
        return int(text)


def _kernel(stored: Stored) -> LlvmKernel:
    from finch_backend_llvm.callable import LlvmKernel
    from finch_backend_llvm.machine import ENTRY, machine

    address, keep = machine().loaded(stored.code, ENTRY)
    return LlvmKernel.at(address, stored.prototype, stored.source, keep)


@cache
def _llvm_missing() -> str:
    try:
        import llvmlite.binding
    except (ImportError, OSError) as error:
        return f"llvmlite does not load: {error}"
    return "" if llvmlite.binding else "llvmlite is empty"
