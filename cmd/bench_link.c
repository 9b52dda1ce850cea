/*
 * bench_link.c: how fast ranks talk to each other: latency and bandwidth of
 * operations by size, on ranks as threads or as processes over MPI, beside a
 * copy of as many bytes and what MPI does itself.
 *
 * Results are checked, with numbers whose sums are exact.
 */
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "runtime/link/link.h"

enum { ROUNDS_MOST = 100, ROWS_MOST = 128 };

typedef struct link_options {
    const char *link, *operation;
    int64_t ranks, least, most, rounds;
    bool json, quiet;
} link_options;

typedef struct row {
    hpc_comm_kind kind;
    int64_t bytes;
    double us, copy_us, peer_us; /* peer_us 0: there is none */
} row;

typedef struct bench {
    const link_options *o;
    bool mpi;
    char library[256];
    int ranks;
    row row[ROWS_MOST]; /* of rank 0 */
    int n;
} bench;

typedef struct trial { /* one operation and size on one rank */
    const bench *b;
    hpc_link *world;
    hpc_comm c;
    int64_t bytes, send_n, recv_n;
    float *send, *recv;
    int inner; /* operations between two looks at the clock */
} trial;

static const char *const operations[] = {"all",  "all_reduce", "all_gather", "reduce_scatter",
                                         "send", NULL};
static const char *const links[] = {"threads", "mpi", NULL};

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
    double sample[ROUNDS_MOST];
    int rc = HPC_OK;
    for (int64_t round = 0; round <= t->b->o->rounds; round++) {
        TRY(meet(t->world));
        int64_t start = hpc_clock_ns();
        for (int k = 0; k < t->inner; k++) TRY(operation(t));
        double ns = (double)(hpc_clock_ns() - start);
        TRY(slowest(&ns, t->world));
        if (round > 0) sample[round - 1] = ns * 1e-3 / t->inner;
    }
    *us = hpc_cmd_median(sample, t->b->o->rounds);
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

static int take_one(row *out, const bench *b, hpc_link *world, hpc_comm_kind kind, int64_t bytes)
{
    trial t;
    int rc;
    *out = (row){.kind = kind};
    TRY(prepare(&t, b, world, kind, bytes));
    out->bytes = t.bytes;
    TRY(measure(&out->us, &t, ours));
    TRY(check(&t, ""));
    if (kind == HPC_SEND) out->us /= 2;
    if (b->mpi && kind != HPC_SEND) {
        TRY(measure(&out->peer_us, &t, peers));
        TRY(check(&t, "MPI's own "));
    }
    TRY(time_copy(&out->copy_us, &t));
out:
    hpc_free(t.send);
    hpc_free(t.recv);
    return rc;
}

static int take_all(hpc_link *world, void *user)
{
    static const hpc_comm_kind kinds[] = {HPC_ALL_REDUCE, HPC_ALL_GATHER, HPC_REDUCE_SCATTER,
                                          HPC_SEND};
    bench *b = user;
    hpc_progress progress;
    int rc = HPC_OK, n = 0;
    hpc_cmd_progress(&progress, b->o->quiet || world->rank > 0);
    hpc_progress_start(&progress, "bench link", "sizes", 0);
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        const char *name = hpc_comm_name(kinds[k]);
        if (strcmp(b->o->operation, "all") != 0 && strcmp(b->o->operation, name) != 0) continue;
        for (int64_t bytes = b->o->least; n < ROWS_MOST; bytes *= 4) {
            row r;
            if (bytes > b->o->most) bytes = b->o->most;
            TRY(take_one(&r, b, world, kinds[k], bytes));
            if (world->rank == 0) b->row[n] = r;
            hpc_progress_update(&progress, ++n, name);
            if (bytes == b->o->most) break;
        }
    }
    hpc_progress_end(&progress, n);
    if (world->rank == 0) b->n = n;
out:
    return rc;
}

/* ---- reporting --------------------------------------------------------------------------------
 */

static double gb_s(const row *r)
{
    return (double)r->bytes / (r->us * 1e3);
}

/* What each rank's connection carries, whatever the number of ranks. */
static double bus_gb_s(const bench *b, const row *r)
{
    double share = (double)(b->ranks - 1) / b->ranks;
    return gb_s(r) * (r->kind == HPC_ALL_REDUCE ? 2 * share : r->kind == HPC_SEND ? 1 : share);
}

static void put_json(hpc_buf *out, const bench *b)
{
    hpc_json_out w = {.buf = out};
    hpc_json_open(&w, NULL, '{');
    hpc_json_put_text(&w, "link", b->o->link);
    hpc_json_put_text(&w, "library", b->mpi ? b->library : NULL);
    hpc_json_put_int(&w, "ranks", b->ranks);
    hpc_json_open(&w, "results", '[');
    for (int k = 0; k < b->n; k++) {
        const row *r = &b->row[k];
        hpc_json_open(&w, NULL, '{');
        hpc_json_put_text(&w, "operation", hpc_comm_name(r->kind));
        hpc_json_put_int(&w, "bytes", r->bytes);
        hpc_json_put_real(&w, "us", r->us);
        hpc_json_put_real(&w, "algorithm_gb_s", gb_s(r));
        hpc_json_put_real(&w, "bus_gb_s", bus_gb_s(b, r));
        hpc_json_put_real(&w, "copy_us", r->copy_us);
        hpc_json_put_real(&w, "peer_us", r->peer_us > 0 ? r->peer_us : (double)__builtin_nan(""));
        hpc_json_close(&w, '}');
    }
    hpc_json_close(&w, ']');
    hpc_json_close(&w, '}');
    hpc_buf_text(out, "\n");
}

