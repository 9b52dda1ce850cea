/*
 * value.c: Python's values as far as templates need them: truth, equality, order, iteration.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "infer/template/priv.h"

/* ---- limits and errors ---------------------------------------------------------------------- */

void tpl_report(const tpl_run *x, int code, const char *format, ...)
{
    char text[300];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    hpc_fail(code, "chat template, line %d: %s%s", x->line, text,
             code == HPC_E_UNSUPPORTED ? " is not supported" : "");
}

int tpl_spend(tpl_run *x, size_t steps)
{
    x->steps += (int64_t)steps;
    if (x->steps <= TPL_STEPS_MOST) return HPC_OK;
    return tpl_fail(x, HPC_E_ARG, "more than %d steps", TPL_STEPS_MOST);
}

void *tpl_alloc(tpl_run *x, size_t n, size_t size)
{
    const size_t bytes = n * size + 16;
    x->bytes += bytes;
    if (n > TPL_MEMORY_MOST || x->bytes > TPL_MEMORY_MOST) {
        tpl_report(x, HPC_E_ARG, "more than %d bytes of values", TPL_MEMORY_MOST);
        return NULL;
    }
    return hpc_arena_alloc(x->arena, n, size);
}

int tpl_enter(tpl_run *x)
{
    if (++x->depth <= TPL_DEPTH_MOST) return tpl_spend(x, 1);
    return tpl_fail(x, HPC_E_ARG, "calls or values are nested more than %d deep", TPL_DEPTH_MOST);
}

/* ---- constructors --------------------------------------------------------------------------- */

tpl_value tpl_of_list(tpl_list *l)
{
    return (tpl_value){.kind = TPL_LIST, .list = l};
}

tpl_value tpl_of_dict(tpl_dict *d)
{
    return (tpl_value){.kind = TPL_DICT, .dict = d};
}

tpl_value tpl_of_bool(bool b)
{
    return (tpl_value){.kind = TPL_BOOL, .flag = b};
}

tpl_value tpl_of_int(int64_t i)
{
    return (tpl_value){.kind = TPL_INT, .i = i};
}

tpl_value tpl_undefined(tpl_run *x, const char *format, ...)
{
    char text[200];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    char *why = tpl_alloc(x, strlen(text) + 1, 1);
    if (why) strcpy(why, text);
    return (tpl_value){.kind = TPL_UNDEFINED, .why = why ? why : "no memory"};
}

int tpl_list_new(tpl_list **out, tpl_run *x, tpl_list_kind kind)
{
    tpl_list *l = tpl_alloc(x, 1, sizeof *l);
    if (!l) return tpl_code();
    l->kind = kind;
    *out = l;
    return HPC_OK;
}

static tpl_value *grown(tpl_run *x, const tpl_value *old, int64_t n, int64_t cap)
{
    tpl_value *item = tpl_alloc(x, (size_t)cap, sizeof *item);
    if (item && old && n > 0) memcpy(item, old, (size_t)n * sizeof *item);
    return item;
}

int tpl_list_add(tpl_run *x, tpl_list *l, tpl_value v)
{
    if (l->n == l->cap) {
        const int64_t cap = l->cap ? 2 * l->cap : 4;
        tpl_value *item = grown(x, l->item, l->n, cap);
        if (!item) return tpl_code();
        l->item = item;
        l->cap = cap;
    }
    l->item[l->n++] = v;
    return HPC_OK;
}

int tpl_dict_new(tpl_dict **out, tpl_run *x)
{
    *out = tpl_alloc(x, 1, sizeof **out);
    return *out ? HPC_OK : tpl_code();
}

tpl_value *tpl_dict_find(tpl_run *x, const tpl_dict *d, tpl_value key)
{
    bool same = false;
    x->steps += d->n / 16;
    for (int64_t k = 0; k < d->n; k++)
        if (tpl_equal(&same, x, d->key[k], key) >= 0 && same) return &d->item[k];
    return NULL;
}

tpl_value *tpl_dict_name(tpl_run *x, const tpl_dict *d, const char *name)
{
    const tpl_text t = {.data = name, .n = strlen(name)};
    return tpl_dict_find(x, d, (tpl_value){.kind = TPL_TEXT, .text = &t});
}

