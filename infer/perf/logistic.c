/*
 * logistic.c: examples as rows of what is not 0 in them, and logistic regression on these, with
 * weights that are drawn to where they are without examples.
 */
#include <math.h>
#include <string.h>

#include "infer/perf/learn_priv.h"

int perf_rows_add(perf_rows *r, const perf_view *v, double target, double sign)
{
    int rc = HPC_OK;
    TRY(hpc_grow(&r->first, &r->first_cap, r->n + 2, sizeof *r->first));
    TRY(hpc_grow(&r->target, &r->target_cap, r->n + 1, sizeof *r->target));
    TRY(hpc_grow(&r->cell, &r->cell_cap, r->cells_n + PERF_WIDTH, sizeof *r->cell));
    for (int k = 0; k < PERF_WIDTH; k++)
        if (v->z[k] != 0)
            r->cell[r->cells_n++] = (struct perf_cell){.column = k, .value = sign * v->z[k]};
    r->target[r->n++] = target;
    r->first[r->n] = r->cells_n;
out:
    return rc;
}

void perf_rows_release(perf_rows *r)
{
    hpc_free(r->first);
    hpc_free(r->target);
    hpc_free(r->cell);
    *r = (perf_rows){0};
}

/* ---- Newton's method --------------------------------------------------------------------------
 */
enum { BIAS = PERF_WIDTH, WIDE };
typedef struct newton {
    double matrix[WIDE][WIDE]; /* lower triangle; then its Cholesky factor */
    double step[WIDE];
    double at[WIDE], tried[WIDE]; /* weights and bias */
} newton;

static double margin(const double *w, const perf_rows *r, int64_t k)
{
    double sum = w[BIAS];
    for (int64_t c = r->first[k]; c < r->first[k + 1]; c++)
        sum += w[r->cell[c].column] * r->cell[c].value;
    return sum;
}

static double loss_of(double m, double target)
{
    double s = target > 0.5 ? -m : m;
    return s > 0 ? s + log1p(exp(-s)) : log1p(exp(s));
}

static double objective(const double *w, const perf_rows *r, const double *prior, double strength)
{
    double sum = 0;
    for (int64_t k = 0; k < r->n; k++) sum += loss_of(margin(w, r, k), r->target[k]);
    for (int i = 0; i < PERF_WIDTH; i++)
        sum += strength / 2 * (w[i] - prior[i]) * (w[i] - prior[i]);
    return sum;
}

static void add_row(newton *s, const perf_rows *r, int64_t k)
{
    const struct perf_cell *cell = r->cell + r->first[k];
    int64_t n = r->first[k + 1] - r->first[k];
    double p = perf_sigmoid(margin(s->at, r, k)), h = p * (1 - p), g = p - r->target[k];
    for (int64_t i = 0; i < n; i++) {
        double hi = h * cell[i].value;
        s->step[cell[i].column] -= g * cell[i].value;
        for (int64_t j = 0; j <= i; j++)
            s->matrix[cell[i].column][cell[j].column] += hi * cell[j].value;
        s->matrix[BIAS][cell[i].column] += hi;
    }
    s->step[BIAS] -= g;
    s->matrix[BIAS][BIAS] += h;
}

/* The matrix is positive definite: all of its diagonal has at least the strength. */
static void solve(newton *s)
{
    for (int i = 0; i < WIDE; i++) {
        for (int j = 0; j <= i; j++) {
            double sum = s->matrix[i][j];
            for (int k = 0; k < j; k++) sum -= s->matrix[i][k] * s->matrix[j][k];
            s->matrix[i][j] = i == j ? sqrt(fmax(sum, 1e-12)) : sum / s->matrix[j][j];
        }
        double sum = s->step[i];
        for (int k = 0; k < i; k++) sum -= s->matrix[i][k] * s->step[k];
        s->step[i] = sum / s->matrix[i][i];
    }
    for (int i = WIDE - 1; i >= 0; i--) {
        double sum = s->step[i];
        for (int k = i + 1; k < WIDE; k++) sum -= s->matrix[k][i] * s->step[k];
        s->step[i] = sum / s->matrix[i][i];
    }
}

static void direction(newton *s, const perf_rows *r, const double *prior, double strength,
                      bool with_bias)
{
    memset(s->matrix, 0, sizeof s->matrix);
    memset(s->step, 0, sizeof s->step);
    for (int64_t k = 0; k < r->n; k++) add_row(s, r, k);
    for (int i = 0; i < PERF_WIDTH; i++) {
        s->matrix[i][i] += strength;
        s->step[i] -= strength * (s->at[i] - prior[i]);
    }
    s->matrix[BIAS][BIAS] += 1e-3; /* all of one label: it does not go on for ever */
    s->step[BIAS] -= 1e-3 * s->at[BIAS];
    if (!with_bias) {
        for (int i = 0; i < PERF_WIDTH; i++) s->matrix[BIAS][i] = 0;
        s->matrix[BIAS][BIAS] = 1;
        s->step[BIAS] = 0;
    }
    solve(s);
}

/* As far along the step as makes it better; whether any does. */
static bool advance(newton *s, const perf_rows *r, const double *prior, double strength,
                    double *value)
{
    for (double length = 1; length > 1e-4; length /= 2) {
        for (int i = 0; i < WIDE; i++) s->tried[i] = s->at[i] + length * s->step[i];
        double now = objective(s->tried, r, prior, strength);
        if (!(now < *value)) continue;
        bool more = *value - now > 1e-7 * (1 + fabs(now));
        memcpy(s->at, s->tried, sizeof s->at);
        *value = now;
        return more;
    }
    return false;
}

int perf_logistic_fit(double *weight, double *bias, const perf_rows *r, const double *prior,
                      double strength, bool with_bias)
{
    newton *s = hpc_alloc(1, sizeof *s);
    if (!s) return HPC_E_NOMEM;
    memcpy(s->at, weight, PERF_WIDTH * sizeof *weight);
    s->at[BIAS] = with_bias ? *bias : 0;
    double value = objective(s->at, r, prior, strength);
    for (int k = 0; k < 30; k++) {
        direction(s, r, prior, strength, with_bias);
        if (!advance(s, r, prior, strength, &value)) break;
    }
    memcpy(weight, s->at, PERF_WIDTH * sizeof *weight);
    *bias = s->at[BIAS];
    hpc_free(s);
    return HPC_OK;
}
