/*
 * pack.c: packs a plan of documents into shards. Workers render and encode batches, which are
 * appended in order, so the result does not depend on the number of threads.
 *
 * The task defines the documents (pack_code.c, pack_pragma.c, pack_perf.c). pack.json records the
 * options next to the shards; resuming with other options is an error.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "corpus/pack.h"

enum {
    BATCH_BYTES = 4 << 20, /* of text, for each worker: token ids take about as much */
    BATCH_DOCUMENTS = 1 << 14,
    GROUPS = 16 /* groups per worker: small groups balance the load */
};

typedef struct slot { /* one document of a batch */
    int64_t document, key, at, n;
    int worker;
    double value[PACK_COLUMNS];
} slot;
typedef struct batch {
    pack *p;
    slot *slot;
    int64_t n, cap, group;
    int64_t next; /* slot; by atomic built-ins */
} batch;

bool pack_stopped(const pack *p)
{
    return p->options->stop && __atomic_load_n(p->options->stop, __ATOMIC_RELAXED);
}

/* ---- a batch ------------------------------------------------------------------------- */

static int by_key(const void *a, const void *b)
{
    const slot *x = a, *y = b;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return (x->document > y->document) - (x->document < y->document);
}

static int by_document(const void *a, const void *b)
{
    const slot *x = a, *y = b;
    return (x->document > y->document) - (x->document < y->document);
}

static int fill_batch(batch *b, int64_t first)
{
    pack *p = b->p;
    int64_t bytes = 0, most = (int64_t)BATCH_BYTES * hpc_pool_n(p->pool);
    int rc = HPC_OK;
    b->n = 0;
    for (int64_t i = first; i < p->documents && b->n < BATCH_DOCUMENTS && bytes < most; i++) {
        TRY(hpc_grow(&b->slot, &b->cap, b->n + 1, sizeof *b->slot));
        slot *s = &b->slot[b->n++];
        *s = (slot){.document = i};
        bytes += p->task->bytes(&s->key, p, i);
    }
    if (b->n > 1) qsort(b->slot, (size_t)b->n, sizeof *b->slot, by_key);
    b->next = 0;
    b->group = b->n / ((int64_t)hpc_pool_n(p->pool) * GROUPS) + 1;
out:
    return rc;
}

static int make_document(pack_worker *w, slot *s, const pack *p)
{
    int64_t answer = -1;
    int rc = HPC_OK;
    hpc_sample_clear(&w->sample);
    TRY(p->task->render(w, s->value, p, s->document));
    s->at = w->ids.n;
    TRY(pack_encode(&w->ids, &answer, &p->encoder, w->scratch, &w->sample));
    s->n = w->ids.n - s->at;
    if (p->task->answer >= 0) s->value[p->task->answer] = (double)answer;
out:
    return rc;
}

static int work(int worker, int workers, void *user)
{
    batch *b = user;
    pack_worker *w = &b->p->worker[worker];
    int rc = HPC_OK;
    (void)workers;
    for (;;) {
        int64_t lo = __atomic_fetch_add(&b->next, b->group, __ATOMIC_RELAXED);
        for (int64_t k = lo; k < lo + b->group && k < b->n; k++) {
            b->slot[k].worker = worker;
            TRY(make_document(w, &b->slot[k], b->p));
        }
        if (lo + b->group >= b->n) break;
    }
out:
    if (rc < 0) __atomic_store_n(&b->next, b->n, __ATOMIC_RELAXED);
    return rc;
}

static int append(batch *b, hpc_shard_writer *shards)
{
    pack *p = b->p;
    int rc = HPC_OK;
    if (b->n > 1) qsort(b->slot, (size_t)b->n, sizeof *b->slot, by_document);
    for (int64_t k = 0; k < b->n; k++) {
        const slot *s = &b->slot[k];
        TRY(hpc_shard_add(shards, p->worker[s->worker].ids.id + s->at, s->n, s->value));
    }
out:
    return rc;
}

static int64_t batch_tokens(const batch *b)
{
    int64_t n = 0;
    for (int64_t k = 0; k < b->n; k++) n += b->slot[k].n;
    return n;
}

