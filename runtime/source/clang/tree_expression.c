/*
 * tree_expression.c: nodes of expressions. Parentheses and implicit conversions have no
 * node; an unknown expression is OTHER, with its children.
 */
#include <ctype.h>
#include <string.h>

#include "runtime/source/clang/priv.h"

enum { ARGUMENTS_MOST = 1 << 16 };

/* ---- implicit conversions ------------------------------------------------------------------- */

/* What libclang adds of its own, as an argument that is not written, has no place. */
static bool is_written(CXCursor c)
{
    return !clang_Range_isNull(clang_getCursorExtent(c));
}

/* A conversion spans just what it converts. */
static bool is_same_range(CXCursor a, CXCursor b)
{
    return clang_equalRanges(clang_getCursorExtent(a), clang_getCursorExtent(b));
}

static int32_t only_below(const walk *w, int32_t item)
{
    const int32_t first = w->item[item].first;
    return first && !w->item[first].next ? first : 0;
}

static int32_t passed(const walk *w, int32_t item)
{
    const walk_item *i = &w->item[item];
    const int32_t below = only_below(w, item);
    if (!below) return 0;
    switch ((int)i->c.kind) {
    case CXCursor_ParenExpr:
    case CXCursor_UnexposedStmt:
    case CXCursor_CompoundLiteralExpr: return below;
    case CXCursor_CXXFunctionalCastExpr:
        return w->item[below].c.kind == CXCursor_CallExpr &&
                       is_same_range(i->c, w->item[below].c) &&
                       clang_getCursorKind(clang_getCursorReferenced(w->item[below].c)) ==
                           CXCursor_Constructor
                   ? below
                   : 0;
    case CXCursor_UnexposedExpr:
        return !i->cut && is_same_range(i->c, w->item[below].c) ? below : 0;
    case CXCursor_UnaryOperator:
        return clang_getCursorUnaryOperatorKind(i->c) == CXUnaryOperator_Extension ? below : 0;
    default: return 0;
    }
}

int32_t walk_peel(walk *w, int32_t item)
{
    for (int32_t below = passed(w, item); below; below = passed(w, item)) item = below;
    return item;
}

/* ---- plain nodes ---------------------------------------------------------------------------- */

static int32_t begin(walk *w, int32_t item, hpc_tree_kind kind)
{
    CXCursor c = w->item[item].c;
    const int32_t node = walk_begin(w, kind, c);
    w->node[node].type = walk_type(w, clang_getCursorType(c));
    return node;
}

static void arguments(walk *w, int32_t first)
{
    for (int32_t k = first; k; k = w->item[k].next)
        if (is_written(w->item[k].c)) walk_any(w, k);
}

static int32_t with_all(walk *w, int32_t item, hpc_tree_kind kind)
{
    const int32_t node = begin(w, item, kind);
    arguments(w, w->item[item].first);
    walk_end(w, node);
    return node;
}

static void other(walk *w, int32_t item)
{
    with_all(w, item, HPC_TREE_OTHER);
}

/* `n` things are below it, or it is OTHER. */
static void exactly(walk *w, int32_t item, hpc_tree_kind kind, int op, int n)
{
    const bool fits = walk_count(w, item) == n;
    const int32_t node = with_all(w, item, fits ? kind : HPC_TREE_OTHER);
    if (fits) w->node[node].op = (uint8_t)op;
}

static void number(walk *w, int32_t item)
{
    CXCursor c = w->item[item].c;
    const enum CXCursorKind kind = c.kind;
    int64_t value = 0;
    uint32_t at;
    bool known = kind == CXCursor_CXXNullPtrLiteralExpr || kind == CXCursor_GNUNullExpr;
    if (kind == CXCursor_IntegerLiteral && walk_spelled(w, c, &at))
        known = walk_integer(&value, w, at);
    if (!known) known = walk_evaluate(&value, c);
    const int32_t node = begin(w, item, known ? HPC_TREE_NUMBER : HPC_TREE_OTHER);
    walk_end(w, node);
    if (!known) return;
    walk_grow(&w->value, &w->values_cap, w->values_n + 1, sizeof *w->value);
    w->value[w->values_n++] = value;
}

/* ---- names ---------------------------------------------------------------------------------- */

