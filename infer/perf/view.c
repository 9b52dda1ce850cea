/*
 * Views of a feature vector for the two questions of the learner.
 *
 * Reversing a change flips the sign of counts, and swaps "added" and "removed". All rules for this
 * are in this file.
 */
#include <math.h>
#include <string.h>

#include "infer/perf/learn_priv.h"
#include "infer/perf/feature_priv.h"

/* What one more event costs as a rule, against others; the scale does not matter. */
static const signed char cost[HPC_PERF_EVENTS] = {
    [HPC_PERF_LOOP] = 2,
    [HPC_PERF_SAME_BOUND] = 2,
    [HPC_PERF_CALL] = 1,
    [HPC_PERF_ALLOCATE] = 3,
    [HPC_PERF_FREE] = 1,
    [HPC_PERF_COPY] = 2,
    [HPC_PERF_BY_VALUE] = 2,
    [HPC_PERF_REFERENCE] = -1,
    [HPC_PERF_IO] = 3,
    [HPC_PERF_LOCK] = 3,
    [HPC_PERF_ATOMIC] = 3,
    [HPC_PERF_MATH] = 2,
    [HPC_PERF_INDIRECT] = 2,
    [HPC_PERF_INSERT] = 2,
    [HPC_PERF_LOOKUP] = 2,
    [HPC_PERF_SCAN] = 3,
    [HPC_PERF_SORT] = 3,
    [HPC_PERF_MESSAGE] = 2,
    [HPC_PERF_COLLECTIVE] = 3,
    [HPC_PERF_SYNCHRONISE] = 3,
    [HPC_PERF_LAUNCH] = 2,
    [HPC_PERF_DIVIDE] = 2,
    [HPC_PERF_ARITHMETIC] = 1,
    [HPC_PERF_LOAD] = 1,
    [HPC_PERF_STORE] = 1,
    [HPC_PERF_STRIDED] = 2,
    [HPC_PERF_GATHER] = 2,
    [HPC_PERF_BRANCH] = 1,
    [HPC_PERF_EXIT] = -1,
    [HPC_PERF_RECURSE] = 2,
    [HPC_PERF_THROW] = 1,
    [HPC_PERF_WAIT] = 3,
    [HPC_PERF_THREAD_INDEX] = 2,
    [HPC_PERF_PADDING] = -1,
    [HPC_PERF_PARALLEL] = -1,
    [HPC_PERF_WORKSHARE] = -2,
    [HPC_PERF_SIMD] = -3,
    [HPC_PERF_SERIAL] = 3,
    [HPC_PERF_UNROLL] = -1,
    [HPC_PERF_NOWAIT] = -1,
    [HPC_PERF_DOUBLE] = 1,
    [HPC_PERF_SINGLE] = -1,
    [HPC_PERF_HALF] = -1,
    [HPC_PERF_CONST] = -1,
    [HPC_PERF_RESTRICT] = -2,
    [HPC_PERF_INLINE] = -1,
    [HPC_PERF_NOINLINE] = 2,
    [HPC_PERF_VOLATILE] = 2,
    [HPC_PERF_FLAG_O0] = 8,
    [HPC_PERF_FLAG_O1] = 2,
    [HPC_PERF_FLAG_O2] = -2,
    [HPC_PERF_FLAG_O3] = -3,
    [HPC_PERF_FLAG_DEBUG] = 6,
    [HPC_PERF_FLAG_RELEASE] = -6,
    [HPC_PERF_FLAG_SANITIZE] = 8,
    [HPC_PERF_FLAG_PROFILE] = 3,
    [HPC_PERF_FLAG_NDEBUG] = -2,
    [HPC_PERF_FLAG_MACHINE] = -2,
    [HPC_PERF_FLAG_FAST_MATH] = -2,
    [HPC_PERF_FLAG_OPENMP] = -2,
    [HPC_PERF_FLAG_LTO] = -1,
    [HPC_PERF_FLAG_SLOW] = 3,
};

