/*
 * check_names.c: names that only a missing header can declare, and stand-in
 * declarations that fit their use.
 *
 * The stand-ins are guesses that let the parser continue: a type becomes a number,
 * whatever it really is, because semantic errors do not count if headers are missing.
 * Functions are not declared: an apparent call may be a macro that is followed by a
 * block.
 */
#include <string.h>

#include "runtime/source/check_priv.h"
#include "runtime/source/priv.h"

/* ---- messages ------------------------------------------------------------------------------- */

static bool begins(const char *text, size_t n, const char *with)
{
    size_t m = strlen(with);
    return n >= m && memcmp(text, with, m) == 0;
}

bool check_is_missing_header(const check_issues *s, const check_issue *i)
{
    static const char end[] = "' file not found";
    const char *text = s->text.data + i->text_at;
    return (i->flags & CHECK_PARSE) != 0 && i->text_n > 0 && text[0] == '\'' &&
           memmem(text, i->text_n, end, sizeof end - 1) != NULL;
}

const char *check_unknown_name(size_t *n, bool *call, const check_issues *s, const check_issue *i)
{
    static const struct {
        const char *text;
        bool call;
    } forms[] = {
        {"unknown type name '", false},     {"use of undeclared identifier '", false},
        {"no template named '", false},     {"no type named '", false},
        {"no member named '", false},       {"unknown class name '", false},
        {"expected class name", false},     {"call to undeclared function '", true},
        {"type specifier missing", false},  {"a type specifier is required", false},
        {"unknown template name '", false}, {"no matching function for call", false},
    };
    const char *text = s->text.data + i->text_at;
    for (size_t k = 0; k < sizeof forms / sizeof *forms; k++) {
        if (!begins(text, i->text_n, forms[k].text)) continue;
        size_t at = strlen(forms[k].text), end = at;
        while (end < i->text_n && text[end] != '\'') end++;
        *n = text[at - 1] == '\'' ? end - at : 0;
        *call = forms[k].call;
        return text + at;
    }
    return NULL;
}

bool check_is_shouted(const char *name, size_t n)
{
    bool letter = false;
    for (size_t i = 0; i < n; i++) {
        if (name[i] >= 'a' && name[i] <= 'z') return false;
        letter = letter || (name[i] >= 'A' && name[i] <= 'Z');
    }
    return letter && n > 2;
}

/* True if the message is about a name that is declared nowhere. */
static bool is_bare(const check_issues *s, const check_issue *i)
{
    const char *text = s->text.data + i->text_at;
    return begins(text, i->text_n, "unknown type name '") ||
           begins(text, i->text_n, "use of undeclared identifier '");
}

/* A template that no namespace is said to lack. */
static bool is_bare_template(const check_issues *s, const check_issue *i)
{
    const char *text = s->text.data + i->text_at;
    return begins(text, i->text_n, "no template named '") &&
           !memmem(text, i->text_n, "' in ", strlen("' in "));
}

/* ---- what stands around a name -------------------------------------------------------------- */

enum {
    TYPE = 1 << 0,
    MACRO = 1 << 1,
    VALUE = 1 << 2,
    ODD = 1 << 3,
    TOLD_TYPE = 1 << 4,
    TOLD_TEMPLATE = 1 << 5
};

typedef struct view {
    const hpc_tokens *t;
    const char *text;
    bool told_type; /* the compiler wanted a type here */
} view;

static bool skipped(const hpc_token *k)
{
    return !hpc_token_is_code(k) || (k->flags & HPC_TOKEN_IN_DIRECTIVE);
}

/* The code token before or after i, or -1. */
static int64_t step(const view *v, int64_t i, int by)
{
    if (i < 0) return -1;
    for (i += by; i >= 0 && i < v->t->n; i += by)
        if (!skipped(&v->t->item[i])) return i;
    return -1;
}

static bool is(const view *v, int64_t i, const char *spelling)
{
    return i >= 0 && hpc_token_is(&v->t->item[i], v->text, spelling, strlen(spelling));
}

/* One of the words in a list, between blanks. */
static bool is_any(const view *v, int64_t i, const char *list)
{
    if (i < 0) return false;
    const hpc_token *k = &v->t->item[i];
    for (const char *p = list; *p;) {
        size_t n = strcspn(p, " ");
        if (n == k->n && memcmp(v->text + k->at, p, n) == 0) return true;
        p += n + (p[n] == ' ');
    }
    return false;
}

static bool is_kind(const view *v, int64_t i, hpc_token_kind kind)
{
    return i >= 0 && v->t->item[i].kind == kind;
}

