/*
 * inflate.c: zlib streams (RFC 1950, 1951) of loose objects, from memory to memory.
 *
 * libgit2's own reader of loose objects never returns from a truncated one, and
 * writes past its buffer when an object is longer than its header says; so these
 * untrusted files do not reach it. Packs, where nearly everything is, are read by
 * libgit2 with zlib. There is no streaming and no preset dictionary.
 */
#include <string.h>

#include "runtime/git/priv.h"

enum { FAST_BITS = 10, MOST_BITS = 15, LITERALS = 288, DISTANCES = 30, END = 256 };

typedef struct huffman {
    uint16_t fast[1 << FAST_BITS]; /* symbol << 4 | length by the next bits; 0: longer, or none */
    uint16_t count[MOST_BITS + 1]; /* codes of each length */
    uint16_t symbol[LITERALS];     /* in the order of their codes */
} huffman;

typedef struct inflater {
    const uint8_t *in, *end;
    uint64_t hold; /* bits read ahead, the next one lowest */
    int hold_n;
    uint8_t *out;
    size_t n, cap;
    huffman literal, distance;
} inflater;

enum { DONE = 0, FULL = 1, BROKEN = -1 };

/* ---- bits ----------------------------------------------------------------------- */

static void refill(inflater *f)
{
    while (f->hold_n <= 56 && f->in < f->end) {
        f->hold |= (uint64_t)*f->in++ << f->hold_n;
        f->hold_n += 8;
    }
}

static void drop(inflater *f, int n)
{
    f->hold >>= n;
    f->hold_n -= n;
}

/* The next n <= 16 bits, or BROKEN at the end of the input. */
static int take(inflater *f, int n)
{
    if (f->hold_n < n) refill(f);
    if (f->hold_n < n) return BROKEN;
    int value = (int)(f->hold & ((1u << n) - 1));
    drop(f, n);
    return value;
}

/* ---- codes ------------------------------------------------------------------------ */

static void fill_fast(huffman *h, int symbol, int length, unsigned code)
{
    unsigned reversed = 0;
    for (int k = 0; k < length; k++) reversed |= (code >> k & 1) << (length - 1 - k);
    for (unsigned k = reversed; k < 1u << FAST_BITS; k += 1u << length)
        h->fast[k] = (uint16_t)(symbol << 4 | length);
}

/* Canonical codes from their lengths; false when no code has these. Only a lone code of one bit
 * may leave codes unused. */
static bool make_codes(huffman *h, const uint8_t *length, int n)
{
    uint16_t at[MOST_BITS + 1] = {0};
    unsigned next[MOST_BITS + 1] = {0}, code = 0;
    int left = 1;
    memset(h, 0, sizeof *h);
    for (int k = 0; k < n; k++) h->count[length[k]]++;
    int unused = h->count[0];
    h->count[0] = 0;
    for (int k = 1; k <= MOST_BITS; k++) {
        left = left * 2 - h->count[k];
        if (left < 0) return false;
        code = (code + h->count[k - 1]) << 1;
        next[k] = code;
        at[k] = (uint16_t)(at[k - 1] + h->count[k - 1]);
    }
    if (left > 0 && !(unused == n || (unused == n - 1 && h->count[1] == 1))) return false;
    for (int k = 0; k < n; k++) {
        int bits = length[k];
        if (bits == 0) continue;
        h->symbol[at[bits]++] = (uint16_t)k;
        if (bits <= FAST_BITS) fill_fast(h, k, bits, next[bits]);
        next[bits]++;
    }
    return true;
}

/* The next symbol, or BROKEN. */
static int decode(inflater *f, const huffman *h)
{
    if (f->hold_n < MOST_BITS) refill(f);
    int fast = h->fast[f->hold & ((1u << FAST_BITS) - 1)];
    if (fast) {
        if ((fast & 15) > f->hold_n) return BROKEN;
        drop(f, fast & 15);
        return fast >> 4;
    }
    int code = 0, first = 0, index = 0;
    for (int bits = 1; bits <= MOST_BITS && bits <= f->hold_n; bits++) {
        code |= (int)(f->hold >> (bits - 1) & 1);
        int count = h->count[bits];
        if (code - first < count) {
            drop(f, bits);
            return h->symbol[index + code - first];
        }
        index += count;
        first = (first + count) << 1;
        code <<= 1;
    }
    return BROKEN;
}

/* ---- blocks -------------------------------------------------------------------------- */

static int stored_block(inflater *f)
{
    drop(f, f->hold_n & 7);
    int n = take(f, 16), inverse = take(f, 16);
    if (n < 0 || inverse < 0 || (n ^ inverse) != 0xffff) return BROKEN;
    for (; n > 0; n--) {
        int byte = take(f, 8);
        if (byte < 0) return BROKEN;
        if (f->n == f->cap) return FULL;
        f->out[f->n++] = (uint8_t)byte;
    }
    return DONE;
}

static void fixed_codes(inflater *f)
{
    uint8_t length[LITERALS];
    memset(length, 8, sizeof length);
    memset(length + 144, 9, 112);
    memset(length + END, 7, 24);
    make_codes(&f->literal, length, LITERALS);
    memset(length, 5, 32);
    make_codes(&f->distance, length, 32);
}

