/*
 * Changes between pairs of commits, with their intervals and labels.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "corpus/history/label.h"

const char *hpc_history_label_name(hpc_history_label l)
{
    static const char *const name[] = {"slower", "same", "faster", "undecided"};
    return name[l];
}

enum { SPARE = 10 /* how much lower than needed p of the rank test can get where it is taken */ };

typedef struct work {
    const perf_rule *rule;
    const perf_noise *noise;
    double score;  /* the normal one of the confidence */
    double lowest; /* what p of the rank test has to be able to reach */
    double *ratio; /* changes of the resamples */
    double side[2][PERF_RUNS_MOST];
    int64_t n[2];
} work;

/* ---- the bootstrap -----------------------------------------------------------------------------
 */

/* The median of n draws from v, which is in order: it is enough to count how often each was drawn.
 * Numbers depend on seed, side and resample alone: a pair has the same interval in any company. */
static double draw_median(const double *v, int64_t n, uint64_t seed, uint32_t side,
                          int64_t resample)
{
    uint16_t times[PERF_RUNS_MOST];
    uint32_t word[4] = {0};
    double low = 0;
    int64_t seen = 0, at = 0;
    memset(times, 0, (size_t)n * sizeof *times);
    for (int64_t k = 0; k < n; k++) {
        if (k % 4 == 0) hpc_random_block(word, seed, side, (uint32_t)resample, (uint64_t)k / 4);
        times[(uint64_t)word[k % 4] * (uint64_t)n >> 32]++;
    }
    for (; seen + times[at] < (n + 1) / 2; at++) seen += times[at];
    low = v[at];
    for (; seen + times[at] < n / 2 + 1; at++) seen += times[at];
    return (low + v[at]) / 2;
}

