"""LLVM itself: from a module to machine code, and from that to an address that can be called."""

from __future__ import annotations

import itertools
import threading
from functools import cache
from typing import Any

import attrs
import llvmlite
import llvmlite.binding as llvm

from finch_core.errors import BackendError

ENTRY = "finch_kernel"
"""The name of the one function that a module exports."""

_lock = threading.Lock()


@attrs.frozen(eq=False)
class Machine:
    """The processor of this computer, and the linker that loads code into this process."""

    target: Any
    linker: Any
    numbers: Any = attrs.field(factory=itertools.count)

    def optimised(self, text: str, level: int) -> Any:
        """The module of ``text``, verified and optimised."""
        module = llvm.parse_assembly(text)
        module.triple = self.target.triple
        module.data_layout = str(self.target.target_data)
        module.verify()
        options = llvm.create_pipeline_tuning_options(speed_level=level)
        options.loop_vectorization = options.slp_vectorization = level > 1
        options.loop_interleaving = options.loop_unrolling = level > 1
        builder = llvm.create_pass_builder(self.target, options)
        builder.getModulePassManager().run(module, builder)
        return module

    def object_code(self, text: str, level: int) -> bytes:
        """Machine code for ``text``, as an object file. Raises ``BackendError`` with LLVM's words
        where it is no legal module."""
        with _lock:
            try:
                return bytes(self.target.emit_object(self.optimised(text, level)))
            except RuntimeError as error:
                raise BackendError(f"LLVM does not compile the kernel: {error}") from error

    def loaded(self, code: bytes, name: str) -> tuple[int, Any]:
        """The address of the function ``name`` in ``code``, and what keeps it in memory."""
        with _lock:
            library = f"kernel{next(self.numbers)}"
            linked = llvm.JITLibraryBuilder().add_object_img(code).add_current_process()
            try:
                tracker = linked.export_symbol(name).link(self.linker, library)
            except RuntimeError as error:
                raise BackendError(f"LLVM does not load the kernel: {error}") from error
        return tracker[name], tracker


@cache
def machine() -> Machine:
    """This computer; made when first asked for."""
    with _lock:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        return Machine(_target(), llvm.create_lljit_compiler(_target()))


def _target() -> Any:
    return llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine(
        cpu=llvm.get_host_cpu_name(),
        features=llvm.get_host_cpu_features().flatten(),
        opt=3,
        reloc="pic",
        codemodel="default",
    )


def version() -> str:
    """LLVM and what binds it."""
    return f"{'.'.join(map(str, llvm.llvm_version_info))} (llvmlite {llvmlite.__version__})"


def processor() -> str:
    """The processor that code is made for."""
    return f"{llvm.get_host_cpu_name()} ({llvm.get_process_triple()})"


@cache
def describe() -> str:
    """What machine code depends on beside the module: LLVM and the processor."""
    return f"{version()} {processor()} {llvm.get_host_cpu_features().flatten()}"
