/*
 * Quality figures of predictions, with bootstrap intervals over commits.
 *
 * A bootstrap sample is a weight per commit, so commits are sorted once.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "infer/perf/judge_priv.h"

const char *hpc_perf_figure_name(hpc_perf_figure f)
{
    static const char *const names[] = {
        "accuracy",           "F1 of slower",      "AUROC of slower",
        "AUROC of changed",   "calibration error", "coverage",
        "accuracy when sure", "false alarms",      "missed"};
    return names[f];
}

enum { BINS = 10 };
/* By which probability; the first two of each repository by itself. */
typedef enum order { SLOWER, CHANGED, SURE, CALLED, ORDERS } order;
typedef struct figures {
    const hpc_perf_verdict *label;
    const int64_t *group;
    const judge_prediction *predicted;
    int64_t n;
    int64_t *by[ORDERS]; /* places, the largest first */
    bool *called;        /* slower, for F1 */
} figures;

static hpc_perf_verdict most_probable(const judge_prediction *s)
{
    hpc_perf_verdict most = HPC_PERF_SAME;
    for (int v = 0; v < 3; v++)
        if (s->p[v] > s->p[most]) most = (hpc_perf_verdict)v;
    return most;
}

static double key(const figures *f, order o, int64_t k)
{
    const judge_prediction *s = &f->predicted[k];
    return o == CHANGED ? 1 - s->p[HPC_PERF_SAME]
           : o == SURE  ? s->p[most_probable(s)]
                        : s->p[HPC_PERF_SLOWER];
}

/* ---- one rival, once ----------------------------------------------------------------------------
 */

static double ratio(double a, double b)
{
    return b > 0 ? a / b : NAN;
}

/* Of pairs that are of the same repository. */
static double area(const figures *f, const double *w, order o)
{
    double is_all = 0, other_all = 0, won = 0, pairs = 0;
    for (int64_t from = 0, end; from < f->n; from = end) {
        int64_t first = f->by[o][from];
        double is = 0, other = 0;
        for (end = from; end < f->n; end++) {
            int64_t k = f->by[o][end];
            if (f->group[k] != f->group[first] || key(f, o, k) != key(f, o, first)) break;
            bool yes = o == SLOWER ? f->label[k] == HPC_PERF_SLOWER : f->label[k] != HPC_PERF_SAME;
            *(yes ? &is : &other) += w[k];
        }
        won += other * (is_all + is / 2); /* those before score higher */
        is_all += is;
        other_all += other;
        if (end < f->n && f->group[f->by[o][end]] == f->group[first]) continue;
        pairs += is_all * other_all;
        is_all = other_all = 0;
    }
    return ratio(won, pairs);
}

static double calibration(const figures *f, const double *w)
{
    double all = 0, seen = 0, sum = 0, p = 0, right = 0;
    int bin = 1;
    for (int64_t k = 0; k < f->n; k++) all += w[k];
    for (int64_t i = 0; i < f->n; i++) {
        int64_t k = f->by[SURE][i];
        p += w[k] * key(f, SURE, k);
        right += w[k] * (most_probable(&f->predicted[k]) == f->label[k]);
        seen += w[k];
        if (seen < all * bin / BINS && i + 1 < f->n) continue;
        sum += fabs(p - right);
        p = right = 0;
        while (seen >= all * bin / BINS && bin < BINS) bin++;
    }
    return ratio(sum, all);
}

static void once(double out[HPC_PERF_FIGURES], const figures *f, const double *w)
{
    double all = 0, right = 0, predicted = 0, sure = 0, alarms = 0, missed = 0;
    double slower = 0, called = 0, both = 0;
    for (int64_t k = 0; k < f->n; k++) {
        hpc_perf_verdict label = f->label[k], v = f->predicted[k].verdict;
        bool is = label == HPC_PERF_SLOWER;
        all += w[k];
        right += w[k] * (most_probable(&f->predicted[k]) == label);
        predicted += w[k] * (v != HPC_PERF_UNKNOWN);
        sure += w[k] * (v == label);
        alarms += w[k] * (!is && v == HPC_PERF_SLOWER);
        missed += w[k] * (is && v == HPC_PERF_SAME);
        slower += w[k] * is;
        called += w[k] * f->called[k];
        both += w[k] * (is && f->called[k]);
    }
    out[HPC_PERF_ACCURACY] = ratio(right, all);
    out[HPC_PERF_F1_SLOWER] = ratio(2 * both, slower + called);
    out[HPC_PERF_AUROC_SLOWER] = area(f, w, SLOWER);
    out[HPC_PERF_AUROC_CHANGED] = area(f, w, CHANGED);
    out[HPC_PERF_CALIBRATION] = calibration(f, w);
    out[HPC_PERF_COVERAGE] = ratio(predicted, all);
    out[HPC_PERF_SURE] = ratio(sure, predicted);
    out[HPC_PERF_FALSE_ALARM] = ratio(alarms, all - slower);
    out[HPC_PERF_MISSED] = ratio(missed, slower);
}

/* ---- what does not change with the weights -----------------------------------------------------
 */

typedef struct ranked {
    int64_t group;
    double key;
    int64_t at;
} ranked;

static int largest_first(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->group != y->group) return x->group < y->group ? -1 : 1;
    if (x->key != y->key) return x->key > y->key ? -1 : 1;
    return x->at < y->at ? -1 : 1;
}

/* Of the most probably slower, as many as make F1 largest if all probabilities are true; those of
 * equal probability together. */