/* The last name that is written in it: of a member of what is not known yet. */
static uint32_t last_name(walk *w, CXCursor c)
{
    const walk_place p = walk_place_of(w, c);
    uint32_t at = p.to;
    if (p.macro) return 0;
    while (at > p.at && (isalnum((unsigned char)w->text[at - 1]) || w->text[at - 1] == '_')) at--;
    return walk_name(w, w->text + at, p.to - at);
}

/* A name that depends on a template has a symbol without meaning. */
static int32_t symbol_of(walk *w, CXCursor c)
{
    CXCursor to = clang_getCursorReferenced(c);
    if (!clang_Cursor_isNull(to) && clang_isDeclaration(to.kind)) return walk_symbol(w, to);
    uint32_t name = 0;
    if (to.kind == CXCursor_OverloadedDeclRef)
        name = walk_name_take(w, clang_getCursorSpelling(to));
    if (!name) name = last_name(w, c);
    return name ? walk_symbol_unknown(w, name) : -1;
}

/* The type of a parameter's name: a pointer where it is written as an array. */
static int32_t of_parameter(const walk *w, int32_t type, int32_t declared)
{
    if (type < 0 || declared < 0 || w->type[declared].kind != HPC_TYPE_POINTER) return type;
    const int kind = w->type[type].kind;
    return kind == HPC_TYPE_ARRAY || kind == HPC_TYPE_FUNCTION ? declared : type;
}

static void name(walk *w, int32_t item)
{
    const int32_t symbol = symbol_of(w, w->item[item].c), node = begin(w, item, HPC_TREE_NAME);
    w->node[node].symbol = symbol;
    if (symbol >= 0 && w->symbol[symbol].kind == HPC_SYMBOL_PARAMETER)
        w->node[node].type = of_parameter(w, w->node[node].type, w->symbol[symbol].type);
    walk_end(w, node);
}

static void this_of(walk *w)
{
    const hpc_clang_node *above = &w->node[w->top];
    const uint32_t at = above->at;
    walk_nothing(w);
    w->node[w->n - 1].kind = HPC_TREE_THIS;
    w->node[w->n - 1].at = w->node[w->n - 1].to = at;
}

static void member(walk *w, int32_t item)
{
    const int n = walk_count(w, item);
    if (n > 1) {
        other(w, item);
        return;
    }
    const int32_t symbol = symbol_of(w, w->item[item].c), node = begin(w, item, HPC_TREE_MEMBER);
    bool arrow = n == 0;
    w->node[node].symbol = symbol;
    if (n == 1) {
        const int32_t object = w->item[item].first;
        CXType t = clang_getCanonicalType(clang_getCursorType(w->item[object].c));
        arrow = t.kind == CXType_Pointer;
        walk_any(w, object);
    } else {
        this_of(w);
    }
    w->node[node].op = arrow ? '>' : '.';
    walk_end(w, node);
}

/* ---- operators ------------------------------------------------------------------------------ */

static const uint8_t binary_ops[] = {
    [CXBinaryOperator_PtrMemD] = HPC_OP_OTHER,
    [CXBinaryOperator_PtrMemI] = HPC_OP_OTHER,
    [CXBinaryOperator_Mul] = '*',
    [CXBinaryOperator_Div] = '/',
    [CXBinaryOperator_Rem] = '%',
    [CXBinaryOperator_Add] = '+',
    [CXBinaryOperator_Sub] = '-',
    [CXBinaryOperator_Shl] = HPC_OP_SHIFT_LEFT,
    [CXBinaryOperator_Shr] = HPC_OP_SHIFT_RIGHT,
    [CXBinaryOperator_Cmp] = HPC_OP_OTHER,
    [CXBinaryOperator_LT] = '<',
    [CXBinaryOperator_GT] = '>',
    [CXBinaryOperator_LE] = HPC_OP_LESS_EQUAL,
    [CXBinaryOperator_GE] = HPC_OP_GREATER_EQUAL,
    [CXBinaryOperator_EQ] = HPC_OP_EQUAL,
    [CXBinaryOperator_NE] = HPC_OP_NOT_EQUAL,
    [CXBinaryOperator_And] = '&',
    [CXBinaryOperator_Xor] = '^',
    [CXBinaryOperator_Or] = '|',
    [CXBinaryOperator_LAnd] = HPC_OP_AND,
    [CXBinaryOperator_LOr] = HPC_OP_OR,
    [CXBinaryOperator_Assign] = '=',
    [CXBinaryOperator_MulAssign] = '*',
    [CXBinaryOperator_DivAssign] = '/',
    [CXBinaryOperator_RemAssign] = '%',
    [CXBinaryOperator_AddAssign] = '+',
    [CXBinaryOperator_SubAssign] = '-',
    [CXBinaryOperator_ShlAssign] = HPC_OP_SHIFT_LEFT,
    [CXBinaryOperator_ShrAssign] = HPC_OP_SHIFT_RIGHT,
    [CXBinaryOperator_AndAssign] = '&',
    [CXBinaryOperator_XorAssign] = '^',
    [CXBinaryOperator_OrAssign] = '|',
    [CXBinaryOperator_Comma] = ',',
};

