/*
 * collectives.c: collectives as instructions, with threads as ranks, on cpu and mock: numbers are
 * exactly representable, so every result is checked to the bit.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "runtime/device/kernel/backend.h"
#include "tests/support/device_link.h"
#include "tests/support/values.h"

enum { ROWS = 12, COLS = 5, N = ROWS * COLS, RANKS_MAX = 4 };

typedef struct job {
    const char *backend;
    int threads;
    bool streams; /* transfers are issued in the device's queues */
} job;

/* The link that a grid gets; closed by the caller if it is another. */
static int link_of(hpc_link **out, hpc_link *world, const job *j)
{
    *out = world;
    return j->streams ? hpc_test_device_link(out, world) : HPC_OK;
}

static void close_unless(hpc_link *l, hpc_link *world)
{
    if (l != world) hpc_link_close(l);
}

typedef struct results {
    hpc_value x, sum, most, all, part, swapped, root, echo;
} results;

/* What rank r holds: whole numbers, so that sums are exact. */
static double held(int rank, int64_t i)
{
    return (double)((i * 7 + 13 * rank) % 31) - 15;
}

static hpc_program *emit(results *v, int ranks, int rank)
{
    const hpc_axes axes = 1u << HPC_AXIS_ROW;
    hpc_program *p = hpc_program_create();
    hpc_type t = hpc_type_of(HPC_F32, 2, (int64_t[]){ROWS, COLS});
    v->x = hpc_program_input(p, "x", t);
    hpc_program_segment(p, HPC_FORWARD, 0);
    p->tags.queue = HPC_COMM;
    v->sum = hpc_all_reduce(p, v->x, axes, HPC_COMM_SUM);
    v->most = hpc_all_reduce(p, v->x, axes, HPC_COMM_MAX);
    v->all = hpc_all_gather(p, v->x, axes, ranks);
    v->part = hpc_reduce_scatter(p, v->x, axes, ranks);
    v->swapped = hpc_all_to_all(p, v->x, axes);
    v->root = hpc_broadcast(p, v->x, axes, ranks - 1);
    hpc_send(p, v->sum, axes, (rank + 1) % ranks, 3);
    v->echo = hpc_recv(p, t, axes, (rank + ranks - 1) % ranks, 3);
    p->tags.queue = HPC_COMPUTE;
    v->echo = hpc_binary(p, HPC_SUB, v->echo, v->sum); /* waits, on the other queue */
    const hpc_value kept[] = {v->sum, v->most, v->all, v->part, v->swapped, v->root, v->echo};
    for (int k = 0; k < 7; k++) hpc_program_keep(p, kept[k]);
    test_ok(hpc_program_check(p));
    return p;
}

static double sum_of(int ranks, int64_t i)
{
    double s = 0;
    for (int r = 0; r < ranks; r++) s += held(r, i);
    return s;
}

static double most_of(int ranks, int64_t i)
{
    double s = held(0, i);
    for (int r = 1; r < ranks; r++) s = held(r, i) > s ? held(r, i) : s;
    return s;
}

static void check(hpc_exec *e, const results *v, int ranks, int rank)
{
    double x[RANKS_MAX * N];
    hpc_test_read(e, 0, v->sum, x);
    for (int64_t i = 0; i < N; i++) assert_true(x[i] == sum_of(ranks, i));
    hpc_test_read(e, 0, v->most, x);
    for (int64_t i = 0; i < N; i++) assert_true(x[i] == most_of(ranks, i));
    hpc_test_read(e, 0, v->all, x);
    for (int64_t i = 0; i < ranks * N; i++) assert_true(x[i] == held((int)(i / N), i % N));
    hpc_test_read(e, 0, v->part, x);
    int64_t part = N / ranks;
    for (int64_t i = 0; i < part; i++) assert_true(x[i] == sum_of(ranks, rank * part + i));
    hpc_test_read(e, 0, v->swapped, x);
    for (int64_t i = 0; i < N; i++)
        assert_true(x[i] == held((int)(i / part), rank * part + i % part));
    hpc_test_read(e, 0, v->root, x);
    for (int64_t i = 0; i < N; i++) assert_true(x[i] == held(ranks - 1, i));
    hpc_test_read(e, 0, v->echo, x);
    for (int64_t i = 0; i < N; i++) assert_true(x[i] == 0);
}

