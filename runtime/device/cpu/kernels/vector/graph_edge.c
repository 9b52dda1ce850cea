/*
 * graph_edge.c: results for each edge from the rows of its ends; rows scaled by a power of the
 * degree; and softmax averages over two sets of edges joined into one.
 */
#include <math.h>

#include "runtime/device/cpu/kernels/graph.h"
#include "runtime/device/cpu/kernels/vecmath.h"

/* ---- graph_edge --------------------------------------------------------------------------- */

/* Row k of y from a[v] and b[row]; v < 0: the edge belongs to no vertex. */
static void add_ends(const hpc_graph_edge_args *g, int64_t k, int64_t v, int64_t row)
{
    int64_t cols = hpc_tensor_cols(&g->y);
    const int32_t *pick = g->pick.data;
    float first[CHUNK], second[CHUNK], sum[CHUNK];

    for (int64_t c = 0; c < cols; c += CHUNK) {
        int64_t n = least(CHUNK, cols - c);
        memset(sum, 0, (size_t)n * sizeof *sum);
        if (v >= 0 && g->a.data) {
            const float *a = load(first, &g->a, v * cols + c, n);
            for (int64_t i = 0; i < n; i++)
                sum[i] = !pick || pick[v * cols + c + i] == k ? a[i] : 0;
        }
        if (v >= 0 && g->b.data) {
            const float *b = load(second, &g->b, row * cols + c, n);
#pragma omp simd
            for (int64_t i = 0; i < n; i++) sum[i] += b[i];
        }
        store(&g->y, k * cols + c, sum, n);
    }
}

/* The same of f32 without pick: what most scores are. */
static void add_plain(const hpc_graph_edge_args *g, int64_t k, int64_t v, int64_t row)
{
    int64_t cols = hpc_tensor_cols(&g->y);
    float *y = (float *)g->y.data + k * cols;
    const float *a = (const float *)g->a.data + v * cols;
    const float *b = (const float *)g->b.data + row * cols;

#pragma omp simd
    for (int64_t i = 0; i < cols; i++) y[i] = a[i] + b[i];
}

static bool is_plain(const hpc_graph_edge_args *g)
{
    return g->attr.kind == HPC_EDGE_ADD && g->a.data && g->b.data && g->y.dtype == HPC_F32 &&
           g->a.dtype == HPC_F32 && g->b.dtype == HPC_F32;
}

/* One chain of products for each head, summed in chunks. */
static void multiply_ends(const hpc_graph_edge_args *g, int64_t k, int64_t v, int64_t row)
{
    int64_t heads = g->attr.heads, cols = hpc_tensor_cols(&g->a), width = cols / heads;
    float first[CHUNK], second[CHUNK], product[CHUNK];

    for (int64_t h = 0; h < heads; h++) {
        float sum = 0;
        for (int64_t c = h * width; v >= 0 && c < (h + 1) * width; c += CHUNK) {
            int64_t n = least(CHUNK, (h + 1) * width - c);
            const float *a = load(first, &g->a, v * cols + c, n);
            const float *b = load(second, &g->b, row * cols + c, n);
#pragma omp simd
            for (int64_t i = 0; i < n; i++) product[i] = a[i] * b[i];
            sum += HPC_WIDTH(cpu_sum)(product, n);
        }
        store(&g->y, k * heads + h, &sum, 1);
    }
}

static int edge_run(const hpc_launch *l, const void *args)
{
    const hpc_graph_edge_args *g = args;
    const int32_t *index = g->index.data;
    int64_t edges = hpc_tensor_rows(&g->y), lo, hi;
    path p = path_of(&g->start, edges);
    int rc = path_check(&p, "graph_edge", edges, l);

    hpc_share(&lo, &hi, edges, 1, l->worker, l->workers);
    if (rc == 0 && index)
        rc = path_check_index("graph_edge", index, lo, least(hi, p.edges), hpc_tensor_rows(&g->b));
    if (rc < 0) return rc;
    int64_t v = path_vertex(&p, lo);
    bool plain = is_plain(g);
    for (int64_t k = lo; k < hi; k++) {
        while (v < p.vertices && p.start[v + 1] <= k) v++;
        int64_t to = v < p.vertices ? v : -1, row = index && to >= 0 ? index[k] : 0;
        if (plain && to >= 0)
            add_plain(g, k, to, row);
        else if (g->attr.kind == HPC_EDGE_DOT)
            multiply_ends(g, k, to, row);
        else
            add_ends(g, k, to, row);
    }
    return 0;
}

