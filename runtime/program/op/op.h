/*
 * op.h: the op table, and the functions that emit ops.
 *
 * A new op needs its arguments and selector in device/kernel/kernel.h, a row (in the file of its
 * family and in table.c), kernels and tests: CONTRIBUTING.md lists the places.
 */
#ifndef HPC_OP_H
#define HPC_OP_H

#include "runtime/program/program.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An attribute, as the printer and `bench op --attr` show it. */
typedef enum hpc_field_kind {
    HPC_FIELD_BOOL,
    HPC_FIELD_INT,
    HPC_FIELD_I64,
    HPC_FIELD_REAL,
    HPC_FIELD_NAME
} hpc_field_kind;
typedef struct hpc_field {
    const char *name; /* NULL ends the list */
    hpc_field_kind kind;
    size_t offset;
    const char *const *names; /* NAME: of an enum's values */
    bool real_default;        /* print even when zero */
} hpc_field;

/* Sharding rule: a letter for each dimension of each operand. Equal letters mean equal extents.
 * Capitals may be split over an axis. The op sums over a capital that only inputs have, so
 * splitting it makes the outputs partial sums. Small letters may not be split. */
typedef struct hpc_dims {
    char label[HPC_OPERAND_MAX][HPC_RANK_MAX + 1];
    uint16_t linear[4]; /* sets of inputs: if exactly these are partial sums, so are the outputs */
    uint16_t logarithm; /* outputs that become logarithms of partial sums */
    const int8_t *as[HPC_OPERAND_MAX]; /* by axis: the split that an operand must have, or NULL.
                                          Along an axis on which one has such a split, operands
                                          without are whole */
    uint16_t own;  /* operands with numbers about the rank's own rows: HPC_OWN(0) where these are
                      split, in any way */
    char own_rows; /* the letter of these rows; 0: no operand has them */
} hpc_dims;

typedef struct hpc_diff hpc_diff; /* a differentiation under way */

struct hpc_op {
    hpc_signature sig;
    const hpc_field *field;
    int comm;      /* hpc_comm_kind of a collective, run by the executor; -1: a kernel */
    bool exchange; /* a collective that one rank runs as well, by itself: in the serial program */
    bool view;     /* output 0 shares operand 1's memory; nothing runs */
    /* Checks inputs and sets the types of new outputs: type[k] of operand k; inputs are set. */
    int (*shape)(const hpc_program *p, const hpc_insn *i, hpc_type *type);
    /* Emits the gradients of inputs from those of outputs. NULL: no gradient passes. */
    int (*backward)(hpc_diff *d, const hpc_insn *i);
    /* NULL: nothing may be split. */
    int (*layout)(const hpc_program *p, const hpc_insn *i, hpc_dims *dims);
    /* Converts attributes from global to local indices after sharding. global: types before, by
     * operand. NULL: no such attributes. */
    void (*localise)(hpc_insn *i, const hpc_type *global, const hpc_type *local,
                     const hpc_grid_shape *shape, const int *coord);
    hpc_cost (*cost)(const hpc_type *type, const void *attr); /* NULL: bytes of all operands */
    int (*select)(hpc_plan *plan, const hpc_kernels *k, int workers, const void *args);
};

extern const hpc_op *const hpc_op_table[];   /* ends with NULL */
const hpc_op *hpc_op_find(const char *name); /* NULL if unknown */

/* ---- for backward rules ---------------------------------------------------- */
hpc_program *hpc_diff_program(hpc_diff *d);
hpc_value hpc_diff_of(hpc_diff *d, hpc_value v); /* gradient of v; HPC_NONE: none flows */
bool hpc_diff_wants(hpc_diff *d, hpc_value v);   /* true if v or a value upstream needs one */
/* The ACC output to pass for v's gradient: its accumulator, HPC_NEW, or HPC_NONE if no gradient
 * is needed. Then call hpc_diff_add with the result. */
hpc_value hpc_diff_target(hpc_diff *d, hpc_value v);
void hpc_diff_add(hpc_diff *d, hpc_value v, hpc_value gradient);

/* ---- for shape rules ------------------------------------------------------- */
/* Records "a is f32[3,4] and b is f32[5]: WHY"; a negative b is omitted. */
int hpc_misfit(const hpc_insn *i, const hpc_type *type, int a, int b, const char *why, ...)
    __attribute__((format(printf, 5, 6)));
