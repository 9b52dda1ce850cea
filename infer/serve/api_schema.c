/*
 * A part of JSON Schema as GBNF: types, properties in their order, items, enumerations, choices,
 * lengths, and references within the schema. Keywords that describe are ignored.
 */
#include "infer/serve/api_schema.h"

#include <stdio.h>
#include <string.h>

enum { COUNT_MOST = 4000, REFERENCES_MOST = 64 };

/* Blanks are few, so that a model cannot write them for ever. */
static const char base[] =
    "ws ::= \"\" | \" \" | \"\\n\" [ \\t]{0,20}\n"
    "char ::= [^\"\\\\\\x7f\\x00-\\x1f] | \"\\\\\" ([\"\\\\/bfnrt] | \"u\" [0-9a-fA-F]{4})\n"
    "string ::= \"\\\"\" char* \"\\\"\"\n"
    "integer ::= \"-\"? (\"0\" | [1-9] [0-9]{0,15})\n"
    "number ::= integer (\".\" [0-9]{1,16})? ([eE] [-+]? [0-9]{1,2})?\n"
    "boolean ::= \"true\" | \"false\"\n"
    "null ::= \"null\"\n"
    "member ::= string ws \":\" ws value\n"
    "object ::= \"{\" ws (member (ws \",\" ws member)*)? ws \"}\"\n"
    "array ::= \"[\" ws (value (ws \",\" ws value)*)? ws \"]\"\n"
    "value ::= object | array | string | number | boolean | null\n";

typedef struct schema {
    const hpc_json *root;
    hpc_buf rules;                              /* after those of `base` */
    int64_t names;                              /* of rules that were given */
    const hpc_json *reference[REFERENCES_MOST]; /* rule ref-K */
    int64_t reference_n;
} schema;

static int put(hpc_buf *out, schema *s, const hpc_json *v);

/* ---- keywords -------------------------------------------------------------------------------- */

static const char *const describing[] = {
    "title",    "description", "default",    "examples", "$schema",   "$id", "$defs",
    "$comment", "definitions", "deprecated", "readOnly", "writeOnly", NULL};
static const char *const known[] = {"type",      "properties",  "required", "additionalProperties",
                                    "items",     "prefixItems", "minItems", "maxItems",
                                    "minLength", "maxLength",   "enum",     "const",
                                    "anyOf",     "oneOf",       "$ref",     NULL};

static bool is_in(const char *const *list, const char *name)
{
    while (*list && strcmp(*list, name) != 0) list++;
    return *list != NULL;
}

/* *n: keywords that restrict the value. */
static int check_keys(int64_t *n, const hpc_json *v)
{
    const hpc_json *value;
    *n = 0;
    for (int64_t k = 0; k < hpc_json_n(v); k++) {
        const char *name = hpc_json_key(v, k, &value);
        if (is_in(describing, name)) continue;
        if (!is_in(known, name))
            return hpc_fail(HPC_E_UNSUPPORTED, "the JSON schema's \"%.60s\" is not supported",
                            name);
        ++*n;
    }
    return HPC_OK;
}

static int wrong(const char *key, const char *expected)
{
    return hpc_fail(HPC_E_ARG, "the JSON schema's \"%s\" must be %s", key, expected);
}

static int read_count(int64_t *out, const hpc_json *v, const char *key, int64_t fallback)
{
    const hpc_json *x = hpc_json_get(v, key);
    *out = fallback;
    if (!x) return HPC_OK;
    if (hpc_json_kind_of(x) != HPC_JSON_INT || hpc_json_int(out, x, key) < 0 || *out < 0 ||
        *out > COUNT_MOST)
        return wrong(key, "a number from 0 to 4000");
    return HPC_OK;
}

/* ---- literals -------------------------------------------------------------------------------- */

