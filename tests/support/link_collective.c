/*
 * link_collective.c: every collective, bit for bit; several in flight, waited for in any order;
 * mismatched calls reported on every rank. For every kind of link.
 */
#include "tests/support/ranks.h"

static const hpc_dtype dtypes[] = {HPC_F32, HPC_BF16, HPC_F16, HPC_F64, HPC_I32, HPC_I64};
static const int64_t extents[] = {0, 1, 2, 3, 5, 7, 64, 1025, 3001};

typedef struct trial { /* one operation, its buffers, and what must come out */
    hpc_link *link;
    hpc_comm comm;
    char *send, *recv;
    size_t recv_bytes;
} trial;

static size_t bytes_of(hpc_dtype d, int64_t n)
{
    return (size_t)n * hpc_dtype_get(d)->block_bytes;
}

static double reduced(const trial *t, int64_t i)
{
    double acc = sample(0, i);
    for (int r = 1; r < t->link->size; r++) {
        double x = sample(r, i);
        acc = t->comm.reduce == HPC_COMM_SUM ? acc + x : x > acc ? x : acc;
    }
    return acc;
}

static double expected(const trial *t, int64_t i)
{
    int64_t n = t->comm.n, rank = t->link->rank;
    switch (t->comm.kind) {
    case HPC_ALL_REDUCE: return reduced(t, i);
    case HPC_REDUCE_SCATTER: return reduced(t, rank * n + i);
    case HPC_ALL_GATHER: return sample((int)(i / n), i % n);
    case HPC_ALL_TO_ALL: return sample((int)(i / n), rank * n + i % n);
    default: return sample(t->comm.peer, i);
    }
}

enum { GUARD = 16 };

static int prepare(trial *t, hpc_link *l, hpc_comm comm)
{
    bool root = comm.kind != HPC_BROADCAST || comm.peer == l->rank;
    bool spread = comm.kind == HPC_REDUCE_SCATTER || comm.kind == HPC_ALL_TO_ALL;
    bool gather = comm.kind == HPC_ALL_GATHER || comm.kind == HPC_ALL_TO_ALL;
    int64_t send_n = comm.n * (spread ? l->size : 1), recv_n = comm.n * (gather ? l->size : 1);
    *t = (trial){.link = l, .comm = comm, .recv_bytes = bytes_of(comm.dtype, recv_n)};
    t->send = hpc_alloc(1, bytes_of(comm.dtype, send_n) + 1);
    t->recv = hpc_alloc(1, t->recv_bytes + GUARD);
    EXPECT(t->send && t->recv);
    for (int64_t i = 0; i < send_n; i++) put(t->send, comm.dtype, i, sample(l->rank, i));
    memset(t->recv, 0x5a, t->recv_bytes + GUARD);
    t->comm.send = root ? t->send : NULL;
    t->comm.recv = t->recv;
    return 0;
}

static int verify(trial *t)
{
    const hpc_dtype_info *d = hpc_dtype_get(t->comm.dtype);
    int64_t n = (int64_t)(t->recv_bytes / d->block_bytes);
    for (int64_t i = 0; i < n; i++)
        if (get(t->recv, t->comm.dtype, i) != expected(t, i))
            return hpc_fail(HPC_E_FAULT, "%s %s n=%lld size=%d rank=%d: [%lld] is %g, not %g",
                            hpc_comm_name(t->comm.kind), d->name, (long long)t->comm.n,
                            t->link->size, t->link->rank, (long long)i,
                            get(t->recv, t->comm.dtype, i), expected(t, i));
    for (int g = 0; g < GUARD; g++) EXPECT(t->recv[t->recv_bytes + (size_t)g] == 0x5a);
    hpc_free(t->send);
    hpc_free(t->recv);
    return 0;
}