double perf_signed_log(double v)
{
    return v < 0 ? -log1p(-v) : log1p(v);
}

/* Features of work are logarithms already. */
double perf_view_scaled(int feature, double v)
{
    const hpc_perf_feature *f = hpc_perf_feature_at(feature);
    bool is_log = strstr(f->meaning, "log2") != NULL;
    return is_log ? v * 0.6931471805599453 : perf_signed_log(v);
}

static bool starts(const char *name, const char *with)
{
    return strncmp(name, with, strlen(with)) == 0;
}

/* "lines_added": that of "lines_removed", which stands where the other would in the reverse. */
static int partner(int feature)
{
    static const char *const pairs[][2] = {{"lines_added", "lines_removed"},
                                           {"tokens_added", "tokens_removed"},
                                           {"functions_added", "functions_removed"}};
    const char *name = hpc_perf_feature_at(feature)->name;
    for (size_t k = 0; k < sizeof pairs / sizeof *pairs; k++)
        for (int i = 0; i < 2; i++)
            if (strcmp(name, pairs[k][i]) == 0) return hpc_perf_feature_named(pairs[k][!i]);
    return -1;
}

static bool turns(int feature) /* its sign, in the reverse */
{
    const hpc_perf_feature *f = hpc_perf_feature_at(feature);
    return f->event >= 0 || strcmp(f->name, "nesting") == 0 ||
           strcmp(f->name, "constants_growth") == 0 || strcmp(f->name, "language_slower") == 0 ||
           strcmp(f->name, "estimate_change") == 0 || strcmp(f->name, "heat_cost") == 0;
}

int perf_expected_effect(int feature, double value)
{
    const hpc_perf_feature *f = hpc_perf_feature_at(feature);
    double effect = f->event >= 0 ? cost[f->event] * value : 0;
    if (strcmp(f->name, "estimate_change") == 0 || strcmp(f->name, "heat_cost") == 0)
        effect = value;
    return (effect > 0) - (effect < 0);
}

/* The most informative feature of an event: its work, if that is a feature. */
static bool is_last_of_event(int feature)
{
    int event = hpc_perf_feature_at(feature)->event;
    return event >= 0 &&
           (feature + 1 == HPC_PERF_FEATURES || hpc_perf_feature_at(feature + 1)->event != event);
}

static int sum_of(int feature)
{
    return hpc_perf_feature_at(feature)->event >= HPC_PERF_FLAG_O0 ? PERF_FLAG_SUM : PERF_CODE_SUM;
}

/* What a feature has in the sum over events, before its logarithm. */
static double addend(const hpc_perf_vector *x, int feature)
{
    return is_last_of_event(feature) ? cost[hpc_perf_feature_at(feature)->event] * x->value[feature]
                                     : 0;
}

/* Of many parts of a large change some make it slower and some faster: what all of them add up to
 * says less about which it is than as much in a small one. */
static double firmness(const hpc_perf_vector *x)
{
    static const double SMALL = 128; /* tokens: half of all commits have fewer */
    double n = exp2(x->value[hpc_perf_feature_named("tokens_added")]) +
               exp2(x->value[hpc_perf_feature_named("tokens_removed")]);
    return n > SMALL ? sqrt(SMALL / n) : 1;
}

double perf_code_cost(const hpc_perf_vector *x)
{
    double sum = 0;
    for (int i = 0; i < HPC_PERF_FEATURES; i++)
        if (sum_of(i) == PERF_CODE_SUM) sum += addend(x, i);
    return perf_signed_log(sum);
}

