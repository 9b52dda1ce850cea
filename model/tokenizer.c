/*
 * tokenizer.c: opens the tokenizer of a model directory, a GGUF, a packed or a single file, with
 * its settings for begin and end tokens.
 */
#include <string.h>

#include "model/metadata.h"
#include "model/packed_priv.h"
#include "model/priv.h"

enum { FILE_MOST = 256 << 20 };

static const char MODEL[] = "tokenizer.model", JSON[] = "tokenizer.json",
                  CONFIG[] = "tokenizer_config.json";

static bool ends_with(const char *text, const char *tail)
{
    size_t n = strlen(text), k = strlen(tail);
    return n >= k && strcmp(text + n - k, tail) == 0;
}

/* ---- opening --------------------------------------------------------------------------------- */

bool model_tokens_are_json(const model_tokens *k)
{
    return ends_with(k->name, ".json");
}

static int open_data(model_tokens *k, const char *label)
{
    const char *data = k->file.data ? k->file.data : "";
    return model_tokens_are_json(k) ? hpc_tokenizer_open_json(&k->t, data, k->file.n, label)
                                    : hpc_tokenizer_open_model(&k->t, data, k->file.n, label);
}

static int open_file(model_tokens *k, const char *path)
{
    int rc = HPC_OK;
    k->file.n = 0;
    TRY(hpc_file_read(&k->file, path, FILE_MOST));
    k->name = ends_with(path, ".json") ? JSON : MODEL;
    TRY(open_data(k, path));
out:
    return rc;
}

/* Reads add_bos_token and add_eos_token with transformers' defaults. */
static int read_config(model_tokens *k, const char *path)
{
    hpc_json *root = NULL;
    hpc_tokenizer_special s = hpc_tokenizer_specials(k->t);
    int rc = HPC_OK;
    TRY(hpc_json_read(&root, path));
    const char *type = model_json_word(root, "tokenizer_class");
    s.add_begin = model_json_flag(root, "add_bos_token", s.add_begin || strstr(type, "Llama"));
    s.add_end = model_json_flag(root, "add_eos_token", s.add_end);
    TRY(hpc_tokenizer_set_specials(k->t, &s));
out:
    hpc_json_free(root);
    return rc;
}

/* Like hpc_tokenizer_open: the .model first; the .json if the .model has an unsupported format. */
static int open_folder(model_tokens *k)
{
    hpc_buf model = {0}, json = {0}, config = {0};
    int rc = HPC_OK;
    TRY(hpc_buf_printf(&model, "%s/%s", k->path, MODEL));
    TRY(hpc_buf_printf(&json, "%s/%s", k->path, JSON));
    TRY(hpc_buf_printf(&config, "%s/%s", k->path, CONFIG));
    bool first = hpc_file_exists(model.data), second = hpc_file_exists(json.data);
    if (!first && !second)
        TRY(hpc_fail(HPC_E_ARG, "%s contains neither %s nor %s", k->path, JSON, MODEL));
    rc = open_file(k, first ? model.data : json.data);
    if (first && second && (rc == HPC_E_FORMAT || rc == HPC_E_UNSUPPORTED)) {
        hpc_error_clear();
        rc = open_file(k, json.data);
    }
    if (rc >= 0 && hpc_file_exists(config.data)) rc = read_config(k, config.data);
out:
    hpc_buf_release(&model);
    hpc_buf_release(&json);
    hpc_buf_release(&config);
    return rc;
}

/* GGUF keys override the file's own settings; ids without a piece become -1. */
static int read_keys(model_tokens *k, const hpc_gguf *g)
{
    const hpc_tokenizer_special own = hpc_tokenizer_specials(k->t);
    hpc_tokenizer_special s = own;
    int32_t *const ids[] = {&s.begin, &s.end, &s.pad};
    int rc = HPC_OK;
    TRY(model_gguf_specials(&s, g));
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        if (!hpc_tokenizer_piece(k->t, *ids[i], NULL)) *ids[i] = -1;
    TRY(hpc_tokenizer_set_specials(k->t, &s));
    TRY(model_gguf_marks(k->t, g));
    k->changed = s.add_begin != own.add_begin || s.add_end != own.add_end;
out:
    return rc;
}

static int open_gguf(model_tokens *k, const hpc_gguf *g)
{
    int rc = HPC_OK;
    TRY(hpc_gguf_tokenizer(&k->name, &k->file, g));
    TRY(open_data(k, k->path));
    TRY(read_keys(k, g));
out:
    return rc;
}

/* whole: also copy the file's bytes, which the prepared form does not need. */
static int open_packed(model_tokens *k, const hpc_packed *from, bool whole)
{
    model_packed_tokenizer is;
    int rc = HPC_OK;
    TRY(model_packed_tokenizer_of(&is, from));
    k->name = ends_with(is.name, ".json") ? JSON : MODEL;
    bool prepared = is.prepared && model_tokens_are_json(k);
    if (whole || !prepared) TRY(hpc_buf_add(&k->file, is.data, is.bytes));
    if (prepared)
        TRY(hpc_tokenizer_open_prepared(&k->t, is.prepared, is.prepared_bytes, k->path));
    else
        TRY(open_data(k, k->path));
    const hpc_tokenizer_special own = hpc_tokenizer_specials(k->t);
    hpc_tokenizer_special s = own;
    s.begin = is.special.begin, s.end = is.special.end, s.pad = is.special.pad;
    s.add_begin = is.special.add_begin, s.add_end = is.special.add_end;
    TRY(hpc_tokenizer_set_specials(k->t, &s));
    k->changed = s.add_begin != own.add_begin || s.add_end != own.add_end;
out:
    return rc;
}