static int each_kind(hpc_link *l, hpc_dtype dtype, int64_t n)
{
    for (int k = HPC_ALL_REDUCE; k <= HPC_BROADCAST; k++) {
        for (int how = HPC_COMM_SUM; how <= HPC_COMM_MAX; how++) {
            trial t;
            hpc_comm c = {.kind = (hpc_comm_kind)k,
                          .dtype = dtype,
                          .n = n,
                          .reduce = (hpc_comm_reduce)how,
                          .peer = how * (l->size - 1)};
            EXPECT(prepare(&t, l, c) == 0);
            EXPECT(hpc_link_run(l, &t.comm) == 0);
            EXPECT(verify(&t) == 0);
        }
    }
    return 0;
}

static int everything(hpc_link *l, void *user)
{
    (void)user;
    for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++)
        for (size_t e = 0; e < sizeof extents / sizeof *extents; e++)
            EXPECT(each_kind(l, dtypes[d], extents[e]) == 0);
    return 0;
}

/* ---- order and rounding ---------------------------------------------------- */
static int rank_order(hpc_link *l, void *user)
{
    (void)user;
    enum { LEN = 4099 };
    static const float parts[5] = {1e8F, 1.25F, -1e8F, 3e-3F, 0.7F};
    float *send = hpc_alloc(LEN, sizeof *send), *recv = hpc_alloc(LEN, sizeof *recv);
    EXPECT(send && recv);
    for (int i = 0; i < LEN; i++) send[i] = parts[(l->rank + i) % 5] * (float)(1 + i % 3);
    hpc_comm c = {.kind = HPC_ALL_REDUCE, .n = LEN, .send = send, .recv = recv};
    EXPECT(hpc_link_run(l, &c) == 0);
    for (int i = 0; i < LEN; i++) {
        float sum = parts[i % 5] * (float)(1 + i % 3);
        for (int r = 1; r < l->size; r++) sum += parts[(r + i) % 5] * (float)(1 + i % 3);
        EXPECT(memcmp(&sum, &recv[i], sizeof sum) == 0);
    }
    hpc_free(send);
    hpc_free(recv);
    return 0;
}

/* 256 + 1 + 1: rounding after each addition would give 256 in bf16; f16 likewise at 2048. */
static int half_rounding(hpc_link *l, void *user)
{
    (void)user;
    const hpc_dtype half[2] = {HPC_BF16, HPC_F16};
    const double big[2] = {256, 2048};
    for (int d = 0; d < 2; d++) {
        int64_t send[3], recv[3]; /* room for any dtype */
        for (int i = 0; i < 3; i++) put(send, half[d], i, l->rank == 0 ? big[d] : 1);
        hpc_comm c = {.kind = HPC_ALL_REDUCE, .dtype = half[d], .n = 3, .send = send, .recv = recv};
        EXPECT(hpc_link_run(l, &c) == 0);
        for (int i = 0; i < 3; i++) EXPECT(get(recv, half[d], i) == big[d] + 2);
    }
    return 0;
}

/* Maxima keep a NaN from any rank; sums of integers wrap. */
static int extremes(hpc_link *l, void *user)
{
    (void)user;
    float send[4] = {1, 2, 3, 4}, recv[4];
    send[l->rank] = __builtin_nanf("");
    hpc_comm c = {
        .kind = HPC_ALL_REDUCE, .reduce = HPC_COMM_MAX, .n = 4, .send = send, .recv = recv};
    EXPECT(hpc_link_run(l, &c) == 0);
    for (int i = 0; i < 4; i++) EXPECT(i < l->size ? recv[i] != recv[i] : recv[i] == send[i]);
    int32_t most = INT32_MAX, sum;
    hpc_comm wrap = {.kind = HPC_ALL_REDUCE, .dtype = HPC_I32, .n = 1, .send = &most, .recv = &sum};
    EXPECT(hpc_link_run(l, &wrap) == 0);
    EXPECT(sum == (int32_t)((uint32_t)INT32_MAX * (uint32_t)l->size));
    return 0;
}

