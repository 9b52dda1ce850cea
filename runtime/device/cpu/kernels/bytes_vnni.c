/*
 * bytes_vnni.c: AVX-512 VNNI tiles and single rows: four unsigned bytes times four signed ones,
 * summed in 32 bits. A vector holds a pack unit of each of the 16 columns.
 */
#include "runtime/device/cpu/kernels/bytes_tile.h"
#include "runtime/device/cpu/kernels/priv.h"

#if defined(__AVX512VNNI__)
#include <immintrin.h>

static inline __attribute__((always_inline)) __m512i splat4(const void *at)
{
    int32_t x;

    memcpy(&x, at, sizeof x);
    return _mm512_set1_epi32(x);
}

static inline __attribute__((always_inline)) __m512i line_at(const uint8_t *at, int w)
{
    return _mm512_loadu_si512(at + w * LINE);
}

/* c + what a unit adds: the integer sum of products, of one row. */
static inline __attribute__((always_inline)) __m512 add_unit(__m512 c, __m512i dot, __m512 scale,
                                                             __m512 min, const byte_tile *a, int at,
                                                             const format of)
{
    __m512 x = _mm512_mul_ps(_mm512_cvtepi32_ps(dot), scale);

    if (of.form == BYTES_MIN)
        x = _mm512_fnmadd_ps(min, _mm512_set1_ps(((const float *)a->sum)[at]), x);
    return _mm512_fmadd_ps(x, _mm512_set1_ps(a->scale[at]), c);
}

/* The same with integer minima of the halves, times their sums. */
static inline __attribute__((always_inline)) __m512 add_half_min(__m512 c, __m512i dot,
                                                                 __m512 scale, __m512 min,
                                                                 __m512i mins, const byte_tile *a,
                                                                 int at)
{
    __m512i less = _mm512_madd_epi16(mins, splat4((const int32_t *)a->sum + at));
    __m512 x = _mm512_mul_ps(_mm512_cvtepi32_ps(dot), scale);

    x = _mm512_fnmadd_ps(min, _mm512_cvtepi32_ps(less), x);
    return _mm512_fmadd_ps(x, _mm512_set1_ps(a->scale[at]), c);
}

/* Initial sum of a unit: minus the contribution of the integers' offset. */
static inline __attribute__((always_inline)) __m512i start_at(const byte_tile *a, int64_t at,
                                                              const format of)
{
    return zero_of(of) ? splat4((const int32_t *)a->sum + at) : _mm512_setzero_si512();
}

/* ---- tiles ------------------------------------------------------------------------ */

/* What a tile's loops need to know when they are compiled. */
typedef struct tile_kind {
    format of;
    int rows, panels;
} tile_kind;

/* Adds the units of b to rows of c: pairs of 16 bits if scaled, otherwise groups of four bytes.
 * first: first of the tile's rows. */
static inline __attribute__((always_inline)) void tile_rows(float *restrict c, int64_t apart,
                                                            const byte_tile *a, const unpacked *b,
                                                            int units, int first, const tile_kind t)
{
    const bool wide = t.of.form == BYTES_SCALED;
    const int lines = wide ? PAIRS : WORDS;
    const uint8_t *q = a->q + first * 4;
    __m512 y[BYTES_ROWS][BYTES_PANELS];

    float *to = a->to ? a->to + first * a->to_ld : NULL;
    int64_t ld = a->to_ld, beside = COLS;

    for (int i = 0; i < t.rows && to; i++)
        for (int p = 0; p < t.panels; p++) __builtin_prefetch(to + i * a->to_ld + p * COLS, 1);
    c += first * COLS;
    for (int i = 0; i < t.rows; i++)
        for (int p = 0; p < t.panels; p++)
            y[i][p] = a->first ? _mm512_setzero_ps() : _mm512_loadu_ps(c + p * apart + i * COLS);
    for (int u = 0, line = 0; u < units; u++) {
        __m512i sum[BYTES_ROWS][BYTES_PANELS];
        int at = u * a->height + first;
        for (int i = 0; i < t.rows; i++)
            for (int p = 0; p < t.panels; p++) sum[i][p] = start_at(a, at + i, t.of);
        for (int w = 0; w < lines; w++, q += 4 * (ptrdiff_t)a->height, line += LINE) {
            __m512i x[BYTES_PANELS];
            for (int p = 0; p < t.panels; p++) x[p] = _mm512_load_si512(b[p].q + line);
            for (int i = 0; i < t.rows; i++) {
                __m512i four = splat4(q + 4 * i);
                for (int p = 0; p < t.panels; p++)
                    sum[i][p] = wide ? _mm512_dpwssd_epi32(sum[i][p], x[p], four)
                                     : _mm512_dpbusd_epi32(sum[i][p], x[p], four);
            }
        }
        for (int p = 0; p < t.panels; p++) {
            __m512 scale = _mm512_loadu_ps(b[p].scale[u]), min = _mm512_loadu_ps(b[p].min[u]);
            __m512i mins = _mm512_loadu_si512(b[p].half_min[u]);
            for (int i = 0; i < t.rows; i++)
                if (t.of.form == BYTES_HALF_MIN)
                    y[i][p] = add_half_min(y[i][p], sum[i][p], scale, min, mins, a, at + i);
                else
                    y[i][p] = add_unit(y[i][p], sum[i][p], scale, min, a, at + i, t.of);
        }
    }
    if (!to) to = c, ld = COLS, beside = apart;
    for (int i = 0; i < t.rows; i++)
        for (int p = 0; p < t.panels; p++) _mm512_storeu_ps(to + p * beside + i * ld, y[i][p]);
}

