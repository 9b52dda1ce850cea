/*
 * kernel.h: interface of kernels: the arguments of every op (those of optimizers are in update.h,
 * of indexed rows in part.h, of graphs in graph.h, of experts in expert.h, of sampling in sample.h)
 * and the typed table of selectors. The entries of a backend are in backend.h.
 *
 * To add a kernel, write a selector that accepts the arguments it supports, and enter it in the
 * table.
 *
 * Rules for all kernels. Arguments begin with their tensors, outputs first, in the order of the
 * op's signature. Absent optional operands have data == NULL and rank -1. Outputs are overwritten
 * unless `adds` is set, which is allowed where marked ACC. No output overlaps an input unless
 * marked INPLACE. Real operands are f32 or bf16 (any mix, unless noted) or all f64 (the reference).
 * Sums use at least f32. Their order does not depend on the number of workers nor, for products, on
 * the number of rows. Intermediate factors (attention weights, gradients of logits) may be rounded
 * to bf16 if the operands are bf16. Index operands are i32. Kernels allocate nothing, block only at
 * the launch's barrier, and return 0 or a negative code with the error recorded. Failures that
 * depend on data, such as an index past its table, are faults (fault.h).
 */
#ifndef HPC_KERNEL_H
#define HPC_KERNEL_H

#include "runtime/device/cpu/plan.h"
#include "runtime/device/device.h"
#include "runtime/device/kernel/expert.h"
#include "runtime/device/kernel/fault.h"
#include "runtime/device/kernel/graph.h"
#include "runtime/device/kernel/part.h"
#include "runtime/device/kernel/sample.h"
#include "runtime/device/kernel/update.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hpc_launch {
    int worker, workers;  /* which share of the work this call does */
    hpc_barrier *barrier; /* all workers of this launch; never NULL */
    void *workspace;      /* plan.workspace bytes, shared by the workers */
    hpc_cpu_launch cpu;   /* of kernels that run on the host */
    void *stream;         /* of the others */
    hpc_fault *fault;     /* where kernels note faults; NULL: hpc_kernel_fault records an error */
} hpc_launch;
/* What a kernel on the host returns for a fault: its code. With a record, the first fault is noted
 * there, and no error is recorded. */
int hpc_kernel_fault(const hpc_launch *l, const hpc_fault *f);

typedef int hpc_kernel(const hpc_launch *l, const void *args);

/* A selector's result, made once when a program is opened. At that time args hold extents and types
 * but no data (present optional operands have rank >= 0). */
typedef struct hpc_plan {
    hpc_kernel *run;
    size_t workspace; /* bytes for all workers together */
    hpc_cpu_plan cpu; /* of kernels that run on the host */
    const char *name; /* "norm_avx512" */
    bool multiplies;  /* backends with `prepare`: it runs products */
    int products;     /* hpc_products; set by the executor */
} hpc_plan;

/* Formatted as a table, one op after the other. */
/* clang-format off */
typedef enum hpc_act {
    HPC_ACT_NONE, HPC_GELU_TANH, HPC_GELU_ERF, HPC_SILU, HPC_RELU, HPC_RELU2, HPC_TANH
} hpc_act;

/* y = act(alpha op(a) op(b) + bias) + residual.   pre (optional) = the argument of act.
 * a [m,k], or [k,m] if trans_a; b [k,n], or [n,k] if trans_b; y, residual, pre [m,n]; bias [n].
 * With rank 3, a leading batch extent on y and a (and on b, bias when of rank 3, 2).
 * Ragged a: its live rows (or live k, if trans_a: then b or its batch is ragged alike).
 * b may be f16, a block format (trans_b, k whole blocks), or PANEL16 (trans_b). y ACC.
 * i8 requires i8; then y is i32, the unscaled sums. halves: f32 operands are rounded to bf16.
 * int8 (b is a block format; required for it in PANEL16): rows of a are rounded to integers of
 * magnitude up to 127 with one scale for every 32 of k, and the product is computed in integers.
 * symmetric: y [m,m] and residual count below the diagonal only; y above it is the mirror image,
 * which halves the work of products that are symmetric by construction. It excludes act, pre, bias
 * and ragged extents other than the batch. */
typedef struct hpc_matmul_attr {
    bool trans_a, trans_b, halves, symmetric, int8;
    int act;
    double alpha;
} hpc_matmul_attr;
typedef struct hpc_matmul_args {
    hpc_tensor y, pre, a, b, bias, residual;
    hpc_matmul_attr attr;
} hpc_matmul_args;

