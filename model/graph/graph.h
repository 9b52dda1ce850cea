/*
 * graph.h: graph networks as programs: graphs by destination, layers as Scatter, ApplyEdge, Gather
 * and ApplyVertex (SAGA-NN), graphs in chunks of edges, in memory or in a file, and execution that
 * streams chunks past one resident interval of destinations.
 *
 * To add a network, fill an hpc_saga_layer: gcn.c is the shortest example. Symbols begin with
 * hpc_saga where they concern layers, and with hpc_net where they concern graphs.
 */
#ifndef HPC_MODEL_GRAPH_H
#define HPC_MODEL_GRAPH_H

#include "runtime/link/link.h"
#include "runtime/program/op/op.h"
#include "runtime/program/run/run.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- graphs ----------------------------------------------------------------- */
/* Edges by destination: sources index[start[v]] .. of vertex v, ascending. Vertices without edges
 * have none; repeated edges count repeatedly unless they were merged. */
typedef struct hpc_net {
    int64_t vertices, edges;
    int32_t *start, *index;                       /* [V+1], [E] */
    int32_t *back_start, *back_index, *back_edge; /* the transposed graph; see device/kernel */
} hpc_net;
typedef struct hpc_net_options {
    bool both;  /* adds the reverse of each edge */
    bool once;  /* keeps one of several equal edges */
    bool loops; /* every vertex gets one self-loop; self-loops among the edges are dropped */
} hpc_net_options;
/* edge: pairs (source, destination). HPC_E_FORMAT names the first vertex out of range. Release
 * frees everything. */
int hpc_net_of_edges(hpc_net *out, int64_t vertices, const int32_t (*edge)[2], int64_t n,
                     const hpc_net_options *o);
void hpc_net_release(hpc_net *g);

/* Synthetic graphs by seed. Power law: vertex ranks drawn so that degrees fall as a power; mesh: a
 * grid of `vertices` points, each with its neighbours in two dimensions, repeated up to `degree`.
 */
typedef enum hpc_net_kind { HPC_NET_POWER_LAW, HPC_NET_MESH } hpc_net_kind;
int hpc_net_make(hpc_net *out, hpc_net_kind kind, int64_t vertices, int64_t edges, uint64_t seed,
                 const hpc_net_options *o);

/* Text: two numbers a line, source and destination; '#' begins a comment. vertices 0: one more than
 * the largest number. Errors name file and line. */
int hpc_net_read_text(hpc_net *out, const char *path, int64_t vertices, const hpc_net_options *o);
/* An array file of NumPy (.npy), mapped: little-endian, C order, versions 1 and 2. */
typedef struct hpc_npy {
    hpc_file_view file;
    const void *data;
    char type[8]; /* "<i8", "<f4" */
    int rank;
    int64_t extent[4];
} hpc_npy;
int hpc_npy_open(hpc_npy *out, const char *path);
void hpc_npy_close(hpc_npy *a);
/* edge_index [2,E] of i4 or i8, as OGB and PyTorch Geometric store it. */
int hpc_net_read_npy(hpc_net *out, const char *path, int64_t vertices, const hpc_net_options *o);

/* ---- chunks ------------------------------------------------------------------ */
/* Vertices in `parts` intervals with about as many incoming edges and vertices each; edges in parts
 * x parts chunks by interval of destination and source. */
typedef struct hpc_net_chunk {
    const int32_t *start, *index; /* relative to the intervals */
    int64_t edges;
} hpc_net_chunk;
typedef struct hpc_net_chunks {
    int64_t vertices, edges, parts;
    int64_t *first;           /* [parts+1] vertices */
    int64_t rows, most_edges; /* of the largest interval, of the largest chunk */
    const int32_t **degree;   /* [parts]: starts of the whole graph, relative to the interval */
    hpc_net_chunk *chunk;     /* [destination][source] */
    int32_t *own;             /* memory of the arrays, unless they are in a file */
    hpc_file_view file;
    void *checks;
} hpc_net_chunks;
int hpc_net_chunks_of(hpc_net_chunks *out, const hpc_net *g, int64_t parts);
void hpc_net_chunks_close(hpc_net_chunks *c);
/* A file of chunks: versioned; header, table and each chunk have checksums. Opening checks header
 * and table; a chunk is checked when hpc_net_chunk_check is called, which streaming does. */
int hpc_net_chunks_save(const hpc_net_chunks *c, const char *path);
int hpc_net_chunks_open(hpc_net_chunks *out, const char *path);
int hpc_net_chunk_check(const hpc_net_chunks *c, int64_t to, int64_t from);

