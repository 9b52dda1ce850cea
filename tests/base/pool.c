/*
 * pool.c: each worker runs once per run, its writes are visible afterwards, the failure of the
 * lowest worker is returned, shares cover all items once, and a failed start leaks nothing.
 */
#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "runtime/base/base.h"
#include "tests/support/fault.h"

enum { MOST = 7 };
static const int teams[] = {1, 2, 3, MOST};

static int setup(void **state)
{
    (void)state;
    hpc_error_clear();
    hpc_test_fault_reset();
    return 0;
}

typedef struct tally {
    pthread_t caller;
    int64_t runs[MOST];
    int wrong;
    const int *rc; /* by worker; NULL: all succeed */
    bool wordless; /* fails without a record */
} tally;

static int count(int worker, int workers, void *user)
{
    tally *t = user;
    bool is_caller = pthread_equal(pthread_self(), t->caller) != 0;
    if (is_caller != (worker == 0) || workers > MOST) __atomic_add_fetch(&t->wrong, 1, 0);
    t->runs[worker]++; /* plain: each worker has its own, the caller reads after the run */
    if (!t->rc || t->rc[worker] >= 0 || t->wordless) return t->rc ? t->rc[worker] : 0;
    return hpc_fail(t->rc[worker], "worker %d of %d says no", worker, workers);
}

static void every_worker_runs_once(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof teams / sizeof *teams; k++) {
        hpc_pool *p;
        tally t = {.caller = pthread_self()};
        assert_int_equal(hpc_pool_create(&p, teams[k]), 0);
        assert_int_equal(hpc_pool_n(p), teams[k]);
        int64_t allocs = hpc_test_alloc_count();
        for (int round = 1; round <= 300; round++) {
            assert_int_equal(hpc_pool_run(p, count, &t), 0);
            for (int w = 0; w < MOST; w++) assert_int_equal(t.runs[w], w < teams[k] ? round : 0);
        }
        assert_int_equal(t.wrong, 0);
        assert_int_equal(hpc_test_alloc_count(), allocs);
        hpc_pool_free(p);
    }
    hpc_pool_free(NULL);
}

static bool are_others_asleep(void)
{
    bool all = true;
    struct dirent *d;
    DIR *tasks = opendir("/proc/self/task");
    assert_non_null(tasks);
    while ((d = readdir(tasks))) {
        char path[300], text[256] = "";
        snprintf(path, sizeof path, "/proc/self/task/%s/stat", d->d_name);
        FILE *f = atoi(d->d_name) > 0 && atoi(d->d_name) != gettid() ? fopen(path, "r") : NULL;
        if (!f) continue;
        if (fread(text, 1, sizeof text - 1, f) > 0 && !strstr(text, ") S ")) all = false;
        fclose(f);
    }
    closedir(tasks);
    return all;
}

static void wait_for_sleep(void)
{
    for (int k = 0; k < 10000 && !are_others_asleep(); k++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    assert_true(are_others_asleep());
}

static void sleeping_threads_wake(void **state)
{
    (void)state;
    hpc_pool *p;
    tally t = {.caller = pthread_self()};
    assert_int_equal(hpc_pool_create(&p, 3), 0);
    for (int round = 1; round <= 5; round++) {
        wait_for_sleep();
        assert_int_equal(hpc_pool_run(p, count, &t), 0);
        assert_int_equal(t.runs[2], round);
    }
    wait_for_sleep();
    hpc_pool_free(p);
}

static void first_failure_by_number(void **state)
{
    (void)state;
    static const struct {
        int rc[4], want;
        const char *text;
    } cases[] = {
        {{0, 0, 0, HPC_E_IO}, HPC_E_IO, "worker 3 of 4 says no"},
        {{0, 0, 0, HPC_E_ABORTED}, HPC_E_ABORTED, "worker 3 of 4 says no"},
        {{0, 0, HPC_E_SHAPE, HPC_E_IO}, HPC_E_SHAPE, "worker 2 of 4 says no"},
        {{0, HPC_E_FAULT, HPC_E_SHAPE, 0}, HPC_E_FAULT, "worker 1 of 4 says no"},
        {{HPC_E_ARG, HPC_E_FAULT, 0, 0}, HPC_E_ARG, "worker 0 of 4 says no"},
        {{5, 4, 0, 0}, 0, ""},
    };
    hpc_pool *p;
    assert_int_equal(hpc_pool_create(&p, 4), 0);
    for (int round = 0; round < 20; round++) {
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            tally t = {.caller = pthread_self(), .rc = cases[i].rc};
            hpc_error_clear();
            assert_int_equal(hpc_pool_run(p, count, &t), cases[i].want);
            assert_int_equal(hpc_error_get()->code, cases[i].want);
            assert_string_equal(hpc_error_get()->text, cases[i].text);
            assert_true(cases[i].want == 0 || strstr(hpc_error_get()->file, "tests/base/pool.c"));
            for (int w = 0; w < 4; w++) assert_int_equal(t.runs[w], 1);
        }
    }
    hpc_pool_free(p);
}

