/*
 * Scores of groups of samples with bootstrap intervals, and paired comparisons of two logs.
 *
 * Clusters are drawn with replacement; the interval is that of percentiles. The draws depend on the
 * seed, the group's name, the round and the position alone.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "eval/priv.h"

typedef struct totals { /* of one metric in one cluster */
    double sum, weight;
    int64_t samples;
} totals;
typedef struct table { /* a metric's totals, by cluster */
    totals *item;      /* [clusters] */
    int64_t n;
} table;

double eval_scaled(const hpc_eval_metric *m, double sum, double weight)
{
    if (!(weight > 0)) return NAN;
    return m->scale == HPC_EVAL_EXP2 ? exp2(sum / weight) : sum / weight;
}

bool eval_numbers(double *sum, double *weight, const hpc_eval_metric *m, const hpc_json *s)
{
    *sum = hpc_eval_number(s, m->sum);
    *weight = m->weight ? hpc_eval_number(s, m->weight) : 1;
    return !isnan(*sum) && !isnan(*weight);
}

const char *eval_cluster(const hpc_json *sample)
{
    const hpc_json *v = hpc_json_get(sample, "cluster");
    const char *name = "";

    if (!v) v = hpc_json_get(sample, "id");
    (void)hpc_json_text(&name, v, "cluster");
    return name;
}

