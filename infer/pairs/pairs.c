/*
 * Classifier of function changes: a transformer with a pair head, run on batches of packed pairs.
 */
#include "infer/pairs/pairs.h"

#include <stdlib.h>

#include "infer/engine/coder.h"
#include "infer/perf/classifier.h"
#include "model/compare.h"
#include "model/emit.h"
#include "model/files.h"
#include "model/serve.h"
#include "runtime/program/run/run.h"

enum { BATCH_TOKENS = 2048, BATCH_PAIRS = 32 };

typedef struct transformer {
    int64_t length; /* most tokens of a pair */
    hpc_model_config c;
    hpc_tokenizer *tokenizer;
    hpc_coder coder;
    hpc_program *p;
    hpc_device *d;
    hpc_exec *e;
    hpc_model_io io;
    /* reused for each function */
    hpc_sample sample;
    hpc_ids ids;
    /* a batch */
    int64_t tokens, sequences;              /* capacity */
    int64_t tokens_n, sequences_n, pairs_n; /* used */
    int32_t *id, *pos, *start, *pooled;
    float *logits;
    int64_t pair[BATCH_PAIRS]; /* the number of each */
} transformer;

/* ---- opening --------------------------------------------------------------------------------- */

static int check_model(const transformer *t, const char *model)
{
    if (t->c.head != HPC_HEAD_PAIRS || t->c.classes != 3)
        return hpc_fail(HPC_E_ARG,
                        "%s: its head does not classify changes as slower, same and faster: train "
                        "a model with `hpccoder train --objective pairs --classes 3`",
                        model);
    if (hpc_tokenizer_n(t->tokenizer) > t->c.vocab)
        return hpc_fail(HPC_E_FORMAT, "%s: the tokenizer has %lld tokens, the model %lld", model,
                        (long long)hpc_tokenizer_n(t->tokenizer), (long long)t->c.vocab);
    return HPC_OK;
}

/* Rows of a batch: pairs, and two sequences for each length of padding that may follow. */
static int allocate_batch(transformer *t)
{
    int64_t padding;
    t->tokens = t->length > BATCH_TOKENS ? t->length : BATCH_TOKENS;
    padding = t->tokens / t->length + 1;
    t->sequences = 2 * (BATCH_PAIRS + padding);
    t->id = hpc_alloc((size_t)t->tokens, sizeof *t->id);
    t->pos = hpc_alloc((size_t)t->tokens, sizeof *t->pos);
    t->start = hpc_alloc((size_t)t->sequences + 1, sizeof *t->start);
    t->pooled = hpc_alloc((size_t)t->sequences, sizeof *t->pooled);
    t->logits = hpc_alloc((size_t)t->sequences / 2 * 3, sizeof *t->logits);
    bool all = t->id && t->pos && t->start && t->pooled && t->logits;
    return all ? HPC_OK : HPC_E_NOMEM;
}

static int open_program(transformer *t, const hpc_weights *w, int threads)
{
    const hpc_device_options device = {.threads = threads};
    hpc_model_emission e = {.tokens = t->tokens, .sequences = t->sequences, .logits = true};
    int rc = HPC_OK;
    t->p = hpc_program_create();
    if (!t->p) TRY(HPC_E_NOMEM);
    TRY(hpc_model_emit(&t->io, t->p, &t->c, &e));
    TRY(hpc_device_open(&t->d, &device));
    TRY(hpc_exec_open(&t->e, t->p, t->d, NULL, NULL));
    TRY(hpc_serve_load(t->e, t->p, t->d, w, &t->c));
out:
    return rc;
}

/* Rejects a file without the weights of the head: they would be loaded as zeros. */
static int check_weights(const transformer *t, const hpc_weights *w, const char *model)
{
    hpc_model_tensor *list = NULL;
    int64_t n = 0;
    int rc = hpc_model_tensors(&list, &n, &t->c);
    for (int64_t k = 0; rc >= 0 && k < n; k++)
        if (!hpc_weights_has(w, &list[k]))
            rc = hpc_fail(HPC_E_FORMAT,
                          "%s: its configuration has a head for pairs, but %s is missing", model,
                          list[k].name);
    hpc_free(list);
    return rc;
}

