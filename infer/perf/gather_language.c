/*
 * Scores of a language model for the commits of a history, as features of examples.
 */
#include "infer/perf/gather_priv.h"

int gather_language_open(gather_language *t, const hpc_perf_gather_options *o,
                         const char *repository, int64_t first)
{
    t->first = first;
    return o->language ? o->language(&t->l, repository, o->user) : HPC_OK;
}

int gather_language_add(gather_language *t, const hpc_perf_change *c)
{
    int rc = HPC_OK;
    if (!t->l) return rc;
    TRY(hpc_perf_language_add(t->l, c));
    t->commits++;
out:
    return rc;
}

int gather_language_note(gather_language *t)
{
    int rc = HPC_OK;
    if (!t->l) return rc;
    TRY(hpc_grow(&t->commit, &t->cap, t->n + 1, sizeof *t->commit));
    t->commit[t->n++] = t->commits - 1;
out:
    return rc;
}

int gather_language_put(gather_language *t, hpc_perf_examples *x)
{
    int rc = HPC_OK;
    if (!t->l) return rc;
    hpc_assert(t->first + t->n == x->n);
    TRY(hpc_perf_language_run(t->l));
    for (int64_t k = 0; k < t->n; k++) {
        hpc_perf_language_result j;
        hpc_perf_language_result_of(&j, t->l, t->commit[k]);
        hpc_perf_language_put(&x->item[t->first + k].x, j.known ? j.logp : NULL);
    }
out:
    return rc;
}

void gather_language_close(gather_language *t)
{
    hpc_perf_language_close(t->l);
    hpc_free(t->commit);
    *t = (gather_language){0};
}
