/*
 * complete.h: the suite of completion.
 */
#ifndef HPC_EVAL_COMPLETE_H
#define HPC_EVAL_COMPLETE_H

#include "eval/ask.h"
#include "eval/sets.h"
#include "runtime/source/check.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const hpc_eval_suite hpc_eval_suite_complete;

typedef struct hpc_eval_complete_options {
    hpc_eval_files_options files; /* files that are not UTF-8 with line feeds are left out */
    hpc_eval_asker_options asker;
    int64_t holes; /* lines, blocks and functions in alternation */
    double temperature;
    hpc_checker *checker;         /* NULL: nothing is parsed or compiled */
    const hpc_check_flags *flags; /* NULL: none */
    hpc_progress *progress;       /* NULL: none */
    const int *stop;              /* not 0: return after the current hole; NULL: never */
} hpc_eval_complete_options;
/* Adds a sample for each hole that the log does not have. */
int hpc_eval_complete(hpc_eval_log *log, const hpc_eval_complete_options *o);

#ifdef __cplusplus
}
#endif
#endif
