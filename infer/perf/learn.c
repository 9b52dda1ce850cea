/*
 * Training of a model: regularization chosen by folds, one member per fold, calibration, and
 * thresholds for abstention.
 *
 * For member k, a fit that saw neither fold j nor k scores the examples of fold j. The same fit
 * serves member j for fold k. So nothing in member k, not even a strength, depends on fold k.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "infer/perf/learn_priv.h"

enum { STRENGTHS = 6, LENGTHS = 6, OPTIONS = STRENGTHS + LENGTHS, SHARES = 5 };
static const double strengths[STRENGTHS] = {10000, 3000, 1000,
                                            300,   100,  30}; /* each from the last */
static const int lengths[LENGTHS] = {10, 20, 40, 60, 90, PERF_TREES_MOST};
static const double OUTSIDE = 0.05; /* of examples like the others are outside */
static const double ONE_MORE = 0.7; /* at least so far beyond: one where there was none is not */

typedef struct learner {
    const hpc_perf_example *e;
    int64_t *at; /* of the examples that are learnt from */
    int64_t n;
    perf_view *view[PERF_QUESTIONS];
    int *fold;
    hpc_perf_model *m;
    double *margin;         /* for each member, example and option */
    double *mixed, *target; /* of the current fit */
    perf_tree tree[PERF_TREES_MOST];
} learner;

/* ---- what is asked of which example -----------------------------------------------------------
 */

static hpc_perf_verdict label_of(const learner *l, int64_t i)
{
    return l->e[l->at[i]].label;
}

static bool is_asked(const learner *l, perf_question q, int64_t i)
{
    return q == PERF_SIZE || label_of(l, i) != HPC_PERF_SAME;
}

static double target_of(const learner *l, perf_question q, int64_t i)
{
    return q == PERF_SIZE ? label_of(l, i) != HPC_PERF_SAME : label_of(l, i) == HPC_PERF_SLOWER;
}

/* All but two folds, which may be the same; and for the second question the reverse of each. */
static int rows_without(perf_rows *r, const learner *l, perf_question q, int j, int k)
{
    int rc = HPC_OK;
    r->n = r->cells_n = r->groups = 0;
    for (int64_t i = 0; i < l->n; i++) {
        if (l->fold[i] == j || l->fold[i] == k || !is_asked(l, q, i)) continue;
        double target = target_of(l, q, i);
        int64_t group = l->e[l->at[i]].group;
        TRY(perf_rows_add(r, &l->view[q][i], target, 1, group));
        if (q == PERF_SIDE) TRY(perf_rows_add(r, &l->view[q][i], 1 - target, -1, group));
    }
out:
    return rc;
}

static double base_of(perf_question q, const perf_rows *r)
{
    double sum = 0;
    if (q == PERF_SIDE) return 0;
    for (int64_t k = 0; k < r->n; k++) sum += r->target[k];
    return log((sum + 0.5) / ((double)r->n - sum + 0.5));
}

static double loss_of(double margin, double target)
{
    double s = target > 0.5 ? -margin : margin;
    return s > 0 ? s + log1p(exp(-s)) : log1p(exp(s));
}

/* ---- strengths --------------------------------------------------------------------------------
 */

static double *margin_of(const learner *l, int member, int64_t i)
{
    return l->margin + (member * l->n + i) * OPTIONS;
}

/* Margins of fold `of` for member `member`, by a line. */
static void note_line(learner *l, perf_question q, int of, int member, int option,
                      const perf_line *line)
{
    for (int64_t i = 0; i < l->n; i++)
        if (l->fold[i] == of)
            margin_of(l, member, i)[option] = perf_line_value(line, &l->view[q][i]);
}

static double tree_of(perf_question q, const perf_tree *t, const perf_view *v)
{
    if (q == PERF_SIZE) return perf_tree_value(t, v, 1);
    return (perf_tree_value(t, v, 1) - perf_tree_value(t, v, -1)) / 2;
}

static void note_trees(learner *l, perf_question q, int of, int member, double base)
{
    for (int64_t i = 0; i < l->n; i++) {
        if (l->fold[i] != of) continue;
        double sum = base;
        for (int t = 0, step = 0; t < PERF_TREES_MOST; t++) {
            sum += tree_of(q, &l->tree[t], &l->view[q][i]);
            if (t + 1 == lengths[step]) margin_of(l, member, i)[STRENGTHS + step++] = sum;
        }
    }
}

