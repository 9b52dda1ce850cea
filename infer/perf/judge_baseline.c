/*
 * Baselines of the learner, trained on the same examples.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "infer/perf/judge_priv.h"
#include "infer/perf/learn_priv.h"

/* ---- logistic regression on sparse columns ------------------------------------------------------
 */

typedef struct cell {
    int64_t row;
    uint32_t column;
    double value;
} cell;
typedef struct table {
    cell *item; /* by column */
    int64_t n, cap;
    double *target;
    int64_t rows, target_cap;
    double *margin, *weight; /* of rows, of columns */
    double bias;
} table;

static void table_release(table *t)
{
    hpc_free(t->item);
    hpc_free(t->target);
    hpc_free(t->margin);
    hpc_free(t->weight);
}

/* One coordinate after the other, each as far as the curvature of the loss allows at most, so that
 * every step makes the sum less. */
static void descend(table *t, double strength, bool with_bias)
{
    for (int pass = 0; pass < 40; pass++) {
        double most = 0;
        for (int64_t from = 0, end; from < t->n; from = end) {
            double *w = &t->weight[t->item[from].column], g = strength * *w, h = strength;
            for (end = from; end < t->n && t->item[end].column == t->item[from].column; end++) {
                const cell *c = &t->item[end];
                g += (perf_sigmoid(t->margin[c->row]) - t->target[c->row]) * c->value;
                h += c->value * c->value / 4;
            }
            double step = -g / h;
            *w += step;
            for (int64_t i = from; i < end; i++)
                t->margin[t->item[i].row] += step * t->item[i].value;
            most = fmax(most, fabs(step));
        }
        double g = 0;
        for (int64_t k = 0; k < t->rows && with_bias; k++)
            g += perf_sigmoid(t->margin[k]) - t->target[k];
        double step = with_bias && t->rows > 0 ? -g / (0.25 * (double)t->rows) : 0;
        t->bias += step;
        for (int64_t k = 0; k < t->rows; k++) t->margin[k] += step;
        if (fmax(most, fabs(step)) < 1e-4) break;
    }
}