/* ---- all batches ----------------------------------------------------------------------- */

static void show(const pack *p, int64_t tokens, int64_t documents)
{
    char extra[64];
    snprintf(extra, sizeof extra, "%" PRId64 " of %" PRId64 " documents", documents, p->documents);
    hpc_progress_update(p->options->progress, tokens, extra);
}

static int run_batches(bool *complete, pack *p, hpc_shard_writer *shards, int64_t done)
{
    hpc_progress *progress = p->options->progress;
    int64_t tokens = hpc_shard_written(shards).tokens;
    batch b = {.p = p};
    int rc = HPC_OK;
    if (progress) {
        hpc_progress_start(progress, "pack", "tokens", 0);
        progress->start_done = tokens;
    }
    while (done < p->documents && !pack_stopped(p)) {
        TRY(fill_batch(&b, done));
        for (int k = 0; k < hpc_pool_n(p->pool); k++) p->worker[k].ids.n = 0;
        TRY(hpc_pool_run(p->pool, work, &b));
        TRY(append(&b, shards));
        done += b.n;
        tokens += batch_tokens(&b);
        if (progress) show(p, tokens, done);
    }
    *complete = done == p->documents;
out:
    if (progress) hpc_progress_end(progress, tokens);
    hpc_free(b.slot);
    return rc;
}

/* ---- what is known of a data set --------------------------------------------------------- */

void pack_put_hash(hpc_json_out *w, const char *key, hpc_hash128 h)
{
    char text[40];
    snprintf(text, sizeof text, "%016" PRIx64 "%016" PRIx64, h.high, h.low);
    hpc_json_put_text(w, key, text);
}

static void put_corpus(hpc_json_out *w, const hpc_corpus *c)
{
    hpc_hash128 sketch = {0, 0};
    if (!c) return;
    pack_put_hash(w, "corpus", hpc_corpus_hash(c));
    if (hpc_corpus_used_sketch(c, &sketch))
        pack_put_hash(w, "held_out", sketch);
    else
        hpc_json_put_text(w, "held_out", NULL);
}

static void put_marks(hpc_json_out *w, const pack_encoder *e)
{
    hpc_json_open(w, "marks", '{');
    for (int m = HPC_MARK_NONE + 1; m < HPC_MARK_N; m++)
        if (e->spelling[m]) hpc_json_put_text(w, hpc_mark_text((hpc_mark)m), e->spelling[m]);
    hpc_json_close(w, '}');
}

/* asked: only facts known before planning. */
static int write_facts(hpc_buf *out, const pack *p, bool asked)
{
    const hpc_pack_options *o = p->options;
    hpc_json_out w = {.buf = out, .indent = asked ? 1 : 0};
    int rc = HPC_OK;
    hpc_json_open(&w, NULL, '{');
    hpc_json_put_text(&w, "task", o->task);
    put_corpus(&w, p->corpus);
    hpc_json_put_text(&w, "split", hpc_split_name(o->split));
    if (p->task == &pack_task_code) {
        hpc_json_put_real(&w, "fim_rate", o->fim_rate);
        if (o->window) hpc_json_put_int(&w, "window", o->window);
        if (o->from > 0) hpc_json_put_real(&w, "from", o->from);
        if (o->to < 1) hpc_json_put_real(&w, "to", o->to);
        hpc_json_put_real(&w, "suffix_first", o->suffix_first);
    }
    if (p->task == &pack_task_pragma) hpc_json_put_real(&w, "negatives", o->negatives);
    hpc_json_put_int(&w, "seed", o->seed);
    if (asked) hpc_json_put_int(&w, "shard_tokens", o->shard_tokens);
    if (p->task->asked) TRY(p->task->asked(&w, p));
    put_marks(&w, &p->encoder);
    if (!asked) p->task->facts(&w, p);
    hpc_json_close(&w, '}');
    if (asked) hpc_buf_text(out, "\n");
    rc = out->failed;
out:
    return rc;
}

