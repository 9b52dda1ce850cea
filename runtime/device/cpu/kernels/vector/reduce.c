/*
 * reduce.c: sums, sums of squares, maxima and the test for finite values, over everything, over
 * rows or over columns. Within CHUNK elements sums are in f32, in 16 interleaved chains; between
 * chunks in f64. The chunks follow from shapes alone, so no bit depends on the number of workers.
 */
#include <math.h>

#include "runtime/device/cpu/kernels/priv.h"

enum {
    CHAINS = 16,
    PART = 64 * CHUNK /* elements that a worker reduces at once of a whole tensor */
};

/* ---- runs ------------------------------------------------------------------------------- */

#if defined(__AVX512F__)
enum { LANES = 16 };
#elif defined(__AVX2__)
enum { LANES = 8 };
#else
enum { LANES = 4 };
#endif
enum { VECTORS = CHAINS / LANES };

typedef float vec __attribute__((vector_size(LANES * sizeof(float))));
typedef float vec_any __attribute__((vector_size(LANES * sizeof(float)), aligned(4), may_alias));
typedef int32_t vec_int __attribute__((vector_size(LANES * sizeof(int32_t))));

/* Chain c holds elements c, c + 16, ..., or their squares; chains are then added in halves. */
static inline __attribute__((always_inline)) float sum_of(const float *x, int64_t n, bool squared)
{
    vec acc[VECTORS] = {{0}};
    float chain[CHAINS];
    int64_t i = 0;

    for (; i + CHAINS <= n; i += CHAINS)
        for (int v = 0; v < VECTORS; v++) {
            vec y = *(const vec_any *)(x + i + v * LANES);
            acc[v] += squared ? y * y : y;
        }
    memcpy(chain, acc, sizeof chain);
    for (int c = 0; i + c < n; c++) chain[c] += squared ? x[i + c] * x[i + c] : x[i + c];
    for (int width = CHAINS / 2; width > 0; width /= 2)
        for (int c = 0; c < width; c++) chain[c] += chain[c + width];
    return chain[0];
}

float HPC_WIDTH(cpu_sum)(const float *x, int64_t n)
{
    return sum_of(x, n, false);
}

enum { BESIDE = 4 }; /* vectors that are compared at once: one comparison takes as long */

/* Lanes of y where they are more. */
static inline vec greater(vec most, vec y)
{
    vec_int more = y > most;

    return (vec)(((vec_int)y & more) | ((vec_int)most & ~more));
}

float HPC_WIDTH(cpu_max)(const float *x, int64_t n)
{
    vec most[BESIDE], top = (vec){0} + INFINITY;
    vec_int odd = {0}; /* lanes in which there was a NaN */
    float lane[LANES];
    int32_t nan[LANES], any = 0;
    int64_t i = 0;

    for (int v = 0; v < BESIDE; v++) most[v] = -top;
    for (; i + BESIDE * LANES <= n; i += BESIDE * LANES)
        for (int v = 0; v < BESIDE; v++) {
            vec y = *(const vec_any *)(x + i + v * LANES);
            odd |= ~(y <= top);
            most[v] = greater(most[v], y);
        }
    for (int v = 1; v < BESIDE; v++) most[0] = greater(most[0], most[v]);
    memcpy(nan, &odd, sizeof nan);
    for (int c = 0; c < LANES; c++) any |= nan[c];
    memcpy(lane, most, sizeof lane);
    for (; i < n; i++) {
        any |= x[i] != x[i];
        lane[i % LANES] = x[i] > lane[i % LANES] ? x[i] : lane[i % LANES];
    }
    for (int width = LANES / 2; width > 0; width /= 2)
        for (int c = 0; c < width; c++)
            lane[c] = lane[c + width] > lane[c] ? lane[c + width] : lane[c];
    return any ? NAN : lane[0];
}

static bool run_finite(const float *x, int64_t n)
{
    uint32_t bad = 0;

#pragma omp simd reduction(| : bad)
    for (int64_t i = 0; i < n; i++) bad |= (hpc_f32_bits(x[i]) & 0x7f800000) == 0x7f800000;
    return !bad;
}

/* ---- what is being reduced ------------------------------------------------------------------ */

static double initial(int kind)
{
    return kind == HPC_MAX ? -INFINITY : kind == HPC_FINITE;
}

static double join(int kind, double a, double b)
{
    switch (kind) {
    case HPC_MAX: return b > a || b != b ? b : a;
    case HPC_FINITE: return a < b ? a : b;
    default: return a + b;
    }
}

/* n <= CHUNK elements. */
static double reduce_run_of(const float *x, int64_t n, int kind)
{
    switch (kind) {
    case HPC_SUM: return (double)sum_of(x, n, false);
    case HPC_SUMSQ: return (double)sum_of(x, n, true);
    case HPC_MAX: return (double)HPC_WIDTH(cpu_max)(x, n);
    default: return run_finite(x, n);
    }
}

/* Live elements of x from `at` to `end`, in chunks that begin at `at`. */
static double reduce_stretch(const hpc_tensor *x, int64_t at, int64_t end, int kind)
{
    float buffer[CHUNK];
    double result = initial(kind);

    for (int64_t n; at < end; at += n) {
        n = least(CHUNK, end - at);
        result = join(kind, result, reduce_run_of(load(buffer, x, at, n), n, kind));
    }
    return result;
}