/* ---- counts, block formats ------------------------------------------------- */
/* r sends (r + s) % 3 elements to s. */
static int variable_counts(hpc_link *l, void *user)
{
    (void)user;
    int64_t to[7], from[7], at = 0;
    int32_t send[32], recv[32];
    for (int s = 0; s < l->size; s++) {
        to[s] = (l->rank + s) % 3;
        from[s] = (s + l->rank) % 3;
        for (int64_t i = 0; i < to[s]; i++) send[at++] = 100 * l->rank + 10 * s + (int32_t)i;
    }
    hpc_comm c = {.kind = HPC_ALL_TO_ALL,
                  .dtype = HPC_I32,
                  .send = send,
                  .recv = recv,
                  .send_n = to,
                  .recv_n = from};
    hpc_handle h = {0};
    EXPECT(hpc_link_start(l, &h, &c) == 0);
    memset(to, 0x7f, sizeof to); /* the counts were copied */
    EXPECT(hpc_link_wait(&h) == 0);
    at = 0;
    for (int r = 0; r < l->size; r++)
        for (int64_t i = 0; i < from[r]; i++)
            EXPECT(recv[at++] == 100 * r + 10 * l->rank + (int32_t)i);
    return 0;
}

static int blocks(hpc_link *l, void *user)
{
    (void)user;
    size_t bytes = 2 * hpc_dtype_get(HPC_Q8_0)->block_bytes;
    unsigned char send[128], recv[512];
    memset(send, 'a' + l->rank, bytes);
    hpc_comm c = {.kind = HPC_ALL_GATHER, .dtype = HPC_Q8_0, .n = 64, .send = send, .recv = recv};
    EXPECT(hpc_link_run(l, &c) == 0);
    for (size_t i = 0; i < bytes * 3; i++) EXPECT(recv[i] == 'a' + i / bytes);
    EXPECT(l->traffic.bytes[HPC_ALL_GATHER] == (int64_t)(2 * bytes));
    return 0;
}

/* ---- several in flight ------------------------------------------------------ */
/* Ranks wait in different orders, so each must carry all of its operations forward. */
static int in_flight(hpc_link *l, void *user)
{
    (void)user;
    enum { OPS = 10 };
    trial t[OPS];
    hpc_handle h[OPS] = {{0}};
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < OPS; i++) {
            hpc_comm c = {.kind = (hpc_comm_kind)(i % (HPC_BROADCAST + 1)),
                          .dtype = dtypes[(i + round) % 6],
                          .n = (i * 37 + round) % 50,
                          .peer = i % l->size};
            EXPECT(prepare(&t[i], l, c) == 0);
            EXPECT(hpc_link_start(l, &h[i], &t[i].comm) == 0);
        }
        for (int i = 0; i < OPS; i++) {
            int k = l->rank % 3 == 0 ? i : l->rank % 3 == 1 ? OPS - 1 - i : (3 * i + round) % OPS;
            EXPECT(hpc_link_wait(&h[k]) == 0);
            EXPECT(h[k].link == NULL);
            EXPECT(verify(&t[k]) == 0);
        }
    }
    return 0;
}

/* Rank 1 joins only after a message that rank 0 sends after its test. */
static int late(hpc_link *l, void *user)
{
    (void)user;
    int32_t x = l->rank + 1, sum = 0, go = 0;
    bool done;
    hpc_handle h = {0};
    hpc_comm reduce = {.kind = HPC_ALL_REDUCE, .dtype = HPC_I32, .n = 1, .send = &x, .recv = &sum};
    hpc_comm send = {.kind = HPC_SEND, .dtype = HPC_I32, .n = 1, .peer = 1, .send = &x};
    hpc_comm recv = {.kind = HPC_RECV, .dtype = HPC_I32, .n = 1, .peer = 0, .recv = &go};
    if (l->rank == 1) EXPECT(hpc_link_run(l, &recv) == 0 && go == 1);
    EXPECT(hpc_link_start(l, &h, &reduce) == 0);
    if (l->rank == 0) {
        EXPECT(hpc_link_test(&h, &done) == 0 && !done);
        EXPECT(hpc_link_start(l, &h, &reduce) == HPC_E_STATE);
        hpc_error_clear();
        EXPECT(hpc_link_run(l, &send) == 0);
    }
    do EXPECT(hpc_link_test(&h, &done) == 0);
    while (!done);
    EXPECT(sum == 3);
    EXPECT(hpc_link_test(&h, &done) == 0 && done && hpc_link_wait(&h) == 0);
    return 0;
}

