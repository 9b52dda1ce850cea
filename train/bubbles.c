/*
 * bubbles.c: time in which the ranks of a pipeline had no task, by rank and cause, collected on the
 * first rank as RUN/bubbles.csv.
 */
#include <limits.h>
#include <stdio.h>

#include "train/run_priv.h"

enum { STEPS, STEP_NS, ACTIVATIONS, GRADIENTS, EXPOSED, BUBBLE_N };

static void own_times(int64_t out[BUBBLE_N], const hpc_trainer *t)
{
    out[STEPS] = t->stepped;
    out[STEP_NS] = t->stepped_ns;
    out[ACTIVATIONS] = hpc_exec_idle(t->exec, HPC_FORWARD);
    out[GRADIENTS] = hpc_exec_idle(t->exec, HPC_BACKWARD);
    out[EXPOSED] = hpc_exec_exposed(t->exec);
}

static void put_rank(hpc_buf *out, int rank, const int64_t x[BUBBLE_N])
{
    hpc_buf_printf(out, "%d,%lld", rank, (long long)x[STEPS]);
    for (int k = STEP_NS; k < BUBBLE_N; k++)
        hpc_buf_printf(out, ",%.3f", (double)x[k] * 1e-6 / (double)x[STEPS]);
    hpc_buf_text(out, "\n");
}

static int collect(hpc_buf *out, const hpc_trainer *t)
{
    int64_t own[BUBBLE_N], *all = NULL;
    int rc = HPC_OK;
    if (t->io.stage.chunks == 0 || t->stepped == 0) return HPC_OK;
    hpc_link *world = hpc_grid_world(t->o.grid);
    int ranks = hpc_link_size(world);
    own_times(own, t);
    all = hpc_alloc((size_t)ranks, sizeof own);
    if (!all) TRY(HPC_E_NOMEM);
    TRY(hpc_link_run(
        world,
        &(hpc_comm){
            .kind = HPC_ALL_GATHER, .dtype = HPC_I64, .n = BUBBLE_N, .send = own, .recv = all}));
    if (!trainer_leads(t)) goto out;
    hpc_buf_text(out, "rank,steps,step_ms,activations_ms,gradients_ms,exposed_ms\n");
    for (int r = 0; r < ranks; r++) put_rank(out, r, all + (ptrdiff_t)r * BUBBLE_N);
    rc = out->failed ? HPC_E_NOMEM : HPC_OK;
out:
    hpc_free(all);
    return rc;
}

int hpc_trainer_save_bubbles(const hpc_trainer *t, const char *run)
{
    char path[PATH_MAX];
    hpc_buf text = {0};
    int rc;
    TRY(collect(&text, t));
    if (text.n == 0) goto out;
    if (snprintf(path, sizeof path, "%s/bubbles.csv", run) >= PATH_MAX)
        TRY(hpc_fail(HPC_E_ARG, "%s: the path is too long", run));
    TRY(hpc_file_save(path, text.data, text.n));
out:
    hpc_buf_release(&text);
    return rc;
}