bool hpc_type_same_shape(const hpc_type *a, const hpc_type *b); /* extents and raggedness */

/* ---- emission -------------------------------------------------------------- */
extern const hpc_op hpc_op_nop, hpc_op_view, hpc_op_matmul, hpc_op_norm, hpc_op_norm_grad,
    hpc_op_rope, hpc_op_attention, hpc_op_attention_grad, hpc_op_act, hpc_op_act_grad, hpc_op_glu,
    hpc_op_glu_grad, hpc_op_head_loss, hpc_op_head_loss_grad, hpc_op_soft, hpc_op_dropout,
    hpc_op_binary, hpc_op_scale, hpc_op_copy, hpc_op_fetch, hpc_op_stow, hpc_op_pack, hpc_op_fill,
    hpc_op_gather, hpc_op_scatter, hpc_op_route, hpc_op_gate, hpc_op_gate_grad, hpc_op_dispatch,
    hpc_op_grouped, hpc_op_pick, hpc_op_spread, hpc_op_reduce, hpc_op_sgd, hpc_op_adamw,
    hpc_op_adam, hpc_op_adam_add, hpc_op_adam_step, hpc_op_apply, hpc_op_combine, hpc_op_map,
    hpc_op_below, hpc_op_tile, hpc_op_bundle, hpc_op_eigh, hpc_op_all_reduce, hpc_op_all_gather,
    hpc_op_reduce_scatter, hpc_op_all_to_all, hpc_op_broadcast, hpc_op_send, hpc_op_recv,
    hpc_op_exchange_plan, hpc_op_exchange, hpc_op_admit, hpc_op_sample;
extern const hpc_op hpc_op_graph_attend, hpc_op_graph_attend_source, hpc_op_graph_attend_target,
    hpc_op_graph_edge, hpc_op_graph_merge, hpc_op_graph_reduce, hpc_op_graph_scale,
    hpc_op_graph_softmax, hpc_op_graph_softmax_grad;

/* All of x with other extents; or rows [row, row + extent[0]) of x, other extents unchanged. */
typedef struct hpc_view_attr {
    int64_t rank, extent[HPC_RANK_MAX], row;
    int64_t ragged, count; /* 1 + the dimension that gets a run-time extent; 0: as in x */
    int64_t from_rank, from_extent[HPC_RANK_MAX]; /* of x before sharding, set by the shape rule */
} hpc_view_attr;
/* ranks: of all_gather and reduce_scatter; peer: also the root; type: the result of recv. */
typedef struct hpc_comm_attr {
    int64_t axes, ranks, peer, tag;
    int reduce; /* hpc_comm_reduce */
    hpc_type type;
} hpc_comm_attr;

/* Rows sorted by expert go to the ranks that own their experts, and back. comm.axes: the axis over
 * which ranks own experts, comm.ranks of them, each with an equal share, in order. rows: ranks
 * along row that send different rows, of which each then gets all; most: the same before sharding.
 */
typedef struct hpc_exchange_attr {
    hpc_comm_attr comm;
    int64_t rows, most, experts;
    bool drop, back;
} hpc_exchange_attr;

/* axes: along which ranks have other tokens; first: the rank's first one, of `tokens` of all ranks.
 * wide: as in hpc_dispatch_attr. */
typedef struct hpc_admit_attr {
    hpc_comm_attr comm;
    int64_t experts, cap, tokens, first;
    bool wide;
} hpc_admit_attr;

