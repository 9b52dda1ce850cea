/*
 * filter_list.c: Jinja's filters of lists.
 */
#include <string.h>

#include "infer/template/priv.h"

/* `NAME.NAME` of Jinja's attribute arguments: each part a key or an index. */
static int get_path(tpl_value *out, tpl_run *x, tpl_value v, const tpl_value *path)
{
    char part[100];
    int rc = HPC_OK;
    *out = v;
    if (path->kind == TPL_INT) return tpl_item(out, x, v, *path);
    if (path->kind != TPL_TEXT) return tpl_fail(x, HPC_E_ARG, "an attribute is not a string");
    for (size_t at = 0, end; at <= path->text->n; at = end + 1) {
        const char *dot =
            at < path->text->n ? memchr(path->text->data + at, '.', path->text->n - at) : NULL;
        tpl_value key;
        end = dot ? (size_t)(dot - path->text->data) : path->text->n;
        if (end - at >= sizeof part || end == at || memchr(path->text->data, ',', path->text->n))
            TRY(tpl_fail(x, HPC_E_UNSUPPORTED, "this attribute"));
        memcpy(part, path->text->data + at, end - at);
        part[end - at] = '\0';
        if (part[strspn(part, "0123456789")] == '\0')
            TRY(tpl_fail(x, HPC_E_UNSUPPORTED, "an index in an attribute"));
        TRY(tpl_of_name(&key, x, part));
        TRY(tpl_item(out, x, *out, key));
    }
out:
    return rc;
}

static int make_list(tpl_value *out, tpl_run *x, tpl_value v, const tpl_args *args)
{
    tpl_list *from, *l;
    int rc;
    (void)args;
    TRY(tpl_iterate(&from, x, v));
    TRY(tpl_list_new(&l, x, TPL_IS_LIST));
    for (int64_t k = 0; k < from->n; k++) TRY(tpl_list_add(x, l, from->item[k]));
    *out = tpl_of_list(l);
out:
    return rc;
}

static int join(tpl_value *out, tpl_run *x, tpl_value v, const tpl_args *args)
{
    const tpl_value *by = tpl_arg(args, 0, "d"), *path = tpl_arg(args, 1, "attribute");
    hpc_template_output made = {0};
    tpl_value one;
    tpl_list *l;
    int rc;
    TRY(tpl_iterate(&l, x, v));
    for (int64_t k = 0; k < l->n; k++) {
        if (k > 0 && by) TRY(tpl_put_str(&made, x, *by));
        one = l->item[k];
        if (path && path->kind != TPL_NONE) TRY(get_path(&one, x, l->item[k], path));
        TRY(tpl_put_str(&made, x, one));
    }
    return tpl_take_text(out, x, &made);
out:
    hpc_template_output_release(&made);
    return rc;
}

static int end_of(tpl_value *out, tpl_run *x, tpl_value v, bool last)
{
    tpl_list *l;
    int rc;
    if (last && v.kind == TPL_LIST && v.list->kind == TPL_IS_ONCE)
        return tpl_fail(x, HPC_E_ARG, "'generator' object is not reversible");
    TRY(tpl_iterate(&l, x, v));
    *out = l->n > 0 ? l->item[last ? l->n - 1 : 0]
                    : tpl_undefined(x, "No %s item, sequence was empty.", last ? "last" : "first");
out:
    return rc;
}

static int first(tpl_value *out, tpl_run *x, tpl_value v, const tpl_args *args)
{
    (void)args;
    return end_of(out, x, v, false);
}

static int last(tpl_value *out, tpl_run *x, tpl_value v, const tpl_args *args)
{
    (void)args;
    return end_of(out, x, v, true);
}

static int reverse(tpl_value *out, tpl_run *x, tpl_value v, const tpl_args *args)
{
    tpl_list *from, *l;
    hpc_template_output made = {0};
    int rc;
    (void)args;
    const bool once = v.kind == TPL_LIST && v.list->kind == TPL_IS_ONCE;
    TRY(tpl_iterate(&from, x, v));
    TRY(tpl_list_new(&l, x, once ? TPL_IS_LIST : TPL_IS_ONCE)); /* Python reverses no generator */
    for (int64_t k = from->n - 1; k >= 0; k--) {
        TRY(v.kind == TPL_TEXT ? tpl_put_str(&made, x, from->item[k])
                               : tpl_list_add(x, l, from->item[k]));
    }
    if (v.kind == TPL_TEXT) return tpl_take_text(out, x, &made);
    *out = tpl_of_list(l);
out:
    hpc_template_output_release(&made);
    return rc;
}

/* ---- choosing ------------------------------------------------------------------------------- */

/* These filters take none and undefined values for empty lists. */
static int iterate_true(tpl_list **out, tpl_run *x, tpl_value v)
{
    return tpl_iterate(out, x, tpl_truth(v) ? v : (tpl_value){.kind = TPL_UNDEFINED});
}

