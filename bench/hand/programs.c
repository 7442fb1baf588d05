// Whole programs as an expert writes them by hand: solvers on compressed rows with int indices,
// searches with a queue, recurrences. What is read and written in one loop stays in a register
// where it is known to be needed next.
#include <math.h>
#include <stdint.h>
#include <string.h>

// -- solvers ----------------------------------------------------------------------------------

void lower_solve(int n, const int *restrict ptr, const int *restrict idx,
                 const double *restrict val, const double *restrict b, double *restrict x)
{
    for (int i = 0; i < n; i++) {
        const int last = ptr[i + 1] - 1;
        double t = b[i];
        for (int q = ptr[i]; q < last; q++) t -= val[q] * x[idx[q]];
        x[i] = t / val[last];
    }
}

// With the inverse of the diagonal, and x[i - 1] in a register: a load that waits for its store is
// most of the time where rows are short.
void lower_solve_inverse(int n, const int *restrict ptr, const int *restrict idx,
                         const double *restrict val, const double *restrict inverse,
                         const double *restrict b, double *restrict x)
{
    double before = 0;
    for (int i = 0; i < n; i++) {
        int end = ptr[i + 1] - 1;
        const int start = ptr[i], near = end > start && idx[end - 1] == i - 1;
        double t = b[i];
        end -= near;
        for (int q = start; q < end; q++) t -= val[q] * x[idx[q]];
        if (near) t -= val[end] * before;
        x[i] = before = t * inverse[i];
    }
}

void upper_solve(int n, const int *restrict ptr, const int *restrict idx,
                 const double *restrict val, const double *restrict b, double *restrict x)
{
    for (int i = n - 1; i >= 0; i--) {
        const int first = ptr[i];
        double t = b[i];
        for (int q = first + 1; q < ptr[i + 1]; q++) t -= val[q] * x[idx[q]];
        x[i] = t / val[first];
    }
}

void sweep(int n, const int *restrict ptr, const int *restrict idx, const double *restrict val,
           const double *restrict b, double *restrict x)
{
    for (int i = 0; i < n; i++) {
        double t = b[i], d = 0;
        for (int q = ptr[i]; q < ptr[i + 1]; q++) {
            if (idx[q] == i) d = val[q];
            else t -= val[q] * x[idx[q]];
        }
        x[i] = t / d;
    }
}

// The row in two parts, before and behind the diagonal.
void sweep_split(int n, const int *restrict ptr, const int *restrict idx,
                 const double *restrict val, const double *restrict b, double *restrict x)
{
    for (int i = 0; i < n; i++) {
        const int end = ptr[i + 1];
        int q = ptr[i];
        double t = b[i];
        for (; q < end && idx[q] < i; q++) t -= val[q] * x[idx[q]];
        const double d = val[q++];
        for (; q < end; q++) t -= val[q] * x[idx[q]];
        x[i] = t / d;
    }
}

// Two sorted rows are merged: the pivot row behind its diagonal, and what is left of this one.
void ilu0(int n, const int *restrict ptr, const int *restrict idx, double *restrict val,
          int *restrict diagonal)
{
    for (int i = 0; i < n; i++) {
        const int end = ptr[i + 1];
        int p = ptr[i];
        for (; p < end && idx[p] < i; p++) {
            const int k = idx[p], stop = ptr[k + 1];
            const double factor = val[p] /= val[diagonal[k]];
            int a = p + 1, c = diagonal[k] + 1;
            while (a < end && c < stop) {
                const int ja = idx[a], jc = idx[c];
                if (ja == jc) val[a] -= factor * val[c];
                a += ja <= jc;
                c += jc <= ja;
            }
        }
        diagonal[i] = p;
    }
}

void conjugate_gradients(int n, const int *restrict ptr, const int *restrict idx,
                         const double *restrict val, const double *restrict b, int steps,
                         double *restrict x, double *restrict r, double *restrict p,
                         double *restrict ap)
{
    double rr = 0;
    for (int i = 0; i < n; i++) {
        x[i] = 0;
        r[i] = p[i] = b[i];
        rr += b[i] * b[i];
    }
    for (int step = 0; step < steps; step++) {
        double pap = 0, next = 0;
        for (int i = 0; i < n; i++) {
            double t = 0;
            for (int q = ptr[i]; q < ptr[i + 1]; q++) t += val[q] * p[idx[q]];
            ap[i] = t;
            pap += t * p[i];
        }
        const double alpha = rr / pap;
        for (int i = 0; i < n; i++) {
            x[i] += alpha * p[i];
            const double t = r[i] - alpha * ap[i];
            r[i] = t;
            next += t * t;
        }
        const double beta = next / rr;
        rr = next;
        for (int i = 0; i < n; i++) p[i] = r[i] + beta * p[i];
    }
}

