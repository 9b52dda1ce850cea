/*
 * answer.c: see answer.h.
 */
#include "infer/pragma/answer.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { EVIDENCE_MOST = 24 };

void answer_release(answer *a)
{
    hpc_free(a->evidence);
    hpc_free(a->assumption);
    clauses_release(&a->clauses);
}

void answer_fail(answer *a, int rc)
{
    if (a->rc >= 0) a->rc = rc;
}

/* ---- evidence ---- */

bool answer_mute(answer *a, bool on)
{
    bool was = a->muted;
    a->muted = on;
    return was;
}

static bool is_known(const answer *a, uint32_t line, const char *text)
{
    for (int64_t i = 0; i < a->evidence_n; i++)
        if (a->evidence[i].line == line && strcmp(a->evidence[i].text, text) == 0) return true;
    return false;
}

/* Keeps at most EVIDENCE_MOST items with the same verdict. */
static void add(answer *a, hpc_evidence e, const char *text)
{
    int64_t alike = 0;
    for (int64_t i = 0; i < a->evidence_n; i++) alike += a->evidence[i].alone == e.alone;
    if (is_known(a, e.line, text) || alike == EVIDENCE_MOST) return;
    e.text = hpc_arena_text(a->p->out, "%s", text);
    if (!e.text ||
        hpc_grow(&a->evidence, &a->evidence_cap, a->evidence_n + 1, sizeof *a->evidence) < 0) {
        answer_fail(a, HPC_E_NOMEM);
        return;
    }
    a->evidence[a->evidence_n++] = e;
}

static void add_format(answer *a, hpc_evidence e, int32_t node, const char *format, va_list args)
{
    char text[400];
    vsnprintf(text, sizeof text, format, args);
    e.line = node >= 0 ? a->p->t->node[node].line : 0;
    add(a, e, text);
}

void answer_note(answer *a, const char *kind, int32_t node, const char *format, ...)
{
    va_list args;
    if (a->muted) return;
    va_start(args, format);
    add_format(a, (hpc_evidence){.kind = kind, .alone = HPC_VERDICT_PARALLEL}, node, format, args);
    va_end(args);
}

void answer_unsafe(answer *a, const char *kind, int32_t node, const char *format, ...)
{
    va_list args;
    if (a->muted) return;
    a->objections++;
    a->unsafe = true;
    va_start(args, format);
    add_format(a, (hpc_evidence){.kind = kind, .alone = HPC_VERDICT_UNSAFE}, node, format, args);
    va_end(args);
}

void answer_ordered(answer *a, int32_t call, const char *format, ...)
{
    conflicts *c = &a->conflicts;
    va_list args;
    if (a->muted) return;
    a->objections++;
    a->unsafe = true;
    if (c->ordered_n < CONFLICT_ORDERED) c->ordered[c->ordered_n] = call;
    if (c->ordered_n <= CONFLICT_ORDERED) c->ordered_n++;
    va_start(args, format);
    add_format(a, (hpc_evidence){.kind = "call", .alone = HPC_VERDICT_UNSAFE}, call, format, args);
    va_end(args);
}

void answer_unknown(answer *a, const char *kind, int32_t node, const char *format, ...)
{
    va_list args;
    if (a->muted) return;
    a->objections++;
    a->unknown = true;
    va_start(args, format);
    add_format(a, (hpc_evidence){.kind = kind, .alone = HPC_VERDICT_UNKNOWN}, node, format, args);
    va_end(args);
}

void answer_alias(answer *a, int32_t node, int32_t other, const char *format, ...)
{
    va_list args;
    if (a->muted) return;
    a->objections++;
    a->unknown = true;
    const hpc_evidence e = {.kind = "alias",
                            .alone = HPC_VERDICT_UNKNOWN,
                            .access = {node_text(a->p, node), node_text(a->p, other)}};
    va_start(args, format);
    add_format(a, e, node, format, args);
    va_end(args);
}

void answer_rejects(answer *a, const char *reason, uint32_t line)
{
    a->objections++;
    a->unknown = true;
    if (reason)
        add(a, (hpc_evidence){.kind = "form", .line = line, .alone = HPC_VERDICT_UNKNOWN}, reason);
}

void answer_too_large(answer *a, int32_t loop)
{
    bool was = answer_mute(a, false);
    answer_unknown(a, "form", loop, "the loop is too large");
    answer_mute(a, was);
}

void answer_conflict(answer *a, int32_t node, int32_t other)
{
    if (a->conflict) return;
    a->conflict = node;
    a->conflict_other = other;
}

/* ---- assumptions ---- */

static int64_t assumed_at(const answer *a, const char *text)
{
    for (int64_t i = 0; text && i < a->assumptions_n; i++)
        if (strcmp(a->assumption[i].text, text) == 0) return i;
    return -1;
}

static const char *kept(answer *a, const char *text)
{
    const char *out = text ? hpc_arena_text(a->p->out, "%s", text) : NULL;
    if (text && !out) answer_fail(a, HPC_E_NOMEM);
    return out;
}

void answer_assume_form(answer *a, const premise *what)
{
    if (assumed_at(a, what->text) >= 0) return;
    premise x = *what;
    x.text = kept(a, what->text);
    x.check = kept(a, what->check);
    x.code = kept(a, what->code);
    x.one = kept(a, what->one);
    x.two = kept(a, what->two);
    if (!x.text || hpc_grow(&a->assumption, &a->assumptions_cap, a->assumptions_n + 1,
                            sizeof *a->assumption) < 0)
    {
        answer_fail(a, HPC_E_NOMEM);
        return;
    }
    a->assumption[a->assumptions_n++] = x;
}

void answer_assume(answer *a, const char *text, const char *check)
{
    answer_assume_form(a, &(premise){.text = text, .check = check});
}

void answer_assume_instead(answer *a, const premise *what, const char *stronger, const char *weaker)
{
    if (assumed_at(a, stronger) >= 0) return;
    int64_t old = assumed_at(a, weaker);
    if (old >= 0) {
        memmove(&a->assumption[old], &a->assumption[old + 1],
                (size_t)(a->assumptions_n - old - 1) * sizeof *a->assumption);
        a->assumptions_n--;
    }
    answer_assume_form(a, what);
}

void answer_reads_loop(answer *a)
{
    a->reads_loop = true;
}

/* ---- clauses ------------------------------------------------------------------------------------
 */

void clauses_add(hpc_buf *b, const char *name)
{
    size_t n = strlen(name);
    for (size_t at = 0; at < b->n;) {
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

void clauses_release(clauses *c)
{
    hpc_buf_release(&c->privates);
    hpc_buf_release(&c->last);
    hpc_buf_release(&c->conditional);
    hpc_buf_release(&c->linear);
    hpc_buf_release(&c->shared);
    for (int k = 0; k < c->n; k++) hpc_buf_release(&c->reduction[k].names);
}

const char *reduction_name(uint8_t op)
{
    static const char *const names[128] = {
        ['+'] = "+",         ['*'] = "*",        ['&'] = "&",      ['|'] = "|",     ['^'] = "^",
        [HPC_OP_AND] = "&&", [HPC_OP_OR] = "||", [OP_MIN] = "min", [OP_MAX] = "max"};
    return op < 128 && names[op] ? names[op] : "?";
}
