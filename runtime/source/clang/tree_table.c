/*
 * tree_table.c: the names, types and symbols of a tree, each once.
 */
#include <stdlib.h>
#include <string.h>

#include "runtime/source/clang/priv.h"

/* ---- memory --------------------------------------------------------------------------------- */

void walk_grow(void *array_ptr, size_t *cap, size_t n, size_t size)
{
    void *data;
    if (n <= *cap) return;
    size_t more = *cap * 2 > n ? *cap * 2 : n + 64;
    memcpy(&data, array_ptr, sizeof data);
    data = more < SIZE_MAX / size ? realloc(data, more * size) : NULL;
    if (!data) __builtin_trap();
    memcpy(array_ptr, &data, sizeof data);
    *cap = more;
}

static uint64_t mix(uint64_t x)
{
    x *= UINT64_C(0x9e3779b97f4a7c15);
    x ^= x >> 32;
    return x ? x : 1;
}

/* Twice the room, with all in it. */
static void widen(walk_table *t)
{
    walk_table wide = {.n = t->n, .cap = t->cap ? t->cap * 2 : 256};
    wide.slot = calloc(wide.cap, sizeof *wide.slot);
    if (!wide.slot) __builtin_trap();
    for (size_t i = 0; i < t->cap; i++) {
        if (!t->slot[i].hash) continue;
        size_t k = t->slot[i].hash & (wide.cap - 1);
        while (wide.slot[k].hash) k = (k + 1) & (wide.cap - 1);
        wide.slot[k] = t->slot[i];
    }
    free(t->slot);
    *t = wide;
}

static walk_slot *first_slot(walk_table *t, uint64_t hash)
{
    if (t->n * 2 >= t->cap) widen(t);
    return &t->slot[hash & (t->cap - 1)];
}

static walk_slot *next_slot(const walk_table *t, const walk_slot *s)
{
    return s + 1 == t->slot + t->cap ? t->slot : (walk_slot *)s + 1;
}

static void add_slot(walk_table *t, walk_slot new)
{
    walk_slot *s = first_slot(t, new.hash);
    while (s->hash) s = next_slot(t, s);
    *s = new;
    t->n++;
}

bool walk_find_pointer(int32_t *value, walk_table *t, const void *p)
{
    const uint64_t hash = mix((uint64_t)(uintptr_t)p);
    for (walk_slot *s = first_slot(t, hash); s->hash; s = next_slot(t, s)) {
        if (s->pointer != p) continue;
        *value = s->value;
        return true;
    }
    return false;
}

void walk_add_pointer(walk_table *t, const void *p, int32_t value)
{
    add_slot(t, (walk_slot){.hash = mix((uint64_t)(uintptr_t)p), .pointer = p, .value = value});
}

bool walk_find(int32_t *value, walk_table *t, CXCursor c)
{
    const uint64_t hash = mix(clang_hashCursor(c));
    for (walk_slot *s = first_slot(t, hash); s->hash; s = next_slot(t, s)) {
        if (s->hash != hash || !clang_equalCursors(s->key, c)) continue;
        *value = s->value;
        return true;
    }
    return false;
}

void walk_add(walk_table *t, CXCursor c, int32_t value)
{
    add_slot(t, (walk_slot){.hash = mix(clang_hashCursor(c)), .key = c, .value = value});
}

static void clear(walk_table *t)
{
    if (t->cap > 0) memset(t->slot, 0, t->cap * sizeof *t->slot);
    t->n = 0;
}

void walk_tables_clear(walk *w)
{
    clear(&w->names);
    clear(&w->types);
    clear(&w->symbols);
    clear(&w->scopes);
    clear(&w->made);
    clear(&w->unknown);
    w->types_n = w->symbols_n = w->names_n = 0;
    walk_grow(&w->name, &w->names_cap, 1, 1);
    w->name[w->names_n++] = '\0';
}

void walk_tables_release(walk *w)
{
    free(w->names.slot);
    free(w->types.slot);
    free(w->symbols.slot);
    free(w->scopes.slot);
    free(w->made.slot);
    free(w->unknown.slot);
}

/* ---- names ---------------------------------------------------------------------------------- */

uint32_t walk_name(walk *w, const char *text, size_t n)
{
    if (n == 0) return 0;
    uint64_t hash = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < n; i++) hash = (hash ^ (unsigned char)text[i]) * UINT64_C(1099511628211);
    hash = mix(hash);
    for (walk_slot *s = first_slot(&w->names, hash); s->hash; s = next_slot(&w->names, s)) {
        const char *name = w->name + s->value;
        if (s->hash == hash && strncmp(name, text, n) == 0 && name[n] == '\0')
            return (uint32_t)s->value;
    }
    const int32_t at = (int32_t)w->names_n;
    walk_grow(&w->name, &w->names_cap, w->names_n + n + 1, 1);
    memcpy(w->name + at, text, n);
    w->name[w->names_n + n] = '\0';
    w->names_n += n + 1;
    add_slot(&w->names, (walk_slot){.hash = hash, .value = at});
    return (uint32_t)at;
}

