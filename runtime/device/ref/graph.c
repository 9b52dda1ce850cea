/*
 * graph.c: reduction over the edges of vertices, results for each edge, softmax over edges, scaling
 * by degree, and joining of softmax averages. graph_attend.c has attention over edges.
 */
#include "runtime/device/ref/graph.h"

/* ---- graph_reduce ------------------------------------------------------------ */

static int64_t or_itself(const hpc_tensor *index, int64_t k)
{
    return present(index) ? hpc_ref_index(index, k) : k;
}

static double term(const hpc_graph_reduce_args *g, int64_t k, int64_t c)
{
    int64_t cols = hpc_tensor_cols(&g->x), row = or_itself(&g->index, k);
    int64_t edge = or_itself(&g->edge, k), heads = g->w.rank == 2 ? hpc_tensor_cols(&g->w) : 1;
    if (present(&g->pick) && hpc_ref_index(&g->pick, row * cols + c) != edge) return 0;
    double w = present(&g->w) ? hpc_ref_get(&g->w, edge * heads + c * heads / cols) : 1;
    return w * hpc_ref_get(&g->x, row * cols + c);
}

static void put_sum(const hpc_graph_reduce_args *g, span s, int64_t at, int64_t c)
{
    double sum = 0;
    for (int64_t k = s.lo; k < s.hi; k++) sum += term(g, k, c);
    hpc_ref_put(&g->y, at, sum);
}

/* A maximum that adds begins with what is there. */
static void put_max(const hpc_graph_reduce_args *g, span s, int64_t at, int64_t c)
{
    bool adds = g->y.adds && hpc_ref_index(&g->arg, at) >= 0;
    double most = adds ? hpc_ref_get(&g->y, at) : 0;
    int64_t arg = adds ? hpc_ref_index(&g->arg, at) : -1;
    for (int64_t k = s.lo; k < s.hi; k++) {
        double x = term(g, k, c);
        if (arg >= 0 && !(x > most || (x != x && most == most))) continue;
        most = x;
        arg = or_itself(&g->edge, k);
    }
    hpc_ref_set(&g->y, at, most);
    hpc_ref_set(&g->arg, at, (double)arg);
}

static int reduce_run(const hpc_launch *l, const void *args)
{
    const hpc_graph_reduce_args *g = args;
    int64_t rows = hpc_tensor_rows(&g->x), cols = hpc_tensor_cols(&g->x), lo, hi;
    int64_t edges = present(&g->index) ? hpc_tensor_n(&g->index) : rows;
    int rc;
    TRY(check_start("graph_reduce", &g->start, edges));
    TRY(check_index("graph_reduce", &g->index, used(&g->start), rows));
    TRY(check_index("graph_reduce", &g->edge, used(&g->start), edges));
    share_rows(&lo, &hi, &g->y, l);
    for (int64_t v = lo; v < hi; v++) {
        for (int64_t c = 0; c < cols; c++) {
            if (g->attr.kind == HPC_GRAPH_MAX) {
                put_max(g, edges_of(&g->start, v), v * cols + c, c);
            } else {
                put_sum(g, edges_of(&g->start, v), v * cols + c, c);
            }
        }
    }
out:
    return rc;
}

int hpc_ref_graph_reduce(hpc_plan *p, int workers, const hpc_graph_reduce_args *a)
{
    (void)workers, (void)a;
    return ref_plan(p, reduce_run, "ref_graph_reduce");
}

/* ---- graph_edge -------------------------------------------------------------- */

static double edge_sum(const hpc_graph_edge_args *g, int64_t v, int64_t k, int64_t c, int64_t cols)
{
    if (present(&g->pick) && hpc_ref_index(&g->pick, v * cols + c) != k) return 0;
    double a = present(&g->a) ? hpc_ref_get(&g->a, v * cols + c) : 0;
    double b = 0;
    if (present(&g->b)) b = hpc_ref_get(&g->b, hpc_ref_index(&g->index, k) * cols + c);
    return a + b;
}

