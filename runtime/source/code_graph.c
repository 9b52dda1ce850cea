/*
 * Graphs of code by one walk over its tokens: open statements and brackets are a stack. The number
 * of nodes is bounded, so that searches back over them take constant time.
 */
#include "runtime/source/code_graph_priv.h"

#include <string.h>

#include "runtime/source/diff.h"
#include "runtime/source/priv.h"

enum { WAYS = 4 /* that lead to the next statement, at most */, DEPTH_MOST = 128 };

/* An open statement, block or group. */
typedef struct open {
    int32_t node;
    int32_t last;      /* child, or -1 */
    int32_t way[WAYS]; /* BLOCK: statements before the next one; statement: ways out of its body */
    int8_t ways, kind;
    bool head;  /* statement: its parentheses or body are awaited */
    bool body;  /* BLOCK: opened without a brace, and ends with its first statement */
    bool loops; /* statement: a loop */
} open;

typedef struct walk {
    hpc_code_graph *g;
    const hpc_token *t; /* code tokens alone */
    int64_t n;
    const char *text;
    int64_t first; /* node of this side */
    int side, depth;
    open stack[DEPTH_MOST];
    int top; /* index; -1: none */
} walk;

/* ---- nodes and edges ------------------------------------------------------------------------- */

int code_graph_edge(hpc_code_graph *g, int64_t from, int64_t to, hpc_code_edge_kind kind)
{
    const hpc_code_edge e = {(int32_t)from, (int32_t)to, kind};
    const hpc_code_edge *last = g->edges_n > 0 ? &g->edge[g->edges_n - 1] : NULL;
    if (last && last->from == e.from && last->to == e.to && last->kind == e.kind) return HPC_OK;
    int rc = hpc_grow(&g->edge, &g->edges_cap, g->edges_n + 1, sizeof *g->edge);
    if (rc == HPC_OK) g->edge[g->edges_n++] = e;
    return rc;
}

int code_graph_node(hpc_code_graph *g, const hpc_code_node *v, int32_t parent, int32_t last)
{
    int rc = HPC_OK;
    TRY(hpc_grow(&g->node, &g->cap, g->n + 1, sizeof *g->node));
    g->node[g->n++] = *v;
    if (parent >= 0) TRY(code_graph_edge(g, parent, g->n - 1, HPC_CODE_SYNTAX));
    if (parent >= 0 && last >= 0) TRY(code_graph_edge(g, last, g->n - 1, HPC_CODE_ORDER));
out:
    return rc;
}

int code_graph_names(hpc_code_graph *g, int64_t first)
{
    int64_t n = first + HPC_CODE_NODES + 8;
    int rc = hpc_grow(&g->scratch[1], &g->scratch_cap[1], n, sizeof(uint32_t));
    if (rc == HPC_OK) memset(code_graph_name(g) + first, 0, (size_t)(n - first) * sizeof(uint32_t));
    return rc;
}

int code_graph_link(hpc_code_graph *g, int64_t k, int64_t first)
{
    const hpc_code_node *node = g->node;
    const uint32_t *name = code_graph_name(g);
    bool calls = node[k].kind == HPC_CODE_CALL;
    for (int64_t b = k - 1; b >= first; b--)
        if (name[b] == name[k] && node[b].kind == (calls ? HPC_CODE_CALL : HPC_CODE_WRITE))
            return code_graph_edge(g, b, k, calls ? HPC_CODE_FLOW : HPC_CODE_DATA);
    return HPC_OK;
}

int code_graph_carry(hpc_code_graph *g, int32_t loop)
{
    const hpc_code_node *node = g->node;
    const uint32_t *name = code_graph_name(g);
    int rc = HPC_OK;
    for (int64_t to = g->n - 1; to > loop; to--) {
        bool is_last = node[to].kind == HPC_CODE_WRITE;
        for (int64_t k = to + 1; is_last && k < g->n; k++)
            is_last = node[k].kind != HPC_CODE_WRITE || name[k] != name[to];
        for (int64_t k = loop + 1; is_last && k < to && rc == HPC_OK; k++)
            if (node[k].kind == HPC_CODE_READ && name[k] == name[to])
                rc = code_graph_edge(g, to, k, HPC_CODE_CARRIED);
    }
    return rc;
}

