/*
 * stage_priv.h: internals of hpc_stage.
 */
#ifndef HPC_STAGE_PRIV_H
#define HPC_STAGE_PRIV_H

#include "runtime/program/priv.h"
#include "runtime/program/stage.h"

/* Where an instruction of forward or backward runs, apart from the numbers of stages. */
enum {
    STAGE_SHARED = -2,      /* all ranks, before the stages of its segment */
    STAGE_SHARED_LATE = -3, /* all ranks, after them: it reads what they compute */
};
static inline bool stage_is_shared(int stage)
{
    return stage <= STAGE_SHARED;
}
/* stage: [instructions of segment s], set for those that are shared. (stage_shared.c) */
int stage_find_shared(int *stage, const hpc_program *p, int s);
/* Is an operand split, or a partial sum in a temporary, along pipe, or is it a collective there?
 * (stage_shared.c) */
bool stage_has_parts(const hpc_program *p, const hpc_insn *i);
int stage_blocks(const hpc_program *p, int s); /* of a segment's instructions */

#endif
