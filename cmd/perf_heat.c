/*
 * perf_heat.c: where the time of a commit is, by a performance history.
 */
#include "cmd/perf_heat.h"

int perf_heat_open(perf_heat *h, perf_db *d)
{
    return perf_profiles_load(&h->profiles, d);
}

void perf_heat_close(perf_heat *h)
{
    perf_profiles_free(h->profiles);
    hpc_free(h->hot);
    *h = (perf_heat){0};
}

int perf_heat_of(const hpc_perf_hot **hot, int64_t *n, perf_heat *h, const char *commit,
                 int64_t time)
{
    const perf_share *share = perf_profiles_of(n, h->profiles, commit, time);
    int rc = HPC_OK;
    *hot = NULL;
    if (!share) return rc;
    TRY(hpc_grow(&h->hot, &h->cap, *n + 1, sizeof *h->hot));
    for (int64_t k = 0; k < *n; k++) h->hot[k] = (hpc_perf_hot){share[k].name, share[k].share};
    *hot = h->hot;
out:
    return rc;
}
