/*
 * pairs.h: transformer with a pair head as the language model of performance predictions.
 *
 * `hpccoder train --objective pairs --classes 3` makes such a model from shards of task perf. A
 * function is encoded as in these shards: model/compare.h.
 */
#ifndef HPC_PAIRS_H
#define HPC_PAIRS_H

#include "infer/perf/language.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Opens a directory or a FILE.gguf with its tokenizer. HPC_E_ARG: it has no pair head for three
 * classes. limits NULL: the defaults; a length above the model's positions is reduced to these.
 * threads 0: one per core. */
int hpc_pairs_open(hpc_perf_language **out, const char *model,
                   const hpc_perf_language_limits *limits, int threads);

#ifdef __cplusplus
}
#endif
#endif
