/*
 * Comparison of two logs over their common samples, with intervals from paired resampling.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "eval/priv.h"

typedef struct both { /* of one cluster: here and there */
    double sum[2], weight[2];
} both;

static const char *id_of(const hpc_json *sample)
{
    const char *id = "";

    (void)hpc_json_text(&id, hpc_json_get(sample, "id"), "id");
    return id;
}

static void count(hpc_eval_difference *d, const hpc_eval_metric *m, double here, double there)
{
    bool less = m->lower_is_better;

    if (here == there)
        d->equal++;
    else if ((here < there) == less)
        d->better++;
    else
        d->worse++;
}

static int gather(both *cluster, int64_t *n, hpc_eval_difference *d, const hpc_eval_metric *m,
                  const hpc_eval_log *here, const hpc_eval_log *there)
{
    hpc_map *index = hpc_map_create();
    int rc = index ? HPC_OK : HPC_E_NOMEM;

    for (int64_t k = 0; rc >= 0 && k < hpc_eval_log_n(here); k++) {
        const hpc_json *a = hpc_eval_log_at(here, k);
        const hpc_json *b = hpc_eval_log_find(there, id_of(a));
        const char *name = eval_cluster(a);
        double sum[2], weight[2];
        uint64_t at;
        if (!b || !eval_numbers(&sum[0], &weight[0], m, a)) continue;
        if (!eval_numbers(&sum[1], &weight[1], m, b)) continue;
        if (!hpc_map_get(index, name, strlen(name), &at)) {
            at = (uint64_t)(*n)++;
            TRY(hpc_map_put(index, name, strlen(name), at));
        }
        for (int i = 0; i < 2; i++)
            cluster[at].sum[i] += sum[i], cluster[at].weight[i] += weight[i];
        count(d, m, eval_scaled(m, sum[0], weight[0]), eval_scaled(m, sum[1], weight[1]));
        d->value.samples++;
    }
out:
    hpc_map_free(index);
    return rc;
}

static void add(both *to, const both *x)
{
    for (int i = 0; i < 2; i++) to->sum[i] += x->sum[i], to->weight[i] += x->weight[i];
}

static void resample(hpc_eval_difference *d, const hpc_eval_metric *m, const both *cluster,
                     int64_t n, uint64_t seed)
{
    double all[HPC_EVAL_RESAMPLES];
    both whole = {0};

    for (int64_t k = 0; k < n; k++) add(&whole, &cluster[k]);
    d->here = eval_scaled(m, whole.sum[0], whole.weight[0]);
    d->there = eval_scaled(m, whole.sum[1], whole.weight[1]);
    d->value.value = d->here - d->there;
    for (uint32_t r = 0; r < HPC_EVAL_RESAMPLES; r++) {
        both x = {0};
        for (int64_t k = 0; k < n; k++) add(&x, &cluster[eval_draw(seed, r, k, n)]);
        all[r] = eval_scaled(m, x.sum[0], x.weight[0]) - eval_scaled(m, x.sum[1], x.weight[1]);
    }
    eval_interval(&d->value, all, HPC_EVAL_RESAMPLES);
}

static int by_difference(const void *a, const void *b)
{
    const hpc_eval_pair *x = a, *y = b;
    double p = fabs(x->here - x->there), q = fabs(y->here - y->there);
    return p != q ? (p < q) - (p > q) : strcmp(x->id, y->id);
}

static int list_pairs(hpc_eval_comparison *out, const hpc_eval_metric *m, const hpc_eval_log *here,
                      const hpc_eval_log *there)
{
    int64_t common = 0;

    for (int64_t k = 0; k < hpc_eval_log_n(here); k++) {
        const hpc_json *a = hpc_eval_log_at(here, k);
        const hpc_json *b = hpc_eval_log_find(there, id_of(a));
        double sum, weight, other, other_weight;
        common += b != NULL;
        if (!b || !eval_numbers(&sum, &weight, m, a)) continue;
        if (!eval_numbers(&other, &other_weight, m, b)) continue;
        out->pair[out->n++] = (hpc_eval_pair){.id = hpc_arena_text(out->arena, "%s", id_of(a)),
                                              .here = eval_scaled(m, sum, weight),
                                              .there = eval_scaled(m, other, other_weight)};
        if (!out->pair[out->n - 1].id) return HPC_E_NOMEM;
    }
    out->alone_here = hpc_eval_log_n(here) - common;
    out->alone_there = hpc_eval_log_n(there) - common;
    if (out->n > 1) qsort(out->pair, (size_t)out->n, sizeof(*out->pair), by_difference);
    return HPC_OK;
}

int hpc_eval_compare(hpc_eval_comparison *out, const hpc_eval_suite *s, const hpc_eval_log *here,
                     const hpc_eval_log *there, uint64_t seed)
{
    size_t n = (size_t)hpc_eval_log_n(here) + 1;
    both *cluster = NULL;
    int rc = HPC_OK;

    *out = (hpc_eval_comparison){.arena = hpc_arena_create(0)};
    if (!out->arena) return HPC_E_NOMEM;
    out->difference = hpc_arena_alloc(out->arena, (size_t)s->metric_n, sizeof(*out->difference));
    out->pair = hpc_arena_alloc(out->arena, n, sizeof(*out->pair));
    if (!out->difference || !out->pair) TRY(HPC_E_NOMEM);
    for (int k = 0; k < s->metric_n; k++) {
        int64_t clusters = 0;
        hpc_free(cluster);
        cluster = hpc_alloc(n, sizeof(*cluster));
        if (!cluster) TRY(HPC_E_NOMEM);
        TRY(gather(cluster, &clusters, &out->difference[k], &s->metric[k], here, there));
        resample(&out->difference[k], &s->metric[k], cluster, clusters, seed);
    }
    TRY(list_pairs(out, &s->metric[0], here, there));
out:
    hpc_free(cluster);
    return rc;
}

void hpc_eval_comparison_release(hpc_eval_comparison *c)
{
    hpc_arena_free(c->arena);
    *c = (hpc_eval_comparison){0};
}
