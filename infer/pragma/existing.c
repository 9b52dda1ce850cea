/*
 * existing.c: directives that loops have already, and code that prevents a directive before a loop.
 */
#include "infer/pragma/existing.h"

#include <string.h>

#include "infer/pragma/library.h"
#include "infer/pragma/review.h"
#include "infer/pragma/written.h"

/* ---- code before a loop ---- */

static bool is_text(const directives *d, const hpc_token *t, const char *word)
{
    size_t n = strlen(word);
    return t->n == n && memcmp(d->text + t->at, word, n) == 0;
}

/* The token that a directive's tokens begin with, from one of them back. */
static int64_t sentinel(const directives *d, int64_t k)
{
    while (k > 0 && d->tokens.item[k].kind != HPC_TOKEN_SENTINEL) k--;
    return k;
}

/* What of other people's stands right before token k and belongs to the statement there. Lines of
 * #if and their like are looked past. */
static const char *before(const directives *d, int64_t k, hpc_arena *a)
{
    const hpc_token *t = d->tokens.item;
    for (k--; k >= 0; k--) {
        if (t[k].flags & HPC_TOKEN_IN_DIRECTIVE) {
            k = sentinel(d, k);
            if (is_text(d, &t[k + 1], "pragma"))
                return hpc_arena_text(a, "the pragma on line %u precedes it", t[k].line);
        } else if (t[k].kind != HPC_TOKEN_COMMENT) {
            break;
        }
    }
    if (k >= 1 && is_text(d, &t[k], "]") && is_text(d, &t[k - 1], "]"))
        return hpc_arena_text(a, "the attribute on line %u precedes it", t[k].line);
    if (k >= 3 && is_text(d, &t[k], ")") && t[k - 1].kind == HPC_TOKEN_STRING &&
        is_text(d, &t[k - 3], "_Pragma"))
        return hpc_arena_text(a, "the pragma on line %u precedes it", t[k].line);
    return "";
}

static bool is_constexpr(const directives *d, const hpc_loop *x)
{
    if (d->language != HPC_LANGUAGE_CPP || x->function < 0) return false;
    const hpc_function *f = &d->functions.item[x->function];
    for (int64_t k = hpc_token_at(&d->tokens, f->at);
         k < d->tokens.n && d->tokens.item[k].at < f->body_at; k++)
        if (is_text(d, &d->tokens.item[k], "constexpr") ||
            is_text(d, &d->tokens.item[k], "consteval"))
            return true;
    return false;
}

/* A label, a name or another statement before the loop, and DO CONCURRENT. */
static void find_fixed_fortran(hpc_pragma_loop *l, const directives *d)
{
    static const char concurrent[] = "concurrent";
    size_t begin = l->at, k = l->at, n = 0;
    while (begin > 0 && strchr(" \t", d->text[begin - 1])) begin--;
    if (begin > 0 && d->text[begin - 1] != '\n')
        l->fixed = "a label or a statement stands before it on its line";
    for (k += 2; d->text[k] == ' '; k++) continue;
    while (n < sizeof concurrent - 1 && (d->text[k + n] | 32) == concurrent[n]) n++;
    if (n == sizeof concurrent - 1)
        l->fixed = "do concurrent states by itself that its iterations are independent";
}

static int find_fixed(hpc_pragma_loop *l, const directives *d, int64_t loop, hpc_arena *a)
{
    if (loop < 0) {
        l->fixed = "it is expanded from a macro";
        return HPC_OK;
    }
    const hpc_loop *x = &d->loops.item[loop];
    const char *why = before(d, hpc_token_at(&d->tokens, x->at), a);
    if (!why) return HPC_E_NOMEM;
    if (*why) l->fixed = why;
    if (is_constexpr(d, x)) l->fixed = "its function is constexpr";
    if (d->language == HPC_LANGUAGE_FORTRAN) find_fixed_fortran(l, d);
    return HPC_OK;
}

/* ---- all loops --------------------------------------------------------------------------------
 */

static int find_text(hpc_pragma_loop *l, const directives *d, int64_t loop, hpc_arena *a)
{
    hpc_buf b = {0};
    int rc = HPC_OK;
    int64_t p = directives_of(d, loop);
    if (p < 0) return HPC_OK;
    TRY(hpc_pragma_text(&b, &d->loops, p, &d->tokens, d->text, d->language));
    l->existing = hpc_arena_text(a, "%s", b.data);
    l->existing_is = HPC_EXISTING_UNPROVEN;
    if (!l->existing) rc = HPC_E_NOMEM;
out:
    hpc_buf_release(&b);
    return rc;
}

