/*
 * instrument.c: inserts the calls of witness/witness.h into a file: around each loop, at the start
 * of its body, and for the variables that iterations may share. All insertions are on the loop's
 * own lines.
 */
#include <ctype.h>
#include <string.h>

#include "infer/verify/priv.h"

typedef struct site { /* where one loop is instrumented */
    const hpc_verify_file *f;
    const hpc_tree *t;
    const hpc_pragma_loop *l;
    witness_loop *w;
    hpc_arena *arena;
    hpc_buf names;                 /* calls, as text */
    int32_t function, body, limit; /* limit: the node that variables must be within */
    const char *directive;
    int collapse;
    bool apart;
    int64_t loops;
    int32_t variable[8]; /* symbols of the loop's own variables */
    int variables_n;
} site;

static const char *name_of(const site *s, int32_t symbol)
{
    return s->t->name + s->t->symbol[symbol].name;
}

static const hpc_tree_type *type_of(const site *s, int32_t type)
{
    return type < 0 ? NULL : &s->t->type[type];
}

static bool within(const site *s, int32_t node, int32_t around)
{
    return node > around && node < s->t->node[around].end;
}

static bool is_loop(uint8_t kind)
{
    return kind == HPC_TREE_FOR || kind == HPC_TREE_RANGE || kind == HPC_TREE_WHILE ||
           kind == HPC_TREE_DO;
}

static int32_t body_of(const hpc_tree *t, int32_t loop)
{
    switch (t->node[loop].kind) {
    case HPC_TREE_FOR: return hpc_tree_child(t, loop, 3);
    case HPC_TREE_RANGE: return hpc_tree_child(t, loop, 2);
    case HPC_TREE_WHILE: return hpc_tree_child(t, loop, 1);
    case HPC_TREE_DO: return hpc_tree_child(t, loop, 0);
    default: return 0;
    }
}

/* ---- clauses -------------------------------------------------------------------------------- */

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static int note(site *s, const char *text, size_t n, int32_t type)
{
    witness_loop *w = s->w;
    int rc = hpc_grow(&w->name, &w->cap, w->names_n + 1, sizeof *w->name);
    if (rc < 0) return rc;
    const char *kept = hpc_arena_text(s->arena, "%.*s", (int)n, text);
    if (!kept) return HPC_E_NOMEM;
    w->name[w->names_n++] = (witness_name){.text = kept, .type = type};
    return (int)(w->names_n - 1);
}

/* "x", or a section "x[lo:n]" as its first elements. */
static int put_item(void *user, witness_kind of, const char *p, size_t n)
{
    site *s = user;
    const char *kind = of == WITNESS_PRIVATE ? "PRIVATE" : "IGNORED";
    const char *open = memchr(p, '[', n), *colon = memchr(p, ':', n);
    const char *close = open ? memchr(open, ']', n - (size_t)(open - p)) : NULL;
    size_t word = open ? (size_t)(open - p) : n;
    for (int k = 0; k < s->variables_n; k++) { /* a loop's own variable is private */
        const char *own = name_of(s, s->variable[k]);
        if (strlen(own) == n && strncmp(own, p, n) == 0) return 0;
    }
    int name = note(s, p, word, -1);
    if (name < 0) return name;
    if (!open)
        return hpc_buf_printf(&s->names, "HPC_WITNESS_OBJECT(%d,%s,%.*s);", name, kind, (int)n, p);
    if (!colon || !close || colon > close) return 0;
    const char *lo = colon == open + 1 ? "0" : open + 1;
    size_t lo_n = colon == open + 1 ? 1 : (size_t)(colon - open - 1);
    return hpc_buf_printf(&s->names, "HPC_WITNESS_SECTION(%d,%s,&(%.*s)[%.*s],%.*s);", name, kind,
                          (int)word, p, (int)lo_n, lo, (int)(close - colon - 1), colon + 1);
}

