/*
 * graph_attend.cu: attention over the edges of a vertex, and its gradients. Scores are recomputed
 * for each element of a result, and never stored. Sums go through a vertex's edges in order.
 */
#include "runtime/device/cuda/graph.cuh"
#include "runtime/device/cuda/table.cuh"

namespace {

/* Operands of all three ops: rows of targets (of their gradients), and of sources. */
struct attention {
    hpc_tensor rows, x, target, source, lse;
    float slope;
};

SIMT_BOTH int64_t edges_in(const hpc_tensor &index)
{
    return extents(index, 0, index.rank);
}

SIMT_DEVICE bool exists(int64_t row, const hpc_tensor &of)
{
    return row >= 0 && row < rows_of(of);
}

/* The sum of both ends' terms; v is a target, u a source. */
SIMT_DEVICE float raw_score(const attention &a, int64_t v, int64_t u, int64_t h)
{
    const int64_t heads = cols_of(a.target);
    return get(a.target, v * heads + h) + get(a.source, u * heads + h);
}

SIMT_DEVICE float score(const attention &a, int64_t v, int64_t u, int64_t h)
{
    const float r = raw_score(a, v, u, h);
    return r > 0 ? r : a.slope * r;
}

SIMT_DEVICE float weight(const attention &a, int64_t v, int64_t u, int64_t h)
{
    const float lse = get(a.lse, v * cols_of(a.target) + h);
    return lse == -INFINITY ? 0 : expf(score(a, v, u, h) - lse);
}

SIMT_DEVICE float slope_at(const attention &a, int64_t v, int64_t u, int64_t h)
{
    return raw_score(a, v, u, h) > 0 ? 1 : a.slope;
}

/* The product of the rows of both ends over the columns of head h. */
SIMT_DEVICE float dot(const attention &a, int64_t v, int64_t u, int64_t h)
{
    const int64_t cols = cols_of(a.x), width = cols / cols_of(a.target);
    float sum = 0;
    for (int64_t c = h * width; c < (h + 1) * width; c++)
        sum += get(a.rows, v * cols + c) * get(a.x, u * cols + c);
    return sum;
}

template <class Args> SIMT_DEVICE attention shared(const Args &g, const hpc_tensor &rows)
{
    return {rows, g.x, g.target, g.source, g.lse, (float)g.attr.slope};
}

/* ---- graph_attend -----------------------------------------------------------------------------
 */

/* Head h of vertex v: element v heads + h. */
struct attend_lse {
    typedef hpc_graph_attend_args args;
    static SIMT_BOTH int64_t items(const args &g) { return extents(g.lse, 0, g.lse.rank); }
    static SIMT_DEVICE void one(const simt &, const args &g, int64_t i)
    {
        const attention a = shared(g, g.y);
        const int64_t heads = cols_of(g.target), v = i / heads, h = i % heads;
        const span s = edges_of(g.start, v, edges_in(g.index));
        float most = -INFINITY, sum = 0;
        for (int64_t k = s.lo; k < s.hi; k++) {
            const int64_t u = get_index(g.index, k);
            if (exists(u, g.x)) most = fmaxf(most, score(a, v, u, h));
        }
        for (int64_t k = s.lo; k < s.hi && most > -INFINITY; k++) {
            const int64_t u = get_index(g.index, k);
            if (exists(u, g.x)) sum += expf(score(a, v, u, h) - most);
        }
        set(g.lse, i, most == -INFINITY ? most : most + logf(sum));
    }
};

struct attend_rows {
    typedef hpc_graph_attend_args args;
    static SIMT_BOTH int64_t items(const args &g) { return extents(g.y, 0, g.y.rank); }
    static SIMT_DEVICE void one(const simt &, const args &g, int64_t i)
    {
        const attention a = shared(g, g.y);
        const int64_t cols = cols_of(g.x), v = i / cols, c = i % cols;
        const int64_t h = c * cols_of(g.target) / cols;
        const span s = edges_of(g.start, v, edges_in(g.index));
        float sum = 0;
        for (int64_t k = s.lo; k < s.hi; k++) {
            const int64_t u = get_index(g.index, k);
            if (exists(u, g.x)) sum += weight(a, v, u, h) * get(g.x, u * cols + c);
        }
        set(g.y, i, sum);
    }
};

/* ---- graph_attend_target ----------------------------------------------------------------------
 */

struct attend_target {
    typedef hpc_graph_attend_target_args args;
    static SIMT_BOTH int64_t items(const args &g) { return extents(g.delta, 0, g.delta.rank); }
    static SIMT_DEVICE void one(const simt &, const args &g, int64_t i)
    {
        const attention a = shared(g, g.dy);
        const int64_t heads = cols_of(g.target), v = i / heads, h = i % heads;
        const span s = edges_of(g.start, v, edges_in(g.index));
        double all = 0, mean = 0, sum = 0; /* differences of about equal numbers */
        for (int64_t k = s.lo; k < s.hi; k++) {
            const int64_t u = get_index(g.index, k);
            if (!exists(u, g.x)) continue;
            const double p = weight(a, v, u, h);
            all += p;
            mean += p * dot(a, v, u, h);
        }
        /* All weights have the error of the lse in common. */
        mean = all == 0 ? 0 : mean / all;
        set(g.delta, i, (float)mean);
        if (!present(g.dtarget)) return;
        for (int64_t k = s.lo; k < s.hi; k++) {
            const int64_t u = get_index(g.index, k);
            if (!exists(u, g.x)) continue;
            sum += weight(a, v, u, h) * slope_at(a, v, u, h) * (dot(a, v, u, h) - mean);
        }
        set(g.dtarget, i, (float)sum);
    }
};

/* ---- graph_attend_source ----------------------------------------------------------------------
 */

struct attend_source {
    typedef hpc_graph_attend_source_args args;
    static SIMT_BOTH int64_t items(const args &g) { return extents(g.dsource, 0, g.dsource.rank); }
    static SIMT_DEVICE void one(const simt &, const args &g, int64_t i)
    {
        const attention a = shared(g, g.dy);
        const int64_t heads = cols_of(g.source), u = i / heads, h = i % heads;
        const span s = edges_of(g.back_start, u, edges_in(g.back_index));
        float sum = 0;
        for (int64_t k = s.lo; k < s.hi; k++) {
            const int64_t v = get_index(g.back_index, k);
            if (!exists(v, g.dy)) continue;
            sum += weight(a, v, u, h) * slope_at(a, v, u, h) *
                   (dot(a, v, u, h) - get(g.delta, v * heads + h));
        }
        set(g.dsource, i, sum);
    }
};

struct attend_dx {
    typedef hpc_graph_attend_source_args args;
    static SIMT_BOTH int64_t items(const args &g) { return extents(g.dx, 0, g.dx.rank); }
    static SIMT_DEVICE void one(const simt &, const args &g, int64_t i)
    {
        const attention a = shared(g, g.dy);
        const int64_t cols = cols_of(g.x), u = i / cols, c = i % cols;
        const int64_t h = c * cols_of(g.source) / cols;
        const span s = edges_of(g.back_start, u, edges_in(g.back_index));
        float sum = 0;
        for (int64_t k = s.lo; k < s.hi; k++) {
            const int64_t v = get_index(g.back_index, k);
            if (exists(v, g.dy)) sum += weight(a, v, u, h) * get(g.dy, v * cols + c);
        }
        set(g.dx, i, sum);
    }
};

} // namespace

