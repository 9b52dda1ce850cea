/*
 * source.h: attribution of completions that repeat training data.
 *
 * The search covers the code tokens of the completion and up to 20 before the cursor, because a
 * completion may continue a copied passage. The passage index finds runs of 40 tokens, with
 * the exceptions in runtime/source/passage.h; at least 20 of these are the completion's.
 * Completions of fewer than 17 tokens have no source. Text after the cursor is ignored.
 */
#ifndef HPC_COMPLETE_SOURCE_H
#define HPC_COMPLETE_SOURCE_H

#include "infer/complete/complete.h"
#include "runtime/source/passage.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { HPC_COMPLETE_BEFORE = 20 };

/* Replaces the sources of each completion that is not empty: one entry for each run and
 * hpc_source, sorted by length of the run, then by position. Files of unknown language are read as
 * C. After an error, only some completions have sources. */
int hpc_completions_find_sources(hpc_completions *c, const hpc_spot *spot, const hpc_passages *p);
/* Removes completions with a source; returns the number of samples that they stand for. */
int64_t hpc_completions_leave_out(hpc_completions *c);

#ifdef __cplusplus
}
#endif
#endif