static bool is_noted(const site *s, const char *name)
{
    for (int64_t k = 0; k < s->w->names_n; k++)
        if (strcmp(s->w->name[k].text, name) == 0) return true;
    return false;
}

/* ---- variables ------------------------------------------------------------------------------ */

static bool is_own(const site *s, int32_t symbol)
{
    for (int k = 0; k < s->variables_n; k++)
        if (s->variable[k] == symbol) return true;
    return false;
}

/* The symbol that node i modifies or takes the address of, or -1. */
static int32_t changed_by(const hpc_tree *t, int32_t i)
{
    const hpc_tree_node *d = &t->node[i];
    int32_t c = hpc_tree_first(t, i);
    bool changes =
        d->kind == HPC_TREE_ASSIGN ||
        (d->kind == HPC_TREE_UNARY &&
         (d->op == '&' || (d->op >= HPC_OP_PRE_INCREMENT && d->op <= HPC_OP_POST_DECREMENT)));
    return changes && c && t->node[c].kind == HPC_TREE_NAME ? t->node[c].symbol : -1;
}

static bool in_lambda(const hpc_tree *t, int32_t i)
{
    for (; i > 0 && t->node[i].kind != HPC_TREE_FUNCTION; i = t->node[i].parent)
        if (t->node[i].kind == HPC_TREE_LAMBDA) return true;
    return false;
}

/* A scalar that stays in a register is not seen; one that only is read need not be. */
static bool is_changed(const site *s, int32_t symbol)
{
    const hpc_tree *t = s->t;
    for (int32_t i = s->function; i < t->node[s->function].end; i++) {
        const hpc_tree_node *d = &t->node[i];
        bool inside = within(s, i, s->l->node) || (d->kind != HPC_TREE_LAMBDA && in_lambda(t, i));
        int32_t c = changed_by(t, i);
        if (c == symbol && (inside || (d->kind == HPC_TREE_UNARY && d->op == '&'))) return true;
        if (d->kind != HPC_TREE_NAME || d->symbol != symbol) continue;
        /* By reference: to a function, in a capture, as what a reference is bound to. */
        const hpc_tree_node *p = &t->node[d->parent];
        bool cpp = s->f->language == HPC_LANGUAGE_CPP;
        if (cpp && (p->kind == HPC_TREE_CALL || p->kind == HPC_TREE_LAMBDA)) return true;
        const hpc_tree_type *type = p->kind == HPC_TREE_VARIABLE ? type_of(s, p->type) : NULL;
        if (type && type->kind == HPC_TYPE_REFERENCE) return true;
    }
    return false;
}

/* Set in the head of a loop within this one: it takes nothing over from another iteration. */
static bool is_set_in_head(const site *s, int32_t symbol)
{
    const hpc_tree *t = s->t;
    for (int32_t i = s->body; i < t->node[s->l->node].end; i++) {
        if (t->node[i].kind != HPC_TREE_FOR) continue;
        int32_t first = hpc_tree_child(t, i, 0);
        if (first && t->node[first].kind == HPC_TREE_ASSIGN && t->node[first].op == '=' &&
            changed_by(t, first) == symbol)
            return true;
    }
    return false;
}

static int put_object(site *s, int32_t symbol, int32_t type_n, const char *kind)
{
    const hpc_symbol *y = &s->t->symbol[symbol];
    const hpc_tree_type *type = type_of(s, type_n);
    const char *name = name_of(s, symbol);
    if (type->kind == HPC_TYPE_ARRAY && type->bytes < 0 && !(y->flags & HPC_SYMBOL_LOCAL)) return 0;
    int k = note(s, name, strlen(name), type_n);
    if (k < 0) return k;
    bool array = type->kind == HPC_TYPE_ARRAY && (y->flags & HPC_SYMBOL_LOCAL);
    return hpc_buf_printf(&s->names, "HPC_WITNESS_%s(%d,%s,%s);", array ? "ARRAY" : "OBJECT", k,
                          kind, name);
}