static void check_traffic(hpc_grid *g, int ranks)
{
    hpc_traffic t = hpc_grid_traffic(g, 1u << HPC_AXIS_ROW);
    int64_t bytes = N * 4, others = ranks - 1;
    if (ranks == 1) return;
    assert_int_equal(t.messages[HPC_ALL_REDUCE], 2 * 3);
    assert_int_equal(t.bytes[HPC_ALL_REDUCE], 3 * 2 * 2 * others * bytes / ranks);
    assert_int_equal(t.bytes[HPC_ALL_GATHER], 3 * others * bytes);
    assert_int_equal(t.bytes[HPC_REDUCE_SCATTER], 3 * others * bytes / ranks);
    assert_int_equal(t.bytes[HPC_ALL_TO_ALL], 3 * others * bytes / ranks);
    assert_int_equal(t.bytes[HPC_SEND], 3 * bytes);
}

static int run_rank(hpc_link *world, void *user)
{
    const job *j = user;
    int ranks = hpc_link_size(world), rank = hpc_link_rank(world);
    results v;
    double x[N];
    hpc_device *d;
    hpc_grid *g;
    hpc_exec *e;
    hpc_grid_shape shape = {.extent = {[HPC_AXIS_ROW] = ranks}};
    hpc_link *used;
    hpc_program *p = emit(&v, ranks, rank);
    test_ok(link_of(&used, world, j));
    test_ok(hpc_grid_open(&g, used, &shape));
    test_ok(
        hpc_device_open(&d, &(hpc_device_options){.backend = j->backend, .threads = j->threads}));
    test_ok(hpc_exec_open(&e, p, d, g, &(hpc_exec_options){.poison = 1}));
    for (int64_t i = 0; i < N; i++) x[i] = held(rank, i);
    hpc_test_write(e, 0, v.x, x);
    for (int again = 0; again < 3; again++) {
        test_ok(hpc_exec_run(e, 0, 0));
        check(e, &v, ranks, rank);
    }
    check_traffic(g, ranks);
    hpc_exec_close(e);
    hpc_grid_close(g);
    close_unless(used, world);
    hpc_device_close(d);
    hpc_program_free(p);
    return HPC_OK;
}

static void on_cpu(void **state)
{
    (void)state;
    const int sizes[] = {1, 2, 3, 4};
    for (int k = 0; k < 4; k++)
        for (int threads = 1; threads <= 2; threads++)
            test_ok(hpc_threads_run(sizes[k], run_rank, &(job){"cpu", threads, false}));
}

static void on_mock(void **state)
{
    (void)state;
    for (int ranks = 1; ranks <= 4; ranks++)
        test_ok(hpc_threads_run(ranks, run_rank, &(job){"mock", 1, false}));
}

static void in_streams(void **state)
{
    (void)state;
    for (int ranks = 1; ranks <= 4; ranks++)
        test_ok(hpc_threads_run(ranks, run_rank, &(job){"mock", 1, true}));
}

/* The sent value is dead here, but the received one must not overwrite it before the wait. */
static int exchange(hpc_link *world, void *user)
{
    hpc_device *d;
    hpc_grid *g;
    hpc_exec *e;
    int rank = hpc_link_rank(world);
    double x[N], z[N];
    hpc_type t = hpc_type_of(HPC_F32, 2, (int64_t[]){ROWS, COLS});
    hpc_program *p = hpc_program_create();
    hpc_value in = hpc_program_input(p, "x", t);
    hpc_program_segment(p, HPC_FORWARD, 0);
    hpc_send(p, hpc_scale(p, HPC_NEW, in, HPC_NONE, 2), 1u << HPC_AXIS_ROW, 1 - rank, 0);
    hpc_value out = hpc_recv(p, t, 1u << HPC_AXIS_ROW, 1 - rank, 0);
    hpc_program_keep(p, out);
    const job *j = user;
    hpc_link *used;
    test_ok(link_of(&used, world, j));
    test_ok(hpc_grid_open(&g, used, &(hpc_grid_shape){.extent = {[HPC_AXIS_ROW] = 2}}));
    test_ok(hpc_device_open(&d, &(hpc_device_options){.backend = j->backend, .threads = 2}));
    test_ok(hpc_exec_open(&e, p, d, g, NULL));
    for (int64_t i = 0; i < N; i++) x[i] = held(rank, i);
    hpc_test_write(e, 0, in, x);
    for (int again = 0; again < 3; again++) {
        test_ok(hpc_exec_run(e, 0, 0));
        hpc_test_read(e, 0, out, z);
        for (int64_t i = 0; i < N; i++) assert_true(z[i] == 2 * held(1 - rank, i));
    }
    hpc_exec_close(e);
    hpc_grid_close(g);
    close_unless(used, world);
    hpc_device_close(d);
    hpc_program_free(p);
    return HPC_OK;
}

