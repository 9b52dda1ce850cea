/*
 * mpi.c: processes as ranks. Without arguments it starts itself under mpirun on 2, 3 and 4 ranks.
 * There it runs the tests for every kind of link, or one rank fails, hangs or leaves.
 */
#include "tests/support/processes.h"
#include "tests/support/ranks.h"

#include <limits.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/command.h"
#include "tests/support/sanitized.h"

/* ---- as a rank ------------------------------------------------------------------- */
/* On the first `size` ranks of the world, with a link of their own. */
static int run_case(hpc_link *world, const hpc_test_link_case *c, int size)
{
    hpc_link *l;
    int rc = hpc_link_split(&l, world, world->rank < size ? 0 : -1, world->rank);
    if (rc < 0 || !l) return rc;
    rc = c->fn(l, NULL);
    hpc_link_close(l);
    return rc < 0 ? hpc_error_where("%s on %d ranks", c->name, size) : rc;
}

static int battery(hpc_link *world)
{
    const hpc_test_link_case *const lists[] = {hpc_test_link_collectives, hpc_test_link_messages,
                                               hpc_test_link_groups, hpc_test_link_agreement};
    int rc = 0, n = 0;
    for (int k = 0; k < 4; k++) {
        for (const hpc_test_link_case *c = lists[k]; c->name; c++) {
            for (int i = 0; i < 6 && c->sizes[i]; i++) {
                if (c->sizes[i] > world->size) continue;
                for (int t = 0; t < c->times && rc == 0; t++) rc = run_case(world, c, c->sizes[i]);
                n++;
            }
        }
    }
    if (rc == 0 && world->rank == 0) printf("%d cases are right\n", n);
    return rc;
}

static int sum_ranks(hpc_link *l, int64_t *sum)
{
    int64_t x = l->rank;
    hpc_comm c = {.kind = HPC_ALL_REDUCE, .dtype = HPC_I64, .n = 1, .send = &x, .recv = sum};
    return hpc_link_run(l, &c);
}

/* Long data are under way in all pairs when one rank gives up. */
static int strike(hpc_link *world)
{
    enum { LEN = 300000 };
    static float send[2][LEN], recv[2][LEN];
    hpc_link *never;
    hpc_handle h[2] = {{0}};
    int rc = 0;
    for (int step = 0; step < 1000 && rc == 0; step++) {
        if (world->rank == 1 && step == 7) hpc_link_abort(world, "asked to stop");
        for (int i = 0; i < 2 && rc == 0; i++) {
            hpc_comm c = {.kind = HPC_ALL_REDUCE, .n = LEN, .send = send[i], .recv = recv[i]};
            rc = hpc_link_start(world, &h[i], &c);
        }
        for (int i = 0; i < 2; i++) {
            int ended = hpc_link_wait(&h[i]);
            if (rc == 0) rc = ended;
        }
    }
    EXPECT_FAILURE(rc, HPC_E_ABORTED, "rank 1 failed: asked to stop");
    EXPECT_FAILURE(hpc_link_split(&never, world, 0, 0), HPC_E_ABORTED, "asked to stop");
    return 0;
}

/* Rank 1 comes three seconds late, for those that wait one. */
static int dawdle(hpc_link *world)
{
    int64_t sum = 0, a = hpc_clock_ns();
    hpc_grid *g = NULL;
    hpc_link *l;
    hpc_grid_shape s = {{[HPC_AXIS_DATA] = world->size}};
    EXPECT(hpc_grid_open(&g, world, &s) == 0);
    hpc_link_timeout(world, 1);
    EXPECT(hpc_grid_link(&l, g, 1u << HPC_AXIS_DATA) == 0 && l->timeout_s == 1);
    if (world->rank == 1) nanosleep(&(struct timespec){.tv_sec = 3}, NULL);
    int rc = sum_ranks(l, &sum);
    if (world->rank == 1)
        EXPECT_FAILURE(rc, HPC_E_ABORTED, " failed: all_reduce(sum) i64[1] on axis data");
    else
        EXPECT_FAILURE(rc, HPC_E_ABORTED, "all_reduce(sum) i64[1] on axis data: gave up after 1 s",
                       world->size == 2 ? "rank 1 has not started it" : "1");
    EXPECT(world->rank == 1 || hpc_clock_ns() - a < 2500000000);
    hpc_grid_close(g);
    return 0;
}

