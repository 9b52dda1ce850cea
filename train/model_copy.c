/*
 * model_copy.c: conversion of models between directories, GGUF files and packed files, and export
 * of checkpoints.
 */
#include "train/model_copy.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/metadata.h"
#include "model/packed.h"
#include "model/peft.h"
#include "model/serve.h"
#include "model/tokenizer.h"
#include "train/run.h"

const char *const hpc_model_copy_dtypes[] = {"f32",  "bf16", "f16",  "q8_0",
                                             "q6_K", "q4_0", "q4_K", NULL};

typedef struct copying {
    const char *from;
    const hpc_model_copy_options *o;
    hpc_model_config c;
    hpc_weights *w;
    hpc_peft *peft;           /* adapters to merge; NULL: none */
    hpc_saved *saved;         /* in place of w: it comes out of a checkpoint */
    hpc_json *record;         /* of that run */
    hpc_json *metadata;       /* of the model; NULL: a run */
    hpc_dtype dtype;          /* HPC_DTYPE_N: the stored types */
    hpc_tokenizer *tokenizer; /* NULL: missing, or this program cannot open it */
    const char *base;         /* of a run: its base model, or NULL */
    const char *words; /* where that lies: from, or as the run's record says; NULL: nowhere */
    bool from_gguf;    /* not a directory */
    hpc_model_copy_form to;
    int64_t params, done;
    hpc_buf path;
} copying;

static void warn(const copying *k, const char *line)
{
    k->o->warn(line, k->o->user);
}

static const char *path_in(copying *k, const char *folder, const char *name)
{
    k->path.n = 0;
    return hpc_buf_printf(&k->path, "%s/%s", folder, name) < 0 ? NULL : k->path.data;
}

/* ---- before --------------------------------------------------------------------------------- */

static bool is_gguf(const char *path)
{
    size_t n = strlen(path);
    return n > 5 && strcmp(path + n - 5, ".gguf") == 0;
}

static int check_file(const hpc_model_copy_options *o, hpc_model_copy_form to)
{
    const char *ending = to == HPC_MODEL_COPY_GGUF ? "gguf" : "packed";
    if (!o->out) return hpc_fail(HPC_E_ARG, "--out is missing: the file to write, FILE.%s", ending);
    if (!(to == HPC_MODEL_COPY_GGUF ? is_gguf(o->out) : hpc_is_packed(o->out)))
        return hpc_fail(HPC_E_ARG, "--out %s: the file name must end in .%s", o->out, ending);
    if (hpc_file_exists(o->out))
        return hpc_fail(HPC_E_ARG, "--out %s: the file exists; name another one", o->out);
    return HPC_OK;
}

static int check_out(const hpc_model_copy_options *o)
{
    hpc_buf names = {0};
    int64_t n = 0;
    int rc = HPC_OK;
    if (!o->out) TRY(hpc_fail(HPC_E_ARG, "--out is missing: a new or empty folder"));
    if (!hpc_file_exists(o->out)) goto out;
    TRY(hpc_file_list(&names, &n, o->out));
    if (n > 0)
        TRY(hpc_fail(HPC_E_ARG, "--out %s: the folder is not empty (%.200s); name another one",
                     o->out, names.data));
out:
    hpc_buf_release(&names);
    return rc;
}

static int find_dtype(copying *k)
{
    int rc = HPC_OK;
    bool folder = k->to == HPC_MODEL_COPY_FOLDER || k->to == HPC_MODEL_COPY_PEFT;
    k->dtype = k->to == HPC_MODEL_COPY_PACKED ? HPC_DTYPE_N : k->saved ? HPC_F32 : k->c.dtype;
    if (k->o->dtype) TRY(hpc_dtype_find(&k->dtype, k->o->dtype));
    if (folder && hpc_dtype_get(k->dtype)->quantised)
        TRY(hpc_fail(HPC_E_ARG,
                     "--dtype %s: only files support it; a directory has f32, bf16 or f16",
                     k->o->dtype));
out:
    return rc;
}

/* Notes that block formats are unpacked where no type was requested. */
static int remark_on_blocks(const copying *k)
{
    hpc_model_tensor *list = NULL;
    char line[160];
    int64_t n = 0;
    if (k->o->dtype || !k->w || k->to == HPC_MODEL_COPY_PACKED || k->o->quiet) return HPC_OK;
    int rc = hpc_model_tensors(&list, &n, &k->c);
    for (int64_t i = 0; i < n && rc >= 0; i++) {
        if (list[i].rank != 2 || list[i].adapter) continue;
        const hpc_dtype_info *stored = hpc_dtype_get(hpc_serve_stored(k->w, &list[i]));
        if (!stored->quantised) continue;
        snprintf(line, sizeof line,
                 "matrices in %s or another block format become %s; --dtype selects another type",
                 stored->name, hpc_dtype_get(k->dtype)->name);
        warn(k, line);
        break;
    }
    hpc_free(list);
    return rc;
}

