/*
 * offload.c: an update with its moments and masters in a mapped file has the bits of one in memory,
 * moves the bytes of the closed form, and needs the buffers of one bucket.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "runtime/program/offload.h"
#include "runtime/program/op/op.h"
#include "runtime/program/run/run.h"
#include "tests/support/expect.h"
#include "tests/support/folder.h"

enum { ROWS = 37, COLS = 29, N = ROWS * COLS, BUCKET = 100, UPDATES = 4, OUTSIDE = 3 };

typedef struct update {
    hpc_program *p;
    hpc_value state[OUTSIDE]; /* m, v, and the master of a bf16 parameter */
    hpc_value param, grad, lr, step, ok;
    int outside; /* number of these that are outside */
} update;

/* half: the model has a bf16 copy of the master. */
static update make(bool half)
{
    hpc_type t = hpc_type_of(HPC_F32, 2, (int64_t[]){ROWS, COLS}), b = t, s = t;
    update u = {.p = hpc_program_create(), .outside = half ? 3 : 2};
    b.dtype = HPC_BF16;
    s = hpc_type_of(HPC_F32, 0, NULL);
    assert_non_null(u.p);
    u.state[0] = hpc_program_state(u.p, "m", t, false);
    u.state[1] = hpc_program_state(u.p, "v", t, false);
    u.state[2] = hpc_program_state(u.p, half ? "master" : "param", t, false);
    u.param = half ? hpc_program_state(u.p, "param", b, false) : u.state[2];
    u.grad = hpc_program_input(u.p, "grad", t);
    u.lr = hpc_program_input(u.p, "lr", s);
    u.step = hpc_program_input(u.p, "step", hpc_type_of(HPC_I32, 0, NULL));
    u.ok = hpc_program_input(u.p, "ok", hpc_type_of(HPC_I32, 0, NULL));
    test_ok(hpc_program_segment(u.p, HPC_UPDATE, 0));
    u.p->tags.guard = u.ok;
    hpc_adamw(u.p, u.state[2], u.state[0], u.state[1], half ? u.param : HPC_NONE, u.grad, u.lr,
              u.step, HPC_NONE, (hpc_adamw_attr){0.9, 0.95, 1e-8, 0.1});
    test_ok(hpc_program_status(u.p));
    return u;
}

/* All state after the updates, the third of which is skipped. */
static void run(float out[OUTSIDE][N], uint8_t *param, const update *u, const hpc_lent *lent,
                int lent_n)
{
    static float grad[N];
    hpc_device *d;
    hpc_exec *e;
    test_ok(hpc_device_open(&d, &(hpc_device_options){.threads = 2}));
    test_ok(hpc_exec_open(&e, u->p, d, NULL, &(hpc_exec_options){.lent = lent, .lent_n = lent_n}));
    for (int k = 0; k < OUTSIDE; k++) {
        hpc_random_fill_uniform(grad, N, 3, (uint32_t)k, 0, 0);
        test_ok(hpc_exec_write(e, 0, u->state[k], grad, sizeof grad));
    }
    for (int32_t s = 1; s <= UPDATES; s++) {
        int32_t ok = s != 3;
        hpc_random_fill_normal(grad, N, 4, (uint32_t)s, 0, 0);
        test_ok(hpc_exec_write(e, 0, u->grad, grad, sizeof grad));
        test_ok(hpc_exec_write(e, 0, u->lr, &(float){0.01F}, sizeof(float)));
        test_ok(hpc_exec_write(e, 0, u->step, &s, sizeof s));
        test_ok(hpc_exec_write(e, 0, u->ok, &ok, sizeof ok));
        test_ok(hpc_exec_run(e, 0, 0));
    }
    for (int k = 0; k < OUTSIDE; k++)
        test_ok(hpc_exec_read(e, 0, u->state[k], out[k], sizeof out[k]));
    test_ok(hpc_exec_read(e, 0, u->param, param, hpc_type_bytes(&u->p->value[u->param].type)));
    hpc_exec_close(e);
    hpc_device_close(d);
}

