/*
 * json_write.c: writing JSON into a buffer, without building a tree.
 *
 * The output is valid JSON for every value: bytes that are not UTF-8 become U+FFFD,
 * non-finite numbers become null. Failures (memory, nesting too deep) set the buffer's
 * `failed`, which the caller checks once, at the end. It does not check that keys are
 * unique, nor that list items have no key.
 */
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/base.h"

enum { DEPTH_MAX = 64 };
_Static_assert(sizeof(((hpc_json_out *)0)->more) == DEPTH_MAX, "one entry of `more` per level");

static void newline(hpc_json_out *w)
{
    hpc_buf_printf(w->buf, "\n%*s", w->depth * w->indent, "");
}

/* Bytes of the well-formed UTF-8 sequence at s (NUL-terminated), 1 to 4. Negative
 * when malformed: how many bytes one replacement character stands for, which is
 * the longest start of a well-formed sequence, as Unicode recommends. */
static int sequence(const unsigned char *s)
{
    int n = s[0] < 0x80 ? 1 : s[0] < 0xE0 ? 2 : s[0] < 0xF0 ? 3 : 4;
    unsigned char least = 0x80, most = 0xBF; /* of the second byte */
    if (n == 1) return 1;
    if (s[0] < 0xC2 || s[0] > 0xF4) return -1; /* a continuation, overlong, or too large */
    if (s[0] == 0xE0) least = 0xA0;            /* overlong */
    if (s[0] == 0xED) most = 0x9F;             /* surrogates */
    if (s[0] == 0xF0) least = 0x90;            /* overlong */
    if (s[0] == 0xF4) most = 0x8F;             /* beyond U+10FFFF */
    if (s[1] < least || s[1] > most) return -1;
    for (int k = 2; k < n; k++) {
        if ((s[k] & 0xC0) != 0x80) return -k;
    }
    return n;
}

/* The escape of a character that must have one, else NULL. */
static const char *escape(unsigned char c, char scratch[8])
{
    switch (c) {
    case '"': return "\\\"";
    case '\\': return "\\\\";
    case '\b': return "\\b";
    case '\f': return "\\f";
    case '\n': return "\\n";
    case '\r': return "\\r";
    case '\t': return "\\t";
    default: break;
    }
    if (c >= ' ') return NULL;
    snprintf(scratch, 8, "\\u%04x", c);
    return scratch;
}

static void quoted(hpc_buf *b, const char *text)
{
    const unsigned char *run = (const unsigned char *)text, *s = run;
    char scratch[8];
    hpc_buf_text(b, "\"");
    while (*s) {
        int n = sequence(s);
        const char *instead = n < 0 ? "\xEF\xBF\xBD" : escape(*s, scratch);
        if (!instead) {
            s += n;
            continue;
        }
        hpc_buf_add(b, run, (size_t)(s - run));
        hpc_buf_text(b, instead);
        s += n < 0 ? -n : 1;
        run = s;
    }
    hpc_buf_add(b, run, (size_t)(s - run));
    hpc_buf_text(b, "\"");
}

/* What comes before any value: the comma, the line, the key. Values at the top
 * are left alone, so that a caller can write one per line. */
static void begin_value(hpc_json_out *w, const char *key)
{
    if (w->depth > 0 && w->depth <= DEPTH_MAX) {
        if (w->more[w->depth - 1]) hpc_buf_text(w->buf, ",");
        w->more[w->depth - 1] = true;
        if (w->indent > 0) newline(w);
    }
    if (!key) return;
    quoted(w->buf, key);
    hpc_buf_text(w->buf, w->indent > 0 ? ": " : ":");
}

void hpc_json_open(hpc_json_out *w, const char *key, char bracket)
{
    char text[2] = {bracket, '\0'};
    hpc_assert(bracket == '{' || bracket == '[');
    begin_value(w, key);
    hpc_buf_text(w->buf, text);
    if (w->depth >= DEPTH_MAX) {
        w->buf->failed = hpc_fail(HPC_E_FORMAT,
                                  "JSON nested deeper than %d levels cannot be written", DEPTH_MAX);
    } else {
        w->more[w->depth] = false;
    }
    w->depth++; /* even then, so that the caller's closing brackets still pair up */
}

