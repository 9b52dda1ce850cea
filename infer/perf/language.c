/*
 * language.c: functions of commits, as pairs of sequences of tokens, through a language model.
 *
 * What is read of a change is language_take.c's; here are the model, its runs, and what comes out.
 */
#include "infer/perf/language_priv.h"

#include <math.h>
#include <stdlib.h>

#include "model/serve.h"

enum { RUN_TOKENS = 2048 };

/* ---- opening --------------------------------------------------------------------------------- */

static int check_model(const hpc_perf_language *l, const char *model)
{
    if (l->c.head != HPC_HEAD_PAIRS || l->c.classes != 3)
        return hpc_fail(HPC_E_ARG,
                        "%s: its head does not classify changes as slower, same and faster: train "
                        "a model with `hpccoder train --objective pairs --classes 3`",
                        model);
    if (hpc_tokenizer_n(l->tokenizer) > l->c.vocab)
        return hpc_fail(HPC_E_FORMAT, "%s: the tokenizer has %lld tokens, the model %lld", model,
                        (long long)hpc_tokenizer_n(l->tokenizer), (long long)l->c.vocab);
    return HPC_OK;
}

static void set_limits(hpc_perf_language *l, const hpc_perf_language_limits *limits)
{
    static const hpc_perf_language_limits usual = HPC_PERF_LANGUAGE_LIMITS_DEFAULTS;
    l->limits = limits ? *limits : usual;
    if (l->c.positions > 0 && l->limits.length > l->c.positions) l->limits.length = l->c.positions;
    if (l->limits.length < 2) l->limits.length = 2;
}

/* Rows of a run: pairs, and two sequences for each length of padding that may follow. */
static int make_rows(hpc_perf_language *l)
{
    int64_t pieces;
    l->tokens = l->limits.length > RUN_TOKENS ? l->limits.length : RUN_TOKENS;
    pieces = l->tokens / l->limits.length + 1;
    l->pairs = LANGUAGE_PAIRS;
    l->sequences = 2 * (l->pairs + pieces);
    l->id = hpc_alloc((size_t)l->tokens, sizeof *l->id);
    l->pos = hpc_alloc((size_t)l->tokens, sizeof *l->pos);
    l->start = hpc_alloc((size_t)l->sequences + 1, sizeof *l->start);
    l->pooled = hpc_alloc((size_t)l->sequences, sizeof *l->pooled);
    l->logits = hpc_alloc((size_t)l->sequences / 2 * 3, sizeof *l->logits);
    bool all = l->id && l->pos && l->start && l->pooled && l->logits;
    return all ? HPC_OK : HPC_E_NOMEM;
}

static int open_program(hpc_perf_language *l, const hpc_weights *w, const hpc_device_options *o)
{
    hpc_model_emission e = {.tokens = l->tokens, .sequences = l->sequences, .logits = true};
    int rc = HPC_OK;
    l->p = hpc_program_create();
    if (!l->p) TRY(HPC_E_NOMEM);
    TRY(hpc_model_emit(&l->io, l->p, &l->c, &e));
    TRY(hpc_device_open(&l->d, o));
    TRY(hpc_exec_open(&l->e, l->p, l->d, NULL, NULL));
    TRY(hpc_serve_load(l->e, l->p, l->d, w, &l->c));
out:
    return rc;
}

/* A head that is not in the file would be one of zeros. */
static int check_weights(const hpc_perf_language *l, const hpc_weights *w, const char *model)
{
    hpc_model_tensor *list = NULL;
    int64_t n = 0;
    int rc = hpc_model_tensors(&list, &n, &l->c);
    for (int64_t k = 0; rc >= 0 && k < n; k++)
        if (!hpc_weights_has(w, &list[k]))
            rc = hpc_fail(HPC_E_FORMAT,
                          "%s: its configuration has a head for pairs, but %s is missing", model,
                          list[k].name);
    hpc_free(list);
    return rc;
}

