/*
 * evaluate.c: values of expressions.
 */
#include <math.h>
#include <string.h>

#include "infer/template/priv.h"

/* ---- names, members and items --------------------------------------------------------------- */

static int find_name(tpl_value *out, tpl_run *x, const tpl_scope *s, const char *name)
{
    size_t passed = 0;
    int rc;
    for (; s; s = s->parent)
        for (const tpl_binding *b = s->first; b; b = b->next, passed++)
            if (strcmp(b->name, name) == 0) return *out = b->value, tpl_spend(x, passed / 16);
    TRY(tpl_spend(x, passed / 16));
    rc = tpl_global(out, x, name);
    if (rc == 0) *out = tpl_undefined(x, "'%s' is undefined", name);
out:
    return rc < 0 ? rc : HPC_OK;
}

static int loop_member(tpl_value *out, tpl_run *x, const tpl_loop *l, const char *name)
{
    const int64_t n = l->list->n, at = l->at;
    if (strcmp(name, "index") == 0) return *out = tpl_of_int(at + 1), 1;
    if (strcmp(name, "index0") == 0) return *out = tpl_of_int(at), 1;
    if (strcmp(name, "revindex") == 0) return *out = tpl_of_int(n - at), 1;
    if (strcmp(name, "revindex0") == 0) return *out = tpl_of_int(n - at - 1), 1;
    if (strcmp(name, "first") == 0) return *out = tpl_of_bool(at == 0), 1;
    if (strcmp(name, "last") == 0) return *out = tpl_of_bool(at == n - 1), 1;
    if (strcmp(name, "length") == 0) return *out = tpl_of_int(n), 1;
    if (strcmp(name, "depth") == 0) return *out = tpl_of_int(l->depth), 1;
    if (strcmp(name, "depth0") == 0) return *out = tpl_of_int(l->depth - 1), 1;
    if (strcmp(name, "previtem") == 0 || strcmp(name, "nextitem") == 0) {
        const int64_t k = at + (name[0] == 'p' ? -1 : 1);
        *out = k >= 0 && k < n
                   ? l->list->item[k]
                   : tpl_undefined(x, "there is no %s item", name[0] == 'p' ? "previous" : "next");
        return 1;
    }
    return 0;
}

static int attribute(tpl_value *out, tpl_run *x, tpl_value v, const char *name)
{
    int rc = HPC_OK;
    if (v.kind == TPL_UNDEFINED) return tpl_fail(x, HPC_E_ARG, "%s", v.why);
    if (name[0] == '_') return *out = tpl_undefined(x, "'%.80s' is unsafe", name), rc;
    if (v.kind == TPL_LOOP) TRY(loop_member(out, x, v.loop, name));
    if (rc == 0 && v.kind != TPL_NAMESPACE) TRY(tpl_find_method(out, x, v, name));
    if (rc == 1) return HPC_OK;
    if (v.kind == TPL_DICT || v.kind == TPL_NAMESPACE) {
        const tpl_value *found = tpl_dict_name(x, v.dict, name);
        if (found) return *out = *found, HPC_OK;
    }
    if (v.kind == TPL_MACRO) TRY(tpl_fail(x, HPC_E_UNSUPPORTED, "'%.80s' of a macro", name));
    *out = tpl_undefined(x, "'%s object' has no attribute '%.80s'", tpl_type(v), name);
out:
    return rc;
}

int tpl_item(tpl_value *out, tpl_run *x, tpl_value v, tpl_value key)
{
    int64_t k;
    char name[100];
    if (v.kind == TPL_UNDEFINED) return tpl_fail(x, HPC_E_ARG, "%s", v.why);
    if (v.kind == TPL_DICT || v.kind == TPL_NAMESPACE) {
        const tpl_value *found = tpl_dict_find(x, v.dict, key);
        if (found) return *out = *found, HPC_OK;
    } else if (v.kind == TPL_LIST && v.list->kind <= TPL_IS_RANGE && tpl_whole(&k, key)) {
        if (k < 0) k += v.list->n;
        if (k >= 0 && k < v.list->n) return *out = v.list->item[k], HPC_OK;
    } else if (v.kind == TPL_TEXT && tpl_whole(&k, key)) {
        const int64_t n = tpl_characters(v.text);
        const int rc = tpl_spend(x, v.text->n / 64);
        if (rc < 0) return rc;
        if (k < 0) k += n;
        if (k >= 0 && k < n)
            return tpl_part(out, x, v.text, tpl_offset(v.text, k), tpl_offset(v.text, k + 1));
    }
    if (key.kind == TPL_TEXT && key.text->n < sizeof name) {
        memcpy(name, key.text->data, key.text->n);
        name[key.text->n] = '\0';
        return attribute(out, x, v, name);
    }
    *out = tpl_undefined(x, "'%s object' has no such element", tpl_type(v));
    return HPC_OK;
}