/* A child of what is open; ordered after its last child. */
static int put_node(walk *w, int32_t *out, hpc_code_kind kind, uint32_t label, uint32_t at)
{
    const hpc_code_node v = {.label = label,
                             .at = at,
                             .kind = (uint8_t)kind,
                             .side = (uint8_t)w->side,
                             .depth = (uint8_t)w->depth};
    open *o = w->top >= 0 ? &w->stack[w->top] : NULL;
    int rc = code_graph_node(w->g, &v, o ? o->node : -1, o ? o->last : -1);
    *out = (int32_t)w->g->n - 1;
    if (o) o->last = *out;
    return rc;
}

static bool is(const walk *w, int64_t i, const char *word)
{
    return i >= 0 && i < w->n && hpc_token_is(&w->t[i], w->text, word, strlen(word));
}

static bool is_one_of(const walk *w, int64_t i, const char *const *words)
{
    for (; *words; words++)
        if (is(w, i, *words)) return true;
    return false;
}

static const char *const loop_words[] = {"for", "while", "do", NULL};
static const char *const branch_words[] = {"if", "else", "switch", "case", "default", NULL};
static const char *const jump_words[] = {"return", "break", "continue", "goto", "throw", NULL};
static const char *const bare_words[] = {"do", "else", "try", NULL}; /* a body follows at once */
static const char *const other_words[] = {
    "auto",        "bool",       "char",       "const",     "constexpr",
    "delete",      "double",     "enum",       "extern",    "false",
    "float",       "inline",     "int",        "int16_t",   "int32_t",
    "int64_t",     "int8_t",     "long",       "new",       "nullptr",
    "NULL",        "operator",   "register",   "restrict",  "__restrict__",
    "short",       "signed",     "sizeof",     "size_t",    "static",
    "struct",      "template",   "this",       "true",      "typedef",
    "typename",    "uint16_t",   "uint32_t",   "uint64_t",  "uint8_t",
    "union",       "unsigned",   "using",      "void",      "volatile",
    "static_cast", "std",        "catch",      "try",       "reinterpret_cast",
    "const_cast",  "__global__", "__device__", "namespace", NULL};

static hpc_code_kind statement_kind(const walk *w, int64_t i)
{
    if (is_one_of(w, i, loop_words)) return HPC_CODE_LOOP;
    if (is_one_of(w, i, branch_words)) return HPC_CODE_BRANCH;
    return is_one_of(w, i, jump_words) ? HPC_CODE_JUMP : HPC_CODE_STATEMENT;
}

static bool is_keyword(const walk *w, int64_t i)
{
    return statement_kind(w, i) != HPC_CODE_STATEMENT || is_one_of(w, i, other_words);
}

/* ---- what is open -----------------------------------------------------------------------------
 */

static bool holds_statements(const open *o)
{
    return o->kind == HPC_CODE_BLOCK;
}

static bool is_statement(const open *o)
{
    return o->kind <= HPC_CODE_JUMP;
}

static void add_way(open *o, int32_t node)
{
    for (int k = 0; k < o->ways; k++)
        if (o->way[k] == node) return;
    if (o->ways < WAYS) o->way[o->ways++] = node;
}

static open *push(walk *w, int32_t node, hpc_code_kind kind)
{
    if (w->top + 1 == DEPTH_MOST) return NULL;
    w->stack[++w->top] = (open){.node = node, .last = -1, .kind = (int8_t)kind};
    return &w->stack[w->top];
}

/* Opens a block of statements below the open one, which its first statement follows. */
static void push_block(walk *w, int32_t node, bool body)
{
    int32_t owner = w->top >= 0 ? w->stack[w->top].node : -1;
    open *o = push(w, node, HPC_CODE_BLOCK);
    if (!o) return;
    o->body = body;
    if (owner >= 0) add_way(o, owner);
}