int hpc_perf_language_open(hpc_perf_language **out, const char *model,
                           const hpc_perf_language_limits *limits, int threads)
{
    const unsigned marks = 1u << HPC_MARK_FILE | 1u << HPC_MARK_PERF_BASE |
                           1u << HPC_MARK_PERF_HEAD | 1u << HPC_MARK_PERF_LABEL;
    const hpc_device_options device = {.threads = threads};
    hpc_perf_language *l = hpc_alloc(1, sizeof *l);
    hpc_model_files *files = NULL;
    hpc_weights *w = NULL;
    int rc = HPC_OK;
    *out = NULL;
    if (!l) return HPC_E_NOMEM;
    TRY(hpc_model_files_open(&files, model));
    l->c = *hpc_model_files_config(files);
    l->c.dtype = HPC_F32;
    l->c.dropout = 0;
    TRY(hpc_model_files_tokenizer(&l->tokenizer, files));
    TRY(check_model(l, model));
    TRY(hpc_coder_open(&l->coder, l->tokenizer, marks, model, "changes", "perf"));
    TRY(hpc_model_files_weights(&w, files));
    TRY(check_weights(l, w, model));
    set_limits(l, limits);
    TRY(make_rows(l));
    TRY(open_program(l, w, &device));
    *out = l;
    l = NULL;
out:
    hpc_weights_close(w);
    hpc_model_files_close(files);
    hpc_perf_language_close(l);
    return rc;
}

void hpc_perf_language_close(hpc_perf_language *l)
{
    if (!l) return;
    hpc_exec_close(l->e);
    hpc_device_close(l->d);
    hpc_program_free(l->p);
    hpc_coder_close(&l->coder);
    hpc_tokenizer_close(l->tokenizer);
    language_release(l);
    void *const rows[] = {l->id, l->pos, l->start, l->pooled, l->logits, l->order};
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) hpc_free(rows[k]);
    hpc_free(l);
}

/* ---- which go without ------------------------------------------------------------------------ */

static int by_weight(const void *a, const void *b, void *user)
{
    const hpc_perf_language *l = user;
    const hpc_perf_language_opinion *x = &l->opinion[*(const int64_t *)a], *y;
    const language_text *s = &l->text[*(const int64_t *)a], *t = &l->text[*(const int64_t *)b];
    y = &l->opinion[*(const int64_t *)b];
    if (x->weight != y->weight) return x->weight > y->weight ? -1 : 1;
    return (s->hash > t->hash) - (s->hash < t->hash);
}

static int by_length(const void *a, const void *b, void *user)
{
    const hpc_perf_language *l = user;
    int64_t i = *(const int64_t *)a, k = *(const int64_t *)b, x = l->opinion[i].tokens;
    int64_t y = l->opinion[k].tokens;
    return x != y ? (x > y ? -1 : 1) : (i > k) - (i < k);
}

/* Those that are read come first in `order`; returns how many. The rest has no tokens. */
static int64_t choose(hpc_perf_language *l)
{
    int64_t n = 0, tokens = 0;
    for (int64_t k = 0; k < l->opinions_n; k++) l->order[k] = k;
    if (l->opinions_n > 1) qsort_r(l->order, (size_t)l->opinions_n, sizeof *l->order, by_weight, l);
    while (n < l->opinions_n && tokens + l->text[l->order[n]].n <= l->limits.range)
        tokens += l->text[l->order[n++]].n;
    for (int64_t k = 0; k < l->opinions_n; k++)
        l->opinion[l->order[k]].tokens = k < n ? l->text[l->order[k]].n : 0;
    if (n > 1) qsort_r(l->order, (size_t)n, sizeof *l->order, by_length, l);
    return n;
}

/* ---- runs ------------------------------------------------------------------------------------ */

static void put_sequence(hpc_perf_language *l, const int32_t *id, int64_t n)
{
    l->start[l->start_n++] = (int32_t)l->filled;
    for (int64_t k = 0; k < n; k++) {
        l->id[l->filled] = id ? id[k] : 0;
        l->pos[l->filled++] = (int32_t)k;
    }
}

static void begin_run(hpc_perf_language *l)
{
    l->filled = l->start_n = l->running = 0;
    for (int64_t k = 0; k < l->sequences; k++) l->pooled[k] = -1;
}

static void put_pair(hpc_perf_language *l, int64_t which)
{
    const language_text *t = &l->text[which];
    for (int side = 0; side < 2; side++) {
        put_sequence(l, l->pool + t->at + (side ? t->first_n : 0),
                     side ? t->n - t->first_n : t->first_n);
        l->pooled[2 * l->running + side] = (int32_t)(l->filled - 1);
    }
    l->of[l->running++] = which;
}

static void pad(hpc_perf_language *l)
{
    while (l->filled < l->tokens) {
        int64_t left = l->tokens - l->filled;
        put_sequence(l, NULL, left < l->limits.length ? left : l->limits.length);
    }
    l->start[l->start_n++] = (int32_t)l->tokens;
}

