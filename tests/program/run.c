/*
 * run.c: the executor: errors, guards, failures of workers, deadlocked schedules, and its overhead
 * in counts.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "tests/support/values.h"

enum { R = 8, C = 16 };

static hpc_type matrix(hpc_dtype d, int64_t r, int64_t c)
{
    return hpc_type_of(d, 2, (int64_t[]){r, c});
}

static hpc_device *device(const char *backend, int threads)
{
    hpc_device *d;
    test_ok(hpc_device_open(&d, &(hpc_device_options){.backend = backend, .threads = threads}));
    return d;
}

static const char *const both[] = {"cpu", "mock"};

static void a_guard_skips(void **state)
{
    (void)state;
    for (int b = 0; b < 2; b++) {
        hpc_program *p = hpc_program_create();
        hpc_value open = hpc_program_input(p, "open", hpc_type_of(HPC_I32, 0, NULL));
        hpc_value s = hpc_program_state(p, "s", hpc_type_of(HPC_F32, 1, (int64_t[]){C}), false);
        hpc_program_segment(p, HPC_UPDATE, 0);
        p->tags.guard = open;
        hpc_fill(p, s, 3);
        hpc_device *d = device(both[b], 2);
        hpc_exec *e;
        double x[C];
        test_ok(hpc_exec_open(&e, p, d, NULL, NULL));
        for (int on = 0; on < 2; on++) {
            hpc_test_write_scalar(e, 0, open, on);
            test_ok(hpc_exec_run(e, 0, 0));
            hpc_test_read(e, 0, s, x);
            assert_true(x[0] == 3 * on && x[C - 1] == 3 * on);
        }
        hpc_exec_close(e);
        hpc_device_close(d);
        hpc_program_free(p);
    }
}

/* An index that is out of range fails in a worker, is named, and the next run is well. */
static void a_failing_worker_stops_all(void **state)
{
    (void)state;
    for (int b = 0; b < 2; b++) {
        hpc_program *p = hpc_program_create();
        hpc_value x = hpc_program_input(p, "x", matrix(HPC_F32, R, C));
        hpc_value index = hpc_program_input(p, "index", hpc_type_of(HPC_I32, 1, (int64_t[]){R}));
        hpc_program_segment(p, HPC_FORWARD, 0);
        hpc_value y = hpc_activate(p, x, HPC_SILU);
        y = hpc_gather(p, y, index);
        y = hpc_reduce(p, HPC_NEW, y, HPC_SUM, HPC_OVER_ALL);
        hpc_program_keep(p, y);
        hpc_device *d = device(both[b], 3);
        hpc_exec *e;
        int32_t at[R] = {0, 1, 2, 3, 4, 5, 6, R};
        test_ok(hpc_exec_open(&e, p, d, NULL, NULL));
        hpc_test_feed(e, 0, x, 1, 1);
        hpc_test_write_i32(e, 0, index, at);
        test_fails(hpc_exec_run(e, 0, 0), HPC_E_ARG, "forward[0] #1");
        at[R - 1] = -1;
        hpc_test_write_i32(e, 0, index, at);
        test_ok(hpc_exec_run(e, 0, 0));
        hpc_exec_close(e);
        hpc_device_close(d);
        hpc_program_free(p);
    }
}

static void bad_requests_are_named(void **state)
{
    (void)state;
    hpc_program *p = hpc_program_create();
    hpc_value x = hpc_program_input(p, "x", matrix(HPC_F32, R, C));
    hpc_program_segment(p, HPC_FORWARD, 0);
    hpc_value y = hpc_activate(p, x, HPC_SILU);
    hpc_device *d = device("cpu", 1);
    hpc_exec *e;
    float data[R * C] = {0};
    test_ok(hpc_exec_open(&e, p, d, NULL, NULL));
    test_fails(hpc_exec_run(e, 1, 0), HPC_E_ARG, "there is no segment 1");
    test_fails(hpc_exec_run(e, 0, 1), HPC_E_ARG, "there is no slot 1");
    test_fails(hpc_exec_write(e, 0, x, data, 4), HPC_E_SHAPE,
               "(x) is f32[8,16], 512 bytes; 4 were given");
    test_fails(hpc_exec_write(e, 0, y, data, sizeof data), HPC_E_ARG, "is computed");
    test_fails(hpc_exec_read(e, 0, y, data, sizeof data), HPC_E_STATE, "is not kept");
    hpc_exec_close(e);
    hpc_device_close(d);
    hpc_program_free(p);
}

