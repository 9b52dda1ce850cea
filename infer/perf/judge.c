/*
 * Splits of the examples into training and test parts, and predictions for each test part.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "infer/perf/judge_priv.h"

const char *hpc_perf_method_name(hpc_perf_method r)
{
    static const char *const names[] = {"learner", "majority", "size of the diff", "bag of tokens"};
    return names[r];
}

typedef struct trial {
    const hpc_perf_example *e;
    const hpc_perf_bag *bag;
    int64_t n;
    const hpc_perf_judge_rule *rule;
    hpc_perf_judgement *out;
    int64_t *train, *test; /* places */
    int64_t train_n, test_n;
    bool *is_predicted; /* by example */
    judge_prediction *predicted[HPC_PERF_METHODS];
} trial;

/* ---- one split ----------------------------------------------------------------------------------
 */

static int predict_learner(trial *t)
{
    hpc_perf_example *e = hpc_alloc((size_t)t->train_n + 1, sizeof *e);
    hpc_perf_model *m = NULL;
    int rc = HPC_OK;
    if (!e) TRY(HPC_E_NOMEM);
    for (int64_t k = 0; k < t->train_n; k++) e[k] = t->e[t->train[k]];
    TRY(hpc_perf_learn(&m, e, t->train_n, &t->rule->learn));
    for (int64_t k = 0; k < t->test_n; k++) {
        hpc_perf_estimate y;
        judge_prediction *s = &t->predicted[HPC_PERF_LEARNER][t->test[k]];
        hpc_perf_estimate_find(&y, m, &t->e[t->test[k]].x);
        memcpy(s->p, y.p, sizeof s->p);
        s->verdict = y.verdict;
    }
out:
    hpc_free(e);
    hpc_perf_model_free(m);
    return rc;
}

/* 1: predicted; 0: too few examples to train on. */
static int run(trial *t)
{
    judge_set train = {t->e, t->bag, t->train, t->train_n};
    judge_set test = {t->e, t->bag, t->test, t->test_n};
    int rc = HPC_OK;
    rc = predict_learner(t);
    if (rc == HPC_E_ARG) {
        hpc_error_clear();
        return 0;
    }
    TRY(rc);
    for (int r = HPC_PERF_LEARNER + 1; r < HPC_PERF_METHODS; r++)
        if (t->out->has[r])
            TRY(judge_baseline_predict(t->predicted[r], (hpc_perf_method)r, &train, &test));
    for (int64_t k = 0; k < t->test_n; k++) t->is_predicted[t->test[k]] = true;
    rc = 1;
out:
    return rc;
}

/* ---- splits -------------------------------------------------------------------------------------
 */

static int64_t groups_of(const trial *t)
{
    int64_t n = 0;
    for (int64_t k = 0; k < t->n; k++)
        if (t->e[k].group >= n) n = t->e[k].group + 1;
    return n;
}

static int by_group(trial *t)
{
    int64_t groups = groups_of(t);
    int rc = HPC_OK;
    for (int64_t g = 0; g < groups; g++) {
        t->train_n = t->test_n = 0;
        for (int64_t k = 0; k < t->n; k++)
            if (t->e[k].group == g)
                t->test[t->test_n++] = k;
            else
                t->train[t->train_n++] = k;
        if (t->test_n == 0) continue;
        TRY(run(t));
        t->out->groups += rc == 1;
        t->out->left_out += rc == 0;
    }
out:
    return rc;
}

typedef struct moment {
    int64_t group, time, at;
} moment;

static int in_time(const void *a, const void *b)
{
    const moment *x = a, *y = b;
    if (x->group != y->group) return x->group < y->group ? -1 : 1;
    if (x->time != y->time) return x->time < y->time ? -1 : 1;
    return x->at < y->at ? -1 : 1;
}

static int by_time(trial *t)
{
    moment *m = hpc_alloc((size_t)t->n + 1, sizeof *m);
    int rc = HPC_OK;
    if (!m) TRY(HPC_E_NOMEM);
    t->train_n = t->test_n = 0;
    for (int64_t k = 0; k < t->n; k++) m[k] = (moment){t->e[k].group, t->e[k].time, k};
    qsort(m, (size_t)t->n, sizeof *m, in_time);
    for (int64_t from = 0, end; from < t->n; from = end) {
        for (end = from; end < t->n && m[end].group == m[from].group;) end++;
        int64_t first = from + (int64_t)ceil((1 - t->rule->last) * (double)(end - from));
        for (int64_t k = from; k < end; k++)
            if (k < first)
                t->train[t->train_n++] = m[k].at;
            else
                t->test[t->test_n++] = m[k].at;
        t->out->groups += first < end;
    }
    TRY(run(t));
    if (rc == 0) t->out->left_out = t->out->groups;
out:
    hpc_free(m);
    return rc;
}

