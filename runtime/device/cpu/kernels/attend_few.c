/*
 * attend_few.c: the two products of attention for few rows, as in decoding:
 * keys are turned in registers and values read where they lie, so that each
 * byte of the cache is loaded once for several rows, and nothing is packed.
 *
 * Elements are the chains of multiply-adds that cpu_gemm makes of f32, in the
 * same order: same bits.
 */
#include "runtime/device/cpu/kernels/attend.h"
#include "runtime/device/cpu/kernels/lanes.h"
#include "runtime/device/cpu/kernels/pairs.h"

enum { COLUMNS = LANES == 16 ? 4 : 8 }; /* vectors of results at once: rows times those of a row */

/* ---- scores ------------------------------------------------------------------------------- */

/* x[i] word j becomes x[j] word i. */
static inline __attribute__((always_inline)) void turn(words x[LANES])
{
#if defined(__AVX512F__)
    __m512i r[LANES];

    for (int i = 0; i < LANES; i++) r[i] = (__m512i)x[i];
    turn16(r);
    for (int i = 0; i < LANES; i++) x[i] = (words)r[i];
#elif defined(__AVX2__)
    turn8(x);
#else
    words t[LANES];

    for (int i = 0; i < LANES; i += 2) {
        t[i] = __builtin_shufflevector(x[i], x[i + 1], 0, 4, 1, 5);
        t[i + 1] = __builtin_shufflevector(x[i], x[i + 1], 2, 6, 3, 7);
    }
    for (int i = 0; i < 2; i++) {
        x[2 * i] = __builtin_shufflevector(t[i], t[i + 2], 0, 1, 4, 5);
        x[2 * i + 1] = __builtin_shufflevector(t[i], t[i + 2], 2, 3, 6, 7);
    }
#endif
}

/* LANES keys: element d of the first is at d, of the next at step[1] + d, ... */
typedef struct keys {
    const void *at;
    int64_t step[LANES];
    bool half;
} keys;

/* scores[r] = q[r] times the keys. */
static inline __attribute__((always_inline)) void
score_keys(vec *scores, const float *q, const keys *k, int64_t dim, const int rows, const bool half)
{
    const int wide = half ? 2 * LANES : LANES;
    vec sum[4] = {{0}};
    int64_t d = 0;

    for (; d + wide <= dim; d += wide) {
        words x[LANES];
        for (int i = 0; i < LANES; i++)
            x[i] = *(const words_any *)((const char *)k->at + (k->step[i] + d) * (half ? 2 : 4));
        turn(x);
        for (int i = 0; i < LANES; i++)
            for (int h = 0; h < (half ? 2 : 1); h++) {
                words bits = !half ? x[i] : h ? x[i] & 0xffff0000u : x[i] << 16;
                for (int r = 0; r < rows; r++) {
                    float by = q[r * dim + d + (half ? 2 * i + h : i)];
                    sum[r] = multiply_add(sum[r], splat(by), (vec)bits);
                }
            }
    }
    for (; d < dim; d++) {
        vec x;
        for (int i = 0; i < LANES; i++) x[i] = number_at(k->at, half, k->step[i] + d);
        for (int r = 0; r < rows; r++) sum[r] = multiply_add(sum[r], splat(q[r * dim + d]), x);
    }
    for (int r = 0; r < rows; r++) scores[r] = sum[r];
}

static inline __attribute__((always_inline)) void score_rows(vec *scores, const float *q,
                                                             const keys *k, int64_t dim, int rows)
{
    if (k->half) switch (rows)
        {
        case 1: score_keys(scores, q, k, dim, 1, true); break;
        case 2: score_keys(scores, q, k, dim, 2, true); break;
        case 3: score_keys(scores, q, k, dim, 3, true); break;
        default: score_keys(scores, q, k, dim, 4, true); break;
        }
    else
        switch (rows) {
        case 1: score_keys(scores, q, k, dim, 1, false); break;
        case 2: score_keys(scores, q, k, dim, 2, false); break;
        case 3: score_keys(scores, q, k, dim, 3, false); break;
        default: score_keys(scores, q, k, dim, 4, false); break;
        }
}

