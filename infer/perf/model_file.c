/*
 * JSON file of a model. Values keep their bits.
 *
 * A file is untrusted: every number is validated before use, and features are identified by name.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "infer/perf/learn_priv.h"

static const char FORMAT[] = "hpccoder performance model";
enum { VERSION = 1, EXAMPLES_MOST = 10000000 };
static const double NUMBER_MOST = 1e9;
static const char *const question_name[PERF_QUESTIONS] = {"size", "side"};

static const char *column_name(int i)
{
    if (i < HPC_PERF_FEATURES) return hpc_perf_feature_at(i)->name;
    return i == PERF_CODE_SUM ? "sum of code" : "sum of flags";
}

/* ---- writing -----------------------------------------------------------------------------------
 */

static void put_list(hpc_json_out *w, const char *key, const double *v, int64_t n)
{
    hpc_json_open(w, key, '[');
    for (int64_t i = 0; i < n; i++) hpc_json_put_real(w, NULL, v[i]);
    hpc_json_close(w, ']');
}

static void put_scorer(hpc_json_out *w, const char *key, const perf_scorer *s)
{
    hpc_json_open(w, key, '{');
    hpc_json_put_real(w, "bias", s->line.bias);
    put_list(w, "weight", s->line.weight, PERF_WIDTH);
    hpc_json_put_real(w, "base", s->base);
    hpc_json_put_real(w, "share", s->share);
    hpc_json_open(w, "trees", '[');
    for (int t = 0; t < s->trees; t++) {
        hpc_json_open(w, NULL, '{');
        hpc_json_open(w, "column", '[');
        for (int c = 0; c < PERF_TREE_CUTS; c++) hpc_json_put_int(w, NULL, s->tree[t].column[c]);
        hpc_json_close(w, ']');
        put_list(w, "cut", s->tree[t].cut, PERF_TREE_CUTS);
        put_list(w, "value", s->tree[t].value, PERF_TREE_NODES);
        hpc_json_close(w, '}');
    }
    hpc_json_close(w, ']');
    hpc_json_close(w, '}');
}

static void put_scored(hpc_json_out *w, const hpc_perf_model *m)
{
    hpc_json_open(w, "scored", '[');
    for (int64_t i = 0; i < m->n; i++) {
        const perf_scored *s = &m->scored[i];
        hpc_json_open(w, NULL, '[');
        hpc_json_put_int(w, NULL, s->fold);
        hpc_json_put_int(w, NULL, s->label);
        hpc_json_put_real(w, NULL, s->slower);
        hpc_json_put_real(w, NULL, s->faster);
        hpc_json_close(w, ']');
    }
    hpc_json_close(w, ']');
}

static void put_model(hpc_json_out *w, const hpc_perf_model *m)
{
    hpc_json_open(w, NULL, '{');
    hpc_json_put_text(w, "format", FORMAT);
    hpc_json_put_int(w, "version", VERSION);
    hpc_json_put_text(w, "metric", m->metric);
    hpc_json_put_real(w, "alarm", m->alarm);
    hpc_json_put_real(w, "miss", m->miss);
    hpc_json_open(w, "examples", '{');
    for (int v = 0; v < HPC_PERF_UNKNOWN; v++)
        hpc_json_put_int(w, hpc_perf_verdict_name((hpc_perf_verdict)v), m->examples[v]);
    hpc_json_close(w, '}');
    hpc_json_put_int(w, "groups", m->groups);
    hpc_json_open(w, "columns", '[');
    for (int i = 0; i < PERF_WIDTH; i++) hpc_json_put_text(w, NULL, column_name(i));
    hpc_json_close(w, ']');
    put_list(w, "reach", m->reach, HPC_PERF_FEATURES);
    hpc_json_put_real(w, "allowance", m->allowance);
    put_list(w, "intercept", m->intercept, PERF_QUESTIONS);
    put_list(w, "slope", m->slope, PERF_QUESTIONS);
    hpc_json_open(w, "members", '[');
    for (int k = 0; k < m->folds; k++) {
        hpc_json_open(w, NULL, '{');
        for (int q = 0; q < PERF_QUESTIONS; q++) put_scorer(w, question_name[q], &m->member[k][q]);
        hpc_json_close(w, '}');
    }
    hpc_json_close(w, ']');
    put_scored(w, m);
    hpc_json_close(w, '}');
}

