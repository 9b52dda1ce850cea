/*
 * graph.cuh: the edges of vertices, and the kernel that checks starts and indices.
 */
#ifndef HPC_CUDA_GRAPH_CUH
#define HPC_CUDA_GRAPH_CUH

#include "runtime/device/cuda/tensor.cuh"

namespace {

struct check_args {
    hpc_tensor start, index, edge; /* index, edge: may be absent */
    int64_t edges, rows;
};

SIMT_BOTH int64_t vertices_of(const hpc_tensor &start)
{
    return extents(start, 0, start.rank) - 1;
}

SIMT_DEVICE int64_t clamped(int64_t x, int64_t most)
{
    return x < 0 ? 0 : x > most ? most : x;
}

struct span {
    int64_t lo, hi;
};

/* The edges of vertex v, within those that exist. */
SIMT_DEVICE span edges_of(const hpc_tensor &start, int64_t v, int64_t edges)
{
    return {clamped(get_index(start, v), edges), clamped(get_index(start, v + 1), edges)};
}

SIMT_DEVICE int64_t used_of(const hpc_tensor &start, int64_t edges)
{
    return clamped(get_index(start, vertices_of(start)), edges);
}

SIMT_DEVICE int64_t or_itself(const hpc_tensor &index, int64_t k)
{
    return present(index) ? get_index(index, k) : k;
}

/* Starts begin with 0, never decrease and end within the edges; rows of sources exist. */
struct check {
    typedef check_args args;
    static SIMT_BOTH int64_t items(const args &a)
    {
        const int64_t n = vertices_of(a.start) + 1;
        return present(a.index) && a.edges > n ? a.edges : n;
    }
    static SIMT_DEVICE void source(const simt &t, const hpc_tensor &index, int64_t k, int64_t rows)
    {
        if (!present(index)) return;
        const int64_t at = get_index(index, k);
        if (at < 0 || at >= rows) t.fail(HPC_FAULT_SOURCE, at, k, rows, 0);
    }
    static SIMT_DEVICE void one(const simt &t, const args &a, int64_t i)
    {
        const int64_t n = vertices_of(a.start) + 1;
        if (i < n) {
            const int64_t at = get_index(a.start, i), before = i ? get_index(a.start, i - 1) : 0;
            if (at < before || at > a.edges || (i == 0 && at != 0))
                t.fail(HPC_FAULT_EDGES, i, at, before, a.edges);
        }
        if (i >= used_of(a.start, a.edges)) return;
        source(t, a.index, i, a.rows);
        source(t, a.edge, i, a.edges);
    }
};

int launch_check(const hpc_cuda_stream *s, const hpc_tensor &start, const hpc_tensor *index,
                 int64_t edges, int64_t rows, const hpc_tensor *edge)
{
    hpc_tensor none = {};
    none.rank = -1;
    const check_args a = {start, index ? *index : none, edge ? *edge : none, edges, rows};
    return launch_items<check>(s, a);
}

} // namespace

#endif