/* hpc_loops_find does not report `while` and `do` loops: they are found in the tree alone. */
static bool is_other_loop(const hpc_tree *t, const hpc_pragma_loop *l)
{
    return t->node[l->node].kind == HPC_TREE_WHILE || t->node[l->node].kind == HPC_TREE_DO;
}

/* ---- languages without a tree -----------------------------------------------------------------
 */

static int list_loop(hpc_pragma_loops *out, int64_t *cap, const directives *d, int64_t i,
                     hpc_evidence *why)
{
    const hpc_loop *x = &d->loops.item[i];
    int rc;
    TRY(hpc_grow(&out->item, cap, out->n + 1, sizeof *out->item));
    hpc_pragma_loop *l = &out->item[out->n];
    uint32_t begin = x->at;
    while (begin > 0 && d->text[begin - 1] != '\n') begin--;
    *l = (hpc_pragma_loop){.line = x->line,
                           .column = x->at - begin + 1,
                           .end_line = x->end_line,
                           .at = x->at,
                           .end = x->end,
                           .outer = -1,
                           .node = -1,
                           .function = "",
                           .inside = x->in_parallel && directives_of(d, i) < 0,
                           .likely = -1,
                           .evidence = why,
                           .evidence_n = 1};
    for (int64_t k = out->n - 1; x->outer >= 0 && k >= 0 && l->outer < 0; k--)
        if (out->item[k].at == d->loops.item[x->outer].at) l->outer = (int32_t)k;
    if (x->function >= 0) {
        const hpc_function *f = &d->functions.item[x->function];
        l->function = hpc_arena_text(out->arena, "%.*s", (int)f->name_n, d->text + f->name_at);
    }
    if (!l->function) TRY(HPC_E_NOMEM);
    TRY(find_text(l, d, i, out->arena));
    out->n++;
out:
    return rc;
}

/* ---- loops that the tree lacks -----------------------------------------------------------------
 */

/* Index of the innermost loop so far that ends at or after a byte; -1: none. */
static int32_t around(const hpc_pragma_loops *l, size_t end)
{
    int32_t k = (int32_t)l->n - 1;
    while (k >= 0 && l->item[k].end < end) k = l->item[k].outer;
    return k;
}

/* In a file that does not compile, whole functions may not be in the tree: their loops are unknown,
 * and stand where they stand in the text. */
static int find_lost(hpc_pragma_loops *lost, int64_t *cap, const hpc_pragma_loops *known,
                     const directives *d)
{
    int64_t k = 0;
    int rc = HPC_OK;
    hpc_evidence *why = hpc_arena_alloc(lost->arena, 1, sizeof *why);
    if (!why) return HPC_E_NOMEM;
    *why = (hpc_evidence){.kind = "form",
                          .text = "the compiler does not reach it: the code around it does not "
                                  "compile, or an #if excludes it",
                          .alone = HPC_VERDICT_UNKNOWN};
    for (int64_t i = 0; i < d->loops.n; i++) {
        const hpc_loop *x = &d->loops.item[i];
        while (k < known->n && known->item[k].at < x->at) k++;
        if (k < known->n && known->item[k].at == x->at) continue;
        TRY(list_loop(lost, cap, d, i, why));
    }
out:
    return rc;
}

/* Merges loops that the tree lacks into those that it has, both in the order of the text. */
static int merge(hpc_pragma_loops *out, const hpc_pragma_loops *lost)
{
    hpc_pragma_loops all = {.arena = out->arena};
    if (lost->n == 0) return HPC_OK;
    int32_t *moved = hpc_arena_alloc(out->arena, (size_t)out->n + 1, sizeof *moved);
    all.item = hpc_alloc((size_t)(lost->n + out->n), sizeof *all.item);
    if (!moved || !all.item) {
        hpc_free(all.item);
        return HPC_E_NOMEM;
    }
    for (int64_t i = 0, m = 0; i < out->n || m < lost->n;) {
        bool first = m == lost->n || (i < out->n && out->item[i].at < lost->item[m].at);
        hpc_pragma_loop *x = &all.item[all.n];
        *x = first ? out->item[i] : lost->item[m];
        if (first)
            x->outer = x->outer < 0 ? -1 : moved[x->outer];
        else
            x->outer = around(&all, x->end);
        if (first) moved[i++] = (int32_t)all.n;
        m += !first;
        all.n++;
    }
    hpc_free(out->item);
    *out = all;
    return HPC_OK;
}

