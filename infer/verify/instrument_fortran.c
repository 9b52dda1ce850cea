/*
 * instrument_fortran.c: inserts the calls of witness/witness.f90 into a Fortran file: around each
 * loop, at the start of its body, and for the variables that iterations may share. All insertions
 * are lines of their own; each has a line marker, so that errors and accesses have the lines of the
 * file.
 */
#include <ctype.h>
#include <stdarg.h>
#include <string.h>
#include <strings.h>

#include "infer/verify/priv.h"

enum { VARIABLES_MOST = 8, CLAUSED_MOST = 64 };

typedef struct source { /* the file as tokens have it */
    hpc_tokens tokens;
    hpc_functions functions;
    hpc_loops loops;
} source;

typedef struct claused { /* a variable in a clause */
    const char *name;
    witness_kind kind;
} claused;

typedef struct site { /* where one loop is instrumented */
    const hpc_verify_file *f;
    const hpc_tree *t;
    const hpc_pragma_loop *l;
    const source *in;
    witness_loop *w;
    hpc_arena *arena;
    hpc_buf calls;   /* before the loop, as text */
    int64_t written; /* index of the loop in the tokens */
    int64_t body;    /* that of the loop whose body is one iteration, through collapsed ones */
    int32_t node;    /* of that one */
    int32_t function;
    bool is_parallel; /* clauses state which variables are private */
    claused claused[CLAUSED_MOST];
    int claused_n, variables_n;
    int32_t variable[VARIABLES_MOST]; /* symbols of the loop's own variables */
} site;