/* ---- layers -------------------------------------------------------------------- */
typedef enum hpc_saga_gather {
    HPC_SAGA_SUM,
    HPC_SAGA_MEAN,
    HPC_SAGA_MAX,
    HPC_SAGA_SOFTMAX, /* the weighted mean by softmax over edges of the scores */
    /* The same where the score of an edge is leaky(target + source) of its ends: ApplyEdge is part
     * of Gather, and nothing is stored for each edge. */
    HPC_SAGA_ATTEND
} hpc_saga_gather;
/* The work on vertices that edges read, and that is hoisted out of them. HPC_NONE: none. */
typedef struct hpc_saga_ends {
    hpc_value row;            /* [V,C]: gathered rows */
    hpc_value source, target; /* [V,H]: terms of an edge's score */
} hpc_saga_ends;

typedef struct hpc_saga_layer hpc_saga_layer;
typedef struct hpc_saga_options {
    int64_t features, outputs, heads; /* heads 0: 1 */
    hpc_act act;                      /* of the output */
    hpc_dtype dtype;
    int number; /* of the layer: names of parameters begin with it */
    bool trainable;
} hpc_saga_options;
typedef struct hpc_saga_build { /* while functions of a layer emit */
    hpc_program *p;
    hpc_saga_options o;
    hpc_value degree; /* i32 [V+1]: starts of the vertices in hand */
} hpc_saga_build;

struct hpc_saga_layer {
    const char *name;
    hpc_saga_gather gather;
    void (*scatter)(hpc_saga_ends *out, hpc_saga_build *b, hpc_value x);
    /* The weight or score [E,H] of each edge; NULL: none. */
    hpc_value (*apply_edge)(hpc_saga_build *b, const hpc_saga_ends *ends, const hpc_graph *g);
    hpc_value (*apply_vertex)(hpc_saga_build *b, hpc_value sum, hpc_value x);
    double slope; /* of scores below 0 (HPC_SAGA_ATTEND) */
};
extern const hpc_saga_layer hpc_saga_gcn, hpc_saga_sage, hpc_saga_sage_max, hpc_saga_gat,
    hpc_saga_gin, hpc_saga_gated;
extern const hpc_saga_layer *const hpc_saga_layers[]; /* ends with NULL */
const hpc_saga_layer *hpc_saga_find(const char *name);

/* Phases, in tags.block of the instructions that a layer emits. */
enum { HPC_SAGA_SCATTER, HPC_SAGA_EDGE, HPC_SAGA_GATHER, HPC_SAGA_VERTEX, HPC_SAGA_PHASES };
/* The parameter "N.name" as state; created if it does not exist. cols 0: a vector. */
hpc_value hpc_saga_parameter(hpc_saga_build *b, const char *name, int64_t rows, int64_t cols);
/* The whole layer for a graph in memory; differentiable if g has its transpose. */
hpc_value hpc_saga_emit(hpc_program *p, const hpc_saga_layer *l, const hpc_saga_options *o,
                        hpc_value x, const hpc_graph *g);
/* Fills every parameter of p: uniform, scaled by its number of columns, by seed and name. */
int hpc_saga_initialise(hpc_exec *e, const hpc_program *p, uint64_t seed);

/* ---- streaming ------------------------------------------------------------------ */
/* Traffic of a run: rows of sources into the device, edges (starts and indices), and rows of
 * results out of it; steps of the ring. */
typedef struct hpc_saga_traffic {
    int64_t source_rows, edges, result_rows, ring_steps;
    int64_t row_bytes, result_bytes; /* of one row */
} hpc_saga_traffic;
typedef struct hpc_saga_stream hpc_saga_stream;
/* One layer over a graph in chunks, on d, which it borrows with c. One interval of destinations is
 * resident at a time. A softmax over edges is joined across chunks by its logarithmic sum. */
int hpc_saga_stream_open(hpc_saga_stream **out, hpc_device *d, const hpc_saga_layer *l,
                         const hpc_saga_options *o, const hpc_net_chunks *c);
hpc_exec *hpc_saga_stream_exec(hpc_saga_stream *s); /* for parameters */
const hpc_program *hpc_saga_stream_program(const hpc_saga_stream *s);
/* y [V,outputs] = the layer of x [V,features]; both in the options' dtype. */
int hpc_saga_stream_run(hpc_saga_stream *s, void *y, const void *x);
/* The same on each rank of `link`, with parts equal to its size: rank r holds interval r of x and
 * y, and rows of sources go round the ring in size - 1 steps. */
int hpc_saga_stream_ring(hpc_saga_stream *s, hpc_link *link, void *y, const void *x);
hpc_saga_traffic hpc_saga_stream_traffic(const hpc_saga_stream *s); /* of the last run */
void hpc_saga_stream_close(hpc_saga_stream *s);

#ifdef __cplusplus
}
#endif
#endif