static bool is_registered(const site *s, const hpc_symbol *y)
{
    const hpc_tree_node *d = &s->t->node[y->node];
    const hpc_tree_node *p = &s->t->node[d->parent];
    size_t at = p->kind == HPC_TREE_DECLARE ? p->at : d->at;
    return d->to > at && memmem(s->f->text + at, d->to - at, "register", 8) != NULL;
}

/* A variable that is visible at the loop: declared before it in a block around it. */
static bool is_visible(const site *s, int32_t node)
{
    int32_t p = s->t->node[node].parent;
    if (node >= s->l->node || node <= s->limit) return false;
    if (s->t->node[p].kind == HPC_TREE_DECLARE) p = s->t->node[p].parent;
    return within(s, s->l->node, p) && (p == s->limit || within(s, p, s->limit));
}

static int put_local(site *s, int32_t node)
{
    const hpc_tree_node *d = &s->t->node[node];
    const hpc_tree_type *type = type_of(s, d->type);
    if (d->symbol < 0 || !type || !is_visible(s, node)) return 0;
    const hpc_symbol *y = &s->t->symbol[d->symbol];
    const char *name = name_of(s, d->symbol);
    bool plain = type->kind == HPC_TYPE_INTEGER || type->kind == HPC_TYPE_FLOAT ||
                 type->kind == HPC_TYPE_BOOL || type->kind == HPC_TYPE_POINTER;
    if (!*name || !(y->flags & HPC_SYMBOL_LOCAL) || is_noted(s, name) || is_own(s, d->symbol) ||
        is_registered(s, y) || type->kind == HPC_TYPE_REFERENCE ||
        type->kind == HPC_TYPE_FUNCTION || (type->flags & HPC_TYPE_CONST))
        return 0;
    if (plain && (!is_changed(s, d->symbol) || is_set_in_head(s, d->symbol))) return 0;
    return put_object(s, d->symbol, d->type, plain && !s->directive ? "PRIVATE" : "SHARED");
}

/* Where arrays begin that the loop names. */
static int put_base(site *s, int32_t node)
{
    const hpc_tree_node *d = &s->t->node[node];
    if (d->kind != HPC_TREE_NAME || d->symbol < 0) return 0;
    const hpc_symbol *y = &s->t->symbol[d->symbol];
    bool variable = y->kind == HPC_SYMBOL_VARIABLE || y->kind == HPC_SYMBOL_PARAMETER;
    const hpc_tree_type *type = type_of(s, d->type);
    const char *name = name_of(s, d->symbol);
    if (!variable || !type || !*name || s->t->name[y->scope]) return 0; /* no member of a class */
    bool local = (y->flags & HPC_SYMBOL_LOCAL) != 0;
    bool of_function = local || (y->node >= 0 && within(s, y->node, s->function));
    if (of_function && (y->node < 0 || !is_visible(s, y->node))) return 0;
    if (type->kind == HPC_TYPE_POINTER) {
        const hpc_tree_type *to = type_of(s, type->to);
        for (int64_t k = 0; k < s->w->names_n; k++)
            if (s->w->name[k].type == type->to && strcmp(s->w->name[k].text, name) == 0) return 0;
        if (!to || to->bytes <= 0 || (type->flags & HPC_TYPE_VOLATILE)) return 0;
        int k = note(s, name, strlen(name), type->to);
        return k < 0 ? k : hpc_buf_printf(&s->names, "HPC_WITNESS_POINTER(%d,%s);", k, name);
    }
    const char *record = type->kind == HPC_TYPE_RECORD ? s->t->name + type->name : "";
    if (strncmp(record, "std::vector<", 12) == 0 && strncmp(record + 12, "bool", 4) != 0) {
        for (int64_t k = 0; k < s->w->names_n; k++)
            if (s->w->name[k].type == -1 && strcmp(s->w->name[k].text, name) == 0) return 0;
        int k = note(s, name, strlen(name), -1);
        return k < 0 ? k : hpc_buf_printf(&s->names, "HPC_WITNESS_POINTER(%d,%s.data());", k, name);
    }
    if (local || is_noted(s, name) || type->kind == HPC_TYPE_UNKNOWN) return 0;
    return put_object(s, d->symbol, d->type, "SHARED");
}

