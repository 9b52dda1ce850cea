/*
 * graph.cu: reductions over the edges of vertices, results for each edge, softmax over edges,
 * scaling by degree, and joining of softmax averages. Sums go through a vertex's edges in order.
 * Starts and indices are checked by a kernel of their own; the others skip what does not exist.
 */
#include "runtime/device/cuda/graph.cuh"
#include "runtime/device/cuda/table.cuh"

namespace {

/* ---- graph_reduce -----------------------------------------------------------------------------
 */

SIMT_BOTH int64_t edges_reduced(const hpc_graph_reduce_args &g)
{
    return present(g.index) ? extents(g.index, 0, g.index.rank) : rows_of(g.x);
}

/* An element of y. */
struct reduce_edges {
    typedef hpc_graph_reduce_args args;
    static SIMT_BOTH int64_t items(const args &g) { return extents(g.y, 0, g.y.rank); }

    /* Sets *exists; 0 where an index is out of range. */
    static SIMT_DEVICE float term(const args &g, int64_t k, int64_t c, bool *exists)
    {
        const int64_t cols = cols_of(g.x), row = or_itself(g.index, k), edge = or_itself(g.edge, k);
        *exists = row >= 0 && row < rows_of(g.x) && edge >= 0 && edge < edges_reduced(g);
        if (!*exists) return 0;
        if (present(g.pick) && get_index(g.pick, row * cols + c) != edge) return 0;
        const int64_t heads = g.w.rank == 2 ? cols_of(g.w) : 1;
        const float w = present(g.w) ? get(g.w, edge * heads + c * heads / cols) : 1.0f;
        return w * get(g.x, row * cols + c);
    }

    static SIMT_DEVICE void largest(const args &g, const span &s, int64_t at, int64_t c)
    {
        const bool adds = g.y.adds && get_index(g.arg, at) >= 0;
        float most = adds ? get(g.y, at) : 0;
        int64_t arg = adds ? get_index(g.arg, at) : -1;
        bool exists;
        for (int64_t k = s.lo; k < s.hi; k++) {
            const float x = term(g, k, c, &exists);
            if (!exists) continue;
            if (arg >= 0 && !(x > most || (x != x && most == most))) continue;
            most = x;
            arg = or_itself(g.edge, k);
        }
        set(g.y, at, most);
        ((int32_t *)g.arg.data)[at] = (int32_t)arg;
    }

    static SIMT_DEVICE void one(const simt &, const args &g, int64_t i)
    {
        const int64_t cols = cols_of(g.x);
        const span s = edges_of(g.start, i / cols, edges_reduced(g));
        float sum = 0;
        bool exists;
        if (g.attr.kind == HPC_GRAPH_MAX) {
            largest(g, s, i, i % cols);
            return;
        }
        for (int64_t k = s.lo; k < s.hi; k++) sum += term(g, k, i % cols, &exists);
        put(g.y, i, sum);
    }
};

/* ---- graph_edge -------------------------------------------------------------------------------
 */

struct edge_results {
    typedef hpc_graph_edge_args args;
    static SIMT_BOTH int64_t items(const args &g) { return extents(g.y, 0, g.y.rank); }

    /* The vertex whose edges k is one of: the last that starts at or before k. */
    static SIMT_DEVICE int64_t vertex_of(const hpc_tensor &start, int64_t k)
    {
        int64_t lo = 0, hi = vertices_of(start);
        while (hi - lo > 1) {
            const int64_t middle = lo + (hi - lo) / 2;
            if (get_index(start, middle) <= k)
                lo = middle;
            else
                hi = middle;
        }
        return lo;
    }

    static SIMT_DEVICE float add(const args &g, int64_t v, int64_t k, int64_t c, int64_t row)
    {
        const int64_t cols = cols_of(g.y);
        if (present(g.pick) && get_index(g.pick, v * cols + c) != k) return 0;
        const float a = present(g.a) ? get(g.a, v * cols + c) : 0;
        return a + (present(g.b) ? get(g.b, row * cols + c) : 0);
    }

    static SIMT_DEVICE float dot(const args &g, int64_t v, int64_t h, int64_t row)
    {
        const int64_t cols = cols_of(g.a), width = cols / g.attr.heads;
        float sum = 0;
        for (int64_t c = h * width; c < (h + 1) * width; c++)
            sum += get(g.a, v * cols + c) * get(g.b, row * cols + c);
        return sum;
    }

