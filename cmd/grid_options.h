/*
 * grid_options.h: the options that say on which ranks a step runs and how they
 * talk, shared by the commands that train, show, prove and simulate one.
 */
#ifndef HPC_CMD_GRID_OPTIONS_H
#define HPC_CMD_GRID_OPTIONS_H

#include "train/train.h"

typedef struct grid_options {
    const char *grid;
    int64_t zero, ahead, bucket_kib;
    bool keep_depth, no_overlap, overdecompose, sequence;
} grid_options;

/* All but the grid. */
static inline hpc_parallel parallel_of(const grid_options *g)
{
    return (hpc_parallel){.zero = (int)g->zero,
                          .keep_depth = g->keep_depth,
                          .overlap = !g->no_overlap,
                          .halves = g->overdecompose,
                          .sequence = g->sequence,
                          .ahead = (int)g->ahead,
                          .bucket_bytes = (size_t)g->bucket_kib << 10};
}

/* Rows for an option table whose struct holds a grid_options at `base`; ranks: what they are. */
#define GRID_OPTIONS(base, ranks)                                                                  \
    {.name = "grid",                                                                               \
     .kind = HPC_TEXT,                                                                             \
     .offset = (base) + offsetof(grid_options, grid),                                              \
     .fallback = "",                                                                               \
     .argument = "AXIS=N,...",                                                                     \
     .help = "Ranks along each axis: data and depth, which split rows, row, which splits heads, "  \
             "the MLP and matrices, and col, which splits the width and matrices." ranks},         \
        {.name = "zero",                                                                           \
         .kind = HPC_INT,                                                                          \
         .offset = (base) + offsetof(grid_options, zero),                                          \
         .fallback = "0",                                                                          \
         .argument = "N",                                                                          \
         .most = 3,                                                                                \
         .help = "What ranks along data share out: 1 the optimizer's state, 2 gradients too, 3 "   \
                 "parameters too."},                                                               \
        {.name = "keep-depth",                                                                     \
         .kind = HPC_FLAG,                                                                         \
         .offset = (base) + offsetof(grid_options, keep_depth),                                    \
         .help = "Keep parameters that depth shares out gathered between uses."},                  \
        {.name = "no-overlap",                                                                     \
         .kind = HPC_FLAG,                                                                         \
         .offset = (base) + offsetof(grid_options, no_overlap),                                    \
         .help = "Wait for communication where it stands, and hide none behind computing: the "    \
                 "same bits, in less memory and more time."},                                      \
        {.name = "ahead",                                                                          \
         .kind = HPC_INT,                                                                          \
         .offset = (base) + offsetof(grid_options, ahead),                                         \
         .fallback = "1",                                                                          \
         .argument = "N",                                                                          \
         .most = 1000,                                                                             \
         .help = "Blocks before its own at which the gathering of a block's parameters begins."},  \
        {.name = "overdecompose",                                                                  \
         .kind = HPC_FLAG,                                                                         \
         .offset = (base) + offsetof(grid_options, overdecompose),                                 \
         .help = "Take a rank's rows through in two halves, so that one computes while what row "  \
                 "sums of the other is under way: as many bytes, twice the messages."},            \
        {.name = "sequence",                                                                       \
         .kind = HPC_FLAG,                                                                         \
         .offset = (base) + offsetof(grid_options, sequence),                                      \
         .help = "Split what row sums by tokens, up to where the next matrices read it: norms, "   \
                 "residual additions and dropout on a share of the tokens, less memory."},         \
    {                                                                                              \
        .name = "bucket-kib", .kind = HPC_INT,                                                     \
        .offset = (base) + offsetof(grid_options, bucket_kib), .fallback = "1024",                 \
        .argument = "N", .most = 1 << 21,                                                          \
        .help = "Gradients are summed over ranks together, so many KiB at a time; 0: each alone."  \
    }

#endif
