/*
 * trust.h: assumptions that a team has confirmed, one a line of a file:
 *
 *     FILE: FUNCTION: ASSUMPTION
 *
 * "src/spmv.cpp: HPC_sparsemv: x does not overlap y", as `hpccoder pragma` prints the assumption.
 * Empty lines and lines that begin with # are comments. FILE is a path, or its end after a slash.
 */
#ifndef HPC_PRAGMA_TRUST_H
#define HPC_PRAGMA_TRUST_H

#include "runtime/base/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hpc_trust_entry {
    const char *file, *function, *text; /* in the list */
    int64_t line;
    bool judged; /* its file has been judged */
    bool used;   /* a loop of the file depends on it */
} hpc_trust_entry;
typedef struct hpc_trust {
    hpc_arena *arena;
    hpc_trust_entry *item;
    int64_t n, cap;
} hpc_trust; /* initially zero */

/* HPC_E_FORMAT: a line has another form. Release is valid after a failure. */
int hpc_trust_read(hpc_trust *out, const char *path);
void hpc_trust_release(hpc_trust *t);
/* The line of the entry about a loop; 0: none. */
int64_t hpc_trust_line(const hpc_trust *t, const char *file, const char *function,
                       const char *text);
/* Records that a file has been judged, and that a loop of it uses the entry of a line. */
void hpc_trust_judged(hpc_trust *t, const char *file);
void hpc_trust_used(hpc_trust *t, int64_t line);

#ifdef __cplusplus
}
#endif
#endif