int hpc_perf_model_write(const hpc_perf_model *m, const char *path)
{
    hpc_buf text = {0};
    hpc_json_out w = {.buf = &text};
    int rc = HPC_OK;
    put_model(&w, m);
    TRY(hpc_buf_text(&text, "\n"));
    TRY(hpc_file_save(path, text.data, text.n));
out:
    hpc_buf_release(&text);
    return rc;
}

/* ---- reading -----------------------------------------------------------------------------------
 */

static int wrong(const char *key, const char *what)
{
    return hpc_fail(HPC_E_FORMAT, "%s: %s", key, what);
}

static int get_real(double *out, const hpc_json *v, const char *key, double least, double most)
{
    int rc = HPC_OK;
    TRY(hpc_json_real(out, v, key));
    if (!(*out >= least && *out <= most))
        TRY(hpc_fail(HPC_E_FORMAT, "%s: %g is not in %g to %g", key, *out, least, most));
out:
    return rc;
}

static int get_int(int64_t *out, const hpc_json *v, const char *key, int64_t least, int64_t most)
{
    int rc = HPC_OK;
    TRY(hpc_json_int(out, v, key));
    if (*out < least || *out > most)
        TRY(hpc_fail(HPC_E_FORMAT, "%s: %lld is not in %lld to %lld", key, (long long)*out,
                     (long long)least, (long long)most));
out:
    return rc;
}

static int get_items(const hpc_json **list, const hpc_json *v, const char *key, int64_t least,
                     int64_t most)
{
    int64_t n = hpc_json_n(v);
    if (hpc_json_kind_of(v) != HPC_JSON_LIST) return wrong(key, "is not a list");
    if (n < least || n > most)
        return hpc_fail(HPC_E_FORMAT, "%s: has %lld items, not %lld to %lld", key, (long long)n,
                        (long long)least, (long long)most);
    *list = v;
    return HPC_OK;
}

static int get_list(double *out, const hpc_json *object, const char *key, int64_t n, double least,
                    double most)
{
    const hpc_json *list;
    int rc = HPC_OK;
    TRY(get_items(&list, hpc_json_get(object, key), key, n, n));
    for (int64_t i = 0; i < n; i++) TRY(get_real(&out[i], hpc_json_at(list, i), key, least, most));
out:
    return rc;
}

static int get_tree(perf_tree *t, const hpc_json *v)
{
    const hpc_json *list;
    int rc = HPC_OK;
    TRY(get_items(&list, hpc_json_get(v, "column"), "column", PERF_TREE_CUTS, PERF_TREE_CUTS));
    for (int c = 0; c < PERF_TREE_CUTS; c++) {
        int64_t column;
        TRY(get_int(&column, hpc_json_at(list, c), "column", -1, PERF_WIDTH - 1));
        t->column[c] = (int)column;
    }
    TRY(get_list(t->cut, v, "cut", PERF_TREE_CUTS, -NUMBER_MOST, NUMBER_MOST));
    TRY(get_list(t->value, v, "value", PERF_TREE_NODES, -NUMBER_MOST, NUMBER_MOST));
out:
    return rc;
}

