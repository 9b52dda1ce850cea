/*
 * bracket_priv.h: what bracket.c and bracket_fortran.c share: the list of
 * brackets while it is made.
 */
#ifndef HPC_SOURCE_BRACKET_PRIV_H
#define HPC_SOURCE_BRACKET_PRIV_H

#include "runtime/source/bracket.h"
#include "runtime/source/priv.h"

int hpc_bracket_open(hpc_brackets *b, hpc_bracket_kind kind, uint32_t at, uint32_t end);
/* partner -1: it closes nothing, and is of that kind. */
int hpc_bracket_close(hpc_brackets *b, int32_t partner, hpc_bracket_kind kind, uint32_t at,
                      uint32_t end);
/* The innermost that is open and neither ROUND nor SQUARE, or -1. */
int32_t hpc_bracket_around(const hpc_brackets *b);
/* The innermost open one of that kind, ROUND or SQUARE, with no brace in between, or -1. */
int32_t hpc_bracket_opened(const hpc_brackets *b, hpc_bracket_kind kind);
int hpc_brackets_fortran(hpc_brackets *out, const hpc_tokens *t, const char *text);

#endif
