/*
 * function.c: global functions of templates, methods of dicts and lists, and calls.
 */
#include <string.h>
#include <time.h>

#include "infer/template/priv.h"

/* ---- names ---------------------------------------------------------------------------------- */

static bool is_one_of(const char *const *names, const char *name)
{
    for (; *names; names++)
        if (strcmp(*names, name) == 0) return true;
    return false;
}

/* 1: there is such a name; it is called, if at all, by tpl_call. */
int tpl_global(tpl_value *out, tpl_run *x, const char *name)
{
    static const char *const known[] = {"raise_exception", "strftime_now", "namespace",
                                        "range",           "dict",         NULL};
    static const char *const other[] = {"lipsum", "cycler", "joiner", "self", NULL};
    if (is_one_of(other, name)) return tpl_fail(x, HPC_E_UNSUPPORTED, "'%s'", name);
    if (!is_one_of(known, name)) return 0;
    *out = (tpl_value){.kind = TPL_FUNCTION, .name = name};
    return 1;
}

int tpl_find_method(tpl_value *out, tpl_run *x, tpl_value self, const char *name)
{
    static const char *const texts[] = {
        "capitalize",   "casefold",    "center",    "count",      "encode",       "endswith",
        "expandtabs",   "find",        "format",    "format_map", "index",        "isalnum",
        "isalpha",      "isascii",     "isdecimal", "isdigit",    "isidentifier", "islower",
        "isnumeric",    "isprintable", "isspace",   "istitle",    "isupper",      "join",
        "ljust",        "lower",       "lstrip",    "maketrans",  "partition",    "removeprefix",
        "removesuffix", "replace",     "rfind",     "rindex",     "rjust",        "rpartition",
        "rsplit",       "rstrip",      "split",     "splitlines", "startswith",   "strip",
        "swapcase",     "title",       "translate", "upper",      "zfill",        NULL};
    static const char *const dicts[] = {"copy", "fromkeys", "get", "items", "keys", "values", NULL};
    static const char *const dict_changes[] = {"clear",      "pop",    "popitem",
                                               "setdefault", "update", NULL};
    static const char *const list_changes[] = {"append", "clear",   "extend", "insert", "pop",
                                               "remove", "reverse", "sort",   NULL};
    static const char *const lists[] = {"copy", "count", "index", NULL};
    static const char *const loops[] = {"cycle", "changed", NULL};
    const bool list = self.kind == TPL_LIST && self.list->kind <= TPL_IS_RANGE;
    const char *const *names = self.kind == TPL_TEXT   ? texts
                               : self.kind == TPL_DICT ? dicts
                               : self.kind == TPL_LOOP ? loops
                               : list                  ? lists
                                                       : NULL;
    const bool changes = (self.kind == TPL_DICT && is_one_of(dict_changes, name)) ||
                         (list && self.list->kind == TPL_IS_LIST && is_one_of(list_changes, name));
    if (changes) { /* Jinja's sandbox */
        *out = tpl_undefined(x, "access to attribute '%s' of '%s' object is unsafe.", name,
                             tpl_type(self));
        return 1;
    }
    if (!names || !is_one_of(names, name)) return 0;
    tpl_method *m = tpl_alloc(x, 1, sizeof *m);
    if (!m) return tpl_code();
    *m = (tpl_method){.self = self, .name = name};
    *out = (tpl_value){.kind = TPL_METHOD, .method = m};
    return 1;
}

/* ---- functions ------------------------------------------------------------------------------ */

static int raise(tpl_run *x, const tpl_args *args)
{
    enum { MOST = 400 };
    tpl_value text;
    int rc;
    TRY(args->n > 0 ? tpl_str(&text, x, args->item[0]) : tpl_of_name(&text, x, ""));
    size_t n = text.text->n < MOST ? text.text->n : MOST;
    while (n < text.text->n && n > 0 && ((uint8_t)text.text->data[n] & 0xc0) == 0x80) n--;
    rc = hpc_fail(HPC_E_ARG, "%.*s", (int)n, text.text->data);
out:
    return rc;
}

