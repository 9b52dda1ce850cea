/*
 * model_card.c: reads and writes metadata in the front matter of a README.md, YAML between two
 * lines of "---".
 *
 * It reads strings, quoted or not, and lists of them, and skips other YAML.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/metadata.h"
#include "model/priv.h"

/* How the front matter spells a key; of two spellings the first is written. */
static const struct {
    const char *yaml, *key;
    bool list;
} names[] = {
    {"license", "general.license", false},
    {"license_name", "general.license.name", false},
    {"license_link", "general.license.link", false},
    {"name", "general.name", false},
    {"model_name", "general.name", false},
    {"author", "general.author", false},
    {"model_creator", "general.author", false},
    {"version", "general.version", false},
    {"organization", "general.organization", false},
    {"description", "general.description", false},
    {"finetune", "general.finetune", false},
    {"basename", "general.basename", false},
    {"size_label", "general.size_label", false},
    {"url", "general.source.url", false},
    {"doi", "general.source.doi", false},
    {"uuid", "general.source.uuid", false},
    {"repo_url", "general.source.repo_url", false},
    {"tags", "general.tags", true},
    {"language", "general.languages", true},
    {"languages", "general.languages", true},
};
enum { NAMES = sizeof names / sizeof *names, ROWS_MOST = 64, ITEMS_MOST = 256 };

/* ---- reading -------------------------------------------------------------------------------- */

typedef struct row { /* texts are in the copy of the file */
    const char *key;
    bool list, verbatim; /* verbatim: spelled as in a GGUF file */
    const char *item[ITEMS_MOST];
    int n;
} row;

typedef struct card {
    row *row;
    int n;
} card;

static char *trim(char *text)
{
    while (*text == ' ' || *text == '\t') text++;
    size_t n = strlen(text);
    while (n > 0 && isspace((unsigned char)text[n - 1])) text[--n] = '\0';
    return text;
}

/* A scalar without its quotes, in place; NULL: other YAML. */
static char *scalar(char *text)
{
    text = trim(text);
    size_t n = strlen(text);
    if (*text == '"' || *text == '\'') {
        char quote = *text, *to = text;
        for (char *at = text + 1; *at && *at != quote; at++) {
            bool escaped = quote == '"' && *at == '\\' && at[1];
            at += escaped;
            *to++ = escaped && *at == 'n' ? '\n' : escaped && *at == 't' ? '\t' : *at;
        }
        *to = '\0';
        return text;
    }
    char *comment = strstr(text, " #");
    if (comment) *comment = '\0';
    return n == 0 || strchr("|>{&*!#", *text) ? NULL : trim(text);
}

static void add_item(row *r, char *text)
{
    char *item = text ? scalar(text) : NULL;
    if (item && r->n < ITEMS_MOST) r->item[r->n++] = item;
}

/* "[a, b]", without commas in quotes. */
static void add_items(row *r, char *text)
{
    char *end = strrchr(text, ']'), *rest = NULL;
    if (end) *end = '\0';
    for (char *item = strtok_r(text + 1, ",", &rest); item; item = strtok_r(NULL, ",", &rest))
        add_item(r, item);
}

/* NULL: an unknown key, or one that already has a row. */
static row *begin_row(card *c, const char *yaml)
{
    const char *key = strncmp(yaml, "general.", 8) == 0 && model_metadata_key(yaml) ? yaml : NULL;
    bool list = false;
    for (int k = 0; k < NAMES && !key; k++)
        if (strcmp(names[k].yaml, yaml) == 0) key = names[k].key, list = names[k].list;
    for (int k = 0; k < c->n && key; k++)
        if (strcmp(c->row[k].key, key) == 0) key = NULL;
    if (!key || c->n == ROWS_MOST) return NULL;
    c->row[c->n] = (row){.key = key, .list = list, .verbatim = key == yaml};
    return &c->row[c->n++];
}

static void read_lines(card *c, char *text)
{
    row *r = NULL;
    char *rest = NULL;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        char *colon = strchr(line, ':'), *item = trim(line);
        if (strncmp(line, "---", 3) == 0) return;
        if (item[0] == '-' && item[1] == ' ') {
            if (r) add_item(r, item + 2);
            if (r && r->verbatim) r->list = true;
        } else if (*line != ' ' && *line != '#' && colon) {
            *colon = '\0';
            char *value = trim(colon + 1);
            r = begin_row(c, trim(line));
            if (r && *value == '[')
                add_items(r, value);
            else if (r && *value)
                add_item(r, value);
        }
    }
}

static void put_row(hpc_json_out *w, const row *r)
{
    const char *text = r->n > 0 ? r->item[0] : "";
    bool count = strlen(r->key) > 6 && strcmp(r->key + strlen(r->key) - 6, ".count") == 0;
    if (r->n == 0) return;
    if (r->list || r->n > 1) {
        hpc_json_open(w, r->key, '[');
        for (int k = 0; k < r->n; k++) hpc_json_put_text(w, NULL, r->item[k]);
        hpc_json_close(w, ']');
    } else if (count) {
        hpc_json_put_int(w, r->key, atoll(text));
    } else {
        hpc_json_put_text(w, r->key, text);
    }
}

int model_card_read(hpc_json_out *w, char *text)
{
    card c = {.row = hpc_alloc(ROWS_MOST, sizeof *c.row)};
    if (!c.row) return HPC_E_NOMEM;
    char *line = strchr(text, '\n');
    if (strncmp(text, "---", 3) == 0 && line) read_lines(&c, line + 1);
    for (int k = 0; k < c.n; k++) put_row(w, &c.row[k]);
    hpc_free(c.row);
    return HPC_OK;
}

/* ---- writing -------------------------------------------------------------------------------- */

static const char *yaml_of(const char *key)
{
    for (int k = 0; k < NAMES; k++)
        if (strcmp(names[k].key, key) == 0) return names[k].yaml;
    return key;
}

/* A text or number of JSON is one of YAML. */
static void put_scalar(hpc_buf *out, const hpc_json *v)
{
    hpc_json_out w = {.buf = out};
    hpc_json_put(&w, NULL, v);
    hpc_buf_text(out, "\n");
}

int hpc_model_card_save(const char *dir, const hpc_json *metadata)
{
    hpc_buf text = {0}, path = {0};
    int rc = HPC_OK;
    hpc_buf_text(&text, "---\n");
    size_t empty = text.n;
    for (int64_t i = 0; i < hpc_json_n(metadata); i++) {
        const hpc_json *v;
        const char *key = hpc_json_key(metadata, i, &v);
        if (strncmp(key, "general.", 8) != 0) continue;
        bool list = hpc_json_kind_of(v) == HPC_JSON_LIST;
        hpc_buf_printf(&text, list ? "%s:\n" : "%s: ", yaml_of(key));
        if (!list) put_scalar(&text, v);
        for (int64_t k = 0; k < hpc_json_n(v); k++) {
            hpc_buf_text(&text, "- ");
            put_scalar(&text, hpc_json_at(v, k));
        }
    }
    if (text.n == empty) goto out;
    hpc_buf_text(&text, "---\n");
    TRY(text.failed);
    TRY(hpc_buf_printf(&path, "%s/README.md", dir));
    TRY(hpc_file_save(path.data, text.data, text.n));
out:
    hpc_buf_release(&text);
    hpc_buf_release(&path);
    return rc;
}