static int open_tokens(model_tokens *out, const model_file *f, bool whole)
{
    hpc_buf inside = {0};
    int rc;
    *out = (model_tokens){.path = f->path};
    if (f->gguf) return open_gguf(out, f->gguf);
    if (f->packed) return open_packed(out, f->packed, whole);
    TRY(hpc_buf_printf(&inside, "%s/.", f->path));
    TRY(hpc_file_exists(inside.data) ? open_folder(out) : open_file(out, f->path));
out:
    hpc_buf_release(&inside);
    return rc;
}

int model_tokens_open(model_tokens *out, const char *path)
{
    model_file f;
    int rc;
    *out = (model_tokens){0};
    TRY(model_file_open(&f, path));
    TRY(open_tokens(out, &f, true));
out:
    model_file_close(&f);
    return rc;
}

void model_tokens_release(model_tokens *k)
{
    hpc_tokenizer_close(k->t);
    hpc_buf_release(&k->file);
}

int model_file_tokenizer(hpc_tokenizer **out, const model_file *f)
{
    model_tokens k;
    int rc = open_tokens(&k, f, false);
    *out = rc < 0 ? NULL : k.t;
    if (rc >= 0) k.t = NULL;
    model_tokens_release(&k);
    return rc;
}

int hpc_model_tokenizer(hpc_tokenizer **out, const char *model)
{
    model_file f;
    int rc;
    *out = NULL;
    TRY(model_file_open(&f, model));
    TRY(model_file_tokenizer(out, &f));
out:
    model_file_close(&f);
    return rc;
}

/* ---- into a directory ------------------------------------------------------------------------ */

static int save(const char *dir, const char *name, const void *data, size_t n)
{
    hpc_buf path = {0};
    int rc = HPC_OK;
    TRY(hpc_buf_printf(&path, "%s/%s", dir, name));
    TRY(hpc_file_save(path.data, data, n));
out:
    hpc_buf_release(&path);
    return rc;
}

static int copy_folder(const char *dir, const char *from)
{
    static const char *const names[] = {MODEL,
                                        JSON,
                                        CONFIG,
                                        "special_tokens_map.json",
                                        "added_tokens.json",
                                        "vocab.json",
                                        "merges.txt",
                                        "chat_template.jinja"};
    hpc_buf path = {0};
    int rc = HPC_OK;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        hpc_file_view v = {0};
        path.n = 0;
        TRY(hpc_buf_printf(&path, "%s/%s", from, names[i]));
        if (!hpc_file_exists(path.data)) continue;
        TRY(hpc_file_open(&v, path.data));
        rc = save(dir, names[i], v.data, v.bytes);
        hpc_file_close(&v);
        if (rc < 0) goto out;
    }
out:
    hpc_buf_release(&path);
    return rc;
}

/* End-of-text token: a single file may have a mark for it that differs from its end token. */
static int32_t end_of(const model_tokens *k)
{
    int32_t id = hpc_tokenizer_specials(k->t).end;
    if (!model_is_gguf(k->path) && !hpc_is_packed(k->path))
        hpc_tokenizer_special_name(k->t, HPC_SPECIAL_END, &id);
    return id;
}

static int save_all(const char *dir, const model_tokens *k)
{
    hpc_buf text = {0};
    hpc_json *metadata = NULL;
    bool json = model_tokens_are_json(k);
    int rc = HPC_OK;
    TRY(save(dir, k->name, k->file.data, k->file.n));
    if (!json) {
        rc = hpc_tokenizer_write_json(&text, k->t);
        json = rc >= 0;
        if (rc == HPC_E_UNSUPPORTED) hpc_error_clear(); /* transformers converts the .model */
        TRY(rc == HPC_E_UNSUPPORTED ? HPC_OK : rc);
        if (json) TRY(save(dir, JSON, text.data, text.n));
    }
    text.n = 0;
    if (model_is_gguf(k->path) || hpc_is_packed(k->path))
        TRY(hpc_model_metadata_read(&metadata, k->path));
    const hpc_model_tokenizer_options o = {
        .end = end_of(k), .json = json, .metadata = metadata, .always = k->changed};
    TRY(hpc_model_tokenizer_config(&text, k->t, &o));
    TRY(save(dir, CONFIG, text.data, text.n));
out:
    hpc_json_free(metadata);
    hpc_buf_release(&text);
    return rc;
}

int hpc_model_tokenizer_copy(const char *dir, const char *model)
{
    model_tokens k = {0};
    hpc_buf inside = {0};
    int rc = HPC_OK;
    TRY(hpc_buf_printf(&inside, "%s/.", model));
    if (!model_is_gguf(model) && !hpc_is_packed(model) && hpc_file_exists(inside.data)) {
        TRY(copy_folder(dir, model));
    } else {
        TRY(model_tokens_open(&k, model));
        TRY(save_all(dir, &k));
    }
out:
    model_tokens_release(&k);
    hpc_buf_release(&inside);
    return rc;
}