static int write_all(hpc_perf_language *l, hpc_value v, const void *data)
{
    return hpc_exec_write(l->e, 0, v, data, hpc_type_bytes(&l->p->value[v].type));
}

static void take_logits(hpc_perf_language_opinion *o, const float *logit)
{
    double most = fmax(logit[0], fmax(logit[1], logit[2])), sum = 0;
    for (int k = 0; k < 3; k++) sum += exp(logit[k] - most);
    for (int k = 0; k < 3; k++) o->logp[k] = logit[k] - most - log(sum);
}

static int run(hpc_perf_language *l)
{
    const int32_t starts = (int32_t)l->start_n, step = -1; /* nothing is dropped */
    int rc;
    TRY(write_all(l, l->io.tokens, l->id));
    TRY(write_all(l, l->io.pos, l->pos));
    TRY(write_all(l, l->io.start, l->start));
    TRY(write_all(l, l->io.start_n, &starts));
    TRY(write_all(l, l->io.pooled, l->pooled));
    TRY(write_all(l, l->io.step, &step));
    TRY(hpc_exec_run(l->e, l->io.forward, 0));
    TRY(hpc_exec_read(l->e, 0, l->io.logits, l->logits,
                      hpc_type_bytes(&l->p->value[l->io.logits].type)));
    for (int64_t k = 0; k < l->running; k++) take_logits(&l->opinion[l->of[k]], l->logits + 3 * k);
out:
    return rc;
}

/* The longest that are left, and then the shortest while there is room. */
int hpc_perf_language_run(hpc_perf_language *l)
{
    int64_t lo = 0, hi = 0, cap = l->opinions_cap;
    int rc = HPC_OK;
    hpc_free(l->order);
    l->order = hpc_alloc((size_t)cap + 1, sizeof *l->order);
    if (!l->order) return HPC_E_NOMEM;
    hi = choose(l);
    while (lo < hi) {
        begin_run(l);
        while (lo < hi && l->running < l->pairs && l->filled + l->text[l->order[lo]].n <= l->tokens)
            put_pair(l, l->order[lo++]);
        while (lo < hi && l->running < l->pairs &&
               l->filled + l->text[l->order[hi - 1]].n <= l->tokens)
            put_pair(l, l->order[--hi]);
        pad(l);
        TRY(run(l));
    }
out:
    return rc;
}

/* ---- what comes out -------------------------------------------------------------------------- */

void hpc_perf_language_judge(hpc_perf_language_said *out, const hpc_perf_language *l, int64_t i)
{
    const language_commit *c = &l->commit[i];
    double sum[3] = {0}, weight = 0, all = 0;
    *out =
        (hpc_perf_language_said){.function = l->opinion + c->first, .n = c->n, .left_out = c->left};
    for (int64_t k = 0; k < c->n; k++) {
        const hpc_perf_language_opinion *o = &out->function[k];
        out->left_out += o->tokens == 0;
        if (o->tokens == 0) continue;
        weight += (double)o->weight;
        for (int v = 0; v < 3; v++) sum[v] += (double)o->weight * o->logp[v];
    }
    if (weight == 0) return;
    out->known = true;
    for (int v = 0; v < 3; v++) all += exp(sum[v] / weight);
    for (int v = 0; v < 3; v++) out->logp[v] = sum[v] / weight - log(all);
}

void hpc_perf_language_put(hpc_perf_vector *x, const double logp[3])
{
    static const double MOST = 20; /* more than a million to one is not known */
    double changed = logp ? -logp[1] / log(2) : 0, slower = logp ? (logp[0] - logp[2]) / log(2) : 0;
    x->value[hpc_perf_feature_named("language_changed")] =
        (double)(float)fmin(fmax(changed, 0), MOST);
    x->value[hpc_perf_feature_named("language_slower")] =
        (double)(float)fmin(fmax(slower, -MOST), MOST);
}

hpc_perf_language_counts hpc_perf_language_counts_of(const hpc_perf_language *l)
{
    hpc_perf_language_counts out = {0};
    for (int64_t i = 0; i < l->commits_n; i++) {
        hpc_perf_language_said j;
        hpc_perf_language_judge(&j, l, i);
        out.left_out += j.left_out;
        for (int64_t k = 0; k < j.n; k++) {
            out.read += j.function[k].tokens > 0;
            out.tokens += j.function[k].tokens;
        }
    }
    return out;
}
