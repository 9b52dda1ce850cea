/*
 * probe.c: the probes perform the operations that they count: their sums are right on every
 * instruction set of this CPU.
 */
/* tsan: left out, starts no thread. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "runtime/device/cpu/probe.h"
#include "runtime/device/device.h"

enum {
    FLOATS = HPC_PROBE_STATE / 4,
    TILE = 256
}; /* TILE: sums of a tile of AMX, each of 16 words of a row */

static const hpc_cpu_probe *find(const char *isa)
{
    const hpc_cpu_probe *p = NULL;
    assert_int_equal(hpc_cpu_probe_find(&p, isa), HPC_OK);
    assert_non_null(p);
    return p;
}

/* x <- x / 2 + 1/2, from 0.5: after n rounds 1 - 2^-(n+1). The operands follow the chains. */
static void multiply_adds_are_done(void **state)
{
    (void)state;
    for (const char *const *isa = hpc_device_isas(); *isa; isa++) {
        _Alignas(HPC_ALIGN) float x[FLOATS];
        const hpc_cpu_probe *p = find(*isa);
        int64_t lanes = (int64_t)(p->f32.operations / 2);
        for (int k = 0; k < FLOATS; k++) x[k] = 0.5f;
        p->f32.run(x, 3);
        assert_true(lanes > 0 && lanes < FLOATS);
        for (int64_t k = 0; k < lanes; k++) assert_true(x[k] == 0.9375f);
        for (int64_t k = lanes; k < FLOATS; k++) assert_true(x[k] == 0.5f);
        p->f32.run(x, 0);
        assert_true(x[0] == 0.9375f);
    }
}

/* Pairs of bf16 (1, 2), or of integers where bf16 is multiplied as these, squared and summed: each
 * round adds 5 to every sum. */
static void dot_products_are_done(void **state)
{
    (void)state;
    for (const char *const *isa = hpc_device_isas(); *isa; isa++) {
        _Alignas(HPC_ALIGN) float x[FLOATS];
        const hpc_cpu_probe *p = find(*isa);
        bool tiles = strcmp(*isa, "amx") == 0, integers = strcmp(*isa, "avx512vnni") == 0;
        bool pairs = tiles || integers || strcmp(*isa, "avx512bf16") == 0;
        assert_int_equal(p->bf16.run != NULL, pairs);
        if (!pairs) continue;
        int64_t lanes = tiles ? TILE : (int64_t)(p->bf16.operations / 4);
        const uint16_t pair[2] = {integers ? 1 : 0x3f80, integers ? 2 : 0x4000};
        for (int k = 0; k < FLOATS; k++) memcpy(&x[k], pair, sizeof pair);
        memset(x, 0, (size_t)lanes * sizeof *x);
        p->bf16.run(x, 4);
        for (int64_t k = 0; k < lanes; k++) {
            int32_t sum;
            memcpy(&sum, &x[k], sizeof sum);
            assert_true(integers ? sum == 20 : x[k] == (tiles ? 16 * 20 : 20));
        }
    }
}

/* Four bytes of 3 times 3 each: 36 a round. */
static void byte_products_are_done(void **state)
{
    (void)state;
    for (const char *const *isa = hpc_device_isas(); *isa; isa++) {
        _Alignas(HPC_ALIGN) int32_t x[FLOATS];
        const hpc_cpu_probe *p = find(*isa);
        bool tiles = strcmp(*isa, "amx") == 0;
        bool vnni = strcmp(*isa, "avx512bf16") == 0 || strcmp(*isa, "avx512vnni") == 0;
        assert_int_equal(p->i8.run != NULL, tiles || vnni || strcmp(*isa, "avx2") == 0);
        if (!p->i8.run) continue;
        int64_t lanes = tiles ? TILE : (int64_t)(p->i8.operations / 8);
        memset(x, 3, sizeof x);
        memset(x, 0, (size_t)lanes * sizeof *x);
        p->i8.run(x, 5);
        for (int64_t k = 0; k < lanes; k++) assert_int_equal(x[k], tiles ? 16 * 180 : 180);
    }
}

static void every_byte_is_read(void **state)
{
    (void)state;
    const size_t words = 2 * HPC_PROBE_BLOCK / 8;
    uint64_t *data = hpc_alloc_aligned(words, 8, HPC_ALIGN), sum = 0;
    assert_non_null(data);
    for (size_t k = 0; k < words; k++) sum += data[k] = (k + 1) * UINT64_C(0x9e3779b97f4a7c15);
    for (const char *const *isa = hpc_device_isas(); *isa; isa++) {
        const hpc_cpu_probe *p = find(*isa);
        assert_true(p->read(data, words * 8) == sum);
        assert_true(p->read(data, 0) == 0);
    }
    hpc_free(data);
}

static void unknown_sets_are_refused(void **state)
{
    (void)state;
    const hpc_cpu_probe *p = NULL;
    assert_int_equal(hpc_cpu_probe_find(&p, "avx9"), HPC_E_UNSUPPORTED);
    assert_non_null(strstr(hpc_error_get()->text, "'avx9'"));
    assert_null(p);
    hpc_error_clear();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(multiply_adds_are_done),   cmocka_unit_test(dot_products_are_done),
        cmocka_unit_test(byte_products_are_done),   cmocka_unit_test(every_byte_is_read),
        cmocka_unit_test(unknown_sets_are_refused),
    };
    return cmocka_run_group_tests_name("device/probe", tests, NULL, NULL);
}
