/*
 * gemm_row.c: a single row times packed panels, as in decoding: panels are read once,
 * in storage order, in several streams, at memory bandwidth.
 */
#include "runtime/device/cpu/kernels/gemm.h"
#include "runtime/device/cpu/kernels/lanes.h"
#include "runtime/device/cpu/kernels/priv.h"

enum {
    VECTORS = GEMM_PANEL / LANES, /* in a row of a panel */
    STREAMS = 4,                  /* panels at once: sums enough to hide what an addition takes */
    AHEAD = 2048                  /* bytes: so far on, panels are fetched */
};

/* LANES numbers of a panel. */
static inline __attribute__((always_inline)) vec load_lanes(const void *panel, hpc_dtype type,
                                                            int64_t at)
{
#if defined(__AVX512F__)
    if (type == HPC_F16)
        return (vec)_mm512_cvtph_ps(
            _mm256_loadu_si256((const void *)((const uint16_t *)panel + at)));
#elif defined(__F16C__)
    if (type == HPC_F16)
        return (vec)_mm256_cvtph_ps(_mm_loadu_si128((const void *)((const uint16_t *)panel + at)));
#endif
    return numbers_at(panel, type == HPC_BF16, at);
}

/* sum [streams][VECTORS] = row a [k] times panels `ld` bytes apart. */
static inline __attribute__((always_inline)) void row_panels(vec *sum, const void *a, bool half,
                                                             const char *b, int64_t ld, int64_t k,
                                                             hpc_dtype type, const int streams)
{
    const int size = type == HPC_F32 ? 4 : 2;
    vec acc[STREAMS * VECTORS];

    for (int i = 0; i < streams * VECTORS; i++) acc[i] = splat(0);
    for (int64_t p = 0; p < k; p++) {
        vec x = splat(number_at(a, half, p));
        for (int q = 0; q < streams; q++) {
            const char *row = b + q * ld + p * GEMM_PANEL * size;
            __builtin_prefetch(row + AHEAD, 0, 2);
            for (int v = 0; v < VECTORS; v++)
                acc[q * VECTORS + v] =
                    multiply_add(acc[q * VECTORS + v], x, load_lanes(row, type, v * LANES));
        }
    }
    for (int i = 0; i < streams * VECTORS; i++) sum[i] = acc[i];
}

static inline __attribute__((always_inline)) void row_typed(float *c, const void *a, bool half,
                                                            const char *b, int64_t ld, int64_t k,
                                                            int64_t cols, hpc_dtype type)
{
    for (int64_t j = 0; j < cols;) {
        vec sum[STREAMS * VECTORS];
        bool whole = cols - j > (STREAMS - 1) * GEMM_PANEL;
        const char *from = b + j / GEMM_PANEL * ld;
        if (whole)
            row_panels(sum, a, half, from, ld, k, type, STREAMS);
        else
            row_panels(sum, a, half, from, ld, k, type, 1);
        int64_t n = least(whole ? STREAMS * GEMM_PANEL : GEMM_PANEL, cols - j);
        memcpy(c + j, sum, (size_t)n * sizeof *c);
        j += n;
    }
}

bool HPC_WIDTH(cpu_gemm_row)(float *c, const gemm *g, int64_t row, int64_t j, int64_t cols)
{
    int64_t size = g->b_type == HPC_F32 ? 4 : 2, ld = g->b_ld * GEMM_PANEL * size;
    const void *a = gemm_element(g->a, g->a_type, row * g->a_ld);
    const char *b = (const char *)g->b + j / GEMM_PANEL * ld;
    bool half = g->a_type == HPC_BF16;

    switch (g->b_type) {
    case HPC_F32: row_typed(c, a, half, b, ld, g->k, cols, HPC_F32); return true;
    case HPC_BF16: row_typed(c, a, half, b, ld, g->k, cols, HPC_BF16); return true;
#if defined(__F16C__)
    case HPC_F16: row_typed(c, a, half, b, ld, g->k, cols, HPC_F16); return true;
#endif
    default: return false;
    }
}
