/*
 * bytes.c: rows rounded to 8 bits, and their products with panels: blocks are
 * unpacked a few units at a time and multiplied with all rows, tile by tile; a
 * single row multiplies them as it reads them.
 */
#include <float.h>
#include <math.h>

#include "runtime/device/cpu/kernels/bytes_tile.h"
#include "runtime/device/cpu/kernels/priv.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

byte_rows HPC_ISA(cpu_bytes_rows)(hpc_dtype b, int64_t m, int64_t k)
{
    const format f = formats[b];
    bool narrow = false;

#if defined(__AVX512VNNI__)
    narrow = f.form != BYTES_SCALED || m == 1;
#elif defined(__AVX2__)
    narrow = f.top > 0 || m == 1;
#endif
    return (byte_rows){
        .m = m, .k = k, .half_sums = f.half_sums, .zero = zero_of(f), .narrow = narrow};
}

/* Rows of the tile that begins at row i. */
static int height_at(const byte_rows *a, int64_t i)
{
    return (int)least(BYTES_ROWS, a->m - i);
}

/* The tile that begins at row i, from unit u on to the end of its eight. */
static byte_tile tile_at(const byte_rows *a, int64_t i, int64_t u)
{
    int height = height_at(a, i);
    int64_t in = u % BYTES_UNITS, units = least(BYTES_UNITS, a->k / UNIT - (u - in));
    int64_t first = (u - in) * a->m + i * units + in * height;

    return (byte_tile){.q = (uint8_t *)a->q + first * UNIT * (a->narrow ? 1 : 2),
                       .scale = a->scale + first,
                       .sum = (float *)a->sum + first,
                       .height = height,
                       .first = u == 0,
                       .fetch_far = a->fetch_far};
}

/* ---- rows ------------------------------------------------------------------- */

/* Factor that maps the largest magnitude to 127. Values that are not finite give a scale that is
 * not. */
static float inverse_of(float top)
{
    float inverse = 127 / top;

    return top > 0 && top < INFINITY && inverse <= FLT_MAX ? inverse : 0;
}

#if defined(__AVX2__)

static int32_t round_unit(int16_t *restrict q, float *scale, const float *restrict x)
{
    const __m256i size = _mm256_set1_epi32(0x7fffffff), ones = _mm256_set1_epi16(1);
    const __m256i low = _mm256_set1_epi32(-127), high = _mm256_set1_epi32(127);
    __m256i most = _mm256_setzero_si256(), sum = _mm256_setzero_si256(), r[4];

    for (int i = 0; i < 4; i++) {
        __m256i v = _mm256_loadu_si256((const __m256i *)(x + 8 * i));
        most = _mm256_max_epu32(most, _mm256_and_si256(v, size));
    }
    __m128i m = _mm_max_epu32(_mm256_castsi256_si128(most), _mm256_extracti128_si256(most, 1));
    m = _mm_max_epu32(m, _mm_shuffle_epi32(m, 0x4e));
    m = _mm_max_epu32(m, _mm_shuffle_epi32(m, 0xb1));
    float top = hpc_bits_f32((uint32_t)_mm_cvtsi128_si32(m));
    __m256 inverse = _mm256_set1_ps(inverse_of(top));
    for (int i = 0; i < 4; i++) {
        r[i] = _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(x + 8 * i), inverse));
        r[i] = _mm256_min_epi32(_mm256_max_epi32(r[i], low), high);
    }
    for (int i = 0; i < 4; i += 2) {
        __m256i half = _mm256_permute4x64_epi64(_mm256_packs_epi32(r[i], r[i + 1]), 0xd8);
        _mm256_storeu_si256((__m256i *)(q + 8 * i), half);
        sum = _mm256_add_epi32(sum, _mm256_madd_epi16(half, ones));
    }
    m = _mm_add_epi32(_mm256_castsi256_si128(sum), _mm256_extracti128_si256(sum, 1));
    m = _mm_add_epi32(m, _mm_shuffle_epi32(m, 0x4e));
    m = _mm_add_epi32(m, _mm_shuffle_epi32(m, 0xb1));
    *scale = top / 127;
    return _mm_cvtsi128_si32(m);
}

#else

static int32_t round_unit(int16_t *restrict q, float *scale, const float *restrict x)
{
    uint32_t most = 0;
    int32_t sum = 0;

    for (int i = 0; i < UNIT; i++) {
        uint32_t size = hpc_f32_bits(x[i]) & 0x7fffffff;
        most = size > most ? size : most;
    }
    float top = hpc_bits_f32(most), inverse = inverse_of(top);
    for (int i = 0; i < UNIT; i++) {
        float v = rintf(x[i] * inverse);
        q[i] = (int16_t)(v >= -127 ? v <= 127 ? v : 127 : -127);
    }
    for (int i = 0; i < UNIT; i++) sum += q[i];
    *scale = top / 127;
    return sum;
}

