/*
 * threads.c: threads as ranks: splitting, propagation of one rank's failure, ranks that leave,
 * failing allocations. threads_collective.c and threads_message.c test operations.
 */
#include "tests/support/ranks.h"

#include <stdatomic.h>
#include <time.h>

static int sum_ranks(hpc_link *l, int64_t *sum)
{
    int64_t x = l->rank;
    hpc_comm c = {.kind = HPC_ALL_REDUCE, .dtype = HPC_I64, .n = 1, .send = &x, .recv = sum};
    return hpc_link_run(l, &c);
}

/* ---- failures ------------------------------------------------------------------ */
static int third_fails(hpc_link *l, void *user)
{
    (void)user;
    int64_t sum;
    if (l->rank == 2) return hpc_fail(HPC_E_FORMAT, "step 7: the loss fell off the table");
    int rc = sum_ranks(l, &sum);
    EXPECT(rc == HPC_E_ABORTED);
    EXPECT(strstr(hpc_error_get()->text, "rank 2 failed: step 7: the loss fell off the table"));
    return rc;
}

static void the_real_failure_is_returned(void **state)
{
    (void)state;
    assert_int_equal(hpc_threads_run(4, third_fails, NULL), HPC_E_FORMAT);
    assert_int_equal(hpc_error_get()->code, HPC_E_FORMAT);
    assert_string_equal(hpc_error_get()->text, "step 7: the loss fell off the table");
}

static int two_fail(hpc_link *l, void *user)
{
    (void)user;
    if (l->rank == 1) return hpc_fail(HPC_E_SHAPE, "one");
    if (l->rank == 3) return hpc_fail(HPC_E_IO, "three");
    return 0;
}

static int silent(hpc_link *l, void *user)
{
    (void)user;
    return l->rank == 1 ? HPC_E_UNSUPPORTED : 0;
}

static void first_by_rank(void **state)
{
    (void)state;
    assert_int_equal(hpc_threads_run(4, two_fail, NULL), HPC_E_SHAPE);
    assert_string_equal(hpc_error_get()->text, "one");
    hpc_error_clear();
    assert_int_equal(hpc_threads_run(2, silent, NULL), HPC_E_UNSUPPORTED);
    assert_non_null(strstr(hpc_error_get()->text, "rank 1: "));
    hpc_error_clear();
    assert_int_equal(hpc_threads_run(0, silent, NULL), HPC_E_ARG);
    assert_non_null(strstr(hpc_error_get()->text, "0 ranks"));
}

static int calls_abort(hpc_link *world, void *user)
{
    (void)user;
    hpc_link *pair;
    int64_t sum;
    EXPECT(hpc_link_split(&pair, world, world->rank / 2, 0) == 0);
    if (world->rank == 3) hpc_link_abort(pair, "asked to stop");
    int rc = sum_ranks(world->rank == 0 ? world : pair, &sum);
    while (rc == 0) rc = sum_ranks(pair, &sum);
    hpc_link *never;
    EXPECT_FAILURE(rc, HPC_E_ABORTED, "rank 3 failed: asked to stop");
    EXPECT_FAILURE(hpc_link_split(&never, world, 0, 0), HPC_E_ABORTED, "asked to stop");
    EXPECT(never == NULL);
    hpc_link_close(pair);
    return world->rank == 3 ? hpc_fail(HPC_E_ABORTED, "stopped") : 0;
}

static void abort_reaches_every_split(void **state)
{
    (void)state;
    for (int i = 0; i < 10; i++) {
        hpc_error_clear();
        assert_int_equal(hpc_threads_run(4, calls_abort, NULL), HPC_E_ABORTED);
        assert_string_equal(hpc_error_get()->text, "stopped");
    }
}

/* ---- aborts at random points ---------------------------------------------------- */
enum { FLIGHT = 4, EXTENT = 3000 };

typedef struct storm {
    uint32_t seed;
    int victim, at; /* this rank fails at this step */
    atomic_int aborted;
} storm;

typedef struct flight { /* an operation with buffers of its own, released at landing */
    hpc_handle h;
    float *send, *recv;
} flight;

static int take_off(flight *f, hpc_link *l, uint32_t bits)
{
    int partner = l->rank ^ 1;
    bool message = bits % 3 == 0 && partner < l->size;
    hpc_comm c = {.kind = (hpc_comm_kind)(bits / 4 % (HPC_BROADCAST + 1)),
                  .n = bits / 64 % EXTENT,
                  .peer = (int)(bits / 32 % 2)};
    if (message) { /* even ranks send, odd ones receive */
        c.kind = l->rank % 2 == 0 ? HPC_SEND : HPC_RECV;
        c.peer = partner;
    }
    f->send = hpc_alloc((size_t)l->size * EXTENT, sizeof *f->send);
    f->recv = hpc_alloc((size_t)l->size * EXTENT, sizeof *f->recv);
    EXPECT(f->send && f->recv);
    c.send = f->send;
    c.recv = f->recv;
    return hpc_link_start(l, &f->h, &c);
}

static int land(flight *f)
{
    int rc = hpc_link_wait(&f->h);
    hpc_free(f->send);
    hpc_free(f->recv);
    *f = (flight){.send = NULL};
    return rc;
}

