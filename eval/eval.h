/*
 * eval.h: scores of models on test sets: samples in a log that resumes, bootstrap intervals,
 * reports and comparisons.
 *
 * A suite (perplexity, complete, pareval, pragma, perf) writes one JSON object per sample. Every
 * report is computed from these objects alone, so a report that is printed again has the same
 * bytes.
 */
#ifndef HPC_EVAL_H
#define HPC_EVAL_H

#include "runtime/base/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- suites ---------------------------------------------------------------------------------- */
typedef enum hpc_eval_scale {
    HPC_EVAL_RATIO, /* sum of `sum` over sum of `weight` */
    HPC_EVAL_EXP2   /* 2 to the power of that ratio */
} hpc_eval_scale;
typedef struct hpc_eval_metric {
    const char *name;   /* key in JSON */
    const char *title;  /* of a column */
    const char *sum;    /* key in "number" of a sample; samples without it do not count */
    const char *weight; /* the same; NULL: each sample counts as 1 */
    hpc_eval_scale scale;
    int decimals;
    bool lower_is_better;
} hpc_eval_metric;
typedef struct hpc_eval_suite {
    const char *name, *title;      /* "perplexity" */
    const char *unit;              /* of samples: "files" */
    const hpc_eval_metric *metric; /* [metric_n] */
    int metric_n;
    const char *notes; /* lines under the table that define the metrics; NULL: none */
} hpc_eval_suite;
/* All suites, NULL-terminated. */
const hpc_eval_suite *const *hpc_eval_suites(void);

/* ---- the log of samples ---------------------------------------------------------------------- */
/* A sample: {"id":TEXT, "cluster":TEXT, "group":{"language":"c","model":["openmp","mpi"]},
 * "number":{"bits":1.5, ...}, ...}. Without "cluster", the id takes its place. Samples of one
 * cluster are resampled together. */
typedef struct hpc_eval_log hpc_eval_log;
/* dir NULL: in memory. Else DIR/samples.jsonl, which is continued if its first line equals the
 * settings, a JSON object on one line. HPC_E_ARG: it has other settings; the message names the
 * first key that differs. HPC_E_STATE: another process writes it. */
int hpc_eval_log_open(hpc_eval_log **out, const char *dir, const hpc_buf *settings);
int hpc_eval_log_read(hpc_eval_log **out, const char *dir); /* of an earlier run, read-only */
void hpc_eval_log_close(hpc_eval_log *l);                   /* NULL is fine */
bool hpc_eval_log_has(const hpc_eval_log *l, const char *id);
int hpc_eval_log_add(hpc_eval_log *l, const hpc_buf *sample); /* JSON without a line feed */
int64_t hpc_eval_log_n(const hpc_eval_log *l);
const hpc_json *hpc_eval_log_at(const hpc_eval_log *l, int64_t i);
const hpc_json *hpc_eval_log_find(const hpc_eval_log *l, const char *id); /* NULL: none */
const hpc_json *hpc_eval_log_settings(const hpc_eval_log *l);
/* The number of a sample; NAN if it has none. */
double hpc_eval_number(const hpc_json *sample, const char *key);

/* ---- scores ---------------------------------------------------------------------------------- */
typedef struct hpc_eval_value {
    double value, low, high; /* low, high: 95 % bootstrap interval over clusters. NAN: no samples */
    int64_t samples;
} hpc_eval_value;
typedef struct hpc_eval_row {
    const char *key, *name; /* "language", "c"; "", "all" */
    int64_t samples;
    hpc_eval_value *value; /* [metric_n] */
} hpc_eval_row;
typedef struct hpc_eval_scores {
    hpc_arena *arena;
    hpc_eval_row *row; /* all samples first, then one row per group */
    int64_t n;
} hpc_eval_scores;
enum { HPC_EVAL_RESAMPLES = 2000 };
int hpc_eval_score(hpc_eval_scores *out, const hpc_eval_suite *s, const hpc_eval_log *l,
                   uint64_t seed);
void hpc_eval_scores_release(hpc_eval_scores *s);

/* Two logs, sample by sample. */
typedef struct hpc_eval_difference {
    hpc_eval_value value; /* this minus other, over the common samples, resampled in pairs */
    double here, there;
    int64_t better, worse, equal; /* samples */
} hpc_eval_difference;
typedef struct hpc_eval_pair {
    const char *id;
    double here, there; /* of the first metric */
} hpc_eval_pair;
typedef struct hpc_eval_comparison {
    hpc_arena *arena;
    hpc_eval_difference *difference; /* [metric_n] */
    hpc_eval_pair *pair;             /* common samples, largest difference first */
    int64_t n, alone_here, alone_there;
} hpc_eval_comparison;
int hpc_eval_compare(hpc_eval_comparison *out, const hpc_eval_suite *s, const hpc_eval_log *here,
                     const hpc_eval_log *there, uint64_t seed);
void hpc_eval_comparison_release(hpc_eval_comparison *c);

/* ---- estimators ------------------------------------------------------------------------------ */
/* The probability that at least one of k samples, drawn without replacement from n of which c are
 * right, is right. NAN if n < k. */
double hpc_eval_pass_at(int64_t n, int64_t c, int64_t k);
/* Expected best of k of n run times: sum over j of C(j-1, k-1) / C(n, k) * base / time[j], with
 * time in descending order. A time of INFINITY counts as a speedup of 0. Sorts `time`. NAN if n <
 * k. */
double hpc_eval_speedup_at(double *time, int64_t n, int64_t k, double base);
/* 1 - edits / longer length, in bytes; 1 for two empty texts. NAN: no memory. */
double hpc_eval_similarity(const char *a, size_t a_n, const char *b, size_t b_n);

/* ---- reports --------------------------------------------------------------------------------- */
typedef struct hpc_eval_report {
    const hpc_eval_suite *suite;
    const hpc_eval_log *log;
    const hpc_eval_scores *scores;
    const hpc_eval_comparison *comparison; /* NULL: none */
    const char *compared;                  /* name of the other log */
} hpc_eval_report;
/* width: of the terminal; 0: unlimited. */
int hpc_eval_report_text(hpc_buf *out, const hpc_eval_report *r, int width);
int hpc_eval_report_json(hpc_buf *out, const hpc_eval_report *r);
int hpc_eval_report_page(hpc_buf *out, const hpc_eval_report *r); /* HTML, self-contained */

#ifdef __cplusplus
}
#endif
#endif