static const char type_words[] = "void char short int long float double signed unsigned bool auto "
                                 "struct union enum class static inline extern const volatile "
                                 "typename template constexpr virtual __inline __inline__ _Bool";
static const char other_words[] =
    "return if else for while do switch case default goto break "
    "continue sizeof new delete throw operator using namespace typedef "
    "public private protected this true false nullptr";

static bool is_name(const view *v, int64_t i)
{
    return is_kind(v, i, HPC_TOKEN_NAME) && !is_any(v, i, type_words) && !is_any(v, i, other_words);
}

static bool begins_statement(const view *v, int64_t before)
{
    return before < 0 || is_any(v, before, "; { } : ) else do") ||
           is_any(v, before, "static extern const register volatile inline constexpr");
}

static int64_t behind_all(const view *v, int64_t i, const char *list)
{
    while (is_any(v, i, list)) i = step(v, i, 1);
    return i;
}

/* "(X)" in front of what it converts. */
static bool is_cast(const view *v, int64_t before, int64_t close)
{
    int64_t outer = step(v, before, -1), operand = step(v, close, 1);
    if (is_name(v, outer) || is_any(v, outer, ") ] sizeof if while switch for")) return false;
    return is_name(v, operand) || is_kind(v, operand, HPC_TOKEN_NUMBER) ||
           is_kind(v, operand, HPC_TOKEN_STRING) || is_any(v, operand, "( ~ ! sizeof");
}

static int evidence_of_type(const view *v, int64_t i)
{
    const int64_t before = step(v, i, -1);
    int64_t next = behind_all(v, step(v, i, 1), "const volatile restrict __restrict __restrict__");
    int64_t behind = step(v, next, 1);
    if (is_name(v, next) && is_any(v, behind, "; = , ) [ ( { :")) return TYPE;
    if (is(v, before, "(") && is(v, next, ")")) return is_cast(v, before, next) ? TYPE : 0;
    if (is_any(v, before, "< ,") && is_any(v, next, "> >>")) return TYPE; /* of a template */
    if (!is_any(v, next, "* ** & &&")) return 0;
    int64_t end = behind_all(v, next, "* ** & && const restrict __restrict __restrict__ volatile");
    if (is_any(v, before, "( , <") && is_any(v, end, ") , >")) return TYPE;
    if (is_name(v, end) && is_any(v, step(v, end, 1), "; = , ) [ (") &&
        (begins_statement(v, before) || (v->told_type && is_any(v, before, "( , <"))))
        return TYPE;
    return 0;
}

/* True for a macro that the parser can ignore: next to a type, a declarator or a block. */
static bool is_empty_macro(const view *v, int64_t i)
{
    const int64_t before = step(v, i, -1), next = step(v, i, 1), behind = step(v, next, 1);
    if (begins_statement(v, before) && !is_any(v, before, ")")) {
        if (is_any(v, next, type_words) && !is_any(v, next, "const volatile")) return true;
        if (is_name(v, next) && (is_name(v, behind) || is_any(v, behind, "* ::"))) return true;
    }
    return (is(v, before, ")") && is(v, next, "{")) || (is(v, before, "]") && is(v, next, "("));
}

static bool is_value(const view *v, int64_t i)
{
    const int64_t before = step(v, i, -1), next = step(v, i, 1);
    /* Whatever follows it: that may be the error. */
    if (is_name(v, next) && is_any(v, before, "= == != + - / < > && || return")) return true;
    if (is_name(v, before) || is_kind(v, before, HPC_TOKEN_STRING) || is(v, before, "::"))
        return false;
    return is_any(v, next,
                  "+ - * / % & | ^ = == != <= >= > ) ] , ; : ? . -> [ && || << >> += -= *= "
                  "/= |= &= ++ -- }");
}

static int evidence(const view *v, int64_t i)
{
    int type = evidence_of_type(v, i);
    if (type) return type;
    if (is_empty_macro(v, i)) return MACRO;
    return is_value(v, i) ? VALUE : ODD;
}

/* ---- declarations --------------------------------------------------------------------------- */

/* The compiler stumbles over a macro between a declarator and its body without naming it. */
static const char *name_stumbled_over(size_t *n, const check_version *v, const hpc_tokens *t,
                                      const check_issue *x)
{
    static const char *const forms[] = {"expected body of lambda", "expected function body",
                                        "expected ';'"};
    const char *text = v->issues->text.data + x->text_at;
    if (!(x->flags & CHECK_PARSE) || !(x->flags & CHECK_INSIDE)) return NULL;
    for (size_t k = 0; k < sizeof forms / sizeof *forms; k++) {
        if (!begins(text, x->text_n, forms[k])) continue;
        int64_t i = hpc_token_at(t, x->at);
        if (i >= t->n || t->item[i].kind != HPC_TOKEN_NAME) return NULL;
        *n = t->item[i].n;
        const char *name = v->text + t->item[i].at;
        return check_is_shouted(name, *n) ? name : NULL;
    }
    return NULL;
}

