/*
 * offload.h: state in an outside memory, which instructions use in buckets.
 */
#ifndef HPC_OFFLOAD_H
#define HPC_OFFLOAD_H

#include "runtime/program/program.h"

#ifdef __cplusplus
extern "C" {
#endif

/* State in the memory of other state, from an element on: an instruction that writes it writes that
 * part of `base`. */
hpc_value hpc_program_state_part(hpc_program *p, hpc_value base, int64_t element, hpc_type t);

/* Sets `outside` for each state, apart from scalars, that only element-wise instructions of a
 * segment use. Returns its bytes, or a code. */
int64_t hpc_offload_choose(hpc_program *p, int segment);

/* Replaces each element-wise instruction that uses state with `outside` set by a loop over buckets,
 * which fetches parts of that state into buffers, and stows what was written. The bits do not
 * change. Call it last. HPC_E_UNSUPPORTED: another instruction uses such state. HPC_E_SHAPE: so
 * small a bucket that its instructions would need much memory; the message names one that suffices.
 */
typedef struct hpc_offload_options {
    int64_t bucket;      /* elements; those of the largest state suffice */
    int64_t moved_bytes; /* out: between the memories, in a run of each segment */
    size_t buffer_bytes; /* out: of all buffers */
} hpc_offload_options;
int hpc_offload(hpc_program *p, hpc_offload_options *o);

#ifdef __cplusplus
}
#endif
#endif
