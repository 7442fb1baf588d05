"""What tests of backends do in a process of their own, as a mistake would end it."""

from __future__ import annotations

import faulthandler
import mmap
import os
import signal
import tempfile
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

from finch_core.testing.arrays import Array


def isolated(run: Callable[[], None], mistake: str) -> None:
    """Call ``run`` in a child process. Raises ``AssertionError`` if it fails there, which says that
    it may be the ``mistake`` if a signal ends it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # threads of others do not matter here
        child = os.fork()
    if child == 0:
        os._exit(_outcome(run))
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    name = signal.Signals(-status).name if status < 0 else ""
    assert status >= 0, f"{name} ended the process: {mistake}?"
    assert status == 0, "failed in a process of its own; the traceback is in stderr"


def _outcome(run: Callable[[], None]) -> int:
    faulthandler.disable()  # the parent says what ended it
    try:
        run()
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


def memory_in_use() -> int:
    """The bytes of physical memory that this process has now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * mmap.PAGESIZE


def read_only(array: Array) -> Array:
    """A copy of ``array`` in pages to which nobody may write."""
    with tempfile.TemporaryFile() as file:
        file.write(array.tobytes())
        file.flush()
        memory = mmap.mmap(file.fileno(), array.nbytes, access=mmap.ACCESS_READ)
    return np.frombuffer(memory, array.dtype).reshape(array.shape)
