/*
 * hole.h: holes in source files for fill-in-the-middle.
 */
#ifndef HPC_EVAL_HOLE_H
#define HPC_EVAL_HOLE_H

#include "eval/sets.h"
#include "infer/complete/complete.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const char *const hpc_eval_hole_names[]; /* by hpc_complete_stop, NULL-terminated */

typedef struct hpc_eval_hole {
    const hpc_eval_file *file; /* NULL: the files have no such hole */
    hpc_complete_stop kind;
    size_t lo, hi; /* of the text that is removed */
    int64_t line;
} hpc_eval_hole;
/* A line within a function with at least three tokens; or the text from after a '{' to after its
 * '}', within a function or as its body. At most 4,000 bytes. Depends on the files, the number and
 * the seed alone. */
int hpc_eval_hole_draw(hpc_eval_hole *out, const hpc_eval_files *files, int64_t number,
                       hpc_complete_stop kind, uint64_t seed);

#ifdef __cplusplus
}
#endif
#endif
