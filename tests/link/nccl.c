/*
 * nccl.c: the link over NCCL. Without a GPU or NCCL, opening gives one clear line on every rank
 * and the host's link stays usable. With GPUs, every operation runs in their memory, one rank per
 * GPU, at most four; on a single GPU a rank communicates with itself.
 */
#include "tests/support/ranks.h"

#include <dlfcn.h>
#include <limits.h>

#include "runtime/link/nccl/rail.h"
#include "tests/support/command.h"

static const hpc_rail *rail_of(char path[PATH_MAX])
{
    void *object;
    if (!hpc_file_exists(hpc_test_built(path, "hpccoder-nccl.so"))) return NULL;
    object = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    return object ? dlsym(object, HPC_RAIL_SYMBOL) : NULL;
}

static int devices(char path[PATH_MAX])
{
    char why[HPC_RAIL_TEXT];
    const hpc_rail *rail = rail_of(path);
    int n = 0;
    return rail && rail->devices(&n, why) == 0 ? n : 0;
}

static int opens_none(hpc_link *host, void *user)
{
    hpc_link *l;
    EXPECT_FAILURE(hpc_nccl_open(&l, host, 0, user), HPC_E_UNSUPPORTED,
                   "nccl: no CUDA device here");
    EXPECT(!l);
    int64_t one = 1, sum; /* the host's link lives on */
    hpc_comm c = {.kind = HPC_ALL_REDUCE, .dtype = HPC_I64, .n = 1, .send = &one, .recv = &sum};
    EXPECT(hpc_link_run(host, &c) == 0 && sum == host->size);
    return 0;
}

static void without_a_device(void **state)
{
    (void)state;
    char path[PATH_MAX];
    if (!rail_of(path)) {
        print_message("SKIP: hpccoder-nccl.so was not built (CUDA and libnccl-dev)\n");
        skip();
    }
    if (devices(path) > 0) {
        print_message("SKIP: there is a CUDA device\n");
        skip();
    }
    run_ranks(2, opens_none, path);
}

static int opens_nothing(hpc_link *host, void *user)
{
    hpc_link *l;
    EXPECT_FAILURE(hpc_nccl_open(&l, host, 0, user), HPC_E_UNSUPPORTED,
                   "hpccoder-nccl.so is missing: install CUDA and libnccl-dev");
    EXPECT(!l);
    return 0;
}

static void without_nccl(void **state)
{
    (void)state;
    char path[PATH_MAX];
    run_ranks(2, opens_nothing, (void *)(uintptr_t)hpc_test_built(path, "no-such.so"));
}

/* ---- on GPUs ------------------------------------------------------------------ */
enum { RANKS_MOST = 4, TO_DEVICE = 1, TO_HOST = 2 };

static struct {
    char path[PATH_MAX];
    int devices;
    int (*set)(int device);
    int (*malloc)(void **out, size_t bytes);
    int (*free)(void *p);
    int (*copy)(void *to, const void *from, size_t bytes, int kind);
    int (*sync)(void);
} gpu;

static const hpc_dtype reduced[] = {HPC_F32, HPC_F64, HPC_I32, HPC_I64, HPC_BF16, HPC_F16};

static size_t bytes_of(hpc_dtype dtype, int64_t n)
{
    const hpc_dtype_info *d = hpc_dtype_get(dtype);
    return (size_t)(n / d->block) * d->block_bytes;
}

/* An operation on copies of what it takes and gives: c->send and c->recv are the host's. */
typedef struct staged {
    hpc_handle h;
    void *send, *recv, *home;
    size_t bytes; /* of recv */
} staged;

