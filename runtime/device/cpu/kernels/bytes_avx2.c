/*
 * bytes_avx2.c: AVX2 tiles and single rows. Small bytes are multiplied in pairs, and their sums
 * stay in 16 bits for a while; others are widened to 16 bits.
 */
#include "runtime/device/cpu/kernels/bytes_tile.h"
#include "runtime/device/cpu/kernels/priv.h"

#if defined(__AVX2__) && !defined(__AVX512VNNI__)
#include <immintrin.h>

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

/* ---- tiles ------------------------------------------------------------------------ */

/* What a tile's loops need to know when they are compiled: so many of a tile's rows, from row
 * `first` on. height: of the tile that they are in. */
typedef struct part {
    format of;
    int rows, first, height;
} part;

/* Sums of 16 bits: of 2 products each, of at most 15 (31, 45) by 127, 8 (4, 2) times. */
static inline __attribute__((always_inline)) void dots_narrow(pair256 *sum, const uint8_t *q,
                                                              const uint8_t *a, const part p)
{
    const __m256i ones = _mm256_set1_epi16(1);
    const int times = INT16_MAX / (2 * 127 * p.of.top);

    for (int start = 0; start < WORDS; start += times) {
        pair256 s[BYTES_ROWS];
        for (int i = 0; i < p.rows; i++) s[i][0] = s[i][1] = _mm256_setzero_si256();
        for (int w = start; w < start + times; w++) {
            __m256i b0 = loaded(q + w * LINE);
            __m256i b1 = loaded(q + w * LINE + 32);
            for (int i = 0; i < p.rows; i++) {
                __m256i x = splat4(a + (w * p.height + i) * 4);
                add16(&s[i][0], _mm256_maddubs_epi16(b0, x));
                add16(&s[i][1], _mm256_maddubs_epi16(b1, x));
            }
        }
        for (int i = 0; i < p.rows; i++)
            for (int h = 0; h < 2; h++)
                sum[i][h] = _mm256_add_epi32(sum[i][h], _mm256_madd_epi16(s[i][h], ones));
    }
}

static inline __attribute__((always_inline)) void dots_wide(pair256 *sum, const uint8_t *q,
                                                            const uint8_t *a, const part p)
{
    for (int w = 0; w < PAIRS; w++) {
        __m256i b0 = loaded(q + w * LINE);
        __m256i b1 = loaded(q + w * LINE + 32);
        for (int i = 0; i < p.rows; i++) {
            __m256i x = splat4(a + (w * p.height + i) * 4);
            add32(&sum[i][0], _mm256_madd_epi16(b0, x));
            add32(&sum[i][1], _mm256_madd_epi16(b1, x));
        }
    }
}

/* Integer minima of 8 columns times the sums of the halves of a unit. */
static inline __attribute__((always_inline)) __m256 half_mins(const unpacked *b, int u, int h,
                                                              const int32_t *sums)
{
    __m256i min = _mm256_loadu_si256((const __m256i *)b->half_min[u][8 * h]);

    return _mm256_cvtepi32_ps(_mm256_madd_epi16(min, splat4(sums)));
}

/* Adds the units of b to rows of c [rows,16]. */
static inline __attribute__((always_inline)) void
tile_rows(float *restrict c, const byte_tile *a, const unpacked *b, int units, const part p)
{
    const bool narrow = p.of.top > 0;
    const int size = narrow ? 1 : 2;
    const uint8_t *q = a->q + p.first * 4;

    for (int u = 0; u < units; u++, q += UNIT * size * p.height) {
        pair256 sum[BYTES_ROWS];
        int at = u * p.height + p.first;
        for (int i = 0; i < p.rows; i++)
            sum[i][0] = sum[i][1] =
                zero_of(p.of) ? splat4((const int32_t *)a->sum + at + i) : _mm256_setzero_si256();
        if (narrow)
            dots_narrow(sum, b->q + u * UNIT * COLS, q, p);
        else
            dots_wide(sum, b->q + u * UNIT * COLS * 2, q, p);
        for (int i = 0; i < p.rows; i++)
            for (int h = 0; h < 2; h++) {
                float *to = c + (p.first + i) * COLS + 8 * h;
                __m256 x = _mm256_cvtepi32_ps(sum[i][h]), old = _mm256_loadu_ps(to);
                x = _mm256_mul_ps(x, _mm256_load_ps(b->scale[u] + 8 * h));
                if (p.of.form == BYTES_MIN)
                    x = _mm256_fnmadd_ps(_mm256_load_ps(b->min[u] + 8 * h),
                                         _mm256_set1_ps(((const float *)a->sum)[at + i]), x);
                if (p.of.form == BYTES_HALF_MIN)
                    x = _mm256_fnmadd_ps(_mm256_load_ps(b->min[u] + 8 * h),
                                         half_mins(b, u, h, (const int32_t *)a->sum + at + i), x);
                x = _mm256_fmadd_ps(x, _mm256_set1_ps(a->scale[at + i]), old);
                _mm256_storeu_ps(to, x);
                __asm__ volatile("" ::: "memory"); /* one after the other: see add32 */
            }
    }
}

