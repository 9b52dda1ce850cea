/*
 * loop_fortran.c: finds Fortran loops and their directives.
 *
 * It works statement by statement; only `do`, its ends and labels matter. `do while`
 * and a bare `do` are not reported, but their ends are matched. Code after a "!$" is
 * skipped.
 */
#include "runtime/source/nest.h"

enum { HEAD = 8 }; /* label, name, ':', do, label, ',', variable, '=' */

typedef struct statement {
    const hpc_token *head[HEAD]; /* its first tokens of code */
    const hpc_token *last;
    int n; /* of head */
} statement;

typedef enum statement_kind { STATEMENT, LOOP, CONCURRENT, OTHER_DO, END_DO } statement_kind;

static bool is_word(const hpc_nest *n, const statement *s, int k, const char *word)
{
    if (k >= s->n || s->head[k]->kind != HPC_TOKEN_NAME || s->head[k]->n != strlen(word))
        return false;
    const uint8_t *p = (const uint8_t *)n->text + s->head[k]->at;
    for (uint32_t i = 0; i < s->head[k]->n; i++)
        if (hpc_byte_lower(p[i]) != (uint8_t)word[i]) return false;
    return true;
}

static bool is_punct(const hpc_nest *n, const statement *s, int k, char c)
{
    return k < s->n && s->head[k]->kind == HPC_TOKEN_PUNCT && s->head[k]->n == 1 &&
           n->text[s->head[k]->at] == c;
}

static bool is_name(const statement *s, int k)
{
    return k < s->n && s->head[k]->kind == HPC_TOKEN_NAME;
}

/* Digits to the end of the token, 0 when there is anything else. */
static uint32_t label_of(const hpc_nest *n, const hpc_token *t, uint32_t skip)
{
    uint64_t x = 0;
    for (uint32_t i = skip; i < t->n; i++) {
        uint8_t c = (uint8_t)n->text[t->at + i];
        if (!hpc_byte_is_digit(c) || x > 100000000) return 0;
        x = x * 10 + (uint64_t)(c - '0');
    }
    return (uint32_t)x;
}

/* What follows a `do` whose label has been read: head[k]. */
static statement_kind kind_of_do(const hpc_nest *n, const statement *s, int k)
{
    if (is_punct(n, s, k, ',')) k++;
    if (is_word(n, s, k, "concurrent") && is_punct(n, s, k + 1, '(')) return CONCURRENT;
    if (is_word(n, s, k, "while") && is_punct(n, s, k + 1, '(')) return OTHER_DO;
    if (is_name(s, k) && is_punct(n, s, k + 1, '=')) return LOOP;
    return k >= s->n ? OTHER_DO : STATEMENT;
}

/* "do10 i = 1, n": in fixed form blanks mean nothing. */
static bool do_with_label(const hpc_nest *n, const statement *s, int k, uint32_t *label)
{
    if (!is_name(s, k) || s->head[k]->n < 3 || !is_name(s, k + 1) || !is_punct(n, s, k + 2, '='))
        return false;
    const uint8_t *p = (const uint8_t *)n->text + s->head[k]->at;
    if (hpc_byte_lower(p[0]) != 'd' || hpc_byte_lower(p[1]) != 'o') return false;
    *label = label_of(n, s->head[k], 2);
    return *label != 0;
}

/* *label: that ends the `do`, or 0. */
static statement_kind kind_of(const hpc_nest *n, const statement *s, int k, uint32_t *label)
{
    *label = 0;
    if (is_name(s, k) && is_punct(n, s, k + 1, ':') && is_name(s, k + 2)) k += 2;
    if (is_word(n, s, k, "do")) {
        k++;
        if (k < s->n && s->head[k]->kind == HPC_TOKEN_NUMBER) *label = label_of(n, s->head[k++], 0);
        return kind_of_do(n, s, k);
    }
    if (is_word(n, s, k, "dowhile") && is_punct(n, s, k + 1, '(')) return OTHER_DO;
    if (do_with_label(n, s, k, label)) return LOOP;
    bool end = is_word(n, s, k, "enddo");
    if (is_word(n, s, k, "end") && is_word(n, s, k + 1, "do")) {
        end = true;
        k++;
    }
    bool assigned = is_punct(n, s, k + 1, '=') || is_punct(n, s, k + 1, '(');
    return end && !assigned ? END_DO : STATEMENT;
}

/* ---- ends ----------------------------------------------------------------------------- */

static void end_do(hpc_nest *n, int32_t d)
{
    n->s.top = n->node[d].parent;
    if (n->node[d].kind == HPC_NEST_LOOP) hpc_nest_close(n, n->node[d].loop);
}

