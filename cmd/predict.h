/*
 * predict.h: what the files of `hpccoder perf predict` share: its options, what is found, and the
 * formats in which it is told.
 */
#ifndef HPC_CMD_PREDICT_H
#define HPC_CMD_PREDICT_H

#include "cmd/cmd.h"
#include "infer/perf/predict.h"

typedef struct predict_options {
    const char *repo, *format, *model, *ack;
    double warn_on, fail_on;
    bool all, each, json, quiet;
} predict_options;
extern const hpc_option predict_option_table[];

/* Something at a level: the range as a whole, a commit, or a function that the range changes. */
typedef enum predict_kind { PREDICT_RANGE, PREDICT_COMMIT, PREDICT_FUNCTION } predict_kind;
typedef struct predict_finding {
    predict_kind kind;
    const hpc_perf_told *told;
    const hpc_perf_said *said;
    const char *file, *function; /* where it shows most; "": nowhere, in none */
    uint32_t line;               /* 0: none that is still there */
} predict_finding;
typedef struct predict_report {
    const hpc_perf_prediction *p;
    hpc_perf_model_facts facts;
    const char *range; /* as it was asked for */
    double warn, fail;
    predict_finding *finding; /* the highest level first, then the most probable */
    int64_t findings_n, findings_cap;
} predict_report;
int predict_find(predict_report *r); /* fills in `finding`, to be freed */

/* ---- words ---- */
/* "81 %", "<1 %", ">99 %", "?" */
const char *predict_percent(char out[16], double p);
/* "slower (81 %)", "unknown (not sure: ...)" */
int predict_put_verdict(hpc_buf *out, const hpc_perf_said *s);
/* "in 'f' (a.c:12): loop 'for' added at line 12", in plain text. */
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
