/*
 * stage.c: writes without a fence: each run sees the values written before it, of any size, and
 * reads fetch the rows that are asked for with one fence.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "runtime/device/kernel/backend.h"
#include "tests/support/values.h"

enum { FEW = 8, MANY = 3 << 18, COLS = 4 }; /* floats: 3 MiB, more than the ring's pieces */

static const char *const both[] = {"cpu", "mock"};

typedef struct adder { /* sum += x, for each run */
    hpc_program *p;
    hpc_device *d;
    hpc_exec *e;
    hpc_value x, sum, rows;
} adder;

static void open_adder(adder *a, const char *backend, int64_t n)
{
    const hpc_type t = hpc_type_of(HPC_F32, 2, (int64_t[]){n / COLS, COLS});
    a->p = hpc_program_create();
    a->x = hpc_program_input(a->p, "x", t);
    a->sum = hpc_program_state(a->p, "sum", t, false);
    hpc_program_segment(a->p, HPC_FORWARD, 0);
    hpc_scale(a->p, a->sum, hpc_binary(a->p, HPC_ADD, a->x, a->x), HPC_NONE, 0.5);
    test_ok(hpc_program_status(a->p));
    test_ok(hpc_device_open(&a->d, &(hpc_device_options){.backend = backend, .threads = 2}));
    test_ok(hpc_exec_open(&a->e, a->p, a->d, NULL, NULL));
}

static void close_adder(adder *a)
{
    hpc_exec_close(a->e);
    hpc_device_close(a->d);
    hpc_program_free(a->p);
}

static int64_t fences(const adder *a)
{
    return hpc_device_about(a->d).fence_n;
}

/* The caller's memory changes right after each write, and no fence comes before the read. */
static void runs_see_the_values_written_before_them(void **state)
{
    static const int64_t size[] = {FEW, MANY};
    (void)state;
    for (int k = 0; k < 4; k++) {
        int64_t n = size[k / 2];
        adder a;
        open_adder(&a, both[k % 2], n);
        float *x = hpc_alloc((size_t)n, sizeof *x);
        const int64_t before = fences(&a);
        assert_non_null(x);
        for (int run = 0; run < 5; run++) {
            for (int64_t i = 0; i < n; i++) x[i] = (float)(run * 7 + i % 1001);
            test_ok(hpc_exec_write(a.e, 0, a.x, x, (size_t)n * sizeof *x));
            memset(x, 0xff, (size_t)n * sizeof *x);
            test_ok(hpc_exec_enqueue(a.e, 0, 0));
        }
        assert_int_equal(fences(&a), before);
        test_ok(hpc_exec_read(a.e, 0, a.sum, x, (size_t)n * sizeof *x));
        assert_int_equal(fences(&a), before + 1);
        for (int64_t i = 0; i < n; i++) assert_true(x[i] == (float)(70 + 5 * (i % 1001)));
        hpc_free(x);
        close_adder(&a);
    }
}

static void parts_and_rows_are_moved_alone(void **state)
{
    (void)state;
    for (int b = 0; b < 2; b++) {
        const float part[COLS] = {1, 2, 3, 4};
        float x[FEW], y[FEW] = {9, 9, 9, 9, 9, 9, 9, 9};
        adder a;
        open_adder(&a, both[b], FEW);
        memset(x, 0, sizeof x);
        test_ok(hpc_exec_write(a.e, 0, a.x, x, sizeof x));
        test_ok(hpc_exec_write_part(a.e, 0, a.x, sizeof part, part, sizeof part));
        test_ok(hpc_exec_enqueue(a.e, 0, 0));
        test_ok(hpc_exec_fetch(a.e, 0, a.sum, x, sizeof x));
        test_ok(hpc_exec_read_rows(a.e, 0, a.sum, y, 1));
        for (int k = 0; k < COLS; k++) {
            assert_true(x[k] == 0 && x[COLS + k] == part[k]);
            assert_true(y[k] == 0 && y[COLS + k] == 9);
        }
        test_fails(hpc_exec_read_rows(a.e, 0, a.sum, y, 3), HPC_E_SHAPE, "not have 3 rows");
        test_fails(hpc_exec_write_part(a.e, 0, a.x, sizeof x, part, 1), HPC_E_SHAPE, "1 at 32");
        close_adder(&a);
    }
}

/* Memory that comes with any content, as that of a GPU. */
static void state_is_cleared_and_the_rest_poisoned_by_fills(void **state)
{
    hpc_program *p = hpc_program_create();
    const hpc_type t = hpc_type_of(HPC_F32, 1, (int64_t[]){FEW});
    hpc_backend own;
    hpc_device *d;
    hpc_exec *e;
    float x[FEW];
    (void)state;
    hpc_value s = hpc_program_state(p, "s", t, false), in = hpc_program_input(p, "in", t);
    hpc_program_segment(p, HPC_FORWARD, 0);
    hpc_scale(p, s, in, HPC_NONE, 1);
    test_ok(hpc_device_open(&d, &(hpc_device_options){.backend = "mock"}));
    own = *d->backend;
    own.poisoned = false;
    d->backend = &own;
    test_ok(hpc_exec_open(&e, p, d, NULL, &(hpc_exec_options){.poison = 1}));
    test_ok(hpc_exec_read(e, 0, s, x, sizeof x));
    for (int k = 0; k < FEW; k++) assert_true(x[k] == 0);
    test_ok(hpc_exec_read(e, 0, in, x, sizeof x));
    for (int k = 0; k < FEW; k++) assert_true(x[k] != x[k]);
    hpc_exec_close(e);
    hpc_device_close(d);
    hpc_program_free(p);
}

/* Events around kernels, read after fences; those of many runs between two fences as well. */
static void a_profile_has_the_time_of_each_kernel(void **state)
{
    enum { RUNS = 7 };
    (void)state;
    for (int b = 0; b < 2; b++) {
        adder a;
        float *x = hpc_alloc(MANY, sizeof *x);
        open_adder(&a, both[b], MANY);
        hpc_exec_close(a.e);
        test_ok(hpc_exec_open(&a.e, a.p, a.d, NULL, &(hpc_exec_options){.profile = true}));
        const int64_t *ns = hpc_exec_profile(a.e, 0);
        assert_non_null(x);
        assert_non_null(ns);
        test_ok(hpc_exec_write(a.e, 0, a.x, x, MANY * sizeof *x));
        for (int run = 0; run < RUNS; run++) test_ok(hpc_exec_enqueue(a.e, 0, 0));
        test_ok(hpc_exec_fence(a.e));
        assert_true(ns[0] > 0 && ns[1] > 0);
        const int64_t before = ns[0];
        test_ok(hpc_exec_run(a.e, 0, 0));
        assert_true(ns[0] > before);
        hpc_free(x);
        close_adder(&a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_see_the_values_written_before_them),
        cmocka_unit_test(parts_and_rows_are_moved_alone),
        cmocka_unit_test(state_is_cleared_and_the_rest_poisoned_by_fills),
        cmocka_unit_test(a_profile_has_the_time_of_each_kernel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
