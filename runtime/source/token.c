/*
 * token.c: classes of bytes, and the hash of a spelling. The lexers find the tokens.
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

/* hpc_token_hash of a single byte, as a constant. */
#define HIGH    (0x8cb92ba72f3d8dd7u * 0xd6e8feb86659fd93u)
#define LOW(c)  ((c)*0x9e3779b97f4a7c15u)
#define SUM(c)  (((LOW(c) ^ LOW(c) >> 32) + (HIGH << 27 | HIGH >> 37)) ^ 0xff51afd7ed558ccdu)
#define HASH(c) [c] = (uint32_t)((SUM(c) ^ SUM(c) >> 29) * 0xbf58476d1ce4e5b9u >> 32)
/* clang-format off */
const hpc_openings hpc_opening = {
    .hash = {
        HASH('('), HASH(')'), HASH('['), HASH(']'), HASH('{'), HASH('}'), HASH('<'), HASH('>'),
        HASH('+'), HASH('-'), HASH('*'), HASH('/'), HASH('%'), HASH('^'), HASH('&'), HASH('|'),
        HASH('!'), HASH('~'), HASH('='), HASH('?'), HASH(':'), HASH(';'), HASH(','), HASH('.'),
        HASH('@'), HASH('`'), HASH('#'), HASH('"'), HASH('\''), HASH('\\'),
    },
    .kind = {
        [0 ... '#'] = HPC_TOKEN_PUNCT, ['$'] = HPC_TOKEN_NAME, ['%' ... '/'] = HPC_TOKEN_PUNCT,
        ['0' ... '9'] = HPC_TOKEN_NUMBER, [':' ... '@'] = HPC_TOKEN_PUNCT,
        ['[' ... '^'] = HPC_TOKEN_PUNCT, ['`'] = HPC_TOKEN_PUNCT, ['{' ... 127] = HPC_TOKEN_PUNCT,
    },
    .late = {
        [0 ... ' '] = 1, ['$'] = 1, ['0' ... '9'] = 1, ['A' ... 'Z'] = 1, ['_'] = 1,
        ['a' ... 'z'] = 1, [127 ... 255] = 1,
    },
};
/* clang-format on */
#undef HIGH
#undef LOW
#undef SUM
#undef HASH

#define ALL  UINT64_MAX
#define N(n) ((UINT64_C(1) << 8 * (n)) - 1)
const hpc_block hpc_block_mask[17] = {
    {0, 0},      {N(1), 0},   {N(2), 0},   {N(3), 0},   {N(4), 0},   {N(5), 0},
    {N(6), 0},   {N(7), 0},   {ALL, 0},    {ALL, N(1)}, {ALL, N(2)}, {ALL, N(3)},
    {ALL, N(4)}, {ALL, N(5)}, {ALL, N(6)}, {ALL, N(7)}, {ALL, ALL},
};
#undef ALL
#undef N

/* Adds 0x20 to each byte from 'A' to 'Z'. The top bit of bytes beyond ASCII is masked. */
static uint64_t lower(uint64_t x)
{
    const uint64_t ones = 0x0101010101010101u, top = 0x8080808080808080u;
    uint64_t low = x & ~top;
    uint64_t from_a = low + ones * (128 - 'A');
    uint64_t behind_z = low + ones * (128 - 'Z' - 1);
    return x + ((from_a & ~behind_z & ~x & top) >> 2);
}

static inline hpc_block folded(hpc_block b, bool fold)
{
    return fold ? (hpc_block){lower(b.low), lower(b.high)} : b;
}

static inline __attribute__((always_inline)) uint32_t hash(const uint8_t *p, size_t n,
                                                           const uint8_t *end, bool fold)
{
    uint64_t x = 0;
    size_t left = n;
    for (; left > 16; left -= 16, p += 16) x = hpc_hash_block(x, folded(hpc_block_load(p), fold));
    hpc_block b;
    if (end - p >= 16) {
        b = hpc_block_load(p);
        b.low &= hpc_block_mask[left].low;
        b.high &= hpc_block_mask[left].high;
    } else {
        uint8_t padded[16] = {0};
        memcpy(padded, p, left);
        b = hpc_block_load(padded);
    }
    return hpc_hash_finish(hpc_hash_block(x, folded(b, fold)), n);
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

static inline __attribute__((always_inline)) void hash_words(hpc_late *l, const uint8_t *text,
                                                             const uint8_t *end, bool fold)
{
    bool room = l->n > 0 && end - (text + l->item[l->n - 1]->at) >= 16;
    uint32_t left = room ? 0 : l->n; /* that need more than one block */
    for (uint32_t i = left; i < l->n; i++) {
        hpc_token *t = l->item[i];
        if (t->n > 16) {
            l->item[left++] = t;
            continue;
        }
        hpc_block b = hpc_block_load(text + t->at);
        b.low &= hpc_block_mask[t->n].low;
        b.high &= hpc_block_mask[t->n].high;
        t->hash = hpc_hash_finish(hpc_hash_block(0, folded(b, fold)), t->n);
    }
    for (uint32_t i = 0; i < left; i++) {
        hpc_token *t = l->item[i];
        const uint8_t *p = text + t->at;
        t->hash = fold ? hpc_hash_folded(p, t->n, end) : hpc_hash_spelling(p, t->n, end);
    }
    l->n = 0;
}

void hpc_late_hash(hpc_late *l, const uint8_t *text, const uint8_t *end, bool fold)
{
    if (fold) {
        hash_words(l, text, end, true);
    } else {
        hash_words(l, text, end, false);
    }
}
