/*
 * Boosted trees with three cuts each, for interactions that a linear model cannot express, such as
 * "in a loop, and many of them".
 *
 * Each column is binned once, into at most SLOTS bins of similar numbers of examples. Zeros, which
 * are most values, are not visited: their sums are those of the node minus the rest.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "infer/perf/learn_priv.h"

enum { SLOTS = 16 };
static const double RATE = 0.1;        /* learning rate */
static const double HOLD = 2;          /* regularization of values, in examples */
static const double LEAST_GAIN = 0.05; /* of a cut */
static const double LEAST_MASS = 0.75; /* of p (1 - p), on either side */

typedef struct sum {
    double g, h; /* of first and second derivatives of the loss */
} sum;
typedef struct grower {
    const perf_rows *r;
    double limit[PERF_WIDTH][SLOTS]; /* slot s has values from limit[s] on, below limit[s + 1] */
    int slots[PERF_WIDTH], zero[PERF_WIDTH]; /* the slot that has 0 */
    uint8_t *slot;                           /* of each cell */
    double *margin;
    uint8_t *node; /* of each row: 0, then 1 or 2 */
    sum *own;      /* of each row */
    sum part[2][PERF_WIDTH][SLOTS];
} grower;

/* ---- slots ------------------------------------------------------------------------------------
 */

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Cuts between n values that are in order and of one sign, into `parts` at most. */
static void cut_side(grower *g, int column, const double *v, int64_t n, int parts)
{
    int64_t last = 0;
    for (int k = 1; k < parts; k++) {
        int64_t i = n * k / parts;
        if (i <= last || v[i] == v[i - 1]) continue;
        g->limit[column][g->slots[column]++] = (v[i - 1] + v[i]) / 2;
        last = i;
    }
}

/* v: the n values of a column that are not 0. */
static void find_slots(grower *g, int column, double *v, int64_t n)
{
    enum { PARTS = (SLOTS - 2) / 2 };
    int64_t below = 0;
    qsort(v, (size_t)n, sizeof *v, ascending);
    while (below < n && v[below] < 0) below++;
    g->limit[column][0] = -INFINITY;
    g->slots[column] = 1;
    cut_side(g, column, v, below, PARTS);
    if (below > 0) g->limit[column][g->slots[column]++] = v[below - 1] / 2;
    g->zero[column] = g->slots[column] - 1;
    if (below < n) g->limit[column][g->slots[column]++] = v[below] / 2;
    cut_side(g, column, v + below, n - below, PARTS);
}

static int slot_of(const grower *g, int column, double v)
{
    int s = g->slots[column] - 1;
    while (s > 0 && v < g->limit[column][s]) s--;
    return s;
}

static int make_slots(grower *g)
{
    const perf_rows *r = g->r;
    int64_t at[PERF_WIDTH + 1] = {0};
    double *v = hpc_alloc((size_t)r->cells_n + 1, sizeof *v);
    if (!v) return HPC_E_NOMEM;
    for (int64_t c = 0; c < r->cells_n; c++) at[r->cell[c].column + 1]++;
    for (int k = 0; k < PERF_WIDTH; k++) at[k + 1] += at[k];
    for (int64_t c = 0; c < r->cells_n; c++) v[at[r->cell[c].column]++] = r->cell[c].value;
    for (int k = PERF_WIDTH; k > 0; k--) at[k] = at[k - 1];
    at[0] = 0;
    for (int k = 0; k < PERF_WIDTH; k++) find_slots(g, k, v + at[k], at[k + 1] - at[k]);
    for (int64_t c = 0; c < r->cells_n; c++)
        g->slot[c] = (uint8_t)slot_of(g, r->cell[c].column, r->cell[c].value);
    hpc_free(v);
    return HPC_OK;
}

/* ---- one tree -----------------------------------------------------------------------------------
 */

static double value_of(sum s)
{
    return -RATE * s.g / (s.h + HOLD);
}

static double worth(sum s)
{
    return s.g * s.g / (s.h + HOLD);
}

static void add(sum *to, sum s)
{
    to->g += s.g;
    to->h += s.h;
}

static sum less(sum a, sum b)
{
    return (sum){a.g - b.g, a.h - b.h};
}

static void add_up(grower *g, int nodes, sum *all)
{
    const perf_rows *r = g->r;
    memset(g->part, 0, sizeof g->part);
    all[0] = all[1] = (sum){0};
    for (int64_t k = 0; k < r->n; k++) {
        int node = nodes == 1 ? 0 : g->node[k] - 1;
        add(&all[node], g->own[k]);
        for (int64_t c = r->first[k]; c < r->first[k + 1]; c++)
            add(&g->part[node][r->cell[c].column][g->slot[c]], g->own[k]);
    }
    for (int node = 0; node < nodes; node++)
        for (int i = 0; i < PERF_WIDTH; i++) {
            sum *part = g->part[node][i], rest = all[node];
            for (int s = 0; s < g->slots[i]; s++) rest = less(rest, part[s]);
            add(&part[g->zero[i]], rest);
        }
}

