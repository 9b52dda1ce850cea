/*
 * graph_softmax.c: softmax over the edges of a vertex, and its gradient. A first pass over blocks
 * of edges (graph.h) finds maxima and sums of exponentials, or sums of products; partial results of
 * vertices that several blocks share are joined in the order of blocks; a second pass over edges
 * applies them.
 */
#include <math.h>

#include "runtime/device/cpu/kernels/graph.h"
#include "runtime/device/cpu/kernels/vecmath.h"

/* A partial result of one head: softmax has a maximum and a sum, its gradient a sum. */
typedef struct part {
    float most, sum;
} part;

/* Calls of a kernel for one head: the part of edges lo .. hi-1, and what a vertex's part gives. */
typedef struct work {
    path p;
    const hpc_tensor *x, *dy; /* dy: of the gradient, where x is y */
    int64_t edges, heads;
    part *parts;   /* [blocks][head, tail][heads] */
    float *vertex; /* [V,heads]: lse, or the sum of products */
} work;

/* to[i] = from[i % heads] for a run of n elements, of whole rows. */
static void repeat(float *to, const float *from, int64_t heads, int64_t n)
{
    for (int64_t i = 0; i < n; i += heads)
        for (int64_t h = 0; h < heads; h++) to[i + h] = from[h];
}

/* Elements of whole rows that are handled at once, from edge lo on. */
static int64_t run_from(const work *w, int64_t lo, int64_t hi)
{
    return least(CHUNK / w->heads, hi - lo) * w->heads;
}

static void add_rows(part *r, const float *t, int64_t heads, int64_t n)
{
    for (int64_t i = 0; i < n; i += heads)
        for (int64_t h = 0; h < heads; h++) r[h].sum += t[i + h];
}

static void find_most(part *r, const work *w, int64_t lo, int64_t hi)
{
    float buffer[CHUNK];

    for (int64_t n; lo < hi; lo += n / w->heads) {
        n = run_from(w, lo, hi);
        const float *x = load(buffer, w->x, lo * w->heads, n);
        for (int64_t i = 0; i < n; i += w->heads)
            for (int64_t h = 0; h < w->heads; h++) {
                float y = x[i + h];
                r[h].most = y > r[h].most || y != y ? y : r[h].most;
            }
    }
}

/* The parts of all heads of edges lo .. hi-1. */
static void parts_of(part *r, const work *w, int64_t lo, int64_t hi)
{
    float first[CHUNK], second[CHUNK], shift[CHUNK], t[CHUNK];
    int64_t n = run_from(w, lo, hi);

    for (int64_t h = 0; h < w->heads; h++) r[h] = (part){-INFINITY, 0};
    if (!w->dy) find_most(r, w, lo, hi);
    for (int64_t h = 0; h < w->heads; h++) t[h] = r[h].most == -INFINITY ? 0 : r[h].most;
    repeat(shift, t, w->heads, n);
    for (; lo < hi; lo += n / w->heads) {
        n = run_from(w, lo, hi);
        const float *x = load(first, w->x, lo * w->heads, n);
        if (w->dy) {
            const float *dy = load(second, w->dy, lo * w->heads, n);
#pragma omp simd
            for (int64_t i = 0; i < n; i++) t[i] = x[i] * dy[i];
        } else {
#pragma omp simd
            for (int64_t i = 0; i < n; i++) t[i] = vec_exp(x[i] - shift[i]);
        }
        add_rows(r, t, w->heads, n);
    }
}

static part join(const work *w, part a, part b)
{
    float most = a.most > b.most || a.most != a.most ? a.most : b.most;

    if (w->dy) return (part){a.most, a.sum + b.sum};
    if (most == -INFINITY) return a;
    return (part){most, a.sum * vec_exp(a.most - most) + b.sum * vec_exp(b.most - most)};
}

static float result_of(const work *w, part a)
{
    if (w->dy) return a.sum;
    return a.most == -INFINITY ? -INFINITY : a.most + logf(a.sum);
}

static void find_block(const work *w, int64_t b)
{
    path_walk walk = path_block(&w->p, b);
    part r[CHUNK];

    for (path_piece s; path_next(&s, &walk);) {
        parts_of(r, w, s.lo, s.hi);
        for (int64_t h = 0; h < w->heads; h++)
            if (s.part == PATH_WHOLE)
                w->vertex[s.v * w->heads + h] = result_of(w, r[h]);
            else
                w->parts[(2 * b + (s.part == PATH_TAIL)) * w->heads + h] = r[h];
    }
}

static void join_blocks(const work *w, int64_t b)
{
    int64_t v, first;

    if (!path_joins(&v, &first, &w->p, b)) return;
    for (int64_t h = 0; h < w->heads; h++) {
        part r = w->parts[(2 * first + 1) * w->heads + h];
        for (int64_t k = first + 1; k <= b; k++)
            r = join(w, r, w->parts[(2 * k + (k < b)) * w->heads + h]);
        w->vertex[v * w->heads + h] = result_of(w, r);
    }
}