/* Error: the existing shards were made with other options. */
static int other_request(const char *folder, const hpc_buf *before)
{
    hpc_json *root = NULL;
    if (!before->data)
        return hpc_fail(HPC_E_ARG,
                        "%s has shards but no pack.json with their settings: remove them, or "
                        "choose another folder",
                        folder);
    int rc = hpc_json_parse(&root, before->data, before->n, "pack.json");
    hpc_json_free(root);
    hpc_error_clear();
    if (rc == HPC_E_NOMEM) return hpc_fail(rc, "out of memory to read pack.json");
    if (rc < 0)
        return hpc_fail(HPC_E_FORMAT,
                        "%s/pack.json is damaged, so the settings of its shards are unknown: "
                        "remove them, or choose another folder",
                        folder);
    return hpc_fail(HPC_E_ARG,
                    "pack.json in %s was written with other options, another corpus or another "
                    "version of hpccoder: choose another folder",
                    folder);
}

/* Written before the first shard, so that every resumed data set has it. */
static int keep_request(const pack *p, bool resumed)
{
    hpc_buf path = {0}, now = {0}, before = {0};
    int rc = HPC_OK;
    TRY(write_facts(&now, p, true));
    TRY(hpc_buf_printf(&path, "%s/pack.json", p->options->out));
    if (hpc_file_exists(path.data)) TRY(hpc_file_read(&before, path.data, 1 << 20));
    if (before.data && before.n == now.n && memcmp(before.data, now.data, now.n) == 0) goto out;
    if (resumed) TRY(other_request(p->options->out, &before));
    TRY(hpc_file_save(path.data, now.data, now.n));
out:
    hpc_buf_release(&before);
    hpc_buf_release(&now);
    hpc_buf_release(&path);
    return rc;
}

static int tell_damage(const hpc_pack_options *o, const char *damage)
{
    hpc_buf line = {0};
    int rc = HPC_OK;
    if (!damage || !o->warn) return HPC_OK;
    TRY(hpc_buf_printf(&line, "%s; rebuilding it and all later shards", damage));
    o->warn(line.data, o->user);
out:
    hpc_buf_release(&line);
    return rc;
}

/* ---- opening and closing ------------------------------------------------------------------- */

static const pack_task *const tasks[] = {&pack_task_code, &pack_task_pragma, &pack_task_perf};

static int options_check(const pack_task **task, const hpc_pack_options *o)
{
    for (size_t k = 0; k < sizeof tasks / sizeof *tasks; k++)
        if (strcmp(o->task, tasks[k]->name) == 0) *task = tasks[k];
    if (!*task)
        return hpc_fail(HPC_E_ARG, "unknown task '%s': expected code, pragma or perf", o->task);
    if (!(o->fim_rate >= 0 && o->fim_rate <= 1 && o->suffix_first >= 0 && o->suffix_first <= 1))
        return hpc_fail(HPC_E_ARG, "shares of documents must be between 0 and 1");
    if (!(o->from >= 0 && o->from < o->to && o->to <= 1))
        return hpc_fail(HPC_E_ARG, "share of the files from %g to %g: expected 0 <= from < to <= 1",
                        o->from, o->to);
    if (!(o->negatives >= 0 && o->negatives <= 1e6))
        return hpc_fail(HPC_E_ARG, "%g negatives per loop: expected a number from 0", o->negatives);
    if ((unsigned)o->split >= HPC_SPLIT_N) return hpc_fail(HPC_E_ARG, "unknown split");
    if ((*task)->needs_corpus && !o->corpus)
        return hpc_fail(HPC_E_ARG, "task %s needs a corpus", o->task);
    return HPC_OK;
}

static int open_workers(pack *p)
{
    int n = hpc_pool_n(p->pool), rc = HPC_OK;
    p->worker = hpc_alloc((size_t)n, sizeof *p->worker);
    if (!p->worker) return HPC_E_NOMEM;
    for (int k = 0; k < n; k++) {
        pack_worker *w = &p->worker[k];
        TRY(hpc_tokenizer_scratch_create(&w->scratch, p->tokenizer));
        if (p->task->needs_corpus) TRY(hpc_corpus_open(&w->corpus, p->options->corpus));
        if (p->task->worker_open) TRY(p->task->worker_open(w, p));
    }
out:
    return rc;
}

