/*
 * threads_message.c: messages between ranks: matching, symmetric exchange,
 * delays that permute arrivals, misfits.
 */
#include "tests/link/ranks.h"

#include <stdatomic.h>

static hpc_comm send_i32(int peer, int tag, const int32_t *x, int64_t n)
{
    return (hpc_comm){
        .kind = HPC_SEND, .dtype = HPC_I32, .peer = peer, .tag = tag, .n = n, .send = x};
}

static hpc_comm recv_i32(int peer, int tag, int32_t *x, int64_t n)
{
    return (hpc_comm){
        .kind = HPC_RECV, .dtype = HPC_I32, .peer = peer, .tag = tag, .n = n, .recv = x};
}

static int meet(hpc_link *l)
{
    int32_t one = 1, all = 0;
    hpc_comm c = {.kind = HPC_ALL_REDUCE, .dtype = HPC_I32, .n = 1, .send = &one, .recv = &all};
    return hpc_link_run(l, &c);
}

/* ---- matching ---------------------------------------------------------------- */
/* Rank 0 sends tags 1, 2, 3, 1; rank 1 receives 3, 1, 1, 2. */
static int by_tag(hpc_link *l, void *user)
{
    (void)user;
    static const int sent[4] = {1, 2, 3, 1}, wanted[4] = {3, 1, 1, 2}, expected[4] = {2, 0, 3, 1};
    int32_t x[4] = {0, 1, 2, 3}, got[4] = {-1, -1, -1, -1};
    hpc_handle h[4] = {{0}};
    for (int i = 0; i < 4; i++) {
        hpc_comm c =
            l->rank == 0 ? send_i32(1, sent[i], &x[i], 1) : recv_i32(0, wanted[i], &got[i], 1);
        EXPECT(hpc_link_start(l, &h[i], &c) == 0);
    }
    for (int i = 0; i < 4; i++) EXPECT(hpc_link_wait(&h[i]) == 0);
    for (int i = 0; l->rank == 1 && i < 4; i++) EXPECT(got[i] == expected[i]);
    return 0;
}

static void matched_by_peer_and_tag(void **state)
{
    (void)state;
    for (int i = 0; i < 20; i++) run_ranks(2, by_tag, NULL);
}

/* All send to the right and receive from the left; odd ranks wait for their sends first. */
static int exchange(hpc_link *l, void *user)
{
    (void)user;
    int right = (l->rank + 1) % l->size, left = (l->rank + l->size - 1) % l->size;
    int32_t mine[300], theirs[300];
    for (int round = 0; round < 50; round++) {
        hpc_handle h[2] = {{0}};
        int64_t n = round % 10 == 0 ? 0 : 300;
        for (int i = 0; i < 300; i++) mine[i] = 1000 * l->rank + round + i;
        hpc_comm send = send_i32(right, 0, mine, n), recv = recv_i32(left, 0, theirs, n);
        EXPECT(hpc_link_start(l, &h[0], &send) == 0 && hpc_link_start(l, &h[1], &recv) == 0);
        EXPECT(hpc_link_wait(&h[l->rank % 2]) == 0 && hpc_link_wait(&h[1 - l->rank % 2]) == 0);
        for (int64_t i = 0; i < n; i++) EXPECT(theirs[i] == 1000 * left + round + (int32_t)i);
    }
    return 0;
}

static void symmetric_exchange(void **state)
{
    (void)state;
    for (int n = 1; n <= 5; n++) run_ranks(n, exchange, NULL);
}

/* A collective goes on while its ranks wait for messages. */
static int beside_collective(hpc_link *l, void *user)
{
    (void)user;
    int32_t x = l->rank, sum = 0, got = 0;
    hpc_handle h = {0};
    hpc_comm c = {.kind = HPC_ALL_REDUCE, .dtype = HPC_I32, .n = 1, .send = &x, .recv = &sum};
    EXPECT(hpc_link_start(l, &h, &c) == 0);
    if (l->rank == 0) { /* sends only once its own reduction is complete */
        EXPECT(hpc_link_wait(&h) == 0 && sum == 3);
        hpc_comm a = send_i32(1, 4, &sum, 1), b = send_i32(2, 4, &sum, 1);
        EXPECT(hpc_link_run(l, &a) == 0 && hpc_link_run(l, &b) == 0);
    } else {
        hpc_comm r = recv_i32(0, 4, &got, 1);
        EXPECT(hpc_link_run(l, &r) == 0 && got == 3);
        EXPECT(hpc_link_wait(&h) == 0 && sum == 3);
    }
    return 0;
}

