/*
 * tree_symbol.c: resolving a name to its declaration, and the properties of that
 * declaration.
 */
#include <stdlib.h>
#include <string.h>

#include "runtime/source/clang/priv.h"

bool walk_is_function(enum CXCursorKind k)
{
    return k == CXCursor_FunctionDecl || k == CXCursor_CXXMethod || k == CXCursor_Constructor ||
           k == CXCursor_Destructor || k == CXCursor_ConversionFunction ||
           k == CXCursor_FunctionTemplate;
}

bool walk_evaluate(int64_t *out, CXCursor c)
{
    CXEvalResult r = clang_Cursor_Evaluate(c);
    const bool is = r && clang_EvalResult_getKind(r) == CXEval_Int;
    if (is)
        *out = clang_EvalResult_isUnsignedInt(r) ? (int64_t)clang_EvalResult_getAsUnsigned(r)
                                                 : clang_EvalResult_getAsLongLong(r);
    if (r) clang_EvalResult_dispose(r);
    return is;
}

/* ---- names and scopes ----------------------------------------------------------------------- */

static bool is_class(enum CXCursorKind k)
{
    return k == CXCursor_StructDecl || k == CXCursor_ClassDecl || k == CXCursor_UnionDecl ||
           k == CXCursor_ClassTemplate || k == CXCursor_ClassTemplatePartialSpecialization;
}

/* What has no name is spelled "struct (unnamed at ...". */
static uint32_t name_of(walk *w, CXCursor c)
{
    const uint32_t name = walk_name_take(w, clang_getCursorSpelling(c));
    const char *text = w->name + name;
    return strstr(text, "(unnamed") || strstr(text, "(anonymous") ? 0 : name;
}

/* "outer::own"; either may be empty. */
static uint32_t join(walk *w, uint32_t outer, uint32_t own)
{
    if (!outer || !own) return outer ? outer : own;
    const size_t n = strlen(w->name + outer), m = strlen(w->name + own);
    char *text = malloc(n + m + 2);
    if (!text) __builtin_trap();
    memcpy(text, w->name + outer, n);
    memcpy(text + n, "::", 2);
    memcpy(text + n + 2, w->name + own, m);
    const uint32_t joined = walk_name(w, text, n + m + 2);
    free(text);
    return joined;
}

/* The name of what a declaration is a member of, itself (`c`) and all around it. */
static uint32_t scope_of(walk *w, CXCursor c, int depth)
{
    int32_t known;
    const enum CXCursorKind k = clang_getCursorKind(c);
    const bool is_space = k == CXCursor_Namespace;
    if (k == CXCursor_LinkageSpec && depth < 64)
        return scope_of(w, clang_getCursorSemanticParent(c), depth + 1);
    if ((!is_space && !is_class(k)) || depth >= 64) return 0;
    if (walk_find(&known, &w->scopes, c)) return (uint32_t)known;
    const uint32_t outer = scope_of(w, clang_getCursorSemanticParent(c), depth + 1);
    const bool hidden = is_space && clang_Cursor_isInlineNamespace(c);
    const uint32_t scope = join(w, outer, hidden ? 0 : name_of(w, c));
    walk_add(&w->scopes, c, (int32_t)scope);
    return scope;
}

/* ---- functions ------------------------------------------------------------------------------ */

typedef struct attributes {
    walk *w;
    uint32_t flags;
    bool is_host;
} attributes;

/* _Noreturn and [[noreturn]], which libclang does not tell apart from others. */
static bool says_noreturn(walk *w, CXCursor attribute)
{
    static const char word[] = "oreturn";
    uint32_t at, to;
    CXSourceRange r = clang_getCursorExtent(attribute);
    if (!walk_in_file(w, clang_getRangeStart(r), &at)) return false;
    if (!walk_in_file(w, clang_getRangeEnd(r), &to) || to < at) return false;
    return memmem(w->text + at, to - at, word, sizeof word - 1) != NULL;
}

static enum CXChildVisitResult note_attribute(CXCursor c, CXCursor parent, CXClientData user)
{
    attributes *a = user;
    (void)parent;
    switch ((int)c.kind) {
    case CXCursor_PureAttr: a->flags |= HPC_SYMBOL_PURE; break;
    case CXCursor_ConstAttr: a->flags |= HPC_SYMBOL_PURE | HPC_SYMBOL_CONST; break;
    case CXCursor_CUDAGlobalAttr:
    case CXCursor_CUDADeviceAttr: a->flags |= HPC_SYMBOL_DEVICE; break;
    case CXCursor_CUDAHostAttr: a->is_host = true; break;
    case CXCursor_UnexposedAttr:
        if (says_noreturn(a->w, c)) a->flags |= HPC_SYMBOL_NORETURN;
        break;
    case CXCursor_CompoundStmt: return CXChildVisit_Break;
    default: break;
    }
    return CXChildVisit_Continue;
}

