/*
 * say.c: evidence, assumptions and clauses, as they are found.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "infer/pragma/priv.h"

enum { EVIDENCE_MOST = 24 };

static bool is_known(const found *f, uint32_t line, const char *text)
{
    for (int64_t i = 0; i < f->evidence_n; i++)
        if (f->evidence[i].line == line && strcmp(f->evidence[i].text, text) == 0) return true;
    return false;
}

/* Once, and at most EVIDENCE_MOST that decide the same. */
static void add(study *s, hpc_evidence e, int32_t node, const char *format, va_list args)
{
    char text[400];
    found *f = &s->found;
    int64_t alike = 0;
    vsnprintf(text, sizeof text, format, args);
    e.line = node >= 0 ? s->t->node[node].line : 0;
    for (int64_t i = 0; i < f->evidence_n; i++) alike += f->evidence[i].alone == e.alone;
    if (is_known(f, e.line, text) || alike == EVIDENCE_MOST) return;
    e.text = hpc_arena_text(s->program->out, "%s", text);
    if (!e.text ||
        hpc_grow(&f->evidence, &f->evidence_cap, f->evidence_n + 1, sizeof *f->evidence) < 0) {
        s->rc = HPC_E_NOMEM;
        return;
    }
    f->evidence[f->evidence_n++] = e;
}

void say(study *s, const char *kind, int32_t node, const char *format, ...)
{
    va_list args;
    if (s->quiet) return;
    va_start(args, format);
    add(s, (hpc_evidence){.kind = kind, .alone = HPC_VERDICT_PARALLEL}, node, format, args);
    va_end(args);
}

void say_unsafe(study *s, const char *kind, int32_t node, const char *format, ...)
{
    va_list args;
    if (s->quiet) return;
    s->unsafe = true;
    va_start(args, format);
    add(s, (hpc_evidence){.kind = kind, .alone = HPC_VERDICT_UNSAFE}, node, format, args);
    va_end(args);
}

void say_unknown(study *s, const char *kind, int32_t node, const char *format, ...)
{
    va_list args;
    if (s->quiet) return;
    s->unknown = true;
    va_start(args, format);
    add(s, (hpc_evidence){.kind = kind, .alone = HPC_VERDICT_UNKNOWN}, node, format, args);
    va_end(args);
}

void say_alias(study *s, int32_t a, int32_t b, const char *format, ...)
{
    va_list args;
    if (s->quiet) return;
    s->unknown = true;
    const hpc_evidence e = {.kind = "alias",
                            .alone = HPC_VERDICT_UNKNOWN,
                            .access = {node_text(s->program, a), node_text(s->program, b)}};
    va_start(args, format);
    add(s, e, a, format, args);
    va_end(args);
}

void assume(study *s, const char *text, const char *check)
{
    found *f = &s->found;
    for (int64_t i = 0; i < f->assumptions_n; i++)
        if (strcmp(f->assumption[i].text, text) == 0) return;
    const char *kept = hpc_arena_text(s->program->out, "%s", text),
               *guard = check ? hpc_arena_text(s->program->out, "%s", check) : NULL;
    if (!kept || hpc_grow(&f->assumption, &f->assumptions_cap, f->assumptions_n + 1,
                          sizeof *f->assumption) < 0)
    {
        s->rc = HPC_E_NOMEM;
        return;
    }
    f->assumption[f->assumptions_n++] = (hpc_assumption){.text = kept, .check = guard};
}

static int64_t assumed(const found *f, const char *text)
{
    for (int64_t i = 0; text && i < f->assumptions_n; i++)
        if (strcmp(f->assumption[i].text, text) == 0) return i;
    return -1;
}

void assume_instead(study *s, const char *text, const char *check, const char *stronger,
                    const char *weaker)
{
    found *f = &s->found;
    if (assumed(f, stronger) >= 0) return;
    int64_t old = assumed(f, weaker);
    if (old >= 0) {
        memmove(&f->assumption[old], &f->assumption[old + 1],
                (size_t)(f->assumptions_n - old - 1) * sizeof *f->assumption);
        f->assumptions_n--;
    }
    assume(s, text, check);
}

/* ---- names --------------------------------------------------------------------------------------
 */

const char *name_in_clause(const study *s, int32_t symbol)
{
    const hpc_tree *t = s->t;
    const char *name = symbol_name(s->t, symbol);
    size_t n = strlen(name);
    for (int32_t i = s->loop; i < t->node[s->loop].end; i++) {
        const hpc_tree_node *x = &t->node[i];
        if (x->kind != HPC_TREE_NAME || x->symbol != symbol || (x->flags & HPC_TREE_MACRO))
            continue;
        const char *text = node_text(s->program, i), *end = text + strlen(text);
        bool whole = (size_t)(end - text) > n + 2 && strcmp(end - n, name) == 0;
        return whole && strncmp(end - n - 2, "::", 2) == 0 ? text : name;
    }
    return name;
}

/* ---- clauses ------------------------------------------------------------------------------------
 */

void clauses_add(hpc_buf *b, const char *name)
{
    size_t n = strlen(name);
    for (size_t at = 0; at < b->n;) { /* once is enough */
        const char *end = strstr(b->data + at, ", ");
        size_t length = end ? (size_t)(end - b->data) - at : b->n - at;
        if (length == n && memcmp(b->data + at, name, n) == 0) return;
        at += length + 2;
    }
    if (b->n > 0) hpc_buf_text(b, ", ");
    hpc_buf_text(b, name);
}

void clauses_reduce(clauses *c, uint8_t op, const char *name)
{
    int k = 0;
    while (k < c->n && c->reduction[k].op != op) k++;
    if (k == (int)(sizeof c->reduction / sizeof *c->reduction)) return;
    if (k == c->n) c->reduction[c->n++].op = op;
    clauses_add(&c->reduction[k].names, name);
}
