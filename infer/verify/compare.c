/*
 * compare.c: compares the output of two runs of a program: text without regard to white space,
 * numbers within a tolerance. Reports no result if runs of the serial program differ.
 */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "infer/verify/priv.h"

enum { INTEGERS_EXACT = 1000000000 }; /* larger ones may be sums of doubles, printed with %.0f */

typedef struct token {
    const char *at;
    size_t n;
    bool number, integer;
    double value;
} token;
typedef struct cursor {
    const char *begin, *at, *end;
    uint32_t line;
} cursor;

/* ---- tokens --------------------------------------------------------------------------------- */

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static bool number_begins(const cursor *c, const char *p)
{
    if (p > c->begin && is_word(p[-1]) && !isdigit((unsigned char)p[-1])) return false;
    if (*p == '+' || *p == '-') p++;
    if (p < c->end && *p == '.') p++;
    return p < c->end && isdigit((unsigned char)*p);
}

static bool next(token *t, cursor *c)
{
    while (c->at < c->end && (isspace((unsigned char)*c->at) || *c->at == '\0'))
        c->line += *c->at++ == '\n';
    if (c->at >= c->end) return false;
    *t = (token){.at = c->at};
    if (number_begins(c, c->at)) {
        char *behind;
        t->number = true;
        t->value = strtod(c->at, &behind);
        t->n = (size_t)(behind - c->at);
        t->integer =
            !memchr(t->at, '.', t->n) && !memchr(t->at, 'e', t->n) && !memchr(t->at, 'E', t->n);
        c->at = behind;
        if (t->n > 0) return true;
        t->number = false;
    }
    do c->at++;
    while (c->at < c->end && !isspace((unsigned char)*c->at) && *c->at && !number_begins(c, c->at));
    t->n = (size_t)(c->at - t->at);
    return true;
}

static bool near(double a, double b, const hpc_verify_options *o)
{
    if (a == b || (isnan(a) && isnan(b))) return true;
    return fabs(a - b) <= o->atol + o->rtol * fmax(fabs(a), fabs(b));
}

static bool same(const token *a, const token *b, const hpc_verify_options *o)
{
    if (a->number != b->number) return false;
    if (!a->number) return a->n == b->n && memcmp(a->at, b->at, a->n) == 0;
    bool exact = a->integer && b->integer && fabs(a->value) < INTEGERS_EXACT;
    return exact ? a->value == b->value : near(a->value, b->value, o);
}

static bool is_clock_part(char c)
{
    return isdigit((unsigned char)c) || c == ':';
}

/* A part of "12:05:59". */
static bool is_of_clock(const token *t, const cursor *c)
{
    static const char form[] = "99:99:99";
    const char *p = t->at, *end = t->at, *digit = form;
    while (p > c->begin && is_clock_part(p[-1])) p--;
    while (end < c->end && is_clock_part(*end)) end++;
    if (end - p == (ptrdiff_t)sizeof form - 2) digit++; /* "9:05:59" */
    if (end - p != (ptrdiff_t)strlen(digit)) return false;
    for (; p < end; p++, digit++)
        if ((*p == ':') != (*digit == ':')) return false;
    return true;
}

/* A time of day; a duration or a rate, by the unit that follows it; or a number of threads. */
static bool is_of_time(const token *t, const cursor *c)
{
    static const char *const units[] = {
        "s",      "ms",     "us",     "ns",     "sec",     "secs",    "second",  "seconds",
        "MFLOPS", "GFLOPS", "MFlops", "GFlops", "MFLOP/s", "GFLOP/s", "MB/s",    "GB/s",
        "MiB/s",  "GiB/s",  "MLUPS",  "ticks",  "Mop/s",   "cycles",  "threads", "thread"};
    const char *p = t->at + t->n;
    if (is_of_clock(t, c)) return true;
    while (p < c->end && (*p == ' ' || *p == '[' || *p == '(')) p++;
    size_t n = 0;
    while (p + n < c->end && (is_word(p[n]) || p[n] == '/')) n++;
    for (size_t k = 0; k < sizeof units / sizeof *units; k++)
        if (strlen(units[k]) == n && strncmp(p, units[k], n) == 0) return true;
    return false;
}

