/*
 * net.c: graphs from lists of edges, sorted by destination and source, with their transposes.
 */
#include "model/graph/graph.h"

#include <stdlib.h>
#include <string.h>

static int check_edges(int64_t vertices, const int32_t (*edge)[2], int64_t n)
{
    if (vertices < 0 || vertices >= INT32_MAX)
        return hpc_fail(HPC_E_FORMAT, "a graph of %lld vertices: at most %d are supported",
                        (long long)vertices, INT32_MAX - 1);
    for (int64_t k = 0; k < n; k++)
        for (int end = 0; end < 2; end++)
            if (edge[k][end] < 0 || edge[k][end] >= vertices)
                return hpc_fail(HPC_E_FORMAT, "edge %lld: vertex %d is not one of %lld",
                                (long long)k, edge[k][end], (long long)vertices);
    return HPC_OK;
}

static int add_edges(hpc_buf *all, int64_t vertices, const int32_t (*edge)[2], int64_t n,
                     const hpc_net_options *o)
{
    int rc = HPC_OK;
    for (int64_t k = 0; k < n; k++) {
        const int32_t back[2] = {edge[k][1], edge[k][0]};
        bool loop = back[0] == back[1];
        if (loop && o->loops) continue;
        TRY(hpc_buf_add(all, edge[k], sizeof edge[k]));
        if (o->both && !loop) TRY(hpc_buf_add(all, back, sizeof back));
    }
    for (int32_t v = 0; v < vertices && o->loops; v++)
        TRY(hpc_buf_add(all, (const int32_t[2]){v, v}, 2 * sizeof v));
out:
    return rc;
}

/* Counting sort of the positions in `by` (NULL: 0, 1, ...) by one end of the edges. */
static void sort_by_end(int32_t *out, int32_t *start, const int32_t (*edge)[2], const int32_t *by,
                        int64_t n, int64_t vertices, int end)
{
    memset(start, 0, (size_t)(vertices + 1) * sizeof *start);
    for (int64_t k = 0; k < n; k++) start[edge[k][end] + 1]++;
    for (int64_t v = 0; v < vertices; v++) start[v + 1] += start[v];
    for (int64_t k = 0; k < n; k++) {
        int32_t at = by ? by[k] : (int32_t)k;
        out[start[edge[at][end]]++] = at;
    }
    for (int64_t v = vertices; v > 0; v--) start[v] = start[v - 1];
    start[0] = 0;
}

/* Fills start and index from edges in order of destination and source. */
static void fill_forward(hpc_net *g, const int32_t (*edge)[2], const int32_t *order, int64_t n,
                         bool once)
{
    memset(g->start, 0, (size_t)(g->vertices + 1) * sizeof *g->start);
    g->edges = 0;
    for (int64_t k = 0; k < n; k++) {
        const int32_t *e = edge[order[k]], *before = k > 0 ? edge[order[k - 1]] : NULL;
        if (once && before && e[0] == before[0] && e[1] == before[1]) continue;
        g->index[g->edges++] = e[0];
        g->start[e[1] + 1]++;
    }
    for (int64_t v = 0; v < g->vertices; v++) g->start[v + 1] += g->start[v];
}

static void fill_back(hpc_net *g)
{
    memset(g->back_start, 0, (size_t)(g->vertices + 1) * sizeof *g->back_start);
    for (int64_t k = 0; k < g->edges; k++) g->back_start[g->index[k] + 1]++;
    for (int64_t v = 0; v < g->vertices; v++) g->back_start[v + 1] += g->back_start[v];
    for (int64_t v = 0; v < g->vertices; v++)
        for (int32_t k = g->start[v]; k < g->start[v + 1]; k++) {
            int32_t at = g->back_start[g->index[k]]++;
            g->back_index[at] = (int32_t)v;
            g->back_edge[at] = k;
        }
    for (int64_t v = g->vertices; v > 0; v--) g->back_start[v] = g->back_start[v - 1];
    g->back_start[0] = 0;
}

static int allocate(hpc_net *g, int64_t n)
{
    size_t vertices = (size_t)g->vertices + 1, edges = (size_t)n + 1;
    g->start = hpc_alloc(vertices, sizeof *g->start);
    g->index = hpc_alloc(edges, sizeof *g->index);
    g->back_start = hpc_alloc(vertices, sizeof *g->back_start);
    g->back_index = hpc_alloc(edges, sizeof *g->back_index);
    g->back_edge = hpc_alloc(edges, sizeof *g->back_edge);
    if (g->start && g->index && g->back_start && g->back_index && g->back_edge) return HPC_OK;
    return hpc_fail(HPC_E_NOMEM, "no memory for a graph of %lld edges", (long long)n);
}