static double edge_dot(const hpc_graph_edge_args *g, int64_t v, int64_t k, int64_t h)
{
    int64_t cols = hpc_tensor_cols(&g->a), width = cols / g->attr.heads;
    int64_t row = hpc_ref_index(&g->index, k);
    double sum = 0;
    for (int64_t c = h * width; c < (h + 1) * width; c++) {
        sum += hpc_ref_get(&g->a, v * cols + c) * hpc_ref_get(&g->b, row * cols + c);
    }
    return sum;
}

static int edge_run(const hpc_launch *l, const void *args)
{
    const hpc_graph_edge_args *g = args;
    int64_t edges = hpc_tensor_rows(&g->y), cols = hpc_tensor_cols(&g->y), lo, hi;
    int64_t v = 0, vertices = hpc_tensor_n(&g->start) - 1;
    bool dot = g->attr.kind == HPC_EDGE_DOT;
    int rc;
    TRY(check_start("graph_edge", &g->start, edges));
    TRY(check_index("graph_edge", &g->index, used(&g->start),
                    present(&g->b) ? hpc_tensor_rows(&g->b) : 0));
    hpc_share(&lo, &hi, edges, 1, l->worker, l->workers);
    for (int64_t k = lo; k < hi; k++) {
        while (v < vertices && edges_of(&g->start, v).hi <= k) v++;
        for (int64_t c = 0; c < cols; c++) {
            double y = 0;
            if (v < vertices) y = dot ? edge_dot(g, v, k, c) : edge_sum(g, v, k, c, cols);
            hpc_ref_set(&g->y, k * cols + c, y);
        }
    }
out:
    return rc;
}

int hpc_ref_graph_edge(hpc_plan *p, int workers, const hpc_graph_edge_args *a)
{
    (void)workers, (void)a;
    return ref_plan(p, edge_run, "ref_graph_edge");
}

/* ---- graph_softmax ----------------------------------------------------------- */

static double lse_of(const hpc_tensor *x, span s, int64_t h)
{
    int64_t heads = hpc_tensor_cols(x);
    double most = -INFINITY, sum = 0;
    for (int64_t k = s.lo; k < s.hi; k++) most = fmax(most, hpc_ref_get(x, k * heads + h));
    if (most == -INFINITY) return most;
    for (int64_t k = s.lo; k < s.hi; k++) sum += exp(hpc_ref_get(x, k * heads + h) - most);
    return most + log(sum);
}

/* Elements of y that belong to no vertex. */
static void clear_rest(const hpc_tensor *y, int64_t from, const hpc_launch *l)
{
    if (l->worker > 0) return;
    for (int64_t i = from * hpc_tensor_cols(y); i < hpc_tensor_n(y); i++) hpc_ref_set(y, i, 0);
}

static int softmax_run(const hpc_launch *l, const void *args)
{
    const hpc_graph_softmax_args *g = args;
    int64_t heads = hpc_tensor_cols(&g->x), lo, hi;
    int rc;
    TRY(check_start("graph_softmax", &g->start, hpc_tensor_rows(&g->x)));
    share_rows(&lo, &hi, &g->lse, l);
    for (int64_t v = lo; v < hi; v++) {
        span s = edges_of(&g->start, v);
        for (int64_t h = 0; h < heads; h++) {
            double lse = lse_of(&g->x, s, h);
            hpc_ref_set(&g->lse, v * heads + h, lse);
            for (int64_t k = s.lo; k < s.hi; k++) {
                double x = hpc_ref_get(&g->x, k * heads + h);
                hpc_ref_set(&g->y, k * heads + h, lse == -INFINITY ? 0 : exp(x - lse));
            }
        }
    }
    clear_rest(&g->y, used(&g->start), l);
out:
    return rc;
}

int hpc_ref_graph_softmax(hpc_plan *p, int workers, const hpc_graph_softmax_args *a)
{
    (void)workers, (void)a;
    return ref_plan(p, softmax_run, "ref_graph_softmax");
}