void hpc_json_close(hpc_json_out *w, char bracket)
{
    char text[2] = {bracket, '\0'};
    hpc_assert((bracket == '}' || bracket == ']') && w->depth > 0);
    w->depth--;
    if (w->depth < DEPTH_MAX && w->more[w->depth] && w->indent > 0) newline(w);
    hpc_buf_text(w->buf, text);
}

void hpc_json_put_text(hpc_json_out *w, const char *key, const char *text)
{
    begin_value(w, key);
    if (text) {
        quoted(w->buf, text);
    } else {
        hpc_buf_text(w->buf, "null");
    }
}

void hpc_json_put_int(hpc_json_out *w, const char *key, int64_t value)
{
    begin_value(w, key);
    hpc_buf_printf(w->buf, "%" PRId64, value);
}

/* The fewest digits that read back as the same double. Up to 15 digits survive a
 * round trip and %g drops zeros, so normal numbers start there; the precision of
 * subnormal ones is less. The numeric locale is "C": no part of the program sets it. */
static void shortest(char *out, size_t size, double value)
{
    int digits = fabs(value) < DBL_MIN ? 1 : DBL_DIG;
    do snprintf(out, size, "%.*g", digits, value);
    while (digits++ < DBL_DECIMAL_DIG && strtod(out, NULL) != value);
}

void hpc_json_put_real(hpc_json_out *w, const char *key, double value)
{
    char text[40] = "null";
    if (isfinite(value)) {
        shortest(text, sizeof text, value);
        if (!strpbrk(text, ".e")) strcat(text, ".0"); /* stays a real when read back */
    }
    begin_value(w, key);
    hpc_buf_text(w->buf, text);
}

void hpc_json_put_bool(hpc_json_out *w, const char *key, bool value)
{
    begin_value(w, key);
    hpc_buf_text(w->buf, value ? "true" : "false");
}

/* The getters do not fail: each is asked for the kind that there is. */
static void put_scalar(hpc_json_out *w, const char *key, const hpc_json *v)
{
    const char *text = NULL; /* stays NULL for the kind HPC_JSON_NULL */
    int64_t number;
    double real;
    bool flag;
    switch (hpc_json_kind_of(v)) {
    case HPC_JSON_INT:
        if (hpc_json_int(&number, v, "value") >= 0) hpc_json_put_int(w, key, number);
        return;
    case HPC_JSON_REAL:
        if (hpc_json_real(&real, v, "value") >= 0) hpc_json_put_real(w, key, real);
        return;
    case HPC_JSON_BOOL:
        if (hpc_json_bool(&flag, v, "value") >= 0) hpc_json_put_bool(w, key, flag);
        return;
    case HPC_JSON_TEXT:
        if (hpc_json_text(&text, v, "value") < 0) return;
        break;
    default: break;
    }
    hpc_json_put_text(w, key, text);
}

/* Skips values that are nested too deep to be written. */
void hpc_json_put(hpc_json_out *w, const char *key, const hpc_json *v)
{
    bool list = hpc_json_kind_of(v) == HPC_JSON_LIST;
    if (!list && hpc_json_kind_of(v) != HPC_JSON_OBJECT) {
        put_scalar(w, key, v);
        return;
    }
    hpc_json_open(w, key, list ? '[' : '{');
    for (int64_t i = 0; i < hpc_json_n(v) && w->depth <= DEPTH_MAX; i++) {
        const hpc_json *child = hpc_json_at(v, i);
        const char *name = list ? NULL : hpc_json_key(v, i, &child);
        hpc_json_put(w, name, child);
    }
    hpc_json_close(w, list ? ']' : '}');
}
