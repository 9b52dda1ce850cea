/*
 * graph.c: the benchmark of graph networks: time, operations and bytes of a layer by phase, and the
 * measured bandwidth of reading rows at random.
 */
#include <stdlib.h>
#include <string.h>

#include "eval/bench/graph.h"
#include "eval/bench/priv.h"

const char *const hpc_bench_graph_kinds[] = {
    [HPC_NET_POWER_LAW] = "power-law", [HPC_NET_MESH] = "mesh", NULL};
const char *const hpc_bench_graph_phases[] = {[HPC_SAGA_SCATTER] = "scatter",
                                              [HPC_SAGA_EDGE] = "edge",
                                              [HPC_SAGA_GATHER] = "gather",
                                              [HPC_SAGA_VERTEX] = "vertex",
                                              NULL};

enum { ROUNDS_MOST = 999 };

typedef struct layer_run { /* a layer in memory, opened */
    hpc_program *p;
    hpc_exec *exec;
    hpc_graph graph;
    hpc_value x, y;
} layer_run;

/* ---- the limit: rows read at random -------------------------------------------------------- */

typedef struct reading {
    const hpc_net *net;
    const char *rows;
    size_t row_bytes;
} reading;

/* Reads a word of each cache line of the rows of this worker's edges, which were prefetched. */
static int read_rows(int worker, int workers, void *user)
{
    enum { LINE = 64, AHEAD = 16 };
    const reading *r = user;
    int64_t lo, hi, sum = 0;
    hpc_share(&lo, &hi, r->net->edges, 1, worker, workers);
    for (int64_t k = lo; k < hi; k++) {
        const char *row = r->rows + (size_t)r->net->index[k] * r->row_bytes;
        int64_t next = k + AHEAD < hi ? k + AHEAD : k;
        const char *ahead = r->rows + (size_t)r->net->index[next] * r->row_bytes;
        for (size_t at = 0; at < r->row_bytes; at += LINE) __builtin_prefetch(ahead + at);
        for (size_t at = 0; at < r->row_bytes; at += LINE) sum += row[at];
    }
    __asm__ volatile("" : : "r"(sum)); /* or the loop would be removed */
    return HPC_OK;
}

static int measure_reading(double *rate, const hpc_net *net, size_t row_bytes, int threads,
                           int64_t rounds)
{
    double second[ROUNDS_MOST];
    hpc_pool *pool = NULL;
    char *rows = hpc_alloc((size_t)net->vertices + 1, row_bytes);
    reading r = {net, rows, row_bytes};
    int rc;
    if (!rows) return HPC_E_NOMEM;
    memset(rows, 1, (size_t)net->vertices * row_bytes);
    TRY(hpc_pool_create(&pool, threads));
    TRY(hpc_pool_run(pool, read_rows, &r));
    for (int64_t k = 0; k < rounds; k++) {
        int64_t begin = hpc_clock_ns();
        TRY(hpc_pool_run(pool, read_rows, &r));
        second[k] = (double)(hpc_clock_ns() - begin) * 1e-9;
    }
    *rate = (double)net->edges * (double)row_bytes / hpc_bench_median(second, rounds);
out:
    hpc_pool_free(pool);
    hpc_free(rows);
    return rc;
}

/* ---- a layer --------------------------------------------------------------------------------- */

static int emit_layer(layer_run *r, const hpc_net *net, const hpc_saga_layer *l,
                      const hpc_saga_options *o)
{
    r->p = hpc_program_create();
    if (!r->p) return HPC_E_NOMEM;
    int rc = hpc_program_segment(r->p, HPC_FORWARD, 0);
    if (rc < 0) return rc;
    hpc_type starts = hpc_type_of(HPC_I32, 1, (int64_t[]){net->vertices + 1});
    hpc_type edges = hpc_type_of(HPC_I32, 1, (int64_t[]){net->edges});
    hpc_type rows = hpc_type_of(o->dtype, 2, (int64_t[]){net->vertices, o->features});
    r->graph = hpc_graph_of_segments(hpc_program_input(r->p, "start", starts));
    r->graph.index = hpc_program_input(r->p, "index", edges);
    r->x = hpc_program_input(r->p, "x", rows);
    r->y = hpc_saga_emit(r->p, l, o, r->x, &r->graph);
    if (r->y >= 0) hpc_program_keep(r->p, r->y);
    return hpc_program_status(r->p);
}

