/*
 * text.c: strings with the origin of each byte, and Python's str() and repr().
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "infer/template/priv.h"

/* ---- characters ----------------------------------------------------------------------------- */

/* 0: not UTF-8. */
size_t tpl_next(uint32_t *code, const char *data, size_t n, size_t at)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const uint8_t *s = (const uint8_t *)data + at;
    const size_t k = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
    if (k == 0 || s[0] > 0xf4 || at + k > n) return 0;
    uint32_t c = k == 1 ? s[0] : s[0] & (0xffu >> (k + 1));
    for (size_t i = 1; i < k; i++) {
        if ((s[i] & 0xc0) != 0x80) return 0;
        c = c << 6 | (s[i] & 0x3f);
    }
    *code = c;
    return k > 1 && (c < least[k] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000)) ? 0 : k;
}

int64_t tpl_characters(const tpl_text *t)
{
    int64_t n = 0;
    for (size_t k = 0; k < t->n; k++) n += ((uint8_t)t->data[k] & 0xc0) != 0x80;
    return n;
}

size_t tpl_offset(const tpl_text *t, int64_t character)
{
    size_t at = 0;
    for (; at < t->n; at++) {
        if (((uint8_t)t->data[at] & 0xc0) == 0x80) continue;
        if (character-- == 0) break;
    }
    return at;
}

bool tpl_is_space(uint32_t c)
{
    return (c >= 9 && c <= 13) || (c >= 28 && c <= 32) || c == 0x85 || c == 0xa0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f ||
           c == 0x205f || c == 0x3000;
}

static bool is_trimmed(uint32_t c, const tpl_text *of)
{
    uint32_t one;
    if (!of) return tpl_is_space(c);
    for (size_t at = 0, k; at < of->n && (k = tpl_next(&one, of->data, of->n, at)) > 0; at += k)
        if (one == c) return true;
    return false;
}

/* sides: 1: the left, 2: the right. of: the characters to remove; NULL: blanks. */
void tpl_trim(size_t *from, size_t *to, const tpl_text *t, const tpl_text *of, int sides)
{
    uint32_t c;
    size_t a = 0, b = t->n, k;
    while (sides & 1 && a < b && (k = tpl_next(&c, t->data, b, a)) > 0 && is_trimmed(c, of)) a += k;
    while (sides & 2 && b > a) {
        size_t at = b - 1;
        while (at > a && ((uint8_t)t->data[at] & 0xc0) == 0x80) at--;
        if (tpl_next(&c, t->data, b, at) == 0 || !is_trimmed(c, of)) break;
        b = at;
    }
    *from = a;
    *to = b;
}

bool tpl_is(const tpl_text *t, const char *word)
{
    return t->n == strlen(word) && memcmp(t->data, word, t->n) == 0;
}

/* ---- building ------------------------------------------------------------------------------- */

int tpl_put(hpc_template_output *out, const char *data, size_t n, bool foreign)
{
    char block[256];
    int rc;
    if (n == 0) return HPC_OK;
    if (out->text.n + n > TPL_OUTPUT_MOST)
        return hpc_fail(HPC_E_ARG, "the chat template makes more than %d bytes", TPL_OUTPUT_MOST);
    TRY(hpc_buf_add(&out->text, data, n));
    memset(block, foreign, sizeof block);
    for (size_t k = 0; k < n; k += sizeof block)
        TRY(hpc_buf_add(&out->foreign, block, n - k < sizeof block ? n - k : sizeof block));
out:
    return rc;
}

int tpl_put_part(hpc_template_output *out, const tpl_text *t, size_t from, size_t to)
{
    const size_t at = out->foreign.n;
    int rc = tpl_put(out, t->data + from, to - from, t->foreign);
    if (rc >= 0 && t->mask && to > from) memcpy(out->foreign.data + at, t->mask + from, to - from);
    return rc;
}

void hpc_template_output_release(hpc_template_output *out)
{
    hpc_buf_release(&out->text);
    hpc_buf_release(&out->foreign);
}

