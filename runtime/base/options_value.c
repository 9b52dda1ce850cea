/*
 * options_value.c: setting one option from text or a number, checked against its table
 * entry; and looking up options by exact or similar name. It knows neither argv nor
 * JSON.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/priv.h"

enum { NAME_MAX_BYTES = 63 }; /* longer names are not treated as misspellings */

static void *field(void *out, const hpc_option *o)
{
    return (char *)out + o->offset;
}

/* ---- what is allowed ------------------------------------------------------- */

static void allowed(char *out, size_t size, const hpc_option *o)
{
    char range[80];
    switch (o->kind) {
    case HPC_FLAG: snprintf(out, size, "true or false"); break;
    case HPC_INT:
    case HPC_REAL:
        hpc_option_range(range, sizeof range, o);
        snprintf(out, size, "%s", o->kind == HPC_INT ? "an integer" : "a number");
        if (range[0]) hpc_text_append(out, size, range[0] == 'a' ? " of " : " from ");
        hpc_text_append(out, size, range);
        break;
    case HPC_CHOICE:
        snprintf(out, size, "one of ");
        for (int i = 0; o->choices[i]; i++) {
            if (i > 0) hpc_text_append(out, size, ", ");
            hpc_text_append(out, size, o->choices[i]);
        }
        break;
    case HPC_TEXT:
    case HPC_TEXTS: snprintf(out, size, "a text"); break;
    }
}

static int refuse(const hpc_option *o, const char *where, const char *text)
{
    char must[256];
    allowed(must, sizeof must, o);
    return hpc_fail(HPC_E_ARG, "%s: '%.100s' is not allowed, it must be %s", where, text, must);
}

static bool in_range(const hpc_option *o, double value)
{
    return (o->least == 0.0 && o->most == 0.0) || (value >= o->least && value <= o->most);
}

/* ---- setting --------------------------------------------------------------- */

void hpc_option_set_flag(void *out, const hpc_option *o, bool value)
{
    *(bool *)field(out, o) = value;
}

int hpc_option_set_int(void *out, const hpc_option *o, const char *where, int64_t value)
{
    if (!in_range(o, (double)value)) {
        char text[32];
        snprintf(text, sizeof text, "%" PRId64, value);
        return refuse(o, where, text);
    }
    *(int64_t *)field(out, o) = value;
    return 0;
}

int hpc_option_set_real(void *out, const hpc_option *o, const char *where, double value)
{
    if (!in_range(o, value)) {
        char text[40];
        snprintf(text, sizeof text, "%.15g", value);
        return refuse(o, where, text);
    }
    *(double *)field(out, o) = value;
    return 0;
}

int hpc_option_set_choice(void *out, const hpc_option *o, const char *where, const char *text)
{
    for (int i = 0; o->choices[i]; i++) {
        if (strcmp(o->choices[i], text) != 0) continue;
        *(const char **)field(out, o) = o->choices[i];
        return 0;
    }
    return refuse(o, where, text);
}

/* The array's capacity is the power of two at or above n, so it needs no field. */
int hpc_option_add_text(void *out, const hpc_option *o, hpc_arena *a, const char *text)
{
    hpc_texts *t = field(out, o);
    if ((t->n & (t->n - 1)) == 0) {
        const char **more = hpc_arena_alloc(a, t->n > 0 ? 2 * (size_t)t->n : 1, sizeof *more);
        if (!more) return HPC_E_NOMEM;
        if (t->n > 0) memcpy(more, t->item, (size_t)t->n * sizeof *more);
        t->item = more;
    }
    t->item[t->n++] = text;
    return 0;
}

static int set_flag_text(void *out, const hpc_option *o, const char *where, const char *text)
{
    bool on = strcmp(text, "true") == 0;
    if (!on && strcmp(text, "false") != 0) return refuse(o, where, text);
    hpc_option_set_flag(out, o, on);
    return 0;
}

/* strtoll and strtod skip blanks and strtod knows hexadecimal, "inf" and "nan". */
static bool only(const char *text, const char *characters)
{
    return text[0] != '\0' && text[strspn(text, characters)] == '\0';
}

