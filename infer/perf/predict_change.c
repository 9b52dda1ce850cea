/*
 * Prediction for one change: probabilities, verdicts and reasons, for the whole and for each
 * function.
 *
 * Levels and acknowledgements are in predict.c and acknowledge.c.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "infer/perf/predict_priv.h"
#include "infer/perf/feature_priv.h"

enum { REASONS = 16 }; /* of which those are taken that speak for the verdict */

int perf_predictor_open(perf_predictor *t, hpc_git *g, const hpc_perf_model *m,
                        const hpc_perf_predict_options *o, hpc_arena *arena)
{
    int rc;
    *t = (perf_predictor){.model = m, .o = o, .arena = arena};
    TRY(hpc_perf_reader_create(&t->reader, g, NULL));
    hpc_perf_reader_set_program(t->reader, o->program);
    if (o->file_n > 0) TRY(hpc_perf_reader_set_work(t->reader, o->file, o->file_n));
    TRY(hpc_perf_scanner_create(&t->scanner));
out:
    return rc;
}

void perf_predictor_close(perf_predictor *t)
{
    hpc_perf_change_release(&t->change);
    hpc_perf_features_release(&t->features);
    hpc_perf_reasons_release(&t->reasons);
    hpc_perf_reader_free(t->reader);
    hpc_perf_scanner_free(t->scanner);
    *t = (perf_predictor){0};
}

/* ---- text of others -------------------------------------------------------------------------- */

/* Bytes of the character at s, whose first is not ASCII; 0: invalid UTF-8. */
static size_t bytes_of(const unsigned char *s, size_t n)
{
    size_t want = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
    uint32_t point = s[0] & (0x7fu >> want);
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    if (s[0] < 0xc2 || s[0] > 0xf4 || n < want) return 0;
    for (size_t k = 1; k < want; k++) {
        if ((s[k] & 0xc0) != 0x80) return 0;
        point = point << 6 | (s[k] & 0x3f);
    }
    bool surrogate = point >= 0xd800 && point < 0xe000;
    return point < least[want] || point > 0x10ffff || surrogate ? 0 : want;
}

/* Bytes at s that a terminal would obey, that show text in another order than it is in, or that are
 * no text: control characters (C0, DEL, C1), U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069. */
static size_t harmful(size_t *whole, const unsigned char *s, size_t n)
{
    *whole = 1;
    if (s[0] < 0x80) return s[0] < 0x20 || s[0] == 0x7f ? 1 : 0;
    *whole = bytes_of(s, n);
    if (*whole == 0) return 1;
    if (*whole == 2 && s[0] == 0xc2 && s[1] < 0xa0) return 2;
    if (*whole != 3 || s[0] != 0xe2) return 0;
    bool marks = s[1] == 0x80 && (s[2] == 0x8e || s[2] == 0x8f || (s[2] >= 0xaa && s[2] <= 0xae));
    return marks || (s[1] == 0x81 && s[2] >= 0xa6 && s[2] <= 0xa9) ? 3 : 0;
}

const char *perf_clean(hpc_arena *a, const char *text, size_t n)
{
    char *copy = hpc_arena_alloc(a, n + 1, 1);
    size_t to = 0;
    if (!copy) return NULL;
    for (size_t k = 0, whole; k < n;) {
        size_t bad = harmful(&whole, (const unsigned char *)text + k, n - k);
        if (bad) copy[to++] = '?';
        for (size_t i = 0; !bad && i < whole; i++) copy[to++] = text[k + i];
        k += bad ? bad : whole;
    }
    return copy;
}

static int keep(const char **out, perf_predictor *t, const char *text)
{
    *out = perf_clean(t->arena, text, strlen(text));
    return *out ? HPC_OK : HPC_E_NOMEM;
}

static int keep_name(const char **out, perf_predictor *t, size_t at)
{
    return keep(out, t, t->change.names.data + at);
}

/* ---- reasons --------------------------------------------------------------------------------- */

static bool speaks(const hpc_perf_result *s, double score)
{
    if (s->verdict == HPC_PERF_SLOWER) return score > 0;
    return s->verdict != HPC_PERF_FASTER || score < 0;
}

/* Documents count among other files, and are no reason. */
static bool is_reason(const perf_predictor *t, const hpc_perf_reason *r)
{
    perf_special which;
    bool other = perf_feature_is_special(r->feature, &which) && which == PERF_OTHER_FILES;
    return !other || t->change.other_n > t->change.other_aside_n;
}

