/*
 * bytes.c: rows rounded to 8 bits, and their products with columns of integers:
 * register tiles of columns that were unpacked for many rows, and loops that
 * multiply a single row as columns are read.
 */
#include <math.h>

#include "runtime/device/cpu/kernels/bytes_unpack.h"
#include "runtime/device/cpu/kernels/priv.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

bool HPC_ISA(cpu_bytes_narrow)(hpc_dtype b, int64_t rows)
{
#if defined(__AVX2__)
    return has_min(b) || (b == HPC_Q8_0 && rows == 1);
#else
    (void)b;
    (void)rows;
    return false;
#endif
}

/* ---- rows ------------------------------------------------------------------- */

/* The largest magnitude becomes 127. What is not finite gives a scale that is not. */
static void round_unit(int16_t *restrict q, float *scale, float *sum, const float *restrict x)
{
    uint32_t most = 0;
    int32_t all = 0;

    for (int i = 0; i < UNIT; i++) {
        uint32_t size = hpc_f32_bits(x[i]) & 0x7fffffff;
        most = size > most ? size : most;
    }
    float top = hpc_bits_f32(most), inverse = top > 0 && top < INFINITY ? 127 / top : 0;
    for (int i = 0; i < UNIT; i++) {
        float v = rintf(x[i] * inverse);
        q[i] = (int16_t)(v >= -127 ? v <= 127 ? v : 127 : -127);
    }
    for (int i = 0; i < UNIT; i++) all += q[i];
    *scale = top / 127;
    *sum = (float)all;
}

/* The order in which 16 bits are multiplied: see unpacked. */
static void put_pairs(int16_t *restrict to, const int16_t *restrict q)
{
    for (int w = 0; w < UNIT; w += 4) {
        to[w] = q[w];
        to[w + 1] = q[w + 2];
        to[w + 2] = q[w + 1];
        to[w + 3] = q[w + 3];
    }
}

void HPC_ISA(cpu_bytes_round)(const byte_rows *to, const hpc_tensor *a, int64_t lo, int64_t hi)
{
    for (int64_t u = lo; u < hi; u++) {
        float buffer[UNIT];
        int16_t q[UNIT];
        round_unit(q, to->scale + u, to->sum + u, load(buffer, a, u * UNIT, UNIT));
        if (to->narrow)
            for (int i = 0; i < UNIT; i++) ((int8_t *)to->q)[u * UNIT + i] = (int8_t)q[i];
        else
            put_pairs((int16_t *)to->q + u * UNIT, q);
    }
}

/* ---- tiles ------------------------------------------------------------------------ */

#if defined(__AVX2__)

typedef __m256i pair256[2]; /* of 16 columns */

/* Into a register: as an operand in memory it would be loaded for each row again. */
static inline __attribute__((always_inline)) __m256i loaded(const uint8_t *at)
{
    __m256i x = _mm256_load_si256((const __m256i *)at);

    __asm__("" : "+x"(x));
    return x;
}

static inline __attribute__((always_inline)) __m256i splat4(const void *at)
{
    int32_t x;

    memcpy(&x, at, sizeof x);
    return _mm256_set1_epi32(x);
}

/* *sum += x where it is, and in the order in which they are written: else compilers fetch all rows
 * first, and run out of registers. */
static inline __attribute__((always_inline)) void add32(__m256i *sum, __m256i x)
{
    __asm__ volatile("vpaddd %1, %0, %0" : "+x"(*sum) : "x"(x));
}

static inline __attribute__((always_inline)) void add16(__m256i *sum, __m256i x)
{
    __asm__ volatile("vpaddw %1, %0, %0" : "+x"(*sum) : "x"(x));
}

/* Sums of 16 bits: of 2 products each, of at most 15 (or 31) by 127, 8 (or 4) times. */
static inline __attribute__((always_inline)) void dots_narrow(pair256 *sum, const uint8_t *q,
                                                              const int8_t *a, int64_t ld,
                                                              const int rows, const int times)
{
    const __m256i ones = _mm256_set1_epi16(1);

    for (int i = 0; i < rows; i++) sum[i][0] = sum[i][1] = _mm256_setzero_si256();
    for (int part = 0; part < WORDS; part += times) {
        pair256 s[BYTES_ROWS];
        for (int i = 0; i < rows; i++) s[i][0] = s[i][1] = _mm256_setzero_si256();
        for (int w = part; w < part + times; w++) {
            __m256i b0 = loaded(q + w * 64);
            __m256i b1 = loaded(q + w * 64 + 32);
            for (int i = 0; i < rows; i++) {
                __m256i x = splat4(a + i * ld + 4 * w);
                add16(&s[i][0], _mm256_maddubs_epi16(b0, x));
                add16(&s[i][1], _mm256_maddubs_epi16(b1, x));
            }
        }
        for (int i = 0; i < rows; i++)
            for (int h = 0; h < 2; h++)
                sum[i][h] = _mm256_add_epi32(sum[i][h], _mm256_madd_epi16(s[i][h], ones));
    }
}