static int stage(staged *s, hpc_link *l, const hpc_comm *c, size_t send, size_t recv)
{
    hpc_comm on = *c;
    *s = (staged){.home = c->recv, .bytes = recv};
    EXPECT(gpu.malloc(&s->send, send + 1) == 0 && gpu.malloc(&s->recv, recv + 1) == 0);
    EXPECT(gpu.copy(s->send, c->send, send, TO_DEVICE) == 0);
    EXPECT(gpu.copy(s->recv, c->recv, recv, TO_DEVICE) == 0 && gpu.sync() == 0);
    on.send = c->send ? s->send : NULL;
    on.recv = c->recv ? s->recv : NULL;
    on.stream = (void *)1; /* cudaStreamLegacy */
    return hpc_link_start(l, &s->h, &on);
}

static int unstage(staged *s)
{
    int rc = hpc_link_wait(&s->h);
    EXPECT(rc < 0 || gpu.copy(s->home, s->recv, s->bytes, TO_HOST) == 0);
    gpu.free(s->send);
    gpu.free(s->recv);
    return rc;
}

static int run_staged(hpc_link *l, const hpc_comm *c, int64_t send_n, int64_t recv_n)
{
    staged s;
    int rc = stage(&s, l, c, bytes_of(c->dtype, send_n), bytes_of(c->dtype, recv_n));
    return rc < 0 ? rc : unstage(&s);
}

/* Sums and maxima, whole and in parts, of a dtype. */
static int reduces_right(hpc_link *l, hpc_dtype dtype, int64_t n)
{
    size_t N = (size_t)l->size, each = bytes_of(dtype, n);
    char *send = hpc_alloc(N * each, 1), *recv = hpc_alloc(each, 1);
    EXPECT(send && recv);
    for (int64_t i = 0; i < n * l->size; i++) put(send, dtype, i, sample(l->rank, i));
    for (int kind = 0; kind < 4; kind++) {
        hpc_comm c = {.kind = kind & 1 ? HPC_REDUCE_SCATTER : HPC_ALL_REDUCE,
                      .reduce = kind & 2 ? HPC_COMM_MAX : HPC_COMM_SUM,
                      .dtype = dtype,
                      .n = n,
                      .send = send,
                      .recv = recv};
        memset(recv, 0x55, each);
        EXPECT(run_staged(l, &c, kind & 1 ? n * l->size : n, n) == 0);
        for (int64_t i = 0, at = kind & 1 ? n * l->rank : 0; i < n; i++) {
            double sum = 0, max = -9;
            for (int r = 0; r < l->size; r++) {
                double x = sample(r, at + i);
                sum += x;
                max = x > max ? x : max;
            }
            EXPECT(get(recv, dtype, i) == (kind & 2 ? max : sum));
        }
    }
    hpc_free(send);
    hpc_free(recv);
    return 0;
}

/* What only moves, of any dtype: byte i of rank r's part for s is of (r, s, i). */
static uint8_t moved(int from, int to, size_t i)
{
    return (uint8_t)(from * 31 + to * 7 + (int)(i % 251));
}

static int moves_right(hpc_link *l, hpc_dtype dtype, int64_t n, bool counts)
{
    size_t N = (size_t)l->size, each = bytes_of(dtype, n), at = 0;
    int64_t to[RANKS_MOST], from[RANKS_MOST], sent = 0, got = 0, unit = hpc_dtype_get(dtype)->block;
    uint8_t *send = hpc_alloc(2 * N * each + 1, 1), *recv = hpc_alloc(2 * N * each + 1, 1);
    EXPECT(send && recv);
    for (int s = 0; s < l->size; s++)
    { /* rank r sends to s n elements, and a block for each of r */
        to[s] = counts ? n + unit * (l->rank - s > 0 ? l->rank - s : 0) : n;
        from[s] = counts ? n + unit * (s - l->rank > 0 ? s - l->rank : 0) : n;
        for (size_t i = 0; i < bytes_of(dtype, to[s]); i++) send[at++] = moved(l->rank, s, i);
        sent += to[s];
        got += from[s];
    }
    hpc_comm c = {.kind = HPC_ALL_TO_ALL, .dtype = dtype, .n = n, .send = send, .recv = recv};
    if (counts) c.send_n = to, c.recv_n = from;
    EXPECT(run_staged(l, &c, sent, got) == 0);
    at = 0;
    for (int s = 0; s < l->size; s++)
        for (size_t i = 0; i < bytes_of(dtype, from[s]); i++)
            EXPECT(recv[at++] == moved(s, l->rank, i));

    memset(recv, 0x55, N * each);
    c = (hpc_comm){.kind = HPC_ALL_GATHER, .dtype = dtype, .n = n, .send = send, .recv = recv};
    EXPECT(run_staged(l, &c, n, n * l->size) == 0);
    for (int s = 0; s < l->size; s++)
        for (size_t i = 0; i < each; i++) EXPECT(recv[(size_t)s * each + i] == moved(s, 0, i));

    int root = l->size - 1;
    memset(recv, 0x55, each);
    c = (hpc_comm){.kind = HPC_BROADCAST, .dtype = dtype, .n = n, .peer = root};
    c.send = l->rank == root ? send : NULL;
    c.recv = recv;
    EXPECT(run_staged(l, &c, l->rank == root ? n : 0, n) == 0);
    for (size_t i = 0; i < each; i++) EXPECT(recv[i] == moved(root, 0, i));
    hpc_free(send);
    hpc_free(recv);
    return 0;
}

