/*
 * freeze_pipeline.c: the program format supports a pipeline: two stages on two ranks, driven by
 * arriving messages, with delays; gradients equal those of one rank bit for bit, for any order of
 * arrival.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/values.h"

enum { T = 12, H = 24, F = 40, V = 33, M = 6, WEIGHTS = 3, LARGEST = F * H };

typedef struct stages {
    hpc_value x, h, target, loss, weight, w[WEIGHTS];
} stages;

typedef struct job {
    const char *backend;
    int threads, seed;
    float grad[WEIGHTS][LARGEST]; /* of the ranks together */
    int order[2 * 3 * M];         /* in which the second stage finished its tasks */
} job;

static hpc_value matrix(hpc_program *p, const char *name, int64_t rows, int64_t cols)
{
    return hpc_program_state(p, name, hpc_type_of(HPC_F32, 2, (int64_t[]){rows, cols}), true);
}

static void emit_first(hpc_program *p, stages *s)
{
    s->x = hpc_program_input(p, "x", hpc_type_of(HPC_F32, 2, (int64_t[]){T, H}));
    s->w[0] = matrix(p, "w0", F, H);
    s->w[1] = matrix(p, "w1", H, F);
    hpc_value a = hpc_activate(p, hpc_linear(p, s->x, s->w[0], HPC_NONE, HPC_NONE), HPC_SILU);
    s->h = hpc_linear(p, a, s->w[1], HPC_NONE, s->x);
}

static void emit_second(hpc_program *p, stages *s)
{
    s->target = hpc_program_input(p, "target", hpc_type_of(HPC_I32, 1, (int64_t[]){T}));
    s->weight = hpc_program_input(p, "weight", hpc_type_of(HPC_F32, 1, (int64_t[]){T}));
    s->w[2] = matrix(p, "w2", V, H);
    s->loss = hpc_head_loss(p, s->h, s->w[2], s->target);
}

/* Segments: forward 0, backward 1, accumulate 2. stage -1: both stages in one program. The
 * gradient's own messages follow from those of the forward segment. */
static hpc_program *emit(int stage, stages *s)
{
    hpc_program *p = hpc_program_create();
    hpc_type h = hpc_type_of(HPC_F32, 2, (int64_t[]){T, H});
    memset(s, 0xff, sizeof *s);
    hpc_program_segment(p, HPC_FORWARD, 0);
    if (stage != 1) emit_first(p, s);
    if (stage == 0) hpc_send(p, s->h, 1u << HPC_AXIS_PIPE, 1, 0);
    if (stage == 1) s->h = hpc_recv(p, h, 1u << HPC_AXIS_PIPE, 0, 0);
    if (stage != 0) emit_second(p, s);
    int backward = hpc_program_segment(p, HPC_BACKWARD, 0);
    int accumulate = hpc_program_segment(p, HPC_ACCUMULATE, 0);
    hpc_diff_options d = {.forward = 0,
                          .backward = backward,
                          .accumulate = accumulate,
                          .seed_of = &s->loss,
                          .seed = &s->weight,
                          .seed_n = stage != 0};
    test_ok(hpc_differentiate(p, &d));
    test_ok(hpc_program_check(p));
    return p;
}

static int feed(hpc_exec *e, const hpc_task *t, void *user)
{
    const stages *s = user;
    int32_t target[T];
    double weight[T];
    if (t->segment != 0) return HPC_OK;
    for (int k = 0; k < T; k++) {
        target[k] = (7 * k + 5 * t->microbatch) % V;
        weight[k] = 1.0 / (T * M);
    }
    if (s->x >= 0) hpc_test_feed(e, t->slot, s->x, 100 + (uint32_t)t->microbatch, 1);
    if (s->target >= 0) hpc_test_write_i32(e, t->slot, s->target, target);
    if (s->weight >= 0) hpc_test_write(e, t->slot, s->weight, weight);
    return HPC_OK;
}