static void close_transformer(void *self)
{
    transformer *t = self;
    if (!t) return;
    hpc_exec_close(t->e);
    hpc_device_close(t->d);
    hpc_program_free(t->p);
    hpc_coder_close(&t->coder);
    hpc_tokenizer_close(t->tokenizer);
    hpc_sample_release(&t->sample);
    void *const memory[] = {t->ids.id, t->id, t->pos, t->start, t->pooled, t->logits};
    for (size_t k = 0; k < sizeof memory / sizeof *memory; k++) hpc_free(memory[k]);
    hpc_free(t);
}

static int open_transformer(transformer **out, const char *model, int64_t length, int threads)
{
    const unsigned marks = 1u << HPC_MARK_FILE | 1u << HPC_MARK_PERF_BASE |
                           1u << HPC_MARK_PERF_HEAD | 1u << HPC_MARK_PERF_LABEL;
    transformer *t = hpc_alloc(1, sizeof *t);
    hpc_model_files *files = NULL;
    hpc_weights *w = NULL;
    int rc = HPC_OK;
    *out = NULL;
    if (!t) return HPC_E_NOMEM;
    TRY(hpc_model_files_open(&files, model));
    t->c = *hpc_model_files_config(files);
    t->c.dtype = HPC_F32;
    t->c.dropout = 0;
    TRY(hpc_model_files_tokenizer(&t->tokenizer, files));
    TRY(check_model(t, model));
    TRY(hpc_coder_open(&t->coder, t->tokenizer, marks, model, "changes", "perf"));
    TRY(hpc_model_files_weights(&w, files));
    TRY(check_weights(t, w, model));
    t->length = t->c.positions > 0 && length > t->c.positions ? t->c.positions : length;
    if (t->length < 2) t->length = 2;
    TRY(allocate_batch(t));
    TRY(open_program(t, w, threads));
    *out = t;
    t = NULL;
out:
    hpc_weights_close(w);
    hpc_model_files_close(files);
    close_transformer(t);
    return rc;
}

/* ---- encoding -------------------------------------------------------------------------------- */

/* The tokens of a document of task perf, without the label. */
static int encode_document(transformer *t, const hpc_perf_texts *of)
{
    int rc = HPC_OK;
    hpc_sample_clear(&t->sample);
    t->ids.n = 0;
    TRY(hpc_render_change(&t->sample, of->path, of->base, of->base_n, of->head, of->head_n, NULL));
    TRY(hpc_coder_encode(&t->ids, &t->coder, &t->sample));
out:
    return rc;
}

static int encode(int64_t *base_n, int64_t *n, int32_t *id, void *self, const hpc_perf_texts *of,
                  int64_t most)
{
    transformer *t = self;
    const int32_t *mark = t->coder.mark;
    const hpc_compare_marks marks = {.base = mark[HPC_MARK_PERF_BASE],
                                     .head = mark[HPC_MARK_PERF_HEAD],
                                     .label = mark[HPC_MARK_PERF_LABEL]};
    hpc_compare c;
    int rc = HPC_OK;
    TRY(encode_document(t, of));
    bool found = hpc_compare_find(&c, t->ids.id, t->ids.n, &marks);
    hpc_assert(found); /* the document contains the marks */
    hpc_compare_fit(&c, t->ids.id, most);
    *base_n = hpc_compare_write(id, &c, t->ids.id, 0);
    *n = *base_n + hpc_compare_write(id + *base_n, &c, t->ids.id, 1);
out:
    return rc;
}

/* ---- batches --------------------------------------------------------------------------------- */

static void put_sequence(transformer *t, const int32_t *id, int64_t n)
{
    t->start[t->sequences_n++] = (int32_t)t->tokens_n;
    for (int64_t k = 0; k < n; k++) {
        t->id[t->tokens_n] = id ? id[k] : 0;
        t->pos[t->tokens_n++] = (int32_t)k;
    }
}

static void clear_batch(transformer *t)
{
    t->tokens_n = t->sequences_n = t->pairs_n = 0;
    for (int64_t k = 0; k < t->sequences; k++) t->pooled[k] = -1;
}

