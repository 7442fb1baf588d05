"""A progress bar while a long file is read, for those who ask for one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from finch_core.runtime.waiting import DELAY, bars

_asked: ContextVar[bool] = ContextVar("progress", default=False)


@contextmanager
def asked(progress: bool) -> Iterator[None]:
    """Within the block, ``advancing`` shows a bar if ``progress``."""
    token = _asked.set(progress)
    try:
        yield
    finally:
        _asked.reset(token)


@contextmanager
def advancing(name: str, total: int) -> Iterator[Callable[[int], Any]]:
    """A function that takes how many of ``total`` bytes have been read since it was called last.

    A bar is shown if the caller of ``read`` asked for progress, standard error is a terminal, and
    reading takes more than ``DELAY`` seconds. Raises ``FormatError`` if tqdm is not installed.
    """
    if not _asked.get():
        yield lambda _: None
        return
    tqdm = bars()
    with tqdm(
        desc=name, total=total or None, unit="B", unit_scale=True, delay=DELAY, disable=None
    ) as bar:
        yield bar.update