static void binary(walk *w, int32_t item)
{
    const enum CXBinaryOperatorKind k = clang_getCursorBinaryOperatorKind(w->item[item].c);
    const bool known = (size_t)k < sizeof binary_ops;
    const bool assigns = k >= CXBinaryOperator_Assign && k <= CXBinaryOperator_OrAssign;
    exactly(w, item, assigns ? HPC_TREE_ASSIGN : HPC_TREE_BINARY,
            known && binary_ops[k] ? binary_ops[k] : HPC_OP_OTHER, 2);
}

static void unary(walk *w, int32_t item)
{
    static const uint8_t ops[] = {
        [CXUnaryOperator_PostInc] = HPC_OP_POST_INCREMENT,
        [CXUnaryOperator_PostDec] = HPC_OP_POST_DECREMENT,
        [CXUnaryOperator_PreInc] = HPC_OP_PRE_INCREMENT,
        [CXUnaryOperator_PreDec] = HPC_OP_PRE_DECREMENT,
        [CXUnaryOperator_AddrOf] = '&',
        [CXUnaryOperator_Deref] = '*',
        [CXUnaryOperator_Plus] = '+',
        [CXUnaryOperator_Minus] = '-',
        [CXUnaryOperator_Not] = '~',
        [CXUnaryOperator_LNot] = '!',
    };
    const enum CXUnaryOperatorKind k = clang_getCursorUnaryOperatorKind(w->item[item].c);
    const bool known = (size_t)k < sizeof ops && ops[k];
    exactly(w, item, HPC_TREE_UNARY, known ? ops[k] : HPC_OP_OTHER, 1);
}

static bool leads(const walk *w, int32_t type)
{
    return type >= 0 &&
           (w->type[type].kind == HPC_TYPE_POINTER || w->type[type].kind == HPC_TYPE_ARRAY);
}

/* "2[a]" is turned round. */
static void subscript(walk *w, int32_t item)
{
    const int32_t a = w->item[item].first, b = a ? w->item[a].next : 0;
    if (!b || w->item[b].next) {
        other(w, item);
        return;
    }
    const int32_t node = begin(w, item, HPC_TREE_INDEX);
    const bool turned = !leads(w, walk_type(w, clang_getCursorType(w->item[a].c))) &&
                        leads(w, walk_type(w, clang_getCursorType(w->item[b].c)));
    walk_any(w, turned ? b : a);
    walk_any(w, turned ? a : b);
    walk_end(w, node);
}

/* ---- calls ---------------------------------------------------------------------------------- */

static bool is_operator_name(CXCursor function)
{
    CXString s = clang_getCursorSpelling(function);
    const char *text = clang_getCString(s);
    const bool is = text && strncmp(text, "operator", 8) == 0 && !isalnum((unsigned char)text[8]) &&
                    text[8] != '_' && text[8] != '\0';
    clang_disposeString(s);
    return is;
}

/* The item of an operator function among its operands, if libclang lists it in text order; 0 if
 * this is not an operator call. In a call by name, the function comes first. */