static bool has_capacity(const transformer *t, const hpc_perf_pair *p)
{
    return t->pairs_n < BATCH_PAIRS && t->tokens_n + p->n <= t->tokens;
}

static void put_pair(transformer *t, const hpc_perf_pair *p, int64_t number)
{
    for (int side = 0; side < 2; side++) {
        put_sequence(t, p->id + (side ? p->base_n : 0), side ? p->n - p->base_n : p->base_n);
        t->pooled[2 * t->pairs_n + side] = (int32_t)(t->tokens_n - 1);
    }
    t->pair[t->pairs_n++] = number;
}

static void pad(transformer *t)
{
    while (t->tokens_n < t->tokens) {
        int64_t left = t->tokens - t->tokens_n;
        put_sequence(t, NULL, left < t->length ? left : t->length);
    }
    t->start[t->sequences_n++] = (int32_t)t->tokens;
}

static int write_all(transformer *t, hpc_value v, const void *data)
{
    return hpc_exec_write(t->e, 0, v, data, hpc_type_bytes(&t->p->value[v].type));
}

static int run_batch(float (*logits)[3], transformer *t)
{
    const int32_t starts = (int32_t)t->sequences_n, step = -1; /* no dropout */
    int rc;
    TRY(write_all(t, t->io.tokens, t->id));
    TRY(write_all(t, t->io.pos, t->pos));
    TRY(write_all(t, t->io.start, t->start));
    TRY(write_all(t, t->io.start_n, &starts));
    TRY(write_all(t, t->io.pooled, t->pooled));
    TRY(write_all(t, t->io.step, &step));
    TRY(hpc_exec_enqueue(t->e, t->io.forward, 0));
    TRY(hpc_exec_read(t->e, 0, t->io.logits, t->logits,
                      hpc_type_bytes(&t->p->value[t->io.logits].type)));
    for (int64_t k = 0; k < t->pairs_n; k++)
        for (int v = 0; v < 3; v++) logits[t->pair[k]][v] = t->logits[3 * k + v];
out:
    return rc;
}

static int compare_lengths(const void *a, const void *b, void *user)
{
    const hpc_perf_pair *pair = user;
    int64_t i = *(const int64_t *)a, k = *(const int64_t *)b;
    if (pair[i].n != pair[k].n) return pair[i].n > pair[k].n ? -1 : 1;
    return (i > k) - (i < k);
}

/* Each batch takes the longest remaining pairs, then the shortest ones that still fit. */
static int classify(float (*logits)[3], void *self, const hpc_perf_pair *pair, int64_t n)
{
    transformer *t = self;
    int64_t low = 0, high = n;
    int64_t *order = hpc_alloc((size_t)n + 1, sizeof *order);
    int rc = HPC_OK;
    if (!order) return HPC_E_NOMEM;
    for (int64_t k = 0; k < n; k++) order[k] = k;
    if (n > 1) qsort_r(order, (size_t)n, sizeof *order, compare_lengths, (void *)(uintptr_t)pair);
    while (low < high) {
        clear_batch(t);
        for (; low < high && has_capacity(t, &pair[order[low]]); low++)
            put_pair(t, &pair[order[low]], order[low]);
        for (; low < high && has_capacity(t, &pair[order[high - 1]]); high--)
            put_pair(t, &pair[order[high - 1]], order[high - 1]);
        pad(t);
        TRY(run_batch(logits, t));
    }
out:
    hpc_free(order);
    return rc;
}

int hpc_pairs_open(hpc_perf_language **out, const char *model,
                   const hpc_perf_language_limits *limits, int threads)
{
    static const hpc_perf_language_limits defaults = HPC_PERF_LANGUAGE_LIMITS_DEFAULTS;
    transformer *t = NULL;
    int rc;
    *out = NULL;
    TRY(open_transformer(&t, model, (limits ? limits : &defaults)->length, threads));
    const hpc_perf_classifier c = {.self = t,
                                   .length = t->length,
                                   .encode = encode,
                                   .classify = classify,
                                   .close = close_transformer};
    TRY(hpc_perf_language_open(out, &c, limits));
    t = NULL;
out:
    close_transformer(t);
    return rc;
}
