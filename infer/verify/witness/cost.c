/*
 * cost.c: the cost of a watched loop's iterations, and how evenly the schedules of OpenMP would
 * divide it. A cost is a number of accesses, so it does not depend on the machine or its load.
 */
#include "infer/verify/witness/priv.h"

/* Volatile: a call of memset would count as one of the program's. */
static void clear(volatile long long *bucket, const volatile long long *end)
{
    while (bucket < end) *bucket++ = 0;
}

static void halve_resolution(costs *c)
{
    for (int k = 0; k < BUCKETS / 2; k++) c->bucket[k] = c->bucket[2 * k] + c->bucket[2 * k + 1];
    clear(c->bucket + BUCKETS / 2, c->bucket + BUCKETS);
    c->width *= 2;
}

static void end_iteration(costs *c)
{
    const long long cost = (long long)(hpc_witness_accesses + 1 - c->begun);
    if (c->width == 0) c->width = 1;
    if (c->n == c->width * BUCKETS) halve_resolution(c);
    c->bucket[c->n++ / c->width] += cost;
    if (cost > c->most) c->most = cost;
}

void hpc_witness_cost_next(costs *c)
{
    if (c->begun) end_iteration(c);
    c->begun = hpc_witness_accesses + 1;
}

/* The cost of the first n iterations; within a bucket all count as equal. */
static double cost_before(const costs *c, long long n)
{
    double sum = 0;
    long long k = 0;
    for (; (k + 1) * c->width <= n; k++) sum += (double)c->bucket[k];
    const long long first = k * c->width, rest = c->n - first;
    if (n == first) return sum;
    const long long in_bucket = rest < c->width ? rest : c->width;
    return sum + (double)c->bucket[k] * (double)(n - first) / (double)in_bucket;
}

static double static_busiest(const costs *c)
{
    double busiest = 0, before = 0;
    for (int t = 1; t <= COST_THREADS; t++) {
        const double end = cost_before(c, c->n * t / COST_THREADS);
        if (end - before > busiest) busiest = end - before;
        before = end;
    }
    return busiest;
}

/* The thread with the least work takes the next chunk. */
static double guided_busiest(const costs *c)
{
    double work[COST_THREADS] = {0}, before = 0, busiest = 0;
    for (long long n = 0; n < c->n;) {
        int t = 0;
        for (int k = 1; k < COST_THREADS; k++)
            if (work[k] < work[t]) t = k;
        n += (c->n - n + COST_THREADS - 1) / COST_THREADS;
        const double end = cost_before(c, n);
        work[t] += end - before;
        before = end;
        if (work[t] > busiest) busiest = work[t];
    }
    return busiest;
}

void hpc_witness_cost_leave(loop_record *l, costs *c)
{
    if (!c->begun) return;
    end_iteration(c);
    const double whole = cost_before(c, c->n), even = whole / COST_THREADS;
    l->cost += (long long)whole;
    if (c->most > l->most) l->most = c->most;
    l->by_static += (long long)static_busiest(c);
    l->by_guided += (long long)guided_busiest(c);
    l->by_dynamic += (long long)((double)c->most > even ? (double)c->most : even);
    clear(c->bucket, c->bucket + (c->n + c->width - 1) / c->width);
    c->width = c->n = c->most = 0;
    c->begun = 0;
}
