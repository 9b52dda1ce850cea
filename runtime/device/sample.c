/*
 * sample.c: a token from a row of logits, on the host. A heap yields the tokens in order, highest
 * logit first.
 */
#include "runtime/device/kernel/sample.h"

typedef struct candidate {
    float logit;
    int32_t token;
} candidate;

/* The heap is in [0, n); tokens that left it follow from the end: the first is at [all - 1]. */
typedef struct order {
    candidate *list;
    int64_t n, all;
} order;

size_t hpc_sample_bytes(int64_t n)
{
    return (size_t)n * sizeof(candidate);
}

static bool is_before(candidate a, candidate b)
{
    return a.logit > b.logit || (a.logit == b.logit && a.token < b.token);
}

static void sink(candidate *heap, int64_t n, int64_t at)
{
    candidate x = heap[at];

    for (int64_t child; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && is_before(heap[child + 1], heap[child])) child++;
        if (!is_before(heap[child], x)) break;
        heap[at] = heap[child];
    }
    heap[at] = x;
}

static candidate at_rank(order *o, int64_t k)
{
    while (o->all - o->n <= k) {
        candidate top = o->list[0], last = o->list[--o->n];
        o->list[0] = last;
        o->list[o->n] = top;
        sink(o->list, o->n, 0);
    }
    return o->list[o->all - 1 - k];
}

static void walk(hpc_sample_walk *w, order *o, double inverse, float top)
{
    while (w->n < o->all) {
        candidate c = at_rank(o, w->n);
        if (!hpc_sample_step(w, hpc_sample_relative(inverse, c.logit, top), c.token)) return;
    }
}

static int32_t draw_in_order(const hpc_sample_how *h, order *o, float top)
{
    hpc_sample_walk counted = hpc_sample_counted(h), kept, drawn;

    for (int64_t at = o->n / 2 - 1; at >= 0; at--) sink(o->list, o->n, at);
    if (h->top_k > 0) {
        walk(&counted, o, h->inverse, top);
    } else {
        for (int64_t k = 0; k < o->all; k++)
            counted.sum +=
                hpc_sample_weight(hpc_sample_relative(h->inverse, o->list[k].logit, top));
    }
    kept = hpc_sample_kept(h, o->all, counted.sum);
    walk(&kept, o, h->inverse, top);
    drawn = hpc_sample_drawn(h, &kept);
    walk(&drawn, o, h->inverse, top);
    return drawn.token;
}

/* Those that are kept, by number; the list loses the others. */
static int32_t draw_by_number(const hpc_sample_how *h, order *o, float top)
{
    hpc_sample_walk kept = {0}, drawn;

    for (int64_t k = 0; k < o->all; k++) {
        const double z = hpc_sample_relative(h->inverse, o->list[k].logit, top);
        if (z < h->least) continue;
        kept.sum += hpc_sample_weight(z);
        o->list[kept.n++] = o->list[k];
    }
    drawn = hpc_sample_drawn(h, &kept);
    for (int64_t k = 0; k < kept.n; k++)
        if (!hpc_sample_step(&drawn, hpc_sample_relative(h->inverse, o->list[k].logit, top),
                             o->list[k].token))
            break;
    return drawn.token;
}

int32_t hpc_sample_row(const hpc_sample_how *h, const float *logit, int64_t n, void *workspace)
{
    order o = {.list = workspace};
    candidate best = {-INFINITY, -1};

    for (int64_t t = 0; t < n; t++)
        if (logit[t] > best.logit) best = (candidate){logit[t], (int32_t)t};
    if (best.token < 0 || hpc_sample_is_greedy(h)) return best.token;
    for (int64_t t = 0; t < n; t++)
        if (logit[t] > -INFINITY) o.list[o.n++] = (candidate){logit[t], (int32_t)t};
    o.all = o.n;
    return hpc_sample_is_unordered(h) ? draw_by_number(h, &o, best.logit)
                                      : draw_in_order(h, &o, best.logit);
}
