/* The loops that a tensor compiler without structured formats emits: compressed rows, int32. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void spmv(int m, const int *restrict pos, const int *restrict crd, const double *restrict val,
          const double *restrict x, double *restrict y)
{
    for (int i = 0; i < m; i++) {
        double sum = 0;
        for (int q = pos[i]; q < pos[i + 1]; q++) sum += val[q] * x[crd[q]];
        y[i] = sum;
    }
}

void spmv_band(int m, const int *restrict start, const int *restrict ofs,
               const double *restrict val, const double *restrict x, double *restrict y)
{
    for (int i = 0; i < m; i++) {
        const double *v = val + ofs[i], *w = x + start[i];
        double sum = 0;
        for (int q = 0, n = ofs[i + 1] - ofs[i]; q < n; q++) sum += v[q] * w[q];
        y[i] = sum;
    }
}

void spmv_point(int m, const int *restrict crd, const double *restrict x, double *restrict y)
{
    for (int i = 0; i < m; i++) y[i] = x[crd[i]];
}

static int ascending(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* Row by row in a dense workspace with a list of what was touched, sorted; two arrays that grow. */
int64_t spgemm(int m, int n, const int *restrict apos, const int *restrict acrd,
               const double *restrict aval, const int *restrict bpos, const int *restrict bcrd,
               const double *restrict bval, int *restrict cpos, int **crd_out, double **val_out)
{
    int64_t room = 1 << 20, stored = 0;
    int *ccrd = malloc(room * sizeof *ccrd), *list = malloc(n * sizeof *list);
    double *cval = malloc(room * sizeof *cval), *w = calloc(n, sizeof *w);
    char *seen = calloc(n, 1);
    cpos[0] = 0;
    for (int i = 0; i < m; i++) {
        int count = 0;
        for (int p = apos[i]; p < apos[i + 1]; p++) {
            int k = acrd[p];
            for (int q = bpos[k]; q < bpos[k + 1]; q++) {
                int j = bcrd[q];
                if (!seen[j]) {
                    list[count++] = j;
                    seen[j] = 1;
                }
                w[j] += aval[p] * bval[q];
            }
        }
        qsort(list, count, sizeof *list, ascending);
        if (stored + count > room) {
            while (stored + count > room) room *= 2;
            ccrd = realloc(ccrd, room * sizeof *ccrd);
            cval = realloc(cval, room * sizeof *cval);
        }
        for (int k = 0; k < count; k++) {
            int j = list[k];
            ccrd[stored] = j;
            cval[stored++] = w[j];
            w[j] = 0;
            seen[j] = 0;
        }
        cpos[i + 1] = (int)stored;
    }
    free(list), free(w), free(seen);
    *crd_out = ccrd;
    *val_out = cval;
    return stored;
}

void release(void *memory)
{
    free(memory);
}

void sddmm(int m, int n, const int *restrict pos, const int *restrict crd,
           const double *restrict val, const double *restrict a, const double *restrict b,
           double *restrict c)
{
    for (int i = 0; i < m; i++)
        for (int q = pos[i]; q < pos[i + 1]; q++) {
            double sum = 0;
            for (int k = 0; k < n; k++) sum += val[q] * a[i * n + k] * b[crd[q] * n + k];
            c[q] = sum;
        }
}

void spmm(int m, int n, const int *restrict pos, const int *restrict crd,
          const double *restrict val, const double *restrict b, double *restrict c)
{
    memset(c, 0, sizeof *c * m * n);
    for (int i = 0; i < m; i++)
        for (int q = pos[i]; q < pos[i + 1]; q++)
            for (int k = 0; k < n; k++) c[i * n + k] += val[q] * b[crd[q] * n + k];
}

void mttkrp(int rows, int n, const int *restrict pos0, const int *restrict crd0,
            const int *restrict pos1, const int *restrict crd1, const int *restrict pos2,
            const int *restrict crd2, const double *restrict val, const double *restrict b,
            const double *restrict c, double *restrict d)
{
    memset(d, 0, sizeof *d * rows * n);
    for (int p = pos0[0]; p < pos0[1]; p++)
        for (int q = pos1[p]; q < pos1[p + 1]; q++)
            for (int r = pos2[q]; r < pos2[q + 1]; r++)
                for (int k = 0; k < n; k++)
                    d[crd0[p] * n + k] += val[r] * c[crd2[r] * n + k] * b[crd1[q] * n + k];
}