/* Absent operands are HPC_NONE, y is HPC_NEW or state to write to. `out` parameters may be NULL. */
hpc_value hpc_view(hpc_program *p, hpc_value x, int rank, const int64_t *extent);
/* Rows [row, row + rows) of the first dimension. No gradient passes. */
hpc_value hpc_slice(hpc_program *p, hpc_value x, int64_t row, int64_t rows);
/* The same extents, with a run-time extent `count` of dimension `dim`; the rest is not read. */
hpc_value hpc_view_ragged(hpc_program *p, hpc_value x, int dim, hpc_value count);
/* y = x w^T + bias + residual. */
hpc_value hpc_linear(hpc_program *p, hpc_value x, hpc_value w, hpc_value bias, hpc_value residual);
/* alpha 0 means 1; with an activation, `pre` is computed as a second output. */
hpc_value hpc_matmul(hpc_program *p, hpc_value a, hpc_value b, hpc_matmul_attr attr);
hpc_value hpc_norm(hpc_program *p, hpc_value x, hpc_value w, hpc_value b, hpc_norm_attr attr);
/* scale 0 means 1. */
hpc_value hpc_rope(hpc_program *p, hpc_value x, hpc_value pos, hpc_value freq, hpc_rope_attr attr);
/* scale 0 means 1/sqrt(D). */
hpc_value hpc_attention(hpc_program *p, hpc_value q, hpc_value k, hpc_value v, hpc_value start,
                        hpc_value len, hpc_value pages, hpc_attention_attr attr);
hpc_value hpc_activate(hpc_program *p, hpc_value x, hpc_act act);
hpc_value hpc_glu(hpc_program *p, hpc_value gate, hpc_value up, hpc_act act);
hpc_value hpc_head_loss(hpc_program *p, hpc_value x, hpc_value w, hpc_value target);
/* cap: bound of logits, 0: none. */
hpc_value hpc_head_loss_capped(hpc_program *p, hpc_value *lse, hpc_value x, hpc_value w,
                               hpc_value target, double cap);
/* The same losses, and in one pass their gradients, given those of the losses: by x into *dx; by w
 * into its accumulator if w is trainable, otherwise into *dw, a new value, unless dw is NULL. If
 * *dw is HPC_NEW_WIDE on entry, it becomes a new value in any case. */
hpc_value hpc_head_loss_trained(hpc_program *p, hpc_value *dx, hpc_value *dw, hpc_value x,
                                hpc_value w, hpc_value target, hpc_value dloss, double cap);
/* Variants for w split by rows: they combine the lse of each part and the target's logit. */
hpc_value hpc_head_loss_of_parts(hpc_program *p, hpc_value *lse, hpc_value x, hpc_value w,
                                 hpc_value target, double cap);
hpc_value hpc_head_loss_of_parts_trained(hpc_program *p, hpc_value *dx, hpc_value *dw, hpc_value x,
                                         hpc_value w, hpc_value target, hpc_value dloss,
                                         double cap);
hpc_value hpc_soft_of(hpc_program *p, hpc_soft_kind kind, hpc_value a, hpc_value b,
                      hpc_value target);
hpc_value hpc_dropout(hpc_program *p, hpc_value x, hpc_value step, hpc_value base,
                      hpc_dropout_attr attr);
hpc_value hpc_binary(hpc_program *p, hpc_binary_kind kind, hpc_value a, hpc_value b);
/* No gradient passes to `by`, which is a number such as a learning rate or a loss scale. */
hpc_value hpc_scale(hpc_program *p, hpc_value y, hpc_value x, hpc_value by, double alpha);
/* fetch and stow copy x to state y, from an outside memory and to it (hpc_offload). */
void hpc_move(hpc_program *p, const hpc_op *op, hpc_value y, hpc_value x);
hpc_value hpc_copy(hpc_program *p, hpc_value x, hpc_dtype to);
hpc_value hpc_pack(hpc_program *p, hpc_value x);
hpc_value hpc_fill(hpc_program *p, hpc_value state, double value);
hpc_value hpc_gather(hpc_program *p, hpc_value x, hpc_value index);
/* The index is of rows that are split like x's: it counts those of the rank's part. */
hpc_value hpc_gather_own(hpc_program *p, hpc_value x, hpc_value index);
hpc_value hpc_scatter(hpc_program *p, hpc_value y, hpc_value x, hpc_value index,
                      hpc_scatter_attr attr);
/* Sums of rows, in a new value with the rows of `like`, of which the number may be run-time. */
hpc_value hpc_scatter_to(hpc_program *p, hpc_value x, hpc_value index, hpc_value like);
hpc_value hpc_scatter_own(hpc_program *p, hpc_value x, hpc_value index, hpc_value like);
hpc_value hpc_route(hpc_program *p, hpc_value group, int64_t groups, int64_t cap, hpc_value *count);
/* A token from each row of logits, and its log-probability; how: records of hpc_sample_how. */
hpc_value hpc_sample_tokens(hpc_program *p, hpc_value *logprob, hpc_value logits, hpc_value how);
/* Operands and results of a gate; bias, anneal, step and base may be HPC_NONE. wants_prob: also
 * prob and lse, for auxiliary losses. attr.scale 0 means 1. Returns the weights. */