/* The best cut of a node, if there is one that is worth it. */
static void cut_node(perf_tree *t, int at, const grower *g, int node, sum all)
{
    double best = LEAST_GAIN;
    t->column[at] = -1;
    for (int i = 0; i < PERF_WIDTH; i++) {
        sum left = {0};
        for (int s = 1; s < g->slots[i]; s++) {
            add(&left, g->part[node][i][s - 1]);
            sum right = less(all, left);
            double gain = worth(left) + worth(right) - worth(all);
            if (left.h < LEAST_MASS || right.h < LEAST_MASS || gain <= best) continue;
            best = gain;
            t->column[at] = i;
            t->cut[at] = g->limit[i][s];
            t->value[2 * at + 1] = value_of(left);
            t->value[2 * at + 2] = value_of(right);
        }
    }
    if (t->column[at] < 0) t->value[2 * at + 1] = t->value[2 * at + 2] = t->value[at];
}

static bool goes_left(const perf_tree *t, int at, const perf_rows *r, int64_t k)
{
    if (t->column[at] < 0) return true;
    int64_t lo = r->first[k], hi = r->first[k + 1];
    while (lo < hi) { /* cells are in order of columns */
        int64_t mid = lo + (hi - lo) / 2;
        if (r->cell[mid].column < t->column[at])
            lo = mid + 1;
        else
            hi = mid;
    }
    bool there = lo < r->first[k + 1] && r->cell[lo].column == t->column[at];
    return (there ? r->cell[lo].value : 0) < t->cut[at];
}

static void grow(perf_tree *t, grower *g)
{
    const perf_rows *r = g->r;
    sum all[2];
    memset(t, 0, sizeof *t);
    for (int64_t k = 0; k < r->n; k++) {
        double p = perf_sigmoid(g->margin[k]);
        g->own[k] = (sum){p - r->target[k], p * (1 - p)};
    }
    add_up(g, 1, all);
    t->value[0] = value_of(all[0]);
    cut_node(t, 0, g, 0, all[0]);
    for (int64_t k = 0; k < r->n; k++) g->node[k] = goes_left(t, 0, r, k) ? 1 : 2;
    add_up(g, 2, all);
    for (int at = 1; at <= 2; at++) cut_node(t, at, g, at - 1, all[at - 1]);
    for (int64_t k = 0; k < r->n; k++) {
        int at = g->node[k];
        g->margin[k] += t->value[2 * at + (goes_left(t, at, r, k) ? 1 : 2)];
    }
}

int perf_trees_fit(perf_tree *tree, int n, const perf_rows *r, double base)
{
    grower *g = hpc_alloc(1, sizeof *g);
    int rc = HPC_OK;
    if (!g) return HPC_E_NOMEM;
    g->r = r;
    g->slot = hpc_alloc((size_t)r->cells_n + 1, sizeof *g->slot);
    g->margin = hpc_alloc((size_t)r->n + 1, sizeof *g->margin);
    g->node = hpc_alloc((size_t)r->n + 1, sizeof *g->node);
    g->own = hpc_alloc((size_t)r->n + 1, sizeof *g->own);
    if (!g->slot || !g->margin || !g->node || !g->own) TRY(HPC_E_NOMEM);
    TRY(make_slots(g));
    for (int64_t k = 0; k < r->n; k++) g->margin[k] = base;
    for (int k = 0; k < n; k++) grow(&tree[k], g);
out:
    hpc_free(g->slot);
    hpc_free(g->margin);
    hpc_free(g->node);
    hpc_free(g->own);
    hpc_free(g);
    return rc;
}

/* ---- what it says -------------------------------------------------------------------------------
 */

static int below(const perf_tree *t, int at, const perf_view *v, double sign)
{
    bool left = t->column[at] < 0 || sign * v->z[t->column[at]] < t->cut[at];
    return 2 * at + (left ? 1 : 2);
}

double perf_tree_value(const perf_tree *t, const perf_view *v, double sign)
{
    return t->value[below(t, below(t, 0, v, sign), v, sign)];
}

void perf_tree_explain(double *contribution, const perf_tree *t, const perf_view *v, double sign,
                       double scale)
{
    for (int at = 0; at < PERF_TREE_CUTS;) {
        int next = below(t, at, v, sign);
        if (t->column[at] >= 0)
            contribution[t->column[at]] += scale * (t->value[next] - t->value[at]);
        at = next;
    }
}