static int put_literal(hpc_buf *out, const hpc_json *v)
{
    hpc_buf text = {0};
    hpc_json_out w = {.buf = &text};
    int rc;
    hpc_json_put(&w, NULL, v);
    TRY(hpc_buf_text(&text, ""));
    TRY(hpc_buf_text(out, "\""));
    for (size_t k = 0; k < text.n; k++) {
        const uint8_t c = (uint8_t)text.data[k];
        if (c == '"' || c == '\\')
            TRY(hpc_buf_printf(out, "\\%c", c));
        else if (c < 0x20)
            TRY(hpc_buf_printf(out, "\\x%02x", c));
        else
            TRY(hpc_buf_add(out, (const char *)&c, 1));
    }
    rc = hpc_buf_text(out, "\"");
out:
    hpc_buf_release(&text);
    return rc;
}

static int put_enumeration(hpc_buf *out, const hpc_json *list)
{
    int rc;
    if (hpc_json_kind_of(list) != HPC_JSON_LIST || hpc_json_n(list) == 0)
        return wrong("enum", "a list of values");
    TRY(hpc_buf_text(out, "("));
    for (int64_t k = 0; k < hpc_json_n(list); k++) {
        if (k > 0) TRY(hpc_buf_text(out, " | "));
        TRY(put_literal(out, hpc_json_at(list, k)));
    }
    rc = hpc_buf_text(out, ")");
out:
    return rc;
}

static int put_choice(hpc_buf *out, schema *s, const hpc_json *list, const char *key)
{
    int rc;
    if (hpc_json_kind_of(list) != HPC_JSON_LIST || hpc_json_n(list) == 0)
        return wrong(key, "a list of schemas");
    TRY(hpc_buf_text(out, "("));
    for (int64_t k = 0; k < hpc_json_n(list); k++) {
        if (k > 0) TRY(hpc_buf_text(out, " | "));
        TRY(put(out, s, hpc_json_at(list, k)));
    }
    rc = hpc_buf_text(out, ")");
out:
    return rc;
}

/* ---- references ------------------------------------------------------------------------------ */

/* "#", or "#/A/B" by keys. */
static const hpc_json *resolve(const schema *s, const char *path)
{
    const hpc_json *at = s->root;
    char key[128];
    if (*path++ != '#') return NULL;
    while (at && *path == '/') {
        const size_t n = strcspn(++path, "/");
        if (n >= sizeof key || hpc_json_kind_of(at) != HPC_JSON_OBJECT) return NULL;
        snprintf(key, sizeof key, "%.*s", (int)n, path);
        at = hpc_json_get(at, key);
        path += n;
    }
    return *path ? NULL : at;
}

/* Its rule is written later: a schema may refer to itself. */
static int put_reference(hpc_buf *out, schema *s, const hpc_json *v)
{
    const char *path = "";
    int64_t k = 0;
    if (hpc_json_kind_of(v) == HPC_JSON_TEXT) hpc_json_text(&path, v, "$ref");
    const hpc_json *to = resolve(s, path);
    if (!to) return wrong("$ref", "the place of a schema in this schema, such as #/$defs/NAME");
    while (k < s->reference_n && s->reference[k] != to) k++;
    if (k == REFERENCES_MOST)
        return hpc_fail(HPC_E_ARG, "the JSON schema has more than %d references", REFERENCES_MOST);
    if (k == s->reference_n) s->reference[s->reference_n++] = to;
    return hpc_buf_printf(out, "ref-%lld", (long long)k);
}

/* ---- objects --------------------------------------------------------------------------------- */

static bool is_required(const hpc_json *v, const char *name)
{
    const hpc_json *list = hpc_json_get(v, "required");
    for (int64_t k = 0; k < hpc_json_n(list); k++) {
        const char *text = "";
        if (hpc_json_kind_of(hpc_json_at(list, k)) == HPC_JSON_TEXT)
            hpc_json_text(&text, hpc_json_at(list, k), "required");
        if (strcmp(text, name) == 0) return true;
    }
    return false;
}

