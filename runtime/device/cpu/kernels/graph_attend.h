/*
 * graph_attend.h: how attention over the edges of a vertex, and its gradients, go through edges.
 *
 * Scores are computed for a run of edges at a time and never stored. Scores of a run are arrays by
 * head, so that loops over edges become vector code. Work is shared out by blocks of edges
 * (graph.h); a kernel supplies what it keeps for a vertex, and how two of those are joined.
 */
#ifndef HPC_CPU_GRAPH_ATTEND_H
#define HPC_CPU_GRAPH_ATTEND_H

#include <math.h>

#include "runtime/device/cpu/kernels/graph.h"
#include "runtime/device/cpu/kernels/vecmath.h"

enum {
    RUN = 32,          /* edges of a run */
    HEADS_MOST = 128,  /* heads of a vertex */
    TILE = WIDE * VEC, /* columns of the widest tile */
    QUAD = 4           /* columns whose weight is stored at once */
};

typedef float quad __attribute__((vector_size(QUAD * sizeof(float)), aligned(4), may_alias));
typedef float scores[HEADS_MOST * RUN]; /* [heads][RUN] */

/* A kernel: vertices that own edges, other ends of edges, and the partial results of a vertex. */
typedef struct work {
    path p;
    const int32_t *index;
    const hpc_tensor *near, *far; /* terms of scores: of a vertex, and of other ends */
    const hpc_tensor *own, *row;  /* rows: of a vertex (gradients), and of other ends */
    const float *lse, *delta;     /* of targets (gradients) */
    const hpc_tensor *out[2];
    bool transposed; /* vertices are sources */
    float slope;
    int64_t edges, others, cols, heads, width; /* width: columns of a head */
    int64_t slot;                              /* numbers of a partial result */
    float *slots;                              /* [blocks][head, tail], [workers] */
} work;

/* The partial result of edges lo .. hi-1 of vertex v, two of them joined, and results from it. */
typedef struct pass {
    const char *op;
    void (*find)(float *slot, const work *w, int64_t v, int64_t lo, int64_t hi);
    void (*join)(float *slot, const float *more, const work *w);
    void (*finish)(const work *w, int64_t v, float *slot);
} pass;

/* ---- runs of edges ------------------------------------------------------------------------- */

/* Edges of a run from k on, rounded up to whole vectors. */
static inline int64_t padded(int64_t n)
{
    return (n + VEC - 1) / VEC * VEC;
}

static inline float leaky(float r, float slope)
{
    return r > 0 ? r : slope * r;
}

/* Brings the row and the terms of the other end of a later edge closer, be it of another vertex.
 * Its index is not checked yet, so this is arithmetic on integers. */
static inline void prefetch(const work *w, int64_t k)
{
    const size_t size = w->row->dtype == HPC_BF16 ? sizeof(uint16_t) : sizeof(float);
    const size_t bytes = (size_t)w->cols * size;
    const size_t next = (size_t)w->index[least(k + RUN, w->p.edges - 1)];
    const uintptr_t row = (uintptr_t)w->row->data + next * bytes;
    const uintptr_t term = (uintptr_t)w->far->data + next * (size_t)w->heads * sizeof(float);

    __builtin_prefetch((const void *)term);
    for (size_t at = 0; at < bytes; at += LINE) __builtin_prefetch((const void *)(row + at));
}

/* r = the sums of both ends' terms for edges k .. k+n-1, at least one; -inf up to whole vectors. */
static inline void add_terms(float *r, const work *w, const float *near, int64_t k, int64_t n)
{
    float buffer[HEADS_MOST];

    hpc_assert(n > 0 && w->heads > 0);
    for (int64_t e = 0; e < n; e++) {
        prefetch(w, k + e);
        const float *far = load(buffer, w->far, w->index[k + e] * w->heads, w->heads);
        for (int64_t h = 0; h < w->heads; h++) r[h * RUN + e] = near[h] + far[h];
    }
    for (int64_t h = 0; h < w->heads; h++)
        for (int64_t e = n; e < padded(n); e++) r[h * RUN + e] = -INFINITY;
}

/* ---- weighted rows ------------------------------------------------------------------------- */

/* by[e][i] = the weight of edge e in the head of column c + i. */
static inline void spread(float *by, const work *w, const float *weight, int64_t n, int64_t c,
                          int64_t m)
{
    int64_t head[TILE];

    for (int64_t i = 0; i < m; i++) head[i] = (c + i) / w->width * RUN;
    if (w->width % QUAD == 0)
        for (int64_t e = 0; e < n; e++)
            for (int64_t i = 0; i < m; i += QUAD) {
                float x = weight[head[i] + e];
                *(quad *)(by + e * m + i) = (quad){x, x, x, x};
            }
    else
        for (int64_t e = 0; e < n; e++)
            for (int64_t i = 0; i < m; i++) by[e * m + i] = weight[head[i] + e];
}

/* sum[i] += by[e][i] times the row of edge k + e at column c + i, in `vectors` registers. */
static inline __attribute__((always_inline)) void add_tile(float *sum, const work *w,
                                                           const float *by, int64_t k, int64_t n,
                                                           int64_t c, const int vectors,
                                                           const bool half)
{
    vec acc[WIDE];

    for (int v = 0; v < vectors; v++) acc[v] = *(const vec_any *)(sum + v * VEC);
    for (int64_t e = 0; e < n; e++, by += vectors * VEC) {
        int64_t at = w->index[k + e] * w->cols + c;
        for (int v = 0; v < vectors; v++)
            acc[v] += *(const vec_any *)(by + v * VEC) * load_vec(w->row->data, at + v * VEC, half);
    }
    for (int v = 0; v < vectors; v++) *(vec_any *)(sum + v * VEC) = acc[v];
}

