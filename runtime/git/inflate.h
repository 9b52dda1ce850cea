/*
 * inflate.h: what the files of the inflater share: tables of prefix codes, where it
 * is in a stream, and the checksum.
 */
#ifndef HPC_GIT_INFLATE_H
#define HPC_GIT_INFLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* ---- inflate_table.c ---- */
/* A table is indexed with the next bits of the stream. An entry describes a symbol and its kind.
 *   bits 0 to 7: number of bits it takes, including extra bits after its code.
 *   bits 8 to 11: number of bits of its code.
 *   bits 16 to 31: the literal, or the base value of its extra bits.
 * INFLATE_LONG: the code is longer than the index. Its entry is at the position in bits 16 to 31
 * plus the value of the INFLATE_MORE_BITS that follow the index. */
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

/* ---- where it is ---- */
enum { INFLATE_DONE = 0, INFLATE_FULL = 1, INFLATE_BROKEN = -1, INFLATE_STARVED = 2 };
enum {
    INFLATE_AHEAD = 16, /* bytes that may be loaded between two looks at where the input ends */
    INFLATE_WINDOW = 4 * INFLATE_AHEAD /* at most INFLATE_AHEAD bytes of input, then zeros */
};

typedef struct inflate_tables {
    uint32_t literal[INFLATE_TABLE(INFLATE_LITERALS, INFLATE_LITERAL_BITS)];
    uint32_t distance[INFLATE_TABLE(INFLATE_DISTANCES, INFLATE_DISTANCE_BITS)];
} inflate_tables;

typedef struct git_inflater {
    const uint8_t *in;    /* the next byte to load */
    const uint8_t *last;  /* where loads may begin, and INFLATE_AHEAD bytes are there */
    uint64_t hold;        /* bits loaded, the next one lowest */
    unsigned hold_n;      /* of them; those above are right as well, and will be loaded again */
    uint8_t *out, *begin; /* where to write next; what can be copied begins there */
    uint8_t *limit;
    const uint8_t *input, *input_end, *base; /* offset of `base` in the input */
    size_t base_at;                          /* where in the input that is */
    uint8_t window[INFLATE_WINDOW];
    inflate_tables fixed, dynamic;
    uint32_t lengths[1 << INFLATE_LENGTH_BITS]; /* the table for lengths of codes */
    uint32_t literal[INFLATE_LITERALS], distance[INFLATE_DISTANCES], length[INFLATE_LENGTHS];
} git_inflater; /* those last: what each symbol stands for */

static inline uint64_t inflate_load(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    v = __builtin_bswap64(v);
#endif
    return v;
}

/* At least 56 bits, without asking how many there are. */
#define INFLATE_REFILL(hold, hold_n, in)                                                           \
    do {                                                                                           \
        (hold) |= inflate_load(in) << (hold_n);                                                    \
        (in) += (63 - (hold_n)) >> 3;                                                              \
        (hold_n) |= 56;                                                                            \
    } while (0)

/* `bits`, or an entry of a table. */
#define INFLATE_DROP(hold, hold_n, bits)                                                           \
    do {                                                                                           \
        (hold) >>= ((bits)&63);                                                                    \
        (hold_n) -= (uint8_t)(bits);                                                               \
    } while (0)

/* ---- inflate_decode.c ---- */
/* Decodes the symbols of a block. DONE: after its end. STARVED: `in` is past `last`, or `out`
 * past `limit`, by less than GIT_SLACK. BROKEN: damaged. */
int git_inflate_decode(git_inflater *f, const inflate_tables *t);

/* ---- adler.c ---- */
uint32_t git_adler(const uint8_t *p, size_t n);

#endif
