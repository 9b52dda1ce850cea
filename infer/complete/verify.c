/*
 * Checks of completions in their file: complete, body, brackets, parse or compile, openmp, intent.
 *
 * Loops under OpenMP directives are judged by the analysis of infer/pragma.
 */
#include "infer/complete/verify.h"

#include <stdio.h>
#include <string.h>

#include "infer/complete/priv.h"
#include "infer/pragma/pragma.h"

enum { NEAR = 400 }; /* bytes before the place in which a directive counts */

struct hpc_completions_checker {
    const hpc_spot *spot;
    hpc_completions_verify_options o;
    bool blocks;          /* a block or a function is to be closed */
    hpc_check_file *file; /* NULL until the compiler is asked */
    complete_body body;
    hpc_tokens tokens;
    struct judged *judged; /* NULL until a loop is */
};

/* ---- the entries -------------------------------------------------------------------------------
 */

static hpc_completion_check *add(hpc_completion *c, const char *kind)
{
    hpc_assert(c->check_n < HPC_COMPLETION_CHECKS);
    hpc_completion_check *k = &c->check[c->check_n++];
    *k = (hpc_completion_check){.kind = kind, .ok = true};
    return k;
}

/* Its line ends by opening a block. */
static bool opens_block(const hpc_completion *c)
{
    size_t n = c->text.n;
    while (n > 0 && complete_is_blank(c->text.data + n - 1, 1)) n--;
    return n > 0 && c->text.data[n - 1] == '{';
}

/* ---- the end -----------------------------------------------------------------------------------
 */

static const char *reason_of(const hpc_completion *c, int64_t open)
{
    switch (c->finish) {
    case HPC_COMPLETION_LENGTH: return "it reached the token limit";
    case HPC_COMPLETION_REPETITION: return "the model repeats itself";
    case HPC_COMPLETION_UNBALANCED: return "it closes a bracket that is not open";
    case HPC_COMPLETION_TIME: return "it reached the time limit";
    case HPC_COMPLETION_CANCELLED: return "it was cancelled";
    case HPC_COMPLETION_ERROR: return "the model has no next token";
    default: return open > 0 ? "the model ended it" : NULL;
    }
}

/* A line may open a block; parentheses have to close. */
static void check_complete(hpc_completion *c, bool blocks)
{
    hpc_completion_check *k = add(c, "complete");
    const int64_t open = c->open - (blocks ? 0 : opens_block(c));
    const char *reason = reason_of(c, open);
    k->ok = reason == NULL;
    if (k->ok) return;
    int n = c->tokens == 0
                ? snprintf(k->text, sizeof k->text, "%s within the first statement", reason)
                : snprintf(k->text, sizeof k->text, "%s after %lld token%s", reason,
                           (long long)c->tokens, c->tokens == 1 ? "" : "s");
    if (open > 0)
        snprintf(k->text + n, sizeof k->text - (size_t)n, ", with %lld bracket%s open",
                 (long long)open, open == 1 ? "" : "s");
}

/* ---- its function ------------------------------------------------------------------------------
 */

