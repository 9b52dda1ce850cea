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

static part part_of(const work *w, int64_t lo, int64_t hi, int64_t h)
{
    float a[1], b[1];
    part r = {-INFINITY, 0};

    for (int64_t k = lo; k < hi && w->dy; k++)
        r.sum += *load(a, w->x, k * w->heads + h, 1) * *load(b, w->dy, k * w->heads + h, 1);
    if (w->dy) return r;
    for (int64_t k = lo; k < hi; k++) {
        float x = *load(a, w->x, k * w->heads + h, 1);
        r.most = x > r.most || x != x ? x : r.most;
    }
    if (r.most == -INFINITY) return r;
    for (int64_t k = lo; k < hi; k++)
        r.sum += vec_exp(*load(a, w->x, k * w->heads + h, 1) - r.most);
    return r;
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

    for (path_piece s; path_next(&s, &walk);)
        for (int64_t h = 0; h < w->heads; h++) {
            part r = part_of(w, s.lo, s.hi, h);
            if (s.part == PATH_WHOLE)
                w->vertex[s.v * w->heads + h] = result_of(w, r);
            else
                w->parts[(2 * b + (s.part == PATH_TAIL)) * w->heads + h] = r;
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

/* Elements of `to` by edges: y = exp(x - lse), or dx = y (dy - sum). */
static void apply(const hpc_tensor *to, const work *w, const hpc_launch *l)
{
    int64_t lo, hi;
    float a[1], b[1], y;

    hpc_share(&lo, &hi, w->edges, 1, l->worker, l->workers);
    int64_t v = path_vertex(&w->p, lo);
    for (int64_t k = lo; k < hi; k++) {
        while (v < w->p.vertices && w->p.start[v + 1] <= k) v++;
        for (int64_t h = 0; h < w->heads; h++) {
            int64_t at = k * w->heads + h;
            float by = v < w->p.vertices ? w->vertex[v * w->heads + h] : -INFINITY;
            y = 0;
            if (v < w->p.vertices && w->dy)
                y = *load(a, w->x, at, 1) * (*load(b, w->dy, at, 1) - by);
            else if (by != -INFINITY)
                y = vec_exp(*load(a, w->x, at, 1) - by);
            store(to, at, &y, 1);
        }
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

static size_t parts_bytes(const hpc_tensor *start, const hpc_tensor *x)
{
    int64_t blocks = path_blocks(hpc_tensor_n(start) - 1, hpc_tensor_rows(x));

    return (size_t)(2 * blocks * hpc_tensor_cols(x)) * sizeof(part);
}

int HPC_WIDTH(cpu_graph_softmax)(hpc_plan *p, int workers, const hpc_graph_softmax_args *a)
{
    (void)workers;
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

    (void)workers;
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
