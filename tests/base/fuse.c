/* fuse.c: a map gives every key its value, others an accident, and survives what it cannot have. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/base/fuse.h"
#include "tests/support/fault.h"

static int setup(void **state)
{
    (void)state;
    hpc_error_clear();
    hpc_test_fault_reset();
    return 0;
}

static void make_keys(uint64_t *key, int64_t n, uint64_t first)
{
    for (int64_t i = 0; i < n; i++) key[i] = hpc_mix(first + (uint64_t)i);
}

static bool has(const hpc_fuse *f, uint64_t key)
{
    hpc_fuse_at p = hpc_fuse_place(f, key);
    return hpc_fuse_wide(f, &p) == 0;
}

static void set_has_its_keys(void **state)
{
    (void)state;
    static const int64_t size[] = {1, 2, 3, 4, 7, 10, 31, 100, 1000, 4097, 30000, 300000};
    uint64_t *key = malloc(300000 * sizeof *key);
    for (size_t k = 0; k < sizeof size / sizeof *size; k++) {
        hpc_buf out = {0}, again = {0};
        hpc_fuse f = {0}, g = {0};
        make_keys(key, size[k], 1000 * k);
        assert_int_equal(hpc_fuse_build(&f, &out, key, NULL, size[k], 2), 0);
        f.slots = (const uint8_t *)out.data;
        assert_int_equal(out.n, 2 * hpc_fuse_slots(&f));
        for (int64_t i = 0; i < size[k]; i++) assert_true(has(&f, key[i]));
        if (size[k] >= 30000) assert_true((double)out.n * 8 / (double)size[k] < 19.5);
        assert_int_equal(hpc_fuse_build(&g, &again, key, NULL, size[k], 2), 0);
        assert_int_equal(out.n, again.n);
        assert_memory_equal(out.data, again.data, out.n);
        hpc_buf_release(&out);
        hpc_buf_release(&again);
    }
    free(key);
}

static void set_has_little_else(void **state)
{
    (void)state;
    enum { N = 50000, ASKED = 2000000 };
    uint64_t *key = malloc(N * sizeof *key);
    hpc_buf out = {0};
    hpc_fuse f = {0};
    int64_t found = 0;
    make_keys(key, N, 0);
    assert_int_equal(hpc_fuse_build(&f, &out, key, NULL, N, 2), 0);
    f.slots = (const uint8_t *)out.data;
    for (uint64_t i = 0; i < ASKED; i++) found += has(&f, hpc_mix(UINT64_C(1) << 40 | i));
    assert_in_range(found, ASKED >> 17, ASKED >> 15); /* 2^-16 of them are expected */
    key[1] = key[0];
    assert_int_equal(hpc_fuse_build(&f, &out, key, NULL, N, 2), HPC_E_STATE);
    hpc_error_clear();
    hpc_buf_release(&out);
    free(key);
}

/* Every key its value, of slots of one byte and of two; of other keys each value as often as the
 * next. */
static void map_has_its_values(void **state)
{
    (void)state;
    enum { N = 30000, ASKED = 1 << 20 };
    static int64_t seen[256];
    uint64_t *key = malloc(N * sizeof *key);
    uint16_t *value = malloc(N * sizeof *value);
    make_keys(key, N, 7);
    for (int64_t i = 0; i < N; i++) value[i] = (uint16_t)(hpc_mix((uint64_t)i) % 60000);
    for (int width = 1; width <= 2; width++) {
        hpc_buf out = {0};
        hpc_fuse f = {0};
        assert_int_equal(hpc_fuse_build(&f, &out, key, value, N, width), 0);
        f.slots = (const uint8_t *)out.data;
        assert_int_equal(out.n, (uint64_t)width * hpc_fuse_slots(&f));
        assert_true((double)out.n < 1.2 * width * N);
        for (int64_t i = 0; i < N; i++) {
            hpc_fuse_at p = hpc_fuse_place(&f, key[i]);
            if (width == 2)
                assert_int_equal(hpc_fuse_wide(&f, &p), value[i]);
            else
                assert_int_equal(hpc_fuse_narrow(&f, &p), value[i] & 255);
        }
        for (uint64_t i = 0; width == 1 && i < ASKED; i++) {
            hpc_fuse_at p = hpc_fuse_place(&f, hpc_mix(UINT64_C(1) << 40 | i));
            seen[hpc_fuse_narrow(&f, &p)]++;
        }
        hpc_buf_release(&out);
    }
    /* 4096 each; the standard deviation is 64, and what is stored is not quite even. */
    for (int v = 0; v < 256; v++) assert_in_range(seen[v], 3400, 4800);
    free(value);
    free(key);
}

static int build_map(void *user)
{
    hpc_fuse f = {0};
    hpc_buf out = {0};
    uint16_t value[5000] = {1, 2};
    int rc = hpc_fuse_build(&f, &out, user, value, 5000, 1);
    hpc_buf_release(&out);
    return rc;
}

static void map_without_memory(void **state)
{
    (void)state;
    uint64_t *key = malloc(5000 * sizeof *key);
    make_keys(key, 5000, 0);
    assert_true(hpc_test_each_alloc(build_map, key) >= 7);
    free(key);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(set_has_its_keys, setup),
        cmocka_unit_test_setup(set_has_little_else, setup),
        cmocka_unit_test_setup(map_has_its_values, setup),
        cmocka_unit_test_setup(map_without_memory, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
