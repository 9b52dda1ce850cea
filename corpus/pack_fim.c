/*
 * pack_fim.c: selects documents for fill-in-the-middle, and where to cut them.
 *
 * All draws depend only on the seed and the file's id, not on threads, order or interruptions.
 */
#include "corpus/pack.h"

enum { STREAM = 0x46494d }; /* of the random numbers: no other draw uses it */

static void draw(uint32_t out[4], int64_t seed, int64_t id)
{
    hpc_random_block(out, (uint64_t)seed, STREAM, 0, (uint64_t)id);
}

int pack_fim_kind(int64_t seed, int64_t id, double rate, double suffix_first)
{
    uint32_t bits[4];
    draw(bits, seed, id);
    if (!(bits[0] < rate * 4294967296.0)) return PACK_FIM_NONE;
    return bits[1] < suffix_first * 4294967296.0 ? PACK_FIM_SUFFIX_FIRST : PACK_FIM_PREFIX_FIRST;
}

static bool begins_character(char c)
{
    return ((unsigned char)c & 0xC0) != 0x80;
}

/* Start of character k; n after the last. */
static size_t place_of(uint64_t k, const char *text, size_t n)
{
    for (size_t at = 0; at < n; at++) {
        if (!begins_character(text[at])) continue;
        if (k == 0) return at;
        k--;
    }
    return n;
}

void pack_fim_cut(size_t *lo, size_t *hi, int64_t seed, int64_t id, const char *text, size_t n)
{
    uint32_t bits[4];
    uint64_t characters = 0;
    draw(bits, seed, id);
    for (size_t k = 0; k < n; k++) characters += begins_character(text[k]);
    uint64_t a = bits[2] * (characters + 1) >> 32, b = bits[3] * (characters + 1) >> 32;
    *lo = place_of(a < b ? a : b, text, n);
    *hi = place_of(a < b ? b : a, text, n);
}
