/* buf.c: appending, formatting across the edge of the capacity, and failed appends. */
/* tsan: left out, starts no thread. */
#include <setjmp.h>
#include <stdarg.h>
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

static void appends(void **state)
{
    (void)state;
    hpc_buf b = {0};
    assert_int_equal(hpc_buf_add(&b, NULL, 0), 0);
    assert_string_equal(b.data, "");
    assert_int_equal(hpc_buf_text(&b, "ab"), 0);
    assert_int_equal(hpc_buf_add(&b, "\0c", 2), 0);
    assert_int_equal(hpc_buf_printf(&b, "%d", 12), 0);
    assert_int_equal(hpc_buf_printf(&b, "%s", ""), 0);
    assert_int_equal(b.n, 6);
    assert_memory_equal(b.data, "ab\0c12", 7);
    hpc_buf_release(&b);
    assert_null(b.data);
    assert_int_equal(b.n, 0);
    assert_int_equal(b.cap, 0);
    hpc_buf_release(&b);
}

/* Every length before and after the present capacity, by both ways of appending. */
static void every_length_fits(void **state)
{
    (void)state;
    char text[100];
    for (int before = 0; before < 20; before++) {
        for (int n = 0; n < 60; n++) {
            hpc_buf b = {0};
            memset(text, 'x', (size_t)n);
            text[n] = '\0';
            assert_int_equal(hpc_buf_printf(&b, "%*s", before, ""), 0);
            assert_int_equal(hpc_buf_printf(&b, "%s", text), 0);
            assert_int_equal(b.n, before + n);
            assert_true(b.n < b.cap);
            assert_string_equal(b.data + before, text);
            assert_int_equal(hpc_buf_add(&b, text, (size_t)n), 0);
            assert_int_equal(strlen(b.data), before + 2 * n);
            hpc_buf_release(&b);
        }
    }
}

static void growth_is_amortised(void **state)
{
    (void)state;
    hpc_buf b = {0};
    for (int i = 0; i < 100000; i++) assert_int_equal(hpc_buf_add(&b, "z", 1), 0);
    assert_int_equal(b.n, 100000);
    assert_in_range(hpc_test_alloc_count(), 1, 30);
    hpc_buf_release(&b);
}

static void a_failure_sticks(void **state)
{
    (void)state;
    hpc_buf b = {0};
    assert_int_equal(hpc_buf_text(&b, "1234567"), 0);
    hpc_test_fail_alloc(1);
    assert_int_equal(hpc_buf_printf(&b, "%s", "too long for eight"), HPC_E_NOMEM);
    assert_string_equal(b.data, "1234567");
    assert_int_equal(b.failed, HPC_E_NOMEM);
    hpc_error_clear();
    /* Memory is back, yet a text with a hole is not what anybody wants. */
    assert_int_equal(hpc_buf_text(&b, "8"), HPC_E_NOMEM);
    assert_int_equal(hpc_buf_printf(&b, "8"), HPC_E_NOMEM);
    assert_int_equal(hpc_error_get()->code, HPC_E_NOMEM);
    assert_int_equal(b.n, 7);
    assert_string_equal(b.data, "1234567");
    hpc_buf_release(&b);
    assert_int_equal(b.failed, 0);
}

static void absurd_sizes_are_refused(void **state)
{
    (void)state;
    hpc_buf b = {0};
    assert_int_equal(hpc_buf_add(&b, "", SIZE_MAX), HPC_E_NOMEM);
    assert_null(b.data);
    hpc_buf_release(&b);
    hpc_error_clear();
    assert_int_equal(hpc_buf_text(&b, "x"), 0);
    assert_int_equal(hpc_buf_add(&b, "", PTRDIFF_MAX), HPC_E_NOMEM);
    assert_string_equal(b.data, "x");
    hpc_buf_release(&b);
}

static int write_text(void *user)
{
    (void)user;
    hpc_buf b = {0};
    for (int i = 0; i < 20; i++) {
        hpc_buf_text(&b, "some words ");
        hpc_buf_printf(&b, "and %d numbers\n", i);
        hpc_buf_add(&b, "", 1);
    }
    int rc = b.failed;
    hpc_buf_release(&b);
    return rc;
}

static void every_allocation_fails_in_turn(void **state)
{
    (void)state;
    assert_in_range(hpc_test_each_alloc(write_text, NULL), 3, 30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(appends, setup),
        cmocka_unit_test_setup(every_length_fits, setup),
        cmocka_unit_test_setup(growth_is_amortised, setup),
        cmocka_unit_test_setup(a_failure_sticks, setup),
        cmocka_unit_test_setup(absurd_sizes_are_refused, setup),
        cmocka_unit_test_setup(every_allocation_fails_in_turn, setup),
    };
    return cmocka_run_group_tests_name("base/buf", tests, NULL, NULL);
}
