/*
 * graph.c: reduction over the edges of a vertex: rows gathered, weighted and summed in one pass, or
 * their maximum and the edge that has it. Work is shared out by blocks of edges (graph.h). Columns
 * are independent chains in the order of edges, in f32, whatever the width of a tile.
 */
#include <math.h>

#include "runtime/device/cpu/kernels/graph.h"

/* Inputs of a launch, and its partial results. */
typedef struct work {
    const hpc_graph_reduce_args *a;
    path p;
    const int32_t *index, *edge, *pick;
    int64_t edges, rows, cols, heads, width; /* width: columns of a head */
    float *sums;                             /* [blocks][head, tail][cols] */
    int32_t *args;                           /* the same, of maxima */
} work;

static work work_of(const hpc_launch *l, const hpc_graph_reduce_args *a)
{
    int64_t rows = hpc_tensor_rows(&a->x), cols = hpc_tensor_cols(&a->x);
    int64_t edges = a->index.data ? hpc_tensor_n(&a->index) : rows;
    int64_t heads = a->w.data && a->w.rank == 2 ? a->w.extent[1] : 1;
    path p = path_of(&a->start, edges);

    return (work){.a = a,
                  .p = p,
                  .index = a->index.data,
                  .edge = a->edge.data,
                  .pick = a->pick.data,
                  .edges = edges,
                  .rows = rows,
                  .cols = cols,
                  .heads = heads,
                  .width = cols / heads,
                  .sums = l->workspace,
                  .args = (int32_t *)l->workspace + p.blocks * 2 * cols};
}

static inline int64_t row_of(const work *w, int64_t k)
{
    return w->index ? w->index[k] : k;
}

static inline int64_t edge_of(const work *w, int64_t k)
{
    return w->edge ? w->edge[k] : k;
}

static inline float weight_at(const work *w, int64_t k, int64_t head)
{
    float buffer[1];

    if (!w->a->w.data) return 1;
    return *load(buffer, &w->a->w, edge_of(w, k) * w->heads + head, 1);
}

/* ---- sums ------------------------------------------------------------------------------- */

/* sum[i] += the terms of edges lo .. hi-1 at columns c + i, in `vectors` registers. */
static inline __attribute__((always_inline)) void add_tile(float *sum, const work *w, int64_t lo,
                                                           int64_t hi, int64_t c, const int vectors,
                                                           const bool half)
{
    const void *x = w->a->x.data;
    const size_t size = half ? sizeof(uint16_t) : sizeof(float);
    vec acc[WIDE];
    int64_t head[WIDE];

    for (int v = 0; v < vectors; v++) acc[v] = *(const vec_any *)(sum + v * VEC);
    for (int v = 0; v < vectors; v++) head[v] = (c + v * VEC) / w->width;
    for (int64_t k = lo; k < hi; k++) {
        int64_t at = row_of(w, k) * w->cols + c;
        if (w->index) {
            int64_t next = w->index[least(k + AHEAD, w->edges - 1)] * w->cols + c;
            for (size_t ahead = 0; ahead < (size_t)(vectors * VEC) * size; ahead += LINE)
                __builtin_prefetch((const char *)x + (size_t)next * size + ahead);
        }
        if (w->a->w.data)
            for (int v = 0; v < vectors; v++)
                acc[v] += weight_at(w, k, head[v]) * load_vec(x, at + v * VEC, half);
        else
            for (int v = 0; v < vectors; v++) acc[v] += load_vec(x, at + v * VEC, half);
    }
    for (int v = 0; v < vectors; v++) *(vec_any *)(sum + v * VEC) = acc[v];
}

#define TILE(n)                                                                                    \
    case n:                                                                                        \
        if (w->a->x.dtype == HPC_BF16)                                                             \
            add_tile(sum, w, lo, hi, c, n, true);                                                  \
        else                                                                                       \
            add_tile(sum, w, lo, hi, c, n, false);                                                 \
        break

static void add_vectors(float *sum, const work *w, int64_t lo, int64_t hi, int64_t c, int vectors)
{
    switch (vectors) {
        TILE(1);
        TILE(2);
        TILE(4);
        TILE(8);
    }
}