static int by_column(const void *a, const void *b)
{
    const cell *x = a, *y = b;
    if (x->column != y->column) return x->column < y->column ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

static int table_start(table *t, const cell *cells, int64_t n, const double *target, int64_t rows)
{
    int rc = HPC_OK;
    t->item = hpc_alloc((size_t)n + 1, sizeof *t->item);
    t->target = hpc_alloc((size_t)rows + 1, sizeof *t->target);
    t->margin = hpc_alloc((size_t)rows + 1, sizeof *t->margin);
    t->weight = hpc_alloc(HPC_PERF_BAG_COLUMNS, sizeof *t->weight);
    if (!t->item || !t->target || !t->margin || !t->weight) TRY(HPC_E_NOMEM);
    t->n = n;
    t->rows = rows;
    if (n > 0) memcpy(t->item, cells, (size_t)n * sizeof *cells);
    if (n > 1) qsort(t->item, (size_t)n, sizeof *t->item, by_column);
    if (rows > 0) memcpy(t->target, target, (size_t)rows * sizeof *target);
out:
    return rc;
}

/* ---- a bag as the two questions see it ----------------------------------------------------------
 */

static double value_of(const struct hpc_perf_bag_word *w, perf_question q)
{
    return q == PERF_SIZE ? log1p((double)w->added + (double)w->removed)
                          : perf_signed_log((double)w->added - (double)w->removed);
}

static bool is_asked(const judge_set *s, perf_question q, int64_t k)
{
    return q == PERF_SIZE || s->e[s->at[k]].label != HPC_PERF_SAME;
}

static double target_of(const judge_set *s, perf_question q, int64_t k)
{
    hpc_perf_verdict label = s->e[s->at[k]].label;
    return q == PERF_SIZE ? label != HPC_PERF_SAME : label == HPC_PERF_SLOWER;
}

static double margin_of(const table *t, const hpc_perf_bag *b, perf_question q)
{
    double sum = t->bias;
    for (int64_t i = 0; i < b->n; i++)
        sum += t->weight[b->item[i].column] * value_of(&b->item[i], q);
    return sum;
}

/* Of those asked, without the ones whose place is `left` of `folds`; folds 0: all. */
static int fill(table *t, const judge_set *s, perf_question q, int folds, int left)
{
    cell *c = NULL;
    double *target = hpc_alloc((size_t)s->n + 1, sizeof *target);
    int64_t n = 0, cap = 0, rows = 0;
    int rc = HPC_OK;
    if (!target) TRY(HPC_E_NOMEM);
    for (int64_t k = 0; k < s->n; k++) {
        const hpc_perf_bag *b = &s->bag[s->at[k]];
        if (!is_asked(s, q, k) || (folds > 0 && k * folds / s->n == left)) continue;
        TRY(hpc_grow(&c, &cap, n + b->n, sizeof *c));
        for (int64_t i = 0; i < b->n; i++)
            c[n++] = (cell){rows, b->item[i].column, value_of(&b->item[i], q)};
        target[rows++] = target_of(s, q, k);
    }
    TRY(table_start(t, c, n, target, rows));
out:
    hpc_free(c);
    hpc_free(target);
    return rc;
}

enum { FOLDS = 3, STRENGTHS = 4 };
static const double strengths[STRENGTHS] = {300, 30, 3, 0.3};

static int choose(int *best, const judge_set *s, perf_question q)
{
    double loss[STRENGTHS] = {0};
    int rc = HPC_OK;
    for (int f = 0; f < FOLDS; f++) {
        table t = {0};
        rc = fill(&t, s, q, FOLDS, f);
        for (int i = 0; rc >= 0 && i < STRENGTHS; i++) {
            descend(&t, strengths[i], q == PERF_SIZE);
            for (int64_t k = 0; k < s->n; k++) {
                if (!is_asked(s, q, k) || k * FOLDS / s->n != f) continue;
                double m = margin_of(&t, &s->bag[s->at[k]], q);
                loss[i] += log1p(exp(target_of(s, q, k) > 0.5 ? -m : m));
            }
        }
        table_release(&t);
        if (rc < 0) return rc;
    }
    *best = 0;
    for (int i = 1; i < STRENGTHS; i++)
        if (loss[i] < loss[*best]) *best = i;
    return HPC_OK;
}

static int predict_bag(judge_prediction *predicted, const judge_set *train, const judge_set *test)
{
    table t[PERF_QUESTIONS] = {0};
    int rc = HPC_OK;
    for (int q = 0; q < PERF_QUESTIONS; q++) {
        int best;
        TRY(choose(&best, train, (perf_question)q));
        TRY(fill(&t[q], train, (perf_question)q, 0, 0));
        for (int i = 0; i <= best; i++) descend(&t[q], strengths[i], q == PERF_SIZE);
    }
    for (int64_t k = 0; k < test->n; k++) {
        const hpc_perf_bag *b = &test->bag[test->at[k]];
        double changed = perf_sigmoid(margin_of(&t[PERF_SIZE], b, PERF_SIZE));
        double slower = perf_sigmoid(margin_of(&t[PERF_SIDE], b, PERF_SIDE));
        double *p = predicted[test->at[k]].p;
        p[HPC_PERF_SLOWER] = changed * slower;
        p[HPC_PERF_SAME] = 1 - changed;
        p[HPC_PERF_FASTER] = changed * (1 - slower);
    }
out:
    for (int q = 0; q < PERF_QUESTIONS; q++) table_release(&t[q]);
    return rc;
}

/* ---- without words ------------------------------------------------------------------------------
 */

static void predict_majority(judge_prediction *predicted, const judge_set *train,
                             const judge_set *test)
{
    double n[3] = {1, 1, 1};
    for (int64_t k = 0; k < train->n; k++) n[train->e[train->at[k]].label]++;
    for (int64_t k = 0; k < test->n; k++)
        for (int v = 0; v < 3; v++) predicted[test->at[k]].p[v] = n[v] / (n[0] + n[1] + n[2]);
}

static double size_of(const hpc_perf_vector *x)
{
    double added = x->value[hpc_perf_feature_named("lines_added")];
    double removed = x->value[hpc_perf_feature_named("lines_removed")];
    return log2(exp2(added) + exp2(removed) - 1); /* each is log2(1 + n) */
}

static int predict_size(judge_prediction *predicted, const judge_set *train, const judge_set *test)
{
    table t = {0};
    cell *c = hpc_alloc((size_t)train->n + 1, sizeof *c);
    double *target = hpc_alloc((size_t)train->n + 1, sizeof *target);
    double changed_n = 2, slower_n = 1;
    int rc = HPC_OK;
    if (!c || !target) TRY(HPC_E_NOMEM);
    for (int64_t k = 0; k < train->n; k++) {
        c[k] = (cell){k, 0, size_of(&train->e[train->at[k]].x)};
        target[k] = target_of(train, PERF_SIZE, k);
        changed_n += target[k];
        slower_n += target_of(train, PERF_SIDE, k);
    }
    TRY(table_start(&t, c, train->n, target, train->n));
    for (int k = 0; k < 50; k++) descend(&t, 0.01, true); /* two that lean on each other: slow */
    for (int64_t k = 0; k < test->n; k++) {
        double m = t.bias + t.weight[0] * size_of(&test->e[test->at[k]].x);
        double *p = predicted[test->at[k]].p, changed = perf_sigmoid(m);
        p[HPC_PERF_SLOWER] = changed * slower_n / changed_n;
        p[HPC_PERF_SAME] = 1 - changed;
        p[HPC_PERF_FASTER] = changed * (1 - slower_n / changed_n);
    }
out:
    table_release(&t);
    hpc_free(c);
    hpc_free(target);
    return rc;
}

int judge_baseline_predict(judge_prediction *predicted, hpc_perf_method r, const judge_set *train,
                           const judge_set *test)
{
    if (r == HPC_PERF_BAG) return predict_bag(predicted, train, test);
    if (r == HPC_PERF_DIFF_SIZE) return predict_size(predicted, train, test);
    hpc_assert(r == HPC_PERF_MAJORITY);
    predict_majority(predicted, train, test);
    return HPC_OK;
}
