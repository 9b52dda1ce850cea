/*
 * chat.c: see chat.h.
 */
#include "model/chat.h"

#include <string.h>

#include "model/metadata.h"
#include "model/priv.h"

static const char TEMPLATE[] = "tokenizer.chat_template";
static const char *const token_keys[] = {"bos_token", "eos_token", "unk_token", "pad_token"};
enum { TOKENS = sizeof token_keys / sizeof *token_keys };

/* ---- templates ------------------------------------------------------------------------------ */

static int put_templates(hpc_json_out *w, const char *model)
{
    hpc_json *metadata = NULL;
    int rc;
    TRY(hpc_model_metadata_read(&metadata, model));
    hpc_json_open(w, "templates", '{');
    for (int64_t k = 0; k < hpc_json_n(metadata); k++) {
        const hpc_json *v;
        const char *key = hpc_json_key(metadata, k, &v), *name = key + strlen(TEMPLATE);
        if (strncmp(key, TEMPLATE, strlen(TEMPLATE)) != 0 || hpc_json_kind_of(v) != HPC_JSON_TEXT ||
            (*name && *name != '.'))
            continue;
        hpc_json_put(w, *name ? name + 1 : "default", v);
    }
    hpc_json_close(w, '}');
out:
    hpc_json_free(metadata);
    return rc;
}

/* ---- special tokens ------------------------------------------------------------------------- */

/* "name": TEXT or {"content": TEXT}; NULL: absent. *known: the key exists, perhaps as null. */
static const char *token_of(bool *known, const hpc_json *root, const char *key)
{
    const hpc_json *v = root ? hpc_json_get(root, key) : NULL;
    const hpc_json *text = hpc_json_kind_of(v) == HPC_JSON_OBJECT ? hpc_json_get(v, "content") : v;
    const char *word = NULL;
    *known |= v != NULL;
    if (hpc_json_kind_of(text) == HPC_JSON_TEXT) hpc_json_text(&word, text, key);
    return word;
}

/* NULL: there is no such file. */
static int read_beside(hpc_json **out, const char *dir, const char *name)
{
    hpc_buf path = {0};
    int rc;
    *out = NULL;
    TRY(hpc_buf_printf(&path, "%s/%s", dir, name));
    if (hpc_file_exists(path.data)) TRY(hpc_json_read(out, path.data));
out:
    hpc_buf_release(&path);
    return rc < 0 ? rc : HPC_OK;
}

/* The files of a directory first; the tokenizer where they have no such key. */
static int put_tokens(hpc_json_out *w, const char *dir, const hpc_tokenizer *t)
{
    const hpc_tokenizer_special s = hpc_tokenizer_specials(t);
    const int32_t ids[TOKENS] = {s.begin, s.end, s.unknown, s.pad};
    hpc_json *config = NULL, *map = NULL;
    int rc = HPC_OK;
    if (dir) TRY(read_beside(&config, dir, "tokenizer_config.json"));
    if (dir) TRY(read_beside(&map, dir, "special_tokens_map.json"));
    for (int k = 0; k < TOKENS; k++) {
        bool known = false;
        const char *text = token_of(&known, config, token_keys[k]);
        if (!known) text = token_of(&known, map, token_keys[k]);
        if (!known) text = hpc_tokenizer_piece(t, ids[k], NULL);
        if (text) hpc_json_put_text(w, token_keys[k], text);
    }
out:
    hpc_json_free(config);
    hpc_json_free(map);
    return rc;
}

/* ---- ends ----------------------------------------------------------------------------------- */

static int put_ends(hpc_json_out *w, const model_file *f, const char *dir)
{
    hpc_json *config = NULL;
    int64_t id = -1;
    int rc = HPC_OK;
    if (dir) TRY(read_beside(&config, dir, "generation_config.json"));
    if (f->gguf) TRY(model_gguf_int(&id, f->gguf, "tokenizer.ggml.eot_token_id", -1));
    const hpc_json *ends = config ? hpc_json_get(config, "eos_token_id") : NULL;
    hpc_json_open(w, "end", '[');
    if (id >= 0) hpc_json_put_int(w, NULL, id);
    if (hpc_json_kind_of(ends) == HPC_JSON_INT) hpc_json_put(w, NULL, ends);
    for (int64_t k = 0; hpc_json_kind_of(ends) == HPC_JSON_LIST && k < hpc_json_n(ends); k++)
        if (hpc_json_kind_of(hpc_json_at(ends, k)) == HPC_JSON_INT)
            hpc_json_put(w, NULL, hpc_json_at(ends, k));
    hpc_json_close(w, ']');
out:
    hpc_json_free(config);
    return rc;
}

int hpc_model_chat_read(hpc_json **out, const char *model, const hpc_tokenizer *t)
{
    hpc_buf text = {0};
    hpc_json_out w = {.buf = &text};
    model_file f = {0};
    int rc;
    *out = NULL;
    TRY(model_file_open(&f, model));
    const char *dir = f.gguf || f.packed ? NULL : model;
    hpc_json_open(&w, NULL, '{');
    TRY(put_templates(&w, model));
    TRY(put_tokens(&w, dir, t));
    TRY(put_ends(&w, &f, dir));
    hpc_json_close(&w, '}');
    TRY(text.failed);
    TRY(hpc_json_parse(out, text.data, text.n, "chat settings"));
out:
    hpc_buf_release(&text);
    model_file_close(&f);
    return rc < 0 ? hpc_error_where("%s", model) : rc;
}