static void call(figures *f)
{
    double all = 0, sum = 0, best = 0;
    int64_t n = 0;
    for (int64_t k = 0; k < f->n; k++) all += f->predicted[k].p[HPC_PERF_SLOWER];
    for (int64_t i = 0; i < f->n; i++) {
        double p = key(f, CALLED, f->by[CALLED][i]);
        sum += p;
        if (i + 1 < f->n && key(f, CALLED, f->by[CALLED][i + 1]) == p) continue;
        if (2 * sum / (all + (double)i + 1) <= best) continue;
        best = 2 * sum / (all + (double)i + 1);
        n = i + 1;
    }
    for (int64_t i = 0; i < n; i++) f->called[f->by[CALLED][i]] = true;
}

static int prepare(figures *f)
{
    ranked *r = hpc_alloc((size_t)f->n + 1, sizeof *r);
    int rc = HPC_OK;
    if (!r) TRY(HPC_E_NOMEM);
    f->called = hpc_alloc((size_t)f->n + 1, sizeof *f->called);
    if (!f->called) TRY(HPC_E_NOMEM);
    for (int o = 0; o < ORDERS; o++) {
        f->by[o] = hpc_alloc((size_t)f->n + 1, sizeof *f->by[o]);
        if (!f->by[o]) TRY(HPC_E_NOMEM);
        for (int64_t k = 0; k < f->n; k++)
            r[k] = (ranked){o <= CHANGED ? f->group[k] : 0, key(f, (order)o, k), k};
        qsort(r, (size_t)f->n, sizeof *r, largest_first);
        for (int64_t k = 0; k < f->n; k++) f->by[o][k] = r[k].at;
    }
    call(f);
out:
    hpc_free(r);
    return rc;
}

static void release(figures *f)
{
    for (int o = 0; o < ORDERS; o++) hpc_free(f->by[o]);
    hpc_free(f->called);
}

/* ---- intervals ----------------------------------------------------------------------------------
 */

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* v: n values of the bootstrap; NAN is ignored. */
static hpc_perf_interval interval_of(double value, double *v, int64_t n)
{
    int64_t kept = 0;
    for (int64_t k = 0; k < n; k++)
        if (!isnan(v[k])) v[kept++] = v[k];
    if (kept == 0 || isnan(value)) return (hpc_perf_interval){value, NAN, NAN};
    qsort(v, (size_t)kept, sizeof *v, ascending);
    int64_t low = (int64_t)(0.025 * (double)kept), high = kept - 1 - low;
    return (hpc_perf_interval){value, v[low], v[high]};
}

static void draw(double *w, int64_t n, uint64_t seed, int64_t round)
{
    memset(w, 0, (size_t)n * sizeof *w);
    for (int64_t k = 0; k < n; k++) {
        uint32_t bits = hpc_random_bits(seed, 0, (uint32_t)round, (uint64_t)k);
        w[(int64_t)((uint64_t)bits * (uint64_t)n >> 32)]++;
    }
}

typedef struct drawn {
    double value[HPC_PERF_METHODS][HPC_PERF_FIGURES];
} drawn;

/* Round 0 is the original set. */
static int draw_all(drawn *d, figures f[HPC_PERF_METHODS], const bool *has, int64_t rounds,
                    uint64_t seed)
{
    int64_t n = f[HPC_PERF_LEARNER].n;
    double *w = hpc_alloc((size_t)n + 1, sizeof *w);
    if (!w) return HPC_E_NOMEM;
    for (int64_t k = 0; k < n; k++) w[k] = 1;
    for (int64_t i = 0; i < rounds; i++) {
        if (i > 0) draw(w, n, seed, i);
        for (int r = 0; r < HPC_PERF_METHODS; r++)
            if (has[r]) once(d[i].value[r], &f[r], w);
    }
    hpc_free(w);
    return HPC_OK;
}

static int collect(hpc_perf_judgement *out, const drawn *d, int64_t rounds)
{
    double *v = hpc_alloc((size_t)rounds + 1, sizeof *v);
    if (!v) return HPC_E_NOMEM;
    for (int r = 0; r < HPC_PERF_METHODS; r++)
        for (int f = 0; out->has[r] && f < HPC_PERF_FIGURES; f++) {
            for (int64_t i = 1; i < rounds; i++) v[i - 1] = d[i].value[r][f];
            out->figure[r][f] = interval_of(d[0].value[r][f], v, rounds - 1);
            for (int64_t i = 1; i < rounds; i++)
                v[i - 1] = d[i].value[HPC_PERF_LEARNER][f] - d[i].value[r][f];
            out->ahead[r][f] =
                interval_of(d[0].value[HPC_PERF_LEARNER][f] - d[0].value[r][f], v, rounds - 1);
        }
    hpc_free(v);
    return HPC_OK;
}

int judge_figures(hpc_perf_judgement *out, const hpc_perf_verdict *label, const int64_t *group,
                  const judge_prediction *predicted[HPC_PERF_METHODS], int64_t n, int64_t resamples,
                  uint64_t seed)
{
    figures f[HPC_PERF_METHODS] = {0};
    drawn *d = hpc_alloc((size_t)resamples + 1, sizeof *d);
    int rc = HPC_OK;
    if (!d) TRY(HPC_E_NOMEM);
    for (int r = 0; r < HPC_PERF_METHODS; r++) {
        f[r] = (figures){.label = label, .group = group, .predicted = predicted[r], .n = n};
        TRY(prepare(&f[r]));
    }
    TRY(draw_all(d, f, out->has, resamples + 1, seed));
    TRY(collect(out, d, resamples + 1));
out:
    for (int r = 0; r < HPC_PERF_METHODS; r++) release(&f[r]);
    hpc_free(d);
    return rc;
}
