// What the figures of formats and merges stand beside: the same work as an expert would write it.
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

// Append n values and their indices to two arrays that double when they are full.
int64_t appended(const double *restrict x, int64_t n)
{
    int64_t room = 4;
    int64_t *idx = malloc(room * sizeof *idx);
    double *val = malloc(room * sizeof *val);
    for (int64_t i = 0; i < n; i++) {
        if (i >= room) {
            room *= 2;
            idx = realloc(idx, room * sizeof *idx);
            val = realloc(val, room * sizeof *val);
        }
        idx[i] = i;
        val[i] = x[i];
    }
    const int64_t last = n ? idx[n - 1] : -1;
    free(idx);
    free(val);
    return last;
}

static void sort(int64_t *a, int64_t n)
{
    for (int64_t i = 1; i < n; i++) {
        const int64_t key = a[i];
        int64_t j = i;
        for (; j > 0 && a[j - 1] > key; j--) a[j] = a[j - 1];
        a[j] = key;
    }
}

// The square of a sparse matrix of short rows, into memory that there is enough of: each row is
// gathered in `w`, of which `seen` says what is in use; both are left as they were found, empty.
int64_t squared(int64_t n, const int *restrict ptr, const int *restrict idx,
                const double *restrict val, int64_t *restrict c_ptr, int64_t *restrict c_idx,
                double *restrict c_val, double *restrict w, uint8_t *restrict seen,
                int64_t *restrict list)
{
    int64_t stored = 0;
    c_ptr[0] = 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t count = 0;
        for (int q = ptr[i]; q < ptr[i + 1]; q++) {
            const int k = idx[q];
            for (int r = ptr[k]; r < ptr[k + 1]; r++) {
                const int j = idx[r];
                if (!seen[j]) {
                    seen[j] = 1;
                    list[count++] = j;
                }
                w[j] += val[q] * val[r];
            }
        }
        sort(list, count);
        for (int64_t t = 0; t < count; t++) {
            const int64_t j = list[t];
            c_idx[stored] = j;
            c_val[stored++] = w[j];
            w[j] = 0;
            seen[j] = 0;
        }
        c_ptr[i + 1] = stored;
    }
    return stored;
}

typedef struct { int64_t key; double value; } entry;

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 32) * 0x9E3779B97F4A7C15u;
    return x ^ x >> 32;
}

static entry *empty(int64_t slots)
{
    entry *table = malloc(slots * sizeof *table);
    for (int64_t k = 0; k < slots; k++) table[k] = (entry){-1, 0};
    return table;
}

// Sum values by their keys in an open-addressing table. Gives the number of keys.
int64_t hashed(const int64_t *keys, const double *values, int64_t n)
{
    int64_t slots = 16, count = 0;
    entry *table = empty(slots);
    for (int64_t k = 0; k < n; k++) {
        uint64_t s = mix(keys[k]) & (slots - 1);
        while (table[s].key != keys[k] && table[s].key >= 0) s = (s + 1) & (slots - 1);
        table[s].value += values[k];
        if (table[s].key < 0) {
            table[s].key = keys[k];
            if (2 * ++count >= slots) {
                entry *larger = empty(2 * slots);
                for (int64_t j = 0; j < slots; j++) {
                    if (table[j].key < 0) continue;
                    uint64_t t = mix(table[j].key) & (2 * slots - 1);
                    while (larger[t].key >= 0) t = (t + 1) & (2 * slots - 1);
                    larger[t] = table[j];
                }
                free(table);
                table = larger;
                slots *= 2;
            }
        }
    }
    free(table);
    return count;
}

// The inner product of two sorted lists: what is behind goes on.
void dot_branches(const int *restrict a_idx, const double *restrict a, int64_t n,
                  const int *restrict b_idx, const double *restrict b, int64_t m,
                  double *restrict result)
{
    double sum = 0;
    int64_t p = 0, q = 0;
    while (p < n && q < m) {
        if (a_idx[p] < b_idx[q]) {
            p++;
        } else if (a_idx[p] > b_idx[q]) {
            q++;
        } else {
            sum += a[p++] * b[q++];
        }
    }
    *result = sum;
}

