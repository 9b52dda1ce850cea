/*
 * Suite of perplexity: bits of each file under the model and under two baselines over the same
 * tokens.
 */
#include <math.h>
#include <string.h>

#include "eval/priv.h"
#include "eval/sets.h"

static const hpc_eval_metric metrics[] = {
    {.name = "bits_per_byte",
     .title = "bits/byte",
     .sum = "bits",
     .weight = "bytes",
     .decimals = 3,
     .lower_is_better = true},
    {.name = "perplexity_token",
     .title = "ppl/token",
     .sum = "bits",
     .weight = "tokens",
     .scale = HPC_EVAL_EXP2,
     .decimals = 2,
     .lower_is_better = true},
    {.name = "perplexity_byte",
     .title = "ppl/byte",
     .sum = "bits",
     .weight = "bytes",
     .scale = HPC_EVAL_EXP2,
     .decimals = 3,
     .lower_is_better = true},
    {.name = "ngram_bits_per_byte",
     .title = "5-gram bits/byte",
     .sum = "ngram_bits",
     .weight = "bytes",
     .decimals = 3,
     .lower_is_better = true},
    {.name = "copy_bits_per_byte",
     .title = "copy bits/byte",
     .sum = "copy_bits",
     .weight = "bytes",
     .decimals = 3,
     .lower_is_better = true},
};

const hpc_eval_suite hpc_eval_suite_perplexity = {
    .name = "perplexity",
    .title = "Perplexity on source files",
    .unit = "files",
    .metric = metrics,
    .metric_n = sizeof metrics / sizeof *metrics,
    .notes =
        "[low, high]: 95 % bootstrap interval over files. 5-gram: interpolated Kneser-Ney over "
        "the model's tokens. copy: the token after the longest earlier match in the file, else "
        "the file's unigrams. A file can count in several parallel models.",
};

typedef struct scoring {
    const hpc_eval_perplexity_options *o;
    hpc_model_files *model;
    hpc_tokenizer *tokenizer;
    hpc_tokenizer_scratch *scratch;
    hpc_likelihood *likelihood;
    hpc_ngram *ngram;
    hpc_eval_files files, train;
    hpc_ids *ids; /* [files.n] */
    int32_t first;
    int64_t vocab;
} scoring;

/* ---- texts ----------------------------------------------------------------------------------- */

static int encode(hpc_ids *out, scoring *s, const hpc_eval_file *f)
{
    return hpc_tokenizer_encode(out, s->tokenizer, s->scratch, f->text.data, f->text.n, 0);
}

/* The begin token, else the end token, else token 0 stands before a text. */
static int32_t first_of(const hpc_tokenizer *t)
{
    hpc_tokenizer_special special = hpc_tokenizer_specials(t);
    int32_t end;

    if (special.add_begin && special.begin >= 0) return special.begin;
    (void)hpc_tokenizer_special_name(t, HPC_SPECIAL_END, &end);
    if (end >= 0) return end;
    return special.begin >= 0 ? special.begin : 0;
}

/* Counts all files, or those of --ngram-train without copies of files of the set. */
static int train_ngram(scoring *s)
{
    const hpc_eval_files_options other = {.path = &s->o->ngram_train, .path_n = 1};
    hpc_map *held = hpc_map_create();
    hpc_ids ids = {0};
    int rc = held ? HPC_OK : HPC_E_NOMEM;

    for (int64_t k = 0; rc >= 0 && k < s->files.n; k++) {
        hpc_hash128 h = hpc_hash_wide(s->files.item[k].text.data, s->files.item[k].text.n);
        TRY(hpc_map_put(held, &h, sizeof(h), 1));
        if (!s->o->ngram_train) TRY(hpc_ngram_add(s->ngram, s->ids[k].id, s->ids[k].n, s->first));
    }
    if (rc < 0 || !s->o->ngram_train) goto out;
    TRY(hpc_eval_files_read(&s->train, &other));
    for (int64_t k = 0; k < s->train.n; k++) {
        hpc_hash128 h = hpc_hash_wide(s->train.item[k].text.data, s->train.item[k].text.n);
        uint64_t found;
        if (hpc_map_get(held, &h, sizeof(h), &found)) continue;
        ids.n = 0;
        TRY(encode(&ids, s, &s->train.item[k]));
        TRY(hpc_ngram_add(s->ngram, ids.id, ids.n, s->first));
    }
out:
    hpc_free(ids.id);
    hpc_map_free(held);
    return rc;
}

