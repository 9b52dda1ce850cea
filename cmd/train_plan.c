/*
 * train_plan.c: the plan file of `train --plan`, in place of the options that it decides, and the
 * checks of --offload with it.
 */
#include <string.h>

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

static bool has_bucket(const train_options *o)
{
    return o->offload_bucket != (int64_t)hpc_cmd_train_default("offload-bucket");
}

/* Options are compared with the plan, which decides; so resuming with another plan works. */
static int check_plan(const hpc_train_plan *plan, const train_options *o)
{
    if (plan->offload < 0) return HPC_OK;
    const char *its = hpc_offload_names[plan->offload ? HPC_OFFLOAD_OPTIMIZER : HPC_OFFLOAD_NONE];
    if (strcmp(o->offload, "auto") != 0 && strcmp(o->offload, its) != 0)
        return hpc_fail(HPC_E_ARG,
                        "offload=%s, but the plan in %s has offload=%s: leave --offload out, or "
                        "make another plan",
                        o->offload, o->plan, its);
    if (plan->offload > 0 && has_bucket(o) && o->offload_bucket != plan->offload)
        return hpc_fail(HPC_E_ARG,
                        "offload-bucket=%lld, but the plan in %s has buckets of %lld elements: "
                        "leave --offload-bucket out, or make another plan",
                        (long long)o->offload_bucket, o->plan, (long long)plan->offload);
    return HPC_OK;
}

/* Options without effect, unless a resumed run repeats them from its record. */
static int check_offload(const hpc_train_plan *plan, const train_options *o)
{
    bool may =
        strcmp(o->offload, "optimizer") == 0 || (strcmp(o->offload, "auto") == 0 && o->memory > 0);
    if (plan && plan->offload >= 0) may = plan->offload > 0;
    if (may || o->resume || (!o->offload_dir && !has_bucket(o))) return HPC_OK;
    return hpc_fail(HPC_E_ARG,
                    "%s has no effect without offloading: use --offload optimizer, or --memory GIB "
                    "with --offload auto",
                    o->offload_dir ? "offload-dir" : "offload-bucket");
}

int hpc_cmd_train_plan(hpc_train_plan **plan, train_options *o, hpc_arena *a)
{
    static const char *const policies[] = {"none", "selective", "block"};
    *plan = NULL;
    if (!o->plan) return check_offload(NULL, o);
    int rc = hpc_plan_read(plan, o->plan);
    if (rc >= 0) rc = check_plan(*plan, o);
    if (rc >= 0) rc = check_offload(*plan, o);
    if (rc < 0) return rc;
    const hpc_parallel *q = &(*plan)->parallel;
    o->ranks = (grid_options){.grid = grid_text(a, &q->grid),
                              .pipe_schedule = hpc_pipe_schedule_names[q->pipe.schedule],
                              .pipe_vocab = hpc_pipe_vocab_names[q->pipe.vocab],
                              .pipe_chunks = q->pipe.chunks,
                              .pipe_limit = q->pipe.limit,
                              .zero = q->zero,
                              .keep_depth = q->keep_depth,
                              .no_overlap = !q->overlap,
                              .overdecompose = q->halves,
                              .sequence = q->sequence,
                              .ahead = q->ahead,
                              .bucket_kib = (int64_t)(q->bucket_bytes >> 10)};
    o->recompute = policies[(*plan)->recompute];
    o->accumulate = (*plan)->microbatches;
    return o->ranks.grid ? HPC_OK : HPC_E_NOMEM;
}
