/*
 * Areas under the curve over pairs of samples of one group, the choice of weights, and intervals.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "eval/code_priv.h"

enum { WEIGHTS = 21 }; /* of the graph, from 0 to 1 */

/* Pairs of a group in which the sample with label 1 has the higher sum; ties count half. */
typedef struct tally {
    double pairs, right[WEIGHTS], both;
} tally;

static double deviation(const code_set *s, bool graph)
{
    double sum = 0, squares = 0, n = 0;
    for (int64_t k = 0; k < s->n; k++) {
        double v = graph ? s->item[k].graph_score : s->item[k].score;
        if (s->item[k].fold < 0 || isnan(v)) continue;
        n++;
        sum += v;
        squares += v * v;
    }
    double variance = n > 0 ? squares / n - sum / n * (sum / n) : 0;
    return variance > 0 ? sqrt(variance) : 1;
}

typedef struct scales {
    double score, graph; /* deviations */
    bool has_score;
} scales;

typedef struct ranked {
    double key; /* NAN: half of its pairs count, as with ties */
    bool one;
} ranked;

/* The weighted sum. One method alone keeps its own numbers, whose order rounding cannot change. */
static double key_of(const code_sample *x, int weight, const scales *by)
{
    double share = (double)weight / (WEIGHTS - 1), score = by->has_score ? x->score : 0;
    if (weight == 0) return score;
    if (weight == WEIGHTS - 1) return x->graph_score;
    return share * x->graph_score / by->graph + (1 - share) * score / by->score;
}

static int by_key(const void *a, const void *b)
{
    double x = ((const ranked *)a)->key, y = ((const ranked *)b)->key;
    if (isnan(x) || isnan(y)) return isnan(x) - isnan(y);
    return (x > y) - (x < y);
}

/* Pairs in which label 1 has the higher key, in one pass over sorted samples. */
static double count_right(const ranked *x, int64_t n)
{
    double right = 0, ones = 0, zeros = 0; /* before the samples of one key */
    for (int64_t k = 0; k < n;) {
        double key = x[k].key, own[2] = {0};
        do own[x[k++].one]++;
        while (k < n && (x[k].key == key || (isnan(x[k].key) && isnan(key))));
        right += own[1] * (zeros + own[0] / 2);
        if (isnan(key)) right += (ones * own[0] - own[1] * zeros) / 2;
        ones += own[1];
        zeros += own[0];
    }
    return right;
}

/* x: scratch for n. */
static void count_group(tally *t, ranked *x, const code_sample *const *of, int64_t n,
                        const scales *by)
{
    double ones = 0;
    for (int64_t k = 0; k < n; k++) ones += (double)of[k]->label;
    t->pairs = ones * ((double)n - ones);
    for (int w = 0; t->pairs > 0 && w < WEIGHTS; w++) {
        for (int64_t k = 0; k < n; k++)
            x[k] = (ranked){.key = key_of(of[k], w, by), .one = of[k]->label == 1};
        qsort(x, (size_t)n, sizeof *x, by_key);
        t->right[w] = count_right(x, n);
    }
}

static int by_group(const void *a, const void *b)
{
    int64_t x = (*(const code_sample *const *)a)->group,
            y = (*(const code_sample *const *)b)->group;
    return (x > y) - (x < y);
}

static int count(tally *t, const code_set *s, bool has_score)
{
    const scales by = {deviation(s, false), deviation(s, true), has_score};
    const code_sample **of = hpc_alloc((size_t)s->n + 1, sizeof *of);
    ranked *x = hpc_alloc((size_t)s->n + 1, sizeof *x);
    int64_t n = 0, end;
    int rc = of && x ? HPC_OK : HPC_E_NOMEM;
    for (int64_t k = 0; rc == HPC_OK && k < s->n; k++)
        if (s->item[k].fold >= 0) of[n++] = &s->item[k];
    if (n > 0) qsort(of, (size_t)n, sizeof *of, by_group);
    for (int64_t begin = 0; begin < n; begin = end) {
        for (end = begin; end < n && of[end]->group == of[begin]->group;) end++;
        count_group(&t[of[begin]->group], x, of + begin, end - begin, &by);
    }
    hpc_free(x);
    hpc_free(of);
    return rc;
}

static tally sum_of(const tally *t, int64_t groups)
{
    tally all = {0};
    for (int64_t g = 0; g < groups; g++)
        for (int w = 0; w < WEIGHTS; w++) all.right[w] += t[g].right[w];
    return all;
}

/* The weight with the largest area over all groups but one. Counts of halves have no rounding. */
static int weight_without(const tally *all, const tally *one)
{
    int best = 0;
    double most = -1;
    for (int w = 0; w < WEIGHTS; w++) {
        double right = all->right[w] - one->right[w];
        if (right > most) {
            most = right;
            best = w;
        }
    }
    return best;
}

