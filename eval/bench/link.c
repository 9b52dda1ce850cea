/*
 * link.c: the communication benchmark: times of operations by size, on ranks as threads or
 * as MPI processes, with a copy and MPI's own collectives as baselines.
 *
 * Each result is checked; the sums of the elements are exact.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eval/bench/bench.h"

typedef struct bench {
    const hpc_bench_link_options *o;
    hpc_progress *progress;
    hpc_bench_link_result *result; /* of this process */
} bench;

typedef struct trial { /* one operation and size on one rank */
    const bench *b;
    hpc_link *world;
    hpc_comm c;
    int64_t bytes, send_n, recv_n;
    float *send, *recv;
    int inner; /* operations between two looks at the clock */
} trial;

const char *const hpc_bench_link_operations[] = {
    "all", "all_reduce", "all_gather", "reduce_scatter", "send", NULL};

/* ---- values -------------------------------------------------------------------------------- */

/* Whole and small, so that sums over thousands of ranks are exact. */
static float held(int rank, int64_t i)
{
    return (float)((rank * 3 + i * 5) % 7 - 2);
}

static float summed(int ranks, int64_t i)
{
    float s = 0;
    for (int r = 0; r < ranks; r++) s += held(r, i);
    return s;
}

static float expected(const trial *t, int64_t i)
{
    int size = t->world->size;
    switch (t->c.kind) {
    case HPC_ALL_REDUCE: return summed(size, i);
    case HPC_REDUCE_SCATTER: return summed(size, t->world->rank * t->c.n + i);
    case HPC_ALL_GATHER: return held((int)(i / t->c.n), i % t->c.n);
    default: return held(1 - t->world->rank, i);
    }
}

static int check(const trial *t, const char *whose)
{
    if (t->c.kind == HPC_SEND && t->world->rank > 1) return HPC_OK;
    for (int64_t i = 0; i < t->recv_n; i++)
        if (t->recv[i] != expected(t, i))
            return hpc_fail(HPC_E_FAULT,
                            "%s%s of %lld bytes on rank %d: element %lld is %g, not %g", whose,
                            hpc_comm_name(t->c.kind), (long long)t->bytes, t->world->rank,
                            (long long)i, t->recv[i], expected(t, i));
    return HPC_OK;
}

/* ---- one operation -------------------------------------------------------------------------- */

/* There and back between ranks 0 and 1: two messages. */
static int ping(const trial *t)
{
    int rank = t->world->rank;
    hpc_comm send = {.kind = HPC_SEND, .n = t->c.n, .peer = 1 - rank, .send = t->send};
    hpc_comm recv = {.kind = HPC_RECV, .n = t->c.n, .peer = 1 - rank, .recv = t->recv};
    int rc = hpc_link_run(t->world, rank == 0 ? &send : &recv);
    return rc < 0 ? rc : hpc_link_run(t->world, rank == 0 ? &recv : &send);
}

static int ours(trial *t)
{
    if (t->c.kind != HPC_SEND) return hpc_link_run(t->world, &t->c);
    return t->world->rank > 1 ? HPC_OK : ping(t);
}

static int copy(trial *t)
{
    size_t half = (size_t)t->bytes;
    memcpy(t->recv, t->send, half < (size_t)t->send_n * 4 ? half : (size_t)t->send_n * 4);
    __asm__ volatile("" : : "r"(t->recv) : "memory");
    return HPC_OK;
}

static int peers(trial *t)
{
    return hpc_mpi_peer(t->world, &t->c);
}

static int meet(hpc_link *world)
{
    int64_t one = 1, all;
    hpc_comm c = {.kind = HPC_ALL_REDUCE, .dtype = HPC_I64, .n = 1, .send = &one, .recv = &all};
    return hpc_link_run(world, &c);
}

/* Of the rank that took longest. */
static int slowest(double *ns, hpc_link *world)
{
    double mine = *ns;
    hpc_comm c = {.kind = HPC_ALL_REDUCE,
                  .dtype = HPC_F64,
                  .reduce = HPC_COMM_MAX,
                  .n = 1,
                  .send = &mine,
                  .recv = ns};
    return hpc_link_run(world, &c);
}

/* Median of --rounds in microseconds, after one that warms up. */
static int measure(double *us, trial *t, int (*operation)(trial *t))
{
    double sample[HPC_BENCH_LINK_ROUNDS];
    int rc = HPC_OK;
    for (int64_t round = 0; round <= t->b->o->rounds; round++) {
        TRY(meet(t->world));
        int64_t start = hpc_clock_ns();
        for (int k = 0; k < t->inner; k++) TRY(operation(t));
        double ns = (double)(hpc_clock_ns() - start);
        TRY(slowest(&ns, t->world));
        if (round > 0) sample[round - 1] = ns * 1e-3 / t->inner;
    }
    *us = hpc_bench_median(sample, t->b->o->rounds);
out:
    return rc;
}

/* ---- all of them ------------------------------------------------------------------------------
 */

