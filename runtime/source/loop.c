/*
 * loop.c: finds the loops of C and its family with their directives, and hashes a loop. The parser
 * of statements knows no expressions, types or macros; it only finds where the body of a loop ends.
 * loop_fortran.c handles Fortran; nest.c has the common part.
 */
#include "runtime/source/nest.h"

/* ---- statements -------------------------------------------------------------------- */

/* A statement begins with the token: the body of a loop that awaits it. */
static void begin(hpc_nest *n, const hpc_token *t)
{
    const hpc_nest_node *top = hpc_nest_top(n);
    if (top->kind == HPC_NEST_LOOP) hpc_nest_body(n, top->loop, t, n->text[t->at] == '{');
}

static int push_statement(hpc_nest *n, const hpc_token *t, hpc_nest_kind kind, bool parallel)
{
    begin(n, t);
    int rc = hpc_nest_push(n, kind);
    if (rc >= 0 && parallel) n->node[n->s.top].parallel = true;
    return rc;
}

/* `if`, `while` and the like: parentheses, then what awaits a statement. */
static int push_head(hpc_nest *n, const hpc_token *t, hpc_nest_kind then)
{
    int rc = push_statement(n, t, HPC_NEST_HEAD, hpc_nest_take(n));
    if (rc >= 0) n->node[n->s.top].then = (uint8_t)then;
    return rc;
}

/* A statement without a kind of its own. Directives keep waiting: it may be a macro before a
 * loop. */
static int push_expression(hpc_nest *n, const hpc_token *t)
{
    uint8_t kind = hpc_nest_top(n)->kind;
    if (!hpc_nest_awaits(kind) && kind != HPC_NEST_BLOCK && kind != HPC_NEST_ROOT) return HPC_OK;
    return push_statement(n, t, HPC_NEST_EXPR, n->s.region || n->s.chain_n > 0);
}

/* ---- words ---------------------------------------------------------------------------- */

typedef enum word {
    WORD_NONE,
    WORD_FOR,
    WORD_IF,
    WORD_ELSE,
    WORD_WHILE,
    WORD_SWITCH,
    WORD_DO,
    WORD_TRY,
    WORD_CATCH,
    WORD_PRAGMA
} word;

static word word_of(const hpc_token *t, const char *text)
{
    static const struct {
        const char *name;
        word w;
    } words[] = {{"for", WORD_FOR},        {"if", WORD_IF},         {"else", WORD_ELSE},
                 {"while", WORD_WHILE},    {"switch", WORD_SWITCH}, {"do", WORD_DO},
                 {"try", WORD_TRY},        {"catch", WORD_CATCH},   {"_Pragma", WORD_PRAGMA},
                 {"__pragma", WORD_PRAGMA}};
    if (t->n < 2 || t->n > 8 || !strchr("fiewsdtc_", text[t->at])) return WORD_NONE;
    for (size_t k = 0; k < sizeof words / sizeof *words; k++)
        if (hpc_token_is(t, text, words[k].name, strlen(words[k].name))) return words[k].w;
    return WORD_NONE;
}

/* A `for` with its parenthesis; "for" before anything else is a name. */
static bool is_loop(const hpc_nest *n, int64_t i)
{
    const hpc_tokens *t = n->t;
    for (i++; i < t->n && t->item[i].kind == HPC_TOKEN_COMMENT; i++) {
    }
    return i < t->n && t->item[i].kind == HPC_TOKEN_PUNCT && n->text[t->item[i].at] == '(';
}

