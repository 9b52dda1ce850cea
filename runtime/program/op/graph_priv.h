/*
 * graph_priv.h: shared by the op table entries of graphs.
 */
#ifndef HPC_OP_GRAPH_PRIV_H
#define HPC_OP_GRAPH_PRIV_H

#include "runtime/program/op/priv.h"

/* Operand k, if present, is i32 [V+1] with a fixed V. */
int hpc_op_expect_start(const hpc_insn *i, const hpc_type *type, int k);
/* Operand k, if present, is a matrix or vector of fixed extents. */
int hpc_op_expect_fixed(const hpc_insn *i, const hpc_type *type, int k, hpc_op_elements e,
                        int least, int most);
static inline int hpc_op_expect_matrix(const hpc_insn *i, const hpc_type *type, int k)
{
    return hpc_op_expect_fixed(i, type, k, HPC_OP_REAL, 2, 2);
}
/* Operand k, if present, has as many rows; an error names operand `like`. */
int hpc_op_expect_rows(const hpc_insn *i, const hpc_type *type, int k, int64_t rows, int like);
/* graph_edge with `pick`, which may be HPC_NONE. */
hpc_value hpc_op_graph_edge_picked(hpc_program *p, hpc_value a, hpc_value b, hpc_value pick,
                                   const hpc_graph *g, hpc_graph_edge_attr attr);

#endif