static int put_property(schema *s, int64_t object, int64_t k, const char *name, const hpc_json *v)
{
    hpc_buf rule = {0}, key = {0};
    hpc_json_out w = {.buf = &key};
    hpc_json *text = NULL;
    int rc;
    hpc_json_put_text(&w, NULL, name);
    TRY(hpc_buf_text(&key, ""));
    TRY(hpc_json_parse(&text, key.data, key.n, "name"));
    TRY(hpc_buf_printf(&rule, "p-%lld-%lld ::= ", (long long)object, (long long)k));
    TRY(put_literal(&rule, text));
    TRY(hpc_buf_text(&rule, " ws \":\" ws "));
    TRY(put(&rule, s, v));
    TRY(hpc_buf_text(&rule, "\n"));
    rc = hpc_buf_add(&s->rules, rule.data, rule.n);
out:
    hpc_json_free(text);
    hpc_buf_release(&rule);
    hpc_buf_release(&key);
    return rc;
}

/* Rule o-OBJECT-K-F: properties from K on; F 1: one came before, so that a comma is due. */
static int put_properties(schema *s, int64_t object, const hpc_json *v, const hpc_json *list)
{
    const long long o = object;
    const hpc_json *value;
    int rc = HPC_OK;
    for (int64_t k = 0; k < hpc_json_n(list); k++) {
        const char *name = hpc_json_key(list, k, &value);
        const bool required = is_required(v, name);
        TRY(put_property(s, object, k, name, value));
        for (int after = 0; after < 2; after++) {
            TRY(hpc_buf_printf(&s->rules, "o-%lld-%lld-%d ::= %sp-%lld-%lld o-%lld-%lld-1", o,
                               (long long)k, after, after ? "ws \",\" ws " : "", o, (long long)k, o,
                               (long long)k + 1));
            if (!required)
                TRY(hpc_buf_printf(&s->rules, " | o-%lld-%lld-%d", o, (long long)k + 1, after));
            TRY(hpc_buf_text(&s->rules, "\n"));
        }
    }
    for (int after = 0; after < 2; after++)
        TRY(hpc_buf_printf(&s->rules, "o-%lld-%lld-%d ::= \"\"\n", o, (long long)hpc_json_n(list),
                           after));
out:
    return rc;
}

static int put_object(hpc_buf *out, schema *s, const hpc_json *v)
{
    const hpc_json *list = hpc_json_get(v, "properties");
    const hpc_json *more = hpc_json_get(v, "additionalProperties");
    const bool is_open = more && hpc_json_kind_of(more) != HPC_JSON_BOOL;
    bool any = false;
    int rc;
    if (list && hpc_json_kind_of(list) != HPC_JSON_OBJECT) return wrong("properties", "an object");
    if (hpc_json_kind_of(more) == HPC_JSON_BOOL) hpc_json_bool(&any, more, "additionalProperties");
    if (hpc_json_n(list) > 0) {
        const int64_t object = s->names++;
        if (is_open || any)
            return hpc_fail(HPC_E_UNSUPPORTED, "the JSON schema's \"additionalProperties\" with "
                                               "\"properties\" is not supported");
        TRY(hpc_buf_printf(out, "\"{\" ws o-%lld-0-0 ws \"}\"", (long long)object));
        return put_properties(s, object, v, list);
    }
    if (!is_open) return hpc_buf_text(out, list && !any ? "\"{\" ws \"}\"" : "object");
    const int64_t member = s->names++;
    hpc_buf rule = {0};
    rc = hpc_buf_printf(&rule, "m-%lld ::= string ws \":\" ws ", (long long)member);
    if (rc >= 0) rc = put(&rule, s, more);
    if (rc >= 0) rc = hpc_buf_text(&rule, "\n");
    if (rc >= 0) rc = hpc_buf_add(&s->rules, rule.data, rule.n);
    hpc_buf_release(&rule);
    TRY(rc);
    rc = hpc_buf_printf(out, "\"{\" ws (m-%lld (ws \",\" ws m-%lld)*)? ws \"}\"", (long long)member,
                        (long long)member);
out:
    return rc;
}

