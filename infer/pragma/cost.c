/*
 * cost.c: the cost of an iteration with the loops inside it, as a number of simple operations and
 * as a product with the trip counts that an if clause may test.
 */
#include <math.h>

#include "infer/pragma/walk.h"

double nest_estimate(const nest_cost *n)
{
    double all = n->operations;
    for (int32_t k = 0; k < n->n; k++) all *= TRIPS_GUESSED;
    return all;
}

/* The trip count times the stride, if each iteration of the loop runs an inner loop equally often;
 * else NULL. */
static const poly *steady_width(walk *w, const loop_head *h, double *stride)
{
    const poly *width = poly_plus(w->prover, poly_less(w->prover, h->hi, h->lo), 1);
    int64_t c;
    if (w->depth > 0 || w->leaves || !poly_is_number(h->stride, &c) || c == 0) return NULL;
    if (!width || poly_varies(w->prover, width)) return NULL;
    *stride = fabs((double)c);
    return width;
}

void cost_add_inner(walk *w, const loop_cost *before, const loop_head *head)
{
    loop_cost *c = &w->loop->cost;
    const double body = c->operations - before->operations + 1;
    const poly *steady = NULL;
    nest_cost nest = c->nest;
    double times = TRIPS_GUESSED, stride = 1;
    int64_t width;
    if (head && poly_is_number(poly_less(w->prover, head->hi, head->lo), &width)) {
        if (width >= 0) times = (double)width + 1;
    } else if (head) {
        steady = steady_width(w, head, &stride);
    }
    if (nest_estimate(&nest) < body / 2) nest = (nest_cost){.strides = 1, .operations = body};
    if (steady && nest.n < NEST_LOOPS) {
        nest.width[nest.n++] = steady;
        nest.strides *= stride;
    } else {
        nest.operations *= times;
    }
    c->operations = before->operations + body * times;
    c->nest = nest_estimate(&nest) > nest_estimate(&before->nest) ? nest : before->nest;
}
