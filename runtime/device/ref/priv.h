/*
 * priv.h: what the reference kernels share: elements of any type as doubles,
 * and what is live of a ragged tensor.
 *
 * The reference is written to be seen to be right: each op straight from its
 * equation, in double, an output element by the worker that owns its row, so
 * that no result depends on the number of workers. It is not written for speed.
 */
#ifndef HPC_REF_PRIV_H
#define HPC_REF_PRIV_H

#include <math.h>

#include "runtime/device/priv.h"

enum { REF_CHUNK = 256 }; /* elements handled at once; whole blocks of every format */

static inline bool present(const hpc_tensor *t)
{
    return t->data != NULL;
}

static inline int64_t extent_from_end(const hpc_tensor *t, int k)
{
    return t->extent[t->rank - k];
}

/* Element i of an unquantised tensor; most are of f32. */
double hpc_ref_get_any(const hpc_tensor *t, int64_t i);
static inline double hpc_ref_get(const hpc_tensor *t, int64_t i)
{
    if (t->dtype == HPC_F32) return ((const float *)t->data)[i];
    return t->dtype == HPC_F64 ? ((const double *)t->data)[i] : hpc_ref_get_any(t, i);
}
/* Sets element i; put adds to it where t->adds. Integers saturate, fractions go towards zero. */
void hpc_ref_set(const hpc_tensor *t, int64_t i, double v);
void hpc_ref_put(const hpc_tensor *t, int64_t i, double v);
/* Index operands: i32, or i64 unchanged. */
int64_t hpc_ref_index(const hpc_tensor *t, int64_t i);
/* n elements from i on, `step` apart (1, from the start of a block, if t is quantised). */
void hpc_ref_load(double *dst, const hpc_tensor *t, int64_t i, int64_t step, int64_t n);

/* The live part of dimension dim below leading index lead; its extent if it is not ragged. */
int64_t hpc_ref_live(const hpc_tensor *t, int dim, int64_t lead);
/* How many leading elements of row r are live: 0 when the row is not. */
int64_t hpc_ref_live_cols(const hpc_tensor *t, int64_t r);
bool hpc_ref_element_live(const hpc_tensor *t, int64_t i);

/* This worker's rows of t: all dimensions but the last. */
static inline void share_rows(int64_t *lo, int64_t *hi, const hpc_tensor *t, const hpc_launch *l)
{
    hpc_share(lo, hi, hpc_tensor_rows(t), 1, l->worker, l->workers);
}

static inline int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* hpc_act and its derivative. */
double hpc_ref_act(int act, double x);
double hpc_ref_act_slope(int act, double x);

static inline int ref_plan(hpc_plan *p, hpc_kernel *run, const char *name)
{
    *p = (hpc_plan){.run = run, .workspace = 0, .name = name};
    return 0;
}

