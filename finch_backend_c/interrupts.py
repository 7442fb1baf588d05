"""Interrupts: Ctrl-C ends a running kernel within a tenth of a second.

Python's signal handlers run between bytecode instructions, so not while a kernel runs. Therefore a
timer interrupts the main thread while it calls kernels. If the thread is in a kernel, Python's
handlers are run, and if one raises, the kernel is left by ``longjmp``. Loops need no test. This is
safe at almost every instruction: a kernel takes no locks and changes only memory of its caller. In
critical sections, where buffers are reallocated and records are updated, ``runs`` is not 1, and
the interrupt is deferred to the next tick. ``docs/decisions/034-interrupts.md`` has the reasons.
"""

from __future__ import annotations

import threading
from typing import Any

from finch_backend_c import loader, support
from finch_backend_c.guards import GUARD
from finch_core.locks import on_fork

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
    if (guard.runs == 2)
        guard.pending = 1;
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
    guard.ask = asks;
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


class Guard:
    """The library that interrupts the main thread, the address of its guard, and what a handler
    raised."""

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
    """Called by the timer: Python runs its signal handlers on entry; keeps what they raise."""
    return 0


GUARDED = support.Shared("interrupts", _TEXT, Guard, support.QUICK)


def begin() -> None:
    """Start to compile what ``guard`` gives, beside what the main thread goes on with."""
    if threading.current_thread() is threading.main_thread():
        GUARDED.begin()


def guard() -> int:
    """The address of the guard for kernels in this thread; 0 in threads other than the main one,
    and on systems without interrupts."""
    if threading.current_thread() is not threading.main_thread():
        return 0
    found = GUARDED.get()
    return 0 if found is None else found.address


def interruption() -> BaseException:
    """The exception of the handler that ended a kernel."""
    raised = [] if GUARDED.made is None else GUARDED.made.raised
    return raised.pop() if raised else KeyboardInterrupt()