/* Weights of columns c .. c+n-1 of edge k: that of each head, repeated. */
static void spread_weights(float *out, const work *w, int64_t k, int64_t c, int64_t n)
{
    for (int64_t i = 0, head = c / w->width; i < n; head++) {
        int64_t end = least(n, (head + 1) * w->width - c);
        float by = weight_at(w, k, head);
        for (; i < end; i++) out[i] = by;
    }
}

/* The same for any number of columns n <= CHUNK, with or without picked terms. */
static void add_columns(float *sum, const work *w, int64_t lo, int64_t hi, int64_t c, int64_t n)
{
    float buffer[CHUNK], by[CHUNK];

    for (int64_t k = lo; k < hi; k++) {
        int64_t at = row_of(w, k) * w->cols + c;
        const float *x = load(buffer, &w->a->x, at, n);
        if (w->index)
            __builtin_prefetch((const float *)w->a->x.data +
                               w->index[least(k + AHEAD, w->edges - 1)] * w->cols + c);
        spread_weights(by, w, k, c, n);
        if (!w->pick) {
#pragma omp simd
            for (int64_t i = 0; i < n; i++) sum[i] += by[i] * x[i];
            continue;
        }
        const int32_t *pick = w->pick + at, edge = (int32_t)edge_of(w, k);
#pragma omp simd
        for (int64_t i = 0; i < n; i++) sum[i] += pick[i] == edge ? by[i] * x[i] : 0;
    }
}

/* Columns c .. c+n-1: whole vectors, which may cross heads if heads consist of whole vectors. */
static void add_terms(float *sum, const work *w, int64_t lo, int64_t hi, int64_t c, int64_t n)
{
    bool vectors = !w->pick && (w->heads == 1 || w->width % VEC == 0);

    for (int64_t i = 0, step; i < n; i += step) {
        int64_t left = n - i, most = WIDE;
        while (most > 1 && most * VEC > left) most /= 2;
        if (vectors && most * VEC <= left) {
            step = most * VEC;
            add_vectors(sum + i, w, lo, hi, c + i, (int)most);
        } else {
            step = left;
            add_columns(sum + i, w, lo, hi, c + i, step);
        }
    }
}

/* ---- maxima ------------------------------------------------------------------------------ */

/* The first of equals stays; NaN is larger than all. arg < 0: nothing yet. */
static inline void keep_larger(float *restrict most, int32_t *restrict arg, const float *x,
                               const int32_t *from, int32_t edge, int64_t n)
{
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        int32_t at = from ? from[i] : edge, old = arg[i];
        float y = x[i], best = most[i];
        int more = (at >= 0) & ((old < 0) | (y > best) | ((y != y) & (best == best)));
        most[i] = more ? y : best;
        arg[i] = more ? at : old;
    }
}

static void find_largest(float *most, int32_t *arg, const work *w, path_piece s, int64_t c,
                         int64_t n)
{
    float buffer[CHUNK];

    for (int64_t k = s.lo; k < s.hi; k++) {
        const float *x = load(buffer, &w->a->x, row_of(w, k) * w->cols + c, n);
        keep_larger(most, arg, x, NULL, (int32_t)edge_of(w, k), n);
    }
}

static void begin_max(float *most, int32_t *arg, const work *w, int64_t at, int64_t n)
{
    const hpc_graph_reduce_args *a = w->a;
    bool adds = a->y.adds;

    for (int64_t i = 0; i < n; i++) arg[i] = adds ? ((const int32_t *)a->arg.data)[at + i] : -1;
    memset(most, 0, (size_t)n * sizeof *most);
    if (!adds) return;
    float buffer[CHUNK];
    memcpy(most, load(buffer, &a->y, at, n), (size_t)n * sizeof *most);
    for (int64_t i = 0; i < n; i++) most[i] = arg[i] < 0 ? 0 : most[i];
}

static void put_max(const work *w, int64_t at, const float *most, const int32_t *arg, int64_t n)
{
    store(&w->a->y, at, most, n);
    memcpy((int32_t *)w->a->arg.data + at, arg, (size_t)n * sizeof *arg);
}

/* ---- pieces and their sums ------------------------------------------------------------------ */

