"""A signal's handler raises while a deeply nested kernel is compiled on a thread of its own."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import signal, sys, threading, time
from finch_core.ir.depth import on_a_thread, roomy

limit, ended = sys.getrecursionlimit(), []

def deep(n):
    if n:
        return 1 + deep(n - 1)
    try:
        while True:
            time.sleep(0.01)
    finally:
        ended.append(True)

def stop(number, frame):
    raise TimeoutError("too long")

signal.signal(signal.SIGALRM, stop)
for delay in (0.05, 0.2):
    signal.setitimer(signal.ITIMER_REAL, delay)
    try:
        on_a_thread(lambda: deep(10 * limit))
    except TimeoutError as error:
        print(error, len(ended), sys.getrecursionlimit() == limit)
print([t.name for t in threading.enumerate() if t.name == "finch-deep"])
def count(n):
    return 1 + count(n - 1) if n else 0
print(roomy("counted", lambda: count(3 * limit)))
"""


def test_the_thread_ends_before_the_limit_falls():
    """A thread that is deeper than the recursion limit ends the process."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr[:500]
    assert not done.stderr
    assert done.stdout.splitlines() == ["too long 1 True", "too long 2 True", "[]", "3000"]
