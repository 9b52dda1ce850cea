/*
 * inflate.h: what the files of the inflater share: tables of prefix codes, and the
 * checksum.
 */
#ifndef HPC_GIT_INFLATE_H
#define HPC_GIT_INFLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- inflate_table.c ---- */
/* A table is indexed with the next bits of the stream. An entry says all about a symbol:
 *   bits 0 to 7    how many bits it takes, those that follow its code included
 *   bits 8 to 11   how many of them its code takes
 *   bits 16 to 31  the literal, or what the bits that follow are added to
 * and of which kind it is. INFLATE_LONG: the code is longer than the index; the entry for it is at
 * the place in bits 16 to 31 plus the INFLATE_MORE_BITS behind the index. */
enum {
    INFLATE_LITERAL = 1 << 12,
    INFLATE_LONG = 1 << 13,
    INFLATE_END = 1 << 14,
    INFLATE_BAD = 1 << 15, /* no code, or a symbol without a meaning */
    INFLATE_ODD = INFLATE_LONG | INFLATE_END | INFLATE_BAD,
    INFLATE_CODE_BITS = 15, /* of the longest code */
    INFLATE_LITERALS = 288,
    INFLATE_DISTANCES = 32,
    INFLATE_LENGTHS = 19, /* symbols of the code that codes the lengths of codes */
    INFLATE_LITERAL_BITS = 11,
    INFLATE_DISTANCE_BITS = 9,
    INFLATE_LENGTH_BITS = 7
};
/* Entries of a table for `symbols` symbols, indexed by `bits`. Each longer code shares the first
 * `bits` with another one. */
#define INFLATE_TABLE(symbols, bits)                                                               \
    ((1 << (bits)) + ((symbols) / 2 << (INFLATE_CODE_BITS - (bits))))

/* Of canonical codes with these lengths, 0 where a symbol has none; false when there are no such
 * codes. Bits may remain without a meaning only where there is no code or one of one bit.
 * symbol[k]: the entry of symbol k but for the length of its code. */
bool git_inflate_table(uint32_t *table, int bits, const uint8_t *length, const uint32_t *symbol,
                       int n);

/* ---- adler.c ---- */
uint32_t git_adler(const uint8_t *p, size_t n);

#endif
