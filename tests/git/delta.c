/*
 * Tests of runtime/git/delta.c: results of deltas, and rejection of invalid ones.
 */
/* tsan: left out, starts no thread. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "runtime/git/priv.h"

enum { BASE = 200000, MOST = 400000, GUARD = 64 };

typedef struct maker {
    uint8_t base[BASE + GIT_SLACK], text[MOST];
    hpc_buf delta;
    size_t n;
    uint64_t seed;
} maker;

static size_t drawn(maker *m, size_t below)
{
    m->seed = m->seed * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (size_t)(m->seed >> 33) % below;
}

static void put_byte(maker *m, size_t value)
{
    uint8_t byte = (uint8_t)value;
    assert_int_equal(hpc_buf_add(&m->delta, &byte, 1), 0);
}

static void put_size(maker *m, size_t n)
{
    for (; n > 127; n >>= 7) put_byte(m, 128 | n);
    put_byte(m, n);
}

static void put_copy(maker *m, size_t from, size_t n)
{
    uint8_t part[7];
    int k = 0;
    size_t op = 128, some = n == 0x10000 ? 0 : n;
    for (int i = 0; i < 4; i++)
        if (from >> 8 * i & 255) op |= (size_t)1 << i, part[k++] = (uint8_t)(from >> 8 * i);
    for (int i = 0; i < 3; i++)
        if (some >> 8 * i & 255) op |= (size_t)16 << i, part[k++] = (uint8_t)(some >> 8 * i);
    put_byte(m, op);
    for (int i = 0; i < k; i++) put_byte(m, part[i]);
    if (from + n <= BASE && m->n + n <= MOST) memcpy(m->text + m->n, m->base + from, n);
    m->n += n;
}

static void put_insert(maker *m, size_t n)
{
    put_byte(m, n);
    for (; n > 0; n--) {
        m->text[m->n] = (uint8_t)drawn(m, 256);
        put_byte(m, m->text[m->n++]);
    }
}

static maker *begun(uint64_t seed)
{
    maker *m = calloc(1, sizeof *m);
    assert_non_null(m);
    m->seed = seed;
    for (size_t k = 0; k < BASE; k++) m->base[k] = (uint8_t)drawn(m, 256);
    return m;
}

static void restart(maker *m)
{
    m->delta.n = 0;
    m->n = 0;
}

static void ended(maker *m)
{
    hpc_buf_release(&m->delta);
    free(m);
}

/* To memory that is guarded, from memory that ends with its slack. */
static bool makes(maker *m, size_t n, size_t base_n, size_t delta_n)
{
    uint8_t *out = malloc(n + GIT_SLACK + GUARD), *base = malloc(base_n + GIT_SLACK),
            *delta = malloc(delta_n + GIT_SLACK);
    assert_true(out && base && delta);
    memset(out, 0xa5, n + GIT_SLACK + GUARD);
    memcpy(base, m->base, base_n + GIT_SLACK);
    memset(delta, 1, delta_n + GIT_SLACK);
    if (delta_n > 0) memcpy(delta, m->delta.data, delta_n);
    bool made = git_delta_apply(out, n, base, base_n, delta, delta_n);
    for (size_t k = n + GIT_SLACK; k < n + GIT_SLACK + GUARD; k++) assert_int_equal(out[k], 0xa5);
    if (made && m->n > 0) assert_memory_equal(out, m->text, n);
    free(out);
    free(base);
    free(delta);
    return made;
}

static void draw(maker *m)
{
    restart(m);
    for (size_t ops = 1 + drawn(m, 12); ops > 0; ops--) {
        size_t n = drawn(m, 3) ? 1 + drawn(m, 100) : drawn(m, 30) ? 1 + drawn(m, 5000) : 0x10000;
        if (m->n + n > MOST) break;
        if (drawn(m, 2) && n < 128)
            put_insert(m, n);
        else
            put_copy(m, drawn(m, BASE - n + 1), n);
    }
}

static void anything_is_made(void **state)
{
    (void)state;
    maker *m = begun(1);
    for (int k = 0; k < 3000; k++) {
        draw(m);
        assert_true(makes(m, m->n, BASE, m->delta.n));
        assert_false(makes(m, m->n + 1, BASE, m->delta.n)); /* must be filled, */
        assert_false(makes(m, m->n - 1, BASE, m->delta.n)); /* and not more */
    }
    ended(m);
}

static void cuts_and_changes_stay_inside(void **state)
{
    (void)state;
    maker *m = begun(2);
    for (int k = 0; k < 300; k++) {
        draw(m);
        for (size_t n = 0; n < m->delta.n && n < 60; n++) assert_false(makes(m, m->n, BASE, n));
        for (int i = 0; i < 20; i++) {
            size_t at = drawn(m, m->delta.n), n = m->n;
            char was = m->delta.data[at];
            m->delta.data[at] ^= (char)(1 + drawn(m, 255));
            m->n = 0; /* whatever is made */
            makes(m, n, BASE, m->delta.n);
            m->n = n;
            m->delta.data[at] = was;
        }
    }
    ended(m);
}

static void what_none_may_do(void **state)
{
    (void)state;
    maker *m = begun(3);
    put_copy(m, 90, 10);
    assert_true(makes(m, 10, 100, m->delta.n));
    assert_false(makes(m, 10, 99, m->delta.n)); /* past the end of the base */
    restart(m);
    put_copy(m, 101, 1);
    assert_false(makes(m, 1, 100, m->delta.n));
    restart(m);
    put_copy(m, 0xffffffff, 0xffffff);
    assert_false(makes(m, 100, BASE, m->delta.n));
    restart(m);
    put_insert(m, 5);
    assert_false(makes(m, 5, 10, m->delta.n - 1));
    restart(m);
    put_byte(m, 0); /* reserved */
    assert_false(makes(m, 0, 10, 1));
    assert_true(makes(m, 0, 0, 0));
    ended(m);
}

static void sizes(void **state)
{
    (void)state;
    static const size_t form[] = {0, 1, 127, 128, 16383, 16384, (size_t)1 << 40};
    maker *m = begun(4);
    size_t base_n, n, at;
    for (size_t k = 0; k < sizeof form / sizeof *form; k++) {
        restart(m);
        put_size(m, form[k]);
        put_size(m, k);
        const uint8_t *p = (const uint8_t *)m->delta.data;
        assert_true(git_delta_sizes(&base_n, &n, &at, p, m->delta.n));
        assert_int_equal(base_n, form[k]);
        assert_int_equal(n, k);
        assert_int_equal(at, m->delta.n);
        for (size_t cut = 0; cut < at; cut++)
            assert_false(git_delta_sizes(&base_n, &n, &at, p, cut));
    }
    restart(m);
    for (int k = 0; k < 12; k++) put_byte(m, 0xff);
    put_byte(m, 0);
    put_byte(m, 0);
    assert_false(git_delta_sizes(&base_n, &n, &at, (uint8_t *)m->delta.data, m->delta.n));
    ended(m);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(anything_is_made),
        cmocka_unit_test(cuts_and_changes_stay_inside),
        cmocka_unit_test(what_none_may_do),
        cmocka_unit_test(sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
