/*
 * prune_options.h: the options of pruned training, for the table of who has them.
 */
#ifndef HPC_CMD_PRUNE_OPTIONS_H
#define HPC_CMD_PRUNE_OPTIONS_H

#include <stddef.h>

#include "train/train.h"

static const char *const prune_overs[] = {"each", "all", NULL};

/* Options that define a pruned step, shared with plans. */
typedef struct prune_options {
    double prune;
    const char *gradients;
} prune_options;
#define PRUNE_OPTIONS(base)                                                                        \
    {.name = "gradients",                                                                          \
     .kind = HPC_CHOICE,                                                                           \
     .offset = (base) + offsetof(prune_options, gradients),                                        \
     .fallback = "auto",                                                                           \
     .choices = hpc_gradients_names,                                                               \
     .help = "Type of gradients in reductions over ranks (with --zero 0 or 1) and in updates. "    \
             "auto: f32, but bf16 for a pruned model with --dtype bf16."},                         \
    {                                                                                              \
        .name = "prune", .kind = HPC_REAL, .offset = (base) + offsetof(prune_options, prune),      \
        .fallback = "-1", .argument = "P",                                                         \
        .help =                                                                                    \
            "Share of the elements of the blocks' matrices to prune permanently, smallest "        \
            "magnitude first; -1: none. Optimizer state is kept for the remaining elements only."  \
    }

/* And those of a run; type: the struct that has them. */
#define HPC_CMD_PRUNE(type)                                                                        \
    PRUNE_OPTIONS(offsetof(type, pruned)),                                                         \
        {.name = "prune-after",                                                                    \
         .kind = HPC_TEXT,                                                                         \
         .offset = offsetof(type, prune_after),                                                    \
         .fallback = "early-bird",                                                                 \
         .argument = "STEPS|early-bird",                                                           \
         .help = "Step at which to prune. early-bird: as soon as masks computed some steps apart " \
                 "have agreed four times in a row."},                                              \
        {.name = "prune-every",                                                                    \
         .kind = HPC_INT,                                                                          \
         .offset = offsetof(type, prune_every),                                                    \
         .fallback = "100",                                                                        \
         .argument = "N",                                                                          \
         .least = 1,                                                                               \
         .most = 1e12,                                                                             \
         .help = "Steps between the masks that early-bird compares."},                             \
        {.name = "prune-distance",                                                                 \
         .kind = HPC_REAL,                                                                         \
         .offset = offsetof(type, prune_distance),                                                 \
         .fallback = "0.1",                                                                        \
         .argument = "D",                                                                          \
         .least = 0,                                                                               \
         .most = 1,                                                                                \
         .help = "Hamming distance up to which two masks agree; 1: always."},                      \
    {                                                                                              \
        .name = "prune-over", .kind = HPC_CHOICE, .offset = offsetof(type, prune_over),            \
        .fallback = "each", .choices = prune_overs,                                                \
        .help = "Apply --prune to each matrix separately, or to all together; all empties "        \
                "matrices with small initial values (o and down)."                                 \
    }

#endif