static int fly(storm *s, hpc_link *world, hpc_link *half)
{
    int rc = 0;
    flight f[FLIGHT] = {{.send = NULL}};
    for (int step = 0; step < 100000 && rc == 0; step++) {
        flight *next = &f[step % FLIGHT];
        uint32_t bits = hpc_random_bits(s->seed, 1, 0, (uint64_t)step);
        rc = land(next);
        if (rc == 0 && world->rank == s->victim && step == s->at) {
            if (s->seed % 2) hpc_link_abort(half, "struck");
            rc = s->seed % 2 ? HPC_E_ABORTED : hpc_fail(HPC_E_FAULT, "struck");
            if (s->seed % 2 == 0) hpc_link_abort(world, "struck");
        }
        if (rc == 0) rc = take_off(next, bits % 5 < 2 ? half : world, bits);
    }
    for (int i = 0; i < FLIGHT; i++) land(&f[i]);
    return rc;
}

static int struck(hpc_link *world, void *user)
{
    storm *s = user;
    hpc_link *half;
    EXPECT(hpc_link_split(&half, world, world->rank / 2, world->rank) == 0);
    int rc = fly(s, world, half);
    hpc_link_close(half);
    if (rc == HPC_E_ABORTED) atomic_fetch_add(&s->aborted, 1);
    if (world->rank != s->victim) {
        EXPECT(rc == HPC_E_ABORTED);
        char who[32];
        snprintf(who, sizeof who, "rank %d failed: struck", s->victim);
        EXPECT(strstr(hpc_error_get()->text, who));
    }
    return rc;
}

static void aborts_at_random_points(void **state)
{
    (void)state;
    for (uint32_t seed = 0; seed < 50; seed++) {
        uint32_t bits = hpc_random_bits(99, 0, 0, seed);
        storm s = {.seed = seed, .victim = (int)(bits % 4), .at = (int)(bits / 4 % 60)};
        hpc_error_clear();
        int rc = hpc_threads_run(4, struck, &s);
        assert_int_equal(rc, seed % 2 ? HPC_E_ABORTED : HPC_E_FAULT);
        assert_non_null(strstr(hpc_error_get()->text, "struck"));
        assert_int_equal(atomic_load(&s.aborted), seed % 2 ? 4 : 3);
    }
}

/* ---- waiting ----------------------------------------------------------------- */
static int64_t cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static int waits_long(hpc_link *l, void *user)
{
    (void)user;
    const struct timespec pause = {.tv_nsec = 200000000};
    int64_t sum, before = cpu_ns();
    if (l->rank == 0) nanosleep(&pause, NULL);
    EXPECT(sum_ranks(l, &sum) == 0 && sum == 3);
    EXPECT(cpu_ns() - before < 50000000);
    return 0;
}

static void waiting_sleeps(void **state)
{
    (void)state;
    run_ranks(3, waits_long, NULL);
}

/* ---- ranks that leave ------------------------------------------------------------ */
static int forgets(hpc_link *l, void *user)
{
    float(*buf)[2] = user; /* outlives the ranks, as an operation in flight needs */
    hpc_handle h = {0};
    hpc_comm c = {
        .kind = HPC_ALL_REDUCE, .n = 1, .send = &buf[l->rank][0], .recv = &buf[l->rank][1]};
    EXPECT(hpc_link_start(l, &h, &c) == 0);
    return l->rank == 0 ? 0 : hpc_link_wait(&h);
}

static void operations_must_be_waited_for(void **state)
{
    (void)state;
    float buf[2][2] = {{0}};
    for (int i = 0; i < 10; i++) {
        hpc_error_clear();
        assert_int_equal(hpc_threads_run(2, forgets, buf), HPC_E_STATE);
        assert_string_equal(hpc_error_get()->text,
                            "rank 0 ended with 1 operations in flight; wait for them first");
    }
}

/* ---- failing allocations ----------------------------------------------------------- */
static int small_life(hpc_link *world, void *user)
{
    (void)user;
    int rc = 0;
    hpc_link *half = NULL;
    int64_t sum;
    float x = 1, y;
    hpc_handle h = {0};
    hpc_comm send = {.kind = HPC_SEND, .n = 1, .send = &x, .peer = 1};
    hpc_comm recv = {.kind = HPC_RECV, .n = 1, .recv = &y, .peer = 0};
    TRY(sum_ranks(world, &sum));
    TRY(hpc_link_split(&half, world, world->rank < 2, 0));
    if (half->size == 2) TRY(hpc_link_start(half, &h, half->rank == 0 ? &send : &recv));
    TRY(sum_ranks(half, &sum));
    TRY(hpc_link_wait(&h));
out:
    if (rc < 0) hpc_link_abort(world, hpc_error_get()->text);
    hpc_link_wait(&h); /* its buffers end here */
    hpc_link_close(half);
    return rc;
}

static int run_small_life(void *user)
{
    return hpc_threads_run(3, small_life, user);
}

static void failing_allocations(void **state)
{
    (void)state;
    assert_true(hpc_test_each_alloc(run_small_life, NULL) > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(the_real_failure_is_returned, start_over),
        cmocka_unit_test_setup(first_by_rank, start_over),
        cmocka_unit_test_setup(abort_reaches_every_split, start_over),
        cmocka_unit_test_setup(aborts_at_random_points, start_over),
        cmocka_unit_test_setup(waiting_sleeps, start_over),
        cmocka_unit_test_setup(operations_must_be_waited_for, start_over),
        cmocka_unit_test_setup(failing_allocations, start_over),
    };
    int failed = run_link_cases("link/threads_groups", hpc_test_link_groups);
    return failed + cmocka_run_group_tests_name("link/threads", tests, NULL, NULL);
}
