/*
 * priv.h: shared by the files of model/graph: emission of the Gather phase.
 */
#ifndef HPC_MODEL_GRAPH_PRIV_H
#define HPC_MODEL_GRAPH_PRIV_H

#include "model/graph/graph.h"

/* Sums or maxima of the rows of `ends` over edges, with `edge` as weights or HPC_NONE. */
hpc_value saga_gather(hpc_saga_build *b, const hpc_saga_layer *l, const hpc_saga_ends *ends,
                      hpc_value edge, const hpc_graph *g);

#endif
