/*
 * tree.c: the tree of a unit's own file: its functions and variables, from all scopes,
 * in one list.
 *
 * Pure declarations have no node. Bodies of templates are walked as templates, then as instances.
 */
#include <stdlib.h>
#include <string.h>

#include "runtime/source/clang/priv.h"

enum {
    NODES_MOST = 1 << 22,
    NODES_ELSEWHERE = 1 << 17,
    DEPTH_MOST = 1000,
    DIAGNOSTICS_MOST = 1000
};

/* ---- cursors -------------------------------------------------------------------------------- */

static void append(walk *w, int32_t above, CXCursor c)
{
    const int32_t k = (int32_t)w->items_n;
    walk_grow(&w->item, &w->items_cap, w->items_n + 1, sizeof *w->item);
    w->item[k] = (walk_item){.c = c};
    w->items_n++;
    if (above < 0) return;
    walk_item *a = &w->item[above];
    if (a->last)
        w->item[a->last].next = k;
    else
        a->first = k;
    a->last = k;
}

static void push(walk *w, int32_t item)
{
    walk_grow(&w->open, &w->open_cap, w->open_n + 1, sizeof *w->open);
    w->open[w->open_n++] = item;
}

/* True for cursors without a counterpart in the tree. */
static bool is_left_out(enum CXCursorKind k)
{
    if (clang_isReference(k)) return k != CXCursor_VariableRef && k != CXCursor_OverloadedDeclRef;
    if (clang_isDeclaration(k))
        return k != CXCursor_VarDecl && k != CXCursor_ParmDecl && k != CXCursor_UnexposedDecl;
    return clang_isAttribute(k) || clang_isPreprocessing(k);
}

static bool is_leaf(enum CXCursorKind k)
{
    switch ((int)k) {
    case CXCursor_DeclRefExpr:
    case CXCursor_IntegerLiteral:
    case CXCursor_FloatingLiteral:
    case CXCursor_StringLiteral:
    case CXCursor_CharacterLiteral:
    case CXCursor_CXXBoolLiteralExpr:
    case CXCursor_CXXNullPtrLiteralExpr:
    case CXCursor_CXXThisExpr:
    case CXCursor_VariableRef:
    case CXCursor_OverloadedDeclRef: return true;
    default: return false;
    }
}

/* The copies that a lambda makes of what it captures come below something that is not visited:
 * they stay below the lambda. */
static void close_to(walk *w, CXCursor parent)
{
    for (size_t n = w->open_n; n > 0; n--) {
        if (!clang_equalCursors(w->item[w->open[n - 1]].c, parent)) continue;
        w->open_n = n;
        return;
    }
}

static enum CXChildVisitResult collect(CXCursor c, CXCursor parent, CXClientData user)
{
    walk *w = user;
    close_to(w, parent);
    const int32_t above = w->open[w->open_n - 1];
    if (is_left_out(c.kind)) {
        if (clang_isReference(c.kind)) w->item[above].cut = true;
        return CXChildVisit_Continue;
    }
    append(w, above, c);
    if (is_leaf(c.kind)) return CXChildVisit_Continue;
    push(w, (int32_t)w->items_n - 1);
    return CXChildVisit_Recurse;
}

int32_t walk_collect(walk *w, CXCursor c)
{
    const int32_t root = (int32_t)w->items_n;
    append(w, -1, c);
    w->open_n = 0;
    push(w, root);
    clang_visitChildren(c, collect, w);
    return root;
}

int walk_count(const walk *w, int32_t item)
{
    int n = 0;
    for (int32_t k = w->item[item].first; k; k = w->item[k].next) n++;
    return n;
}

/* ---- nodes ---------------------------------------------------------------------------------- */

static int32_t add(walk *w, hpc_clang_node new)
{
    const int32_t k = (int32_t)w->n;
    walk_grow(&w->node, &w->cap, w->n + 1, sizeof *w->node);
    walk_grow(&w->parent, &w->parents_cap, w->n + 1, sizeof *w->parent);
    w->node[k] = new;
    w->parent[k] = w->top;
    w->n++;
    return k;
}

