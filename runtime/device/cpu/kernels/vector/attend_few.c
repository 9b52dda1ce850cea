/*
 * attend_few.c: the two products of attention for few rows, as in decoding. Keys are transposed in
 * registers and values read in place, so that each byte of the cache is loaded once for several
 * rows, and nothing is packed. Every element is the chain of multiply-adds that cpu_gemm computes
 * in f32, in the same order, so the bits are the same.
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

/* Vectors of keys at once: an element is one chain of additions, and no chain waits for its own. */
enum { GROUPS = LANES == 16 ? 4 : 2 };

/* Where LANES keys of each group lie. */
typedef struct keys {
    const char *at[GROUPS][LANES];
    bool half;
} keys;

/* scores[g][r] = q[r] times the keys of group g. */
static inline __attribute__((always_inline)) void score_keys(vec scores[][4], const float *q,
                                                             const keys *k, int64_t dim,
                                                             attend_ahead *next, const int groups,
                                                             const int rows, const bool half)
{
    const int wide = half ? 2 * LANES : LANES, size = half ? 2 : 4;
    vec sum[GROUPS][4] = {{{0}}};
    words turned[LANES][GROUPS];
    int64_t d = 0, wanted = next ? gemm_parts((int64_t)LANES * wide, dim) : 0;

    for (; d + wide <= dim; d += wide) {
        for (int g = 0; g < groups; g++) {
            words x[LANES];
            for (int i = 0; i < LANES; i++) x[i] = *(const words_any *)(k->at[g][i] + d * size);
            if (wanted) attend_fetch(next, wanted);
            turn(x);
            for (int i = 0; i < LANES; i++) turned[i][g] = x[i];
        }
        for (int i = 0; i < LANES; i++)
            for (int h = 0; h < (half ? 2 : 1); h++)
                for (int r = 0; r < rows; r++) {
                    vec by = splat(q[r * dim + d + (half ? 2 * i + h : i)]);
                    for (int g = 0; g < groups; g++) {
                        words x = turned[i][g], bits = !half ? x : h ? x & 0xffff0000u : x << 16;
                        sum[g][r] = multiply_add(sum[g][r], by, (vec)bits);
                    }
                }
    }
    for (; d < dim; d++)
        for (int g = 0; g < groups; g++) {
            vec x;
            for (int i = 0; i < LANES; i++) x[i] = number_at(k->at[g][i], half, d);
            for (int r = 0; r < rows; r++)
                sum[g][r] = multiply_add(sum[g][r], splat(q[r * dim + d]), x);
        }
    for (int g = 0; g < groups; g++)
        for (int r = 0; r < rows; r++) scores[g][r] = sum[g][r];
}

static inline __attribute__((always_inline)) void score_rows(vec scores[][4], const float *q,
                                                             const keys *k, int64_t dim,
                                                             attend_ahead *next, const int groups,
                                                             int rows, const bool half)
{
    switch (rows) {
    case 1: score_keys(scores, q, k, dim, next, groups, 1, half); break;
    case 2: score_keys(scores, q, k, dim, next, groups, 2, half); break;
    case 3: score_keys(scores, q, k, dim, next, groups, 3, half); break;
    default: score_keys(scores, q, k, dim, next, groups, 4, half); break;
    }
}

static void score_groups(vec scores[][4], const float *q, const keys *k, int64_t dim,
                         attend_ahead *next, int groups, int rows)
{
    if (groups > 1 && k->half)
        score_rows(scores, q, k, dim, next, GROUPS, rows, true);
    else if (groups > 1)
        score_rows(scores, q, k, dim, next, GROUPS, rows, false);
    else if (k->half)
        score_rows(scores, q, k, dim, next, 1, rows, true);
    else
        score_rows(scores, q, k, dim, next, 1, rows, false);
}