/* __attribute__((noreturn)) is part of the type. */
static bool is_noreturn(CXType t)
{
    if (clang_getCanonicalType(clang_getResultType(t)).kind != CXType_Void) return false;
    CXString s = clang_getTypeSpelling(clang_getCanonicalType(t));
    const char *text = clang_getCString(s);
    const bool is = text && strstr(text, "noreturn");
    clang_disposeString(s);
    return is;
}

static bool is_extern_c(walk *w, CXCursor c)
{
    if (w->u->is_c) return true;
    CXCursor parent = clang_getCursorSemanticParent(c);
    uint32_t at;
    if (clang_getCursorKind(parent) != CXCursor_LinkageSpec) return false;
    CXSourceLocation l = clang_getRangeStart(clang_getCursorExtent(parent));
    if (!walk_in_file(w, l, &at)) return true;
    return !memmem(w->text + at, w->text_n - at < 16 ? w->text_n - at : 16, "\"C++\"", 5);
}

static void set_function(walk *w, hpc_symbol *s, CXCursor c)
{
    attributes a = {.w = w};
    const enum CXCursorKind parent = clang_getCursorKind(clang_getCursorSemanticParent(c));
    CXType t = clang_getCursorType(c);
    s->kind = HPC_SYMBOL_FUNCTION;
    s->type = walk_type(w, clang_getResultType(t));
    clang_visitChildren(c, note_attribute, &a);
    s->flags |= a.is_host ? a.flags & ~(uint32_t)HPC_SYMBOL_DEVICE : a.flags;
    if (is_class(parent)) {
        if (!clang_CXXMethod_isStatic(c)) s->flags |= HPC_SYMBOL_METHOD;
        if (clang_CXXMethod_isVirtual(c)) s->flags |= HPC_SYMBOL_VIRTUAL;
        if (clang_CXXMethod_isConst(c)) s->flags |= HPC_SYMBOL_CONST;
        if (clang_CXXMethod_isDefaulted(c)) s->flags |= HPC_SYMBOL_DEFAULTED;
    } else if (is_extern_c(w, c)) {
        s->flags |= HPC_SYMBOL_EXTERN_C;
    }
    if (clang_Cursor_isVariadic(c)) s->flags |= HPC_SYMBOL_VARIADIC;
    if (is_noreturn(t)) s->flags |= HPC_SYMBOL_NORETURN;
}

/* ---- variables ------------------------------------------------------------------------------ */

static bool is_whole(const walk *w, int32_t type)
{
    if (type < 0) return false;
    const hpc_tree_type *t = &w->type[type];
    return (t->kind == HPC_TYPE_INTEGER || t->kind == HPC_TYPE_BOOL) &&
           (t->flags & HPC_TYPE_CONST) && !(t->flags & HPC_TYPE_VOLATILE);
}

/* "double a[restrict n]", which libclang does not show. */
static bool has_restrict_bound(walk *w, CXCursor c)
{
    const walk_place p = walk_place_of(w, c);
    const char *open = memchr(w->text + p.at, '[', p.to - p.at);
    const char *close = open ? memchr(open, ']', (size_t)(w->text + p.to - open)) : NULL;
    return close && memmem(open, (size_t)(close - open), "restrict", 8);
}

static int32_t type_of_parameter(walk *w, CXCursor c)
{
    CXType t = clang_getCursorType(c);
    const int32_t k = walk_type(w, t);
    const bool is_array = k >= 0 && w->type[k].kind == HPC_TYPE_ARRAY;
    return walk_type_of_parameter(w, t, is_array && has_restrict_bound(w, c));
}

