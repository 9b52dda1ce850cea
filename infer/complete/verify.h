/*
 * Checks of completions in their file, and the ranking that follows from them.
 */
#ifndef HPC_COMPLETE_VERIFY_H
#define HPC_COMPLETE_VERIFY_H

#include "infer/complete/complete.h"
#include "runtime/source/check.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hpc_completions_verify_options {
    hpc_complete_stop stop; /* as in the request */
    hpc_checker *checker;   /* NULL: the compiler is not asked */
    const char *path;       /* of the file: its quoted includes lie beside it */
    const hpc_check_flags *flags;
    /* Called with a message where libclang does not get through the file: it is not asked again,
     * and the other checks go on. NULL: that is HPC_E_UNSUPPORTED. */
    void (*give_up)(void *user, const char *message);
    void *user;
} hpc_completions_verify_options;

/* Checks of completions at one cursor: the compiler reads the file and its headers once. What the
 * options point to is the caller's until it is closed. */
typedef struct hpc_completions_checker hpc_completions_checker;
int hpc_completions_checker_open(hpc_completions_checker **out, const hpc_spot *spot,
                                 const hpc_completions_verify_options *o);
void hpc_completions_checker_close(hpc_completions_checker *v); /* NULL is fine */
/* The state of the file itself, once completions have been checked; NULL: the compiler was not
 * asked. */
const hpc_check_base *hpc_completions_checker_base(const hpc_completions_checker *v);

/* Replaces the checks of each completion, and ranks completions: fewer and lesser failures first,
 * otherwise the order stays. In order of their weight:
 *   complete   it ends by itself and leaves no bracket of its block or function open; a line may
 *              open a block, and is then judged with that closed
 *   body       it does more than return a constant where a function has parameters or a comment
 *   brackets   brackets, and statements of Fortran, pair as before
 *   parse      libclang parses it in its file
 *   compile    it has no semantic error; without all headers, and flags or all names, only errors
 *              count that no declaration elsewhere could mend
 *   openmp     no loop with a directive has iterations that depend on each other, or lacks a clause
 *   intent     it uses OpenMP, MPI or CUDA where a comment or the signature asks for it
 * Completions that were closed by force rank below those that fail as much, empty ones last. */
int hpc_completions_check(hpc_completions *c, hpc_completions_checker *v);
/* By the checks made before. */
void hpc_completions_rank(hpc_completions *c);
/* Draws answers in rounds until one passes all checks, r->samples at most: the first as `r` says,
 * those after it at a temperature of 0.6 at least. r->ready sees the first alone. */
int hpc_complete_until_good(hpc_completions *out, hpc_completer *c, const hpc_complete_request *r,
                            hpc_completions_checker *v);
bool hpc_completion_has_failed(const hpc_completion *c,
                               const char *kind); /* a check of that kind */
/* The first failed check that means that the file would be broken: complete, brackets, or parse.
 * NULL: none. Lines need not parse: the next line may continue the statement. */
const hpc_completion_check *hpc_completion_incomplete(const hpc_completion *c,
                                                      hpc_complete_stop stop);
bool hpc_completion_is_good(const hpc_completion *c); /* not empty, not forced, all checks passed */

#ifdef __cplusplus
}
#endif
#endif
