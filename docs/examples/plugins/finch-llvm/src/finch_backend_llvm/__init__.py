"""A backend of Finch that compiles in process, through LLVM.

Assembly becomes LLVM IR (``kernels``, ``statements``, ``expressions``, ``operators``), LLVM makes
machine code of it (``machine``), and the code is kept on disk (``cache``). Neither a compiler nor a
header of the system is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from finch_backend_llvm.compiler import LlvmBackend

__version__ = "0.1.0"


def backend() -> LlvmBackend:
    """The entry point: the backend, without loading LLVM yet."""
    from finch_backend_llvm.compiler import LlvmBackend

    return LlvmBackend()


__all__ = ["backend"]
