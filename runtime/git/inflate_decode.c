/*
 * inflate_decode.c: decoding of the symbols of a block, the hot loop. It reads eight bytes at a
 * time and copies without checking the remaining input and capacity for each symbol. Both suffice
 * until the next check of the limits.
 */
#include <string.h>

#include "runtime/git/inflate.h"

/* Copies from `far` bytes back; source and destination may overlap, and the copy may write past its
 * end into the slack. */
static inline __attribute__((always_inline)) void copy(uint8_t *to, const uint8_t *end, size_t far)
{
    const uint8_t *from = to - far;
    if (far >= 16) {
        memcpy(to, from, 16);
        memcpy(to + 16, from + 16, 16);
        memcpy(to + 32, from + 32, 16);
        to += 16;
        from += 16;
        while ((to += 32) < end) {
            from += 32;
            memcpy(to, from, 16);
            memcpy(to + 16, from + 16, 16);
        }
    } else if (far >= 8) {
        do {
            memcpy(to, from, 8);
            to += 8;
            from += 8;
        } while (to < end);
    } else {
        static const uint8_t whole[8] = {8, 8, 8, 6, 8, 5, 6, 7}; /* repetitions in 8 bytes */
        uint8_t pattern[8];
        for (int k = 0; k < 8; k++) to[k] = from[k];
        memcpy(pattern, to, 8);
        while ((to += whole[far]) < end) memcpy(to, pattern, 8);
    }
}

/* What an entry stands for, with the bits that follow its code. */
static inline size_t value(uint32_t e, uint64_t hold)
{
    return (e >> 16) + (size_t)((hold & ((UINT64_C(1) << (e & 63)) - 1)) >> (e >> 8 & 15));
}

/* The entry of a code that is longer than `bits`. */
static inline uint32_t look_further(const uint32_t *table, int bits, uint32_t e, uint64_t hold)
{
    return table[(e >> 16) + (hold >> bits & ((1u << (INFLATE_CODE_BITS - bits)) - 1))];
}

#define PUT(e)                                                                                     \
    do {                                                                                           \
        INFLATE_DROP(hold, hold_n, e);                                                             \
        *out++ = (uint8_t)((e) >> 16);                                                             \
    } while (0)

/* The symbols of a block. After a refill there are 56 bits, and before the next one at least as
 * many as a table is indexed with: three literals of the first table take 33; two and a longer one
 * 37; two and a length 42; a distance 28. */
static inline __attribute__((always_inline)) int decode(git_inflater *f, const inflate_tables *t)
{
    const unsigned literals = (1 << INFLATE_LITERAL_BITS) - 1;
    const unsigned distances = (1 << INFLATE_DISTANCE_BITS) - 1;
    const uint8_t *in = f->in, *const last = f->last;
    uint8_t *out = f->out, *const begin = f->begin, *const limit = f->limit;
    uint64_t hold = f->hold;
    unsigned hold_n = f->hold_n;
    int rc = INFLATE_STARVED;
    if (in > last) return INFLATE_STARVED;
    INFLATE_REFILL(hold, hold_n, in);
    for (uint32_t e = t->literal[hold & literals];;) {
        if (e & INFLATE_LITERAL) {
            PUT(e);
            e = t->literal[hold & literals];
            if (e & INFLATE_LITERAL) {
                PUT(e);
                e = t->literal[hold & literals];
            }
        }
        if (e & INFLATE_LONG) e = look_further(t->literal, INFLATE_LITERAL_BITS, e, hold);
        if (e & INFLATE_LITERAL) {
            PUT(e);
        } else if (e & (INFLATE_END | INFLATE_BAD)) {
            INFLATE_DROP(hold, hold_n, e);
            rc = e & INFLATE_END ? INFLATE_DONE : INFLATE_BROKEN;
            break;
        } else {
            size_t n = value(e, hold);
            INFLATE_DROP(hold, hold_n, e);
            e = t->distance[hold & distances];
            INFLATE_REFILL(hold, hold_n, in);
            if (e & INFLATE_LONG) e = look_further(t->distance, INFLATE_DISTANCE_BITS, e, hold);
            size_t far = value(e, hold);
            INFLATE_DROP(hold, hold_n, e);
            if ((e & INFLATE_BAD) || far > (size_t)(out - begin)) {
                rc = INFLATE_BROKEN;
                break;
            }
            copy(out, out + n, far);
            out += n;
        }
        if (in > last || out > limit) break;
        e = t->literal[hold & literals]; /* before the refill, which takes longer */
        INFLATE_REFILL(hold, hold_n, in);
    }
    f->in = in;
    f->out = out;
    f->hold = hold;
    f->hold_n = hold_n;
    return rc;
}

#ifdef __x86_64__
/* Its shifts by a variable are one instruction each. */
__attribute__((target("bmi2"))) static int decode_bmi2(git_inflater *f, const inflate_tables *t)
{
    return decode(f, t);
}
#endif

int git_inflate_decode(git_inflater *f, const inflate_tables *t)
{
#ifdef __x86_64__
    if (__builtin_cpu_supports("bmi2")) return decode_bmi2(f, t);
#endif
    return decode(f, t);
}