void perf_view_find(perf_view *out, perf_question q, const hpc_perf_vector *x)
{
    memset(out, 0, sizeof *out);
    for (int i = 0; i < HPC_PERF_FEATURES; i++) {
        double t = perf_view_scaled(i, x->value[i]), sum = addend(x, i);
        int other = partner(i);
        out->z[sum_of(i)] += q == PERF_SIZE ? fabs(sum) : sum;
        if (other < 0)
            out->z[i] = q == PERF_SIZE ? fabs(t) : turns(i) ? t : 0;
        else if (i < other)
            out->z[i] = q == PERF_SIZE ? (t + perf_view_scaled(other, x->value[other])) / 2
                                       : t - perf_view_scaled(other, x->value[other]);
        else if (q == PERF_SIZE)
            out->z[i] = fabs(t - perf_view_scaled(other, x->value[other]));
    }
    for (int i = HPC_PERF_FEATURES; i < PERF_WIDTH; i++) out->z[i] = perf_signed_log(out->z[i]);
    out->firm = q == PERF_SIDE ? firmness(x) : 1;
}

void perf_view_weights(double *weight, perf_question q, const hpc_perf_vector *x,
                       const double *contribution)
{
    double sum[PERF_WIDTH] = {0};
    for (int i = 0; i < HPC_PERF_FEATURES; i++) {
        double a = addend(x, i);
        sum[sum_of(i)] += q == PERF_SIZE ? fabs(a) : a;
    }
    for (int i = 0; i < HPC_PERF_FEATURES; i++) {
        double v = x->value[i], a = addend(x, i), c = contribution[i];
        int other = partner(i), s = sum_of(i);
        if (v == 0) continue;
        if (other >= 0) { /* the two columns of a pair belong to both, by what each has in them */
            double t = fabs(perf_view_scaled(i, v)),
                   u = fabs(perf_view_scaled(other, x->value[other]));
            c = (c + contribution[other]) * t / (t + u);
        }
        if (sum[s] != 0) c += contribution[s] * (q == PERF_SIZE ? fabs(a) : a) / sum[s];
        weight[i] += c / v;
    }
}

void perf_view_prior(double weight[PERF_WIDTH], perf_question q)
{
    memset(weight, 0, PERF_WIDTH * sizeof *weight);
    weight[PERF_FLAG_SUM] = 2;
    if (q == PERF_SIZE) {
        weight[hpc_perf_feature_named("changed_work")] = 0.5;
        weight[hpc_perf_feature_named("tokens_added")] = 0.5; /* and removed */
    } else {
        weight[PERF_CODE_SUM] = 1;
        weight[hpc_perf_feature_named("tokens_added")] = 0.5;
    }
}

void perf_view_signs(signed char sign[PERF_WIDTH], perf_question q)
{
    static const char *const less[] = {"no_effect", "only_names", "only_strings", "only_order",
                                       "cold"};
    for (int i = 0; i < PERF_WIDTH; i++) {
        int event = i < HPC_PERF_FEATURES ? hpc_perf_feature_at(i)->event : -1;
        sign[i] = 1;
        if (q == PERF_SIDE && event >= 0) sign[i] = (cost[event] > 0) - (cost[event] < 0);
    }
    for (size_t k = 0; q == PERF_SIZE && k < sizeof less / sizeof *less; k++)
        sign[hpc_perf_feature_named(less[k])] = -1;
    sign[hpc_perf_feature_named("heat_known")] = 0; /* carries no direction */
}

bool hpc_perf_nothing_differs(const hpc_perf_vector *x)
{
    bool none = true;
    for (int i = 0; i < HPC_PERF_FEATURES; i++) {
        const char *name = hpc_perf_feature_at(i)->name;
        bool heat = strcmp(name, "heat_known") == 0 || strcmp(name, "cold") == 0;
        none = none && (heat || x->value[i] == 0);
    }
    for (int i = 0; i < HPC_PERF_FEATURES; i++) {
        const char *name = hpc_perf_feature_at(i)->name;
        if (starts(name, "no_effect") && x->value[i] > 0) none = true;
        if (starts(name, "other_files") && x->value[i] > 0) return false;
    }
    return none;
}

double perf_view_reach(const hpc_perf_vector *x, int feature)
{
    double own = fabs(perf_view_scaled(feature, x->value[feature]));
    int other = partner(feature);
    double its = other < 0 ? 0 : fabs(perf_view_scaled(other, x->value[other]));
    return own > its ? own : its;
}