static int softmax_grad_run(const hpc_launch *l, const void *args)
{
    const hpc_graph_softmax_grad_args *g = args;
    int64_t heads = hpc_tensor_cols(&g->y), vertices = hpc_tensor_n(&g->start) - 1, lo, hi;
    int rc;
    TRY(check_start("graph_softmax_grad", &g->start, hpc_tensor_rows(&g->y)));
    hpc_share(&lo, &hi, vertices, 1, l->worker, l->workers);
    for (int64_t v = lo; v < hi; v++) {
        span s = edges_of(&g->start, v);
        for (int64_t h = 0; h < heads; h++) {
            double dot = 0;
            for (int64_t k = s.lo; k < s.hi; k++) {
                int64_t i = k * heads + h;
                dot += hpc_ref_get(&g->y, i) * hpc_ref_get(&g->dy, i);
            }
            for (int64_t k = s.lo; k < s.hi; k++) {
                int64_t i = k * heads + h;
                hpc_ref_set(&g->dx, i, hpc_ref_get(&g->y, i) * (hpc_ref_get(&g->dy, i) - dot));
            }
        }
    }
    clear_rest(&g->dx, used(&g->start), l);
out:
    return rc;
}

int hpc_ref_graph_softmax_grad(hpc_plan *p, int workers, const hpc_graph_softmax_grad_args *a)
{
    (void)workers, (void)a;
    return ref_plan(p, softmax_grad_run, "ref_graph_softmax_grad");
}

/* ---- graph_scale, graph_merge ------------------------------------------------- */

static int scale_run(const hpc_launch *l, const void *args)
{
    const hpc_graph_scale_args *g = args;
    int64_t cols = hpc_tensor_cols(&g->x), lo, hi;
    int rc;
    TRY(check_start("graph_scale", &g->start, INT32_MAX));
    share_rows(&lo, &hi, &g->y, l);
    for (int64_t v = lo; v < hi; v++) {
        span s = edges_of(&g->start, v);
        double by = s.hi > s.lo ? pow((double)(s.hi - s.lo), g->attr.power) : 0;
        for (int64_t i = v * cols; i < (v + 1) * cols; i++) {
            hpc_ref_set(&g->y, i, hpc_ref_get(&g->x, i) * by);
        }
    }
out:
    return rc;
}

int hpc_ref_graph_scale(hpc_plan *p, int workers, const hpc_graph_scale_args *a)
{
    (void)workers, (void)a;
    return ref_plan(p, scale_run, "ref_graph_scale");
}

static void merge_head(const hpc_graph_merge_args *g, int64_t i, int64_t c, int64_t width)
{
    double old = hpc_ref_get(&g->lse, i), more = hpc_ref_get(&g->more, i), most = fmax(old, more);
    if (most == -INFINITY) return;
    double lse = most + log(exp(old - most) + exp(more - most));
    for (int64_t e = c; e < c + width; e++) {
        double y = old == -INFINITY ? 0 : hpc_ref_get(&g->y, e) * exp(old - lse);
        double x = more == -INFINITY ? 0 : hpc_ref_get(&g->x, e) * exp(more - lse);
        hpc_ref_set(&g->y, e, y + x);
    }
    hpc_ref_set(&g->lse, i, lse);
}

static int merge_run(const hpc_launch *l, const void *args)
{
    const hpc_graph_merge_args *g = args;
    int64_t heads = hpc_tensor_cols(&g->lse), width = hpc_tensor_cols(&g->y) / heads, lo, hi;
    share_rows(&lo, &hi, &g->lse, l);
    for (int64_t i = lo * heads; i < hi * heads; i++) merge_head(g, i, i * width, width);
    return 0;
}

int hpc_ref_graph_merge(hpc_plan *p, int workers, const hpc_graph_merge_args *a)
{
    (void)workers, (void)a;
    return ref_plan(p, merge_run, "ref_graph_merge");
}
