/*
 * worth.c: the measured worth of loops: their share of the program's accesses, their trip counts,
 * and the clauses collapse and schedule that suit the costs of their iterations.
 */
#include <string.h>

#include "infer/verify/witness_priv.h"

enum {
    THREADS = 8,          /* as the recorded run divides costs */
    ENOUGH = 64,          /* iterations of an outer loop that need no collapse */
    CHEAP_ACCESSES = 1000 /* an iteration with fewer costs no more than its assignment by itself */
};
#define EVEN 1.1 /* the busiest thread's part of the best possible one */

static bool runs_threads(const char *directive)
{
    return strstr(directive, " target") == NULL &&
           (strstr(directive, "parallel for") || strstr(directive, "parallel do"));
}

/* A directive without the clause, and with another one before its if clause; NULL: no memory. */
static const char *with_clause(hpc_arena *a, const char *directive, const char *drop,
                               const char *add)
{
    const char *at = strstr(directive, drop);
    if (at) {
        const char *end = strchr(at, ')');
        directive =
            hpc_arena_text(a, "%.*s%s", (int)(at - directive), directive, end ? end + 1 : "");
        if (!directive) return NULL;
    }
    const char *condition = strstr(directive, " if(");
    const size_t n = condition ? (size_t)(condition - directive) : strlen(directive);
    return hpc_arena_text(a, "%.*s%s%s", (int)n, directive, add, directive + n);
}

static int change(witness_state *z, hpc_pragma_loop *l, const char *drop, const char *add)
{
    l->pragma = with_clause(z->l->arena, l->pragma, drop, add);
    return l->pragma ? HPC_OK : HPC_E_NOMEM;
}

/* ---- collapse
 * ------------------------------------------------------------------------------------
 */

/* The loop directly inside it is entered once per iteration of the outer one. */
static double outer_trips(const witness_state *z, int64_t k)
{
    for (int64_t i = k + 1; i < z->l->n; i++)
        if (z->l->item[i].outer == k)
            return (double)z->seen[i].refused / (double)z->seen[k].entered;
    return 0;
}

static int fit_collapse(witness_state *z, int64_t k)
{
    hpc_pragma_loop *l = &z->l->item[k];
    const double trips = outer_trips(z, k);
    int rc;
    if (l->existing || !strstr(l->pragma, " collapse(") || trips < ENOUGH) return HPC_OK;
    TRY(change(z, l, " collapse(", ""));
    rc = evidence_add(z->l, l, "cost", 0,
                      "no collapse: the outer loop alone had %.0f iterations in the recorded run",
                      trips);
out:
    return rc;
}

/* ---- schedule
 * ------------------------------------------------------------------------------------
 */

static const char *best_schedule(const witness_passage *seen)
{
    const double even = EVEN * (double)seen->by_dynamic;
    if ((double)seen->by_static <= even) return "";
    const bool is_cheap = seen->cost < CHEAP_ACCESSES * seen->iterations;
    return is_cheap && (double)seen->by_guided <= even ? " schedule(guided)" : " schedule(dynamic)";
}

/* The busiest thread's accesses as a multiple of an equal share. */
static double load(const witness_passage *seen, long long busiest)
{
    return THREADS * (double)busiest / (double)seen->cost;
}

static int fit_schedule(witness_state *z, int64_t k)
{
    const witness_passage *seen = &z->seen[k];
    hpc_pragma_loop *l = &z->l->item[k];
    const char *directive = directive_of(l), *best = best_schedule(seen);
    const bool has_one = strstr(directive, " schedule(") != NULL;
    int rc = HPC_OK;
    if (seen->iterations < 2 * THREADS * seen->entered || (!*best && !has_one)) return HPC_OK;
    if (!l->existing) TRY(change(z, l, " schedule(", best));
    if (!*best)
        return evidence_add(
            z->l, l, "cost", 0,
            "no schedule: the busiest of %d threads would have %.2f times its share "
            "of the recorded accesses",
            THREADS, load(seen, seen->by_static));
    const bool guided = strcmp(best, " schedule(guided)") == 0;
    rc = evidence_add(z->l, l, "cost", 0,
                      "%s: the busiest of %d threads would have %.2f times its share of the "
                      "recorded accesses, %.2f times with the default",
                      best + 1, THREADS, load(seen, guided ? seen->by_guided : seen->by_dynamic),
                      load(seen, seen->by_static));
out:
    return rc;
}

/* ---- share
 * ------------------------------------------------------------------------------------
 */

/* All entries cost what the watched ones cost. */
static double in_all(const witness_passage *seen, long long watched)
{
    return (double)watched * (double)seen->entries / (double)seen->entered;
}

/* The accesses of each loop; at least those of the loops in it, because a loop is not watched on
 * after its conflict was found. */
static void add_up(double *cost, const witness_state *z)
{
    for (int64_t k = z->l->n - 1; k >= 0; k--) {
        const witness_passage *seen = &z->seen[k];
        const double own = seen->entered > 0 ? in_all(seen, seen->cost) : 0;
        const int64_t outer = z->l->item[k].outer;
        if (own > cost[k]) cost[k] = own;
        if (outer >= 0 && outer < k) cost[outer] += cost[k];
    }
}

static void measure(witness_state *z, const double *cost)
{
    double accesses = (double)z->accesses;
    for (int64_t k = 0; k < z->l->n; k++)
        if (cost[k] > accesses) accesses = cost[k];
    for (int64_t k = 0; k < z->l->n; k++) {
        const witness_passage *seen = &z->seen[k];
        hpc_pragma_loop *l = &z->l->item[k];
        if (seen->entered == 0 || cost[k] <= 0) continue;
        l->entered = seen->entries;
        l->iterations = (int64_t)in_all(seen, seen->iterations);
        if (l->share > 0) continue;
        l->share = cost[k] / accesses;
        l->recorded = true;
    }
}

int witness_worth(witness_state *z)
{
    int rc = HPC_OK;
    double *cost = hpc_alloc((size_t)z->l->n, sizeof *cost);
    if (!cost) return HPC_E_NOMEM;
    add_up(cost, z);
    measure(z, cost);
    for (int64_t k = 0; k < z->l->n; k++) {
        const hpc_pragma_loop *l = &z->l->item[k];
        if (l->entered == 0 || z->seen[k].cost == 0 || l->verdict < HPC_VERDICT_CONDITIONAL ||
            !l->pragma || !runs_threads(l->pragma))
            continue;
        TRY(fit_collapse(z, k));
        TRY(fit_schedule(z, k));
    }
out:
    hpc_free(cost);
    return rc;
}