int tpl_check_key(tpl_run *x, tpl_value v)
{
    int rc;
    const bool tuple = v.kind == TPL_LIST && v.list->kind == TPL_IS_TUPLE;
    if (v.kind == TPL_DICT ||
        (v.kind == TPL_LIST && (v.list->kind == TPL_IS_LIST || v.list->kind == TPL_IS_VIEW)))
        return tpl_fail(x, HPC_E_ARG, "unhashable type: '%s'", tpl_type(v));
    TRY(tpl_enter(x));
    for (int64_t k = 0; tuple && k < v.list->n; k++) TRY(tpl_check_key(x, v.list->item[k]));
    x->depth--;
out:
    return rc;
}

int tpl_dict_put(tpl_run *x, tpl_dict *d, tpl_value key, tpl_value v)
{
    int rc = tpl_check_key(x, key);
    if (rc < 0) return rc;
    tpl_value *found = tpl_dict_find(x, d, key);
    if (found) {
        *found = v;
        return HPC_OK;
    }
    if (!d->item || d->n == d->cap) {
        const int64_t cap = d->cap ? 2 * d->cap : 4;
        tpl_value *keys = grown(x, d->key, d->n, cap), *item = grown(x, d->item, d->n, cap);
        if (!keys || !item) return tpl_code();
        d->key = keys, d->item = item, d->cap = cap;
    }
    d->key[d->n] = key;
    d->item[d->n++] = v;
    return HPC_OK;
}

/* ---- from JSON ------------------------------------------------------------------------------ */

static bool is_known(const tpl_run *x, const char *text)
{
    for (const char *const *k = x->in->known; k && *k; k++)
        if (strcmp(*k, text) == 0) return true;
    return false;
}

static int from_text(tpl_value *out, tpl_run *x, const char *text, bool foreign)
{
    tpl_text *t = tpl_alloc(x, 1, sizeof *t);
    if (!t) return tpl_code();
    *t = (tpl_text){.data = text, .n = strlen(text), .foreign = foreign && !is_known(x, text)};
    *out = (tpl_value){.kind = TPL_TEXT, .text = t};
    return HPC_OK;
}

static int from_scalar(tpl_value *out, tpl_run *x, const hpc_json *v, bool foreign)
{
    const char *text;
    bool flag;
    int64_t i;
    double r;
    int rc = HPC_OK;
    *out = (tpl_value){.kind = TPL_NONE};
    switch (hpc_json_kind_of(v)) {
    case HPC_JSON_BOOL:
        TRY(hpc_json_bool(&flag, v, "value"));
        *out = tpl_of_bool(flag);
        break;
    case HPC_JSON_INT:
        TRY(hpc_json_int(&i, v, "value"));
        *out = tpl_of_int(i);
        break;
    case HPC_JSON_REAL:
        TRY(hpc_json_real(&r, v, "value"));
        *out = (tpl_value){.kind = TPL_REAL, .r = r};
        break;
    case HPC_JSON_TEXT:
        TRY(hpc_json_text(&text, v, "value"));
        TRY(from_text(out, x, text, foreign));
        break;
    default: break;
    }
out:
    return rc;
}

int tpl_from_json(tpl_value *out, tpl_run *x, const hpc_json *v, bool foreign)
{
    const hpc_json_kind kind = hpc_json_kind_of(v);
    tpl_list *l;
    tpl_dict *d;
    tpl_value one, key;
    int rc;
    TRY(tpl_enter(x));
    if (kind == HPC_JSON_LIST) {
        TRY(tpl_list_new(&l, x, TPL_IS_LIST));
        for (int64_t k = 0; k < hpc_json_n(v); k++) {
            TRY(tpl_from_json(&one, x, hpc_json_at(v, k), foreign));
            TRY(tpl_list_add(x, l, one));
        }
        *out = tpl_of_list(l);
    } else if (kind == HPC_JSON_OBJECT) {
        TRY(tpl_dict_new(&d, x));
        for (int64_t k = 0; k < hpc_json_n(v); k++) {
            const hpc_json *item;
            TRY(from_text(&key, x, hpc_json_key(v, k, &item), foreign));
            TRY(tpl_from_json(&one, x, item, foreign));
            TRY(tpl_dict_put(x, d, key, one));
        }
        *out = tpl_of_dict(d);
    } else {
        TRY(from_scalar(out, x, v, foreign));
    }
    x->depth--;
out:
    return rc;
}

/* ---- Python's rules ------------------------------------------------------------------------- */

