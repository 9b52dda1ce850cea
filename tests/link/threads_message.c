/*
 * threads_message.c: messages between threads as ranks: the tests for every kind of link
 * (tests/support/link_message.c), and delays that permute arrivals.
 */
#include "tests/support/ranks.h"

#include <stdatomic.h>

/* ---- delays ------------------------------------------------------------------- */
enum { EDGES = 5 };

typedef struct delays {
    int hidden[EDGES]; /* by tag */
    atomic_int asked;
    bool wait; /* rather than poll */
} delays;

static int hide(void *user, int from, int to, int tag)
{
    delays *d = user;
    atomic_fetch_add(&d->asked, 1);
    return from == 0 && to == 1 ? d->hidden[tag] : 1000000;
}

/* Everything has arrived before the first poll, so the order is that of the delays alone. */
static int arrivals(hpc_link *l, void *user)
{
    const delays *d = user;
    int32_t x[EDGES], got[EDGES];
    hpc_handle h[EDGES] = {{0}};
    for (int i = 0; i < EDGES; i++) {
        x[i] = 10 + i;
        hpc_comm c = l->rank == 0 ? send_i32(1, i, &x[i], 1) : recv_i32(0, i, &got[i], 1);
        EXPECT(hpc_link_start(l, &h[i], &c) == 0);
    }
    for (int i = 0; l->rank == 0 && i < EDGES; i++) EXPECT(hpc_link_wait(&h[i]) == 0);
    EXPECT(meet(l) == 0);
    if (l->rank == 0) return 0;
    for (int poll = 0; poll < 8 && !d->wait; poll++) {
        for (int i = 0; i < EDGES; i++) {
            bool done;
            EXPECT(hpc_link_test(&h[i], &done) == 0);
            EXPECT(done == (poll >= d->hidden[i]));
        }
    }
    for (int i = 0; i < EDGES; i++) EXPECT(hpc_link_wait(&h[i]) == 0 && got[i] == 10 + i);
    return 0;
}

static void delays_permute_arrivals(void **state)
{
    (void)state;
    const int plan[3][EDGES] = {{0, 0, 0, 0, 0}, {4, 2, 0, 3, 1}, {1, 7, 3, 0, -5}};
    for (int i = 0; i < 6; i++) {
        delays d = {.wait = i % 2};
        memcpy(d.hidden, plan[i / 2], sizeof d.hidden);
        assert_no_failure(hpc_threads_run_delayed(2, arrivals, &d, hide));
        assert_int_equal(atomic_load(&d.asked), EDGES);
    }
}

/* A delayed message of a link made by splitting is known by world ranks; its sender is not held. */
static int delayed_in_split(hpc_link *world, void *user)
{
    (void)user;
    hpc_link *l;
    int32_t x = 5, y = 0;
    EXPECT(hpc_link_split(&l, world, 0, -world->rank) == 0);
    EXPECT(l->rank == 1 - world->rank);
    hpc_comm c = world->rank == 0 ? send_i32(0, 2, &x, 1) : recv_i32(1, 2, &y, 1);
    EXPECT(hpc_link_run(l, &c) == 0);
    EXPECT(world->rank == 0 || y == 5);
    hpc_link_close(l);
    return 0;
}

static void delays_use_world_ranks(void **state)
{
    (void)state;
    delays d = {.hidden = {0, 0, 50}};
    assert_no_failure(hpc_threads_run_delayed(2, delayed_in_split, &d, hide));
    assert_int_equal(atomic_load(&d.asked), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(delays_permute_arrivals, start_over),
        cmocka_unit_test_setup(delays_use_world_ranks, start_over),
    };
    int failed = run_link_cases("link/threads_message", hpc_test_link_messages);
    return failed + cmocka_run_group_tests_name("link/threads_delays", tests, NULL, NULL);
}
