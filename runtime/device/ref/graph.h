/*
 * graph.h: the edges of vertices, and checks of graphs, for reference kernels.
 */
#ifndef HPC_REF_GRAPH_H
#define HPC_REF_GRAPH_H

#include "runtime/device/ref/priv.h"

/* The edges of vertex v. */
typedef struct span {
    int64_t lo, hi;
} span;

static inline span edges_of(const hpc_tensor *start, int64_t v)
{
    return (span){hpc_ref_index(start, v), hpc_ref_index(start, v + 1)};
}

/* Starts begin with 0, never decrease and end within `edges`. */
static inline int check_start(const char *op, const hpc_tensor *start, int64_t edges)
{
    int64_t vertices = hpc_tensor_n(start) - 1;
    for (int64_t v = 0; v <= vertices; v++) {
        int64_t at = hpc_ref_index(start, v), before = v ? hpc_ref_index(start, v - 1) : 0;
        if (at < before || at > edges || (v == 0 && at != 0)) {
            return hpc_fail(HPC_E_ARG, "%s: start[%lld] is %lld, after %lld, of %lld edges", op,
                            (long long)v, (long long)at, (long long)before, (long long)edges);
        }
    }
    return 0;
}

static inline int check_index(const char *op, const hpc_tensor *index, int64_t edges, int64_t rows)
{
    for (int64_t k = 0; present(index) && k < edges; k++) {
        int64_t at = hpc_ref_index(index, k);
        if (at >= 0 && at < rows) continue;
        return hpc_fail(HPC_E_ARG, "%s: index %lld at %lld is not one of %lld rows", op,
                        (long long)at, (long long)k, (long long)rows);
    }
    return 0;
}

/* The edges that belong to a vertex. */
static inline int64_t used(const hpc_tensor *start)
{
    return hpc_ref_index(start, hpc_tensor_n(start) - 1);
}

#endif
