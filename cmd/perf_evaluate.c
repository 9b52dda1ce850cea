/*
 * Training data of `hpccoder perf train` as arrays, and its evaluation, which `eval perf` shares.
 */
#include "cmd/perf_train.h"

/* "cost, time": metrics of the training data. */
static int metrics_of(hpc_buf *out, const hpc_perf_gathered *s)
{
    const hpc_perf_examples *x = &s->all;
    int rc = HPC_OK;
    TRY(hpc_buf_text(out, ""));
    for (int64_t k = 0; k < s->learnt_n; k++) {
        size_t metric = x->from[s->chosen[k]].metric;
        bool seen = false;
        for (int64_t i = 0; i < k && !seen; i++) seen = x->from[s->chosen[i]].metric == metric;
        if (seen) continue;
        TRY(hpc_buf_printf(out, "%s%s", out->n > 0 ? ", " : "", hpc_perf_examples_name(x, metric)));
    }
out:
    return rc;
}

int train_lesson_open(train_lesson *l, const hpc_perf_gathered *s, const train_options *o)
{
    bool bags = o->evaluate;
    int rc = HPC_OK;
    l->e = hpc_alloc((size_t)s->chosen_n + 1, sizeof *l->e);
    l->bag = hpc_alloc((size_t)s->chosen_n + 1, sizeof *l->bag);
    if (!l->e || !l->bag) TRY(HPC_E_NOMEM);
    for (int64_t k = 0; k < s->chosen_n; k++) {
        l->e[k] = s->all.item[s->chosen[k]];
        l->bag[k] = s->bag[s->chosen[k]];
        bags = bags && s->has_bag[s->chosen[k]];
    }
    if (!bags) {
        hpc_free(l->bag);
        l->bag = NULL;
    }
    TRY(metrics_of(&l->metric, s));
    l->rule = (hpc_perf_learn_rule){o->alarm / 100, o->miss / 100, l->metric.data};
out:
    return rc;
}

/* Probabilities of held-out commits as DIR/evaluated.csv, if a folder was named. */
static int save_predictions(const hpc_perf_gathered *s, const double (*probability)[3],
                            const train_options *o)
{
    hpc_buf path = {0};
    int rc = HPC_OK;
    if (!o->out) return HPC_OK;
    TRY(hpc_buf_printf(&path, "%s/evaluated.csv", o->out));
    TRY(hpc_perf_predictions_write(&s->all, s->chosen, probability, s->chosen_n, path.data));
out:
    hpc_buf_release(&path);
    return rc;
}

int train_lesson_evaluate(hpc_buf *out, hpc_json_out *json, const train_lesson *l,
                          const hpc_perf_gathered *s, const train_options *o)
{
    static const hpc_perf_split splits[] = {HPC_PERF_BY_GROUP, HPC_PERF_BY_TIME, HPC_PERF_APART};
    hpc_perf_judge_rule rule = HPC_PERF_JUDGE_DEFAULTS;
    int rc = HPC_OK;
    rule.learn = l->rule;
    rule.learnt = s->learnt_n;
    rule.seed = (uint64_t)o->seed;
    rule.probability = hpc_alloc((size_t)s->chosen_n + 1, sizeof *rule.probability);
    if (!rule.probability) TRY(HPC_E_NOMEM);
    for (int k = 0; k < 3; k++) {
        bool apart = splits[k] == HPC_PERF_APART;
        hpc_perf_judgement j;
        rule.split = splits[k];
        if (apart != (o->judge_on.n > 0)) continue;
        if (splits[k] == HPC_PERF_BY_GROUP && s->all.groups < 2) continue;
        TRY(hpc_perf_judge(&j, l->e, l->bag, s->chosen_n, &rule));
        train_print_judgement(out, json, &j, splits[k]);
        if (splits[k] != HPC_PERF_BY_TIME)
            TRY(save_predictions(s, (const double(*)[3])rule.probability, o));
    }
    if (!json && !l->bag)
        hpc_buf_text(out, "no bag-of-tokens baseline: it needs the text of all changes, which "
                          "files of examples do not have\n");
out:
    hpc_free(rule.probability);
    return rc;
}

void train_lesson_close(train_lesson *l)
{
    hpc_buf_release(&l->metric);
    hpc_free(l->e);
    hpc_free(l->bag);
}
