/*
 * fuse.c: a map gives every key its value and other keys a random one; allocation failures are
 * reported.
 */
/* tsan: left out, starts no thread. */
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

static const uint8_t pad[HPC_FUSE_PAD] = {0};

static bool has(const hpc_fuse *f, uint64_t key)
{
    hpc_fuse_at p = hpc_fuse_place(f, key);
    return hpc_fuse_value(f, &p) == 0;
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
        assert_int_equal(hpc_fuse_build(&f, &out, key, NULL, size[k], 16), 0);
        assert_int_equal(out.n, 2 * hpc_fuse_slots(&f));
        assert_int_equal(out.n, hpc_fuse_bytes(&f));
        assert_int_equal(hpc_buf_add(&out, pad, sizeof pad), 0);
        f.slots = (const uint8_t *)out.data;
        for (int64_t i = 0; i < size[k]; i++) assert_true(has(&f, key[i]));
        if (size[k] >= 30000) assert_true((double)out.n * 8 / (double)size[k] < 19.5);
        assert_int_equal(hpc_fuse_build(&g, &again, key, NULL, size[k], 16), 0);
        assert_int_equal(out.n, again.n + sizeof pad);
        assert_memory_equal(out.data, again.data, again.n);
        hpc_buf_release(&out);
        hpc_buf_release(&again);
    }
    free(key);
}

/* One foreign key in 2^bits is accepted, within a tenth. */
static void set_accepts_few_foreign_keys(void **state)
{
    (void)state;
    enum { N = 50000, ASKED = 4000000 };
    uint64_t *key = malloc(N * sizeof *key);
    make_keys(key, N, 0);
    for (int bits = 4; bits <= 12; bits += 4) {
        hpc_buf out = {0};
        hpc_fuse f = {0};
        uint64_t found = 0, expected = ASKED >> bits;
        assert_int_equal(hpc_fuse_build(&f, &out, key, NULL, N, bits), 0);
        assert_int_equal(hpc_buf_add(&out, pad, sizeof pad), 0);
        f.slots = (const uint8_t *)out.data;
        for (uint64_t i = 0; i < ASKED; i++) found += has(&f, hpc_mix(UINT64_C(1) << 40 | i));
        assert_in_range(found, expected - expected / 10, expected + expected / 10);
        hpc_buf_release(&out);
    }
    key[1] = key[0];
    hpc_buf out = {0};
    hpc_fuse f = {0};
    assert_int_equal(hpc_fuse_build(&f, &out, key, NULL, N, 16), HPC_E_STATE);
    hpc_error_clear();
    hpc_buf_release(&out);
    free(key);
}

/* Fewer bits keep the low bits of every slot, so a file can be narrowed without its keys. */
static void map_of_any_width_has_its_values(void **state)
{
    (void)state;
    enum { N = 30000 };
    uint64_t *key = malloc(N * sizeof *key);
    uint16_t *value = malloc(N * sizeof *value);
    make_keys(key, N, 7);
    for (int64_t i = 0; i < N; i++) value[i] = (uint16_t)(hpc_mix((uint64_t)i) % 60000);
    for (int bits = 1; bits <= HPC_FUSE_BITS_MOST; bits++) {
        hpc_buf out = {0};
        hpc_fuse f = {0};
        assert_int_equal(hpc_fuse_build(&f, &out, key, value, N, bits), 0);
        assert_int_equal(out.n, hpc_fuse_bytes(&f));
        assert_int_equal(out.n, (hpc_fuse_slots(&f) * (uint64_t)bits + 7) / 8);
        assert_true((double)out.n * 8 < 1.2 * bits * N);
        assert_int_equal(hpc_buf_add(&out, pad, sizeof pad), 0);
        f.slots = (const uint8_t *)out.data;
        for (int64_t i = 0; i < N; i++) {
            hpc_fuse_at p = hpc_fuse_place(&f, key[i]);
            assert_int_equal(hpc_fuse_value(&f, &p), value[i] & ((1 << bits) - 1));
        }
        hpc_buf_release(&out);
    }
    free(value);
    free(key);
}

static void foreign_keys_have_random_values(void **state)
{
    (void)state;
    enum { N = 30000, ASKED = 1 << 20 };
    static int64_t seen[256];
    uint64_t *key = malloc(N * sizeof *key);
    uint16_t *value = malloc(N * sizeof *value);
    hpc_buf out = {0};
    hpc_fuse f = {0};
    make_keys(key, N, 7);
    for (int64_t i = 0; i < N; i++) value[i] = (uint16_t)(hpc_mix((uint64_t)i) % 60000);
    assert_int_equal(hpc_fuse_build(&f, &out, key, value, N, 8), 0);
    assert_int_equal(hpc_buf_add(&out, pad, sizeof pad), 0);
    f.slots = (const uint8_t *)out.data;
    for (uint64_t i = 0; i < ASKED; i++) {
        hpc_fuse_at p = hpc_fuse_place(&f, hpc_mix(UINT64_C(1) << 40 | i));
        seen[hpc_fuse_value(&f, &p)]++;
    }
    /* 4096 each; the standard deviation is 64, and what is stored is not quite even. */
    for (int v = 0; v < 256; v++) assert_in_range(seen[v], 3400, 4800);
    hpc_buf_release(&out);
    free(value);
    free(key);
}

static int build_map(void *user)
{
    hpc_fuse f = {0};
    hpc_buf out = {0};
    uint16_t value[5000] = {1, 2};
    int rc = hpc_fuse_build(&f, &out, user, value, 5000, 7);
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
        cmocka_unit_test_setup(set_accepts_few_foreign_keys, setup),
        cmocka_unit_test_setup(map_of_any_width_has_its_values, setup),
        cmocka_unit_test_setup(foreign_keys_have_random_values, setup),
        cmocka_unit_test_setup(map_without_memory, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