/* RMS: y = x rstd w;  LAYER: y = (x - mean) rstd w + b, over the last extent.
 * stats [rows,2] f32 (f64): mean (0 for RMS), rstd. w, b optional. y INPLACE x. */
typedef enum hpc_norm_kind { HPC_RMS, HPC_LAYER } hpc_norm_kind;
typedef struct hpc_norm_attr { int kind; double eps; } hpc_norm_attr;
typedef struct hpc_norm_args { hpc_tensor y, stats, x, w, b; hpc_norm_attr attr; } hpc_norm_args;
/* dx may be absent; dw, db optional, ACC. */
typedef struct hpc_norm_grad_args {
    hpc_tensor dx, dw, db, dy, x, stats, w;
    hpc_norm_attr attr;
} hpc_norm_grad_args;

/* Rotates the first 2 * len(freq) elements of each head of x [T,heads,D] by pos[t] * freq[i]:
 * pairs (i, i + len) or, interleaved, (2i, 2i + 1). inverse: by minus the angle (its gradient).
 * scale multiplies cos and sin (YaRN's attention factor). Angles in f32 (f64). y INPLACE x. */
typedef struct hpc_rope_attr { bool interleaved, inverse; double scale; } hpc_rope_attr;
typedef struct hpc_rope_args { hpc_tensor y, x, pos, freq; hpc_rope_attr attr; } hpc_rope_args;

/* Variable-length, paged attention; the one signature. q, o [T,Hq,D]; lse [T,Hq] f32 (f64).
 * Sequence s owns query rows start[s] .. start[s+1]-1; start is i32[S+1], ragged if S varies.
 * Without pages: k, v [T,Hkv,D], the keys of s are its own rows (identity pages).
 * With pages: k, v [P,page,Hkv,D]; len[s] keys; key j lies at pages[s][j / page], j % page.
 * Query i of s sits at position len[s] - queries[s] + i; causal: it sees keys at or before its
 * position; window > 0: only the last `window` of them. Hq is a multiple of Hkv. cap > 0: scores
 * are cap tanh(s / cap). Never forms T x T. Each query's bits depend on its own sequence alone. */
typedef struct hpc_attention_attr {
    double scale; bool causal; int64_t window; double cap;
} hpc_attention_attr;
typedef struct hpc_attention_args {
    hpc_tensor o, lse, q, k, v, start, len, pages;
    hpc_attention_attr attr;
} hpc_attention_args;
typedef struct hpc_attention_grad_args { /* identity pages only */
    hpc_tensor dq, dk, dv, dout, q, k, v, o, lse, start;
    hpc_attention_attr attr;
} hpc_attention_grad_args;

/* y = act(x);  dx = dy act'(x). INPLACE x, dy. */
typedef struct hpc_act_attr { int act; } hpc_act_attr;
typedef struct hpc_act_args { hpc_tensor y, x; hpc_act_attr attr; } hpc_act_args;
typedef struct hpc_act_grad_args { hpc_tensor dx, dy, x; hpc_act_attr attr; } hpc_act_grad_args;
/* y = act(gate) up, all alike in shape (SwiGLU: act = SILU). y INPLACE gate. */
typedef struct hpc_glu_args { hpc_tensor y, gate, up; hpc_act_attr attr; } hpc_glu_args;
typedef struct hpc_glu_grad_args {
    hpc_tensor dgate, dup, dy, gate, up;
    hpc_act_attr attr;
} hpc_glu_grad_args;

/* Head and cross-entropy in one, in chunks of rows; logits [T,V] never exist whole.
 * loss[t] = lse[t] - x[t].w[target[t]], 0 where target[t] < 0. x [T,H], w [V,H]; loss, lse f32
 * (f64). A target >= V fails. */
typedef struct hpc_head_loss_args {
    hpc_tensor loss, lse, x, w, target; hpc_head_attr attr;
} hpc_head_loss_args;
/* dloss [T]. dx may be absent; dw optional, ACC. Without lse it finds the losses too, and stores
 * them if asked, with head_loss's bits: the logits are computed once for both. */
typedef struct hpc_head_loss_grad_args {
    hpc_tensor loss, dx, dw, dloss, lse, x, w, target; hpc_head_attr attr;
} hpc_head_loss_grad_args;

/* Inverted dropout of x, seen as [rows,cols]. Element (r, c) is kept and multiplied by 1/(1-p) if
 * hpc_random_half(seed, tensor, step, i) is at least p's share of 65,536, where i = (base + row0 +
 * r) * global_cols + col0 + c; otherwise it becomes 0. p is rounded to that resolution. step (i32)
 * and base (i64): optional device scalars, 0 if absent. A negative step copies x unchanged, for
 * evaluation. global_cols 0: cols. INPLACE. */