static const job kinds[] = {{"cpu", 2, false}, {"mock", 1, false}, {"mock", 1, true}};

static void peers_exchange(void **state)
{
    (void)state;
    for (int k = 0; k < 3; k++) test_ok(hpc_threads_run(2, exchange, (void *)(uintptr_t)&kinds[k]));
}

/* A transfer in a queue that is not ordered after the kernel that makes its data, or before the one
 * that uses its result. */
static int unordered(hpc_link *world, void *user)
{
    const bool late = *(const bool *)user;
    const hpc_backend *b;
    hpc_device *d;
    hpc_link *l;
    hpc_handle h = {0};
    void *send, *recv;
    float x[16] = {0};
    int event, rc = HPC_OK;
    test_ok(hpc_test_device_link(&l, world));
    test_ok(hpc_device_open(&d, &(hpc_device_options){.backend = "mock"}));
    test_ok(hpc_device_alloc(&send, d, sizeof x));
    test_ok(hpc_device_alloc(&recv, d, sizeof x));
    b = hpc_device_backend(d);
    test_ok(hpc_device_copy(d, HPC_COMPUTE, send, x, sizeof x, HPC_TO_DEVICE));
    test_ok(b->record(d, HPC_COMPUTE, &event));
    if (late) test_ok(b->wait(d, HPC_COMM, event));
    TRY(hpc_link_start(l, &h,
                       &(hpc_comm){.kind = HPC_ALL_REDUCE,
                                   .dtype = HPC_F32,
                                   .n = 16,
                                   .send = send,
                                   .recv = recv,
                                   .stream = b->stream(d, HPC_COMM)}));
    TRY(hpc_device_copy(d, HPC_COMPUTE, x, recv, sizeof x, HPC_TO_HOST));
    TRY(hpc_device_fence(d));
out:
    if (rc < 0) hpc_link_abort(world, hpc_error_get()->text);
    hpc_link_close(l);
    hpc_device_free(d, send);
    hpc_device_free(d, recv);
    hpc_device_close(d);
    return rc;
}

static void transfers_without_order_are_found(void **state)
{
    (void)state;
    test_fails(hpc_threads_run(2, unordered, &(bool){false}), HPC_E_FAULT,
               "sent memory is read on queue 1 while queue 0 may still write it");
    test_fails(hpc_threads_run(2, unordered, &(bool){true}), HPC_E_FAULT,
               "a copy's source is read on queue 0 while queue 1 may still write it");
}