/* A whole tile, or parts of it of so many rows as there are loops for. */
static inline __attribute__((always_inline)) void tile_of(float *c, int64_t apart,
                                                          const byte_tile *a, const unpacked *b,
                                                          int panels, int units, const format of)
{
    if (a->height == BYTES_ROWS && panels == BYTES_PANELS) {
        tile_rows(c, apart, a, b, units, 0, (tile_kind){of, BYTES_ROWS, BYTES_PANELS});
        return;
    }
    byte_tile part = *a;
    for (int p = 0; p < panels; p++, c += apart, b++) {
        for (int i = 0, n; i < a->height; i += n) {
            n = a->height - i >= 3 ? 3 : 1;
            if (n == 3)
                tile_rows(c, apart, &part, b, units, i, (tile_kind){of, 3, 1});
            else
                tile_rows(c, apart, &part, b, units, i, (tile_kind){of, 1, 1});
        }
        if (part.to) part.to += COLS;
    }
}

void HPC_ISA(cpu_bytes_tile)(float *c, int64_t apart, const byte_tile *a, const unpacked *b,
                             int panels, int units, hpc_dtype type)
{
    switch (formats[type].form) {
    case BYTES_SIGNED: tile_of(c, apart, a, b, panels, units, formats[HPC_Q8_0]); break;
    case BYTES_SCALED: tile_of(c, apart, a, b, panels, units, formats[HPC_Q6_K]); break;
    case BYTES_OFFSET: tile_of(c, apart, a, b, panels, units, formats[HPC_Q4_0]); break;
    case BYTES_MIN: tile_of(c, apart, a, b, panels, units, formats[HPC_Q4_K]); break;
    case BYTES_HALF_MIN: tile_of(c, apart, a, b, panels, units, formats[HPC_Q2_K]); break;
    }
}

/* ---- few rows --------------------------------------------------------------------- */

static inline __attribute__((always_inline)) __m512 halves_at(const uint8_t *from)
{
    return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)from));
}

static inline __attribute__((always_inline)) void
few_rows(float *restrict c, const byte_tile *a, const uint8_t *panel, int units, const int rows)
{
    const __m512i sign = _mm512_set1_epi8(-128);
    const uint8_t *q = a->q;
    __m512 y[BYTES_ROWS];

    for (int i = 0; i < rows; i++)
        y[i] = a->first ? _mm512_setzero_ps() : _mm512_loadu_ps(c + i * COLS);
    for (int u = 0, at = 0; u < units; u++, at += rows, panel += HALVES + WORDS * LINE) {
        __m512i sum[BYTES_ROWS];
        fetch(a, panel, WORDS, 1, 0, 1, false);
        for (int i = 0; i < rows; i++) sum[i] = start_at(a, at + i, formats[HPC_Q8_0]);
        for (int w = 0; w < WORDS; w++, q += 4 * (ptrdiff_t)rows) {
            __m512i b = _mm512_xor_si512(line_at(panel + HALVES, w), sign);
            for (int i = 0; i < rows; i++)
                sum[i] = _mm512_dpbusd_epi32(sum[i], b, splat4(q + 4 * i));
        }
        for (int i = 0; i < rows; i++)
            y[i] = add_unit(y[i], sum[i], halves_at(panel), _mm512_setzero_ps(), a, at + i,
                            formats[HPC_Q8_0]);
    }
    for (int i = 0; i < rows; i++) _mm512_storeu_ps(c + i * COLS, y[i]);
}

