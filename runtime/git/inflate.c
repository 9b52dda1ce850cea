/*
 * inflate.c: decompression of zlib streams (RFC 1950, 1951) from memory to memory, for
 * packed and loose objects.
 *
 * libgit2's reader of loose objects never returns from a truncated one, and writes past
 * its buffer if an object is longer than its header states. zlib's set-up costs as much
 * as a small object. Streaming and preset dictionaries are not supported.
 *
 * libdeflate 1.14 is as fast: harvesting ginkgo, PETSc and OpenBLAS takes 1.8 s of CPU time with
 * either (2026-11-29, Zen 5). But it cannot stop in mid-stream, which loose headers and the sizes
 * of deltas need.
 *
 * The decoder does not check input and capacity for each symbol. It reads the last
 * bytes of the input from a copy that is padded with zeros, its output may reach into
 * the slack, and it checks both limits afterwards.
 */
#include <string.h>

#include "runtime/git/inflate.h"
#include "runtime/git/priv.h"

/* ---- input ---------------------------------------------------------------------- */

static void read_at(git_inflater *f, size_t at)
{
    size_t n = (size_t)(f->input_end - f->input);
    f->hold = 0;
    f->hold_n = 0;
    f->base = f->input;
    f->base_at = 0;
    f->in = f->input + at;
    f->last = n > INFLATE_AHEAD ? f->input_end - INFLATE_AHEAD : f->input;
    if (n > INFLATE_AHEAD && at <= n - INFLATE_AHEAD) return;
    size_t left = n - at;
    memset(f->window, 0, sizeof f->window);
    if (left > 0) memcpy(f->window, f->in, left);
    f->base = f->in = f->window;
    f->base_at = at;
    f->last = f->window + left + INFLATE_AHEAD;
}

/* How much of the input has been taken, in bits. More than there is means that it is truncated. */
static uint64_t taken(const git_inflater *f)
{
    return (uint64_t)(f->base_at + (size_t)(f->in - f->base)) * 8 - f->hold_n;
}

static bool overrun(const git_inflater *f)
{
    return taken(f) > (uint64_t)(f->input_end - f->input) * 8;
}

/* From the input to the window; false when that is used up. */
static bool next_window(git_inflater *f)
{
    if (f->base == f->window) return false;
    uint64_t hold = f->hold;
    unsigned hold_n = f->hold_n;
    read_at(f, (size_t)(f->in - f->input));
    f->hold = hold;
    f->hold_n = hold_n;
    return true;
}

static bool refill(git_inflater *f)
{
    if (f->in > f->last && !next_window(f)) return false;
    INFLATE_REFILL(f->hold, f->hold_n, f->in);
    return true;
}

/* Takes n bits from the refilled buffer. */
static unsigned take(git_inflater *f, int n)
{
    unsigned value = (unsigned)(f->hold & ((1u << n) - 1));
    INFLATE_DROP(f->hold, f->hold_n, (unsigned)n);
    return value;
}

/* ---- codes ------------------------------------------------------------------------ */

/* Lengths of codes, themselves coded: 16 repeats the last, 17 and 18 are runs of zeros. */
static bool read_lengths(git_inflater *f, uint8_t *length, int n)
{
    for (int k = 0; k < n;) {
        if (f->hold_n < INFLATE_LENGTH_BITS + 7 && !refill(f)) return false;
        uint32_t e = f->lengths[f->hold & ((1 << INFLATE_LENGTH_BITS) - 1)];
        if (e & INFLATE_BAD) return false;
        unsigned symbol = e >> 16;
        take(f, e & 15);
        if (symbol < 16) {
            length[k++] = (uint8_t)symbol;
            continue;
        }
        if (symbol == 16 && k == 0) return false;
        uint8_t value = symbol == 16 ? length[k - 1] : 0;
        int repeat = symbol == 16   ? 3 + (int)take(f, 2)
                     : symbol == 17 ? 3 + (int)take(f, 3)
                                    : 11 + (int)take(f, 7);
        if (repeat > n - k) return false;
        memset(length + k, value, (size_t)repeat);
        k += repeat;
    }
    return true;
}

static bool make_tables(git_inflater *f, inflate_tables *t, const uint8_t *length, int literals,
                        int distances)
{
    return git_inflate_table(t->literal, INFLATE_LITERAL_BITS, length, f->literal, literals) &&
           git_inflate_table(t->distance, INFLATE_DISTANCE_BITS, length + literals, f->distance,
                             distances);
}

static bool dynamic_codes(git_inflater *f)
{
    static const uint8_t order[INFLATE_LENGTHS] = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                                   11, 4,  12, 3, 13, 2, 14, 1, 15};
    uint8_t length[INFLATE_LITERALS + INFLATE_DISTANCES] = {0};
    if (!refill(f)) return false;
    int literals = (int)take(f, 5) + 257, distances = (int)take(f, 5) + 1,
        lengths = (int)take(f, 4) + 4;
    if (literals > 286 || distances > 30) return false;
    for (int k = 0; k < lengths; k++) {
        if (f->hold_n < 3 && !refill(f)) return false;
        length[order[k]] = (uint8_t)take(f, 3);
    }
    if (!git_inflate_table(f->lengths, INFLATE_LENGTH_BITS, length, f->length, INFLATE_LENGTHS) ||
        !read_lengths(f, length, literals + distances) || length[256] == 0)
        return false;
    return make_tables(f, &f->dynamic, length, literals, distances);
}

