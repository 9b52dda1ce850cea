/*
 * json.c: the filter tojson, as transformers defines it: json.dumps of Python.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "infer/template/priv.h"

typedef struct style {
    tpl_run *x;
    hpc_template_output *out;
    const tpl_text *indent, *item, *key; /* indent NULL: one line */
    bool ascii, sorted;
} style;

static int put_name(style *s, const char *text)
{
    return tpl_put(s->out, text, strlen(text), false);
}

static int put_text(style *s, const tpl_text *t)
{
    static const char from[] = "\"\\\n\r\t\f\b", to[] = "\"\\nrtfb";
    char text[16];
    uint32_t c;
    int rc;
    TRY(put_name(s, "\""));
    for (size_t at = 0, k; at < t->n; at += k) {
        if ((k = tpl_next(&c, t->data, t->n, at)) == 0) k = 1, c = (uint8_t)t->data[at];
        const char *known = c > 0 && c < 0x80 ? strchr(from, (int)c) : NULL;
        text[0] = '\0';
        if (known)
            snprintf(text, sizeof text, "\\%c", to[known - from]);
        else if (c < 32 || (s->ascii && c > 0x7e && c < 0x10000))
            snprintf(text, sizeof text, c == 0x7f ? "\x7f" : "\\u%04x", c);
        else if (s->ascii && c >= 0x10000)
            snprintf(text, sizeof text, "\\u%04x\\u%04x", 0xd7c0 + (c >> 10), 0xdc00 + (c & 0x3ff));
        if (text[0])
            TRY(tpl_put(s->out, text, strlen(text), t->mask ? t->mask[at] : t->foreign));
        else
            TRY(tpl_put_part(s->out, t, at, at + k));
    }
    TRY(put_name(s, "\""));
    TRY(tpl_spend(s->x, t->n / 64));
out:
    return rc;
}

static int put_line(style *s, int level)
{
    int rc;
    if (!s->indent) return HPC_OK;
    TRY(put_name(s, "\n"));
    for (int k = 0; k < level; k++) TRY(tpl_put_part(s->out, s->indent, 0, s->indent->n));
out:
    return rc;
}

static int put_value(style *s, tpl_value v, int level);

static int put_list(style *s, const tpl_list *l, int level)
{
    int rc = HPC_OK;
    if (l->kind > TPL_IS_TUPLE)
        return tpl_fail(s->x, HPC_E_ARG, "Object of type %s is not JSON serializable",
                        tpl_type(tpl_of_list((tpl_list *)l)));
    if (l->n == 0) return put_name(s, "[]");
    TRY(put_name(s, "["));
    for (int64_t k = 0; k < l->n; k++) {
        if (k > 0) TRY(tpl_put_part(s->out, s->item, 0, s->item->n));
        TRY(put_line(s, level + 1));
        TRY(put_value(s, l->item[k], level + 1));
    }
    TRY(put_line(s, level));
    TRY(put_name(s, "]"));
out:
    return rc;
}

/* Keys become strings, as json.dumps does. */
static int put_key(style *s, tpl_value key, int level)
{
    int rc;
    if (key.kind == TPL_TEXT) return put_text(s, key.text);
    if (key.kind != TPL_INT && key.kind != TPL_REAL && key.kind != TPL_BOOL && key.kind != TPL_NONE)
        return tpl_fail(s->x, HPC_E_ARG, "a key of type %s is not JSON", tpl_type(key));
    TRY(put_name(s, "\""));
    TRY(put_value(s, key, level));
    TRY(put_name(s, "\""));
out:
    return rc;
}

/* The positions of d's members in order. The caller's list is of d->n. */
static int sort_keys(int64_t *order, style *s, const tpl_dict *d)
{
    int c, rc = HPC_OK;
    for (int64_t k = 0; k < d->n; k++) {
        int64_t at = k;
        for (; s->sorted && at > 0; at--) {
            TRY(tpl_spend(s->x, 1));
            TRY(tpl_compare(&c, s->x, d->key[k], d->key[order[at - 1]]));
            if (c >= 0) break;
            order[at] = order[at - 1];
        }
        order[at] = k;
    }
out:
    return rc;
}

