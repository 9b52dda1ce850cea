/*
 * bench_graph.c: the command `bench graph`.
 */
#include "cmd/cmd.h"
#include "cmd/terminal.h"
#include "eval/bench/graph.h"
#include "runtime/plot/plot.h"

#include <stdlib.h>
#include <string.h>

typedef struct graph_options {
    hpc_texts model, graph, features;
    int64_t vertices, edges, heads, rounds, seed, threads;
    const char *dtype, *isa, *plot;
    bool json, quiet;
} graph_options;

typedef struct results {
    hpc_bench_graph_result *row;
    int64_t n;
} results;

static const char *const dtypes[] = {"f32", "bf16", NULL};

/* Values of options that were not given. */
typedef struct unset {
    const char *model[5], *graph[2], *width[2];
} unset;

static double share(double part, double whole)
{
    return whole > 0 ? part / whole : 0;
}

/* Bytes a second, in units of 10^9. */
static double gb_s(const hpc_bench_graph_phase *p)
{
    return share(p->bytes * 1e-6, p->ms);
}

static void put_phase(hpc_json_out *w, const char *name, const hpc_bench_graph_phase *p)
{
    hpc_json_open(w, name, '{');
    hpc_json_put_real(w, "ms", p->ms);
    hpc_json_put_real(w, "flops", p->flops);
    hpc_json_put_real(w, "bytes", p->bytes);
    hpc_json_put_real(w, "gflops", share(p->flops * 1e-6, p->ms));
    hpc_json_put_real(w, "gb_s", gb_s(p));
    hpc_json_close(w, '}');
}

static void put_json(hpc_buf *out, const graph_options *o, const results *b)
{
    hpc_json_out w = {.buf = out};
    hpc_json_open(&w, NULL, '{');
    hpc_json_put_text(&w, "dtype", o->dtype);
    hpc_json_put_int(&w, "heads", o->heads);
    hpc_json_put_int(&w, "seed", o->seed);
    hpc_json_put_int(&w, "rounds", o->rounds);
    hpc_json_open(&w, "layers", '[');
    for (int64_t k = 0; k < b->n; k++) {
        const hpc_bench_graph_result *r = &b->row[k];
        hpc_json_open(&w, NULL, '{');
        hpc_json_put_text(&w, "model", r->model);
        hpc_json_put_text(&w, "graph", r->graph);
        hpc_json_put_int(&w, "vertices", r->vertices);
        hpc_json_put_int(&w, "edges", r->edges);
        hpc_json_put_int(&w, "features", r->features);
        hpc_json_put_real(&w, "ms", r->ms);
        hpc_json_open(&w, "phases", '{');
        for (int p = 0; p < HPC_SAGA_PHASES; p++)
            put_phase(&w, hpc_bench_graph_phases[p], &r->phase[p]);
        hpc_json_close(&w, '}');
        hpc_json_put_real(&w, "edge_features_per_s",
                          share((double)r->edges * (double)r->features * 1e3, r->ms));
        hpc_json_put_real(&w, "gather_gb_s", r->gather_rate * 1e-9);
        hpc_json_put_real(&w, "random_read_gb_s", r->read_rate * 1e-9);
        hpc_json_put_real(&w, "gather_of_read", share(r->gather_rate, r->read_rate));
        hpc_json_put_real(&w, "edge_bytes", r->edge_bytes);
        hpc_json_put_real(&w, "extra_bytes", r->extra_bytes);
        hpc_json_close(&w, '}');
    }
    hpc_json_close(&w, ']');
    hpc_json_close(&w, '}');
    hpc_buf_text(out, "\n");
}

static void put_table(hpc_buf *out, const results *b)
{
    static const hpc_column columns[] = {
        HPC_COLUMN_TEXT("layer"),         HPC_COLUMN_TEXT("graph"),
        HPC_COLUMN_NUMBER("features"),    HPC_COLUMN_NUMBER("ms"),
        HPC_COLUMN_NUMBER("scatter ms"),  HPC_COLUMN_NUMBER("edge ms"),
        HPC_COLUMN_NUMBER("gather ms"),   HPC_COLUMN_NUMBER("vertex ms"),
        HPC_COLUMN_NUMBER("gather GB/s"), HPC_COLUMN_NUMBER("of reads")};
    hpc_table t = {.column = columns, .columns = sizeof columns / sizeof *columns};
    for (int64_t k = 0; k < b->n; k++) {
        const hpc_bench_graph_result *r = &b->row[k];
        hpc_table_cell(&t, "%s", r->model);
        hpc_table_cell(&t, "%s", r->graph);
        hpc_table_cell(&t, "%lld", (long long)r->features);
        hpc_table_cell(&t, "%.2f", r->ms);
        for (int p = 0; p < HPC_SAGA_PHASES; p++) hpc_table_cell(&t, "%.2f", r->phase[p].ms);
        hpc_table_cell(&t, "%.2f", r->gather_rate * 1e-9);
        hpc_table_cell(&t, "%.0f %%", 100 * share(r->gather_rate, r->read_rate));
    }
    hpc_table_print(out, &t, hpc_cmd_table_columns());
}

