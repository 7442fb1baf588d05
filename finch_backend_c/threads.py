"""The threads on which parallel loops run: one pool for all kernels of a process.

The threads sleep until a loop wakes them, and take what parts are left when they come. A loop does
not wait for threads that have not begun; for those in their last part its caller looks for some
microseconds before it sleeps, since to be woken takes twenty. While one loop runs, loops of other
callers run on their own thread alone, so that callers do not multiply threads. A child process
begins with none.
``threadpoolctl`` sees the pool where it is installed.
``docs/decisions/102-threads-of-our-own.md`` has the reasons.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Any

from finch_backend_c import loader, support
from finch_core.locks import imported
from finch_core.runtime import threads

_TEXT = """\
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <time.h>

#define TRIES 1000  // some microseconds

struct parallel_pool {
    const int64_t *threads;
    void (*run)(void (*work)(void *, int64_t), void *, int64_t lanes);
};

static pthread_mutex_t busy = PTHREAD_MUTEX_INITIALIZER, lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER, done = PTHREAD_COND_INITIALIZER;
static void (*task)(void *, int64_t);
static void *argument;
static int64_t made, open, first, active;

#if defined(__x86_64__) || defined(__i386__)
#define PAUSE __builtin_ia32_pause()
#elif defined(__aarch64__)
#define PAUSE __asm__ volatile("yield")
#else
#define PAUSE (void)0
#endif

// A thread: takes lanes of the present loop while it is open.
static void *serve(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&lock);
    for (;;) {
        while (!open)
            pthread_cond_wait(&wake, &lock);
        const int64_t lane = first + --open;
        __atomic_store_n(&active, active + 1, __ATOMIC_RELAXED);
        pthread_mutex_unlock(&lock);
        task(argument, lane);
        pthread_mutex_lock(&lock);
        __atomic_store_n(&active, active - 1, __ATOMIC_RELAXED);
        if (!active)
            pthread_cond_signal(&done);
    }
    return 0;
}

static void begin(int64_t wanted)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);  // signals are for the threads of Python
    pthread_attr_t detached;
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    for (pthread_t thread; made < wanted; made++)
        if (pthread_create(&thread, &detached, serve, 0))
            break;
    pthread_attr_destroy(&detached);
    pthread_sigmask(SIG_SETMASK, &before, 0);
}

// Close the loop, and wait for those that are in it.
static void end(void)
{
    pthread_mutex_lock(&lock);
    open = 0;
    if (active) {
        pthread_mutex_unlock(&lock);
        for (int tries = 0; tries < TRIES && __atomic_load_n(&active, __ATOMIC_RELAXED); tries++)
            PAUSE;
        pthread_mutex_lock(&lock);
    }
    while (active)
        pthread_cond_wait(&done, &lock);
    pthread_mutex_unlock(&lock);
}

static void run(void (*work)(void *, int64_t), void *given, int64_t lanes)
{
    if (pthread_mutex_trylock(&busy)) {
        work(given, 0);
        return;
    }
    pthread_mutex_lock(&lock);
    if (made < lanes - 1)
        begin(lanes - 1);
    task = work, argument = given, first = 1;
    open = made < lanes - 1 ? made : lanes - 1;
    const int64_t others = open;
    pthread_mutex_unlock(&lock);  // before the signal: who wakes wants the lock
    if (others == 1)
        pthread_cond_signal(&wake);
    else if (others)
        pthread_cond_broadcast(&wake);
    work(given, 0);
    end();
    pthread_mutex_unlock(&busy);
}

static struct parallel_pool pool = {0, run};

// A child process has none of the threads, and locks that are free.
static void forked(void)
{
    pthread_mutex_init(&busy, 0);
    pthread_mutex_init(&lock, 0);
    pthread_cond_init(&wake, 0);
    pthread_cond_init(&done, 0);
    made = open = active = 0;
}

struct parallel_pool *finch_pool(const int64_t *threads)
{
    if (!pool.threads)
        pthread_atfork(0, 0, forked);
    pool.threads = threads;
    return &pool;
}
"""


class _Pool:
    """The library of the pool, which stays open, and the address of the pool."""

    def __init__(self, path: str) -> None:
        ffi = loader.ffi()
        self.library: Any = loader.open_library(path)
        begin = self.library.load_function(ffi.typeof("uintptr_t(*)(uintptr_t)"), "finch_pool")
        self.address = int(begin(threads.address()))
        with suppress(ImportError, AttributeError):  # before version 3.2 it takes no others
            _announce(imported("threadpoolctl"), os.path.basename(path))


def _announce(threadpoolctl: Any, name: str) -> None:
    """Let ``threadpoolctl`` see the pool in the library of this name, and set its threads."""

    class FinchController(threadpoolctl.LibController):  # type: ignore[misc]
        """The threads of parallel loops."""

        user_api = internal_api = "finch"
        filename_prefixes = (os.path.splitext(name)[0],)

        def get_num_threads(self) -> int:
            return threads.threads()

        def set_num_threads(self, num_threads: int) -> None:
            threads.set_threads(num_threads)

        def get_version(self) -> None:
            """None: the library has no version but the project's."""

    threadpoolctl.register(FinchController)


POOL = support.Shared("threads", _TEXT, _Pool)


def begin() -> None:
    """Start to compile what ``pool`` gives, in a thread."""
    POOL.begin()


def pool() -> int:
    """The address of the pool; 0 on systems without such threads, where loops run on one."""
    found = POOL.get()
    return 0 if found is None else found.address