static int judge_pair(learner *l, perf_question q, perf_rows *r, int j, int k)
{
    perf_line prior, line;
    int rc = HPC_OK;
    TRY(rows_without(r, l, q, j, k));
    TRY(perf_prior_fit(&prior, r, q));
    line = prior;
    for (int s = 0; s < STRENGTHS; s++) {
        TRY(perf_line_fit(&line, r, &prior, strengths[s], q));
        note_line(l, q, j, k, s, &line);
        note_line(l, q, k, j, s, &line);
    }
    TRY(perf_trees_fit(l->tree, PERF_TREES_MOST, r, base_of(q, r)));
    note_trees(l, q, j, k, base_of(q, r));
    note_trees(l, q, k, j, base_of(q, r));
out:
    return rc;
}

/* The offset of n margins that minimizes their loss, with a normal prior of standard deviation 2.
 * Repositories differ in the rate of effects, which a model cannot know for a new repository. It is
 * fitted to rank the commits of each repository. */
static double shift_of(const double *margin, const double *target, double slope, int64_t n)
{
    double a = 0;
    for (int step = 0; step < 20; step++) {
        double g = a / 4, h = 0.25;
        for (int64_t i = 0; i < n; i++) {
            double p = perf_sigmoid(a + slope * margin[i]);
            g += p - target[i];
            h += p * (1 - p);
        }
        double by = fmax(-1, fmin(1, g / h));
        a -= by;
        if (fabs(by) < 1e-9) break;
    }
    return a;
}

/* Loss over the other folds, each shifted as fits it, of a mixture of two options. */
static double loss_without(const learner *l, perf_question q, int member, int line, int trees,
                           double share)
{
    double sum = 0;
    for (int fold = 0; fold < l->m->folds; fold++) {
        int64_t n = 0;
        for (int64_t i = 0; i < l->n && fold != member; i++) {
            if (l->fold[i] != fold || !is_asked(l, q, i)) continue;
            const double *margin = margin_of(l, member, i);
            l->target[n] = target_of(l, q, i);
            l->mixed[n++] = (1 - share) * margin[line] + share * margin[STRENGTHS + trees];
        }
        double shift = shift_of(l->mixed, l->target, 1, n);
        for (int64_t i = 0; i < n; i++) sum += loss_of(l->mixed[i] + shift, l->target[i]);
    }
    return sum;
}

typedef struct choice {
    int strength, length;
    double share;
} choice;

/* Less regularization, more rounds or a larger share of trees must be clearly better. */
static choice choose(const learner *l, perf_question q, int member)
{
    static const double CLEARLY = 1, BY_TREES = 3; /* of the sum of losses */
    choice c = {0};
    double best = INFINITY;
    for (int s = 0; s < STRENGTHS; s++) {
        double loss = loss_without(l, q, member, s, 0, 0);
        if (loss >= best - CLEARLY) continue;
        c.strength = s;
        best = loss;
    }
    best = INFINITY;
    for (int t = 0; t < LENGTHS; t++) {
        double loss = loss_without(l, q, member, 0, t, 1);
        if (loss >= best - CLEARLY) continue;
        c.length = t;
        best = loss;
    }
    best = INFINITY;
    for (int k = 0; k < SHARES; k++) {
        double share = (double)k / (SHARES - 1);
        double loss = loss_without(l, q, member, c.strength, c.length, share);
        if (loss >= best - BY_TREES) continue;
        c.share = share;
        best = loss;
    }
    return c;
}

/* ---- members ------------------------------------------------------------------------------------
 */

static int fit_member(perf_scorer *s, learner *l, perf_question q, perf_rows *r, int k)
{
    choice c = choose(l, q, k);
    perf_line prior;
    int rc = HPC_OK;
    TRY(rows_without(r, l, q, k, k));
    TRY(perf_prior_fit(&prior, r, q));
    s->line = prior;
    s->base = base_of(q, r);
    for (int i = 0; i <= c.strength; i++) TRY(perf_line_fit(&s->line, r, &prior, strengths[i], q));
    s->share = c.share;
    s->trees = c.share > 0 ? lengths[c.length] : 0;
    s->tree = hpc_alloc((size_t)s->trees + 1, sizeof *s->tree);
    if (!s->tree) TRY(HPC_E_NOMEM);
    TRY(perf_trees_fit(s->tree, s->trees, r, s->base));
out:
    return rc;
}

static int fit_question(learner *l, perf_question q)
{
    perf_rows r = {0};
    int folds = l->m->folds, rc = HPC_OK;
    for (int j = 0; j < folds; j++)
        for (int k = j + 1; k < folds; k++) TRY(judge_pair(l, q, &r, j, k));
    for (int k = 0; k < folds; k++) TRY(fit_member(&l->m->member[k][q], l, q, &r, k));
out:
    perf_rows_release(&r);
    return rc;
}