static int begin_statement(walk *w, int64_t i)
{
    hpc_code_kind kind = statement_kind(w, i);
    uint32_t label = is_keyword(w, i) ? w->t[i].hash : 0;
    int32_t node;
    int rc = put_node(w, &node, kind, label, w->t[i].at);
    if (rc < 0) return rc;
    open *block = w->top >= 0 ? &w->stack[w->top] : NULL;
    for (int k = 0; block && k < block->ways && rc == HPC_OK; k++)
        rc = code_graph_edge(w->g, block->way[k], node, HPC_CODE_CONTROL);
    open *o = push(w, node, kind);
    if (!o) return rc;
    o->loops = kind == HPC_CODE_LOOP;
    o->head = o->loops || kind == HPC_CODE_BRANCH;
    w->depth += o->loops;
    return rc;
}

static int32_t loop_around(const walk *w)
{
    for (int k = w->top; k >= 0; k--)
        if (w->stack[k].loops) return w->stack[k].node;
    return -1;
}

/* Ends the statement on top; its ways out go to the block around it. */
static int end_statement(walk *w)
{
    open o = w->stack[w->top--];
    open *block = w->top >= 0 ? &w->stack[w->top] : NULL;
    int32_t loop = o.kind == HPC_CODE_JUMP ? loop_around(w) : -1;
    int rc = HPC_OK;
    if (loop >= 0) TRY(code_graph_edge(w->g, o.node, loop, HPC_CODE_CONTROL));
    for (int k = 0; o.loops && k < o.ways; k++)
        TRY(code_graph_edge(w->g, o.way[k], o.node, HPC_CODE_CONTROL));
    if (o.loops) TRY(code_graph_carry(w->g, o.node));
    w->depth -= o.loops;
    if (!block) goto out;
    block->ways = 0;
    if (o.kind != HPC_CODE_JUMP) add_way(block, o.node);
    for (int k = 0; !o.loops && k < o.ways; k++) add_way(block, o.way[k]);
out:
    return rc;
}

/* Ends the block on top, and the statement around it. A statement that ended may have been the
 * body of another one. */
static int end_block(walk *w)
{
    int rc = HPC_OK;
    for (bool ends = true; ends && w->top >= 0 && rc == HPC_OK;) {
        open block = w->stack[w->top--];
        open *owner = w->top >= 0 && is_statement(&w->stack[w->top]) ? &w->stack[w->top] : NULL;
        for (int k = 0; owner && k < block.ways; k++)
            if (block.way[k] != owner->node) add_way(owner, block.way[k]);
        if (owner) rc = end_statement(w);
        ends = owner && w->top >= 0 && w->stack[w->top].body;
    }
    return rc;
}

static int end_at_semicolon(walk *w)
{
    if (w->top >= 0 && w->stack[w->top].body) return end_block(w);
    if (w->top < 0 || !is_statement(&w->stack[w->top])) return HPC_OK;
    int rc = end_statement(w);
    if (rc == HPC_OK && w->top >= 0 && w->stack[w->top].body) rc = end_block(w);
    return rc;
}

/* ---- brackets ---------------------------------------------------------------------------------
 */

static bool opens_block(const walk *w, int64_t i)
{
    if (w->top < 0 || holds_statements(&w->stack[w->top])) return true;
    const open *o = &w->stack[w->top];
    if (is(w, i - 1, ")") || is_one_of(w, i - 1, bare_words)) return true;
    return is_statement(o) && o->last < 0;
}

static int open_bracket(walk *w, int64_t i)
{
    bool block = is(w, i, "{") && opens_block(w, i);
    int32_t node;
    int rc = HPC_OK;
    if (block && w->top >= 0 && is_statement(&w->stack[w->top])) w->stack[w->top].head = false;
    TRY(put_node(w, &node, block ? HPC_CODE_BLOCK : HPC_CODE_GROUP, w->t[i].hash, w->t[i].at));
    if (is(w, i, "(") && i > 0 && node > w->first && w->g->node[node - 1].kind == HPC_CODE_CALL)
        TRY(code_graph_edge(w->g, node, node - 1, HPC_CODE_FLOW));
    if (block)
        push_block(w, node, false);
    else
        push(w, node, HPC_CODE_GROUP);
out:
    return rc;
}

