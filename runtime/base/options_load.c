/*
 * options_load.c: options as JSON: loading an object's keys into an options struct, and
 * recording a struct as an object. Loading a record gives the same values. The caller
 * adds the file's name to errors.
 */
#include <stdio.h>
#include <string.h>

#include "runtime/base/priv.h"

/* The JSON goes when its root is freed, options stay as long as the arena. */
static int keep(const char **out, hpc_arena *a, const hpc_json *v, const char *where)
{
    const char *text = NULL;
    int rc = hpc_json_text(&text, v, where);
    if (rc < 0) return rc;
    *out = hpc_arena_text(a, "%s", text);
    return *out ? 0 : HPC_E_NOMEM;
}

/* A list replaces what was there, as every other value does. */
static int load_texts(void *out, const hpc_option *o, hpc_arena *a, const hpc_json *list,
                      const char *where)
{
    if (hpc_json_kind_of(list) != HPC_JSON_LIST) {
        return hpc_json_wrong_kind(list, where, "a list of texts");
    }
    memset((char *)out + o->offset, 0, sizeof(hpc_texts));
    for (int64_t i = 0; i < hpc_json_n(list); i++) {
        const char *text;
        int rc = keep(&text, a, hpc_json_at(list, i), where);
        if (rc == 0) rc = hpc_option_add_text(out, o, a, text);
        if (rc < 0) return rc;
    }
    return 0;
}

static int load_text(void *out, const hpc_option *o, hpc_arena *a, const hpc_json *v,
                     const char *where)
{
    const char *text = NULL; /* null: not set */
    int rc = hpc_json_kind_of(v) == HPC_JSON_NULL ? 0 : keep(&text, a, v, where);
    if (rc < 0) return rc;
    if (!text && o->kind == HPC_CHOICE) text = o->fallback;
    if (text && o->kind == HPC_CHOICE) return hpc_option_set_choice(out, o, where, text);
    memcpy((char *)out + o->offset, &text, sizeof text);
    return 0;
}

static int load_one(void *out, const hpc_option *o, hpc_arena *a, const hpc_json *v)
{
    char where[96];
    bool flag = false;
    int64_t integer = 0;
    double real = 0.0;
    int rc = 0;
    snprintf(where, sizeof where, "key '%s'", o->name);
    switch (o->kind) {
    case HPC_FLAG:
        rc = hpc_json_bool(&flag, v, where);
        if (rc == 0) hpc_option_set_flag(out, o, flag);
        return rc;
    case HPC_INT:
        rc = hpc_json_int(&integer, v, where);
        return rc < 0 ? rc : hpc_option_set_int(out, o, where, integer);
    case HPC_REAL:
        rc = hpc_json_real(&real, v, where);
        return rc < 0 ? rc : hpc_option_set_real(out, o, where, real);
    case HPC_TEXTS: return load_texts(out, o, a, v, where);
    case HPC_TEXT:
    case HPC_CHOICE: break;
    }
    return load_text(out, o, a, v, where);
}

static int unknown_key(const hpc_command *c, const char *key)
{
    const hpc_option *o = hpc_option_nearest(c, key);
    if (o) return hpc_fail(HPC_E_ARG, "unknown key '%s', did you mean '%s'?", key, o->name);
    return hpc_fail(HPC_E_ARG, "unknown key '%.60s', see --help: keys are the long options", key);
}

int hpc_options_load_under(void *out, const hpc_command *c, hpc_arena *a, const hpc_json *object,
                           const bool *given)
{
    if (hpc_json_kind_of(object) != HPC_JSON_OBJECT) {
        return hpc_fail(HPC_E_FORMAT, "the configuration must be a JSON object of options");
    }
    for (int64_t i = 0; i < hpc_json_n(object); i++) {
        const hpc_json *v;
        const char *key = hpc_json_key(object, i, &v);
        const hpc_option *o = hpc_option_find(c, key, strlen(key));
        if (o && given && given[hpc_options_n(c, o)]) continue;
        int rc = o ? load_one(out, o, a, v) : unknown_key(c, key);
        if (rc < 0) return rc;
    }
    return 0;
}

int hpc_options_load(void *out, const hpc_command *c, hpc_arena *a, const hpc_json *object)
{
    return hpc_options_load_under(out, c, a, object, NULL);
}

static void record_one(hpc_json_out *w, const hpc_option *o, const void *field)
{
    const char *key = o->former ? o->former : o->name;
    switch (o->kind) {
    case HPC_FLAG: hpc_json_put_bool(w, key, *(const bool *)field); return;
    case HPC_INT: hpc_json_put_int(w, key, *(const int64_t *)field); return;
    case HPC_REAL: hpc_json_put_real(w, key, *(const double *)field); return;
    case HPC_TEXT:
    case HPC_CHOICE: hpc_json_put_text(w, key, *(const char *const *)field); return;
    case HPC_TEXTS: break;
    }
    const hpc_texts *t = field;
    hpc_json_open(w, key, '[');
    for (int64_t i = 0; i < t->n; i++) hpc_json_put_text(w, NULL, t->item[i]);
    hpc_json_close(w, ']');
}

int hpc_options_record(hpc_buf *out, const hpc_command *c, const void *options)
{
    hpc_json_out w = {.buf = out, .indent = 2};
    hpc_json_open(&w, NULL, '{');
    for (const hpc_option *o = c->options; o && o->name; o = hpc_option_next(o)) {
        record_one(&w, o, (const char *)options + o->offset);
    }
    hpc_json_close(&w, '}');
    return out->failed;
}