static int compare_values(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* side: both in order. */
static void bootstrap(double *low, double *high, const work *w)
{
    int64_t all = w->rule->resamples;
    for (int64_t r = 0; r < all; r++) {
        double b = draw_median(w->side[0], w->n[0], w->rule->seed, 0, r);
        double h = draw_median(w->side[1], w->n[1], w->rule->seed, 1, r);
        w->ratio[r] = (h - b) / b;
    }
    qsort(w->ratio, (size_t)all, sizeof *w->ratio, compare_values);
    int64_t cut = (int64_t)((double)all * (1 - w->rule->confidence) / 2);
    *low = w->ratio[cut];
    *high = w->ratio[all - 1 - cut];
}

/* Returns the change of the medians. */
static double put_sides(work *w, const perf_samples *base, const perf_samples *head)
{
    double middle[2];
    for (int side = 0; side < 2; side++) {
        const perf_samples *s = side ? head : base;
        w->n[side] = s->n < PERF_RUNS_MOST ? s->n : PERF_RUNS_MOST;
        memcpy(w->side[side], s->value, (size_t)w->n[side] * sizeof(double));
        middle[side] = perf_median(w->side[side], w->n[side]);
    }
    return (middle[1] - middle[0]) / middle[0];
}

static void work_free(work *w)
{
    if (w) hpc_free(w->ratio);
    hpc_free(w);
}

static int work_create(work **out, const perf_noise *noise, const perf_rule *rule)
{
    work *w = hpc_alloc(1, sizeof *w);
    int rc = HPC_OK;
    hpc_assert(rule->resamples > 0 && rule->confidence > 0 && rule->confidence < 1);
    *out = NULL;
    if (!w) TRY(HPC_E_NOMEM);
    *w = (work){.rule = rule, .noise = noise, .score = perf_normal_limit(1 - rule->confidence)};
    w->ratio = hpc_alloc((size_t)rule->resamples, sizeof *w->ratio);
    if (!w->ratio) TRY(HPC_E_NOMEM);
    *out = w;
out:
    if (rc < 0) work_free(w);
    return rc;
}

int perf_bootstrap(double *low, double *high, const perf_samples *base, const perf_samples *head,
                   const perf_rule *rule)
{
    work *w = NULL;
    int rc = HPC_OK;
    hpc_assert(base->n > 0 && head->n > 0);
    TRY(work_create(&w, NULL, rule));
    put_sides(w, base, head);
    bootstrap(low, high, w);
out:
    work_free(w);
    return rc;
}

/* ---- a pair ------------------------------------------------------------------------------- */

typedef struct shift {
    double value, error, freedom; /* of logarithms */
    double tail; /* a share of (tail / x)^2 is beyond x; 0: there are enough samples */
} shift;

/* Two levels by the noise of the series share its degrees of freedom; else Welch's. */
static shift shift_of(const perf_samples *base, const perf_samples *head, const perf_noise *noise,
                      double floor)
{
    perf_level b = perf_level_of(base, noise, floor), h = perf_level_of(head, noise, floor);
    double all = b.variance + h.variance;
    shift s = {.value = h.value - b.value, .error = sqrt(all), .freedom = noise->freedom};
    if ((b.own || h.own) && all > 0)
        s.freedom =
            all * all / (b.variance * b.variance / b.freedom + h.variance * h.variance / h.freedom);
    if (base->n < 3 || head->n < 3) s.tail = noise->tail * sqrt((b.share + h.share) / 2);
    return s;
}

static double shift_test(const shift *s)
{
    double x = fabs(s->value), beyond = s->tail / x;
    if (x == 0) return 1;
    double p = s->error == 0 ? 0 : perf_normal_tail(perf_student_score(x / s->error, s->freedom));
    return fmin(1, fmax(p, beyond * beyond));
}

static double shift_reach(const shift *s, const work *w)
{
    double student = s->error * perf_student_limit(w->score, s->freedom);
    return fmax(student, s->tail / sqrt(1 - w->rule->confidence));
}

/* 2 in C(a + b, a) */
static double rank_least(int64_t a, int64_t b)
{
    double least = 2;
    for (int64_t k = 1; k <= a; k++) least *= (double)k / (double)(b + k);
    return least;
}

static int judge(perf_effect *e, work *w, const perf_samples *base, const perf_samples *head)
{
    perf_noise noise = *w->noise;
    double reach = INFINITY;
    int rc = HPC_OK;
    e->change = put_sides(w, base, head);
    bootstrap(&e->low, &e->high, w);
    e->ranked = noise.freedom == 0 || rank_least(w->n[0], w->n[1]) <= w->lowest;
    if (noise.freedom == 0) TRY(perf_noise_measure(&noise, (perf_samples[]){*base, *head}, 2));
    shift s = shift_of(base, head, &noise, w->rule->floor);
    if (noise.freedom > 0) reach = shift_reach(&s, w);
    e->low = fmin(fmin(e->low, e->change), expm1(s.value - reach));
    e->high = fmax(fmax(e->high, e->change), expm1(s.value + reach));
    e->p = e->ranked ? perf_rank_test(base, head) : shift_test(&s);
out:
    return rc;
}

static void label(perf_effect *e, const perf_rule *rule)
{
    const double slack = 1e-12; /* what logarithms round */
    if (e->q <= rule->rate && fabs(e->change) > rule->threshold)
        e->label = e->change > 0 ? HPC_HISTORY_SLOWER : HPC_HISTORY_FASTER;
    else if (e->low >= -rule->threshold - slack && e->high <= rule->threshold + slack)
        e->label = HPC_HISTORY_SAME;
}

int perf_effects(perf_effect *out, const perf_samples *base, const perf_samples *head, int64_t n,
                 const perf_noise *noise, const perf_rule *rule)
{
    work *w = NULL;
    double *p = hpc_alloc((size_t)n + 1, 2 * sizeof *p), *q = p ? p + n : NULL;
    int rc = HPC_OK;
    if (!p) TRY(HPC_E_NOMEM);
    TRY(work_create(&w, noise, rule));
    w->lowest = rule->rate / SPARE / (double)(n > 0 ? n : 1);
    for (int64_t k = 0; k < n; k++) {
        out[k] = (perf_effect){
            .low = -1, .high = INFINITY, .p = NAN, .q = NAN, .label = HPC_HISTORY_UNDECIDED};
        if (base[k].n > 0 && head[k].n > 0) TRY(judge(&out[k], w, &base[k], &head[k]));
        p[k] = out[k].p;
    }
    TRY(perf_discovery_rates(q, p, n));
    for (int64_t k = 0; k < n; k++) {
        out[k].q = q[k];
        label(&out[k], rule);
    }
out:
    work_free(w);
    hpc_free(p);
    return rc;
}
