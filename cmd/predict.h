/*
 * predict.h: what the files of `hpccoder perf predict` share: its options, what is found, and the
 * formats in which it is told.
 */
#ifndef HPC_CMD_PREDICT_H
#define HPC_CMD_PREDICT_H

#include "cmd/asked.h"
#include "infer/perf/predict.h"

typedef struct predict_options {
    const char *repo, *format, *model, *language, *ack;
    double warn_on, fail_on;
    bool all, each, measure, json, verbose, quiet;
    hpc_texts program;
    const char *database;
    asked_measure how; /* is measured */
} predict_options;
extern const hpc_option predict_option_table[];
/* predict_program.c; strings live in the arena. */
int predict_find_program(hpc_perf_program *out, const predict_options *o, hpc_arena *a);

/* Something at a level: the range as a whole, a commit, or a function that the range changes. */
typedef enum predict_kind { PREDICT_RANGE, PREDICT_COMMIT, PREDICT_FUNCTION } predict_kind;
typedef struct predict_finding {
    predict_kind kind;
    const hpc_perf_told *told;
    const hpc_perf_said *said;
    const char *file, *function; /* where it shows most; "": nowhere, in none */
    uint32_t line;               /* 0: none that is still there */
} predict_finding;
/* ---- predict_measure.c: what is not predicted, measured ----
 * Points are the commits of the range, and the one before it. Measured are those at which a change
 * ends or begins that is not predicted to be the same; stretches of what is predicted the same have
 * their ends measured alone, and are bisected if these differ. */
typedef struct predict_culprit { /* a change that was measured */
    int64_t from, to;            /* points: it came behind the one, and with the other at last */
    perf_label label;            /* slower or faster */
    double change;
    const char *metric;
    bool bisected; /* its stretch was predicted to be the same */
} predict_culprit;
typedef enum predict_state { PREDICT_LEFT, PREDICT_MEASURED, PREDICT_FAILED } predict_state;
typedef struct predict_measured {
    hpc_git_id *point;
    predict_state *state; /* of each */
    int64_t points_n;
    int64_t first; /* point of the range's first commit: 0 or 1 */
    predict_culprit *item;
    int64_t n, cap;
    int64_t undecided; /* pairs of points of which the samples cannot tell */
    int64_t left, failed, measured;
    int64_t now; /* of them, measured this time, in so many seconds: */
    double seconds;
    bool stopped;
} predict_measured; /* zero to begin with */
/* h: a collection, but for its range. */
int predict_measure(predict_measured *out, const hpc_perf_prediction *p, const history_options *h);
void predict_measured_release(predict_measured *m);
/* The commit that point k is; NULL: the one before the range. */
const hpc_perf_told *predict_commit_at(const predict_measured *m, const hpc_perf_prediction *p,
                                       int64_t k);
/* Some slow-down of which not every commit that may have brought it is acknowledged. */
bool predict_is_slower(const predict_measured *m, const hpc_perf_prediction *p);
/* Seconds that were not spent on what was left alone; NAN: nothing was measured this time. */
double predict_saved(const predict_measured *m);
/* predict_measure_tell.c */
int predict_put_measured(hpc_buf *out, const predict_measured *m, const hpc_perf_prediction *p);
void predict_put_measured_json(hpc_json_out *w, const predict_measured *m,
                               const hpc_perf_prediction *p);

typedef struct predict_report {
    const hpc_perf_prediction *p;
    hpc_perf_model_facts facts;
    const char *range; /* as it was asked for */
    double warn, fail;
    bool verbose;
    const predict_measured *measured; /* NULL: nothing was */
    predict_finding *finding;         /* the highest level first, then the most probable */
    int64_t findings_n, findings_cap;
} predict_report;
int predict_find(predict_report *r); /* fills in `finding`, to be freed */

/* ---- words ---- */
/* "81 %", "<1 %", ">99 %", "?" */
const char *predict_percent(char out[16], double p);
/* "slower (81 %)", "unknown (not sure: ...)" */
int predict_put_verdict(hpc_buf *out, const hpc_perf_said *s);
/* "tile: division moved into an inner loop (a.c:188)", in plain text. */
int predict_put_why(hpc_buf *out, const hpc_perf_why *w);
/* What is found, in a line: "Probably slower (81 %): ...". */
int predict_put_finding(hpc_buf *out, const predict_finding *f);
/* What abstention promises, and what it takes for granted. */
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