/* A loop's variable that is no local one has a place that accesses are seen at. */
static int put_own(site *s)
{
    for (int k = 0; k < s->variables_n; k++) {
        const hpc_symbol *y = &s->t->symbol[s->variable[k]];
        if ((y->flags & HPC_SYMBOL_LOCAL) || y->kind != HPC_SYMBOL_VARIABLE) continue;
        int64_t before = s->w->names_n;
        int rc = put_object(s, s->variable[k], y->type, "IGNORED");
        if (rc < 0) return rc;
        if (s->w->names_n > before) s->w->name[before].own = true;
    }
    return 0;
}

static int put_names(site *s)
{
    int rc = 0;
    TRY(put_own(s));
    if (s->directive) TRY(clause_items(s->directive, put_item, s));
    for (int32_t i = s->l->node; i > s->limit; i--) /* the innermost of a name first */
        if (s->t->node[i].kind == HPC_TREE_VARIABLE) TRY(put_local(s, i));
    for (int32_t i = s->body; i < s->t->node[s->body].end; i++) TRY(put_base(s, i));
out:
    return rc;
}

/* ---- loops ---------------------------------------------------------------------------------- */

/* The variable that a loop steps, or -1. */
static int32_t stepped(const hpc_tree *t, int32_t loop)
{
    int32_t step = t->node[loop].kind == HPC_TREE_FOR ? hpc_tree_child(t, loop, 2) : 0;
    if (step && t->node[step].kind == HPC_TREE_BINARY && t->node[step].op == ',')
        step = hpc_tree_first(t, step);
    return step ? changed_by(t, step) : -1;
}

/* The body that one iteration is, through as many loops as the directive collapses. */
static void find_body(site *s)
{
    const char *from = s->directive, *list;
    size_t n;
    int32_t loop = s->l->node;
    s->collapse = from && (list = clause_next(&from, "collapse", &n)) ? list[0] - '0' : 1;
    for (int k = 0;; k++) {
        int32_t v = stepped(s->t, loop);
        if (v >= 0 && s->variables_n < 8) s->variable[s->variables_n++] = v;
        s->body = body_of(s->t, loop);
        int32_t in = s->body;
        while (in && s->t->node[in].kind == HPC_TREE_BLOCK) in = hpc_tree_first(s->t, in);
        if (k + 1 >= s->collapse || !in || s->t->node[in].kind != HPC_TREE_FOR) return;
        loop = in;
    }
}

/* Position after a statement's ';', which its node does not include. */
static size_t statement_end(const hpc_verify_file *f, const hpc_tree_node *d)
{
    size_t at = d->to;
    if (d->kind == HPC_TREE_BLOCK || (at > 0 && f->text[at - 1] == '}')) return at;
    while (at < f->n && isspace((unsigned char)f->text[at])) at++;
    return at < f->n && f->text[at] == ';' ? at + 1 : 0;
}

static size_t end_of_loop(const hpc_verify_file *f, int32_t loop)
{
    const hpc_tree *t = f->tree;
    const hpc_tree_node *d = &t->node[loop];
    if (d->kind == HPC_TREE_DO) {
        size_t at = d->to;
        while (at < f->n && isspace((unsigned char)f->text[at])) at++;
        return at < f->n && f->text[at] == ';' ? at + 1 : d->to;
    }
    int32_t body = body_of(t, loop);
    if (!body) return 0;
    if (is_loop(t->node[body].kind)) return end_of_loop(f, body);
    if (t->node[body].kind == HPC_TREE_IF) {
        int32_t last = hpc_tree_child(t, body, 2);
        if (!last || t->node[last].kind == HPC_TREE_NOTHING) last = hpc_tree_child(t, body, 1);
        if (is_loop(t->node[last].kind)) return end_of_loop(f, last);
        if (t->node[last].kind == HPC_TREE_IF) return 0;
        return last ? statement_end(f, &t->node[last]) : 0;
    }
    if (t->node[body].kind == HPC_TREE_NOTHING) return 0;
    return statement_end(f, &t->node[body]);
}

