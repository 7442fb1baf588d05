// What the figures of the level formats stand beside: the same work as an expert would write it.
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