static int32_t operator_in(walk *w, int32_t item, CXCursor function)
{
    const int32_t first = w->item[item].first;
    const bool known = clang_isDeclaration(function.kind);
    if (!first || (known && !is_operator_name(function))) return 0;
    const int32_t called = walk_peel(w, first);
    if (!known && clang_getCursorReferenced(w->item[called].c).kind == CXCursor_OverloadedDeclRef)
        return 0;
    if (w->item[called].c.kind == CXCursor_MemberRefExpr && known &&
        clang_equalCursors(clang_getCursorReferenced(w->item[called].c), function))
        return 0;
    for (int32_t k = w->item[first].next; k; k = w->item[k].next) {
        const int32_t peeled = walk_peel(w, k);
        CXCursor to = w->item[peeled].c;
        if (to.kind != CXCursor_DeclRefExpr) continue;
        to = clang_getCursorReferenced(to);
        if (known ? clang_equalCursors(to, function)
                  : to.kind == CXCursor_OverloadedDeclRef && is_operator_name(to))
            return k;
    }
    return 0;
}

static void operator_call(walk *w, int32_t item, int32_t function)
{
    const int32_t node = begin(w, item, HPC_TREE_CALL);
    w->node[node].flags |= HPC_TREE_OPERATOR;
    walk_any(w, function);
    for (int32_t k = w->item[item].first; k; k = w->item[k].next)
        if (k != function && is_written(w->item[k].c)) walk_any(w, k);
    walk_end(w, node);
}

/* True for "f<<<grid, block>>>(x)", recognized by the token after the function. */
static bool is_launch(walk *w, int32_t function)
{
    const walk_place p = walk_place_of(w, w->item[function].c);
    const uint32_t at = walk_skip(w, p.to);
    return at + 3 <= w->text_n && memcmp(w->text + at, "<<<", 3) == 0;
}

static void construct(walk *w, int32_t item, CXCursor function)
{
    if (walk_view_copied(w, item)) return;
    const int32_t symbol = clang_isDeclaration(function.kind) ? walk_symbol(w, function) : -1;
    const int32_t node = with_all(w, item, HPC_TREE_CONSTRUCT);
    w->node[node].symbol = symbol;
}

/* Arguments that the call leaves out run code. `object`: one comes before the arguments. */
static bool has_acting_defaults(walk *w, int32_t item, CXCursor function, bool object)
{
    int given = object ? -2 : -1; /* the function is an item */
    if (w->u->is_c) return false;
    for (int32_t k = w->item[item].first; k; k = w->item[k].next) given += is_written(w->item[k].c);
    for (int k = given; k < clang_Cursor_getNumArguments(function); k++)
        if (k >= 0 && walk_argument_acts(function, k)) return true;
    return false;
}

static void call(walk *w, int32_t item)
{
    CXCursor c = w->item[item].c, function = clang_getCursorReferenced(c);
    const int32_t first = w->item[item].first;
    if (function.kind == CXCursor_Constructor || !first || clang_Cursor_getNumArguments(c) < 0) {
        construct(w, item, function);
        return;
    }
    if (w->u->is_cuda && is_launch(w, first)) {
        other(w, item);
        return;
    }
    const bool is_function = walk_is_function(function.kind);
    const int32_t symbol = is_function ? walk_symbol(w, function) : -1;
    const int32_t among = operator_in(w, item, function), node = (int32_t)w->n;
    if (among && walk_view_operator(w, item, among)) return;
    if (is_function && has_acting_defaults(w, item, function, among != 0)) {
        other(w, item);
        return;
    }
    if (among)
        operator_call(w, item, among);
    else
        with_all(w, item, HPC_TREE_CALL);
    w->node[node].symbol = symbol;
}

/* ---- lambdas -------------------------------------------------------------------------------- */

/* One that is made here ("[k = n + 1]") is a variable with its initialiser. */
static void capture(walk *w, int32_t item)
{
    CXCursor c = w->item[item].c, to = clang_getCursorReferenced(c);
    const walk_place p = walk_place_of(w, c);
    if (clang_equalLocations(clang_getCursorLocation(c), clang_getCursorLocation(to))) {
        CXCursor init = clang_Cursor_getVarDeclInitializer(to);
        walk_variable(w, to, clang_Cursor_isNull(init) ? 0 : walk_collect(w, init));
        return;
    }
    const int32_t symbol = walk_symbol(w, to), node = begin(w, item, HPC_TREE_NAME);
    uint32_t at = p.at;
    while (at > 0 && isspace((unsigned char)w->text[at - 1])) at--;
    if (at > 0 && w->text[at - 1] == '&') w->node[node].flags |= HPC_TREE_BY_REFERENCE;
    w->node[node].symbol = symbol;
    walk_end(w, node);
}

