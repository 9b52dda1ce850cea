/*
 * Set of examples, with each commit of a repository once per metric.
 */
#include "infer/perf/example.h"

#include <string.h>

void hpc_perf_examples_release(hpc_perf_examples *x)
{
    hpc_free(x->item);
    hpc_free(x->from);
    hpc_free(x->repository);
    hpc_buf_release(&x->names);
    hpc_map_free(x->there);
    *x = (hpc_perf_examples){0};
}

/* Where that name is in `names`, which has it once. */
static int name_of(size_t *at, hpc_perf_examples *x, const char *name)
{
    int rc = HPC_OK;
    for (*at = 0; *at < x->names.n; *at += strlen(x->names.data + *at) + 1)
        if (strcmp(x->names.data + *at, name) == 0) return HPC_OK;
    TRY(hpc_buf_add(&x->names, name, strlen(name) + 1));
out:
    return rc;
}

static int group_of(int64_t *group, hpc_perf_examples *x, size_t repository)
{
    int rc = HPC_OK;
    for (*group = 0; *group < x->groups; ++*group)
        if (x->repository[*group] == repository) return HPC_OK;
    TRY(hpc_grow(&x->repository, &x->groups_cap, x->groups + 1, sizeof *x->repository));
    x->repository[x->groups++] = repository;
out:
    return rc;
}

typedef struct key {
    hpc_git_id head;
    char pad[4];
    uint64_t repository, metric;
} key;

int hpc_perf_examples_add(hpc_perf_examples *x, const hpc_perf_example *e, const char *repository,
                          const char *metric, const hpc_git_id *base, const hpc_git_id *head)
{
    hpc_perf_origin from = {.base = *base, .head = *head};
    key k = {.head = *head};
    int64_t group;
    uint64_t was;
    int rc = HPC_OK;
    if (!x->there) x->there = hpc_map_create();
    if (!x->there) TRY(HPC_E_NOMEM);
    TRY(name_of(&from.repository, x, repository));
    TRY(name_of(&from.metric, x, metric));
    k.repository = from.repository;
    k.metric = from.metric;
    if (hpc_map_get(x->there, &k, sizeof k, &was)) {
        x->again_n++;
        return 0;
    }
    TRY(group_of(&group, x, from.repository));
    TRY(hpc_grow(&x->item, &x->cap, x->n + 1, sizeof *x->item));
    TRY(hpc_grow(&x->from, &x->from_cap, x->n + 1, sizeof *x->from));
    TRY(hpc_map_put(x->there, &k, sizeof k, (uint64_t)x->n));
    x->item[x->n] = *e;
    for (int f = 0; f < HPC_PERF_FEATURES; f++)
        x->item[x->n].x.value[f] = (double)(float)e->x.value[f];
    x->item[x->n].group = group;
    x->from[x->n++] = from;
    rc = 1;
out:
    return rc;
}
