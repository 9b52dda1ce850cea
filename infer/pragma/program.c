/*
 * program.c: uses of each symbol in the file: assignments, and operations that expose its address.
 */
#include "infer/pragma/program.h"

#include "infer/pragma/splice.h"

#include <string.h>

enum { TEXT_MOST = 48 };

static bool steps(uint8_t op)
{
    return op == HPC_OP_PRE_INCREMENT || op == HPC_OP_PRE_DECREMENT ||
           op == HPC_OP_POST_INCREMENT || op == HPC_OP_POST_DECREMENT;
}

/* The variable whose storage an lvalue lies in: of a.b[i] that is a, if b is an array; -1 when a
 * pointer is followed on the way. */
static int32_t storage(const hpc_tree *t, int32_t e)
{
    for (;;) {
        const hpc_tree_node *n = &t->node[e];
        int32_t c = hpc_tree_first(t, e);
        if (n->kind == HPC_TREE_NAME) return n->symbol;
        if (n->kind == HPC_TREE_MEMBER && n->op == '.' && c) {
            e = c;
        } else if (n->kind == HPC_TREE_INDEX && c && t->node[c].type >= 0 &&
                   t->type[t->node[c].type].kind == HPC_TYPE_ARRAY)
        {
            e = c;
        } else {
            return -1;
        }
    }
}

static void assigned(program *p, int32_t lvalue, int32_t by)
{
    int32_t v = storage(p->t, lvalue);
    if (v < 0) return;
    p->use[v].writes_n++;
    p->use[v].write = by;
}

static void addressed(program *p, int32_t lvalue)
{
    int32_t v = storage(p->t, lvalue);
    if (v >= 0) p->use[v].addressed = true;
}

static bool is_reference(const hpc_tree *t, int32_t type)
{
    return type >= 0 && t->type[type].kind == HPC_TYPE_REFERENCE;
}

static bool has_references(hpc_language l)
{
    return l != HPC_LANGUAGE_C && l != HPC_LANGUAGE_FORTRAN;
}

/* True if objects of a record type may hold references: one of its fields is a reference. */
static bool has_reference(const hpc_tree *t, int32_t type)
{
    if (type < 0 || t->type[type].kind != HPC_TYPE_RECORD)
        return type < 0 || t->type[type].kind == HPC_TYPE_UNKNOWN;
    const char *name = t->name + t->type[type].name;
    for (int64_t v = 0; v < t->symbols_n; v++)
        if (t->symbol[v].kind == HPC_SYMBOL_FIELD && is_reference(t, t->symbol[v].type) &&
            strcmp(t->name + t->symbol[v].scope, name) == 0)
            return true;
    return false;
}

/* True if parameter k of a constructor or function is a reference; *known: it is in the file. */
static bool takes_reference(bool *known, const hpc_tree *t, int32_t function, int k)
{
    const int32_t node = function < 0 ? -1 : t->symbol[function].node;
    *known = node >= 0 && t->node[node].kind == HPC_TREE_FUNCTION;
    const int32_t c = *known ? hpc_tree_child(t, node, k) : 0;
    return c && t->node[c].kind == HPC_TREE_VARIABLE && is_reference(t, t->node[c].type);
}

/* True for library objects that refer to variables: std::reference_wrapper, std::tuple<double &>.
 * *library: it is an object of the library. */
static bool is_reference_holder(bool *library, const hpc_tree *t, int32_t type)
{
    const bool record = type >= 0 && t->type[type].kind == HPC_TYPE_RECORD;
    const char *name = record ? t->name + t->type[type].name : "";
    *library = strncmp(name, "std::", 5) == 0;
    return *library && (strstr(name, "reference_wrapper<") || strchr(name, '&'));
}

/* True if an argument or part of an initialiser may get bound to a reference that an object keeps.
 */
