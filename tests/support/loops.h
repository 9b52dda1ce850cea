/*
 * loops.h: a text with its tokens, functions and loops, and what its loops look
 * like on one line each.
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

/* Asserts that all of it works. The text is borrowed. */
void hpc_test_source_open(hpc_test_source *s, const char *path, const char *text, size_t n);
void hpc_test_source_close(hpc_test_source *s);

/* For each loop "LINE-END DEPTH" and, when they apply, "b" braced, "c" concurrent, "p" in a
 * parallel region, "!" not complete, then its directives: "3-5 1 b p {#pragma omp for}\n". */
void hpc_test_source_describe(hpc_buf *out, const hpc_test_source *s);
/* Asserts that the text describes itself so. */
void hpc_test_source_is(const char *path, const char *text, const char *expected);

#endif