static const char *unfit(const site *s)
{
    static const char *const locks[] = {"omp atomic",   "omp critical", "omp ordered", "_lock(",
                                        "omp_set_lock", "lock_guard",   "unique_lock"};
    const hpc_tree *t = s->t;
    const hpc_tree_node *d = &t->node[s->l->node];
    const char *text = s->f->text + d->at;
    static const char *const words[] = {"for", "while", "do"};
    bool spelled = false;
    for (size_t k = 0; k < sizeof words / sizeof *words; k++) {
        size_t n = strlen(words[k]);
        spelled |= strncmp(text, words[k], n) == 0 && !is_word(text[n]);
    }
    if (!spelled) return "the loop is expanded from a macro";
    for (size_t k = 0; k < sizeof locks / sizeof *locks; k++)
        if (memmem(text, d->to - d->at, locks[k], strlen(locks[k])))
            return "the loop synchronises its iterations, which the recorded run does not model";
    for (int32_t i = s->l->node; i < d->end; i++)
        if (t->node[i].kind == HPC_TREE_GOTO || t->node[i].kind == HPC_TREE_ASM)
            return "the loop contains a goto or assembler";
    if (d->flags & HPC_TREE_ERRORS) return "the compiler rejects the loop";
    if (!s->body || !s->w->end) return "the loop has no body that can be instrumented";
    return NULL;
}

/* Inlined into another, a function would have its loops in the other's frame: which is not to be,
 * because what is in a loop's frame belongs to its iterations. The attribute stands before the name
 * with its scopes, where all compilers take it. */
static int keep_apart(edits *e, const site *s)
{
    static const char attribute[] = " __attribute__((noinline)) ";
    const hpc_tree_node *d = &s->t->node[s->function];
    const char *text = s->f->text, *name = d->symbol < 0 ? "" : name_of(s, d->symbol);
    size_t n = strlen(name), at = d->at;
    if (d->kind != HPC_TREE_FUNCTION || n == 0 || !is_word(name[0])) return 0;
    for (;; at++) {
        if (at + n >= d->to || text[at] == '{' || text[at] == ';') return 0;
        if (strncmp(text + at, name, n) != 0 || is_word(text[at + n])) continue;
        if (at > d->at && is_word(text[at - 1])) continue;
        size_t k = at + n + strspn(text + at + n, " \t\n");
        if (text[k] == '(') break;
    }
    while (at >= d->at + 2 && text[at - 1] == ':' && text[at - 2] == ':') {
        at -= 2;
        int depth = 0;
        while (at > d->at && (is_word(text[at - 1]) || depth > 0 || text[at - 1] == '>')) {
            depth += text[at - 1] == '>' ? 1 : text[at - 1] == '<' ? -1 : 0;
            at--;
        }
    }
    if (at > d->at && text[at - 1] == '~') at--;
    for (int64_t k = 0; k < e->n; k++)
        if (e->item[k].at == at && e->item[k].text == attribute) return 0;
    return edits_add(e, at, 0, attribute);
}