/* ---- two texts ------------------------------------------------------------------------------ */

static cursor begin(const hpc_buf *b)
{
    const char *p = b->data ? b->data : "";
    return (cursor){.begin = p, .at = p, .end = p + b->n, .line = 1};
}

int unsteady_note(unsteady *u, const hpc_buf *a, const hpc_buf *b, const hpc_verify_options *o)
{
    cursor p = begin(a), q = begin(b);
    token s, t;
    for (int64_t k = 0;; k++) {
        bool more = next(&s, &p), more_b = next(&t, &q);
        if (more != more_b) u->all = true;
        if (!more || !more_b) return 0;
        if (same(&s, &t, o)) continue;
        if (!s.number || !t.number) {
            u->all = true;
            return 0;
        }
        int rc = hpc_grow(&u->token, &u->cap, k + 1, sizeof *u->token);
        if (rc < 0) return rc;
        if (!u->token[k]) u->n++;
        u->token[k] = true;
        if (k >= u->known) u->known = k + 1;
    }
}

void unsteady_release(unsteady *u)
{
    hpc_free(u->token);
    *u = (unsteady){0};
}

const char *texts_differ(scratch *s, compared *c, const hpc_buf *serial, const hpc_buf *other,
                         const unsteady *u)
{
    cursor p = begin(serial), q = begin(other);
    token a, b;
    for (int64_t k = 0; !(u && u->all); k++) {
        bool more = next(&a, &p), more_b = next(&b, &q);
        if (!more && !more_b) return NULL;
        if (!more)
            return hpc_arena_text(s->arena, "the output is longer: '%.*s' on line %u",
                                  (int)(b.n < 40 ? b.n : 40), b.at, q.line);
        if (!more_b)
            return hpc_arena_text(s->arena, "the output ends before '%.*s' on line %u",
                                  (int)(a.n < 40 ? a.n : 40), a.at, p.line);
        if (u && k < u->known && u->token[k]) continue;
        c->numbers += a.number;
        if (same(&a, &b, s->o)) continue;
        if (a.number && b.number && (is_of_time(&a, &p) || is_of_time(&b, &q))) {
            c->of_time++;
            continue;
        }
        return hpc_arena_text(s->arena, "line %u has '%.*s' where the serial run has '%.*s'",
                              q.line, (int)(b.n < 40 ? b.n : 40), b.at, (int)(a.n < 40 ? a.n : 40),
                              a.at);
    }
    return NULL;
}

/* ---- files ---------------------------------------------------------------------------------- */

static bool all_near(const hpc_buf *a, const hpc_buf *b, size_t each, const hpc_verify_options *o)
{
    if (a->n != b->n || a->n % each) return false;
    for (size_t i = 0; i < a->n; i += each) {
        double x = 0, y = 0;
        float f = 0, g = 0;
        if (each == sizeof x) {
            memcpy(&x, a->data + i, each);
            memcpy(&y, b->data + i, each);
        } else {
            memcpy(&f, a->data + i, each);
            memcpy(&g, b->data + i, each);
            x = f;
            y = g;
        }
        if (!near(x, y, o)) return false;
    }
    return true;
}

const char *files_differ(scratch *s, compared *c, const hpc_buf *serial, const hpc_buf *other)
{
    if (serial->n == other->n &&
        (serial->n == 0 || memcmp(serial->data, other->data, other->n) == 0))
        return NULL;
    size_t head = serial->n < 4096 ? serial->n : 4096;
    if (!head || !memchr(serial->data, '\0', head)) return texts_differ(s, c, serial, other, NULL);
    if (all_near(serial, other, sizeof(double), s->o)) return NULL;
    if (all_near(serial, other, sizeof(float), s->o)) return NULL;
    if (serial->n != other->n)
        return hpc_arena_text(s->arena, "it has %zu bytes, the serial run writes %zu", other->n,
                              serial->n);
    return "its bytes differ, also as numbers within the tolerance";
}
