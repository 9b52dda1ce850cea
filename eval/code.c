/*
 * Folds of samples of code: reading, training and scores of the graph network.
 */
#include "eval/code.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "eval/code_priv.h"

static void code_set_release(code_set *s)
{
    for (int64_t k = 0; k < s->n; k++) hpc_code_graph_release(&s->item[k].graph);
    hpc_free(s->item);
    hpc_map_free(s->groups);
    hpc_tokens_release(&s->t);
    *s = (code_set){0};
}

/* ---- reading ------------------------------------------------------------------------------------
 */

static int add_text(code_set *s, code_sample *x, const hpc_json *v, const char *key, hpc_language l)
{
    const char *text;
    bool head = strcmp(key, "head") == 0;
    int rc = HPC_OK;
    TRY(hpc_json_text(&text, hpc_json_get(v, key), key));
    TRY(hpc_lex(&s->t, text, strlen(text), l, false));
    TRY((head ? hpc_code_graph_add_head : hpc_code_graph_of)(&x->graph, &s->t, text, 0,
                                                             strlen(text), l));
out:
    return rc;
}

static int group_of(int64_t *out, code_set *s, const char *name)
{
    uint64_t number = (uint64_t)hpc_map_n(s->groups);
    int rc = HPC_OK;
    if (!hpc_map_get(s->groups, name, strlen(name), &number))
        rc = hpc_map_put(s->groups, name, strlen(name), number);
    *out = (int64_t)number;
    return rc;
}

static int read_labels(code_set *s, code_sample *x, const hpc_json *v)
{
    const char *group;
    int rc = HPC_OK;
    TRY(hpc_json_text(&group, hpc_json_get(v, "group"), "group"));
    TRY(group_of(&x->group, s, group));
    TRY(hpc_json_int(&x->fold, hpc_json_get(v, "fold"), "fold"));
    TRY(hpc_json_int(&x->label, hpc_json_get(v, "label"), "label"));
    x->score = NAN;
    const hpc_json *score = hpc_json_get(v, "score");
    if (score && hpc_json_kind_of(score) != HPC_JSON_NULL)
        TRY(hpc_json_real(&x->score, score, "score"));
    if (x->label < 0 || x->label > 1)
        rc = hpc_fail(HPC_E_FORMAT, "label %lld is neither 0 nor 1", (long long)x->label);
    else if (x->fold < -1 || x->fold >= HPC_EVAL_CODE_FOLDS)
        rc = hpc_fail(HPC_E_FORMAT, "fold %lld is not from -1 to %d", (long long)x->fold,
                      HPC_EVAL_CODE_FOLDS - 1);
out:
    return rc;
}

static int read_sample(code_set *s, code_sample *x, const hpc_json *v)
{
    const hpc_json *name = hpc_json_get(v, "language");
    const char *text;
    hpc_language l = HPC_LANGUAGE_CPP;
    int rc = HPC_OK;
    TRY(read_labels(s, x, v));
    if (name) {
        TRY(hpc_json_text(&text, name, "language"));
        l = hpc_language_named(text);
        if (l == HPC_LANGUAGE_NONE)
            return hpc_fail(HPC_E_FORMAT, "language \"%s\" is unknown", text);
    }
    if (hpc_json_get(v, "code")) return add_text(s, x, v, "code", l);
    TRY(add_text(s, x, v, "base", l));
    TRY(add_text(s, x, v, "head", l));
out:
    return rc;
}

static int read_line(code_set *s, const char *line, size_t n, const char *path, int64_t number)
{
    char where[4200];
    hpc_json *v = NULL;
    int rc = HPC_OK;
    snprintf(where, sizeof where, "%s:%lld", path, (long long)number);
    TRY(hpc_json_parse(&v, line, n, where));
    TRY(hpc_grow(&s->item, &s->cap, s->n + 1, sizeof *s->item));
    s->item[s->n] = (code_sample){0};
    rc = read_sample(s, &s->item[s->n++], v);
    if (rc < 0) hpc_error_where("%s", where);
out:
    hpc_json_free(v);
    return rc;
}

static int code_set_read(code_set *s, const char *path)
{
    hpc_buf text = {0};
    int64_t number = 0;
    int rc = HPC_OK;
    s->groups = hpc_map_create();
    if (!s->groups) return HPC_E_NOMEM;
    TRY(hpc_file_read_text(&text, path, (size_t)1 << 30));
    for (size_t at = 0; at < text.n;) {
        const char *end = memchr(text.data + at, '\n', text.n - at);
        size_t n = end ? (size_t)(end - (text.data + at)) : text.n - at;
        number++;
        if (n > 0) TRY(read_line(s, text.data + at, n, path, number));
        at += n + 1;
    }
out:
    hpc_buf_release(&text);
    return rc;
}

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
                  hpc_progress *progress)
{
    code_set s = {0};
    int rc = HPC_OK;
    *out = (hpc_eval_code_result){.has_score = true};
    TRY(code_set_read(&s, path));
    for (int64_t k = 0; k < s.n; k++) {
        out->cut += s.item[k].graph.cut;
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