/* Several loops may end with one labelled statement; one in between that never ended is dropped,
 * if it is near. */
static void end_label(hpc_nest *n, uint32_t label)
{
    enum { NEAR = 32 };
    int32_t d = hpc_nest_top(n)->fence;
    for (int k = 0; k < NEAR && d >= 0 && n->node[d].label != label; k++)
        d = n->node[n->node[d].parent].fence;
    for (; d >= 0 && n->node[d].label == label; d = hpc_nest_top(n)->fence) end_do(n, d);
}

/* ---- statements ------------------------------------------------------------------------ */

static int begin_do(hpc_nest *n, const statement *s, statement_kind kind, uint32_t label)
{
    int rc = HPC_OK;
    if (kind == OTHER_DO) {
        bool parallel = hpc_nest_take(n);
        TRY(hpc_nest_push(n, HPC_NEST_DO));
        if (parallel) n->node[n->s.top].parallel = true;
    } else {
        TRY(hpc_nest_loop(n, HPC_NEST_LOOP, s->head[0]));
        n->out->item[n->out->n - 1].concurrent = kind == CONCURRENT;
    }
    n->node[n->s.top].label = label;
out:
    return rc;
}

/* Enters and leaves functions, for a statement or a directive that begins here. */
static int at_function(hpc_nest *n, uint32_t at)
{
    int rc = HPC_OK;
    for (;;) {
        int32_t body = hpc_nest_top(n)->body;
        if (body < 0 || at < n->f->item[n->node[body].function].end) break;
        n->s.top = n->node[body].parent;
        hpc_nest_forget(n);
    }
    for (; n->function < n->f->n && n->f->item[n->function].body_at <= at; n->function++) {
        if (at >= n->f->item[n->function].end) continue;
        TRY(hpc_nest_enter(n, HPC_NEST_FUNCTION, (int32_t)n->function));
    }
out:
    return rc;
}

/* An #else inside the statement may have led back into another function. */
static int end_statement(hpc_nest *n, statement *s)
{
    uint32_t own = 0, label = 0;
    int rc = HPC_OK;
    if (s->n == 0) return HPC_OK;
    TRY(at_function(n, s->head[0]->at));
    if (s->head[0]->kind == HPC_TOKEN_LABEL) own = label_of(n, s->head[0], 0);
    statement_kind kind = kind_of(n, s, s->head[0]->kind == HPC_TOKEN_LABEL, &label);
    hpc_nest_body(n, hpc_nest_top(n)->loop, s->head[0], false);
    n->last_end = s->last->at + s->last->n;
    n->last_line = s->last->line;
    n->last_closed = -1;
    s->n = 0;
    if (kind == LOOP || kind == CONCURRENT || kind == OTHER_DO) {
        TRY(begin_do(n, s, kind, label));
        return rc;
    }
    hpc_nest_forget(n);
    if (kind == END_DO) {
        int32_t d = hpc_nest_top(n)->fence;
        if (d >= 0) end_do(n, d);
    } else if (own) {
        end_label(n, own);
    }
out:
    return rc;
}

/* Inside a statement, functions neither begin nor end. */
static int directive(hpc_nest *n, int64_t *next, int64_t i, bool inside)
{
    int rc = HPC_OK;
    if (!n->dead) {
        if (!inside) TRY(at_function(n, n->t->item[i].at));
        TRY(hpc_pragma_line(n, next, i));
        if (*next > i) return rc;
    }
    if (n->text[n->t->item[i].at] == '#') TRY(hpc_nest_conditional(n, i));
    *next = hpc_nest_behind(n, i);
out:
    return rc;
}

/* A preprocessor line may stand inside a statement, which continues after it. */
int hpc_loops_fortran(hpc_nest *n)
{
    const hpc_tokens *t = n->t;
    statement s = {.n = 0};
    int rc = HPC_OK;
    for (int64_t i = 0, next; i < t->n; i = next) {
        const hpc_token *k = &t->item[i];
        next = i + 1;
        if (k->kind == HPC_TOKEN_SENTINEL) {
            TRY(directive(n, &next, i, s.n > 0));
        } else if (k->kind == HPC_TOKEN_NEWLINE && !n->dead) {
            TRY(end_statement(n, &s));
        } else if (hpc_token_is_code(k) && !n->dead) {
            if (s.n < HEAD) s.head[s.n++] = k;
            s.last = k;
        }
    }
    TRY(end_statement(n, &s));
out:
    return rc;
}
