/*
 * comm.c: argument checks that all links share, and byte counts.
 */
#include "tests/support/ranks.h"

static void names(void **state)
{
    (void)state;
    assert_string_equal(hpc_comm_name(HPC_ALL_REDUCE), "all_reduce");
    assert_string_equal(hpc_comm_name(HPC_REDUCE_SCATTER), "reduce_scatter");
    assert_string_equal(hpc_comm_name(HPC_RECV), "recv");
    assert_string_equal(hpc_comm_name(HPC_COMM_KIND_N), "unknown");
}

typedef struct bad_case {
    hpc_comm comm;
    int code;
    const char *text;
} bad_case;

static void bad_arguments(void **state)
{
    (void)state;
    float a[64], b[64];
    int64_t minus = -1, one = 1;
    const bad_case cases[] = {
        {{.kind = HPC_COMM_KIND_N}, HPC_E_ARG, "not a kind"},
        {{.kind = HPC_SEND, .dtype = HPC_DTYPE_N}, HPC_E_ARG, "not a dtype"},
        {{.kind = HPC_ALL_REDUCE, .dtype = HPC_Q8_0, .n = 32, .send = a, .recv = b},
         HPC_E_UNSUPPORTED,
         "q8_0 cannot be reduced"},
        {{.kind = HPC_ALL_REDUCE, .reduce = (hpc_comm_reduce)5}, HPC_E_ARG, "not a reduction"},
        {{.kind = HPC_BROADCAST, .peer = 1},
         HPC_E_ARG,
         "root 1, but ranks of this link are 0 to 0"},
        {{.kind = HPC_SEND, .peer = -1}, HPC_E_ARG, "peer -1"},
        {{.kind = HPC_ALL_REDUCE, .n = -4}, HPC_E_ARG, "-4 elements"},
        {{.kind = HPC_ALL_GATHER, .dtype = HPC_Q8_0, .n = 33}, HPC_E_SHAPE, "blocks of 32"},
        {{.kind = HPC_ALL_GATHER, .n = INT64_MAX / 2}, HPC_E_ARG, "more elements than memory"},
        {{.kind = HPC_ALL_REDUCE, .n = 1, .send = a}, HPC_E_ARG, "the recv buffer is missing"},
        {{.kind = HPC_BROADCAST, .n = 1, .recv = a}, HPC_E_ARG, "the send buffer is missing"},
        {{.kind = HPC_ALL_REDUCE, .n = 8, .send = a, .recv = a + 7}, HPC_E_ARG, "overlap"},
        {{.kind = HPC_ALL_TO_ALL, .send_n = &one}, HPC_E_ARG, "counts come in pairs"},
        {{.kind = HPC_ALL_GATHER, .send_n = &one, .recv_n = &one}, HPC_E_ARG, "all_to_all alone"},
        {{.kind = HPC_ALL_TO_ALL, .send_n = &minus, .recv_n = &one}, HPC_E_ARG, "-1 elements"},
    };
    hpc_link *l;
    assert_no_failure(hpc_link_self(&l));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *const part[] = {cases[i].text, NULL};
        int rc = hpc_link_run(l, &cases[i].comm);
        assert_no_failure(expect_failure(rc, cases[i].code, part));
    }
    hpc_comm beside = {.kind = HPC_ALL_REDUCE, .n = 8, .send = a, .recv = a + 8};
    memset(a, 0, sizeof a);
    assert_no_failure(hpc_link_run(l, &beside));
    hpc_link_close(l);
}

/* ---- traffic --------------------------------------------------------------- */
enum { N = 7 };

typedef struct totals {
    int64_t all_reduce[8];
} totals;

/* A ring, step by step: which parts rank r sends on. */
static int64_t ring_bytes(int64_t n, int rank, int size)
{
    int64_t lo, hi, sent = 0;
    for (int step = 0; step < size - 1; step++) {
        int reduced = (rank + 2 * size - 1 - step) % size, gathered = (rank + size - step) % size;
        hpc_share(&lo, &hi, n, 1, reduced, size);
        sent += hi - lo;
        hpc_share(&lo, &hi, n, 1, gathered, size);
        sent += hi - lo;
    }
    return sent * 4;
}

