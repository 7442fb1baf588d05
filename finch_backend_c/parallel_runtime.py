"""The C text by which a kernel runs the parts of its parallel loops on the threads of a pool."""

from __future__ import annotations

LANES = 64
"""The largest number of threads of a loop (``runtime.threads.MOST``)."""

RUNTIME = """\
// A loop in parts, shared by the threads that run it: the next part to begin, the part whose turn
// it is to merge, the first that failed, and how. Threads take parts in order.
struct parallel_loop {
    int64_t (*call)(struct parallel_loop *, int64_t *control, int64_t part, uint64_t *lane);
    int64_t count, next, turn, failed, status, values[3], locked, words;
    int64_t *control;
    uint64_t *lanes;
    bool shared, alone;
};

// The threads of the process.
struct parallel_pool {
    const int64_t *threads;
    void (*run)(void (*work)(void *, int64_t), void *, int64_t lanes);
};
int sched_yield(void);

static void parallel_failed(struct parallel_loop *loop, const int64_t *control, int64_t part,
                            int64_t status)
{
    while (__atomic_exchange_n(&loop->locked, 1, __ATOMIC_ACQUIRE))
        sched_yield();
    if (part < loop->failed) {
        loop->status = status;
        for (int k = 0; k < 3; k++)
            loop->values[k] = control[k];
        __atomic_store_n(&loop->failed, part, __ATOMIC_RELEASE);
    }
    __atomic_store_n(&loop->locked, 0, __ATOMIC_RELEASE);
}

// Wait until all parts before this one have merged; false if one of them failed.
static inline bool parallel_awaits(struct parallel_loop *loop, int64_t part)
{
    for (int tries = 0; __atomic_load_n(&loop->turn, __ATOMIC_ACQUIRE) != part; tries++) {
        if (__atomic_load_n(&loop->failed, __ATOMIC_ACQUIRE) < part)
            return false;
        if (tries > 200)
            sched_yield();
    }
    return true;
}

static inline void parallel_passes(struct parallel_loop *loop, int64_t part)
{
    __atomic_store_n(&loop->turn, part + 1, __ATOMIC_RELEASE);
}

static void parallel_work(void *given, int64_t number)
{
    struct parallel_loop *const loop = given;
    int64_t control[6] = {0};
    control[4] = number ? 0 : loop->control[4];
    struct guard *const guard = (struct guard *)(uintptr_t)control[4];
    uint64_t *const lane = loop->lanes + number * loop->words;
    int64_t part;
    while ((part = __atomic_fetch_add(&loop->next, 1, __ATOMIC_RELAXED)) < loop->count) {
        if (__atomic_load_n(&loop->failed, __ATOMIC_ACQUIRE) < part)
            return;
        const int64_t status = loop->call(loop, control, part, lane);
        if (status)
            parallel_failed(loop, control, part, status);
        if (guard && loop->shared && guard->pending) {
            guard->pending = 0;
            if (guard->ask())
                parallel_failed(loop, control, -1, -1);
        }
    }
}

// Whether one thread runs loops.
static inline bool parallel_alone(const int64_t *control)
{
    const struct parallel_pool *const pool = (struct parallel_pool *)(uintptr_t)control[5];
    return !pool || *pool->threads <= 1;
}

// Run all parts; gives the status of the first that failed, or 0.
static int64_t parallel_run(int64_t *control, struct parallel_loop *loop)
{
    const struct parallel_pool *const pool = (struct parallel_pool *)(uintptr_t)control[5];
    int64_t lanes = pool ? *pool->threads : 1;
    lanes = lanes < loop->count ? lanes : loop->count;
    loop->failed = loop->count, loop->control = control, loop->shared = lanes > 1;
    if (lanes > 1) {
        const int64_t before = settle(control);
        pool->run(parallel_work, loop, lanes);
        unsettle(control, before);
    } else {
        parallel_work(loop, 0);
    }
    for (int k = 0; k < 3 && loop->status; k++)
        control[k] = loop->values[k];
    return loop->status;
}
"""
"""What kernels with a parallel loop have in front."""

LIVING = """\
// The lanes of a loop, which live on between calls: one caller at a time has them. A holder that
// calls again was interrupted before it gave them back, in the middle of a part. `blocks` are the
// words of a lane that are addresses of memory.
struct parallel_kept {
    const int64_t *holder;
    uint64_t *lanes;
    int64_t words;
    const int64_t *blocks;
    int64_t count;
};
void *calloc(size_t, size_t);
void free(void *);

static void parallel_free(const struct parallel_kept *kept, uint64_t *lanes)
{
    for (int64_t lane = 0; lane < $lanes; lane++)
        for (int64_t k = 0; k < kept->count; k++)
            free((void *)(uintptr_t)lanes[lane * kept->words + kept->blocks[k]]);
    free(lanes);
}

// The lanes that are kept, or new ones, all zeros.
static uint64_t *parallel_take(struct parallel_kept *kept, int64_t *control, bool *begun)
{
    const int64_t *none = 0;
    const int64_t before = settle(control);
    const bool again = __atomic_load_n(&kept->holder, __ATOMIC_RELAXED) == control;
    const bool holds = again || __atomic_compare_exchange_n(&kept->holder, &none, control, false,
                                                            __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
    uint64_t *lanes = holds && !again ? kept->lanes : 0;
    *begun = lanes;
    if (!lanes)
        lanes = calloc($lanes, (size_t)kept->words * sizeof *lanes);
    if (holds)
        kept->lanes = lanes;
    unsettle(control, before);
    return lanes;
}

// Keep the lanes; after a failure, or if others are kept, free them.
static void parallel_give(struct parallel_kept *kept, int64_t *control, uint64_t *lanes,
                          int64_t status)
{
    const int64_t before = settle(control);
    const bool holds = __atomic_load_n(&kept->holder, __ATOMIC_RELAXED) == control;
    if (lanes && (!holds || status)) {
        parallel_free(kept, lanes);
        if (holds)
            kept->lanes = 0;
    }
    if (holds)
        __atomic_store_n(&kept->holder, 0, __ATOMIC_RELEASE);
    unsettle(control, before);
}

// The library is closed: nobody calls it, unless the process ends.
static void parallel_close(struct parallel_kept *kept)
{
    if (kept->lanes && !__atomic_load_n(&kept->holder, __ATOMIC_ACQUIRE))
        parallel_free(kept, kept->lanes);
}
""".replace("$lanes", str(LANES))
"""And those with a loop whose threads have something for themselves."""

__all__ = ["LANES", "LIVING", "RUNTIME"]