static int fill_layer(layer_run *r, const hpc_net *net, const hpc_saga_options *o, uint64_t seed)
{
    int64_t n = net->vertices * o->features;
    hpc_type t = r->p->value[r->x].type;
    float *x = hpc_alloc((size_t)n + 1, sizeof *x);
    int rc = HPC_E_NOMEM;
    if (!x) return rc;
    hpc_random_fill_normal(x, n, seed, 0, 0, 0);
    if (o->dtype == HPC_BF16) hpc_from_f32(x, HPC_BF16, x, n);
    TRY(hpc_exec_write(r->exec, 0, r->x, x, hpc_type_bytes(&t)));
    TRY(hpc_exec_write(r->exec, 0, r->graph.start, net->start,
                       (size_t)(net->vertices + 1) * sizeof *net->start));
    TRY(hpc_exec_write(r->exec, 0, r->graph.index, net->index,
                       (size_t)net->edges * sizeof *net->index));
    TRY(hpc_saga_initialise(r->exec, r->p, seed));
out:
    hpc_free(x);
    return rc;
}

/* Memory in addition to the graph, the rows that go in, those that come out, and parameters. */
static double extra_bytes(const layer_run *r)
{
    const hpc_placement *at = hpc_exec_placement(r->exec);
    double bytes = (double)at->bytes[HPC_SPACE_SLOT] + (double)at->bytes[HPC_SPACE_LOCAL];
    const hpc_value known[] = {r->x, r->y, r->graph.start, r->graph.index};
    for (size_t k = 0; k < sizeof known / sizeof *known; k++)
        bytes -= (double)hpc_type_bytes(&r->p->value[known[k]].type);
    return bytes > 0 ? bytes : 0;
}

static void add_phases(hpc_bench_graph_result *out, const layer_run *r, int64_t *before,
                       int64_t rounds)
{
    const hpc_segment *s = &r->p->segment[0];
    const int64_t *ns = hpc_exec_profile(r->exec, 0);
    for (int64_t i = 0; i < s->insn_n; i++) {
        hpc_bench_graph_phase *phase = &out->phase[s->insn[i].tags.block];
        hpc_cost cost = hpc_insn_cost(r->p, &s->insn[i]);
        if (rounds) {
            phase->ms += (double)(ns[i] - before[i]) * 1e-6 / (double)rounds;
            phase->flops += cost.flops;
            phase->bytes += cost.bytes;
        }
        before[i] = ns[i];
    }
}

static int time_layer(hpc_bench_graph_result *out, layer_run *r, int64_t rounds)
{
    double ms[ROUNDS_MOST];
    int64_t *before = hpc_alloc((size_t)r->p->segment[0].insn_n + 1, sizeof *before);
    int rc;
    if (!before) return HPC_E_NOMEM;
    TRY(hpc_exec_run(r->exec, 0, 0));
    add_phases(out, r, before, 0);
    for (int64_t k = 0; k < rounds; k++) {
        int64_t begin = hpc_clock_ns();
        TRY(hpc_exec_run(r->exec, 0, 0));
        ms[k] = (double)(hpc_clock_ns() - begin) * 1e-6;
    }
    add_phases(out, r, before, rounds);
    out->ms = hpc_bench_median(ms, rounds);
    out->extra_bytes = extra_bytes(r);
out:
    hpc_free(before);
    return rc;
}

