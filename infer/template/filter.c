/*
 * filter.c: Jinja's filters of single values. filter_list.c has those of lists.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "infer/template/priv.h"

const tpl_value *tpl_arg(const tpl_args *args, int64_t k, const char *name)
{
    if (k < args->n && (!args->names || !args->names[k])) return &args->item[k];
    for (int64_t i = 0; args->names && i < args->n; i++)
        if (args->names[i] && strcmp(args->names[i], name) == 0) return &args->item[i];
    return NULL;
}

int tpl_check_args(tpl_run *x, const char *what, const tpl_args *args, int64_t most)
{
    if (args->n <= most) return HPC_OK;
    return tpl_fail(x, HPC_E_ARG, "%s: %lld arguments; at most %lld", what, (long long)args->n,
                    (long long)most);
}

static int use_default(tpl_value *out, tpl_run *x, tpl_value v, const tpl_args *args)
{
    const tpl_value *fallback = tpl_arg(args, 0, "default_value"),
                    *boolean = tpl_arg(args, 1, "boolean");
    const bool absent =
        v.kind == TPL_UNDEFINED || (boolean && tpl_truth(*boolean) && !tpl_truth(v));
    if (absent && !fallback) return tpl_of_name(out, x, "");
    *out = absent ? *fallback : v;
    return HPC_OK;
}

static int count(tpl_value *out, tpl_run *x, tpl_value v, const tpl_args *args)
{
    int64_t n;
    (void)args;
    int rc = tpl_length(&n, x, v);
    *out = tpl_of_int(n);
    return rc;
}

static int to_text(tpl_value *out, tpl_run *x, tpl_value v, const tpl_args *args)
{
    (void)args;
    return tpl_str(out, x, v);
}

static int mark_safe(tpl_value *out, tpl_run *x, tpl_value v, const tpl_args *args)
{
    int rc;
    (void)args;
    TRY(tpl_str(out, x, v));
    tpl_text *t = tpl_alloc(x, 1, sizeof *t);
    if (!t) return tpl_code();
    *t = *out->text;
    t->markup = true;
    out->text = t;
out:
    return rc;
}

/* The method of this name on str(v). */
static int as_method(tpl_value *out, tpl_run *x, tpl_value v, const tpl_args *args,
                     const char *name)
{
    tpl_value text;
    int rc;
    TRY(tpl_str(&text, x, v));
    TRY(tpl_text_method(out, x, text.text, name, args));
out:
    return rc;
}

static int trim(tpl_value *out, tpl_run *x, tpl_value v, const tpl_args *args)
{
    return as_method(out, x, v, args, "strip");
}

static int upper(tpl_value *out, tpl_run *x, tpl_value v, const tpl_args *args)
{
    return as_method(out, x, v, args, "upper");
}

static int lower(tpl_value *out, tpl_run *x, tpl_value v, const tpl_args *args)
{
    return as_method(out, x, v, args, "lower");
}

static int capitalize(tpl_value *out, tpl_run *x, tpl_value v, const tpl_args *args)
{
    return as_method(out, x, v, args, "capitalize");
}

static int replace(tpl_value *out, tpl_run *x, tpl_value v, const tpl_args *args)
{
    return as_method(out, x, v, args, "replace");
}

/* Python's int() and float() of a text; other texts give the default of Jinja's filters. */
static int to_number(tpl_value *out, tpl_run *x, tpl_value v, const tpl_args *args, bool whole)
{
    const tpl_value *fallback = tpl_arg(args, 0, "default");
    char text[64];
    char *end;
    size_t from, to;
    *out = fallback ? *fallback : whole ? tpl_of_int(0) : (tpl_value){.kind = TPL_REAL};
    if (tpl_is_number(v)) {
        int64_t i;
        const double r = tpl_real(v);
        if (whole && !tpl_whole(&i, v) && !(fabs(r) < 9e18))
            return tpl_fail(x, HPC_E_UNSUPPORTED, "an integer beyond 64 bits");
        if (whole) *out = tpl_of_int(tpl_whole(&i, v) ? i : (int64_t)r);
        if (!whole) *out = (tpl_value){.kind = TPL_REAL, .r = r};
        return HPC_OK;
    }
    if (v.kind == TPL_UNDEFINED) return tpl_fail(x, HPC_E_ARG, "%s", v.why);
    if (v.kind != TPL_TEXT) return HPC_OK;
    tpl_trim(&from, &to, v.text, NULL, 3);
    if (to - from >= sizeof text) return tpl_fail(x, HPC_E_UNSUPPORTED, "a number so long");
    memcpy(text, v.text->data + from, to - from);
    text[to - from] = '\0';
    if (text[strspn(text, "+-0123456789.")] != '\0' && text[strcspn(text, "0123456789")] != '\0')
        return tpl_fail(x, HPC_E_UNSUPPORTED, "the number in this text");
    const double r = strtod(text, &end);
    if (end == text || *end != '\0') return HPC_OK;
    if (whole && !(fabs(r) < 9e18))
        return tpl_fail(x, HPC_E_UNSUPPORTED, "an integer beyond 64 bits");
    *out = whole ? tpl_of_int(strchr(text, '.') ? (int64_t)r : strtoll(text, NULL, 10))
                 : (tpl_value){.kind = TPL_REAL, .r = r};
    return HPC_OK;
}

static int to_int(tpl_value *out, tpl_run *x, tpl_value v, const tpl_args *args)
{
    return to_number(out, x, v, args, true);
}