/* ---- slices --------------------------------------------------------------------------------- */

static int bound(int64_t *out, bool *set, tpl_run *x, tpl_scope *s, const tpl_node *n)
{
    tpl_value v;
    int rc = HPC_OK;
    *set = false;
    if (!n) return rc;
    TRY(tpl_evaluate(&v, x, s, n));
    *set = v.kind != TPL_NONE;
    if (*set && !tpl_whole(out, v)) TRY(tpl_fail(x, HPC_E_ARG, "slice indices must be integers"));
out:
    return rc;
}

static int64_t clamp(int64_t k, int64_t n, int64_t low, int64_t high)
{
    if (k < 0) k += n;
    return k < low ? low : k > high ? high : k;
}

/* Python's indices of a slice of n elements. */
static int slice_of(int64_t part[3], tpl_run *x, tpl_scope *s, const tpl_node *n, int64_t count)
{
    bool from, to, by;
    int rc;
    TRY(bound(&part[0], &from, x, s, n->b));
    TRY(bound(&part[1], &to, x, s, n->c));
    TRY(bound(&part[2], &by, x, s, n->d));
    if (!by) part[2] = 1;
    if (part[2] == 0) TRY(tpl_fail(x, HPC_E_ARG, "slice step cannot be zero"));
    if (part[2] < -count - 1) part[2] = -count - 1;
    if (part[2] > count + 1) part[2] = count + 1;
    const bool up = part[2] > 0;
    const int64_t low = up ? 0 : -1, high = up ? count : count - 1;
    part[0] = from ? clamp(part[0], count, low, high) : up ? 0 : count - 1;
    part[1] = to ? clamp(part[1], count, low, high) : up ? count : -1;
out:
    return rc;
}

static int slice_text(tpl_value *out, tpl_run *x, const tpl_text *t, const int64_t part[3])
{
    hpc_template_output made = {0};
    int rc = HPC_OK;
    if (part[2] == 1)
        return tpl_part(out, x, t, tpl_offset(t, part[0]),
                        tpl_offset(t, part[1] > part[0] ? part[1] : part[0]));
    for (int64_t k = part[0]; part[2] > 0 ? k < part[1] : k > part[1]; k += part[2]) {
        TRY(tpl_spend(x, 1 + t->n / 64));
        TRY(tpl_put_part(&made, t, tpl_offset(t, k), tpl_offset(t, k + 1)));
    }
    return tpl_take_text(out, x, &made);
out:
    hpc_template_output_release(&made);
    return rc;
}

static int slice(tpl_value *out, tpl_run *x, tpl_scope *s, const tpl_node *n)
{
    tpl_value v;
    tpl_list *l;
    int64_t part[3], count;
    int rc;
    TRY(tpl_evaluate(&v, x, s, n->a));
    if (v.kind == TPL_UNDEFINED) TRY(tpl_fail(x, HPC_E_ARG, "%s", v.why));
    if (v.kind != TPL_TEXT && (v.kind != TPL_LIST || v.list->kind > TPL_IS_RANGE))
        TRY(tpl_fail(x, HPC_E_UNSUPPORTED, "a slice of a %s", tpl_type(v)));
    TRY(tpl_length(&count, x, v));
    TRY(slice_of(part, x, s, n, count));
    if (v.kind == TPL_TEXT) return slice_text(out, x, v.text, part);
    TRY(tpl_list_new(&l, x, v.list->kind));
    for (int64_t k = part[0]; part[2] > 0 ? k < part[1] : k > part[1]; k += part[2])
        TRY(tpl_list_add(x, l, v.list->item[k]));
    *out = tpl_of_list(l);
out:
    return rc;
}

/* ---- arithmetic ----------------------------------------------------------------------------- */

static int check_markup(tpl_run *x, tpl_value v)
{
    if (v.kind != TPL_TEXT || !v.text->markup) return HPC_OK;
    return tpl_fail(x, HPC_E_UNSUPPORTED, "an operation on the result of the filter 'safe'");
}

