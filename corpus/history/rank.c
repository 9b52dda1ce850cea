/*
 * Mann and Whitney's test of two samples, and false discovery rates of many tests.
 */
#include <math.h>
#include <stdlib.h>

#include "corpus/history/label.h"

typedef struct ranked {
    double value;
    int64_t rank; /* doubled, so that ties have whole ones */
    bool head;
} ranked;

static int compare_ranked(const void *a, const void *b)
{
    double x = ((const ranked *)a)->value, y = ((const ranked *)b)->value;
    return (x > y) - (x < y);
}

/* Returns the sum of t^3 - t over groups of t tied values. */
static double put_ranks(ranked *v, int64_t n)
{
    double ties = 0;
    qsort(v, (size_t)n, sizeof *v, compare_ranked);
    for (int64_t lo = 0, hi; lo < n; lo = hi) {
        for (hi = lo + 1; hi < n && v[hi].value == v[lo].value;) hi++;
        double t = (double)(hi - lo);
        for (int64_t k = lo; k < hi; k++) v[k].rank = lo + hi + 1;
        ties += t * t * t - t;
    }
    return ties;
}

/* ways[k][s]: subsets of k values whose doubled ranks add up to s. As far from the middle as
 * `off`, either way, are how many of those of head's size? */
static double exact(const ranked *v, int64_t n, int64_t head_n, int64_t off)
{
    enum { MOST = PERF_RANK_EXACT, SUMS = MOST * (MOST + 1) + 1 };
    double ways[MOST / 2 + 1][SUMS], all = 0, far = 0;
    int64_t size = head_n <= n / 2 ? head_n : n - head_n, top = n * (n + 1);
    for (int64_t k = 0; k <= size; k++)
        for (int64_t s = 0; s <= top; s++) ways[k][s] = 0;
    ways[0][0] = 1;
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = size < i + 1 ? size : i + 1; k > 0; k--)
            for (int64_t s = top; s >= v[i].rank; s--) ways[k][s] += ways[k - 1][s - v[i].rank];
    for (int64_t s = 0; s <= top; s++) {
        all += ways[size][s];
        if (llabs(s - size * (n + 1)) >= off) far += ways[size][s];
    }
    return far / all;
}

double perf_rank_test(const perf_samples *base, const perf_samples *head)
{
    ranked v[2 * PERF_RUNS_MOST];
    int64_t n[2], all = 0, sum = 0;
    for (int side = 0; side < 2; side++) {
        const perf_samples *s = side ? head : base;
        n[side] = s->n < PERF_RUNS_MOST ? s->n : PERF_RUNS_MOST;
        for (int64_t k = 0; k < n[side]; k++)
            v[all++] = (ranked){.value = s->value[k], .head = side == 1};
    }
    if (n[0] == 0 || n[1] == 0) return 1;
    double ties = put_ranks(v, all), total = (double)all;
    for (int64_t k = 0; k < all; k++) sum += v[k].head ? v[k].rank : 0;
    int64_t off = llabs(sum - n[1] * (all + 1));
    if (off == 0) return 1;
    if (all <= PERF_RANK_EXACT) return exact(v, all, n[1], off);
    double variance = (double)n[0] * (double)n[1] / 12 * (total + 1 - ties / total / (total - 1));
    return perf_normal_tail(((double)off - 1) / 2 / sqrt(variance));
}

/* ---- many tests -------------------------------------------------------------------------------
 */

typedef struct tested {
    double p;
    int64_t at;
} tested;

static int compare_tested(const void *a, const void *b)
{
    double x = ((const tested *)a)->p, y = ((const tested *)b)->p;
    return (x > y) - (x < y);
}

int perf_discovery_rates(double *q, const double *p, int64_t n)
{
    tested *t = hpc_alloc((size_t)n + 1, sizeof *t);
    int64_t m = 0;
    double least = 1;
    if (!t) return HPC_E_NOMEM;
    for (int64_t k = 0; k < n; k++) {
        q[k] = NAN;
        if (!isnan(p[k])) t[m++] = (tested){p[k], k};
    }
    if (m > 1) qsort(t, (size_t)m, sizeof *t, compare_tested);
    for (int64_t k = m; k-- > 0;) {
        double rate = t[k].p * (double)m / (double)(k + 1);
        if (rate < least) least = rate;
        q[t[k].at] = least;
    }
    hpc_free(t);
    return HPC_OK;
}
