/*
 * link_message.c: messages between ranks: matching, symmetric exchange, mismatches; splitting;
 * ranks that leave. For every kind of link.
 */
#include "tests/support/ranks.h"

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

/* A collective progresses while its ranks wait for messages. */
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

/* ---- misfits ------------------------------------------------------------------ */
static int misfit(hpc_link *l, void *user)
{
    (void)user;
    int32_t x[4] = {1, 2, 3, 4}, y[4] = {0};
    hpc_comm c = l->rank == 0 ? send_i32(1, 7, x, 4) : recv_i32(0, 7, y, 3);
    EXPECT_FAILURE(hpc_link_run(l, &c), HPC_E_SHAPE,
                   "send i32[4] of rank 0 does not match recv i32[3] of rank 1 with tag 7");
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

/* ---- steady state --------------------------------------------------------------- */
static int steady(hpc_link *l, void *user)
{
    int64_t before = 0, grown = 0;
    (void)user;
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
    if (l->rank == 0) grown = hpc_test_alloc_count() - before;
    EXPECT(meet(l) == 0);
    EXPECT(grown == 0);
    return 0;
}

static int sum_ranks(hpc_link *l, int64_t *sum)
{
    int64_t x = l->rank;
    hpc_comm c = {.kind = HPC_ALL_REDUCE, .dtype = HPC_I64, .n = 1, .send = &x, .recv = sum};
    return hpc_link_run(l, &c);
}

/* ---- splitting ---------------------------------------------------------------- */
static int split_parity(hpc_link *world, void *user)
{
    (void)user;
    hpc_link *half, *none, *again;
    int64_t sum, members[8], mine = world->rank;
    int color = world->rank % 2, n = (world->size + 1 - color) / 2;
    EXPECT(hpc_link_split(&half, world, color, -world->rank) == 0);
    EXPECT(half->size == n && half->rank == n - 1 - world->rank / 2);
    hpc_comm c = {.kind = HPC_ALL_GATHER, .dtype = HPC_I64, .n = 1, .send = &mine, .recv = members};
    EXPECT(hpc_link_run(half, &c) == 0);
    for (int r = 0; r < n; r++) EXPECT(members[r] == 2 * (n - 1 - r) + color);
    EXPECT(hpc_link_split(&none, world, world->rank == 0 ? -1 : 5, 0) == 0);
    EXPECT(world->rank == 0 ? !none : none->size == world->size - 1);
    EXPECT(hpc_link_split(&again, half, 0, 0) == 0); /* equal keys: by rank of the parent */
    EXPECT(again->rank == half->rank && again->size == n);
    EXPECT(sum_ranks(again, &sum) == 0 && sum == n * (n - 1) / 2);
    EXPECT(world->traffic.messages[HPC_ALL_GATHER] == 0); /* splitting is not counted */
    hpc_link_close(half);
    EXPECT(sum_ranks(again, &sum) == 0);
    hpc_link_close(again);
    hpc_link_close(none);
    EXPECT(sum_ranks(world, &sum) == 0);
    return 0;
}

/* ---- ranks that leave ------------------------------------------------------------ */
static int leaves_early(hpc_link *l, void *user)
{
    (void)user;
    int64_t sum;
    float x = 0;
    if (l->rank == 0) return 0;
    hpc_comm recv = {.kind = HPC_RECV, .n = 1, .peer = 0, .recv = &x};
    int rc = l->rank == 1 ? sum_ranks(l, &sum) : hpc_link_run(l, &recv);
    EXPECT_FAILURE(rc, HPC_E_STATE, l->rank == 1 ? "rank 0" : "rank 0 has closed its link");
    return 0;
}

const hpc_test_link_case hpc_test_link_messages[] = {
    {"matched_by_peer_and_tag", by_tag, {2}, 20},
    {"symmetric_exchange", exchange, {1, 2, 3, 4, 5}, 1},
    {"waiting_carries_collectives_forward", beside_collective, {3}, 20},
    {"misfits_fail_at_both_ends", misfit, {2}, 10},
    {"messages_to_oneself", own_message, {2}, 1},
    {"steady_state_allocates_nothing", steady, {2}, 1},
    {.name = NULL},
};

const hpc_test_link_case hpc_test_link_groups[] = {
    {"splits", split_parity, {1, 2, 3, 4, 7}, 1},
    {"peers_of_one_that_left_do_not_hang", leaves_early, {3}, 10},
    {.name = NULL},
};