static bool is_bound(const hpc_tree *t, int32_t i)
{
    const int32_t up = t->node[i].parent;
    const hpc_tree_node *n = &t->node[up];
    int k = 0;
    if (n->kind == HPC_TREE_LIST) return has_reference(t, n->type);
    const bool call = n->kind == HPC_TREE_CALL;
    if ((!call && n->kind != HPC_TREE_CONSTRUCT) || hpc_tree_first(t, up) == (call ? i : 0))
        return false;
    for (int32_t c = call ? inline_arguments(t, up) : hpc_tree_first(t, up); c && c != i;
         c = hpc_tree_next(t, c))
        k++;
    bool library, known;
    if (is_reference_holder(&library, t, n->type)) return true;
    const bool takes = takes_reference(&known, t, n->symbol, k);
    return known ? takes : !call && !library;
}

/* An array that is not indexed where it is named becomes a pointer. */
static bool decays(const hpc_tree *t, int32_t i)
{
    const hpc_tree_node *n = &t->node[i], *up = &t->node[n->parent];
    if (n->type < 0 || t->type[n->type].kind != HPC_TYPE_ARRAY) return false;
    return !(up->kind == HPC_TREE_INDEX && hpc_tree_first(t, n->parent) == i) &&
           up->kind != HPC_TREE_RANGE;
}

/* True if the pointer that this node names is copied to another variable. */
static bool is_copied(const hpc_tree *t, int32_t i)
{
    int32_t at = i, up = t->node[i].parent;
    while (up > 0 && (t->node[up].kind == HPC_TREE_CAST || t->node[up].kind == HPC_TREE_BINARY ||
                      t->node[up].kind == HPC_TREE_CHOOSE))
    {
        at = up;
        up = t->node[up].parent;
    }
    uint8_t k = up < 0 ? HPC_TREE_FILE : t->node[up].kind;
    int32_t type = up < 0 ? -1 : t->node[up].type;
    bool pointer = type < 0 || t->type[type].kind == HPC_TYPE_POINTER ||
                   t->type[type].kind == HPC_TYPE_UNKNOWN;
    if (k == HPC_TREE_ASSIGN) return hpc_tree_first(t, up) != at && pointer;
    return (k == HPC_TREE_VARIABLE && pointer) || k == HPC_TREE_LIST || k == HPC_TREE_LAMBDA;
}

static void note_use(program *p, int32_t i)
{
    const hpc_tree *t = p->t;
    const hpc_tree_node *n = &t->node[i];
    int32_t c = hpc_tree_first(t, i);
    if (n->kind == HPC_TREE_NAME && n->symbol >= 0) {
        p->use[n->symbol].last = i;
        if (is_copied(t, i)) p->use[n->symbol].copied = true;
        if (n->flags & HPC_TREE_BY_REFERENCE) p->use[n->symbol].addressed = true;
    }
    if ((n->kind == HPC_TREE_NAME || n->kind == HPC_TREE_MEMBER || n->kind == HPC_TREE_INDEX) &&
        n->parent >= 0)
    {
        const int32_t v = storage(t, i);
        if (decays(t, i)) addressed(p, i);
        if (v >= 0 && has_references(p->language) && is_bound(t, i)) p->use[v].bound = true;
    }
    if (n->flags & HPC_TREE_BY_REFERENCE) {
        assigned(p, i, i);
        addressed(p, i);
    }
    if (n->kind == HPC_TREE_ASSIGN && c) assigned(p, c, i);
    if (n->kind == HPC_TREE_UNARY && c && steps(n->op)) assigned(p, c, i);
    if (n->kind == HPC_TREE_UNARY && c && n->op == '&') addressed(p, c);
    if (n->kind == HPC_TREE_VARIABLE && c && is_reference(t, n->type)) {
        addressed(p, c);
        for (int32_t k = c; k < t->node[c].end && t->node[c].kind == HPC_TREE_OTHER; k++)
            if (t->node[k].kind == HPC_TREE_NAME) addressed(p, k); /* any of them */
    }
}

static bool names_thread_local(const program *p, int32_t function)
{
    const hpc_tree *t = p->t;
    for (int32_t i = function; i < t->node[function].end; i++)
        if (t->node[i].symbol >= 0 && p->use[t->node[i].symbol].by_thread) return true;
    return false;
}

