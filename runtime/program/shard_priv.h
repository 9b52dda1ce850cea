/*
 * shard_priv.h: internals of hpc_shard: its state, and conversions between layouts.
 */
#ifndef HPC_SHARD_PRIV_H
#define HPC_SHARD_PRIV_H

#include "runtime/program/priv.h"

typedef struct converted { /* so that a value is reduced or gathered once */
    hpc_value from, to, guard;
    int32_t version;
    int axis;
} converted;

typedef struct sharder {
    hpc_program *p;
    const hpc_grid_shape *shape;
    const int *coord;
    hpc_axes staged;    /* as in hpc_shard_options */
    hpc_type *global;   /* types as they were, by value */
    int64_t global_n;   /* values that there were; others are conversions' */
    bool *adopts;       /* accumulators that have no layout of their own yet */
    int32_t *reads;     /* by value: how many instructions read it */
    hpc_value *instead; /* by value: what replaces it as an operand */
    converted *done;
    int64_t done_n, done_cap;
} sharder;

int shard_extent(const sharder *w, int axis);
/* Replaces *v by the value in the layout `want`, on axes with more than one rank. Inserts
 * collectives into the current segment, with the current tags; reuses earlier conversions. */
int shard_convert(sharder *w, hpc_value *v, const int8_t want[HPC_AXIS_N]);
/* x gathered over the axes on which it is split and `whole`, state, is not, into that. */
int shard_gather_into(sharder *w, hpc_value whole, hpc_value x);
/* Makes the extents of v's type *t those of the rank. */
int shard_set_local(const sharder *w, hpc_value v, hpc_type *t);
/* State for gathered copies of what axes of `keep` split; a segment that gathers them
 * (shard_keep.c). */
int shard_keep_all(sharder *w, hpc_axes keep);
int shard_gather_all(sharder *w, hpc_shard_options *o);
/* A segment begins: what earlier ones have converted is converted again, unless it lasts. */
void shard_forget(sharder *w);

#endif
