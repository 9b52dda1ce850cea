/*
 * chunks.c: division of a graph into intervals of vertices with about as many edges and vertices
 * each, and of its edges into chunks.
 */
#include "model/graph/graph.h"

#include <string.h>

/* Interval p begins at the first vertex with p/parts of all vertices and edges before it. */
static void divide(int64_t *first, const hpc_net *g, int64_t parts)
{
    int64_t v = 0, all = g->vertices + g->edges;
    for (int64_t p = 0; p <= parts; p++) {
        while (v < g->vertices && v + g->start[v] < all / parts * p + all % parts * p / parts) v++;
        first[p] = p == parts ? g->vertices : v;
    }
}

static int allocate(hpc_net_chunks *c, const hpc_net *g)
{
    size_t parts = (size_t)c->parts, vertices = (size_t)(g->vertices + c->parts);
    size_t words = vertices * (parts + 1) + (size_t)g->edges + 1;
    c->first = hpc_alloc(parts + 1, sizeof *c->first);
    c->degree = hpc_alloc(parts, sizeof *c->degree);
    c->chunk = hpc_alloc(parts * parts, sizeof *c->chunk);
    c->own = hpc_alloc(words, sizeof *c->own);
    if (c->first && c->degree && c->chunk && c->own) return HPC_OK;
    return hpc_fail(HPC_E_NOMEM, "no memory for %lld chunks", (long long)(c->parts * c->parts));
}

static void measure(hpc_net_chunks *c)
{
    for (int64_t p = 0; p < c->parts; p++) {
        int64_t rows = c->first[p + 1] - c->first[p];
        c->rows = rows > c->rows ? rows : c->rows;
    }
    for (int64_t k = 0; k < c->parts * c->parts; k++)
        c->most_edges = c->chunk[k].edges > c->most_edges ? c->chunk[k].edges : c->most_edges;
}

/* The chunk of interval `to` with sources in [low, high), written at *at. Sources ascend within a
 * vertex, so that each chunk has a run of them. */
static void fill_chunk(hpc_net_chunk *out, int32_t **at, const hpc_net *g, const int64_t to[2],
                       int64_t low, int64_t high)
{
    int32_t *start = *at, *index = start + (to[1] - to[0]) + 1;
    int64_t n = 0;
    for (int64_t v = to[0]; v < to[1]; v++) {
        start[v - to[0]] = (int32_t)n;
        for (int32_t k = g->start[v]; k < g->start[v + 1]; k++)
            if (g->index[k] >= low && g->index[k] < high) index[n++] = (int32_t)(g->index[k] - low);
    }
    start[to[1] - to[0]] = (int32_t)n;
    *out = (hpc_net_chunk){start, index, n};
    *at = index + n;
}

int hpc_net_chunks_of(hpc_net_chunks *out, const hpc_net *g, int64_t parts)
{
    int rc;
    *out = (hpc_net_chunks){.vertices = g->vertices, .edges = g->edges, .parts = parts};
    if (parts < 1 || parts > 4096)
        return hpc_fail(HPC_E_ARG, "parts is %lld; 1 to 4096 are possible", (long long)parts);
    TRY(allocate(out, g));
    divide(out->first, g, parts);
    int32_t *at = out->own;
    for (int64_t p = 0; p < parts; p++) {
        int64_t from = out->first[p], rows = out->first[p + 1] - from;
        out->degree[p] = at;
        for (int64_t v = 0; v <= rows; v++) *at++ = g->start[from + v] - g->start[from];
    }
    for (int64_t p = 0; p < parts; p++)
        for (int64_t q = 0; q < parts; q++)
            fill_chunk(&out->chunk[p * parts + q], &at, g, &out->first[p], out->first[q],
                       out->first[q + 1]);
    measure(out);
out:
    if (rc < 0) hpc_net_chunks_close(out);
    return rc;
}

void hpc_net_chunks_close(hpc_net_chunks *c)
{
    hpc_free(c->first);
    hpc_free(c->degree);
    hpc_free(c->chunk);
    hpc_free(c->own);
    hpc_free(c->checks);
    hpc_file_close(&c->file);
    *c = (hpc_net_chunks){0};
}