static int get_scorer(perf_scorer *s, const hpc_json *v)
{
    const hpc_json *trees;
    int rc = HPC_OK;
    TRY(get_real(&s->line.bias, hpc_json_get(v, "bias"), "bias", -NUMBER_MOST, NUMBER_MOST));
    TRY(get_list(s->line.weight, v, "weight", PERF_WIDTH, -NUMBER_MOST, NUMBER_MOST));
    TRY(get_real(&s->base, hpc_json_get(v, "base"), "base", -NUMBER_MOST, NUMBER_MOST));
    TRY(get_real(&s->share, hpc_json_get(v, "share"), "share", 0, 1));
    TRY(get_items(&trees, hpc_json_get(v, "trees"), "trees", 0, PERF_TREES_MOST));
    s->trees = (int)hpc_json_n(trees);
    s->tree = hpc_alloc((size_t)s->trees + 1, sizeof *s->tree);
    if (!s->tree) TRY(HPC_E_NOMEM);
    for (int t = 0; t < s->trees; t++) TRY(get_tree(&s->tree[t], hpc_json_at(trees, t)));
out:
    return rc;
}

static int get_members(hpc_perf_model *m, const hpc_json *root)
{
    const hpc_json *list;
    int rc = HPC_OK;
    TRY(get_items(&list, hpc_json_get(root, "members"), "members", PERF_FOLDS_LEAST, PERF_FOLDS));
    m->folds = (int)hpc_json_n(list);
    for (int k = 0; k < m->folds; k++)
        for (int q = 0; q < PERF_QUESTIONS; q++)
            TRY(get_scorer(&m->member[k][q], hpc_json_get(hpc_json_at(list, k), question_name[q])));
out:
    return rc;
}

static int get_scored(hpc_perf_model *m, const hpc_json *root)
{
    const hpc_json *list, *item;
    int rc = HPC_OK;
    TRY(get_items(&list, hpc_json_get(root, "scored"), "scored", 1, EXAMPLES_MOST));
    m->n = hpc_json_n(list);
    m->scored = hpc_alloc((size_t)m->n, sizeof *m->scored);
    if (!m->scored) TRY(HPC_E_NOMEM);
    for (int64_t i = 0; i < m->n; i++) {
        int64_t fold, label;
        TRY(get_items(&item, hpc_json_at(list, i), "scored", 4, 4));
        TRY(get_int(&fold, hpc_json_at(item, 0), "scored", 0, m->folds - 1));
        TRY(get_int(&label, hpc_json_at(item, 1), "scored", 0, HPC_PERF_UNKNOWN - 1));
        m->scored[i].fold = (int)fold;
        m->scored[i].label = (hpc_perf_verdict)label;
        TRY(get_real(&m->scored[i].slower, hpc_json_at(item, 2), "scored", 0, 1));
        TRY(get_real(&m->scored[i].faster, hpc_json_at(item, 3), "scored", 0, 1));
    }
out:
    return rc;
}

static int check_columns(const hpc_json *root)
{
    const hpc_json *list;
    const char *name;
    int rc = HPC_OK;
    const int64_t most = 1 << 16;
    TRY(get_items(&list, hpc_json_get(root, "columns"), "columns", 1, most));
    if (hpc_json_n(list) != PERF_WIDTH)
        TRY(hpc_fail(
            HPC_E_FORMAT,
            "it has %lld columns, this version has %d: it belongs to another version; retrain it",
            (long long)hpc_json_n(list), (int)PERF_WIDTH));
    for (int i = 0; i < PERF_WIDTH; i++) {
        TRY(hpc_json_text(&name, hpc_json_at(list, i), "columns"));
        if (strcmp(name, column_name(i)) != 0)
            TRY(hpc_fail(
                HPC_E_FORMAT,
                "columns: '%.60s' instead of '%s': it belongs to another version; retrain it", name,
                column_name(i)));
    }
out:
    return rc;
}

static int check_version(const hpc_json *root)
{
    const char *format;
    int64_t version;
    int rc = HPC_OK;
    TRY(hpc_json_text(&format, hpc_json_get(root, "format"), "format"));
    if (strcmp(format, FORMAT) != 0) TRY(wrong("format", "not a performance model"));
    TRY(get_int(&version, hpc_json_get(root, "version"), "version", 1, INT64_MAX));
    if (version > VERSION)
        TRY(hpc_fail(HPC_E_FORMAT,
                     "version: %lld is newer than %d, the newest that this program supports",
                     (long long)version, VERSION));
out:
    return rc;
}

