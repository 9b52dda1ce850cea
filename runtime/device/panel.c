/*
 * panel.c: PANEL16, the layout in which products read a matrix: rows in groups of 16, with the
 * elements of equal columns adjacent. Packs and unpacks byte by byte, without conversion.
 */
#include "runtime/device/priv.h"

enum { PANEL = 16, BLOCK_MOST = 256 };

/* ---- 16 rows side by side -------------------------------------------------------------------- */

/* Small transpositions within vectors of 16 bytes: loading a panel is a matter of memory then, and
 * not of single words (2 to 13 GB/s). */
typedef uint32_t words __attribute__((vector_size(16)));
typedef uint16_t halves __attribute__((vector_size(16)));

#define SHUFFLE __builtin_shufflevector

/* Four rows of four words become four columns. */
static inline __attribute__((always_inline)) void turn(words x[4])
{
    words ab = SHUFFLE(x[0], x[1], 0, 4, 1, 5), cd = SHUFFLE(x[2], x[3], 0, 4, 1, 5);
    words AB = SHUFFLE(x[0], x[1], 2, 6, 3, 7), CD = SHUFFLE(x[2], x[3], 2, 6, 3, 7);
    x[0] = SHUFFLE(ab, cd, 0, 1, 4, 5);
    x[1] = SHUFFLE(ab, cd, 2, 3, 6, 7);
    x[2] = SHUFFLE(AB, CD, 0, 1, 4, 5);
    x[3] = SHUFFLE(AB, CD, 2, 3, 6, 7);
}

/* Four words of four rows `stride` apart, to columns of 16 words. */
static inline __attribute__((always_inline)) void turn_words(uint8_t *to, const uint8_t *from,
                                                             size_t stride)
{
    words x[4];
    for (size_t k = 0; k < 4; k++) memcpy(&x[k], from + k * stride, sizeof x[k]);
    turn(x);
    for (size_t k = 0; k < 4; k++) memcpy(to + k * PANEL * 4, &x[k], sizeof x[k]);
}

/* n words of each of 16 rows. */
static inline __attribute__((always_inline)) void
panel_words(uint8_t *restrict to, const uint8_t *restrict from, size_t stride, size_t n)
{
    size_t w = 0;
    for (; w + 4 <= n; w += 4)
        for (size_t r = 0; r < PANEL; r += 4)
            turn_words(to + w * PANEL * 4 + r * 4, from + r * stride + w * 4, stride);
    for (; w < n; w++)
        for (size_t r = 0; r < PANEL; r++)
            memcpy(to + (w * PANEL + r) * 4, from + r * stride + w * 4, 4);
}

/* Eight halves of eight rows, to columns of 16 halves: pairs of rows become words, and those are
 * turned. */
