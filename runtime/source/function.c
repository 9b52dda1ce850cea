/*
 * function.c: finds the definitions of functions in C and its family. It walks over the tokens with
 * a stack of the kinds of open braces: a scope for declarations (file, namespace, class), a
 * function body, or another. Between braces and semicolons it tracks one declaration with its
 * candidate name and parameters. Nothing is expanded and no types are known, so "NAME(...) {" is
 * always taken for a function. In bodies only braces count. Functions in parentheses, like
 * signal(), are missed.
 */
#include "runtime/source/priv.h"

typedef enum scope_kind { DECLARATIONS, BODY, OTHER } scope_kind;
typedef struct scope {
    uint8_t kind;
    bool class, catch;
    bool goes_on;   /* after an OTHER: the enclosing declaration continues */
    uint32_t paren; /* open parentheses when it began */
} scope;

enum { NONE = -1 };

typedef struct declaration {
    int64_t start;           /* its first token, or NONE */
    int64_t prev;            /* the token before the current one, or NONE */
    int64_t name, name_last; /* of the candidate function name */
    int64_t close;           /* after its parameters; NONE: not yet */
    int64_t record;          /* "class", "struct", "union" or "enum" */
    int64_t angle_name;      /* the name before the outermost '<' */
    int64_t semicolon;       /* in a list of K&R parameters: the last one */
    uint32_t paren, angle;   /* open; square brackets count as parentheses */
    bool open;               /* inside the parameters */
    int64_t late_record;     /* one after the parameters: MACRO(x) struct Foo { */
    bool arrow, equals, comma, is_namespace, is_extern, initializers, tail;
    uint32_t words; /* names so far, up to 2 */
} declaration;

typedef struct finder {
    const hpc_tokens *t;
    const char *text;
    hpc_functions *out;
    scope *stack;
    int64_t n, cap;
    int64_t body; /* where on the stack the function is that is open, or NONE */
    declaration d;
    hpc_branches branches;
    bool cpp, skip;
    bool by_column; /* braces do not match: a '}' in the first column ends a function */
} finder;

static char first_byte(const finder *x, int64_t i)
{
    return i == NONE ? 0 : x->text[x->t->item[i].at];
}

static bool is(const finder *x, int64_t i, const char *word)
{
    return i != NONE && hpc_token_is(&x->t->item[i], x->text, word, strlen(word));
}

static bool is_name(const finder *x, int64_t i)
{
    return i != NONE && x->t->item[i].kind == HPC_TOKEN_NAME;
}

static bool is_one_of(const finder *x, int64_t i, const char *const *words)
{
    for (; *words; words++)
        if (is(x, i, *words)) return true;
    return false;
}

/* What a '(' may follow without being the parameters of a function of that name. */
static bool cannot_name(const finder *x, int64_t i)
{
    static const char *const words[] = {
        "if",         "for",        "while",          "switch",
        "return",     "sizeof",     "alignas",        "_Alignas",
        "alignof",    "decltype",   "noexcept",       "throw",
        "requires",   "explicit",   "__attribute__",  "__attribute",
        "__declspec", "asm",        "__asm__",        "static_assert",
        "typeof",     "__typeof__", "_Static_assert", "__launch_bounds__",
        "catch",      "_Pragma",    "__pragma",       "__extension__",
        "void",       "int",        "char",           "short",
        "long",       "float",      "double",         "unsigned",
        "signed",     "bool",       "auto",           "const",
        "constexpr",  "static",     "inline",         "extern",
        "else",       "do",         "defined",        "__cluster_dims__",
        "consteval",  "_Generic",   "volatile",       "__align__",
        NULL};
    return is_one_of(x, i, words);
}

static void begin_declaration(finder *x)
{
    x->d = (declaration){.start = NONE,
                         .prev = NONE,
                         .name = NONE,
                         .name_last = NONE,
                         .close = NONE,
                         .record = NONE,
                         .late_record = NONE,
                         .angle_name = NONE,
                         .semicolon = NONE};
}

/* A name in capitals is a macro. */
static bool in_capitals(const finder *x, int64_t i)
{
    const hpc_token *t = &x->t->item[i];
    for (uint32_t k = 0; k < t->n; k++)
        if (x->text[t->at + k] >= 'a' && x->text[t->at + k] <= 'z') return false;
    return true;
}