static void close_workers(pack *p)
{
    for (int k = 0; p->worker && k < hpc_pool_n(p->pool); k++) {
        pack_worker *w = &p->worker[k];
        if (p->task->worker_close) p->task->worker_close(w);
        hpc_sample_release(&w->sample);
        hpc_buf_release(&w->text);
        hpc_free(w->ids.id);
        hpc_tokenizer_scratch_free(w->scratch);
        hpc_corpus_close(w->corpus);
    }
    hpc_free(p->worker);
}

static int pack_open(pack *p)
{
    const hpc_pack_options *o = p->options;
    const unsigned fim =
        1u << HPC_MARK_FIM_PREFIX | 1u << HPC_MARK_FIM_SUFFIX | 1u << HPC_MARK_FIM_MIDDLE;
    unsigned marks = p->task->marks;
    int rc = HPC_OK;
    if (p->task == &pack_task_code && o->fim_rate > 0) marks |= fim;
    TRY(hpc_tokenizer_open(&p->tokenizer, o->tokenizer));
    TRY(pack_encoder_open(&p->encoder, p->tokenizer, marks, o->tokenizer));
    if (p->task->needs_corpus) TRY(hpc_corpus_open(&p->corpus, o->corpus));
    if (p->task->prepare) TRY(p->task->prepare(p));
    TRY(hpc_pool_create(&p->pool, o->threads > 0 ? o->threads : 1));
    TRY(open_workers(p));
out:
    return rc;
}

static void pack_close(pack *p)
{
    close_workers(p);
    if (p->task) p->task->release(p);
    hpc_pool_free(p->pool);
    hpc_corpus_close(p->corpus);
    pack_encoder_release(&p->encoder);
    hpc_tokenizer_close(p->tokenizer);
}

static void make_spec(hpc_shard_spec *out, const pack *p)
{
    *out = (hpc_shard_spec){.vocabulary = hpc_tokenizer_n(p->tokenizer),
                            .tokenizer = hpc_tokenizer_hash(p->tokenizer),
                            .seed = p->options->seed,
                            .columns_n = p->task->columns_n};
    snprintf(out->task, sizeof out->task, "%s", p->task->name);
    memcpy(out->column, p->task->column, sizeof p->task->column);
}

static void put_result(hpc_pack_result *out, const pack *p, const hpc_shard_writer *shards)
{
    hpc_shard_counts c = hpc_shard_written(shards);
    out->documents_n = c.documents;
    out->tokens_n = c.tokens;
    out->bytes = c.bytes;
    out->shards_n = c.shards;
    out->fim_n = p->fim;
}

/* ---- the whole ------------------------------------------------------------------------------ */

static int run(hpc_pack_result *out, pack *p)
{
    hpc_shard_writer *shards = NULL;
    hpc_shard_spec spec;
    hpc_buf facts = {0};
    int64_t done = 0;
    int rc = HPC_OK;
    TRY(pack_open(p));
    make_spec(&spec, p);
    TRY(hpc_shard_create(&shards, &done, p->options->out, &spec, p->options->shard_tokens,
                         p->options->resume));
    TRY(keep_request(p, done > 0 || hpc_shard_damage(shards)));
    TRY(tell_damage(p->options, hpc_shard_damage(shards)));
    TRY(p->task->plan(p));
    if (pack_stopped(p)) goto out;
    if (done > p->documents)
        TRY(hpc_fail(HPC_E_ARG,
                     "%s has %" PRId64 " documents, but there are only %" PRId64
                     " to pack: choose another folder",
                     p->options->out, done, p->documents));
    TRY(run_batches(&out->complete, p, shards, done));
    if (out->complete) {
        TRY(write_facts(&facts, p, false));
        TRY(hpc_shard_finish(shards, facts.data));
    }
    put_result(out, p, shards);
out:
    hpc_buf_release(&facts);
    hpc_shard_discard(shards);
    return rc;
}

int hpc_corpus_pack(hpc_pack_result *out, const hpc_pack_options *options)
{
    pack p = {.options = options, .result = out};
    int rc = HPC_OK;
    *out = (hpc_pack_result){0};
    TRY(options_check(&p.task, options));
    TRY(run(out, &p));
out:
    pack_close(&p);
    return rc;
}