static int add_lost(hpc_pragma_loops *out, const directives *d)
{
    hpc_pragma_loops lost = {.arena = out->arena};
    int64_t cap = 0;
    int rc;
    TRY(find_lost(&lost, &cap, out, d));
    rc = merge(out, &lost);
out:
    hpc_free(lost.item);
    return rc;
}

/* Calls that a library runs in parallel. Loops in their bodies are in a parallel region. */
static int add_library(hpc_pragma_loops *out, const directives *d)
{
    hpc_pragma_loops calls = {.arena = out->arena};
    int64_t cap = 0;
    int rc;
    TRY(library_find(&calls, &cap, d));
    TRY(merge(out, &calls));
    size_t end = 0;
    for (int64_t i = 0; i < out->n; i++) {
        if (out->item[i].already && out->item[i].end > end) end = out->item[i].end;
        if (!out->item[i].already && out->item[i].end <= end) out->item[i].inside = true;
    }
out:
    hpc_free(calls.item);
    return rc;
}

int existing_find(hpc_pragma_loops *out, const program *p, const hpc_pragma_options *o)
{
    directives d;
    int rc;
    TRY(directives_open(&d, p->text, p->text_n, p->language, o->fixed_form));
    if (p->t->errors > 0) TRY(add_lost(out, &d));
    for (int64_t i = 0; i < out->n; i++) {
        hpc_pragma_loop *x = &out->item[i];
        int64_t loop = directives_loop(&d, x->at);
        if (x->node < 0) continue;
        if (loop >= 0) {
            x->inside = d.loops.item[loop].in_parallel && directives_of(&d, loop) < 0;
            TRY(find_text(x, &d, loop, out->arena));
            if (x->existing) TRY(existing_review(x, &d, loop, p));
        } else if (x->outer >= 0) {
            x->inside = out->item[x->outer].inside || out->item[x->outer].existing;
        }
        if (!is_other_loop(p->t, x)) TRY(find_fixed(x, &d, loop, out->arena));
    }
    rc = add_library(out, &d);
out:
    directives_close(&d);
    return rc;
}

/* ---- the list ----------------------------------------------------------------------------------
 */

int pragma_list_line(hpc_pragma_loops *l, uint32_t line)
{
    for (int64_t i = 0; i + 1 < l->n; i++)
        l->item[i].holds = l->item[i + 1].outer == i || (l->item[i + 1].at > l->item[i].at &&
                                                         l->item[i + 1].at < l->item[i].end);
    if (line == 0) return HPC_OK;
    int32_t *moved = hpc_arena_alloc(l->arena, (size_t)l->n + 1, sizeof *moved);
    int64_t n = 0;
    if (!moved) return HPC_E_NOMEM;
    for (int64_t i = 0; i < l->n; i++) {
        hpc_pragma_loop x = l->item[i];
        moved[i] = -1;
        if (line < x.line || line > x.end_line) continue;
        if (x.outer >= 0) x.outer = moved[x.outer];
        moved[i] = (int32_t)n;
        l->item[n++] = x;
    }
    l->n = n;
    return HPC_OK;
}

/* ---- all of a text ------------------------------------------------------------------------------
 */

int hpc_pragma_list(hpc_pragma_loops *out, const char *text, size_t n, hpc_language l,
                    bool fixed_form, const char *why, const hpc_pragma_options *o)
{
    directives d = {0};
    int64_t cap = 0;
    int rc;
    *out = (hpc_pragma_loops){.arena = hpc_arena_create(0)};
    if (!out->arena) TRY(HPC_E_NOMEM);
    hpc_evidence *e = hpc_arena_alloc(out->arena, 1, sizeof *e);
    const char *kept = hpc_arena_text(out->arena, "%s", why);
    if (!e || !kept) TRY(HPC_E_NOMEM);
    *e = (hpc_evidence){.kind = "form", .text = kept, .alone = HPC_VERDICT_UNKNOWN};
    TRY(directives_open(&d, text, n, l, fixed_form));
    for (int64_t i = 0; i < d.loops.n; i++) TRY(list_loop(out, &cap, &d, i, e));
    TRY(pragma_list_line(out, o->line));
    hpc_pragma_weigh(out);
out:
    directives_close(&d);
    if (rc < 0) hpc_pragma_loops_release(out);
    return rc;
}