void HPC_ISA(cpu_bytes_few)(float *c, const byte_tile *a, const uint8_t *panel, int units)
{
    switch (a->height) {
    case 1: few_rows(c, a, panel, units, 1); break;
    case 2: few_rows(c, a, panel, units, 2); break;
    case 3: few_rows(c, a, panel, units, 3); break;
    case 4: few_rows(c, a, panel, units, 4); break;
    case 5: few_rows(c, a, panel, units, 5); break;
    default: few_rows(c, a, panel, units, BYTES_ROWS);
    }
}

/* ---- one row ---------------------------------------------------------------------- */

static __m512 row_q8_0(const byte_tile *a, const uint8_t *panel, int64_t units)
{
    const __m512i sign = _mm512_set1_epi8(-128), none = _mm512_setzero_si512();
    const uint8_t *q = a->q;
    __m512 y = _mm512_setzero_ps();

    for (int64_t u = 0; u < units; u++, panel += HALVES + WORDS * LINE, q += UNIT) {
        __m512i dot[2] = {start_at(a, u, formats[HPC_Q8_0]), none};
        fetch(a, panel, WORDS, 1, 0, 1, true);
        for (int w = 0; w < WORDS; w++) {
            __m512i b = _mm512_xor_si512(line_at(panel + HALVES, w), sign);
            dot[w % 2] = _mm512_dpbusd_epi32(dot[w % 2], b, splat4(q + 4 * w));
        }
        y = add_unit(y, _mm512_add_epi32(dot[0], dot[1]), halves_at(panel), _mm512_setzero_ps(), a,
                     (int)u, formats[HPC_Q8_0]);
    }
    return y;
}

/* Lines of nibbles: the low ones times words x .. of the row, the high ones times words y .. */
static inline __attribute__((always_inline)) void dot_nibbles(__m512i dot[2], const uint8_t *panel,
                                                              const uint8_t *x, const uint8_t *y,
                                                              const int words_n)
{
    const __m512i mask = _mm512_set1_epi8(15);

    for (int w = 0; w < words_n; w++) {
        __m512i b = line_at(panel, w), low = _mm512_and_si512(b, mask);
        __m512i high = _mm512_and_si512(_mm512_srli_epi16(b, 4), mask);
        dot[0] = _mm512_dpbusd_epi32(dot[0], low, splat4(x + 4 * w));
        dot[1] = _mm512_dpbusd_epi32(dot[1], high, splat4(y + 4 * w));
    }
}

static __m512 row_q4_0(const byte_tile *a, const uint8_t *panel, int64_t units)
{
    const uint8_t *q = a->q;
    __m512 y = _mm512_setzero_ps();

    for (int64_t u = 0; u < units; u++, panel += HALVES + WORDS / 2 * LINE, q += UNIT) {
        __m512i dot[2] = {start_at(a, u, formats[HPC_Q4_0]), _mm512_setzero_si512()};
        fetch(a, panel, WORDS / 2, 1, 0, 1, false);
        dot_nibbles(dot, panel + HALVES, q, q + UNIT / 2, WORDS / 2);
        y = add_unit(y, _mm512_add_epi32(dot[0], dot[1]), halves_at(panel), _mm512_setzero_ps(), a,
                     (int)u, formats[HPC_Q4_0]);
    }
    return y;
}

