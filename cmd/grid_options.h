/*
 * grid_options.h: the options that say on which ranks a step runs and how they
 * talk, shared by the commands that train, show, prove and simulate one.
 */
#ifndef HPC_CMD_GRID_OPTIONS_H
#define HPC_CMD_GRID_OPTIONS_H

#include <string.h>

#include "train/train.h"

typedef struct grid_options {
    const char *grid, *pipe_schedule, *pipe_vocab;
    int64_t zero, ahead, bucket_kib, pipe_chunks, pipe_limit;
    bool keep_depth, no_overlap, overdecompose, sequence;
} grid_options;

/* All but the grid. */
static inline hpc_parallel parallel_of(const grid_options *g)
{
    hpc_pipe pipe = {.chunks = (int)g->pipe_chunks, .limit = (int)g->pipe_limit};
    while (strcmp(hpc_pipe_schedule_names[pipe.schedule], g->pipe_schedule) != 0) pipe.schedule++;
    while (strcmp(hpc_pipe_vocab_names[pipe.vocab], g->pipe_vocab) != 0) pipe.vocab++;
    return (hpc_parallel){.pipe = pipe,
                          .zero = (int)g->zero,
                          .keep_depth = g->keep_depth,
                          .overlap = !g->no_overlap,
                          .halves = g->overdecompose,
                          .sequence = g->sequence,
                          .ahead = (int)g->ahead,
                          .bucket_bytes = (size_t)g->bucket_kib << 10};
}

/* Rows for an option table whose struct holds a grid_options at `base`; ranks: the help text for
 * ranks. */
#define GRID_OPTIONS(base, ranks)                                                                  \
    {.name = "grid",                                                                               \
     .kind = HPC_TEXT,                                                                             \
     .offset = (base) + offsetof(grid_options, grid),                                              \
     .fallback = "",                                                                               \
     .argument = "AXIS=N,...",                                                                     \
     .help = "Ranks along each axis. data and depth split rows; row splits heads, the MLP and "    \
             "matrices; col splits the width and matrices; pipe splits the blocks into stages, "   \
             "through which microbatches (--accumulate) pass." ranks},                             \
        {.name = "pipe-schedule",                                                                  \
         .kind = HPC_CHOICE,                                                                       \
         .offset = (base) + offsetof(grid_options, pipe_schedule),                                 \
         .fallback = "auto",                                                                       \
         .argument = "NAME",                                                                       \
         .choices = hpc_pipe_schedule_names,                                                       \
         .help = "Order of microbatches in a pipeline: all forwards first (gpipe), alternating "   \
                 "(1f1b), with several stages on each rank (interleaved), or as messages arrive "  \
                 "(arrival). All give the same gradients. auto: 1f1b."},                           \
        {.name = "pipe-chunks",                                                                    \
         .kind = HPC_INT,                                                                          \
         .offset = (base) + offsetof(grid_options, pipe_chunks),                                   \
         .fallback = "0",                                                                          \
         .argument = "N",                                                                          \
         .most = HPC_STAGES,                                                                       \
         .help = "Stages on each rank of a pipeline; 0: 1, or 2 with interleaved."},               \
        {.name = "pipe-limit",                                                                     \
         .kind = HPC_INT,                                                                          \
         .offset = (base) + offsetof(grid_options, pipe_limit),                                    \
         .fallback = "0",                                                                          \
         .argument = "N",                                                                          \
         .most = 65536,                                                                            \
         .help = "Microbatches in flight with --pipe-schedule arrival; 0: the ranks along pipe."}, \
        {.name = "pipe-vocab",                                                                     \
         .kind = HPC_CHOICE,                                                                       \
         .offset = (base) + offsetof(grid_options, pipe_vocab),                                    \
         .fallback = "ends",                                                                       \
         .argument = "NAME",                                                                       \
         .choices = hpc_pipe_vocab_names,                                                          \
         .help = "Embedding and head of a pipeline: on the first and the last stage (ends), or "   \
                 "with a part of the vocabulary on each rank (interlaced; gpipe and 1f1b)."},      \
        {.name = "zero",                                                                           \
         .kind = HPC_INT,                                                                          \
         .offset = (base) + offsetof(grid_options, zero),                                          \
         .fallback = "0",                                                                          \
         .argument = "N",                                                                          \
         .most = 3,                                                                                \
         .help = "State to shard over the ranks along data: 1 the optimizer's state, 2 also "      \
                 "gradients, 3 also parameters."},                                                 \
        {.name = "keep-depth",                                                                     \
         .kind = HPC_FLAG,                                                                         \
         .offset = (base) + offsetof(grid_options, keep_depth),                                    \
         .help = "Keep parameters that are sharded over depth gathered between uses."},            \
        {.name = "no-overlap",                                                                     \
         .kind = HPC_FLAG,                                                                         \
         .offset = (base) + offsetof(grid_options, no_overlap),                                    \
         .help = "Do not overlap communication with computation: the same bits, with less memory " \
                 "and more time."},                                                                \
        {.name = "ahead",                                                                          \
         .kind = HPC_INT,                                                                          \
         .offset = (base) + offsetof(grid_options, ahead),                                         \
         .fallback = "1",                                                                          \
         .argument = "N",                                                                          \
         .most = 1000,                                                                             \
         .help = "Number of blocks in advance at which the all-gather of a block's parameters "    \
                 "starts."},                                                                       \
        {.name = "overdecompose",                                                                  \
         .kind = HPC_FLAG,                                                                         \
         .offset = (base) + offsetof(grid_options, overdecompose),                                 \
         .help = "Split the rows of a rank into two parts, so that the row reductions of one "     \
                 "overlap with the computation of the other. The traffic stays the same, with "    \
                 "twice as many messages."},                                                       \
        {.name = "sequence",                                                                       \
         .kind = HPC_FLAG,                                                                         \
         .offset = (base) + offsetof(grid_options, sequence),                                      \
         .help = "Sequence parallelism: split norms, residual additions and dropout along row by " \
                 "tokens, up to the next matrix product. Saves memory."},                          \
    {                                                                                              \
        .name = "bucket-kib", .kind = HPC_INT,                                                     \
        .offset = (base) + offsetof(grid_options, bucket_kib), .fallback = "1024",                 \
        .argument = "N", .most = 1 << 21,                                                          \
        .help = "Size of the buckets in which gradients are reduced over ranks; 0: reduce each "   \
                "gradient separately."                                                             \
    }

#endif
