/*
 * deflating.h: generates zlib streams with arbitrary codes, to cover every path of the decoder,
 * and the text that they contain.
 */
#ifndef HPC_TESTS_GIT_DEFLATING_H
#define HPC_TESTS_GIT_DEFLATING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <string.h>

#include "runtime/base/base.h"

enum { LITERALS = 286, DISTANCES = 30, FAR = 32768, MOST_BYTES = 1 << 18 };

typedef struct stream {
    uint8_t data[2 * MOST_BYTES]; /* compressed */
    size_t n;
    int hold_n; /* bits used in the last byte */
    uint8_t text[MOST_BYTES];
    size_t text_n;
    uint8_t length[LITERALS + 2 + DISTANCES + 2]; /* code lengths of the current block */
    uint16_t code[LITERALS + 2 + DISTANCES + 2];
    uint64_t seed;
} stream;

static inline unsigned drawn(stream *s, unsigned below)
{
    s->seed = s->seed * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (unsigned)((s->seed >> 33) % below);
}

static inline void put_bits(stream *s, unsigned value, int n)
{
    for (; n > 0; n--, value >>= 1) {
        if (s->hold_n == 0) s->data[s->n++] = 0;
        s->data[s->n - 1] |= (uint8_t)((value & 1) << s->hold_n);
        s->hold_n = (s->hold_n + 1) & 7;
    }
}

static inline void put_code(stream *s, unsigned code, int n)
{
    while (n > 0) put_bits(s, code >> --n & 1, 1);
}

static inline void begin(stream *s)
{
    s->n = s->text_n = 0;
    s->hold_n = 0;
    put_bits(s, 0x78, 8);
    put_bits(s, 0x01, 8);
}

static inline void finish(stream *s)
{
    uint32_t a = 1, b = 0;
    for (size_t k = 0; k < s->text_n; k++) {
        a = (a + s->text[k]) % 65521;
        b = (b + a) % 65521;
    }
    s->hold_n = 0;
    for (int shift = 8; shift >= 0; shift -= 8) put_bits(s, b >> shift & 255, 8);
    for (int shift = 8; shift >= 0; shift -= 8) put_bits(s, a >> shift & 255, 8);
}

static inline void block_begins(stream *s, bool last, unsigned kind)
{
    put_bits(s, last, 1);
    put_bits(s, kind, 2);
}

static inline void stored_block(stream *s, bool last, unsigned n)
{
    block_begins(s, last, 0);
    s->hold_n = 0;
    put_bits(s, n, 16);
    put_bits(s, ~n & 0xffff, 16);
    for (; n > 0; n--) {
        s->text[s->text_n] = (uint8_t)drawn(s, 256);
        put_bits(s, s->text[s->text_n++], 8);
    }
}

/* ---- codes ---------------------------------------------------------------------- */

static inline void number_codes(uint16_t *code, const uint8_t *length, int n)
{
    unsigned next = 0;
    for (int bits = 1; bits < 16; bits++, next <<= 1)
        for (int k = 0; k < n; k++)
            if (length[k] == bits) code[k] = (uint16_t)next++;
}

static inline void fixed_codes(stream *s)
{
    memset(s->length, 8, 288);
    memset(s->length + 144, 9, 112);
    memset(s->length + 256, 7, 24);
    memset(s->length + 288, 5, 32);
    number_codes(s->code, s->length, 288);
    number_codes(s->code + 288, s->length + 288, 32);
}

/* Draws a complete prefix code for `some` of n symbols, `must` included, by splitting leaves of a
 * tree. A larger `lean` gives longer codes. */
static inline void draw_code(stream *s, uint8_t *length, int n, int some, int must, unsigned lean)
{
    uint8_t depth[LITERALS + 2] = {0};
    int have = 1;
    while (have < some) {
        int k = drawn(s, 8) < lean ? have - 1 : (int)drawn(s, (unsigned)have);
        if (depth[k] == 15) k = (int)drawn(s, (unsigned)have);
        if (depth[k] == 15) continue;
        depth[have++] = ++depth[k];
    }
    memset(length, 0, (size_t)n);
    length[must] = depth[0];
    for (int k = 1; k < have;) {
        unsigned at = drawn(s, (unsigned)n);
        if (length[at] == 0) length[at] = depth[k++];
    }
}

/* Writes code lengths as in a block's header. Of the symbols for lengths, 13 have codes of 4 bits
 * and 6 of 5 bits. */