static double right_of(const tally *t, hpc_eval_code_method m)
{
    return m == HPC_EVAL_CODE_SCORE   ? t->right[0]
           : m == HPC_EVAL_CODE_GRAPH ? t->right[WEIGHTS - 1]
                                      : t->both;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void set_interval(hpc_eval_code_value *v, double *sorted)
{
    qsort(sorted, HPC_EVAL_CODE_RESAMPLES, sizeof *sorted, by_value);
    v->low = sorted[HPC_EVAL_CODE_RESAMPLES / 40];
    v->high = sorted[HPC_EVAL_CODE_RESAMPLES - 1 - HPC_EVAL_CODE_RESAMPLES / 40];
}

/* Areas of all methods over groups drawn with the counts of `times`. */
static void areas(double out[HPC_EVAL_CODE_METHODS], const tally *t, const int32_t *times,
                  int64_t groups)
{
    for (int m = 0; m < HPC_EVAL_CODE_METHODS; m++) {
        double right = 0, pairs = 0;
        for (int64_t g = 0; g < groups; g++) {
            right += times[g] * right_of(&t[g], (hpc_eval_code_method)m);
            pairs += times[g] * t[g].pairs;
        }
        out[m] = pairs > 0 ? right / pairs : 0.5;
    }
}

static int resample(hpc_eval_code_result *out, const tally *t, int64_t groups, uint64_t seed)
{
    enum { N = HPC_EVAL_CODE_RESAMPLES, M = HPC_EVAL_CODE_METHODS };
    double *draw = hpc_alloc(2 * M * N, sizeof *draw), one[M];
    int32_t *times = hpc_alloc((size_t)groups + 1, sizeof *times);
    int rc = draw && times ? HPC_OK : HPC_E_NOMEM;
    for (int64_t g = 0; rc == HPC_OK && g < groups; g++) times[g] = 1;
    if (rc == HPC_OK) areas(one, t, times, groups);
    for (int m = 0; rc == HPC_OK && m < M; m++) {
        out->auc[m].value = one[m];
        out->ahead[m].value = one[m] - one[HPC_EVAL_CODE_SCORE];
    }
    for (int64_t r = 0; rc == HPC_OK && r < N; r++) {
        memset(times, 0, (size_t)groups * sizeof *times);
        for (int64_t g = 0; g < groups; g++)
            times[hpc_random_bits(seed, 2, (uint32_t)r, (uint64_t)g) % (uint32_t)groups]++;
        areas(one, t, times, groups);
        for (int m = 0; m < M; m++) {
            draw[m * N + r] = one[m];
            draw[(M + m) * N + r] = one[m] - one[HPC_EVAL_CODE_SCORE];
        }
    }
    for (int m = 0; rc == HPC_OK && m < M; m++) {
        set_interval(&out->auc[m], draw + m * N);
        set_interval(&out->ahead[m], draw + (M + m) * N);
    }
    hpc_free(times);
    hpc_free(draw);
    return rc;
}

int code_check_groups(const code_set *s)
{
    uint8_t *seen = hpc_alloc((size_t)hpc_map_n(s->groups) + 1, 1); /* bit 0, 1: labels */
    bool both = false;
    if (!seen) return HPC_E_NOMEM;
    for (int64_t k = 0; k < s->n && !both; k++) {
        const code_sample *x = &s->item[k];
        if (x->fold < 0) continue;
        seen[x->group] |= (uint8_t)(1 << x->label);
        both = seen[x->group] == 3;
    }
    hpc_free(seen);
    if (both) return HPC_OK;
    return hpc_fail(HPC_E_ARG, "no group has samples of both labels in a fold from 0 on: nothing "
                               "can be compared");
}

int code_areas(hpc_eval_code_result *out, const code_set *s, uint64_t seed)
{
    int64_t groups = hpc_map_n(s->groups), used = 0;
    tally *t = hpc_alloc((size_t)groups + 1, sizeof *t);
    int rc = HPC_OK;
    if (!t) return HPC_E_NOMEM;
    TRY(count(t, s, out->has_score));
    for (int64_t g = 0; g < groups; g++)
        if (t[g].pairs > 0) t[used++] = t[g];
    tally all = sum_of(t, used);
    for (int64_t g = 0; g < used; g++)
        t[g].both = t[g].right[out->has_score ? weight_without(&all, &t[g]) : WEIGHTS - 1];
    out->groups = used;
    TRY(resample(out, t, used, seed));
out:
    hpc_free(t);
    return rc;
}

const char *hpc_eval_code_method_name(hpc_eval_code_method m)
{
    static const char *const names[] = {"score", "graph", "both"};
    return names[m];
}
