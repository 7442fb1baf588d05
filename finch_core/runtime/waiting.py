"""How long a conversion has taken, drawn while it runs for those who ask for it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from finch_core.errors import FormatError

DELAY = 2.0
"""Seconds after which something is drawn."""
PERIOD = 0.2
"""Seconds between two drawings."""


def bars() -> Any:
    """``tqdm``. Raises ``FormatError`` if it is not installed."""
    try:
        from tqdm import tqdm
    except ImportError:
        raise FormatError(
            "a progress bar needs the package tqdm, which is not installed",
            hint="python -m pip install tqdm, or progress=False",
        ) from None
    return tqdm


@contextmanager
def waiting(name: str) -> Iterator[None]:
    """Draws how long the block has run, if standard error is a terminal and the block takes more
    than ``DELAY`` seconds. How much is left is not known, as one kernel does the work."""
    tqdm, done = bars(), threading.Event()

    def draw() -> None:
        if done.wait(DELAY):
            return
        with tqdm(desc=name, bar_format="{desc}: {elapsed}", leave=False, disable=None) as bar:
            if not bar.disable:
                bar.start_t -= DELAY
            while not done.wait(PERIOD):
                bar.refresh()

    drawing = threading.Thread(target=draw, daemon=True)
    drawing.start()
    try:
        yield
    finally:
        done.set()
        drawing.join()