static void an_unsupported_dtype_names_the_instruction(void **state)
{
    (void)state;
    for (int b = 0; b < 2; b++) {
        hpc_program *p = hpc_program_create();
        hpc_value x = hpc_program_state(p, "x", matrix(HPC_BF16, R, C), true);
        hpc_value m = hpc_program_state(p, "m", matrix(HPC_F32, R, C), false);
        hpc_value g = hpc_program_state(p, "g", matrix(HPC_F32, R, C), false);
        hpc_value lr = hpc_program_input(p, "lr", hpc_type_of(HPC_F32, 0, NULL));
        hpc_program_segment(p, HPC_UPDATE, 0);
        p->tags.block = 4;
        hpc_sgd(p, x, m, g, lr, (hpc_sgd_attr){0});
        hpc_device *d = device(both[b], 1);
        hpc_exec *e;
        test_fails(hpc_exec_open(&e, p, d, NULL, NULL), HPC_E_UNSUPPORTED,
                   "update[0] #0 sgd (block 4): backend ");
        assert_null(e);
        hpc_device_close(d);
        hpc_program_free(p);
    }
}

static int no_row_axis(hpc_link *world, void *user)
{
    (void)user;
    hpc_program *p = hpc_program_create();
    hpc_value x = hpc_program_input(p, "x", matrix(HPC_F32, R, C));
    hpc_program_segment(p, HPC_FORWARD, 0);
    hpc_all_gather(p, x, 1u << HPC_AXIS_ROW, 2);
    hpc_device *d = device("cpu", 1);
    hpc_grid *grid;
    hpc_exec *e;
    test_ok(hpc_grid_open(&grid, world, &(hpc_grid_shape){{2}}));
    test_fails(hpc_exec_open(&e, p, d, grid, NULL), HPC_E_SHAPE, "do not fit 1 ranks");
    hpc_grid_close(grid);
    hpc_device_close(d);
    hpc_program_free(p);
    return HPC_OK;
}

static void a_collective_over_an_absent_axis(void **state)
{
    (void)state;
    test_ok(hpc_threads_run(2, no_row_axis, NULL));
}

static void a_stuck_schedule_is_named(void **state)
{
    (void)state;
    hpc_program *p = hpc_program_create();
    hpc_program_input(p, "x", matrix(HPC_F32, R, C));
    hpc_program_segment(p, HPC_FORWARD, 0);
    hpc_device *d = device("cpu", 1);
    hpc_exec *e;
    test_ok(hpc_exec_open(&e, p, d, NULL, &(hpc_exec_options){.slots = 2}));
    const hpc_task circle[] = {{.slot = 0, .after = {1, -1}}, {.slot = 1, .after = {0, -1}}};
    hpc_schedule s = {.kind = HPC_ON_ARRIVAL, .task = circle, .task_n = 2};
    test_fails(hpc_schedule_run(e, &s), HPC_E_STATE,
               "task 0 (segment forward[0], slot 0) can never start");
    s.kind = HPC_IN_ORDER;
    test_fails(hpc_schedule_run(e, &s), HPC_E_STATE, "task 0 cannot run");
    const hpc_task bad[] = {{.slot = 2, .after = {-1, -1}}};
    test_fails(hpc_schedule_run(e, &(hpc_schedule){.task = bad, .task_n = 1}), HPC_E_ARG, "task 0");
    hpc_exec_close(e);
    hpc_device_close(d);
    hpc_program_free(p);
}