static int put_dict(style *s, const tpl_dict *d, int level)
{
    int64_t *order = tpl_alloc(s->x, (size_t)d->n + 1, sizeof *order);
    int rc;
    if (!order) return tpl_code();
    if (d->n == 0) return put_name(s, "{}");
    TRY(sort_keys(order, s, d));
    TRY(put_name(s, "{"));
    for (int64_t k = 0; k < d->n; k++) {
        if (k > 0) TRY(tpl_put_part(s->out, s->item, 0, s->item->n));
        TRY(put_line(s, level + 1));
        TRY(put_key(s, d->key[order[k]], level));
        TRY(tpl_put_part(s->out, s->key, 0, s->key->n));
        TRY(put_value(s, d->item[order[k]], level + 1));
    }
    TRY(put_line(s, level));
    TRY(put_name(s, "}"));
out:
    return rc;
}

static int put_value(style *s, tpl_value v, int level)
{
    char text[40];
    int rc;
    TRY(tpl_enter(s->x));
    switch (v.kind) {
    case TPL_NONE: rc = put_name(s, "null"); break;
    case TPL_BOOL: rc = put_name(s, v.flag ? "true" : "false"); break;
    case TPL_INT:
        snprintf(text, sizeof text, "%lld", (long long)v.i);
        rc = put_name(s, text);
        break;
    case TPL_REAL:
        tpl_real_text(text, v.r);
        rc = put_name(s, isfinite(v.r) ? text
                         : isnan(v.r)  ? "NaN"
                         : v.r > 0     ? "Infinity"
                                       : "-Infinity");
        break;
    case TPL_TEXT: rc = put_text(s, v.text); break;
    case TPL_LIST: rc = put_list(s, v.list, level); break;
    case TPL_DICT: rc = put_dict(s, v.dict, level); break;
    default:
        rc = tpl_fail(s->x, HPC_E_ARG, "Object of type %s is not JSON serializable", tpl_type(v));
    }
    s->x->depth--;
out:
    return rc;
}

static int read_indent(style *s, const tpl_value *v)
{
    int64_t n;
    tpl_value blanks;
    hpc_template_output made = {0};
    int rc = HPC_OK;
    if (!v || v->kind == TPL_NONE) return rc;
    if (v->kind == TPL_TEXT) return s->indent = v->text, rc;
    if (!tpl_whole(&n, *v) || n > 64) return tpl_fail(s->x, HPC_E_UNSUPPORTED, "this indent");
    for (int64_t k = 0; rc >= 0 && k < n; k++) rc = tpl_put(&made, " ", 1, false);
    if (rc >= 0) rc = tpl_take_text(&blanks, s->x, &made);
    if (rc >= 0) s->indent = blanks.text;
    return rc;
}

static int read_style(style *s, const tpl_args *args)
{
    const tpl_value *ascii = tpl_arg(args, 0, "ensure_ascii"), *by = tpl_arg(args, 2, "separators"),
                    *sorted = tpl_arg(args, 3, "sort_keys");
    int rc;
    TRY(tpl_check_args(s->x, "tojson", args, 4));
    TRY(read_indent(s, tpl_arg(args, 1, "indent")));
    s->ascii = ascii && tpl_truth(*ascii);
    s->sorted = sorted && tpl_truth(*sorted);
    if (!by || by->kind == TPL_NONE) return rc;
    if (by->kind != TPL_LIST || by->list->n != 2 || by->list->item[0].kind != TPL_TEXT ||
        by->list->item[1].kind != TPL_TEXT)
        TRY(tpl_fail(s->x, HPC_E_ARG, "separators are not two strings"));
    s->item = by->list->item[0].text;
    s->key = by->list->item[1].text;
out:
    return rc;
}

int tpl_tojson(tpl_value *out, tpl_run *x, tpl_value v, const tpl_args *args)
{
    static const tpl_text comma = {.data = ",", .n = 1}, blank = {.data = ", ", .n = 2},
                          colon = {.data = ": ", .n = 2};
    hpc_template_output made = {0};
    style s = {.x = x, .out = &made, .key = &colon};
    int rc;
    TRY(read_style(&s, args));
    if (!s.item) s.item = s.indent ? &comma : &blank;
    TRY(put_value(&s, v, 0));
    return tpl_take_text(out, x, &made);
out:
    hpc_template_output_release(&made);
    return rc;
}
