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

#include "infer/complete/verify.h"
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

typedef struct hpc_complete_source_options {
    hpc_completions_checker *checker; /* NULL: no checks */
    bool until_good;                  /* hpc_complete_until_good instead of hpc_complete */
    const hpc_passages *passages;     /* NULL: no sources */
    bool no_verbatim; /* leave out completions with a source; if none remains, sample again with
                         another seed and a higher temperature, up to four rounds */
} hpc_complete_source_options;
/* Samples, checks and attributes completions. *left_out: samples left out. The caller releases
 * `out`, initially zero, even after an error. */
int hpc_complete_with_sources(hpc_completions *out, int64_t *left_out, hpc_completer *c,
                              const hpc_complete_request *r, const hpc_complete_source_options *o);

#ifdef __cplusplus
}
#endif
#endif