typedef struct hpc_dropout_attr {
    double p;
    int64_t seed, tensor, global_cols, row0, col0;
} hpc_dropout_attr;
typedef struct hpc_dropout_args {
    hpc_tensor y, x, step, base;
    hpc_dropout_attr attr;
} hpc_dropout_args;

/* y = a (kind) b; b of a's shape, [cols], [rows,1] (rank >= 2, last extent 1), or a scalar.
 * INPLACE a. */
typedef enum hpc_binary_kind { HPC_ADD, HPC_SUB, HPC_MUL } hpc_binary_kind;
typedef struct hpc_binary_attr { int kind; } hpc_binary_attr;
typedef struct hpc_binary_args { hpc_tensor y, a, b; hpc_binary_attr attr; } hpc_binary_args;
/* y = alpha x by;  by: optional device scalar. y ACC; INPLACE x otherwise. */
typedef struct hpc_scale_attr { double alpha; } hpc_scale_attr;
typedef struct hpc_scale_args { hpc_tensor y, x, by; hpc_scale_attr attr; } hpc_scale_args;
/* Same elements, other dtype (any real to any unquantised; block formats to real) or same. */
typedef struct hpc_copy_attr { int dtype; } hpc_copy_attr; /* of y, for the shape rule */
typedef struct hpc_copy_args { hpc_tensor y, x; hpc_copy_attr attr; } hpc_copy_args;
/* y (PANEL16; f32, bf16 or f64 as x) = x (plain). */
typedef struct hpc_pack_args { hpc_tensor y, x; hpc_no_attr attr; } hpc_pack_args;
typedef struct hpc_fill_attr { double value; } hpc_fill_attr; /* any unquantised dtype */
typedef struct hpc_fill_args { hpc_tensor y; hpc_fill_attr attr; } hpc_fill_args;

/* x seen as [rows,cols]: OVER_ALL to a scalar, OVER_ROWS to [cols], OVER_COLS to [rows...].
 * FINITE gives i32 1 or 0 (OVER_ALL). f32 results of SUM, SUMSQ are summed in f64 by chunks
 * (over rows: in f32 at least). y ACC for SUM and SUMSQ. Empty: 0 (MAX: -inf). */
typedef enum hpc_reduce_kind { HPC_SUM, HPC_SUMSQ, HPC_MAX, HPC_FINITE } hpc_reduce_kind;
typedef enum hpc_reduce_over { HPC_OVER_ALL, HPC_OVER_ROWS, HPC_OVER_COLS } hpc_reduce_over;
typedef struct hpc_reduce_attr { int kind, over; } hpc_reduce_attr;
typedef struct hpc_reduce_args { hpc_tensor y, x; hpc_reduce_attr attr; } hpc_reduce_args;
/* Does nothing: measures the cost of an instruction, and with y and x (optional) of a
 * dependency. */
