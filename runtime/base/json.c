/*
 * json.c: the JSON reader, on top of jansson; only this file uses jansson.
 *
 * jansson parses, and owns keys and scalars. A tree of nodes on top of it finds children
 * by position and by key without walking lists, because tokenizers and safetensors
 * headers have hundreds of thousands of keys. The depth limit is jansson's (2048
 * levels). Integers beyond 64 bits become reals: transformers writes 10^30 for "no
 * limit". Duplicate keys, numbers beyond double, invalid UTF-8 and NUL inside text are
 * errors, like bad syntax. json_write.c writes JSON.
 */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/priv.h"

#define FILE_LIMIT ((size_t)1 << 30)

struct hpc_json {
    const json_t *value;
    const char *key;         /* in an object */
    hpc_json *child;         /* of a list or object, in the order of the text */
    const hpc_json **by_key; /* the children of an object, sorted */
    int64_t n;
};

/* The root node, followed by the objects that it owns. */
typedef struct document {
    hpc_json root;
    json_t *json;
    hpc_arena *arena;
} document;

/* ---- parsing -------------------------------------------------------------- */

static int parse_failed(json_error_t *e, const char *source)
{
    if (json_error_code(e) == json_error_out_of_memory) {
        return hpc_fail(HPC_E_NOMEM, "out of memory to parse %.300s", source);
    }
    return hpc_fail(HPC_E_FORMAT, "%.300s:%d:%d: %s", source, e->line > 0 ? e->line : 1,
                    e->column > 0 ? e->column : 1, e->text);
}

static int compare_keys(const void *a, const void *b)
{
    const hpc_json *const *x = a, *const *y = b;
    return strcmp((*x)->key, (*y)->key);
}

static int build(hpc_json *node, const json_t *value, hpc_arena *arena);

static int build_list(hpc_json *node, const json_t *list, hpc_arena *arena)
{
    for (int64_t i = 0; i < node->n; i++) {
        int rc = build(&node->child[i], json_array_get(list, (size_t)i), arena);
        if (rc < 0) return rc;
    }
    return 0;
}

/* jansson's iterators want a mutable object and do not change it. */
static int build_object(hpc_json *node, const json_t *object, hpc_arena *arena)
{
    node->by_key = hpc_arena_alloc(arena, (size_t)node->n, sizeof *node->by_key);
    if (!node->by_key) return HPC_E_NOMEM;
    void *iter = json_object_iter((json_t *)object);
    for (int64_t i = 0; i < node->n; i++) {
        int rc = build(&node->child[i], json_object_iter_value(iter), arena);
        if (rc < 0) return rc;
        node->child[i].key = json_object_iter_key(iter);
        node->by_key[i] = &node->child[i];
        iter = json_object_iter_next((json_t *)object, iter);
    }
    qsort(node->by_key, (size_t)node->n, sizeof *node->by_key, compare_keys);
    return 0;
}

/* Recursion is bounded by the parser's depth limit. */
static int build(hpc_json *node, const json_t *value, hpc_arena *arena)
{
    node->value = value;
    node->n = (int64_t)(json_is_array(value) ? json_array_size(value) : json_object_size(value));
    if (node->n == 0) return 0;
    node->child = hpc_arena_alloc(arena, (size_t)node->n, sizeof *node->child);
    if (!node->child) return HPC_E_NOMEM;
    return json_is_array(value) ? build_list(node, value, arena) : build_object(node, value, arena);
}

/* The end of a string that begins at `at`. */
static size_t string_end(const char *text, size_t bytes, size_t at)
{
    for (at++; at < bytes && text[at] != '"'; at++) at += text[at] == '\\';
    return at < bytes ? at + 1 : bytes;
}

static size_t number_end(const char *text, size_t bytes, size_t at)
{
    while (at < bytes && text[at] && strchr("+-.eE0123456789", text[at])) at++;
    return at;
}

/* jansson rejects an integer beyond 64 bits, and accepts the same number with a fraction. */
static bool is_long_integer(const char *text, size_t n)
{
    enum { SHORTEST = 19 }; /* digits of 2^63 */
    char digits[SHORTEST + 3];
    size_t sign = n > 0 && text[0] == '-';
    if (n - sign < SHORTEST) return false;
    for (size_t i = sign; i < n; i++)
        if (text[i] < '0' || text[i] > '9') return false;
    if (n - sign > SHORTEST) return true;
    memcpy(digits, text, n);
    digits[n] = 0;
    errno = 0;
    strtoll(digits, NULL, 10);
    return errno == ERANGE;
}

static int spell_as_reals(hpc_buf *out, const char *text, size_t bytes)
{
    for (size_t at = 0, end; at < bytes; at = end) {
        bool number = text[at] == '-' || (text[at] >= '0' && text[at] <= '9');
        end = number            ? number_end(text, bytes, at)
              : text[at] == '"' ? string_end(text, bytes, at)
                                : at + 1;
        hpc_buf_add(out, text + at, end - at);
        if (number && is_long_integer(text + at, end - at)) hpc_buf_text(out, ".0");
    }
    return out->failed;
}

/* A failure to parse is left in `error`. */
static int load(json_t **out, json_error_t *error, const char *text, size_t bytes)
{
    const size_t flags = JSON_REJECT_DUPLICATES | JSON_DECODE_ANY;
    json_error_t second;
    hpc_buf reals = {0};
    int rc = 0;
    *out = json_loadb(text, bytes, flags, error);
    if (*out || json_error_code(error) != json_error_numeric_overflow) return 0;
    TRY(spell_as_reals(&reals, text, bytes));
    *out = json_loadb(reals.data, reals.n, flags, &second);
    if (!*out && json_error_code(&second) != json_error_numeric_overflow) *error = second;
out:
    hpc_buf_release(&reals);
    return rc;
}