static int keyword(hpc_nest *n, const hpc_token *t, word w)
{
    int rc = HPC_OK;
    /* A keyword always begins a statement: the text before it was a macro or a label. */
    if (hpc_nest_top(n)->kind == HPC_NEST_EXPR) n->s.top = hpc_nest_top(n)->parent;
    switch (w) {
    case WORD_FOR:
        begin(n, t);
        TRY(hpc_nest_loop(n, HPC_NEST_LOOP_HEAD, t));
        break;
    case WORD_IF: TRY(push_head(n, t, HPC_NEST_IF)); break;
    case WORD_WHILE:
    case WORD_SWITCH:
    case WORD_CATCH: TRY(push_head(n, t, HPC_NEST_ONE)); break;
    case WORD_DO: TRY(push_statement(n, t, HPC_NEST_DO, hpc_nest_take(n))); break;
    case WORD_TRY: TRY(push_statement(n, t, HPC_NEST_TRY, hpc_nest_take(n))); break;
    default: TRY(push_statement(n, t, HPC_NEST_ONE, hpc_nest_take(n))); break;
    }
out:
    return rc;
}

/* ---- brackets ---------------------------------------------------------------------------- */

static int32_t function_here(const hpc_nest *n, const hpc_token *t)
{
    return n->function < n->f->n && n->f->item[n->function].body_at == t->at ? (int32_t)n->function
                                                                             : -1;
}

static int open_brace(hpc_nest *n, const hpc_token *t)
{
    int rc = HPC_OK;
    int32_t f = function_here(n, t);
    uint8_t kind = hpc_nest_top(n)->kind;
    if (kind == HPC_NEST_HEAD) TRY(hpc_nest_become(n, hpc_nest_top(n)->then));
    if (f >= 0) {
        n->function++;
        TRY(hpc_nest_enter(n, HPC_NEST_BLOCK, f));
    } else {
        TRY(push_statement(n, t, HPC_NEST_BLOCK, hpc_nest_take(n)));
    }
out:
    return rc;
}

/* Loops inside brackets that close end with them. */
static void close_loops(hpc_nest *n, int32_t down_to)
{
    for (int32_t k = n->s.top; k != down_to; k = n->node[k].parent)
        if (n->node[k].kind == HPC_NEST_LOOP) hpc_nest_close(n, n->node[k].loop);
}

/* A block has ended, and is no longer on the stack. */
static int block_ended(hpc_nest *n)
{
    uint8_t kind = hpc_nest_top(n)->kind;
    if (kind == HPC_NEST_EXPR) return hpc_nest_become(n, HPC_NEST_EXPR_DONE);
    return hpc_nest_awaits(kind) ? hpc_nest_finish(n) : HPC_OK;
}

static int close_brace(hpc_nest *n, const hpc_token *t)
{
    int32_t b = hpc_nest_top(n)->fence;
    while (n->node[b].kind == HPC_NEST_PAREN) b = n->node[n->node[b].parent].fence;
    hpc_nest_forget(n);
    if (n->node[b].kind == HPC_NEST_ROOT) {
        n->s.top = b;
        return HPC_OK;
    }
    int32_t f = n->node[b].function;
    if (n->node[b].body == b && t->at + 1 < n->f->item[f].end) {
        n->s.top = b; /* one too many: the function knows its end better */
        return HPC_OK;
    }
    close_loops(n, b);
    n->last_end = t->at + t->n;
    n->last_line = t->line;
    n->s.top = n->node[b].parent;
    return block_ended(n);
}

static int close_paren(hpc_nest *n)
{
    int32_t p = hpc_nest_top(n)->fence;
    if (n->node[p].kind != HPC_NEST_PAREN) return HPC_OK;
    close_loops(n, p);
    n->s.top = n->node[p].parent;
    const hpc_nest_node *top = hpc_nest_top(n);
    if (top->kind == HPC_NEST_HEAD) return hpc_nest_become(n, top->then);
    return top->kind == HPC_NEST_LOOP_HEAD ? hpc_nest_become(n, HPC_NEST_LOOP) : HPC_OK;
}

static int semicolon(hpc_nest *n, const hpc_token *t)
{
    int rc = HPC_OK;
    uint8_t kind = hpc_nest_top(n)->kind;
    if (kind == HPC_NEST_PAREN) return HPC_OK;
    if (kind == HPC_NEST_HEAD) TRY(hpc_nest_become(n, hpc_nest_top(n)->then));
    begin(n, t);
    hpc_nest_forget(n);
    n->last_end = t->at + t->n;
    n->last_line = t->line;
    if (kind == HPC_NEST_EXPR) n->s.top = hpc_nest_top(n)->parent;
    TRY(hpc_nest_finish(n));
out:
    return rc;
}