/* select, reject, selectattr, rejectattr: elements for which a test does, or does not, hold. */
static int choose(tpl_value *out, tpl_run *x, tpl_value v, const tpl_args *args, bool attribute,
                  bool keep)
{
    char name[64] = "";
    tpl_list *from, *l;
    tpl_value one;
    bool is;
    int rc;
    const tpl_value *path = attribute ? args->item : NULL;
    const int64_t at = attribute;
    if (args->n < at) return tpl_fail(x, HPC_E_ARG, "Missing parameter for attribute name");
    const tpl_value *test = args->n > at ? &args->item[at] : NULL;
    if (test && (test->kind != TPL_TEXT || test->text->n >= sizeof name))
        return tpl_fail(x, HPC_E_ARG, "the name of a test is not a string");
    if (test) memcpy(name, test->text->data, test->text->n);
    const tpl_args rest = {.item = test ? args->item + at + 1 : NULL,
                           .n = test ? args->n - at - 1 : 0};
    TRY(iterate_true(&from, x, v));
    TRY(tpl_list_new(&l, x, TPL_IS_ONCE));
    for (int64_t k = 0; k < from->n; k++) {
        one = from->item[k];
        if (path) TRY(get_path(&one, x, from->item[k], path));
        is = tpl_truth(one);
        if (test) TRY(tpl_apply_test(&is, x, name, one, &rest));
        if (is == keep) TRY(tpl_list_add(x, l, from->item[k]));
    }
    *out = tpl_of_list(l);
out:
    return rc;
}

static int select_if(tpl_value *out, tpl_run *x, tpl_value v, const tpl_args *args)
{
    return choose(out, x, v, args, false, true);
}

static int reject(tpl_value *out, tpl_run *x, tpl_value v, const tpl_args *args)
{
    return choose(out, x, v, args, false, false);
}

static int selectattr(tpl_value *out, tpl_run *x, tpl_value v, const tpl_args *args)
{
    return choose(out, x, v, args, true, true);
}

static int rejectattr(tpl_value *out, tpl_run *x, tpl_value v, const tpl_args *args)
{
    return choose(out, x, v, args, true, false);
}

/* map('FILTER', ...) or map(attribute='NAME', default=...) */
static int map(tpl_value *out, tpl_run *x, tpl_value v, const tpl_args *args)
{
    char name[64] = "";
    tpl_list *from, *l;
    tpl_value one;
    int rc;
    const bool filter = args->n > 0 && (!args->names || !args->names[0]);
    const tpl_value *path = filter ? NULL : tpl_arg(args, args->n, "attribute"),
                    *fallback = filter ? NULL : tpl_arg(args, args->n, "default");
    if (!filter && !path) return tpl_fail(x, HPC_E_ARG, "map requires a filter argument");
    if (filter && (args->item[0].kind != TPL_TEXT || args->item[0].text->n >= sizeof name))
        return tpl_fail(x, HPC_E_ARG, "the name of a filter is not a string");
    if (filter) memcpy(name, args->item[0].text->data, args->item[0].text->n);
    const tpl_args rest = {.item = args->item + filter,
                           .names = args->names ? args->names + filter : NULL,
                           .n = args->n - filter};
    TRY(iterate_true(&from, x, v));
    TRY(tpl_list_new(&l, x, TPL_IS_ONCE));
    for (int64_t k = 0; k < from->n; k++) {
        if (filter)
            TRY(tpl_apply_filter(&one, x, name, from->item[k], &rest));
        else
            TRY(get_path(&one, x, from->item[k], path));
        if (!filter && one.kind == TPL_UNDEFINED && fallback) one = *fallback;
        TRY(tpl_list_add(x, l, one));
    }
    *out = tpl_of_list(l);
out:
    return rc;
}

/* ---- order ---------------------------------------------------------------------------------- */

/* The key that sort, min, max, unique and dictsort compare: ASCII without case unless requested. */
static int fold(tpl_value *out, tpl_run *x, tpl_value v, bool sensitive)
{
    static const tpl_args none = {0};
    if (sensitive || v.kind != TPL_TEXT) return *out = v, HPC_OK;
    return tpl_text_method(out, x, v.text, "lower", &none);
}

/* Stable; item[k] has key[k]. */
static int sort_by(tpl_run *x, tpl_value *item, tpl_value *key, int64_t n, bool down)
{
    int c, rc = HPC_OK;
    for (int64_t k = 1; k < n; k++) {
        const tpl_value one = item[k], by = key[k];
        int64_t at = k;
        for (; at > 0; at--) {
            TRY(tpl_spend(x, 1));
            TRY(tpl_compare(&c, x, key[at - 1], by));
            if (down ? c >= 0 : c <= 0) break;
            item[at] = item[at - 1], key[at] = key[at - 1];
        }
        item[at] = one, key[at] = by;
    }
out:
    return rc;
}

static bool is_set(const tpl_args *args, int64_t k, const char *name)
{
    const tpl_value *v = tpl_arg(args, k, name);
    return v && tpl_truth(*v);
}