typedef struct hpc_gate_io {
    hpc_value logits, bias, anneal, step, base;
    bool wants_prob;
    hpc_value expert, prob, lse; /* out */
} hpc_gate_io;
hpc_value hpc_gate(hpc_program *p, hpc_gate_io *io, hpc_gate_attr attr);
typedef struct hpc_dispatched {
    hpc_value slot, token, group, start, dropped, load, rows;
} hpc_dispatched;
hpc_dispatched hpc_dispatch(hpc_program *p, hpc_value expert, hpc_dispatch_attr attr);
hpc_value hpc_grouped(hpc_program *p, hpc_value y, hpc_value a, hpc_value b, hpc_value start,
                      hpc_grouped_attr attr);
/* Entries of expert [T,k] that find capacity, counted over the tokens of all ranks; the others are
 * -1. dispatch by these is what it would be with the capacity `cap` on one rank. */
typedef struct hpc_admitted {
    hpc_value expert, dropped, load;
} hpc_admitted;
hpc_admitted hpc_admit(hpc_program *p, hpc_value expert, hpc_dispatch_attr attr);
/* How many rows go where, from the starts of `experts` groups, in `*start`, and in `*start` then
 * the starts of the own experts' rows that arrive; *rows: their number. most: ranks along row that
 * drop rows that others send as well; 1: none. */
hpc_value hpc_exchange_plan(hpc_program *p, hpc_value *start, hpc_value *rows, int64_t experts,
                            int64_t most);
/* Rows of x as the plan says, or back: y has `rows`, sorted by expert as well. Exchanges that go
 * there and back are the identity, and each is the gradient of the other. */
hpc_value hpc_exchange(hpc_program *p, hpc_value x, hpc_value plan, hpc_value rows, bool back);
/* pick: the elements of x that `index` names, into y or a new value. spread: the reverse, into
 * state y or a new [m,n] of zeros. Both use the split of `like`, which may be y or x. */
hpc_value hpc_pick(hpc_program *p, hpc_value y, hpc_value x, hpc_value index, hpc_value like);
hpc_value hpc_spread(hpc_program *p, hpc_value y, hpc_value x, hpc_value index, hpc_value like);
hpc_value hpc_reduce(hpc_program *p, hpc_value y, hpc_value x, hpc_reduce_kind kind,
                     hpc_reduce_over over);
void hpc_sgd(hpc_program *p, hpc_value param, hpc_value mom, hpc_value grad, hpc_value lr,
             hpc_sgd_attr attr);
void hpc_adamw(hpc_program *p, hpc_value param, hpc_value m, hpc_value v, hpc_value half,
               hpc_value grad, hpc_value lr, hpc_value step, hpc_value clip, hpc_adamw_attr attr);
/* Adam by accumulation: each gradient is added to the moments, and no sum of gradients is kept.
 * hpc_adam_add returns the squares of grad. */
hpc_value hpc_adam_add(hpc_program *p, hpc_value m, hpc_value v, hpc_value grad, hpc_value keep,
                       hpc_value clip, hpc_adam_add_attr attr);
void hpc_adam_step(hpc_program *p, hpc_value param, hpc_value half, hpc_value m, hpc_value v,
                   hpc_value lr, hpc_value step, hpc_adamw_attr attr);
/* Parts of second-order optimizers. Gradients pass through map_each only. hpc_adam returns u, for
 * hpc_apply. */
hpc_value hpc_adam(hpc_program *p, hpc_value u, hpc_value m, hpc_value v, hpc_value grad,
                   hpc_value top, hpc_value step, hpc_value clip, hpc_adamw_attr attr);
/* alpha 0 means 1. */
void hpc_apply(hpc_program *p, hpc_value param, hpc_value half, hpc_value dir, hpc_value lr,
               hpc_value by, hpc_apply_attr attr);