// The same without a branch on which list is behind, which nobody foresees.
void dot_steps(const int *restrict a_idx, const double *restrict a, int64_t n,
               const int *restrict b_idx, const double *restrict b, int64_t m,
               double *restrict result)
{
    double sum = 0;
    int64_t p = 0, q = 0;
    while (p < n && q < m) {
        const int i = a_idx[p], j = b_idx[q];
        if (i == j) sum += a[p] * b[q];
        p += i <= j;
        q += j <= i;
    }
    *result = sum;
}

// The sum of two sorted lists, into memory that there is enough of. Gives its length.
int64_t sum_branches(const int *restrict a_idx, const double *restrict a, int64_t n,
                     const int *restrict b_idx, const double *restrict b, int64_t m,
                     int *restrict c_idx, double *restrict c)
{
    int64_t p = 0, q = 0, r = 0;
    while (p < n && q < m) {
        if (a_idx[p] < b_idx[q]) {
            c_idx[r] = a_idx[p];
            c[r++] = a[p++];
        } else if (a_idx[p] > b_idx[q]) {
            c_idx[r] = b_idx[q];
            c[r++] = b[q++];
        } else {
            c_idx[r] = a_idx[p];
            c[r++] = a[p++] + b[q++];
        }
    }
    for (; p < n; p++, r++) c_idx[r] = a_idx[p], c[r] = a[p];
    for (; q < m; q++, r++) c_idx[r] = b_idx[q], c[r] = b[q];
    return r;
}

// The same without those branches.
int64_t sum_steps(const int *restrict a_idx, const double *restrict a, int64_t n,
                  const int *restrict b_idx, const double *restrict b, int64_t m,
                  int *restrict c_idx, double *restrict c)
{
    int64_t p = 0, q = 0, r = 0;
    while (p < n && q < m) {
        const int i = a_idx[p], j = b_idx[q];
        const double x = a[p], y = b[q];
        c_idx[r] = i <= j ? i : j;
        c[r++] = (i <= j ? x : 0) + (j <= i ? y : 0);
        p += i <= j;
        q += j <= i;
    }
    for (; p < n; p++, r++) c_idx[r] = a_idx[p], c[r] = a[p];
    for (; q < m; q++, r++) c_idx[r] = b_idx[q], c[r] = b[q];
    return r;
}

// The first place from p on with an index of at least i: strides that double, then bisection.
static int64_t sought(const int *idx, int64_t p, int64_t n, int i)
{
    int64_t stride = 1;
    while (p + stride < n && idx[p + stride] < i) {
        p += stride;
        stride *= 2;
    }
    int64_t high = p + stride < n ? p + stride : n;
    while (p < high) {
        const int64_t middle = p + (high - p) / 2;
        if (idx[middle] < i) p = middle + 1;
        else high = middle;
    }
    return p;
}

// The inner product of a short list with a long one: each index of the first is looked for.
void dot_sought(const int *restrict a_idx, const double *restrict a, int64_t n,
                const int *restrict b_idx, const double *restrict b, int64_t m,
                double *restrict result)
{
    double sum = 0;
    int64_t q = 0;
    for (int64_t p = 0; p < n; p++) {
        const int i = a_idx[p];
        if (q < m && b_idx[q] < i) q = sought(b_idx, q, m, i);
        if (q < m && b_idx[q] == i) sum += a[p] * b[q];
    }
    *result = sum;
}

// The same of any two: what is behind looks for the index of what is ahead.
void dot_leaps(const int *restrict a_idx, const double *restrict a, int64_t n,
               const int *restrict b_idx, const double *restrict b, int64_t m,
               double *restrict result)
{
    double sum = 0;
    int64_t p = 0, q = 0;
    while (p < n && q < m) {
        if (a_idx[p] < b_idx[q]) p = sought(a_idx, p, n, b_idx[q]);
        else if (a_idx[p] > b_idx[q]) q = sought(b_idx, q, m, a_idx[p]);
        else sum += a[p++] * b[q++];
    }
    *result = sum;
}
