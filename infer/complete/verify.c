/*
 * verify.c: completions in their place: whether brackets still pair, whether the compiler
 * can read it, and whether it takes it with the file's flags.
 *
 * Each check is an entry by its kind. Loops under directives of OpenMP are judged by the analysis
 * of infer/pragma: what is racy sinks.
 */
#include "infer/complete/verify.h"

#include <stdio.h>
#include <string.h>

#include "infer/complete/priv.h"
#include "infer/pragma/pragma.h"

enum { NEAR = 400 }; /* bytes before the place in which a directive counts */

/* ---- the entries -------------------------------------------------------------------------------
 */

static hpc_completion_check *add(hpc_completion *c, const char *kind)
{
    hpc_assert(c->check_n < HPC_COMPLETION_CHECKS);
    hpc_completion_check *k = &c->check[c->check_n++];
    *k = (hpc_completion_check){.kind = kind, .ok = true};
    return k;
}

/* ---- brackets ----------------------------------------------------------------------------------
 */

typedef struct bracketed {
    hpc_buf text;
    hpc_tokens tokens;
    hpc_brackets brackets;
    int64_t open, closing; /* without a partner */
} bracketed;

static void release(bracketed *b)
{
    hpc_buf_release(&b->text);
    hpc_tokens_release(&b->tokens);
    hpc_brackets_release(&b->brackets);
}

static int count(bracketed *b, const hpc_spot *d, const hpc_buf *put)
{
    int rc;
    b->text.n = 0;
    b->open = b->closing = 0;
    TRY(hpc_buf_add(&b->text, d->text.data, d->at));
    if (put) TRY(hpc_buf_add(&b->text, put->data, put->n));
    TRY(hpc_buf_add(&b->text, d->text.data + d->at, d->text.n - d->at));
    TRY(hpc_lex(&b->tokens, b->text.data, b->text.n, d->language, d->fixed));
    TRY(hpc_brackets_find(&b->brackets, &b->tokens, b->text.data, d->language));
    for (int64_t k = 0; k < b->brackets.n; k++) {
        const hpc_bracket *x = &b->brackets.item[k];
        if (x->partner < 0) (*(x->closes ? &b->closing : &b->open))++;
    }
out:
    return rc;
}

static int64_t line_of(const hpc_buf *text, size_t at)
{
    int64_t line = 1;
    for (size_t k = 0; k < at; k++) line += text->data[k] == '\n';
    return line;
}

/* The last one without a partner, of those that open or of those that close. */
static void tell(hpc_completion_check *k, const bracketed *b, bool closes)
{
    const hpc_bracket *found = NULL;
    for (int64_t i = 0; i < b->brackets.n; i++) {
        const hpc_bracket *x = &b->brackets.item[i];
        if (x->partner < 0 && x->closes == closes) found = x;
    }
    if (!found) return;
    int n = found->end - found->at < 40 ? (int)(found->end - found->at) : 40;
    k->ok = false;
    snprintf(k->text, sizeof k->text, "line %lld: \"%.*s\" %s",
             (long long)line_of(&b->text, found->at), n, b->text.data + found->at,
             closes ? "closes nothing" : "is not closed");
}

static int check_brackets(hpc_completions *c, const hpc_spot *d)
{
    bracketed b = {0};
    int rc = HPC_OK;
    if (d->language == HPC_LANGUAGE_NONE) return HPC_OK;
    TRY(count(&b, d, NULL));
    const int64_t open = b.open, closing = b.closing;
    for (int64_t k = 0; k < c->n; k++) {
        hpc_completion_check *check = add(&c->item[k], "brackets");
        TRY(count(&b, d, &c->item[k].text));
        if (b.closing > closing)
            tell(check, &b, true);
        else if (b.open > open)
            tell(check, &b, false);
    }
out:
    release(&b);
    return rc;
}

/* ---- the compiler ------------------------------------------------------------------------------
 */

static int check_one(hpc_completion *c, hpc_check_file *f, const char *kind)
{
    hpc_check found;
    int rc = hpc_check_text(&found, f, c->text.data ? c->text.data : "", c->text.n);
    if (rc < 0) return rc;
    hpc_completion_check *k = add(c, kind);
    k->ok = found.verdict == HPC_CHECK_GOOD;
    if (!k->ok && found.line > 0)
        snprintf(k->text, sizeof k->text, "line %u: %.200s", found.line, found.text);
    else if (!k->ok)
        snprintf(k->text, sizeof k->text, "%.200s", found.text);
    return HPC_OK;
}

static int check_compiler(hpc_completions *c, const hpc_spot *d,
                          const hpc_completions_verify_options *o)
{
    const hpc_check_source s = {.path = o->path,
                                .text = d->text.data,
                                .n = d->text.n,
                                .lo = d->at,
                                .hi = d->at,
                                .language = d->language,
                                .flags = o->flags};
    hpc_check_file *f = NULL;
    int rc = HPC_OK;
    if (!o->checker || !hpc_check_knows(d->language)) return HPC_OK;
    TRY(hpc_check_file_open(&f, o->checker, &s));
    const char *kind = hpc_check_file_base(f)->strict ? "compile" : "parse";
    for (int64_t k = 0; k < c->n; k++) TRY(check_one(&c->item[k], f, kind));
out:
    hpc_check_file_close(f);
    return rc;
}

/* ---- directives of OpenMP -----------------------------------------------------------------------
 */