/* Round a ring, both started before either is waited for. */
static int passes_right(hpc_link *l, int64_t n)
{
    int next = (l->rank + 1) % l->size, before = (l->rank + l->size - 1) % l->size;
    size_t bytes = (size_t)n * sizeof(int32_t);
    int32_t *mine = hpc_alloc((size_t)n, sizeof *mine),
            *theirs = hpc_alloc((size_t)n, sizeof *mine);
    EXPECT(mine && theirs);
    for (int64_t i = 0; i < n; i++) mine[i] = (int32_t)(i * 8 + l->rank);
    staged out, in;
    hpc_comm send = send_i32(next, 5, mine, n), recv = recv_i32(before, 5, theirs, n);
    EXPECT(stage(&out, l, &send, bytes, 0) == 0);
    EXPECT(stage(&in, l, &recv, 0, bytes) == 0);
    EXPECT(unstage(&in) == 0);
    EXPECT(unstage(&out) == 0);
    for (int64_t i = 0; i < n; i++) EXPECT(theirs[i] == i * 8 + before);
    hpc_free(mine);
    hpc_free(theirs);
    return 0;
}

static int all_right(hpc_link *l)
{
    static const int64_t n[] = {1, 1000, (1 << 20) + 3};
    for (size_t k = 0; k < sizeof n / sizeof *n; k++) {
        for (size_t d = 0; d < sizeof reduced / sizeof *reduced; d++)
            EXPECT(reduces_right(l, reduced[d], n[k]) == 0);
        EXPECT(moves_right(l, HPC_BF16, n[k], false) == 0);
        EXPECT(moves_right(l, HPC_F64, n[k], true) == 0);
        EXPECT(moves_right(l, HPC_Q8_0, 32 * n[k], false) == 0);
        EXPECT(passes_right(l, n[k]) == 0);
    }
    return 0;
}

static int open_here(hpc_link **out, hpc_link *host)
{
    EXPECT(gpu.set(host->rank) == 0);
    return hpc_nccl_open(out, host, host->rank, gpu.path);
}

static int runs_all(hpc_link *host, void *user)
{
    hpc_link *l = NULL, *part = NULL;
    (void)user;
    EXPECT(open_here(&l, host) == 0);
    EXPECT(all_right(l) == 0);
    EXPECT(hpc_link_split(&part, l, l->rank % 2, -l->rank) == 0);
    EXPECT(part->size == (l->size + 1 - l->rank % 2) / 2);
    EXPECT(all_right(part) == 0);
    hpc_link_close(part);
    EXPECT(hpc_link_split(&part, l, l->rank == 0 ? -1 : 0, 0) == 0 && !part == (l->rank == 0));
    hpc_link_close(part);
    EXPECT(all_right(l) == 0);
    hpc_link_close(l);
    return 0;
}

