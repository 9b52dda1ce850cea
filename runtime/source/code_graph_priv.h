/*
 * code_graph_priv.h: nodes and edges for both sources of a graph, tokens (code_graph.c) and syntax
 * trees (code_graph_tree.c).
 */
#ifndef HPC_SOURCE_CODE_GRAPH_PRIV_H
#define HPC_SOURCE_CODE_GRAPH_PRIV_H

#include "runtime/source/code_graph.h"

/* Adds an edge unless it equals the last one. */
int code_graph_edge(hpc_code_graph *g, int64_t from, int64_t to, hpc_code_edge_kind kind);
/* Adds a node below `parent` after its child `last`, with their edges; -1: none. Its index is the
 * last one. */
int code_graph_node(hpc_code_graph *g, const hpc_code_node *v, int32_t parent, int32_t last);
/* Makes room for what `link` compares, a number for each node of a side that begins at `first`, and
 * sets all of them to 0. Code has the same number for the same variable or function. */
int code_graph_names(hpc_code_graph *g, int64_t first);
static inline uint32_t *code_graph_name(const hpc_code_graph *g)
{
    return g->scratch[1];
}
/* Links node k to the last write of its variable from `first` on, or to the last call of its
 * function. */
int code_graph_link(hpc_code_graph *g, int64_t k, int64_t first);
/* Links the last write of each variable in a loop, whose nodes begin after `loop`, to its reads
 * above that write. */
int code_graph_carry(hpc_code_graph *g, int32_t loop);

#endif