/* Unknown names that have no declaration in the prelude yet, each with what its messages show. */
static int collect(hpc_map *names, const check_version *v, const hpc_tokens *t,
                   const hpc_map *known, bool templates)
{
    const check_issues *s = v->issues;
    int rc = HPC_OK;
    for (int64_t k = 0; k < s->n; k++) {
        size_t n = 0;
        bool call;
        uint64_t told = 0;
        const bool template = templates && is_bare_template(s, &s->item[k]);
        const char *name = template || is_bare(s, &s->item[k])
                               ? check_unknown_name(&n, &call, s, &s->item[k])
                               : name_stumbled_over(&n, v, t, &s->item[k]);
        if (!name || n == 0 || hpc_map_get(known, name, n, NULL)) continue;
        hpc_map_get(names, name, n, &told);
        if (s->text.data[s->item[k].text_at + 1] == 'n') told |= TOLD_TYPE; /* "unknown type" */
        if (template) told |= TOLD_TEMPLATE;
        TRY(hpc_map_put(names, name, n, told));
    }
out:
    return rc;
}

static int look_around(hpc_map *names, const check_version *v, const hpc_tokens *t)
{
    int rc = HPC_OK;
    for (int64_t i = 0; i < t->n; i++) {
        const hpc_token *k = &t->item[i];
        uint64_t found;
        if (k->kind != HPC_TOKEN_NAME || skipped(k) ||
            !hpc_map_get(names, v->text + k->at, k->n, &found))
            continue;
        const view w = {.t = t, .text = v->text, .told_type = (found & TOLD_TYPE) != 0};
        TRY(hpc_map_put(names, v->text + k->at, k->n, found | (uint64_t)evidence(&w, i)));
    }
out:
    return rc;
}

/* The kind of a name; 0 if it is ambiguous. */
static uint64_t kind_of(uint64_t found)
{
    if (found & TOLD_TEMPLATE) return CHECK_NAME_TEMPLATE;
    if (found & TYPE) return CHECK_NAME_TYPE;
    if (found & MACRO) return CHECK_NAME_MACRO;
    return (found & VALUE) && !(found & (ODD | TOLD_TYPE)) ? CHECK_NAME_VALUE : 0;
}

static int declare(hpc_buf *prelude, hpc_map *known, const char *name, size_t n, uint64_t kind,
                   const char *type)
{
    const char *word = kind == CHECK_NAME_TYPE ? "typedef" : "extern";
    int rc;
    TRY(hpc_map_put(known, name, n, kind));
    if (kind == CHECK_NAME_MACRO)
        TRY(hpc_buf_printf(prelude, "#define %.*s\n", (int)n, name));
    else if (kind == CHECK_NAME_TEMPLATE)
        TRY(hpc_buf_printf(prelude, "template <class...> using %.*s = %s;\n", (int)n, name, type));
    else
        TRY(hpc_buf_printf(prelude, "%s %s %.*s;\n", word, type, (int)n, name));
out:
    return rc;
}

int check_names_declare(hpc_buf *prelude, hpc_map *known, const check_version *v,
                        const hpc_tokens *t, bool needed, bool for_tree)
{
    const char *type = for_tree ? "__int128" : "int";
    int rc = HPC_OK, added = 0;
    hpc_map *names = hpc_map_create();
    if (!names) return HPC_E_NOMEM;
    TRY(collect(names, v, t, known, for_tree));
    if (hpc_map_n(names) > 0) TRY(look_around(names, v, t));
    size_t n;
    uint64_t found;
    for (int64_t i = 0; i < hpc_map_n(names) && !needed; i++) {
        hpc_map_at(names, i, &n, &found);
        needed = (found & (TYPE | MACRO | TOLD_TEMPLATE)) != 0;
    }
    for (int64_t i = 0; i < hpc_map_n(names) && needed; i++) {
        const char *name = hpc_map_at(names, i, &n, &found);
        if (!kind_of(found)) continue;
        TRY(declare(prelude, known, name, n, kind_of(found), type));
        added++;
    }
    rc = added;
out:
    hpc_map_free(names);
    return rc;
}