static int put_reason(hpc_perf_result *s, perf_predictor *t, const hpc_perf_reason *r, double score)
{
    const hpc_perf_change *c = &t->change;
    hpc_perf_reason_text *w = &s->why[s->why_n];
    int rc;
    *w = (hpc_perf_reason_text){.file = "", .function = "", .line = r->line, .gone = r->base};
    w->score = score;
    int effect = perf_expected_effect(r->feature, r->value);
    w->contrary = (s->verdict == HPC_PERF_SLOWER && effect < 0) ||
                  (s->verdict == HPC_PERF_FASTER && effect > 0);
    TRY(keep(&w->text, t, t->reasons.text.data + r->text));
    if (r->function >= 0) {
        const hpc_perf_function *f = &c->function[r->function];
        const hpc_perf_file *file = &c->file[r->base ? f->base_file : f->file];
        TRY(keep_name(&w->file, t, r->base ? file->base_path : file->path));
        TRY(keep_name(&w->function, t, f->head.source ? f->name : f->base_name));
    }
    s->why_n++;
out:
    return rc;
}

/* Those that speak for the verdict; else the largest that there are; else what says something
 * without any weight. function -1: of all. */
static int put_reasons(hpc_perf_result *s, perf_predictor *t, int64_t function,
                       const double *weight)
{
    int rc = HPC_OK;
    for (int pass = 0; pass < 3 && s->why_n == 0; pass++) {
        bool weighed = pass < 2 && weight;
        TRY(hpc_perf_reasons_find(&t->reasons, &t->features, function, weighed ? weight : NULL,
                                  REASONS));
        for (int64_t k = 0; k < t->reasons.n && s->why_n < HPC_PERF_WHY_MOST; k++) {
            const hpc_perf_reason *r = &t->reasons.item[k];
            double score = weighed ? r->score : 0;
            if (!is_reason(t, r) || (pass == 0 && !(weighed && speaks(s, score)))) continue;
            TRY(put_reason(s, t, r, score));
        }
    }
out:
    return rc;
}

/* ---- verdicts -------------------------------------------------------------------------------- */

/* Files that no compiler reads but the program may: data, scripts, submodules. */
static bool has_other_files(const hpc_perf_change *c)
{
    return c->modules_n > 0 || c->other_n > c->other_aside_n;
}

static bool is_aside(const hpc_perf_change *c)
{
    return c->aside_n > 0 && c->files_n == 0 && !has_other_files(c);
}

/* No model is needed to say that what is compiled stays the same. */
static bool is_without_effect(const hpc_perf_change *c)
{
    if (c->too_many || c->skipped_n > 0 || has_other_files(c)) return false;
    if (c->files_n > 0 && c->n == 0) return false; /* moved: where a function stands may matter */
    for (int64_t k = 0; k < c->files_n; k++)
        if (c->file[k].kind != HPC_PERF_SOURCE) return false;
    for (int64_t k = 0; k < c->n; k++)
        if (!c->function[k].same_code) return false;
    return true;
}

static void set_same(hpc_perf_result *s)
{
    s->verdict = HPC_PERF_SAME;
    s->p[HPC_PERF_SAME] = 1;
}

/* 63 measured commits of the shipped histories change nothing else, and none was slower or
 * faster: by the rule of succession, 64 of 66. */
static void set_aside(hpc_perf_result *s)
{
    s->verdict = HPC_PERF_SAME;
    s->p[HPC_PERF_SAME] = 64.0 / 66;
    s->p[HPC_PERF_SLOWER] = s->p[HPC_PERF_FASTER] = 1.0 / 66;
    s->why[0] = (hpc_perf_reason_text){
        .text = "only tests, documents, examples or files outside the build differ",
        .file = "",
        .function = ""};
    s->why_n = 1;
}

static int set_unknown(hpc_perf_result *s, perf_predictor *t, const char *because)
{
    s->verdict = HPC_PERF_UNKNOWN;
    for (int k = 0; k < 3; k++) s->p[k] = NAN;
    return keep(&s->because, t, because);
}

static int set_why_unknown(hpc_perf_result *s, perf_predictor *t, const hpc_perf_estimate *e,
                           const hpc_perf_vector *x)
{
    hpc_buf text = {0};
    int rc = HPC_OK;
    s->because = "not sure: no verdict is probable enough";
    if (!e->outside) return HPC_OK;
    s->because = "unlike all changes in the training data";
    if (e->outside_feature < 0) return HPC_OK;
    TRY(perf_feature_put(&text, e->outside_feature, x->value[e->outside_feature]));
    s->because = hpc_arena_text(t->arena, "unlike all changes in the training data: %s", text.data);
    TRY(s->because ? HPC_OK : HPC_E_NOMEM);
out:
    hpc_buf_release(&text);
    return rc;
}

