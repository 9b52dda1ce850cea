/*
 * tree_statement.c: nodes of statements and declarations. Each has the parts that tree.h lists, or
 * it is OTHER.
 */
#include "runtime/source/clang/priv.h"

enum { PARTS_MOST = 6 };

/* What stands below a statement, the declaration in its head apart. */
typedef struct parts {
    int32_t item[PARTS_MOST];
    int n;            /* PARTS_MOST + 1: more */
    int32_t declared; /* "if (int x = f())"; 0 */
} parts;

static parts parts_of(const walk *w, int32_t item)
{
    parts p = {0};
    for (int32_t k = w->item[item].first; k; k = w->item[k].next) {
        const enum CXCursorKind kind = w->item[k].c.kind;
        if (kind == CXCursor_VarDecl || kind == CXCursor_UnexposedDecl)
            p.declared = k;
        else if (p.n < PARTS_MOST)
            p.item[p.n++] = k;
        else
            p.n = PARTS_MOST + 1;
        if (p.n > PARTS_MOST) break;
    }
    return p;
}

static void other(walk *w, int32_t item)
{
    const int32_t node = walk_begin(w, HPC_TREE_OTHER, w->item[item].c);
    walk_below(w, item);
    walk_end(w, node);
}

/* ---- declarations --------------------------------------------------------------------------- */

void walk_variable(walk *w, CXCursor c, int32_t initialiser)
{
    const int32_t node = walk_begin(w, HPC_TREE_VARIABLE, c), symbol = walk_symbol(w, c);
    w->node[node].symbol = symbol;
    w->node[node].type = symbol < 0 ? -1 : w->symbol[symbol].type;
    walk_symbol_node(w, symbol, node, clang_isCursorDefinition(c));
    if (initialiser) walk_any(w, initialiser);
    walk_end(w, node);
}

void walk_declared(walk *w, int32_t item)
{
    CXCursor c = w->item[item].c;
    int32_t initialiser = 0;
    if (c.kind == CXCursor_VarDecl || c.kind == CXCursor_ParmDecl) {
        CXCursor init = clang_Cursor_getVarDeclInitializer(c);
        const int32_t last = w->item[item].last;
        if (!clang_Cursor_isNull(init) && last)
            initialiser = clang_equalCursors(w->item[last].c, init) ? last : walk_collect(w, init);
        walk_variable(w, c, initialiser);
        return;
    }
    if (walk_is_bindings(c)) {
        const int32_t last = w->item[item].last;
        walk_bound(w, item, last && clang_isExpression(w->item[last].c.kind) ? last : 0);
        walk_bindings(w, item);
        return;
    }
    const int32_t node = walk_begin(w, HPC_TREE_OTHER, c);
    for (int32_t k = w->item[item].first; k; k = w->item[k].next)
        if (clang_isExpression(w->item[k].c.kind)) walk_any(w, k);
    walk_end(w, node);
}

static void declare(walk *w, int32_t item)
{
    const int32_t node = walk_begin(w, HPC_TREE_DECLARE, w->item[item].c);
    for (int32_t k = w->item[item].first; k; k = w->item[k].next) walk_declared(w, k);
    walk_end(w, node);
}

/* ---- heads ---------------------------------------------------------------------------------- */

/* The condition of a head that declares something: OTHER with all that is in it. */
static void odd_condition(walk *w, int32_t first, int32_t declared, int32_t condition)
{
    const int32_t node = walk_begin(w, HPC_TREE_OTHER, w->item[condition].c);
    if (first) walk_any(w, first);
    if (declared) walk_declared(w, declared);
    walk_any(w, condition);
    walk_end(w, node);
}

static void condition_of(walk *w, const parts *p, int32_t first, int32_t condition)
{
    if (first || p->declared)
        odd_condition(w, first, p->declared, condition);
    else
        walk_any(w, condition);
}

/* True if the first part of a head ends with a semicolon. */
static bool has_first(walk *w, const parts *p)
{
    if (p->n < 2) return false;
    CXCursor c = w->item[p->item[0]].c;
    if (c.kind == CXCursor_DeclStmt || c.kind == CXCursor_NullStmt) return true;
    if (w->u->is_c) return false;
    const walk_place place = walk_place_of(w, c);
    const uint32_t at = walk_skip(w, place.to);
    return !place.macro && at < w->text_n && w->text[at] == ';';
}