static int open_tokenizer(copying *k, bool *there)
{
    static const char *const names[] = {"tokenizer.model", "tokenizer.json"};
    int rc = HPC_OK;
    *there = k->from_gguf || (k->saved && k->words);
    for (size_t i = 0; !k->saved && i < sizeof names / sizeof *names && !*there; i++) {
        const char *path = path_in(k, k->from, names[i]);
        if (!path) TRY(HPC_E_NOMEM);
        *there = hpc_file_exists(path);
    }
    if (*there) rc = hpc_model_tokenizer(&k->tokenizer, k->words);
    if (rc == HPC_E_ARG && k->from_gguf) { /* it holds none */
        *there = false;
        hpc_error_clear();
        rc = HPC_OK;
    }
out:
    return rc;
}

/* Warns if tokens exceed the vocabulary. A missing or unknown tokenizer is no error. */
static int look_at_tokenizer(copying *k)
{
    char line[640];
    bool there = false;
    int rc = open_tokenizer(k, &there);
    if (rc < 0 && !there) return rc;
    if (!there) {
        if (!k->o->quiet)
            warn(k, k->from_gguf ? "there is no tokenizer in the model's file"
                                 : "there is no tokenizer next to the model");
        return HPC_OK;
    }
    if (rc == HPC_E_NOMEM) return rc;
    if (rc < 0) {
        snprintf(line, sizeof line, "the tokenizer is %s: %s",
                 k->to != HPC_MODEL_COPY_FOLDER || k->from_gguf
                     ? "left out, because this program cannot use it"
                     : "copied, but this program cannot use it",
                 hpc_error_get()->text);
        warn(k, line);
        hpc_error_clear();
    } else if (hpc_tokenizer_n(k->tokenizer) > k->c.vocab && k->to != HPC_MODEL_COPY_GGUF) {
        snprintf(line, sizeof line,
                 "the tokenizer has %lld tokens, the vocabulary of the model only the first %lld",
                 (long long)hpc_tokenizer_n(k->tokenizer), (long long)k->c.vocab);
        warn(k, line);
    }
    return HPC_OK;
}

/* ---- copying -------------------------------------------------------------------------------- */

static int copy_file(copying *k, const char *name)
{
    hpc_file_view view = {0};
    int rc = HPC_OK;
    const char *path = path_in(k, k->from, name);
    if (!path) TRY(HPC_E_NOMEM);
    if (!hpc_file_exists(path)) goto out;
    TRY(hpc_file_open(&view, path));
    path = path_in(k, k->o->out, name);
    if (!path) TRY(HPC_E_NOMEM);
    TRY(hpc_file_save(path, view.data, view.bytes));
out:
    hpc_file_close(&view);
    return rc;
}

static int64_t elements(const hpc_model_tensor *t)
{
    return hpc_model_tensor_n(t);
}

static int check_finite(const copying *k, const float *x, const hpc_model_tensor *t)
{
    int64_t n = elements(t);
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(x[i]))
            return hpc_fail(HPC_E_FORMAT, "%s: tensor %s: element %lld is %s; %s", k->from, t->name,
                            (long long)i, isnan(x[i]) ? "NaN" : "infinite",
                            k->saved ? "the run diverged: export an earlier checkpoint with --step"
                                     : "the file is damaged, or the training run diverged");
    return HPC_OK;
}

static int read_tensor(float *out, const hpc_model_tensor *t, void *user)
{
    copying *k = user;
    int rc;
    if (k->peft && (t->adapter || hpc_peft_replaces(k->peft, t)))
        rc = hpc_peft_read(out, k->peft, k->w, t);
    else
        rc = k->saved ? hpc_saved_read(out, t, k->saved) : hpc_weights_read(out, k->w, t);
    TRY(rc);
    TRY(check_finite(k, out, t));
    if ((t->adapter > 0) == (k->to == HPC_MODEL_COPY_PEFT)) k->done += elements(t);
    hpc_progress_update(k->o->progress, k->done, NULL);
out:
    return rc;
}

