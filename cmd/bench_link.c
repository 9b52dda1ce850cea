/*
 * bench_link.c: the command `bench link`.
 */
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/terminal.h"
#include "eval/bench/bench.h"

typedef struct link_options {
    hpc_bench_link_options b;
    const char *link;
    bool json, quiet;
} link_options;

static const char *const links[] = {"threads", "mpi", NULL};

static void put_json(hpc_buf *out, const link_options *o, const hpc_bench_link_result *b)
{
    hpc_json_out w = {.buf = out};
    hpc_json_open(&w, NULL, '{');
    hpc_json_put_text(&w, "link", o->link);
    hpc_json_put_text(&w, "library", o->b.mpi ? b->library : NULL);
    hpc_json_put_int(&w, "ranks", b->ranks);
    hpc_json_open(&w, "results", '[');
    for (int k = 0; k < b->n; k++) {
        const hpc_bench_link_row *r = &b->row[k];
        hpc_json_open(&w, NULL, '{');
        hpc_json_put_text(&w, "operation", hpc_comm_name(r->kind));
        hpc_json_put_int(&w, "bytes", r->bytes);
        hpc_json_put_real(&w, "us", r->us);
        hpc_json_put_real(&w, "algorithm_gb_s", r->gb_s);
        hpc_json_put_real(&w, "bus_gb_s", r->bus_gb_s);
        hpc_json_put_real(&w, "copy_us", r->copy_us);
        hpc_json_put_real(&w, "peer_us", r->peer_us > 0 ? r->peer_us : (double)__builtin_nan(""));
        hpc_json_close(&w, '}');
    }
    hpc_json_close(&w, ']');
    hpc_json_close(&w, '}');
    hpc_buf_text(out, "\n");
}

static void put_table(hpc_buf *out, const link_options *o, const hpc_bench_link_result *b)
{
    static const hpc_column columns[] = {
        HPC_COLUMN_TEXT("operation"), HPC_COLUMN_NUMBER("bytes"),    HPC_COLUMN_NUMBER("us"),
        HPC_COLUMN_NUMBER("GB/s"),    HPC_COLUMN_NUMBER("bus GB/s"), HPC_COLUMN_NUMBER("copy us"),
        HPC_COLUMN_NUMBER("MPI us"),  HPC_COLUMN_NUMBER("of MPI")};
    hpc_table t = {.column = columns, .columns = sizeof columns / sizeof *columns};
    hpc_buf head = {0};
    hpc_buf_printf(&head, "%d ranks over %s%s%s; GB/s: 10^9 bytes; all results are right\n\n",
                   b->ranks, o->link, o->b.mpi ? ": " : "", o->b.mpi ? b->library : "");
    hpc_text_fill_take(out, &head, 2, hpc_cmd_table_columns());
    for (int k = 0; k < b->n; k++) {
        const hpc_bench_link_row *r = &b->row[k];
        hpc_table_cell(&t, "%s", hpc_comm_name(r->kind));
        hpc_table_cell(&t, "%lld", (long long)r->bytes);
        hpc_table_cell(&t, "%.2f", r->us);
        hpc_table_cell(&t, "%.3f", r->gb_s);
        hpc_table_cell(&t, "%.3f", r->bus_gb_s);
        hpc_table_cell(&t, "%.2f", r->copy_us);
        if (r->peer_us > 0) {
            hpc_table_cell(&t, "%.2f", r->peer_us);
            hpc_table_cell(&t, "%.2f", r->us / r->peer_us);
        }
        hpc_table_end_row(&t);
    }
    hpc_table_print(out, &t, hpc_cmd_table_columns());
}

static int run(void *options, int argc, char **argv)
{
    link_options *o = options;
    hpc_bench_link_result r;
    hpc_progress progress;
    hpc_buf out = {0};
    if (argc > 0) return hpc_fail(HPC_E_ARG, "unexpected argument '%s'", argv[0]);
    if (o->b.least > o->b.most)
        return hpc_fail(HPC_E_ARG, "--least %lld is more than --most %lld", (long long)o->b.least,
                        (long long)o->b.most);
    o->b.mpi = strcmp(o->link, "mpi") == 0;
    hpc_cmd_progress(&progress, o->quiet);
    int rc = hpc_bench_link(&r, &o->b, &progress);
    if (rc < 0) return rc;
    if (r.rank == 0) o->json ? put_json(&out, o, &r) : put_table(&out, o, &r);
    return hpc_cmd_print(&out);
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
     .offset = offsetof(link_options, b.ranks),
     .fallback = "2",
     .argument = "N",
     .least = 2,
     .most = 1024,
     .help = "Number of ranks as threads; with MPI, mpirun sets it."},
    {.name = "operation",
     .kind = HPC_CHOICE,
     .offset = offsetof(link_options, b.operation),
     .fallback = "all",
     .choices = hpc_bench_link_operations,
     .help = "Operation to measure."},
    {.name = "least",
     .kind = HPC_INT,
     .offset = offsetof(link_options, b.least),
     .fallback = "8",
     .argument = "BYTES",
     .least = 4,
     .most = 1 << 30,
     .help = "Smallest size; each further size is four times as large."},
    {.name = "most",
     .kind = HPC_INT,
     .offset = offsetof(link_options, b.most),
     .fallback = "67108864",
     .argument = "BYTES",
     .least = 4,
     .most = 1 << 30,
     .help = "Largest size."},
    {.name = "rounds",
     .kind = HPC_INT,
     .offset = offsetof(link_options, b.rounds),
     .fallback = "7",
     .argument = "N",
     .least = 1,
     .most = HPC_BENCH_LINK_ROUNDS,
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