static int prepare(scoring *s, const char *model)
{
    int rc;

    TRY(hpc_eval_files_read(&s->files, &s->o->files));
    TRY(hpc_model_files_open(&s->model, model));
    TRY(hpc_model_files_tokenizer(&s->tokenizer, s->model));
    TRY(hpc_tokenizer_scratch_create(&s->scratch, s->tokenizer));
    TRY(hpc_likelihood_open(&s->likelihood, s->model, &s->o->model));
    s->first = first_of(s->tokenizer);
    s->vocab = hpc_tokenizer_n(s->tokenizer);
    TRY(hpc_ngram_create(&s->ngram, s->vocab));
    s->ids = hpc_alloc((size_t)s->files.n + 1, sizeof(*s->ids));
    if (!s->ids) TRY(HPC_E_NOMEM);
    for (int64_t k = 0; k < s->files.n; k++) TRY(encode(&s->ids[k], s, &s->files.item[k]));
    TRY(train_ngram(s));
out:
    return rc;
}

/* ---- samples --------------------------------------------------------------------------------- */

static double sum(const double *bits, int64_t n)
{
    double all = 0;

    for (int64_t k = 0; k < n; k++) all += bits[k];
    return all;
}

static int score_ngram(double *bits, scoring *s, const hpc_ids *ids)
{
    bool own = !s->o->ngram_train;

    if (own) hpc_ngram_remove(s->ngram, ids->id, ids->n, s->first);
    hpc_ngram_text(bits, s->ngram, ids->id, ids->n, s->first);
    return own ? hpc_ngram_add(s->ngram, ids->id, ids->n, s->first) : HPC_OK;
}

static int put_sample(hpc_eval_log *log, const hpc_eval_file *f, int64_t tokens,
                      const double bits[3])
{
    hpc_buf line = {0};
    hpc_json_out w = {.buf = &line};

    hpc_json_open(&w, NULL, '{');
    hpc_json_put_text(&w, "id", f->path);
    hpc_eval_put_groups(&w, f);
    hpc_json_close(&w, '}');
    hpc_json_open(&w, "number", '{');
    hpc_json_put_int(&w, "bytes", (int64_t)f->text.n);
    hpc_json_put_int(&w, "tokens", tokens);
    hpc_json_put_real(&w, "bits", bits[0]);
    hpc_json_put_real(&w, "ngram_bits", bits[1]);
    hpc_json_put_real(&w, "copy_bits", bits[2]);
    hpc_json_close(&w, '}');
    hpc_json_close(&w, '}');
    int rc = line.failed ? HPC_E_NOMEM : hpc_eval_log_add(log, &line);
    hpc_buf_release(&line);
    return rc;
}

static int score_file(hpc_eval_log *log, scoring *s, int64_t k)
{
    const hpc_ids *ids = &s->ids[k];
    double *bits = hpc_alloc((size_t)ids->n + 1, sizeof(*bits)), all[3];
    int rc = bits ? HPC_OK : HPC_E_NOMEM;

    if (rc < 0) return rc;
    TRY(hpc_likelihood_text(bits, s->likelihood, ids->id, ids->n, s->first));
    all[0] = sum(bits, ids->n);
    TRY(score_ngram(bits, s, ids));
    all[1] = sum(bits, ids->n);
    TRY(hpc_copy_text(bits, ids->id, ids->n, s->vocab, hpc_likelihood_context(s->likelihood)));
    all[2] = sum(bits, ids->n);
    TRY(put_sample(log, &s->files.item[k], ids->n, all));
out:
    hpc_free(bits);
    return rc;
}

static void release(scoring *s)
{
    for (int64_t k = 0; s->ids && k < s->files.n; k++) hpc_free(s->ids[k].id);
    hpc_free(s->ids);
    hpc_ngram_free(s->ngram);
    hpc_likelihood_close(s->likelihood);
    hpc_tokenizer_scratch_free(s->scratch);
    hpc_tokenizer_close(s->tokenizer);
    hpc_model_files_close(s->model);
    hpc_eval_files_release(&s->files);
    hpc_eval_files_release(&s->train);
}

int hpc_eval_perplexity(hpc_eval_log *log, const char *model, const hpc_eval_perplexity_options *o)
{
    scoring s = {.o = o};
    int rc;

    TRY(prepare(&s, model));
    if (o->progress) hpc_progress_start(o->progress, "scoring", "files", s.files.n);
    for (int64_t k = 0; k < s.files.n && !eval_stopped(o->stop); k++) {
        if (!hpc_eval_log_has(log, s.files.item[k].path)) TRY(score_file(log, &s, k));
        if (o->progress) hpc_progress_update(o->progress, k + 1, NULL);
    }
    if (o->progress) hpc_progress_clear(o->progress);
out:
    release(&s);
    return rc;
}