/* ---- calibration ------------------------------------------------------------------------------
 */

/* One step of Newton's method on the slope, with each fold shifted as fits it; drawn to 1 as by a
 * normal distribution of standard deviation 1/2. */
static double better_slope(const learner *l, const int64_t end[PERF_FOLDS], double slope)
{
    double g = 4 * (slope - 1), h = 4;
    for (int64_t k = 0, from = 0; k < l->m->folds; from = end[k++]) {
        double shift = shift_of(l->mixed + from, l->target + from, slope, end[k] - from);
        for (int64_t i = from; i < end[k]; i++) {
            double m = l->mixed[i], p = perf_sigmoid(shift + slope * m);
            g += (p - l->target[i]) * m;
            h += p * (1 - p) * m * m;
        }
    }
    return slope - g / h;
}

/* The slope scales scores within a fold; the intercept is the rate of effects over all folds. */
static void calibrate(learner *l, perf_question q)
{
    static const double LEAST = 0.05; /* a score that orders wrongly by chance still orders */
    int64_t end[PERF_FOLDS], n = 0;
    double slope = 1;
    for (int k = 0; k < l->m->folds; k++) {
        for (int64_t i = 0; i < l->n; i++) {
            if (l->fold[i] != k || !is_asked(l, q, i)) continue;
            l->target[n] = target_of(l, q, i);
            l->mixed[n++] = perf_score(&l->m->member[k][q], q, &l->view[q][i]);
        }
        end[k] = n;
    }
    for (int step = 0; step < 30; step++) slope = fmax(LEAST, better_slope(l, end, slope));
    l->m->slope[q] = slope;
    l->m->intercept[q] = shift_of(l->mixed, l->target, slope, n);
}

static void score_all(learner *l)
{
    for (int q = 0; q < PERF_QUESTIONS; q++) calibrate(l, (perf_question)q);
    for (int64_t i = 0; i < l->n; i++) {
        const perf_scorer *s = l->m->member[l->fold[i]];
        double changed = perf_sigmoid(perf_score(&s[PERF_SIZE], PERF_SIZE, &l->view[PERF_SIZE][i]));
        double slower = perf_sigmoid(perf_score(&s[PERF_SIDE], PERF_SIDE, &l->view[PERF_SIDE][i]));
        l->m->scored[i] = (perf_scored){.fold = l->fold[i],
                                        .label = label_of(l, i),
                                        .slower = changed * slower,
                                        .faster = changed * (1 - slower)};
    }
}

/* ---- how far it has seen ------------------------------------------------------------------------
 */

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void raise_reach(double *reach, const hpc_perf_vector *x)
{
    for (int f = 0; f < HPC_PERF_FEATURES; f++) reach[f] = fmax(reach[f], perf_view_reach(x, f));
}

/* How far examples go beyond all of other folds, and so how far a new one may. */
static int find_reach(learner *l)
{
    double(*reach)[HPC_PERF_FEATURES] = hpc_alloc(PERF_FOLDS, sizeof *reach);
    double *beyond = hpc_alloc((size_t)l->n + 1, sizeof *beyond);
    hpc_perf_model *m = l->m;
    int rc = HPC_OK;
    if (!reach || !beyond) TRY(HPC_E_NOMEM);
    for (int64_t i = 0; i < l->n; i++) {
        raise_reach(m->reach, &l->e[l->at[i]].x);
        for (int k = 0; k < m->folds; k++)
            if (k != l->fold[i]) raise_reach(reach[k], &l->e[l->at[i]].x);
    }
    for (int64_t i = 0; i < l->n; i++)
        for (int f = 0; f < HPC_PERF_FEATURES; f++)
            beyond[i] =
                fmax(beyond[i], perf_view_reach(&l->e[l->at[i]].x, f) - reach[l->fold[i]][f]);
    qsort(beyond, (size_t)l->n, sizeof *beyond, ascending);
    int64_t rank = (int64_t)ceil((1 - OUTSIDE) * (double)(l->n + 1)) - 1;
    m->allowance = fmax(ONE_MORE, beyond[rank < l->n ? rank : l->n - 1]);
out:
    hpc_free(reach);
    hpc_free(beyond);
    return rc;
}

/* ---- all of it ---------------------------------------------------------------------------------
 */