/* A chain of row-wise ops needs no barrier; a product after it needs one. */
static void barriers_only_where_data_require(void **state)
{
    (void)state;
    hpc_program *p = hpc_program_create();
    hpc_value x = hpc_program_input(p, "x", matrix(HPC_F32, R, C));
    hpc_value w = hpc_program_state(p, "w", matrix(HPC_F32, C, C), true);
    hpc_program_segment(p, HPC_FORWARD, 0);
    for (int k = 0; k < 5; k++) x = hpc_activate(p, x, HPC_SILU);
    hpc_program_segment(p, HPC_FORWARD, 1);
    hpc_value y = hpc_linear(p, x, w, HPC_NONE, HPC_NONE);
    hpc_value z = hpc_linear(p, x, w, HPC_NONE, HPC_NONE);
    hpc_program_keep(p, hpc_binary(p, HPC_ADD, y, z));
    hpc_device *d = device("cpu", 2);
    hpc_exec *e;
    test_ok(hpc_exec_open(&e, p, d, NULL, NULL));
    assert_int_equal(hpc_exec_stats_of(e, 0).instructions, 5);
    assert_int_equal(hpc_exec_stats_of(e, 0).barriers, 0);
    assert_int_equal(hpc_exec_stats_of(e, 1).instructions, 3);
    assert_int_equal(hpc_exec_stats_of(e, 1).barriers,
                     1); /* each has its own memory for products */
    hpc_exec_close(e);
    hpc_device_close(d);
    hpc_program_free(p);
}

/* A segment that prepares an operand, multiplies, and uses the product. */
typedef struct meeting_case {
    int64_t rows;
    enum { PREPARES_A, PREPARES_B, PACKS_B } how;
    bool guarded;
    int barriers;
} meeting_case;

enum { DEPTH = 256, COLS = 512 };

static void multiply(const meeting_case *c, int threads, double *out)
{
    hpc_program *p = hpc_program_create();
    hpc_value x = hpc_program_input(p, "x", matrix(HPC_F32, c->rows, DEPTH)), a = x;
    hpc_value w = hpc_program_input(p, "w", matrix(HPC_F32, COLS, DEPTH)), b = w;
    hpc_value open = hpc_program_input(p, "open", hpc_type_of(HPC_I32, 0, NULL));
    hpc_program_segment(p, HPC_FORWARD, 0);
    if (c->how == PREPARES_A) a = hpc_activate(p, x, HPC_SILU);
    if (c->how == PREPARES_B) b = hpc_activate(p, w, HPC_SILU);
    if (c->how == PACKS_B) b = hpc_pack(p, w);
    if (c->guarded) p->tags.guard = open;
    hpc_value y = hpc_linear(p, a, b, HPC_NONE, HPC_NONE);
    p->tags.guard = HPC_NONE;
    y = hpc_activate(p, y, HPC_SILU);
    hpc_program_keep(p, y);
    hpc_device *d = device("cpu", threads);
    hpc_exec *e;
    test_ok(hpc_exec_open(&e, p, d, NULL, NULL));
    assert_int_equal(hpc_exec_stats_of(e, 0).barriers, c->barriers);
    hpc_test_write_scalar(e, 0, open, 1);
    hpc_test_feed(e, 0, x, 3, 1);
    hpc_test_feed(e, 0, w, 4, 1);
    for (int k = 0; k < 8; k++) test_ok(hpc_exec_run(e, 0, 0));
    hpc_test_read(e, 0, y, out);
    hpc_exec_close(e);
    hpc_device_close(d);
    hpc_program_free(p);
}

/* A large product has an internal barrier if b was not packed before. Operands needed only after it
 * need no barrier of their own, unless a guard may skip the product. */
static void meetings_within_are_barriers(void **state)
{
    static const meeting_case cases[] = {{256, PREPARES_A, false, 1},
                                         {256, PREPARES_B, false, 2},
                                         {256, PACKS_B, false, 1},
                                         {256, PREPARES_A, true, 2},
                                         {16, PREPARES_A, false, 2}};
    double *want = hpc_alloc(256 * COLS, sizeof *want), *got = hpc_alloc(256 * COLS, sizeof *got);

    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++)
        for (int threads = 1; threads <= 3; threads++) {
            multiply(cases + k, threads, threads == 1 ? want : got);
            if (threads == 1) continue;
            assert_memory_equal(want, got, (size_t)(cases[k].rows * COLS) * sizeof *want);
        }
    hpc_free(want);
    hpc_free(got);
}

/* The gradient of a norm has an internal barrier before partial sums are reduced: dx can be used at
 * once; dw needs a barrier, as does the next gradient, which reuses the memory of the sums. */