static int unanswered(hpc_link *world)
{
    float x = 0;
    hpc_comm c = {.kind = HPC_RECV, .n = 1, .peer = 1, .tag = 5, .recv = &x};
    hpc_link_timeout(world, 0.5);
    if (world->rank != 0) {
        nanosleep(&(struct timespec){.tv_sec = 1}, NULL);
        return 0;
    }
    EXPECT_FAILURE(hpc_link_run(world, &c), HPC_E_ABORTED, "recv f32[1] under tag 5 on the world",
                   "gave up after 0.5 s", "rank 1 has not started the other end");
    return 0;
}

static int64_t cpu_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* A rank that waits half a second for another sleeps, as does its thread; with nothing in flight
 * neither wakes. */
static int idle(hpc_link *world)
{
    const struct timespec half = {.tv_nsec = 500000000}, little = {.tv_nsec = 50000000};
    int64_t sum, before = cpu_ns(CLOCK_PROCESS_CPUTIME_ID);
    if (world->rank == 0) nanosleep(&half, NULL);
    EXPECT(sum_ranks(world, &sum) == 0);
    int64_t waiting = cpu_ns(CLOCK_PROCESS_CPUTIME_ID) - before;
    nanosleep(&little, NULL);
    before = cpu_ns(CLOCK_PROCESS_CPUTIME_ID);
    nanosleep(&half, NULL);
    int64_t resting = cpu_ns(CLOCK_PROCESS_CPUTIME_ID) - before;
    if (world->rank == world->size - 1)
        printf("CPU: %.1f ms of 500 waiting, %.2f resting\n", (double)waiting * 1e-6,
               (double)resting * 1e-6);
    EXPECT(waiting < 150000000);
    EXPECT(resting < 25000000);
    return sum_ranks(world, &sum);
}

/* All compute, none waits: the reduction is there when they look. */
static int beside(hpc_link *world)
{
    enum { LEN = 200000 };
    static float send[LEN], recv[LEN];
    int64_t sum;
    bool done = false;
    hpc_handle h = {0};
    hpc_comm c = {.kind = HPC_ALL_REDUCE, .n = LEN, .send = send, .recv = recv};
    for (int i = 0; i < LEN; i++) send[i] = (float)world->rank;
    EXPECT(hpc_link_start(world, &h, &c) == 0);
    nanosleep(&(struct timespec){.tv_nsec = 700000000}, NULL);
    EXPECT(recv[0] == (float)(world->size * (world->size - 1) / 2) && recv[LEN - 1] == recv[0]);
    EXPECT(hpc_link_test(&h, &done) == 0 && done);
    return sum_ranks(world, &sum);
}

/* Who closes with an operation in flight that is long fails all; none hangs, and MPI ends. */
static int closes_amid(hpc_link *world)
{
    enum { LEN = 2000000 };
    static float send[LEN], recv[LEN];
    hpc_link *l;
    hpc_handle h = {0};
    hpc_comm c = {.kind = HPC_ALL_REDUCE, .n = LEN, .send = send, .recv = recv};
    EXPECT(hpc_link_split(&l, world, 0, world->rank) == 0);
    int rc = hpc_link_start(l, &h, &c); /* rank 0 may have closed before another starts */
    if (rc == 0 && world->rank != 0) rc = hpc_link_wait(&h);
    hpc_link_close(l);
    hpc_error_clear();
    EXPECT(rc == 0 || rc == HPC_E_ABORTED || rc == HPC_E_STATE);
    return 0;
}

static const struct {
    const char *name;
    int (*fn)(hpc_link *world);
} modes[] = {
    {"battery", battery},         {"strike", strike}, {"dawdle", dawdle},
    {"unanswered", unanswered},   {"idle", idle},     {"beside", beside},
    {"closes_amid", closes_amid},
};

