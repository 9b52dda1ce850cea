/*
 * tiles.h: AMX's eight tiles, all of 16 rows of 64 bytes.
 */
#ifndef HPC_CPU_TILES_H
#define HPC_CPU_TILES_H

#if defined(__AMX_TILE__)
#include <immintrin.h>
#include <stdint.h>

/* Constant, because gcc 12 takes _tile_loadconfig to read no more than 8 bytes, and leaves out what
 * was written to the others just before. */
static inline void tiles_begin(void)
{
    static const _Alignas(64) struct {
        uint8_t palette, start, reserved[14];
        uint16_t bytes[16];
        uint8_t rows[16];
    } shapes = {.palette = 1,
                .bytes = {64, 64, 64, 64, 64, 64, 64, 64},
                .rows = {16, 16, 16, 16, 16, 16, 16, 16}};

    _tile_loadconfig(&shapes);
}

static inline void tiles_end(void)
{
    _tile_release();
}
#endif

#endif