static int integers(tpl_value *out, tpl_run *x, int op, int64_t a, int64_t b)
{
    int64_t r = 0;
    bool over = false;
    if ((op == TPL_DIV || op == '%') && b == 0)
        return tpl_fail(x, HPC_E_ARG, "integer division or modulo by zero");
    if (op == '+') over = __builtin_add_overflow(a, b, &r);
    if (op == '-') over = __builtin_sub_overflow(a, b, &r);
    if (op == '*') over = __builtin_mul_overflow(a, b, &r);
    if (op == TPL_DIV || op == '%') {
        if (b == -1) {
            over = op == TPL_DIV && __builtin_sub_overflow((int64_t)0, a, &r);
        } else {
            const int64_t rest = a % b, lower = rest != 0 && (rest < 0) != (b < 0);
            r = op == '%' ? rest + lower * b : a / b - lower;
        }
    }
    if (over) return tpl_fail(x, HPC_E_UNSUPPORTED, "an integer beyond 64 bits");
    *out = tpl_of_int(r);
    return HPC_OK;
}

static int numbers(tpl_value *out, tpl_run *x, int op, tpl_value a, tpl_value b)
{
    int64_t i, k;
    const bool whole = tpl_whole(&i, a) && tpl_whole(&k, b);
    const double r = tpl_real(a), s = tpl_real(b);
    if (whole && op != '/' && op != TPL_POW) return integers(out, x, op, i, k);
    if (s == 0 && (op == '/' || op == TPL_DIV || op == '%'))
        return tpl_fail(x, HPC_E_ARG, "division by zero");
    *out = (tpl_value){.kind = TPL_REAL};
    switch (op) {
    case '+': out->r = r + s; break;
    case '-': out->r = r - s; break;
    case '*': out->r = r * s; break;
    case '/': out->r = r / s; break;
    default: return tpl_fail(x, HPC_E_UNSUPPORTED, "a power, or a remainder of reals");
    }
    return HPC_OK;
}

/* A string next to the result of `safe` is escaped as HTML. */
static int put_escaped(hpc_template_output *out, const tpl_text *t)
{
    static const char from[] = "&<>'\"";
    static const char *const to[] = {"&amp;", "&lt;", "&gt;", "&#39;", "&#34;"};
    int rc = HPC_OK;
    for (size_t k = 0; k < t->n; k++) {
        const char *known = t->data[k] ? strchr(from, t->data[k]) : NULL;
        const char *text = known ? to[known - from] : NULL;
        if (text)
            TRY(tpl_put(out, text, strlen(text), t->mask ? t->mask[k] : t->foreign));
        else
            TRY(tpl_put_part(out, t, k, k + 1));
    }
out:
    return rc;
}

static int join_two(tpl_value *out, tpl_run *x, const tpl_text *a, const tpl_text *b)
{
    const tpl_text *const both[] = {a, b};
    const bool markup = a->markup || b->markup;
    hpc_template_output made = {0};
    int rc = HPC_OK;
    for (int k = 0; k < 2; k++)
        TRY(markup && !both[k]->markup ? put_escaped(&made, both[k])
                                       : tpl_put_part(&made, both[k], 0, both[k]->n));
    TRY(tpl_take_text(out, x, &made));
    if (markup) {
        tpl_text *t = tpl_alloc(x, 1, sizeof *t);
        if (!t) return tpl_code();
        *t = *out->text;
        t->markup = true;
        out->text = t;
    }
    return rc;
out:
    hpc_template_output_release(&made);
    return rc;
}

static int join_lists(tpl_value *out, tpl_run *x, const tpl_list *a, const tpl_list *b)
{
    tpl_list *l;
    int rc;
    TRY(tpl_list_new(&l, x, a->kind));
    for (int64_t k = 0; k < a->n; k++) TRY(tpl_list_add(x, l, a->item[k]));
    for (int64_t k = 0; k < b->n; k++) TRY(tpl_list_add(x, l, b->item[k]));
    TRY(tpl_spend(x, (size_t)(a->n + b->n)));
    *out = tpl_of_list(l);
out:
    return rc;
}

static int repeat(tpl_value *out, tpl_run *x, const tpl_text *t, int64_t n)
{
    hpc_template_output made = {0};
    int rc = HPC_OK;
    for (int64_t k = 0; t->n > 0 && k < n; k++) {
        TRY(tpl_spend(x, 1 + t->n / 64));
        TRY(tpl_put_part(&made, t, 0, t->n));
    }
    return tpl_take_text(out, x, &made);
out:
    hpc_template_output_release(&made);
    return rc;
}