static int to_float(tpl_value *out, tpl_run *x, tpl_value v, const tpl_args *args)
{
    return to_number(out, x, v, args, false);
}

static int absolute(tpl_value *out, tpl_run *x, tpl_value v, const tpl_args *args)
{
    (void)args;
    *out = v;
    if (!tpl_is_number(v)) return tpl_fail(x, HPC_E_ARG, "bad operand type for abs()");
    if (v.kind == TPL_REAL) out->r = fabs(v.r);
    if (v.kind == TPL_INT && v.i == INT64_MIN)
        return tpl_fail(x, HPC_E_UNSUPPORTED, "an integer beyond 64 bits");
    if (v.kind == TPL_INT && v.i < 0) out->i = -v.i;
    if (v.kind == TPL_BOOL) *out = tpl_of_int(v.flag);
    return HPC_OK;
}

/* indent(width=4, first=False, blank=False): lines are those of str.splitlines. */
static int indent(tpl_value *out, tpl_run *x, tpl_value v, const tpl_args *args)
{
    const tpl_value *width = tpl_arg(args, 0, "width"), *first = tpl_arg(args, 1, "first"),
                    *blank = tpl_arg(args, 2, "blank");
    static const tpl_text four = {.data = "    ", .n = 4}, one = {.data = " ", .n = 1};
    hpc_template_output made = {0};
    const tpl_text *by = width && width->kind == TPL_TEXT ? width->text : &four;
    int64_t n = 1;
    int rc;
    if (width && tpl_whole(&n, *width)) by = &one;
    if (n > 256) return tpl_fail(x, HPC_E_UNSUPPORTED, "this indent");
    if (v.kind != TPL_TEXT) return tpl_fail(x, HPC_E_ARG, "indent of a %s", tpl_type(v));
    const tpl_text *t = v.text;
    if (t->n > 0 &&
        (memchr(t->data, '\r', t->n) || memchr(t->data, '\v', t->n) || memchr(t->data, '\f', t->n)))
        return tpl_fail(x, HPC_E_UNSUPPORTED, "indent of text with other line ends than LF");
    for (size_t at = 0, end; at <= t->n; at = end + 1) {
        const char *lf = at < t->n ? memchr(t->data + at, '\n', t->n - at) : NULL;
        end = lf ? (size_t)(lf - t->data) : t->n;
        const bool wanted =
            at == 0 ? first && tpl_truth(*first) : (end > at || (blank && tpl_truth(*blank)));
        for (int64_t k = 0; wanted && k < n; k++) TRY(tpl_put_part(&made, by, 0, by->n));
        TRY(tpl_put_part(&made, t, at, end));
        if (lf) TRY(tpl_put(&made, "\n", 1, false));
    }
    return tpl_take_text(out, x, &made);
out:
    hpc_template_output_release(&made);
    return rc;
}

static int items(tpl_value *out, tpl_run *x, tpl_value v, const tpl_args *args)
{
    tpl_list *l, *pair;
    int rc;
    (void)args;
    TRY(tpl_list_new(&l, x, TPL_IS_ONCE));
    if (v.kind != TPL_UNDEFINED && v.kind != TPL_DICT)
        TRY(tpl_fail(x, HPC_E_ARG, "Can only get item pairs from a mapping."));
    for (int64_t k = 0; v.kind == TPL_DICT && k < v.dict->n; k++) {
        TRY(tpl_list_new(&pair, x, TPL_IS_TUPLE));
        TRY(tpl_list_add(x, pair, v.dict->key[k]));
        TRY(tpl_list_add(x, pair, v.dict->item[k]));
        TRY(tpl_list_add(x, l, tpl_of_list(pair)));
    }
    *out = tpl_of_list(l);
out:
    return rc;
}

static const tpl_filter filters[] = {{"default", use_default, 2}, {"d", use_default, 2},
                                     {"length", count, 0},        {"count", count, 0},
                                     {"string", to_text, 0},      {"safe", mark_safe, 0},
                                     {"trim", trim, 1},           {"upper", upper, 0},
                                     {"lower", lower, 0},         {"capitalize", capitalize, 0},
                                     {"replace", replace, 3},     {"int", to_int, 1},
                                     {"float", to_float, 1},      {"abs", absolute, 0},
                                     {"indent", indent, 3},       {"items", items, 0},
                                     {"tojson", tpl_tojson, 4},   {NULL, NULL, 0}};

static const tpl_filter *find(const char *name)
{
    for (const tpl_filter *f = filters; f->name; f++)
        if (strcmp(f->name, name) == 0) return f;
    for (const tpl_filter *f = tpl_list_filters; f->name; f++)
        if (strcmp(f->name, name) == 0) return f;
    return NULL;
}

int tpl_apply_filter(tpl_value *out, tpl_run *x, const char *name, tpl_value v,
                     const tpl_args *args)
{
    const tpl_filter *f = find(name);
    const bool markup = v.kind == TPL_TEXT && v.text->markup;
    if (!f) return tpl_fail(x, HPC_E_UNSUPPORTED, "the filter '%.80s'", name);
    if (markup && strcmp(name, "length") != 0 && strcmp(name, "safe") != 0 &&
        strcmp(name, "string") != 0)
        return tpl_fail(x, HPC_E_UNSUPPORTED, "a filter after 'safe'");
    int rc = tpl_check_args(x, name, args, f->most);
    if (rc >= 0 && v.kind == TPL_LIST) rc = tpl_spend(x, (size_t)v.list->n);
    return rc < 0 ? rc : f->run(out, x, v, args);
}