static inline void put_lengths(stream *s, const uint8_t *length, int n)
{
    static const uint8_t order[19] = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                      11, 4,  12, 3, 13, 2, 14, 1, 15};
    uint8_t of[19];
    uint16_t code[19];
    for (int k = 0; k < 19; k++) of[k] = k < 13 ? 4 : 5;
    number_codes(code, of, 19);
    for (int k = 0; k < 19; k++) put_bits(s, of[order[k]], 3);
    for (int k = 0; k < n;) {
        int run = 1;
        while (k + run < n && length[k + run] == length[k]) run++;
        if (length[k] == 0 && run >= 11) {
            run = run > 138 ? 138 : run;
            put_code(s, code[18], of[18]);
            put_bits(s, (unsigned)run - 11, 7);
        } else if (length[k] == 0 && run >= 3) {
            put_code(s, code[17], of[17]);
            put_bits(s, (unsigned)run - 3, 3);
        } else {
            put_code(s, code[length[k]], of[length[k]]);
            k++;
            if (--run < 3) continue;
            run = run > 6 ? 6 : run;
            put_code(s, code[16], of[16]);
            put_bits(s, (unsigned)run - 3, 2);
        }
        k += run;
    }
}

/* Codes of distances follow those of literals, wherever these end. */
static inline void dynamic_begins(stream *s, bool last, int literals, int distances)
{
    uint8_t all[LITERALS + DISTANCES + 4];
    block_begins(s, last, 2);
    put_bits(s, (unsigned)literals - 257, 5);
    put_bits(s, (unsigned)distances - 1, 5);
    put_bits(s, 15, 4);
    memcpy(all, s->length, (size_t)literals);
    memcpy(all + literals, s->length + 288, (size_t)distances);
    put_lengths(s, all, literals + distances);
    number_codes(s->code, s->length, 288);
    number_codes(s->code + 288, s->length + 288, 32);
}

/* ---- symbols ----------------------------------------------------------------------- */

static inline void put_symbol(stream *s, int symbol)
{
    put_code(s, s->code[symbol], s->length[symbol]);
}

static inline void put_literal(stream *s, uint8_t byte)
{
    put_symbol(s, byte);
    s->text[s->text_n++] = byte;
}

/* Symbol of a length or distance, the number of bits that follow it, and its smallest value. */
static inline int step_of(int n, int first, int *bits, int *least)
{
    int k = 0;
    *least = first;
    for (;; k++) {
        *bits = first == 3 ? (k < 8 ? 0 : k / 4 - 1) : (k < 4 ? 0 : k / 2 - 1);
        if (first == 3 && n == 258) {
            *bits = 0;
            *least = 258;
            return 28;
        }
        if (n < *least + (1 << *bits)) return k;
        *least += 1 << *bits;
    }
}

static inline void put_copy(stream *s, int n, int far)
{
    int bits, least, symbol = step_of(n, 3, &bits, &least);
    put_symbol(s, 257 + symbol);
    put_bits(s, (unsigned)(n - least), bits);
    symbol = step_of(far, 1, &bits, &least);
    put_symbol(s, 288 + symbol);
    put_bits(s, (unsigned)(far - least), bits);
    for (; n > 0; n--, s->text_n++) s->text[s->text_n] = s->text[s->text_n - (size_t)far];
}

/* Writes random symbols that have codes, until the text has at least n bytes. */
static inline void put_random(stream *s, size_t n)
{
    for (size_t tries = 0; s->text_n < n && tries < 20 * n; tries++) {
        int symbol = (int)drawn(s, 9) < 5 ? (int)drawn(s, 256) : 256, bits, least;
        if (symbol < 256 && s->length[symbol] > 0) put_literal(s, (uint8_t)symbol);
        if (symbol < 256 || s->text_n == 0) continue;
        int most = s->text_n < FAR ? (int)s->text_n : FAR;
        if (drawn(s, 2)) most = most < 40 ? most : 40;
        int far = 1 + (int)drawn(s, (unsigned)most);
        int length = drawn(s, 2) ? 3 + (int)drawn(s, 30) : 3 + (int)drawn(s, 256);
        if (s->length[257 + step_of(length, 3, &bits, &least)] == 0) continue;
        if (s->length[288 + step_of(far, 1, &bits, &least)] > 0) put_copy(s, length, far);
    }
    put_symbol(s, 256);
}

static inline void fixed_begins(stream *s)
{
    fixed_codes(s);
    block_begins(s, true, 1);
    put_literal(s, 'a');
}

#endif
