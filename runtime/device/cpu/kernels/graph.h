/*
 * graph.h: how kernels on graphs share out edges: a path over vertices and edges in blocks of equal
 * length, so that a vertex with many edges is worked on by many workers.
 *
 * The path consumes the edges of vertex 0, then vertex 0 itself, and so on: V + E steps. Blocks
 * follow from the graph alone. A block keeps two partial results: its head, of the vertex that it
 * begins within, and its tail, of the vertex that it ends within. The result of a vertex that
 * several blocks share is the tails before its end, in order, then the head.
 */
#ifndef HPC_CPU_GRAPH_H
#define HPC_CPU_GRAPH_H

#include "runtime/device/cpu/kernels/priv.h"

enum { PATH_BLOCK = 1024 }; /* vertices and edges of a block */

typedef struct path {
    const int32_t *start;
    int64_t vertices, edges, blocks; /* edges: all that exist; some may belong to no vertex */
} path;

static inline int64_t path_blocks(int64_t vertices, int64_t edges)
{
    return (vertices + edges + PATH_BLOCK - 1) / PATH_BLOCK;
}

static inline path path_of(const hpc_tensor *start, int64_t edges)
{
    int64_t vertices = hpc_tensor_n(start) - 1;
    const int32_t *at = start->data;
    int64_t used = at[vertices] < 0 ? 0 : least(at[vertices], edges);

    return (path){at, vertices, used, path_blocks(vertices, used)};
}

/* Checks the starts that belong to this worker: from 0, never less, within the edges. */
static inline int path_check(const path *p, const char *op, int64_t edges, const hpc_launch *l)
{
    int64_t lo, hi;

    hpc_share(&lo, &hi, p->vertices + 1, 1, l->worker, l->workers);
    for (int64_t v = lo; v < hi; v++) {
        int32_t at = p->start[v], before = v ? p->start[v - 1] : 0;
        if (at >= before && at <= edges && (v > 0 || at == 0)) continue;
        return hpc_fail(HPC_E_ARG, "%s: start[%lld] is %d, after %d, of %lld edges", op,
                        (long long)v, at, before, (long long)edges);
    }
    return 0;
}

/* Checks elements lo .. hi-1 of an index into `rows` rows. */
static inline int path_check_index(const char *op, const int32_t *index, int64_t lo, int64_t hi,
                                   int64_t rows)
{
    uint32_t most = 0;

#pragma omp simd reduction(max : most)
    for (int64_t k = lo; k < hi; k++) {
        uint32_t at = (uint32_t)index[k];
        most = at > most ? at : most;
    }
    if (lo >= hi || most < (uint64_t)rows) return 0;
    while (index[lo] >= 0 && index[lo] < rows) lo++;
    return hpc_fail(HPC_E_ARG, "%s: index %d at %lld is not one of %lld rows", op, index[lo],
                    (long long)lo, (long long)rows);
}

/* Vertices and edges consumed where block b begins. */
typedef struct path_point {
    int64_t v, e;
} path_point;

static inline path_point path_at(const path *p, int64_t b)
{
    int64_t d = least(b * PATH_BLOCK, p->vertices + p->edges);
    int64_t lo = d > p->edges ? d - p->edges : 0, hi = least(d, p->vertices);

    while (lo < hi) {
        int64_t v = (lo + hi) / 2;
        if (p->start[v + 1] <= d - v - 1)
            lo = v + 1;
        else
            hi = v;
    }
    return (path_point){lo, d - lo};
}

/* The vertex of edge e: the last one that starts at or before e and has edges. */
static inline int64_t path_vertex(const path *p, int64_t e)
{
    int64_t lo = 0, hi = p->vertices;

    while (lo < hi) {
        int64_t v = (lo + hi) / 2;
        if (p->start[v + 1] <= e)
            lo = v + 1;
        else
            hi = v;
    }
    return lo;
}

/* Edges lo .. hi-1 of vertex v, all of them (WHOLE), the last ones or others. */
typedef enum path_part { PATH_WHOLE, PATH_HEAD, PATH_TAIL } path_part;
typedef struct path_piece {
    int64_t v, lo, hi;
    path_part part;
} path_piece;

typedef struct path_walk {
    const path *p;
    path_point from, to;
    int64_t v;
} path_walk;

static inline path_walk path_block(const path *p, int64_t b)
{
    path_point from = path_at(p, b);

    return (path_walk){p, from, path_at(p, b + 1), from.v};
}

/* The next piece of the block; false: no more. Bounds hold even if starts are wrong. */
static inline bool path_next(path_piece *out, path_walk *w)
{
    int64_t v = w->v++, first;

    if (v > w->to.v || v >= w->p->vertices) return false;
    first = w->p->start[v];
    out->v = v;
    out->lo = least(first > w->from.e ? first : w->from.e, w->to.e);
    out->hi = v < w->to.v ? least(w->p->start[v + 1], w->to.e) : w->to.e;
    out->part = v == w->to.v ? PATH_TAIL : first < w->from.e ? PATH_HEAD : PATH_WHOLE;
    return out->part != PATH_TAIL || out->lo < out->hi;
}

/* True if block b ends a vertex that it did not begin. Then *v is the vertex, and the tails of
 * blocks *first .. b-1 precede b's head. */
static inline bool path_joins(int64_t *v, int64_t *first, const path *p, int64_t b)
{
    path_point from = path_at(p, b), to = path_at(p, b + 1);

    if (from.v >= to.v || from.v >= p->vertices || p->start[from.v] >= from.e) return false;
    *v = from.v;
    *first = b;
    do --*first;
    while (*first > 0 && path_at(p, *first).e > p->start[*v]);
    return true;
}

/* ---- vectors of columns ------------------------------------------------------------------- */

#if defined(__AVX512F__)
enum { VEC = 16 }; /* columns of a vector */
#elif defined(__AVX2__)
enum { VEC = 8 };
#else
enum { VEC = 4 };
#endif
enum {
    WIDE = 8,   /* vectors of the widest tile: they stay in registers */
    AHEAD = 12, /* edges between a prefetch and its use */
    LINE = 64   /* bytes that a prefetch brings */
};

typedef float vec __attribute__((vector_size(VEC * sizeof(float))));
typedef float vec_any __attribute__((vector_size(VEC * sizeof(float)), aligned(4), may_alias));
typedef uint16_t half_any
    __attribute__((vector_size(VEC * sizeof(uint16_t)), aligned(2), may_alias));
typedef uint32_t vec_bits __attribute__((vector_size(VEC * sizeof(uint32_t))));

/* VEC elements of f32, or of bf16 (half). */
static inline vec load_vec(const void *x, int64_t at, bool half)
{
    if (!half) return *(const vec_any *)((const float *)x + at);
    half_any h = *(const half_any *)((const uint16_t *)x + at);
    return (vec)(__builtin_convertvector(h, vec_bits) << 16);
}

#endif