    static SIMT_DEVICE void one(const simt &, const args &g, int64_t i)
    {
        const int64_t cols = cols_of(g.y), k = i / cols, edges = rows_of(g.y);
        float y = 0;
        if (k < used_of(g.start, edges)) {
            const int64_t v = vertex_of(g.start, k), row = present(g.b) ? get_index(g.index, k) : 0;
            if (!present(g.b) || (row >= 0 && row < rows_of(g.b)))
                y = g.attr.kind == HPC_EDGE_DOT ? dot(g, v, i % cols, row)
                                                : add(g, v, k, i % cols, row);
        }
        set(g.y, i, y);
    }
};

/* ---- graph_softmax ----------------------------------------------------------------------------
 */

/* Elements of edges that belong to no vertex become 0. */
struct rest_args {
    hpc_tensor y, start;
};
struct rest {
    typedef rest_args args;
    static SIMT_BOTH int64_t items(const args &a) { return extents(a.y, 0, a.y.rank); }
    static SIMT_DEVICE void one(const simt &, const args &a, int64_t i)
    {
        if (i / cols_of(a.y) >= used_of(a.start, rows_of(a.y))) set(a.y, i, 0);
    }
};

/* Head h of vertex v: element v heads + h. */
struct softmax {
    typedef hpc_graph_softmax_args args;
    static SIMT_BOTH int64_t items(const args &g) { return vertices_of(g.start) * cols_of(g.x); }
    static SIMT_DEVICE void one(const simt &, const args &g, int64_t i)
    {
        const int64_t heads = cols_of(g.x), h = i % heads;
        const span s = edges_of(g.start, i / heads, rows_of(g.x));
        float most = -INFINITY, sum = 0;
        for (int64_t k = s.lo; k < s.hi; k++) most = fmaxf(most, get(g.x, k * heads + h));
        const bool none = most == -INFINITY;
        for (int64_t k = s.lo; k < s.hi && !none; k++) sum += expf(get(g.x, k * heads + h) - most);
        for (int64_t k = s.lo; k < s.hi; k++)
            set(g.y, k * heads + h, none ? 0 : expf(get(g.x, k * heads + h) - most) / sum);
        set(g.lse, i, none ? most : most + logf(sum));
    }
};

struct softmax_grad {
    typedef hpc_graph_softmax_grad_args args;
    static SIMT_BOTH int64_t items(const args &g) { return vertices_of(g.start) * cols_of(g.y); }
    static SIMT_DEVICE void one(const simt &, const args &g, int64_t i)
    {
        const int64_t heads = cols_of(g.y), h = i % heads;
        const span s = edges_of(g.start, i / heads, rows_of(g.y));
        float dot = 0;
        for (int64_t k = s.lo; k < s.hi; k++)
            dot += get(g.y, k * heads + h) * get(g.dy, k * heads + h);
        for (int64_t k = s.lo; k < s.hi; k++)
            set(g.dx, k * heads + h, get(g.y, k * heads + h) * (get(g.dy, k * heads + h) - dot));
    }
};

/* ---- graph_scale, graph_merge ----------------------------------------------------------------
 */

struct scale_by_degree {
    typedef hpc_graph_scale_args args;
    static SIMT_BOTH int64_t items(const args &g) { return extents(g.x, 0, g.x.rank); }
    static SIMT_DEVICE void one(const simt &, const args &g, int64_t i)
    {
        const span s = edges_of(g.start, i / cols_of(g.x), INT32_MAX);
        const float by = s.hi > s.lo ? (float)pow((double)(s.hi - s.lo), g.attr.power) : 0;
        set(g.y, i, get(g.x, i) * by);
    }
};

/* A head of a vertex. */
struct merge {
    typedef hpc_graph_merge_args args;
    static SIMT_BOTH int64_t items(const args &g) { return extents(g.lse, 0, g.lse.rank); }
    static SIMT_DEVICE void one(const simt &, const args &g, int64_t i)
    {
        const int64_t width = cols_of(g.y) / cols_of(g.lse);
        const float old = get(g.lse, i), more = get(g.more, i), most = fmaxf(old, more);
        if (most == -INFINITY) return;
        const float x = expf(old - most), y = expf(more - most), sum = x + y;
        for (int64_t e = i * width; e < (i + 1) * width; e++) {
            const float a = old == -INFINITY ? 0 : get(g.y, e) * (x / sum);
            const float b = more == -INFINITY ? 0 : get(g.x, e) * (y / sum);
            set(g.y, e, a + b);
        }
        set(g.lse, i, most + logf(sum));
    }
};

} // namespace

int hpc_cuda_graph_reduce(const hpc_cuda_stream *s, const void *args, void *)
{
    const hpc_graph_reduce_args &g = *(const hpc_graph_reduce_args *)args;
    const int rc = launch_check(s, g.start, &g.index, edges_reduced(g), rows_of(g.x), &g.edge);
    return rc != 0 ? rc : launch_items<reduce_edges>(s, g);
}

int hpc_cuda_graph_edge(const hpc_cuda_stream *s, const void *args, void *)
{
    const hpc_graph_edge_args &g = *(const hpc_graph_edge_args *)args;
    const int64_t rows = present(g.b) ? rows_of(g.b) : 0;
    const int rc = launch_check(s, g.start, &g.index, rows_of(g.y), rows, nullptr);
    return rc != 0 ? rc : launch_items<edge_results>(s, g);
}

int hpc_cuda_graph_softmax(const hpc_cuda_stream *s, const void *args, void *)
{
    const hpc_graph_softmax_args &g = *(const hpc_graph_softmax_args *)args;
    const rest_args others = {g.y, g.start};
    int rc = launch_check(s, g.start, nullptr, rows_of(g.x), 0, nullptr);
    if (rc == 0) rc = launch_items<softmax>(s, g);
    return rc != 0 ? rc : launch_items<rest>(s, others);
}

int hpc_cuda_graph_softmax_grad(const hpc_cuda_stream *s, const void *args, void *)
{
    const hpc_graph_softmax_grad_args &g = *(const hpc_graph_softmax_grad_args *)args;
    const rest_args others = {g.dx, g.start};
    int rc = launch_check(s, g.start, nullptr, rows_of(g.y), 0, nullptr);
    if (rc == 0) rc = launch_items<softmax_grad>(s, g);
    return rc != 0 ? rc : launch_items<rest>(s, others);
}

int hpc_cuda_graph_scale(const hpc_cuda_stream *s, const void *args, void *)
{
    const hpc_graph_scale_args &g = *(const hpc_graph_scale_args *)args;
    const int rc = launch_check(s, g.start, nullptr, INT32_MAX, 0, nullptr);
    return rc != 0 ? rc : launch_items<scale_by_degree>(s, g);
}

int hpc_cuda_graph_merge(const hpc_cuda_stream *s, const void *args, void *)
{
    return launch_items<merge>(s, *(const hpc_graph_merge_args *)args);
}
