/*
 * language_priv.h: what language.c, the model and its runs, and language_take.c, what is read of a
 * change, share.
 */
#ifndef HPC_PERF_LANGUAGE_PRIV_H
#define HPC_PERF_LANGUAGE_PRIV_H

#include "infer/engine/coder.h"
#include "infer/perf/language.h"
#include "model/compare.h"
#include "model/emit.h"
#include "model/files.h"
#include "runtime/program/run/run.h"

enum { LANGUAGE_PAIRS = 32 }; /* of a run */

typedef struct language_text { /* both sequences of a function, one behind the other */
    int64_t at, first_n, n;    /* in the pool; of the first; of both */
    uint64_t hash;
} language_text;
typedef struct language_commit {
    int64_t first, n; /* opinions */
    int64_t left;     /* functions for which it had no room */
} language_commit;

struct hpc_perf_language {
    hpc_perf_language_limits limits;
    hpc_model_config c;
    hpc_tokenizer *tokenizer;
    hpc_coder coder;
    hpc_program *p;
    hpc_device *d;
    hpc_exec *e;
    hpc_model_io io;
    /* what was added */
    language_commit *commit;
    int64_t commits_n, commits_cap;
    hpc_perf_language_opinion *opinion;
    language_text *text; /* of each opinion */
    int64_t opinions_n, opinions_cap, texts_cap;
    int32_t *pool;
    int64_t pool_n, pool_cap;
    /* used again for each function */
    hpc_sample sample;
    hpc_ids ids;
    /* a run */
    int64_t tokens, pairs, sequences; /* room */
    int64_t filled, start_n, running; /* tokens, sequences, pairs */
    int32_t *id, *pos, *start, *pooled;
    float *logits;
    int64_t of[LANGUAGE_PAIRS]; /* the opinion of each pair */
    int64_t *order;
};

void language_release(hpc_perf_language *l); /* what was added */

#endif