static int punctuation(hpc_nest *n, const hpc_token *t)
{
    int rc = HPC_OK;
    char c = t->n == 1 ? n->text[t->at] : '\0';
    switch (c) {
    case '{': TRY(open_brace(n, t)); break;
    case '}': TRY(close_brace(n, t)); break;
    case ')':
    case ']': TRY(close_paren(n)); break;
    case ';': TRY(semicolon(n, t)); break;
    case '(':
    case '[':
        TRY(push_expression(n, t));
        TRY(hpc_nest_push(n, HPC_NEST_PAREN));
        break;
    default: TRY(push_expression(n, t)); break;
    }
out:
    return rc;
}

/* ---- what the next token decides ------------------------------------------------------------ */

/* True if an expression continues after its block: a braced list or lambda was its beginning. */
static bool goes_on(const hpc_token *t, const char *text)
{
    char c = text[t->at];
    if (t->kind != HPC_TOKEN_PUNCT) return false;
    if (t->n > 1) {
        char second = text[t->at + 1];
        return second == '>' || (c != '+' && c != '-' && !(c == ':' && second == ':'));
    }
    return strchr(";,.([)]=<>?:/%|^", c) != NULL;
}

/* *taken: the token belongs to the statement that it continues. */
static int settle(hpc_nest *n, const hpc_token *t, word w, bool *taken)
{
    int rc = HPC_OK;
    for (;;) {
        switch (hpc_nest_top(n)->kind) {
        case HPC_NEST_EXPR_DONE:
            if (goes_on(t, n->text)) return hpc_nest_become(n, HPC_NEST_EXPR);
            break;
        case HPC_NEST_IF_DONE:
            *taken = w == WORD_ELSE;
            if (*taken) return hpc_nest_become(n, HPC_NEST_ONE);
            break;
        case HPC_NEST_DO_DONE:
            *taken = w == WORD_WHILE;
            if (*taken) return hpc_nest_become(n, HPC_NEST_EXPR);
            break;
        case HPC_NEST_TRY_DONE:
            if (w != WORD_CATCH) break;
            *taken = true;
            TRY(hpc_nest_become(n, HPC_NEST_TRY));
            return push_head(n, t, HPC_NEST_ONE);
        default: return HPC_OK;
        }
        n->s.top = hpc_nest_top(n)->parent;
        TRY(hpc_nest_finish(n));
    }
out:
    return rc;
}

/* Leaves functions that have ended, with everything that their bodies left open. */
static int leave_functions(hpc_nest *n, uint32_t at)
{
    for (;;) {
        int32_t body = hpc_nest_top(n)->body;
        if (body < 0 || at < n->f->item[n->node[body].function].end) return HPC_OK;
        n->s.top = n->node[body].parent;
        int rc = block_ended(n);
        if (rc < 0) return rc;
    }
}

static int code(hpc_nest *n, int64_t *next, int64_t i)
{
    const hpc_token *t = &n->t->item[i];
    word w = t->kind == HPC_TOKEN_NAME ? word_of(t, n->text) : WORD_NONE;
    bool taken = false;
    int rc = HPC_OK;
    *next = i + 1;
    TRY(leave_functions(n, t->at));
    while (n->function < n->f->n && n->f->item[n->function].body_at < t->at) n->function++;
    if (w == WORD_PRAGMA || (t->kind == HPC_TOKEN_PUNCT && n->text[t->at] == '[')) {
        int64_t behind = i;
        if (w == WORD_PRAGMA) TRY(hpc_pragma_operator(n, &behind, i));
        if (w != WORD_PRAGMA) TRY(hpc_pragma_attribute(n, &behind, i));
        if (behind > i) *next = behind;
        if (behind > i) return rc;
    }
    TRY(settle(n, t, w, &taken));
    if (!taken) {
        if (w == WORD_FOR && !is_loop(n, i)) w = WORD_NONE;
        if (w != WORD_NONE && w != WORD_PRAGMA)
            TRY(keyword(n, t, w));
        else if (t->kind == HPC_TOKEN_PUNCT)
            TRY(punctuation(n, t));
        else
            TRY(push_expression(n, t));
    }
    n->last_end = t->at + t->n;
    n->last_line = t->line;
out:
    return rc;
}