/* Ends statements and bodies without braces inside the bracket. An unmatched one is ignored. */
static int close_bracket(walk *w, int64_t i)
{
    bool brace = is(w, i, "}");
    int k = w->top, rc = HPC_OK;
    while (k >= 0 && (is_statement(&w->stack[k]) || w->stack[k].body)) k--;
    if (k < 0 || (!brace && holds_statements(&w->stack[k]))) return HPC_OK;
    while (w->top > k) {
        if (is_statement(&w->stack[w->top]))
            TRY(end_statement(w));
        else
            w->top--;
    }
    if (brace && holds_statements(&w->stack[k])) return end_block(w);
    w->top--;
    open *o = w->top >= 0 ? &w->stack[w->top] : NULL;
    if (o && is_statement(o) && o->head && !brace && !is(w, i + 1, "{")) {
        o->head = false;
        push_block(w, o->node, true);
    }
out:
    return rc;
}

/* ---- tokens ------------------------------------------------------------------------------------
 */

static const char *const assignments[] = {
    "=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=", "++", "--", NULL};
static const char *const steps[] = {"++", "--", NULL};
static const char *const member_marks[] = {".", "->", "::", NULL};

/* Token i is a name; it looks over a few subscripts and members after it. */
static bool is_written(const walk *w, int64_t i)
{
    if (is_one_of(w, i - 1, steps)) return true;
    for (int hops = 0; hops < 8; hops++) {
        int64_t k = i + 1, depth = 0;
        if (is(w, k, ".") || is(w, k, "->")) {
            i = k + 1;
            continue;
        }
        if (!is(w, k, "[")) return is_one_of(w, k, assignments);
        for (; k < w->n && k < i + 64; k++) {
            depth += is(w, k, "[") - is(w, k, "]");
            if (depth == 0) break;
        }
        i = k;
    }
    return false;
}

static hpc_code_kind token_kind(const walk *w, int64_t i)
{
    if (w->t[i].kind == HPC_TOKEN_PUNCT) return HPC_CODE_OPERATOR;
    if (w->t[i].kind != HPC_TOKEN_NAME) return HPC_CODE_CONSTANT;
    if (is_keyword(w, i)) return HPC_CODE_WORD;
    if (is(w, i + 1, "(")) return HPC_CODE_CALL;
    if (is_one_of(w, i - 1, member_marks) || is(w, i + 1, "::")) return HPC_CODE_WORD;
    return is_written(w, i) ? HPC_CODE_WRITE : HPC_CODE_READ;
}

static int put_token(walk *w, int64_t i)
{
    hpc_code_kind kind = token_kind(w, i);
    bool variable = kind == HPC_CODE_READ || kind == HPC_CODE_WRITE;
    bool text = w->t[i].kind == HPC_TOKEN_STRING || w->t[i].kind == HPC_TOKEN_CHARACTER;
    int32_t node;
    int rc = HPC_OK;
    TRY(put_node(w, &node, kind, variable || text ? 0 : w->t[i].hash, w->t[i].at));
    code_graph_name(w->g)[node] = w->t[i].hash;
    if (variable || kind == HPC_CODE_CALL) TRY(code_graph_link(w->g, node, w->first));
out:
    return rc;
}

static int take(walk *w, int64_t i)
{
    int rc = HPC_OK;
    bool opening = is(w, i, "(") || is(w, i, "[") || is(w, i, "{");
    if (is(w, i, ")") || is(w, i, "]") || is(w, i, "}")) return close_bracket(w, i);
    if (is(w, i, ";")) return end_at_semicolon(w);
    if ((w->top < 0 || holds_statements(&w->stack[w->top])) && !is(w, i, "{"))
        TRY(begin_statement(w, i));
    if (opening) return open_bracket(w, i);
    if (is(w, i, ",")) return HPC_OK;
    TRY(put_token(w, i));
    open *o = &w->stack[w->top];
    if (is_statement(o) && o->head && is_one_of(w, i, bare_words) && !is(w, i + 1, "{")) {
        o->head = false;
        push_block(w, o->node, true);
    }
out:
    return rc;
}

/* ---- the graph ---------------------------------------------------------------------------------
 */

