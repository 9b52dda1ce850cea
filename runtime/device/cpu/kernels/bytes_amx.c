/*
 * bytes_amx.c: tiles of block formats by AMX: a unit of k of 16 rows and 16
 * columns is one instruction, whose sums go through memory to vectors, which
 * scale and add them as bytes_vnni.c does, with the same bits.
 */
#include "runtime/device/cpu/kernels/bytes_tile.h"

#if defined(__AMX_INT8__)

enum { SQUARE = BYTES_TALL * COLS };

/* Of unit U, where there is one, by tiles of its own: what one waits for, the others do not. */
#define DOT(U, SUM, A, B)                                                                          \
    do {                                                                                           \
        if (u + (U) >= units) return;                                                              \
        _tile_zero(SUM);                                                                           \
        _tile_loadd(A, q + (U)*step, UNIT);                                                        \
        _tile_loadd(B, b + (U)*WORDS * LINE, LINE);                                                \
        _tile_dpbssd(SUM, A, B);                                                                   \
        _tile_stored(SUM, to + (U)*SQUARE, LINE);                                                  \
    } while (0)

/* The integer sums of units of 16 rows and a panel. What a tile has less rows than that, it reads
 * of what comes behind it, which is memory of the same product; nobody reads their sums. */
static inline __attribute__((always_inline)) void dots(int32_t *to, const byte_tile *a,
                                                       const uint8_t *b, int units)
{
    const uint8_t *q = a->q;
    ptrdiff_t step = a->height * UNIT;

    for (int u = 0; u < units; u += 4, to += 4 * SQUARE, q += 4 * step, b += 4 * WORDS * LINE) {
        DOT(0, 0, 4, 6);
        DOT(1, 1, 5, 7);
        DOT(2, 2, 4, 6);
        DOT(3, 3, 5, 7);
    }
}

/* y goes on by what units add. */
static inline __attribute__((always_inline)) void add_units(float *c, int64_t ld, const float *was,
                                                            const int32_t *dot, const byte_tile *a,
                                                            const unpacked *b, int units,
                                                            const int rows, const bool min)
{
    __m512 y[BYTES_TALL];

    for (int i = 0; i < rows; i++)
        y[i] = a->first ? _mm512_setzero_ps() : _mm512_loadu_ps(was + i * COLS);
    for (int u = 0; u < units; u++, dot += SQUARE) {
        __m512 scale = _mm512_loadu_ps(b->scale[u]), least = _mm512_loadu_ps(b->min[u]);
        const float *by = a->scale + u * a->height, *sum = (const float *)a->sum + u * a->height;
        for (int i = 0; i < rows; i++) {
            __m512 x = _mm512_cvtepi32_ps(_mm512_load_si512(dot + i * COLS));
            x = _mm512_mul_ps(x, scale);
            if (min) x = _mm512_fnmadd_ps(least, _mm512_set1_ps(sum[i]), x);
            y[i] = _mm512_fmadd_ps(x, _mm512_set1_ps(by[i]), y[i]);
        }
    }
    for (int i = 0; i < rows; i++) _mm512_storeu_ps(c + i * ld, y[i]);
}

static inline __attribute__((always_inline)) void tall(float *c, int64_t apart, const byte_tile *a,
                                                       const unpacked *b, int panels, int units,
                                                       const bool min)
{
    _Alignas(64) int32_t dot[BYTES_UNITS * SQUARE];

    for (int p = 0; p < panels; p++, c += apart, b++) {
        float *to = a->to ? a->to + p * COLS : c;
        int64_t ld = a->to ? a->to_ld : COLS;
        dots(dot, a, b->q, units);
        if (a->height == BYTES_TALL) {
            add_units(to, ld, c, dot, a, b, units, BYTES_TALL, min);
            continue;
        }
        for (int i = 0, n; i < a->height; i += n) {
            byte_tile part = *a;
            part.scale += i;
            part.sum = (const float *)a->sum + i;
            n = a->height - i >= 4 ? 4 : 1;
            if (n == 4)
                add_units(to + i * ld, ld, c + i * COLS, dot + i * COLS, &part, b, units, 4, min);
            else
                add_units(to + i * ld, ld, c + i * COLS, dot + i * COLS, &part, b, units, 1, min);
        }
    }
}

void HPC_ISA(cpu_bytes_tall)(float *c, int64_t apart, const byte_tile *a, const unpacked *b,
                             int panels, int units, hpc_dtype type)
{
    if (has_min(type))
        tall(c, apart, a, b, panels, units, true);
    else
        tall(c, apart, a, b, panels, units, false);
}

#endif