static int check_body(hpc_completions *c, hpc_completions_checker *v)
{
    int rc = HPC_OK;
    for (int64_t i = 0; i < c->n; i++) {
        bool trivial;
        const char *missing;
        TRY(complete_body_judge(&trivial, &missing, &v->body, &v->tokens, v->spot,
                                &c->item[i].text));
        if (v->body.asks) {
            hpc_completion_check *k = add(&c->item[i], "body");
            k->ok = !trivial;
            if (trivial) snprintf(k->text, sizeof k->text, "it has no statements");
        }
        if (!missing) continue;
        hpc_completion_check *k = add(&c->item[i], "intent");
        k->ok = false;
        snprintf(k->text, sizeof k->text, "%s is requested but not used", missing);
    }
out:
    return rc;
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

static int count(bracketed *b, const hpc_spot *d, const hpc_buf *put, bool closes)
{
    int rc;
    b->text.n = 0;
    b->open = b->closing = 0;
    TRY(hpc_buf_add(&b->text, d->text.data, d->at));
    if (put) TRY(hpc_buf_add(&b->text, put->data, put->n));
    if (closes) TRY(hpc_buf_text(&b->text, "}"));
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

static int check_brackets(hpc_completions *c, const hpc_completions_checker *v)
{
    const hpc_spot *d = v->spot;
    bracketed b = {0};
    int rc = HPC_OK;
    if (d->language == HPC_LANGUAGE_NONE) return HPC_OK;
    TRY(count(&b, d, NULL, false));
    const int64_t open = b.open, closing = b.closing;
    for (int64_t k = 0; k < c->n; k++) {
        hpc_completion_check *check = add(&c->item[k], "brackets");
        TRY(count(&b, d, &c->item[k].text, !v->blocks && opens_block(&c->item[k])));
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

static void tell_error(hpc_completion_check *k, const hpc_check *found)
{
    k->ok = false;
    if (found->line > 0)
        snprintf(k->text, sizeof k->text, "line %u: %.200s", found->line, found->text);
    else
        snprintf(k->text, sizeof k->text, "%.200s", found->text);
}

/* `parse`, and where errors of the compiler count or are found, `compile`. */
static int check_one(hpc_completion *c, hpc_completions_checker *v)
{
    hpc_buf text = {0};
    hpc_check found;
    int rc;
    TRY(hpc_buf_add(&text, c->text.data, c->text.n));
    if (!v->blocks && opens_block(c)) TRY(hpc_buf_text(&text, "}"));
    TRY(hpc_check_text(&found, v->file, text.n > 0 ? text.data : "", text.n));
    const bool good = found.verdict == HPC_CHECK_GOOD;
    const bool parses = good || (found.verdict == HPC_CHECK_BAD && !found.of_parser);
    hpc_completion_check *k = add(c, "parse");
    if (!parses) tell_error(k, &found);
    if (!parses || (good && !hpc_check_file_base(v->file)->strict)) goto out;
    k = add(c, "compile");
    if (!good) tell_error(k, &found);
out:
    hpc_buf_release(&text);
    return rc;
}

static int open_file(hpc_completions_checker *v)
{
    const hpc_spot *d = v->spot;
    const hpc_check_source s = {.path = v->o.path,
                                .text = d->text.data,
                                .n = d->text.n,
                                .lo = d->at,
                                .hi = d->at,
                                .language = d->language,
                                .flags = v->o.flags};
    return v->file ? HPC_OK : hpc_check_file_open(&v->file, v->o.checker, &s);
}

static int check_compiler(hpc_completions *c, hpc_completions_checker *v)
{
    int rc = HPC_OK;
    if (!v->o.checker || !hpc_check_knows(v->spot->language)) return HPC_OK;
    TRY(open_file(v));
    for (int64_t k = 0; k < c->n; k++) TRY(check_one(&c->item[k], v));
out:
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

/* True if a loop, or the line of its directive, is at least partly in the completion [at, end). */
static bool reaches(const hpc_pragma_loop *l, const hpc_buf *text, size_t at, size_t end)
{
    while (end < text->n && strchr(" \t\r\n", text->data[end])) end++;
    return l->existing && l->end > at && l->at <= end;
}

static const char *fault_of(const hpc_pragma_loop *l)
{
    switch (l->existing_is) {
    case HPC_EXISTING_RACY: return "iterations depend on each other";
    case HPC_EXISTING_CLAUSE: return "a private, lastprivate or linear clause is missing or wrong";
    case HPC_EXISTING_REDUCTION: return "a reduction clause is missing or wrong";
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
static int check_openmp(hpc_completions *c, hpc_completions_checker *v)
{
    const hpc_spot *d = v->spot;
    int rc = HPC_OK;
    if (!v->o.checker || !hpc_check_knows(d->language)) return HPC_OK;
    if (!v->judged) v->judged = hpc_alloc(1, sizeof *v->judged);
    if (!v->judged) return HPC_E_NOMEM;
    const size_t near = d->at < NEAR ? d->at : NEAR;
    const bool below = memmem(d->text.data + d->at - near, near, "pragma omp", 10) != NULL;
    for (int64_t k = 0; k < c->n; k++) {
        const hpc_buf *text = &c->item[k].text;
        if (text->n == 0) continue;
        if (below || memmem(text->data, text->n, "pragma omp", 10))
            TRY(check_loops(&c->item[k], v->judged, d, &v->o));
    }
out:
    return rc;
}

/* ---- ranks --------------------------------------------------------------------------------------
 */

bool hpc_completion_has_failed(const hpc_completion *c, const char *kind)
{
    for (int64_t k = 0; k < c->check_n; k++)
        if (strcmp(c->check[k].kind, kind) == 0 && !c->check[k].ok) return true;
    return false;
}

/* Each weighs more than all after it together. */
static const char *const kinds[] = {"complete", "body",   "brackets", "parse",
                                    "compile",  "openmp", "intent"};
enum { KINDS = sizeof kinds / sizeof *kinds };

static int depth(const hpc_completion *c)
{
    int sum = c->finish == HPC_COMPLETION_FORCED;
    if (c->text.n == 0) return 4 << KINDS;
    if (c->finish == HPC_COMPLETION_CANCELLED) return 2 << KINDS;
    for (int k = 0; k < KINDS; k++) sum += hpc_completion_has_failed(c, kinds[k]) << (KINDS - k);
    return sum;
}

const hpc_completion_check *hpc_completion_incomplete(const hpc_completion *c,
                                                      hpc_complete_stop stop)
{
    for (int64_t k = 0; k < c->check_n; k++) {
        const char *kind = c->check[k].kind;
        bool whole = strcmp(kind, "complete") == 0 || strcmp(kind, "brackets") == 0 ||
                     (stop != HPC_STOP_LINE && strcmp(kind, "parse") == 0);
        if (whole && !c->check[k].ok) return &c->check[k];
    }
    return NULL;
}

const hpc_completion_check *hpc_completion_worst(const hpc_completion *c)
{
    for (int k = 0; k < KINDS; k++)
        for (int64_t i = 0; i < c->check_n; i++)
            if (!c->check[i].ok && strcmp(c->check[i].kind, kinds[k]) == 0) return &c->check[i];
    return NULL;
}

bool hpc_completion_is_good(const hpc_completion *c)
{
    return depth(c) == 0;
}

void hpc_completions_rank(hpc_completions *c)
{
    for (int64_t k = 1; k < c->n; k++) {
        hpc_completion moved = c->item[k];
        int64_t i = k;
        for (; i > 0 && depth(&c->item[i - 1]) > depth(&moved); i--) c->item[i] = c->item[i - 1];
        c->item[i] = moved;
    }
}

/* ---- all of them --------------------------------------------------------------------------------
 */

int hpc_completions_checker_open(hpc_completions_checker **out, const hpc_spot *spot,
                                 const hpc_completions_verify_options *o)
{
    hpc_completions_checker *v = hpc_alloc(1, sizeof *v);
    hpc_complete_stop stop;
    int rc = HPC_OK;
    *out = NULL;
    if (!v) return HPC_E_NOMEM;
    v->spot = spot;
    v->o = *o;
    TRY(hpc_complete_stop_at(&stop, spot, o->stop));
    v->blocks = spot->language != HPC_LANGUAGE_NONE && stop != HPC_STOP_LINE;
    if (v->blocks) TRY(complete_body_find(&v->body, &v->tokens, spot));
    *out = v;
    v = NULL;
out:
    hpc_completions_checker_close(v);
    return rc;
}

void hpc_completions_checker_close(hpc_completions_checker *v)
{
    if (!v) return;
    if (v->judged) judged_release(v->judged);
    hpc_free(v->judged);
    hpc_check_file_close(v->file);
    hpc_tokens_release(&v->tokens);
    hpc_free(v);
}

const hpc_check_base *hpc_completions_checker_base(const hpc_completions_checker *v)
{
    return v->file ? hpc_check_file_base(v->file) : NULL;
}

int hpc_completions_check(hpc_completions *c, hpc_completions_checker *v)
{
    int rc;
    for (int64_t k = 0; k < c->n; k++) {
        c->item[k].check_n = 0;
        if (v->spot->language != HPC_LANGUAGE_NONE) check_complete(&c->item[k], v->blocks);
    }
    TRY(check_brackets(c, v));
    if (v->blocks) TRY(check_body(c, v));
    hpc_completions_rank(c);
    rc = check_compiler(c, v);
    if (rc >= 0) rc = check_openmp(c, v);
    if (rc == HPC_E_UNSUPPORTED && v->o.give_up) {
        v->o.give_up(v->o.user, hpc_error_get()->text);
        hpc_error_clear();
        v->o.checker = NULL;
        rc = HPC_OK;
    }
    hpc_completions_rank(c);
out:
    return rc;
}

/* ---- drawing ------------------------------------------------------------------------------------
 */

enum { ROUND = 4 }; /* answers of a round; the first one is drawn alone */
static const double DRAWN = 0.6;

static bool is_cancelled(const hpc_complete_request *r)
{
    return r->cancel && __atomic_load_n(r->cancel, __ATOMIC_RELAXED);
}

static bool is_over(const hpc_complete_request *r)
{
    return is_cancelled(r) || (r->until_ns > 0 && hpc_clock_ns() >= r->until_ns);
}

static int draw(hpc_completions *out, hpc_completer *c, const hpc_complete_request *r,
                hpc_completions_checker *v)
{
    int rc;
    TRY(hpc_complete(out, c, r));
    if (!is_cancelled(r)) TRY(hpc_completions_check(out, v));
out:
    return rc;
}

int hpc_complete_until_good(hpc_completions *out, hpc_completer *c, const hpc_complete_request *r,
                            hpc_completions_checker *v)
{
    hpc_complete_request q = *r;
    hpc_completions more = {0};
    int rc;
    q.samples = 1;
    TRY(draw(out, c, &q, v));
    q.ready = NULL;
    if (q.sampling.temperature < DRAWN) q.sampling.temperature = DRAWN;
    while (out->drawn < r->samples && !is_over(r) &&
           !(out->n > 0 && hpc_completion_is_good(&out->item[0])))
    {
        q.samples = r->samples - out->drawn < ROUND ? r->samples - out->drawn : ROUND;
        q.sampling.seed++;
        TRY(draw(&more, c, &q, v));
        TRY(hpc_completions_merge(out, &more));
        hpc_completions_rank(out);
    }
out:
    hpc_completions_release(&more);
    return rc;
}
