// Sums of windows of 3 x 3 and 5 x 5 elements around each, beyond the borders too: merges of what the
// rows store, as an expert would write them. The sums are in the order of rows, then columns.
#include <stdint.h>
#include <string.h>

#define EACH inline __attribute__((always_inline))

static EACH int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static EACH int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

// Compressed rows: each row around has one position, at the first entry in the window; the window is
// summed from there. Gives the number of stored results; a dense result where out_idx is null.
static EACH int64_t lists(const int64_t R, int64_t n, int64_t m, const int64_t *restrict ptr,
                          const int64_t *restrict idx, const double *restrict val,
                          int64_t *restrict out_ptr, int64_t *restrict out_idx,
                          double *restrict out)
{
    int64_t count = 0;
    if (!out_idx)
        memset(out, 0, n * m * sizeof *out);
    for (int64_t i = 0; i < n; i++) {
        const int64_t first = most(i - R, 0), last = least(i + R, n - 1);
        int64_t p[5], end[5];
        for (int64_t r = first; r <= last; r++) {
            p[r - first] = ptr[r];
            end[r - first] = ptr[r + 1];
        }
        for (int64_t j = 0;; j++) {
            int64_t next = m;
            for (int64_t r = 0; r <= last - first; r++) {
                while (p[r] < end[r] && idx[p[r]] < j - R)
                    p[r]++;
                if (p[r] < end[r])
                    next = least(next, idx[p[r]] - R);
            }
            j = most(j, next);
            if (j >= m)
                break;
            double sum = 0;
            for (int64_t r = 0; r <= last - first; r++)
                for (int64_t q = p[r]; q < end[r] && idx[q] <= j + R; q++)
                    sum += val[q];
            if (out_idx) {
                out_idx[count] = j;
                out[count++] = sum;
            } else {
                out[i * m + j] = sum;
            }
        }
        if (out_idx)
            out_ptr[i + 1] = count;
    }
    return count;
}

// Compressed rows once more: each entry is added to the results around it, in a dense result.
static EACH void scatter(const int64_t R, int64_t n, int64_t m, const int64_t *restrict ptr,
                         const int64_t *restrict idx, const double *restrict val,
                         double *restrict out)
{
    memset(out, 0, n * m * sizeof *out);
    for (int64_t i = 0; i < n; i++)
        for (int64_t r = most(i - R, 0); r <= least(i + R, n - 1); r++)
            for (int64_t q = ptr[r]; q < ptr[r + 1]; q++)
                for (int64_t j = most(idx[q] - R, 0); j <= least(idx[q] + R, m - 1); j++)
                    out[i * m + j] += val[q];
}

// Rows of runs: a row around has a position for each shift and the first end among them; a row whose
// runs all go on is not looked at again.
static EACH int64_t runs(const int64_t R, int64_t n, int64_t m, const int64_t *restrict ptr,
                         const int64_t *restrict right, const double *restrict val,
                         int64_t *restrict out_ptr, int64_t *restrict out_right,
                         double *restrict out)
{
    const int64_t W = 2 * R + 1;
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++) {
        const int64_t begun = count, rows = least(i + R, n - 1) - most(i - R, 0) + 1;
        int64_t p[5][5], ends[5][5], end[5];
        double v[5][5];
        for (int64_t r = 0; r < rows; r++) {
            end[r] = m;
            for (int64_t b = 0; b < W; b++) {
                p[r][b] = ptr[most(i - R, 0) + r];
                if (b < R) { // before the border
                    p[r][b]--;
                    v[r][b] = 0;
                    ends[r][b] = R - b;
                } else {
                    while (right[p[r][b]] <= b - R)
                        p[r][b]++;
                    v[r][b] = val[p[r][b]];
                    ends[r][b] = right[p[r][b]] - (b - R);
                }
                end[r] = least(end[r], ends[r][b]);
            }
        }
        for (int64_t j = 0; j < m;) {
            int64_t next = m;
            double sum = 0;
            for (int64_t r = 0; r < rows; r++)
                next = least(next, end[r]);
            for (int64_t r = 0; r < rows; r++)
                for (int64_t b = 0; b < W; b++)
                    sum += v[r][b];
            if (out_right) {
                if (count > begun && out[count - 1] == sum) {
                    out_right[count - 1] = next;
                } else {
                    out_right[count] = next;
                    out[count++] = sum;
                }
            } else {
                for (int64_t k = j; k < next; k++)
                    out[i * m + k] = sum;
            }
            for (int64_t r = 0; r < rows; r++) {
                if (end[r] != next || next == m)
                    continue;
                end[r] = m;
                for (int64_t b = 0; b < W; b++) {
                    if (ends[r][b] == next) {
                        const int64_t shift = b - R;
                        if (next + shift < m) {
                            p[r][b]++;
                            v[r][b] = val[p[r][b]];
                            ends[r][b] = right[p[r][b]] - shift;
                        } else { // beyond the border
                            v[r][b] = 0;
                            ends[r][b] = m;
                        }
                    }
                    end[r] = least(end[r], ends[r][b]);
                }
            }
            j = next;
        }
        if (out_right)
            out_ptr[i + 1] = count;
    }
    return count;
}

