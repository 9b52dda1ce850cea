/*
 * binary.c: sums, differences and products of two tensors, the second broadcast to the first, and
 * scaling. By rows of the first.
 */
#include "runtime/device/cpu/kernels/priv.h"

typedef enum spread { ALIKE, ONE, BY_COLUMN, BY_ROW } spread;

static spread spread_of(const hpc_tensor *b, const hpc_tensor *a)
{
    if (hpc_tensor_n(b) == hpc_tensor_n(a)) return ALIKE;
    if (hpc_tensor_n(b) == 1) return ONE;
    return b->rank >= 2 && hpc_tensor_cols(b) == 1 ? BY_ROW : BY_COLUMN;
}

static inline void repeat(float *dst, float value, int64_t n)
{
    for (int64_t i = 0; i < n; i++) dst[i] = value;
}

/* What of b meets elements at .. at+n-1 of a tensor of `cols` columns; n <= CHUNK. */
static const float *load_spread(float *buffer, const hpc_tensor *b, spread how, int64_t cols,
                                int64_t at, int64_t n)
{
    if (how == ALIKE) return load(buffer, b, at, n);
    if (how == ONE) {
        repeat(buffer, scalar_of(b), n);
        return buffer;
    }
    int64_t r = at / cols, c = at % cols;
    if (how == BY_COLUMN && c + n <= cols) return load(buffer, b, c, n);
    for (int64_t done = 0, part; done < n; done += part, r++, c = 0) {
        part = least(n - done, cols - c);
        if (how == BY_ROW) {
            float one[1];
            repeat(buffer + done, *load(one, b, r, 1), part);
        } else {
            float piece[CHUNK];
            const float *src = load(piece, b, c, part);
            for (int64_t i = 0; i < part; i++) buffer[done + i] = src[i];
        }
    }
    return buffer;
}

static void combine(float *y, const float *a, const float *b, int64_t n, int kind)
{
    switch (kind) {
    case HPC_ADD:
#pragma omp simd
        for (int64_t i = 0; i < n; i++) y[i] = a[i] + b[i];
        break;
    case HPC_SUB:
#pragma omp simd
        for (int64_t i = 0; i < n; i++) y[i] = a[i] - b[i];
        break;
    default:
#pragma omp simd
        for (int64_t i = 0; i < n; i++) y[i] = a[i] * b[i];
    }
}

static int binary_run(const hpc_launch *l, const void *args)
{
    const hpc_binary_args *a = args;
    float a_buffer[CHUNK], b_buffer[CHUNK], y_buffer[CHUNK];
    int64_t cols = hpc_tensor_cols(&a->a), lo, hi;
    spread how = spread_of(&a->b, &a->a);

    share_rows(&lo, &hi, &a->a, l);
    for (stretch s; (s = chunk_from(&a->a, lo, hi)).n > 0; lo = s.at + s.n) {
        const float *left = load(a_buffer, &a->a, s.at, s.n);
        const float *right = load_spread(b_buffer, &a->b, how, cols, s.at, s.n);
        float *y = place(y_buffer, &a->y, s.at);
        combine(y, left, right, s.n, a->attr.kind);
        put(&a->y, s.at, y, s.n);
    }
    return 0;
}

int HPC_WIDTH(cpu_binary)(hpc_plan *p, int workers, const hpc_binary_args *a)
{
    (void)workers;
    return accept(
        p, (hpc_plan){.run = binary_run, .name = "binary_" HPC_ISA_TEXT},
        (const operand_check[]){
            {"y", &a->y, TAKES_REAL}, {"a", &a->a, TAKES_REAL}, {"b", &a->b, TAKES_REAL}, {0}});
}

static int scale_run(const hpc_launch *l, const void *args)
{
    const hpc_scale_args *a = args;
    float x_buffer[CHUNK], y_buffer[CHUNK];
    float factor = (float)(a->attr.alpha * (a->by.data ? (double)scalar_of(&a->by) : 1));
    int64_t lo, hi;

    share_rows(&lo, &hi, &a->x, l);
    for (stretch s; (s = chunk_from(&a->x, lo, hi)).n > 0; lo = s.at + s.n) {
        const float *x = load(x_buffer, &a->x, s.at, s.n);
        float *y = place(y_buffer, &a->y, s.at);
#pragma omp simd
        for (int64_t i = 0; i < s.n; i++) y[i] = factor * x[i];
        put(&a->y, s.at, y, s.n);
    }
    return 0;
}

int HPC_WIDTH(cpu_scale)(hpc_plan *p, int workers, const hpc_scale_args *a)
{
    (void)workers;
    return accept(
        p, (hpc_plan){.run = scale_run, .name = "scale_" HPC_ISA_TEXT},
        (const operand_check[]){
            {"y", &a->y, TAKES_REAL}, {"x", &a->x, TAKES_REAL}, {"by", &a->by, TAKES_REAL}, {0}});
}