static void branch(walk *w, int32_t item)
{
    const parts p = parts_of(w, item);
    const int f = has_first(w, &p);
    if (p.n - f < 2 || p.n - f > 3) {
        other(w, item);
        return;
    }
    const int32_t node = walk_begin(w, HPC_TREE_IF, w->item[item].c);
    condition_of(w, &p, f ? p.item[0] : 0, p.item[f]);
    walk_any(w, p.item[f + 1]);
    if (p.n - f == 3)
        walk_any(w, p.item[f + 2]);
    else
        walk_nothing(w);
    walk_end(w, node);
}

/* WHILE and SWITCH. */
static void headed(walk *w, int32_t item, hpc_tree_kind kind)
{
    const parts p = parts_of(w, item);
    const int f = kind == HPC_TREE_SWITCH && has_first(w, &p);
    if (p.n - f != 2) {
        other(w, item);
        return;
    }
    const int32_t node = walk_begin(w, kind, w->item[item].c);
    condition_of(w, &p, f ? p.item[0] : 0, p.item[f]);
    walk_any(w, p.item[f + 1]);
    walk_end(w, node);
}

/* ---- loops ---------------------------------------------------------------------------------- */

static int bits_in(int x)
{
    return (x & 1) + (x >> 1 & 1) + (x >> 2 & 1);
}

/* libclang lists only the parts of a head that are present; the text shows which these are. */
static void for_loop(walk *w, int32_t item)
{
    const parts p = parts_of(w, item);
    uint32_t at;
    int have = p.n == 4 ? 7 : p.n == 1 ? 0 : -1;
    if (have < 0 && walk_spelled(w, w->item[item].c, &at)) have = walk_for_parts(w, at);
    if (have < 0 || bits_in(have) + 1 != p.n || (p.declared && !(have & 2))) {
        other(w, item);
        return;
    }
    const int32_t node = walk_begin(w, HPC_TREE_FOR, w->item[item].c);
    for (int k = 0, i = 0; k < 3; k++) {
        if (!(have >> k & 1))
            walk_nothing(w);
        else if (k == 1)
            condition_of(w, &p, 0, p.item[i++]);
        else
            walk_any(w, p.item[i++]);
    }
    walk_any(w, p.item[p.n - 1]);
    walk_end(w, node);
}

/* The body begins with the names that are bound to parts of the variable. */
static void body_with_bindings(walk *w, int32_t declared, int32_t body)
{
    const int32_t node = walk_begin(w, HPC_TREE_BLOCK, w->item[body].c),
                  names = walk_begin(w, HPC_TREE_DECLARE, w->item[declared].c);
    walk_bindings(w, declared);
    walk_end(w, names);
    walk_any(w, body);
    walk_end(w, node);
}

/* What the variable begins with is libclang's own. */
static void range(walk *w, int32_t item)
{
    const parts p = parts_of(w, item);
    if (p.n != 2 || !p.declared) {
        other(w, item);
        return;
    }
    CXCursor c = w->item[p.declared].c;
    const int32_t node = walk_begin(w, HPC_TREE_RANGE, w->item[item].c);
    const bool bindings = walk_is_bindings(c);
    if (c.kind == CXCursor_VarDecl)
        walk_variable(w, c, 0);
    else if (bindings)
        walk_bound(w, p.declared, 0);
    else
        walk_end(w, walk_begin(w, HPC_TREE_OTHER, c));
    walk_any(w, p.item[0]);
    if (bindings)
        body_with_bindings(w, p.declared, p.item[1]);
    else
        walk_any(w, p.item[1]);
    walk_end(w, node);
}

/* break and continue have no meaning in a block. */
static bool has_jump(const walk *w, int32_t node)
{
    for (size_t k = (size_t)node + 1; k < w->n; k++)
        if (w->node[k].kind == HPC_TREE_BREAK || w->node[k].kind == HPC_TREE_CONTINUE) return true;
    return false;
}

/* "do { ... } while (0)", which macros use for one statement, is a block: it does not repeat. */
static void do_loop(walk *w, int32_t item)
{
    const parts p = parts_of(w, item);
    int64_t again = 1;
    if (p.n != 2) {
        other(w, item);
        return;
    }
    const int32_t node = walk_begin(w, HPC_TREE_DO, w->item[item].c);
    walk_below(w, item);
    if (walk_evaluate(&again, w->item[p.item[1]].c) && again == 0 && !has_jump(w, node))
        w->node[node].kind = HPC_TREE_BLOCK;
    walk_end(w, node);
}

