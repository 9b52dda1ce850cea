/*
 * loops.h: a text with its tokens, functions and loops, and a description of its loops, one line
 * each.
 */
#ifndef HPC_TESTS_SUPPORT_LOOPS_H
#define HPC_TESTS_SUPPORT_LOOPS_H

#include "runtime/source/source.h"

typedef struct hpc_test_source {
    const char *path, *text;
    size_t n;
    hpc_language language;
    hpc_tokens t;
    hpc_functions f;
    hpc_loops l;
} hpc_test_source;

/* Parses a text and asserts success. The text is borrowed. */
void hpc_test_source_open(hpc_test_source *s, const char *path, const char *text, size_t n);
void hpc_test_source_close(hpc_test_source *s);

/* Appends per loop "LINE-END DEPTH", then if they apply "b" braced, "c" concurrent, "p" in a
 * parallel region, "!" incomplete, then its directives: "3-5 1 b p {#pragma omp for}\n". */
void hpc_test_source_describe(hpc_buf *out, const hpc_test_source *s);
/* Asserts the description of a text. */
void hpc_test_source_is(const char *path, const char *text, const char *expected);

#endif
