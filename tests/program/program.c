/*
 * program.c: building, verifying, copying and printing programs.
 */
/* tsan: left out, starts no thread. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "runtime/program/priv.h"
#include "tests/support/fault.h"
#include "tests/support/values.h"

static hpc_type matrix(int64_t r, int64_t c)
{
    return hpc_type_of(HPC_F32, 2, (int64_t[]){r, c});
}

/* x w^T twice, with a state that is written. */
static hpc_program *sample(void)
{
    hpc_program *p = hpc_program_create();
    if (!p) return NULL;
    hpc_value x = hpc_program_input(p, "x", matrix(4, 8));
    hpc_value w = hpc_program_state(p, "w", matrix(8, 8), true);
    hpc_value s = hpc_program_state(p, "s", matrix(4, 8), false);
    hpc_program_segment(p, HPC_FORWARD, 0);
    p->tags.block = 1;
    hpc_value y = hpc_linear(p, x, w, HPC_NONE, HPC_NONE);
    hpc_scale(p, s, y, HPC_NONE, 0.5);
    hpc_scale(p, s, y, HPC_NONE, 0.25);
    hpc_program_keep(p, hpc_linear(p, s, w, HPC_NONE, y));
    return p;
}

static void a_misfit_names_place_and_shapes(void **state)
{
    (void)state;
    hpc_program *p = hpc_program_create();
    hpc_value x = hpc_program_input(p, "x", matrix(4, 8));
    hpc_value w = hpc_program_state(p, "w", matrix(8, 6), true);
    hpc_program_segment(p, HPC_FORWARD, 0);
    p->tags.block = 3;
    assert_int_equal(hpc_linear(p, x, w, HPC_NONE, HPC_NONE), HPC_NONE);
    /* Later emissions do nothing; the first failure is kept. */
    hpc_error_clear();
    assert_int_equal(hpc_activate(p, x, HPC_SILU), HPC_NONE);
    assert_int_equal(p->segment[0].insn_n, 0);
    int rc = hpc_program_status(p);
    const char *text = hpc_error_get()->text;
    assert_non_null(strstr(text, "forward[0] #0 matmul (block 3)"));
    assert_non_null(strstr(text, "f32[4,8]"));
    assert_non_null(strstr(text, "f32[8,6]"));
    test_fails(rc, HPC_E_SHAPE, "matmul");
    hpc_program_free(p);
}

static void values_are_checked(void **state)
{
    (void)state;
    hpc_program *p = hpc_program_create();
    hpc_program_input(p, "x", matrix(4, 8));
    assert_int_equal(hpc_program_input(p, "x", matrix(4, 8)), HPC_NONE);
    test_fails(hpc_program_status(p), HPC_E_ARG, "x: the program has a value of this name");
    hpc_program_free(p);
    p = hpc_program_create();
    hpc_program_input(p, "q", hpc_type_of(HPC_Q8_0, 2, (int64_t[]){4, 40}));
    test_fails(hpc_program_status(p), HPC_E_SHAPE, "q: rows of q8_0 are whole blocks of 32");
    hpc_program_free(p);
    p = hpc_program_create();
    hpc_program_input(p, "r", hpc_type_ragged(matrix(4, 8), 0, HPC_NONE));
    test_fails(hpc_program_status(p), HPC_E_SHAPE, "r: a run-time extent needs its count");
    hpc_program_free(p);
    p = hpc_program_create();
    hpc_activate(p, hpc_program_input(p, "x", matrix(4, 8)), HPC_SILU);
    test_fails(hpc_program_status(p), HPC_E_STATE, "no segment yet");
    hpc_program_free(p);
}

static void state_has_versions(void **state)
{
    (void)state;
    hpc_program *p = sample();
    test_ok(hpc_program_check(p));
    const hpc_insn *i = p->segment[0].insn;
    assert_int_equal(i[1].version[0], 0);
    assert_int_equal(i[2].version[0], 1);
    hpc_value s = hpc_program_find(p, "s");
    assert_int_equal(p->value[s].version, 2);
    hpc_insn swapped = p->segment[0].insn[1]; /* a pass that reorders writes is caught */
    p->segment[0].insn[1] = p->segment[0].insn[2];
    p->segment[0].insn[2] = swapped;
    test_fails(hpc_program_check(p), HPC_E_STATE, "reads version 1 of s, which is at 0");
    hpc_program_free(p);
}

static void order_and_assignment_are_proved(void **state)
{
    (void)state;
    hpc_program *p = sample();
    hpc_insn first = p->segment[0].insn[0];
    memmove(p->segment[0].insn, p->segment[0].insn + 1, sizeof first);
    p->segment[0].insn[1] = first;
    test_fails(hpc_program_check(p), HPC_E_STATE, "is used before it is assigned");
    hpc_program_free(p);
    p = sample();
    p->segment[0].insn[3].operand[0] = p->segment[0].insn[0].operand[0];
    test_fails(hpc_program_check(p), HPC_E_STATE, "is assigned twice");
    hpc_program_free(p);
    p = sample();
    p->segment[0].insn[3].tags.guard = hpc_program_find(p, "x");
    test_fails(hpc_program_check(p), HPC_E_STATE, "guard %0 is not i32");
    hpc_program_free(p);
    p = sample();
    p->segment[0].insn[3].tags.guard =
        hpc_program_input(p, "flags", hpc_type_of(HPC_I32, 1, (int64_t[]){3}));
    test_fails(hpc_program_check(p), HPC_E_STATE, "is i32[3], not a scalar");
    hpc_program_free(p);
}

static void a_copy_is_deep(void **state)
{
    (void)state;
    hpc_program *p = sample();
    hpc_program *c = hpc_program_copy(p);
    hpc_buf a = {0}, b = {0};
    assert_non_null(c);
    test_ok(hpc_program_print(&a, p, NULL, NULL));
    assert_ptr_not_equal(c->segment[0].insn[0].attr, p->segment[0].insn[0].attr);
    hpc_program_free(p);
    test_ok(hpc_program_check(c));
    test_ok(hpc_program_print(&b, c, NULL, NULL));
    assert_string_equal(a.data, b.data);
    assert_non_null(strstr(a.data, "state w : f32[8,8]  trainable\n"));
    assert_non_null(strstr(a.data, "+s@2 = scale("));
    assert_non_null(strstr(a.data, "alpha=0.25"));
    hpc_buf_release(&a);
    hpc_buf_release(&b);
    hpc_program_free(c);
}

static int build_and_copy(void *user)
{
    (void)user;
    int rc = HPC_E_NOMEM;
    hpc_program *c = NULL, *p = sample();
    if (!p) return rc;
    rc = hpc_program_check(p);
    if (rc == HPC_OK) {
        c = hpc_program_copy(p);
        rc = c ? HPC_OK : HPC_E_NOMEM;
    }
    hpc_program_free(c);
    hpc_program_free(p);
    return rc;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    assert_true(hpc_test_each_alloc(build_and_copy, NULL) > 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_misfit_names_place_and_shapes),
        cmocka_unit_test(values_are_checked),
        cmocka_unit_test(state_has_versions),
        cmocka_unit_test(order_and_assignment_are_proved),
        cmocka_unit_test(a_copy_is_deep),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests_name("program/program", tests, NULL, NULL);
}