void HPC_ISA(cpu_attend_scores)(float *scores, const float *q, int64_t rows, int64_t dim,
                                attend_cache k, int64_t n)
{
    for (int64_t j = 0; j < n; j += LANES) {
        int64_t here = least(LANES, n - j);
        keys of = {.at = gemm_element(k.at, k.type, j * k.ld), .half = k.type == HPC_BF16};
        for (int i = 0; i < LANES; i++) of.step[i] = least(i, here - 1) * k.ld;
        for (int64_t r = 0; r < rows; r += 4) {
            int part = (int)least(4, rows - r);
            vec found[4];
            score_rows(found, q + r * dim, &of, dim, part);
            for (int i = 0; i < part; i++) {
                float *to = scores + (r + i) * ATTEND_KEYS + j;
                if (here == LANES)
                    *(vec_any *)to = found[i];
                else
                    memcpy(to, &found[i], (size_t)here * sizeof *to);
            }
        }
    }
}

/* ---- values ------------------------------------------------------------------------------- */

/* o[r][0 .. vectors*LANES-1] += the weights of n keys times their values. */
static inline __attribute__((always_inline)) void add_columns(float *o, int64_t dim,
                                                              const float *weights, const void *v,
                                                              int64_t ld, int64_t n, const int rows,
                                                              const int vectors, const bool half)
{
    vec sum[COLUMNS];

    for (int r = 0; r < rows; r++)
        for (int c = 0; c < vectors; c++)
            sum[r * vectors + c] = *(const vec_any *)(o + r * dim + c * LANES);
    for (int64_t j = 0; j < n; j++) {
        for (int c = 0; c < vectors; c++) {
            vec x = numbers_at(v, half, j * ld + c * LANES);
            for (int r = 0; r < rows; r++) {
                float by = weights[r * ATTEND_KEYS + j];
                sum[r * vectors + c] = multiply_add(sum[r * vectors + c], splat(by), x);
            }
        }
    }
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < vectors; c++)
            *(vec_any *)(o + r * dim + c * LANES) = sum[r * vectors + c];
}

static inline __attribute__((always_inline)) void add_rows(float *o, int64_t dim,
                                                           const float *weights, attend_cache v,
                                                           int64_t n, const int rows,
                                                           const bool half)
{
    const int vectors = COLUMNS / rows;
    int64_t d = 0, size = half ? 2 : 4;

    for (; d + vectors * LANES <= dim; d += vectors * LANES)
        add_columns(o + d, dim, weights, (const char *)v.at + d * size, v.ld, n, rows, vectors,
                    half);
    for (; d + LANES <= dim; d += LANES)
        add_columns(o + d, dim, weights, (const char *)v.at + d * size, v.ld, n, rows, 1, half);
    for (; d < dim; d++)
        for (int r = 0; r < rows; r++) {
            vec sum = splat(o[r * dim + d]);
            for (int64_t j = 0; j < n; j++)
                sum = multiply_add(sum, splat(weights[r * ATTEND_KEYS + j]),
                                   splat(number_at(v.at, half, j * v.ld + d)));
            o[r * dim + d] = sum[0];
        }
}

void HPC_ISA(cpu_attend_values)(float *o, int64_t dim, const float *weights, int64_t rows,
                                attend_cache v, int64_t n)
{
    bool half = v.type == HPC_BF16;

    for (int64_t r = 0; r < rows;) {
        int part = rows - r >= 4 ? 4 : rows - r >= 2 ? 2 : 1;
        float *to = o + r * dim;
        const float *by = weights + r * ATTEND_KEYS;
        switch (part * 2 + half) {
        case 2: add_rows(to, dim, by, v, n, 1, false); break;
        case 3: add_rows(to, dim, by, v, n, 1, true); break;
        case 4: add_rows(to, dim, by, v, n, 2, false); break;
        case 5: add_rows(to, dim, by, v, n, 2, true); break;
        case 8: add_rows(to, dim, by, v, n, 4, false); break;
        default: add_rows(to, dim, by, v, n, 4, true); break;
        }
        r += part;
    }
}
