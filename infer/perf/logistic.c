/*
 * Sparse rows of examples, and logistic regression on them by coordinate descent. Each weight keeps
 * its sign and is shrunk towards its prior.
 */
#include <math.h>
#include <string.h>

#include "infer/perf/learn_priv.h"

int perf_rows_add(perf_rows *r, const perf_view *v, double target, double sign, int64_t group)
{
    int rc = HPC_OK;
    TRY(hpc_grow(&r->first, &r->first_cap, r->n + 2, sizeof *r->first));
    TRY(hpc_grow(&r->target, &r->target_cap, r->n + 1, sizeof *r->target));
    TRY(hpc_grow(&r->group, &r->group_cap, r->n + 1, sizeof *r->group));
    TRY(hpc_grow(&r->cell, &r->cell_cap, r->cells_n + PERF_WIDTH, sizeof *r->cell));
    for (int k = 0; k < PERF_WIDTH; k++)
        if (v->z[k] != 0)
            r->cell[r->cells_n++] = (struct perf_cell){.column = k, .value = sign * v->z[k]};
    r->target[r->n] = target;
    r->group[r->n++] = group;
    if (group >= r->groups) r->groups = group + 1;
    r->first[r->n] = r->cells_n;
out:
    return rc;
}

void perf_rows_release(perf_rows *r)
{
    hpc_free(r->first);
    hpc_free(r->target);
    hpc_free(r->group);
    hpc_free(r->cell);
    *r = (perf_rows){0};
}

/* ---- a fit -------------------------------------------------------------------------------------
 */

double perf_line_value(const perf_line *l, const perf_view *v)
{
    double sum = l->bias;
    for (int i = 0; i < PERF_WIDTH; i++) sum += l->weight[i] * v->z[i];
    return sum;
}

static double value_at(const perf_line *l, const perf_rows *r, int64_t k)
{
    double sum = l->bias;
    for (int64_t c = r->first[k]; c < r->first[k + 1]; c++)
        sum += l->weight[r->cell[c].column] * r->cell[c].value;
    return sum;
}

typedef struct entry {
    int64_t row;
    double value;
} entry;
typedef struct columns { /* rows, turned */
    int64_t first[PERF_WIDTH + 1];
    entry *item;
    double *margin; /* of rows */
    double *own;    /* bias of each group */
    double *step;   /* likewise, twice */
} columns;

static int turn(columns *t, const perf_rows *r, const perf_line *line)
{
    int64_t at[PERF_WIDTH];
    t->item = hpc_alloc((size_t)r->cells_n + 1, sizeof *t->item);
    t->margin = hpc_alloc((size_t)r->n + 1, sizeof *t->margin);
    t->own = hpc_alloc((size_t)r->groups + 1, sizeof *t->own);
    t->step = hpc_alloc(2 * (size_t)r->groups + 1, sizeof *t->step);
    if (!t->item || !t->margin || !t->own || !t->step) return HPC_E_NOMEM;
    for (int64_t c = 0; c < r->cells_n; c++) t->first[r->cell[c].column + 1]++;
    for (int i = 0; i < PERF_WIDTH; i++) t->first[i + 1] += t->first[i];
    memcpy(at, t->first, sizeof at);
    for (int64_t k = 0; k < r->n; k++) {
        t->margin[k] = value_at(line, r, k);
        for (int64_t c = r->first[k]; c < r->first[k + 1]; c++)
            t->item[at[r->cell[c].column]++] = (entry){k, r->cell[c].value};
    }
    return HPC_OK;
}

/* A step of Newton's method on one weight, by which no margin moves more than 1. */
static double step_weight(perf_line *l, columns *t, const perf_rows *r, const perf_line *prior,
                          double strength, int i, int sign)
{
    double g = strength * (l->weight[i] - prior->weight[i]), h = strength, widest = 0;
    for (int64_t c = t->first[i]; c < t->first[i + 1]; c++) {
        hpc_assert(r->target);
        double z = t->item[c].value, p = perf_sigmoid(t->margin[t->item[c].row]);
        g += (p - r->target[t->item[c].row]) * z;
        h += p * (1 - p) * z * z;
        widest = fmax(widest, fabs(z));
    }
    double step = -g / h;
    if (fabs(step) * widest > 1) step = step > 0 ? 1 / widest : -1 / widest;
    double to = l->weight[i] + step;
    if (to * sign < 0) to = 0;
    step = to - l->weight[i];
    l->weight[i] = to;
    for (int64_t c = t->first[i]; c < t->first[i + 1]; c++)
        t->margin[t->item[c].row] += step * t->item[c].value;
    return fabs(step) * widest;
}