const char *tpl_type(tpl_value v)
{
    static const char *const names[] = {[TPL_UNDEFINED] = "Undefined", [TPL_NONE] = "NoneType",
                                        [TPL_BOOL] = "bool",           [TPL_INT] = "int",
                                        [TPL_REAL] = "float",          [TPL_TEXT] = "str",
                                        [TPL_LIST] = "list",           [TPL_DICT] = "dict",
                                        [TPL_NAMESPACE] = "Namespace", [TPL_LOOP] = "LoopContext",
                                        [TPL_MACRO] = "Macro",         [TPL_FUNCTION] = "function",
                                        [TPL_METHOD] = "method"};
    static const char *const lists[] = {"list", "tuple", "range", "dict view", "generator"};
    return v.kind == TPL_LIST ? lists[v.list->kind] : names[v.kind];
}

bool tpl_is_number(tpl_value v)
{
    return v.kind == TPL_BOOL || v.kind == TPL_INT || v.kind == TPL_REAL;
}

double tpl_real(tpl_value v)
{
    return v.kind == TPL_REAL ? v.r : v.kind == TPL_BOOL ? v.flag : (double)v.i;
}

bool tpl_whole(int64_t *out, tpl_value v)
{
    *out = v.kind == TPL_BOOL ? v.flag : v.kind == TPL_INT ? v.i : 0;
    return v.kind == TPL_BOOL || v.kind == TPL_INT;
}

bool tpl_truth(tpl_value v)
{
    switch (v.kind) {
    case TPL_UNDEFINED:
    case TPL_NONE: return false;
    case TPL_BOOL: return v.flag;
    case TPL_INT: return v.i != 0;
    case TPL_REAL: return v.r != 0;
    case TPL_TEXT: return v.text->n > 0;
    case TPL_LIST: return v.list->kind == TPL_IS_ONCE || v.list->n > 0;
    case TPL_DICT: return v.dict->n > 0;
    default: return true;
    }
}

static int equal_lists(bool *out, tpl_run *x, const tpl_list *a, const tpl_list *b)
{
    int rc = HPC_OK;
    *out = a == b || (a->n == b->n && a->kind == b->kind && a->kind <= TPL_IS_RANGE);
    for (int64_t k = 0; *out && a != b && k < a->n; k++)
        TRY(tpl_equal(out, x, a->item[k], b->item[k]));
out:
    return rc;
}

static int equal_dicts(bool *out, tpl_run *x, const tpl_dict *a, const tpl_dict *b)
{
    int rc = HPC_OK;
    *out = a->n == b->n;
    for (int64_t k = 0; *out && k < a->n; k++) {
        const tpl_value *other = tpl_dict_find(x, b, a->key[k]);
        *out = other != NULL;
        if (other) TRY(tpl_equal(out, x, a->item[k], *other));
    }
out:
    return rc;
}

int tpl_equal(bool *out, tpl_run *x, tpl_value a, tpl_value b)
{
    int rc = tpl_spend(x, 1);
    *out = false;
    if (rc < 0) return rc;
    if (tpl_is_number(a) && tpl_is_number(b)) {
        int64_t i, k;
        *out = tpl_whole(&i, a) && tpl_whole(&k, b) ? i == k : tpl_real(a) == tpl_real(b);
        return rc;
    }
    if (a.kind != b.kind) return rc;
    TRY(tpl_enter(x));
    switch (a.kind) {
    case TPL_UNDEFINED:
    case TPL_NONE: *out = true; break;
    case TPL_TEXT:
        *out = a.text->n == b.text->n && memcmp(a.text->data, b.text->data, a.text->n) == 0;
        if (*out) rc = tpl_spend(x, a.text->n / 64);
        break;
    case TPL_LIST: rc = equal_lists(out, x, a.list, b.list); break;
    case TPL_DICT: rc = equal_dicts(out, x, a.dict, b.dict); break;
    case TPL_FUNCTION: *out = strcmp(a.name, b.name) == 0; break;
    default: *out = a.dict == b.dict; /* the same object */
    }
    x->depth--;
out:
    return rc;
}

static int compare_texts(const tpl_text *a, const tpl_text *b)
{
    const size_t n = a->n < b->n ? a->n : b->n;
    const int c = n > 0 ? memcmp(a->data, b->data, n) : 0;
    return c ? c : (a->n > b->n) - (a->n < b->n);
}