/* Two units of q5_K: their fifth bits are the bits u and u+1 of each byte of `high`. */
static inline __attribute__((always_inline)) void
dot_fifths(__m512i dot[2], const uint8_t *lines, const uint8_t *high, const uint8_t *q, int u)
{
    const __m512i mask = _mm512_set1_epi8(15), bit = _mm512_set1_epi8(1);
    const __m128i down = _mm_cvtsi32_si128(u);

    for (int w = 0; w < WORDS; w++) {
        __m512i b = line_at(lines, w), five = _mm512_srl_epi16(line_at(high, w), down);
        __m512i low = _mm512_slli_epi16(_mm512_and_si512(five, bit), 4);
        __m512i top = _mm512_and_si512(_mm512_srli_epi16(five, 1), bit);
        low = _mm512_or_si512(low, _mm512_and_si512(b, mask));
        top = _mm512_or_si512(_mm512_slli_epi16(top, 4),
                              _mm512_and_si512(_mm512_srli_epi16(b, 4), mask));
        dot[0] = _mm512_dpbusd_epi32(dot[0], low, splat4(q + 4 * w));
        dot[1] = _mm512_dpbusd_epi32(dot[1], top, splat4(q + UNIT + 4 * w));
    }
}

/* Stored factors of a q4_K or q5_K block, and the stored scales and minima of its units. */
typedef struct affine {
    __m512 d, dmin;
    __m512i low, mins, high; /* 6 bits of units 0 .. 3; the rest of units 4 .. 7 is above them and
                              * in `high`: see quant.c */
} affine;

static inline __attribute__((always_inline)) affine affine_at(const uint8_t *panel)
{
    const uint8_t *words = panel + 2 * HALVES;

    return (affine){halves_at(panel), halves_at(panel + HALVES), line_at(words, 0),
                    line_at(words, 1), line_at(words, 2)};
}

/* d times a unit's 6 bits: of `low`, or of the upper units 4 bits from `high` on and 2 of `low`. */
static inline __attribute__((always_inline)) __m512 factor(__m512 d, __m512i low, __m512i high,
                                                           const int u, const int nibble)
{
    const __m512i six = _mm512_set1_epi32(63), four = _mm512_set1_epi32(15);
    __m512i x;

    if (u < 4) {
        x = _mm512_and_si512(_mm512_srli_epi32(low, 8 * u), six);
    } else {
        __m512i top = _mm512_srli_epi32(low, 8 * (u - 4) + 2);
        x = _mm512_and_si512(_mm512_srli_epi32(high, 8 * (u - 4) + nibble), four);
        x = _mm512_or_si512(x, _mm512_and_si512(top, _mm512_set1_epi32(48)));
    }
    return _mm512_mul_ps(d, _mm512_cvtepi32_ps(x));
}

/* Adds units u and u+1 of a block to y; they are units `at` and at+1 of the row. */
static inline __attribute__((always_inline)) __m512 two_units(__m512 y, const byte_tile *a, int at,
                                                              const affine *f, const uint8_t *lines,
                                                              const uint8_t *high, const int u,
                                                              const bool fifth)
{
    const uint8_t *q = a->q + (ptrdiff_t)at * UNIT;
    __m512i dot[2] = {_mm512_setzero_si512(), _mm512_setzero_si512()};

    lines += u / 2 * WORDS * LINE;
    if (fifth)
        dot_fifths(dot, lines, high, q, u);
    else
        dot_nibbles(dot, lines, q, q + UNIT, WORDS);
    for (int i = 0; i < 2; i++)
        y = add_unit(y, dot[i], factor(f->d, f->low, f->high, u + i, 0),
                     factor(f->dmin, f->mins, f->high, u + i, 4), a, at + i, formats[HPC_Q4_K]);
    return y;
}

/* q4_K, or q5_K if there is a fifth bit. */
static inline __attribute__((always_inline)) __m512
row_q45(const byte_tile *a, const uint8_t *panel, int64_t units, const bool fifth)
{
    __m512 y = _mm512_setzero_ps();

    for (int at = 0; at < units; at += BYTES_UNITS) {
        affine f = affine_at(panel);
        const uint8_t *high = panel + 2 * HALVES + 3 * LINE;
        const uint8_t *lines = fifth ? high + WORDS * LINE : high;
        fetch(a, panel, 3 + (fifth ? 5 : 4) * WORDS, 2, 0, 1, false);
        y = two_units(y, a, at, &f, lines, high, 0, fifth);
        y = two_units(y, a, at + 2, &f, lines, high, 2, fifth);
        y = two_units(y, a, at + 4, &f, lines, high, 4, fifth);
        y = two_units(y, a, at + 6, &f, lines, high, 6, fifth);
        panel = lines + BYTES_UNITS / 2 * WORDS * LINE;
    }
    return y;
}