int hpc_json_parse(hpc_json **root, const char *text, size_t bytes, const char *source)
{
    int rc = 0;
    json_error_t error;
    *root = NULL;
    document *d = hpc_alloc(1, sizeof *d);
    if (!d) return HPC_E_NOMEM;
    d->arena = hpc_arena_create(0);
    if (!d->arena) {
        rc = HPC_E_NOMEM;
        goto out;
    }
    TRY(load(&d->json, &error, text ? text : "", bytes));
    if (!d->json) {
        rc = parse_failed(&error, source);
        goto out;
    }
    TRY(build(&d->root, d->json, d->arena));
    *root = &d->root;
out:
    if (rc < 0) hpc_json_free(&d->root);
    return rc;
}

int hpc_json_read(hpc_json **root, const char *path)
{
    int rc = 0;
    hpc_buf text = {0};
    *root = NULL;
    TRY(hpc_file_read(&text, path, FILE_LIMIT));
    TRY(hpc_json_parse(root, text.data, text.n, path));
out:
    hpc_buf_release(&text);
    return rc;
}

void hpc_json_free(hpc_json *root)
{
    if (!root) return;
    document *d = (document *)root;
    json_decref(d->json);
    hpc_arena_free(d->arena);
    hpc_free(d);
}

/* ---- looking -------------------------------------------------------------- */

hpc_json_kind hpc_json_kind_of(const hpc_json *v)
{
    switch (v ? json_typeof(v->value) : JSON_NULL) {
    case JSON_OBJECT: return HPC_JSON_OBJECT;
    case JSON_ARRAY: return HPC_JSON_LIST;
    case JSON_STRING: return HPC_JSON_TEXT;
    case JSON_INTEGER: return HPC_JSON_INT;
    case JSON_REAL: return HPC_JSON_REAL;
    case JSON_TRUE:
    case JSON_FALSE: return HPC_JSON_BOOL;
    case JSON_NULL: break;
    }
    return HPC_JSON_NULL;
}

int64_t hpc_json_n(const hpc_json *v)
{
    return v ? v->n : 0;
}

const hpc_json *hpc_json_at(const hpc_json *list, int64_t i)
{
    return list && json_is_array(list->value) && i >= 0 && i < list->n ? &list->child[i] : NULL;
}

static int compare_key_to_node(const void *key, const void *node)
{
    const hpc_json *const *x = node;
    return strcmp(key, (*x)->key);
}

const hpc_json *hpc_json_get(const hpc_json *object, const char *key)
{
    if (!object || !object->by_key) return NULL;
    const hpc_json **found = bsearch(key, object->by_key, (size_t)object->n, sizeof *object->by_key,
                                     compare_key_to_node);
    return found ? *found : NULL;
}

const char *hpc_json_key(const hpc_json *object, int64_t i, const hpc_json **value)
{
    bool inside = object && object->by_key && i >= 0 && i < object->n;
    if (value) *value = inside ? &object->child[i] : NULL;
    return inside ? object->child[i].key : NULL;
}

/* ---- typed getters -------------------------------------------------------- */

/* A text as a message shows it: cut between two characters when long. */
static void show_text(char *out, size_t size, const hpc_json *v)
{
    const char *text = json_string_value(v->value);
    size_t n = json_string_length(v->value), cut = 40;
    if (n <= cut) {
        snprintf(out, size, "\"%s\"", text);
    } else {
        while (((unsigned char)text[cut] & 0xC0) == 0x80) cut--;
        snprintf(out, size, "\"%.*s...\"", (int)cut, text);
    }
}

static void show(char *out, size_t size, const hpc_json *v)
{
    if (!v) {
        snprintf(out, size, "nothing");
        return;
    }
    switch (hpc_json_kind_of(v)) {
    case HPC_JSON_NULL: snprintf(out, size, "null"); break;
    case HPC_JSON_BOOL: snprintf(out, size, json_is_true(v->value) ? "true" : "false"); break;
    case HPC_JSON_INT: snprintf(out, size, "%lld", (long long)json_integer_value(v->value)); break;
    case HPC_JSON_REAL: snprintf(out, size, "%.15g", json_real_value(v->value)); break;
    case HPC_JSON_TEXT: show_text(out, size, v); break;
    case HPC_JSON_LIST: snprintf(out, size, "a list"); break;
    case HPC_JSON_OBJECT: snprintf(out, size, "an object"); break;
    }
}

int hpc_json_wrong_kind(const hpc_json *v, const char *what, const char *expected)
{
    char shown[64];
    show(shown, sizeof shown, v);
    return hpc_fail(HPC_E_FORMAT, "%s: expected %s, found %s", what, expected, shown);
}

int hpc_json_int(int64_t *out, const hpc_json *v, const char *what)
{
    if (!v || !json_is_integer(v->value)) return hpc_json_wrong_kind(v, what, "an integer");
    *out = json_integer_value(v->value);
    return 0;
}

int hpc_json_real(double *out, const hpc_json *v, const char *what)
{
    if (!v || !json_is_number(v->value)) return hpc_json_wrong_kind(v, what, "a number");
    *out = json_number_value(v->value);
    return 0;
}

int hpc_json_bool(bool *out, const hpc_json *v, const char *what)
{
    if (!v || !json_is_boolean(v->value)) return hpc_json_wrong_kind(v, what, "true or false");
    *out = json_is_true(v->value);
    return 0;
}

int hpc_json_text(const char **out, const hpc_json *v, const char *what)
{
    if (!v || !json_is_string(v->value)) return hpc_json_wrong_kind(v, what, "a text");
    *out = json_string_value(v->value);
    return 0;
}