/* s: factors of I, x1 and x2, or NULL. x1 may be the state y: S = 0.95 S + 0.05 X. */
hpc_value hpc_combine(hpc_program *p, hpc_value y, hpc_value x1, hpc_value x2, const hpc_value s[3],
                      hpc_combine_attr attr);
hpc_value hpc_map_each(hpc_program *p, hpc_value x, hpc_map_attr attr);
hpc_value hpc_below(hpc_program *p, hpc_value y, hpc_value x, hpc_value limit);
hpc_value hpc_tile(hpc_program *p, hpc_value x, int64_t rows, int64_t cols);
hpc_value hpc_untile(hpc_program *p, hpc_value x, int64_t m, int64_t n);
/* To [batch,m,n]; batch 0: to [m,n]. */
hpc_value hpc_untile_batch(hpc_program *p, hpc_value x, int64_t batch, int64_t m, int64_t n);
/* x: [n], at most HPC_BUNDLE_MAX values. */
hpc_value hpc_bundle(hpc_program *p, const hpc_value *x, int n, int64_t parts);
/* Eigendecomposition: returns the vectors; *values: the eigenvalues. */
hpc_value hpc_eigh(hpc_program *p, hpc_value x, hpc_value *values);
/* A graph: i32 values (device/kernel/graph.h). Without back_*, no gradient passes to rows of
 * sources. index is HPC_NONE for segments of rows that need no gather. */
typedef struct hpc_graph {
    hpc_value start, index, back_start, back_index, back_edge;
} hpc_graph;
hpc_graph hpc_graph_of_segments(hpc_value start);
/* Gather, weight and reduce in one pass that stores nothing for each edge. w may be HPC_NONE. A
 * mean is a sum, then hpc_graph_scale by degree^-1. */
hpc_value hpc_graph_reduce(hpc_program *p, hpc_value y, hpc_value x, hpc_value w,
                           const hpc_graph *g, hpc_graph_kind kind);
/* Maxima into state y and arg, which keep what is larger. No gradient passes to sources. */
hpc_value hpc_graph_reduce_max(hpc_program *p, hpc_value y, hpc_value arg, hpc_value x,
                               const hpc_graph *g);
/* For each edge, a[v] + b[source], either optional; and a[v] . b[source] for each head. */
hpc_value hpc_graph_add(hpc_program *p, hpc_value a, hpc_value b, const hpc_graph *g);
hpc_value hpc_graph_dot(hpc_program *p, hpc_value a, hpc_value b, const hpc_graph *g,
                        int64_t heads);
/* x [E,H]. No gradient passes to *lse [V,H] (may be NULL). */
hpc_value hpc_graph_softmax(hpc_program *p, hpc_value x, hpc_value start, hpc_value *lse);
/* The average of rows x of sources, weighted by the softmax over edges of leaky(target + source)
 * for each head, in one pass that stores nothing for each edge. *lse as above. */
hpc_value hpc_graph_attend(hpc_program *p, hpc_value *lse, hpc_value x, hpc_value target,
                           hpc_value source, const hpc_graph *g, double slope);
hpc_value hpc_graph_scale(hpc_program *p, hpc_value x, hpc_value start, double power);
/* (y, lse), which is state, becomes the average over both sets. No gradient passes. */
void hpc_graph_merge(hpc_program *p, hpc_value y, hpc_value lse, hpc_value x, hpc_value more);
/* Collectives over `axes`; gather and scatter along dimension 0. */
hpc_value hpc_all_reduce(hpc_program *p, hpc_value x, hpc_axes axes, hpc_comm_reduce reduce);
hpc_value hpc_all_gather(hpc_program *p, hpc_value x, hpc_axes axes, int ranks);
hpc_value hpc_reduce_scatter(hpc_program *p, hpc_value x, hpc_axes axes, int ranks);
hpc_value hpc_all_to_all(hpc_program *p, hpc_value x, hpc_axes axes);
hpc_value hpc_broadcast(hpc_program *p, hpc_value x, hpc_axes axes, int root);
/* The tag of the message is the slot's microbatch; `edge` distinguishes edges of one segment. */
void hpc_send(hpc_program *p, hpc_value x, hpc_axes axes, int peer, int edge);
hpc_value hpc_recv(hpc_program *p, hpc_type t, hpc_axes axes, int peer, int edge);

#ifdef __cplusplus
}
#endif
#endif