/* Copies the code tokens of [at, end), so that neighbours are next to each other. */
static int choose_tokens(walk *w, const hpc_tokens *t, size_t at, size_t end)
{
    hpc_code_graph *g = w->g;
    int rc = HPC_OK;
    for (int64_t i = hpc_token_at(t, at); i < t->n && t->item[i].at < end; i++) {
        const hpc_token *x = &t->item[i];
        if (!hpc_token_is_code(x) || x->flags & HPC_TOKEN_IN_DIRECTIVE) continue;
        if (w->n == 4 * HPC_CODE_NODES) break;
        TRY(hpc_grow(&g->scratch[0], &g->scratch_cap[0], w->n + 1, sizeof *x));
        ((hpc_token *)g->scratch[0])[w->n++] = *x;
    }
    w->t = g->scratch[0];
out:
    return rc;
}

static int add_side(hpc_code_graph *g, const hpc_tokens *t, const char *text, size_t at, size_t end,
                    hpc_language l, int side)
{
    walk w = {.g = g, .text = text, .first = g->n, .side = side, .top = -1};
    int rc = HPC_OK;
    if (l == HPC_LANGUAGE_FORTRAN)
        return hpc_fail(HPC_E_UNSUPPORTED, "graphs of Fortran code are not available");
    TRY(choose_tokens(&w, t, at, end));
    TRY(code_graph_names(g, w.first));
    for (int64_t i = 0; i < w.n; i++) {
        bool full = g->n - w.first >= HPC_CODE_NODES || w.top >= DEPTH_MOST - 4;
        g->cut = g->cut || full;
        if (full) break;
        TRY(take(&w, i));
    }
    while (w.top >= 0) {
        if (is_statement(&w.stack[w.top]))
            TRY(end_statement(&w));
        else
            w.top--;
    }
out:
    return rc;
}

int hpc_code_graph_of(hpc_code_graph *g, const hpc_tokens *t, const char *text, size_t at,
                      size_t end, hpc_language l)
{
    g->n = g->edges_n = 0;
    g->cut = false;
    return add_side(g, t, text, at, end, l, 0);
}

static uint64_t identity(const hpc_code_graph *g, int64_t k)
{
    const hpc_code_node *v = &g->node[k];
    uint64_t name = v->kind >= HPC_CODE_CALL ? code_graph_name(g)[k] : v->label;
    return name << 8 | v->kind;
}

/* Nodes that the edits do not contain are the same on both sides. */
static int match(walk *w, int64_t base_n, const hpc_edits *e)
{
    hpc_code_graph *g = w->g;
    int64_t a = 0, b = base_n;
    int rc = HPC_OK;
    for (int64_t k = 0; k <= e->n; k++) {
        const hpc_edit *x = k < e->n ? &e->item[k] : NULL;
        int64_t end = x ? x->base_at : base_n;
        for (; a < end; a++, b++) TRY(code_graph_edge(w->g, a, b, HPC_CODE_SAME));
        for (int64_t c = 0; x && c < x->base_n; c++) g->node[a++].changed = true;
        for (int64_t c = 0; x && c < x->head_n; c++) g->node[b++].changed = true;
    }
out:
    return rc;
}

int hpc_code_graph_add_head(hpc_code_graph *g, const hpc_tokens *t, const char *text, size_t at,
                            size_t end, hpc_language l)
{
    int64_t base_n = g->n;
    walk w = {.g = g};
    hpc_edits e = {0};
    int rc = HPC_OK;
    TRY(add_side(g, t, text, at, end, l, 1));
    TRY(hpc_grow(&g->scratch[2], &g->scratch_cap[2], g->n + 1, sizeof(uint64_t)));
    uint64_t *id = g->scratch[2];
    for (int64_t k = 0; k < g->n; k++) id[k] = identity(g, k);
    TRY(hpc_diff(&e, id, base_n, id + base_n, g->n - base_n));
    TRY(match(&w, base_n, &e));
out:
    hpc_edits_release(&e);
    return rc;
}

void hpc_code_graph_release(hpc_code_graph *g)
{
    hpc_free(g->node);
    hpc_free(g->edge);
    for (int k = 0; k < 3; k++) hpc_free(g->scratch[k]);
    *g = (hpc_code_graph){0};
}
