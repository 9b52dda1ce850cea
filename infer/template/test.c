/*
 * test.c: Jinja's tests: `is defined`, `is string`, ...
 */
#include <math.h>
#include <string.h>

#include "infer/template/priv.h"

typedef bool kind_test(tpl_value v);

static bool is_defined(tpl_value v)
{
    return v.kind != TPL_UNDEFINED;
}

static bool is_undefined(tpl_value v)
{
    return v.kind == TPL_UNDEFINED;
}

static bool is_none(tpl_value v)
{
    return v.kind == TPL_NONE;
}

static bool is_string(tpl_value v)
{
    return v.kind == TPL_TEXT;
}

static bool is_mapping(tpl_value v)
{
    return v.kind == TPL_DICT;
}

static bool is_iterable(tpl_value v)
{
    return v.kind == TPL_TEXT || v.kind == TPL_LIST || v.kind == TPL_DICT ||
           v.kind == TPL_UNDEFINED || v.kind == TPL_LOOP;
}

static bool is_sequence(tpl_value v)
{
    return v.kind == TPL_TEXT || v.kind == TPL_DICT || v.kind == TPL_UNDEFINED ||
           (v.kind == TPL_LIST && v.list->kind <= TPL_IS_RANGE);
}

static bool is_boolean(tpl_value v)
{
    return v.kind == TPL_BOOL;
}

static bool is_true(tpl_value v)
{
    return v.kind == TPL_BOOL && v.flag;
}

static bool is_false(tpl_value v)
{
    return v.kind == TPL_BOOL && !v.flag;
}

static bool is_integer(tpl_value v)
{
    return v.kind == TPL_INT;
}

static bool is_float(tpl_value v)
{
    return v.kind == TPL_REAL;
}

/* Jinja's undefined values have __call__. */
static bool is_callable(tpl_value v)
{
    return v.kind == TPL_MACRO || v.kind == TPL_FUNCTION || v.kind == TPL_METHOD ||
           v.kind == TPL_UNDEFINED || v.kind == TPL_LOOP;
}

static const struct {
    const char *name;
    kind_test *is;
} kinds[] = {{"defined", is_defined},   {"undefined", is_undefined}, {"none", is_none},
             {"string", is_string},     {"mapping", is_mapping},     {"iterable", is_iterable},
             {"sequence", is_sequence}, {"boolean", is_boolean},     {"true", is_true},
             {"false", is_false},       {"number", tpl_is_number},   {"integer", is_integer},
             {"float", is_float},       {"callable", is_callable}};

static const struct {
    const char *name;
    int op;
} comparisons[] = {{"eq", TPL_EQ}, {"equalto", TPL_EQ}, {"==", TPL_EQ}, {"ne", TPL_NE},
                   {"!=", TPL_NE}, {"lt", '<'},         {"<", '<'},     {"lessthan", '<'},
                   {"le", TPL_LE}, {"<=", TPL_LE},      {"gt", '>'},    {"greaterthan", '>'},
                   {">", '>'},     {"ge", TPL_GE},      {">=", TPL_GE}, {"in", TPL_IN}};

static int compare(bool *out, tpl_run *x, int op, tpl_value a, tpl_value b)
{
    int c, rc;
    if (op == TPL_IN) return tpl_contains(out, x, a, b);
    if (op == TPL_EQ || op == TPL_NE) {
        rc = tpl_equal(out, x, a, b);
        *out = *out == (op == TPL_EQ);
        return rc;
    }
    rc = tpl_compare(&c, x, a, b);
    *out = op == '<' ? c < 0 : op == '>' ? c > 0 : op == TPL_LE ? c <= 0 : c >= 0;
    return rc;
}

/* odd, even, divisibleby */
static int divides(bool *out, tpl_run *x, const char *name, tpl_value v, const tpl_args *args)
{
    int64_t n, by = 2;
    if (v.kind == TPL_REAL && args->n == 0 && isfinite(v.r)) {
        *out = v.r - 2 * floor(v.r / 2) == (strcmp(name, "odd") == 0);
        return HPC_OK;
    }
    if (v.kind == TPL_REAL || v.kind == TPL_TEXT)
        return tpl_fail(x, HPC_E_UNSUPPORTED, "'%s' of a %s", name, tpl_type(v));
    if (!tpl_whole(&n, v) || (args->n > 0 && !tpl_whole(&by, args->item[0])) || by == 0)
        return tpl_fail(x, HPC_E_ARG, "'%s' of a %s", name, tpl_type(v));
    const int64_t rest = by == -1 ? 0 : n % by;
    *out = strcmp(name, "odd") == 0 ? rest != 0 : rest == 0;
    return HPC_OK;
}

static int is_case(bool *out, tpl_run *x, const char *name, tpl_value v)
{
    static const tpl_args none = {0};
    tpl_value text, other;
    bool letter = false;
    int rc;
    TRY(tpl_str(&text, x, v));
    TRY(tpl_text_method(&other, x, text.text, name, &none));
    TRY(tpl_equal(out, x, text, other));
    for (size_t k = 0; k < text.text->n; k++) {
        const char c = (char)(text.text->data[k] | 0x20);
        letter |= c >= 'a' && c <= 'z';
    }
    *out &= letter;
out:
    return rc;
}

int tpl_apply_test(bool *out, tpl_run *x, const char *name, tpl_value v, const tpl_args *args)
{
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        if (strcmp(kinds[k].name, name) == 0)
            return *out = kinds[k].is(v), tpl_check_args(x, name, args, 0);
    for (size_t k = 0; k < sizeof comparisons / sizeof *comparisons; k++) {
        if (strcmp(comparisons[k].name, name) != 0) continue;
        if (args->n != 1) return tpl_fail(x, HPC_E_ARG, "test '%s' needs one argument", name);
        return compare(out, x, comparisons[k].op, v, args->item[0]);
    }
    if (strcmp(name, "odd") == 0 || strcmp(name, "even") == 0 || strcmp(name, "divisibleby") == 0)
        return divides(out, x, name, v, args);
    if (strcmp(name, "upper") == 0 || strcmp(name, "lower") == 0) return is_case(out, x, name, v);
    return tpl_fail(x, HPC_E_UNSUPPORTED, "the test '%.80s'", name);
}
