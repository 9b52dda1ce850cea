/*
 * barrier.c: many rounds with as many threads as CPUs and with more, late threads, and wrap-around
 * of the generation. Data between rounds are plain, so tsan shows races.
 */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <time.h>

#include <cmocka.h>

#include "runtime/base/base.h"

enum { MOST = 7 };

typedef struct meeting {
    hpc_barrier barrier;
    int rounds;
    int64_t cell[MOST]; /* plain: written between two waits by its worker alone */
    int sleeper;        /* this worker is late in every 16th round; -1: none */
    int wrong;
} meeting;

/* Each round every worker writes its cell, waits, reads all cells and waits again. */
static int meet(int worker, int workers, void *user)
{
    meeting *m = user;
    for (int round = 1; round <= m->rounds; round++) {
        if (worker == m->sleeper && round % 16 == 0)
            nanosleep(&(struct timespec){.tv_nsec = 3000000}, NULL);
        m->cell[worker] = (int64_t)round * (worker + 1);
        hpc_barrier_wait(&m->barrier);
        for (int w = 0; w < workers; w++)
            if (m->cell[w] != (int64_t)round * (w + 1)) __atomic_add_fetch(&m->wrong, 1, 0);
        hpc_barrier_wait(&m->barrier);
    }
    return 0;
}

static void run(meeting *m, int workers)
{
    hpc_pool *p;
    assert_int_equal(hpc_pool_create(&p, workers), 0);
    assert_int_equal(hpc_pool_run(p, meet, m), 0);
    hpc_pool_free(p);
    assert_int_equal(m->wrong, 0);
    for (int w = 0; w < workers; w++) assert_int_equal(m->cell[w], (int64_t)m->rounds * (w + 1));
    assert_int_equal(m->barrier.arrived, 0);
}

static void one_is_free(void **state)
{
    (void)state;
    hpc_barrier b;
    hpc_barrier_init(&b, 1);
    for (int i = 0; i < 1000; i++) hpc_barrier_wait(&b);
    assert_int_equal(b.arrived, 0);
    assert_int_equal(b.generation, 0);
}

static void nobody_passes_early(void **state)
{
    (void)state;
    static const int teams[] = {1, 2, 3, MOST};
    for (size_t k = 0; k < sizeof teams / sizeof *teams; k++) {
        meeting m = {.rounds = 3000, .sleeper = -1};
        hpc_barrier_init(&m.barrier, teams[k]);
        run(&m, teams[k]);
    }
}

/* The others go through all three phases of waiting while one sleeps. */
static void the_late_are_waited_for(void **state)
{
    (void)state;
    for (int sleeper = 0; sleeper < 3; sleeper++) {
        meeting m = {.rounds = 80, .sleeper = sleeper};
        hpc_barrier_init(&m.barrier, 3);
        run(&m, 3);
    }
}

/* Sleeping at once: the path that wakes is taken in nearly every round. */
static void without_spinning(void **state)
{
    (void)state;
    meeting m = {.rounds = 500, .sleeper = -1};
    hpc_barrier_init(&m.barrier, 4);
    m.barrier.spins = 0;
    run(&m, 4);
}

static void the_generation_wraps(void **state)
{
    (void)state;
    meeting m = {.rounds = 100, .sleeper = 1};
    hpc_barrier_init(&m.barrier, 3);
    m.barrier.generation = INT_MAX - 1 - 100;
    run(&m, 3);
    assert_true(m.barrier.generation < 0);
}

static void counters_lie_apart(void **state)
{
    (void)state;
    assert_true(offsetof(hpc_barrier, generation) >= offsetof(hpc_barrier, arrived) + 64);
    assert_true(sizeof(hpc_barrier) >= offsetof(hpc_barrier, generation) + 64);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_is_free),
        cmocka_unit_test(nobody_passes_early),
        cmocka_unit_test(the_late_are_waited_for),
        cmocka_unit_test(without_spinning),
        cmocka_unit_test(the_generation_wraps),
        cmocka_unit_test(counters_lie_apart),
    };
    return cmocka_run_group_tests_name("base/barrier", tests, NULL, NULL);
}