int hpc_cuda_graph_attend(const hpc_cuda_stream *s, const void *args, void *)
{
    const hpc_graph_attend_args &g = *(const hpc_graph_attend_args *)args;
    int rc = launch_check(s, g.start, &g.index, edges_in(g.index), rows_of(g.x), nullptr);
    if (rc == 0) rc = launch_items<attend_lse>(s, g);
    return rc != 0 ? rc : launch_items<attend_rows>(s, g);
}

int hpc_cuda_graph_attend_target(const hpc_cuda_stream *s, const void *args, void *)
{
    const hpc_graph_attend_target_args &g = *(const hpc_graph_attend_target_args *)args;
    const int rc = launch_check(s, g.start, &g.index, edges_in(g.index), rows_of(g.x), nullptr);
    return rc != 0 ? rc : launch_items<attend_target>(s, g);
}

int hpc_cuda_graph_attend_source(const hpc_cuda_stream *s, const void *args, void *)
{
    const hpc_graph_attend_source_args &g = *(const hpc_graph_attend_source_args *)args;
    int rc = launch_check(s, g.back_start, &g.back_index, edges_in(g.back_index), rows_of(g.dy),
                          nullptr);
    if (rc == 0 && present(g.dsource)) rc = launch_items<attend_source>(s, g);
    if (rc == 0 && present(g.dx)) rc = launch_items<attend_dx>(s, g);
    return rc;
}
