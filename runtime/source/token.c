/*
 * token.c: what a byte is, and the hash of a spelling.
 *
 * Where tokens begin and end is the lexers' business.
 */
#include "runtime/source/priv.h"

/* clang-format off */
const uint8_t hpc_byte_class[256] = {
    ['\t'] = HPC_CLASS_BLANK, ['\v'] = HPC_CLASS_BLANK, ['\f'] = HPC_CLASS_BLANK,
    ['\r'] = HPC_CLASS_BLANK, [' '] = HPC_CLASS_BLANK,
    ['\n'] = HPC_CLASS_NEWLINE,
    ['A' ... 'Z'] = HPC_CLASS_NAME, ['a' ... 'z'] = HPC_CLASS_NAME,
    ['_'] = HPC_CLASS_NAME, ['$'] = HPC_CLASS_NAME, [128 ... 255] = HPC_CLASS_NAME,
    ['0' ... '9'] = HPC_CLASS_DIGIT,
    ['('] = HPC_CLASS_SOLO, [')'] = HPC_CLASS_SOLO, ['['] = HPC_CLASS_SOLO,
    [']'] = HPC_CLASS_SOLO, ['{'] = HPC_CLASS_SOLO, ['}'] = HPC_CLASS_SOLO,
    [';'] = HPC_CLASS_SOLO, [','] = HPC_CLASS_SOLO, ['?'] = HPC_CLASS_SOLO,
    ['~'] = HPC_CLASS_SOLO,
    ['+'] = HPC_CLASS_OPERATOR, ['-'] = HPC_CLASS_OPERATOR, ['*'] = HPC_CLASS_OPERATOR,
    ['%'] = HPC_CLASS_OPERATOR, ['&'] = HPC_CLASS_OPERATOR, ['|'] = HPC_CLASS_OPERATOR,
    ['^'] = HPC_CLASS_OPERATOR, ['='] = HPC_CLASS_OPERATOR, [':'] = HPC_CLASS_OPERATOR,
    ['!'] = HPC_CLASS_BANG, ['<'] = HPC_CLASS_LESS, ['>'] = HPC_CLASS_GREATER,
    ['.'] = HPC_CLASS_DOT, ['/'] = HPC_CLASS_SLASH, ['#'] = HPC_CLASS_HASH,
    ['"'] = HPC_CLASS_QUOTE, ['\''] = HPC_CLASS_APOSTROPHE, ['\\'] = HPC_CLASS_BACKSLASH,
};
/* clang-format on */

#define ALL  UINT64_MAX
#define N(n) ((UINT64_C(1) << 8 * (n)) - 1)
const hpc_block hpc_block_mask[17] = {
    {0, 0},      {N(1), 0},   {N(2), 0},   {N(3), 0},   {N(4), 0},   {N(5), 0},
    {N(6), 0},   {N(7), 0},   {ALL, 0},    {ALL, N(1)}, {ALL, N(2)}, {ALL, N(3)},
    {ALL, N(4)}, {ALL, N(5)}, {ALL, N(6)}, {ALL, N(7)}, {ALL, ALL},
};
#undef ALL
#undef N

/* Adds 0x20 to each byte from 'A' to 'Z'; bytes beyond ASCII have their top bit kept out of it. */
static uint64_t lower(uint64_t x)
{
    const uint64_t ones = 0x0101010101010101u, top = 0x8080808080808080u;
    uint64_t low = x & ~top;
    uint64_t from_a = low + ones * (128 - 'A');
    uint64_t behind_z = low + ones * (128 - 'Z' - 1);
    return x + ((from_a & ~behind_z & ~x & top) >> 2);
}

static inline uint32_t hash(const uint8_t *p, size_t n, const uint8_t *end, bool fold)
{
    uint64_t x = 0;
    size_t left = n;
    do {
        size_t take = left < 16 ? left : 16;
        hpc_block b;
        if (end - p >= 16) {
            b = hpc_block_load(p);
            b.low &= hpc_block_mask[take].low;
            b.high &= hpc_block_mask[take].high;
        } else {
            uint8_t padded[16] = {0};
            memcpy(padded, p, take);
            b = hpc_block_load(padded);
        }
        if (fold) b = (hpc_block){lower(b.low), lower(b.high)};
        x = hpc_hash_block(x, b);
        p += take;
        left -= take;
    } while (left > 0);
    return hpc_hash_finish(x, n);
}

uint32_t hpc_hash_spelling(const uint8_t *p, size_t n, const uint8_t *end)
{
    return hash(p, n, end, false);
}

uint32_t hpc_hash_folded(const uint8_t *p, size_t n, const uint8_t *end)
{
    return hash(p, n, end, true);
}

uint32_t hpc_token_hash(const char *spelling, size_t n)
{
    const uint8_t *p = (const uint8_t *)spelling;
    return hash(p, n, p + n, false);
}