static int make_text(tpl_value *out, tpl_run *x, const char *data, size_t n, const uint8_t *mask)
{
    tpl_text *t = tpl_alloc(x, 1, sizeof *t);
    char *copy = tpl_alloc(x, n + 1, 1);
    if (!t || !copy) return tpl_code();
    if (n > 0) memcpy(copy, data, n);
    *t = (tpl_text){.data = copy, .n = n, .foreign = n > 0 && mask && mask[0]};
    for (size_t k = 1; mask && k < n; k++) {
        if (mask[k] == mask[0]) continue;
        uint8_t *own = tpl_alloc(x, n, 1);
        if (!own) return tpl_code();
        memcpy(own, mask, n);
        t->mask = own;
        break;
    }
    *out = (tpl_value){.kind = TPL_TEXT, .text = t};
    return tpl_spend(x, n / 64);
}

int tpl_take_text(tpl_value *out, tpl_run *x, hpc_template_output *made)
{
    int rc = made->text.failed < 0 ? made->text.failed : made->foreign.failed;
    if (rc >= 0)
        rc = make_text(out, x, made->text.data, made->text.n, (const uint8_t *)made->foreign.data);
    hpc_template_output_release(made);
    return rc;
}

int tpl_part(tpl_value *out, tpl_run *x, const tpl_text *t, size_t from, size_t to)
{
    hpc_template_output made = {0};
    int rc = tpl_put_part(&made, t, from, to);
    if (rc >= 0) return tpl_take_text(out, x, &made);
    hpc_template_output_release(&made);
    return rc;
}

int tpl_of_name(tpl_value *out, tpl_run *x, const char *text)
{
    return make_text(out, x, text, strlen(text), NULL);
}

/* ---- str() and repr() ----------------------------------------------------------------------- */

static int put_name(hpc_template_output *out, const char *text)
{
    return tpl_put(out, text, strlen(text), false);
}

/* The shortest digits that give the same number, in the form of Python's repr(). */
void tpl_real_text(char out[40], double r)
{
    char e[40];
    int digits = 1;
    if (!isfinite(r)) {
        strcpy(out, isnan(r) ? "nan" : r > 0 ? "inf" : "-inf");
        return;
    }
    do snprintf(e, sizeof e, "%.*e", digits - 1, r);
    while (strtod(e, NULL) != r && ++digits <= 17);
    const int exponent = atoi(strchr(e, 'e') + 1);
    if (exponent >= -4 && exponent < 16)
        snprintf(out, 40, "%.*f", digits - 1 - exponent > 1 ? digits - 1 - exponent : 1, r);
    else
        snprintf(out, 40, "%.*se%c%02d", (int)(strchr(e, 'e') - e), e, exponent < 0 ? '-' : '+',
                 abs(exponent));
}

/* repr() writes these as escapes. */
static bool is_escaped(uint32_t c)
{
    return c < 32 || (c >= 0x7f && c <= 0xa0) || c == 0xad || (c >= 0x200b && c <= 0x200f) ||
           (tpl_is_space(c) && c != ' ') || (c >= 0x202a && c <= 0x202e) ||
           (c >= 0x2060 && c <= 0x206f) || (c >= 0xe000 && c <= 0xf8ff) || c == 0xfeff ||
           (c >= 0xfff0 && c <= 0xfffb) || c >= 0xe0000;
}

