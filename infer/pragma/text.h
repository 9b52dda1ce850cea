/*
 * text.h: numbers, places and atoms as text for people: "i*n + j", "s->x[i]".
 */
#ifndef HPC_PRAGMA_TEXT_H
#define HPC_PRAGMA_TEXT_H

#include "infer/pragma/program.h"
#include "infer/pragma/prover.h"

void poly_text(hpc_buf *b, const prover *pr, const program *f, const poly *a);
void place_text(hpc_buf *b, const prover *pr, const program *f, const place *p);
void atom_text(hpc_buf *b, const prover *pr, const program *f, int32_t i);

#endif