uint32_t walk_name_take(walk *w, CXString s)
{
    const char *text = clang_getCString(s);
    uint32_t name = text ? walk_name(w, text, strlen(text)) : 0;
    clang_disposeString(s);
    return name;
}

/* ---- types ---------------------------------------------------------------------------------- */

static void set_record(walk *w, hpc_tree_type *t, CXType c)
{
    static const char *const words[] = {"struct ", "class ", "union "};
    CXString s = clang_getTypeSpelling(clang_getUnqualifiedType(c));
    const char *text = clang_getCString(s);
    t->kind = HPC_TYPE_RECORD;
    for (size_t k = 0; text && k < sizeof words / sizeof *words; k++)
        if (strncmp(text, words[k], strlen(words[k])) == 0) text += strlen(words[k]);
    if (text && strncmp(text, "(lambda", 7) == 0) t->flags |= HPC_TYPE_LAMBDA;
    t->to = text ? walk_view_target(w, c, text) : -1;
    if (t->to >= 0) {
        t->kind = HPC_TYPE_POINTER;
        t->flags |= HPC_TYPE_VIEW;
    }
    if (text && !strstr(text, "(unnamed") && !strstr(text, "(anonymous") && text[0] != '(')
        t->name = walk_name(w, text, strlen(text));
    clang_disposeString(s);
    if (clang_getCursorKind(clang_getTypeDeclaration(c)) == CXCursor_UnionDecl)
        t->flags |= HPC_TYPE_UNION;
    if (!w->u->is_c && t->kind == HPC_TYPE_RECORD && walk_type_acts(c)) t->flags |= HPC_TYPE_ACTIVE;
}

static bool is_byte(CXType c)
{
    CXString s = clang_getTypeSpelling(clang_getUnqualifiedType(c));
    const char *text = clang_getCString(s);
    bool is = text && strcmp(text, "std::byte") == 0;
    clang_disposeString(s);
    return is;
}

static bool is_unsigned(enum CXTypeKind k)
{
    return (k >= CXType_Char_U && k <= CXType_ULongLong) || k == CXType_Bool;
}

/* False if it is not a number. __int128 stands for undeclared types (check_names.c). */
static bool set_number(hpc_tree_type *t, CXType c)
{
    switch ((int)c.kind) {
    case CXType_Void: t->kind = HPC_TYPE_VOID; return true;
    case CXType_Bool: t->kind = HPC_TYPE_BOOL; return true;
    case CXType_Char_U:
    case CXType_UChar:
    case CXType_Char_S:
    case CXType_SChar: t->flags |= HPC_TYPE_CHARACTER; break;
    case CXType_Char16:
    case CXType_Char32:
    case CXType_WChar: break;
    case CXType_UShort:
    case CXType_UInt:
    case CXType_ULong:
    case CXType_ULongLong:
    case CXType_Short:
    case CXType_Int:
    case CXType_Long:
    case CXType_LongLong: break;
    case CXType_Enum:
        if (is_byte(c)) t->flags |= HPC_TYPE_CHARACTER;
        c = clang_getCanonicalType(clang_getEnumDeclIntegerType(clang_getTypeDeclaration(c)));
        break;
    case CXType_Float:
    case CXType_Double:
    case CXType_LongDouble:
    case CXType_Float128:
    case CXType_Half:
    case CXType_Float16:
    case CXType_BFloat16:
    case CXType_Ibm128:
    case CXType_Complex: t->kind = HPC_TYPE_FLOAT; return true;
    default: return false;
    }
    t->kind = HPC_TYPE_INTEGER;
    if (is_unsigned(c.kind)) t->flags |= HPC_TYPE_UNSIGNED;
    return true;
}

static int32_t add_type(walk *w, const hpc_tree_type *t)
{
    const int32_t k = (int32_t)w->types_n;
    walk_grow(&w->type, &w->types_cap, w->types_n + 1, sizeof *w->type);
    memset(&w->type[k], 0, sizeof *w->type); /* what lies between members is sent as well */
    w->type[k].kind = t->kind;
    w->type[k].flags = t->flags;
    w->type[k].to = t->to;
    w->type[k].n = t->n;
    w->type[k].bytes = t->bytes;
    w->type[k].name = t->name;
    w->types_n++;
    return k;
}

/* One that libclang has no type for: of an array's element, of an array that is a parameter. */
static int32_t made(walk *w, hpc_tree_type t)
{
    const int64_t part[] = {t.kind, t.flags, t.to, t.n, t.bytes};
    uint64_t hash = t.name;
    for (int k = 0; k < 5; k++) hash = mix(hash ^ (uint64_t)part[k]);
    for (walk_slot *s = first_slot(&w->made, hash); s->hash; s = next_slot(&w->made, s)) {
        const hpc_tree_type *p = &w->type[s->value];
        if (s->hash == hash && p->kind == t.kind && p->flags == t.flags && p->to == t.to &&
            p->n == t.n && p->bytes == t.bytes && p->name == t.name)
            return s->value;
    }
    const int32_t k = add_type(w, &t);
    add_slot(&w->made, (walk_slot){.hash = hash, .value = k});
    return k;
}

