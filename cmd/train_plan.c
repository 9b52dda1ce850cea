/*
 * train_plan.c: the plan file of `train --plan`, in place of the options that it decides.
 */
#include "cmd/cmd.h"
#include "cmd/train.h"
#include "train/plan.h"

/* "data=2,pipe=4" */
static char *grid_text(hpc_arena *a, const hpc_grid_shape *s)
{
    char *text = hpc_arena_text(a, "%s", "");
    for (int k = 0; text && k < HPC_AXIS_N; k++)
        if (s->extent[k] > 1)
            text = hpc_arena_text(a, "%s%s%s=%d", text, *text ? "," : "",
                                  hpc_axis_name((hpc_axis)k), s->extent[k]);
    return text;
}

int hpc_cmd_train_plan(hpc_train_plan **plan, train_options *o, hpc_arena *a)
{
    static const char *const policies[] = {"none", "selective", "block"};
    *plan = NULL;
    if (!o->plan) return HPC_OK;
    int rc = hpc_plan_read(plan, o->plan);
    if (rc < 0) return rc;
    const hpc_parallel *q = &(*plan)->parallel;
    o->ranks = (grid_options){.grid = grid_text(a, &q->grid),
                              .pipe_schedule = hpc_pipe_schedule_names[q->pipe.schedule],
                              .pipe_chunks = q->pipe.chunks,
                              .pipe_limit = q->pipe.limit,
                              .zero = q->zero,
                              .keep_depth = q->keep_depth,
                              .no_overlap = !q->overlap,
                              .overdecompose = q->halves,
                              .sequence = q->sequence,
                              .ahead = q->ahead,
                              .bucket_kib = (int64_t)(q->bucket_bytes >> 10)};
    o->offload = hpc_offload_names[(*plan)->offload ? HPC_OFFLOAD_OPTIMIZER : HPC_OFFLOAD_NONE];
    if ((*plan)->offload) o->offload_bucket = (*plan)->offload;
    o->recompute = policies[(*plan)->recompute];
    o->accumulate = (*plan)->microbatches;
    return o->ranks.grid ? HPC_OK : HPC_E_NOMEM;
}