static void file_has_the_bits_of_memory(void **state)
{
    const hpc_test_folder *f = *state;
    static float a[OUTSIDE][N], b[OUTSIDE][N];
    static uint8_t x[4 * N], y[4 * N];
    enum { EACH = (4 * N + 63) / 64 * 64 };
    for (int half = 0; half < 2; half++) {
        update in = make(half), out = make(half);
        hpc_lent lent[OUTSIDE];
        uint8_t *file;
        void *data;
        test_ok(hpc_file_scratch(&data, f->root, OUTSIDE * EACH));
        file = data;
        for (int k = 0; k < out.outside; k++) {
            out.p->value[out.state[k]].outside = true;
            lent[k] = (hpc_lent){out.state[k], file + (ptrdiff_t)k * EACH, 4 * N, true};
        }
        hpc_offload_options o = {.bucket = BUCKET};
        test_ok(hpc_offload(out.p, &o));
        /* Each outside element is read and written once: 24 bytes with a master, else 16. */
        assert_int_equal(o.moved_bytes, (half ? 24 : 16) * N);
        assert_int_equal(o.buffer_bytes, (half ? 3 : 2) * 4 * BUCKET);
        run(a, x, &in, NULL, 0);
        run(b, y, &out, lent, out.outside);
        assert_memory_equal(a, b, sizeof a);
        assert_memory_equal(x, y, (size_t)(half ? 2 : 4) * N);
        assert_memory_equal(file, b[0], sizeof b[0]);
        hpc_file_scratch_close(data, OUTSIDE * EACH);
        hpc_program_free(in.p);
        hpc_program_free(out.p);
    }
}

static size_t placed(const hpc_program *p, const update *u)
{
    static const uint8_t there;
    const void *elsewhere[64] = {NULL};
    hpc_placement place;
    hpc_arena *a = hpc_arena_create(0);
    assert_true(a && p->value_n <= 64);
    for (int k = 0; k < u->outside; k++)
        if (p->value[u->state[k]].outside) elsewhere[u->state[k]] = &there;
    test_ok(hpc_place(&place, a, p, elsewhere, NULL, 0, 1));
    size_t bytes = place.bytes[HPC_SPACE_STATE];
    hpc_arena_free(a);
    return bytes;
}

/* State in memory: the parameter, and the buffers in place of moments and master. */
static void memory_is_that_of_the_buffers(void **state)
{
    (void)state;
    for (int half = 0; half < 2; half++) {
        update in = make(half), out = make(half);
        for (int k = 0; k < out.outside; k++) out.p->value[out.state[k]].outside = true;
        hpc_offload_options o = {.bucket = 256};
        test_ok(hpc_offload(out.p, &o));
        size_t all = placed(in.p, &in), own = placed(out.p, &out), line = 64;
        size_t moved = (size_t)out.outside * 4 * N;
        assert_true(own + moved <= all + o.buffer_bytes + 8 * line);
        assert_true(own + moved + 8 * line >= all + o.buffer_bytes);
        hpc_program_free(in.p);
        hpc_program_free(out.p);
    }
}

/* Moments and master, but not the bf16 copy, which a product of another segment reads, and not a
 * moment that a product of the update reads. */
static void chooses_state_of_element_wise_updates_alone(void **state)
{
    (void)state;
    for (int product = 0; product < 2; product++) {
        update u = make(true);
        u.p->tags.guard = HPC_NONE;
        if (product) hpc_matmul(u.p, u.state[0], u.grad, (hpc_matmul_attr){.trans_a = true});
        test_ok(hpc_program_segment(u.p, HPC_FORWARD, 0));
        hpc_matmul(u.p, u.param, u.param, (hpc_matmul_attr){.trans_a = true});
        test_ok(hpc_program_status(u.p));
        assert_int_equal(hpc_offload_choose(u.p, 0), (product ? 8 : 12) * N);
        for (int k = 0; k < OUTSIDE; k++)
            assert_int_equal(u.p->value[u.state[k]].outside, k > 0 || !product);
        assert_false(u.p->value[u.param].outside);
        hpc_program_free(u.p);
    }
}

