/*
 * fit.c: memory of a run with its options; finds the least recomputation that fits in a memory
 * budget, and offloads optimizer state where recomputation alone does not suffice.
 */
#include "train/run.h"

int hpc_trainer_bytes(double *bytes, hpc_trainer_options *o)
{
    hpc_trainer *t = NULL;
    int64_t mine = 0, most = 0;
    int rc = hpc_trainer_open(&t, o, true);
    if (rc >= 0) {
        hpc_trainer_plan p = hpc_trainer_about(t);
        mine = most = (int64_t)(p.parameter_bytes + p.gradient_bytes + p.optimizer_bytes +
                                p.activation_bytes);
        hpc_trainer_close(t);
    }
    if (o->grid) {
        hpc_link *world = hpc_grid_world(o->grid);
        TRY(hpc_link_agree(world, rc));
        TRY(hpc_link_run(world, &(hpc_comm){.kind = HPC_ALL_REDUCE,
                                            .dtype = HPC_I64,
                                            .reduce = HPC_COMM_MAX,
                                            .n = 1,
                                            .send = &mine,
                                            .recv = &most}));
    }
    *bytes = (double)most;
out:
    return rc;
}

static int needs(double *bytes, hpc_trainer_options *o, int policy, int blocks)
{
    o->step.recompute = policy;
    o->step.recompute_blocks = blocks;
    return hpc_trainer_bytes(bytes, o);
}

/* Tries policies from the cheapest to the most saving, each with as few blocks as suffice. *bytes:
 * of the last one tried, above the budget if none suffices. */
static int recompute(double *bytes, hpc_trainer_options *o, double budget)
{
    int rc, least = 1, most = (int)o->model.layers;
    TRY(needs(bytes, o, HPC_RECOMPUTE_NONE, 0));
    if (*bytes <= budget) goto out;
    TRY(needs(bytes, o, HPC_RECOMPUTE_SELECTIVE, 0));
    if (*bytes <= budget) goto out;
    TRY(needs(bytes, o, HPC_RECOMPUTE_BLOCK, most));
    if (*bytes > budget) goto out;
    while (least < most) {
        int middle = (least + most) / 2;
        double half;
        TRY(needs(&half, o, HPC_RECOMPUTE_BLOCK, middle));
        if (half <= budget)
            most = middle;
        else
            least = middle + 1;
    }
    o->step.recompute_blocks = most;
out:
    return rc;
}

/* Where the step has no state to offload, or the device cannot, the policy remains AUTO. */
static int offload(double *bytes, hpc_trainer_options *o, double budget)
{
    o->offload.policy = HPC_OFFLOAD_OPTIMIZER;
    int rc = recompute(bytes, o, budget);
    if (rc != HPC_E_ARG && rc != HPC_E_UNSUPPORTED) return rc;
    hpc_error_clear();
    o->offload.policy = HPC_OFFLOAD_AUTO;
    return HPC_OK;
}

int hpc_trainer_fit(hpc_trainer_options *o, double budget)
{
    double bytes;
    int rc;
    TRY(recompute(&bytes, o, budget));
    if (bytes > budget && o->offload.policy == HPC_OFFLOAD_AUTO) TRY(offload(&bytes, o, budget));
    if (bytes > budget)
        TRY(hpc_fail(
            HPC_E_ARG,
            "%s needs %.3g GiB with every block recomputed%s, memory allows %.3g: use fewer "
            "rows, a shorter length%s or a smaller model",
            o->grid ? "a rank" : "the run", bytes / 0x1p30,
            o->offload.policy == HPC_OFFLOAD_OPTIMIZER ? " and optimizer state offloaded" : "",
            budget / 0x1p30, o->grid ? ", more ranks" : ""));
out:
    return rc;
}
