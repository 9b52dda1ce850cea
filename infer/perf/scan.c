/*
 * Events of a function in C and related languages, in one pass over its tokens.
 *
 * The syntax around a name decides its meaning: a name before a parenthesis is called, one before a
 * bracket is an array. Fortran is in scan_fortran.c.
 */
#include <math.h>
#include <string.h>
#include <strings.h>

#include "infer/perf/scan.h"

static const hpc_token *token_at(const perf_scan *x, int64_t i)
{
    return i >= 0 && i < x->n ? perf_token(x, i) : NULL;
}

static char byte_at(const perf_scan *x, int64_t i)
{
    const hpc_token *t = token_at(x, i);
    return t ? x->s->text.data[t->at] : 0;
}

/* ---- loops around -----------------------------------------------------------------------------
 */

static bool same_bound(const perf_scan *x, const perf_region *r)
{
    for (int32_t k = 0; r->bound && k < x->open_n; k++)
        if (x->region[x->open[k]].bound == r->bound) return true;
    return false;
}

static int enter(perf_scan *x, uint32_t now)
{
    int rc = HPC_OK;
    while (x->open_n > 0 && x->region[x->open[x->open_n - 1]].end <= now) x->open_n--;
    while (x->choices_n > 0 && x->choice[x->choices_n - 1] <= now) x->choices_n--;
    while (x->guards_n > 0 && x->guard[x->guards_n - 1].end <= now) x->guards_n--;
    for (; x->next < x->regions_n && x->region[x->next].from <= now; x->next++) {
        const perf_region *r = &x->region[x->next];
        int64_t i = x->i;
        while (i > 0 && perf_token(x, i)->at > r->at) i--;
        TRY(perf_event_add(x, HPC_PERF_LOOP, i));
        if (same_bound(x, r)) TRY(perf_event_add(x, HPC_PERF_SAME_BOUND, i));
        if (r->end > now && x->open_n < PERF_OPEN) x->open[x->open_n++] = (int32_t)x->next;
    }
out:
    return rc;
}

/* ---- names -------------------------------------------------------------------------------------
 */

static bool is_member(const perf_scan *x, int64_t i)
{
    return PERF_IS(x, i - 1, ".") || PERF_IS(x, i - 1, "->") || PERF_IS(x, i - 1, "::");
}

/* After "<...>" at i, or i. */
static int64_t behind_angles(const perf_scan *x, int64_t i)
{
    int64_t open = 0;
    if (!PERF_IS(x, i, "<")) return i;
    for (int64_t k = i; k < x->n && k < i + 64; k++) {
        char c = byte_at(x, k);
        uint32_t n = perf_token(x, k)->n;
        if (c == '<' && n == 1) open++;
        if (c == '>' && n <= 2) open -= n;
        if (open <= 0) return k + 1;
        if (c == ';' || c == '{') break;
    }
    return i;
}

static bool is_body(const perf_scan *x, int64_t i)
{
    return x->function >= 0 && perf_token(x, i)->at > x->s->f.item[x->function].body_at;
}

/* `T name(` declares; `return name(` does not. */
static bool is_declared(const perf_scan *x, int64_t i)
{
    const hpc_token *before = token_at(x, i - 1);
    if (!before || before->kind != HPC_TOKEN_NAME) return false;
    if (before->flags & HPC_TOKEN_IN_DIRECTIVE) return false; /* the end of a #define's name */
    perf_word w = perf_word_find(x->words->c, before->hash);
    return !(w.how & PERF_WORD_KEYWORD);
}

/* A container is made, where it is not only referred to. */
static bool is_made(const perf_scan *x, int64_t i)
{
    int64_t k = behind_angles(x, i + 1);
    const hpc_token *t = token_at(x, k);
    if (!is_body(x, i) || !t || PERF_IS(x, i - 1, ".") || PERF_IS(x, i - 1, "->")) return false;
    return t->kind == HPC_TOKEN_NAME ||
           (k > i + 1 && (byte_at(x, k) == '(' || byte_at(x, k) == '{'));
}

static bool applies(const perf_scan *x, perf_word w, int64_t i)
{
    if ((w.how & PERF_WORD_CPP) && !x->cpp) return false;
    if (w.how & PERF_WORD_TYPE) return is_made(x, i);
    if (w.how & PERF_WORD_ALONE) return true;
    if (!(w.how & PERF_WORD_CALLED)) return false;
    if ((w.how & PERF_WORD_MEMBER) && !is_member(x, i)) return false;
    return byte_at(x, behind_angles(x, i + 1)) == '(' && !is_declared(x, i);
}

uint32_t perf_function_name(const hpc_perf_source *s, int64_t function)
{
    const hpc_function *d = &s->f.item[function];
    uint32_t name = 0;
    for (int64_t i = hpc_token_at(&s->t, d->name_at); i < s->t.n; i++) {
        if (s->t.item[i].at >= d->name_at + d->name_n) break;
        if (s->t.item[i].kind == HPC_TOKEN_NAME) name = s->t.item[i].hash;
    }
    return name;
}

