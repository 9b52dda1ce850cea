/*
 * priv.h: shared by the CPU kernels: runs of elements as f32, the live parts of ragged
 * tensors, shares of work, and helpers of selectors.
 *
 * Kernels here compute in f32 on f32 and bf16 operands (and f16 and the block formats
 * where an op takes weights). Selectors reject f64, which only the reference supports.
 */
#ifndef HPC_CPU_KERNELS_PRIV_H
#define HPC_CPU_KERNELS_PRIV_H

#include "runtime/device/cpu/kernels/isa.h"
#include "runtime/device/priv.h"

enum {
    CHUNK = 256, /* elements handled at once: whole blocks of every format, 1 KiB of stack as f32 */
    SLAB = 16,   /* columns are shared out in multiples of it: a cache line of f32 */
    TAKES_F32 = 1 << HPC_F32,
    TAKES_REAL = TAKES_F32 | 1 << HPC_BF16,
    TAKES_I32 = 1 << HPC_I32,
    TAKES_I64 = 1 << HPC_I64,
    TAKES_I8 = 1 << HPC_I8,
    TAKES_BLOCKS = 1 << HPC_Q8_0 | 1 << HPC_Q4_0 | 1 << HPC_Q4_K | 1 << HPC_Q5_K | 1 << HPC_Q6_K |
                   1 << HPC_Q4_1 | 1 << HPC_Q5_0 | 1 << HPC_Q5_1 | 1 << HPC_Q2_K | 1 << HPC_Q3_K |
                   1 << HPC_IQ4_NL | 1 << HPC_IQ4_XS,
    TAKES_WEIGHT = TAKES_REAL | 1 << HPC_F16 | TAKES_BLOCKS
};

/* ---- selection ---------------------------------------------------------------- */

typedef struct operand_check { /* name NULL ends a list */
    const char *name;
    const hpc_tensor *tensor;
    unsigned takes; /* set of 1 << hpc_dtype */
} operand_check;

/* *p = plan if every present operand is plain and of a dtype that it may have. */
static inline int accept(hpc_plan *p, hpc_plan plan, const operand_check *check)
{
    char text[96];

    for (; check->name; check++) {
        const hpc_tensor *t = check->tensor;
        if (t->rank < 0) continue;
        if (t->pack != HPC_PLAIN || !(check->takes >> t->dtype & 1))
            return hpc_fail(HPC_E_UNSUPPORTED, "%s does not take %s as its operand %s", plan.name,
                            hpc_tensor_text(text, t), check->name);
    }
    plan.cpu.traits = p->cpu.traits;
    *p = plan;
    return 0;
}

/* ---- runs of elements ----------------------------------------------------------- */

static inline int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Where element `at` is; of a block format: the block that begins with it. */
static inline void *element(const hpc_tensor *t, int64_t at)
{
    const hpc_dtype_info *info = hpc_dtype_get((hpc_dtype)t->dtype);

    return (char *)t->data + (size_t)(at / info->block) * info->block_bytes;
}

static inline void widen(float *restrict dst, const uint16_t *restrict src, int64_t n)
{
#pragma omp simd
    for (int64_t i = 0; i < n; i++) dst[i] = hpc_bf16_to_f32(src[i]);
}

static inline void narrow(uint16_t *restrict dst, const float *restrict src, int64_t n)
{
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        uint32_t u = hpc_f32_bits(src[i]);
        uint32_t rounded = (u + 0x7fff + (u >> 16 & 1)) >> 16, quiet = u >> 16 | 0x40;
        dst[i] = (uint16_t)((u & 0x7fffffff) > 0x7f800000 ? quiet : rounded);
    }
}

/* Elements at .. at+n-1 as f32: in place if they are f32 (then any n), else in `buffer`. */
__attribute__((warn_unused_result)) static inline const float *
load(float *buffer, const hpc_tensor *t, int64_t at, int64_t n)
{
    if (t->dtype == HPC_F32) return (const float *)t->data + at;
    if (t->dtype == HPC_BF16)
        widen(buffer, (const uint16_t *)t->data + at, n);
    else
        hpc_to_f32(buffer, element(t, at), (hpc_dtype)t->dtype, n);
    return buffer;
}

/* Where to compute elements from `at` on before `put`: in place if possible, else in `buffer`. */
static inline float *place(float *buffer, const hpc_tensor *t, int64_t at)
{
    return t->dtype == HPC_F32 && !t->adds ? (float *)t->data + at : buffer;
}

/* The reverse of load. Does nothing if src is their place in t. */
static inline void store(const hpc_tensor *t, int64_t at, const float *src, int64_t n)
{
    if (t->dtype == HPC_BF16)
        narrow((uint16_t *)t->data + at, src, n);
    else if (t->dtype != HPC_F32)
        hpc_from_f32(element(t, at), (hpc_dtype)t->dtype, src, n);
    else if (src != (const float *)t->data + at)
        memmove((float *)t->data + at, src, (size_t)n * sizeof *src);
}