/* ---- blocks -------------------------------------------------------------------------- */

static int coded_block(git_inflater *f, const inflate_tables *t)
{
    int rc;
    do rc = git_inflate_decode(f, t);
    while (rc == INFLATE_STARVED && f->out <= f->limit && next_window(f));
    if (overrun(f)) return INFLATE_BROKEN;
    if (f->out > f->limit) return INFLATE_FULL;
    return rc == INFLATE_DONE ? INFLATE_DONE : INFLATE_BROKEN;
}

static int stored_block(git_inflater *f)
{
    take(f, (int)(f->hold_n & 7));
    size_t at = (size_t)(taken(f) / 8), left = (size_t)(f->input_end - f->input);
    if (at > left || left - at < 4) return INFLATE_BROKEN;
    const uint8_t *p = f->input + at;
    size_t n = (size_t)p[0] | (size_t)p[1] << 8, inverse = (size_t)p[2] | (size_t)p[3] << 8;
    if ((n ^ inverse) != 0xffff) return INFLATE_BROKEN;
    left -= at + 4;
    size_t room = (size_t)(f->limit - f->out), some = n < left ? n : left;
    if (some > room) some = room;
    memcpy(f->out, p + 4, some);
    f->out += some;
    if (some < n) return some < left ? INFLATE_FULL : INFLATE_BROKEN;
    read_at(f, at + 4 + n);
    return INFLATE_DONE;
}

static int block(git_inflater *f, unsigned kind)
{
    if (kind == 0) return stored_block(f);
    if (kind == 1) return coded_block(f, &f->fixed);
    return kind == 2 && dynamic_codes(f) ? coded_block(f, &f->dynamic) : INFLATE_BROKEN;
}

/* ---- the stream -------------------------------------------------------------------------- */

static int blocks(git_inflater *f)
{
    for (bool last = false; !last;) {
        if (!refill(f)) return INFLATE_BROKEN;
        last = take(f, 1);
        int rc = block(f, take(f, 2));
        if (rc != INFLATE_DONE) return rc;
    }
    return INFLATE_DONE;
}

static bool checksum_fits(const git_inflater *f)
{
    size_t at = (size_t)((taken(f) + 7) / 8), n = (size_t)(f->input_end - f->input);
    if (at > n || n - at < 4) return false;
    const uint8_t *p = f->input + at;
    uint32_t told = (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
    return told == git_adler(f->begin, (size_t)(f->out - f->begin));
}

/* ---- the inflater ------------------------------------------------------------------------ */

static void name_symbols(git_inflater *f)
{
    static const uint16_t base[29] = {3,  4,  5,  6,   7,   8,   9,   10,  11, 13,
                                      15, 17, 19, 23,  27,  31,  35,  43,  51, 59,
                                      67, 83, 99, 115, 131, 163, 195, 227, 258};
    static const uint8_t more[29] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2,
                                     2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};
    for (unsigned k = 0; k < 256; k++) f->literal[k] = k << 16 | INFLATE_LITERAL;
    f->literal[256] = INFLATE_END;
    for (unsigned k = 0; k < 29; k++) f->literal[257 + k] = (uint32_t)base[k] << 16 | more[k];
    f->literal[286] = f->literal[287] = INFLATE_BAD;
    /* 1, 2, 3, 4, 5, 7, 9, 13, ...: two to each number of bits that follow */
    for (unsigned k = 0; k < 30; k++) {
        unsigned bits = k < 4 ? 0 : k / 2 - 1;
        f->distance[k] = ((k < 4 ? k : (2 + (k & 1)) << bits) + 1) << 16 | bits;
    }
    f->distance[30] = f->distance[31] = INFLATE_BAD;
    for (unsigned k = 0; k < INFLATE_LENGTHS; k++) f->length[k] = k << 16;
}

git_inflater *git_inflater_create(void)
{
    uint8_t length[INFLATE_LITERALS + INFLATE_DISTANCES];
    git_inflater *f = hpc_alloc(1, sizeof *f);
    if (!f) return NULL;
    memset(length, 8, INFLATE_LITERALS);
    memset(length + 144, 9, 112);
    memset(length + 256, 7, 24);
    memset(length + INFLATE_LITERALS, 5, INFLATE_DISTANCES);
    name_symbols(f);
    make_tables(f, &f->fixed, length, INFLATE_LITERALS, INFLATE_DISTANCES);
    return f;
}

void git_inflater_free(git_inflater *f)
{
    hpc_free(f);
}

int git_inflate(uint8_t *out, size_t *n, git_inflater *f, const uint8_t *in, size_t in_n)
{
    size_t room = *n;
    *n = 0;
    if (in_n < 2 || (in[0] & 15) != 8 || in[0] >> 4 > 7 || (in[1] & 0x20) ||
        (in[0] << 8 | in[1]) % 31 != 0)
        return GIT_INFLATE_BROKEN;
    f->out = f->begin = out;
    f->limit = out + room;
    f->input = in;
    f->input_end = in + in_n;
    read_at(f, 2);
    int rc = blocks(f);
    if (rc == INFLATE_DONE && !checksum_fits(f)) rc = INFLATE_BROKEN;
    *n = (size_t)(f->out - out);
    if (*n > room) *n = room;
    return rc == INFLATE_DONE   ? GIT_INFLATED
           : rc == INFLATE_FULL ? GIT_INFLATE_FULL
                                : GIT_INFLATE_BROKEN;
}