static int call(perf_scan *x, int64_t i)
{
    const hpc_token *t = perf_token(x, i);
    int message = perf_scan_message(x, i);
    if (message >= 0) return perf_event_add(x, (hpc_perf_event_kind)message, i);
    bool macro = t->flags & HPC_TOKEN_IN_DIRECTIVE;
    if ((!is_body(x, i) && !macro) || is_declared(x, i)) return HPC_OK;
    bool self = perf_scan_is_itself(x, i) && !is_member(x, i);
    return perf_event_add(x, self ? HPC_PERF_RECURSE : HPC_PERF_CALL, i);
}

/* ---- what jumps --------------------------------------------------------------------------------
 */

/* `return x;` before the last brace. */
static bool is_last(const perf_scan *x, int64_t i)
{
    int64_t k = i;
    while (k < x->n && k < i + 256 && byte_at(x, k) != ';') k++;
    return k + 2 == x->n;
}

static int jump(perf_scan *x, int64_t i)
{
    bool leaves = PERF_IS(x, i, "break");
    uint32_t loop = x->open_n > 0 ? x->region[x->open[x->open_n - 1]].end : UINT32_MAX;
    if (leaves && x->choices_n > 0 && x->choice[x->choices_n - 1] < loop) return HPC_OK;
    if (PERF_IS(x, i, "return") && is_last(x, i)) return HPC_OK;
    return perf_event_add(x, HPC_PERF_EXIT, i);
}

static int choose(perf_scan *x, int64_t i)
{
    if (PERF_IS(x, i, "switch") && i + 1 < x->n && x->mate[i + 1] > i) {
        int64_t brace = x->mate[i + 1] + 1;
        if (PERF_IS(x, brace, "{") && x->mate[brace] > brace && x->choices_n < PERF_OPEN)
            x->choice[x->choices_n++] = perf_token(x, x->mate[brace])->at;
    }
    int rc = perf_event_add(x, HPC_PERF_BRANCH, i);
    if (PERF_IS(x, i, "if") && i + 1 < x->n && x->mate[i + 1] > i) x->late = x->mate[i + 1] + 1;
    return rc;
}

/* Tokens [lo, hi) report an error or exit, and so rarely run. */
static bool gives_up(const perf_scan *x, int64_t lo, int64_t hi)
{
    static const char *const names[] = {"exit",  "abort", "throw", "die",    "fatal",  "panic",
                                        "error", "fail",  "errx",  "perror", "stderr", "cerr"};
    for (int64_t i = lo; i < hi; i++) {
        const hpc_token *t = perf_token(x, i);
        if (t->kind != HPC_TOKEN_NAME || t->n > 6) continue;
        for (size_t k = 0; k < sizeof names / sizeof *names; k++)
            if (perf_is(x, i, names[k], strlen(names[k]))) return true;
    }
    return false;
}

/* What follows at i is not always done. */
static void guard(perf_scan *x, int64_t i)
{
    enum { SEEN = 256 };
    static const float half = 0.5f, seldom = 0.02f;
    int64_t end = i;
    if (i >= x->n || x->guards_n == PERF_OPEN) return;
    if (PERF_IS(x, i, "{") && x->mate[i] > i)
        end = x->mate[i];
    else
        while (end < x->n && end < i + SEEN && !PERF_IS(x, end, ";") && !PERF_IS(x, end, "}")) {
            bool block = PERF_IS(x, end, "{");
            if (x->mate[end] > end) end = x->mate[end];
            if (block) break; /* else if () { } */
            end++;
        }
    if (end >= x->n) return;
    bool up = gives_up(x, i, end < i + SEEN ? end : i + SEEN);
    x->guard[x->guards_n].end = perf_token(x, end)->at + perf_token(x, end)->n;
    x->guard[x->guards_n++].share = up ? seldom : half;
}

static int keyword(perf_scan *x, int64_t i)
{
    if (!is_body(x, i)) return HPC_OK;
    if (PERF_IS(x, i, "else")) guard(x, i + 1);
    if (PERF_IS(x, i, "for")) return perf_scan_element(x, i);
    if (PERF_IS(x, i, "if") || PERF_IS(x, i, "switch")) return choose(x, i);
    bool jumps = PERF_IS(x, i, "return") || PERF_IS(x, i, "break") || PERF_IS(x, i, "goto") ||
                 PERF_IS(x, i, "continue");
    return jumps ? jump(x, i) : HPC_OK;
}