void scale_rows(int n, const int *restrict ptr, double *restrict val, const double *restrict d)
{
    for (int i = 0; i < n; i++) {
        const double by = d[i];
        for (int q = ptr[i]; q < ptr[i + 1]; q++) val[q] *= by;
    }
}

// Without branches on the values: each is stored, and the place moves on if it is kept.
int drop_small(int n, const int *restrict ptr, const int *restrict idx, const double *restrict val,
               double least, int *restrict out_ptr, int *restrict out_idx, double *restrict out)
{
    int kept = 0;
    for (int i = 0; i < n; i++) {
        out_ptr[i] = kept;
        for (int q = ptr[i]; q < ptr[i + 1]; q++) {
            const double v = val[q];
            out_idx[kept] = idx[q];
            out[kept] = v;
            kept += fabs(v) > least;
        }
    }
    return out_ptr[n] = kept;
}

void sddmm_into(int n, int rank, const int *restrict ptr, const int *restrict idx,
                const double *restrict val, const double *restrict U, const double *restrict V,
                double *restrict out)
{
    for (int i = 0; i < n; i++) {
        const double *restrict const u = U + (int64_t)i * rank;
        for (int q = ptr[i]; q < ptr[i + 1]; q++) {
            const double *restrict const v = V + (int64_t)idx[q] * rank;
            double lane[8] = {0};
            int k = 0;
            for (; k <= rank - 8; k += 8)
                for (int l = 0; l < 8; l++) lane[l] += u[k + l] * v[k + l];
            double t = ((lane[0] + lane[4]) + (lane[2] + lane[6]))
                       + ((lane[1] + lane[5]) + (lane[3] + lane[7]));
            for (; k < rank; k++) t += u[k] * v[k];
            out[q] = val[q] * t;
        }
    }
}

// The sum of each fiber of a tensor, into values that are there.
void ttv_into(int n, const int *restrict ptr, const int *restrict start, const int *restrict idx,
              const double *restrict val, const double *restrict x, double *restrict out)
{
    for (int f = 0; f < ptr[n]; f++) {
        double t = 0;
        for (int q = start[f]; q < start[f + 1]; q++) t += val[q] * x[idx[q]];
        out[f] = t;
    }
}

// L D L^T by rows, where the pattern of L is known by rows and by columns: `next` is where each
// column has come to. `inverse` has the inverse of D.
void ldl(int n, const int *restrict ptr, const int *restrict idx, const double *restrict val,
         const int *restrict row_ptr, const int *restrict row_idx, const int *restrict col_ptr,
         const int *restrict col_idx, double *restrict col_val, double *restrict inverse,
         int *restrict next, double *restrict x)
{
    for (int k = 0; k < n; k++) {
        next[k] = col_ptr[k];
        x[k] = 0;
    }
    for (int k = 0; k < n; k++) {
        double d = 0;
        for (int q = ptr[k]; q < ptr[k + 1] && idx[q] <= k; q++) {
            if (idx[q] == k) d = val[q];
            else x[idx[q]] = val[q];
        }
        for (int r = row_ptr[k]; r < row_ptr[k + 1]; r++) {
            const int j = row_idx[r], end = next[j];
            const double y = x[j];
            x[j] = 0;
            for (int q = col_ptr[j]; q < end; q++) x[col_idx[q]] -= col_val[q] * y;
            const double l = y * inverse[j];
            d -= l * y;
            col_val[end] = l;
            next[j] = end + 1;
        }
        inverse[k] = 1 / d;
    }
}

// -- graphs -----------------------------------------------------------------------------------

void search_queue(int n, const int *restrict ptr, const int *restrict idx, int source,
                  int *restrict parents, int *restrict queue)
{
    int first = 0, last = 1;
    for (int i = 0; i < n; i++) parents[i] = -1;
    parents[source] = source;
    queue[0] = source;
    while (first < last) {
        const int i = queue[first++];
        for (int q = ptr[i]; q < ptr[i + 1]; q++) {
            const int j = idx[q];
            if (parents[j] < 0) {
                parents[j] = i;
                queue[last++] = j;
            }
        }
    }
}