static int format_time(tpl_value *out, tpl_run *x, const tpl_args *args)
{
    const time_t now = (time_t)x->in->now;
    char text[256], form[128];
    struct tm t;
    if (args->n != 1 || args->item[0].kind != TPL_TEXT || args->item[0].text->n >= sizeof form)
        return tpl_fail(x, HPC_E_ARG, "strftime_now(): bad arguments");
    memcpy(form, args->item[0].text->data, args->item[0].text->n);
    form[args->item[0].text->n] = '\0';
    localtime_r(&now, &t);
    text[0] = '\0';
    if (strftime(text, sizeof text, form, &t) == 0) text[0] = '\0';
    return tpl_of_name(out, x, text);
}

static int make_range(tpl_value *out, tpl_run *x, const tpl_args *args)
{
    int64_t part[3] = {0, 0, 1};
    tpl_list *l;
    int rc;
    if (args->n < 1 || args->n > 3) return tpl_fail(x, HPC_E_ARG, "range(): bad arguments");
    for (int64_t k = 0; k < args->n; k++)
        if (!tpl_whole(&part[args->n == 1 ? 1 : k], args->item[k]))
            return tpl_fail(x, HPC_E_ARG, "range(): an argument is not an integer");
    if (part[2] == 0 || part[2] > INT32_MAX || part[2] < -INT32_MAX)
        return tpl_fail(x, HPC_E_ARG, "range(): the step is 0 or too large");
    TRY(tpl_list_new(&l, x, TPL_IS_RANGE));
    for (int64_t k = part[0]; part[2] > 0 ? k < part[1] : k > part[1]; k += part[2]) {
        if (l->n == TPL_RANGE_MOST)
            TRY(tpl_fail(x, HPC_E_ARG, "range(): more than %d elements", TPL_RANGE_MOST));
        TRY(tpl_list_add(x, l, tpl_of_int(k)));
        if (k > INT64_MAX - INT32_MAX || k < INT64_MIN + INT32_MAX) break;
    }
    *out = tpl_of_list(l);
out:
    return rc;
}

/* dict() and namespace() */
static int make_members(tpl_value *out, tpl_run *x, const tpl_args *args, tpl_kind kind)
{
    tpl_dict *d;
    tpl_value key;
    int rc;
    TRY(tpl_dict_new(&d, x));
    for (int64_t k = 0; k < args->n; k++) {
        const tpl_value *v = &args->item[k];
        if (args->names && args->names[k]) {
            TRY(tpl_of_name(&key, x, args->names[k]));
            TRY(tpl_dict_put(x, d, key, *v));
            continue;
        }
        if (v->kind != TPL_DICT)
            TRY(tpl_fail(x, HPC_E_UNSUPPORTED, "dict() of a %s", tpl_type(*v)));
        for (int64_t i = 0; i < v->dict->n; i++)
            TRY(tpl_dict_put(x, d, v->dict->key[i], v->dict->item[i]));
    }
    *out = (tpl_value){.kind = kind, .dict = d};
out:
    return rc;
}

static int call_function(tpl_value *out, tpl_run *x, const char *name, const tpl_args *args)
{
    if (strcmp(name, "raise_exception") == 0) return raise(x, args);
    if (strcmp(name, "strftime_now") == 0) return format_time(out, x, args);
    if (strcmp(name, "range") == 0) return make_range(out, x, args);
    return make_members(out, x, args, strcmp(name, "dict") == 0 ? TPL_DICT : TPL_NAMESPACE);
}

/* ---- methods -------------------------------------------------------------------------------- */

static int dict_view(tpl_value *out, tpl_run *x, const tpl_dict *d, const char *name)
{
    tpl_list *l, *pair;
    int rc;
    TRY(tpl_list_new(&l, x, TPL_IS_VIEW));
    for (int64_t k = 0; k < d->n; k++) {
        if (name[0] != 'i') {
            TRY(tpl_list_add(x, l, name[0] == 'k' ? d->key[k] : d->item[k]));
            continue;
        }
        TRY(tpl_list_new(&pair, x, TPL_IS_TUPLE));
        TRY(tpl_list_add(x, pair, d->key[k]));
        TRY(tpl_list_add(x, pair, d->item[k]));
        TRY(tpl_list_add(x, l, tpl_of_list(pair)));
    }
    *out = tpl_of_list(l);
out:
    return rc;
}