/* A packed file takes its numbers from the weights directly: they are checked before. */
static int check_weights(const copying *k)
{
    hpc_model_tensor *list = NULL;
    float *x = NULL;
    int64_t n = 0, most = 0;
    int rc;
    TRY(hpc_model_tensors(&list, &n, &k->c));
    for (int64_t i = 0; i < n; i++)
        if (elements(&list[i]) > most) most = elements(&list[i]);
    x = hpc_alloc((size_t)most, sizeof *x);
    if (!x) TRY(HPC_E_NOMEM);
    for (int64_t i = 0; i < n; i++) {
        TRY(hpc_weights_read(x, k->w, &list[i]));
        TRY(check_finite(k, x, &list[i]));
    }
out:
    hpc_free(list);
    hpc_free(x);
    return rc;
}

static int copy_file_of_tokens(copying *k)
{
    char **pair = NULL;
    int64_t n = 0;
    int rc = HPC_OK;
    if (k->peft && k->tokenizer) TRY(hpc_peft_names(&pair, &n, k->o->adapter, k->tokenizer));
    if (n > 0)
        TRY(hpc_model_tokenizer_rename(k->o->out, k->words, (const char *const *)pair, n));
    else if (k->tokenizer && (k->from_gguf || k->saved))
        TRY(hpc_model_tokenizer_copy(k->o->out, k->words));
out:
    for (int64_t i = 0; i < n; i++) hpc_free(pair[i]);
    hpc_free(pair);
    return rc;
}

/* Adapters in the format of peft; the tokenizer gives the names of trained tokens. */
static int copy_peft(copying *k)
{
    char *base = k->base ? realpath(k->base, NULL) : NULL;
    const hpc_peft_options save = {.dtype = k->dtype,
                                   .base = base ? base : k->base,
                                   .tokenizer = k->tokenizer,
                                   .read = read_tensor,
                                   .user = k};
    hpc_progress_start(k->o->progress, k->o->label, "parameters", k->params);
    int rc = hpc_peft_save(k->o->out, &k->c, &save);
    if (rc >= 0) hpc_progress_end(k->o->progress, k->done);
    free(base);
    return rc;
}

/* config.json is the last file that makes it a model; generation_config.json has more in the source
 * than we know of. */
static int copy_folder(copying *k)
{
    static const char *const beside[] = {"tokenizer.json",
                                         "tokenizer.model",
                                         "tokenizer_config.json",
                                         "special_tokens_map.json",
                                         "added_tokens.json",
                                         "vocab.json",
                                         "merges.txt",
                                         "chat_template.jinja",
                                         "README.md",
                                         "LICENSE",
                                         "LICENSE.txt",
                                         "LICENSE.md",
                                         "NOTICE"};
    hpc_weights_save_options save = {.dtype = k->dtype, .read = read_tensor, .user = k};
    int rc = HPC_OK;
    TRY(hpc_file_mkdir(k->o->out));
    for (size_t i = 0; !k->saved && i < sizeof beside / sizeof *beside; i++)
        TRY(copy_file(k, beside[i]));
    TRY(copy_file_of_tokens(k));
    if (k->from_gguf) TRY(hpc_model_card_save(k->o->out, k->metadata));
    hpc_progress_start(k->o->progress, k->o->label, "parameters", k->params);
    TRY(hpc_weights_save(k->o->out, &k->c, &save));
    hpc_progress_end(k->o->progress, k->done);
    if (!k->saved) TRY(copy_file(k, "generation_config.json"));
out:
    return rc;
}

static void remark(const char *line, void *user)
{
    const copying *k = user;
    if (!k->o->quiet) warn(k, line);
}

/* The last name of a path, without its ending, for the file to be known by. */
static int name_of(hpc_buf *out, const char *path)
{
    size_t n = strlen(path);
    while (n > 0 && path[n - 1] == '/') n--;
    size_t from = n;
    if (is_gguf(path)) from = n -= strlen(".gguf");
    while (from > 0 && path[from - 1] != '/') from--;
    return hpc_buf_printf(out, "%.*s", (int)(n - from), path + from);
}

static int copy_differences(copying *k)
{
    const hpc_delta_options save = {.base = k->o->delta_from, .read = read_tensor, .user = k};
    int rc;
    hpc_progress_start(k->o->progress, k->o->label, "parameters", k->params);
    TRY(hpc_delta_save(k->o->out, &k->c, &save));
    hpc_progress_end(k->o->progress, k->done);
out:
    return rc;
}