static int set_result(hpc_perf_result *s, perf_predictor *t, const hpc_perf_vector *x,
                      int64_t function)
{
    hpc_perf_estimate e;
    int rc = HPC_OK;
    hpc_perf_estimate_find(&e, t->model, x);
    s->verdict = e.verdict;
    s->outside = e.outside;
    for (int k = 0; k < 3; k++) s->p[k] = e.p[k];
    if (e.verdict == HPC_PERF_UNKNOWN) TRY(set_why_unknown(s, t, &e, x));
    if (function < 0 || e.verdict != HPC_PERF_SAME) TRY(put_reasons(s, t, function, e.weight));
out:
    return rc;
}

static int predict_function(hpc_perf_function_prediction *out, perf_predictor *t, int64_t k)
{
    const hpc_perf_change *c = &t->change;
    const hpc_perf_function *f = &c->function[k];
    const hpc_perf_side *side = f->head.source ? &f->head : &f->base;
    int rc;
    *out = (hpc_perf_function_prediction){.line = side->line, .gone = !f->head.source};
    TRY(keep_name(&out->file, t, c->file[f->file].path));
    TRY(keep_name(&out->base_file, t, c->file[f->base_file].base_path));
    TRY(keep_name(&out->name, t, out->gone ? f->base_name : f->name));
    if (f->first >= 0 && f->edits_n > 0 && f->head.source && f->head.function < 0)
        out->line = c->edit[f->first].head_line; /* code outside functions begins at line 1 */
    if (f->same_code)
        set_same(&out->result);
    else
        TRY(set_result(&out->result, t, &t->features.function[k], k));
out:
    return rc;
}

/* Sets the features of the language model for the change and its functions. */
static void set_language_features(perf_predictor *t)
{
    hpc_perf_language_result s;
    if (!t->language) return;
    hpc_perf_language_result_of(&s, t->language, t->predicted_n++);
    hpc_perf_language_put(&t->features.commit, s.known ? s.logp : NULL);
    for (int64_t k = 0; k < s.n; k++) {
        const hpc_perf_language_opinion *o = &s.function[k];
        if (o->tokens > 0) hpc_perf_language_put(&t->features.function[o->function], o->logp);
    }
}

static int find_heat(perf_predictor *t, const hpc_perf_change_prediction *of)
{
    const hpc_hot_line *hot = NULL;
    int64_t n = 0;
    int rc = HPC_OK;
    if (!t->o->heat) return rc;
    TRY(t->o->heat(&hot, &n, t->o->heat_from, &of->base, of->time));
    hpc_perf_heat_find(&t->features, &t->change, hot, n);
out:
    return rc;
}

static int predict_change(hpc_perf_change_prediction *out, perf_predictor *t)
{
    const hpc_perf_change *c = &t->change;
    int rc;
    out->aside_n = c->aside_n;
    TRY(hpc_perf_features_find(&t->features, t->scanner, c));
    TRY(find_heat(t, out));
    set_language_features(t);
    if (is_aside(c)) {
        set_aside(&out->result);
    } else if (is_without_effect(c)) {
        set_same(&out->result);
        TRY(put_reasons(&out->result, t, -1, NULL));
    } else {
        TRY(set_result(&out->result, t, &t->features.commit, -1));
    }
    out->function = hpc_arena_alloc(t->arena, (size_t)c->n + 1, sizeof *out->function);
    TRY(out->function ? HPC_OK : HPC_E_NOMEM);
    for (; out->n < c->n; out->n++) TRY(predict_function(&out->function[out->n], t, out->n));
out:
    return rc;
}

static bool is_readable(int rc, const perf_predictor *t)
{
    return rc == HPC_GIT_READ && !t->change.too_many;
}

int perf_predictor_add(const hpc_perf_change_prediction *of, perf_predictor *t)
{
    int rc;
    TRY(hpc_perf_change_read(&t->change, t->reader, &of->base, &of->head));
    if (is_readable(rc, t)) TRY(hpc_perf_language_add(t->language, &t->change));
out:
    return rc;
}

int perf_predict_change(hpc_perf_change_prediction *out, perf_predictor *t)
{
    char because[256];
    int rc;
    TRY(hpc_perf_change_read(&t->change, t->reader, &out->base, &out->head));
    if (is_readable(rc, t)) return predict_change(out, t);
    snprintf(because, sizeof because, "%.200s",
             rc == HPC_GIT_READ ? "more files differ than the limit for analysis"
                                : t->change.names.data);
    rc = set_unknown(&out->result, t, because);
out:
    return rc;
}