int HPC_WIDTH(cpu_graph_edge)(hpc_plan *p, int workers, const hpc_graph_edge_args *a)
{
    (void)workers;
    return accept(p, (hpc_plan){.run = edge_run, .name = "graph_edge_" HPC_ISA_TEXT},
                  (const operand_check[]){{"y", &a->y, TAKES_REAL},
                                          {"a", &a->a, TAKES_REAL},
                                          {"b", &a->b, TAKES_REAL},
                                          {"start", &a->start, TAKES_I32},
                                          {"index", &a->index, TAKES_I32},
                                          {"pick", &a->pick, TAKES_I32},
                                          {0}});
}

/* ---- graph_scale --------------------------------------------------------------------------- */

static int scale_run(const hpc_launch *l, const void *args)
{
    const hpc_graph_scale_args *g = args;
    const int32_t *start = g->start.data;
    int64_t cols = hpc_tensor_cols(&g->x), lo, hi;
    path p = path_of(&g->start, INT32_MAX);
    float buffer[CHUNK];
    int rc = path_check(&p, "graph_scale", INT32_MAX, l);

    if (rc < 0) return rc;
    hpc_share(&lo, &hi, p.vertices, 1, l->worker, l->workers);
    for (int64_t v = lo; v < hi; v++) {
        int32_t degree = start[v + 1] - start[v];
        float by = degree > 0 ? (float)pow(degree, g->attr.power) : 0;
        for (int64_t c = 0; c < cols; c += CHUNK) {
            int64_t n = least(CHUNK, cols - c), at = v * cols + c;
            const float *x = load(buffer, &g->x, at, n);
            float *y = place(buffer, &g->y, at);
            for (int64_t i = 0; i < n; i++) y[i] = x[i] * by;
            store(&g->y, at, y, n);
        }
    }
    return 0;
}

int HPC_WIDTH(cpu_graph_scale)(hpc_plan *p, int workers, const hpc_graph_scale_args *a)
{
    (void)workers;
    return accept(p, (hpc_plan){.run = scale_run, .name = "graph_scale_" HPC_ISA_TEXT},
                  (const operand_check[]){{"y", &a->y, TAKES_REAL},
                                          {"x", &a->x, TAKES_REAL},
                                          {"start", &a->start, TAKES_I32},
                                          {0}});
}

/* ---- graph_merge --------------------------------------------------------------------------- */

/* y = old y + more x over columns at .. at+n-1; a factor of 0 ignores what is there. */
static void blend(const hpc_graph_merge_args *g, int64_t at, int64_t n, float old, float more)
{
    float first[CHUNK], second[CHUNK];

    for (int64_t end = at + n; at < end; at += CHUNK) {
        int64_t m = least(CHUNK, end - at);
        const float *a = load(first, &g->y, at, m), *b = load(second, &g->x, at, m);
        float *y = place(first, &g->y, at);
        for (int64_t i = 0; i < m; i++)
            y[i] = (old > 0 ? old * a[i] : 0) + (more > 0 ? more * b[i] : 0);
        store(&g->y, at, y, m);
    }
}

static int merge_run(const hpc_launch *l, const void *args)
{
    const hpc_graph_merge_args *g = args;
    int64_t heads = hpc_tensor_cols(&g->lse), width = hpc_tensor_cols(&g->y) / heads, lo, hi;
    float *lse = g->lse.data;
    const float *other = g->more.data;

    hpc_share(&lo, &hi, hpc_tensor_rows(&g->lse), 1, l->worker, l->workers);
    for (int64_t i = lo * heads; i < hi * heads; i++) {
        float most = lse[i] > other[i] ? lse[i] : other[i];
        if (most == -INFINITY) continue;
        float old = vec_exp(lse[i] - most), more = vec_exp(other[i] - most), sum = old + more;
        blend(g, i * width, width, old / sum, more / sum);
        lse[i] = most + logf(sum);
    }
    return 0;
}

int HPC_WIDTH(cpu_graph_merge)(hpc_plan *p, int workers, const hpc_graph_merge_args *a)
{
    (void)workers;
    return accept(p, (hpc_plan){.run = merge_run, .name = "graph_merge_" HPC_ISA_TEXT},
                  (const operand_check[]){{"y", &a->y, TAKES_REAL},
                                          {"lse", &a->lse, TAKES_F32},
                                          {"x", &a->x, TAKES_REAL},
                                          {"more", &a->more, TAKES_F32},
                                          {0}});
}
