/*
 * model_copy.c: see model_copy.h.
 */
#include <math.h>
#include <string.h>

#include "cmd/model_copy.h"
#include "model/metadata.h"
#include "model/packed.h"
#include "model/tokenizer.h"
#include "train/run.h"

const char *const model_copy_dtypes[] = {"f32",  "bf16", "f16",  "q8_0",
                                         "q6_K", "q4_0", "q4_K", NULL};

typedef struct copying {
    const char *command, *from;
    const model_copy_options *o;
    hpc_model_config c;
    hpc_weights *w;
    hpc_saved *saved;         /* in place of w: it comes out of a checkpoint */
    hpc_json *record;         /* of that run */
    hpc_json *metadata;       /* of the model; NULL: a run */
    hpc_dtype dtype;          /* HPC_DTYPE_N: as they are stored */
    hpc_tokenizer *tokenizer; /* NULL: there is none, or none that we can open */
    const char *words; /* where that lies: from, or as the run's record says; NULL: nowhere */
    bool from_gguf;    /* not a directory */
    model_copy_form to;
    int64_t params, done;
    hpc_progress progress;
    hpc_buf path;
} copying;

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

static int check_file(const model_copy_options *o, model_copy_form to)
{
    const char *ending = to == MODEL_COPY_GGUF ? "gguf" : "packed";
    if (!o->out) return hpc_fail(HPC_E_ARG, "--out is missing: the file to write, FILE.%s", ending);
    if (!(to == MODEL_COPY_GGUF ? is_gguf(o->out) : hpc_is_packed(o->out)))
        return hpc_fail(HPC_E_ARG, "--out %s: the file name must end in .%s", o->out, ending);
    if (hpc_file_exists(o->out))
        return hpc_fail(HPC_E_ARG, "--out %s: the file exists; name another one", o->out);
    return HPC_OK;
}

static int check_out(const model_copy_options *o)
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
    k->dtype = k->to == MODEL_COPY_PACKED ? HPC_DTYPE_N : k->saved ? HPC_F32 : k->c.dtype;
    if (k->o->dtype) TRY(hpc_dtype_find(&k->dtype, k->o->dtype));
    if (k->to == MODEL_COPY_FOLDER && hpc_dtype_get(k->dtype)->quantised)
        TRY(hpc_fail(HPC_E_ARG,
                     "--dtype %s: only files support it; a directory has f32, bf16 or f16",
                     k->o->dtype));
out:
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

