/*
 * predict.h: declarations shared by the files of `hpccoder perf predict`: options, findings and
 * output formats.
 */
#ifndef HPC_CMD_PREDICT_H
#define HPC_CMD_PREDICT_H

#include "cmd/asked.h"
#include "infer/perf/measure.h"

typedef struct predict_options {
    const char *repo, *format, *model, *language, *ack;
    double warn_on, fail_on;
    bool all, each, measure, json, verbose, quiet;
    hpc_texts program, file;
    const char *database;
    asked_measure how; /* how commits are measured */
} predict_options;
extern const hpc_option predict_option_table[];
/* Opens the model in a folder or file; named NULL: the model that comes with the program. */
int predict_open_model(hpc_perf_model **out, const char *named);
/* Sets the range of argv, or the files of --file; the arena owns their texts. *label names either
 * in messages. */
int predict_read_request(hpc_perf_predict_options *ask, const char **label, hpc_arena *a,
                         const predict_options *o, int argc, char **argv);
/* Options of --measure as options of a collection. Without --measure it leaves h unchanged, and
 * fails with HPC_E_ARG if an option needs --measure. */
int predict_measure_options(hpc_history_options *h, asked *a, const predict_options *o);

/* The range, a commit, or a function that the range changes, if its level is above none. */
typedef enum predict_kind { PREDICT_RANGE, PREDICT_COMMIT, PREDICT_FUNCTION } predict_kind;
typedef struct predict_finding {
    predict_kind kind;
    const hpc_perf_change_prediction *prediction;
    const hpc_perf_result *result;
    const char *file, *function; /* of the first reason with a position; "": none */
    uint32_t line;               /* in the head; 0: none */
} predict_finding;
/* ---- predict_measured.c ---- */
int predict_put_measured(hpc_buf *out, const hpc_perf_measured *m, const hpc_perf_prediction *p);
void predict_put_measured_json(hpc_json_out *w, const hpc_perf_measured *m,
                               const hpc_perf_prediction *p);

typedef struct predict_report {
    const hpc_perf_prediction *p;
    hpc_perf_model_facts facts;
    const char *range; /* as the user typed it */
    double warn, fail;
    bool verbose, files;               /* files: of the working tree, not commits */
    const hpc_perf_measured *measured; /* NULL: no --measure */
    predict_finding *finding;          /* the highest level first, then the most probable */
    int64_t findings_n, findings_cap;
} predict_report;
int predict_find(predict_report *r); /* sets `finding`; the caller frees it */

/* ---- words ---- */
/* "81 %", "<1 %", ">99 %", "?" */
const char *predict_percent(char out[16], double p);
/* "slower (81 %)", "unknown (not sure: ...)" */
int predict_put_verdict(hpc_buf *out, const hpc_perf_result *s);
/* "tile: division moved into an inner loop (a.c:188)", in plain text. */
int predict_put_why(hpc_buf *out, const hpc_perf_reason_text *w);
/* A finding on one line: "Commit 0123456789ab is probably slower (81 %): ...". */
int predict_put_finding(hpc_buf *out, const predict_finding *f);
/* The error rates that the model bounds, and their assumptions. */
int predict_put_promise(hpc_buf *out, const hpc_perf_model_facts *f);
void predict_id(char out[13], const hpc_git_id *id);

/* ---- formats ---- */
int predict_put_text(hpc_buf *out, const predict_report *r);
void predict_put_json(hpc_json_out *w, const predict_report *r);
enum { PREDICT_SARIF_MOST = 25000, PREDICT_SARIF_BYTES = 10000000 };
void predict_put_sarif(hpc_json_out *w, const predict_report *r);
enum { PREDICT_MARKDOWN_BYTES = 60000 };
int predict_put_markdown(hpc_buf *out, const predict_report *r);
int predict_put_github(hpc_buf *out, const predict_report *r);

#endif