static void a_norms_gradient_meets(void **state)
{
    (void)state;
    hpc_program *p = hpc_program_create();
    hpc_value x = hpc_program_input(p, "x", matrix(HPC_F32, 40, C));
    hpc_value dy = hpc_program_input(p, "dy", matrix(HPC_F32, 40, C));
    hpc_value stats = hpc_program_input(p, "stats", matrix(HPC_F32, 40, 2));
    hpc_value w = hpc_program_input(p, "w", hpc_type_of(HPC_F32, 1, (int64_t[]){C}));
    const hpc_norm_attr rms = {.kind = HPC_RMS, .eps = 1e-5};
    hpc_value one[] = {HPC_NEW, HPC_NEW, HPC_NONE, dy, x, stats, w};
    hpc_value two[] = {HPC_NEW, HPC_NEW, HPC_NONE, dy, x, stats, w};
    hpc_program_segment(p, HPC_FORWARD, 0);
    hpc_emit(p, &hpc_op_norm_grad, one, &rms);
    hpc_program_keep(p, hpc_binary(p, HPC_ADD, one[0], x));
    hpc_program_segment(p, HPC_FORWARD, 1);
    hpc_emit(p, &hpc_op_norm_grad, two, &rms);
    hpc_program_keep(p, hpc_activate(p, two[1], HPC_SILU));
    hpc_program_segment(p, HPC_FORWARD, 2);
    hpc_value three[] = {HPC_NEW, HPC_NEW, HPC_NONE, dy, x, stats, w};
    hpc_value four[] = {HPC_NEW, HPC_NEW, HPC_NONE, dy, x, stats, w};
    hpc_emit(p, &hpc_op_norm_grad, three, &rms);
    hpc_emit(p, &hpc_op_norm_grad, four, &rms);
    hpc_device *d = device("cpu", 2);
    hpc_exec *e;
    test_ok(hpc_exec_open(&e, p, d, NULL, NULL));
    assert_int_equal(hpc_exec_stats_of(e, 0).barriers, 0);
    assert_int_equal(hpc_exec_stats_of(e, 1).barriers, 1);
    assert_int_equal(hpc_exec_stats_of(e, 2).barriers, 1);
    for (int s = 0; s < 3; s++) test_ok(hpc_exec_run(e, s, 0));
    hpc_exec_close(e);
    hpc_device_close(d);
    hpc_program_free(p);
}

/* A worker that failed still reaches the barriers inside kernels of the same stretch. */
static void a_failing_worker_keeps_no_other_waiting(void **state)
{
    (void)state;
    hpc_program *p = hpc_program_create();
    hpc_value x = hpc_program_input(p, "x", matrix(HPC_F32, R, C));
    hpc_value index = hpc_program_input(p, "index", hpc_type_of(HPC_I32, 1, (int64_t[]){R}));
    hpc_program_segment(p, HPC_FORWARD, 0);
    hpc_value y = hpc_gather(p, x, index);
    hpc_value z = hpc_reduce(p, HPC_NEW, x, HPC_SUM, HPC_OVER_ALL);
    hpc_program_keep(p, y);
    hpc_program_keep(p, z);
    hpc_program_keep(p, hpc_activate(p, y, HPC_SILU));
    hpc_device *d = device("cpu", 3);
    hpc_exec *e;
    int32_t at[R] = {0};
    test_ok(hpc_exec_open(&e, p, d, NULL, NULL));
    hpc_test_feed(e, 0, x, 1, 1);
    for (int bad = 0; bad < R; bad++) { /* each worker in turn */
        at[bad] = R;
        hpc_test_write_i32(e, 0, index, at);
        test_fails(hpc_exec_run(e, 0, 0), HPC_E_ARG, "forward[0] #0 gather (block -1): gather: ");
        at[bad] = 0;
    }
    hpc_test_write_i32(e, 0, index, at);
    test_ok(hpc_exec_run(e, 0, 0));
    hpc_exec_close(e);
    hpc_device_close(d);
    hpc_program_free(p);
}