/* One rank fails in a kernel; the others, waiting for it, end with its error. */
static int run_failing(hpc_link *world, void *user)
{
    hpc_device *d = NULL;
    hpc_grid *g = NULL;
    hpc_exec *e = NULL;
    hpc_link *used = NULL;
    const job *j = user;
    int rank = hpc_link_rank(world), rc = HPC_OK;
    hpc_grid_shape shape = {.extent = {[HPC_AXIS_ROW] = hpc_link_size(world)}};
    hpc_program *p = hpc_program_create();
    hpc_value x = hpc_program_input(p, "x", hpc_type_of(HPC_F32, 2, (int64_t[]){ROWS, COLS}));
    hpc_value index = hpc_program_input(p, "index", hpc_type_of(HPC_I32, 1, (int64_t[]){1}));
    hpc_program_segment(p, HPC_FORWARD, 0);
    hpc_all_reduce(p, hpc_gather(p, x, index), 1u << HPC_AXIS_ROW, HPC_COMM_SUM);
    TRY(link_of(&used, world, j));
    TRY(hpc_grid_open(&g, used, &shape));
    TRY(hpc_device_open(&d, &(hpc_device_options){.backend = j->backend, .threads = 2}));
    TRY(hpc_exec_open(&e, p, d, g, NULL));
    hpc_test_feed(e, 0, x, 1, 1);
    hpc_test_write_i32(e, 0, index, &(int32_t){rank == 1 ? ROWS : 0});
    TRY(hpc_exec_run(e, 0, 0));
out:
    hpc_exec_close(e);
    hpc_device_close(d);
    hpc_grid_close(g);
    close_unless(used, world);
    hpc_program_free(p);
    return rc;
}

static void a_failing_rank_ends_all(void **state)
{
    (void)state;
    for (int k = 0; k < 3; k++)
        test_fails(hpc_threads_run(3, run_failing, (void *)(uintptr_t)&kinds[k]), HPC_E_ARG,
                   "gather: index 12 at 0 is past the 12 rows");
}

/* Two stages of two ranks each, that name their links in different orders. */
static int run_stage(hpc_link *world, void *user)
{
    (void)user;
    const hpc_axes row = 1u << HPC_AXIS_ROW, pipe = 1u << HPC_AXIS_PIPE;
    hpc_type t = hpc_type_of(HPC_F32, 1, (int64_t[]){N});
    hpc_grid_shape shape = {.extent = {[HPC_AXIS_ROW] = 2, [HPC_AXIS_PIPE] = 2}};
    hpc_device *d;
    hpc_grid *g;
    hpc_exec *e;
    double x[N];
    test_ok(hpc_grid_open(&g, world, &shape));
    int stage = hpc_grid_coord(g, HPC_AXIS_PIPE), rank = hpc_link_rank(world);
    hpc_program *p = hpc_program_create();
    hpc_value in = stage ? HPC_NONE : hpc_program_input(p, "x", t), y;
    hpc_program_segment(p, HPC_FORWARD, 0);
    y = hpc_all_reduce(p, stage ? hpc_recv(p, t, pipe, 0, 0) : in, row, HPC_COMM_SUM);
    if (stage)
        hpc_program_keep(p, y);
    else
        hpc_send(p, y, pipe, 1, 0);
    test_ok(hpc_device_open(&d, &(hpc_device_options){.threads = 1}));
    test_ok(hpc_exec_open(&e, p, d, g, NULL));
    for (int64_t i = 0; i < N; i++) x[i] = held(rank, i);
    if (!stage) hpc_test_write(e, 0, in, x);
    test_ok(hpc_exec_run(e, 0, 0));
    if (stage) hpc_test_read(e, 0, y, x);
    for (int64_t i = 0; i < N && stage; i++) assert_true(x[i] == 2 * sum_of(2, i));
    hpc_exec_close(e);
    hpc_grid_close(g);
    hpc_device_close(d);
    hpc_program_free(p);
    return HPC_OK;
}

static void stages_agree_on_their_links(void **state)
{
    (void)state;
    test_ok(hpc_threads_run(4, run_stage, NULL));
}

/* Rank 1 cannot feed its second task, while rank 0 waits for a message from it. */
static int starve(hpc_exec *e, const hpc_task *t, void *user)
{
    (void)e;
    if (*(const int *)user == 0 || t->slot == 0) return HPC_OK;
    return hpc_fail(HPC_E_IO, "no more data");
}

