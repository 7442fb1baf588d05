"""Code in kernels that lets a signal end them (see ``interrupts``)."""

GUARD = """\
// What the thread runs that handlers of signals may end: it is left for `state` at any point where
// `runs` is 1. The timer that looks after it runs while it is armed.
struct guard {
    volatile int64_t runs;
    void *volatile state;
    volatile int64_t armed;
    void (*arm)(void);
    volatile int64_t pending;  // a tick found a loop of several threads, which asks when it can
    int (*ask)(void);
};
"""
"""The state shared by kernels and the library that interrupts them."""

SIGNALS = """\
int _setjmp(void *) __attribute__((returns_twice));

#define BEGIN                                                          \\
    struct guard *const guard = (struct guard *)(uintptr_t)control[4]; \\
    _Alignas(16) int64_t state[64];                                    \\
    if (guard) {                                                       \\
        if (_setjmp(state))                                            \\
            return -1;                                                 \\
        guard->runs = 2, guard->state = state;                         \\
        if (!guard->armed)                                             \\
            guard->arm();                                              \\
        guard->runs = 1;                                               \\
    }
#define END(status) (guard ? (guard->runs = 0, status) : status)
"""
"""``BEGIN`` and ``END`` enclose the code that may be interrupted."""

SETTLE = """\
// From here on the kernel is not left; what it was before.
static inline int64_t settle(int64_t *control)
{
    struct guard *const guard = (struct guard *)(uintptr_t)control[4];
    const int64_t before = guard ? guard->runs : 0;
    if (guard)
        guard->runs = 2;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    return before;
}
"""
"""Disables interrupts in a critical section."""

UNSETTLE = """\
static inline void unsettle(int64_t *control, int64_t before)
{
    struct guard *const guard = (struct guard *)(uintptr_t)control[4];
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (guard)
        guard->runs = before;
}
"""