/* ---- the others ----------------------------------------------------------------------------- */

void walk_block(walk *w, int32_t item)
{
    const int32_t node = walk_begin(w, HPC_TREE_BLOCK, w->item[item].c);
    walk_below(w, item);
    walk_end(w, node);
}

/* "case 1 ... 3" has OTHER with both for its value. */
static void label_case(walk *w, int32_t item)
{
    const parts p = parts_of(w, item);
    const bool is_default = w->item[item].c.kind == CXCursor_DefaultStmt;
    const int values = is_default ? 0 : p.n - 1;
    if (p.n < 1 || (!is_default && (values < 1 || values > 2)) || (is_default && p.n != 1)) {
        other(w, item);
        return;
    }
    const int32_t node = walk_begin(w, HPC_TREE_CASE, w->item[item].c);
    if (values == 0) walk_nothing(w);
    if (values == 1) walk_any(w, p.item[0]);
    if (values == 2) odd_condition(w, p.item[0], 0, p.item[1]);
    walk_any(w, p.item[p.n - 1]);
    walk_end(w, node);
}

/* With one thing below it, or nothing. */
static void single(walk *w, int32_t item, hpc_tree_kind kind)
{
    const int n = walk_count(w, item);
    if (n > 1) {
        other(w, item);
        return;
    }
    const int32_t node = walk_begin(w, kind, w->item[item].c);
    if (n == 1)
        walk_below(w, item);
    else
        walk_nothing(w);
    walk_end(w, node);
}

static void leaf(walk *w, int32_t item, hpc_tree_kind kind)
{
    walk_end(w, walk_begin(w, kind, w->item[item].c));
}

static void try_block(walk *w, int32_t item)
{
    const int32_t node = walk_begin(w, HPC_TREE_TRY, w->item[item].c);
    for (int32_t k = w->item[item].first; k; k = w->item[k].next) {
        if (w->item[k].c.kind == CXCursor_CompoundStmt) {
            walk_block(w, k);
        } else {
            const int32_t node_k = walk_begin(w, HPC_TREE_CATCH, w->item[k].c);
            for (int32_t j = w->item[k].first; j; j = w->item[j].next) {
                if (w->item[j].c.kind == CXCursor_VarDecl)
                    walk_variable(w, w->item[j].c, 0);
                else if (w->item[j].c.kind == CXCursor_CompoundStmt)
                    walk_block(w, j);
            }
            walk_end(w, node_k);
        }
    }
    walk_end(w, node);
}

bool walk_statement(walk *w, int32_t item)
{
    switch ((int)w->item[item].c.kind) {
    case CXCursor_CompoundStmt: walk_block(w, item); break;
    case CXCursor_DeclStmt: declare(w, item); break;
    case CXCursor_VarDecl:
    case CXCursor_ParmDecl:
    case CXCursor_UnexposedDecl: walk_declared(w, item); break;
    case CXCursor_IfStmt: branch(w, item); break;
    case CXCursor_ForStmt: for_loop(w, item); break;
    case CXCursor_CXXForRangeStmt: range(w, item); break;
    case CXCursor_WhileStmt: headed(w, item, HPC_TREE_WHILE); break;
    case CXCursor_SwitchStmt: headed(w, item, HPC_TREE_SWITCH); break;
    case CXCursor_DoStmt: do_loop(w, item); break;
    case CXCursor_CaseStmt:
    case CXCursor_DefaultStmt: label_case(w, item); break;
    case CXCursor_ReturnStmt: single(w, item, HPC_TREE_RETURN); break;
    case CXCursor_LabelStmt: single(w, item, HPC_TREE_LABEL); break;
    case CXCursor_BreakStmt: leaf(w, item, HPC_TREE_BREAK); break;
    case CXCursor_ContinueStmt: leaf(w, item, HPC_TREE_CONTINUE); break;
    case CXCursor_NullStmt: leaf(w, item, HPC_TREE_NOTHING); break;
    case CXCursor_GotoStmt:
    case CXCursor_IndirectGotoStmt: leaf(w, item, HPC_TREE_GOTO); break;
    case CXCursor_GCCAsmStmt:
    case CXCursor_MSAsmStmt: leaf(w, item, HPC_TREE_ASM); break;
    case CXCursor_CXXTryStmt: try_block(w, item); break;
    default: return false;
    }
    return true;
}