/* ---- lists and texts ------------------------------------------------------------------------- */

/* Each item by its own schema. */
static int put_tuple(hpc_buf *out, schema *s, const hpc_json *list)
{
    int rc;
    TRY(hpc_buf_text(out, "\"[\" ws "));
    for (int64_t k = 0; k < hpc_json_n(list); k++) {
        if (k > 0) TRY(hpc_buf_text(out, " ws \",\" ws "));
        TRY(put(out, s, hpc_json_at(list, k)));
    }
    rc = hpc_buf_text(out, " ws \"]\"");
out:
    return rc;
}

static int put_array(hpc_buf *out, schema *s, const hpc_json *v)
{
    const hpc_json *items = hpc_json_get(v, "items"), *tuple = hpc_json_get(v, "prefixItems");
    int64_t least, most;
    hpc_buf item = {0};
    int rc;
    if (hpc_json_kind_of(items) == HPC_JSON_LIST) tuple = items;
    if (tuple) return put_tuple(out, s, tuple);
    TRY(read_count(&least, v, "minItems", 0));
    TRY(read_count(&most, v, "maxItems", -1));
    if (most >= 0 && most < least) TRY(wrong("maxItems", "at least minItems"));
    if (most == 0) return hpc_buf_text(out, "\"[\" ws \"]\"");
    if (items)
        TRY(put(&item, s, items));
    else
        TRY(hpc_buf_text(&item, "value"));
    const long long number = s->names++;
    TRY(hpc_buf_printf(&s->rules, "i-%lld ::= %s\n", number, item.data));
    TRY(hpc_buf_printf(out, "\"[\" ws (i-%lld (ws \",\" ws i-%lld){%lld,", number, number,
                       (long long)(least > 1 ? least - 1 : 0)));
    if (most > 0) TRY(hpc_buf_printf(out, "%lld", (long long)most - 1));
    rc = hpc_buf_printf(out, "})%s ws \"]\"", least > 0 ? "" : "?");
out:
    hpc_buf_release(&item);
    return rc;
}

static int put_string(hpc_buf *out, const hpc_json *v)
{
    int64_t least, most;
    int rc;
    TRY(read_count(&least, v, "minLength", 0));
    TRY(read_count(&most, v, "maxLength", -1));
    if (least == 0 && most < 0) return hpc_buf_text(out, "string");
    if (most >= 0 && most < least) TRY(wrong("maxLength", "at least minLength"));
    TRY(hpc_buf_printf(out, "\"\\\"\" char{%lld,", (long long)least));
    if (most >= 0) TRY(hpc_buf_printf(out, "%lld", (long long)most));
    rc = hpc_buf_text(out, "} \"\\\"\"");
out:
    return rc;
}

static int put_type(hpc_buf *out, schema *s, const hpc_json *v, const char *type)
{
    static const char *const plain[] = {"integer", "number", "boolean", "null", NULL};
    if (is_in(plain, type)) return hpc_buf_text(out, type);
    if (strcmp(type, "string") == 0) return put_string(out, v);
    if (strcmp(type, "array") == 0) return put_array(out, s, v);
    if (strcmp(type, "object") == 0) return put_object(out, s, v);
    return wrong("type", "a type of JSON");
}

/* ---- a schema -------------------------------------------------------------------------------- */

/* Without a type, the keywords say it. */
static const char *implied(const hpc_json *v)
{
    static const char *const of_array[] = {"items", "prefixItems", "minItems", "maxItems", NULL};
    static const char *const of_string[] = {"minLength", "maxLength", NULL};
    for (int k = 0; of_array[k]; k++)
        if (hpc_json_get(v, of_array[k])) return "array";
    for (int k = 0; of_string[k]; k++)
        if (hpc_json_get(v, of_string[k])) return "string";
    return "object";
}