static int names_the_device(hpc_link *host, void *user)
{
    hpc_link *l;
    char text[64];
    (void)user;
    snprintf(text, sizeof text, "nccl: device %d of %d; devices are 0 to", gpu.devices,
             gpu.devices);
    EXPECT_FAILURE(hpc_nccl_open(&l, host, gpu.devices, gpu.path), HPC_E_ARG, text);
    EXPECT(!l && meet(host) == 0);
    return 0;
}

/* NCCL rejects two ranks on one device, on both ranks. */
static int refuses_to_share(hpc_link *host, void *user)
{
    hpc_link *l;
    (void)user;
    EXPECT_FAILURE(hpc_nccl_open(&l, host, 0, gpu.path), HPC_E_IO, "nccl: ", "uplicate GPU");
    EXPECT(!l && meet(host) == 0);
    return 0;
}

/* One rank aborts: later operations fail on all ranks with its reason. */
static int ends_together(hpc_link *host, void *user)
{
    hpc_link *l = NULL;
    int32_t x[2] = {1, 2};
    staged s;
    int rc = 0;
    (void)user;
    EXPECT(open_here(&l, host) == 0);
    if (l->rank == l->size - 1) hpc_link_abort(l, "the disk is full");
    hpc_comm c = {.kind = HPC_ALL_REDUCE, .dtype = HPC_I32, .n = 1, .send = x, .recv = x + 1};
    for (int k = 0; k < 1000 && rc == 0; k++) {
        rc = stage(&s, l, &c, sizeof *x, sizeof *x);
        if (rc == 0) rc = unstage(&s);
    }
    EXPECT_FAILURE(rc, HPC_E_ABORTED, "the disk is full");
    hpc_link_close(l);
    return 0;
}

static void on_gpus(int n, int (*fn)(hpc_link *host, void *user))
{
    if (gpu.devices == 0) {
        print_message("SKIP: no CUDA device, or hpccoder-nccl.so was not built\n");
        skip();
    }
    run_ranks(n > 0 ? n : gpu.devices > RANKS_MOST ? RANKS_MOST : gpu.devices, fn, NULL);
}

static void operations(void **state)
{
    (void)state;
    on_gpus(0, runs_all);
}

static void a_device_that_is_not_there(void **state)
{
    (void)state;
    on_gpus(2, names_the_device);
}

static void two_ranks_on_a_device(void **state)
{
    (void)state;
    on_gpus(2, refuses_to_share);
}

static int closes_what_aborted(hpc_link *host, void *user)
{
    (void)user;
    int rc = ends_together(host, NULL);
    hpc_error_clear();
    return rc < 0 ? rc : 0;
}

static void a_rank_that_gives_up(void **state)
{
    (void)state;
    on_gpus(0, closes_what_aborted);
}

static void find_gpus(void)
{
    gpu.devices = devices(gpu.path);
    void *object = gpu.devices > 0 ? dlopen(gpu.path, RTLD_NOW | RTLD_NOLOAD) : NULL;
    if (!object) return;
    *(void **)&gpu.set = dlsym(object, "cudaSetDevice");
    *(void **)&gpu.malloc = dlsym(object, "cudaMalloc");
    *(void **)&gpu.free = dlsym(object, "cudaFree");
    *(void **)&gpu.copy = dlsym(object, "cudaMemcpy");
    *(void **)&gpu.sync = dlsym(object, "cudaDeviceSynchronize");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(without_a_device, start_over),
        cmocka_unit_test_setup(without_nccl, start_over),
        cmocka_unit_test_setup(operations, start_over),
        cmocka_unit_test_setup(a_device_that_is_not_there, start_over),
        cmocka_unit_test_setup(two_ranks_on_a_device, start_over),
        cmocka_unit_test_setup(a_rank_that_gives_up, start_over),
    };
    find_gpus();
    return cmocka_run_group_tests_name("link/nccl", tests, NULL, NULL);
}