/* Skips commits without a difference of code: they are the same, whatever was measured. */
static int select_examples(learner *l, const hpc_perf_example *e, int64_t n)
{
    int64_t *count = l->m->examples;
    int rc = HPC_OK;
    l->e = e;
    l->at = hpc_alloc((size_t)n + 1, sizeof *l->at);
    if (!l->at) TRY(HPC_E_NOMEM);
    for (int64_t i = 0; i < n; i++) {
        hpc_assert(e[i].label < HPC_PERF_UNKNOWN);
        if (hpc_perf_nothing_differs(&e[i].x)) continue;
        count[e[i].label]++;
        l->at[l->n++] = i;
    }
    if (count[HPC_PERF_SLOWER] < HPC_PERF_LEAST_SLOWER ||
        count[HPC_PERF_SAME] < HPC_PERF_LEAST_SAME ||
        count[HPC_PERF_FASTER] < HPC_PERF_LEAST_FASTER)
        TRY(hpc_fail(
            HPC_E_ARG,
            "too few examples with a change of code: %lld slower, %lld the same, %lld faster; at "
            "least %d, %d and %d are needed: measure more commits, or add other examples",
            (long long)count[HPC_PERF_SLOWER], (long long)count[HPC_PERF_SAME],
            (long long)count[HPC_PERF_FASTER], HPC_PERF_LEAST_SLOWER, HPC_PERF_LEAST_SAME,
            HPC_PERF_LEAST_FASTER));
out:
    return rc;
}

static int prepare(learner *l, const hpc_perf_learn_rule *rule)
{
    hpc_perf_model *m = l->m;
    hpc_perf_example *mine = hpc_alloc((size_t)l->n, sizeof *mine);
    int rc = HPC_OK;
    if (!mine) TRY(HPC_E_NOMEM);
    m->alarm = rule->alarm;
    m->miss = rule->miss;
    const char *metric = rule->metric ? rule->metric : "";
    snprintf(m->metric, sizeof m->metric, "%s",
             strlen(metric) < sizeof m->metric ? metric : "several metrics");
    l->fold = hpc_alloc((size_t)l->n, sizeof *l->fold);
    m->scored = hpc_alloc((size_t)l->n, sizeof *m->scored);
    l->mixed = hpc_alloc((size_t)l->n, sizeof *l->mixed);
    l->target = hpc_alloc((size_t)l->n, sizeof *l->target);
    if (!l->fold || !m->scored || !l->mixed || !l->target) TRY(HPC_E_NOMEM);
    m->n = l->n;
    for (int64_t i = 0; i < l->n; i++) mine[i] = l->e[l->at[i]];
    TRY(perf_folds_find(l->fold, &m->folds, &m->groups, mine, l->n));
    for (int q = 0; q < PERF_QUESTIONS; q++) {
        l->view[q] = hpc_alloc((size_t)l->n, sizeof *l->view[q]);
        if (!l->view[q]) TRY(HPC_E_NOMEM);
        for (int64_t i = 0; i < l->n; i++)
            perf_view_find(&l->view[q][i], (perf_question)q, &mine[i].x);
    }
    l->margin = hpc_alloc((size_t)(m->folds * l->n), OPTIONS * sizeof *l->margin);
    if (!l->margin) TRY(HPC_E_NOMEM);
out:
    hpc_free(mine);
    return rc;
}

int hpc_perf_learn(hpc_perf_model **out, const hpc_perf_example *e, int64_t n,
                   const hpc_perf_learn_rule *rule)
{
    const hpc_perf_learn_rule defaults = HPC_PERF_LEARN_DEFAULTS;
    learner *l = hpc_alloc(1, sizeof *l);
    int rc = HPC_OK;
    *out = NULL;
    if (!l) return HPC_E_NOMEM;
    l->m = hpc_alloc(1, sizeof *l->m);
    if (!l->m) TRY(HPC_E_NOMEM);
    TRY(select_examples(l, e, n));
    TRY(prepare(l, rule ? rule : &defaults));
    for (int q = 0; q < PERF_QUESTIONS; q++) TRY(fit_question(l, (perf_question)q));
    score_all(l);
    TRY(find_reach(l));
    *out = l->m;
    l->m = NULL;
out:
    hpc_perf_model_free(l->m);
    hpc_free(l->at);
    hpc_free(l->fold);
    hpc_free(l->margin);
    hpc_free(l->mixed);
    hpc_free(l->target);
    for (int q = 0; q < PERF_QUESTIONS; q++) hpc_free(l->view[q]);
    hpc_free(l);
    return rc;
}