static int copy_gguf(copying *k)
{
    if (k->o->delta_from && *k->o->delta_from) return copy_differences(k);
    hpc_buf name = {0};
    int rc = HPC_OK;
    TRY(name_of(&name, k->from));
    hpc_gguf_options save = {.dtype = k->dtype,
                             .name = name.n > 0 && name.data[0] != '.' ? name.data : NULL,
                             .tokenizer = k->tokenizer ? k->words : NULL,
                             .metadata = k->metadata,
                             .read = read_tensor,
                             .remark = remark,
                             .user = k};
    hpc_progress_start(k->o->progress, k->o->label, "parameters", k->params);
    TRY(hpc_weights_save_gguf(k->o->out, &k->c, &save));
    hpc_progress_end(k->o->progress, k->done);
out:
    hpc_buf_release(&name);
    return rc;
}

static void add_done(int64_t parameters, void *user)
{
    copying *k = user;
    k->done += parameters;
    hpc_progress_update(k->o->progress, k->done, NULL);
}

/* Reports matrices that the file will have in another type than the source. */
static int remark_types(copying *k)
{
    hpc_buf note = {0};
    int rc = k->dtype == HPC_DTYPE_N ? hpc_weights_note(&note, k->w) : HPC_OK;
    if (rc >= 0 && note.n > 0) remark(note.data, k);
    hpc_buf_release(&note);
    return rc;
}

/* What has been written is read once more. */
static int copy_packed(copying *k)
{
    const hpc_packed_options save = {.dtype = k->dtype,
                                     .tokenizer = k->tokenizer ? k->from : NULL,
                                     .metadata = k->metadata,
                                     .done = add_done,
                                     .user = k};
    hpc_packed *packed = NULL;
    int rc;
    TRY(check_weights(k));
    TRY(remark_types(k));
    hpc_progress_start(k->o->progress, k->o->label, "parameters", k->params);
    TRY(hpc_packed_save(k->o->out, k->w, &k->c, &save));
    hpc_progress_end(k->o->progress, k->done);
    TRY(hpc_packed_open(&packed, k->o->out));
    TRY(hpc_packed_verify(packed));
out:
    hpc_packed_close(packed);
    return rc;
}

/* The folder was empty before: all that is in it is ours. What failed stays the error. */
static void remove_all(copying *k)
{
    hpc_buf names = {0};
    int64_t n = 0;
    if (hpc_file_list(&names, &n, k->o->out) == HPC_OK)
        for (const char *name = names.data; n-- > 0; name += strlen(name) + 1)
            if (path_in(k, k->o->out, name)) hpc_file_remove(k->path.data);
    hpc_buf_release(&names);
}

/* ---- after ---------------------------------------------------------------------------------- */

/* Of the file, or of the numbers in the folder. */
static double bytes_of(const copying *k)
{
    hpc_file_view view = {0};
    double bytes = 0;
    if (k->to == HPC_MODEL_COPY_FOLDER || k->to == HPC_MODEL_COPY_PEFT)
        return (double)k->params * (double)hpc_dtype_get(k->dtype)->block_bytes;
    if (hpc_file_open(&view, k->o->out) >= 0) bytes = (double)view.bytes;
    hpc_file_close(&view);
    return bytes;
}

/* Rejects a head that has no weights yet, before anything is written. */
static int check_head(const copying *k)
{
    hpc_model_tensor *list = NULL;
    int64_t n = 0;
    int rc = hpc_model_tensors(&list, &n, &k->c);
    for (int64_t i = 0; i < n && rc >= 0 && k->w; i++)
        if (!list[i].adapter && !hpc_weights_has(k->w, &list[i]))
            rc = hpc_fail(HPC_E_FORMAT,
                          "%s: its configuration has a classification head, but %s is missing",
                          k->from, list[i].name);
    hpc_free(list);
    return rc;
}

/* ---- where it comes from -------------------------------------------------------------------- */

static bool is_run(copying *k)
{
    const char *path = path_in(k, k->from, "checkpoints");
    return path && hpc_file_exists(path);
}

/* The tokenizer and the base model that a run's configuration names, or that lies in the model
 * which it began with. */
static int find_words(copying *k)
{
    static const char *const keys[] = {"tokenizer", "init"};
    const char *path = path_in(k, k->from, "config.json"), *words;
    int rc = path ? HPC_OK : HPC_E_NOMEM;
    TRY(rc);
    if (!hpc_file_exists(path)) goto out;
    TRY(hpc_json_read(&k->record, path));
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const hpc_json *v = hpc_json_get(k->record, keys[i]);
        if (hpc_json_kind_of(v) != HPC_JSON_TEXT) continue;
        TRY(hpc_json_text(&words, v, keys[i]));
        if (!k->words && (i == 0 || hpc_run_tokens_there(words))) k->words = words;
        if (i == 1) k->base = k->o->base ? k->o->base : words;
    }
