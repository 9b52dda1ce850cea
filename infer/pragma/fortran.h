/*
 * fortran.h: directives of Fortran. The analysis reads and proposes those of C; these functions
 * translate between the two.
 */
#ifndef HPC_PRAGMA_FORTRAN_H
#define HPC_PRAGMA_FORTRAN_H

#include "infer/pragma/pragma.h"

/* "#pragma omp parallel for" of "!$OMP PARALLEL DO"; NULL: no memory. */
const char *fortran_as_c(hpc_arena *a, const char *directive);
/* Does [from, to) of a text have a line that only compilers with OpenMP read, "!$ call f"? */
bool fortran_has_conditional(const char *text, size_t from, size_t to);
/* Drops conditions that Fortran cannot spell, before they become if clauses. */
void fortran_limit(hpc_pragma_loops *l);
/* hpc_pragma_translate drops a proposal that Fortran cannot spell. */

#endif