static int binary(tpl_value *out, tpl_run *x, int op, tpl_value a, tpl_value b)
{
    int64_t n;
    int rc;
    if (op != '+') TRY(check_markup(x, a));
    if (op != '+') TRY(check_markup(x, b));
    if (op == '%' && a.kind == TPL_TEXT) return tpl_fail(x, HPC_E_UNSUPPORTED, "'%%' of a str");
    if (a.kind == TPL_UNDEFINED || b.kind == TPL_UNDEFINED)
        return tpl_fail(x, HPC_E_ARG, "%s", a.kind == TPL_UNDEFINED ? a.why : b.why);
    if (tpl_is_number(a) && tpl_is_number(b)) return numbers(out, x, op, a, b);
    if (op == '+' && a.kind == TPL_TEXT && b.kind == TPL_TEXT)
        return join_two(out, x, a.text, b.text);
    if (op == '+' && a.kind == TPL_LIST && b.kind == TPL_LIST && a.list->kind == b.list->kind &&
        a.list->kind <= TPL_IS_TUPLE)
        return join_lists(out, x, a.list, b.list);
    if (op == '*' && a.kind == TPL_TEXT && tpl_whole(&n, b)) return repeat(out, x, a.text, n);
    if (op == '*' && b.kind == TPL_TEXT && tpl_whole(&n, a)) return repeat(out, x, b.text, n);
    if (op == '*' && (a.kind == TPL_LIST || b.kind == TPL_LIST))
        return tpl_fail(x, HPC_E_UNSUPPORTED, "'*' of a %s and a %s", tpl_type(a), tpl_type(b));
    rc = tpl_fail(x, HPC_E_ARG, "unsupported operand types for '%c': '%s' and '%s'",
                  op == TPL_DIV   ? '/'
                  : op == TPL_POW ? '*'
                                  : op,
                  tpl_type(a), tpl_type(b));
out:
    return rc;
}

static int unary(tpl_value *out, tpl_run *x, int op, tpl_value v)
{
    if (v.kind == TPL_UNDEFINED) return tpl_fail(x, HPC_E_ARG, "%s", v.why);
    if (!tpl_is_number(v))
        return tpl_fail(x, HPC_E_ARG, "bad operand type for unary '%c': '%s'", op, tpl_type(v));
    if (v.kind != TPL_REAL) return numbers(out, x, op, tpl_of_int(0), v);
    *out = (tpl_value){.kind = TPL_REAL, .r = op == '-' ? -v.r : v.r};
    return HPC_OK;
}

static int compare_one(bool *out, tpl_run *x, int op, tpl_value a, tpl_value b)
{
    int c, rc;
    if (op == TPL_IN || op == TPL_NOT_IN) {
        rc = tpl_contains(out, x, a, b);
        *out = *out == (op == TPL_IN);
        return rc;
    }
    if (op == TPL_EQ || op == TPL_NE) {
        rc = tpl_equal(out, x, a, b);
        *out = *out == (op == TPL_EQ);
        return rc;
    }
    rc = tpl_compare(&c, x, a, b);
    *out = op == '<' ? c < 0 : op == '>' ? c > 0 : op == TPL_LE ? c <= 0 : c >= 0;
    return rc;
}

static int comparison(tpl_value *out, tpl_run *x, tpl_scope *s, const tpl_node *n)
{
    tpl_value left, right;
    bool is = true;
    int rc;
    TRY(tpl_evaluate(&left, x, s, n->a));
    for (int64_t k = 0; is && k < n->kid_n; k++) {
        TRY(tpl_evaluate(&right, x, s, n->kid[k]->a));
        TRY(compare_one(&is, x, n->kid[k]->op, left, right));
        left = right;
    }
    *out = tpl_of_bool(is);
out:
    return rc;
}

/* ---- composed values ------------------------------------------------------------------------ */

static int join_all(tpl_value *out, tpl_run *x, tpl_scope *s, const tpl_node *n)
{
    hpc_template_output made = {0};
    tpl_value v;
    int rc = HPC_OK;
    for (int64_t k = 0; k < n->kid_n; k++) {
        TRY(tpl_evaluate(&v, x, s, n->kid[k]));
        TRY(tpl_put_str(&made, x, v));
    }
    return tpl_take_text(out, x, &made);
out:
    hpc_template_output_release(&made);
    return rc;
}

static int make_list(tpl_value *out, tpl_run *x, tpl_scope *s, const tpl_node *n)
{
    tpl_list *l;
    tpl_value v;
    int rc;
    TRY(tpl_list_new(&l, x, n->kind == TPL_MAKE_TUPLE ? TPL_IS_TUPLE : TPL_IS_LIST));
    for (int64_t k = 0; k < n->kid_n; k++) {
        TRY(tpl_evaluate(&v, x, s, n->kid[k]));
        TRY(tpl_list_add(x, l, v));
    }
    *out = tpl_of_list(l);
out:
    return rc;
}