/* Forward, backward, accumulate of each microbatch; only the sums are in order. */
static void make_tasks(hpc_task *task)
{
    for (int m = 0; m < M; m++)
        for (int s = 0; s < 3; s++)
            task[3 * m + s] =
                (hpc_task){.segment = s,
                           .slot = m,
                           .microbatch = m,
                           .rank = 2 - s,
                           .after = {s ? 3 * m + s - 1 : -1, s == 2 && m ? 3 * (m - 1) + 2 : -1}};
}

static int run_stage(hpc_link *world, void *user)
{
    job *j = user;
    stages s;
    hpc_grid *grid;
    hpc_device *d;
    hpc_exec *e;
    hpc_task task[3 * M];
    int size = hpc_link_size(world), rank = hpc_link_rank(world), rc = HPC_OK;
    hpc_grid_shape shape = {.extent = {[HPC_AXIS_PIPE] = size}};
    hpc_program *p = emit(size == 1 ? -1 : rank, &s);
    test_ok(hpc_grid_open(&grid, world, &shape));
    test_ok(
        hpc_device_open(&d, &(hpc_device_options){.backend = j->backend, .threads = j->threads}));
    test_ok(hpc_exec_open(&e, p, d, grid, &(hpc_exec_options){.slots = M, .poison = 1}));
    for (int k = 0; k < WEIGHTS; k++)
        if (s.w[k] >= 0) hpc_test_feed(e, 0, s.w[k], (uint32_t)k, 0.2);
    make_tasks(task);
    rc = hpc_schedule_run(e, &(hpc_schedule){.kind = size == 1 ? HPC_IN_ORDER : HPC_ON_ARRIVAL,
                                             .task = task,
                                             .task_n = 3 * M,
                                             .before = feed,
                                             .user = &s,
                                             .order = rank == 1 ? j->order : NULL});
    for (int k = 0; k < WEIGHTS && rc == HPC_OK; k++)
        if (s.w[k] >= 0) {
            hpc_value g = p->value[s.w[k]].grad;
            rc = hpc_exec_read(e, 0, g, j->grad[k], hpc_type_bytes(&p->value[g].type));
        }
    hpc_exec_close(e);
    hpc_device_close(d);
    hpc_grid_close(grid);
    hpc_program_free(p);
    return rc;
}

static int delay(void *user, int from, int to, int tag)
{
    const job *j = user;
    return (int)(hpc_random_bits((uint64_t)j->seed, (uint32_t)from, (uint32_t)to, (uint64_t)tag) %
                 40);
}

static void any_order_gives_the_same_bits(const char *backend, int threads)
{
    static job serial, piped;
    int orders = 0;
    serial = (job){.backend = backend, .threads = threads};
    test_ok(hpc_threads_run(1, run_stage, &serial));
    int before[3 * M] = {0};
    int seeds = getenv("HPC_TEST_LONG") ? 300 : 8;
    for (int seed = 1; seed <= seeds; seed++) {
        piped = (job){.backend = backend, .threads = threads, .seed = seed};
        test_ok(hpc_threads_run_delayed(2, run_stage, &piped, delay));
        assert_memory_equal(piped.grad, serial.grad, sizeof serial.grad);
        orders += memcmp(before, piped.order, sizeof before) != 0;
        memcpy(before, piped.order, sizeof before);
    }
    assert_true(orders > 2); /* the delays did change what came first */
    assert_true(serial.grad[0][0] != 0 && serial.grad[2][1] != 0);
}

static void on_cpu(void **state)
{
    (void)state, any_order_gives_the_same_bits("cpu", 1);
}
static void on_cpu_threads(void **state)
{
    (void)state, any_order_gives_the_same_bits("cpu", 2);
}
static void on_mock(void **state)
{
    (void)state, any_order_gives_the_same_bits("mock", 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(on_cpu), cmocka_unit_test(on_cpu_threads),
                                       cmocka_unit_test(on_mock)};
    return cmocka_run_group_tests_name("program/freeze_pipeline", tests, NULL, NULL);
}
