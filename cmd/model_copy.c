/*
 * model_copy.c: see model_copy.h.
 */
#include <string.h>

#include "cmd/model_copy.h"
#include "model/model.h"
#include "tokenizer/tokenizer.h"

const char *const model_copy_dtypes[] = {"f32", "bf16", "f16", NULL};

typedef struct copying {
    const char *command, *from;
    const model_copy_options *o;
    hpc_model_config c;
    hpc_weights *w;
    hpc_dtype dtype;
    hpc_tokenizer *tokenizer; /* NULL: there is none, or none that we can open */
    int64_t params, done;
    hpc_progress progress;
    hpc_buf path;
} copying;

static const char *path_in(copying *k, const char *folder, const char *name)
{
    k->path.n = 0;
    return hpc_buf_printf(&k->path, "%s/%s", folder, name) < 0 ? NULL : k->path.data;
}

/* ---- before
 * -------------------------------------------------------------------------------------- */

static int check_out(const model_copy_options *o)
{
    hpc_buf names = {0};
    int64_t n = 0;
    int rc = HPC_OK;
    if (!o->out) TRY(hpc_fail(HPC_E_ARG, "--out is needed: a folder that is made, or empty"));
    if (!hpc_file_exists(o->out)) goto out;
    TRY(hpc_file_list(&names, &n, o->out));
    if (n > 0)
        TRY(hpc_fail(HPC_E_ARG, "--out %s: it is not empty (%.200s); name another folder", o->out,
                     names.data));
out:
    hpc_buf_release(&names);
    return rc;
}

static int find_dtype(copying *k)
{
    k->dtype = k->c.dtype;
    return k->o->dtype ? hpc_dtype_find(&k->dtype, k->o->dtype) : HPC_OK;
}

/* Whether tokens fit; a tokenizer that is missing, or is none of ours, does not keep the model. */
static int look_at_tokenizer(copying *k)
{
    static const char *const names[] = {"tokenizer.model", "tokenizer.json"};
    char line[640];
    bool there = false;
    for (size_t i = 0; i < sizeof names / sizeof *names && !there; i++) {
        const char *path = path_in(k, k->from, names[i]);
        if (!path) return HPC_E_NOMEM;
        there = hpc_file_exists(path);
    }
    if (!there) {
        if (!k->o->quiet)
            hpc_cmd_warn("there is no tokenizer beside the model", (void *)k->command);
        return HPC_OK;
    }
    int rc = hpc_tokenizer_open(&k->tokenizer, k->from);
    if (rc == HPC_E_NOMEM) return rc;
    if (rc < 0) {
        snprintf(line, sizeof line, "the tokenizer is copied, but cannot be used here: %s",
                 hpc_error_get()->text);
        hpc_cmd_warn(line, (void *)k->command);
        hpc_error_clear();
    } else if (hpc_tokenizer_n(k->tokenizer) > k->c.vocab) {
        snprintf(line, sizeof line,
                 "the tokenizer has %lld tokens, the model knows the first %lld of them",
                 (long long)hpc_tokenizer_n(k->tokenizer), (long long)k->c.vocab);
        hpc_cmd_warn(line, (void *)k->command);
    }
    return HPC_OK;
}

/* ---- copying
 * ---------------------------------------------------------------------------------------- */

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

static int read_tensor(float *out, const hpc_model_tensor *t, void *user)
{
    copying *k = user;
    int rc = hpc_weights_read(out, k->w, t);
    k->done += t->rank == 2 ? t->extent[0] * t->extent[1] : t->extent[0];
    if (rc >= 0) hpc_progress_update(&k->progress, k->done, NULL);
    return rc;
}

/* config.json is the last file that makes it a model; generation_config.json has more in the source
 * than we know of. */
static int copy_all(copying *k)
{
    static const char *const beside[] = {"tokenizer.json",
                                         "tokenizer.model",
                                         "tokenizer_config.json",
                                         "special_tokens_map.json",
                                         "added_tokens.json",
                                         "vocab.json",
                                         "merges.txt",
                                         "chat_template.jinja"};
    hpc_weights_save_options save = {.dtype = k->dtype, .read = read_tensor, .user = k};
    int rc = HPC_OK;
    TRY(hpc_file_mkdir(k->o->out));
    for (size_t i = 0; i < sizeof beside / sizeof *beside; i++) TRY(copy_file(k, beside[i]));
    hpc_cmd_progress(&k->progress, k->o->quiet);
    hpc_progress_start(&k->progress, k->command, "parameters", k->params);
    TRY(hpc_weights_save(k->o->out, &k->c, &save));
    hpc_progress_end(&k->progress, k->done);
    TRY(copy_file(k, "generation_config.json"));
out:
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

/* ---- after
 * --------------------------------------------------------------------------------------------- */

static void put_json(hpc_buf *out, const copying *k)
{
    static const char *const heads[] = {"tokens", "classes", "pairs"};
    hpc_json_out w = {.buf = out, .indent = 2};
    hpc_json_open(&w, NULL, '{');
    hpc_json_put_text(&w, "out", k->o->out);
    hpc_json_put_text(&w, "family", k->c.family);
    hpc_json_put_text(&w, "head", heads[k->c.head]);
    hpc_json_put_int(&w, "parameters", k->params);
    hpc_json_put_text(&w, "dtype", hpc_dtype_get(k->dtype)->name);
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
    size_t width = hpc_dtype_get(k->dtype)->block_bytes;
    hpc_buf_printf(out,
                   "%s: %s, %lld parameters in %s (%s), %lld layers of %lld, a vocabulary of %lld",
                   k->o->out, k->c.family, (long long)k->params, hpc_dtype_get(k->dtype)->name,
                   hpc_cmd_bytes(size, (double)k->params * (double)width), (long long)k->c.layers,
                   (long long)k->c.hidden, (long long)k->c.vocab);
    if (k->tokenizer)
        hpc_buf_printf(out, ", a tokenizer of %lld\n", (long long)hpc_tokenizer_n(k->tokenizer));
    else
        hpc_buf_text(out, "\n");
}

int model_copy(const char *command, const char *from, const model_copy_options *o)
{
    copying k = {.command = command, .from = from, .o = o};
    hpc_buf out = {0};
    bool began = false;
    int rc = HPC_OK;
    TRY(check_out(o));
    TRY(hpc_model_config_read(&k.c, from));
    TRY(hpc_weights_open(&k.w, from, &k.c));
    TRY(find_dtype(&k));
    k.params = hpc_model_config_params(&k.c);
    TRY(look_at_tokenizer(&k));
    began = true;
    TRY(copy_all(&k));
    began = false;
    if (o->json)
        put_json(&out, &k);
    else
        put_text(&out, &k);
    TRY(hpc_cmd_print_report(&out, "the model is in", o->out));
out:
    if (began) remove_all(&k);
    hpc_tokenizer_close(k.tokenizer);
    hpc_weights_close(k.w);
    hpc_buf_release(&k.path);
    return rc;
}