void HPC_WIDTH(cpu_attend_scores)(float *scores, const float *q, int64_t rows, int64_t dim,
                                  attend_cache k, int64_t n, attend_ahead *next)
{
    for (int64_t j = 0, here; j < n; j += here) {
        int groups = n - j > LANES ? GROUPS : 1;
        keys of = {.half = k.type == HPC_BF16};
        here = least((int64_t)groups * LANES, n - j);
        /* Where keys end, the last one serves: its results are dropped. */
        for (int i = 0; i < groups * LANES; i++)
            of.at[i / LANES][i % LANES] =
                (const char *)k.at + k.row[j + least(i, here - 1)] * (of.half ? 2 : 4);
        for (int64_t r = 0; r < rows; r += 4) {
            int part = (int)least(4, rows - r);
            vec found[GROUPS][4];
            score_groups(found, q + r * dim, &of, dim, r == 0 ? next : NULL, groups, part);
            for (int i = 0; i < part; i++)
                for (int64_t g = 0; g * LANES < here; g++)
                    memcpy(scores + (r + i) * ATTEND_KEYS + j + g * LANES, &found[g][i],
                           (size_t)least(LANES, here - g * LANES) * sizeof(float));
        }
    }
}

/* ---- values ------------------------------------------------------------------------------- */

enum { AT_ONCE = 8 }; /* keys, of which so many are asked for together */

/* o[r][0 .. vectors*LANES-1] += the weights of n keys times their values from d on. */
static inline __attribute__((always_inline)) void
add_columns(float *o, int64_t dim, const float *weights, const attend_cache *v, int64_t d,
            int64_t n, attend_ahead *next, const int rows, const int vectors, const bool half)
{
    vec sum[COLUMNS];

    for (int r = 0; r < rows; r++)
        for (int c = 0; c < vectors; c++)
            sum[r * vectors + c] = *(const vec_any *)(o + r * dim + d + c * LANES);
    for (int64_t j0 = 0; j0 < n; j0 += AT_ONCE) {
        if (next) attend_fetch(next, AT_ONCE);
        for (int64_t j = j0; j < least(n, j0 + AT_ONCE); j++)
            for (int c = 0; c < vectors; c++) {
                vec x = numbers_at(v->at, half, v->row[j] + d + c * LANES);
                for (int r = 0; r < rows; r++) {
                    float by = weights[r * ATTEND_KEYS + j];
                    sum[r * vectors + c] = multiply_add(sum[r * vectors + c], splat(by), x);
                }
            }
    }
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < vectors; c++)
            *(vec_any *)(o + r * dim + d + c * LANES) = sum[r * vectors + c];
}

static inline __attribute__((always_inline)) void
add_rows(float *o, int64_t dim, const float *weights, const attend_cache *v, int64_t n,
         attend_ahead *next, const int rows, const bool half)
{
    const int vectors = COLUMNS / rows;
    int64_t d = 0;

    for (; d + vectors * LANES <= dim; d += vectors * LANES)
        add_columns(o, dim, weights, v, d, n, d == 0 ? next : NULL, rows, vectors, half);
    for (; d + LANES <= dim; d += LANES) add_columns(o, dim, weights, v, d, n, NULL, rows, 1, half);
    for (; d < dim; d++)
        for (int r = 0; r < rows; r++) {
            vec sum = splat(o[r * dim + d]);
            for (int64_t j = 0; j < n; j++)
                sum = multiply_add(sum, splat(weights[r * ATTEND_KEYS + j]),
                                   splat(number_at(v->at, half, v->row[j] + d)));
            o[r * dim + d] = sum[0];
        }
}

void HPC_WIDTH(cpu_attend_values)(float *o, int64_t dim, const float *weights, int64_t rows,
                                  attend_cache v, int64_t n, attend_ahead *next)
{
    bool half = v.type == HPC_BF16;

    for (int64_t r = 0; r < rows; next = NULL) {
        int part = rows - r >= 4 ? 4 : rows - r >= 2 ? 2 : 1;
        float *to = o + r * dim;
        const float *by = weights + r * ATTEND_KEYS;
        switch (part * 2 + half) {
        case 2: add_rows(to, dim, by, &v, n, next, 1, false); break;
        case 3: add_rows(to, dim, by, &v, n, next, 1, true); break;
        case 4: add_rows(to, dim, by, &v, n, next, 2, false); break;
        case 5: add_rows(to, dim, by, &v, n, next, 2, true); break;
        case 8: add_rows(to, dim, by, &v, n, next, 4, false); break;
        default: add_rows(to, dim, by, &v, n, next, 4, true); break;
        }
        r += part;
    }
}
