"""Signals that arrive while a kernel runs: Ctrl-C ends it, within a tenth of a second.

Python's handlers of signals run between its own instructions, and there are none while a kernel
runs. So a timer interrupts the main thread now and then as long as it calls kernels; if it is in
the code of one, Python is asked whether its handlers have anything to raise, and if they have, the
kernel is left by a jump. Its loops test nothing. That is safe at any instruction but of a few: a
kernel takes no lock, and touches memory that is its caller's alone; where memory changes hands, and
where the records are brought up to date, ``runs`` is not 1, and the next tick sees to it.
``docs/decisions/034-interrupts.md`` tells why this way.
"""

from __future__ import annotations

import threading
from typing import Any

from finch_backend_c import cache, loader, toolchain
from finch_backend_c.guards import GUARD
from finch_core.errors import BackendError
from finch_core.locks import Lock, on_fork

_TEXT = (
    """\
#define _GNU_SOURCE
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

"""
    + GUARD
    + """
enum { SIGNAL = SIGURG, TICK = 100000000, IDLE = 20 };

static struct guard guard;
static int (*raised)(void);
static struct sigaction before;
static int timer, made, idle;

static void set(long nanoseconds)
{
    const struct timespec every = {0, nanoseconds};
    const struct itimerspec when = {every, every};
    syscall(SYS_timer_settime, timer, 0, &when, (void *)0);
    guard.armed = nanoseconds > 0;
}

// The timer of this thread, which no child process has.
static void arm(void)
{
    struct sigevent event = {0};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = SIGNAL;
    event.sigev_value.sival_ptr = &guard;
    event.sigev_notify_thread_id = (int)syscall(SYS_gettid);
    if (!made && syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &timer))
        return;
    made = 1;
    idle = 0;
    set(TICK);
}

static void tick(int number, siginfo_t *info, void *context)
{
    if (info->si_code != SI_TIMER || info->si_value.sival_ptr != &guard) {
        if (before.sa_flags & SA_SIGINFO)
            before.sa_sigaction(number, info, context);
        else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN)
            before.sa_handler(number);
        return;
    }
    if (guard.runs == 0 && ++idle >= IDLE)
        set(0);
    if (guard.runs != 1)
        return;
    const int error = errno;
    void *const state = guard.state;
    guard.runs = 0;  // handlers may call kernels, which are guarded as others are
    const int ends = raised();
    idle = 0;
    errno = error;
    if (ends)
        _longjmp(state, 1);
    if (!guard.armed)
        set(TICK);
    guard.state = state;
    guard.runs = 1;
}

// Begin; `asks` says whether a handler has raised something. The guard, or null.
struct guard *finch_guard(int (*asks)(void))
{
    struct sigaction action = {0};
    action.sa_sigaction = tick;
    action.sa_flags = SA_SIGINFO | SA_RESTART | SA_NODEFER;
    raised = asks;
    guard.arm = arm;
    return sigaction(SIGNAL, &action, &before) ? (struct guard *)0 : &guard;
}

// In a child process there is no timer; at the end of Python none is wanted.
void finch_unguarded(int ends)
{
    if (ends && made)
        set(0);
    made = 0;
    guard.armed = ends;
}
"""
)

_lock = Lock()
_made: Guard | None = None


class Guard:
    """The library that looks after the main thread, its guard's address, and what was raised."""

    def __init__(self, path: str) -> None:
        ffi = loader.ffi()
        self.library = loader.open_library(path)
        self.raised: list[BaseException] = []
        self._asks = ffi.callback("int(void)", _asked, error=1, onerror=self._keep)
        begin = self.library.load_function(ffi.typeof("uintptr_t(*)(int(*)(void))"), "finch_guard")
        end = self.library.load_function(ffi.typeof("void(*)(int)"), "finch_unguarded")
        self.address = int(begin(self._asks))
        on_fork(lambda: end(0))
        import atexit

        atexit.register(end, 1)

    def _keep(self, kind: type, error: BaseException, traceback: Any) -> None:
        self.raised.append(error)


def _asked() -> int:
    """Python runs its handlers of signals as this begins, and what they raise is kept."""
    return 0


def guard() -> int:
    """The address of the guard for kernels that this thread runs: 0 where no handler of Python
    runs in it, or there is no guard on this system."""
    if threading.current_thread() is not threading.main_thread():
        return 0
    global _made
    with _lock:
        if _made is None:
            try:
                _made = _built()
            except (BackendError, OSError, AttributeError, NotImplementedError):
                return 0
        return _made.address


def _built() -> Guard:
    """The library, as an earlier process has compiled it if one has."""
    compiler = toolchain.find()
    name = cache.name("interrupts", compiler.identity, _TEXT)
    kept = cache.load(name)
    if kept is None:
        flags = ("-O1", "-std=gnu11", "-fPIC", "-shared")
        outcome = toolchain.run(compiler, flags, _TEXT)
        if outcome.library is None:
            raise toolchain.refused(compiler, flags, outcome.said)
        library = outcome.library
        cache.store(name, library, _TEXT, "")
    else:
        library = kept.library.read_bytes()
    return loader.aside(library, Guard)


def interruption() -> BaseException:
    """What a handler raised that ended a kernel."""
    return _made.raised.pop() if _made is not None and _made.raised else KeyboardInterrupt()