/* ---- the name ------------------------------------------------------------------------- */

/* The token before i, not before `least`, that is not a comment or in a directive. */
static int64_t before(const finder *x, int64_t i, int64_t least)
{
    for (i--; i >= least; i--)
        if (x->t->item[i].kind != HPC_TOKEN_COMMENT &&
            !(x->t->item[i].flags & HPC_TOKEN_IN_DIRECTIVE))
            return i;
    return NONE;
}

/* Back over "A::", "A<T>::" and '~' to where the name begins. */
static int64_t name_start(const finder *x, int64_t name, int64_t least)
{
    int64_t first = name, i = before(x, first, least);
    if (first_byte(x, i) == '~') {
        first = i;
        i = before(x, i, least);
    }
    while (is(x, i, "::")) {
        first = i;
        i = before(x, i, least);
        if (first_byte(x, i) == '>') {
            int64_t open = 0;
            do {
                if (first_byte(x, i) == '>') open += x->t->item[i].n;
                if (first_byte(x, i) == '<') open -= x->t->item[i].n;
                i = before(x, i, least);
            } while (i != NONE && open > 0);
        }
        if (!is_name(x, i)) break;
        first = i;
        i = before(x, i, least);
    }
    return first;
}

/* Of two pairs of parentheses, true if the second, after the name i, has the parameters. */
static bool second_is_better(const finder *x, int64_t i)
{
    const declaration *d = &x->d;
    if (d->tail) return false;
    int64_t between = before(x, i, d->close + 1);
    if (between != NONE) return true; /* MACRO(x) void f( */
    if (d->name == d->start && (x->t->item[i].flags & HPC_TOKEN_FIRST_ON_LINE)) return true;
    return in_capitals(x, d->name) && !in_capitals(x, i);
}

/* "operator" at i, which is the last token of its name in the end: "operator+", "operator()". */
static int64_t operator_name(finder *x, int64_t i)
{
    declaration *d = &x->d;
    const hpc_tokens *t = x->t;
    int64_t last = i;
    if (i + 2 < t->n && first_byte(x, i + 1) == '(' && first_byte(x, i + 2) == ')') last = i + 2;
    while (last == i || (last + 1 < t->n && first_byte(x, last + 1) != '(')) {
        if (last + 1 >= t->n || (t->item[last + 1].flags & HPC_TOKEN_IN_DIRECTIVE) ||
            first_byte(x, last + 1) == ';' || first_byte(x, last + 1) == '{')
            return last;
        last++;
    }
    d->name = i;
    d->name_last = last;
    d->close = d->semicolon = NONE;
    d->open = false;
    return last;
}

/* NAME(f, F)(int a): the first argument is the name. */
static void name_from_macro(finder *x)
{
    declaration *d = &x->d;
    int64_t inner = d->name;
    while (inner < d->close && first_byte(x, inner) != '(') inner++;
    while (inner < d->close && !is_name(x, inner)) inner++;
    if (inner < d->close) d->name = d->name_last = inner;
    d->close = NONE;
    d->open = true;
}

/* A '(' outside parentheses may begin the parameters. */
static void open_parameters(finder *x, int64_t i)
{
    declaration *d = &x->d;
    int64_t name = d->prev;
    if (d->angle > 0 || d->equals || d->initializers) return;
    if (d->name != NONE && d->close == NONE && d->prev == d->name_last) {
        d->open = true; /* of an operator */
        return;
    }
    if (d->close != NONE && d->prev == d->close && !d->tail) {
        name_from_macro(x);
        return;
    }
    if (first_byte(x, name) == '>' && d->angle_name != NONE) name = d->angle_name; /* f<int>( */
    if (!is_name(x, name) || cannot_name(x, name)) return;
    if (d->close != NONE) {
        if (!second_is_better(x, name)) {
            if (d->name != d->start) d->tail = true; /* void f(int a) MACRO(x) */
            return;
        }
        int64_t behind = d->close + 1;
        bool alone = d->name == d->start && behind < i &&
                     (x->t->item[behind].flags & HPC_TOKEN_FIRST_ON_LINE);
        if (d->semicolon != NONE) behind = d->semicolon + 1;
        if (d->semicolon != NONE || alone) d->start = behind; /* a macro on lines of its own */
    }
    d->semicolon = d->close = d->late_record = NONE;
    d->name = name;
    d->name_last = d->prev;
    d->open = true;
    d->comma = false;
}

