/*
 * priv.h: what the rows of the op table share: checks of operands, output
 * types, labels, costs and the handing on of gradients.
 */
#ifndef HPC_OP_PRIV_H
#define HPC_OP_PRIV_H

#include "runtime/program/op/op.h"

/* ---- shape rules ----------------------------------------------------------- */
typedef enum hpc_op_elements {
    HPC_OP_REAL,   /* f32, bf16 or f64, plain */
    HPC_OP_WEIGHT, /* any type with fractions, however packed */
    HPC_OP_INDEX,  /* i32 */
    HPC_OP_LONG,   /* i64 */
    HPC_OP_BYTE,   /* i8 */
    HPC_OP_ANY     /* unquantised, plain */
} hpc_op_elements;
/* Operand k, if present, has such elements and a rank of least to most. */
int hpc_op_expect(const hpc_insn *i, const hpc_type *type, int k, hpc_op_elements e, int least,
                  int most);
/* Operands k and like have the same shape, if k is present. */
int hpc_op_alike(const hpc_insn *i, const hpc_type *type, int k, int like);
/* A new output k becomes `want`; one given as state must have its shape and kind of elements. */
int hpc_op_output(const hpc_insn *i, hpc_type *type, int k, hpc_type want);
/* Operands k to k + 2, `dropped`, `load` and `expert`, of an op that gives choices of experts
 * their places, where each expert has `cap`, at least `least`. */
int hpc_op_choices(const hpc_insn *i, hpc_type *type, int k, const hpc_dispatch_attr *at,
                   int64_t least);
/* The same shape with other elements: plain, layout left to sharding. */
hpc_type hpc_op_like(const hpc_type *t, hpc_dtype dtype);
/* Without its last dimension. */
hpc_type hpc_op_leading(const hpc_type *t, hpc_dtype dtype);
hpc_dtype hpc_op_wide(const hpc_type *t); /* f64 for f64, else f32 */
int64_t hpc_op_n(const hpc_type *t);
int64_t hpc_op_cols(const hpc_type *t);
int64_t hpc_op_rows(const hpc_type *t);
/* The type of operand k, or NULL if it is absent. */
const hpc_type *hpc_op_type(const hpc_program *p, const hpc_insn *i, int k);

/* ---- layout rules ---------------------------------------------------------- */
/* Labels operand k, if present, 'A', 'B', ... for leading dimensions and `last` for its last. */
void hpc_op_label_rows(hpc_dims *dims, const hpc_program *p, const hpc_insn *i, int k, char last);
/* Labels operand k, if present, with the first letters of `letters`. */
void hpc_op_label(hpc_dims *dims, const hpc_program *p, const hpc_insn *i, int k,
                  const char *letters);
/* All operands but scalars have one shape, and any dimension may be split. */
int hpc_op_layout_pointwise(const hpc_program *p, const hpc_insn *i, hpc_dims *dims);
/* Which part of a table's rows is here, if not all. */
void hpc_op_part(int64_t *first, int64_t *rows, const hpc_type *global, const hpc_type *local,
                 const hpc_grid_shape *shape, const int *coord);

/* ---- costs, selection ------------------------------------------------------ */
/* These flops, and the bytes of the operands that are present. */
hpc_cost hpc_op_cost(const hpc_type *type, int operand_n, double flops);
/* Records that the backend's table has no such entry. */
int hpc_op_missing(const char *op);

/* ---- backward rules -------------------------------------------------------- */
/* hpc_diff_add, after a cast to v's own width (accumulators of state keep theirs). */
void hpc_op_give(hpc_diff *d, hpc_value v, hpc_value gradient);
/* HPC_NEW if v wants a gradient, else HPC_NONE: for outputs that do not accumulate. */
hpc_value hpc_op_fresh(hpc_diff *d, hpc_value v);
/* Fails if a gradient reached v, which `what` names: a by-product like an lse or statistics. */
int hpc_op_no_gradient(hpc_diff *d, hpc_value v, const char *what);
/* dx = dy act'(x). */
hpc_value hpc_op_act_gradient(hpc_program *p, hpc_value dy, hpc_value x, int act);
/* HPC_E_ARG unless act is one of hpc_act. */
int hpc_op_check_act(int act);
extern const char *const hpc_op_act_names[];

#endif