/* Those of repositories are drawn to 0 as by a normal distribution of standard deviation 2. */
static double step_own(columns *t, const perf_rows *r)
{
    double *g = t->step, *h = t->step + r->groups, most = 0;
    for (int64_t k = 0; k < r->groups; k++) {
        g[k] = t->own[k] / 4;
        h[k] = 0.25;
    }
    for (int64_t k = 0; k < r->n; k++) {
        double p = perf_sigmoid(t->margin[k]);
        g[r->group[k]] += p - r->target[k];
        h[r->group[k]] += p * (1 - p);
    }
    for (int64_t k = 0; k < r->groups; k++) {
        g[k] = fmax(-1, fmin(1, -g[k] / h[k]));
        t->own[k] += g[k];
        most = fmax(most, fabs(g[k]));
    }
    for (int64_t k = 0; k < r->n; k++) t->margin[k] += g[r->group[k]];
    return most;
}

static double step_bias(perf_line *l, columns *t, const perf_rows *r)
{
    double g = 1e-3 * l->bias, h = 1e-3; /* keeps the bias finite if all labels are equal */
    for (int64_t k = 0; k < r->n; k++) {
        double p = perf_sigmoid(t->margin[k]);
        g += p - r->target[k];
        h += p * (1 - p);
    }
    double step = fmax(-1, fmin(1, -g / h));
    l->bias += step;
    for (int64_t k = 0; k < r->n; k++) t->margin[k] += step;
    return fabs(step);
}

int perf_line_fit(perf_line *line, const perf_rows *r, const perf_line *prior, double strength,
                  perf_question q)
{
    enum { PASSES = 40 };
    static const double CLOSE = 0.003; /* of every margin */
    signed char sign[PERF_WIDTH];
    columns t = {0};
    int rc = HPC_OK;
    perf_view_signs(sign, q);
    TRY(turn(&t, r, line));
    for (int pass = 0; pass < PASSES; pass++) {
        double most = q == PERF_SIZE ? fmax(step_bias(line, &t, r), step_own(&t, r)) : 0;
        for (int i = 0; i < PERF_WIDTH; i++) {
            if (t.first[i] == t.first[i + 1])
                line->weight[i] = prior->weight[i];
            else
                most = fmax(most, step_weight(line, &t, r, prior, strength, i, sign[i]));
        }
        if (most < CLOSE) break;
    }
out:
    hpc_free(t.item);
    hpc_free(t.margin);
    hpc_free(t.own);
    hpc_free(t.step);
    return rc;
}

/* ---- what is known before ----------------------------------------------------------------------
 */

/* All columns, by what they are worth against each other, as one. */
int perf_prior_fit(perf_line *out, const perf_rows *r, perf_question q)
{
    static const double USUAL = 0.3, HOLD = 20; /* the worth that is expected, how firmly */
    perf_line all = {0}, one = {.weight = {USUAL}}, usual = one;
    perf_rows sums = {0};
    int rc = HPC_OK;
    perf_view_prior(all.weight, q);
    for (int64_t k = 0; k < r->n; k++) {
        const perf_view v = {.z = {value_at(&all, r, k)}};
        TRY(perf_rows_add(&sums, &v, r->target[k], 1, r->group[k]));
    }
    TRY(perf_line_fit(&one, &sums, &usual, HOLD, q));
    out->bias = one.bias;
    for (int i = 0; i < PERF_WIDTH; i++) out->weight[i] = one.weight[0] * all.weight[i];
out:
    perf_rows_release(&sums);
    return rc;
}
