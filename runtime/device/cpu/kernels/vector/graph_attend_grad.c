/*
 * graph_attend_grad.c: gradients of attention over the edges of a vertex, which recompute scores:
 * of the terms of targets by the graph, of the terms and rows of sources by its transpose.
 */
#include "runtime/device/cpu/kernels/graph_attend.h"

/* ---- runs of edges ------------------------------------------------------------------------- */

/* Weights of a run of edges, slopes at their scores, products of the rows of both ends, and the
 * deltas of targets. */
typedef struct weighed {
    scores p, rise, q, delta;
} weighed;

static void find_weights(weighed *g, const work *w, const float *near, int64_t v, int64_t k,
                         int64_t n)
{
    const int64_t heads = w->heads, end = padded(n);

    add_terms(g->p, w, near, k, n);
    for (int64_t e = 0; e < n; e++) {
        int64_t target = w->transposed ? w->index[k + e] : v;
        const float *lse = w->lse + target * heads;
        for (int64_t h = 0; h < heads; h++) {
            float r = g->p[h * RUN + e];
            g->rise[h * RUN + e] = r > 0 ? 1 : w->slope;
            g->delta[h * RUN + e] = w->transposed ? w->delta[target * heads + h] : 0;
            g->p[h * RUN + e] = lse[h] == -INFINITY ? lse[h] : leaky(r, w->slope) - lse[h];
        }
    }
    for (int64_t h = 0; h < heads; h++) {
        float *p = g->p + h * RUN;
        for (int64_t e = n; e < end; e++) g->rise[h * RUN + e] = g->delta[h * RUN + e] = 0;
#pragma omp simd
        for (int64_t e = 0; e < end; e++) p[e] = vec_exp_down(p[e]);
    }
}

/* The product of columns of head h of vertex v and of the other end of edge k. */
static float multiply_head(const work *w, int64_t v, int64_t k, int64_t h)
{
    float first[CHUNK], second[CHUNK], sum = 0;

    for (int64_t c = h * w->width; c < (h + 1) * w->width; c += CHUNK) {
        int64_t n = least(CHUNK, (h + 1) * w->width - c);
        const float *a = load(first, w->own, v * w->cols + c, n);
        const float *b = load(second, w->row, w->index[k] * w->cols + c, n);
#pragma omp simd reduction(+ : sum)
        for (int64_t i = 0; i < n; i++) sum += a[i] * b[i];
    }
    return sum;
}

static void weigh_run(weighed *g, const work *w, const float *near, int64_t v, int64_t k, int64_t n)
{
    find_weights(g, w, near, v, k, n);
    for (int64_t h = 0; h < w->heads; h++)
        for (int64_t e = 0; e < padded(n); e++)
            g->q[h * RUN + e] = e < n ? multiply_head(w, v, k + e, h) : 0;
}

/* ---- graph_attend_target ------------------------------------------------------------------- */

/* A slot has, by head, a base and sums over edges with d = q - base. The base is the mean q of the
 * first run, so that sums of d remain small, and are 0 for one edge. */
enum { BASE, P, PD, PRISE, PDRISE, TARGET_SUMS };

static float mean_of(const float *p, const float *q, int64_t n)
{
    float all = 0, pq = 0;

#pragma omp simd reduction(+ : all, pq)
    for (int64_t e = 0; e < n; e++) {
        all += p[e];
        pq += p[e] * q[e];
    }
    return all == 0 ? q[0] : pq / all;
}

static void add_target_sums(float *slot, const work *w, const weighed *g, int64_t h, int64_t n)
{
    const float *p = g->p + h * RUN, *q = g->q + h * RUN, *rise = g->rise + h * RUN;
    const float base = slot[BASE * w->heads + h];
    float all = 0, pd = 0, pr = 0, pdr = 0;

#pragma omp simd reduction(+ : all, pd, pr, pdr)
    for (int64_t e = 0; e < n; e++) {
        float d = q[e] - base;
        all += p[e];
        pd += p[e] * d;
        pr += p[e] * rise[e];
        pdr += p[e] * d * rise[e];
    }
    slot[P * w->heads + h] += all;
    slot[PD * w->heads + h] += pd;
    slot[PRISE * w->heads + h] += pr;
    slot[PDRISE * w->heads + h] += pdr;
}

static void target_find(float *slot, const work *w, int64_t v, int64_t lo, int64_t hi)
{
    float buffer[HEADS_MOST];
    const float *near = load(buffer, w->near, v * w->heads, w->heads);
    weighed g;

    memset(slot, 0, (size_t)w->slot * sizeof *slot);
    for (int64_t k = lo, n; k < hi; k += n) {
        n = least(RUN, hi - k);
        weigh_run(&g, w, near, v, k, n);
        for (int64_t h = 0; h < w->heads; h++) {
            if (k == lo)
                slot[BASE * w->heads + h] = mean_of(g.p + h * RUN, g.q + h * RUN, padded(n));
            add_target_sums(slot, w, &g, h, padded(n));
        }
    }
}

static void target_join(float *slot, const float *more, const work *w)
{
    const int64_t heads = w->heads;

    for (int64_t h = 0; h < heads; h++) {
        float shift = more[BASE * heads + h] - slot[BASE * heads + h];
        slot[P * heads + h] += more[P * heads + h];
        slot[PD * heads + h] += more[PD * heads + h] + shift * more[P * heads + h];
        slot[PRISE * heads + h] += more[PRISE * heads + h];
        slot[PDRISE * heads + h] += more[PDRISE * heads + h] + shift * more[PRISE * heads + h];
    }
}

