/*
 * reduce.c: sums and maxima over ranks, in rank order.
 *
 * It works in blocks that fit the L1 cache, so each operand is read once. Callers must
 * have rejected quantised types.
 */
#include "runtime/link/priv.h"

#include <string.h>

enum { BLOCK = 1024 }; /* elements */

/* acc[i] = EXPR of a[i], b[i] */
#define FOLD(type, expr)                                                                           \
    do {                                                                                           \
        type *a = acc;                                                                             \
        const type *b = x;                                                                         \
        for (int64_t i = 0; i < n; i++) a[i] = (type)(expr);                                       \
    } while (0)
/* A NaN must survive whichever side it is on; the second comparison finds one in b. */
#define LARGER (b[i] > a[i] || b[i] != b[i] ? b[i] : a[i])

static void add(void *acc, const void *x, hpc_dtype dtype, int64_t n)
{
    switch (dtype) {
    case HPC_F32: FOLD(float, a[i] + b[i]); break;
    case HPC_F64: FOLD(double, a[i] + b[i]); break;
    case HPC_I32: FOLD(int32_t, (uint32_t)a[i] + (uint32_t)b[i]); break;
    case HPC_I64: FOLD(int64_t, (uint64_t)a[i] + (uint64_t)b[i]); break;
    default: hpc_assert(!"a dtype that can be reduced");
    }
}

static void keep_larger(void *acc, const void *x, hpc_dtype dtype, int64_t n)
{
    switch (dtype) {
    case HPC_F32: FOLD(float, LARGER); break;
    case HPC_F64: FOLD(double, LARGER); break;
    case HPC_I32: FOLD(int32_t, LARGER); break;
    case HPC_I64: FOLD(int64_t, LARGER); break;
    default: hpc_assert(!"a dtype that can be reduced");
    }
}

static void fold(void *acc, const void *x, hpc_dtype dtype, hpc_comm_reduce how, int64_t n)
{
    if (how == HPC_COMM_SUM)
        add(acc, x, dtype, n);
    else
        keep_larger(acc, x, dtype, n);
}

/* bf16 and f16: accumulated in f32, so that only the result is rounded. */
static void reduce_half(void *dst, const void *const *src, int src_n, hpc_dtype dtype,
                        hpc_comm_reduce how, size_t at, int64_t n)
{
    float acc[BLOCK], x[BLOCK];
    hpc_to_f32(acc, (const char *)src[0] + at, dtype, n);
    for (int s = 1; s < src_n; s++) {
        hpc_to_f32(x, (const char *)src[s] + at, dtype, n);
        fold(acc, x, HPC_F32, how, n);
    }
    hpc_from_f32((char *)dst + at, dtype, acc, n);
}

void hpc_link_reduce(void *dst, const void *const *src, int src_n, hpc_dtype dtype,
                     hpc_comm_reduce how, int64_t n)
{
    bool half = dtype == HPC_BF16 || dtype == HPC_F16;
    for (int64_t i = 0; i < n; i += BLOCK) {
        int64_t m = n - i < BLOCK ? n - i : BLOCK;
        size_t at = hpc_comm_bytes(dtype, i);
        if (half && src_n > 1) {
            reduce_half(dst, src, src_n, dtype, how, at, m);
            continue;
        }
        memcpy((char *)dst + at, (const char *)src[0] + at, hpc_comm_bytes(dtype, m));
        for (int s = 1; s < src_n; s++)
            fold((char *)dst + at, (const char *)src[s] + at, dtype, how, m);
    }
}