/* Bars of time by phase, and of the share of the bandwidth of random reads. */
static int save_plot(const char *path, const results *b)
{
    size_t n = (size_t)b->n;
    char(*label)[80] = hpc_alloc(n + 1, sizeof *label);
    const char **text = hpc_alloc(n + 1, sizeof *text);
    double *y = hpc_alloc(n * (HPC_SAGA_PHASES + 1) + 1, sizeof *y);
    hpc_plot_series series[HPC_SAGA_PHASES + 1];
    int rc = HPC_E_NOMEM;
    if (!label || !text || !y) goto out;
    for (size_t k = 0; k < n; k++) {
        const hpc_bench_graph_result *r = &b->row[k];
        snprintf(label[k], sizeof label[k], "%s %s %lld", r->model, r->graph,
                 (long long)r->features);
        text[k] = label[k];
        for (size_t p = 0; p < HPC_SAGA_PHASES; p++) y[p * n + k] = r->phase[p].ms;
        y[HPC_SAGA_PHASES * n + k] = 100 * share(r->gather_rate, r->read_rate);
    }
    for (size_t p = 0; p <= HPC_SAGA_PHASES; p++)
        series[p] =
            (hpc_plot_series){.name = p < HPC_SAGA_PHASES ? hpc_bench_graph_phases[p] : "gather",
                              .y = y + p * n,
                              .n = b->n};
    hpc_plot plots[] = {{.kind = HPC_PLOT_BARS,
                         .title = "Time of a layer by phase",
                         .x_label = "milliseconds",
                         .label = text,
                         .series = series,
                         .series_n = HPC_SAGA_PHASES},
                        {.kind = HPC_PLOT_BARS,
                         .title = "Gather, of the bandwidth of rows read at random",
                         .x_label = "per cent",
                         .label = text,
                         .series = series + HPC_SAGA_PHASES,
                         .series_n = 1}};
    hpc_figure f = {.title = "Graph networks", .plot = plots, .n = 2, .columns = 1};
    rc = hpc_plot_save(path, &f);
out:
    hpc_free(y);
    hpc_free(text);
    hpc_free(label);
    return rc;
}

static void texts_or(hpc_texts *t, const char **all, int64_t n)
{
    if (t->n == 0) *t = (hpc_texts){all, n};
}

/* `d` must live as long as *b. */
static int choose(hpc_bench_graph_options *b, const graph_options *o, unset *d)
{
    hpc_texts graph = o->graph, features = o->features;
    b->model = o->model;
    texts_or(&b->model, d->model, sizeof d->model / sizeof *d->model);
    texts_or(&graph, d->graph, sizeof d->graph / sizeof *d->graph);
    texts_or(&features, d->width, sizeof d->width / sizeof *d->width);
    if (graph.n > 2) return hpc_fail(HPC_E_ARG, "--graph: there are two kinds of graph");
    if (features.n > HPC_BENCH_GRAPH_WIDTHS)
        return hpc_fail(HPC_E_ARG, "--features: at most %d widths", HPC_BENCH_GRAPH_WIDTHS);
    for (int64_t k = 0; k < graph.n; k++) {
        int kind = 0;
        while (hpc_bench_graph_kinds[kind] &&
               strcmp(hpc_bench_graph_kinds[kind], graph.item[k]) != 0)
            kind++;
        if (!hpc_bench_graph_kinds[kind])
            return hpc_fail(HPC_E_ARG, "--graph %s: known are power-law and mesh", graph.item[k]);
        b->graph[b->graph_n++] = (hpc_net_kind)kind;
    }
    for (int64_t k = 0; k < features.n; k++) {
        char *end;
        b->width[b->width_n++] = strtoll(features.item[k], &end, 10);
        if (*end) return hpc_fail(HPC_E_ARG, "--features %s is not a number", features.item[k]);
    }
    return HPC_OK;
}

