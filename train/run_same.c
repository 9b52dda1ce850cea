/*
 * run_same.c: checks that the ranks of a run read the same data and have equal trainers.
 */
#include <inttypes.h>
#include <stdio.h>

#include "train/run_priv.h"

/* Checks that all ranks read the same data: nodes may have different files of one name. */
int run_same_data(const hpc_loader *data, const hpc_loader *validation, hpc_grid *grid)
{
    hpc_buf lines = {0};
    int rc;
    hpc_buf_printf(&lines, "data=%lld tokens, hash %016" PRIx64 "\n",
                   (long long)hpc_loader_tokens(data), hpc_loader_hash(data));
    if (validation)
        hpc_buf_printf(&lines, "validation=%lld tokens, hash %016" PRIx64 "\n",
                       (long long)hpc_loader_tokens(validation), hpc_loader_hash(validation));
    TRY(lines.failed);
    TRY(hpc_link_same(hpc_grid_world(grid), lines.data, "use the same files on all ranks"));
out:
    hpc_buf_release(&lines);
    return rc;
}

/* Replicas stay equal only if they start equal and compute equally. */
int run_same_trainer(const hpc_trainer *t)
{
    hpc_device_info d = hpc_device_about(t->device);
    char lines[200];
    snprintf(lines, sizeof lines, "backend=%s\nisa=%s\n", d.backend, d.isa);
    hpc_link *world = hpc_grid_world(t->o.grid);
    int rc = hpc_link_same(world, lines, "use the same instruction set on all ranks, with --isa");
    if (rc < 0) return rc;
    snprintf(lines, sizeof lines, "parameters=hash %016" PRIx64 "\n", t->begun);
    return hpc_link_same(world, lines, "use the same --init and the same libraries on all ranks");
}
