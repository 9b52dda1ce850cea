/*
 * perf_train.h: declarations shared by the files of `hpccoder perf train`.
 */
#ifndef HPC_CMD_PERF_TRAIN_H
#define HPC_CMD_PERF_TRAIN_H

#include "cmd/cmd.h"
#include "infer/perf/gather.h"

typedef struct train_options {
    hpc_texts db, repo, metric, examples, judge_on, language, heat;
    const char *out;
    double threshold, alarm, miss;
    int64_t seed;
    bool evaluate, json;
} train_options;

/* ---- perf_train_inputs.c: options as inputs of hpc_perf_gather ---- */
typedef struct train_inputs {
    hpc_perf_gather_options gather; /* borrows the options and the arena */
    hpc_arena *arena;
    const train_options *o;
} train_inputs;
/* HPC_E_ARG: a NAME=PATH is malformed. The inputs may not move afterwards. */
int train_inputs_open(train_inputs *in, const train_options *o);
/* HPC_E_ARG: a line profile has a repository that no history or example is about. */
int train_inputs_check_used(const train_inputs *in, const hpc_perf_gathered *s);
void train_inputs_close(train_inputs *in);

/* ---- perf_evaluate.c ---- */
typedef struct train_lesson { /* training data as arrays */
    hpc_perf_example *e;
    hpc_perf_bag *bag; /* borrowed; NULL: some examples have none */
    hpc_buf metric;
    hpc_perf_learn_rule rule;
} train_lesson;
int train_lesson_open(train_lesson *l, const hpc_perf_gathered *s, const train_options *o);
void train_lesson_close(train_lesson *l);
/* Evaluates by repository and by time, or on the examples of judge_on. */
int train_lesson_evaluate(hpc_buf *out, hpc_json_out *json, const train_lesson *l,
                          const hpc_perf_gathered *s, const train_options *o);

/* ---- perf_train_print.c: as text, or as members of an open object if json is not NULL ---- */
void train_print_set(hpc_buf *out, hpc_json_out *json, const hpc_perf_gathered *s);
void train_print_judgement(hpc_buf *out, hpc_json_out *json, const hpc_perf_judgement *j,
                           hpc_perf_split split);

#endif