static int run_starving(hpc_link *world, void *user)
{
    (void)user;
    hpc_type t = hpc_type_of(HPC_F32, 1, (int64_t[]){N});
    hpc_device *d = NULL;
    hpc_grid *g = NULL;
    hpc_exec *e = NULL;
    int rank = hpc_link_rank(world), rc = HPC_OK;
    hpc_grid_shape shape = {.extent = {[HPC_AXIS_PIPE] = 2}};
    const hpc_task task[] = {{.slot = 0, .microbatch = 0, .after = {-1, -1}},
                             {.slot = 1, .microbatch = 1, .after = {-1, -1}}};
    hpc_program *p = hpc_program_create();
    hpc_program_segment(p, HPC_FORWARD, 0);
    if (rank == 0) hpc_recv(p, t, 1u << HPC_AXIS_PIPE, 1, 0);
    TRY(hpc_grid_open(&g, world, &shape));
    TRY(hpc_device_open(&d, &(hpc_device_options){.threads = 1}));
    TRY(hpc_exec_open(&e, p, d, g, &(hpc_exec_options){.slots = 2}));
    TRY(hpc_schedule_run(
        e,
        &(hpc_schedule){
            .kind = HPC_ON_ARRIVAL, .task = task, .task_n = 2, .before = starve, .user = &rank}));
out:
    hpc_exec_close(e);
    hpc_device_close(d);
    hpc_grid_close(g);
    hpc_program_free(p);
    return rc;
}

static void a_failing_schedule_ends_all(void **state)
{
    (void)state;
    test_fails(hpc_threads_run(2, run_starving, NULL), HPC_E_IO, "no more data");
}

/* Two stages whose messages a link matches in the order of their starts, as NCCL does. */
static int run_in_streams(hpc_link *world, void *user)
{
    const hpc_schedule_kind kind = *(const hpc_schedule_kind *)user;
    const hpc_axes pipe = 1u << HPC_AXIS_PIPE;
    const hpc_task task[] = {{.after = {-1, -1}}};
    hpc_type t = hpc_type_of(HPC_F32, 1, (int64_t[]){N});
    hpc_device *d = NULL;
    hpc_grid *g = NULL;
    hpc_exec *e = NULL;
    hpc_link *l = NULL;
    int rank = hpc_link_rank(world), rc = HPC_OK;
    hpc_program *p = hpc_program_create();
    hpc_value x = hpc_program_input(p, "x", t);
    hpc_program_segment(p, HPC_FORWARD, 0);
    p->tags.queue = HPC_COMM;
    if (rank == 0) hpc_send(p, x, pipe, 1, 0);
    if (rank == 1) hpc_program_keep(p, hpc_recv(p, t, pipe, 0, 0));
    TRY(hpc_test_device_link(&l, world));
    TRY(hpc_grid_open(&g, l, &(hpc_grid_shape){.extent = {[HPC_AXIS_PIPE] = 2}}));
    TRY(hpc_device_open(&d, &(hpc_device_options){.backend = "mock"}));
    TRY(hpc_exec_open(&e, p, d, g, NULL));
    hpc_test_feed(e, 0, x, 1, 1);
    TRY(hpc_schedule_run(e, &(hpc_schedule){.kind = kind, .task = task, .task_n = 1}));
    TRY(hpc_exec_fence(e));
out:
    hpc_exec_close(e);
    hpc_device_close(d);
    hpc_grid_close(g);
    hpc_link_close(l);
    hpc_program_free(p);
    return rc;
}

static void rejects_arrival_where_messages_match_by_start(void **state)
{
    (void)state;
    test_ok(hpc_threads_run(2, run_in_streams, &(hpc_schedule_kind){HPC_IN_ORDER}));
    test_fails(hpc_threads_run(2, run_in_streams, &(hpc_schedule_kind){HPC_ON_ARRIVAL}),
               HPC_E_UNSUPPORTED,
               "schedule=arrival: mock matches messages in the order of their starts; use gpipe, "
               "1f1b or interleaved");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(on_cpu),
                                       cmocka_unit_test(on_mock),
                                       cmocka_unit_test(in_streams),
                                       cmocka_unit_test(transfers_without_order_are_found),
                                       cmocka_unit_test(peers_exchange),
                                       cmocka_unit_test(a_failing_rank_ends_all),
                                       cmocka_unit_test(stages_agree_on_their_links),
                                       cmocka_unit_test(a_failing_schedule_ends_all),
                                       cmocka_unit_test(
                                           rejects_arrival_where_messages_match_by_start)};
    return cmocka_run_group_tests_name("program/collectives", tests, NULL, NULL);
}
