/*
 * predict_priv.h: prediction for one change, and acknowledgements.
 */
#ifndef HPC_PERF_PREDICT_PRIV_H
#define HPC_PERF_PREDICT_PRIV_H

#include "infer/perf/predict.h"

/* ---- tell.c: one change ---------------------------------------------------------------------- */
typedef struct perf_teller { /* reused for each change */
    const hpc_perf_model *model;
    hpc_arena *arena; /* of the predictions */
    hpc_perf_reader *reader;
    hpc_perf_scanner *scanner;
    hpc_perf_change change;
    hpc_perf_features features;
    hpc_perf_reasons reasons;
    hpc_perf_language *language; /* NULL: none */
    const hpc_perf_predict_options *o;
    int64_t told; /* predicted changes, of those added to the language model */
} perf_teller;
int perf_teller_open(perf_teller *t, hpc_git *g, const hpc_perf_model *m,
                     const hpc_perf_predict_options *o, hpc_arena *arena);
void perf_teller_close(perf_teller *t);
/* Adds a change to the language model, in the order of later calls of perf_tell. */
int perf_listen(const hpc_perf_told *of, perf_teller *t);
/* Sets verdicts, functions and reasons of out, whose base and head are set. */
int perf_tell(hpc_perf_told *out, perf_teller *t);
/* A copy without control characters and without marks of text direction. */
const char *perf_clean(hpc_arena *a, const char *text, size_t n);

/* ---- acknowledge.c --------------------------------------------------------------------------- */
typedef struct perf_ack { /* a line of the file */
    const char *what;     /* prefix of an id, a path, or "PATH:FUNCTION" */
    const char *reason;
    int32_t line;
    bool used;
} perf_ack;
typedef struct perf_acks {
    const char *name; /* of the file */
    perf_ack *item;
    int64_t n, cap;
} perf_acks;
int perf_remark(hpc_perf_prediction *p, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Reports malformed lines as remarks. */
int perf_acks_read(perf_acks *out, hpc_perf_prediction *p, const char *name, const char *text);
/* Reads "Perf-Ack: REASON" of a message; reports one without a reason as a remark. */
int perf_acks_trailer(hpc_perf_told *c, hpc_perf_prediction *p, const char *message);
/* Acknowledges commits, functions and the range. Lines that match none of them become remarks,
 * unless they name another commit of the repository. */
int perf_acks_apply(perf_acks *acks, hpc_perf_prediction *p, hpc_git *g);

#endif
