/*
 * Noise of a series, from samples of the same commit, and levels of commits.
 *
 * It does not compare commits.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "corpus/history/label.h"

enum {
    RUNS_PAIRED = 16 /* of one commit, evenly chosen: more pairs add no information */
};
enum { BEYOND = 4 }; /* distances that have to be beyond a quantile for it to be looked at */

/* A distance counts for less than a sample: distances of one commit share samples, and quantiles
 * see less than squares do. By simulation, 3 to 10 samples a commit. */
#define SHARE 0.7

static int compare_values(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void sort(double *v, int64_t n)
{
    if (n > 1) qsort(v, (size_t)n, sizeof *v, compare_values);
}

double perf_median(double *v, int64_t n)
{
    hpc_assert(n > 0);
    sort(v, n);
    return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

/* ---- normal and Student --------------------------------------------------------------------- */

double perf_normal_tail(double z)
{
    return erfc(z / 1.4142135623730951);
}

double perf_normal_limit(double tail)
{
    double lo = 0, hi = 40;
    for (int k = 0; k < 64; k++) {
        double mid = (lo + hi) / 2;
        if (perf_normal_tail(mid) > tail)
            lo = mid;
        else
            hi = mid;
    }
    return (lo + hi) / 2;
}

double perf_student_score(double t, double freedom)
{
    if (isinf(freedom) || isinf(t)) return t;
    double z = (8 * freedom + 1) / (8 * freedom + 3) * sqrt(freedom * log1p(t * t / freedom));
    return t < 0 ? -z : z;
}

double perf_student_limit(double score, double freedom)
{
    if (isinf(freedom)) return score;
    double z = score * (8 * freedom + 3) / (8 * freedom + 1);
    double t = sqrt(freedom * expm1(z * z / freedom));
    return score < 0 ? -t : t;
}

/* ---- the series ------------------------------------------------------------------------------ */

void perf_noise_of(perf_noise *out, double *distance, int64_t n, double most)
{
    double tail = 0;
    sort(distance, n);
    *out = (perf_noise){.freedom = out->freedom};
    for (double beyond = 0.5; n > 0; beyond /= 2) {
        bool middle = beyond == 0.5;
        if (!middle && ((double)n * beyond < BEYOND || 1 - beyond > most)) break;
        double at =
            middle ? perf_median(distance, n) : distance[n - 1 - (int64_t)((double)n * beyond)];
        double sd = at / 1.4142135623730951 / perf_normal_limit(beyond);
        if (sd > out->sd && beyond >= 0.125) out->sd = sd;
        if (sd > out->wide && beyond >= 0.0625) out->wide = sd;
        if (at * at * beyond > tail) tail = at * at * beyond;
    }
    out->tail = sqrt(tail);
}

static int64_t runs_of(const perf_samples *s)
{
    return s->n < PERF_RUNS_MOST ? s->n : PERF_RUNS_MOST;
}

static int64_t put_distances(double *out, const perf_samples *s)
{
    double v[RUNS_PAIRED];
    int64_t all = runs_of(s), n = all < RUNS_PAIRED ? all : RUNS_PAIRED, m = 0;
    for (int64_t k = 0; k < n; k++) v[k] = log(s->value[k * all / n]);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < i; j++) out[m++] = fabs(v[i] - v[j]);
    return m;
}

int perf_noise_measure(perf_noise *out, const perf_samples *commit, int64_t n)
{
    double *distance = NULL;
    int64_t m = 0, most = 0, extra = 0;
    int rc = HPC_OK;
    *out = (perf_noise){0};
    for (int64_t k = 0; k < n; k++) {
        int64_t runs = runs_of(&commit[k]) < RUNS_PAIRED ? runs_of(&commit[k]) : RUNS_PAIRED;
        most += runs * (runs - 1) / 2;
        extra += runs > 1 ? runs - 1 : 0;
    }
    if (most == 0) return HPC_OK;
    distance = hpc_alloc((size_t)most, sizeof *distance);
    if (!distance) TRY(HPC_E_NOMEM);
    for (int64_t k = 0; k < n; k++) m += put_distances(distance + m, &commit[k]);
    perf_noise_of(out, distance, m, 1);
    out->freedom = SHARE * (double)extra;
out:
    hpc_free(distance);
    return rc;
}

/* ---- one commit -------------------------------------------------------------------------------
 */

/* Variance of the level of n normal samples, by that of one: sums over covariances of ordered
 * normals. From 8 on it swings between 1.12 and 1.19. */
static double level_variance(int64_t n)
{
    static const double small[] = {0, 1, 1, 1.346, 1.193, 1.135, 1.103, 1.085};
    return (n < 8 ? small[n] : 1.19) / (double)n;
}

/* By Wilson and Hilferty: what the variance of so many degrees of freedom exceeds once in 100,
 * when the true one is 1. */
static double scatter_limit(double freedom)
{
    double c = 2 / (9 * freedom), root = 1 - c + 2.3263478740408408 * sqrt(c);
    return root * root * root;
}

/* The variance of v, which is in order; of 5 values and more without the one that is farthest from
 * the median. The divisor makes up for that: by simulation, 5 to 16 values, within 1 %. */
static double scatter_of(double *freedom, const double *v, int64_t n)
{
    double mean = 0, sum = 0, share = 1;
    if (n >= 5) {
        bool low = v[n / 2] - v[0] > v[n - 1] - v[(n - 1) / 2];
        share = 1 - 1.5 * pow((double)n, -0.65);
        v += low;
        n--;
    }
    *freedom = (double)(n - 1);
    for (int64_t k = 0; k < n; k++) mean += (v[k] - v[0]) / (double)n;
    for (int64_t k = 0; k < n; k++) sum += (v[k] - v[0] - mean) * (v[k] - v[0] - mean);
    return n > 1 ? sum / *freedom / share : 0;
}

perf_level perf_level_of(const perf_samples *s, const perf_noise *noise, double floor)
{
    double v[PERF_RUNS_MOST], sum = 0, freedom;
    int64_t n = runs_of(s), cut = n < 3 ? 0 : n < 8 ? 1 : n / 4;
    hpc_assert(n > 0);
    for (int64_t k = 0; k < n; k++) v[k] = log(s->value[k]);
    sort(v, n);
    for (int64_t k = cut; k < n - cut; k++) sum += v[k] - v[cut];
    double sd = fmax(n < 5 ? noise->wide : noise->sd, floor), scatter = scatter_of(&freedom, v, n);
    perf_level out = {.value = v[cut] + sum / (double)(n - 2 * cut), .freedom = noise->freedom};
    out.own = n > 1 && scatter > sd * sd * scatter_limit(freedom);
    if (out.own) out.freedom = fmin(freedom, noise->freedom);
    out.share = level_variance(n);
    out.variance = (out.own ? scatter : sd * sd) * out.share;
    return out;
}
