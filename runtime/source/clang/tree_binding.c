/*
 * tree_binding.c: structured bindings. "auto &[x, y] = t" is a variable without a name, and a
 * reference x to its first member. Parts that are neither members nor elements are OTHER.
 */
#include <string.h>

#include "runtime/source/clang/priv.h"

enum { PARTS_MOST = 16 };

typedef struct parts {
    CXCursor field[PARTS_MOST];
    int n;
} parts;

static bool is_binding(CXCursor c)
{
    return c.kind == CXCursor_UnexposedDecl && clang_getCursorType(c).kind != CXType_Invalid;
}

static enum CXChildVisitResult find_binding(CXCursor c, CXCursor parent, CXClientData user)
{
    (void)parent;
    *(bool *)user = is_binding(c);
    return CXChildVisit_Break; /* the names come before the initialiser */
}

bool walk_is_bindings(CXCursor c)
{
    bool has = false;
    if (is_binding(c)) clang_visitChildren(c, find_binding, &has);
    return has;
}

/* ---- the parts of the whole ---- */

static enum CXVisitorResult add_field(CXCursor c, CXClientData user)
{
    parts *p = user;
    if (p->n < PARTS_MOST) p->field[p->n] = c;
    p->n++;
    return CXVisit_Continue;
}

static CXType whole_type(CXCursor c)
{
    CXType t = clang_getCanonicalType(clang_getCursorType(c));
    if (t.kind == CXType_LValueReference || t.kind == CXType_RValueReference)
        t = clang_getCanonicalType(clang_getPointeeType(t));
    return t;
}

static bool type_starts(CXType t, const char *text)
{
    CXString s = clang_getTypeSpelling(t);
    const char *spelled = clang_getCString(s);
    if (spelled && strncmp(spelled, "const ", 6) == 0) spelled += 6;
    const bool starts = spelled && strncmp(spelled, text, strlen(text)) == 0;
    clang_disposeString(s);
    return starts;
}

/* A type that std::tuple_element names is that of get<0>, which may be anything. */
static bool is_by_get(CXCursor binding)
{
    CXString s = clang_getTypeSpelling(clang_getCursorType(binding));
    const char *text = clang_getCString(s);
    const bool is = !text || strstr(text, "tuple_element") != NULL;
    clang_disposeString(s);
    return is;
}

static bool is_pair(CXType t)
{
    return type_starts(t, "std::pair<") || type_starts(t, "std::__1::pair<");
}

/* The fields that the names are bound to; false: they are bound to something else. */
static bool find_fields(parts *p, const walk *w, int32_t item, CXType whole)
{
    int names = 0;
    *p = (parts){.n = 0};
    if (whole.kind != CXType_Record) return false;
    clang_Type_visitFields(whole, add_field, p);
    for (int32_t k = w->item[item].first; k; k = w->item[k].next) {
        CXCursor c = w->item[k].c;
        if (!is_binding(c)) continue;
        if (names == p->n || names == PARTS_MOST || (is_by_get(c) && !is_pair(whole))) return false;
        const CXType one = clang_getCanonicalType(clang_getCursorType(p->field[names])),
                     two = clang_getCanonicalType(clang_getCursorType(c));
        if (!clang_equalTypes(clang_getUnqualifiedType(one), clang_getUnqualifiedType(two)))
            return false;
        names++;
    }
    return names == p->n;
}

static int32_t put_whole(walk *w, int32_t item)
{
    const int32_t node = walk_begin(w, HPC_TREE_NAME, w->item[item].c);
    w->node[node].symbol = walk_symbol_binding(w, w->item[item].c, true);
    w->node[node].type = w->symbol[w->node[node].symbol].type;
    walk_end(w, node);
    return w->node[node].type;
}

/* The part of the whole that binding k names. */
static void put_part(walk *w, int32_t item, CXCursor binding, const parts *p, bool fields, int k)
{
    const CXType whole = whole_type(w->item[item].c);
    const bool array = whole.kind == CXType_ConstantArray;
    const int32_t node = walk_begin(w,
                                    fields  ? HPC_TREE_MEMBER
                                    : array ? HPC_TREE_INDEX
                                            : HPC_TREE_OTHER,
                                    binding);
    w->node[node].type = walk_type(w, clang_getCursorType(binding));
    if (fields) {
        w->node[node].op = '.';
        w->node[node].symbol = walk_symbol(w, p->field[k]);
    }
    put_whole(w, item);
    if (array && !fields) {
        const int32_t index = walk_begin(w, HPC_TREE_NUMBER, binding);
        walk_grow(&w->value, &w->values_cap, w->values_n + 1, sizeof *w->value);
        w->value[w->values_n++] = k;
        walk_end(w, index);
    }
    walk_end(w, node);
}

/* ---- nodes ---- */

void walk_bound(walk *w, int32_t item, int32_t initialiser)
{
    const int32_t symbol = walk_symbol_binding(w, w->item[item].c, true),
                  node = walk_begin(w, HPC_TREE_VARIABLE, w->item[item].c);
    w->node[node].symbol = symbol;
    w->node[node].type = w->symbol[symbol].type;
    walk_symbol_node(w, symbol, node, true);
    if (initialiser) walk_any(w, initialiser);
    walk_end(w, node);
}

void walk_bindings(walk *w, int32_t item)
{
    parts p;
    const bool fields = find_fields(&p, w, item, whole_type(w->item[item].c));
    int n = 0;
    for (int32_t k = w->item[item].first; k; k = w->item[k].next) {
        CXCursor c = w->item[k].c;
        if (!is_binding(c)) continue;
        const int32_t symbol = walk_symbol_binding(w, c, false),
                      node = walk_begin(w, HPC_TREE_VARIABLE, c);
        w->node[node].symbol = symbol;
        w->node[node].type = w->symbol[symbol].type;
        walk_symbol_node(w, symbol, node, true);
        put_part(w, item, c, &p, fields, n++);
        walk_end(w, node);
    }
}
