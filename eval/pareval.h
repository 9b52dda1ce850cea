/*
 * pareval.h: the suite ParEval: prompts for parallel functions, built with ParEval's own drivers
 * and validated by them.
 */
#ifndef HPC_EVAL_PAREVAL_H
#define HPC_EVAL_PAREVAL_H

#include "eval/ask.h"
#include "eval/box.h"
#include "eval/eval.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const hpc_eval_suite hpc_eval_suite_pareval;

/* ---- the checkout ---------------------------------------------------------------------------- */
typedef struct hpc_pareval_task {
    const char *type, *name, *model, *prompt; /* "dense_la", "03_dense_la_axpy", "omp" */
    const char *size;                         /* "(1<<24)" */
} hpc_pareval_task;
typedef struct hpc_pareval_tasks {
    hpc_arena *arena;
    hpc_pareval_task *item;
    int64_t n, cap;
} hpc_pareval_tasks;
/* Models of parallelism that are built and run here, NULL-terminated; cuda and hip are known names,
 * but not built. kokkos needs Kokkos in tpl/kokkos/build of the checkout. */
extern const char *const hpc_pareval_models[];
/* Reads the tasks of the models in `models` ("serial,omp"), in the order of their names. shrink:
 * sizes are divided by 2 to this power, but stay at least 2^5. HPC_E_UNSUPPORTED: a model is not
 * built here. HPC_E_FORMAT, HPC_E_IO: not a checkout of ParEval; the message names the file. */
int hpc_pareval_read(hpc_pareval_tasks *out, const char *checkout, const char *models,
                     int64_t shrink);
void hpc_pareval_release(hpc_pareval_tasks *t);
/* The task with the signature (last line) of this prompt and this model; -1: none. The numbers in
 * names of older outputs differ, so names do not count. */
int64_t hpc_pareval_match(const hpc_pareval_tasks *t, const char *prompt, const char *model);

/* ---- one candidate --------------------------------------------------------------------------- */
typedef struct hpc_pareval_runner {
    const hpc_eval_box *box;
    const char *drivers; /* a folder with copies of ParEval's drivers/cpp */
    int64_t resources;   /* threads or ranks of a run */
    double build_seconds, run_seconds;
    const int *stop;
} hpc_pareval_runner;
typedef struct hpc_pareval_verdict {
    bool built, ran, valid; /* valid: the driver's validation and ParEval's search for words */
    double seconds, best;   /* of the candidate and of the best sequential code; NAN: unknown */
    char why[200];          /* first line of an error, "timeout", ...; "" if valid */
} hpc_pareval_verdict;
int hpc_pareval_judge(hpc_pareval_verdict *out, const hpc_pareval_runner *r,
                      const hpc_pareval_task *t, const char *text);

/* ---- the suite ------------------------------------------------------------------------------- */
typedef struct hpc_eval_pareval_options {
    const char *checkout, *models;
    const char *samples_in;       /* outputs in ParEval's format; NULL: ask `asker` */
    hpc_eval_asker_options asker; /* its samples: 0 to 8 at once */
    int64_t samples, limit;       /* limit: tasks at most, chosen by the seed; 0: all */
    int64_t shrink, resources;
    double temperature, top_p, build_seconds, run_seconds;
    uint64_t seed;
    const char *tmp;
    bool is_unsafe;
    hpc_progress *progress;
    const int *stop;
} hpc_eval_pareval_options;
/* Adds a sample for each task that the log does not have. *unmatched: entries of samples_in without
 * a task. */
int hpc_eval_pareval(hpc_eval_log *log, int64_t *unmatched, const hpc_eval_pareval_options *o);

#ifdef __cplusplus
}
#endif
#endif