static int one_of_each(hpc_link *l, void *user)
{
    totals *t = user;
    int rank = hpc_link_rank(l), size = hpc_link_size(l);
    int64_t to[8], from[8], out = 0;
    float a[N * 8] = {0}, b[N * 8] = {0};
    for (int r = 0; r < size; r++) {
        to[r] = (rank + r) % 3;
        from[r] = (rank + r) % 3;
        out += r == rank ? 0 : to[r];
    }
    hpc_comm c = {.n = N, .send = a, .recv = b, .peer = size - 1};
    for (int k = HPC_ALL_REDUCE; k <= HPC_BROADCAST; k++) {
        c.kind = (hpc_comm_kind)k;
        EXPECT(hpc_link_run(l, &c) == 0);
    }
    c.kind = HPC_ALL_TO_ALL;
    c.send_n = to;
    c.recv_n = from;
    EXPECT(hpc_link_run(l, &c) == 0);
    const hpc_traffic *seen = &l->traffic;
    EXPECT(seen->bytes[HPC_ALL_REDUCE] == ring_bytes(N, rank, size));
    EXPECT(seen->bytes[HPC_ALL_GATHER] == (size - 1) * N * 4);
    EXPECT(seen->bytes[HPC_REDUCE_SCATTER] == (size - 1) * N * 4);
    EXPECT(seen->bytes[HPC_ALL_TO_ALL] == ((size - 1) * N + out) * 4);
    EXPECT(seen->bytes[HPC_BROADCAST] == (rank == size - 1 ? N * 4 : 0));
    for (int k = HPC_ALL_REDUCE; k <= HPC_BROADCAST; k++)
        EXPECT(seen->messages[k] == (k == HPC_ALL_TO_ALL ? 2 : 1));
    t->all_reduce[rank] = seen->bytes[HPC_ALL_REDUCE];
    return 0;
}

static void bytes_follow_the_ring(void **state)
{
    (void)state;
    for (int size = 2; size <= 7; size++) {
        totals t = {{0}};
        int64_t sum = 0;
        run_ranks(size, one_of_each, &t);
        for (int r = 0; r < size; r++) sum += t.all_reduce[r];
        assert_int_equal(sum, 2 * (size - 1) * N * 4);
        if (N % size == 0) assert_int_equal(t.all_reduce[0], 2 * (size - 1) * N * 4 / size);
    }
}

static int pass_on(hpc_link *l, void *user)
{
    (void)user;
    int rank = hpc_link_rank(l);
    uint16_t x[5] = {0};
    hpc_handle h[2] = {{0}};
    hpc_comm c = {.kind = rank == 0 ? HPC_SEND : HPC_RECV,
                  .dtype = HPC_BF16,
                  .n = 5,
                  .peer = 1 - rank,
                  .send = rank == 0 ? x : NULL,
                  .recv = rank == 0 ? NULL : x};
    EXPECT(hpc_link_run(l, &c) == 0);
    EXPECT(l->traffic.messages[HPC_SEND] == (rank == 0));
    EXPECT(l->traffic.bytes[HPC_SEND] == (rank == 0 ? 10 : 0));
    EXPECT(l->traffic.messages[HPC_RECV] == (rank == 1));
    EXPECT(l->traffic.bytes[HPC_RECV] == 0);
    uint16_t y[5];
    hpc_comm to = {.kind = HPC_SEND, .dtype = HPC_BF16, .n = 5, .peer = rank, .send = x};
    hpc_comm from = {.kind = HPC_RECV, .dtype = HPC_BF16, .n = 5, .peer = rank, .recv = y};
    EXPECT(hpc_link_start(l, &h[0], &to) == 0 && hpc_link_start(l, &h[1], &from) == 0);
    EXPECT(hpc_link_wait(&h[0]) == 0 && hpc_link_wait(&h[1]) == 0);
    EXPECT(l->traffic.bytes[HPC_SEND] == (rank == 0 ? 10 : 0));
    return 0;
}

static void messages_count_at_the_sender(void **state)
{
    (void)state;
    run_ranks(2, pass_on, NULL);
}

static int alone(hpc_link *l, void *user)
{
    (void)user;
    float a = 1, b = 0;
    hpc_comm c = {.kind = HPC_ALL_REDUCE, .n = 1, .send = &a, .recv = &b};
    EXPECT(hpc_link_run(l, &c) == 0 && b == 1);
    EXPECT(l->traffic.messages[HPC_ALL_REDUCE] == 0 && l->traffic.bytes[HPC_ALL_REDUCE] == 0);
    return 0;
}

static void one_rank_counts_nothing(void **state)
{
    (void)state;
    run_ranks(1, alone, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(names, start_over),
        cmocka_unit_test_setup(bad_arguments, start_over),
        cmocka_unit_test_setup(bytes_follow_the_ring, start_over),
        cmocka_unit_test_setup(messages_count_at_the_sender, start_over),
        cmocka_unit_test_setup(one_rank_counts_nothing, start_over),
    };
    return cmocka_run_group_tests_name("link/comm", tests, NULL, NULL);
}