int32_t walk_begin(walk *w, hpc_tree_kind kind, CXCursor c)
{
    const walk_place p = walk_place_of(w, c);
    const int32_t k = add(w, (hpc_clang_node){.kind = (uint8_t)kind,
                                              .flags = p.macro ? HPC_TREE_MACRO : 0,
                                              .type = -1,
                                              .symbol = -1,
                                              .at = p.at,
                                              .to = p.to});
    w->top = k;
    w->depth++;
    return k;
}

void walk_nothing(walk *w)
{
    const uint32_t at = w->node[w->top].at;
    const int32_t k = add(
        w,
        (hpc_clang_node){.kind = HPC_TREE_NOTHING, .type = -1, .symbol = -1, .at = at, .to = at});
    w->node[k].end = k + 1;
}

/* A node whose last child ends in a macro ends in it also. */
void walk_end(walk *w, int32_t node)
{
    hpc_clang_node *n = &w->node[node];
    n->end = (int32_t)w->n;
    w->top = w->parent[node];
    w->depth--;
    hpc_clang_node *above = w->top >= 0 ? &w->node[w->top] : NULL;
    if (above && (n->flags & HPC_TREE_MACRO) && n->to == above->to) above->flags |= HPC_TREE_MACRO;
}

void walk_any(walk *w, int32_t item)
{
    if (w->depth >= DEPTH_MOST) {
        walk_end(w, walk_begin(w, HPC_TREE_OTHER, w->item[item].c));
        return;
    }
    item = walk_peel(w, item);
    if (!walk_statement(w, item)) walk_expression(w, item);
}

void walk_below(walk *w, int32_t item)
{
    for (int32_t k = w->item[item].first; k; k = w->item[k].next) walk_any(w, k);
}

/* ---- functions and variables of the file ---------------------------------------------------- */

static void parameters(walk *w, int32_t function)
{
    CXCursor c = w->item[function].c;
    const int n = clang_Cursor_getNumArguments(c);
    for (int k = 0; k < n; k++) walk_variable(w, clang_Cursor_getArgument(c, (unsigned)k), 0);
    for (int32_t k = w->item[function].first; k && n < 0; k = w->item[k].next)
        if (w->item[k].c.kind == CXCursor_ParmDecl) walk_variable(w, w->item[k].c, 0);
}

/* What a constructor's members begin with: an expression is there for no other reason. */
static void initialisers(walk *w, int32_t function, int32_t body)
{
    int32_t other = -1;
    if (w->item[function].c.kind != CXCursor_Constructor) return;
    for (int32_t k = w->item[function].first; k != body; k = w->item[k].next) {
        if (!clang_isExpression(w->item[k].c.kind)) continue;
        if (other < 0) other = walk_begin(w, HPC_TREE_OTHER, w->item[k].c);
        walk_any(w, k);
    }
    if (other >= 0) walk_end(w, other);
}

/* True if types in a function depend on parameters of a template. */
static bool is_template(CXCursor c)
{
    if (!clang_Cursor_isNull(clang_getSpecializedCursorTemplate(c))) return false;
    for (; !clang_Cursor_isNull(c) && !clang_isTranslationUnit(c.kind);
         c = clang_getCursorSemanticParent(c))
        if (c.kind == CXCursor_FunctionTemplate || c.kind == CXCursor_ClassTemplate ||
            c.kind == CXCursor_ClassTemplatePartialSpecialization)
            return true;
    return false;
}