/* Marks thread-local variables, and the functions that name them or call functions that do. */
static void note_thread_local(program *p)
{
    const hpc_tree *t = p->t;
    bool more = false;
    for (int64_t v = 0; v < t->symbols_n; v++) {
        p->use[v].by_thread = t->symbol[v].flags & HPC_SYMBOL_THREAD;
        more |= p->use[v].by_thread;
    }
    while (more) {
        more = false;
        for (int64_t v = 0; v < t->symbols_n; v++) {
            const int32_t body = t->symbol[v].node;
            if (p->use[v].by_thread || body < 0 || t->node[body].kind != HPC_TREE_FUNCTION)
                continue;
            p->use[v].by_thread = names_thread_local(p, body);
            more |= p->use[v].by_thread;
        }
    }
}

int program_init(program *p)
{
    const hpc_tree *t = p->t;
    p->use = hpc_arena_alloc(p->work, (size_t)t->symbols_n + 1, sizeof *p->use);
    p->effect = hpc_arena_alloc(p->work, (size_t)t->symbols_n + 1, sizeof *p->effect);
    if (!p->use || !p->effect) return HPC_E_NOMEM;
    for (int64_t v = 0; v < t->symbols_n; v++) p->use[v].last = p->use[v].write = -1;
    for (int32_t i = 0; i < t->n; i++) note_use(p, i);
    note_thread_local(p);
    return HPC_OK;
}

int32_t next_captured(const program *p, int32_t loop, int32_t from)
{
    const hpc_tree *t = p->t;
    int32_t end = 0; /* of the replaced call */
    for (int32_t i = loop; p->captured && i < t->node[loop].end; i++) {
        const hpc_tree_node *n = &t->node[i];
        if ((n->flags & TREE_SPLICED) && n->end > end) end = n->end;
        if (i > from && i < end && n->kind == HPC_TREE_NAME && n->symbol >= 0 &&
            n->symbol < p->captured_n && p->captured[n->symbol])
            return i;
    }
    return 0;
}

/* ---- text ---- */

/* On one line, blanks as one, at most TEXT_MOST bytes. */
static const char *source_text(const program *p, int32_t node)
{
    const hpc_tree_node *n = &p->t->node[node];
    char text[TEXT_MOST + 4];
    size_t k = 0;
    if (n->flags & HPC_TREE_ELSEWHERE) return "code in a header";
    for (size_t i = n->at; i < n->to && i < p->text_n && k < TEXT_MOST; i++) {
        char c = p->text[i];
        bool blank = c == ' ' || c == '\t' || c == '\n' || c == '\r';
        if (blank && (k == 0 || text[k - 1] == ' ')) continue;
        text[k++] = blank ? ' ' : c;
    }
    text[k] = '\0';
    if (k == TEXT_MOST) strcpy(text + k, "...");
    const char *kept = hpc_arena_text(p->out, "%s", text);
    return kept ? kept : "";
}

/* The range-based loop that declares its element at a node; 0: none does. */
static int32_t range_of(const hpc_tree *t, int32_t node)
{
    const int32_t up = node > 0 ? t->node[node].parent : 0;
    return up > 0 && t->node[up].kind == HPC_TREE_RANGE && hpc_tree_first(t, up) == node ? up : 0;
}

static const char *element_text(const program *p, int32_t range)
{
    const int32_t variable = hpc_tree_first(p->t, range), v = p->t->node[variable].symbol;
    const char *name = v >= 0 ? symbol_name(p->t, v) : "";
    const char *of = source_text(p, hpc_tree_child(p->t, range, 1));
    const char *kept =
        hpc_arena_text(p->out, *name ? "%s (element of %s)" : "%san element of %s", name, of);
    return kept ? kept : "";
}

const char *node_text(const program *p, int32_t node)
{
    const int32_t range = range_of(p->t, node);
    return range ? element_text(p, range) : source_text(p, node);
}

const char *access_text(const program *p, int32_t node)
{
    const int32_t v = p->t->node[node].kind == HPC_TREE_NAME ? p->t->node[node].symbol : -1;
    const int32_t range = v >= 0 ? range_of(p->t, p->t->symbol[v].node) : 0;
    return range ? element_text(p, range) : node_text(p, node);
}