#endif

/* A unit as tiles have it: bytes in fours, or 16 bits in pairs, in the order in which these are
 * multiplied: see unpacked. */
static void to_words(int32_t *restrict word, const int16_t *restrict q, bool narrow)
{
#if defined(__AVX2__)
    __m256i low = _mm256_loadu_si256((const __m256i *)q);
    __m256i high = _mm256_loadu_si256((const __m256i *)(q + 16));

    if (narrow) {
        low = _mm256_permute4x64_epi64(_mm256_packs_epi16(low, high), 0xd8);
    } else {
        low = _mm256_shufflehi_epi16(_mm256_shufflelo_epi16(low, 0xd8), 0xd8);
        high = _mm256_shufflehi_epi16(_mm256_shufflelo_epi16(high, 0xd8), 0xd8);
    }
    _mm256_storeu_si256((__m256i *)word, low);
    _mm256_storeu_si256((__m256i *)(word + WORDS), high);
#else
    for (int w = 0; w < WORDS && narrow; w++, q += 4) {
        const int8_t four[] = {(int8_t)q[0], (int8_t)q[1], (int8_t)q[2], (int8_t)q[3]};
        memcpy(word + w, four, sizeof four);
    }
    for (int w = 0; w < WORDS && !narrow; w++, q += 4) {
        const int16_t pairs[] = {q[0], q[2], q[1], q[3]};
        memcpy(word + 2 * w, pairs, sizeof pairs);
    }
#endif
}

/* The sums of both halves of a unit, as 16 bits. */
static int32_t half_sums(const int16_t q[UNIT])
{
    int16_t sum[2] = {0};
    int32_t both;

    for (int i = 0; i < UNIT; i++) sum[i / (UNIT / 2)] += q[i];
    memcpy(&both, sum, sizeof both);
    return both;
}

/* Units lo .. hi-1, all of the same eight, of a row. */
static void round_row(const byte_rows *to, int64_t row, const hpc_tensor *a, int64_t lo, int64_t hi)
{
    int64_t first = row / BYTES_ROWS * BYTES_ROWS, i = row - first;
    byte_tile tile = tile_at(to, first, lo);
    int64_t height = tile.height, words = to->narrow ? WORDS : PAIRS;
    int32_t *q = (int32_t *)tile.q + i, *zero = (int32_t *)tile.sum + i;
    float *scale = (float *)tile.scale + i;

    for (int64_t u = lo; u < hi; u++, q += words * height, scale += height, zero += height) {
        float buffer[UNIT];
        int16_t whole[UNIT];
        int32_t word[PAIRS];
        int32_t sum = round_unit(whole, scale, load(buffer, a, (row * to->k) + u * UNIT, UNIT));
        to_words(word, whole, to->narrow);
        for (int64_t w = 0; w < words; w++) q[w * height] = word[w];
        if (to->half_sums)
            *zero = half_sums(whole);
        else if (to->zero)
            *zero = -to->zero * sum;
        else
            *(float *)zero = (float)sum;
    }
}

void HPC_ISA(cpu_bytes_round)(const byte_rows *to, const hpc_tensor *a, int64_t lo, int64_t hi)
{
    int64_t units = to->k / UNIT;

    for (int64_t at = lo, end; at < hi; at = end) {
        int64_t row = at / units, u = at % units, next = (u / BYTES_UNITS + 1) * BYTES_UNITS;
        end = least(hi, at + least(next, units) - u);
        round_row(to, row, a, u, u + end - at);
    }
}

/* ---- without instructions for it ---------------------------------------------- */

#if !defined(__AVX2__)

/* Integer minima of column e times the sums of the halves of a unit. */
static float half_min(const unpacked *b, int u, int e, const byte_tile *a, int at)
{
    const int16_t *min = b->half_min[u][e], *sum = (const int16_t *)a->sum + 2 * (size_t)at;

    return (float)(min[0] * sum[0] + min[1] * sum[1]);
}

