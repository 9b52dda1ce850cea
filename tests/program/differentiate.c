/*
 * differentiate.c: errors of differentiation, and the sum of given and propagated gradients.
 * ops_diff.c tests the rules of ops.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/support/values.h"

enum { N = 8 };

typedef struct sample {
    hpc_program *p;
    hpc_value x, w, y, z, seed[2];
    int forward, backward;
} sample;

/* y = x w, z = 3 y, element by element. */
static sample begin(void)
{
    sample s = {.p = hpc_program_create()};
    hpc_type t = hpc_type_of(HPC_F32, 1, (int64_t[]){N});
    s.x = hpc_program_input(s.p, "x", t);
    s.w = hpc_program_state(s.p, "w", t, true);
    s.seed[0] = hpc_program_input(s.p, "seed0", t);
    s.seed[1] = hpc_program_input(s.p, "seed1", t);
    s.forward = hpc_program_segment(s.p, HPC_FORWARD, 0);
    s.y = hpc_binary(s.p, HPC_MUL, s.x, s.w);
    s.z = hpc_scale(s.p, HPC_NEW, s.y, HPC_NONE, 3);
    return s;
}

static hpc_diff_options options(sample *s, const hpc_value *seed_of)
{
    s->backward = hpc_program_segment(s->p, HPC_BACKWARD, 0);
    return (hpc_diff_options){.forward = s->forward,
                              .backward = s->backward,
                              .accumulate = -1,
                              .seed_of = seed_of,
                              .seed = s->seed,
                              .seed_n = 2};
}

/* The gradient of w after so many runs of both segments with x = 2, w = 5, seeds 7 and 11. */
static double gradient(sample *s, const char *backend, int runs)
{
    hpc_device *d;
    hpc_exec *e;
    double x[N], value[] = {2, 5, 7, 11};
    const hpc_value to[] = {s->x, s->w, s->seed[0], s->seed[1]};
    test_ok(hpc_program_check(s->p));
    test_ok(hpc_device_open(&d, &(hpc_device_options){.backend = backend, .threads = 2}));
    test_ok(hpc_exec_open(&e, s->p, d, NULL, NULL));
    for (int v = 0; v < 4; v++) {
        for (int k = 0; k < N; k++) x[k] = value[v];
        hpc_test_write(e, 0, to[v], x);
    }
    for (int k = 0; k < runs; k++) {
        test_ok(hpc_exec_run(e, s->forward, 0));
        test_ok(hpc_exec_run(e, s->backward, 0));
    }
    hpc_test_read(e, 0, s->p->value[s->w].grad, x);
    for (int k = 1; k < N; k++) assert_true(x[k] == x[0]);
    hpc_exec_close(e);
    hpc_device_close(d);
    return x[0];
}

static void given_gradients_are_summed(void **state)
{
    (void)state;
    sample s = begin();
    const hpc_value twice[] = {s.z, s.z}, on_the_way[] = {s.z, s.y}, of_state[] = {s.z, s.w};
    const hpc_value *const seed_of[] = {twice, on_the_way, of_state};
    const double want[] = {2 * 3 * (7 + 11), 2 * (3 * 7 + 11), 2 * 3 * 7 + 11};
    for (int k = 0; k < 3; k++) {
        if (k > 0) s = begin();
        hpc_diff_options o = options(&s, seed_of[k]);
        test_ok(hpc_differentiate(s.p, &o));
        assert_true(gradient(&s, "cpu", 1) == want[k]);
        hpc_program_free(s.p);
    }
}

/* Two instructions add to w's gradient. Asked for, the first of them overwrites what earlier runs
 * left there; else the sum grows with each run. */
static void gradients_begin_anew_or_go_on(void **state)
{
    static const char *const backend[] = {"cpu", "mock"};
    (void)state;
    for (int k = 0; k < 4; k++) {
        sample s = begin();
        const hpc_value seed_of[] = {s.z, s.w};
        hpc_diff_options o = options(&s, seed_of);
        o.anew = k < 2;
        test_ok(hpc_differentiate(s.p, &o));
        assert_int_equal(s.p->value[s.p->value[s.w].grad].anew, o.anew);
        assert_true(gradient(&s, backend[k % 2], 3) == (o.anew ? 1 : 3) * (2 * 3 * 7 + 11));
        hpc_grid_shape one = {.extent = {0}};
        if (o.anew) test_ok(hpc_shard(s.p, &one, (int[HPC_AXIS_N]){0}, NULL));
        hpc_program_free(s.p);
    }
}

/* y reads w, then w is written: backward would take the new one for the old. */
static void state_that_is_written_later_is_refused(void **state)
{
    (void)state;
    sample s = begin();
    hpc_value frozen =
        hpc_program_state(s.p, "frozen", hpc_type_of(HPC_F32, 1, (int64_t[]){N}), false);
    hpc_value u = hpc_binary(s.p, HPC_MUL, s.z, frozen);
    const hpc_value seed_of[] = {u, s.z};
    hpc_fill(s.p, frozen, 1);
    hpc_diff_options o = options(&s, seed_of);
    test_fails(hpc_differentiate(s.p, &o), HPC_E_UNSUPPORTED,
               "gradient of forward[0] #2 binary (block -1): its gradient needs frozen as it was");
    hpc_program_free(s.p);
}

static void a_guarded_instruction_is_refused(void **state)
{
    (void)state;
    sample s = begin();
    s.p->tags.guard = hpc_program_input(s.p, "open", hpc_type_of(HPC_I32, 0, NULL));
    hpc_value u = hpc_activate(s.p, s.z, HPC_SILU);
    const hpc_value seed_of[] = {u, s.z};
    hpc_diff_options o = options(&s, seed_of);
    test_fails(hpc_differentiate(s.p, &o), HPC_E_UNSUPPORTED, "no gradient passes a guard");
    hpc_program_free(s.p);
}

static void what_is_no_value_is_refused(void **state)
{
    (void)state;
    sample s = begin();
    hpc_value seed_of[] = {s.z, HPC_NONE};
    hpc_diff_options o = options(&s, seed_of);
    test_fails(hpc_differentiate(s.p, &o), HPC_E_ARG, "seed_of 1 is no value");
    seed_of[1] = (hpc_value)s.p->value_n;
    test_fails(hpc_differentiate(s.p, &o), HPC_E_ARG, "seed_of 1 is no value");
    seed_of[1] = s.y;
    o.want = (const hpc_value[]){-7};
    o.want_n = 1;
    test_fails(hpc_differentiate(s.p, &o), HPC_E_ARG, "want 0 is no value");
    hpc_program_free(s.p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(given_gradients_are_summed),
        cmocka_unit_test(gradients_begin_anew_or_go_on),
        cmocka_unit_test(state_that_is_written_later_is_refused),
        cmocka_unit_test(a_guarded_instruction_is_refused),
        cmocka_unit_test(what_is_no_value_is_refused),
    };
    return cmocka_run_group_tests_name("program/differentiate", tests, NULL, NULL);
}