static int directive(hpc_nest *n, int64_t *next, int64_t i)
{
    int rc = HPC_OK;
    if (!n->dead) {
        TRY(leave_functions(n, n->t->item[i].at));
        TRY(hpc_pragma_line(n, next, i));
        if (*next > i) return rc;
    }
    TRY(hpc_nest_conditional(n, i));
    *next = hpc_nest_behind(n, i);
out:
    return rc;
}

static int walk(hpc_nest *n)
{
    const hpc_tokens *t = n->t;
    int rc = HPC_OK;
    for (int64_t i = 0; i < t->n;) {
        uint8_t kind = t->item[i].kind;
        int64_t next = i + 1;
        if (kind == HPC_TOKEN_SENTINEL)
            TRY(directive(n, &next, i));
        else if (hpc_token_is_code(&t->item[i]) && !n->dead)
            TRY(code(n, &next, i));
        i = next;
    }
out:
    return rc;
}

/* ---- all of a text ------------------------------------------------------------------------- */

/* Loops whose end was not found reach to the end of what is around them. */
static void end_open_loops(hpc_nest *n)
{
    for (int64_t i = 0; i < n->out->n; i++) {
        hpc_loop *l = &n->out->item[i];
        const hpc_function *f = l->function >= 0 ? &n->f->item[l->function] : NULL;
        if (!l->complete) {
            l->end = f && f->end > l->at ? f->end : n->last_end;
            l->end_line = f && f->end > l->at ? f->end_line : n->last_line;
        }
        if (!l->body_at) l->body_at = l->end;
    }
}

int hpc_loops_find(hpc_loops *out, const hpc_tokens *t, const char *text, hpc_language l,
                   const hpc_functions *f)
{
    hpc_nest n = {.out = out, .t = t, .text = text, .f = f, .fortran = l == HPC_LANGUAGE_FORTRAN};
    int rc = HPC_OK;
    out->n = out->pragma_n = 0;
    TRY(hpc_nest_init(&n));
    TRY(n.fortran ? hpc_loops_fortran(&n) : walk(&n));
    end_open_loops(&n);
out:
    hpc_nest_release(&n);
    return rc;
}

void hpc_loops_release(hpc_loops *l)
{
    hpc_free(l->item);
    hpc_free(l->pragma);
    *l = (hpc_loops){0};
}

/* Blocks of tokens, each hashed with the hash of those before it. The text is not needed: a token
 * carries the hash of its spelling. */
hpc_hash128 hpc_loop_hash(const hpc_loop *loop, const hpc_loops *l, const hpc_tokens *t,
                          const char *text)
{
    struct {
        hpc_hash128 before;
        uint32_t spelling[508];
    } block = {.before = {0, 0}};
    size_t n = 0, most = sizeof block.spelling / sizeof *block.spelling;
    (void)l;
    (void)text;
    for (int64_t i = hpc_token_at(t, loop->at); i < t->n && t->item[i].at < loop->end; i++) {
        if (!hpc_token_is_code(&t->item[i])) continue;
        block.spelling[n++] = t->item[i].hash;
        if (n < most) continue;
        block.before = hpc_hash_wide(&block, sizeof block);
        n = 0;
    }
    return hpc_hash_wide(&block, sizeof block.before + n * sizeof *block.spelling);
}

int64_t hpc_loops_at(const hpc_loops *l, size_t at)
{
    int64_t lo = 0, hi = l->n;
    while (lo < hi) {
        int64_t mid = lo + (hi - lo) / 2;
        if (l->item[mid].at < at)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < l->n && l->item[lo].at == at ? lo : -1;
}