int hpc_net_of_edges(hpc_net *out, int64_t vertices, const int32_t (*edge)[2], int64_t n,
                     const hpc_net_options *o)
{
    static const hpc_net_options plain;
    hpc_buf all = {0};
    int32_t *by_source = NULL, *order = NULL;
    int rc;
    *out = (hpc_net){.vertices = vertices};
    if (!o) o = &plain;
    TRY(check_edges(vertices, edge, n));
    TRY(add_edges(&all, vertices, edge, n, o));
    n = (int64_t)(all.n / sizeof *edge);
    if (n >= INT32_MAX) {
        rc = hpc_fail(HPC_E_FORMAT, "%lld edges: at most %d are supported", (long long)n,
                      INT32_MAX - 1);
        goto out;
    }
    TRY(allocate(out, n));
    by_source = hpc_alloc((size_t)n + 1, sizeof *by_source);
    order = hpc_alloc((size_t)n + 1, sizeof *order);
    if (!by_source || !order) {
        rc = hpc_fail(HPC_E_NOMEM, "no memory to sort %lld edges", (long long)n);
        goto out;
    }
    const int32_t(*sorted)[2] = (const int32_t(*)[2])(const void *)all.data;
    sort_by_end(by_source, out->start, sorted, NULL, n, vertices, 0);
    sort_by_end(order, out->start, sorted, by_source, n, vertices, 1);
    fill_forward(out, sorted, order, n, o->once);
    fill_back(out);
out:
    hpc_free(order);
    hpc_free(by_source);
    hpc_buf_release(&all);
    if (rc < 0) hpc_net_release(out);
    return rc;
}

void hpc_net_release(hpc_net *g)
{
    hpc_free(g->start);
    hpc_free(g->index);
    hpc_free(g->back_start);
    hpc_free(g->back_index);
    hpc_free(g->back_edge);
    *g = (hpc_net){0};
}

/* ---- synthetic graphs ---------------------------------------------------------------- */

/* An end of edge k. The cube of a uniform number concentrates on few vertices; a multiplication
 * modulo the number of vertices spreads those over the whole range. */
static int32_t draw(uint64_t seed, uint32_t end, int64_t k, int64_t vertices, bool skewed)
{
    double u = ((double)hpc_random_bits(seed, end, 0, (uint64_t)k) + 0.5) * 0x1p-32;
    uint64_t rank = (uint64_t)((skewed ? u * u * u : u) * (double)vertices);
    return (int32_t)(skewed ? (rank * 2654435761u + 1) % (uint64_t)vertices : rank);
}

static void mesh_edge(int32_t edge[2], int64_t k, int64_t vertices, int64_t degree, int64_t side)
{
    int64_t v = k / degree, ring = k % degree;
    static const int step[8][2] = {{0, 1}, {1, 0},  {0, -1}, {-1, 0},
                                   {1, 1}, {1, -1}, {-1, 1}, {-1, -1}};
    int64_t far = 1 + ring / 8;
    int64_t u = v + far * (step[ring % 8][0] * side + step[ring % 8][1]);
    edge[0] = (int32_t)(((u % vertices) + vertices) % vertices);
    edge[1] = (int32_t)v;
}

int hpc_net_make(hpc_net *out, hpc_net_kind kind, int64_t vertices, int64_t edges, uint64_t seed,
                 const hpc_net_options *o)
{
    *out = (hpc_net){0};
    if (vertices < 1 || vertices >= INT32_MAX || edges < 0 || edges >= INT32_MAX)
        return hpc_fail(HPC_E_ARG, "a graph of %lld vertices and %lld edges is out of range",
                        (long long)vertices, (long long)edges);
    int64_t degree = edges / vertices, side = 1;
    while ((side + 1) * (side + 1) <= vertices) side++;
    if (kind == HPC_NET_MESH) edges = degree * vertices;
    int32_t(*edge)[2] = hpc_alloc((size_t)edges + 1, sizeof *edge);
    if (!edge) return hpc_fail(HPC_E_NOMEM, "no memory for %lld edges", (long long)edges);
    for (int64_t k = 0; k < edges; k++) {
        if (kind == HPC_NET_MESH) {
            mesh_edge(edge[k], k, vertices, degree, side);
            continue;
        }
        edge[k][0] = draw(seed, 0, k, vertices, true);
        edge[k][1] = draw(seed, 1, k, vertices, true);
    }
    int rc = hpc_net_of_edges(out, vertices, (const int32_t(*)[2])edge, edges, o);
    hpc_free(edge);
    return rc;
}