static inline __attribute__((always_inline)) void
dots_wide(pair256 *sum, const uint8_t *q, const int16_t *a, int64_t ld, const int rows)
{
    for (int i = 0; i < rows; i++) sum[i][0] = sum[i][1] = _mm256_setzero_si256();
    for (int p = 0; p < PAIRS; p++) {
        __m256i b0 = loaded(q + p * 64);
        __m256i b1 = loaded(q + p * 64 + 32);
        for (int i = 0; i < rows; i++) {
            __m256i x = splat4(a + i * ld + 2 * p);
            add32(&sum[i][0], _mm256_madd_epi16(b0, x));
            add32(&sum[i][1], _mm256_madd_epi16(b1, x));
        }
    }
}

/* Rows of c [rows,16] go on by the units of b; a, scale and sum are the first row's. */
static inline __attribute__((always_inline)) void tile_rows(float *restrict c, const byte_rows *a,
                                                            const unpacked *b, int units,
                                                            hpc_dtype type, bool narrow,
                                                            const int rows)
{
    int64_t ld = a->k / UNIT;

    for (int u = 0; u < units; u++) {
        pair256 sum[BYTES_ROWS];
        if (!narrow)
            dots_wide(sum, b->q + u * UNIT * COLS * 2, (const int16_t *)a->q + u * UNIT, a->k,
                      rows);
        else if (type == HPC_Q5_K)
            dots_narrow(sum, b->q + u * UNIT * COLS, (const int8_t *)a->q + u * UNIT, a->k, rows,
                        WORDS / 2);
        else
            dots_narrow(sum, b->q + u * UNIT * COLS, (const int8_t *)a->q + u * UNIT, a->k, rows,
                        WORDS);
        for (int i = 0; i < rows; i++)
            for (int h = 0; h < 2; h++) {
                __m256 x = _mm256_cvtepi32_ps(sum[i][h]),
                       old = _mm256_loadu_ps(c + i * COLS + 8 * h);
                x = _mm256_mul_ps(x, _mm256_load_ps(b->scale[u] + 8 * h));
                if (has_min(type))
                    x = _mm256_fnmadd_ps(_mm256_load_ps(b->min[u] + 8 * h),
                                         _mm256_set1_ps(a->sum[i * ld + u]), x);
                x = _mm256_fmadd_ps(x, _mm256_set1_ps(a->scale[i * ld + u]), old);
                _mm256_storeu_ps(c + i * COLS + 8 * h, x);
            }
    }
}

static inline __attribute__((always_inline)) void tile_of(float *c, const byte_rows *a,
                                                          const unpacked *b, int units,
                                                          hpc_dtype type, bool narrow, int rows)
{
    switch (rows) {
    case 1: tile_rows(c, a, b, units, type, narrow, 1); break;
    case 2: tile_rows(c, a, b, units, type, narrow, 2); break;
    case 3: tile_rows(c, a, b, units, type, narrow, 3); break;
    case 4: tile_rows(c, a, b, units, type, narrow, 4); break;
    case 5: tile_rows(c, a, b, units, type, narrow, 5); break;
    default: tile_rows(c, a, b, units, type, narrow, 6); break;
    }
}

static void tile(float *c, const byte_rows *a, const unpacked *b, int units, hpc_dtype type,
                 int rows)
{
    switch (type) {
    case HPC_Q8_0: tile_of(c, a, b, units, HPC_Q8_0, false, rows); break;
    case HPC_Q6_K: tile_of(c, a, b, units, HPC_Q6_K, false, rows); break;
    case HPC_Q4_0:
    case HPC_Q4_K: tile_of(c, a, b, units, HPC_Q4_K, true, rows); break;
    default: tile_of(c, a, b, units, HPC_Q5_K, true, rows);
    }
}

/* ---- one row ---------------------------------------------------------------------- */

/* Of 16 columns: what has been added up, and what a unit adds to it as in tile_rows. */
typedef __m256 floats[2];