static int name(perf_scan *x, int64_t *subscript, int64_t i)
{
    perf_word w = perf_word_find(x->words->c, perf_token(x, i)->hash);
    if (w.how & PERF_WORD_KEYWORD) return keyword(x, i);
    if (w.how && applies(x, w, i))
        return w.kind < HPC_PERF_EVENTS ? perf_event_add(x, (hpc_perf_event_kind)w.kind, i)
                                        : HPC_OK;
    char next = byte_at(x, i + 1);
    if (next == '[' && is_declared(x, i)) return HPC_OK; /* double a[8], new T[n] */
    if (next == '[' && x->mate[i + 1] > i) {
        int64_t behind = i;
        int rc = perf_scan_index(x, &behind, i);
        if (behind > *subscript) *subscript = behind;
        return rc;
    }
    if (PERF_IS(x, i + 1, "<<<") && is_body(x, i)) return perf_event_add(x, HPC_PERF_LAUNCH, i);
    if (byte_at(x, behind_angles(x, i + 1)) == '(') return call(x, i);
    return HPC_OK;
}

/* ---- operators ---------------------------------------------------------------------------------
 */

/* A value precedes i, so that '*' is a product and '-' a difference. */
static bool behind_value(const perf_scan *x, int64_t i)
{
    const hpc_token *t = token_at(x, i - 1);
    if (!t) return false;
    if (t->kind == HPC_TOKEN_NUMBER) return true;
    char c = x->s->text.data[t->at];
    if (t->kind == HPC_TOKEN_PUNCT) return c == ')' || c == ']';
    if (t->kind != HPC_TOKEN_NAME) return false;
    return !(perf_word_find(x->words->c, t->hash).how & (PERF_WORD_KEYWORD | PERF_WORD_SCALAR));
}

static int operation(perf_scan *x, int64_t subscript, int64_t i)
{
    const hpc_token *t = perf_token(x, i);
    char c = byte_at(x, i), second = t->n > 1 ? x->s->text.data[t->at + 1] : 0;
    bool macro = t->flags & HPC_TOKEN_IN_DIRECTIVE;
    if (!is_body(x, i) && !macro) return HPC_OK;
    switch (c) {
    case '/':
    case '%': return behind_value(x, i) ? perf_event_add(x, HPC_PERF_DIVIDE, i) : HPC_OK;
    case '+':
    case '-':
    case '*':
        if (i < subscript || second == '>' || second == c || !behind_value(x, i)) return HPC_OK;
        return perf_event_add(x, HPC_PERF_ARITHMETIC, i);
    case '?': return perf_event_add(x, HPC_PERF_BRANCH, i);
    default: return HPC_OK;
    }
}

/* ---- the whole ----------------------------------------------------------------------------------
 */

static int walk(perf_scan *x)
{
    int64_t subscript = 0; /* tokens before it are in one */
    int rc = HPC_OK;
    for (x->i = 0; x->i < x->n; x->i++) {
        const hpc_token *t = perf_token(x, x->i);
        TRY(enter(x, t->at));
        if (x->i == x->late) guard(x, x->i);
        x->depth[x->i] = (uint8_t)(x->open_n < PERF_DEPTH ? x->open_n : PERF_DEPTH);
        if (t->kind == HPC_TOKEN_SENTINEL)
            TRY(perf_scan_directive(x));
        else if (x->fortran)
            TRY(perf_scan_fortran(x));
        else if (t->kind == HPC_TOKEN_NAME)
            TRY(name(x, &subscript, x->i));
        else if (t->kind == HPC_TOKEN_PUNCT)
            TRY(operation(x, subscript, x->i));
    }
out:
    return rc;
}

int perf_scan_run(perf_scan *x, const hpc_perf_source *s, int64_t function)
{
    int rc = HPC_OK;
    x->s = s;
    x->function = function;
    x->fortran = s->language == HPC_LANGUAGE_FORTRAN;
    x->cpp = s->language == HPC_LANGUAGE_CPP || s->language == HPC_LANGUAGE_CUDA ||
             s->language == HPC_LANGUAGE_HIP;
    x->events_n = x->regions_n = x->next = 0;
    x->open_n = x->choices_n = x->guards_n = 0;
    x->late = -1;
    x->brackets.n = x->loops.n = 0;
    TRY(hpc_function_code(&x->code, &s->t, &s->f, function));
    x->n = (int64_t)(x->code.n / sizeof(int64_t));
    TRY(hpc_grow(&x->mate, &x->mate_cap, x->n + 1, sizeof *x->mate));
    TRY(hpc_grow(&x->depth, &x->depth_cap, x->n + 1, sizeof *x->depth));
    for (int64_t i = 0; i < x->n; i++) x->mate[i] = -1;
    memset(x->depth, 0, (size_t)x->n);
    if (s->kind == HPC_PERF_BUILD) {
        TRY(perf_scan_build(x));
        goto out;
    }
    TRY(perf_scan_regions(x));
    if (function >= 0 && !x->fortran) TRY(perf_scan_signature(x));
    TRY(walk(x));
out:
    return rc;
}

void perf_scan_release(perf_scan *x)
{
    hpc_buf_release(&x->code);
    hpc_free(x->mate);
    hpc_free(x->depth);
    hpc_free(x->region);
    hpc_free(x->event);
    hpc_loops_release(&x->loops);
    hpc_brackets_release(&x->brackets);
    hpc_tokens_release(&x->own);
}