/* Whether tokens fit; a tokenizer that is missing, or is none of ours, does not keep the model. */
static int look_at_tokenizer(copying *k)
{
    char line[640];
    bool there = false;
    int rc = open_tokenizer(k, &there);
    if (rc < 0 && !there) return rc;
    if (!there) {
        if (!k->o->quiet)
            hpc_cmd_warn(k->from_gguf ? "there is no tokenizer in the model's file"
                                      : "there is no tokenizer next to the model",
                         (void *)k->command);
        return HPC_OK;
    }
    if (rc == HPC_E_NOMEM) return rc;
    if (rc < 0) {
        snprintf(line, sizeof line, "the tokenizer is %s: %s",
                 k->to != MODEL_COPY_FOLDER || k->from_gguf
                     ? "left out, because this program cannot use it"
                     : "copied, but this program cannot use it",
                 hpc_error_get()->text);
        hpc_cmd_warn(line, (void *)k->command);
        hpc_error_clear();
    } else if (hpc_tokenizer_n(k->tokenizer) > k->c.vocab && k->to != MODEL_COPY_GGUF) {
        snprintf(line, sizeof line,
                 "the tokenizer has %lld tokens, the vocabulary of the model only the first %lld",
                 (long long)hpc_tokenizer_n(k->tokenizer), (long long)k->c.vocab);
        hpc_cmd_warn(line, (void *)k->command);
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
    return t->rank == 2 ? t->extent[0] * t->extent[1] : t->extent[0];
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
    int rc = k->saved ? hpc_saved_read(out, t, k->saved) : hpc_weights_read(out, k->w, t);
    TRY(rc);
    TRY(check_finite(k, out, t));
    if (!t->adapter) k->done += elements(t);
    hpc_progress_update(&k->progress, k->done, NULL);
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
    if (k->tokenizer && (k->from_gguf || k->saved))
        TRY(hpc_model_tokenizer_copy(k->o->out, k->words));
    if (k->from_gguf) TRY(hpc_model_card_save(k->o->out, k->metadata));
    hpc_cmd_progress(&k->progress, k->o->quiet);
    hpc_progress_start(&k->progress, k->command, "parameters", k->params);
    TRY(hpc_weights_save(k->o->out, &k->c, &save));
    hpc_progress_end(&k->progress, k->done);
    if (!k->saved) TRY(copy_file(k, "generation_config.json"));
out:
    return rc;
}

static void remark(const char *line, void *user)
{
    const copying *k = user;
    if (!k->o->quiet) hpc_cmd_warn(line, (void *)k->command);
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
    hpc_cmd_progress(&k->progress, k->o->quiet);
    hpc_progress_start(&k->progress, k->command, "parameters", k->params);
    TRY(hpc_delta_save(k->o->out, &k->c, &save));
    hpc_progress_end(&k->progress, k->done);
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
    hpc_cmd_progress(&k->progress, k->o->quiet);
    hpc_progress_start(&k->progress, k->command, "parameters", k->params);
    TRY(hpc_weights_save_gguf(k->o->out, &k->c, &save));
    hpc_progress_end(&k->progress, k->done);
out:
    hpc_buf_release(&name);
    return rc;
}

static void told_of(int64_t parameters, void *user)
{
    copying *k = user;
    k->done += parameters;
    hpc_progress_update(&k->progress, k->done, NULL);
}

/* What has been written is read once more. */
static int copy_packed(copying *k)
{
    const hpc_packed_options save = {.dtype = k->dtype,
                                     .tokenizer = k->tokenizer ? k->from : NULL,
                                     .metadata = k->metadata,
                                     .done = told_of,
                                     .user = k};
    hpc_packed *packed = NULL;
    int rc;
    TRY(check_weights(k));
    hpc_cmd_progress(&k->progress, k->o->quiet);
    hpc_progress_start(&k->progress, k->command, "parameters", k->params);
    TRY(hpc_packed_save(k->o->out, k->w, &k->c, &save));
    hpc_progress_end(&k->progress, k->done);
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
    if (k->to == MODEL_COPY_FOLDER)
        return (double)k->params * (double)hpc_dtype_get(k->dtype)->block_bytes;
    if (hpc_file_open(&view, k->o->out) >= 0) bytes = (double)view.bytes;
    hpc_file_close(&view);
    return bytes;
}

static const char *dtype_name(const copying *k)
{
    return k->dtype == HPC_DTYPE_N ? "stored" : hpc_dtype_get(k->dtype)->name;
}

static void put_json(hpc_buf *out, const copying *k)
{
    static const char *const heads[] = {"tokens", "classes", "pairs"};
    hpc_json_out w = {.buf = out, .indent = 2};
    hpc_json_open(&w, NULL, '{');
    hpc_json_put_text(&w, "out", k->o->out);
    hpc_json_put_text(&w, "family", k->c.family);
    hpc_json_put_text(&w, "head", heads[k->c.head]);
    hpc_json_put_int(&w, "parameters", k->params);
    hpc_json_put_text(&w, "dtype", dtype_name(k));
    hpc_json_put_int(&w, "bytes", (int64_t)bytes_of(k));
    hpc_json_put_int(&w, "layers", k->c.layers);
    hpc_json_put_int(&w, "hidden", k->c.hidden);
    hpc_json_put_int(&w, "vocabulary", k->c.vocab);
    if (k->tokenizer)
        hpc_json_put_int(&w, "tokenizer_tokens", hpc_tokenizer_n(k->tokenizer));
    else
        hpc_json_put_text(&w, "tokenizer_tokens", NULL);
    hpc_json_close(&w, '}');
    hpc_buf_text(out, "\n");
}

static void put_text(hpc_buf *out, const copying *k)
{
    char size[32];
    hpc_buf_printf(out,
                   "%s: %s, %lld parameters in %s (%s), %lld layers of %lld, a vocabulary of %lld",
                   k->o->out, k->c.family, (long long)k->params,
                   k->dtype == HPC_DTYPE_N ? "the types stored" : dtype_name(k),
                   hpc_cmd_bytes(size, bytes_of(k)), (long long)k->c.layers, (long long)k->c.hidden,
                   (long long)k->c.vocab);
    if (k->tokenizer)
        hpc_buf_printf(out, ", a tokenizer of %lld\n", (long long)hpc_tokenizer_n(k->tokenizer));
    else
        hpc_buf_text(out, "\n");
}

/* What a fine-tuning would draw cannot be copied: said before, not behind, all else. */
static int check_head(const copying *k)
{
    hpc_model_tensor *list = NULL;
    int64_t n = 0;
    int rc = hpc_model_tensors(&list, &n, &k->c);
    for (int64_t i = 0; i < n && rc >= 0 && k->w; i++)
        if (!hpc_weights_has(k->w, &list[i]))
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

/* The tokenizer that a run's configuration names, or that lies in the model which it began with. */
static int find_words(copying *k)
{
    static const char *const keys[] = {"tokenizer", "init"};
    const char *path = path_in(k, k->from, "config.json"), *words;
    int rc = path ? HPC_OK : HPC_E_NOMEM;
    TRY(rc);
    if (!hpc_file_exists(path)) goto out;
    TRY(hpc_json_read(&k->record, path));
    for (size_t i = 0; i < sizeof keys / sizeof *keys && !k->words; i++) {
        const hpc_json *v = hpc_json_get(k->record, keys[i]);
        if (hpc_json_kind_of(v) != HPC_JSON_TEXT) continue;
        TRY(hpc_json_text(&words, v, keys[i]));
        if (i == 0 || hpc_run_tokens_there(words)) k->words = words;
    }
out:
    return rc;
}

static int open_run(copying *k)
{
    int rc;
    if (k->to == MODEL_COPY_PACKED)
        return hpc_fail(
            HPC_E_ARG, "--to packed: %s is a run; export it to a folder first, and pack the folder",
            k->from);
    TRY(hpc_saved_open(&k->saved, k->from, k->o->step > 0 ? k->o->step : -1, k->o->base));
    k->c = *hpc_saved_config(k->saved);
    TRY(find_words(k));
out:
    return rc;
}

static int open_model(copying *k)
{
    int rc;
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

static int copy_model(copying *k)
{
    static int (*const copy[MODEL_COPY_FORM_N])(copying *) = {[MODEL_COPY_FOLDER] = copy_folder,
                                                              [MODEL_COPY_GGUF] = copy_gguf,
                                                              [MODEL_COPY_PACKED] = copy_packed};
    bool folder = k->to == MODEL_COPY_FOLDER;
    hpc_buf out = {0};
    bool began = false;
    int rc = HPC_OK;
    k->from_gguf = is_gguf(k->from);
    TRY(folder ? check_out(k->o) : check_file(k->o, k->to));
    TRY(is_run(k) ? open_run(k) : open_model(k));
    TRY(check_head(k));
    TRY(find_dtype(k));
    k->params = written_params(&k->c);
    TRY(look_at_tokenizer(k));
    began = folder; /* a file is there whole, or not at all */
    TRY(copy[k->to](k));
    began = false;
    if (k->o->json)
        put_json(&out, k);
    else
        put_text(&out, k);
    TRY(hpc_cmd_print_report(&out, "the model is in", k->o->out));
out:
    if (began) remove_all(k);
    hpc_tokenizer_close(k->tokenizer);
    hpc_weights_close(k->w);
    hpc_saved_close(k->saved);
    hpc_json_free(k->record);
    hpc_json_free(k->metadata);
    hpc_buf_release(&k->path);
    return rc;
}

int model_copy(const char *command, const char *from, const model_copy_options *o,
               model_copy_form to)
{
    copying k = {.command = command, .from = from, .o = o, .to = to};
    return copy_model(&k);
}
