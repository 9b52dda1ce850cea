/*
 * Share of the measured cost in the lines that a change touches.
 *
 * Inserted lines have the cost of the lines around them. Code outside functions, macros and types
 * has no cost of its own: it gets that of its file, or all of it in a header.
 */
#include <math.h>
#include <string.h>

#include "infer/perf/learn_priv.h"
#include "infer/perf/feature_priv.h"

enum { AROUND = 3 }; /* lines that are near */

typedef struct heat {
    const hpc_hot_line *hot;
    int64_t n;
    double sum, near, around; /* of one function, or of all */
    double cost; /* of added and removed events, weighted by the share of their lines */
} heat;

static double share_at(const heat *h, const hpc_perf_side *side, int64_t number)
{
    const hpc_perf_source *s = side->source;
    if (number < side->line || number > side->end_line || number > s->lines_n) return 0;
    uint32_t key = hpc_line_key(s->text.data, s->line, s->lines_n, (uint32_t)number);
    return key ? (double)hpc_hot_share(h->hot, h->n, key) : 0;
}

static void add_lines(heat *h, const hpc_perf_side *side, int64_t from, int64_t n)
{
    int64_t lo = n > 0 ? from : from - 1, hi = n > 0 ? from + n : from + 1;
    for (int64_t k = lo; k < hi; k++) h->sum += share_at(h, side, k);
    for (int64_t k = lo - AROUND; k < hi + AROUND; k++)
        h->near = fmax(h->near, share_at(h, side, k));
}

/* For code outside functions. */
static double share_of_file(const heat *h, const hpc_perf_source *s)
{
    double sum = 0;
    for (uint32_t k = 1; k <= s->lines_n; k++) {
        uint32_t key = hpc_line_key(s->text.data, s->line, s->lines_n, k);
        if (key) sum += (double)hpc_hot_share(h->hot, h->n, key);
    }
    return sum;
}

static void find_one(heat *h, const hpc_perf_change *c, const hpc_perf_function *f)
{
    const hpc_perf_side *side = &f->base;
    const char *path = c->names.data + c->file[f->file].path;
    if (f->same_code || !side->source) return;
    if (side->source->kind == HPC_PERF_BUILD) {
        h->around = 1;
    } else if (side->function < 0) {
        h->around = perf_is_header(path) ? 1 : share_of_file(h, side->source);
    } else if (!f->head.source) {
        add_lines(h, side, side->line, (int64_t)side->end_line - side->line + 1);
    } else {
        for (int64_t k = f->first; k < f->first + f->edits_n; k++)
            add_lines(h, side, c->edit[k].base_line, c->edit[k].base_n);
    }
    h->sum = fmin(h->sum, 1);
    h->around = fmin(h->around, 1);
}

/* ---- as features ------------------------------------------------------------------------------
 */

enum { KNOWN, COLD, SHARE, NEAR, FILE_SHARE, COST, HEATS };
static int feature_of(int which)
{
    static const char *const names[HEATS] = {"heat_known", "cold",        "heat",
                                             "heat_near",  "heat_around", "heat_cost"};
    return hpc_perf_feature_named(names[which]);
}

static void put(hpc_perf_vector *v, const heat *h)
{
    v->value[feature_of(KNOWN)] = 1;
    v->value[feature_of(COLD)] = h->near == 0;
    v->value[feature_of(SHARE)] = log2(1 + 1000 * fmin(h->sum, 1));
    v->value[feature_of(NEAR)] = log2(1 + 10000 * fmin(h->near, 1));
    v->value[feature_of(FILE_SHARE)] = log2(1 + 1000 * h->around);
    v->value[feature_of(COST)] = h->cost;
}

void hpc_perf_heat_forget(hpc_perf_vector *x)
{
    for (int k = 0; k < HEATS; k++) x->value[feature_of(k)] = 0;
}

void hpc_perf_heat_find(hpc_perf_features *f, const hpc_perf_change *c, const hpc_hot_line *hot,
                        int64_t n)
{
    heat all = {.n = 0};
    hpc_perf_heat_forget(&f->commit);
    for (int64_t k = 0; k < f->n; k++) {
        heat one = {.hot = hot, .n = n};
        hpc_perf_heat_forget(&f->function[k]);
        if (!hot) continue;
        find_one(&one, c, &c->function[k]);
        one.cost = 10 * fmax(one.sum, one.near) * perf_code_cost(&f->function[k]);
        put(&f->function[k], &one);
        all.sum += one.sum;
        all.near = fmax(all.near, one.near);
        all.around = fmax(all.around, one.around);
        all.cost += one.cost;
    }
    if (hot) put(&f->commit, &all);
}
