/*
 * graphs.h: small graphs for tests: vertices without edges, one with most of the edges, repeated
 * edges and self-loops.
 */
#ifndef HPC_TEST_GRAPHS_H
#define HPC_TEST_GRAPHS_H

#include <stdint.h>

enum { HPC_TEST_EDGES_MOST = 6000, HPC_TEST_VERTICES_MOST = 600 };

typedef struct hpc_test_graph {
    int64_t vertices, sources, edges; /* edges: with `spare` ones that belong to no vertex */
    int32_t start[HPC_TEST_VERTICES_MOST + 1], back_start[HPC_TEST_VERTICES_MOST + 1];
    int32_t index[HPC_TEST_EDGES_MOST], back_index[HPC_TEST_EDGES_MOST];
    int32_t back_edge[HPC_TEST_EDGES_MOST];
} hpc_test_graph;

/* Vertex 3 has half of the edges; vertices 0, 5, 10, ... have none. */
void hpc_test_graph_make(hpc_test_graph *g, int64_t vertices, int64_t sources, int64_t edges,
                         int64_t spare);

#endif