/* ---- misfits ---------------------------------------------------------------- */
typedef struct misfit {
    hpc_comm even, odd;
    const char *part[3];
} misfit;

static const misfit misfits[] = {
    {{.kind = HPC_ALL_REDUCE, .n = 4},
     {.kind = HPC_BROADCAST, .n = 4},
     {"collective 0", "all_reduce(sum) f32[4] on rank", "broadcast f32[4] on rank"}},
    {{.kind = HPC_ALL_REDUCE, .n = 4},
     {.kind = HPC_ALL_REDUCE, .n = 3},
     {"all_reduce(sum) f32[4] on rank", "all_reduce(sum) f32[3] on rank", "same order"}},
    {{.kind = HPC_ALL_GATHER, .n = 4},
     {.kind = HPC_ALL_GATHER, .n = 4, .dtype = HPC_I32},
     {"all_gather f32[4]", "all_gather i32[4]", "same order"}},
    {{.kind = HPC_REDUCE_SCATTER, .n = 1},
     {.kind = HPC_REDUCE_SCATTER, .n = 1, .reduce = HPC_COMM_MAX},
     {"reduce_scatter(sum)", "reduce_scatter(max)", "same order"}},
    {{.kind = HPC_BROADCAST, .n = 1, .peer = 0},
     {.kind = HPC_BROADCAST, .n = 1, .peer = 1},
     {"from rank 0 on rank", "from rank 1 on rank", "broadcast"}},
    {{.kind = HPC_ALL_TO_ALL, .n = 1},
     {.kind = HPC_ALL_TO_ALL, .n = 2},
     {"all_to_all: rank", "sends 1 f32 to rank", "expects 2"}},
};

static int one_misfit(hpc_link *l, const misfit *m)
{
    float a[32] = {0}, b[32];
    hpc_comm c = l->rank % 2 ? m->odd : m->even;
    c.send = a;
    c.recv = b;
    int rc = hpc_link_run(l, &c);
    /* Which of the four counts of all_to_all is met first depends on who comes first. */
    if (c.kind == HPC_ALL_TO_ALL)
        EXPECT_FAILURE(rc, HPC_E_SHAPE, m->part[0], "f32 to rank", "which expects");
    else
        EXPECT_FAILURE(rc, HPC_E_SHAPE, m->part[0], m->part[1], m->part[2]);
    hpc_comm good = {.kind = HPC_ALL_REDUCE, .n = 32, .send = a, .recv = b};
    EXPECT(hpc_link_run(l, &good) == 0);
    return 0;
}

static int misfit_on_all(hpc_link *l, void *user)
{
    (void)user;
    for (size_t i = 0; i < sizeof misfits / sizeof *misfits; i++) {
        hpc_link *fresh; /* the link of collective 0 */
        EXPECT(hpc_link_split(&fresh, l, 0, l->rank) == 0);
        EXPECT(one_misfit(fresh, &misfits[i]) == 0);
        hpc_link_close(fresh);
    }
    return 0;
}

static int wrong_counts(hpc_link *l, void *user)
{
    (void)user;
    int64_t to[3] = {1, 1, 1}, from[3] = {1, 1, 1};
    float a[8] = {0}, b[8];
    if (l->rank == 2) to[1] = 3;
    hpc_comm c = {.kind = HPC_ALL_TO_ALL, .send = a, .recv = b, .send_n = to, .recv_n = from};
    EXPECT_FAILURE(hpc_link_run(l, &c), HPC_E_SHAPE,
                   "all_to_all: rank 2 sends 3 f32 to rank 1, which expects 1");
    return 0;
}