static void set_variable(walk *w, hpc_symbol *s, CXCursor c, enum CXLinkageKind linkage)
{
    s->kind =
        clang_getCursorKind(c) == CXCursor_ParmDecl ? HPC_SYMBOL_PARAMETER : HPC_SYMBOL_VARIABLE;
    s->type = s->kind == HPC_SYMBOL_PARAMETER ? type_of_parameter(w, c)
                                              : walk_type(w, clang_getCursorType(c));
    const bool within = linkage == CXLinkage_NoLinkage || linkage == CXLinkage_Invalid;
    const bool is_static = clang_Cursor_getStorageClass(c) == CX_SC_Static;
    if (clang_getCursorTLSKind(c) != CXTLS_None)
        s->flags |= HPC_SYMBOL_THREAD;
    else if (within && !is_static)
        s->flags |= HPC_SYMBOL_LOCAL;
    if (is_static && (within || is_class(clang_getCursorKind(clang_getCursorSemanticParent(c)))))
        s->flags |= HPC_SYMBOL_STATIC;
    if (!is_whole(w, s->type)) return;
    CXCursor init = clang_Cursor_getVarDeclInitializer(c);
    if (!clang_Cursor_isNull(init) && s->kind == HPC_SYMBOL_VARIABLE &&
        walk_evaluate(&s->value, init))
        s->flags |= HPC_SYMBOL_KNOWN;
}

/* ---- fields --------------------------------------------------------------------------------- */

typedef struct fields {
    CXCursor searched;
    int64_t n, found; /* found: the number of the searched one; 0 */
    bool simple;      /* an initialiser in braces has an expression for each */
} fields;

static bool is_simple_field(CXCursor c)
{
    const CXType t = clang_getCanonicalType(clang_getCursorType(c));
    const bool number = t.kind >= CXType_Bool && t.kind <= CXType_LongDouble;
    return number || t.kind == CXType_Enum || t.kind == CXType_Pointer ||
           t.kind == CXType_LValueReference;
}

static enum CXChildVisitResult count_field(CXCursor c, CXCursor parent, CXClientData user)
{
    fields *f = user;
    (void)parent;
    if (c.kind == CXCursor_CXXBaseSpecifier || c.kind == CXCursor_Constructor) f->simple = false;
    if (c.kind != CXCursor_FieldDecl) return CXChildVisit_Continue;
    f->n++;
    f->simple &= is_simple_field(c) && !clang_Cursor_isBitField(c);
    if (clang_equalCursors(c, f->searched)) f->found = f->n;
    return f->simple ? CXChildVisit_Continue : CXChildVisit_Break;
}

static int64_t number_of_field(const walk *w, CXCursor c)
{
    fields f = {.searched = c, .simple = true};
    const CXCursor class = clang_getCursorSemanticParent(c);
    if (w->u->is_c || class.kind == CXCursor_UnionDecl) return 0;
    clang_visitChildren(class, count_field, &f);
    return f.simple && f.found && f.n < HPC_FIELDS ? f.found + HPC_FIELDS * f.n : 0;
}

static bool is_union(CXCursor c)
{
    const enum CXCursorKind k = clang_getCursorKind(c);
    return k == CXCursor_UnionDecl ||
           (k == CXCursor_ClassTemplate && clang_getTemplateCursorKind(c) == CXCursor_UnionDecl);
}

/* The field of a union, also through structs in it that have no name. */
static bool is_overlaid(CXCursor field)
{
    CXCursor c = clang_getCursorSemanticParent(field);
    while (!is_union(c) && is_class(clang_getCursorKind(c)) &&
           clang_Cursor_isAnonymousRecordDecl(c))
        c = clang_getCursorSemanticParent(c);
    return is_union(c);
}

/* ---- all ------------------------------------------------------------------------------------ */

static int32_t add(walk *w, hpc_symbol s, int32_t made_from)
{
    const size_t k = w->symbols_n;
    walk_grow(&w->symbol, &w->symbols_cap, k + 1, sizeof *w->symbol);
    walk_grow(&w->made_from, &w->made_from_cap, k + 1, sizeof *w->made_from);
    walk_grow(&w->declared, &w->declared_cap, k + 1, sizeof *w->declared);
    w->declared[k] = clang_getNullCursor();
    memset(&w->symbol[k], 0, sizeof w->symbol[k]);
    w->symbol[k].kind = s.kind;
    w->symbol[k].flags = s.flags;
    w->symbol[k].type = s.type;
    w->symbol[k].node = s.node;
    w->symbol[k].name = s.name;
    w->symbol[k].scope = s.scope;
    w->symbol[k].line = s.line;
    w->symbol[k].value = s.value;
    w->made_from[k] = made_from;
    w->symbols_n++;
    return (int32_t)k;
}

static void set_place(walk *w, hpc_symbol *s, CXCursor c)
{
    CXSourceLocation l = clang_getCursorLocation(c);
    uint32_t at;
    unsigned line;
    if (w->elsewhere || !walk_in_file(w, l, &at)) {
        if (clang_Location_isInSystemHeader(l)) s->flags |= HPC_SYMBOL_SYSTEM;
        return;
    }
    s->flags |= HPC_SYMBOL_IN_FILE;
    clang_getExpansionLocation(l, NULL, &line, NULL, NULL);
    s->line = line;
}