static int run(void *options, int argc, char **argv)
{
    const graph_options *o = options;
    hpc_bench_graph_options b = {
        .vertices = o->vertices,
        .edges = o->edges,
        .heads = o->heads,
        .rounds = o->rounds,
        .seed = (uint64_t)o->seed,
        .dtype = strcmp(o->dtype, "bf16") == 0 ? HPC_BF16 : HPC_F32,
        .device = {.backend = "cpu", .isa = o->isa, .threads = (int)o->threads}};
    results r = {0};
    hpc_progress progress;
    hpc_buf out = {0};
    if (argc > 0) return hpc_fail(HPC_E_ARG, "unexpected argument '%s'", argv[0]);
    unset defaults = {.model = {"gcn", "sage", "gat", "gin", "gated"},
                      .graph = {"power-law", "mesh"},
                      .width = {"16", "128"}};
    int rc = choose(&b, o, &defaults);
    if (rc < 0) return rc;
    hpc_cmd_progress(&progress, o->quiet);
    rc = hpc_bench_graph(&r.row, &r.n, &b, &progress);
    if (rc >= 0 && o->plot) rc = save_plot(o->plot, &r);
    if (rc >= 0) o->json ? put_json(&out, o, &r) : put_table(&out, &r);
    hpc_free(r.row);
    return rc < 0 ? rc : hpc_cmd_print(&out);
}

#define COUNT(member, of, most_of, text)                                                           \
    {                                                                                              \
        .name = #member, .kind = HPC_INT, .offset = offsetof(graph_options, member),               \
        .fallback = (of), .argument = "N", .least = 1, .most = (most_of), .help = (text)           \
    }

static const hpc_option options[] = {
    {.name = "model",
     .kind = HPC_TEXTS,
     .offset = offsetof(graph_options, model),
     .argument = "NAME",
     .help = "Layer: gcn, sage, sage_max, gat, gin or gated. Default: all but sage_max."},
    {.name = "graph",
     .kind = HPC_TEXTS,
     .offset = offsetof(graph_options, graph),
     .argument = "KIND",
     .help = "Graph: power-law or mesh. Default: both."},
    {.name = "features",
     .kind = HPC_TEXTS,
     .offset = offsetof(graph_options, features),
     .argument = "N",
     .help = "Columns of a vertex, in and out. Default: 16 and 128."},
    COUNT(vertices, "100000", 2e9, "Vertices of the graph."),
    COUNT(edges, "2000000", 2e9, "Edges, without the self-loop that each vertex gets."),
    COUNT(heads, "4", 1024, "Heads of gat."),
    COUNT(rounds, "5", 999, "Measured runs of each layer, after one warm-up run."),
    COUNT(seed, "1", 1e9, "Seed of graph, rows and parameters."),
    {.name = "dtype",
     .kind = HPC_CHOICE,
     .offset = offsetof(graph_options, dtype),
     .fallback = "f32",
     .choices = dtypes,
     .help = "Type of rows and parameters."},
    {.name = "plot",
     .kind = HPC_TEXT,
     .offset = offsetof(graph_options, plot),
     .argument = "FILE",
     .help = "Also save plots: a page (.html) or a picture (.svg, .png)."},
    HPC_CMD_THREADS(graph_options),
    {.name = "isa",
     .kind = HPC_TEXT,
     .offset = offsetof(graph_options, isa),
     .argument = "NAME",
     .help = "Instruction set. Default: the best that this CPU supports."},
    HPC_CMD_JSON(graph_options),
    HPC_CMD_QUIET(graph_options),
    {.name = NULL},
};

const hpc_command hpc_cmd_bench_graph = {
    .name = "bench graph",
    .summary = "Benchmark layers of graph networks by phase.",
    .arguments = "",
    .description =
        "Runs one layer of each network on synthetic graphs. Reports the median time, and the time "
        "of its phases: scatter (products on vertices that edges read), edge (scores of edges), "
        "gather (sums over the edges of a vertex) and vertex (products after the sums). Gather is "
        "irregular: its bandwidth counts a row for each edge, and is compared with reading the "
        "same rows in the same order without summing them. That is measured in the same run with "
        "as many threads. Operations and bytes of phases come from the op table.",
    .examples = "hpccoder bench graph --model gcn --features 16 --vertices 2000 --edges 20000  # a "
                "small graph\n"
                "hpccoder bench graph --vertices 1000000 --edges 20000000 --plot graph.html  # 20 "
                "million edges",
    .options = options,
    .options_bytes = sizeof(graph_options),
    .run = run,
};