static int apart(trial *t)
{
    int64_t groups = groups_of(t);
    int rc = HPC_OK;
    t->train_n = t->test_n = 0;
    for (int64_t k = 0; k < t->rule->learnt; k++) t->train[t->train_n++] = k;
    for (int64_t k = t->rule->learnt; k < t->n; k++) t->test[t->test_n++] = k;
    for (int64_t g = 0; g < groups; g++) {
        bool judged = false;
        for (int64_t k = t->rule->learnt; k < t->n; k++) judged = judged || t->e[k].group == g;
        t->out->groups += judged;
    }
    if (t->test_n > 0) TRY(run(t));
out:
    return rc;
}

/* ---- all of it ----------------------------------------------------------------------------------
 */

static int prepare(trial *t)
{
    size_t n = (size_t)t->n + 1;
    int rc = HPC_OK;
    t->train = hpc_alloc(n, sizeof *t->train);
    t->test = hpc_alloc(n, sizeof *t->test);
    t->is_predicted = hpc_alloc(n, sizeof *t->is_predicted);
    if (!t->train || !t->test || !t->is_predicted) TRY(HPC_E_NOMEM);
    for (int r = 0; r < HPC_PERF_METHODS; r++) {
        t->out->has[r] = r != HPC_PERF_BAG || t->bag;
        t->predicted[r] = hpc_alloc(n, sizeof *t->predicted[r]);
        if (!t->predicted[r]) TRY(HPC_E_NOMEM);
        for (int64_t k = 0; k < t->n; k++) t->predicted[r][k].verdict = HPC_PERF_UNKNOWN;
    }
out:
    return rc;
}

static void put_probabilities(const trial *t)
{
    for (int64_t k = 0; k < t->n && t->rule->probability; k++)
        for (int c = 0; c < 3; c++)
            t->rule->probability[k][c] =
                t->is_predicted[k] ? t->predicted[HPC_PERF_LEARNER][k].p[c] : NAN;
}

/* Drops the examples without a prediction. */
static int figure(trial *t)
{
    hpc_perf_verdict *label = hpc_alloc((size_t)t->n + 1, sizeof *label);
    const judge_prediction *predicted[HPC_PERF_METHODS] = {0};
    int64_t n = 0, *group = hpc_alloc((size_t)t->n + 1, sizeof *group);
    int rc = HPC_OK;
    if (!label || !group) TRY(HPC_E_NOMEM);
    for (int64_t k = 0; k < t->n; k++) {
        if (!t->is_predicted[k]) continue;
        for (int r = 0; r < HPC_PERF_METHODS; r++) t->predicted[r][n] = t->predicted[r][k];
        group[n] = t->e[k].group;
        t->out->n[t->e[k].label]++;
        label[n++] = t->e[k].label;
    }
    if (n == 0)
        TRY(hpc_fail(HPC_E_ARG,
                     "nothing can be judged: %s, the remaining training data is too small",
                     t->rule->split == HPC_PERF_BY_GROUP  ? "without one repository"
                     : t->rule->split == HPC_PERF_BY_TIME ? "without the last part of the time"
                                                          : "without the test examples"));
    for (int r = 0; r < HPC_PERF_METHODS; r++) predicted[r] = t->predicted[r];
    TRY(judge_figures(t->out, label, group, predicted, n, t->rule->resamples, t->rule->seed));
out:
    hpc_free(label);
    hpc_free(group);
    return rc;
}

int hpc_perf_judge(hpc_perf_judgement *out, const hpc_perf_example *e, const hpc_perf_bag *bag,
                   int64_t n, const hpc_perf_judge_rule *rule)
{
    trial t = {.e = e, .bag = bag, .n = n, .rule = rule, .out = out};
    int rc = HPC_OK;
    memset(out, 0, sizeof *out);
    TRY(prepare(&t));
    TRY(rule->split == HPC_PERF_BY_GROUP  ? by_group(&t)
        : rule->split == HPC_PERF_BY_TIME ? by_time(&t)
                                          : apart(&t));
    put_probabilities(&t);
    TRY(figure(&t));
out:
    hpc_free(t.train);
    hpc_free(t.test);
    hpc_free(t.is_predicted);
    for (int r = 0; r < HPC_PERF_METHODS; r++) hpc_free(t.predicted[r]);
    return rc < 0 ? rc : HPC_OK;
}