/* Edges lo .. hi-1 of one vertex: y = exp(x - lse), or dx = y (dy - sum). */
static void apply_vertex(const hpc_tensor *to, const work *w, int64_t v, int64_t lo, int64_t hi)
{
    float first[CHUNK], second[CHUNK], by[CHUNK] = {0}, out[CHUNK];

    for (int64_t n; lo < hi; lo += n / w->heads) {
        n = run_from(w, lo, hi);
        repeat(by, w->vertex + v * w->heads, w->heads, n);
        int64_t at = lo * w->heads;
        const float *x = load(first, w->x, at, n);
        float *y = place(out, to, at);
        if (w->dy) {
            const float *dy = load(second, w->dy, at, n);
#pragma omp simd
            for (int64_t i = 0; i < n; i++) y[i] = x[i] * (dy[i] - by[i]);
        } else {
#pragma omp simd
            for (int64_t i = 0; i < n; i++)
                y[i] = by[i] == -INFINITY ? 0.0f : vec_exp(x[i] - by[i]);
        }
        store(to, at, y, n);
    }
}

/* This worker's edges; those that belong to no vertex become 0. */
static void apply(const hpc_tensor *to, const work *w, const hpc_launch *l)
{
    static const float zeros[CHUNK];
    int64_t lo, hi;

    hpc_share(&lo, &hi, w->edges, 1, l->worker, l->workers);
    for (int64_t v = path_vertex(&w->p, lo), end; v < w->p.vertices && lo < hi; v++, lo = end) {
        end = least(w->p.start[v + 1], hi);
        if (lo < end) apply_vertex(to, w, v, lo, end);
        end = end > lo ? end : lo;
    }
    for (int64_t n; lo < hi; lo += n / w->heads) {
        n = run_from(w, lo, hi);
        store(to, lo * w->heads, zeros, n);
    }
}

/* Barriers come even after a failure, for the workers that found none. */
static int run(const hpc_tensor *to, const work *w, const char *op, const hpc_launch *l)
{
    int64_t lo, hi;
    int rc = path_check(&w->p, op, w->edges, l);

    hpc_share(&lo, &hi, w->p.blocks, 1, l->worker, l->workers);
    for (int64_t b = lo; b < hi && rc == 0; b++) find_block(w, b);
    hpc_barrier_wait(l->barrier);
    for (int64_t b = lo; b < hi && rc == 0; b++) join_blocks(w, b);
    hpc_barrier_wait(l->barrier);
    if (rc == 0) apply(to, w, l);
    return rc;
}

static int softmax_run(const hpc_launch *l, const void *args)
{
    const hpc_graph_softmax_args *a = args;
    int64_t edges = hpc_tensor_rows(&a->x);
    work w = {.p = path_of(&a->start, edges),
              .x = &a->x,
              .edges = edges,
              .heads = hpc_tensor_cols(&a->x),
              .parts = l->workspace,
              .vertex = a->lse.data};

    return run(&a->y, &w, "graph_softmax", l);
}

/* Rows are handled whole. */
static int check_heads(const char *op, const hpc_tensor *x)
{
    if (hpc_tensor_cols(x) <= CHUNK) return 0;
    return hpc_fail(HPC_E_UNSUPPORTED, "%s takes at most %d heads, not %lld", op, CHUNK,
                    (long long)hpc_tensor_cols(x));
}

static size_t parts_bytes(const hpc_tensor *start, const hpc_tensor *x)
{
    int64_t blocks = path_blocks(hpc_tensor_n(start) - 1, hpc_tensor_rows(x));

    return (size_t)(2 * blocks * hpc_tensor_cols(x)) * sizeof(part);
}

int HPC_WIDTH(cpu_graph_softmax)(hpc_plan *p, int workers, const hpc_graph_softmax_args *a)
{
    int rc = check_heads("graph_softmax", &a->x);

    (void)workers;
    if (rc < 0) return rc;
    return accept(p,
                  (hpc_plan){.run = softmax_run,
                             .workspace = parts_bytes(&a->start, &a->x),
                             .name = "graph_softmax_" HPC_ISA_TEXT},
                  (const operand_check[]){{"y", &a->y, TAKES_REAL},
                                          {"lse", &a->lse, TAKES_F32},
                                          {"x", &a->x, TAKES_REAL},
                                          {"start", &a->start, TAKES_I32},
                                          {0}});
}

static int softmax_grad_run(const hpc_launch *l, const void *args)
{
    const hpc_graph_softmax_grad_args *a = args;
    int64_t edges = hpc_tensor_rows(&a->y);
    work w = {.p = path_of(&a->start, edges),
              .x = &a->y,
              .dy = &a->dy,
              .edges = edges,
              .heads = hpc_tensor_cols(&a->y),
              .parts = l->workspace};

    w.vertex = (float *)((char *)l->workspace + parts_bytes(&a->start, &a->y));
    return run(&a->dx, &w, "graph_softmax_grad", l);
}

int HPC_WIDTH(cpu_graph_softmax_grad)(hpc_plan *p, int workers,
                                      const hpc_graph_softmax_grad_args *a)
{
    size_t rows = (size_t)((hpc_tensor_n(&a->start) - 1) * hpc_tensor_cols(&a->y)) * sizeof(float);
    int rc = check_heads("graph_softmax_grad", &a->y);

    (void)workers;
    if (rc < 0) return rc;
    return accept(p,
                  (hpc_plan){.run = softmax_grad_run,
                             .workspace = parts_bytes(&a->start, &a->y) + rows,
                             .name = "graph_softmax_grad_" HPC_ISA_TEXT},
                  (const operand_check[]){{"dx", &a->dx, TAKES_REAL},
                                          {"dy", &a->dy, TAKES_REAL},
                                          {"y", &a->y, TAKES_REAL},
                                          {"start", &a->start, TAKES_I32},
                                          {0}});
}