static int measure_layer(hpc_bench_graph_result *out, hpc_device *d, const hpc_net *net,
                         const hpc_bench_graph_options *o)
{
    layer_run r = {0};
    hpc_saga_options l = {.features = out->features,
                          .outputs = out->features,
                          .heads = o->heads,
                          .act = HPC_RELU,
                          .dtype = o->dtype};
    int rc;
    TRY(emit_layer(&r, net, hpc_saga_find(out->model), &l));
    TRY(hpc_exec_open(&r.exec, r.p, d, NULL, &(hpc_exec_options){.profile = true}));
    TRY(fill_layer(&r, net, &l, o->seed));
    TRY(time_layer(out, &r, o->rounds));
    double bytes = (double)net->edges * (double)out->features * (o->dtype == HPC_BF16 ? 2 : 4);
    double second = out->phase[HPC_SAGA_GATHER].ms * 1e-3;
    out->edge_bytes = bytes;
    out->gather_rate = second > 0 ? bytes / second : 0;
out:
    if (r.exec) hpc_exec_close(r.exec);
    if (r.p) hpc_program_free(r.p);
    return rc;
}

/* ---- all of them ------------------------------------------------------------------------------
 */

typedef struct results {
    hpc_bench_graph_result *row;
    int64_t n, cap;
} results;

static int measure_width(results *all, hpc_device *d, const hpc_net *net, const char *graph,
                         int64_t features, const hpc_bench_graph_options *o)
{
    double limit;
    int rc;
    TRY(measure_reading(&limit, net, (size_t)features * (o->dtype == HPC_BF16 ? 2 : 4),
                        hpc_device_about(d).threads, o->rounds));
    for (int64_t m = 0; m < o->model.n; m++) {
        if (all->n == all->cap) return hpc_fail(HPC_E_ARG, "too many cases");
        hpc_bench_graph_result *r = &all->row[all->n];
        *r = (hpc_bench_graph_result){.model = o->model.item[m],
                                      .graph = graph,
                                      .vertices = net->vertices,
                                      .edges = net->edges,
                                      .features = features,
                                      .read_rate = limit};
        TRY(measure_layer(r, d, net, o));
        all->n++;
    }
out:
    return rc;
}

static int check_options(const hpc_bench_graph_options *o)
{
    for (int64_t m = 0; m < o->model.n; m++)
        if (!hpc_saga_find(o->model.item[m]))
            return hpc_fail(HPC_E_ARG, "--model %s: known are gcn, sage, sage_max, gat, gin, gated",
                            o->model.item[m]);
    for (int64_t w = 0; w < o->width_n; w++)
        if (o->width[w] < 1 || o->width[w] > 4096 || o->width[w] % o->heads)
            return hpc_fail(HPC_E_ARG, "--features %lld: not a multiple of %lld heads up to 4096",
                            (long long)o->width[w], (long long)o->heads);
    if (o->rounds < 1 || o->rounds > ROUNDS_MOST)
        return hpc_fail(HPC_E_ARG, "--rounds %lld is not 1 to %d", (long long)o->rounds,
                        ROUNDS_MOST);
    return HPC_OK;
}

int hpc_bench_graph(hpc_bench_graph_result **out, int64_t *n, const hpc_bench_graph_options *o,
                    hpc_progress *progress)
{
    hpc_device *d = NULL;
    hpc_net net = {0};
    results all = {.cap = o->graph_n * o->width_n * o->model.n};
    int rc;
    TRY(check_options(o));
    all.row = hpc_alloc((size_t)all.cap + 1, sizeof *all.row);
    if (!all.row) return HPC_E_NOMEM;
    TRY(hpc_device_open(&d, &o->device));
    hpc_progress_start(progress, "measuring", "cases", all.cap);
    for (int64_t g = 0; g < o->graph_n; g++) {
        hpc_net_options loops = {.loops = true};
        TRY(hpc_net_make(&net, o->graph[g], o->vertices, o->edges, o->seed, &loops));
        for (int64_t w = 0; w < o->width_n; w++) {
            TRY(measure_width(&all, d, &net, hpc_bench_graph_kinds[o->graph[g]], o->width[w], o));
            hpc_progress_update(progress, all.n, NULL);
        }
        hpc_net_release(&net);
    }
    hpc_progress_end(progress, all.n);
out:
    hpc_net_release(&net);
    if (d) hpc_device_close(d);
    *n = rc < 0 ? 0 : all.n;
    *out = rc < 0 ? NULL : all.row;
    if (rc < 0) hpc_free(all.row);
    return rc;
}