static void waiting_carries_collectives_forward(void **state)
{
    (void)state;
    for (int i = 0; i < 20; i++) run_ranks(3, beside_collective, NULL);
}

/* ---- misfits ------------------------------------------------------------------ */
static int misfit(hpc_link *l, void *user)
{
    (void)user;
    int32_t x[4] = {1, 2, 3, 4}, y[4] = {0};
    hpc_comm c = l->rank == 0 ? send_i32(1, 7, x, 4) : recv_i32(0, 7, y, 3);
    EXPECT_FAILURE(hpc_link_run(l, &c), HPC_E_SHAPE,
                   "send i32[4] of rank 0 meets recv i32[3] of rank 1 under tag 7");
    EXPECT(y[0] == 0);
    if (l->rank == 0) c.dtype = HPC_F32;
    c.n = 3;
    EXPECT_FAILURE(hpc_link_run(l, &c), HPC_E_SHAPE, "send f32[3] of rank 0",
                   "recv i32[3] of rank 1");
    c.dtype = HPC_I32;
    EXPECT(hpc_link_run(l, &c) == 0);
    EXPECT(l->rank == 0 || y[2] == 3);
    return 0;
}

static void misfits_fail_at_both_ends(void **state)
{
    (void)state;
    for (int i = 0; i < 10; i++) run_ranks(2, misfit, NULL);
}

static int own_message(hpc_link *l, void *user)
{
    (void)user;
    int32_t x = l->rank, y = -1;
    hpc_handle h = {0};
    hpc_comm send = send_i32(l->rank, 3, &x, 1), recv = recv_i32(l->rank, 3, &y, 1);
    EXPECT_FAILURE(hpc_link_run(l, &send), HPC_E_STATE, "send: rank", "waits for itself");
    EXPECT(hpc_link_start(l, &h, &recv) == 0);
    EXPECT(hpc_link_run(l, &send) == 0 && hpc_link_wait(&h) == 0 && y == l->rank);
    return 0;
}

static void messages_to_oneself(void **state)
{
    (void)state;
    run_ranks(2, own_message, NULL);
}

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

/* ---- steady state --------------------------------------------------------------- */
static int steady(hpc_link *l, void *user)
{
    int64_t *grown = user, before = 0;
    int32_t x[4] = {0}, y[4];
    for (int round = 0; round < 50; round++) {
        hpc_handle h[4] = {{0}};
        if (round == 3) {
            EXPECT(meet(l) == 0);
            before = hpc_test_alloc_count();
            EXPECT(meet(l) == 0);
        }
        for (int i = 0; i < 4; i++) {
            hpc_comm c =
                i % 2 ? send_i32(1 - l->rank, i, &x[i], 1) : recv_i32(1 - l->rank, i + 1, &y[i], 1);
            EXPECT(hpc_link_start(l, &h[i], &c) == 0);
        }
        for (int i = 0; i < 4; i++) EXPECT(hpc_link_wait(&h[i]) == 0);
    }
    EXPECT(meet(l) == 0);
    if (l->rank == 0) *grown = hpc_test_alloc_count() - before;
    return meet(l);
}

static void steady_state_allocates_nothing(void **state)
{
    (void)state;
    int64_t grown = -1;
    run_ranks(2, steady, &grown);
    assert_int_equal(grown, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(matched_by_peer_and_tag, start_over),
        cmocka_unit_test_setup(symmetric_exchange, start_over),
        cmocka_unit_test_setup(waiting_carries_collectives_forward, start_over),
        cmocka_unit_test_setup(misfits_fail_at_both_ends, start_over),
        cmocka_unit_test_setup(messages_to_oneself, start_over),
        cmocka_unit_test_setup(delays_permute_arrivals, start_over),
        cmocka_unit_test_setup(delays_use_world_ranks, start_over),
        cmocka_unit_test_setup(steady_state_allocates_nothing, start_over),
    };
    return cmocka_run_group_tests_name("link/threads_message", tests, NULL, NULL);
}