/* A whole tile, or parts of it of so many rows as there are loops for. */
static inline __attribute__((always_inline)) void
tile_of(float *c, const byte_tile *a, const unpacked *b, int units, const format of)
{
    part p = {.of = of, .height = a->height};

    if (a->height == BYTES_ROWS) {
        tile_rows(c, a, b, units, (part){of, BYTES_ROWS, 0, BYTES_ROWS});
        return;
    }
    for (; p.first < p.height; p.first += p.rows) {
        int left = p.height - p.first;
        if (left >= 4)
            p.rows = 4, tile_rows(c, a, b, units, p);
        else if (left >= 2)
            p.rows = 2, tile_rows(c, a, b, units, p);
        else
            p.rows = 1, tile_rows(c, a, b, units, p);
    }
}

void HPC_ISA(cpu_bytes_tile)(float *c, int64_t apart, const byte_tile *a, const unpacked *b,
                             int panels, int units, hpc_dtype type)
{
    (void)apart, (void)panels; /* one alone */
    if (a->first) memset(c, 0, (size_t)(a->height * COLS) * sizeof *c);
    const bool fifths = formats[type].top > formats[HPC_Q4_0].top;
    switch (formats[type].form) {
    case BYTES_OFFSET:
        if (fifths)
            tile_of(c, a, b, units, formats[HPC_Q5_0]);
        else
            tile_of(c, a, b, units, formats[HPC_Q4_0]);
        break;
    case BYTES_MIN:
        if (fifths)
            tile_of(c, a, b, units, formats[HPC_Q5_K]);
        else
            tile_of(c, a, b, units, formats[HPC_Q4_K]);
        break;
    case BYTES_HALF_MIN: tile_of(c, a, b, units, formats[HPC_Q2_K]); break;
    default: tile_of(c, a, b, units, formats[HPC_Q8_0]); /* 16 bits */
    }
}

/* ---- one row ---------------------------------------------------------------------- */

/* Of 16 columns: what has been added up, and what a unit adds to it as in tile_rows. */
typedef __m256 floats[2];

static inline __attribute__((always_inline)) void add_unit(floats sum, const pair256 dot,
                                                           const floats scale, const floats min,
                                                           const byte_tile *a, int64_t u)
{
    for (int h = 0; h < 2; h++) {
        __m256 x = _mm256_mul_ps(_mm256_cvtepi32_ps(dot[h]), scale[h]);
        if (min) x = _mm256_fnmadd_ps(min[h], _mm256_set1_ps(((const float *)a->sum)[u]), x);
        sum[h] = _mm256_fmadd_ps(x, _mm256_set1_ps(a->scale[u]), sum[h]);
    }
}

static inline __attribute__((always_inline)) void load_halves(floats to, const uint8_t *from)
{
    for (int h = 0; h < 2; h++)
        to[h] = _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(from + 16 * h)));
}

static inline __attribute__((always_inline)) void load_floats(floats to, const float *from)
{
    for (int h = 0; h < 2; h++) to[h] = _mm256_load_ps(from + 8 * h);
}

static inline __attribute__((always_inline)) __m256i line_at(const uint8_t *panel, int w, int h)
{
    return _mm256_loadu_si256((const __m256i *)(panel + w * LINE + 32 * h));
}

