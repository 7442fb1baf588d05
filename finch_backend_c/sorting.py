"""The C functions that sort numbers in place: ``$T`` is their type, ``$S`` its suffix."""

from __future__ import annotations

HEAPSORT = """\
static void sift_$S($T *a, int64_t root, int64_t n)
{
    const $T value = a[root];
    for (int64_t child; (child = 2 * root + 1) < n; root = child) {
        if (child + 1 < n && a[child] < a[child + 1])
            child++;
        if (a[child] <= value)
            break;
        a[root] = a[child];
    }
    a[root] = value;
}

static void heapsort_$S($T *a, int64_t n)
{
    for (int64_t k = n / 2; k-- > 0;)
        sift_$S(a, k, n);
    while (n-- > 1) {
        const $T largest = a[0];
        a[0] = a[n];
        a[n] = largest;
        sift_$S(a, 0, n);
    }
}
"""


SORT = """\
// As many numbers as a register has room for, up to eight: longer vectors would be in memory.
#ifdef __AVX512F__
#define SIDE_BY_SIDE_$S 8
#elif defined __AVX2__
#define SIDE_BY_SIDE_$S (sizeof($T) > 4 ? 4 : 8)
#else
#define SIDE_BY_SIDE_$S (sizeof($T) > 2 ? 16 / sizeof($T) : 8)
#endif
typedef $T some_$S __attribute__((vector_size(SIDE_BY_SIDE_$S * sizeof($T)), may_alias));

// Sort up to 64 different numbers by counting for each how many are less, so that no branch depends
// on them. Where two are equal the counts do not add up: false, and nothing was changed.
static bool sort_ranked_$S($T *a, int64_t n)
{
    $T held[64] __attribute__((aligned(64))), rank[64] __attribute__((aligned(64)));
    int64_t sum = 0;
    for (int64_t k = 0; k < n; k++)
        held[k] = a[k];
    for (int64_t k = 0; k < n; k += 2 * SIDE_BY_SIDE_$S) {
        some_$S *const counted = (some_$S *)(rank + k);
        const some_$S first = *(some_$S *)(held + k);
        const some_$S second = *(some_$S *)(held + k + SIDE_BY_SIDE_$S);
        some_$S less_first = {0}, less_second = {0};
        for (int64_t j = 0; j < n; j++) {
            less_first -= (some_$S)(a[j] < first);
            less_second -= (some_$S)(a[j] < second);
        }
        counted[0] = less_first;
        counted[1] = less_second;
    }
    for (int64_t k = 0; k < n; k++)
        sum += rank[k];
    if (2 * sum != n * (n - 1))
        return false;
    for (int64_t k = 0; k < n; k++)
        a[rank[k]] = held[k];
    return true;
}

// Quicksort without branches on the numbers, which turns to heapsort where it would degrade.
static void sort_within_$S($T *a, int64_t n, int depth)
{
    while (n > 64) {
        if (depth-- == 0) {
            heapsort_$S(a, n);
            return;
        }
        const $T x = a[0], y = a[n / 2], z = a[n - 1];
        const int64_t median = (x < y) == (y < z) ? n / 2 : (x < y) == (z < x) ? 0 : n - 1;
        const $T pivot = a[median];
        int64_t less = 0;
        a[median] = z;
        for (int64_t k = 0; k < n - 1; k++) {
            const $T value = a[k];
            a[k] = a[less];
            a[less] = value;
            less += value < pivot;
        }
        a[n - 1] = a[less];
        a[less++] = pivot;
        sort_within_$S(a, less - 1, depth);
        a += less;
        n -= less;
    }
    if (sort_ranked_$S(a, n))
        return;
    for (int64_t k = 1; k < n; k++) {
        const $T value = a[k];
        int64_t to = k;
        for (; to > 0 && value < a[to - 1]; to--)
            a[to] = a[to - 1];
        a[to] = value;
    }
}

static void sort_$S($T *a, int64_t n)
{
    int64_t sorted = 1;
    while (n > 64 && sorted < n && a[sorted - 1] <= a[sorted])
        sorted++;
    if (sorted < n)
        sort_within_$S(a, n, 128 - 2 * __builtin_clzll((uint64_t)n));
}
"""
