/*
 * priv.h: batches of graphs as arrays of fixed capacity, between encoder_batch.c and encoder.c.
 */
#ifndef HPC_CODE_PRIV_H
#define HPC_CODE_PRIV_H

#include "infer/code/encoder.h"
#include "model/graph/graph.h"

enum {
    BATCH_NODES = 4096,
    BATCH_GRAPHS = 32,
    BATCH_EDGES = 8192,                  /* of a type; a graph that has more is cut */
    RELATIONS = 2 * HPC_CODE_EDGE_KINDS, /* each type forwards and backwards */
    NODE_KINDS = 4 * HPC_CODE_KINDS * 4  /* kind, side, changed, depth up to 3 */
};

typedef struct relation {
    int32_t start[BATCH_NODES + 1], index[BATCH_EDGES];
    int32_t back_start[BATCH_NODES + 1], back_index[BATCH_EDGES], back_edge[BATCH_EDGES];
} relation;
typedef struct batch {
    int32_t label[BATCH_NODES], kind[BATCH_NODES];
    int32_t first[BATCH_GRAPHS + 1]; /* node of each graph */
    int32_t target[BATCH_GRAPHS];    /* -1: no graph */
    int64_t graphs, nodes;
    relation relation[RELATIONS];
    int32_t edge[HPC_CODE_EDGE_KINDS][BATCH_EDGES][2];
    int64_t edges[HPC_CODE_EDGE_KINDS];
} batch;

void batch_clear(batch *b);
/* False if the batch has no capacity for the graph; an empty one always has. */
bool batch_add(batch *b, const hpc_encoder_sample *s, int64_t labels);
int batch_finish(batch *b); /* fills the relations and the rest of the arrays */

#endif
