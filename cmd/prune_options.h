/*
 * prune_options.h: the options of pruned training, for the table of who has them.
 */
#ifndef HPC_CMD_PRUNE_OPTIONS_H
#define HPC_CMD_PRUNE_OPTIONS_H

#include <stddef.h>

static const char *const prune_overs[] = {"each", "all", NULL};

/* type: the struct that has them. */
#define HPC_CMD_PRUNE(type)                                                                        \
    {.name = "prune",                                                                              \
     .kind = HPC_REAL,                                                                             \
     .offset = offsetof(type, prune),                                                              \
     .fallback = "-1",                                                                             \
     .argument = "P",                                                                              \
     .help = "Share of the elements of the blocks' matrices that become zero for good, those of "  \
             "the least magnitude; -1: none. What is left has all of the state."},                 \
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
