/*
 * source.h: completions that repeat what a model was trained on, and whose that is.
 *
 * What counts are tokens of code in the file as it would be: those of the completion, and up to 20
 * before it, since what a file begins may be gone on with as somebody else did. So of a run of 40
 * tokens, which is always found (runtime/source/passage.h), 20 at least are the completion's own,
 * and one of fewer than 17 never has a source. What follows the place does not count.
 */
#ifndef HPC_COMPLETE_SOURCE_H
#define HPC_COMPLETE_SOURCE_H

#include "infer/complete/complete.h"
#include "runtime/source/passage.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { HPC_COMPLETE_BEFORE = 20 };

/* Tells the sources of each completion: one for each run and each who has it, the longest run
 * first, then as they stand. A file of no known language is read as C. After an error some are
 * told. */
int hpc_completions_find_sources(hpc_completions *c, const hpc_spot *spot, const hpc_passages *p);
/* Those that have a source go; returns how many answers had given them. */
int64_t hpc_completions_leave_out(hpc_completions *c);

#ifdef __cplusplus
}
#endif
#endif
