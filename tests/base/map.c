/*
 * map.c: insertion, replacement, insertion order, growth, unusual keys, failing allocations.
 */
/* tsan: left out, starts no thread. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/base/base.h"
#include "tests/support/fault.h"

static int setup(void **state)
{
    (void)state;
    hpc_error_clear();
    hpc_test_fault_reset();
    return 0;
}

static void puts_and_replaces(void **state)
{
    (void)state;
    hpc_map *m = hpc_map_create();
    uint64_t v = 99;
    assert_false(hpc_map_get(m, "a", 1, &v));
    assert_int_equal(v, 99);
    assert_int_equal(hpc_map_put(m, "a", 1, 1), 0);
    assert_int_equal(hpc_map_put(m, "b", 1, UINT64_MAX), 0);
    assert_int_equal(hpc_map_put(m, "a", 1, 3), 0);
    assert_int_equal(hpc_map_n(m), 2);
    assert_true(hpc_map_get(m, "a", 1, &v));
    assert_int_equal(v, 3);
    assert_true(hpc_map_get(m, "b", 1, &v));
    assert_true(v == UINT64_MAX);
    assert_true(hpc_map_get(m, "b", 1, NULL));
    assert_false(hpc_map_get(m, "ab", 2, &v));
    hpc_map_free(m);
    hpc_map_free(NULL);
}

/* Keys that differ only in length, in a NUL or in the last byte of a word. */
static void keys_are_bytes(void **state)
{
    (void)state;
    hpc_map *m = hpc_map_create();
    char zeros[40] = {0};
    for (size_t n = 0; n <= sizeof zeros; n++) assert_int_equal(hpc_map_put(m, zeros, n, n), 0);
    for (size_t n = 0; n < sizeof zeros; n++) {
        zeros[n] = 1;
        assert_int_equal(hpc_map_put(m, zeros, sizeof zeros, 1000 + n), 0);
        zeros[n] = 0;
    }
    assert_int_equal(hpc_map_n(m), 81);
    uint64_t v;
    for (size_t n = 0; n <= sizeof zeros; n++) {
        assert_true(hpc_map_get(m, zeros, n, &v));
        assert_int_equal(v, n);
    }
    assert_true(hpc_map_get(m, NULL, 0, &v));
    assert_int_equal(v, 0);
    size_t bytes;
    assert_non_null(hpc_map_at(m, 0, &bytes, NULL));
    assert_int_equal(bytes, 0);
    hpc_map_free(m);
}

static void many_keys_in_order(void **state)
{
    (void)state;
    enum { N = 50000 };
    hpc_map *m = hpc_map_create();
    char key[40];
    for (int i = 0; i < N; i++) {
        int n = snprintf(key, sizeof key, "model.layers.%d.weight", i);
        assert_int_equal(hpc_map_put(m, key, (size_t)n, (uint64_t)i * 7), 0);
    }
    memset(key, 0, sizeof key);
    assert_int_equal(hpc_map_n(m), N);
    for (int i = 0; i < N; i++) {
        size_t bytes;
        uint64_t v, found;
        const char *at = hpc_map_at(m, i, &bytes, &v);
        int n = snprintf(key, sizeof key, "model.layers.%d.weight", i);
        assert_int_equal(bytes, n);
        assert_memory_equal(at, key, bytes);
        assert_int_equal(v, (uint64_t)i * 7);
        assert_true(hpc_map_get(m, key, bytes, &found));
        assert_int_equal(found, v);
        key[0] = 'M';
        assert_false(hpc_map_get(m, key, bytes, NULL));
    }
    assert_null(hpc_map_at(m, -1, NULL, NULL));
    assert_null(hpc_map_at(m, N, NULL, NULL));
    hpc_map_free(m);
}

/* Integer keys whose entropy lies in a few bits, low or high: a hash that looks at others
 * only would make this quadratic. */
static void regular_keys_spread(void **state)
{
    (void)state;
    hpc_map *m = hpc_map_create();
    for (int shift = 0; shift <= 48; shift += 16) {
        for (uint64_t i = 1; i < 65536; i++) {
            uint64_t key = i << shift;
            assert_int_equal(hpc_map_put(m, &key, sizeof key, i), 0);
        }
    }
    assert_int_equal(hpc_map_n(m), 4 * 65535);
    hpc_map_free(m);
}

static int fill(void *user)
{
    (void)user;
    int rc = HPC_E_NOMEM;
    char key[300] = "";
    hpc_map *m = hpc_map_create();
    if (!m) goto out;
    for (int i = 0; i < 200; i++) {
        memset(key, 'a' + i % 26, sizeof key);
        TRY(hpc_map_put(m, key, (size_t)(i + 1), (uint64_t)i));
    }
    rc = 0;
out:
    hpc_map_free(m);
    return rc;
}

static void every_allocation_fails_in_turn(void **state)
{
    (void)state;
    assert_in_range(hpc_test_each_alloc(fill, NULL), 10, 60);
}

/* A failed put leaves the map as it was; repeating it succeeds. */
static void a_failure_changes_nothing(void **state)
{
    (void)state;
    hpc_map *m = hpc_map_create();
    char key[100] = {0};
    int failures = 0;
    for (int i = 0; i < 500; i++) {
        key[0] = (char)(i & 0xff);
        key[1] = (char)(i >> 8);
        for (int nth = 1;; nth++) {
            hpc_test_fail_alloc(nth);
            int rc = hpc_map_put(m, key, sizeof key, (uint64_t)i);
            hpc_test_fail_alloc(0);
            if (rc == 0) break;
            assert_int_equal(rc, HPC_E_NOMEM);
            assert_int_equal(hpc_map_n(m), i);
            assert_false(hpc_map_get(m, key, sizeof key, NULL));
            failures++;
            hpc_error_clear();
        }
        assert_int_equal(hpc_map_n(m), i + 1);
        for (int j = 0; j <= i; j += 17) {
            uint64_t v;
            char old[100] = {(char)(j & 0xff), (char)(j >> 8)};
            assert_true(hpc_map_get(m, old, sizeof old, &v));
            assert_int_equal(v, j);
        }
    }
    assert_true(failures > 10);
    hpc_map_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(puts_and_replaces, setup),
        cmocka_unit_test_setup(keys_are_bytes, setup),
        cmocka_unit_test_setup(many_keys_in_order, setup),
        cmocka_unit_test_setup(regular_keys_spread, setup),
        cmocka_unit_test_setup(every_allocation_fails_in_turn, setup),
        cmocka_unit_test_setup(a_failure_changes_nothing, setup),
    };
    return cmocka_run_group_tests_name("base/map", tests, NULL, NULL);
}