static void outside_state_needs_lent_memory(void **state)
{
    (void)state;
    update u = make(false);
    hpc_device *d;
    hpc_exec *e;
    u.p->value[u.state[0]].outside = true;
    test_ok(hpc_device_open(&d, &(hpc_device_options){.threads = 1}));
    test_fails(hpc_exec_open(&e, u.p, d, NULL, NULL), HPC_E_ARG,
               "%0 (m) is outside: lend memory for it");
    hpc_device_close(d);
    hpc_program_free(u.p);
}

static void rejects_what_is_not_element_by_element(void **state)
{
    (void)state;
    update u = make(false);
    hpc_program *p = u.p;
    p->tags.guard = HPC_NONE;
    hpc_matmul(p, u.state[0], u.grad, (hpc_matmul_attr){.trans_a = true});
    p->value[u.state[0]].outside = true;
    hpc_offload_options o = {.bucket = BUCKET};
    test_fails(
        hpc_offload(p, &o), HPC_E_UNSUPPORTED,
        "offload: matmul uses state that is outside, and is not computed element by element");
    hpc_program_free(p);
}

/* A bucket of one element would need instructions for each. */
static void too_many_buckets_are_rejected(void **state)
{
    (void)state;
    hpc_type t = hpc_type_of(HPC_F32, 2, (int64_t[]){600, 500}),
             one = hpc_type_of(HPC_F32, 0, NULL);
    hpc_program *p = hpc_program_create();
    assert_non_null(p);
    hpc_value x = hpc_program_state(p, "x", t, false), m = hpc_program_state(p, "m", t, false);
    hpc_value v = hpc_program_state(p, "v", t, false), grad = hpc_program_input(p, "grad", t);
    hpc_value step = hpc_program_input(p, "step", hpc_type_of(HPC_I32, 0, NULL));
    test_ok(hpc_program_segment(p, HPC_UPDATE, 0));
    hpc_adamw(p, x, m, v, HPC_NONE, grad, hpc_program_input(p, "lr", one), step, HPC_NONE,
              (hpc_adamw_attr){0.9, 0.95, 1e-8, 0.1});
    test_ok(hpc_program_status(p));
    p->value[m].outside = p->value[v].outside = true;
    int64_t insns = p->segment[0].insn_n;
    for (int64_t bucket = 1; bucket <= 2; bucket++)
        test_fails(hpc_offload(p, &(hpc_offload_options){.bucket = bucket}), HPC_E_SHAPE,
                   bucket == 1 ? "offload: buckets of 1 elements divide the state into 300000 "
                                 "parts, more than 131072: use buckets of at least 3 elements"
                               : "into 150000 parts");
    assert_int_equal(p->segment[0].insn_n, insns);
    test_ok(hpc_offload(p, &(hpc_offload_options){.bucket = 1000}));
    hpc_program_free(p);
}

/* Numbers of values have 32 bits. */
static void full_program_takes_no_value(void **state)
{
    (void)state;
    update u = make(false);
    int64_t n = u.p->value_n;
    u.p->value_n = INT32_MAX;
    assert_int_equal(hpc_program_state_part(u.p, u.state[0], 0, u.p->value[0].type), HPC_NONE);
    u.p->value_n = n;
    test_fails(hpc_program_status(u.p), HPC_E_UNSUPPORTED, "at most 2147483647 values");
    hpc_program_free(u.p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(file_has_the_bits_of_memory),
        cmocka_unit_test(memory_is_that_of_the_buffers),
        cmocka_unit_test(chooses_state_of_element_wise_updates_alone),
        cmocka_unit_test(outside_state_needs_lent_memory),
        cmocka_unit_test(rejects_what_is_not_element_by_element),
        cmocka_unit_test(too_many_buckets_are_rejected),
        cmocka_unit_test(full_program_takes_no_value)};
    return cmocka_run_group_tests_name("program/offload", tests, hpc_test_folder_setup,
                                       hpc_test_folder_teardown);
}