static void put_result(const hpc_tensor *y, int64_t at, double result)
{
    float value = (float)result;

    if (y->dtype == HPC_I32)
        ((int32_t *)y->data)[at] = (int32_t)result;
    else
        put(y, at, &value, 1);
}

/* ---- over everything ------------------------------------------------------------------------ */

static int reduce_all(const hpc_launch *l, const void *args)
{
    const hpc_reduce_args *a = args;
    int64_t n = hpc_tensor_n(&a->x), parts = (n + PART - 1) / PART, lo, hi;
    double *result = l->workspace, total = initial(a->attr.kind);

    hpc_share(&lo, &hi, parts, 1, l->worker, l->workers);
    for (int64_t p = lo; p < hi; p++) {
        int64_t from = p * PART, end = least(n, from + PART);
        result[p] = initial(a->attr.kind);
        for (stretch s; (s = live_from(&a->x, from, end)).n > 0; from = s.at + s.n) {
            double part = reduce_stretch(&a->x, s.at, s.at + s.n, a->attr.kind);
            result[p] = join(a->attr.kind, result[p], part);
        }
    }
    hpc_barrier_wait(l->barrier);
    if (l->worker > 0) return 0;
    for (int64_t p = 0; p < parts; p++) total = join(a->attr.kind, total, result[p]);
    put_result(&a->y, 0, total);
    return 0;
}

/* ---- over columns: one result for each row -------------------------------------------------- */

static int reduce_cols(const hpc_launch *l, const void *args)
{
    const hpc_reduce_args *a = args;
    int64_t cols = hpc_tensor_cols(&a->x), lo, hi;

    hpc_share(&lo, &hi, hpc_tensor_rows(&a->x), 1, l->worker, l->workers);
    for (int64_t r = lo; r < hi; r++) {
        int64_t n = live_cols(&a->x, r);
        if (n < 0) continue;
        put_result(&a->y, r, reduce_stretch(&a->x, r * cols, r * cols + n, a->attr.kind));
    }
    return 0;
}

/* ---- over rows: one result for each column -------------------------------------------------- */

static void fold_row(double *result, const float *x, int64_t n, int kind)
{
    switch (kind) {
    case HPC_SUM:
#pragma omp simd
        for (int64_t i = 0; i < n; i++) result[i] += (double)x[i];
        break;
    case HPC_SUMSQ:
#pragma omp simd
        for (int64_t i = 0; i < n; i++) result[i] += (double)x[i] * (double)x[i];
        break;
    case HPC_MAX:
#pragma omp simd
        for (int64_t i = 0; i < n; i++) {
            double v = (double)x[i];
            result[i] = v > result[i] || v != v ? v : result[i];
        }
        break;
    default:
        for (int64_t i = 0; i < n; i++)
            if (!isfinite(x[i])) result[i] = 0;
    }
}

/* Columns c .. c+n-1; of rows that end within them, what is live. */
static void reduce_slab(const hpc_reduce_args *a, int64_t c, int64_t n)
{
    int64_t cols = hpc_tensor_cols(&a->x), from = 0, end = hpc_tensor_n(&a->x);
    double result[CHUNK];
    float buffer[CHUNK];

    for (int64_t i = 0; i < CHUNK; i++) result[i] = initial(a->attr.kind);
    for (stretch s; (s = live_from(&a->x, from, end)).n > 0; from = s.at + s.n) {
        for (int64_t at = s.at; at < s.at + s.n; at += cols) {
            int64_t live = least(n, s.at + s.n - at - c);
            if (live > 0) fold_row(result, load(buffer, &a->x, at + c, live), live, a->attr.kind);
        }
    }
    for (int64_t i = 0; i < n; i++) put_result(&a->y, c + i, result[i]);
}

static int reduce_rows(const hpc_launch *l, const void *args)
{
    const hpc_reduce_args *a = args;
    int64_t lo, hi;

    hpc_share(&lo, &hi, hpc_tensor_cols(&a->x), SLAB, l->worker, l->workers);
    for (; lo < hi; lo += CHUNK) reduce_slab(a, lo, least(CHUNK, hi - lo));
    return 0;
}

int HPC_WIDTH(cpu_reduce)(hpc_plan *p, int workers, const hpc_reduce_args *a)
{
    static hpc_kernel *const run[] = {
        [HPC_OVER_ALL] = reduce_all, [HPC_OVER_ROWS] = reduce_rows, [HPC_OVER_COLS] = reduce_cols};
    int64_t parts = (hpc_tensor_n(&a->x) + PART - 1) / PART;
    bool all = a->attr.over == HPC_OVER_ALL;

    (void)workers;
    return accept(
        p,
        (hpc_plan){.run = run[a->attr.over],
                   .workspace = all ? (size_t)parts * sizeof(double) : 0,
                   .name = "reduce_" HPC_ISA_TEXT},
        (const operand_check[]){{"y", &a->y, a->attr.kind == HPC_FINITE ? TAKES_I32 : TAKES_REAL},
                                {"x", &a->x, TAKES_REAL},
                                {0}});
}