static int prepare(trial *t, const bench *b, hpc_link *world, hpc_comm_kind kind, int64_t bytes)
{
    int64_t whole = bytes / 4, n = whole;
    if (kind == HPC_ALL_GATHER || kind == HPC_REDUCE_SCATTER) n = whole / world->size;
    if (n < 1) n = 1;
    *t = (trial){.b = b, .world = world, .send_n = n, .recv_n = n};
    if (kind == HPC_ALL_GATHER) t->recv_n = n * world->size;
    if (kind == HPC_REDUCE_SCATTER) t->send_n = n * world->size;
    t->bytes = 4 * (t->send_n > t->recv_n ? t->send_n : t->recv_n);
    int64_t inner = (8 << 20) / t->bytes;
    t->inner = inner < 1 ? 1 : inner > 200 ? 200 : (int)inner;
    t->send = hpc_alloc_aligned((size_t)t->send_n, 4, HPC_ALIGN);
    t->recv = hpc_alloc_aligned((size_t)t->recv_n, 4, HPC_ALIGN);
    if (!t->send || !t->recv) return HPC_E_NOMEM;
    for (int64_t i = 0; i < t->send_n; i++) t->send[i] = held(world->rank, i);
    t->c = (hpc_comm){.kind = kind, .dtype = HPC_F32, .n = n, .send = t->send, .recv = t->recv};
    return HPC_OK;
}

static int time_copy(double *us, trial *t)
{
    char *from = hpc_alloc_aligned((size_t)t->bytes, 1, HPC_ALIGN);
    char *to = hpc_alloc_aligned((size_t)t->bytes, 1, HPC_ALIGN);
    trial c = *t;
    int rc = from && to ? HPC_OK : HPC_E_NOMEM;
    c.send = (float *)(void *)from;
    c.recv = (float *)(void *)to;
    c.send_n = t->bytes / 4;
    if (rc == HPC_OK) rc = measure(us, &c, copy);
    hpc_free(from);
    hpc_free(to);
    return rc;
}

/* The part of a tensor that each rank's connection carries, as nccl-tests counts it. */
static double bus_share(hpc_comm_kind kind, int ranks)
{
    double share = (double)(ranks - 1) / ranks;
    return kind == HPC_ALL_REDUCE ? 2 * share : kind == HPC_SEND ? 1 : share;
}

static int take_one(hpc_bench_link_row *out, const bench *b, hpc_link *world, hpc_comm_kind kind,
                    int64_t bytes)
{
    trial t;
    int rc;
    *out = (hpc_bench_link_row){.kind = kind};
    TRY(prepare(&t, b, world, kind, bytes));
    out->bytes = t.bytes;
    TRY(measure(&out->us, &t, ours));
    TRY(check(&t, ""));
    if (kind == HPC_SEND) out->us /= 2;
    if (b->o->mpi && kind != HPC_SEND) {
        TRY(measure(&out->peer_us, &t, peers));
        TRY(check(&t, "MPI's own "));
    }
    TRY(time_copy(&out->copy_us, &t));
    out->gb_s = (double)out->bytes / (out->us * 1e3);
    out->bus_gb_s = out->gb_s * bus_share(kind, world->size);
out:
    hpc_free(t.send);
    hpc_free(t.recv);
    return rc;
}

static void write_nothing(void *user, const char *text, size_t n)
{
    (void)user, (void)text, (void)n;
}

static int take_all(hpc_link *world, void *user)
{
    static const hpc_comm_kind kinds[] = {HPC_ALL_REDUCE, HPC_ALL_GATHER, HPC_REDUCE_SCATTER,
                                          HPC_SEND};
    bench *b = user;
    hpc_progress silent = {.write = write_nothing};
    hpc_progress *progress = world->rank > 0 ? &silent : b->progress;
    int rc = HPC_OK, n = 0;
    hpc_progress_start(progress, "bench link", "sizes", 0);
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        const char *name = hpc_comm_name(kinds[k]);
        if (strcmp(b->o->operation, "all") != 0 && strcmp(b->o->operation, name) != 0) continue;
        for (int64_t bytes = b->o->least; n < HPC_BENCH_LINK_ROWS; bytes *= 4) {
            hpc_bench_link_row r;
            if (bytes > b->o->most) bytes = b->o->most;
            TRY(take_one(&r, b, world, kinds[k], bytes));
            if (world->rank == 0) b->result->row[n] = r;
            hpc_progress_update(progress, ++n, name);
            if (bytes == b->o->most) break;
        }
    }
    hpc_progress_end(progress, n);
    if (world->rank == 0) b->result->n = n;
out:
    return rc;
}

/* ---- entry ---------------------------------------------------------------------------------- */

static int run_mpi(bench *b)
{
    hpc_link *world = NULL;
    int rc;
    if (!hpc_mpi_launched())
        return hpc_fail(HPC_E_ARG, "--link mpi needs several ranks: start it as mpirun -n N "
                                   "hpccoder bench link --link mpi");
    TRY(hpc_mpi_open(&world, NULL));
    b->result->ranks = world->size;
    b->result->rank = world->rank;
    snprintf(b->result->library, sizeof b->result->library, "%s", hpc_mpi_library(world));
    rc = take_all(world, b);
    if (rc < 0) hpc_link_abort(world, hpc_error_get()->text);
out:
    hpc_link_close(world);
    return rc;
}

int hpc_bench_link(hpc_bench_link_result *out, const hpc_bench_link_options *o,
                   hpc_progress *progress)
{
    bench b = {.o = o, .progress = progress, .result = out};
    *out = (hpc_bench_link_result){.ranks = (int)o->ranks};
    return o->mpi ? run_mpi(&b) : hpc_threads_run(out->ranks, take_all, &b);
}
