/*
 * stage.h: the pass that cuts a program into the stages of a pipeline.
 */
#ifndef HPC_PROGRAM_STAGE_H
#define HPC_PROGRAM_STAGE_H

#include "runtime/program/program.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Held by the rank at this coordinate; others of the axis have no memory for it. hpc_stage sets it,
 * for state. */
#define HPC_AT(coord) (-3 - (coord))
static inline int hpc_layout_at(int8_t layout) /* that coordinate, or -1 */
{
    return layout <= HPC_AT(0) ? HPC_AT(0) - layout : -1;
}

/* Cuts the program of a pipeline's ranks, after hpc_shard, into the program of one stage of blocks,
 * by tags.block. Segments of the phases forward and backward keep the instructions of this rank's
 * stages. Values that another rank needs are sent once they are computed. They are received at the
 * start of the segment that reads them, under the same value. Stage k runs on rank k % ranks,
 * as its chunk k / ranks; each chunk has segments of its own. In segments of later phases a rank
 * keeps the instructions on state that its stages use, and those that belong to no stage. State of
 * a single stage gets the layout HPC_AT. Trainable state of several stages needs a gradient that is
 * partial on the pipe axis; one rank adds a replicated value to state of partial sums.
 *
 * Interlaced: state of the vocabulary is split on the pipe axis, so all ranks run the instructions
 * that read or write it, together with the collectives between them. These shared instructions get
 * segments of their own: "embed" before the chunks of forward, "head" before those of backward and
 * "table", which adds the gradient of the embedding, after them. "head" needs the output of the
 * last stage, and "table" the gradient of the first stage's input: the rank that has the value
 * sends it to the others at the start of the segment. "embed" ends with a sum that the first stage
 * reads, and "head" with one that the last stage reads; no other rank reads anything that a shared
 * segment leaves. On those ranks it needs no memory of the microbatch, only its inputs. Segments of
 * forward that are not divided (the loss alone) hold shared instructions and those of the last
 * stage. All ranks must run shared segments in one order, which is static: hpc_plan_tasks.
 *
 * On entry hpc_shard has run with `staged` on the pipe axis; without `interlaced` no value is split
 * on it. HPC_E_SHAPE: more stages than blocks. HPC_E_UNSUPPORTED names a parameter of several
 * stages, a value that cannot be sent, or one that a shared segment cannot read. */
enum { HPC_STAGES = 64 };
typedef struct hpc_stage_options {
    int forward, backward; /* segments to be divided by chunks; out: where chunk 0 is now */
    int ranks, chunks, rank;
    bool interlaced;
    const int *first; /* [ranks * chunks]: first block of each stage, ascending, beginning with 0 */
    int *moved;       /* optional, out, [segments on entry]: the new index of each segment, or of
                         the first of its parts */
} hpc_stage_options;
int hpc_stage(hpc_program *p, hpc_stage_options *o);
static inline int hpc_stage_forward(const hpc_stage_options *o, int chunk)
{
    return o->forward + chunk;
}
static inline int hpc_stage_backward(const hpc_stage_options *o, int chunk)
{
    return o->backward - chunk;
}
/* Interlaced: the shared segments. */
static inline int hpc_stage_embed(const hpc_stage_options *o)
{
    return o->forward - 1;
}
static inline int hpc_stage_head(const hpc_stage_options *o)
{
    return o->backward - o->chunks;
}
static inline int hpc_stage_table(const hpc_stage_options *o)
{
    return o->backward + 1;
}
/* Divides the blocks into stages so that the longest stage is as short as possible. first:
 * [stages]. Costs are of the op table; instructions without block count for the first stage if no
 * block comes before them, else for the last; those on state that pipe splits count for none. */
int hpc_stage_balance(int *first, int stages, const hpc_program *p, int forward, int backward);

#ifdef __cplusplus
}
#endif
#endif
