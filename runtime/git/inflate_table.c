/*
 * inflate_table.c: decoding tables of a prefix code: one look-up per symbol, or two for long codes.
 */
#include <string.h>

#include "runtime/git/inflate.h"

typedef struct sorted {
    uint16_t symbol[INFLATE_LITERALS]; /* in the order of their codes */
    int count[INFLATE_CODE_BITS + 1];  /* codes of each length */
    int n, longest;
} sorted;

/* False when no code has these lengths. */
static bool sort(sorted *s, const uint8_t *length, int n)
{
    int at[INFLATE_CODE_BITS + 2] = {0}, left = 1;
    /* Runs of one length are common, and adding to the same place again and again is slow. */
    uint16_t part[4][INFLATE_CODE_BITS + 1] = {{0}};
    for (int k = 0; k < n; k++) part[k & 3][length[k]]++;
    for (int k = 0; k <= INFLATE_CODE_BITS; k++)
        s->count[k] = part[0][k] + part[1][k] + part[2][k] + part[3][k];
    s->longest = 0;
    s->n = n - s->count[0];
    for (int bits = 1; bits <= INFLATE_CODE_BITS; bits++) {
        left = left * 2 - s->count[bits];
        if (left < 0) return false;
        at[bits + 1] = at[bits] + s->count[bits];
        if (s->count[bits] > 0) s->longest = bits;
    }
    if (left > 0 && s->n > 0 && !(s->n == 1 && s->count[1] == 1)) return false;
    for (int k = 0; k < n; k++)
        if (length[k] > 0) s->symbol[at[length[k]]++] = (uint16_t)k;
    return true;
}

/* A code is written with its first bit highest and read lowest first, so a table is indexed with
 * the bits in reverse. Both count: adding 1 flips the last ones and the zero before them. */
typedef struct codes {
    unsigned next, reversed;
} codes;

static inline codes after(codes c, int bits)
{
    unsigned all = (1u << bits) - 1;
    c.next++;
    c.reversed ^= all ^ all >> (__builtin_ctz(c.next) + 1);
    return c;
}

/* Codes longer than the index, from the kth on. */
static void fill_long(uint32_t *table, int bits, const sorted *s, const uint32_t *symbol, int k,
                      codes c)
{
    int more = INFLATE_CODE_BITS - bits;
    unsigned at = 1u << bits, first = ~0u;
    for (int length = bits + 1; length <= s->longest; length++) {
        c.next *= 2;
        for (int i = 0; i < s->count[length]; i++, k++, c = after(c, length)) {
            uint32_t entry = symbol[s->symbol[k]] + (uint32_t)(length << 8 | length);
            if ((c.reversed & ((1u << bits) - 1)) != first) {
                if (first != ~0u) at += 1u << more;
                first = c.reversed & ((1u << bits) - 1);
                table[first] = at << 16 | INFLATE_LONG;
            }
            for (unsigned j = c.reversed >> bits; j < 1u << more; j += 1u << (length - bits))
                table[at + j] = entry;
        }
    }
}

bool git_inflate_table(uint32_t *table, int bits, const uint8_t *length, const uint32_t *symbol,
                       int n)
{
    sorted s;
    codes c = {0, 0};
    int k = 0;
    if (!sort(&s, length, n)) return false;
    table[0] = table[1] = INFLATE_BAD | 1 << 8 | 1;
    for (int have = 1; have <= bits; have++) {
        c.next *= 2;
        for (int i = 0; i < s.count[have]; i++, k++, c = after(c, have))
            table[c.reversed] = symbol[s.symbol[k]] + (uint32_t)(have << 8 | have);
        /* The entries so far hold for either value of the next bit; the others are still empty. */
        if (have < bits) memcpy(table + (1 << have), table, sizeof *table << have);
    }
    if (s.longest > bits) fill_long(table, bits, &s, symbol, k, c);
    return true;
}