static int put_calls(edits *e, site *s)
{
    const hpc_tree *t = s->t;
    const hpc_tree_node *b = &t->node[s->body];
    int64_t k = s->w->loop;
    bool block = b->kind == HPC_TREE_BLOCK;
    int32_t v = s->variables_n == 1 ? s->variable[0] : -1;
    const hpc_tree_type *type = v < 0 ? NULL : type_of(s, t->symbol[v].type);
    if (type && type->kind == HPC_TYPE_INTEGER) s->w->variable = name_of(s, v);
    const char *value = s->w->variable ? s->w->variable : "0";
    bool repeats = t->node[s->l->node].kind == HPC_TREE_DO;
    size_t end = block              ? 0
                 : is_loop(b->kind) ? end_of_loop(s->f, s->body)
                 : repeats          ? statement_end(s->f, b)
                                    : s->w->end;
    if (s->collapse > 1 && !block) end = s->w->end;
    /* What ends at one place ends from the inside out; what begins there, from the outside in. */
    int64_t ends = 8 * (s->loops - k), begins = 8 * (2 * s->loops + 2 + k);
    int rc = 0;
    if (s->apart) TRY(keep_apart(e, s));
    e->order = begins;
    TRY(edits_drop_pragmas(e, s->f->text, s->w->at));
    TRY(edits_add(e, s->w->at, 0,
                  hpc_arena_text(s->arena, "{if(hpc_witness_enter(%lld,HPC_WITNESS_FRAME)){%s}",
                                 (long long)k, s->names.data ? s->names.data : "")));
    TRY(edits_add(e, b->at + block, 0,
                  hpc_arena_text(s->arena,
                                 "%shpc_witness_iteration(%lld,HPC_WITNESS_FRAME,(long long)(%s));",
                                 block ? "" : "{", (long long)k, value)));
    e->order = ends - 8 * (s->collapse - 1) + s->collapse - 1;
    if (!block) TRY(edits_add(e, end, 0, "}"));
    e->order = ends + 7;
    TRY(edits_add(
        e, s->w->end, 0,
        hpc_arena_text(s->arena, "hpc_witness_leave(%lld,HPC_WITNESS_FRAME);}", (long long)k)));
out:
    return rc;
}

/* The function that a loop is in, and the lambda if it is in one: names of what is around that may
 * not have been captured. */
static void find_function(site *s)
{
    const hpc_tree *t = s->t;
    s->limit = -1;
    s->function = 0;
    for (int32_t p = t->node[s->l->node].parent; p >= 0; p = t->node[p].parent) {
        if (t->node[p].kind == HPC_TREE_LAMBDA && s->limit < 0) s->limit = p;
        if (t->node[p].kind != HPC_TREE_FUNCTION) continue;
        s->function = p;
        if (s->limit < 0) s->limit = p;
        return;
    }
    if (s->limit < 0) s->limit = 0;
}

int instrument(edits *e, instrumented *w)
{
    const hpc_pragma_loops *all = w->loops;
    int rc = 0;
    if (w->file->language == HPC_LANGUAGE_FORTRAN) return instrument_fortran(e, w);
    /* Ends of inner loops come before those of outer ones that end with them: from the back. */
    for (int64_t k = all->n - 1; k >= 0; k--) {
        witness_loop *at = &w->item[k];
        site s = {.f = w->file,
                  .t = w->file->tree,
                  .l = &all->item[k],
                  .w = at,
                  .arena = w->arena,
                  .loops = all->n,
                  .apart = !w->plain};
        at->loop = k;
        if (at->why_not || s.l->again || s.l->node < 0) continue;
        s.directive = directive_of(s.l);
        at->at = s.t->node[s.l->node].at;
        at->end = end_of_loop(w->file, s.l->node);
        at->names_n = 0;
        find_function(&s);
        find_body(&s);
        at->why_not = unfit(&s);
        if (at->why_not) continue;
        rc = put_names(&s);
        if (rc == 0) rc = s.names.failed;
        if (rc == 0) rc = put_calls(e, &s);
        hpc_buf_release(&s.names);
        if (rc < 0) break;
        at->on = true;
    }
    return rc;
}

void instrumented_release(instrumented *w, int64_t n)
{
    for (int64_t k = 0; w->item && k < n; k++) hpc_free(w->item[k].name);
    hpc_free(w->item);
    w->item = NULL;
}
