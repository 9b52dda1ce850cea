/*
 * tree_view.c: iterators of contiguous containers and views (HPC_TYPE_VIEW): their types are
 * pointers, and their operators have the nodes of those of pointers.
 */
#include <string.h>

#include "runtime/source/clang/priv.h"

enum { OPERANDS_MOST = 2 };

/* ---- types ---------------------------------------------------------------------------------- */

/* Classes by the beginning of their name. The first argument is a pointer, or the type of the
 * elements. */
static const struct {
    const char *begin;
    bool of_pointer;
} classes[] = {{"__gnu_cxx::__normal_iterator<", true},
               {"std::__wrap_iter<", true},
               {"std::span<", false},
               {"std::basic_string_view<", false}};
enum { CLASSES_N = sizeof classes / sizeof *classes };

static int class_of(const char *name)
{
    for (int k = 0; k < CLASSES_N; k++)
        if (strncmp(name, classes[k].begin, strlen(classes[k].begin)) == 0) return k;
    return -1;
}

int32_t walk_view_target(walk *w, CXType c, const char *name)
{
    const int k = class_of(name);
    if (k < 0) return -1;
    CXType of = clang_getCanonicalType(clang_Type_getTemplateArgumentAsType(c, 0));
    if (of.kind == CXType_Invalid || (classes[k].of_pointer && of.kind != CXType_Pointer))
        return -1;
    return walk_type(w, classes[k].of_pointer ? clang_getPointeeType(of) : of);
}

static const hpc_tree_type *type_of(walk *w, int32_t item)
{
    const int32_t k = walk_type(w, clang_getCursorType(w->item[item].c));
    return k < 0 ? NULL : &w->type[k];
}

static bool is_view(walk *w, int32_t item)
{
    const hpc_tree_type *t = type_of(w, item);
    return t && t->kind == HPC_TYPE_POINTER && (t->flags & HPC_TYPE_VIEW);
}

static bool is_iterator(walk *w, int32_t item)
{
    if (!is_view(w, item)) return false;
    const int k = class_of(w->name + type_of(w, item)->name);
    return k >= 0 && classes[k].of_pointer;
}

static bool is_integer(walk *w, int32_t item)
{
    const hpc_tree_type *t = type_of(w, item);
    return t && t->kind == HPC_TYPE_INTEGER;
}

/* ---- operators ------------------------------------------------------------------------------ */

typedef enum operands {
    ITERATOR,          /* *i */
    STEPPED,           /* ++i or i++ */
    VIEW_INTEGER,      /* v[k] */
    VIEW_VIEW,         /* v = u */
    ITERATOR_INTEGER,  /* i += k */
    ITERATOR_ITERATOR, /* i == j */
    SUM,               /* i + k or k + i */
    DIFFERENCE         /* i - k or i - j */
} operands;

/* `op` of a step: before its operand. */
static const struct {
    const char *name;
    uint8_t kind, op;
    operands of;
} operators[] = {{"*", HPC_TREE_UNARY, '*', ITERATOR},
                 {"->", HPC_TREE_OTHER, 0, ITERATOR},
                 {"++", HPC_TREE_UNARY, HPC_OP_PRE_INCREMENT, STEPPED},
                 {"--", HPC_TREE_UNARY, HPC_OP_PRE_DECREMENT, STEPPED},
                 {"[]", HPC_TREE_INDEX, 0, VIEW_INTEGER},
                 {"=", HPC_TREE_ASSIGN, '=', VIEW_VIEW},
                 {"+=", HPC_TREE_ASSIGN, '+', ITERATOR_INTEGER},
                 {"-=", HPC_TREE_ASSIGN, '-', ITERATOR_INTEGER},
                 {"+", HPC_TREE_BINARY, '+', SUM},
                 {"-", HPC_TREE_BINARY, '-', DIFFERENCE},
                 {"==", HPC_TREE_BINARY, HPC_OP_EQUAL, ITERATOR_ITERATOR},
                 {"!=", HPC_TREE_BINARY, HPC_OP_NOT_EQUAL, ITERATOR_ITERATOR},
                 {"<", HPC_TREE_BINARY, '<', ITERATOR_ITERATOR},
                 {">", HPC_TREE_BINARY, '>', ITERATOR_ITERATOR},
                 {"<=", HPC_TREE_BINARY, HPC_OP_LESS_EQUAL, ITERATOR_ITERATOR},
                 {">=", HPC_TREE_BINARY, HPC_OP_GREATER_EQUAL, ITERATOR_ITERATOR}};
enum { OPERATORS_N = sizeof operators / sizeof *operators };

/* The operator of a library's function; -1: another function. */
static int operator_of(CXCursor function)
{
    static const char before[] = "operator";
    if (!clang_isDeclaration(function.kind) ||
        !clang_Location_isInSystemHeader(clang_getCursorLocation(function)))
        return -1;
    CXString s = clang_getCursorSpelling(function);
    const char *text = clang_getCString(s);
    int found = -1;
    for (int k = 0; text && k < OPERATORS_N && found < 0; k++)
        if (strncmp(text, before, sizeof before - 1) == 0 &&
            strcmp(text + sizeof before - 1, operators[k].name) == 0)
            found = k;
    clang_disposeString(s);
    return found;
}