/* Half a block of q6_K: its units have the nibbles of two words in turn, low ones first, and 2 bits
 * each of a third. Words from w on, as many as share a scale: sums of the 6 bits less 32. */
static inline __attribute__((always_inline)) void
dot_sixths(__m512i dot[4], const uint8_t *low, const uint8_t *high, const uint8_t *q, const int w0)
{
    const __m512i mask = _mm512_set1_epi8(15), two = _mm512_set1_epi8(48);
    const __m512i half = _mm512_set1_epi8(32);
    __m512i less[4];

    for (int u = 0; u < 4; u++) dot[u] = less[u] = _mm512_setzero_si512();
    for (int w = w0; w < w0 + WORDS / 2; w++) {
        __m512i b0 = line_at(low, w), b1 = line_at(low, w + WORDS), top = line_at(high, w);
        __m512i b[4] = {_mm512_or_si512(_mm512_and_si512(b0, mask),
                                        _mm512_and_si512(_mm512_slli_epi16(top, 4), two)),
                        _mm512_or_si512(_mm512_and_si512(b1, mask),
                                        _mm512_and_si512(_mm512_slli_epi16(top, 2), two)),
                        _mm512_or_si512(_mm512_and_si512(_mm512_srli_epi16(b0, 4), mask),
                                        _mm512_and_si512(top, two)),
                        _mm512_or_si512(_mm512_and_si512(_mm512_srli_epi16(b1, 4), mask),
                                        _mm512_and_si512(_mm512_srli_epi16(top, 2), two))};
        for (int u = 0; u < 4; u++) {
            __m512i x = splat4(q + u * UNIT + 4 * w);
            dot[u] = _mm512_dpbusd_epi32(dot[u], b[u], x);
            less[u] = _mm512_dpbusd_epi32(less[u], half, x);
        }
    }
    for (int u = 0; u < 4; u++) dot[u] = _mm512_sub_epi32(dot[u], less[u]);
}

static __m512 row_q6_k(const byte_tile *a, const uint8_t *panel, int64_t units)
{
    const uint8_t *q = a->q;
    __m512 y = _mm512_setzero_ps();

    for (int64_t u = 0; u < units; u += 4, q += 4 * UNIT) {
        int half = (int)(u / 4 % 2);
        const uint8_t *low = panel + HALVES, *high = low + 4 * WORDS * LINE;
        const uint8_t *scales = high + 2 * WORDS * LINE;
        __m512i all[4] = {_mm512_setzero_si512(), _mm512_setzero_si512(), _mm512_setzero_si512(),
                          _mm512_setzero_si512()};
        fetch(a, panel, 6 * WORDS + 4, 1, half, 2, false);
        for (int run = 0; run < 2; run++) {
            __m512i dot[4];
            dot_sixths(dot, low + half * 2 * WORDS * LINE, high + half * WORDS * LINE, q,
                       run * WORDS / 2);
            for (int i = 0; i < 4; i++) {
                int byte = half * 8 + 2 * i + run;
                __m512i s = _mm512_sll_epi32(line_at(scales, byte / 4),
                                             _mm_cvtsi32_si128(24 - byte % 4 * 8));
                s = _mm512_mullo_epi32(dot[i], _mm512_srai_epi32(s, 24));
                all[i] = _mm512_add_epi32(all[i], s);
            }
        }
        for (int i = 0; i < 4; i++)
            y = add_unit(y, all[i], halves_at(panel), _mm512_setzero_ps(), a, (int)u + i,
                         formats[HPC_Q6_K]);
        if (half == 1) panel = scales + 4 * LINE;
    }
    return y;
}

bool HPC_ISA(cpu_bytes_row)(float *c, const byte_tile *a, const uint8_t *panel, hpc_dtype b,
                            int64_t units, unpacked *spare)
{
    __m512 y;

    switch (b) {
    case HPC_Q8_0: y = row_q8_0(a, panel, units); break;
    case HPC_Q4_0: y = row_q4_0(a, panel, units); break;
    case HPC_Q4_K: y = row_q45(a, panel, units, false); break;
    case HPC_Q5_K: y = row_q45(a, panel, units, true); break;
    case HPC_Q6_K: y = row_q6_k(a, panel, units); break;
    default: HPC_ISA(cpu_bytes_row_file)(c, a, panel, b, units, spare); return true;
    }
    _mm512_storeu_ps(c, y);
    return true;
}

#endif
