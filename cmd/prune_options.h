/*
 * prune_options.h: the options of pruned training, for the table of who has them.
 */
#ifndef HPC_CMD_PRUNE_OPTIONS_H
#define HPC_CMD_PRUNE_OPTIONS_H

#include <stddef.h>

#include "train/train.h"

static const char *const prune_overs[] = {"each", "all", NULL};

/* Those that say what a pruned step is, for plans as well. */
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
     .help = "As which ranks sum gradients, with --zero 0 or 1, and updates read them; auto: "     \
             "f32, but bf16 of a pruned model with --dtype bf16."},                                \
    {                                                                                              \
        .name = "prune", .kind = HPC_REAL, .offset = (base) + offsetof(prune_options, prune),      \
        .fallback = "-1", .argument = "P",                                                         \
        .help = "Share of the elements of the blocks' matrices that become zero for good, those "  \
                "of the least magnitude; -1: none. What is left has all of the state."             \
    }

/* And those of a run; type: the struct that has them. */
#define HPC_CMD_PRUNE(type)                                                                        \
    PRUNE_OPTIONS(offsetof(type, pruned)),                                                         \
        {.name = "prune-after",                                                                    \
         .kind = HPC_TEXT,                                                                         \
         .offset = offsetof(type, prune_after),                                                    \
         .fallback = "early-bird",                                                                 \
         .argument = "STEPS|early-bird",                                                           \
         .help = "When; early-bird: as soon as masks drawn some steps apart have agreed four "     \
                 "times on end."},                                                                 \
        {.name = "prune-every",                                                                    \
         .kind = HPC_INT,                                                                          \
         .offset = offsetof(type, prune_every),                                                    \
         .fallback = "100",                                                                        \
         .argument = "N",                                                                          \
         .least = 1,                                                                               \
         .most = 1e12,                                                                             \
         .help = "Steps between those masks."},                                                    \
        {.name = "prune-distance",                                                                 \
         .kind = HPC_REAL,                                                                         \
         .offset = offsetof(type, prune_distance),                                                 \
         .fallback = "0.1",                                                                        \
         .argument = "D",                                                                          \
         .least = 0,                                                                               \
         .most = 1,                                                                                \
         .help =                                                                                   \
             "Their Hamming distance up to which they agree; 1: they have nothing in common."},    \
    {                                                                                              \
        .name = "prune-over", .kind = HPC_CHOICE, .offset = offsetof(type, prune_over),            \
        .fallback = "each", .choices = prune_overs,                                                \
        .help =                                                                                    \
            "P is the share of each matrix, or of all together, which empties those that begin "   \
            "small (o and down)."                                                                  \
    }

#endif