int tpl_compare(int *out, tpl_run *x, tpl_value a, tpl_value b)
{
    int rc = HPC_OK;
    *out = 0;
    if (tpl_is_number(a) && tpl_is_number(b)) {
        const double r = tpl_real(a), s = tpl_real(b);
        *out = (r > s) - (r < s);
        return rc;
    }
    if (a.kind == TPL_TEXT && b.kind == TPL_TEXT)
        return *out = compare_texts(a.text, b.text), tpl_spend(x, a.text->n / 64);
    if (a.kind == TPL_UNDEFINED || b.kind == TPL_UNDEFINED)
        return tpl_fail(x, HPC_E_ARG, "%s", a.kind == TPL_UNDEFINED ? a.why : b.why);
    if (a.kind != TPL_LIST || b.kind != TPL_LIST || a.list->kind > TPL_IS_TUPLE ||
        a.list->kind != b.list->kind)
        return tpl_fail(x, HPC_E_ARG, "'%s' and '%s' have no order", tpl_type(a), tpl_type(b));
    TRY(tpl_enter(x));
    for (int64_t k = 0; k < a.list->n && k < b.list->n; k++) {
        bool same;
        TRY(tpl_equal(&same, x, a.list->item[k], b.list->item[k]));
        if (same) continue;
        TRY(tpl_compare(out, x, a.list->item[k], b.list->item[k]));
        x->depth--;
        return rc;
    }
    *out = (a.list->n > b.list->n) - (a.list->n < b.list->n);
    x->depth--;
out:
    return rc;
}

/* ---- containers ----------------------------------------------------------------------------- */

static int characters(tpl_list *l, tpl_run *x, const tpl_text *t)
{
    uint32_t code;
    int rc = HPC_OK;
    for (size_t at = 0, k; at < t->n; at += k) {
        tpl_value one;
        if ((k = tpl_next(&code, t->data, t->n, at)) == 0) k = 1;
        TRY(tpl_part(&one, x, t, at, at + k));
        TRY(tpl_list_add(x, l, one));
    }
out:
    return rc;
}

int tpl_iterate(tpl_list **out, tpl_run *x, tpl_value v)
{
    int rc;
    if (v.kind == TPL_LIST && v.list->kind != TPL_IS_ONCE) return *out = v.list, HPC_OK;
    TRY(tpl_list_new(out, x, TPL_IS_LIST));
    if (v.kind == TPL_LIST) {
        **out = *v.list;
        (*out)->kind = TPL_IS_LIST;
        *v.list = (tpl_list){.kind = TPL_IS_ONCE};
    } else if (v.kind == TPL_DICT) {
        for (int64_t k = 0; k < v.dict->n; k++) TRY(tpl_list_add(x, *out, v.dict->key[k]));
    } else if (v.kind == TPL_TEXT) {
        TRY(characters(*out, x, v.text));
    } else if (v.kind != TPL_UNDEFINED) {
        TRY(tpl_fail(x, HPC_E_ARG, "'%s' object is not iterable", tpl_type(v)));
    }
out:
    return rc;
}

int tpl_length(int64_t *out, tpl_run *x, tpl_value v)
{
    *out = 0;
    if (v.kind == TPL_UNDEFINED) return HPC_OK;
    if (v.kind == TPL_TEXT) return *out = tpl_characters(v.text), tpl_spend(x, v.text->n / 64);
    if (v.kind == TPL_DICT) return *out = v.dict->n, HPC_OK;
    if (v.kind == TPL_LOOP) return *out = v.loop->list->n, HPC_OK;
    if (v.kind == TPL_LIST && v.list->kind != TPL_IS_ONCE) return *out = v.list->n, HPC_OK;
    return tpl_fail(x, HPC_E_ARG, "object of type '%s' has no len()", tpl_type(v));
}

int tpl_contains(bool *out, tpl_run *x, tpl_value item, tpl_value in)
{
    tpl_list *l;
    int rc;
    *out = false;
    if (in.kind == TPL_TEXT) {
        if (item.kind != TPL_TEXT)
            return tpl_fail(x, HPC_E_ARG, "'in <string>' requires a string, not '%s'",
                            tpl_type(item));
        *out = item.text->n == 0 ||
               (in.text->n > 0 && memmem(in.text->data, in.text->n, item.text->data, item.text->n));
        return tpl_spend(x, in.text->n / 64);
    }
    if (in.kind == TPL_DICT) {
        *out = tpl_dict_find(x, in.dict, item) != NULL;
        return tpl_check_key(x, item);
    }
    TRY(tpl_iterate(&l, x, in));
    for (int64_t k = 0; !*out && k < l->n; k++) TRY(tpl_equal(out, x, l->item[k], item));
out:
    return rc;
}
