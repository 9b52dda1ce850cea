/*
 * attend.h: shared by attention and its gradient: the keys that a query sees, the division of work,
 * and prefetching.
 */
#ifndef HPC_CPU_ATTEND_H
#define HPC_CPU_ATTEND_H

#include <string.h>

#include "runtime/device/cpu/kernels/gemm.h"
#include "runtime/device/cpu/kernels/priv.h"

enum {
    ATTEND_KEYS = 64,  /* keys of a block, from a sequence's first key on: affects the bits */
    ATTEND_ROWS = 240, /* rows of scores at once: amortises packing; does not affect the bits */
    ATTEND_ROWS_LEAST = 16,
    ATTEND_FEW = 8 /* up to so many rows are faster without packing; does not affect the bits */
};

typedef struct attend_span { /* keys lo..hi-1 */
    int64_t lo, hi;
} attend_span;

/* The keys that the query at `position` sees, among `keys`. */
static inline attend_span attend_visible(const hpc_attention_attr *attr, int64_t position,
                                         int64_t keys)
{
    attend_span s = {0, keys};

    if (attr->causal) s.hi = least(keys, position + 1);
    if (s.hi < 0) s.hi = 0;
    if (attr->window > 0 && s.hi > attr->window) s.lo = s.hi - attr->window;
    return s;
}

/* The part of s in the key block at `first`, relative to it; lo >= hi: nothing. */
static inline attend_span attend_within(attend_span s, int64_t first, int64_t keys)
{
    return (attend_span){s.lo > first ? s.lo - first : 0, least(s.hi - first, keys)};
}

/* Queries in a task, a multiple of `grain`: enough tasks for all workers, but not so few rows that
 * packing dominates. */
static inline int64_t attend_queries(int64_t rows, int64_t heads, int64_t group, int64_t grain,
                                     int workers)
{
    int64_t parts = ATTEND_ROWS / group / grain > 1 ? ATTEND_ROWS / group / grain : 1;

    while (workers > 1 && parts > 1 && parts * grain * group > ATTEND_ROWS_LEAST &&
           (rows + parts * grain - 1) / (parts * grain) * heads < 2 * (int64_t)workers)
        parts = (parts + 1) / 2;
    return parts * grain;
}

/* Type in which kernels store intermediate factors: bf16 only if all operands are. */
static inline hpc_dtype attend_type(const hpc_tensor *q, const hpc_tensor *k, const hpc_tensor *v)
{
    bool half = q->dtype == HPC_BF16 && k->dtype == HPC_BF16 && v->dtype == HPC_BF16;

    return half ? HPC_BF16 : HPC_F32;
}

/* Stores n numbers as `type`, f32 or bf16; f32 may stay in place. */
static inline void attend_put(void *to, hpc_dtype type, const float *x, int64_t n)
{
    if (type == HPC_BF16)
        narrow(to, x, n);
    else if (to != x)
        memcpy(to, x, (size_t)n * sizeof *x);
}

/* Rows of keys or values, f32 or bf16: the j-th begins row[j] elements after `at`. */
typedef struct attend_cache {
    const void *at;
    const int64_t *row;
    hpc_dtype type;
} attend_cache;

/* Prefetch of the keys or values that follow, for all heads of a worker. Lines are requested in
 * memory order and a few at a time: more outstanding requests wait for each other and delay the
 * computation. */
typedef struct attend_ahead {
    attend_cache cache; /* cache of the first head */
    int64_t keys, heads;
    int64_t size, bytes; /* of an element, and of a head's row */
    int64_t key, head;   /* the next position to prefetch */
} attend_ahead;

/* Prefetches the next `keys` rows: for each key, one row per head. */
static inline void attend_fetch(attend_ahead *next, int64_t keys)
{
    for (; keys > 0 && next->key < next->keys; keys--) {
        const char *at = (const char *)next->cache.at + next->cache.row[next->key] * next->size +
                         next->head * next->bytes;
        for (int64_t b = 0; b < next->bytes; b += HPC_ALIGN) __builtin_prefetch(at + b, 0, 2);
        if (++next->head < next->heads) continue;
        next->head = 0;
        next->key++;
    }
}

/* For few rows, with the bits of cpu_gemm (attend_few.c): scores [rows,n], with leading dimension
 * ATTEND_KEYS, = q [rows,dim] times n keys; and o [rows,dim] += weights [rows,n] times n values. */
void HPC_WIDTH(cpu_attend_scores)(float *scores, const float *q, int64_t rows, int64_t dim,
                                  attend_cache k, int64_t n, attend_ahead *next);
void HPC_WIDTH(cpu_attend_values)(float *o, int64_t dim, const float *weights, int64_t rows,
                                  attend_cache v, int64_t n, attend_ahead *next);

/* HPC_E_SHAPE unless starts are non-decreasing and within the rows. */
static inline int attend_check_start(const hpc_launch *l, const hpc_tensor *start,
                                     int64_t sequences, int64_t rows, const char *op)
{
    const int32_t *at = start->data;

    for (int64_t s = 0; s < sequences; s++)
        if (at[s] < 0 || at[s + 1] < at[s] || at[s + 1] > rows)
            return hpc_kernel_fault(l, &(hpc_fault){.kind = HPC_FAULT_START,
                                                    .at.op = op,
                                                    .number = {s, at[s], at[s + 1], rows}});
    return 0;
}

#endif