/* Weights add up to 1, but for an error of the lse that all of them have in common. */
static void target_finish(const work *w, int64_t v, float *slot)
{
    const int64_t heads = w->heads;
    float *base = slot + BASE * heads, *gradient = slot + PDRISE * heads;

    for (int64_t h = 0; h < heads; h++) {
        float sum = slot[P * heads + h], mean = sum == 0 ? 0 : slot[PD * heads + h] / sum;
        gradient[h] -= mean * slot[PRISE * heads + h];
        base[h] = sum == 0 ? 0 : base[h] + mean;
    }
    store(w->out[1], v * heads, base, heads);
    if (w->out[0]->data) store(w->out[0], v * heads, gradient, heads);
}

static const pass target_pass = {
    .op = "graph_attend_target", .find = target_find, .join = target_join, .finish = target_finish};

/* ---- graph_attend_source: a slot has the gradients of terms and of the row ------------------- */

static void source_find(float *slot, const work *w, int64_t u, int64_t lo, int64_t hi)
{
    const int64_t heads = w->heads;
    float buffer[HEADS_MOST];
    const float *near = load(buffer, w->near, u * heads, heads);
    weighed g;

    memset(slot, 0, (size_t)w->slot * sizeof *slot);
    for (int64_t k = lo, n; k < hi; k += n) {
        n = least(RUN, hi - k);
        weigh_run(&g, w, near, u, k, n);
        for (int64_t h = 0; h < heads; h++) {
            const float *p = g.p + h * RUN, *q = g.q + h * RUN;
            const float *rise = g.rise + h * RUN, *delta = g.delta + h * RUN;
            float sum = 0;
#pragma omp simd reduction(+ : sum)
            for (int64_t e = 0; e < padded(n); e++) sum += p[e] * (q[e] - delta[e]) * rise[e];
            slot[h] += sum;
        }
        if (w->out[1]->data) add_rows(slot + heads, w, g.p, k, n);
    }
}

static void source_join(float *slot, const float *more, const work *w)
{
#pragma omp simd
    for (int64_t i = 0; i < w->slot; i++) slot[i] += more[i];
}

static void source_finish(const work *w, int64_t u, float *slot)
{
    if (w->out[0]->data) store(w->out[0], u * w->heads, slot, w->heads);
    if (w->out[1]->data) store(w->out[1], u * w->cols, slot + w->heads, w->cols);
}

static const pass source_pass = {
    .op = "graph_attend_source", .find = source_find, .join = source_join, .finish = source_finish};

static int target_run(const hpc_launch *l, const void *args)
{
    const hpc_graph_attend_target_args *a = args;
    work w = work_of(&a->start, &a->index, &a->x, &a->target, (float)a->attr.slope);

    w.far = &a->source;
    w.own = &a->dy;
    w.lse = a->lse.data;
    w.out[0] = &a->dtarget, w.out[1] = &a->delta;
    w.slots = l->workspace;
    w.slot = TARGET_SUMS * w.heads;
    return run(&target_pass, &w, l);
}

int HPC_WIDTH(cpu_graph_attend_target)(hpc_plan *p, int workers,
                                       const hpc_graph_attend_target_args *a)
{
    int64_t slot = TARGET_SUMS * hpc_tensor_cols(&a->target);
    int rc = check_heads("graph_attend_target", &a->target);

    if (rc < 0) return rc;
    return accept(p,
                  (hpc_plan){.run = target_run,
                             .workspace = slots_bytes(&a->start, &a->index, slot, workers),
                             .name = "graph_attend_target_" HPC_ISA_TEXT},
                  (const operand_check[]){{"dtarget", &a->dtarget, TAKES_REAL},
                                          {"delta", &a->delta, TAKES_F32},
                                          {"dy", &a->dy, TAKES_REAL},
                                          {"x", &a->x, TAKES_REAL},
                                          {"target", &a->target, TAKES_REAL},
                                          {"source", &a->source, TAKES_REAL},
                                          {"lse", &a->lse, TAKES_F32},
                                          {"start", &a->start, TAKES_I32},
                                          {"index", &a->index, TAKES_I32},
                                          {0}});
}

static int source_run(const hpc_launch *l, const void *args)
{
    const hpc_graph_attend_source_args *a = args;
    work w = work_of(&a->back_start, &a->back_index, &a->dy, &a->source, (float)a->attr.slope);

    w.far = &a->target;
    w.own = &a->x;
    w.lse = a->lse.data;
    w.delta = a->delta.data;
    w.out[0] = &a->dsource, w.out[1] = &a->dx;
    w.transposed = true;
    w.slots = l->workspace;
    w.slot = w.heads + w.cols;
    return run(&source_pass, &w, l);
}

int HPC_WIDTH(cpu_graph_attend_source)(hpc_plan *p, int workers,
                                       const hpc_graph_attend_source_args *a)
{
    int64_t slot = hpc_tensor_cols(&a->x) + hpc_tensor_cols(&a->source);
    int rc = check_heads("graph_attend_source", &a->source);

    if (rc < 0) return rc;
    return accept(
        p,
        (hpc_plan){.run = source_run,
                   .workspace = slots_bytes(&a->back_start, &a->back_index, slot, workers),
                   .name = "graph_attend_source_" HPC_ISA_TEXT},
        (const operand_check[]){{"dsource", &a->dsource, TAKES_REAL},
                                {"dx", &a->dx, TAKES_REAL},
                                {"x", &a->x, TAKES_REAL},
                                {"dy", &a->dy, TAKES_REAL},
                                {"target", &a->target, TAKES_REAL},
                                {"source", &a->source, TAKES_REAL},
                                {"lse", &a->lse, TAKES_F32},
                                {"delta", &a->delta, TAKES_F32},
                                {"back_start", &a->back_start, TAKES_I32},
                                {"back_index", &a->back_index, TAKES_I32},
                                {0}});
}