static int dict_method(tpl_value *out, tpl_run *x, const tpl_dict *d, const char *name,
                       const tpl_args *args)
{
    if (strcmp(name, "get") == 0) {
        if (args->n < 1 || args->n > 2 ||
            (args->names && (args->names[0] || args->names[args->n - 1])))
            return tpl_fail(x, HPC_E_ARG, "get(): bad arguments");
        const tpl_value *found = tpl_dict_find(x, d, args->item[0]);
        const int rc = tpl_check_key(x, args->item[0]);
        if (rc < 0) return rc;
        *out = found ? *found : args->n > 1 ? args->item[1] : (tpl_value){.kind = TPL_NONE};
        return HPC_OK;
    }
    if (args->n > 0 || strcmp(name, "fromkeys") == 0)
        return tpl_fail(x, HPC_E_UNSUPPORTED, "the method '%s' of a dict with arguments", name);
    if (strcmp(name, "copy") == 0) {
        tpl_value self = {.kind = TPL_DICT, .dict = (tpl_dict *)d};
        const tpl_args one = {.item = &self, .n = 1};
        return make_members(out, x, &one, TPL_DICT);
    }
    return dict_view(out, x, d, name);
}

static int list_method(tpl_value *out, tpl_run *x, const tpl_list *l, const char *name,
                       const tpl_args *args)
{
    int64_t n = 0;
    int rc = HPC_OK;
    if (args->n != 1 || strcmp(name, "copy") == 0)
        return tpl_fail(x, HPC_E_UNSUPPORTED, "the method '%s' of a list with these arguments",
                        name);
    for (int64_t k = 0; k < l->n; k++) {
        bool same;
        TRY(tpl_equal(&same, x, l->item[k], args->item[0]));
        if (same && name[0] == 'i') return *out = tpl_of_int(k), rc;
        n += same;
    }
    if (name[0] == 'i') TRY(tpl_fail(x, HPC_E_ARG, "the value is not in list"));
    *out = tpl_of_int(n);
out:
    return rc;
}

static int loop_method(tpl_value *out, tpl_run *x, tpl_loop *l, const char *name,
                       const tpl_args *args)
{
    bool same = false;
    int rc = HPC_OK;
    if (args->n == 0 || (args->n > 1 && strcmp(name, "changed") == 0))
        return tpl_fail(x, HPC_E_UNSUPPORTED, "loop.%s() with these arguments", name);
    if (strcmp(name, "cycle") == 0) return *out = args->item[l->at % args->n], rc;
    if (l->changed) TRY(tpl_equal(&same, x, *l->changed, args->item[0]));
    l->changed = &args->item[0];
    *out = tpl_of_bool(!same);
out:
    return rc;
}

static int call_method(tpl_value *out, tpl_run *x, const tpl_method *m, const tpl_args *args)
{
    switch (m->self.kind) {
    case TPL_TEXT: return tpl_text_method(out, x, m->self.text, m->name, args);
    case TPL_DICT: return dict_method(out, x, m->self.dict, m->name, args);
    case TPL_LOOP: return loop_method(out, x, m->self.loop, m->name, args);
    default: return list_method(out, x, m->self.list, m->name, args);
    }
}

int tpl_call(tpl_value *out, tpl_run *x, tpl_value f, const tpl_args *args)
{
    switch (f.kind) {
    case TPL_FUNCTION: return call_function(out, x, f.name, args);
    case TPL_METHOD: return call_method(out, x, f.method, args);
    case TPL_MACRO: return tpl_call_macro(out, x, f.macro, args);
    case TPL_UNDEFINED: return tpl_fail(x, HPC_E_ARG, "%s", f.why);
    default: return tpl_fail(x, HPC_E_ARG, "'%s' object is not callable", tpl_type(f));
    }
}