/* What a failed run had in flight does not stand in the way of the next one. */
static void a_transfer_of_a_failed_run_starts_again(void **state)
{
    (void)state;
    for (int b = 0; b < 2; b++) {
        hpc_program *p = hpc_program_create();
        hpc_value x = hpc_program_input(p, "x", matrix(HPC_F32, R, C));
        hpc_value index = hpc_program_input(p, "index", hpc_type_of(HPC_I32, 1, (int64_t[]){R}));
        hpc_program_segment(p, HPC_FORWARD, 0);
        hpc_value sum = hpc_all_reduce(p, x, 1u << HPC_AXIS_DATA, HPC_COMM_SUM);
        hpc_value y = hpc_gather(p, x, index);
        hpc_value all = hpc_all_gather(p, y, 1u << HPC_AXIS_DATA, 1);
        hpc_value z = hpc_binary(p, HPC_SUB, all, sum);
        hpc_program_keep(p, z);
        hpc_device *d = device(both[b], 2);
        hpc_exec *e;
        int32_t at[R] = {0, 1, 2, 3, 4, 5, 6, R};
        double got[R * C];
        test_ok(hpc_exec_open(&e, p, d, NULL, NULL));
        hpc_test_feed(e, 0, x, 1, 1);
        hpc_test_write_i32(e, 0, index, at);
        test_fails(hpc_exec_run(e, 0, 0), HPC_E_ARG, "index 8");
        at[R - 1] = R - 1;
        hpc_test_write_i32(e, 0, index, at);
        test_ok(hpc_exec_run(e, 0, 0));
        hpc_test_read(e, 0, z, got);
        for (int k = 0; k < R * C; k++) assert_true(got[k] == 0);
        hpc_exec_close(e);
        hpc_device_close(d);
        hpc_program_free(p);
    }
}

/* If the second of two transfers fails to start, close does not wait for it. */
static void a_refused_transfer_closes_cleanly(void **state)
{
    (void)state;
    for (int b = 0; b < 2; b++) {
        hpc_program *p = hpc_program_create();
        hpc_value x = hpc_program_input(p, "x", matrix(HPC_F32, R, C));
        hpc_program_segment(p, HPC_FORWARD, 0);
        hpc_all_reduce(p, x, 1u << HPC_AXIS_DATA, HPC_COMM_SUM);
        hpc_send(p, x, 1u << HPC_AXIS_DATA, 0, 64);
        hpc_device *d = device(both[b], 2);
        hpc_exec *e;
        test_fails(hpc_exec_open(&e, p, d, NULL, NULL), HPC_E_ARG,
                   "forward[0] #1 send (block -1): edge 64; a segment has edges 0 to 63");
        hpc_device_close(d);
        hpc_program_free(p);
    }
}

/* Copies for a transfer use its own queue and do not wait for other computation. */
static void a_transfer_follows_its_queue(void **state)
{
    (void)state;
    hpc_program *p = hpc_program_create();
    hpc_value x = hpc_program_input(p, "x", matrix(HPC_F32, R, C));
    hpc_program_segment(p, HPC_FORWARD, 0);
    p->tags.queue = HPC_COMM;
    hpc_value y = hpc_activate(p, x, HPC_RELU);
    y = hpc_all_reduce(p, y, 1u << HPC_AXIS_DATA, HPC_COMM_SUM);
    y = hpc_activate(p, y, HPC_RELU);
    y = hpc_all_reduce(p, y, 1u << HPC_AXIS_DATA, HPC_COMM_SUM);
    hpc_program_keep(p, y);
    hpc_device *d = device("mock", 1);
    hpc_exec *e;
    test_ok(hpc_exec_open(&e, p, d, NULL, NULL));
    hpc_test_feed(e, 0, x, 1, 1);
    test_ok(hpc_exec_run(e, 0, 0));
    test_ok(hpc_exec_run(e, 0, 0));
    hpc_exec_close(e);
    hpc_device_close(d);
    hpc_program_free(p);
}

/* A collective under a closed guard, and what is computed from it under the same one. */
static void a_guard_skips_transfers(void **state)
{
    (void)state;
    for (int b = 0; b < 2; b++) {
        hpc_program *p = hpc_program_create();
        hpc_value open = hpc_program_input(p, "open", hpc_type_of(HPC_I32, 0, NULL));
        hpc_value x = hpc_program_input(p, "x", matrix(HPC_F32, R, C));
        hpc_value s = hpc_program_state(p, "s", matrix(HPC_F32, R, C), false);
        hpc_program_segment(p, HPC_REFRESH, 0);
        p->tags.guard = open;
        hpc_value y = hpc_all_reduce(p, x, 1u << HPC_AXIS_DATA, HPC_COMM_SUM);
        hpc_scale(p, s, y, HPC_NONE, 2);
        hpc_device *d = device(both[b], 2);
        hpc_exec *e;
        double from[R * C], to[R * C];
        test_ok(hpc_exec_open(&e, p, d, NULL, NULL));
        hpc_test_feed(e, 0, x, 1, 1);
        hpc_test_read(e, 0, x, from);
        for (int on = 0; on < 2; on++) {
            hpc_test_write_scalar(e, 0, open, on);
            test_ok(hpc_exec_run(e, 0, 0));
            hpc_test_read(e, 0, s, to);
            for (int k = 0; k < R * C; k++) assert_true(to[k] == 2 * on * from[k]);
        }
        hpc_exec_close(e);
        hpc_device_close(d);
        hpc_program_free(p);
    }
}