/* ---- braces ---------------------------------------------------------------------------- */

static int push(finder *x, scope s)
{
    int rc = hpc_grow(&x->stack, &x->cap, x->n + 1, sizeof *x->stack);
    if (rc < 0) return rc;
    s.paren = x->d.paren;
    x->stack[x->n++] = s;
    return HPC_OK;
}

/* class EXPORT(x) Foo { */
static bool names_class(const finder *x)
{
    const declaration *d = &x->d;
    return d->record != NONE && before(x, d->name, d->record + 1) == NONE;
}

static bool is_function(const finder *x)
{
    const declaration *d = &x->d;
    static const char *const blocks[] = {"if", "for", "while", "switch", "catch", "do", NULL};
    if (d->close == NONE || d->paren > 0 || d->equals || d->is_namespace) return false;
    if (d->comma && !d->initializers) return false;
    if (names_class(x)) return false;
    /* In an initializer list, a brace after a name belongs to a member. */
    if (d->initializers && (is_name(x, d->prev) || first_byte(x, d->prev) == '>')) return false;
    return !is_one_of(x, d->name, blocks);
}

static int add_function(finder *x, int64_t brace)
{
    const declaration *d = &x->d;
    const hpc_token *t = x->t->item;
    hpc_functions *f = x->out;
    int rc = hpc_grow(&f->item, &f->cap, f->n + 1, sizeof *f->item);
    if (rc < 0) return rc;
    int64_t start = d->start, name = name_start(x, d->name, start);
    const hpc_token *last = &t[d->name_last];
    f->item[f->n++] = (hpc_function){
        .at = t[start].at,
        .name_at = t[name].at,
        .name_n = last->at + last->n - t[name].at,
        .body_at = t[brace].at,
        .line = t[start].line,
        .outer = -1,
    };
    return HPC_OK;
}

/* A '{' among declarations. */
static int open_brace(finder *x, int64_t i)
{
    declaration *d = &x->d;
    if (d->start == NONE) d->start = i;
    /* K&R parameters end with a semicolon; anything after it belongs to another declaration. */
    if (d->semicolon != NONE && d->prev != d->semicolon) {
        d->name = d->close = NONE;
        d->start = d->semicolon + 1;
    }
    if (d->late_record != NONE && d->prev != d->semicolon) {
        d->name = d->close = NONE;
        d->start = d->record = d->late_record;
    }
    if (is_function(x)) {
        int rc = add_function(x, i);
        x->body = x->n;
        return rc < 0 ? rc : push(x, (scope){.kind = BODY});
    }
    bool outside = d->paren == 0 && !d->equals;
    bool catch = outside && is(x, d->start, "catch");
    bool class = outside && d->record != NONE && !is(x, d->record, "enum") && !d->initializers;
    bool alone = outside && d->words == 1 && is_name(x, d->prev) && d->record == NONE;
    bool external = d->is_extern && d->prev != NONE && x->t->item[d->prev].kind == HPC_TOKEN_STRING;
    if (outside && (d->is_namespace || external || class || (alone && d->prev == d->start)))
        return push(x, (scope){.kind = DECLARATIONS, .class = class});
    bool goes_on = d->equals || d->initializers || d->paren > 0 || d->comma;
    return push(x, (scope){.kind = OTHER, .goes_on = goes_on, .catch = catch});
}

static void end_function(finder *x, int64_t last)
{
    hpc_function *f = &x->out->item[x->out->n - 1];
    f->end = x->t->item[last].at + x->t->item[last].n;
    f->end_line = x->t->item[last].line;
}

static void close_brace(finder *x, int64_t i)
{
    if (x->n == 0) { /* one too many */
        begin_declaration(x);
        return;
    }
    scope s = x->stack[--x->n];
    scope_kind around = x->n > 0 ? x->stack[x->n - 1].kind : DECLARATIONS;
    if (around != DECLARATIONS) return; /* inside a body or an initializer */
    if (s.kind == BODY) x->body = NONE;
    if (s.kind == BODY || (s.catch && x->out->n > 0)) end_function(x, i);
    if (s.kind == OTHER && s.goes_on) {
        x->d.paren = s.paren;
        x->d.prev = i;
        return;
    }
    begin_declaration(x);
}