/* Samples are numbers of `l`. */
static int fill_table(table *t, const hpc_eval_metric *m, const hpc_eval_log *l,
                      const int64_t *sample, int64_t n)
{
    hpc_map *clusters = hpc_map_create();
    int rc = HPC_OK;

    *t = (table){.item = hpc_alloc((size_t)n + 1, sizeof(*t->item))};
    if (!clusters || !t->item) TRY(HPC_E_NOMEM);
    for (int64_t k = 0; k < n; k++) {
        const hpc_json *s = hpc_eval_log_at(l, sample[k]);
        const char *name = eval_cluster(s);
        double sum, weight;
        uint64_t at;
        if (!eval_numbers(&sum, &weight, m, s)) continue;
        if (!hpc_map_get(clusters, name, strlen(name), &at)) {
            at = (uint64_t)t->n++;
            TRY(hpc_map_put(clusters, name, strlen(name), at));
        }
        t->item[at].sum += sum;
        t->item[at].weight += weight;
        t->item[at].samples++;
    }
out:
    hpc_map_free(clusters);
    return rc;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int64_t eval_draw(uint64_t seed, uint32_t round, int64_t index, int64_t n)
{
    uint32_t bits = hpc_random_bits(seed, 0x6576616cu, round, (uint64_t)index);
    return (int64_t)(((uint64_t)bits * (uint64_t)n) >> 32);
}

void eval_interval(hpc_eval_value *out, double *all, int64_t n)
{
    int64_t finite = 0;

    for (int64_t k = 0; k < n; k++)
        if (!isnan(all[k])) all[finite++] = all[k];
    out->low = out->high = NAN;
    if (finite == 0) return;
    qsort(all, (size_t)finite, sizeof(*all), ascending);
    out->low = all[(int64_t)(0.025 * (double)(finite - 1) + 0.5)];
    out->high = all[(int64_t)(0.975 * (double)(finite - 1) + 0.5)];
}

static void bootstrap(hpc_eval_value *out, const hpc_eval_metric *m, const table *t, uint64_t seed)
{
    double all[HPC_EVAL_RESAMPLES], sum = 0, weight = 0;

    *out = (hpc_eval_value){0};
    for (int64_t k = 0; k < t->n; k++) {
        sum += t->item[k].sum;
        weight += t->item[k].weight;
        out->samples += t->item[k].samples;
    }
    out->value = eval_scaled(m, sum, weight);
    for (uint32_t r = 0; r < HPC_EVAL_RESAMPLES; r++) {
        sum = weight = 0;
        for (int64_t k = 0; k < t->n; k++) {
            const totals *x = &t->item[eval_draw(seed, r, k, t->n)];
            sum += x->sum;
            weight += x->weight;
        }
        all[r] = eval_scaled(m, sum, weight);
    }
    eval_interval(out, all, HPC_EVAL_RESAMPLES);
}

/* ---- groups ---------------------------------------------------------------------------------- */

typedef struct group {
    const char *key, *name;
    int64_t *sample;
    int64_t n, cap;
} group;
typedef struct grouping {
    hpc_arena *arena;
    hpc_map *index;
    group *item;
    int64_t n, cap;
} grouping;

static int put_in(grouping *g, const char *key, const char *name, int64_t sample)
{
    const char *whole = hpc_arena_text(g->arena, "%s %s", key, name);
    uint64_t at;
    int rc;

    if (!whole) return HPC_E_NOMEM;
    if (!hpc_map_get(g->index, whole, strlen(whole), &at)) {
        at = (uint64_t)g->n;
        TRY(hpc_grow(&g->item, &g->cap, g->n + 1, sizeof(*g->item)));
        TRY(hpc_map_put(g->index, whole, strlen(whole), at));
        g->item[g->n++] = (group){.key = hpc_arena_text(g->arena, "%s", key),
                                  .name = hpc_arena_text(g->arena, "%s", name)};
    }
    group *x = &g->item[at];
    if (!x->key || !x->name) return HPC_E_NOMEM;
    TRY(hpc_grow(&x->sample, &x->cap, x->n + 1, sizeof(*x->sample)));
    x->sample[x->n++] = sample;
out:
    return rc;
}

static int put_value(grouping *g, const char *key, const hpc_json *v, int64_t sample)
{
    const char *name;
    int rc = HPC_OK;

    if (hpc_json_kind_of(v) != HPC_JSON_LIST) {
        TRY(hpc_json_text(&name, v, key));
        return put_in(g, key, name, sample);
    }
    for (int64_t k = 0; k < hpc_json_n(v); k++) {
        TRY(hpc_json_text(&name, hpc_json_at(v, k), key));
        TRY(put_in(g, key, name, sample));
    }
out:
    return rc;
}

static int put_sample(grouping *g, const hpc_json *s, int64_t sample)
{
    const hpc_json *groups = hpc_json_get(s, "group"), *value;
    int rc;

    TRY(put_in(g, "", "all", sample));
    for (int64_t k = 0; k < hpc_json_n(groups); k++) {
        const char *key = hpc_json_key(groups, k, &value);
        TRY(put_value(g, key, value, sample));
    }
out:
    return rc;
}

static int by_name(const void *a, const void *b)
{
    const group *x = a, *y = b;
    int order = strcmp(x->key, y->key);
    return order ? order : strcmp(x->name, y->name);
}

static int score_group(hpc_eval_row *row, hpc_arena *arena, const hpc_eval_suite *s,
                       const hpc_eval_log *l, const group *g, uint64_t seed)
{
    table t = {0};
    int rc = HPC_OK;

    *row =
        (hpc_eval_row){.key = hpc_arena_text(arena, "%s", g->key),
                       .name = hpc_arena_text(arena, "%s", g->name),
                       .samples = g->n,
                       .value = hpc_arena_alloc(arena, (size_t)s->metric_n, sizeof(*row->value))};
    if (!row->key || !row->name || !row->value) TRY(HPC_E_NOMEM);
    seed = hpc_hash(g->name, strlen(g->name), hpc_hash(g->key, strlen(g->key), seed));
    for (int k = 0; k < s->metric_n; k++) {
        TRY(fill_table(&t, &s->metric[k], l, g->sample, g->n));
        bootstrap(&row->value[k], &s->metric[k], &t, seed);
        hpc_free(t.item);
        t.item = NULL;
    }
out:
    hpc_free(t.item);
    return rc;
}

int hpc_eval_score(hpc_eval_scores *out, const hpc_eval_suite *s, const hpc_eval_log *l,
                   uint64_t seed)
{
    grouping g = {.arena = hpc_arena_create(0), .index = hpc_map_create()};
    int rc = HPC_OK;

    *out = (hpc_eval_scores){.arena = hpc_arena_create(0)};
    if (!g.arena || !g.index || !out->arena) TRY(HPC_E_NOMEM);
    for (int64_t k = 0; k < hpc_eval_log_n(l); k++) TRY(put_sample(&g, hpc_eval_log_at(l, k), k));
    if (g.n > 1) qsort(g.item, (size_t)g.n, sizeof(*g.item), by_name);
    out->row = hpc_arena_alloc(out->arena, (size_t)g.n + 1, sizeof(*out->row));
    if (!out->row) TRY(HPC_E_NOMEM);
    for (; out->n < g.n; out->n++)
        TRY(score_group(&out->row[out->n], out->arena, s, l, &g.item[out->n], seed));
out:
    for (int64_t k = 0; k < g.n; k++) hpc_free(g.item[k].sample);
    hpc_free(g.item);
    hpc_map_free(g.index);
    hpc_arena_free(g.arena);
    return rc;
}

void hpc_eval_scores_release(hpc_eval_scores *s)
{
    hpc_arena_free(s->arena);
    *s = (hpc_eval_scores){0};
}