/* The op of a capture default, "[=" or "[&". */
static int captured_by(const walk *w, const walk_place *p)
{
    uint32_t at = p->at;
    if (p->macro || at >= w->text_n || w->text[at] != '[') return HPC_OP_OTHER;
    at = walk_skip(w, at + 1);
    if (at >= w->text_n) return HPC_OP_NONE;
    const char c = w->text[at];
    at = walk_skip(w, at + 1);
    if (c == '=') return '=';
    return c == '&' && at < w->text_n && strchr(",]", w->text[at]) ? '&' : HPC_OP_NONE;
}

static void lambda(walk *w, int32_t item)
{
    const int32_t body = w->item[item].last;
    if (!body || w->item[body].c.kind != CXCursor_CompoundStmt) {
        other(w, item);
        return;
    }
    const walk_place p = walk_place_of(w, w->item[item].c);
    const int32_t node = begin(w, item, HPC_TREE_LAMBDA);
    w->node[node].op = (uint8_t)captured_by(w, &p);
    for (int32_t k = w->item[item].first; k != body; k = w->item[k].next) {
        if (w->item[k].c.kind == CXCursor_VariableRef) capture(w, k);
        if (w->item[k].c.kind == CXCursor_ParmDecl) walk_variable(w, w->item[k].c, 0);
    }
    walk_block(w, body);
    walk_end(w, node);
}

/* ---- all ------------------------------------------------------------------------------------ */

static void literal(walk *w, int32_t item, hpc_tree_kind kind)
{
    walk_end(w, begin(w, item, kind));
}

void walk_expression(walk *w, int32_t item)
{
    switch ((int)w->item[item].c.kind) {
    case CXCursor_IntegerLiteral:
    case CXCursor_CharacterLiteral:
    case CXCursor_CXXBoolLiteralExpr:
    case CXCursor_CXXNullPtrLiteralExpr:
    case CXCursor_GNUNullExpr:
    case CXCursor_UnaryExpr: number(w, item); break;
    case CXCursor_FloatingLiteral:
    case CXCursor_ImaginaryLiteral: literal(w, item, HPC_TREE_FLOAT); break;
    case CXCursor_StringLiteral: literal(w, item, HPC_TREE_STRING); break;
    case CXCursor_DeclRefExpr: name(w, item); break;
    case CXCursor_CXXThisExpr: literal(w, item, HPC_TREE_THIS); break;
    case CXCursor_MemberRefExpr: member(w, item); break;
    case CXCursor_ArraySubscriptExpr: subscript(w, item); break;
    case CXCursor_CallExpr: call(w, item); break;
    case CXCursor_UnaryOperator: unary(w, item); break;
    case CXCursor_BinaryOperator:
    case CXCursor_CompoundAssignOperator: binary(w, item); break;
    case CXCursor_ConditionalOperator: exactly(w, item, HPC_TREE_CHOOSE, 0, 3); break;
    case CXCursor_CStyleCastExpr:
    case CXCursor_CXXStaticCastExpr:
    case CXCursor_CXXDynamicCastExpr:
    case CXCursor_CXXReinterpretCastExpr:
    case CXCursor_CXXConstCastExpr:
    case CXCursor_CXXAddrspaceCastExpr:
    case CXCursor_CXXFunctionalCastExpr: exactly(w, item, HPC_TREE_CAST, 0, 1); break;
    case CXCursor_InitListExpr: with_all(w, item, HPC_TREE_LIST); break;
    case CXCursor_CXXNewExpr: with_all(w, item, HPC_TREE_NEW); break;
    case CXCursor_CXXDeleteExpr: with_all(w, item, HPC_TREE_DELETE); break;
    case CXCursor_CXXThrowExpr: with_all(w, item, HPC_TREE_THROW); break;
    case CXCursor_LambdaExpr: lambda(w, item); break;
    case CXCursor_UnexposedExpr:
        if (!walk_view_compared(w, item)) other(w, item);
        break;
    default: other(w, item); break;
    }
}