/* ---- declarations ------------------------------------------------------------------------ */

/* int f(a) int a; {: true if the current ';' can end a parameter. */
static bool is_kr_parameter(const finder *x)
{
    const declaration *d = &x->d;
    static const char *const tails[] = {"__attribute__", "__asm__", "asm", NULL};
    if (x->cpp || d->close == NONE || d->equals || d->paren > 0) return false;
    char mark = d->close > 1 ? first_byte(x, d->close - 2) : 0;
    if (!is_name(x, d->close - 1) || (mark != '(' && mark != ',')) return false; /* typed */
    int64_t type = d->close + 1;
    while (type < x->t->n && x->t->item[type].kind == HPC_TOKEN_COMMENT) type++;
    return type < d->prev && is_name(x, type) && !is_one_of(x, type, tails);
}

static void end_declaration(finder *x, int64_t i)
{
    if (is_kr_parameter(x)) {
        x->d.semicolon = x->d.prev = i;
        x->d.comma = x->d.tail = x->d.arrow = false;
        x->d.record = x->d.late_record = NONE;
        return;
    }
    begin_declaration(x);
}

static void colon(finder *x, int64_t i)
{
    declaration *d = &x->d;
    static const char *const access[] = {"public",  "private", "protected", "slots",
                                         "signals", "Q_SLOTS", "Q_SIGNALS", NULL};
    if (d->record == NONE && is_one_of(x, d->prev, access) && d->close == NONE) {
        begin_declaration(x);
        return;
    }
    if (d->close != NONE && d->angle == 0 && !d->equals && !names_class(x)) d->initializers = true;
    d->prev = i;
}

static void angle(finder *x, int64_t i)
{
    declaration *d = &x->d;
    uint32_t n = x->t->item[i].n;
    if (d->equals || d->initializers) return;
    if (first_byte(x, i) == '<' && n == 1) {
        if (d->angle == 0 && is_name(x, d->prev)) d->angle_name = d->prev;
        if (d->angle > 0 || is_name(x, d->prev)) d->angle++;
    } else if (first_byte(x, i) == '>' && (n == 1 || is(x, i, ">>"))) {
        d->angle -= n < d->angle ? n : d->angle;
    }
}

static int64_t see_name(finder *x, int64_t i)
{
    declaration *d = &x->d;
    static const char *const records[] = {"class", "struct", "union", "enum", NULL};
    static const char *const tails[] = {"noexcept", "override", "final", "throw",
                                        "requires", "try",      NULL};
    static const char *const qualifiers[] = {"const", "volatile", NULL};
    d->words += d->words < 2;
    if (d->paren > 0 || d->angle > 0) return i;
    if (d->close != NONE && is_one_of(x, i, tails)) d->tail = true;
    /* "f(int) const", but "MACRO(x) const int f(" */
    if (d->close != NONE && d->name != d->start && is_one_of(x, i, qualifiers)) d->tail = true;
    if (d->close != NONE && !d->arrow && x->cpp && is(x, i, "template")) {
        begin_declaration(x); /* MACRO(x) template <...> */
        d->start = i;
    }
    if (is_one_of(x, i, records) && !d->arrow) {
        if (d->close != NONE)
            d->late_record = i;
        else if (d->record == NONE)
            d->record = i;
    }
    if (is(x, i, "namespace")) d->is_namespace = true;
    if (is(x, i, "extern")) d->is_extern = true;
    if (x->cpp && is(x, i, "operator") && !d->equals && !d->initializers && !d->tail)
        return operator_name(x, i);
    return i;
}

/* Processes a token among declarations other than a brace. Returns the last token that it
 * consumed. */
