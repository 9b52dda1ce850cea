/*
 * Folds of samples of code: training and scores of the graph network.
 */
#include "eval/code.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "eval/code_priv.h"

/* ---- folds --------------------------------------------------------------------------------------
 */

/* Trains on the samples outside the fold and scores those in it. */
static int run_fold(code_set *s, double *loss, int64_t *trained, int64_t fold, hpc_encoder *e)
{
    hpc_encoder_sample *x = hpc_alloc((size_t)s->n + 1, sizeof *x);
    double *score = hpc_alloc((size_t)s->n + 1, sizeof *score);
    int64_t n = 0, rc = HPC_E_NOMEM;
    if (!x || !score) goto out;
    for (int64_t k = 0; k < s->n; k++)
        if (s->item[k].fold != fold)
            x[n++] = (hpc_encoder_sample){&s->item[k].graph, (int32_t)s->item[k].label};
    *trained += n;
    TRY(hpc_encoder_train(loss, e, x, n));
    n = 0;
    for (int64_t k = 0; k < s->n; k++)
        if (s->item[k].fold == fold)
            x[n++] = (hpc_encoder_sample){&s->item[k].graph, (int32_t)s->item[k].label};
    TRY(hpc_encoder_score(score, e, x, n));
    for (int64_t k = s->n - 1; k >= 0; k--)
        if (s->item[k].fold == fold) s->item[k].graph_score = score[--n];
out:
    hpc_free(score);
    hpc_free(x);
    return (int)rc;
}

/* HPC_E_ARG: the samples outside a tested fold lack a label, so nothing tells both apart. */
static int check_folds(const code_set *s, const bool *tested)
{
    int64_t in[HPC_EVAL_CODE_FOLDS][2] = {{0}}, all[2] = {0};
    for (int64_t k = 0; k < s->n; k++) {
        all[s->item[k].label]++;
        if (s->item[k].fold >= 0) in[s->item[k].fold][s->item[k].label]++;
    }
    for (int f = 0; f < HPC_EVAL_CODE_FOLDS; f++)
        for (int label = 0; label < 2; label++)
            if (tested[f] && in[f][label] == all[label])
                return hpc_fail(HPC_E_ARG,
                                "fold %d: the other folds have no sample with label %d to train "
                                "on: spread each label over several folds, or add samples of fold "
                                "-1",
                                f, label);
    return HPC_OK;
}

static int run_folds(hpc_eval_code_result *out, code_set *s, const hpc_encoder_options *o,
                     hpc_progress *progress)
{
    bool has[HPC_EVAL_CODE_FOLDS] = {0};
    int64_t folds = 0, done = 0;
    hpc_encoder *e = NULL;
    int rc = HPC_OK;
    for (int64_t k = 0; k < s->n; k++)
        if (s->item[k].fold >= 0) has[s->item[k].fold] = true;
    for (int f = 0; f < HPC_EVAL_CODE_FOLDS; f++) folds += has[f];
    TRY(check_folds(s, has));
    TRY(hpc_encoder_open(&e, o));
    hpc_progress_start(progress, "training", "folds", folds);
    for (int f = 0; f < HPC_EVAL_CODE_FOLDS; f++) {
        double loss = 0;
        if (!has[f]) continue;
        TRY(run_fold(s, &loss, &out->trained, f, e));
        out->loss += loss / (double)folds;
        hpc_progress_update(progress, ++done, NULL);
    }
    hpc_progress_end(progress, done);
out:
    hpc_encoder_close(e);
    return rc;
}

int hpc_eval_code(hpc_eval_code_result *out, const char *path, const hpc_encoder_options *o,
                  int (*open_checker)(hpc_checker **out), hpc_progress *progress)
{
    code_set s = {0};
    int rc = HPC_OK;
    *out = (hpc_eval_code_result){.has_score = true};
    TRY(code_set_read(&s, path, open_checker, progress));
    for (int64_t k = 0; k < s.n; k++) {
        out->cut += s.item[k].graph.cut;
        out->trees += s.item[k].of_tree;
        if (s.item[k].fold < 0) continue;
        out->samples++;
        out->marked += s.item[k].label;
        out->has_score = out->has_score && !isnan(s.item[k].score);
    }
    TRY(code_check_groups(&s));
    TRY(run_folds(out, &s, o, progress));
    TRY(code_areas(out, &s, o ? o->seed : 1));
out:
    code_set_release(&s);
    return rc;
}
