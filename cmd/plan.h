/*
 * plan.h: what `plan check` and `plan simulate`, and of pruning `plan show`, share: the step that
 * is asked about, and its options.
 */
#ifndef HPC_CMD_PLAN_H
#define HPC_CMD_PLAN_H

#include <limits.h>

#include "cmd/grid_options.h"
#include "cmd/model_options.h"
#include "cmd/prune_options.h"
#include "train/plan_search.h"

typedef struct plan_ask {
    model_options model;
    grid_options ranks;
    prune_options pruned;
    const char *shape, *recompute, *optimizer;
    int64_t recompute_blocks, accumulate, offload_bucket;
} plan_ask;

/* --shape's model, or that of --hidden and so on; the grid's --grid. */
int hpc_cmd_plan_model(hpc_model_config *out, const plan_ask *a);
int hpc_cmd_plan_parallel(hpc_parallel *out, const plan_ask *a);
/* sequences: of a microbatch, of all ranks. */
int hpc_cmd_plan_emit(hpc_plan_step *out, const plan_ask *a, const hpc_model_config *c,
                      const hpc_parallel *q, int64_t sequences);
/* --prune and --gradients, of a step of that model; *masks: what s refers to until it is emitted,
 * NULL: nothing is pruned. */
int hpc_cmd_plan_prune(hpc_masks **masks, hpc_step_options *s, const prune_options *a,
                       const hpc_model_config *c, const hpc_optimizer_config *o,
                       const hpc_parallel *q);

extern const char *const hpc_cmd_plan_policies[]; /* by hpc_recompute_policy */

/* Where a struct has the number of elements of a bucket of offloaded state. */
#define PLAN_OFFLOAD(at)                                                                           \
    {                                                                                              \
        .name = "offload-bucket", .kind = HPC_INT, .offset = (at), .fallback = "0",                \
        .argument = "N", .most = INT_MAX,                                                          \
        .help = "Keep moments and master parameters in an outside memory (a file on CPUs), which " \
                "updates use in buckets of N elements; 0: in memory."                              \
    }

/* Rows for an option table whose struct holds a plan_ask at `base`. */
#define PLAN_OPTIONS(base)                                                                         \
    MODEL_OPTIONS((base) + offsetof(plan_ask, model)),                                             \
        {.name = "shape",                                                                          \
         .kind = HPC_TEXT,                                                                         \
         .offset = (base) + offsetof(plan_ask, shape),                                             \
         .argument = "NAME|DIR",                                                                   \
         .help = "Known model instead of the sizes above (gpt-5b to gpt-640b, gpt3-175b, "         \
                 "llama-7b), or a model directory."},                                              \
        GRID_OPTIONS((base) + offsetof(plan_ask, ranks), ""),                                      \
        PRUNE_OPTIONS((base) + offsetof(plan_ask, pruned)),                                        \
        {.name = "accumulate",                                                                     \
         .kind = HPC_INT,                                                                          \
         .offset = (base) + offsetof(plan_ask, accumulate),                                        \
         .fallback = "1",                                                                          \
         .argument = "N",                                                                          \
         .least = 1,                                                                               \
         .most = 1e6,                                                                              \
         .help = "Microbatches per step."},                                                        \
        {.name = "optimizer",                                                                      \
         .kind = HPC_CHOICE,                                                                       \
         .offset = (base) + offsetof(plan_ask, optimizer),                                         \
         .fallback = "adamw",                                                                      \
         .argument = "NAME",                                                                       \
         .choices = hpc_optimizer_names,                                                           \
         .help = "Optimizer of the update and the refresh."},                                      \
        {.name = "recompute",                                                                      \
         .kind = HPC_CHOICE,                                                                       \
         .offset = (base) + offsetof(plan_ask, recompute),                                         \
         .fallback = "none",                                                                       \
         .argument = "POLICY",                                                                     \
         .choices = hpc_cmd_plan_policies,                                                         \
         .help = "Values that the backward pass recomputes instead of storing: all of a block "    \
                 "(block), or only cheap ones (selective)."},                                      \
        PLAN_OFFLOAD((base) + offsetof(plan_ask, offload_bucket)),                                 \
    {                                                                                              \
        .name = "recompute-blocks", .kind = HPC_INT,                                               \
        .offset = (base) + offsetof(plan_ask, recompute_blocks), .fallback = "0", .argument = "N", \
        .most = 32767, .help = "Recompute only in the first N blocks; 0: in all."                  \
    }

#endif