static void function(walk *w, CXCursor c)
{
    const size_t n = w->n, values_n = w->values_n;
    w->items_n = 1; /* item 0 stands for none */
    const int32_t item = walk_collect(w, c), body = w->item[item].last;
    const enum CXCursorKind kind = body ? w->item[body].c.kind : CXCursor_InvalidFile;
    if (kind != CXCursor_CompoundStmt && kind != CXCursor_CXXTryStmt) return;
    const int32_t symbol = walk_symbol(w, c), node = walk_begin(w, HPC_TREE_FUNCTION, c);
    w->node[node].symbol = symbol;
    if (!w->u->is_c && is_template(c)) w->node[node].flags |= HPC_TREE_TEMPLATE;
    walk_symbol_node(w, symbol, node, true);
    parameters(w, item);
    initialisers(w, item, body);
    if (kind == CXCursor_CompoundStmt) {
        walk_block(w, body);
    } else {
        const int32_t block = walk_begin(w, HPC_TREE_BLOCK, w->item[body].c);
        walk_any(w, body);
        walk_end(w, block);
    }
    walk_end(w, node);
    if (w->n <= NODES_MOST) return;
    w->n = n;
    w->values_n = values_n;
    w->cut = true;
}

static void variable(walk *w, CXCursor c)
{
    w->items_n = 1;
    CXCursor init = clang_Cursor_getVarDeclInitializer(c);
    walk_variable(w, c, clang_Cursor_isNull(init) ? 0 : walk_collect(w, init));
}

static enum CXChildVisitResult top(CXCursor c, CXCursor parent, CXClientData user)
{
    walk *w = user;
    uint32_t at;
    (void)parent;
    if (!walk_in_file(w, clang_getCursorLocation(c), &at)) return CXChildVisit_Continue;
    switch ((int)c.kind) {
    case CXCursor_Namespace:
    case CXCursor_LinkageSpec:
    case CXCursor_FriendDecl:
    case CXCursor_StructDecl:
    case CXCursor_ClassDecl:
    case CXCursor_UnionDecl:
    case CXCursor_ClassTemplate:
    case CXCursor_ClassTemplatePartialSpecialization: return CXChildVisit_Recurse;
    case CXCursor_VarDecl: variable(w, c); break;
    default:
        if (walk_is_function(c.kind)) function(w, c);
        break;
    }
    return w->cut ? CXChildVisit_Break : CXChildVisit_Continue;
}

/* ---- functions of headers ------------------------------------------------------------------- */

/* True if the compiler reports an error between two places of the file that is walked. */
static bool has_error(const walk *w, uint32_t from, uint32_t to)
{
    const unsigned n = clang_getNumDiagnostics(w->u->unit);
    bool found = n > DIAGNOSTICS_MOST;
    for (unsigned i = 0; i < n && !found; i++) {
        CXDiagnostic d = clang_getDiagnostic(w->u->unit, i);
        CXFile file;
        unsigned at;
        clang_getExpansionLocation(clang_getDiagnosticLocation(d), &file, NULL, NULL, &at);
        found = clang_getDiagnosticSeverity(d) >= CXDiagnostic_Error && file && at >= from &&
                at <= to && clang_File_isEqual(file, w->u->file);
        clang_disposeDiagnostic(d);
    }
    return found;
}

static void walk_elsewhere(walk *w, CXCursor c, CXFile file, uint32_t end)
{
    const size_t from = w->n;
    if (!walk_go_to(w, file)) return;
    w->elsewhere = true;
    function(w, c);
    w->elsewhere = false;
    const bool errors = w->n > from && has_error(w, w->node[from].at, w->node[from].to);
    for (size_t k = from; k < w->n; k++) {
        w->node[k].at = w->node[k].to = end;
        w->node[k].flags |= HPC_TREE_ELSEWHERE;
        if (errors) w->node[k].flags |= HPC_TREE_ERRORS;
    }
}

/* A method of a class that a function declares, and no lambda. */
static bool is_of_local_class(CXCursor c)
{
    CXCursor class = clang_getCursorSemanticParent(c);
    if (c.kind != CXCursor_CXXMethod ||
        !walk_is_function(clang_getCursorSemanticParent(class).kind))
        return false;
    CXString s = clang_getCursorSpelling(class);
    const char *name = clang_getCString(s);
    const bool named = name && name[0] != '\0' && name[0] != '(';
    clang_disposeString(s);
    return named;
}

