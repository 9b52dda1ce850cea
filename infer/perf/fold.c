/*
 * Folds of examples: whole repositories, or periods of time.
 */
#include <stdlib.h>
#include <string.h>

#include "infer/perf/learn_priv.h"

enum { GROUPS_ENOUGH = 4, TIME_FOLDS = 5 };

typedef struct place {
    int64_t group, time, index;
} place;
typedef struct share { /* of a group */
    int64_t from, n, changed;
    int fold;
} share;

static int by_group(const void *a, const void *b)
{
    const place *x = a, *y = b;
    if (x->group != y->group) return x->group < y->group ? -1 : 1;
    if (x->time != y->time) return x->time < y->time ? -1 : 1;
    return x->index < y->index ? -1 : 1;
}

static int by_changed(const void *a, const void *b)
{
    const share *x = *(const share *const *)a, *y = *(const share *const *)b;
    if (x->changed != y->changed) return x->changed > y->changed ? -1 : 1;
    if (x->n != y->n) return x->n > y->n ? -1 : 1;
    return x->from < y->from ? -1 : 1;
}

static void cut_times(int *fold, const place *p, const share *s, int64_t groups)
{
    for (int64_t g = 0; g < groups; g++)
        for (int64_t k = 0; k < s[g].n; k++)
            fold[p[s[g].from + k].index] = (int)(k * TIME_FOLDS / s[g].n);
}

/* Groups with most changes first, each to the fold that has fewest. */
static int deal_groups(int *fold, const place *p, share *s, int64_t groups, int folds)
{
    int64_t changed[PERF_FOLDS] = {0}, n[PERF_FOLDS] = {0};
    share **order = hpc_alloc((size_t)groups, sizeof(share *));
    if (!order) return HPC_E_NOMEM;
    for (int64_t g = 0; g < groups; g++) order[g] = &s[g];
    qsort(order, (size_t)groups, sizeof *order, by_changed);
    for (int64_t g = 0; g < groups; g++) {
        int to = 0;
        for (int f = 1; f < folds; f++)
            if (changed[f] < changed[to] || (changed[f] == changed[to] && n[f] < n[to])) to = f;
        changed[to] += order[g]->changed;
        n[to] += order[g]->n;
        for (int64_t k = 0; k < order[g]->n; k++) fold[p[order[g]->from + k].index] = to;
    }
    hpc_free(order);
    return HPC_OK;
}

int perf_folds_find(int *fold, int *folds, int64_t *groups_n, const hpc_perf_example *e, int64_t n)
{
    place *p = hpc_alloc((size_t)n + 1, sizeof *p);
    share *s = hpc_alloc((size_t)n + 1, sizeof *s);
    int64_t groups = 0;
    int rc = HPC_OK;
    if (!p || !s) TRY(HPC_E_NOMEM);
    for (int64_t k = 0; k < n; k++) p[k] = (place){e[k].group, e[k].time, k};
    qsort(p, (size_t)n, sizeof *p, by_group);
    for (int64_t k = 0; k < n; k++) {
        if (k == 0 || p[k].group != p[k - 1].group) s[groups++].from = k;
        s[groups - 1].n++;
        s[groups - 1].changed += e[p[k].index].label != HPC_PERF_SAME;
    }
    if (groups < GROUPS_ENOUGH) {
        *folds = TIME_FOLDS;
        cut_times(fold, p, s, groups);
    } else {
        *folds = groups < PERF_FOLDS ? (int)groups : PERF_FOLDS;
        TRY(deal_groups(fold, p, s, groups, *folds));
    }
    *groups_n = groups;
out:
    hpc_free(p);
    hpc_free(s);
    return rc;
}
