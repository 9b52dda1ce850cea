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

static void add_pair(tally *t, double score, double graph)
{
    t->pairs++;
    for (int w = 0; w < WEIGHTS; w++) {
        double share = (double)w / (WEIGHTS - 1);
        double ahead = share * graph + (share < 1 ? (1 - share) * score : 0);
        t->right[w] += ahead > 0 ? 1 : ahead < 0 ? 0 : 0.5;
    }
}

static void count(tally *t, const code_set *s, bool has_score)
{
    double by_score = deviation(s, false), by_graph = deviation(s, true);
    for (int64_t a = 0; a < s->n; a++)
        for (int64_t b = 0; b < s->n; b++) {
            const code_sample *one = &s->item[a], *zero = &s->item[b];
            if (one->fold < 0 || zero->fold < 0 || one->group != zero->group) continue;
            if (one->label != 1 || zero->label != 0) continue;
            add_pair(&t[one->group], has_score ? (one->score - zero->score) / by_score : 0,
                     (one->graph_score - zero->graph_score) / by_graph);
        }
}

/* The weight with the largest area over all groups but one. */
static int weight_without(const tally *t, int64_t groups, int64_t without)
{
    int best = 0;
    double most = -1;
    for (int w = 0; w < WEIGHTS; w++) {
        double right = 0;
        for (int64_t g = 0; g < groups; g++)
            if (g != without) right += t[g].right[w];
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
    for (int64_t a = 0; a < s->n; a++)
        for (int64_t b = 0; b < s->n; b++)
            if (s->item[a].fold >= 0 && s->item[b].fold >= 0 && s->item[a].label == 1 &&
                s->item[b].label == 0 && s->item[a].group == s->item[b].group)
                return HPC_OK;
    return hpc_fail(HPC_E_ARG, "no group has samples of both labels in a fold from 0 on: nothing "
                               "can be compared");
}

int code_areas(hpc_eval_code_result *out, const code_set *s, uint64_t seed)
{
    int64_t groups = hpc_map_n(s->groups), used = 0;
    tally *t = hpc_alloc((size_t)groups + 1, sizeof *t);
    int rc = HPC_OK;
    if (!t) return HPC_E_NOMEM;
    count(t, s, out->has_score);
    for (int64_t g = 0; g < groups; g++)
        if (t[g].pairs > 0) t[used++] = t[g];
    for (int64_t g = 0; g < used; g++)
        t[g].both = t[g].right[out->has_score ? weight_without(t, used, g) : WEIGHTS - 1];
    out->groups = used;
    rc = resample(out, t, used, seed);
    hpc_free(t);
    return rc;
}

const char *hpc_eval_code_method_name(hpc_eval_code_method m)
{
    static const char *const names[] = {"score", "graph", "both"};
    return names[m];
}
