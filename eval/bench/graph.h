/*
 * graph.h: the benchmark of graph networks.
 *
 * Nothing here prints: results are structs. Functions return 0 or a negative code with the error
 * recorded.
 */
#ifndef HPC_BENCH_GRAPH_H
#define HPC_BENCH_GRAPH_H

#include "model/graph/graph.h"
#include "runtime/base/options.h"

enum { HPC_BENCH_GRAPH_WIDTHS = 16 };

typedef struct hpc_bench_graph_options {
    hpc_texts model; /* names of layers */
    hpc_net_kind graph[2];
    int64_t graph_n;
    int64_t width[HPC_BENCH_GRAPH_WIDTHS]; /* features, in and out */
    int64_t width_n;
    int64_t vertices, edges, heads, rounds; /* without the self-loop that each vertex gets */
    uint64_t seed;
    hpc_dtype dtype; /* f32 or bf16 */
    hpc_device_options device;
} hpc_bench_graph_options;

/* Names of graphs, by kind, and of phases, by number; end with NULL. */
extern const char *const hpc_bench_graph_kinds[], *const hpc_bench_graph_phases[];

typedef struct hpc_bench_graph_phase {
    double ms, flops, bytes; /* ms: mean over the rounds, on worker 0, with its waits */
} hpc_bench_graph_phase;

typedef struct hpc_bench_graph_result {
    const char *model, *graph;
    int64_t vertices, edges, features;
    double ms; /* median of a layer */
    hpc_bench_graph_phase phase[HPC_SAGA_PHASES];
    double gather_rate; /* bytes of rows by edge over the time of Gather */
    double read_rate;   /* bytes a second of the same rows, read and not summed */
    double edge_bytes;  /* what a row for each edge would take */
    double extra_bytes; /* memory, without graph, inputs and outputs */
} hpc_bench_graph_result;

/* The caller frees *out. */
int hpc_bench_graph(hpc_bench_graph_result **out, int64_t *n, const hpc_bench_graph_options *o,
                    hpc_progress *progress);

#endif
