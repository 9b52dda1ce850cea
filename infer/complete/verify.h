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
    hpc_checker *checker;   /* NULL: no checks by the compiler */
    const char *path;       /* of the file; its folder resolves quoted includes */
    const hpc_check_flags *flags;
    /* Receives a message if libclang cannot process the file. Later checks do not use the compiler.
     * NULL: the check returns HPC_E_UNSUPPORTED. */
    void (*give_up)(void *user, const char *message);
    void *user;
} hpc_completions_verify_options;

/* Checks of completions at one cursor: the compiler reads the file and its headers once. `spot` and
 * the pointers in the options are borrowed until the checker is closed. */
typedef struct hpc_completions_checker hpc_completions_checker;
int hpc_completions_checker_open(hpc_completions_checker **out, const hpc_spot *spot,
                                 const hpc_completions_verify_options *o);
void hpc_completions_checker_close(hpc_completions_checker *v); /* v may be NULL */
/* The compiler's state of the file without completions. NULL before the first check, or without the
 * compiler. */
const hpc_check_base *hpc_completions_checker_base(const hpc_completions_checker *v);

/* Replaces the checks of each completion and sorts completions by their failures; the sort is
 * stable. Each check outweighs all those after it:
 *   complete   it ends by itself and leaves no bracket of its block or function open. A line may
 *              open a block.
 *   body       it does more than return a constant in a function with parameters or a comment.
 *   brackets   it adds no unmatched bracket or Fortran block statement to the file.
 *   parse      libclang parses it in its file.
 *   compile    it has no semantic error. Without all headers, flags or names, errors that a
 *              declaration elsewhere could resolve do not count.
 *   openmp     loops with directives have independent iterations and the necessary clauses.
 *   intent     it uses OpenMP, MPI or CUDA if a comment or the signature requests it.
 * FORCED completions rank below others with the same failures. CANCELLED and then empty ones rank
 * last. */
int hpc_completions_check(hpc_completions *c, hpc_completions_checker *v);
/* Sorts by the existing checks. */
void hpc_completions_rank(hpc_completions *c);
/* Samples and checks up to r->samples answers in rounds, until one passes all checks. The first has
 * the sampling options of `r`; later ones have other seeds and a temperature of at least 0.6.
 * r->ready receives the first one only. The caller releases `out`, even after an error. */
int hpc_complete_until_good(hpc_completions *out, hpc_completer *c, const hpc_complete_request *r,
                            hpc_completions_checker *v);
bool hpc_completion_has_failed(const hpc_completion *c, const char *kind); /* that check failed */
/* The first failed check among complete, brackets and parse; NULL: none. For HPC_STOP_LINE it
 * ignores parse, because the next line may continue the statement. */
const hpc_completion_check *hpc_completion_incomplete(const hpc_completion *c,
                                                      hpc_complete_stop stop);
/* The failed check that weighs most; NULL: none. */
const hpc_completion_check *hpc_completion_worst(const hpc_completion *c);
bool hpc_completion_is_good(const hpc_completion *c); /* not empty, not forced, all checks passed */

#ifdef __cplusplus
}
#endif
#endif