static void a_failure_without_words_gets_some(void **state)
{
    (void)state;
    static const int theirs[2] = {0, HPC_E_STATE}, ours[2] = {HPC_E_STATE, 0};
    hpc_pool *p;
    assert_int_equal(hpc_pool_create(&p, 2), 0);
    tally t = {.caller = pthread_self(), .rc = theirs, .wordless = true};
    assert_int_equal(hpc_pool_run(p, count, &t), HPC_E_STATE);
    assert_string_equal(hpc_error_get()->text, "worker 1 failed with code -7 without a message");
    hpc_error_clear();
    t.rc = ours;
    assert_int_equal(hpc_pool_run(p, count, &t), HPC_E_STATE);
    assert_string_equal(hpc_error_get()->text, "worker 0 failed with code -7 without a message");
    hpc_pool_free(p);
}

/* Signals from outside must reach the caller's thread, never a worker. */
static int signals_blocked(int worker, int workers, void *user)
{
    (void)workers;
    sigset_t set;
    pthread_sigmask(SIG_SETMASK, NULL, &set);
    ((int *)user)[worker] = sigismember(&set, SIGINT) + 2 * sigismember(&set, SIGSEGV);
    return 0;
}

static void workers_leave_signals_alone(void **state)
{
    (void)state;
    hpc_pool *p;
    int blocked[2] = {9, 9};
    assert_int_equal(hpc_pool_create(&p, 2), 0);
    assert_int_equal(hpc_pool_run(p, signals_blocked, blocked), 0);
    assert_int_equal(blocked[0], 0);
    assert_int_equal(blocked[1], 1);
    hpc_pool_free(p);
}

#if defined(__linux__)
typedef struct places {
    int cpus[MOST]; /* that a worker may use */
    int cpu[MOST];  /* where it is */
} places;

static int look_around(int worker, int workers, void *user)
{
    places *at = user;
    cpu_set_t set;
    (void)workers;
    if (sched_getaffinity(0, sizeof set, &set) != 0) return HPC_E_IO;
    at->cpus[worker] = CPU_COUNT(&set);
    at->cpu[worker] = sched_getcpu();
    return 0;
}

/* With enough CPUs, each worker is bound to its own and the caller is not bound; with fewer, no
 * worker is bound. */
static void workers_keep_apart(void **state)
{
    cpu_set_t before, own;
    (void)state;
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    int all = CPU_COUNT(&before);
    if (all < 2 || all > MOST) skip();
    for (int n = all - 1; n <= all; n++) {
        hpc_pool *p;
        places at = {{0}, {0}};
        assert_int_equal(hpc_pool_create(&p, n), 0);
        for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
            if (!CPU_ISSET(cpu, &before)) continue;
            CPU_ZERO(&own);
            CPU_SET(cpu, &own);
            assert_int_equal(sched_setaffinity(0, sizeof own, &own), 0);
            assert_int_equal(hpc_pool_run(p, look_around, &at), 0);
            assert_int_equal(at.cpu[0], cpu);
            /* A worker bound while it sleeps is on its CPU in the next run. */
            assert_int_equal(hpc_pool_run(p, look_around, &at), 0);
            for (int k = 1; k < n; k++) assert_int_equal(at.cpus[k], n == all ? 1 : all);
            for (int k = 1; k < n && n == all; k++)
                for (int j = 0; j < k; j++) assert_int_not_equal(at.cpu[k], at.cpu[j]);
        }
        hpc_pool_free(p);
        assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
    }
}
#endif