/* Stores n <= CHUNK results; if t adds, adds its old elements to src first. */
static inline void put(const hpc_tensor *t, int64_t at, float *src, int64_t n)
{
    if (t->adds) {
        float buffer[CHUNK];
        const float *old = load(buffer, t, at, n);
#pragma omp simd
        for (int64_t i = 0; i < n; i++) src[i] += old[i];
    }
    store(t, at, src, n);
}

/* The one element of a present scalar. */
static inline float scalar_of(const hpc_tensor *t)
{
    float buffer[1];

    return *load(buffer, t, 0, 1);
}

/* ---- what is live ----------------------------------------------------------------- */

typedef struct stretch {
    int64_t at, n;
} stretch;

/* The first contiguous live elements of t in [from, end); n == 0: no more. The next call passes
 * from = at + n. Unless the last dimension is ragged, stretches consist of whole rows. */
static inline stretch live_from(const hpc_tensor *t, int64_t from, int64_t end)
{
    int64_t inner = 1;

    if (t->ragged < 0 || from >= end) return (stretch){from, end > from ? end - from : 0};
    for (int d = t->ragged + 1; d < t->rank; d++) inner *= t->extent[d];
    int64_t group = t->extent[t->ragged] * inner;
    while (from < end) {
        int64_t lead = from / group;
        int64_t stop = least(end, lead * group + hpc_tensor_live(t, lead) * inner);
        if (from < stop) return (stretch){from, stop - from};
        from = (lead + 1) * group;
    }
    return (stretch){end, 0};
}

/* The same, at most CHUNK elements. */
static inline stretch chunk_from(const hpc_tensor *t, int64_t from, int64_t end)
{
    stretch s = live_from(t, from, end);

    s.n = least(s.n, CHUNK);
    return s;
}

/* How many leading elements of row r are live; -1: the row itself is not. */
static inline int64_t live_cols(const hpc_tensor *t, int64_t r)
{
    if (t->ragged < 0) return hpc_tensor_cols(t);
    if (t->ragged == t->rank - 1) return hpc_tensor_live(t, r);
    return hpc_tensor_row_live(t, r) ? hpc_tensor_cols(t) : -1;
}

/* This worker's rows of t (all dimensions but the last), as elements [*lo, *hi). */
static inline void share_rows(int64_t *lo, int64_t *hi, const hpc_tensor *t, const hpc_launch *l)
{
    int64_t cols = hpc_tensor_cols(t);

    hpc_share(lo, hi, hpc_tensor_rows(t), 1, l->worker, l->workers);
    *lo *= cols;
    *hi *= cols;
}

/* ---- across files ------------------------------------------------------------------- */

/* y[i] = act(x[i]), and dx[i] = dy[i] act'(x[i]); in place is fine. (act.c) */
void HPC_WIDTH(cpu_activate)(float *y, const float *x, int64_t n, int act);
void HPC_WIDTH(cpu_activate_grad)(float *dx, const float *dy, const float *x, int64_t n, int act);
/* Sum of n elements, in an order that depends on n alone. (reduce.c) */
float HPC_WIDTH(cpu_sum)(const float *x, int64_t n);
/* The largest of n > 0 elements, NaN if one is. (reduce.c) */
float HPC_WIDTH(cpu_max)(const float *x, int64_t n);

/* ---- selectors ------------------------------------------------------------------------ */

