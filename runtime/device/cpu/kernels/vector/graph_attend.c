/*
 * graph_attend.c: attention over the edges of a vertex: rows of sources, averaged by the softmax
 * over edges. A softmax over several runs or blocks of edges keeps a running maximum and sum.
 */
#include "runtime/device/cpu/kernels/graph_attend.h"

/* ---- graph_attend: a slot has maxima, sums of weights and weighted rows --------------------- */

static void scale_head(float *rows, const work *w, int64_t h, float by)
{
    float *row = rows + h * w->width;

#pragma omp simd
    for (int64_t c = 0; c < w->width; c++) row[c] *= by;
}

/* Raises the maximum of head h to at least `least_most`. */
static void raise(float *slot, const work *w, int64_t h, float least_most)
{
    float *most = slot + h, *sum = slot + w->heads + h;

    if (!(least_most > *most)) return;
    if (*sum != 0) {
        float by = vec_exp_down(*most - least_most);
        *sum *= by;
        scale_head(slot + 2 * w->heads, w, h, by);
    }
    *most = least_most;
}

/* Scores of head h, in whole vectors, become weights relative to the maximum of the slot. */
static void weigh(float *t, float *slot, const work *w, int64_t h, int64_t n)
{
    float lane[VEC], most = -INFINITY, sum = 0, shift;

    for (int64_t i = 0; i < VEC; i++) lane[i] = -INFINITY;
    for (int64_t e = 0; e < n; e += VEC) {
#pragma omp simd
        for (int64_t i = 0; i < VEC; i++) {
            t[e + i] = leaky(t[e + i], w->slope);
            lane[i] = t[e + i] > lane[i] ? t[e + i] : lane[i];
        }
    }
    for (int64_t i = 0; i < VEC; i++) most = lane[i] > most ? lane[i] : most;
    raise(slot, w, h, most);
    shift = slot[h] == -INFINITY ? 0 : slot[h];
#pragma omp simd reduction(+ : sum)
    for (int64_t e = 0; e < n; e++) {
        t[e] = vec_exp_down(t[e] - shift);
        sum += t[e];
    }
    slot[w->heads + h] += sum;
}

static void attend_find(float *slot, const work *w, int64_t v, int64_t lo, int64_t hi)
{
    float buffer[HEADS_MOST];
    const float *near = load(buffer, w->near, v * w->heads, w->heads);
    scores t;

    for (int64_t i = 0; i < w->slot; i++) slot[i] = i < w->heads ? -INFINITY : 0;
    for (int64_t k = lo, n; k < hi; k += n) {
        n = least(RUN, hi - k);
        add_terms(t, w, near, k, n);
        for (int64_t h = 0; h < w->heads; h++) weigh(t + h * RUN, slot, w, h, padded(n));
        add_rows(slot + 2 * w->heads, w, t, k, n);
    }
}

static void attend_join(float *slot, const float *more, const work *w)
{
    const int64_t heads = w->heads;

    for (int64_t h = 0; h < heads; h++) {
        raise(slot, w, h, more[h]);
        float by = more[heads + h] == 0 ? 0 : vec_exp_down(more[h] - slot[h]);
        const float *from = more + 2 * heads + h * w->width;
        float *to = slot + 2 * heads + h * w->width;
        slot[heads + h] += by * more[heads + h];
#pragma omp simd
        for (int64_t c = 0; c < w->width; c++) to[c] += by * from[c];
    }
}

static void attend_finish(const work *w, int64_t v, float *slot)
{
    float *lse = (float *)w->out[1]->data + v * w->heads, *rows = slot + 2 * w->heads;

    for (int64_t h = 0; h < w->heads; h++) {
        float sum = slot[w->heads + h];
        scale_head(rows, w, h, sum == 0 ? 0 : 1 / sum);
        lse[h] = sum == 0 ? -INFINITY : slot[h] + logf(sum);
    }
    store(w->out[0], v * w->cols, rows, w->cols);
}

static const pass attend_pass = {
    .op = "graph_attend", .find = attend_find, .join = attend_join, .finish = attend_finish};

static int attend_run(const hpc_launch *l, const void *args)
{
    const hpc_graph_attend_args *a = args;
    work w = work_of(&a->start, &a->index, &a->x, &a->target, (float)a->attr.slope);

    w.far = &a->source;
    w.out[0] = &a->y, w.out[1] = &a->lse;
    w.slots = l->workspace;
    w.slot = w.cols + 2 * w.heads;
    return run(&attend_pass, &w, l);
}

int HPC_WIDTH(cpu_graph_attend)(hpc_plan *p, int workers, const hpc_graph_attend_args *a)
{
    int64_t slot = hpc_tensor_cols(&a->x) + 2 * hpc_tensor_cols(&a->target);
    int rc = check_heads("graph_attend", &a->target);

    if (rc < 0) return rc;
    return accept(p,
                  (hpc_plan){.run = attend_run,
                             .workspace = slots_bytes(&a->start, &a->index, slot, workers),
                             .name = "graph_attend_" HPC_ISA_TEXT},
                  (const operand_check[]){{"y", &a->y, TAKES_REAL},
                                          {"lse", &a->lse, TAKES_F32},
                                          {"x", &a->x, TAKES_REAL},
                                          {"target", &a->target, TAKES_REAL},
                                          {"source", &a->source, TAKES_REAL},
                                          {"start", &a->start, TAKES_I32},
                                          {"index", &a->index, TAKES_I32},
                                          {0}});
}