out:
    return rc;
}

static int open_run(copying *k)
{
    int rc;
    if (k->to == HPC_MODEL_COPY_PACKED)
        return hpc_fail(
            HPC_E_ARG, "--to packed: %s is a run; export it to a folder first, and pack the folder",
            k->from);
    TRY(hpc_saved_open(&k->saved, k->from, k->o->step > 0 ? k->o->step : -1, k->o->base));
    k->c = *hpc_saved_config(k->saved);
    TRY(find_words(k));
out:
    return rc;
}

static int open_adapter(copying *k)
{
    if (!k->o->adapter) return HPC_OK;
    if (k->to != HPC_MODEL_COPY_FOLDER)
        return hpc_fail(HPC_E_ARG, "--adapter %s: import it to a folder first, then export that",
                        k->o->adapter);
    return hpc_peft_open(&k->peft, k->o->adapter, &k->c);
}

static int open_model(copying *k)
{
    int rc;
    if (k->to == HPC_MODEL_COPY_PEFT)
        return hpc_fail(HPC_E_ARG, "--to peft: %s is a model, not the folder of a run", k->from);
    if (k->o->step > 0)
        return hpc_fail(HPC_E_ARG, "--step %lld: %s is a model, not the folder of a run",
                        (long long)k->o->step, k->from);
    if (k->o->base)
        return hpc_fail(HPC_E_ARG, "--base %s: %s is a model, not the folder of a run", k->o->base,
                        k->from);
    k->words = k->from;
    TRY(hpc_model_config_read(&k->c, k->from));
    TRY(hpc_weights_open(&k->w, k->from, &k->c));
    TRY(hpc_model_metadata_read(&k->metadata, k->from));
    TRY(open_adapter(k));
out:
    return rc;
}

/* Without adapters, which are merged into the matrices that they adapt. */
static int64_t written_params(const hpc_model_config *c)
{
    hpc_model_config merged = *c;
    merged.adapter = (hpc_adapter_config){0};
    return hpc_model_config_params(&merged);
}

static int64_t adapter_params(const hpc_model_config *c)
{
    return hpc_model_config_params(c) - written_params(c);
}

static int copy_model(hpc_model_copy_result *out, copying *k)
{
    static int (*const copy[HPC_MODEL_COPY_FORM_N])(copying *) = {
        [HPC_MODEL_COPY_FOLDER] = copy_folder,
        [HPC_MODEL_COPY_GGUF] = copy_gguf,
        [HPC_MODEL_COPY_PACKED] = copy_packed,
        [HPC_MODEL_COPY_PEFT] = copy_peft};
    bool folder = k->to == HPC_MODEL_COPY_FOLDER || k->to == HPC_MODEL_COPY_PEFT;
    bool began = false;
    int rc = HPC_OK;
    k->from_gguf = is_gguf(k->from);
    TRY(folder ? check_out(k->o) : check_file(k->o, k->to));
    TRY(is_run(k) ? open_run(k) : open_model(k));
    TRY(check_head(k));
    TRY(find_dtype(k));
    TRY(remark_on_blocks(k));
    k->params = k->to == HPC_MODEL_COPY_PEFT ? adapter_params(&k->c) : written_params(&k->c);
    TRY(look_at_tokenizer(k));
    began = folder; /* a file is there whole, or not at all */
    TRY(copy[k->to](k));
    began = false;
    *out =
        (hpc_model_copy_result){.config = k->c,
                                .params = k->params,
                                .dtype = k->dtype,
                                .bytes = bytes_of(k),
                                .tokenizer_n = k->tokenizer ? hpc_tokenizer_n(k->tokenizer) : -1};
out:
    if (began) remove_all(k);
    hpc_tokenizer_close(k->tokenizer);
    hpc_peft_close(k->peft);
    hpc_weights_close(k->w);
    hpc_saved_close(k->saved);
    hpc_json_free(k->record);
    hpc_json_free(k->metadata);
    hpc_buf_release(&k->path);
    return rc;
}

int hpc_model_copy(hpc_model_copy_result *out, const char *from, const hpc_model_copy_options *o,
                   hpc_model_copy_form to)
{
    copying k = {.from = from, .o = o, .to = to};
    return copy_model(out, &k);
}
