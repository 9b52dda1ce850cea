/*
 * stream_priv.h: a streamed layer's program and buffers, and its steps, which runs in one process
 * and on ranks share.
 */
#ifndef HPC_MODEL_GRAPH_STREAM_PRIV_H
#define HPC_MODEL_GRAPH_STREAM_PRIV_H

#include "model/graph/graph.h"

enum { STREAM_SCATTER, STREAM_BEGIN, STREAM_CHUNK, STREAM_END, STREAM_SEGMENTS };
enum { STREAM_ENDS = 3 }; /* rows, terms of sources, terms of targets */

struct hpc_saga_stream {
    const hpc_saga_layer *layer;
    const hpc_net_chunks *chunks;
    hpc_program *p;
    hpc_exec *exec;
    int segment[STREAM_SEGMENTS];
    hpc_value x, degree, start, index, sum, lse, arg, y;
    hpc_saga_ends made, given; /* results of scatter; the same as inputs of a chunk */
    char *staged;              /* room for the largest value */
    int32_t *starts;
    hpc_saga_traffic traffic;
};

/* Results of scatter for some vertices: rows, source terms, target terms; NULL: absent. */
typedef struct stream_rows {
    char *data[STREAM_ENDS];
} stream_rows;

int stream_rows_alloc(stream_rows *out, const hpc_saga_stream *s, int64_t rows);
void stream_rows_free(stream_rows *r);
size_t stream_row_bytes(const hpc_saga_stream *s, hpc_value v);
void stream_count_from_zero(hpc_saga_stream *s);

/* Steps. x and y: rows of the interval. */
int stream_scatter(hpc_saga_stream *s, int64_t part, const char *x, const stream_rows *out);
int stream_begin(hpc_saga_stream *s, int64_t rows, const char *targets);
int stream_chunk(hpc_saga_stream *s, int64_t to, int64_t from, const stream_rows *sources);
int stream_end(hpc_saga_stream *s, int64_t part, char *y, const char *x);

#endif