/* Signs go to the row: a byte of -128 has a magnitude of 128, and two products still fit. */
static void row_q8_0(floats sum, const byte_tile *a, const uint8_t *panel, int64_t units)
{
    const __m256i ones = _mm256_set1_epi16(1);
    const uint8_t *q = a->q;

    for (int64_t u = 0; u < units; u++, panel += HALVES + WORDS * LINE, q += UNIT) {
        pair256 dot = {_mm256_setzero_si256(), _mm256_setzero_si256()};
        floats scale;
        fetch(a, panel, WORDS, 1, 0, 1, false);
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
                                                              const uint8_t *panel,
                                                              const uint8_t *x, const uint8_t *y,
                                                              const int words_n)
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

static void row_q4_0(floats sum, const byte_tile *a, const uint8_t *panel, int64_t units)
{
    const __m256i ones = _mm256_set1_epi16(1);
    const uint8_t *q = a->q;

    for (int64_t u = 0; u < units; u++, panel += HALVES + WORDS / 2 * LINE, q += UNIT) {
        pair256 dot = {_mm256_setzero_si256(), _mm256_setzero_si256()};
        __m256i less = splat4((const int32_t *)a->sum + u);
        floats scale;
        fetch(a, panel, WORDS / 2, 1, 0, 1, false);
        dot_nibbles(dot, dot, panel + HALVES, q, q + UNIT / 2, WORDS / 2);
        load_halves(scale, panel);
        for (int h = 0; h < 2; h++)
            dot[h] = _mm256_add_epi32(_mm256_madd_epi16(dot[h], ones), less);
        add_unit(sum, dot, scale, NULL, a, u);
    }
}

static void row_q4_k(floats sum, const byte_tile *a, const uint8_t *panel, int64_t units,
                     unpacked *spare)
{
    const __m256i ones = _mm256_set1_epi16(1), none = _mm256_setzero_si256();
    const uint8_t *q = a->q;

    for (int64_t u = 0; u < units; u += 2, q += 2 * UNIT) {
        pair256 dot[2] = {{none, none}, {none, none}};
        const uint8_t *lines = panel + 2 * HALVES + (3 + u % BYTES_UNITS / 2 * WORDS) * LINE;
        if (u % BYTES_UNITS == 0) HPC_WIDTH(cpu_unpack_scales)(spare, panel);
        fetch(a, panel, 3 + 4 * WORDS, 2, (int)(u % BYTES_UNITS) / 2, 4, false);
        dot_nibbles(dot[0], dot[1], lines, q, q + UNIT, WORDS);
        for (int i = 0; i < 2; i++) {
            int at = (int)(u % BYTES_UNITS) + i;
            floats scale, min;
            for (int h = 0; h < 2; h++) dot[i][h] = _mm256_madd_epi16(dot[i][h], ones);
            load_floats(scale, spare->scale[at]);
            load_floats(min, spare->min[at]);
            add_unit(sum, dot[i], scale, min, a, u + i);
        }
        if (u % BYTES_UNITS == BYTES_UNITS - 2)
            panel += 2 * HALVES + (3 + BYTES_UNITS / 2 * WORDS) * LINE;
    }
}

/* Units u and u+1 of a block of q5_K: fifth bits are those two of each byte of `high`. */
static inline __attribute__((always_inline)) void
dot_fifths(pair256 *dot, const uint8_t *lines, const uint8_t *high, const uint8_t *q, int u)
{
    const __m256i mask = _mm256_set1_epi8(15), bit = _mm256_set1_epi8(16);
    const __m256i ones = _mm256_set1_epi16(1);
    const __m128i up = _mm_cvtsi32_si128(u < 4 ? 4 - u : 0);
    const __m128i down = _mm_cvtsi32_si128(u < 4 ? 0 : u - 4);

    for (int start = 0; start < WORDS; start += WORDS / 2)
        for (int h = 0; h < 2; h++) {
            __m256i even = _mm256_setzero_si256(), odd = even;
            for (int w = start; w < start + WORDS / 2; w++) {
                __m256i b = line_at(lines, w, h);
                __m256i five = _mm256_srl_epi16(_mm256_sll_epi16(line_at(high, w, h), up), down);
                __m256i low =
                    _mm256_or_si256(_mm256_and_si256(b, mask), _mm256_and_si256(five, bit));
                b = _mm256_and_si256(_mm256_srli_epi16(b, 4), mask);
                b = _mm256_or_si256(b, _mm256_and_si256(_mm256_srli_epi16(five, 1), bit));
                low = _mm256_maddubs_epi16(low, splat4(q + 4 * w));
                b = _mm256_maddubs_epi16(b, splat4(q + UNIT + 4 * w));
                even = _mm256_add_epi16(even, low);
                odd = _mm256_add_epi16(odd, b);
            }
            dot[0][h] = _mm256_add_epi32(dot[0][h], _mm256_madd_epi16(even, ones));
            dot[1][h] = _mm256_add_epi32(dot[1][h], _mm256_madd_epi16(odd, ones));
        }
}

static void row_q5_k(floats sum, const byte_tile *a, const uint8_t *panel, int64_t units,
                     unpacked *spare)
{
    const __m256i none = _mm256_setzero_si256();
    const uint8_t *q = a->q;

    for (int64_t u = 0; u < units; u += 2, q += 2 * UNIT) {
        pair256 dot[2] = {{none, none}, {none, none}};
        int in = (int)(u % BYTES_UNITS);
        const uint8_t *high = panel + 2 * HALVES + 3 * LINE;
        const uint8_t *lines = high + (1 + in / 2) * WORDS * LINE;
        if (in == 0) HPC_WIDTH(cpu_unpack_scales)(spare, panel);
        fetch(a, panel, 3 + 5 * WORDS, 2, in / 2, 4, false);
        dot_fifths(dot, lines, high, q, in);
        for (int i = 0; i < 2; i++) {
            floats scale, min;
            load_floats(scale, spare->scale[in + i]);
            load_floats(min, spare->min[in + i]);
            add_unit(sum, dot[i], scale, min, a, u + i);
        }
        if (in == BYTES_UNITS - 2) panel = high + (1 + BYTES_UNITS / 2) * WORDS * LINE;
    }
}

/* 16 times the sums of a unit's halves, each in the 16 bits of its own vector. */
static inline __attribute__((always_inline)) void half_sums(__m256i sum[2], const uint8_t *q)
{
    const __m256i sixteen = _mm256_set1_epi8(16), ones = _mm256_set1_epi16(1);
    __m256i x = _mm256_maddubs_epi16(sixteen, _mm256_loadu_si256((const __m256i *)q));

    x = _mm256_madd_epi16(x, ones);
    x = _mm256_hadd_epi32(x, x);
    x = _mm256_hadd_epi32(x, x);
    x = _mm256_packs_epi32(x, x);
    sum[0] = _mm256_permute2x128_si256(x, x, 0x00);
    sum[1] = _mm256_permute2x128_si256(x, x, 0x11);
}

/* Words w .. of half a block of q6_K, as many as share a scale: its units have the nibbles of two
 * lines in turn, low ones first, and 2 bits each of a third. Sums of four products of at most 63 by
 * 127 stay below 2^15. less: half_sums, as 6 bits count from 32. */
static inline __attribute__((always_inline)) void
dot_sixths(__m256i dot[4], const uint8_t *low, const uint8_t *high, const uint8_t *scales,
           const uint8_t *q, const __m256i less[4], const int h)
{
    const __m256i mask = _mm256_set1_epi8(15), two = _mm256_set1_epi8(48);

    for (int w = 0; w < WORDS / 2; w += 2) {
        __m256i p[4];
        for (int n = w; n < w + 2; n++) {
            __m256i b0 = line_at(low, n, h), b1 = line_at(low, n + WORDS, h);
            __m256i top = line_at(high, n, h), b[4];
            b[0] = _mm256_and_si256(b0, mask);
            b[1] = _mm256_and_si256(b1, mask);
            b[2] = _mm256_and_si256(_mm256_srli_epi16(b0, 4), mask);
            b[3] = _mm256_and_si256(_mm256_srli_epi16(b1, 4), mask);
            b[0] = _mm256_or_si256(b[0], _mm256_and_si256(_mm256_slli_epi16(top, 4), two));
            b[1] = _mm256_or_si256(b[1], _mm256_and_si256(_mm256_slli_epi16(top, 2), two));
            b[2] = _mm256_or_si256(b[2], _mm256_and_si256(top, two));
            b[3] = _mm256_or_si256(b[3], _mm256_and_si256(_mm256_srli_epi16(top, 2), two));
            for (int u = 0; u < 4; u++) {
                __m256i x = _mm256_maddubs_epi16(b[u], splat4(q + u * UNIT + 4 * n));
                p[u] = n == w ? x : _mm256_add_epi16(p[u], x);
            }
        }
        for (int u = 0; u < 4; u++)
            dot[u] = _mm256_add_epi32(dot[u], _mm256_madd_epi16(p[u], line_at(scales, 2 * u, h)));
    }
    for (int u = 0; u < 4; u++)
        dot[u] = _mm256_sub_epi32(dot[u], _mm256_madd_epi16(less[u], line_at(scales, 2 * u, h)));
}

/* The scales of a block, as 16 bits twice in each column's 32: a line for each 16 elements. */
static void widen_scales(uint8_t *to, const uint8_t *scales)
{
    for (int s = 0; s < 2 * BYTES_UNITS; s++)
        for (int h = 0; h < 2; h++) {
            __m256i x = line_at(scales, s / 4, h);
            x = _mm256_srai_epi32(_mm256_sll_epi32(x, _mm_cvtsi32_si128(24 - s % 4 * 8)), 24);
            x = _mm256_or_si256(_mm256_and_si256(x, _mm256_set1_epi32(0xffff)),
                                _mm256_slli_epi32(x, 16));
            _mm256_storeu_si256((__m256i *)(to + s * LINE + 32 * h), x);
        }
}

static void row_q6_k(floats sum, const byte_tile *a, const uint8_t *panel, int64_t units,
                     unpacked *spare)
{
    const __m256i none = _mm256_setzero_si256();
    const uint8_t *q = a->q;

    for (int64_t u = 0; u < units; u += 4, q += 4 * UNIT) {
        __m256i dot[2][4] = {{none, none, none, none}, {none, none, none, none}}, less[2][4];
        int half = (int)(u / 4 % 2);
        const uint8_t *low = panel + HALVES, *high = low + 4 * WORDS * LINE;
        const uint8_t *scales = high + 2 * WORDS * LINE;
        floats scale;
        if (half == 0) widen_scales(spare->q, scales);
        fetch(a, panel, 6 * WORDS + 4, 1, half, 2, false);
        low += half * 2 * WORDS * LINE, high += half * WORDS * LINE;
        for (int i = 0; i < 4; i++) {
            __m256i both[2];
            half_sums(both, q + i * UNIT);
            less[0][i] = both[0], less[1][i] = both[1];
        }
        for (int run = 0; run < 2; run++)
            for (int h = 0; h < 2; h++)
                dot_sixths(dot[h], low + run * WORDS / 2 * LINE, high + run * WORDS / 2 * LINE,
                           spare->q + (half * 8 + run) * LINE, q + run * UNIT / 2, less[run], h);
        load_halves(scale, panel);
        for (int i = 0; i < 4; i++) {
            const pair256 unit = {dot[0][i], dot[1][i]};
            add_unit(sum, unit, scale, NULL, a, u + i);
        }
        if (half == 1) panel = scales + 4 * LINE;
    }
}

bool HPC_ISA(cpu_bytes_row)(float *c, const byte_tile *a, const uint8_t *panel, hpc_dtype b,
                            int64_t units, unpacked *spare)
{
    floats sum = {_mm256_setzero_ps(), _mm256_setzero_ps()};

    switch (b) {
    case HPC_Q8_0: row_q8_0(sum, a, panel, units); break;
    case HPC_Q4_0: row_q4_0(sum, a, panel, units); break;
    case HPC_Q4_K: row_q4_k(sum, a, panel, units, spare); break;
    case HPC_Q5_K: row_q5_k(sum, a, panel, units, spare); break;
    case HPC_Q6_K: row_q6_k(sum, a, panel, units, spare); break;
    default: HPC_ISA(cpu_bytes_row_file)(c, a, panel, b, units, spare); return true;
    }
    for (int h = 0; h < 2; h++) _mm256_storeu_ps(c + 8 * h, sum[h]);
    return true;
}

#endif