void HPC_ISA(cpu_bytes_tile)(float *c, int64_t apart, const byte_tile *a, const unpacked *b,
                             int panels, int units, hpc_dtype type)
{
    (void)apart, (void)panels; /* one alone */
    if (a->first) memset(c, 0, (size_t)(a->height * COLS) * sizeof *c);
    const int h = a->height, zero = zero_of(formats[type]);
    const bytes_form form = formats[type].form;

    for (int i = 0; i < h; i++, c += COLS)
        for (int u = 0; u < units; u++) {
            const int16_t *q = (const int16_t *)b->q + u * UNIT * COLS;
            const int16_t *x = (const int16_t *)a->q + (u * PAIRS * h + i) * 2;
            int32_t sum[COLS] = {0};
            for (int e = 0; e < COLS && zero; e++) sum[e] = ((const int32_t *)a->sum)[u * h + i];
            for (int p = 0; p < PAIRS; p++, x += (ptrdiff_t)2 * h)
                for (int e = 0; e < COLS; e++)
                    sum[e] += q[(p * COLS + e) * 2] * x[0] + q[(p * COLS + e) * 2 + 1] * x[1];
            for (int e = 0; e < COLS; e++) {
                float v = b->scale[u][e] * (float)sum[e];
                if (form == BYTES_MIN) v -= b->min[u][e] * ((const float *)a->sum)[u * h + i];
                if (form == BYTES_HALF_MIN) v -= b->min[u][e] * half_min(b, u, e, a, u * h + i);
                c[e] += a->scale[u * h + i] * v;
            }
        }
}

bool HPC_ISA(cpu_bytes_row)(float *c, const byte_tile *a, const uint8_t *panel, hpc_dtype b,
                            int64_t units, unpacked *spare)
{
    (void)c, (void)a, (void)panel, (void)b, (void)units, (void)spare;
    return false;
}

#endif

/* ---- the product --------------------------------------------------------------------- */

/* The bytes of so many units of a panel. */
static size_t panel_bytes(hpc_dtype b, int64_t units)
{
    const hpc_dtype_info *info = hpc_dtype_get(b);

    return (size_t)(units * UNIT / info->block) * info->block_bytes * COLS;
}

/* A single row, where there is a loop for it. */
static bool one_row(const byte_job *job, float *c, void *spare)
{
    int64_t units = job->a->k / UNIT;
    const uint8_t *panel = job->panel;

    if (job->a->m != 1) return false;
    byte_tile row = tile_at(job->a, 0, 0);
    for (int p = 0; p < job->panels; p++, panel += panel_bytes(job->b, units))
        if (!HPC_ISA(cpu_bytes_row)(c + p * COLS, &row, panel, job->b, units, spare)) return false;
    job->done(job, 0, 1, c, COLS);
    return true;
}

/* Units of the job's panels, unpacked. */
static void unpack(unpacked *to, const byte_job *job, int64_t u, int64_t units)
{
    const uint8_t *at = (const uint8_t *)job->panel + panel_bytes(job->b, u);

    for (int p = 0; p < job->panels; p++, at += panel_bytes(job->b, units))
        HPC_WIDTH(cpu_unpack)(to + p, at, job->b, job->a->narrow, units - u);
}

#if defined(__AVX512VNNI__)
static void multiply_few(float *c, int64_t apart, const byte_job *job, const byte_tile *tile,
                         int64_t u, int n)
{
    int64_t units = job->a->k / UNIT;
    const uint8_t *at = (const uint8_t *)job->panel + panel_bytes(job->b, u);

    for (int p = 0; p < job->panels; p++, c += apart, at += panel_bytes(job->b, units))
        HPC_ISA(cpu_bytes_few)(c, tile, at, n);
}
#else
static void multiply_few(float *c, int64_t apart, const byte_job *job, const byte_tile *tile,
                         int64_t u, int n)
{
    (void)c, (void)apart, (void)job, (void)tile, (void)u, (void)n;
}
#endif

void HPC_ISA(cpu_bytes)(const byte_job *job, float *c, void *spare)
{
    const byte_rows *a = job->a;
    int64_t units = a->k / UNIT, apart = job->rows * COLS;
    bool direct = is_direct(job->b, a->m);
    unpacked *to = spare;

    if (units == 0) { /* sums of nothing */
        memset(c, 0, (size_t)(job->panels * apart) * sizeof *c);
        job->done(job, 0, job->rows, c, apart);
        return;
    }
    if (one_row(job, c, spare)) return;
    for (int64_t u = 0; u < units; u += BYTES_UNITS) {
        int n = (int)least(BYTES_UNITS, units - u);
        if (!direct) unpack(to, job, u, units);
        for (int64_t r = 0; r < job->rows; r += BYTES_ROWS) {
            byte_tile tile = tile_at(a, job->i + r, u);
            float *x = c + r * COLS;
            bool last = u + n == units, straight = last && job->y && BYTES_PANELS > 1 && !direct;
            if (straight) tile.to = job->y + r * job->y_ld, tile.to_ld = job->y_ld;
            if (direct)
                multiply_few(x, apart, job, &tile, u, n);
            else
                HPC_ISA(cpu_bytes_tile)(x, apart, &tile, to, job->panels, n, job->b);
            if (last && !straight) job->done(job, r, tile.height, x, apart);
        }
    }
}
