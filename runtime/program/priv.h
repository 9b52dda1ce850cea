/*
 * priv.h: internals of runtime/program.
 */
#ifndef HPC_PROGRAM_PRIV_H
#define HPC_PROGRAM_PRIV_H

#include "runtime/program/op/op.h"

/* Role of operand k in this program: HPC_IN, HPC_OUT or both. An accumulating
 * output is both when it is state. 0 when the operand is absent. */
int hpc_insn_role(const hpc_program *p, const hpc_insn *i, int k);
/* The value whose memory v lies in: v itself, or the base of a view. */
hpc_value hpc_value_root(const hpc_program *p, hpc_value v);
/* The output of view `i` lies in its input's memory, displaced by whole rows. */
void hpc_view_bind(hpc_program *p, const hpc_insn *i);
/* Numbers the versions of state as the instructions of all segments, in their order, read and write
 * it. (splice.c) */
void hpc_versions_count(hpc_program *p);
/* Appends a value; HPC_NONE with the error recorded. */
hpc_value hpc_value_add(hpc_program *p, const char *name, hpc_value_kind kind, hpc_type type);
/* True if a type's elements can hold fractions. */
bool hpc_type_real(const hpc_type *t);

#endif
