/*
 * index.c: index.json, which lists the shards of a data set and is written last.
 *
 * It repeats the shards' own headers, so that a missing, exchanged or older shard is
 * detected. `facts` belongs to the caller and is not interpreted.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "runtime/shard/priv.h"

int shard_index_add(shard_index *x, const shard_header *h)
{
    int rc = hpc_grow(&x->entry, &x->cap, x->n + 1, sizeof *x->entry);
    if (rc < 0) return rc;
    x->entry[x->n++] = (shard_entry){.documents = h->documents,
                                     .tokens = h->tokens,
                                     .bytes = (int64_t)h->bytes,
                                     .hash = h->hash};
    return HPC_OK;
}

void shard_index_release(shard_index *x)
{
    hpc_free(x->entry);
    *x = (shard_index){0};
}

int shard_index_match(const shard_index *x, int64_t number, const shard_header *h, const char *name)
{
    const shard_entry *e = &x->entry[number];
    if (e->documents == h->documents && e->tokens == h->tokens && e->hash == h->hash) return HPC_OK;
    return hpc_fail(HPC_E_FORMAT, "%s is not the shard that its index lists", name);
}

/* ---- writing ------------------------------------------------------------------- */

static void put_hash(hpc_json_out *w, const char *key, uint64_t high, uint64_t low, bool wide)
{
    char text[40];
    int n = wide ? snprintf(text, sizeof text, "%016" PRIx64, high) : 0;
    snprintf(text + n, sizeof text - (size_t)n, "%016" PRIx64, low);
    hpc_json_put_text(w, key, text);
}

static void put_columns(hpc_json_out *w, const hpc_shard_spec *s)
{
    hpc_json_open(w, "columns", '[');
    for (int64_t k = 0; k < s->columns_n; k++) {
        hpc_json_open(w, NULL, '{');
        hpc_json_put_text(w, "name", s->column[k].name);
        hpc_json_put_text(w, "type", shard_type_name(s->column[k].type));
        hpc_json_close(w, '}');
    }
    hpc_json_close(w, ']');
}

static void put_shards(hpc_json_out *w, const shard_index *x)
{
    char name[32];
    hpc_json_open(w, "shards", '[');
    for (int64_t k = 0; k < x->n; k++) {
        snprintf(name, sizeof name, "%05" PRId64 ".shard", k);
        hpc_json_open(w, NULL, '{');
        hpc_json_put_text(w, "name", name);
        hpc_json_put_int(w, "documents", x->entry[k].documents);
        hpc_json_put_int(w, "tokens", x->entry[k].tokens);
        hpc_json_put_int(w, "bytes", x->entry[k].bytes);
        put_hash(w, "hash", 0, x->entry[k].hash, false);
        hpc_json_close(w, '}');
    }
    hpc_json_close(w, ']');
}

static int facts_check(const char *facts)
{
    hpc_json *root = NULL;
    int rc = hpc_json_parse(&root, facts, strlen(facts), "the properties of a data set");
    if (rc >= 0 && hpc_json_kind_of(root) != HPC_JSON_OBJECT)
        rc = hpc_fail(HPC_E_ARG, "the properties of a data set are not a JSON object");
    hpc_json_free(root);
    return rc;
}

int shard_index_save(const shard_index *x, const char *folder, const char *facts)
{
    hpc_buf text = {0}, path = {0};
    hpc_json_out w = {.buf = &text, .indent = 1};
    int64_t documents = 0, tokens = 0;
    int rc = HPC_OK;
    for (int64_t k = 0; k < x->n; k++) {
        documents += x->entry[k].documents;
        tokens += x->entry[k].tokens;
    }
    if (facts) TRY(facts_check(facts));
    hpc_json_open(&w, NULL, '{');
    hpc_json_put_text(&w, "format", SHARD_FORMAT);
    hpc_json_put_int(&w, "version", HPC_SHARD_VERSION);
    hpc_json_put_text(&w, "task", x->spec.task);
    hpc_json_put_int(&w, "vocabulary", x->spec.vocabulary);
    put_hash(&w, "tokenizer", x->spec.tokenizer.high, x->spec.tokenizer.low, true);
    hpc_json_put_int(&w, "seed", x->spec.seed);
    hpc_json_put_int(&w, "shard_tokens", x->shard_tokens);
    put_columns(&w, &x->spec);
    hpc_json_put_int(&w, "documents", documents);
    hpc_json_put_int(&w, "tokens", tokens);
    put_shards(&w, x);
    if (facts) { /* already JSON, so it is copied unchanged */
        hpc_buf_text(&text, ",\n \"facts\": ");
        hpc_buf_text(&text, facts);
    }
    hpc_json_close(&w, '}');
    hpc_buf_text(&text, "\n");
    TRY(text.failed);
    TRY(hpc_buf_printf(&path, "%s/" SHARD_INDEX, folder));
    TRY(hpc_file_save(path.data, text.data, text.n));
out:
    hpc_buf_release(&path);
    hpc_buf_release(&text);
    return rc;
}

/* ---- reading ------------------------------------------------------------------- */

/* A member that must be there. */
static int get(const hpc_json **out, const hpc_json *o, const char *key)
{
    *out = hpc_json_get(o, key);
    return *out ? HPC_OK : hpc_fail(HPC_E_FORMAT, "\"%s\" is missing", key);
}

static int get_text(const char **out, const hpc_json *o, const char *key)
{
    const hpc_json *v;
    int rc = get(&v, o, key);
    return rc < 0 ? rc : hpc_json_text(out, v, key);
}