static void reduce_columns(const work *w, int64_t b, path_piece s, int64_t c, int64_t n)
{
    int64_t at = s.v * w->cols + c, slot = (2 * b + (s.part == PATH_TAIL)) * w->cols + c;
    bool whole = s.part == PATH_WHOLE, max = w->a->attr.kind == HPC_GRAPH_MAX;
    float own[CHUNK], *sum = whole ? own : w->sums + slot;
    int32_t own_arg[CHUNK], *arg = whole || !max ? own_arg : w->args + slot;

    memset(sum, 0, (size_t)n * sizeof *sum);
    if (!max) {
        add_terms(sum, w, s.lo, s.hi, c, n);
        if (whole) put(&w->a->y, at, sum, n);
        return;
    }
    if (whole)
        begin_max(sum, arg, w, at, n);
    else
        for (int64_t i = 0; i < n; i++) arg[i] = -1;
    find_largest(sum, arg, w, s, c, n);
    if (whole) put_max(w, at, sum, arg, n);
}

static int reduce_block(const work *w, int64_t b)
{
    path_walk walk = path_block(&w->p, b);
    int rc = 0;

    if (w->index) rc = path_check_index("graph_reduce", w->index, walk.from.e, walk.to.e, w->rows);
    if (rc == 0 && w->edge)
        rc = path_check_index("graph_reduce", w->edge, walk.from.e, walk.to.e, w->edges);
    if (rc < 0) return rc;
    for (path_piece s; path_next(&s, &walk);)
        for (int64_t c = 0; c < w->cols; c += CHUNK)
            reduce_columns(w, b, s, c, least(CHUNK, w->cols - c));
    return 0;
}

/* The vertex that ends in block b and began before it: tails of `first` on, then the head of b. */
static void join_columns(const work *w, int64_t v, int64_t first, int64_t b, int64_t c, int64_t n)
{
    int64_t at = v * w->cols + c;
    bool max = w->a->attr.kind == HPC_GRAPH_MAX;
    float sum[CHUNK] = {0};
    int32_t arg[CHUNK];

    if (max) begin_max(sum, arg, w, at, n);
    for (int64_t k = first; k <= b; k++) {
        int64_t slot = (2 * k + (k < b)) * w->cols + c;
        const float *x = w->sums + slot;
        if (max) {
            keep_larger(sum, arg, x, w->args + slot, 0, n);
            continue;
        }
#pragma omp simd
        for (int64_t i = 0; i < n; i++) sum[i] += x[i];
    }
    if (max)
        put_max(w, at, sum, arg, n);
    else
        put(&w->a->y, at, sum, n);
}

static int reduce_run(const hpc_launch *l, const void *args)
{
    work w = work_of(l, args);
    int64_t lo, hi, v, first;
    int rc = path_check(&w.p, "graph_reduce", w.edges, l);

    hpc_share(&lo, &hi, w.p.blocks, 1, l->worker, l->workers);
    for (int64_t b = lo; b < hi && rc == 0; b++) rc = reduce_block(&w, b);
    hpc_barrier_wait(l->barrier);
    for (int64_t b = lo; b < hi && rc == 0; b++) {
        if (!path_joins(&v, &first, &w.p, b)) continue;
        for (int64_t c = 0; c < w.cols; c += CHUNK)
            join_columns(&w, v, first, b, c, least(CHUNK, w.cols - c));
    }
    return rc;
}

int HPC_WIDTH(cpu_graph_reduce)(hpc_plan *p, int workers, const hpc_graph_reduce_args *a)
{
    int64_t cols = hpc_tensor_cols(&a->x);
    int64_t edges = a->index.rank >= 0 ? hpc_tensor_n(&a->index) : hpc_tensor_rows(&a->x);
    int64_t blocks = path_blocks(hpc_tensor_n(&a->start) - 1, edges);
    size_t each = sizeof(float) + (a->attr.kind == HPC_GRAPH_MAX ? sizeof(int32_t) : 0);

    (void)workers;
    return accept(p,
                  (hpc_plan){.run = reduce_run,
                             .workspace = (size_t)(2 * blocks * cols) * each,
                             .name = "graph_reduce_" HPC_ISA_TEXT},
                  (const operand_check[]){{"y", &a->y, TAKES_REAL},
                                          {"arg", &a->arg, TAKES_I32},
                                          {"x", &a->x, TAKES_REAL},
                                          {"w", &a->w, TAKES_REAL},
                                          {"start", &a->start, TAKES_I32},
                                          {"index", &a->index, TAKES_I32},
                                          {"edge", &a->edge, TAKES_I32},
                                          {"pick", &a->pick, TAKES_I32},
                                          {0}});
}