static int rank_main(const char *mode)
{
    char path[PATH_MAX];
    hpc_link *world = NULL;
    int rc = hpc_mpi_launched() ? 0 : hpc_fail(HPC_E_STATE, "not launched");
    if (rc == 0) rc = hpc_mpi_open(&world, hpc_test_built(path, "hpccoder-mpi.so"));
    int rank = world ? world->rank : -1;
    for (size_t k = 0; k < sizeof modes / sizeof *modes && rc == 0; k++)
        if (strcmp(modes[k].name, mode) == 0) rc = modes[k].fn(world);
    if (rc < 0) fprintf(stderr, "rank %d: %s\n", rank, hpc_error_get()->text);
    if (rc < 0 && world) hpc_link_abort(world, hpc_error_get()->text);
    hpc_link_close(world);
    return rc < 0;
}

/* ---- as the test ------------------------------------------------------------------ */
static void run_mode(const char *mode, int least, int most)
{
    hpc_test_need_mpi();
    for (int n = least; n <= most; n++)
        assert_int_equal(hpc_test_processes(n, "--rank %s", mode), 0);
}

static void every_case_on_processes(void **state)
{
    (void)state;
    run_mode("battery", 2, 4);
}

static void abort_reaches_all(void **state)
{
    (void)state;
    run_mode("strike", 2, 4);
}

static void who_does_not_come_is_named(void **state)
{
    (void)state;
    run_mode("dawdle", 2, 3);
    run_mode("unanswered", 2, 2);
}

static void waiting_sleeps(void **state)
{
    (void)state;
    run_mode("idle", 3, 3);
}

static void progress_while_all_compute(void **state)
{
    (void)state;
    run_mode("beside", 4, 4);
}

static void closing_amid_data(void **state)
{
    (void)state;
    run_mode("closes_amid", 3, 3);
}

/* ---- without mpirun ------------------------------------------------------------------ */
static void launched_by_the_environment(void **state)
{
    (void)state;
    static const char *const all[] = {
        "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_SIZE", "MV2_COMM_WORLD_SIZE", "PMIX_RANK",
        "SLURM_STEP_NUM_TASKS", "PMI_RANK"};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) unsetenv(all[k]);
    assert_false(hpc_mpi_launched());
    setenv("PMIX_RANK", "0", 1);
    assert_true(hpc_mpi_launched());
    setenv("OMPI_COMM_WORLD_SIZE", "1", 1);
    assert_false(hpc_mpi_launched());
    setenv("OMPI_COMM_WORLD_SIZE", "4", 1);
    assert_true(hpc_mpi_launched());
    unsetenv("OMPI_COMM_WORLD_SIZE");
    unsetenv("PMIX_RANK");
    setenv("SLURM_STEP_NUM_TASKS", "2", 1);
    assert_true(hpc_mpi_launched());
    hpc_link *world = NULL;
    assert_int_equal(hpc_mpi_open(&world, NULL), HPC_E_UNSUPPORTED); /* srun --mpi=none */
    assert_non_null(strstr(hpc_error_get()->text, "srun started 2 tasks without "));
    assert_non_null(strstr(hpc_error_get()->text, "srun --mpi=pmix"));
    hpc_error_clear();
    unsetenv("SLURM_STEP_NUM_TASKS");
}

static void a_build_without_mpi_says_so(void **state)
{
    (void)state;
    hpc_link *world = NULL;
    char path[PATH_MAX];
    assert_int_equal(hpc_mpi_open(&world, hpc_test_built(path, "no-such.so")), HPC_E_UNSUPPORTED);
    assert_null(world);
    assert_string_equal(hpc_error_get()->text,
                        "hpccoder-mpi.so is missing: install libopenmpi-dev and rebuild");
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--rank") == 0) return rank_main(argv[2]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(every_case_on_processes, start_over),
        cmocka_unit_test_setup(abort_reaches_all, start_over),
        cmocka_unit_test_setup(who_does_not_come_is_named, start_over),
        cmocka_unit_test_setup(waiting_sleeps, start_over),
        cmocka_unit_test_setup(progress_while_all_compute, start_over),
        cmocka_unit_test_setup(closing_amid_data, start_over),
        cmocka_unit_test_setup(launched_by_the_environment, start_over),
        cmocka_unit_test_setup(a_build_without_mpi_says_so, start_over),
    };
    return cmocka_run_group_tests_name("link/mpi", tests, NULL, NULL);
}