static void put_table(hpc_buf *out, const bench *b)
{
    hpc_buf_printf(out, "%d ranks over %s%s%s; GB/s: 10^9 bytes; all results are right\n\n",
                   b->ranks, b->o->link, b->mpi ? ": " : "", b->mpi ? b->library : "");
    hpc_buf_printf(out, "%-14s  %10s  %10s  %8s  %8s  %10s%s\n", "operation", "bytes", "us", "GB/s",
                   "bus GB/s", "copy us", b->mpi ? "      MPI us   of MPI" : "");
    for (int k = 0; k < b->n; k++) {
        const row *r = &b->row[k];
        hpc_buf_printf(out, "%-14s  %10lld  %10.2f  %8.3f  %8.3f  %10.2f", hpc_comm_name(r->kind),
                       (long long)r->bytes, r->us, gb_s(r), bus_gb_s(b, r), r->copy_us);
        if (r->peer_us > 0) hpc_buf_printf(out, "  %10.2f  %7.2f", r->peer_us, r->us / r->peer_us);
        hpc_buf_text(out, "\n");
    }
}

/* ---- running ------------------------------------------------------------------------------------
 */

static int run_mpi(bench *b, bool *speaks)
{
    hpc_link *world = NULL;
    int rc;
    if (!hpc_mpi_launched())
        return hpc_fail(HPC_E_ARG, "--link mpi needs several ranks: start it as mpirun -n N "
                                   "hpccoder bench link --link mpi");
    TRY(hpc_mpi_open(&world, NULL));
    b->ranks = world->size;
    *speaks = world->rank == 0;
    snprintf(b->library, sizeof b->library, "%s", hpc_mpi_library(world));
    rc = take_all(world, b);
    if (rc < 0) hpc_link_abort(world, hpc_error_get()->text);
out:
    hpc_link_close(world);
    return rc;
}

static int run(void *options, int argc, char **argv)
{
    bench b = {.o = options};
    hpc_buf out = {0};
    bool speaks = true;
    int rc = HPC_OK;
    if (argc > 0) return hpc_fail(HPC_E_ARG, "unexpected argument '%s'", argv[0]);
    if (b.o->least > b.o->most)
        return hpc_fail(HPC_E_ARG, "--least %lld is more than --most %lld", (long long)b.o->least,
                        (long long)b.o->most);
    b.mpi = strcmp(b.o->link, "mpi") == 0;
    b.ranks = (int)b.o->ranks;
    TRY(b.mpi ? run_mpi(&b, &speaks) : hpc_threads_run(b.ranks, take_all, &b));
    if (speaks) b.o->json ? put_json(&out, &b) : put_table(&out, &b);
    TRY(hpc_cmd_print(&out));
    rc = EXIT_DONE;
out:
    return rc;
}

static const hpc_option options[] = {
    {.name = "link",
     .kind = HPC_CHOICE,
     .offset = offsetof(link_options, link),
     .fallback = "threads",
     .choices = links,
     .help =
         "Connection between ranks: threads of this process, or MPI processes started by mpirun."},
    {.name = "ranks",
     .kind = HPC_INT,
     .offset = offsetof(link_options, ranks),
     .fallback = "2",
     .argument = "N",
     .least = 2,
     .most = 1024,
     .help = "Number of ranks as threads; with MPI, mpirun sets it."},
    {.name = "operation",
     .kind = HPC_CHOICE,
     .offset = offsetof(link_options, operation),
     .fallback = "all",
     .choices = operations,
     .help = "Operation to measure."},
    {.name = "least",
     .kind = HPC_INT,
     .offset = offsetof(link_options, least),
     .fallback = "8",
     .argument = "BYTES",
     .least = 4,
     .most = 1 << 30,
     .help = "Smallest size; each further size is four times as large."},
    {.name = "most",
     .kind = HPC_INT,
     .offset = offsetof(link_options, most),
     .fallback = "67108864",
     .argument = "BYTES",
     .least = 4,
     .most = 1 << 30,
     .help = "Largest size."},
    {.name = "rounds",
     .kind = HPC_INT,
     .offset = offsetof(link_options, rounds),
     .fallback = "7",
     .argument = "N",
     .least = 1,
     .most = ROUNDS_MOST,
     .help = "Samples per median."},
    HPC_CMD_JSON(link_options),
    HPC_CMD_QUIET(link_options),
    {.name = NULL},
};

const hpc_command hpc_cmd_bench_link = {
    .name = "bench link",
    .summary = "Benchmark communication between ranks.",
    .arguments = "",
    .description =
        "Runs all_reduce, all_gather, reduce_scatter and send on floats of increasing size, checks "
        "each result, and reports the time of the slowest rank (for send, half of a round trip "
        "between two ranks). Also reports the bandwidth, and the bandwidth per connection (bus) as "
        "defined by nccl-tests; bytes are those of the whole tensor. A copy of the same size on "
        "every rank is the lower bound. Over MPI, the MPI library's own collectives are measured "
        "for comparison; they may sum in any order, while ours sum in rank order.",
    .examples = "hpccoder bench link --ranks 4  # ranks as threads\n"
                "mpirun -n 4 hpccoder bench link --link mpi --json  # ranks as processes, compared "
                "with MPI",
    .options = options,
    .options_bytes = sizeof(link_options),
    .run = run,
};