static int qualifiers_of(CXType c)
{
    return (clang_isConstQualifiedType(c) ? HPC_TYPE_CONST : 0) |
           (clang_isVolatileQualifiedType(c) ? HPC_TYPE_VOLATILE : 0) |
           (clang_isRestrictQualifiedType(c) ? HPC_TYPE_RESTRICT : 0);
}

/* An array's are its elements', however deep these lie. */
static int32_t qualified(walk *w, int32_t type, int qualifiers)
{
    if (type < 0 || qualifiers == 0) return type;
    hpc_tree_type t = w->type[type];
    if (t.kind == HPC_TYPE_ARRAY)
        t.to = qualified(w, t.to, qualifiers);
    else
        t.flags |= (uint8_t)qualifiers;
    return made(w, t);
}

static void set_other(walk *w, hpc_tree_type *t, CXType c)
{
    switch ((int)c.kind) {
    case CXType_NullPtr:
    case CXType_Pointer:
        t->kind = HPC_TYPE_POINTER;
        t->to = walk_type(w, clang_getPointeeType(c));
        break;
    case CXType_LValueReference:
    case CXType_RValueReference:
        t->kind = HPC_TYPE_REFERENCE;
        t->to = walk_type(w, clang_getPointeeType(c));
        break;
    case CXType_ConstantArray:
    case CXType_IncompleteArray:
    case CXType_VariableArray:
    case CXType_DependentSizedArray:
        t->kind = HPC_TYPE_ARRAY;
        t->to = qualified(w, walk_type(w, clang_getArrayElementType(c)), qualifiers_of(c));
        t->n = c.kind == CXType_ConstantArray ? clang_getArraySize(c) : -1;
        break;
    case CXType_FunctionProto:
    case CXType_FunctionNoProto: t->kind = HPC_TYPE_FUNCTION; break;
    case CXType_Record: set_record(w, t, c); break;
    default: break;
    }
    const bool leads =
        t->kind == HPC_TYPE_POINTER || t->kind == HPC_TYPE_REFERENCE || t->kind == HPC_TYPE_ARRAY;
    if (leads && t->to < 0) t->kind = HPC_TYPE_UNKNOWN;
}

/* libclang crashes when it is asked for the size of types that no object has. */
static bool has_size(const hpc_tree_type *t, CXType c)
{
    if (t->kind == HPC_TYPE_UNKNOWN) return c.kind == CXType_Vector || c.kind == CXType_ExtVector;
    return t->kind != HPC_TYPE_VOID && t->kind != HPC_TYPE_FUNCTION &&
           t->kind != HPC_TYPE_REFERENCE;
}

static hpc_tree_type describe(walk *w, CXType c)
{
    hpc_tree_type t = {.to = -1, .bytes = -1};
    if (c.kind == CXType_Atomic) {
        int32_t of = walk_type(w, clang_Type_getValueType(c));
        if (of >= 0) t = w->type[of];
        t.flags |= HPC_TYPE_ATOMIC;
    } else if (!set_number(&t, c)) {
        set_other(w, &t, c);
    }
    if (t.kind != HPC_TYPE_ARRAY) t.flags |= (uint8_t)qualifiers_of(c);
    const long long bytes = has_size(&t, c) ? clang_Type_getSizeOf(c) : -1;
    if (bytes >= 0) t.bytes = bytes;
    return t;
}

int32_t walk_type(walk *w, CXType t)
{
    int32_t k;
    if (t.kind == CXType_Invalid || !t.data[0]) return -1;
    if (walk_find_pointer(&k, &w->types, t.data[0])) return k;
    CXType c = clang_getCanonicalType(t);
    if (c.kind == CXType_Invalid || !c.data[0]) return -1;
    if (c.data[0] == t.data[0] || !walk_find_pointer(&k, &w->types, c.data[0])) {
        const hpc_tree_type new = describe(w, c);
        k = add_type(w, &new);
        walk_add_pointer(&w->types, c.data[0], k);
    }
    if (c.data[0] != t.data[0]) walk_add_pointer(&w->types, t.data[0], k);
    return k;
}

int32_t walk_type_reference(walk *w, int32_t to)
{
    if (to < 0 || w->type[to].kind == HPC_TYPE_REFERENCE) return to;
    return made(w, (hpc_tree_type){.kind = HPC_TYPE_REFERENCE, .to = to, .bytes = -1});
}

int32_t walk_type_of_parameter(walk *w, CXType t, bool is_restrict)
{
    const int32_t k = walk_type(w, t);
    if (k < 0) return k;
    const hpc_tree_type *p = &w->type[k];
    if (p->kind != HPC_TYPE_ARRAY && p->kind != HPC_TYPE_FUNCTION) return k;
    return made(w, (hpc_tree_type){.kind = HPC_TYPE_POINTER,
                                   .flags = is_restrict ? HPC_TYPE_RESTRICT : 0,
                                   .to = p->kind == HPC_TYPE_ARRAY ? p->to : k,
                                   .bytes = w->pointer_bytes});
}