/* The elements in a new list, and what they are compared by. */
static int with_keys(tpl_list **out, tpl_value **key, tpl_run *x, tpl_value v,
                     const tpl_value *path, bool sensitive)
{
    tpl_value copy, one;
    int rc;
    TRY(make_list(&copy, x, v, NULL));
    *out = copy.list;
    *key = tpl_alloc(x, (size_t)copy.list->n + 1, sizeof **key);
    if (!*key) return tpl_code();
    for (int64_t k = 0; k < copy.list->n; k++) {
        one = copy.list->item[k];
        if (path && path->kind != TPL_NONE) TRY(get_path(&one, x, copy.list->item[k], path));
        TRY(fold(&(*key)[k], x, one, sensitive));
    }
out:
    return rc;
}

/* [v]: lists of undefined or equal values have an order. */
static int wrap(tpl_value *v, tpl_run *x)
{
    tpl_list *l;
    int rc;
    TRY(tpl_list_new(&l, x, TPL_IS_LIST));
    TRY(tpl_list_add(x, l, *v));
    *v = tpl_of_list(l);
out:
    return rc;
}

static int sort(tpl_value *out, tpl_run *x, tpl_value v, const tpl_args *args)
{
    tpl_list *l;
    tpl_value *key;
    int rc;
    TRY(with_keys(&l, &key, x, v, tpl_arg(args, 2, "attribute"),
                  is_set(args, 1, "case_sensitive")));
    for (int64_t k = 0; k < l->n; k++) TRY(wrap(&key[k], x)); /* as Jinja compares */
    TRY(sort_by(x, l->item, key, l->n, is_set(args, 0, "reverse")));
    *out = tpl_of_list(l);
out:
    return rc;
}

static int extreme(tpl_value *out, tpl_run *x, tpl_value v, const tpl_args *args, int sign)
{
    tpl_list *l;
    tpl_value *key;
    int64_t best = 0;
    int c, rc;
    TRY(with_keys(&l, &key, x, v, tpl_arg(args, 1, "attribute"),
                  is_set(args, 0, "case_sensitive")));
    for (int64_t k = 1; k < l->n; k++) {
        TRY(tpl_compare(&c, x, key[k], key[best]));
        if (c * sign > 0) best = k;
    }
    *out = l->n > 0 ? l->item[best] : tpl_undefined(x, "No aggregated item, sequence was empty.");
out:
    return rc;
}

static int largest(tpl_value *out, tpl_run *x, tpl_value v, const tpl_args *args)
{
    return extreme(out, x, v, args, 1);
}

static int smallest(tpl_value *out, tpl_run *x, tpl_value v, const tpl_args *args)
{
    return extreme(out, x, v, args, -1);
}

static int unique(tpl_value *out, tpl_run *x, tpl_value v, const tpl_args *args)
{
    tpl_list *l, *made;
    tpl_value *key;
    int rc;
    TRY(with_keys(&l, &key, x, v, tpl_arg(args, 1, "attribute"),
                  is_set(args, 0, "case_sensitive")));
    TRY(tpl_list_new(&made, x, TPL_IS_ONCE));
    for (int64_t k = 0; k < l->n; k++) {
        bool same = false;
        TRY(tpl_check_key(x, key[k]));
        for (int64_t i = 0; !same && i < k; i++) TRY(tpl_equal(&same, x, key[i], key[k]));
        if (!same) TRY(tpl_list_add(x, made, l->item[k]));
    }
    *out = tpl_of_list(made);
out:
    return rc;
}

/* dictsort(case_sensitive=False, by='key', reverse=False) */
static int dictsort(tpl_value *out, tpl_run *x, tpl_value v, const tpl_args *args)
{
    static const tpl_args none = {0};
    const tpl_value *by = tpl_arg(args, 1, "by");
    tpl_value pairs;
    tpl_list *l;
    tpl_value *key;
    int rc;
    if (v.kind != TPL_DICT) return tpl_fail(x, HPC_E_ARG, "dictsort of a %s", tpl_type(v));
    const bool value = by && by->kind == TPL_TEXT && tpl_is(by->text, "value");
    if (by && !value && (by->kind != TPL_TEXT || !tpl_is(by->text, "key")))
        return tpl_fail(x, HPC_E_ARG, "You can only sort by either \"key\" or \"value\"");
    TRY(tpl_apply_filter(&pairs, x, "items", v, &none));
    TRY(with_keys(&l, &key, x, pairs, NULL, true));
    for (int64_t k = 0; k < l->n; k++)
        TRY(fold(&key[k], x, l->item[k].list->item[value], is_set(args, 0, "case_sensitive")));
    TRY(sort_by(x, l->item, key, l->n, is_set(args, 2, "reverse")));
    *out = tpl_of_list(l);
out:
    return rc;
}

const tpl_filter tpl_list_filters[] = {{"list", make_list, 0},
                                       {"join", join, 2},
                                       {"first", first, 0},
                                       {"last", last, 0},
                                       {"reverse", reverse, 0},
                                       {"select", select_if, 8},
                                       {"reject", reject, 8},
                                       {"selectattr", selectattr, 8},
                                       {"rejectattr", rejectattr, 8},
                                       {"map", map, 8},
                                       {"sort", sort, 3},
                                       {"max", largest, 2},
                                       {"min", smallest, 2},
                                       {"unique", unique, 2},
                                       {"dictsort", dictsort, 3},
                                       {NULL, NULL, 0}};