typedef struct judged { /* the file with a completion in it */
    hpc_buf text;
    hpc_tree_source *source;
    hpc_tree tree;
    hpc_pragma_loops loops;
} judged;

static void judged_release(judged *j)
{
    hpc_pragma_loops_release(&j->loops);
    hpc_tree_release(&j->tree);
    hpc_tree_close(j->source);
    hpc_buf_release(&j->text);
}

static int judge(judged *j, const hpc_spot *d, const hpc_buf *put,
                 const hpc_completions_verify_options *o)
{
    static const hpc_pragma_options options = HPC_PRAGMA_DEFAULTS;
    int rc;
    j->text.n = 0;
    TRY(hpc_buf_add(&j->text, d->text.data, d->at));
    TRY(hpc_buf_add(&j->text, put->data, put->n));
    TRY(hpc_buf_add(&j->text, d->text.data + d->at, d->text.n - d->at));
    if (j->source) {
        TRY(hpc_tree_again(&j->tree, j->source, j->text.data, j->text.n));
    } else {
        TRY(hpc_tree_open(&j->source, o->checker,
                          &(hpc_tree_file){.path = o->path,
                                           .text = j->text.data,
                                           .n = j->text.n,
                                           .language = d->language,
                                           .flags = o->flags}));
        TRY(hpc_tree_get(&j->tree, j->source));
    }
    hpc_pragma_loops_release(&j->loops);
    TRY(hpc_pragma_find(&j->loops, &j->tree, j->text.data, j->text.n, d->language, &options));
out:
    return rc;
}

/* Whether a loop, or the line of its directive, is in the completion [at, end) at least in part. */
static bool reaches(const hpc_pragma_loop *l, const hpc_buf *text, size_t at, size_t end)
{
    while (end < text->n && strchr(" \t\r\n", text->data[end])) end++;
    return l->existing && l->end > at && l->at <= end;
}

static const char *fault_of(const hpc_pragma_loop *l)
{
    switch (l->existing_is) {
    case HPC_EXISTING_RACY: return "iterations depend on each other";
    case HPC_EXISTING_CLAUSE: return "a private, lastprivate or linear is missing or wrong";
    case HPC_EXISTING_REDUCTION: return "a reduction is missing or wrong";
    default: return NULL;
    }
}

static void tell_loop(hpc_completion_check *k, const hpc_pragma_loop *l)
{
    const hpc_evidence *e = l->evidence_n > 0 ? &l->evidence[0] : NULL;
    k->ok = false;
    snprintf(k->text, sizeof k->text, "line %u: %s%s%.150s", l->line, fault_of(l), e ? ": " : "",
             e ? e->text : "");
}

static int check_loops(hpc_completion *c, judged *j, const hpc_spot *d,
                       const hpc_completions_verify_options *o)
{
    hpc_completion_check *k = NULL;
    int rc = judge(j, d, &c->text, o);
    if (rc < 0) return rc;
    for (int64_t i = 0; i < j->loops.n; i++) {
        const hpc_pragma_loop *l = &j->loops.item[i];
        if (!reaches(l, &j->text, d->at, d->at + c->text.n)) continue;
        if (!k) k = add(c, "openmp");
        if (k->ok && fault_of(l)) tell_loop(k, l);
    }
    return HPC_OK;
}

/* Only where a completion has a directive, or stands below one. */
static int check_openmp(hpc_completions *c, const hpc_spot *d,
                        const hpc_completions_verify_options *o)
{
    judged j = {0};
    int rc = HPC_OK;
    if (!o->checker || !hpc_check_knows(d->language)) return HPC_OK;
    const size_t near = d->at < NEAR ? d->at : NEAR;
    const bool below = memmem(d->text.data + d->at - near, near, "pragma omp", 10) != NULL;
    for (int64_t k = 0; k < c->n; k++) {
        const hpc_buf *text = &c->item[k].text;
        if (text->n == 0) continue;
        if (below || memmem(text->data, text->n, "pragma omp", 10))
            TRY(check_loops(&c->item[k], &j, d, o));
    }
out:
    judged_release(&j);
    return rc;
}

/* ---- ranks --------------------------------------------------------------------------------------
 */

static int64_t failed(const hpc_completion *c)
{
    int64_t n = 0;
    for (int64_t k = 0; k < c->check_n; k++) n += !c->check[k].ok;
    return n;
}

/* From best to worst: fewer failed checks, fragments of cancelled completions, empty texts. The
 * sort is stable. */
static int64_t depth(const hpc_completion *c)
{
    if (c->text.n == 0) return HPC_COMPLETION_CHECKS + 2;
    return c->finish == HPC_FINISH_CANCELLED ? HPC_COMPLETION_CHECKS + 1 : failed(c);
}

static void sink(hpc_completions *c)
{
    for (int64_t k = 1; k < c->n; k++) {
        hpc_completion moved = c->item[k];
        int64_t i = k;
        for (; i > 0 && depth(&c->item[i - 1]) > depth(&moved); i--) c->item[i] = c->item[i - 1];
        c->item[i] = moved;
    }
}

int hpc_completions_verify(hpc_completions *c, const hpc_spot *spot,
                           const hpc_completions_verify_options *o)
{
    int rc;
    TRY(check_brackets(c, spot));
    TRY(check_compiler(c, spot, o));
    TRY(check_openmp(c, spot, o));
    sink(c);
out:
    return rc;
}
