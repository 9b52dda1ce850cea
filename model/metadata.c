/*
 * metadata.c: reads metadata from each container; writes it to GGUF files and
 * tokenizer_config.json.
 *
 * model_card.c reads and writes README.md.
 */
#include "model/metadata.h"

#include <stdio.h>
#include <string.h>

#include "model/packed_priv.h"
#include "model/priv.h"

#define TEMPLATE  "tokenizer.chat_template"
#define TEMPLATES "tokenizer.chat_templates" /* names of the templates other than the default */

enum { TEXT_MOST = 1 << 20 };

static bool begins_with(const char *text, const char *head)
{
    return strncmp(text, head, strlen(head)) == 0;
}

bool model_metadata_key(const char *key)
{
    static const char *const container[] = {"general.architecture", "general.file_type",
                                            "general.alignment", "general.quantization_version",
                                            "general.type"};
    for (size_t k = 0; k < sizeof container / sizeof *container; k++)
        if (strcmp(key, container[k]) == 0) return false;
    return begins_with(key, "general.") || begins_with(key, TEMPLATE);
}

/* ---- GGUF ----------------------------------------------------------------------------------- */

/* Copies n bytes; a text with a NUL is cut there. */
static int put_bytes(hpc_json_out *w, const char *key, const void *data, size_t n)
{
    hpc_buf text = {0};
    int rc = HPC_OK;
    TRY(hpc_buf_text(&text, ""));
    if (n > 0) TRY(hpc_buf_add(&text, data, n));
    hpc_json_put_text(w, key, text.data);
out:
    hpc_buf_release(&text);
    return rc;
}

static int put_list(hpc_json_out *w, const hpc_gguf_value *v)
{
    const uint8_t *at = v->data;
    int rc = HPC_OK;
    hpc_json_open(w, v->key, '[');
    for (int64_t k = 0; k < v->n; k++) {
        uint64_t n;
        memcpy(&n, at, sizeof n);
        TRY(put_bytes(w, NULL, at + sizeof n, (size_t)n));
        at += sizeof n + n;
    }
    hpc_json_close(w, ']');
out:
    return rc;
}

static int read_gguf(hpc_json_out *w, const hpc_gguf *g)
{
    const hpc_gguf_value *v;
    int rc = HPC_OK;
    for (int64_t i = 0; (v = hpc_gguf_value_at(g, i)) != NULL; i++) {
        if (!model_metadata_key(v->key)) continue;
        if (v->kind == HPC_GGUF_TEXT) {
            TRY(put_bytes(w, v->key, v->data, v->bytes));
        } else if (v->kind == HPC_GGUF_LIST && v->item == HPC_GGUF_TEXT) {
            TRY(put_list(w, v));
        } else if (v->kind == HPC_GGUF_U32 || v->kind == HPC_GGUF_I32 || v->kind == HPC_GGUF_U64) {
            int64_t n;
            TRY(model_gguf_int(&n, g, v->key, 0));
            hpc_json_put_int(w, v->key, n);
        }
    }
out:
    return rc;
}

static int write_list(model_gguf_list *l, const char *key, const hpc_json *list)
{
    hpc_buf data = {0};
    int64_t n = hpc_json_n(list);
    int rc = HPC_OK;
    for (int64_t k = 0; k < n; k++) {
        const char *text;
        TRY(hpc_json_text(&text, hpc_json_at(list, k), key));
        uint64_t bytes = strlen(text);
        hpc_buf_add(&data, &bytes, sizeof bytes);
        hpc_buf_text(&data, text);
    }
    TRY(data.failed);
    model_gguf_put_list(l, key, HPC_GGUF_TEXT, n, data.data, data.n);
out:
    hpc_buf_release(&data);
    return rc;
}

int model_gguf_put_metadata(model_gguf_list *l, const hpc_json *metadata)
{
    int rc = HPC_OK;
    for (int64_t i = 0; i < hpc_json_n(metadata); i++) {
        const hpc_json *v;
        const char *text, *key = hpc_json_key(metadata, i, &v);
        int64_t n;
        if (hpc_json_kind_of(v) == HPC_JSON_TEXT) {
            TRY(hpc_json_text(&text, v, key));
            model_gguf_put_text(l, key, text);
        } else if (hpc_json_kind_of(v) == HPC_JSON_INT) {
            TRY(hpc_json_int(&n, v, key));
            model_gguf_put_int(l, key, n);
        } else {
            TRY(write_list(l, key, v));
        }
    }
    TRY(l->failed);
out:
    return rc;
}

/* ---- tokenizer_config.json ------------------------------------------------------------------ */

/* From its list of templates with names. */
static int read_templates(hpc_json_out *w, const hpc_json *list)
{
    char key[128];
    bool any = false;
    for (int64_t k = 0; k < hpc_json_n(list); k++) {
        const char *name = model_json_word(hpc_json_at(list, k), "name");
        bool first = strcmp(name, "default") == 0;
        snprintf(key, sizeof key, first ? TEMPLATE : TEMPLATE ".%s", name);
        hpc_json_put_text(w, key, model_json_word(hpc_json_at(list, k), "template"));
        any |= !first;
    }
    if (!any) return HPC_OK;
    hpc_json_open(w, TEMPLATES, '[');
    for (int64_t k = 0; k < hpc_json_n(list); k++) {
        const char *name = model_json_word(hpc_json_at(list, k), "name");
        if (strcmp(name, "default") != 0) hpc_json_put_text(w, NULL, name);
    }
    hpc_json_close(w, ']');
    return HPC_OK;
}

