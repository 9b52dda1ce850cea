/*
 * unicode.c: classes of code points by a two-level table, and UTF-8 validation.
 *
 * The table is unpacked from runs when a tokenizer is opened: about 100 KiB per handle. nfc.c
 * normalises.
 */
#include <string.h>

#include "tokenizer/priv.h"

enum { BLOCKS = 0x110000 >> 8 };

/* The last run extends to the last code point. */
static unsigned run_class(int i)
{
    return tokenizer_unicode_runs[i] & (UNI_SETS - 1);
}
static uint32_t run_first(int i)
{
    return i < tokenizer_unicode_runs_n ? tokenizer_unicode_runs[i] / UNI_SETS : 0x110000;
}

/* Does the block lie in run i completely? */
static bool uniform(int i, uint32_t first)
{
    return run_first(i + 1) >= first + 256;
}

/* Blocks of one class, which are most, share a block for that class. */
int tokenizer_unicode_init(tokenizer_unicode *u, hpc_arena *arena)
{
    uint16_t shared[UNI_SETS] = {0}; /* class to block + 1 */
    int64_t cells = 0;
    u->block = hpc_arena_alloc(arena, BLOCKS, sizeof *u->block);
    if (!u->block) return HPC_E_NOMEM;
    for (int pass = 0; pass < 2; pass++) { /* counts, then fills */
        int run = 0;
        int64_t next = 0;
        memset(shared, 0, sizeof shared);
        for (uint32_t b = 0; b < BLOCKS; b++) {
            uint32_t first = b << 8;
            while (run_first(run + 1) <= first) run++;
            bool whole = uniform(run, first);
            if (whole && shared[run_class(run)]) {
                u->block[b] = (uint16_t)(shared[run_class(run)] - 1);
                continue;
            }
            if (whole) shared[run_class(run)] = (uint16_t)(next + 1);
            u->block[b] = (uint16_t)next;
            for (uint32_t c = 0; pass == 1 && c < 256; c++) {
                while (run_first(run + 1) <= first + c) run++;
                u->cell[next * 256 + c] = (uint16_t)run_class(run);
            }
            next++;
        }
        cells = next * 256;
        if (pass == 0) {
            u->cell = hpc_arena_alloc(arena, (size_t)cells, sizeof *u->cell);
            if (!u->cell) return HPC_E_NOMEM;
        }
    }
    return 0;
}

size_t tokenizer_valid(const char *text, size_t n)
{
    size_t at = 0;
    while (at < n) {
        uint64_t eight;
        while (n - at >= sizeof eight) {
            memcpy(&eight, text + at, sizeof eight);
            if (eight & 0x8080808080808080u) break;
            at += sizeof eight;
        }
        while (at < n && (uint8_t)text[at] < 0x80) at++;
        if (at == n) break;
        uint32_t point;
        int bytes = tokenizer_utf8(text + at, n - at, &point);
        if (bytes == 0) break;
        at += (size_t)bytes;
    }
    return at;
}