// A level pulls where more edges leave the frontier than a part of all. The graph is undirected.
void search_both(int n, const int *restrict ptr, const int *restrict idx, int source,
                 int *restrict parents, int *restrict queue, uint8_t *restrict at)
{
    int first = 0, last = 1;
    int64_t leaving = ptr[source + 1] - ptr[source];
    for (int i = 0; i < n; i++) parents[i] = -1;
    parents[source] = source;
    queue[0] = source;
    while (first < last) {
        const int end = last;
        int64_t edges = 0;
        if (20 * leaving > ptr[n]) {
            memset(at, 0, n);
            for (; first < end; first++) at[queue[first]] = 1;
            for (int j = 0; j < n; j++) {
                if (parents[j] >= 0) continue;
                for (int q = ptr[j]; q < ptr[j + 1]; q++) {
                    if (at[idx[q]]) {
                        parents[j] = idx[q];
                        queue[last++] = j;
                        edges += ptr[j + 1] - ptr[j];
                        break;
                    }
                }
            }
        } else {
            for (; first < end; first++) {
                const int i = queue[first];
                for (int q = ptr[i]; q < ptr[i + 1]; q++) {
                    const int j = idx[q];
                    if (parents[j] < 0) {
                        parents[j] = i;
                        queue[last++] = j;
                        edges += ptr[j + 1] - ptr[j];
                    }
                }
            }
        }
        leaving = edges;
    }
}

static inline int root(int *restrict up, int i)
{
    while (up[i] != i) i = up[i] = up[up[i]];
    return i;
}

void components(int n, const int *restrict ptr, const int *restrict idx, int *restrict up)
{
    for (int i = 0; i < n; i++) up[i] = i;
    for (int i = 0; i < n; i++) {
        for (int q = ptr[i]; q < ptr[i + 1] && idx[q] < i; q++) {
            const int a = root(up, i), b = root(up, idx[q]);
            if (a < b) up[b] = a;
            else up[a] = b;
        }
    }
    for (int i = 0; i < n; i++) up[i] = up[up[i]];
}

void shortest_queue(int n, const int *restrict ptr, const int *restrict idx,
                    const double *restrict len, int source, double *restrict d,
                    int *restrict queue, uint8_t *restrict queued)
{
    int first = 0, last = 1, count = 1;
    for (int i = 0; i < n; i++) d[i] = INFINITY;
    memset(queued, 0, n);
    d[source] = 0;
    queue[0] = source;
    while (count) {
        const int i = queue[first];
        if (++first == n) first = 0;
        count--;
        queued[i] = 0;
        const double from = d[i];
        for (int q = ptr[i]; q < ptr[i + 1]; q++) {
            const int j = idx[q];
            if (from + len[q] < d[j]) {
                d[j] = from + len[q];
                if (!queued[j]) {
                    queued[j] = 1;
                    queue[last] = j;
                    if (++last == n) last = 0;
                    count++;
                }
            }
        }
    }
}

void all_pairs(int n, double *restrict d)
{
    for (int k = 0; k < n; k++) {
        const double *const through = d + (int64_t)k * n;
        for (int i = 0; i < n; i++) {
            double *const row = d + (int64_t)i * n;
            const double to = row[k];
            for (int j = 0; j < n; j++) row[j] = row[j] < to + through[j] ? row[j] : to + through[j];
        }
    }
}

void ranks(int n, const int *restrict ptr, const int *restrict idx, const int *restrict degree,
           int steps, double *restrict rank, double *restrict share)
{
    for (int i = 0; i < n; i++) rank[i] = 1.0 / n;
    for (int step = 0; step < steps; step++) {
        double lost = 0;
        for (int i = 0; i < n; i++) {
            if (degree[i]) share[i] = rank[i] / degree[i];
            else share[i] = 0, lost += rank[i];
        }
        const double base = (0.15 + 0.85 * lost) / n;
        for (int i = 0; i < n; i++) {
            double t = 0;
            for (int q = ptr[i]; q < ptr[i + 1]; q++) t += share[idx[q]];
            rank[i] = base + 0.85 * t;
        }
    }
}

