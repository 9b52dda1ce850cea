/*
 * budget.c: how long a prompt may be for a model to read it within a time limit.
 *
 * The model's speed is measured on the first tokens of the prompt, which stay in the cache for the
 * rest of it. Times of other lengths follow from the number of floating-point operations, because
 * the cost of attention grows with the length.
 */
#include <math.h>

#include "infer/complete/priv.h"

enum {
    WARM_UP = 32, /* tokens: memory is touched for the first time */
    CHUNK = 96,   /* tokens of a measurement; the fastest counts, so that a pause does not */
    CHUNKS = 3,
    STEP = 256 /* distance of limits, so that noise seldom changes them */
};

/* An operation of attention takes this many times as long as one of a product: 4089 tokens of a
 * model of 135 million parameters take 11.0 s, 977 take 1.2 s. */
static const double ATTENTION = 4;

/* Operations that the time of n tokens is proportional to. */
static double flops_of(const hpc_model_config *m, int64_t n)
{
    double product = hpc_model_config_flops(m, 1), all = hpc_model_config_flops(m, n);
    return (double)n * (product + ATTENTION * (all - product));
}

static int ignore_token(void *user, int32_t token, float logprob)
{
    (void)user;
    (void)token;
    (void)logprob;
    return 1;
}

/* Computes those of the first n tokens that are not in the cache. */
static int compute(hpc_engine *e, const int32_t *token, int64_t n)
{
    const hpc_request q = {.token = token,
                           .n = n,
                           .most = 1,
                           .sampling = hpc_sampling_greedy(),
                           .token_made = ignore_token};
    bool busy = true;
    int64_t id;
    int rc;
    TRY(hpc_engine_submit(e, &q, &id));
    while (busy) TRY(hpc_engine_step(e, &busy));
out:
    return rc;
}

int complete_budget_measure(double *ns_per_flop, hpc_engine *e, const hpc_ids *prompt)
{
    const hpc_model_config *m = hpc_engine_config(e);
    int rc;
    hpc_assert(prompt->n >= WARM_UP + CHUNKS * CHUNK);
    *ns_per_flop = INFINITY;
    TRY(compute(e, prompt->id, WARM_UP));
    for (int k = 1; k <= CHUNKS; k++) {
        int64_t n = WARM_UP + k * CHUNK, before = hpc_engine_counts_of(e).computed;
        int64_t start = hpc_clock_ns();
        TRY(compute(e, prompt->id, n));
        int64_t computed = hpc_engine_counts_of(e).computed - before;
        double ns = (double)(hpc_clock_ns() - start);
        if (computed > 0)
            *ns_per_flop = fmin(*ns_per_flop, ns / (flops_of(m, n) - flops_of(m, n - computed)));
    }
out:
    return rc;
}

int complete_budget_read(const hpc_complete_request *r, const hpc_ids *prompt)
{
    const hpc_complete_port *port = r->port;
    const hpc_request q = {.token = prompt->id,
                           .n = WARM_UP + CHUNKS * CHUNK,
                           .most = 1,
                           .sampling = hpc_sampling_greedy(),
                           .token_made = ignore_token};
    bool busy = true, cancelled = false;
    int64_t id;
    int rc;
    hpc_assert(prompt->n >= q.n);
    port->enter(port->user);
    TRY(port->submit(port->user, &q, &id));
    while (busy) {
        bool cancels = r->cancel && __atomic_load_n(r->cancel, __ATOMIC_RELAXED);
        if (cancels && !cancelled) port->cancel(port->user, id);
        cancelled = cancels;
        TRY(port->step(port->user, &busy));
    }
out:
    port->leave(port->user);
    return rc;
}

int64_t complete_budget_tokens(const hpc_model_config *m, double ns_per_flop, int64_t ns)
{
    int64_t n = COMPLETE_BUDGET_LEAST;
    while (n + STEP <= m->positions && ns_per_flop * flops_of(m, n + STEP) <= (double)ns) n += STEP;
    return n;
}