/* The operands of a call, without the operator's function; 0: there are too many. An operand that
 * libclang adds to "i++" has no range. */
static int operands_of(int32_t out[OPERANDS_MOST], const walk *w, int32_t call, int32_t function)
{
    int n = 0;
    for (int32_t k = w->item[call].first; k; k = w->item[k].next) {
        if (k == function || clang_Range_isNull(clang_getCursorExtent(w->item[k].c))) continue;
        if (n == OPERANDS_MOST) return 0;
        out[n++] = k;
    }
    return n;
}

static bool fits(walk *w, operands of, const int32_t *x, int n)
{
    if (n != (of <= STEPPED ? 1 : 2)) return false;
    switch (of) {
    case ITERATOR:
    case STEPPED: return is_iterator(w, x[0]);
    case VIEW_INTEGER: return is_view(w, x[0]) && is_integer(w, x[1]);
    case VIEW_VIEW: return is_view(w, x[0]) && is_view(w, x[1]);
    case ITERATOR_INTEGER: return is_iterator(w, x[0]) && is_integer(w, x[1]);
    case ITERATOR_ITERATOR: return is_iterator(w, x[0]) && is_iterator(w, x[1]);
    case SUM:
        return (is_iterator(w, x[0]) && is_integer(w, x[1])) ||
               (is_integer(w, x[0]) && is_iterator(w, x[1]));
    case DIFFERENCE: return is_iterator(w, x[0]) && (is_integer(w, x[1]) || is_iterator(w, x[1]));
    }
    return false;
}

static uint32_t begin_of(walk *w, int32_t item)
{
    return walk_place_of(w, w->item[item].c).at;
}

static void put(walk *w, int32_t item, hpc_tree_kind kind, uint8_t op, const int32_t *x, int n)
{
    const int32_t node = walk_begin(w, kind, w->item[item].c);
    w->node[node].type = walk_type(w, clang_getCursorType(w->item[item].c));
    w->node[node].op = op;
    for (int k = 0; k < n; k++) walk_any(w, x[k]);
    walk_end(w, node);
}

bool walk_view_operator(walk *w, int32_t item, int32_t function)
{
    int32_t x[OPERANDS_MOST] = {0};
    const int k = operator_of(clang_getCursorReferenced(w->item[item].c)),
              n = operands_of(x, w, item, function);
    if (k < 0 || !fits(w, operators[k].of, x, n)) return false;
    uint8_t op = operators[k].op;
    if (operators[k].of == STEPPED && begin_of(w, function) > begin_of(w, x[0]))
        op = op == HPC_OP_PRE_INCREMENT ? HPC_OP_POST_INCREMENT : HPC_OP_POST_DECREMENT;
    if (operators[k].kind == HPC_TREE_OTHER) /* "i->x" is a member of what the iterator leads to */
        walk_any(w, x[0]);
    else
        put(w, item, (hpc_tree_kind)operators[k].kind, op, x, n);
    return true;
}

/* ---- comparisons of C++20 ------------------------------------------------------------------- */

static bool is_called(const walk *w, int32_t item, const char *name)
{
    CXString s = clang_getCursorSpelling(w->item[item].c);
    const char *text = clang_getCString(s);
    const bool is = w->item[item].c.kind == CXCursor_CallExpr && text && strcmp(text, name) == 0;
    clang_disposeString(s);
    return is;
}

bool walk_view_compared(walk *w, int32_t item)
{
    const int32_t outer = w->item[item].first, below = outer ? w->item[outer].first : 0;
    uint8_t op = 0;
    if (w->u->is_c || !below || w->item[outer].next) return false;
    const int32_t inner = walk_peel(w, below);
    if (w->item[outer].c.kind == CXCursor_UnaryOperator && is_called(w, inner, "operator=="))
        op = HPC_OP_NOT_EQUAL;
    const int k = op ? -1 : operator_of(clang_getCursorReferenced(w->item[outer].c));
    if (k >= 0 && operators[k].of == ITERATOR_ITERATOR && is_called(w, inner, "operator<=>"))
        op = operators[k].op;
    const int32_t left = w->item[inner].first, function = left ? w->item[left].next : 0;
    int32_t x[OPERANDS_MOST] = {0};
    if (!op || operands_of(x, w, inner, function) != 2 || !fits(w, ITERATOR_ITERATOR, x, 2))
        return false;
    put(w, item, HPC_TREE_BINARY, op, x, 2);
    return true;
}

/* ---- constructors --------------------------------------------------------------------------- */

bool walk_view_copied(walk *w, int32_t item)
{
    int32_t x[OPERANDS_MOST] = {0};
    if (!is_view(w, item) || operands_of(x, w, item, 0) != 1 || !is_view(w, x[0])) return false;
    walk_any(w, x[0]);
    return true;
}
