/*
 * pragma.h: the suite of directives, on files of labelled loops.
 */
#ifndef HPC_EVAL_PRAGMA_H
#define HPC_EVAL_PRAGMA_H

#include "eval/sets.h"
#include "runtime/source/check.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const hpc_eval_suite hpc_eval_suite_pragma;

typedef struct hpc_eval_pragma_options {
    hpc_eval_files_options files; /* C and C++; files without labels are left out */
    hpc_checker *checker;
    const hpc_check_flags *flags; /* NULL: none */
    hpc_progress *progress;
    const int *stop;
} hpc_eval_pragma_options;
/* Adds a sample for each labelled loop that the log does not have. */
int hpc_eval_pragma(hpc_eval_log *log, const hpc_eval_pragma_options *o);

#ifdef __cplusplus
}
#endif
#endif
