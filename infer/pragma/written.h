/*
 * written.h: directives that a file contains, found in its tokens. The syntax tree has none of
 * them; the byte at which a loop begins connects the two.
 */
#ifndef HPC_PRAGMA_WRITTEN_H
#define HPC_PRAGMA_WRITTEN_H

#include "infer/pragma/pragma.h"

typedef struct directives {
    hpc_tokens tokens;
    hpc_functions functions;
    hpc_loops loops;
    const char *text; /* borrowed */
    size_t n;
    hpc_language language;
} directives; /* zero to begin with */
int directives_open(directives *d, const char *text, size_t n, hpc_language l, bool fixed_form);
void directives_close(directives *d);
/* The loop that begins at a byte; -1: none does in the text, as in a macro. */
int64_t directives_loop(const directives *d, size_t at);
/* The innermost OpenMP directive of a loop; -1: none. */
int64_t directives_of(const directives *d, int64_t loop);
/* True if only comments and preprocessor lines separate a directive from a later byte. */
bool directives_reach(const directives *d, int64_t pragma, size_t at);

#endif