static inline __attribute__((always_inline)) void add_unit(floats sum, const pair256 dot,
                                                           const floats scale, const floats min,
                                                           const byte_rows *a, int64_t u)
{
    for (int h = 0; h < 2; h++) {
        __m256 x = _mm256_mul_ps(_mm256_cvtepi32_ps(dot[h]), scale[h]);
        if (min) x = _mm256_fnmadd_ps(min[h], _mm256_set1_ps(a->sum[u]), x);
        sum[h] = _mm256_fmadd_ps(x, _mm256_set1_ps(a->scale[u]), sum[h]);
    }
}

static inline __attribute__((always_inline)) void load_halves(floats to, const uint8_t *from)
{
    for (int h = 0; h < 2; h++)
        to[h] = _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(from + 16 * h)));
}

static inline __attribute__((always_inline)) __m256i line_at(const uint8_t *panel, int w, int h)
{
    return _mm256_loadu_si256((const __m256i *)(panel + w * LINE + 32 * h));
}

/* What lies AHEAD of so many bytes: memory is read in order, but faster than CPUs guess. */
static inline __attribute__((always_inline)) void fetch(const uint8_t *panel, const int bytes)
{
    enum { AHEAD = 2048 };

    for (int b = 0; b < bytes; b += 64) __builtin_prefetch(panel + AHEAD + b);
}

/* Signs go to the row: a byte of -128 has a magnitude of 128, and two products still fit. */
static void row_q8_0(floats sum, const byte_rows *a, const uint8_t *panel, int64_t units)
{
    const __m256i ones = _mm256_set1_epi16(1);
    const int8_t *q = a->q;

    for (int64_t u = 0; u < units; u++, panel += HALVES + WORDS * LINE, q += UNIT) {
        pair256 dot = {_mm256_setzero_si256(), _mm256_setzero_si256()};
        floats scale;
        fetch(panel, HALVES + WORDS * LINE);
        for (int w = 0; w < WORDS; w++) {
            __m256i x = splat4(q + 4 * w);
            for (int h = 0; h < 2; h++) {
                __m256i b = line_at(panel + HALVES, w, h);
                __m256i p = _mm256_maddubs_epi16(_mm256_abs_epi8(b), _mm256_sign_epi8(x, b));
                dot[h] = _mm256_add_epi32(dot[h], _mm256_madd_epi16(p, ones));
            }
        }
        load_halves(scale, panel);
        add_unit(sum, dot, scale, NULL, a, u);
    }
}

/* Four words of 32 nibbles: the low ones by words x .. of the row, the high ones by y .. */
static inline __attribute__((always_inline)) void dot_nibbles(pair256 low, pair256 high,
                                                              const uint8_t *panel, const int8_t *x,
                                                              const int8_t *y, const int words_n)
{
    const __m256i mask = _mm256_set1_epi8(15);

    for (int w = 0; w < words_n; w++) {
        __m256i left = splat4(x + 4 * w), right = splat4(y + 4 * w);
        for (int h = 0; h < 2; h++) {
            __m256i b = line_at(panel, w, h), top = _mm256_srli_epi16(b, 4);
            __m256i p = _mm256_maddubs_epi16(_mm256_and_si256(b, mask), left);
            __m256i r = _mm256_maddubs_epi16(_mm256_and_si256(top, mask), right);
            low[h] = _mm256_add_epi16(low[h], p);
            high[h] = _mm256_add_epi16(high[h], r);
        }
    }
}

static void row_q4_0(floats sum, const byte_rows *a, const uint8_t *panel, int64_t units)
{
    const __m256i ones = _mm256_set1_epi16(1), none = _mm256_setzero_si256();
    const __m256 eight = _mm256_set1_ps(8);
    const int8_t *q = a->q;

    for (int64_t u = 0; u < units; u++, panel += HALVES + WORDS / 2 * LINE, q += UNIT) {
        pair256 dot = {none, none};
        floats scale, min;
        fetch(panel, HALVES + WORDS / 2 * LINE);
        dot_nibbles(dot, dot, panel + HALVES, q, q + UNIT / 2, WORDS / 2);
        load_halves(scale, panel);
        for (int h = 0; h < 2; h++) {
            dot[h] = _mm256_madd_epi16(dot[h], ones);
            min[h] = _mm256_mul_ps(eight, scale[h]);
        }
        add_unit(sum, dot, scale, min, a, u);
    }
}