static int put_quoted(hpc_template_output *out, const tpl_text *t)
{
    const bool twice = t->n > 0 && memchr(t->data, '\'', t->n) && !memchr(t->data, '"', t->n);
    const char quote = twice ? '"' : '\'';
    char text[16];
    uint32_t c;
    int rc;
    TRY(tpl_put(out, &quote, 1, false));
    for (size_t at = 0, k; at < t->n; at += k) {
        if ((k = tpl_next(&c, t->data, t->n, at)) == 0) k = 1, c = (uint8_t)t->data[at];
        text[0] = '\0';
        if (c == '\n' || c == '\r' || c == '\t')
            snprintf(text, sizeof text, "\\%c", c == '\n' ? 'n' : c == '\r' ? 'r' : 't');
        else if (c == '\\' || c == (uint8_t)quote)
            snprintf(text, sizeof text, "\\%c", (char)c);
        else if (is_escaped(c))
            snprintf(text, sizeof text,
                     c < 0x100     ? "\\x%02x"
                     : c < 0x10000 ? "\\u%04x"
                                   : "\\U%08x",
                     c);
        if (text[0])
            TRY(tpl_put(out, text, strlen(text), t->mask ? t->mask[at] : t->foreign));
        else
            TRY(tpl_put_part(out, t, at, at + k));
    }
    TRY(tpl_put(out, &quote, 1, false));
out:
    return rc;
}

static int put_repr(hpc_template_output *out, tpl_run *x, tpl_value v);

static int put_list(hpc_template_output *out, tpl_run *x, const tpl_list *l)
{
    const bool tuple = l->kind == TPL_IS_TUPLE;
    int rc;
    if (l->kind != TPL_IS_LIST && !tuple)
        return tpl_fail(x, HPC_E_UNSUPPORTED, "the text of a range, view or generator");
    TRY(put_name(out, tuple ? "(" : "["));
    for (int64_t k = 0; k < l->n; k++) {
        if (k > 0) TRY(put_name(out, ", "));
        TRY(put_repr(out, x, l->item[k]));
    }
    TRY(put_name(out, !tuple ? "]" : l->n == 1 ? ",)" : ")"));
out:
    return rc;
}

static int put_dict(hpc_template_output *out, tpl_run *x, const tpl_dict *d)
{
    int rc;
    TRY(put_name(out, "{"));
    for (int64_t k = 0; k < d->n; k++) {
        if (k > 0) TRY(put_name(out, ", "));
        TRY(put_repr(out, x, d->key[k]));
        TRY(put_name(out, ": "));
        TRY(put_repr(out, x, d->item[k]));
    }
    TRY(put_name(out, "}"));
out:
    return rc;
}

static int put_repr(hpc_template_output *out, tpl_run *x, tpl_value v)
{
    char text[40];
    int rc;
    TRY(tpl_enter(x));
    switch (v.kind) {
    case TPL_UNDEFINED: rc = put_name(out, "Undefined"); break;
    case TPL_NONE: rc = put_name(out, "None"); break;
    case TPL_BOOL: rc = put_name(out, v.flag ? "True" : "False"); break;
    case TPL_INT:
        snprintf(text, sizeof text, "%lld", (long long)v.i);
        rc = put_name(out, text);
        break;
    case TPL_REAL:
        tpl_real_text(text, v.r);
        rc = put_name(out, text);
        break;
    case TPL_TEXT:
        rc = v.text->markup ? tpl_fail(x, HPC_E_UNSUPPORTED, "a result of 'safe' in a list or dict")
                            : put_quoted(out, v.text);
        break;
    case TPL_LIST: rc = put_list(out, x, v.list); break;
    case TPL_DICT: rc = put_dict(out, x, v.dict); break;
    default: rc = tpl_fail(x, HPC_E_UNSUPPORTED, "the text of a %s", tpl_type(v));
    }
    x->depth--;
out:
    return rc;
}

int tpl_put_str(hpc_template_output *out, tpl_run *x, tpl_value v)
{
    if (v.kind == TPL_UNDEFINED) return HPC_OK;
    if (v.kind == TPL_TEXT) return tpl_put_part(out, v.text, 0, v.text->n);
    return put_repr(out, x, v);
}

int tpl_str(tpl_value *out, tpl_run *x, tpl_value v)
{
    hpc_template_output made = {0};
    int rc;
    if (v.kind == TPL_TEXT) return *out = v, HPC_OK;
    rc = tpl_put_str(&made, x, v);
    if (rc >= 0) return tpl_take_text(out, x, &made);
    hpc_template_output_release(&made);
    return rc;
}
