/*
 * bracket.h: matching of brackets, blocks and functions, and of Fortran statements like
 * `do` and `end do`.
 *
 * It works on tokens alone, like the whole folder: a text may be unfinished, and
 * brackets open at its end are reported. Linear time: only nearby openings are
 * considered for a missing closing bracket.
 */
#ifndef HPC_BRACKET_H
#define HPC_BRACKET_H

#include "runtime/source/source.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum hpc_bracket_kind {
    HPC_BRACKET_ROUND,
    HPC_BRACKET_SQUARE,
    HPC_BRACKET_LIST,     /* {} of values */
    HPC_BRACKET_HOLDER,   /* of declarations: a type, a namespace, a module, an interface */
    HPC_BRACKET_FUNCTION, /* a body that is in nothing but holders; each procedure of Fortran */
    HPC_BRACKET_BLOCK     /* of statements, within a function */
} hpc_bracket_kind;

typedef struct hpc_bracket {
    uint32_t at, end; /* byte range; of a Fortran statement, the whole statement */
    int32_t partner;  /* the matching bracket, or -1 */
    int32_t outer;    /* the innermost bracket open before it, or -1 */
    int32_t around;   /* the innermost of these that is neither ROUND nor SQUARE, or -1 */
    uint8_t kind;     /* of an unmatched closer: ROUND, SQUARE or BLOCK */
    bool closes;
} hpc_bracket;

typedef struct hpc_brackets {
    hpc_bracket *item;
    int64_t n, cap;
    int32_t open; /* the innermost at the end, or -1; its `outer` is the next */
} hpc_brackets;   /* zero to begin with; reused by the next call */

/* In order of `at`. Comments, strings and directives are skipped. If all branches of an #if open
 * or close the same brackets, the first counts. */
int hpc_brackets_find(hpc_brackets *out, const hpc_tokens *t, const char *text, hpc_language l);
void hpc_brackets_release(hpc_brackets *b);

#ifdef __cplusplus
}
#endif
#endif