static int32_t describe(walk *w, CXCursor c)
{
    const enum CXCursorKind k = clang_getCursorKind(c);
    const enum CXLinkageKind linkage = clang_getCursorLinkage(c);
    int32_t made_from = -1;
    hpc_symbol s = {.type = -1, .node = -1, .name = name_of(w, c)};
    set_place(w, &s, c);
    if (linkage == CXLinkage_Internal || linkage == CXLinkage_UniqueExternal)
        s.flags |= HPC_SYMBOL_INTERNAL;
    if (k == CXCursor_VarDecl || k == CXCursor_ParmDecl) {
        set_variable(w, &s, c, linkage);
    } else if (walk_is_function(k)) {
        set_function(w, &s, c);
        CXCursor from = clang_getSpecializedCursorTemplate(c);
        if (!clang_Cursor_isNull(from) && !clang_equalCursors(from, c))
            made_from = walk_symbol(w, from);
    } else if (k == CXCursor_FieldDecl) {
        s.kind = HPC_SYMBOL_FIELD;
        s.type = walk_type(w, clang_getCursorType(c));
        s.value = number_of_field(w, c);
        if (is_overlaid(c)) s.flags |= HPC_SYMBOL_OVERLAID;
    } else if (k == CXCursor_EnumConstantDecl) {
        s.kind = HPC_SYMBOL_CONSTANT;
        s.type = walk_type(w, clang_getCursorType(c));
        s.value = clang_getEnumConstantDeclValue(c);
    } else if (clang_isDeclaration(k)) { /* of a structured binding, of a template's parameter */
        s.type = walk_type(w, clang_getCursorType(c));
    }
    if (!(s.flags & HPC_SYMBOL_LOCAL)) s.scope = scope_of(w, clang_getCursorSemanticParent(c), 0);
    const int32_t symbol = add(w, s, made_from);
    w->declared[symbol] = c;
    return symbol;
}

int32_t walk_symbol(walk *w, CXCursor declaration)
{
    int32_t known;
    if (clang_Cursor_isNull(declaration) || clang_isInvalid(declaration.kind)) return -1;
    if (walk_find(&known, &w->symbols, declaration)) return known;
    CXCursor c = clang_getCanonicalCursor(declaration);
    const bool same = clang_equalCursors(c, declaration);
    if (same || !walk_find(&known, &w->symbols, c)) {
        known = describe(w, c);
        walk_add(&w->symbols, c, known);
    }
    if (!same) walk_add(&w->symbols, declaration, known);
    return known;
}

int32_t walk_symbol_binding(walk *w, CXCursor c, bool whole)
{
    int32_t known;
    if (walk_find(&known, &w->symbols, c)) return known;
    hpc_symbol s = {.kind = HPC_SYMBOL_VARIABLE, .flags = HPC_SYMBOL_LOCAL, .node = -1};
    set_place(w, &s, c);
    s.type = walk_type(w, clang_getCursorType(c));
    if (!whole) {
        s.flags |= HPC_SYMBOL_BINDING;
        s.name = name_of(w, c);
        s.type = walk_type_reference(w, s.type);
    }
    known = add(w, s, -1);
    w->declared[known] = c;
    walk_add(&w->symbols, c, known);
    return known;
}

int32_t walk_symbol_unknown(walk *w, uint32_t name)
{
    const void *key = (const void *)((uintptr_t)name + 1);
    int32_t k;
    if (walk_find_pointer(&k, &w->unknown, key)) return k;
    k = add(w, (hpc_symbol){.type = -1, .node = -1, .name = name}, -1);
    walk_add_pointer(&w->unknown, key, k);
    return k;
}

void walk_symbol_node(walk *w, int32_t symbol, int32_t node, bool definition)
{
    if (symbol < 0) return;
    hpc_symbol *s = &w->symbol[symbol];
    if (s->node < 0 || definition) s->node = node;
}

void walk_symbols_finish(walk *w)
{
    for (size_t k = 0; k < w->symbols_n; k++) {
        int32_t from = w->made_from[k];
        while (from >= 0 && w->symbol[from].node < 0) from = w->made_from[from];
        if (from >= 0 && w->symbol[k].node < 0) w->symbol[k].node = w->symbol[from].node;
    }
}
