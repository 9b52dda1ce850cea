/*
 * weigh.c: how often experts did as is proposed with loops like one.
 *
 * A logistic regression over what the analysis found and, where a model was asked, over what that
 * said. tests/pragma/calibrate.py made the numbers, from loops of repositories that neither the
 * model nor, but for what tests/pragma/experts.md says, the analysis was made with. It knows
 * nothing of the loop's text.
 */
#include <math.h>
#include <string.h>

#include "infer/pragma/pragma.h"

typedef enum feature {
    FEATURE_ONE,
    FEATURE_PARALLEL,
    FEATURE_CONDITIONAL,
    FEATURE_UNSAFE,
    FEATURE_ASSUMPTIONS,
    FEATURE_DEPTH,  /* loops around it */
    FEATURE_WITHIN, /* one of them may run in parallel */
    FEATURE_HOLDS,  /* there are loops in it */
    FEATURE_LINES,  /* the logarithm of how many it has */
    FEATURE_SMALL,
    FEATURE_FORM,      /* it is no loop that could be studied */
    FEATURE_REDUCTION, /* evidence of this kind, and so on */
    FEATURE_CALL,
    FEATURE_CONTROL,
    FEATURE_MEMORY,
    FEATURE_LIKELY, /* the logit of what the model said */
    FEATURE_N
} feature;

/* Without a model, and with one. */
static const double weights[2][FEATURE_N] = {
    {-2.278, 0.117, 1.172, -2.390, -0.746, -1.307, -0.920, 0.580, 0.326, -1.071, -1.648, 0.196,
     0.758, 1.762, 0.390, 0.000},
    {-0.968, 0.000, 0.827, -2.028, -0.680, -1.203, -0.996, 0.612, 0.129, -1.058, -1.176, 0.416,
     0.746, 1.843, 0.857, 0.495}};

static const struct {
    feature is;
    const char *kind;
} kinds[] = {{FEATURE_REDUCTION, "reduction"},
             {FEATURE_CALL, "call"},
             {FEATURE_CONTROL, "control"},
             {FEATURE_MEMORY, "memory"}};

static double at_most(double x, double most)
{
    return x < most ? x : most;
}

static double logit(double p)
{
    const double least = 1e-6;
    p = p < least ? least : p > 1 - least ? 1 - least : p;
    return log(p / (1 - p));
}

static void features_of(double *x, const hpc_pragma_loops *l, int64_t i)
{
    const hpc_pragma_loop *p = &l->item[i];
    memset(x, 0, FEATURE_N * sizeof *x);
    x[FEATURE_ONE] = 1;
    x[FEATURE_PARALLEL] = p->verdict == HPC_VERDICT_PARALLEL;
    x[FEATURE_CONDITIONAL] = p->verdict == HPC_VERDICT_CONDITIONAL;
    x[FEATURE_UNSAFE] = p->verdict == HPC_VERDICT_UNSAFE;
    x[FEATURE_ASSUMPTIONS] = at_most((double)p->assumptions_n, 4);
    for (int32_t k = p->outer; k >= 0; k = l->item[k].outer) {
        x[FEATURE_DEPTH] = at_most(x[FEATURE_DEPTH] + 1, 4);
        if (l->item[k].verdict >= HPC_VERDICT_CONDITIONAL) x[FEATURE_WITHIN] = 1;
    }
    x[FEATURE_HOLDS] = p->holds;
    x[FEATURE_LINES] = log((double)(p->end_line - p->line) + 1);
    x[FEATURE_SMALL] = p->small;
    for (int64_t e = 0; e < p->evidence_n; e++) {
        const hpc_evidence *v = &p->evidence[e];
        if (p->verdict == HPC_VERDICT_UNKNOWN && strcmp(v->kind, "form") == 0) x[FEATURE_FORM] = 1;
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
            if (strcmp(v->kind, kinds[k].kind) == 0) x[kinds[k].is] = 1;
    }
    if (p->likely >= 0) x[FEATURE_LIKELY] = logit(p->likely);
}

void hpc_pragma_weigh(hpc_pragma_loops *l)
{
    for (int64_t i = 0; i < l->n; i++) {
        hpc_pragma_loop *p = &l->item[i];
        double x[FEATURE_N], sum = 0;
        features_of(x, l, i);
        for (int k = 0; k < FEATURE_N; k++) sum += weights[p->likely >= 0][k] * x[k];
        double marked = 1 / (1 + exp(-sum));
        p->confidence = p->verdict >= HPC_VERDICT_CONDITIONAL ? marked : 1 - marked;
    }
}