// Rows of one band each: where all rows around have all of the window, a loop without tests, which is
// as long as the rows are alike; the elements beside it are summed over what there is.
static EACH int64_t bands(const int64_t R, int64_t n, int64_t m, const int64_t *restrict ofs,
                          const int64_t *restrict last, const double *restrict val,
                          int64_t *restrict out_ofs, int64_t *restrict out_last,
                          double *restrict out)
{
    const int64_t W = 2 * R + 1;
    int64_t count = 0;
    if (!out_ofs)
        memset(out, 0, n * m * sizeof *out);
    for (int64_t i = 0; i < n; i++) {
        const int64_t top = most(i - R, 0), rows = least(i + R, n - 1) - top + 1;
        int64_t from[5], to[5], low = m, high = 0, inner = 0, outer = m;
        const double *x[5];
        for (int64_t r = 0; r < rows; r++) {
            to[r] = last[top + r] + 1;
            from[r] = to[r] - (ofs[top + r + 1] - ofs[top + r]);
            x[r] = val + ofs[top + r] - from[r];
            inner = most(inner, from[r] + R);
            outer = least(outer, to[r] - R);
            if (from[r] < to[r]) {
                low = least(low, most(from[r] - R, 0));
                high = most(high, least(to[r] + R, m));
            }
        }
        if (rows < W || inner >= outer)
            inner = outer = high;
        double *y = out_ofs ? out + count - low : out + i * m;
        for (int64_t part = 0; part < 2; part++)
            for (int64_t j = part ? most(outer, low) : low; j < (part ? high : inner); j++) {
                double sum = 0;
                for (int64_t r = 0; r < rows; r++)
                    for (int64_t k = most(from[r], j - R); k < least(to[r], j + R + 1); k++)
                        sum += x[r][k];
                y[j] = sum;
            }
        for (int64_t j = inner; j < outer; j++) {
            double sum = 0;
            for (int64_t r = 0; r < W; r++)
                for (int64_t b = -R; b <= R; b++)
                    sum += x[r][j + b];
            y[j] = sum;
        }
        if (out_ofs) {
            count += most(high - low, 0);
            out_ofs[i + 1] = count;
            out_last[i] = most(high, 1) - 1;
        }
    }
    return count;
}

int64_t lists_3(int64_t n, int64_t m, const int64_t *ptr, const int64_t *idx, const double *val,
                int64_t *out_ptr, int64_t *out_idx, double *out)
{
    return lists(1, n, m, ptr, idx, val, out_ptr, out_idx, out);
}

int64_t lists_5(int64_t n, int64_t m, const int64_t *ptr, const int64_t *idx, const double *val,
                int64_t *out_ptr, int64_t *out_idx, double *out)
{
    return lists(2, n, m, ptr, idx, val, out_ptr, out_idx, out);
}

int64_t scatter_3(int64_t n, int64_t m, const int64_t *ptr, const int64_t *idx, const double *val,
                  int64_t *out_ptr, int64_t *out_idx, double *out)
{
    scatter(1, n, m, ptr, idx, val, out);
    return n * m;
}

int64_t scatter_5(int64_t n, int64_t m, const int64_t *ptr, const int64_t *idx, const double *val,
                  int64_t *out_ptr, int64_t *out_idx, double *out)
{
    scatter(2, n, m, ptr, idx, val, out);
    return n * m;
}

int64_t runs_3(int64_t n, int64_t m, const int64_t *ptr, const int64_t *right, const double *val,
               int64_t *out_ptr, int64_t *out_right, double *out)
{
    return runs(1, n, m, ptr, right, val, out_ptr, out_right, out);
}

int64_t runs_5(int64_t n, int64_t m, const int64_t *ptr, const int64_t *right, const double *val,
               int64_t *out_ptr, int64_t *out_right, double *out)
{
    return runs(2, n, m, ptr, right, val, out_ptr, out_right, out);
}

int64_t bands_3(int64_t n, int64_t m, const int64_t *ofs, const int64_t *last, const double *val,
                int64_t *out_ofs, int64_t *out_last, double *out)
{
    return bands(1, n, m, ofs, last, val, out_ofs, out_last, out);
}

int64_t bands_5(int64_t n, int64_t m, const int64_t *ofs, const int64_t *last, const double *val,
                int64_t *out_ofs, int64_t *out_last, double *out)
{
    return bands(2, n, m, ofs, last, val, out_ofs, out_last, out);
}
