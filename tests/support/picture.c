/*
 * picture.c: see picture.h.
 */
#include "tests/support/picture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/git/priv.h"

typedef struct png {
    const uint8_t *at, *end;
    hpc_buf packed, palette;
    int channels, width, height;
} png;

static uint32_t number(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static void read_header(png *p, const uint8_t *data)
{
    static const int channels[] = {[0] = 1, [2] = 3, [3] = 1, [4] = 2, [6] = 4};
    p->width = (int)number(data);
    p->height = (int)number(data + 4);
    assert_int_equal(data[8], 8); /* bits */
    assert_int_equal(data[12], 0);
    assert_in_range(data[9], 0, 6);
    p->channels = channels[data[9]];
    assert_in_range(p->channels, 1, 4);
}

static void read_chunks(png *p)
{
    for (bool more = true; more; p->at += 12 + number(p->at)) {
        assert_true(p->end - p->at >= 12 && number(p->at) <= (size_t)(p->end - p->at) - 12);
        const uint8_t *name = p->at + 4, *data = p->at + 8;
        size_t n = number(p->at);
        if (memcmp(name, "IHDR", 4) == 0) read_header(p, data);
        if (memcmp(name, "PLTE", 4) == 0) hpc_buf_add(&p->palette, data, n);
        if (memcmp(name, "IDAT", 4) == 0) hpc_buf_add(&p->packed, data, n);
        more = memcmp(name, "IEND", 4) != 0;
    }
    assert_true(p->at == p->end);
}

static int nearest(int a, int b, int c)
{
    int p = a + b - c, x = abs(p - a), y = abs(p - b), z = abs(p - c);
    return x <= y && x <= z ? a : y <= z ? b : c;
}

/* The first byte of a row selects its filter, which adds pixels to the left, above, and both. */
static void unfilter(uint8_t *row, const uint8_t *above, size_t n, int filter, int step)
{
    for (size_t k = 0; k < n; k++) {
        int a = k >= (size_t)step ? row[k - (size_t)step] : 0, b = above ? above[k] : 0;
        int c = above && k >= (size_t)step ? above[k - (size_t)step] : 0;
        int add[] = {0, a, b, (a + b) / 2, nearest(a, b, c)};
        row[k] = (uint8_t)(row[k] + add[filter]);
    }
}

static void unpack(hpc_test_picture *out, const png *p, uint8_t *all)
{
    size_t n = (size_t)p->width * (size_t)p->channels;
    for (int y = 0; y < p->height; y++) {
        uint8_t *row = all + (size_t)y * (n + 1);
        assert_in_range(row[0], 0, 4);
        unfilter(row + 1, y ? row - n : NULL, n, row[0], p->channels);
        for (int x = 0; x < p->width; x++) {
            const uint8_t *v = row + 1 + (size_t)x * (size_t)p->channels;
            uint8_t *to = out->rgb + 3 * ((size_t)y * (size_t)p->width + (size_t)x);
            if (p->palette.n) v = (const uint8_t *)p->palette.data + 3 * v[0];
            for (int k = 0; k < 3; k++) to[k] = v[p->palette.n || p->channels >= 3 ? k : 0];
        }
    }
}

void hpc_test_picture_read(hpc_test_picture *out, const void *data, size_t bytes)
{
    png p = {.at = (const uint8_t *)data + 8, .end = (const uint8_t *)data + bytes};
    assert_true(bytes > 8 && memcmp(data, "\x89PNG\r\n\x1a\n", 8) == 0);
    read_chunks(&p);
    *out = (hpc_test_picture){.width = p.width, .height = p.height};
    assert_true(p.width > 0 && p.height > 0 && p.width < 20000 && p.height < 20000);
    size_t all = (size_t)p.height * ((size_t)p.width * (size_t)p.channels + 1), n = all;
    uint8_t *raw = hpc_alloc(all + GIT_SLACK, 1);
    git_inflater *f = git_inflater_create();
    out->rgb = hpc_alloc((size_t)p.width * (size_t)p.height, 3);
    assert_true(raw && f && out->rgb);
    int rc = git_inflate(raw, &n, f, (const uint8_t *)p.packed.data, p.packed.n);
    assert_int_equal(rc, GIT_INFLATED);
    assert_int_equal(n, all);
    unpack(out, &p, raw);
    git_inflater_free(f);
    hpc_free(raw);
    hpc_buf_release(&p.packed);
    hpc_buf_release(&p.palette);
}

int64_t hpc_test_picture_count(const hpc_test_picture *p, uint32_t colour, int off)
{
    int64_t n = 0;
    for (size_t k = 0; k < (size_t)p->width * (size_t)p->height; k++) {
        const uint8_t *v = p->rgb + 3 * k;
        n += abs(v[0] - (int)(colour >> 16)) <= off &&
             abs(v[1] - (int)(colour >> 8 & 255)) <= off && abs(v[2] - (int)(colour & 255)) <= off;
    }
    return n;
}