static void bad_sizes_are_refused(void **state)
{
    (void)state;
    static const int sizes[] = {0, -1, 4097, INT32_MAX};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        hpc_pool *p = (hpc_pool *)&p;
        hpc_error_clear();
        assert_int_equal(hpc_pool_create(&p, sizes[i]), HPC_E_ARG);
        assert_null(p);
        assert_non_null(strstr(hpc_error_get()->text, "threads requested"));
    }
}

static int create_and_run(void *user)
{
    int n = *(int *)user;
    hpc_pool *p;
    tally t = {.caller = pthread_self()};
    int rc = hpc_pool_create(&p, n);
    if (rc == 0) rc = hpc_pool_run(p, count, &t);
    hpc_pool_free(p);
    return rc;
}

/* Memory twice, then each thread: those already started must be stopped and joined. */
static void every_allocation_and_thread_fails_in_turn(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof teams / sizeof *teams; k++) {
        int n = teams[k];
        assert_int_equal(hpc_test_each_alloc(create_and_run, &n), 2 + n - 1);
    }
    hpc_pool *p;
    hpc_test_fail_alloc(4);
    assert_int_equal(hpc_pool_create(&p, 3), HPC_E_NOMEM);
    assert_non_null(strstr(hpc_error_get()->text, "cannot start thread 2 of 3"));
}

/* Shares are contiguous, in order, whole grains, cover everything, and differ by one grain. */
static void assert_shares(int64_t n, int64_t grain, int workers)
{
    int64_t end = 0, least = INT64_MAX, most = 0;
    for (int w = 0; w < workers; w++) {
        int64_t lo, hi;
        hpc_share(&lo, &hi, n, grain, w, workers);
        assert_true(lo == end && hi >= lo && hi <= n);
        assert_true(lo % grain == 0 || lo == n);
        end = hi;
        int64_t grains = (hi - lo) / grain + ((hi - lo) % grain != 0);
        if (grains < least) least = grains;
        if (grains > most) most = grains;
    }
    assert_true(end == n);
    assert_true(most - least <= 1);
}

static void shares_partition(void **state)
{
    (void)state;
    for (int64_t n = 0; n < 60; n++)
        for (int64_t grain = 1; grain < 20; grain += 3)
            for (int workers = 1; workers <= 9; workers++) assert_shares(n, grain, workers);
    assert_shares(INT64_MAX, 1, 7);
    assert_shares(INT64_MAX, INT64_MAX, 3);
    assert_shares(INT64_MAX, INT64_MAX - 1, 3);
    assert_shares(INT64_MAX - 1, (int64_t)1 << 62, 5);
}

static void the_clock_goes_forward(void **state)
{
    (void)state;
    int64_t start = hpc_clock_ns(), now = start;
    nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    for (int i = 0; i < 1000; i++) {
        int64_t next = hpc_clock_ns();
        assert_true(next >= now);
        now = next;
    }
    assert_true(now - start >= 2000000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(every_worker_runs_once, setup),
        cmocka_unit_test_setup(sleeping_threads_wake, setup),
        cmocka_unit_test_setup(first_failure_by_number, setup),
        cmocka_unit_test_setup(a_failure_without_words_gets_some, setup),
        cmocka_unit_test_setup(workers_leave_signals_alone, setup),
#if defined(__linux__)
        cmocka_unit_test_setup(workers_keep_apart, setup),
#endif
        cmocka_unit_test_setup(bad_sizes_are_refused, setup),
        cmocka_unit_test_setup(every_allocation_and_thread_fails_in_turn, setup),
        cmocka_unit_test_setup(shares_partition, setup),
        cmocka_unit_test_setup(the_clock_goes_forward, setup),
    };
    return cmocka_run_group_tests_name("base/pool", tests, NULL, NULL);
}
