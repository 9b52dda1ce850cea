/*
 * pick.c: elements taken from a tensor by index, and scattered into zeros. Both are bound by the
 * cache lines that they touch: with one element of ten picked, nearly every line of the tensor. A
 * worker that scatters owns a range of y, and finds its part of the ascending index by bisection.
 */
#include "runtime/device/cpu/kernels/priv.h"

static int past_the_end(const hpc_launch *l, const char *op, const int32_t *index, int64_t i,
                        int64_t n)
{
    return hpc_kernel_fault(
        l, &(hpc_fault){.kind = HPC_FAULT_ELEMENT, .at.op = op, .number = {index[i], i, n}});
}

/* ---- pick ------------------------------------------------------------------------------- */

/* True if all indices are below n. */
static bool within(const int32_t *index, int64_t count, int64_t n)
{
    int32_t most = -1;
#pragma omp simd reduction(max : most)
    for (int64_t i = 0; i < count; i++) most = index[i] > most ? index[i] : most;
    return most < n;
}

static void take(float *restrict dst, const hpc_tensor *x, const int32_t *restrict index, int64_t n)
{
    const float *wide = x->data;
    const uint16_t *half = x->data;

    if (x->dtype == HPC_F32) {
#pragma omp simd
        for (int64_t i = 0; i < n; i++) dst[i] = index[i] < 0 ? 0 : wide[index[i]];
    } else {
        for (int64_t i = 0; i < n; i++) dst[i] = index[i] < 0 ? 0 : hpc_bf16_to_f32(half[index[i]]);
    }
}

static int pick_run(const hpc_launch *l, const void *args)
{
    const hpc_pick_args *a = args;
    const int32_t *index = a->index.data;
    int64_t lo, hi, most = hpc_tensor_n(&a->x);
    float buffer[CHUNK];

    hpc_share(&lo, &hi, hpc_tensor_n(&a->index), SLAB, l->worker, l->workers);
    for (int64_t at = lo; at < hi; at += CHUNK) {
        int64_t n = least(CHUNK, hi - at);
        for (int64_t i = at; !within(index + at, n, most) && i < at + n; i++)
            if (index[i] >= most) return past_the_end(l, "pick", index, i, most);
        float *to = place(buffer, &a->y, at);
        take(to, &a->x, index + at, n);
        put(&a->y, at, to, n);
    }
    return 0;
}

int HPC_WIDTH(cpu_pick)(hpc_plan *p, int workers, const hpc_pick_args *a)
{
    (void)workers;
    return accept(p, (hpc_plan){.run = pick_run, .name = "pick_" HPC_ISA_TEXT},
                  (const operand_check[]){{"y", &a->y, TAKES_REAL},
                                          {"x", &a->x, TAKES_REAL},
                                          {"index", &a->index, TAKES_I32},
                                          {0}});
}

/* ---- spread ----------------------------------------------------------------------------- */

/* The first that is not below `at`; negative ones count as above all. */
static int64_t first_from(const int32_t *index, int64_t n, int64_t at)
{
    int64_t lo = 0, hi = n;

    while (lo < hi) {
        int64_t middle = (lo + hi) / 2;
        if ((uint32_t)index[middle] < (uint64_t)at)
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo;
}

static void lay(const hpc_tensor *y, const int32_t *index, const float *x, int64_t n)
{
    float *wide = y->data;
    uint16_t *half = y->data, narrowed[CHUNK];

    if (y->dtype == HPC_F32) {
        for (int64_t i = 0; i < n; i++) wide[index[i]] = x[i];
    } else {
        narrow(narrowed, x, n);
        for (int64_t i = 0; i < n; i++) half[index[i]] = narrowed[i];
    }
}

static int spread_run(const hpc_launch *l, const void *args)
{
    const hpc_spread_args *a = args;
    const int32_t *index = a->index.data;
    int64_t lo, hi, most = hpc_tensor_n(&a->y), n = hpc_tensor_n(&a->index);
    size_t bytes = hpc_dtype_get((hpc_dtype)a->y.dtype)->block_bytes;
    float buffer[CHUNK];

    hpc_share(&lo, &hi, most, SLAB, l->worker, l->workers);
    int64_t from = first_from(index, n, lo), end = first_from(index, n, hi);
    if (hi == most && end < n && index[end] >= 0)
        return past_the_end(l, "spread", index, end, most);
    memset((char *)a->y.data + (size_t)lo * bytes, 0, (size_t)(hi - lo) * bytes);
    for (int64_t at = from; at < end; at += CHUNK) {
        int64_t here = least(CHUNK, end - at);
        lay(&a->y, index + at, load(buffer, &a->x, at, here), here);
    }
    return 0;
}

int HPC_WIDTH(cpu_spread)(hpc_plan *p, int workers, const hpc_spread_args *a)
{
    (void)workers;
    return accept(p, (hpc_plan){.run = spread_run, .name = "spread_" HPC_ISA_TEXT},
                  (const operand_check[]){{"y", &a->y, TAKES_REAL},
                                          {"x", &a->x, TAKES_REAL},
                                          {"index", &a->index, TAKES_I32},
                                          {0}});
}