static const char *name_of(const site *s, int32_t symbol)
{
    return s->t->name + s->t->symbol[symbol].name;
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* ---- lines ---------------------------------------------------------------------------------- */

/* A statement in parts, each on a line that fixed form has the columns for. */
static int put_statement(hpc_buf *b, const site *s, uint32_t line, int n, ...)
{
    va_list parts;
    va_start(parts, n);
    fortran_mark(b, line);
    for (int k = 0; k < n; k++) {
        const char *head = !s->f->fixed_form || k == 0 ? "      " : "     &";
        const char *tail = s->f->fixed_form || k == n - 1 ? "" : "&";
        hpc_buf_printf(b, "%s%s%s\n", head, va_arg(parts, const char *), tail);
    }
    va_end(parts);
    return b->failed;
}

/* Inserts a statement before the line of `at`, which has number `line`. */
static int insert(edits *e, const site *s, size_t at, uint32_t line, const char *statement)
{
    hpc_buf b = {0};
    const size_t begin = fortran_line_begin(s->f->text, at);
    put_statement(&b, s, line, 1, statement);
    int rc = fortran_mark(&b, line);
    const char *kept = rc < 0 ? NULL : hpc_arena_text(s->arena, "%s", b.data);
    hpc_buf_release(&b);
    return kept ? edits_add(e, begin, 0, kept) : HPC_E_NOMEM;
}

static uint32_t line_of(const site *s, size_t at)
{
    const int64_t k = hpc_token_at(&s->in->tokens, at);
    return k < s->in->tokens.n ? s->in->tokens.item[k].line : s->l->end_line;
}

/* ---- clauses -------------------------------------------------------------------------------- */

static int take_clause(void *user, witness_kind kind, const char *text, size_t n)
{
    site *s = user;
    size_t word = 0;
    while (word < n && is_word(text[word])) word++;
    const char *name = hpc_arena_text(s->arena, "%.*s", (int)word, text);
    if (!name) return HPC_E_NOMEM;
    if (word > 0 && s->claused_n < CLAUSED_MOST)
        s->claused[s->claused_n++] = (claused){.name = name, .kind = kind};
    return 0;
}

static int take_directive(site *s, const char *text)
{
    char *low = text ? hpc_arena_text(s->arena, "%s", text) : NULL;
    if (!low) return HPC_E_NOMEM;
    for (char *p = low; *p; p++) *p = (char)tolower((unsigned char)*p);
    s->is_parallel |= strstr(low, "parallel") != NULL;
    return clause_items(low, take_clause, s);
}

/* The directive of the parallel region around a loop that shares its iterations: the last one
 * before it in the same procedure. */
static int take_region(site *s)
{
    const hpc_loops *l = &s->in->loops;
    const hpc_loop *x = &l->item[s->written];
    const uint32_t from = s->in->functions.item[x->function].at;
    int64_t region = -1;
    int rc = 0;
    hpc_buf b = {0};
    for (int64_t k = 0; k < l->pragma_n && l->pragma[k].at < x->at; k++) {
        const hpc_pragma *p = &l->pragma[k];
        const bool opens = p->api == HPC_DIRECTIVE_OMP && (p->words & HPC_OMP_PARALLEL) != 0;
        if (opens && p->at > from) region = p->closes || (p->words & HPC_OMP_FOR) ? -1 : k;
    }
    if (region < 0) return 0;
    TRY(hpc_pragma_text(&b, l, region, &s->in->tokens, s->f->text, HPC_LANGUAGE_FORTRAN));
    rc = take_directive(s, b.data);
out:
    hpc_buf_release(&b);
    return rc;
}

static int take_clauses(site *s)
{
    const char *directive = directive_of(s->l);
    int rc = 0;
    if (!directive) return 0;
    TRY(take_directive(s, directive));
    if (!s->is_parallel) rc = take_region(s);
out:
    return rc;
}

/* ---- variables ------------------------------------------------------------------------------ */

static bool is_noted(const site *s, const char *name)
{
    for (int64_t k = 0; k < s->w->names_n; k++)
        if (strcmp(s->w->name[k].text, name) == 0) return true;
    return false;
}

/* The text has the name, as no part of a longer expression: an effect of a procedure names
 * variables that the loop may not see. */
static bool is_spelled(const site *s, int32_t node)
{
    const hpc_tree_node *d = &s->t->node[node];
    const char *name = name_of(s, d->symbol), *text = s->f->text;
    const size_t n = strlen(name);
    size_t before = d->at;
    if (n == 0 || d->at + n > s->f->n || strncasecmp(text + d->at, name, n) != 0) return false;
    if (is_word(text[d->at + n]) || (before > 0 && is_word(text[before - 1]))) return false;
    while (before > 0 && text[before - 1] == ' ') before--;
    return before == 0 || text[before - 1] != '%';
}

/* True if the node's statement may change the variable: it is assigned, or code that is not
 * understood names it. */
static bool is_changed(const site *s, int32_t node)
{
    const hpc_tree *t = s->t;
    const hpc_tree_node *p = &t->node[t->node[node].parent];
    if (t->node[node].flags & HPC_TREE_BY_REFERENCE) return true;
    if (p->kind == HPC_TREE_ASSIGN) return t->node[node].parent == node - 1;
    return p->kind == HPC_TREE_CALL || p->kind == HPC_TREE_OTHER ||
           (p->kind == HPC_TREE_UNARY && p->op == '&');
}

/* The variable of a loop within this one. *concurrent: it exists only there. */
static bool is_counter(const site *s, int32_t symbol, bool *concurrent)
{
    const hpc_tree *t = s->t;
    for (int32_t i = s->l->node; i < t->node[s->l->node].end; i++) {
        const int32_t first = t->node[i].kind == HPC_TREE_FOR ? hpc_tree_first(t, i) : 0;
        const int32_t name = first ? hpc_tree_first(t, first) : 0;
        if (!name || t->node[name].symbol != symbol) continue;
        const int64_t loop = hpc_loops_at(&s->in->loops, t->node[i].at);
        *concurrent = loop >= 0 && s->in->loops.item[loop].concurrent;
        return true;
    }
    return false;
}

static bool has_lower_bounds(const site *s, const hpc_tree_type *type)
{
    const hpc_function *f = &s->in->functions.item[s->function];
    static const char optional[] = "optional";
    if (type->kind != HPC_TYPE_ARRAY) return false;
    for (size_t at = f->at; at + sizeof optional < f->end; at++)
        if (strncasecmp(s->f->text + at, optional, sizeof optional - 1) == 0) return false;
    return true;
}

static int put_object(site *s, int32_t symbol, witness_kind kind, bool own)
{
    static const char *const kinds[] = {[WITNESS_SHARED] = "hpc_witness_shared,",
                                        [WITNESS_PRIVATE] = "hpc_witness_private,",
                                        [WITNESS_IGNORED] = "hpc_witness_ignored,"};
    witness_loop *w = s->w;
    const hpc_tree_type *type = &s->t->type[s->t->symbol[symbol].type];
    const char *name = name_of(s, symbol);
    int rc = hpc_grow(&w->name, &w->cap, w->names_n + 1, sizeof *w->name);
    if (rc < 0) return rc;
    const char *call = hpc_arena_text(s->arena, "call hpc_witness_object(%lld_4,%lld_4,",
                                      (long long)w->loop, (long long)w->names_n);
    const bool bounded = has_lower_bounds(s, type);
    const char *x = hpc_arena_text(s->arena, "%s%s", name, bounded ? "," : ")");
    const char *lower = hpc_arena_text(s->arena, "lbound(%s,", name);
    if (!call || !x || !lower) return HPC_E_NOMEM;
    w->name[w->names_n++] =
        (witness_name){.text = name, .type = s->t->symbol[symbol].type, .own = own};
    return put_statement(&s->calls, s, s->l->line, bounded ? 5 : 3, call, kinds[kind], x, lower,
                         "kind=8))");
}

static int put_name(site *s, int32_t node)
{
    const hpc_tree_node *d = &s->t->node[node];
    bool concurrent = false;
    if (d->kind != HPC_TREE_NAME || d->symbol < 0) return 0;
    const hpc_symbol *y = &s->t->symbol[d->symbol];
    const char *name = name_of(s, d->symbol);
    if (y->kind != HPC_SYMBOL_VARIABLE || y->type < 0 || is_noted(s, name)) return 0;
    if ((d->flags & (HPC_TREE_MACRO | HPC_TREE_ELSEWHERE)) || !is_spelled(s, node)) return 0;
    if (is_counter(s, d->symbol, &concurrent))
        return concurrent ? 0 : put_object(s, d->symbol, WITNESS_IGNORED, true);
    for (int k = 0; k < s->claused_n; k++)
        if (strcmp(s->claused[k].name, name) == 0)
            return put_object(s, d->symbol, s->claused[k].kind, false);
    const hpc_type_kind kind = s->t->type[y->type].kind;
    const bool scalar =
        kind != HPC_TYPE_ARRAY && kind != HPC_TYPE_RECORD && kind != HPC_TYPE_POINTER;
    if (scalar && !is_changed(s, node)) return 0;
    return put_object(s, d->symbol, scalar && !s->is_parallel ? WITNESS_PRIVATE : WITNESS_SHARED,
                      false);
}

static int put_names(site *s)
{
    int rc = 0;
    for (int32_t i = s->l->node; i < s->t->node[s->l->node].end && rc == 0; i++)
        rc = put_name(s, i);
    return rc;
}

/* ---- loops ---------------------------------------------------------------------------------- */

static int32_t counter_of(const hpc_tree *t, int32_t loop)
{
    const int32_t first = t->node[loop].kind == HPC_TREE_FOR ? hpc_tree_first(t, loop) : 0;
    const int32_t name = first ? hpc_tree_first(t, first) : 0;
    return name && t->node[name].kind == HPC_TREE_NAME ? t->node[name].symbol : -1;
}

static int collapse_of(const site *s)
{
    const char *from = directive_of(s->l), *list;
    size_t n;
    return from && (list = clause_next(&from, "collapse", &n)) ? list[0] - '0' : 1;
}

/* The loop whose body is one iteration, through as many as the directive collapses. */
static void find_body(site *s)
{
    const hpc_tree *t = s->t;
    const int collapse = collapse_of(s);
    s->body = s->written;
    s->node = s->l->node;
    for (int k = 0;; k++) {
        const int32_t v = counter_of(t, s->node);
        if (v >= 0 && s->variables_n < VARIABLES_MOST) s->variable[s->variables_n++] = v;
        int32_t in = hpc_tree_child(t, s->node, 3);
        while (in && t->node[in].kind == HPC_TREE_BLOCK) in = hpc_tree_first(t, in);
        if (k + 1 >= collapse || !in || t->node[in].kind != HPC_TREE_FOR) return;
        const int64_t next = hpc_loops_at(&s->in->loops, t->node[in].at);
        if (next < 0) return;
        s->node = in;
        s->body = next;
    }
}

static bool has_words(const char *text, size_t n, const char *words)
{
    const size_t m = strlen(words);
    for (size_t at = 0; at + m <= n; at++)
        if (strncasecmp(text + at, words, m) == 0) return true;
    return false;
}

/* True if another statement stands on one of the lines that insertions divide. */
static bool shares_line(const site *s)
{
    const char *text = s->f->text;
    const hpc_loop *outer = &s->in->loops.item[s->written], *inner = &s->in->loops.item[s->body];
    const size_t begin = fortran_line_begin(text, outer->at);
    const size_t after = fortran_line_after(text, s->f->n, outer->end);
    if (fortran_line_begin(text, inner->body_at) <= inner->at) return true;
    if (memchr(text + begin, ';', outer->at - begin)) return true;
    size_t rest = outer->end + strspn(text + outer->end, " \t\r");
    return rest < after && text[rest] == ';';
}

static bool shares_end(const site *s)
{
    const hpc_loops *l = &s->in->loops;
    for (int64_t k = 0; k < l->n; k++)
        if (k != s->written && l->item[k].end == l->item[s->written].end) return true;
    return false;
}

static const char *unfit(const site *s)
{
    static const char *const locks[] = {"$omp atomic", "$omp critical", "$omp ordered", "_lock("};
    const hpc_tree *t = s->t;
    if (s->written < 0) return "the loop has no counter";
    const hpc_loop *x = &s->in->loops.item[s->written];
    for (size_t k = 0; k < sizeof locks / sizeof *locks; k++)
        if (has_words(s->f->text + x->at, x->end - x->at, locks[k]))
            return "the loop synchronises its iterations, which the recorded run does not model";
    for (int32_t i = s->l->node; i < t->node[s->l->node].end; i++)
        if (t->node[i].kind == HPC_TREE_GOTO) return "the loop contains a jump out of it";
    if (t->node[s->l->node].flags & HPC_TREE_ERRORS) return "the compiler rejects the loop";
    if (!x->complete || x->function < 0) return "the end of the loop or its procedure is not found";
    if (shares_end(s)) return "the loop ends at the statement of another loop";
    if (shares_line(s)) return "the loop shares its lines with other statements";
    return NULL;
}

/* The module is used after the header of the procedure, once. */
static int use_module(edits *e, const site *s)
{
    static const char use[] = "use hpc_witness";
    const hpc_function *f = &s->in->functions.item[s->function];
    const char *text = s->f->text;
    size_t at = f->body_at;
    if (f->name_n > 0 && fortran_line_begin(text, at) < at)
        at = fortran_line_after(text, s->f->n, at);
    at = fortran_line_begin(text, at);
    for (int64_t k = 0; k < e->n; k++)
        if (e->item[k].at == at && strstr(e->item[k].text, use)) return 0;
    uint32_t line = 1;
    for (size_t k = 0; k < at; k++) line += text[k] == '\n';
    return insert(e, s, at, line, use);
}

static int put_calls(edits *e, site *s)
{
    const hpc_loop *outer = &s->in->loops.item[s->written], *inner = &s->in->loops.item[s->body];
    const long long k = s->w->loop;
    const int32_t v = s->variables_n == 1 ? s->variable[0] : -1;
    const uint32_t end_line = outer->end_line;
    hpc_arena *a = s->arena;
    hpc_buf b = {0};
    int rc = 0;
    s->w->variable = v < 0 ? NULL : name_of(s, v);
    e->order = 1;
    TRY(use_module(e, s));
    const char *next = hpc_arena_text(a, "call hpc_witness_iteration(%lld_4,%s)", k,
                                      v < 0 ? "0_4" : s->w->variable);
    const char *enter = hpc_arena_text(a, "call hpc_witness_enter(%lld_4)", k);
    const char *leave = hpc_arena_text(a, "call hpc_witness_leave(%lld_4)", k);
    if (!next || !enter || !leave) TRY(HPC_E_NOMEM);
    put_statement(&b, s, s->l->line, 1, enter);
    hpc_buf_add(&b, s->calls.data ? s->calls.data : "", s->calls.n);
    TRY(fortran_mark(&b, s->l->line));
    /* At one line, outer loops end after inner ones, which have larger numbers, and begin first. */
    e->order = 4 * (s->in->loops.n + k) + 2;
    TRY(edits_add(e, fortran_line_begin(s->f->text, s->l->at), 0,
                  hpc_arena_text(a, "%s", b.data ? b.data : "")));
    e->order = 4 * (s->in->loops.n + k) + 3;
    TRY(insert(e, s, inner->body_at, line_of(s, inner->body_at), next));
    b.n = 0;
    put_statement(&b, s, end_line, 1, leave);
    TRY(fortran_mark(&b, end_line + 1));
    e->order = 4 * (s->in->loops.n - k);
    rc = edits_add(e, fortran_line_after(s->f->text, s->f->n, outer->end), 0,
                   hpc_arena_text(a, "%s", b.data));
out:
    hpc_buf_release(&b);
    return rc;
}

static int instrument_loop(edits *e, site *s)
{
    int rc = 0;
    s->written = hpc_loops_at(&s->in->loops, s->l->at);
    if (s->written >= 0) {
        s->function = s->in->loops.item[s->written].function;
        find_body(s);
    }
    s->w->why_not = unfit(s);
    if (s->w->why_not) return 0;
    s->w->at = s->in->loops.item[s->written].at;
    s->w->end = s->in->loops.item[s->written].end;
    s->w->names_n = 0;
    TRY(take_clauses(s));
    TRY(put_names(s));
    TRY(put_calls(e, s));
    s->w->on = true;
out:
    hpc_buf_release(&s->calls);
    return rc;
}

int instrument_fortran(edits *e, instrumented *w)
{
    const hpc_verify_file *f = w->file;
    source in = {0};
    int rc = 0;
    TRY(hpc_lex(&in.tokens, f->text, f->n, HPC_LANGUAGE_FORTRAN, f->fixed_form));
    TRY(hpc_functions_find(&in.functions, &in.tokens, f->text, HPC_LANGUAGE_FORTRAN));
    TRY(hpc_loops_find(&in.loops, &in.tokens, f->text, HPC_LANGUAGE_FORTRAN, &in.functions));
    for (int64_t k = 0; k < w->loops->n; k++) {
        witness_loop *at = &w->item[k];
        site s = {.f = f,
                  .t = f->tree,
                  .l = &w->loops->item[k],
                  .in = &in,
                  .w = at,
                  .arena = w->arena,
                  .function = -1};
        at->loop = k;
        if (at->why_not || s.l->again || s.l->node < 0) continue;
        TRY(instrument_loop(e, &s));
    }
out:
    hpc_tokens_release(&in.tokens);
    hpc_functions_release(&in.functions);
    hpc_loops_release(&in.loops);
    return rc;
}
