/*
 * Fuzz target: any bytes as a zlib stream, and its output, or the bytes themselves, as a delta.
 *
 * The checksum would reject every mutation, so output is used even if it is wrong. Buffers have
 * exactly the size of the contract.
 */
#include <stdlib.h>
#include <string.h>

#include "runtime/git/priv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static uint8_t *copied(const uint8_t *data, size_t n, size_t slack)
{
    uint8_t *copy = calloc(1, n + slack);
    if (!copy) abort();
    if (n > 0) memcpy(copy, data, n);
    return copy;
}

/* The same again, and with a byte too little. */
static void inflate_again(git_inflater *f, const uint8_t *in, size_t in_n, const uint8_t *text,
                          size_t n)
{
    uint8_t *out = copied(NULL, 0, n + GIT_SLACK);
    size_t again = n;
    if (git_inflate(out, &again, f, in, in_n) != GIT_INFLATED || again != n) abort();
    if (memcmp(out, text, n) != 0) abort();
    if (n > 0) {
        again = n - 1;
        if (git_inflate(out, &again, f, in, in_n) != GIT_INFLATE_FULL || again != n - 1) abort();
        if (memcmp(out, text, again) != 0) abort();
    }
    free(out);
}

static void apply(const uint8_t *delta, size_t n, const uint8_t *base, size_t base_n)
{
    size_t told, made, at;
    uint8_t *delta_copy = copied(delta, n, GIT_SLACK), *base_copy = copied(base, base_n, GIT_SLACK);
    if (git_delta_sizes(&told, &made, &at, delta_copy, n) && made < 1 << 20) {
        uint8_t *out = copied(NULL, 0, made + GIT_SLACK);
        git_delta_apply(out, made, base_copy, base_n, delta_copy + at, n - at);
        free(out);
    }
    free(delta_copy);
    free(base_copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    if (n < 2) return 0;
    size_t room = (size_t)(data[0] | data[1] << 8), out_n = room;
    data += 2;
    n -= 2;
    uint8_t *in = malloc(n + 2), *out = copied(NULL, 0, room + GIT_SLACK);
    git_inflater *f = git_inflater_create();
    if (!in || !f) abort();
    memcpy(in, "\x78\x01", 2);
    memcpy(in + 2, data, n);
    int rc = git_inflate(out, &out_n, f, in, n + 2);
    if (out_n > room || (rc == GIT_INFLATE_FULL && out_n != room)) abort();
    if (rc == GIT_INFLATED) inflate_again(f, in, n + 2, out, out_n);
    apply(out, out_n, data, n);
    apply(data, n, out, out_n);
    git_inflater_free(f);
    free(out);
    free(in);
    return 0;
}
