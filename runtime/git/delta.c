/*
 * delta.c: applying a delta, a list of copies from a base object and insertions.
 *
 * Input is untrusted: a delta that reads outside of its base or does not fill its
 * result exactly is an error.
 */
#include <string.h>

#include "runtime/git/priv.h"

/* Seven bits to a byte, the lowest first. */
static bool read_size(size_t *out, const uint8_t **p, const uint8_t *end)
{
    uint64_t value = 0;
    for (int shift = 0; *p < end && shift < 56; shift += 7) {
        uint8_t byte = *(*p)++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte & 0x80) continue;
        *out = (size_t)value;
        return true;
    }
    return false;
}

bool git_delta_sizes(size_t *base_n, size_t *n, size_t *at, const uint8_t *delta, size_t delta_n)
{
    const uint8_t *p = delta, *end = delta + delta_n;
    if (!read_size(base_n, &p, end) || !read_size(n, &p, end)) return false;
    *at = (size_t)(p - delta);
    return true;
}

/* A little-endian number of which zero bytes are left out; bit k of `which`: byte k is there. */
static bool read_sparse(size_t *out, const uint8_t **p, const uint8_t *end, unsigned which)
{
    size_t value = 0;
    for (int shift = 0; which; shift += 8, which >>= 1) {
        if (!(which & 1)) continue;
        if (*p == end) return false;
        value |= (size_t) * (*p)++ << shift;
    }
    *out = value;
    return true;
}

/* With the slack of both sides, for most are short. */
static void copy(uint8_t *to, const uint8_t *from, size_t n)
{
    const uint8_t *end = to + n;
    do {
        memcpy(to, from, 32);
        to += 32;
        from += 32;
    } while (to < end);
}

bool git_delta_apply(uint8_t *out, size_t n, const uint8_t *base, size_t base_n,
                     const uint8_t *delta, size_t delta_n)
{
    const uint8_t *p = delta, *const end = delta + delta_n;
    uint8_t *const stop = out + n;
    while (p < end) {
        uint8_t op = *p++;
        if (op & 0x80) {
            size_t from, some;
            if (!read_sparse(&from, &p, end, op & 15) || !read_sparse(&some, &p, end, op >> 4 & 7))
                return false;
            if (some == 0) some = 0x10000;
            if (from > base_n || some > base_n - from || some > (size_t)(stop - out)) return false;
            copy(out, base + from, some);
            out += some;
        } else {
            if (op == 0 || op > (size_t)(end - p) || op > (size_t)(stop - out)) return false;
            copy(out, p, op);
            p += op;
            out += op;
        }
    }
    return out == stop;
}