/* ---- selectors, by file ------------------------------------------------------ */
/* product.c */
int hpc_ref_matmul(hpc_plan *p, int workers, const hpc_matmul_args *a);
int hpc_ref_pack(hpc_plan *p, int workers, const hpc_pack_args *a);
/* norm.c */
int hpc_ref_norm(hpc_plan *p, int workers, const hpc_norm_args *a);
int hpc_ref_norm_grad(hpc_plan *p, int workers, const hpc_norm_grad_args *a);
/* rope.c */
int hpc_ref_rope(hpc_plan *p, int workers, const hpc_rope_args *a);
/* attention.c */
int hpc_ref_attention(hpc_plan *p, int workers, const hpc_attention_args *a);
int hpc_ref_attention_grad(hpc_plan *p, int workers, const hpc_attention_grad_args *a);
/* point.c */
int hpc_ref_activate(hpc_plan *p, int workers, const hpc_act_args *a);
int hpc_ref_activate_grad(hpc_plan *p, int workers, const hpc_act_grad_args *a);
int hpc_ref_glu(hpc_plan *p, int workers, const hpc_glu_args *a);
int hpc_ref_glu_grad(hpc_plan *p, int workers, const hpc_glu_grad_args *a);
int hpc_ref_dropout(hpc_plan *p, int workers, const hpc_dropout_args *a);
int hpc_ref_binary(hpc_plan *p, int workers, const hpc_binary_args *a);
int hpc_ref_scale(hpc_plan *p, int workers, const hpc_scale_args *a);
int hpc_ref_copy(hpc_plan *p, int workers, const hpc_copy_args *a);
int hpc_ref_fill(hpc_plan *p, int workers, const hpc_fill_args *a);
/* loss.c */
int hpc_ref_head_loss(hpc_plan *p, int workers, const hpc_head_loss_args *a);
int hpc_ref_soft(hpc_plan *p, int workers, const hpc_soft_args *a);
int hpc_ref_head_loss_grad(hpc_plan *p, int workers, const hpc_head_loss_grad_args *a);
/* index.c */
int hpc_ref_gather(hpc_plan *p, int workers, const hpc_gather_args *a);
int hpc_ref_scatter(hpc_plan *p, int workers, const hpc_scatter_args *a);
int hpc_ref_route(hpc_plan *p, int workers, const hpc_route_args *a);
/* expert.c */
int hpc_ref_gate(hpc_plan *p, int workers, const hpc_gate_args *a);
int hpc_ref_gate_grad(hpc_plan *p, int workers, const hpc_gate_grad_args *a);
int hpc_ref_dispatch(hpc_plan *p, int workers, const hpc_dispatch_args *a);
/* product.c */
int hpc_ref_grouped(hpc_plan *p, int workers, const hpc_grouped_args *a);
/* pick.c */
int hpc_ref_pick(hpc_plan *p, int workers, const hpc_pick_args *a);
int hpc_ref_spread(hpc_plan *p, int workers, const hpc_spread_args *a);
/* reduce.c */
int hpc_ref_reduce(hpc_plan *p, int workers, const hpc_reduce_args *a);
/* sample.c */
int hpc_ref_sample(hpc_plan *p, int workers, const hpc_sample_args *a);
/* update.c */
int hpc_ref_sgd(hpc_plan *p, int workers, const hpc_sgd_args *a);
int hpc_ref_adamw(hpc_plan *p, int workers, const hpc_adamw_args *a);
int hpc_ref_adam(hpc_plan *p, int workers, const hpc_adam_args *a);
int hpc_ref_adam_add(hpc_plan *p, int workers, const hpc_adam_add_args *a);
int hpc_ref_adam_step(hpc_plan *p, int workers, const hpc_adam_step_args *a);
int hpc_ref_apply(hpc_plan *p, int workers, const hpc_apply_args *a);
int hpc_ref_below(hpc_plan *p, int workers, const hpc_below_args *a);
/* matrix.c */
int hpc_ref_combine(hpc_plan *p, int workers, const hpc_combine_args *a);
int hpc_ref_map(hpc_plan *p, int workers, const hpc_map_args *a);
int hpc_ref_tile(hpc_plan *p, int workers, const hpc_tile_args *a);
int hpc_ref_bundle(hpc_plan *p, int workers, const hpc_bundle_args *a);
/* eigh.c */
int hpc_ref_eigh(hpc_plan *p, int workers, const hpc_eigh_args *a);
/* graph.c */
int hpc_ref_graph_edge(hpc_plan *p, int workers, const hpc_graph_edge_args *a);
int hpc_ref_graph_merge(hpc_plan *p, int workers, const hpc_graph_merge_args *a);
int hpc_ref_graph_reduce(hpc_plan *p, int workers, const hpc_graph_reduce_args *a);
int hpc_ref_graph_scale(hpc_plan *p, int workers, const hpc_graph_scale_args *a);
int hpc_ref_graph_softmax(hpc_plan *p, int workers, const hpc_graph_softmax_args *a);
int hpc_ref_graph_softmax_grad(hpc_plan *p, int workers, const hpc_graph_softmax_grad_args *a);
/* graph_attend.c */
int hpc_ref_graph_attend(hpc_plan *p, int workers, const hpc_graph_attend_args *a);
int hpc_ref_graph_attend_source(hpc_plan *p, int workers, const hpc_graph_attend_source_args *a);
int hpc_ref_graph_attend_target(hpc_plan *p, int workers, const hpc_graph_attend_target_args *a);

#endif