static int get_int(int64_t *out, const hpc_json *o, const char *key, int64_t least, int64_t most)
{
    const hpc_json *v;
    int rc = get(&v, o, key);
    if (rc >= 0) rc = hpc_json_int(out, v, key);
    if (rc >= 0 && (*out < least || *out > most))
        rc = hpc_fail(HPC_E_FORMAT, "%s is %" PRId64 ", which is out of range", key, *out);
    return rc;
}

/* Sixteen hexadecimal digits for each of n words, the highest first. */
static int get_hash(uint64_t *out, int n, const hpc_json *o, const char *key)
{
    const char *text = NULL;
    int rc = get_text(&text, o, key);
    if (rc < 0) return rc;
    bool right = strlen(text) == (size_t)n * 16 && strspn(text, "0123456789abcdef") == strlen(text);
    for (int k = 0; k < n && right; k++)
        right = sscanf(text + k * 16, "%16" SCNx64, &out[n - 1 - k]) == 1;
    return right ? HPC_OK : hpc_fail(HPC_E_FORMAT, "%s is not a checksum: '%.40s'", key, text);
}

static int get_name(char *out, size_t size, const hpc_json *o, const char *key)
{
    const char *text = NULL;
    int rc = get_text(&text, o, key);
    if (rc < 0) return rc;
    if (strlen(text) >= size) return hpc_fail(HPC_E_FORMAT, "%s is too long", key);
    memcpy(out, text, strlen(text) + 1);
    return HPC_OK;
}

static int get_spec(hpc_shard_spec *s, const hpc_json *root)
{
    const hpc_json *columns = NULL;
    const char *type = NULL;
    uint64_t hash[2] = {0, 0};
    int rc = HPC_OK;
    TRY(get_int(&s->vocabulary, root, "vocabulary", 1, INT32_MAX));
    TRY(get_int(&s->seed, root, "seed", INT64_MIN, INT64_MAX));
    TRY(get_hash(hash, 2, root, "tokenizer"));
    s->tokenizer = (hpc_hash128){.low = hash[0], .high = hash[1]};
    TRY(get_name(s->task, sizeof s->task, root, "task"));
    TRY(get(&columns, root, "columns"));
    s->columns_n = hpc_json_kind_of(columns) == HPC_JSON_LIST ? hpc_json_n(columns) : -1;
    if (s->columns_n < 0 || s->columns_n > HPC_SHARD_COLUMNS)
        TRY(hpc_fail(HPC_E_FORMAT, "columns: expected a list of at most %d", HPC_SHARD_COLUMNS));
    for (int64_t k = 0; k < s->columns_n; k++) {
        const hpc_json *c = hpc_json_at(columns, k);
        TRY(get_name(s->column[k].name, sizeof s->column[k].name, c, "name"));
        TRY(get_text(&type, c, "type"));
        TRY(shard_type_named(&s->column[k].type, type));
    }
    TRY(shard_spec_check(HPC_E_FORMAT, s));
out:
    return rc;
}

static int get_shards(shard_index *x, const hpc_json *root)
{
    const hpc_json *list = NULL;
    int rc = HPC_OK;
    TRY(get(&list, root, "shards"));
    if (hpc_json_kind_of(list) != HPC_JSON_LIST)
        TRY(hpc_fail(HPC_E_FORMAT, "shards: expected a list"));
    for (int64_t k = 0; k < hpc_json_n(list); k++) {
        const hpc_json *s = hpc_json_at(list, k);
        TRY(hpc_grow(&x->entry, &x->cap, k + 1, sizeof *x->entry));
        shard_entry *e = &x->entry[k];
        TRY(get_int(&e->documents, s, "documents", 0, SHARD_MOST));
        TRY(get_int(&e->tokens, s, "tokens", 0, SHARD_MOST));
        TRY(get_int(&e->bytes, s, "bytes", 0, INT64_MAX));
        TRY(get_hash(&e->hash, 1, s, "hash"));
        x->n = k + 1;
    }
out:
    return rc;
}

static int get_format(const hpc_json *root)
{
    const char *format = NULL;
    int64_t version = 0;
    int rc = HPC_OK;
    if (hpc_json_kind_of(root) != HPC_JSON_OBJECT)
        TRY(hpc_fail(HPC_E_FORMAT, "not an index of token shards"));
    TRY(get_text(&format, root, "format"));
    if (strcmp(format, SHARD_FORMAT) != 0)
        TRY(hpc_fail(HPC_E_FORMAT, "not an index of token shards"));
    TRY(get_int(&version, root, "version", 1, INT64_MAX));
    if (version > HPC_SHARD_VERSION)
        TRY(hpc_fail(HPC_E_UNSUPPORTED,
                     "it has shard format version %" PRId64
                     " from a newer hpccoder; this one reads version %d",
                     version, HPC_SHARD_VERSION));
out:
    return rc;
}

int shard_index_read(shard_index *out, const char *folder)
{
    hpc_json *root = NULL;
    hpc_buf path = {0};
    int rc = HPC_OK;
    *out = (shard_index){0};
    TRY(hpc_buf_printf(&path, "%s/" SHARD_INDEX, folder));
    TRY(hpc_json_read(&root, path.data));
    rc = get_format(root);
    if (rc >= 0) rc = get_spec(&out->spec, root);
    if (rc >= 0) rc = get_int(&out->shard_tokens, root, "shard_tokens", 1, INT64_MAX);
    if (rc >= 0) rc = get_shards(out, root);
    if (rc < 0) rc = hpc_error_where("%s", path.data);
out:
    hpc_json_free(root);
    hpc_buf_release(&path);
    if (rc < 0) shard_index_release(out);
    return rc;
}