static int64_t see(finder *x, int64_t i)
{
    declaration *d = &x->d;
    const hpc_token *t = &x->t->item[i];
    char c = first_byte(x, i);
    if (c == ';' && t->n == 1) {
        d->paren = 0;
        end_declaration(x, i);
        return i;
    }
    if (d->start == NONE) d->start = i;
    if (t->kind == HPC_TOKEN_NAME) {
        i = see_name(x, i);
    } else if (t->kind == HPC_TOKEN_PUNCT) {
        switch (c) {
        case '(':
            if (d->paren == 0) open_parameters(x, i);
            d->paren++;
            break;
        case '[': d->paren++; break;
        case ')':
        case ']':
            if (d->paren > 0 && --d->paren == 0 && d->open && c == ')') {
                d->close = i;
                d->open = false;
            }
            break;
        case '<':
        case '>':
            if (d->paren == 0) angle(x, i);
            break;
        case ':':
            if (d->paren == 0 && t->n == 1) {
                colon(x, i);
                return i;
            }
            break;
        case ',':
            if (d->paren == 0 && d->angle == 0) d->comma = true;
            break;
        case '=':
            if (d->paren == 0 && d->angle == 0 && t->n == 1) d->equals = true;
            break;
        case '-':
            if (d->paren == 0 && d->close != NONE && is(x, i, "->")) d->tail = d->arrow = true;
            break;
        case '&':
            if (d->paren == 0 && d->close != NONE && d->prev == d->close) d->tail = true;
            break;
        default: break;
        }
    }
    d->prev = i;
    return i;
}

/* True if a '}' ends the enclosing function although braces inside are open. */
static bool ends_by_column(const finder *x, int64_t i)
{
    uint32_t at = x->t->item[i].at;
    return x->by_column && x->body != NONE && (at == 0 || x->text[at - 1] == '\n');
}

static int walk_brace(finder *x, int64_t i)
{
    bool open = first_byte(x, i) == '{';
    scope_kind kind = x->n > 0 ? x->stack[x->n - 1].kind : DECLARATIONS;
    if (open && kind == DECLARATIONS) {
        int rc = open_brace(x, i);
        if (rc == HPC_OK && x->stack[x->n - 1].kind == DECLARATIONS) begin_declaration(x);
        return rc;
    }
    if (open) return push(x, (scope){.kind = OTHER});
    if (ends_by_column(x, i)) x->n = x->body + 1;
    close_brace(x, i);
    return HPC_OK;
}

static int walk(finder *x)
{
    int rc = HPC_OK;
    const hpc_tokens *t = x->t;
    for (int64_t i = 0; i < t->n && rc == HPC_OK; i++) {
        const hpc_token *k = &t->item[i];
        if (k->kind == HPC_TOKEN_SENTINEL) {
            rc = hpc_branch_at(&x->skip, &x->branches, t, x->text, i,
                               x->n << 32 | (int64_t)x->d.paren);
        }
        if (x->skip || (k->flags & HPC_TOKEN_IN_DIRECTIVE) || k->kind == HPC_TOKEN_COMMENT)
            continue;
        bool brace = k->kind == HPC_TOKEN_PUNCT && (x->text[k->at] == '{' || x->text[k->at] == '}');
        if (brace) {
            rc = walk_brace(x, i);
        } else if (x->n == 0 || x->stack[x->n - 1].kind == DECLARATIONS) {
            i = see(x, i);
        }
    }
    return rc;
}

static int walk_from_start(finder *x)
{
    x->out->n = x->n = x->branches.n = 0;
    x->skip = false;
    x->body = NONE;
    begin_declaration(x);
    return walk(x);
}

static int find(hpc_functions *out, const hpc_tokens *t, const char *text, hpc_language l)
{
    finder x = {.t = t, .text = text, .out = out};
    x.cpp = l != HPC_LANGUAGE_C && l != HPC_LANGUAGE_OPENCL;
    int rc = walk_from_start(&x);
    if (rc == HPC_OK && x.body != NONE) {
        x.by_column = true;
        rc = walk_from_start(&x);
    }
    if (rc == HPC_OK && x.body != NONE) end_function(&x, t->n - 1);
    hpc_free(x.stack);
    hpc_free(x.branches.item);
    return rc;
}

int hpc_functions_find(hpc_functions *out, const hpc_tokens *t, const char *text, hpc_language l)
{
    out->n = 0;
    if (l == HPC_LANGUAGE_FORTRAN) return hpc_functions_fortran(out, t, text);
    return find(out, t, text, l);
}

void hpc_functions_release(hpc_functions *f)
{
    hpc_free(f->item);
    *f = (hpc_functions){0};
}