// By the degrees that are left, from the least: vertices are sorted by them all the time.
void cores(int n, const int *restrict ptr, const int *restrict idx, int *restrict core,
           int *restrict start, int *restrict place, int *restrict order)
{
    int most = 0;
    for (int i = 0; i < n; i++) {
        core[i] = ptr[i + 1] - ptr[i];
        if (core[i] > most) most = core[i];
    }
    for (int d = 0; d <= most + 1; d++) start[d] = 0;
    for (int i = 0; i < n; i++) start[core[i] + 1]++;
    for (int d = 0; d <= most; d++) start[d + 1] += start[d];
    for (int i = 0; i < n; i++) {
        place[i] = start[core[i]]++;
        order[place[i]] = i;
    }
    for (int d = most; d > 0; d--) start[d] = start[d - 1];
    start[0] = 0;
    for (int k = 0; k < n; k++) {
        const int i = order[k];
        for (int q = ptr[i]; q < ptr[i + 1]; q++) {
            const int j = idx[q], d = core[j];
            if (d > core[i]) {
                const int to = start[d], other = order[to];
                order[place[j]] = other;
                place[other] = place[j];
                order[to] = j;
                place[j] = to;
                start[d]++;
                core[j]--;
            }
        }
    }
}

void matching(int n, const int *restrict ptr, const int *restrict idx, int *restrict mate)
{
    for (int i = 0; i < n; i++) mate[i] = -1;
    for (int i = 0; i < n; i++) {
        if (mate[i] >= 0) continue;
        for (int q = ptr[i]; q < ptr[i + 1]; q++) {
            const int j = idx[q];
            if (mate[j] < 0 && j != i) {
                mate[i] = j;
                mate[j] = i;
                break;
            }
        }
    }
}

// Each vertex takes the label that most of its neighbours have, of these the least.
void label_round(int n, const int *restrict ptr, const int *restrict idx,
                 const int *restrict labels, int *restrict found, int *restrict count)
{
    for (int i = 0; i < n; i++) count[i] = 0;
    for (int i = 0; i < n; i++) {
        int most = 0, best = labels[i];
        for (int q = ptr[i]; q < ptr[i + 1]; q++) {
            const int label = labels[idx[q]], c = ++count[label];
            if (c > most || (c == most && label < best)) most = c, best = label;
        }
        for (int q = ptr[i]; q < ptr[i + 1]; q++) count[labels[idx[q]]] = 0;
        found[i] = best;
    }
}

// -- recurrences ------------------------------------------------------------------------------

void prefix_sums(int64_t n, const double *restrict x, double *restrict y)
{
    double t = 0;
    for (int64_t i = 0; i < n; i++) y[i] = t += x[i];
}

void second_order(int64_t n, const double *restrict b, const double *restrict a,
                  const double *restrict x, double *restrict y)
{
    double x1 = 0, x2 = 0, y1 = 0, y2 = 0;
    for (int64_t i = 0; i < n; i++) {
        const double t = b[0] * x[i] + b[1] * x1 + b[2] * x2 - a[2] * y2 - a[1] * y1;
        x2 = x1, x1 = x[i];
        y2 = y1, y1 = t;
        y[i] = t;
    }
}

void edit_table(int n, int m, const int *restrict a, const int *restrict b, int *restrict d)
{
    const int64_t w = m + 1;
    for (int i = 0; i <= n; i++) d[i * w] = i;
    for (int j = 0; j <= m; j++) d[j] = j;
    for (int i = 0; i < n; i++) {
        const int *const up = d + i * w;
        int *const row = d + (i + 1) * w;
        int left = row[0];
        for (int j = 0; j < m; j++) {
            const int change = up[j] + (a[i] != b[j]);
            const int other = (up[j + 1] < left ? up[j + 1] : left) + 1;
            row[j + 1] = left = change < other ? change : other;
        }
    }
}

// By anti-diagonals, into a table of n + m + 1 rows.
void edit_diagonals(int n, int m, const int *restrict a, const int *restrict reversed,
                    int *restrict d)
{
    const int64_t w = n + 1;
    for (int j = 0; j <= m; j++) d[j * w] = j;
    for (int i = 0; i <= n; i++) d[i * w + i] = i;
    for (int s = 2; s <= n + m; s++) {
        const int first = s - m > 1 ? s - m : 1, end = n + 1 < s ? n + 1 : s;
        const int *const two = d + (s - 2) * w, *const one = d + (s - 1) * w;
        const int *const other = reversed + m - s;
        int *restrict const row = d + s * w;
        for (int i = first; i < end; i++) {
            const int change = two[i - 1] + (a[i - 1] != other[i]);
            const int step = (one[i - 1] < one[i] ? one[i - 1] : one[i]) + 1;
            row[i] = change < step ? change : step;
        }
    }
}
