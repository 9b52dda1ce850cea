/*
 * Estimators over several samples of one problem, and the similarity of two texts.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "eval/eval.h"

/* 1 - C(n - c, k) / C(n, k), as a product, which does not overflow. */
double hpc_eval_pass_at(int64_t n, int64_t c, int64_t k)
{
    double miss = 1;

    if (k < 1 || n < k) return NAN;
    if (n - c < k) return 1;
    for (int64_t i = n - c + 1; i <= n; i++) miss *= 1 - (double)k / (double)i;
    return 1 - miss;
}

static int descending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

/* C(j - 1, k - 1) / C(n, k) from j = n downwards, where it is k / n; each step multiplies by
 * (j - k) / (j - 1). */
double hpc_eval_speedup_at(double *time, int64_t n, int64_t k, double base)
{
    double sum = 0, weight = (double)k / (double)n;

    if (k < 1 || n < k) return NAN;
    qsort(time, (size_t)n, sizeof(*time), descending);
    for (int64_t j = n; j >= k; j--) {
        if (isfinite(time[j - 1])) sum += weight * base / time[j - 1];
        if (j > 1) weight *= (double)(j - k) / (double)(j - 1);
    }
    return sum;
}

/* Levenshtein's distance, one row at a time. */
static int64_t edits(int64_t *row, const char *a, size_t a_n, const char *b, size_t b_n)
{
    for (size_t j = 0; j <= b_n; j++) row[j] = (int64_t)j;
    for (size_t i = 1; i <= a_n; i++) {
        int64_t diagonal = row[0];
        row[0] = (int64_t)i;
        for (size_t j = 1; j <= b_n; j++) {
            int64_t best = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            if (row[j] + 1 < best) best = row[j] + 1;
            if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
            row[j] = best;
        }
    }
    return row[b_n];
}

double hpc_eval_similarity(const char *a, size_t a_n, const char *b, size_t b_n)
{
    size_t longer = a_n > b_n ? a_n : b_n;

    if (longer == 0) return 1;
    int64_t *row = hpc_alloc(b_n + 1, sizeof(*row));
    if (!row) return NAN;
    double share = 1 - (double)edits(row, a, a_n, b, b_n) / (double)longer;
    hpc_free(row);
    return share;
}