static int get_counts(hpc_perf_model *m, const hpc_json *root)
{
    int64_t scored[HPC_PERF_UNKNOWN] = {0};
    int rc = HPC_OK;
    for (int64_t i = 0; i < m->n; i++) scored[m->scored[i].label]++;
    for (int v = 0; v < HPC_PERF_UNKNOWN; v++) {
        const char *name = hpc_perf_verdict_name((hpc_perf_verdict)v);
        TRY(get_int(&m->examples[v], hpc_json_get(hpc_json_get(root, "examples"), name), name, 0,
                    EXAMPLES_MOST));
        if (m->examples[v] != scored[v]) TRY(wrong(name, "their number differs from the scores"));
    }
    TRY(get_int(&m->groups, hpc_json_get(root, "groups"), "groups", 1, m->n));
out:
    return rc;
}

static int get_model(hpc_perf_model *m, const hpc_json *root)
{
    const char *metric;
    int rc = HPC_OK;
    TRY(check_version(root));
    TRY(check_columns(root));
    TRY(hpc_json_text(&metric, hpc_json_get(root, "metric"), "metric"));
    if (strlen(metric) >= sizeof m->metric) TRY(wrong("metric", "its name is too long"));
    snprintf(m->metric, sizeof m->metric, "%s", metric);
    TRY(get_real(&m->alarm, hpc_json_get(root, "alarm"), "alarm", 0, 1));
    TRY(get_real(&m->miss, hpc_json_get(root, "miss"), "miss", 0, 1));
    TRY(get_list(m->reach, root, "reach", HPC_PERF_FEATURES, 0, NUMBER_MOST));
    TRY(get_real(&m->allowance, hpc_json_get(root, "allowance"), "allowance", 0, NUMBER_MOST));
    TRY(get_list(m->intercept, root, "intercept", PERF_QUESTIONS, -NUMBER_MOST, NUMBER_MOST));
    TRY(get_list(m->slope, root, "slope", PERF_QUESTIONS, 0, NUMBER_MOST));
    TRY(get_members(m, root));
    TRY(get_scored(m, root));
    TRY(get_counts(m, root));
out:
    return rc;
}

int hpc_perf_model_read(hpc_perf_model **out, const char *path)
{
    hpc_json *root = NULL;
    hpc_perf_model *m = hpc_alloc(1, sizeof *m);
    int rc = HPC_OK;
    *out = NULL;
    if (!m) TRY(HPC_E_NOMEM);
    TRY(hpc_json_read(&root, path));
    rc = get_model(m, root);
    if (rc < 0) rc = hpc_error_where("%.300s", path);
    if (rc < 0) goto out;
    *out = m;
    m = NULL;
out:
    hpc_perf_model_free(m);
    hpc_json_free(root);
    return rc;
}

void hpc_perf_model_free(hpc_perf_model *m)
{
    if (!m) return;
    for (int k = 0; k < PERF_FOLDS; k++)
        for (int q = 0; q < PERF_QUESTIONS; q++) hpc_free(m->member[k][q].tree);
    hpc_free(m->scored);
    hpc_free(m);
}

void hpc_perf_model_describe(hpc_perf_model_facts *out, const hpc_perf_model *m)
{
    *out = (hpc_perf_model_facts){
        .groups = m->groups, .alarm = m->alarm, .miss = m->miss, .metric = m->metric};
    memcpy(out->examples, m->examples, sizeof out->examples);
    out->heat = m->reach[hpc_perf_feature_named("heat_known")] > 0;
    out->language = m->reach[hpc_perf_feature_named("language_changed")] > 0 ||
                    m->reach[hpc_perf_feature_named("language_slower")] > 0;
}