int HPC_WIDTH(cpu_nop)(hpc_plan *p, int workers, const hpc_nop_args *a);
int HPC_ISA(cpu_matmul)(hpc_plan *p, int workers, const hpc_matmul_args *a);
int HPC_WIDTH(cpu_norm)(hpc_plan *p, int workers, const hpc_norm_args *a);
int HPC_WIDTH(cpu_norm_grad)(hpc_plan *p, int workers, const hpc_norm_grad_args *a);
int HPC_WIDTH(cpu_rope)(hpc_plan *p, int workers, const hpc_rope_args *a);
int HPC_ISA(cpu_attention)(hpc_plan *p, int workers, const hpc_attention_args *a);
int HPC_ISA(cpu_attention_grad)(hpc_plan *p, int workers, const hpc_attention_grad_args *a);
int HPC_WIDTH(cpu_act)(hpc_plan *p, int workers, const hpc_act_args *a);
int HPC_WIDTH(cpu_act_grad)(hpc_plan *p, int workers, const hpc_act_grad_args *a);
int HPC_WIDTH(cpu_glu)(hpc_plan *p, int workers, const hpc_glu_args *a);
int HPC_WIDTH(cpu_glu_grad)(hpc_plan *p, int workers, const hpc_glu_grad_args *a);
int HPC_ISA(cpu_head_loss)(hpc_plan *p, int workers, const hpc_head_loss_args *a);
int HPC_ISA(cpu_soft)(hpc_plan *p, int workers, const hpc_soft_args *a);
int HPC_ISA(cpu_head_loss_grad)(hpc_plan *p, int workers, const hpc_head_loss_grad_args *a);
int HPC_WIDTH(cpu_dropout)(hpc_plan *p, int workers, const hpc_dropout_args *a);
int HPC_WIDTH(cpu_binary)(hpc_plan *p, int workers, const hpc_binary_args *a);
int HPC_WIDTH(cpu_scale)(hpc_plan *p, int workers, const hpc_scale_args *a);
int HPC_WIDTH(cpu_copy)(hpc_plan *p, int workers, const hpc_copy_args *a);
int HPC_WIDTH(cpu_pack)(hpc_plan *p, int workers, const hpc_pack_args *a);
int HPC_WIDTH(cpu_fill)(hpc_plan *p, int workers, const hpc_fill_args *a);
int HPC_WIDTH(cpu_gather)(hpc_plan *p, int workers, const hpc_gather_args *a);
int HPC_WIDTH(cpu_scatter)(hpc_plan *p, int workers, const hpc_scatter_args *a);
int HPC_WIDTH(cpu_route)(hpc_plan *p, int workers, const hpc_route_args *a);
int HPC_WIDTH(cpu_gate)(hpc_plan *p, int workers, const hpc_gate_args *a);
int HPC_WIDTH(cpu_gate_grad)(hpc_plan *p, int workers, const hpc_gate_grad_args *a);
int HPC_WIDTH(cpu_dispatch)(hpc_plan *p, int workers, const hpc_dispatch_args *a);
int HPC_ISA(cpu_grouped)(hpc_plan *p, int workers, const hpc_grouped_args *g);
int HPC_WIDTH(cpu_pick)(hpc_plan *p, int workers, const hpc_pick_args *a);
int HPC_WIDTH(cpu_spread)(hpc_plan *p, int workers, const hpc_spread_args *a);
int HPC_WIDTH(cpu_sample)(hpc_plan *p, int workers, const hpc_sample_args *a);
int HPC_WIDTH(cpu_reduce)(hpc_plan *p, int workers, const hpc_reduce_args *a);
int HPC_WIDTH(cpu_sgd)(hpc_plan *p, int workers, const hpc_sgd_args *a);
int HPC_WIDTH(cpu_adamw)(hpc_plan *p, int workers, const hpc_adamw_args *a);
int HPC_WIDTH(cpu_adam)(hpc_plan *p, int workers, const hpc_adam_args *a);
int HPC_WIDTH(cpu_adam_add)(hpc_plan *p, int workers, const hpc_adam_add_args *a);
int HPC_WIDTH(cpu_adam_step)(hpc_plan *p, int workers, const hpc_adam_step_args *a);
int HPC_WIDTH(cpu_apply)(hpc_plan *p, int workers, const hpc_apply_args *a);
int HPC_WIDTH(cpu_combine)(hpc_plan *p, int workers, const hpc_combine_args *a);
int HPC_WIDTH(cpu_map)(hpc_plan *p, int workers, const hpc_map_args *a);
int HPC_WIDTH(cpu_below)(hpc_plan *p, int workers, const hpc_below_args *a);
int HPC_WIDTH(cpu_tile)(hpc_plan *p, int workers, const hpc_tile_args *a);
int HPC_WIDTH(cpu_bundle)(hpc_plan *p, int workers, const hpc_bundle_args *a);
int HPC_WIDTH(cpu_eigh)(hpc_plan *p, int workers, const hpc_eigh_args *a);
int HPC_WIDTH(cpu_graph_attend)(hpc_plan *p, int workers, const hpc_graph_attend_args *a);
int HPC_WIDTH(cpu_graph_attend_source)(hpc_plan *p, int workers,
                                       const hpc_graph_attend_source_args *a);
int HPC_WIDTH(cpu_graph_attend_target)(hpc_plan *p, int workers,
                                       const hpc_graph_attend_target_args *a);
int HPC_WIDTH(cpu_graph_edge)(hpc_plan *p, int workers, const hpc_graph_edge_args *a);
int HPC_WIDTH(cpu_graph_merge)(hpc_plan *p, int workers, const hpc_graph_merge_args *a);
int HPC_WIDTH(cpu_graph_reduce)(hpc_plan *p, int workers, const hpc_graph_reduce_args *a);
int HPC_WIDTH(cpu_graph_scale)(hpc_plan *p, int workers, const hpc_graph_scale_args *a);
int HPC_WIDTH(cpu_graph_softmax)(hpc_plan *p, int workers, const hpc_graph_softmax_args *a);
int HPC_WIDTH(cpu_graph_softmax_grad)(hpc_plan *p, int workers,
                                      const hpc_graph_softmax_grad_args *a);

#endif
