/*
 * predict_priv.h: what the files share that make a prediction of a range: what a change is told to
 * be, and what was acknowledged.
 */
#ifndef HPC_PERF_PREDICT_PRIV_H
#define HPC_PERF_PREDICT_PRIV_H

#include "infer/perf/predict.h"

/* ---- tell.c: one change ---------------------------------------------------------------------- */
typedef struct perf_teller { /* memory that is used again */
    const hpc_perf_model *model;
    hpc_arena *arena; /* of what is told */
    hpc_perf_reader *reader;
    hpc_perf_scanner *scanner;
    hpc_perf_change change;
    hpc_perf_features features;
    hpc_perf_reasons reasons;
    hpc_perf_language *language; /* NULL: none is heard */
    const hpc_perf_predict_options *o;
    int64_t told; /* changes that were, of those that it heard */
} perf_teller;
int perf_teller_open(perf_teller *t, hpc_git *g, const hpc_perf_model *m,
                     const hpc_perf_predict_options *o, hpc_arena *arena);
void perf_teller_close(perf_teller *t);
/* The language model is given all changes, in the order in which they are told later, and then
 * reads them. */
int perf_listen(const hpc_perf_told *of, perf_teller *t);
/* Fills in verdicts, functions and reasons of out, which says of which two commits. */
int perf_tell(hpc_perf_told *out, perf_teller *t);
/* A copy without control characters, and without those that turn the direction of text. */
const char *perf_clean(hpc_arena *a, const char *text, size_t n);

/* ---- acknowledge.c --------------------------------------------------------------------------- */
typedef struct perf_ack { /* a line of the file */
    const char *what;     /* an id's beginning, a path, or "PATH:FUNCTION" */
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
/* Lines that say nothing become remarks. */
int perf_acks_read(perf_acks *out, hpc_perf_prediction *p, const char *name, const char *text);
/* A line "Perf-Ack: REASON" in a message; one without a reason becomes a remark. */
int perf_acks_trailer(hpc_perf_told *c, hpc_perf_prediction *p, const char *message);
/* What the lines name of all commits and of the range; lines that name nothing become remarks,
 * unless they name another commit of the repository. */
int perf_acks_apply(perf_acks *acks, hpc_perf_prediction *p, hpc_git *g);

#endif