static int make_dict(tpl_value *out, tpl_run *x, tpl_scope *s, const tpl_node *n)
{
    tpl_dict *d;
    tpl_value key, v;
    int rc;
    TRY(tpl_dict_new(&d, x));
    for (int64_t k = 0; k + 1 < n->kid_n; k += 2) {
        TRY(tpl_evaluate(&key, x, s, n->kid[k]));
        TRY(tpl_evaluate(&v, x, s, n->kid[k + 1]));
        TRY(tpl_dict_put(x, d, key, v));
    }
    *out = tpl_of_dict(d);
out:
    return rc;
}

static int make_args(tpl_args *out, tpl_run *x, tpl_scope *s, const tpl_node *n)
{
    int rc = HPC_OK;
    *out = (tpl_args){.n = n->kid_n, .names = n->names};
    if (n->kid_n == 0) return rc;
    out->item = tpl_alloc(x, (size_t)n->kid_n, sizeof *out->item);
    if (!out->item) return tpl_code();
    for (int64_t k = 0; k < n->kid_n; k++) TRY(tpl_evaluate(&out->item[k], x, s, n->kid[k]));
out:
    return rc;
}

static int apply(tpl_value *out, tpl_run *x, tpl_scope *s, const tpl_node *n)
{
    tpl_value v;
    tpl_args args;
    bool is;
    int rc;
    TRY(tpl_evaluate(&v, x, s, n->a));
    TRY(make_args(&args, x, s, n));
    x->line = n->line;
    if (n->kind == TPL_CALL) return tpl_call(out, x, v, &args);
    if (n->kind == TPL_FILTER) return tpl_apply_filter(out, x, n->name, v, &args);
    TRY(tpl_apply_test(&is, x, n->name, v, &args));
    *out = tpl_of_bool(is);
out:
    return rc;
}

static int evaluate(tpl_value *out, tpl_run *x, tpl_scope *s, const tpl_node *n)
{
    tpl_value a, b;
    int rc = HPC_OK;
    switch (n->kind) {
    case TPL_CONST: *out = n->value; return rc;
    case TPL_NAME: return find_name(out, x, s, n->name);
    case TPL_ATTRIBUTE: TRY(tpl_evaluate(&a, x, s, n->a)); return attribute(out, x, a, n->name);
    case TPL_ITEM:
    case TPL_BINARY:
        TRY(tpl_evaluate(&a, x, s, n->a));
        TRY(tpl_evaluate(&b, x, s, n->b));
        return n->kind == TPL_ITEM ? tpl_item(out, x, a, b) : binary(out, x, n->op, a, b);
    case TPL_UNARY: TRY(tpl_evaluate(&a, x, s, n->a)); return unary(out, x, n->op, a);
    case TPL_NOT:
        TRY(tpl_evaluate(&a, x, s, n->a));
        *out = tpl_of_bool(!tpl_truth(a));
        return rc;
    case TPL_AND:
    case TPL_OR:
        TRY(tpl_evaluate(out, x, s, n->a));
        return tpl_truth(*out) == (n->kind == TPL_AND) ? tpl_evaluate(out, x, s, n->b) : rc;
    case TPL_CHOICE:
        TRY(tpl_evaluate(&a, x, s, n->a));
        if (tpl_truth(a)) return tpl_evaluate(out, x, s, n->b);
        if (n->c) return tpl_evaluate(out, x, s, n->c);
        *out = tpl_undefined(x, "the inline if-expression has no else");
        return rc;
    case TPL_CALL:
    case TPL_FILTER:
    case TPL_TEST: return apply(out, x, s, n);
    case TPL_SLICE: return slice(out, x, s, n);
    case TPL_COMPARE: return comparison(out, x, s, n);
    case TPL_JOIN: return join_all(out, x, s, n);
    case TPL_MAKE_LIST:
    case TPL_MAKE_TUPLE: return make_list(out, x, s, n);
    case TPL_MAKE_DICT: return make_dict(out, x, s, n);
    default: return tpl_fail(x, HPC_E_STATE, "a statement is evaluated");
    }
out:
    return rc;
}

int tpl_evaluate(tpl_value *out, tpl_run *x, tpl_scope *s, const tpl_node *n)
{
    int rc;
    x->line = n->line;
    TRY(tpl_enter(x));
    TRY(evaluate(out, x, s, n));
    x->line = n->line;
    x->depth--;
out:
    return rc;
}