static int set_int_text(void *out, const hpc_option *o, const char *where, const char *text)
{
    char *end = NULL;
    errno = 0;
    int64_t value = only(text, "+-0123456789") ? strtoll(text, &end, 10) : 0;
    if (!end || end == text || *end || errno == ERANGE) return refuse(o, where, text);
    return hpc_option_set_int(out, o, where, value);
}

static int set_real_text(void *out, const hpc_option *o, const char *where, const char *text)
{
    char *end = NULL;
    double value = only(text, "+-.0123456789eE") ? strtod(text, &end) : 0.0;
    if (!end || end == text || *end || !isfinite(value)) return refuse(o, where, text);
    return hpc_option_set_real(out, o, where, value);
}

int hpc_option_set_text(void *out, const hpc_option *o, hpc_arena *a, const char *where,
                        const char *text)
{
    switch (o->kind) {
    case HPC_FLAG: return set_flag_text(out, o, where, text);
    case HPC_INT: return set_int_text(out, o, where, text);
    case HPC_REAL: return set_real_text(out, o, where, text);
    case HPC_CHOICE: return hpc_option_set_choice(out, o, where, text);
    case HPC_TEXTS: return hpc_option_add_text(out, o, a, text);
    case HPC_TEXT: break;
    }
    *(const char **)field(out, o) = text;
    return 0;
}

/* ---- finding --------------------------------------------------------------- */

int hpc_options_n(const hpc_command *c, const hpc_option *end)
{
    int n = 0;
    for (const hpc_option *o = c->options; o && o->name && o != end; o = hpc_option_next(o)) n++;
    return n;
}

static bool is_name(const char *option, const char *name, size_t n)
{
    return strncmp(option, name, n) == 0 && option[n] == '\0';
}

const hpc_option *hpc_option_find(const hpc_command *c, const char *name, size_t n)
{
    for (const hpc_option *o = c->options; o && o->name; o = hpc_option_next(o)) {
        if (is_name(o->name, name, n) || (o->former && is_name(o->former, name, n))) return o;
    }
    return NULL;
}

static int min3(int a, int b, int c)
{
    int least = a < b ? a : b;
    return least < c ? least : c;
}

/* Insertions, deletions, replacements and swaps of neighbours that lead from a to
 * b, row by row; a swap looks two rows back. */
static int distance(const char *a, const char *b)
{
    int row[3][NAME_MAX_BYTES + 1];
    int n = (int)strlen(a), m = (int)strlen(b);
    for (int j = 0; j <= m; j++) row[0][j] = j;
    for (int i = 1; i <= n; i++) {
        int *now = row[i % 3], *last = row[(i + 2) % 3], *before = row[(i + 1) % 3];
        now[0] = i;
        for (int j = 1; j <= m; j++) {
            now[j] = min3(last[j] + 1, now[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1]));
            bool swap = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (swap && before[j - 2] + 1 < now[j]) now[j] = before[j - 2] + 1;
        }
    }
    return row[n % 3][m];
}

int hpc_options_edits(const char *wrote, const char *known)
{
    size_t n = strlen(wrote), m = strlen(known);
    int most = n / 3 > 2 ? (int)(n / 3) : 2; /* beyond that it is another name */
    if (n == 0 || n > NAME_MAX_BYTES || m > NAME_MAX_BYTES) return -1;
    int d = n == m || n < 2 || strncmp(known, wrote, n) != 0 ? distance(wrote, known) : 1;
    return d < (int)n && d <= most ? d : -1;
}

const hpc_option *hpc_option_nearest(const hpc_command *c, const char *name)
{
    const hpc_option *best = NULL;
    int least = 0;
    for (const hpc_option *o = c->options; o && o->name; o = hpc_option_next(o)) {
        int d = hpc_options_edits(name, o->name);
        if (d < 0 || (best && d >= least)) continue;
        least = d;
        best = o;
    }
    return best;
}
