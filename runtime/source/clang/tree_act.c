/*
 * tree_act.c: code that the text of an expression or a declaration does not show: default
 * arguments, initialisers and constructors of members, and destructors. Classes of system headers
 * do not count.
 */
#include "runtime/source/clang/priv.h"

enum { NESTED_MOST = 8 };

/* ---- expressions ---- */

static bool is_kept_variable(CXCursor v)
{
    return clang_isConstQualifiedType(clang_getCanonicalType(clang_getCursorType(v)));
}

static bool leads_elsewhere(CXCursor declaration)
{
    const CXType t = clang_getCanonicalType(clang_getCursorType(declaration));
    return t.kind == CXType_Pointer || t.kind == CXType_LValueReference ||
           t.kind == CXType_RValueReference;
}

static enum CXChildVisitResult find_act(CXCursor c, CXCursor parent, CXClientData user)
{
    bool *acts = user;
    (void)parent;
    if (c.kind == CXCursor_DeclRefExpr) {
        const CXCursor v = clang_getCursorReferenced(c);
        *acts |= (v.kind == CXCursor_VarDecl && !is_kept_variable(v)) ||
                 (v.kind == CXCursor_ParmDecl && leads_elsewhere(v));
    } else if (c.kind == CXCursor_MemberRefExpr) {
        *acts |= leads_elsewhere(clang_getCursorReferenced(c));
    } else {
        *acts |= c.kind == CXCursor_CallExpr || c.kind == CXCursor_LambdaExpr ||
                 c.kind == CXCursor_CXXNewExpr || c.kind == CXCursor_CXXThrowExpr;
    }
    return *acts ? CXChildVisit_Break : CXChildVisit_Recurse;
}

/* A declaration's initialiser runs a function, or reads a variable that may change. */
static bool has_acting_initialiser(CXCursor declaration)
{
    bool acts = false;
    clang_visitChildren(declaration, find_act, &acts);
    return acts;
}

bool walk_argument_acts(CXCursor function, int k)
{
    const CXCursor parameter = clang_Cursor_getArgument(function, (unsigned)k);
    if (clang_Location_isInSystemHeader(clang_getCursorLocation(function))) return false;
    return !clang_Cursor_isNull(parameter) && has_acting_initialiser(parameter);
}

/* ---- classes ---- */

typedef struct search {
    int depth;
    bool acts;
} search;

static enum CXChildVisitResult has_child(CXCursor c, CXCursor parent, CXClientData user)
{
    (void)c, (void)parent;
    *(bool *)user = true;
    return CXChildVisit_Break;
}

static enum CXChildVisitResult find_body(CXCursor c, CXCursor parent, CXClientData user)
{
    (void)parent;
    if (c.kind != CXCursor_CompoundStmt) return CXChildVisit_Continue;
    bool *acts = user;
    *acts = false;
    clang_visitChildren(c, has_child, acts);
    return CXChildVisit_Break;
}

/* A destructor with statements, or without a body in the unit. */
static bool destructor_acts(CXCursor c)
{
    bool acts = true;
    const CXCursor body = clang_getCursorDefinition(c);
    if (clang_CXXMethod_isDefaulted(c)) return false;
    if (!clang_Cursor_isNull(body)) clang_visitChildren(body, find_body, &acts);
    return acts;
}

/* A constructor with effects outside its object, or without a body in the unit. */
static bool constructor_acts(CXCursor c)
{
    const CXCursor body = clang_getCursorDefinition(c);
    if (clang_CXXMethod_isDefaulted(c)) return false;
    return clang_Cursor_isNull(body) || has_acting_initialiser(body);
}

static bool acts(CXType type, int depth);

static enum CXChildVisitResult find_member(CXCursor c, CXCursor parent, CXClientData user)
{
    search *s = user;
    (void)parent;
    if (c.kind == CXCursor_Destructor)
        s->acts |= destructor_acts(c);
    else if (c.kind == CXCursor_Constructor && s->depth > 0) /* a loop shows those of depth 0 */
        s->acts |= constructor_acts(c);
    else if (c.kind == CXCursor_FieldDecl)
        s->acts |= has_acting_initialiser(c) || acts(clang_getCursorType(c), s->depth + 1);
    else if (c.kind == CXCursor_CXXBaseSpecifier)
        s->acts |= acts(clang_getCursorType(c), s->depth + 1);
    return s->acts ? CXChildVisit_Break : CXChildVisit_Continue;
}

static bool acts(CXType type, int depth)
{
    CXType t = clang_getCanonicalType(type);
    while (clang_getArrayElementType(t).kind != CXType_Invalid)
        t = clang_getCanonicalType(clang_getArrayElementType(t));
    CXCursor c = clang_getTypeDeclaration(t);
    search s = {.depth = depth};
    if (t.kind != CXType_Record || depth > NESTED_MOST ||
        clang_Location_isInSystemHeader(clang_getCursorLocation(c)))
        return false;
    const CXCursor template = clang_getSpecializedCursorTemplate(c);
    if (!clang_Cursor_isNull(template)) c = template;
    clang_visitChildren(c, find_member, &s);
    return s.acts;
}

bool walk_type_acts(CXType type)
{
    return acts(type, 0);
}