typedef struct hpc_nop_args { hpc_tensor y, x; hpc_no_attr attr; } hpc_nop_args;
/* clang-format on */
/* Selectors: 0, or HPC_E_UNSUPPORTED with the reason recorded. NULL: the op is missing. */
typedef struct hpc_kernels {
    int (*nop)(hpc_plan *p, int workers, const hpc_nop_args *a);
    int (*matmul)(hpc_plan *p, int workers, const hpc_matmul_args *a);
    int (*norm)(hpc_plan *p, int workers, const hpc_norm_args *a);
    int (*norm_grad)(hpc_plan *p, int workers, const hpc_norm_grad_args *a);
    int (*rope)(hpc_plan *p, int workers, const hpc_rope_args *a);
    int (*attention)(hpc_plan *p, int workers, const hpc_attention_args *a);
    int (*attention_grad)(hpc_plan *p, int workers, const hpc_attention_grad_args *a);
    int (*act)(hpc_plan *p, int workers, const hpc_act_args *a);
    int (*act_grad)(hpc_plan *p, int workers, const hpc_act_grad_args *a);
    int (*glu)(hpc_plan *p, int workers, const hpc_glu_args *a);
    int (*glu_grad)(hpc_plan *p, int workers, const hpc_glu_grad_args *a);
    int (*head_loss)(hpc_plan *p, int workers, const hpc_head_loss_args *a);
    int (*head_loss_grad)(hpc_plan *p, int workers, const hpc_head_loss_grad_args *a);
    int (*soft)(hpc_plan *p, int workers, const hpc_soft_args *a);
    int (*dropout)(hpc_plan *p, int workers, const hpc_dropout_args *a);
    int (*binary)(hpc_plan *p, int workers, const hpc_binary_args *a);
    int (*scale)(hpc_plan *p, int workers, const hpc_scale_args *a);
    int (*copy)(hpc_plan *p, int workers, const hpc_copy_args *a);
    int (*pack)(hpc_plan *p, int workers, const hpc_pack_args *a);
    int (*fill)(hpc_plan *p, int workers, const hpc_fill_args *a);
    int (*gather)(hpc_plan *p, int workers, const hpc_gather_args *a);
    int (*scatter)(hpc_plan *p, int workers, const hpc_scatter_args *a);
    int (*route)(hpc_plan *p, int workers, const hpc_route_args *a);
    int (*gate)(hpc_plan *p, int workers, const hpc_gate_args *a);
    int (*gate_grad)(hpc_plan *p, int workers, const hpc_gate_grad_args *a);
    int (*dispatch)(hpc_plan *p, int workers, const hpc_dispatch_args *a);
    int (*grouped)(hpc_plan *p, int workers, const hpc_grouped_args *a);
    int (*pick)(hpc_plan *p, int workers, const hpc_pick_args *a);
    int (*spread)(hpc_plan *p, int workers, const hpc_spread_args *a);
    int (*reduce)(hpc_plan *p, int workers, const hpc_reduce_args *a);
    int (*sample)(hpc_plan *p, int workers, const hpc_sample_args *a);
    int (*sgd)(hpc_plan *p, int workers, const hpc_sgd_args *a);
    int (*adamw)(hpc_plan *p, int workers, const hpc_adamw_args *a);
    int (*adam)(hpc_plan *p, int workers, const hpc_adam_args *a);
    int (*adam_add)(hpc_plan *p, int workers, const hpc_adam_add_args *a);
    int (*adam_step)(hpc_plan *p, int workers, const hpc_adam_step_args *a);
    int (*apply)(hpc_plan *p, int workers, const hpc_apply_args *a);
    int (*combine)(hpc_plan *p, int workers, const hpc_combine_args *a);
    int (*map)(hpc_plan *p, int workers, const hpc_map_args *a);
    int (*below)(hpc_plan *p, int workers, const hpc_below_args *a);
    int (*tile)(hpc_plan *p, int workers, const hpc_tile_args *a);
    int (*bundle)(hpc_plan *p, int workers, const hpc_bundle_args *a);
    int (*eigh)(hpc_plan *p, int workers, const hpc_eigh_args *a);
    int (*graph_attend)(hpc_plan *p, int workers, const hpc_graph_attend_args *a);
    int (*graph_attend_source)(hpc_plan *p, int workers, const hpc_graph_attend_source_args *a);
    int (*graph_attend_target)(hpc_plan *p, int workers, const hpc_graph_attend_target_args *a);
    int (*graph_edge)(hpc_plan *p, int workers, const hpc_graph_edge_args *a);
    int (*graph_merge)(hpc_plan *p, int workers, const hpc_graph_merge_args *a);
    int (*graph_reduce)(hpc_plan *p, int workers, const hpc_graph_reduce_args *a);
    int (*graph_scale)(hpc_plan *p, int workers, const hpc_graph_scale_args *a);
    int (*graph_softmax)(hpc_plan *p, int workers, const hpc_graph_softmax_args *a);
    int (*graph_softmax_grad)(hpc_plan *p, int workers, const hpc_graph_softmax_grad_args *a);
} hpc_kernels;

/* ---- signatures: what the op table tells a device about arguments ---------- */
#define HPC_OPERAND_MAX 12
enum { /* operand flags */
       HPC_IN = 1,
       HPC_OUT = 2,
       HPC_INOUT = HPC_IN | HPC_OUT,
       HPC_ACC = 4 | HPC_OUT, /* accumulated if the value is state, otherwise overwritten */
       HPC_OPTIONAL = 8,
       HPC_ROWWISE = 16, /* a worker touches only its share of rows (hpc_share, grain 1) */
       HPC_INPLACE = 32, /* this input's memory may be the first output's */
};
typedef struct hpc_signature {
    const char *name;
    int operand_n;
    size_t attr_bytes;
    struct {
        const char *name;
        int flags;
    } operand[HPC_OPERAND_MAX];
} hpc_signature;
static inline hpc_tensor *hpc_args_operand(void *args, int k)
{
    return (hpc_tensor *)args + k;
}

#ifdef __cplusplus
}
#endif
#endif