static int put_types(hpc_buf *out, schema *s, const hpc_json *v)
{
    const hpc_json *type = hpc_json_get(v, "type");
    const bool list = hpc_json_kind_of(type) == HPC_JSON_LIST;
    const char *name = implied(v);
    int rc = HPC_OK;
    if (type && !list && hpc_json_kind_of(type) != HPC_JSON_TEXT)
        return wrong("type", "a text or a list of texts");
    if (type && !list) TRY(hpc_json_text(&name, type, "type"));
    if (!list) return put_type(out, s, v, name);
    TRY(hpc_buf_text(out, "("));
    for (int64_t k = 0; k < hpc_json_n(type); k++) {
        if (hpc_json_kind_of(hpc_json_at(type, k)) != HPC_JSON_TEXT)
            TRY(wrong("type", "a text or a list of texts"));
        TRY(hpc_json_text(&name, hpc_json_at(type, k), "type"));
        if (k > 0) TRY(hpc_buf_text(out, " | "));
        TRY(put_type(out, s, v, name));
    }
    rc = hpc_buf_text(out, ")");
out:
    return rc;
}

/* A keyword that says all about the value; NULL: none does. */
static const char *alone(const hpc_json *v)
{
    static const char *const names[] = {"$ref", "const", "enum", "anyOf", "oneOf", NULL};
    for (int k = 0; names[k]; k++)
        if (hpc_json_get(v, names[k])) return names[k];
    return NULL;
}

static int put(hpc_buf *out, schema *s, const hpc_json *v)
{
    const hpc_json *x;
    int64_t keys;
    bool any = false;
    if (hpc_json_kind_of(v) == HPC_JSON_BOOL && hpc_json_bool(&any, v, "") >= 0 && any)
        return hpc_buf_text(out, "value");
    if (hpc_json_kind_of(v) != HPC_JSON_OBJECT)
        return hpc_fail(HPC_E_ARG, "a JSON schema must be an object");
    const int rc = check_keys(&keys, v);
    if (rc < 0) return rc;
    if (keys == 0) return hpc_buf_text(out, "value");
    const char *name = alone(v);
    if (!name) return put_types(out, s, v);
    if (keys > 1 + (hpc_json_get(v, "type") != NULL))
        return hpc_fail(HPC_E_UNSUPPORTED,
                        "the JSON schema's \"%s\" with other keywords is not supported", name);
    x = hpc_json_get(v, name);
    if (strcmp(name, "$ref") == 0) return put_reference(out, s, x);
    if (strcmp(name, "const") == 0) return put_literal(out, x);
    if (strcmp(name, "enum") == 0) return put_enumeration(out, x);
    return put_choice(out, s, x, name);
}

static int put_rule(schema *s, const char *name, const hpc_json *v)
{
    hpc_buf rule = {0};
    int rc;
    TRY(hpc_buf_printf(&rule, "%s ::= ", name));
    TRY(put(&rule, s, v));
    TRY(hpc_buf_text(&rule, "\n"));
    rc = hpc_buf_add(&s->rules, rule.data, rule.n);
out:
    hpc_buf_release(&rule);
    return rc;
}

int api_schema_grammar(hpc_buf *out, const hpc_json *v)
{
    schema s = {.root = v};
    char name[32];
    int rc;
    TRY(put_rule(&s, "root", v));
    for (int64_t k = 0; k < s.reference_n; k++) {
        snprintf(name, sizeof name, "ref-%lld", (long long)k);
        TRY(put_rule(&s, name, s.reference[k]));
    }
    TRY(hpc_buf_text(out, base));
    rc = hpc_buf_add(out, s.rules.data, s.rules.n);
out:
    hpc_buf_release(&s.rules);
    return rc;
}