/* Lengths of codes, themselves coded: 16 repeats the last, 17 and 18 are runs of zeros. */
static bool read_lengths(inflater *f, uint8_t *length, int n)
{
    for (int k = 0; k < n;) {
        int symbol = decode(f, &f->literal);
        if (symbol < 0 || (symbol == 16 && k == 0)) return false;
        if (symbol < 16) {
            length[k++] = (uint8_t)symbol;
            continue;
        }
        uint8_t value = symbol == 16 ? length[k - 1] : 0;
        int more = take(f, symbol == 16 ? 2 : symbol == 17 ? 3 : 7);
        int repeat = more + (symbol == 18 ? 11 : 3);
        if (more < 0 || repeat > n - k) return false;
        memset(length + k, value, (size_t)repeat);
        k += repeat;
    }
    return true;
}

static bool dynamic_codes(inflater *f)
{
    static const uint8_t order[19] = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                      11, 4,  12, 3, 13, 2, 14, 1, 15};
    uint8_t length[LITERALS + DISTANCES] = {0};
    int literals = take(f, 5) + 257, distances = take(f, 5) + 1, lengths = take(f, 4) + 4;
    if (lengths < 4 || literals > 286 || distances > DISTANCES) return false;
    for (int k = 0; k < lengths; k++) {
        int bits = take(f, 3);
        if (bits < 0) return false;
        length[order[k]] = (uint8_t)bits;
    }
    if (!make_codes(&f->literal, length, 19)) return false;
    memset(length, 0, 19);
    if (!read_lengths(f, length, literals + distances) || length[END] == 0) return false;
    return make_codes(&f->literal, length, literals) &&
           make_codes(&f->distance, length + literals, distances);
}

/* A copy of what was written already; it may reach into itself. */
static int copy(inflater *f, int symbol)
{
    static const uint16_t base[29] = {3,  4,  5,  6,   7,   8,   9,   10,  11, 13,
                                      15, 17, 19, 23,  27,  31,  35,  43,  51, 59,
                                      67, 83, 99, 115, 131, 163, 195, 227, 258};
    static const uint8_t more[29] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2,
                                     2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};
    if (symbol >= 29) return BROKEN;
    int extra = take(f, more[symbol]), code = decode(f, &f->distance);
    if (extra < 0 || code < 0 || code >= DISTANCES) return BROKEN;
    /* 1, 2, 3, 4, 5, 7, 9, 13, ...: two to each number of extra bits */
    int bits = code < 4 ? 0 : code / 2 - 1;
    int far = take(f, bits);
    if (far < 0) return BROKEN;
    size_t distance = (size_t)(code < 4 ? code + 1 : ((2 + (code & 1)) << bits) + 1) + (size_t)far;
    if (distance > f->n) return BROKEN;
    for (int n = base[symbol] + extra; n > 0; n--, f->n++) {
        if (f->n == f->cap) return FULL;
        f->out[f->n] = f->out[f->n - distance];
    }
    return DONE;
}

static int coded_block(inflater *f)
{
    for (;;) {
        int symbol = decode(f, &f->literal);
        if (symbol < 0) return BROKEN;
        if (symbol == END) return DONE;
        if (symbol > END) {
            int rc = copy(f, symbol - END - 1);
            if (rc != DONE) return rc;
        } else if (f->n == f->cap)
            return FULL;
        else
            f->out[f->n++] = (uint8_t)symbol;
    }
}

static int block(inflater *f, int kind)
{
    if (kind == 0) return stored_block(f);
    if (kind == 1) fixed_codes(f);
    if (kind == 3 || (kind == 2 && !dynamic_codes(f))) return BROKEN;
    return coded_block(f);
}

/* ---- the stream -------------------------------------------------------------------------- */

static uint32_t adler(const uint8_t *p, size_t n)
{
    uint32_t a = 1, b = 0;
    while (n > 0) {
        size_t part = n < 5552 ? n : 5552; /* the most that cannot overflow b */
        n -= part;
        for (; part > 0; part--) b += a += *p++;
        a %= 65521;
        b %= 65521;
    }
    return b << 16 | a;
}

static bool checksum_fits(inflater *f)
{
    uint32_t told = 0;
    drop(f, f->hold_n & 7);
    for (int k = 0; k < 4; k++) {
        int byte = take(f, 8);
        if (byte < 0) return false;
        told = told << 8 | (uint32_t)byte;
    }
    return told == adler(f->out, f->n);
}

int git_inflate(uint8_t *out, size_t *n, const uint8_t *in, size_t in_n)
{
    inflater *f = hpc_alloc(1, sizeof *f);
    if (!f) return HPC_E_NOMEM;
    f->in = in;
    f->end = in + in_n;
    f->out = out;
    f->cap = *n;
    int method = take(f, 8), check = take(f, 8), last = 0, kind = 0, rc = DONE;
    if (method < 0 || check < 0 || (method & 15) != 8 || method >> 4 > 7 || (check & 0x20) ||
        (method << 8 | check) % 31 != 0)
        rc = BROKEN;
    while (rc == DONE && !last) {
        last = take(f, 1);
        kind = take(f, 2);
        rc = last < 0 || kind < 0 ? BROKEN : block(f, kind);
    }
    if (rc == DONE && !checksum_fits(f)) rc = BROKEN;
    *n = f->n;
    hpc_free(f);
    return rc == DONE ? GIT_INFLATED : rc == FULL ? GIT_INFLATE_FULL : GIT_INFLATE_BROKEN;
}