/* Slot 0 writes state on a queue of its own and yields; slot 1 reads that state meanwhile. */
static void queues_meet_at_a_yield(void **state)
{
    (void)state;
    for (int b = 0; b < 2; b++) {
        hpc_program *p = hpc_program_create();
        hpc_value s = hpc_program_state(p, "s", matrix(HPC_F32, R, C), false);
        hpc_program_segment(p, HPC_FORWARD, 0);
        p->tags.queue = HPC_COPY;
        hpc_fill(p, s, 3);
        p->tags.queue = HPC_COMPUTE;
        hpc_value y = hpc_recv(p, matrix(HPC_F32, R, C), 0, 0, 1);
        p->tags.queue = HPC_COPY;
        hpc_scale(p, s, y, HPC_NONE, 1);
        hpc_program_segment(p, HPC_FORWARD, 1);
        hpc_send(p, hpc_activate(p, s, HPC_RELU), 0, 0, 1);
        hpc_device *d = device(both[b], 2);
        hpc_exec *e;
        hpc_run first;
        double x[R * C];
        test_ok(hpc_exec_open(&e, p, d, NULL, &(hpc_exec_options){.slots = 2}));
        hpc_exec_microbatch(e, 1, 0);
        test_ok(hpc_run_begin(&first, e, 0, 0));
        assert_int_equal(hpc_run_step(&first), HPC_RUN_YIELD);
        test_ok(hpc_exec_run(e, 1, 1));
        assert_int_equal(hpc_run_step(&first), HPC_RUN_DONE);
        test_ok(hpc_exec_fence(e));
        hpc_test_read(e, 0, s, x);
        for (int k = 0; k < R * C; k++) assert_true(x[k] == 6);
        hpc_exec_close(e);
        hpc_device_close(d);
        hpc_program_free(p);
    }
}

/* An executor may go while its commands wait in a queue, and while one run is left half way. */
static void closing_waits_for_the_device(void **state)
{
    (void)state;
    for (int b = 0; b < 2; b++) {
        hpc_program *p = hpc_program_create();
        hpc_value x = hpc_program_input(p, "x", matrix(HPC_F32, R, C));
        hpc_program_segment(p, HPC_FORWARD, 0);
        hpc_program_keep(p, hpc_activate(p, x, HPC_SILU));
        hpc_device *d = device(both[b], 2);
        hpc_exec *e;
        hpc_run r;
        test_ok(hpc_exec_open(&e, p, d, NULL, NULL));
        hpc_test_feed(e, 0, x, 1, 1);
        test_ok(hpc_run_begin(&r, e, 0, 0));
        assert_int_equal(hpc_run_step(&r), HPC_RUN_DONE);
        hpc_exec_close(e);
        test_ok(hpc_device_fence(d));
        hpc_device_close(d);
        hpc_program_free(p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_guard_skips),
        cmocka_unit_test(a_failing_worker_stops_all),
        cmocka_unit_test(bad_requests_are_named),
        cmocka_unit_test(an_unsupported_dtype_names_the_instruction),
        cmocka_unit_test(a_collective_over_an_absent_axis),
        cmocka_unit_test(a_stuck_schedule_is_named),
        cmocka_unit_test(barriers_only_where_data_require),
        cmocka_unit_test(meetings_within_are_barriers),
        cmocka_unit_test(a_norms_gradient_meets),
        cmocka_unit_test(a_failing_worker_keeps_no_other_waiting),
        cmocka_unit_test(a_transfer_of_a_failed_run_starts_again),
        cmocka_unit_test(a_refused_transfer_closes_cleanly),
        cmocka_unit_test(a_transfer_follows_its_queue),
        cmocka_unit_test(a_guard_skips_transfers),
        cmocka_unit_test(queues_meet_at_a_yield),
        cmocka_unit_test(closing_waits_for_the_device),
    };
    return cmocka_run_group_tests_name("program/run", tests, NULL, NULL);
}