static inline __attribute__((always_inline)) void turn_halves(uint8_t *to, const uint8_t *from,
                                                              size_t stride)
{
    words x[2][4]; /* of columns 0 to 3, and 4 to 7 */
    for (size_t k = 0; k < 4; k++) {
        halves a, b;
        memcpy(&a, from + 2 * k * stride, sizeof a);
        memcpy(&b, from + (2 * k + 1) * stride, sizeof b);
        x[0][k] = (words)SHUFFLE(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
        x[1][k] = (words)SHUFFLE(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
    }
    turn(x[0]);
    turn(x[1]);
    for (size_t k = 0; k < 8; k++) memcpy(to + k * PANEL * 2, &x[k / 4][k % 4], sizeof x[0][0]);
}

/* n halves of each of 16 rows. */
static void panel_halves(uint8_t *restrict to, const uint8_t *restrict from, size_t stride,
                         size_t n)
{
    size_t c = 0;
    for (; c + 8 <= n; c += 8)
        for (size_t r = 0; r < PANEL; r += 8)
            turn_halves(to + (c * PANEL + r) * 2, from + r * stride + c * 2, stride);
    for (; c < n; c++)
        for (size_t r = 0; r < PANEL; r++)
            memcpy(to + (c * PANEL + r) * 2, from + r * stride + c * 2, 2);
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/* A block consists of 16-bit numbers and, before or after them, of 4-byte units. */
static const struct layout {
    uint8_t numbers, words;
    bool words_first;
} layouts[HPC_DTYPE_N] = {
    [HPC_Q8_0] = {1, 8, false},  [HPC_Q4_0] = {1, 4, false},   [HPC_Q4_K] = {2, 35, false},
    [HPC_Q5_K] = {2, 43, false}, [HPC_Q6_K] = {1, 52, true},   [HPC_Q4_1] = {2, 4, false},
    [HPC_Q5_0] = {1, 5, false},  [HPC_Q5_1] = {2, 5, false},   [HPC_Q2_K] = {2, 20, true},
    [HPC_Q3_K] = {1, 27, true},  [HPC_IQ4_NL] = {1, 4, false}, [HPC_IQ4_XS] = {2, 33, false},
};

/* Where the numbers, and the words, of a stored block begin. */
static inline size_t numbers_at(struct layout l)
{
    return l.words_first ? 4 * (size_t)l.words : 0;
}

static inline size_t words_at(struct layout l)
{
    return l.words_first ? 0 : 2 * (size_t)l.numbers;
}

static inline __attribute__((always_inline)) void
panel_block(uint8_t *restrict to, const uint8_t *restrict from, size_t stride, const hpc_dtype d)
{
    const struct layout l = layouts[d];

    for (size_t h = 0; h < l.numbers; h++)
        for (size_t r = 0; r < PANEL; r++)
            memcpy(to + (h * PANEL + r) * 2, from + r * stride + numbers_at(l) + 2 * h, 2);
    panel_words(to + l.numbers * PANEL * 2, from + words_at(l), stride, l.words);
}

/* Prefetches the data sixteen rows further: the core sees sixteen streams of one row each and
 * recognizes none of them. A prefetch reads nothing, not even past the end of the matrix. */
static inline __attribute__((always_inline)) void ask_for(const uint8_t *from, size_t bytes)
{
    for (size_t k = 0; k < bytes; k += 64) __builtin_prefetch(from + k);
}

/* Sixteen rows of blocks. The type is known in each call, so that lengths are. */
static void panel_blocks(uint8_t *to, const uint8_t *from, size_t stride, hpc_dtype d,
                         int64_t blocks)
{
    size_t bytes = hpc_dtype_get(d)->block_bytes;
    const uint8_t *next = from + PANEL * stride;
    for (int64_t b = 0; b < blocks; b++, to += PANEL * bytes, from += bytes) {
        ask_for(next + (size_t)b * PANEL * bytes, PANEL * bytes);
        switch (d) {
        case HPC_Q8_0: panel_block(to, from, stride, HPC_Q8_0); break;
        case HPC_Q4_0: panel_block(to, from, stride, HPC_Q4_0); break;
        case HPC_Q4_K: panel_block(to, from, stride, HPC_Q4_K); break;
        case HPC_Q5_K: panel_block(to, from, stride, HPC_Q5_K); break;
        case HPC_Q6_K: panel_block(to, from, stride, HPC_Q6_K); break;
        case HPC_Q4_1: panel_block(to, from, stride, HPC_Q4_1); break;
        case HPC_Q5_0: panel_block(to, from, stride, HPC_Q5_0); break;
        case HPC_Q5_1: panel_block(to, from, stride, HPC_Q5_1); break;
        case HPC_Q2_K: panel_block(to, from, stride, HPC_Q2_K); break;
        case HPC_Q3_K: panel_block(to, from, stride, HPC_Q3_K); break;
        case HPC_IQ4_NL: panel_block(to, from, stride, HPC_IQ4_NL); break;
        case HPC_IQ4_XS: panel_block(to, from, stride, HPC_IQ4_XS); break;
        default: hpc_assert(!"a block format");
        }
    }
}

void hpc_quant_panel(void *panel, const void *rows, hpc_dtype d, int64_t n, int64_t k)
{
    const hpc_dtype_info *info = hpc_dtype_get(d);
    uint8_t padded[PANEL * BLOCK_MOST], *to = panel;
    const uint8_t *from = rows;
    size_t bytes = info->block_bytes;
    int64_t blocks = k / info->block;
    size_t stride = (size_t)blocks * bytes;

    hpc_assert(k % info->block == 0 && n >= 0 && n <= PANEL && bytes <= BLOCK_MOST);
    if (n == PANEL) {
        panel_blocks(to, from, stride, d, blocks);
        return;
    }
    memset(padded, 0, sizeof padded);
    for (int64_t b = 0; b < blocks; b++, to += PANEL * bytes, from += bytes) {
        for (size_t r = 0; r < (size_t)n; r++) memcpy(padded + r * bytes, from + r * stride, bytes);
        panel_blocks(to, padded, bytes, d, 1);
    }
}

void hpc_quant_from_panel(void *out, const void *panel, hpc_dtype d, int64_t row, int64_t block)
{
    size_t bytes = hpc_dtype_get(d)->block_bytes;
    const struct layout l = layouts[d];
    size_t numbers = 2 * (size_t)l.numbers; /* in bytes */
    const uint8_t *from = (const uint8_t *)panel + (size_t)block * bytes * PANEL;
    uint8_t *to = out;

    for (size_t at = 0; at < numbers; at += 2)
        memcpy(to + numbers_at(l) + at, from + at * PANEL + (size_t)row * 2, 2);
    for (size_t at = numbers; at < bytes; at += 4)
        memcpy(to + words_at(l) + at - numbers, from + at * PANEL + (size_t)row * 4, 4);
}

/* ---- matrices -------------------------------------------------------------------------------- */

/* n <= 16 rows of k elements of `width` bytes. */
static void panel_elements(uint8_t *to, const uint8_t *from, size_t width, int64_t n, int64_t k)
{
    size_t stride = (size_t)k * width;
    if (n == PANEL && width == 4) {
        panel_words(to, from, stride, (size_t)k);
        return;
    }
    if (n == PANEL && width == 2) {
        panel_halves(to, from, stride, (size_t)k);
        return;
    }
    if (n < PANEL) memset(to, 0, PANEL * stride);
    for (size_t r = 0; r < (size_t)n; r++)
        for (size_t c = 0; c < (size_t)k; c++)
            memcpy(to + (c * PANEL + r) * width, from + r * stride + c * width, width);
}

void hpc_panel16(void *panels, const void *rows, hpc_dtype d, int64_t n, int64_t k)
{
    const hpc_dtype_info *info = hpc_dtype_get(d);
    size_t row = (size_t)(k / info->block) * info->block_bytes;
    for (int64_t first = 0; first < n; first += PANEL) {
        int64_t some = n - first < PANEL ? n - first : PANEL;
        const uint8_t *from = (const uint8_t *)rows + (size_t)first * row;
        uint8_t *to = (uint8_t *)panels + (size_t)first * row;
        if (info->quantised)
            hpc_quant_panel(to, from, d, some, k);
        else
            panel_elements(to, from, info->block_bytes, some, k);
    }
}

void hpc_panel16_row(void *out, const void *panels, hpc_dtype d, int64_t k, int64_t row,
                     int64_t first, int64_t n)
{
    const hpc_dtype_info *info = hpc_dtype_get(d);
    size_t bytes = info->block_bytes;
    int64_t blocks = k / info->block;
    const uint8_t *panel = (const uint8_t *)panels + (size_t)(row / PANEL * blocks) * PANEL * bytes;
    uint8_t *to = out;

    hpc_assert(first % info->block == 0 && n % info->block == 0);
    for (int64_t b = first / info->block; b < (first + n) / info->block; b++, to += bytes) {
        if (info->quantised)
            hpc_quant_from_panel(to, panel, d, row % PANEL, b);
        else
            memcpy(to, panel + (size_t)(b * PANEL + row % PANEL) * bytes, bytes);
    }
}