static void row_q4_k(floats sum, const byte_rows *a, const uint8_t *panel, int64_t units,
                     unpacked *spare)
{
    const __m256i ones = _mm256_set1_epi16(1), none = _mm256_setzero_si256();
    const int8_t *q = a->q;

    for (int64_t u = 0; u < units; u += 2, q += 2 * UNIT) {
        pair256 dot[2] = {{none, none}, {none, none}};
        const uint8_t *lines = panel + 2 * HALVES + (3 + u % BYTES_UNITS / 2 * WORDS) * LINE;
        if (u % BYTES_UNITS == 0) HPC_ISA(cpu_unpack_scales)(spare, panel);
        fetch(lines, WORDS * LINE);
        dot_nibbles(dot[0], dot[1], lines, q, q + UNIT, WORDS);
        for (int i = 0; i < 2; i++) {
            int at = (int)(u % BYTES_UNITS) + i;
            floats scale, min;
            for (int h = 0; h < 2; h++) {
                dot[i][h] = _mm256_madd_epi16(dot[i][h], ones);
                scale[h] = _mm256_load_ps(spare->scale[at] + 8 * h);
                min[h] = _mm256_load_ps(spare->min[at] + 8 * h);
            }
            add_unit(sum, dot[i], scale, min, a, u + i);
        }
        if (u % BYTES_UNITS == BYTES_UNITS - 2)
            panel += 2 * HALVES + (3 + BYTES_UNITS / 2 * WORDS) * LINE;
    }
}

/* False where there is no such loop for the format. */
static bool one_row(float *c, const byte_rows *a, const uint8_t *panel, hpc_dtype b,
                    unpacked *spare)
{
    floats sum = {_mm256_setzero_ps(), _mm256_setzero_ps()};
    int64_t units = a->k / UNIT;

    switch (b) {
    case HPC_Q8_0: row_q8_0(sum, a, panel, units); break;
    case HPC_Q4_0: row_q4_0(sum, a, panel, units); break;
    case HPC_Q4_K: row_q4_k(sum, a, panel, units, spare); break;
    default: return false;
    }
    for (int h = 0; h < 2; h++) _mm256_storeu_ps(c + 8 * h, sum[h]);
    return true;
}

#else

static void tile(float *c, const byte_rows *a, const unpacked *b, int units, hpc_dtype type,
                 int rows)
{
    for (int i = 0; i < rows; i++, c += COLS)
        for (int u = 0; u < units; u++) {
            const int16_t *q = (const int16_t *)b->q + u * UNIT * COLS;
            const int16_t *x = (const int16_t *)a->q + i * a->k + u * UNIT;
            int64_t at = i * (a->k / UNIT) + u;
            int32_t sum[COLS] = {0};
            for (int p = 0; p < PAIRS; p++)
                for (int e = 0; e < COLS; e++)
                    sum[e] +=
                        q[(p * COLS + e) * 2] * x[2 * p] + q[(p * COLS + e) * 2 + 1] * x[2 * p + 1];
            for (int e = 0; e < COLS; e++) {
                float v = b->scale[u][e] * (float)sum[e];
                if (has_min(type)) v -= b->min[u][e] * a->sum[at];
                c[e] += a->scale[at] * v;
            }
        }
}

static bool one_row(float *c, const byte_rows *a, const uint8_t *panel, hpc_dtype b,
                    unpacked *spare)
{
    (void)c, (void)a, (void)panel, (void)b, (void)spare;
    return false;
}

#endif

/* ---- the product --------------------------------------------------------------------- */

/* Rows from i on, and of them what begins at unit u. */
static byte_rows rows_from(const byte_rows *a, int64_t i, int64_t u)
{
    int64_t first = i * (a->k / UNIT) + u;
    byte_rows r = *a;

    r.q = (char *)a->q + first * UNIT * (a->narrow ? 1 : 2);
    r.scale += first;
    r.sum += first;
    return r;
}

void HPC_ISA(cpu_bytes)(float *c, const byte_rows *a, int64_t i, int64_t rows, const void *panel,
                        hpc_dtype b, void *spare)
{
    const hpc_dtype_info *info = hpc_dtype_get(b);
    int64_t units = a->k / UNIT;
    unpacked *to = spare;
    byte_rows first = rows_from(a, i, 0);

    if (rows == 1 && a->narrow && one_row(c, &first, panel, b, to)) return;
    memset(c, 0, (size_t)(rows * COLS) * sizeof *c);
    for (int64_t u = 0; u < units; u += BYTES_UNITS) {
        const uint8_t *at =
            (const uint8_t *)panel + (size_t)(u * UNIT / info->block) * info->block_bytes * COLS;
        int n = HPC_ISA(cpu_unpack)(to, at, b, a->narrow, units - u);
        for (int64_t r = 0; r < rows; r += BYTES_ROWS) {
            byte_rows part = rows_from(a, i + r, u);
            tile(c + r * COLS, &part, to, n, b, (int)least(BYTES_ROWS, rows - r));
        }
    }
}
