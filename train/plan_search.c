/*
 * plan_search.c: the simulation of a training plan on a machine, and the search for the fastest
 * plan that fits.
 */
#include "train/plan_search.h"

#include <stdlib.h>

#include "train/plan.h"

typedef struct search {
    const hpc_plan_question *q;
    hpc_step_plan *plan;
    int64_t n, cap;
} search;

static int simulate_rank(hpc_step_plan *r, hpc_plan_step *s, const hpc_plan_question *q, bool place)
{
    int coord[HPC_AXIS_N] = {0}, rc = HPC_OK;
    if (hpc_grid_size(&r->parallel.grid) > 1)
        TRY(hpc_step_shard(&s->io, s->serial, &s->parallel, coord));
    if (s->offload > 0)
        TRY(hpc_step_offload(&(hpc_offload_options){.bucket = s->offload}, &s->io, s->serial));
    TRY(hpc_simulate(&r->s, q->machine, s->serial, &s->io, &r->parallel.grid, coord,
                     r->accumulate));
    if (place) TRY(hpc_step_memory_of(&r->memory, s->serial, &s->io, q->model, q->device, 1));
out:
    return rc;
}

static int simulate_stages(hpc_step_plan *r, const hpc_plan_step *s, const hpc_plan_question *q,
                           bool place)
{
    hpc_step_ranks *ranks = NULL;
    int rank, rc;
    TRY(hpc_simulate_stages(&r->s, q->machine, s->serial, &s->io, &s->parallel, r->accumulate,
                            s->offload));
    if (!place) goto out;
    ranks = hpc_alloc(1, sizeof *ranks);
    if (!ranks) TRY(HPC_E_NOMEM);
    TRY(hpc_step_ranks_init(ranks, s->serial, &s->io, &s->parallel, 32));
    ranks->microbatches = r->accumulate;
    ranks->offload = s->offload;
    TRY(hpc_step_memory_most(&r->memory, &rank, ranks, q->model, q->device));
out:
    if (ranks) hpc_step_ranks_release(ranks);
    hpc_free(ranks);
    return rc;
}

int hpc_plan_simulate(hpc_step_plan *r, const hpc_plan_question *q, bool place)
{
    hpc_plan_step s = {.serial = NULL};
    int rc;
    int64_t rows = q->sequences / r->accumulate;
    if (q->sequences % r->accumulate)
        return hpc_fail(HPC_E_ARG, "--sequences %lld is not a multiple of --accumulate %lld",
                        (long long)q->sequences, (long long)r->accumulate);
    TRY(q->emit(&s, &r->parallel, r->accumulate, rows, q->user));
    TRY(s.io.stage.chunks > 0 ? simulate_stages(r, &s, q, place) : simulate_rank(r, &s, q, place));
    r->placed = place;
    r->fits = place && r->memory.all <= q->machine->memory;
out:
    hpc_plan_release(&s);
    return rc;
}

void hpc_plan_release(hpc_plan_step *s)
{
    hpc_program_free(s->serial);
    s->serial = NULL;
}

/* ---- the search ----------------------------------------------------------------------------- */

static int faster(const void *a, const void *b)
{
    double x = ((const hpc_step_plan *)a)->s.step_s, y = ((const hpc_step_plan *)b)->s.step_s;
    return (x > y) - (x < y);
}

/* Adds a plan, unless training rejects it. */
static int add_plan(search *t, const hpc_parallel *q, int64_t accumulate)
{
    int64_t all = t->q->sequences;
    int rc;
    if (all % accumulate != 0) return HPC_OK;
    if (hpc_parallel_check(q, t->q->model, all / accumulate, t->q->length) < 0) {
        hpc_error_clear();
        return HPC_OK;
    }
    TRY(hpc_grow(&t->plan, &t->cap, t->n + 1, sizeof *t->plan));
    t->plan[t->n] = (hpc_step_plan){.parallel = *q, .accumulate = accumulate};
    TRY(hpc_plan_simulate(&t->plan[t->n], t->q, false));
    t->n++;
out:
    return rc;
}

static int try_plan(search *t, const int n[4])
{
    hpc_parallel q = t->q->parallel;
    q.grid.extent[HPC_AXIS_DATA] = n[0], q.grid.extent[HPC_AXIS_DEPTH] = n[1];
    q.grid.extent[HPC_AXIS_ROW] = n[2], q.grid.extent[HPC_AXIS_COL] = n[3];
    return add_plan(t, &q, 1);
}

static int try_all(search *t)
{
    int devices = (int)t->q->ranks, n[4], rc = HPC_OK;
    for (n[2] = 1; n[2] <= devices; n[2]++)
        for (n[3] = 1; devices % n[2] == 0 && n[2] * n[3] <= devices; n[3]++)
            for (n[1] = 1; devices % (n[2] * n[3]) == 0 && n[1] * n[2] * n[3] <= devices; n[1]++) {
                if (devices % (n[1] * n[2] * n[3]) != 0) continue;
                n[0] = devices / (n[1] * n[2] * n[3]);
                TRY(try_plan(t, n));
            }
    if (t->n == 0)
        TRY(hpc_fail(
            HPC_E_ARG,
            "no grid of %d ranks divides both %lld sequences and the heads and widths of the model",
            devices, (long long)t->q->sequences));
out:
    return rc;
}

/* Adds plans that need less memory than plan k, which does not fit, and at least as much time: more
 * microbatches, as many as may make it fit, and a plan without overlap. */
static int add_smaller(search *t, int64_t k)
{
    hpc_parallel q = t->plan[k].parallel;
    const hpc_step_memory *m = &t->plan[k].memory;
    int64_t accumulate = t->plan[k].accumulate, times = 2;
    double left = t->q->machine->memory - (m->all - m->activations);
    int rc = HPC_OK;
    if (left <= 0) return rc;
    if (!q.overlap && t->q->parallel.overlap) return rc; /* its twin has been divided */
    while (m->activations / (double)times > left) times *= 2;
    TRY(add_plan(t, &q, times * accumulate));
    q.overlap = false;
    if (t->q->parallel.overlap) TRY(add_plan(t, &q, accumulate));
out:
    return rc;
}

/* Keeps the fastest plans that fit, in order. Smaller plans replace one that does not fit, so that
 * the memory of few plans is computed. */
static int keep_best(search *t)
{
    int64_t kept = 0;
    int rc = HPC_OK;
    for (int64_t k = 0; k < t->n && kept < t->q->top; k++) {
        qsort(t->plan + k, (size_t)(t->n - k), sizeof *t->plan, faster);
        TRY(hpc_plan_simulate(&t->plan[k], t->q, true));
        if (t->plan[k].fits)
            t->plan[kept++] = t->plan[k];
        else
            TRY(add_smaller(t, k));
    }
    t->n = kept;
out:
    return rc;
}

int hpc_plan_search(hpc_step_plan **out, int64_t *n, const hpc_plan_question *q)
{
    search t = {.q = q};
    int rc;
    *out = NULL;
    *n = 0;
    TRY(try_all(&t));
    TRY(keep_best(&t));
    *out = t.plan;
    *n = t.n;
    t.plan = NULL;
out:
    hpc_free(t.plan);
    return rc;
}