/* The others have failed and left by the time that rank 0 comes. */
static int comes_late(hpc_link *l, void *user)
{
    hpc_link *all;
    int64_t mine = 1, sum;
    hpc_comm meet = {.kind = HPC_ALL_REDUCE, .dtype = HPC_I64, .n = 1, .send = &mine, .recv = &sum};
    EXPECT(hpc_link_split(&all, l, 0, l->rank) == 0);
    int rc = l->rank == 0 ? 0 : wrong_counts(all, user);
    if (l->rank != 0) hpc_link_close(all);
    EXPECT(hpc_link_run(l, &meet) == 0);
    if (l->rank != 0) return rc;
    rc = wrong_counts(all, user);
    hpc_link_close(all);
    return rc;
}

/* ---- steady state ------------------------------------------------------------ */
/* In several pieces, for links that cut what is long. */
static int long_ones(hpc_link *l, void *user)
{
    (void)user;
    const int64_t n = 400003;
    EXPECT(each_kind(l, HPC_F32, n) == 0);
    float *send = hpc_alloc((size_t)n, sizeof *send), *recv = hpc_alloc((size_t)n, sizeof *recv);
    int right = (l->rank + 1) % l->size, left = (l->rank + l->size - 1) % l->size;
    hpc_handle h = {0};
    EXPECT(send && recv);
    for (int64_t i = 0; i < n; i++) send[i] = (float)sample(l->rank, i);
    hpc_comm out = {.kind = HPC_SEND, .n = n, .peer = right, .tag = 9, .send = send};
    hpc_comm in = {.kind = HPC_RECV, .n = n, .peer = left, .tag = 9, .recv = recv};
    EXPECT(hpc_link_start(l, &h, &out) == 0 && hpc_link_run(l, &in) == 0);
    EXPECT(hpc_link_wait(&h) == 0);
    for (int64_t i = 0; i < n; i++) EXPECT(recv[i] == (float)sample(left, i));
    hpc_free(send);
    hpc_free(recv);
    return 0;
}

static int steady(hpc_link *l, void *user)
{
    enum { ROUNDS = 60, WARM = 3, OPS = 5 };
    int64_t before = 0, grown = 0;
    (void)user;
    float a[64] = {0}, b[OPS][64];
    hpc_handle h[OPS] = {{0}};
    hpc_comm barrier = {.kind = HPC_ALL_REDUCE, .n = 1, .send = a, .recv = b[0]};
    for (int round = 0; round < ROUNDS; round++) {
        if (round == WARM) {
            EXPECT(hpc_link_run(l, &barrier) == 0);
            before = hpc_test_alloc_count();
            EXPECT(hpc_link_run(l, &barrier) == 0);
        }
        for (int k = 0; k < OPS; k++) {
            hpc_comm c = {.kind = (hpc_comm_kind)k, .n = 16, .send = a, .recv = b[k]};
            EXPECT(hpc_link_start(l, &h[k], &c) == 0);
        }
        for (int k = OPS - 1; k >= 0; k--) EXPECT(hpc_link_wait(&h[k]) == 0);
    }
    EXPECT(hpc_link_run(l, &barrier) == 0);
    if (l->rank == 0) grown = hpc_test_alloc_count() - before;
    EXPECT(hpc_link_run(l, &barrier) == 0);
    EXPECT(grown == 0);
    return 0;
}

const hpc_test_link_case hpc_test_link_collectives[] = {
    {"all_kinds_dtypes_and_extents", everything, {1, 2, 3, 4, 7}, 1},
    {"sums_run_in_rank_order", rank_order, {4, 5}, 1},
    {"halves_are_rounded_once", half_rounding, {3}, 1},
    {"nan_and_overflow", extremes, {3}, 1},
    {"all_to_all_by_counts", variable_counts, {1, 2, 3, 4, 7}, 1},
    {"block_formats_move", blocks, {3}, 1},
    {"long_ones_in_pieces", long_ones, {1, 2, 3, 4}, 1},
    {"several_in_flight", in_flight, {4, 7}, 1},
    {"test_tells_the_truth", late, {2}, 1},
    {"misfits_fail_on_all_ranks", misfit_on_all, {2, 4, 5}, 1},
    {"counts_that_disagree", wrong_counts, {3}, 1},
    {"who_comes_late_is_told_why", comes_late, {3}, 1},
    {"steady_state_allocates_nothing", steady, {2, 4}, 1},
    {.name = NULL},
};