static void put_template(hpc_json_out *w, const char *name, const char *text)
{
    hpc_json_open(w, NULL, '{');
    hpc_json_put_text(w, "name", name);
    hpc_json_put_text(w, "template", text);
    hpc_json_close(w, '}');
}

int model_metadata_put_template(hpc_json_out *w, const hpc_json *metadata)
{
    const hpc_json *names = hpc_json_get(metadata, TEMPLATES);
    const char *first = model_json_word(metadata, TEMPLATE), *name;
    char key[128];
    int rc = HPC_OK;
    if (hpc_json_kind_of(names) != HPC_JSON_LIST) {
        if (*first) hpc_json_put_text(w, "chat_template", first);
        return HPC_OK;
    }
    hpc_json_open(w, "chat_template", '[');
    if (*first) put_template(w, "default", first);
    for (int64_t k = 0; k < hpc_json_n(names); k++) {
        TRY(hpc_json_text(&name, hpc_json_at(names, k), TEMPLATES));
        snprintf(key, sizeof key, TEMPLATE ".%s", name);
        put_template(w, name, model_json_word(metadata, key));
    }
    hpc_json_close(w, ']');
out:
    return rc;
}

/* ---- directories ---------------------------------------------------------------------------- */

/* 1: it is there; 0: it is not. */
static int read_beside(hpc_buf *out, const char *dir, const char *name)
{
    hpc_buf path = {0};
    int rc;
    TRY(hpc_buf_printf(&path, "%s/%s", dir, name));
    rc = 0;
    if (!hpc_file_exists(path.data)) goto out;
    TRY(hpc_buf_text(out, ""));
    TRY(hpc_file_read(out, path.data, TEXT_MOST));
    rc = 1;
out:
    hpc_buf_release(&path);
    return rc;
}

static int read_template(hpc_json_out *w, const char *dir)
{
    hpc_buf text = {0}, path = {0};
    hpc_json *root = NULL;
    int rc;
    TRY(read_beside(&text, dir, "chat_template.jinja"));
    if (rc == 1) {
        hpc_json_put_text(w, TEMPLATE, text.data);
        goto out;
    }
    TRY(hpc_buf_printf(&path, "%s/tokenizer_config.json", dir));
    if (!hpc_file_exists(path.data)) goto out;
    TRY(hpc_json_read(&root, path.data));
    const hpc_json *v = hpc_json_get(root, "chat_template");
    if (hpc_json_kind_of(v) == HPC_JSON_TEXT)
        hpc_json_put_text(w, TEMPLATE, model_json_word(root, "chat_template"));
    else if (hpc_json_kind_of(v) == HPC_JSON_LIST)
        TRY(read_templates(w, v));
out:
    hpc_json_free(root);
    hpc_buf_release(&text);
    hpc_buf_release(&path);
    return rc < 0 ? rc : HPC_OK;
}

/* A card that is not UTF-8 states nothing: it is for people first. */
static int read_card(hpc_json_out *w, const char *dir)
{
    hpc_buf card = {0}, text = {0};
    hpc_json_out own = {.buf = &text};
    hpc_json *root = NULL;
    int rc;
    TRY(read_beside(&card, dir, "README.md"));
    if (rc == 0) goto out;
    hpc_json_open(&own, NULL, '{');
    TRY(model_card_read(&own, card.data));
    hpc_json_close(&own, '}');
    TRY(text.failed);
    rc = hpc_json_parse(&root, text.data, text.n, "README.md");
    if (rc == HPC_E_FORMAT) hpc_error_clear(), rc = HPC_OK;
    for (int64_t i = 0; i < hpc_json_n(root); i++) {
        const hpc_json *v;
        const char *key = hpc_json_key(root, i, &v);
        hpc_json_put(w, key, v);
    }
out:
    hpc_json_free(root);
    hpc_buf_release(&card);
    hpc_buf_release(&text);
    return rc;
}

static int read_folder(hpc_json_out *w, const char *dir)
{
    int rc;
    TRY(read_card(w, dir));
    TRY(read_template(w, dir));
out:
    return rc;
}

/* ---- any of them ---------------------------------------------------------------------------- */

int hpc_model_metadata_read(hpc_json **out, const char *model)
{
    model_file f;
    hpc_buf text = {0};
    hpc_json_out w = {.buf = &text};
    const char *packed;
    size_t n;
    int rc;
    *out = NULL;
    TRY(model_file_open(&f, model));
    if (f.packed) {
        packed = model_packed_metadata(&n, f.packed);
        TRY(hpc_buf_add(&text, packed, n));
    } else {
        hpc_json_open(&w, NULL, '{');
        TRY(f.gguf ? read_gguf(&w, f.gguf) : read_folder(&w, model));
        hpc_json_close(&w, '}');
    }
    TRY(text.failed);
    TRY(hpc_json_parse(out, text.data, text.n, "metadata"));
out:
    hpc_buf_release(&text);
    model_file_close(&f);
    return rc < 0 ? hpc_error_where("%s", model) : rc;
}
