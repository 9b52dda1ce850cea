/*
 * verify.h: completions that do not fit into their place sink.
 */
#ifndef HPC_COMPLETE_VERIFY_H
#define HPC_COMPLETE_VERIFY_H

#include "infer/complete/complete.h"
#include "runtime/source/check.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hpc_completions_verify_options {
    hpc_checker *checker; /* NULL: brackets alone are looked at */
    const char *path;     /* of the file: its quoted includes lie beside it */
    const hpc_check_flags *flags;
} hpc_completions_verify_options;

/* Adds to the checks of each: "brackets" (those of the file pair as before; Fortran's statements as
 * well), and "parse", or "compile" where all headers are there and so are flags or all names: then
 * errors of meaning count, too. Only what the file does not have without it counts. Languages that
 * libclang does not read get no such check. And "openmp" where a loop with a directive is in it:
 * whether iterations depend on each other, or a clause is missing. Then those with fewest failures
 * come first, and otherwise as they were; an empty one comes last. HPC_E_UNSUPPORTED: libclang does
 * not get through the file; the completions are as they were, with their brackets checked. */
int hpc_completions_verify(hpc_completions *c, const hpc_spot *spot,
                           const hpc_completions_verify_options *o);

#ifdef __cplusplus
}
#endif
#endif
