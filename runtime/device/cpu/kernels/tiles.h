/*
 * tiles.h: shapes of AMX's eight tiles.
 */
#ifndef HPC_CPU_TILES_H
#define HPC_CPU_TILES_H

#if defined(__AMX_TILE__)
#include <immintrin.h>
#include <stdint.h>

typedef struct tiles_shape {
    uint8_t palette, start, reserved[14];
    uint16_t bytes[16];
    uint8_t rows[16];
} tiles_shape;

/* All of 16 rows of 64 bytes. */
#define TILES_WHOLE                                                                                \
    {                                                                                              \
        .palette = 1, .bytes = {64, 64, 64, 64, 64, 64, 64, 64}, .rows = {                         \
            16,                                                                                    \
            16,                                                                                    \
            16,                                                                                    \
            16,                                                                                    \
            16,                                                                                    \
            16,                                                                                    \
            16,                                                                                    \
            16                                                                                     \
        }                                                                                          \
    }
/* Sums in 0 .. 3, rows of half as many bytes in 4 and 5, which meet half as many rows in 6 and 7.
 */
#define TILES_HALF                                                                                 \
    {                                                                                              \
        .palette = 1, .bytes = {64, 64, 64, 64, 32, 32, 64, 64}, .rows = {                         \
            16,                                                                                    \
            16,                                                                                    \
            16,                                                                                    \
            16,                                                                                    \
            16,                                                                                    \
            16,                                                                                    \
            8,                                                                                     \
            8                                                                                      \
        }                                                                                          \
    }

/* `shape` is constant, because gcc 12 takes _tile_loadconfig to read no more than 8 bytes, and
 * leaves out what was written to the others just before. */
#define TILES_BEGIN(SHAPE)                                                                         \
    do {                                                                                           \
        static const _Alignas(64) tiles_shape shape = SHAPE;                                       \
        _tile_loadconfig(&shape);                                                                  \
    } while (0)

static inline void tiles_end(void)
{
    _tile_release();
}
#endif

#endif
