/*
 * predict_priv.h: prediction for one change, and acknowledgements.
 */
#ifndef HPC_PERF_PREDICT_PRIV_H
#define HPC_PERF_PREDICT_PRIV_H

#include "infer/perf/predict.h"

/* ---- predict_change.c: one change
 * ---------------------------------------------------------------------- */
typedef struct perf_predictor { /* reused for each change */
    const hpc_perf_model *model;
    hpc_arena *arena; /* of the predictions */
    hpc_perf_reader *reader;
    hpc_perf_scanner *scanner;
    hpc_perf_change change;
    hpc_perf_features features;
    hpc_perf_reasons reasons;
    hpc_perf_language *language; /* NULL: none */
    const hpc_perf_predict_options *o;
    int64_t predicted_n; /* predicted changes, of those added to the language model */
} perf_predictor;
int perf_predictor_open(perf_predictor *t, hpc_git *g, const hpc_perf_model *m,
                        const hpc_perf_predict_options *o, hpc_arena *arena);
void perf_predictor_close(perf_predictor *t);
/* Adds a change to the language model, in the order of later calls of perf_predict_change. */
int perf_predictor_add(const hpc_perf_change_prediction *of, perf_predictor *t);
/* Sets verdicts, functions and reasons of out, whose base and head are set. */
int perf_predict_change(hpc_perf_change_prediction *out, perf_predictor *t);
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
int perf_acks_trailer(hpc_perf_change_prediction *c, hpc_perf_prediction *p, const char *message);
/* Acknowledges commits, functions and the range. Lines that match none of them become remarks,
 * unless they name another commit of the repository. */
int perf_acks_apply(perf_acks *acks, hpc_perf_prediction *p, hpc_git *g);

#endif
