/*
 * Tests of runtime/source/diff.c: edits transform one text into the other and are minimal,
 * compared with dynamic programming; long ones take bounded time.
 */
/* tsan: left out, starts no thread. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/source/diff.h"
#include "tests/support/fault.h"

/* Elements in edits, after it was seen that they are edits. */
static int64_t checked(const hpc_edits *e, const uint64_t *a, int64_t a_n, const uint64_t *b,
                       int64_t b_n)
{
    int64_t i = 0, j = 0, size = 0;
    for (int64_t k = 0; k <= e->n; k++) {
        hpc_edit end = {a_n, 0, b_n, 0}, x = k < e->n ? e->item[k] : end;
        assert_true(x.base_at - i == x.head_at - j && x.base_at >= i);
        if (k > 0 && k < e->n) assert_true(x.base_at > i);
        if (k < e->n) assert_true(x.base_n + x.head_n > 0);
        for (; i < x.base_at; i++, j++) assert_true(a[i] == b[j]);
        i += x.base_n;
        j += x.head_n;
        size += x.base_n + x.head_n;
    }
    assert_int_equal(i, a_n);
    assert_int_equal(j, b_n);
    return size;
}

static int64_t shortest(const uint64_t *a, int64_t a_n, const uint64_t *b, int64_t b_n)
{
    static int64_t common[65][65];
    for (int64_t i = a_n; i >= 0; i--)
        for (int64_t j = b_n; j >= 0; j--) {
            int64_t *at = &common[i][j];
            if (i == a_n || j == b_n)
                *at = 0;
            else if (a[i] == b[j])
                *at = 1 + common[i + 1][j + 1];
            else
                *at = common[i + 1][j] > common[i][j + 1] ? common[i + 1][j] : common[i][j + 1];
        }
    return a_n + b_n - 2 * common[0][0];
}

static void the_shortest(void **state)
{
    (void)state;
    hpc_edits e = {0};
    uint64_t a[64], b[64];
    int64_t changed = 0;
    for (uint32_t round = 0; round < 4000; round++) {
        int64_t a_n = hpc_random_bits(1, round, 0, 0) % 65,
                b_n = hpc_random_bits(1, round, 0, 1) % 65;
        uint32_t letters = 1 + hpc_random_bits(1, round, 0, 2) % 12;
        bool near = round % 2; /* b is a with a few letters changed */
        if (near) b_n = a_n;
        for (int64_t i = 0; i < a_n; i++) a[i] = hpc_random_bits(1, round, 1, i) % letters;
        for (int64_t i = 0; i < b_n; i++) {
            uint32_t r = hpc_random_bits(1, round, 2, i);
            b[i] = near && r % 8 ? a[i] : (r >> 8) % letters;
        }
        assert_int_equal(hpc_diff(&e, a, a_n, b, b_n), 0);
        int64_t size = checked(&e, a, a_n, b, b_n);
        assert_int_equal(size, shortest(a, a_n, b, b_n));
        changed += size > 0;
    }
    assert_true(changed > 3000);
    hpc_edits_release(&e);
}

static void nothing(void **state)
{
    (void)state;
    hpc_edits e = {0};
    const uint64_t a[] = {1, 2, 3};
    assert_int_equal(hpc_diff(&e, a, 3, a, 3), 0);
    assert_int_equal(e.n, 0);
    assert_int_equal(hpc_diff(&e, NULL, 0, a, 3), 0);
    assert_int_equal(e.n, 1);
    assert_int_equal(e.item[0].head_n, 3);
    assert_int_equal(hpc_diff(&e, a, 3, NULL, 0), 0);
    assert_int_equal(e.item[0].base_n, 3);
    hpc_edits_release(&e);
}

/* Where the least would take hours, something is found that is edits all the same. */
static void long_ones(void **state)
{
    (void)state;
    enum { N = 200000 };
    hpc_edits e = {0};
    uint64_t *a = malloc(N * sizeof *a), *b = malloc(N * sizeof *b);
    assert_true(a && b);
    for (int64_t i = 0; i < N; i++) {
        a[i] = hpc_random_bits(2, 0, 0, i) % 3;
        b[i] = hpc_random_bits(2, 0, 1, i) % 3;
    }
    assert_int_equal(hpc_diff(&e, a, N, b, N), 0);
    int64_t size = checked(&e, a, N, b, N);
    assert_true(size > 0 && size < 2 * N);
    memcpy(b, a, N * sizeof *a);
    for (int64_t i = 0; i < N; i += 1000) b[i] = 7;
    assert_int_equal(hpc_diff(&e, a, N, b, N), 0);
    assert_int_equal(checked(&e, a, N, b, N), 2 * N / 1000);
    free(a);
    free(b);
    hpc_edits_release(&e);
}

static int differ(void *user)
{
    const uint64_t a[] = {1, 2, 3, 4, 5, 6, 7}, b[] = {1, 3, 9, 5, 8, 6, 7, 2};
    hpc_edits e = {0};
    (void)user;
    int rc = hpc_diff(&e, a, 7, b, 8);
    hpc_edits_release(&e);
    return rc;
}

static void without_memory(void **state)
{
    (void)state;
    assert_true(hpc_test_each_alloc(differ, NULL) >= 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_shortest),
        cmocka_unit_test(nothing),
        cmocka_unit_test(long_ones),
        cmocka_unit_test(without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