/* Definitions of called functions outside the file, and of called methods of local classes;
 * functions that these call follow. */
static void headers(walk *w)
{
    CXFile own = w->u->file;
    const uint32_t end = (uint32_t)w->text_n;
    const size_t most = w->n + NODES_ELSEWHERE;
    for (size_t k = 0; k < w->symbols_n && w->n < most && !w->cut; k++) {
        CXFile file;
        const hpc_symbol s = w->symbol[k];
        if (s.kind != HPC_SYMBOL_FUNCTION || s.node >= 0 || (s.flags & HPC_SYMBOL_SYSTEM)) continue;
        const bool local = s.flags & HPC_SYMBOL_IN_FILE;
        if (local && !is_of_local_class(w->declared[k])) continue;
        CXCursor c = clang_getCursorDefinition(w->declared[k]);
        if (clang_Cursor_isNull(c) || clang_isInvalid(c.kind)) continue;
        clang_getExpansionLocation(clang_getCursorLocation(c), &file, NULL, NULL, NULL);
        if (!file || (clang_File_isEqual(file, own) != 0) != local) continue;
        walk_elsewhere(w, c, file, end);
    }
    walk_go_to(w, own);
}

/* ---- the whole ------------------------------------------------------------------------------ */

static void begin(walk *w, hpc_clang_unit *u)
{
    w->u = u;
    w->other = NULL;
    w->text_n = 0;
    w->numbered = false;
    walk_go_to(w, u->file);
    CXTargetInfo target = clang_getTranslationUnitTargetInfo(u->unit);
    w->pointer_bytes = clang_TargetInfo_getPointerWidth(target) / 8;
    clang_TargetInfo_dispose(target);
    w->n = w->values_n = 0;
    w->cut = false;
    w->depth = 0;
    w->top = -1;
    walk_tables_clear(w);
    walk_grow(&w->item, &w->items_cap, 1, sizeof *w->item);
    add(w, (hpc_clang_node){
               .kind = HPC_TREE_FILE, .type = -1, .symbol = -1, .to = (uint32_t)w->text_n});
    w->top = 0;
    w->depth = 1;
}

/* Removes references of symbols to nodes that were dropped. */
static void forget_cut(walk *w)
{
    for (size_t k = 0; k < w->symbols_n; k++)
        if (w->symbol[k].node >= (int32_t)w->n) w->symbol[k].node = -1;
}

void walk_tree(hpc_clang_tree *out, hpc_clang_unit *u)
{
    if (!u->walk) u->walk = calloc(1, sizeof *u->walk);
    walk *w = u->walk;
    if (!w) __builtin_trap();
    begin(w, u);
    clang_visitChildren(clang_getTranslationUnitCursor(u->unit), top, w);
    headers(w);
    walk_end(w, 0);
    if (w->cut) forget_cut(w);
    walk_symbols_finish(w);
    walk_threadprivate(w);
    *out = (hpc_clang_tree){.node = w->node,
                            .value = w->value,
                            .type = w->type,
                            .symbol = w->symbol,
                            .name = w->name,
                            .n = w->n,
                            .values_n = w->values_n,
                            .types_n = w->types_n,
                            .symbols_n = w->symbols_n,
                            .names_bytes = w->names_n,
                            .cut = w->cut};
}

void walk_close(hpc_clang_unit *u)
{
    walk *w = u->walk;
    if (!w) return;
    walk_tables_release(w);
    void *const arrays[] = {w->item, w->open,   w->node,      w->parent, w->value,
                            w->type, w->symbol, w->made_from, w->name,   w->declared};
    for (size_t k = 0; k < sizeof arrays / sizeof *arrays; k++) free(arrays[k]);
    free(w);
    u->walk = NULL;
}