#define OF_VECTORS(n_)                                                                             \
    case n_:                                                                                       \
        if (w->row->dtype == HPC_BF16)                                                             \
            add_tile(sum, w, by, k, n, c, n_, true);                                               \
        else                                                                                       \
            add_tile(sum, w, by, k, n, c, n_, false);                                              \
        break

static inline void add_vectors(float *sum, const work *w, const float *weight, int64_t k, int64_t n,
                               int64_t c, int vectors)
{
    float by[RUN * TILE];

    spread(by, w, weight, n, c, vectors * VEC);
    switch (vectors) {
        OF_VECTORS(1);
        OF_VECTORS(2);
        OF_VECTORS(4);
        OF_VECTORS(8);
    }
}

/* The same for fewer columns than a vector has. */
static inline void add_columns(float *sum, const work *w, const float *weight, int64_t k, int64_t n,
                               int64_t c, int64_t m)
{
    float buffer[VEC];

    for (int64_t e = 0; e < n; e++) {
        const float *x = load(buffer, w->row, w->index[k + e] * w->cols + c, m);
        for (int64_t i = 0; i < m; i++) sum[i] += weight[(c + i) / w->width * RUN + e] * x[i];
    }
}

/* sum[cols] += the rows of edges k .. k+n-1, weighted by head. */
static inline void add_rows(float *sum, const work *w, const float *weight, int64_t k, int64_t n)
{
    for (int64_t c = 0, step; c < w->cols; c += step) {
        int64_t left = w->cols - c, most = WIDE;
        while (most > 1 && most * VEC > left) most /= 2;
        if (most * VEC <= left) {
            step = most * VEC;
            add_vectors(sum + c, w, weight, k, n, c, (int)most);
        } else {
            step = left;
            add_columns(sum + c, w, weight, k, n, c, step);
        }
    }
}

/* ---- launches ---------------------------------------------------------------------------- */

static inline int find_block(const pass *f, const work *w, int64_t b, float *own)
{
    path_walk walk = path_block(&w->p, b);
    int rc = path_check_index(f->op, w->index, walk.from.e, walk.to.e, w->others);

    if (rc < 0) return rc;
    for (path_piece s; path_next(&s, &walk);) {
        bool whole = s.part == PATH_WHOLE;
        float *slot = whole ? own : w->slots + (2 * b + (s.part == PATH_TAIL)) * w->slot;
        f->find(slot, w, s.v, s.lo, s.hi);
        if (whole) f->finish(w, s.v, own);
    }
    return 0;
}

/* The vertex that ends in block b and began before it. */
static inline void join_blocks(const pass *f, const work *w, int64_t b, float *own)
{
    int64_t v, first;

    if (!path_joins(&v, &first, &w->p, b)) return;
    memcpy(own, w->slots + (2 * first + 1) * w->slot, (size_t)w->slot * sizeof *own);
    for (int64_t k = first + 1; k <= b; k++)
        f->join(own, w->slots + (2 * k + (k < b)) * w->slot, w);
    f->finish(w, v, own);
}

static inline int run(const pass *f, const work *w, const hpc_launch *l)
{
    float *own = w->slots + (2 * w->p.blocks + l->worker) * w->slot;
    int64_t lo, hi;
    int rc = path_check(&w->p, f->op, w->edges, l);

    hpc_share(&lo, &hi, w->p.blocks, 1, l->worker, l->workers);
    for (int64_t b = lo; b < hi && rc == 0; b++) rc = find_block(f, w, b, own);
    hpc_barrier_wait(l->barrier);
    for (int64_t b = lo; b < hi && rc == 0; b++) join_blocks(f, w, b, own);
    return rc;
}

static inline work work_of(const hpc_tensor *start, const hpc_tensor *index, const hpc_tensor *row,
                           const hpc_tensor *near, float slope)
{
    int64_t heads = hpc_tensor_cols(near), cols = hpc_tensor_cols(row);
    int64_t edges = hpc_tensor_n(index);

    return (work){.p = path_of(start, edges),
                  .index = index->data,
                  .near = near,
                  .row = row,
                  .slope = slope,
                  .edges = edges,
                  .others = hpc_tensor_rows(row),
                  .cols = cols,
                  .heads = heads,
                  .width = cols / heads};
}

/* Bytes of the slots: two for each block, and one for each worker. */
static inline size_t slots_bytes(const hpc_tensor *start, const hpc_tensor *index, int64_t slot,
                                 int workers)
{
    int64_t blocks = path_blocks(hpc_tensor_n(start) - 1, hpc_tensor_n(index));

    return (size_t)((2 * blocks + workers) * slot) * sizeof(float);
}

static inline int check_heads(const char *op, const hpc_tensor *terms)
{
    if (hpc_tensor_cols(terms) <= HEADS_MOST) return 0;
    return hpc_fail(HPC_E_UNSUPPORTED, "%s takes at most %d heads, not %lld", op, HEADS_MOST,
                    (long long)hpc_tensor_cols(terms));
}

#endif
