/*
 * function_fortran.c: finds program, subroutine and function in Fortran.
 *
 * Statement by statement, with a stack of program units. The bodies of interfaces
 * declare and do not define. Statements before any unit are a main program if an
 * "end" follows; include files have none.
 */
#include "runtime/source/priv.h"

typedef enum unit_kind { MODULE, INTERFACE, PROTOTYPE, PROGRAM, PROCEDURE, UNNAMED } unit_kind;
typedef struct unit {
    uint8_t kind;
    int32_t function; /* index of the definition, or -1 */
} unit;

/* A statement: tokens [first, last], without label, comments in between allowed. */
typedef struct finder {
    const hpc_tokens *t;
    const char *text;
    hpc_functions *out;
    unit *stack;
    int64_t n, cap;
    int64_t first, last, behind; /* behind: its NEWLINE, or t->n */
    hpc_branches branches;
    bool skip;
} finder;

static bool is(const finder *x, int64_t i, const char *word)
{
    if (i > x->last) return false;
    const hpc_token *t = &x->t->item[i];
    size_t n = strlen(word);
    if (t->n != n) return false;
    for (size_t k = 0; k < n; k++)
        if (hpc_byte_lower((uint8_t)x->text[t->at + k]) != (uint8_t)word[k]) return false;
    return true;
}

static bool is_one_of(const finder *x, int64_t i, const char *const *words)
{
    for (; *words; words++)
        if (is(x, i, *words)) return true;
    return false;
}

static bool is_name(const finder *x, int64_t i)
{
    return i <= x->last && x->t->item[i].kind == HPC_TOKEN_NAME;
}

/* Behind a group in parentheses at i, or i. */
static int64_t behind_group(const finder *x, int64_t i)
{
    if (!is(x, i, "(")) return i;
    int64_t open = 0;
    for (; i <= x->last; i++) {
        if (is(x, i, "(")) open++;
        if (is(x, i, ")") && --open == 0) return i + 1;
    }
    return i;
}

/* "subroutine" or "function" behind its prefixes, or -1. */
static int64_t procedure_word(const finder *x)
{
    static const char *const prefixes[] = {
        "pure",  "elemental",  "impure",  "recursive", "non_recursive", "module",    "integer",
        "real",  "complex",    "logical", "character", "double",        "precision", "type",
        "class", "attributes", NULL};
    static const char *const words[] = {"subroutine", "function", NULL};
    int64_t i = x->first;
    while (i <= x->last) {
        if (is_one_of(x, i, words)) {
            bool assigned = !is_name(x, i + 1);
            return assigned ? -1 : i;
        }
        if (!is_one_of(x, i, prefixes)) return -1;
        i = behind_group(x, i + 1);
        if (is(x, i, "*")) i = is(x, i + 1, "(") ? behind_group(x, i + 1) : i + 2;
    }
    return -1;
}

/* A main program without a name that is followed by other units, or never ends, was none: a few
 * lines that the preprocessor would change, or an include file. Nothing is defined inside it. */
static void forget_unnamed(finder *x)
{
    if (x->n == 1 && x->stack[0].kind == UNNAMED) {
        x->n = 0;
        x->out->n--;
    }
}

static int push(finder *x, unit_kind kind, int64_t name)
{
    if (kind != INTERFACE) forget_unnamed(x);
    int rc = hpc_grow(&x->stack, &x->cap, x->n + 1, sizeof *x->stack);
    if (rc < 0) return rc;
    unit u = {(uint8_t)kind, -1};
    if (kind >= PROGRAM) {
        hpc_functions *f = x->out;
        const hpc_token *t = x->t->item, *first = &t[x->first];
        if ((rc = hpc_grow(&f->item, &f->cap, f->n + 1, sizeof *f->item)) < 0) return rc;
        hpc_function *d = &f->item[f->n];
        *d =
            (hpc_function){.at = first->at, .name_at = first->at, .line = first->line, .outer = -1};
        d->body_at = first->at;
        if (kind != UNNAMED) {
            const hpc_token *end = &t[x->behind < x->t->n ? x->behind : x->last];
            d->body_at = end->at + end->n;
        }
        if (name >= 0) {
            d->name_at = t[name].at;
            d->name_n = t[name].n;
        }
        for (int64_t k = x->n - 1; k >= 0 && d->outer < 0; k--) d->outer = x->stack[k].function;
        u.function = (int32_t)f->n++;
    }
    x->stack[x->n++] = u;
    return HPC_OK;
}

static void pop(finder *x, int64_t last)
{
    unit u = x->stack[--x->n];
    if (u.function < 0) return;
    hpc_function *f = &x->out->item[u.function];
    const hpc_token *t = &x->t->item[last];
    f->end = t->at + t->n;
    f->end_line = t->line;
}

/* The kind of unit that "end X" names, or -1 for an "end" of something inside one. */
static int end_kind(const finder *x, int64_t i)
{
    static const char *const modules[] = {"module", "submodule", NULL};
    static const char *const procedures[] = {"subroutine", "function", "procedure", NULL};
    static const char *const joined[] = {"endsubroutine", "endfunction", "endprocedure", NULL};
    static const char *const joined_modules[] = {"endmodule", "endsubmodule", "endblockdata", NULL};
    if (is_one_of(x, i, joined)) return PROCEDURE;
    if (is_one_of(x, i, joined_modules)) return MODULE;
    if (is(x, i, "endprogram")) return PROGRAM;
    if (is(x, i, "endinterface")) return INTERFACE;
    if (!is(x, i, "end")) return -1;
    if (is_one_of(x, i + 1, procedures)) return PROCEDURE;
    if (is_one_of(x, i + 1, modules)) return MODULE;
    if (is(x, i + 1, "block") && is(x, i + 2, "data")) return MODULE;
    if (is(x, i + 1, "program")) return PROGRAM;
    return is(x, i + 1, "interface") ? INTERFACE : -1;
}

static bool closes(int kind, const unit *u)
{
    switch ((unit_kind)u->kind) {
    case PROTOTYPE: return kind == PROCEDURE;
    case UNNAMED: return kind == PROGRAM;
    default: return kind == (int)u->kind;
    }
}

static void end_unit(finder *x)
{
    if (x->last == x->first && is(x, x->first, "end")) {
        if (x->n > 0) pop(x, x->last);
        return;
    }
    int kind = end_kind(x, x->first);
    if (kind < 0 || is(x, x->first + 1, "=") || is(x, x->first + 1, "(")) return;
    int64_t k = x->n - 1;
    while (k >= 0 && !closes(kind, &x->stack[k])) k--;
    if (k < 0) return; /* of nothing that is open */
    int64_t before = x->first > 0 ? x->first - 1 : 0;
    while (x->n - 1 > k) pop(x, before); /* their own ends are missing */
    pop(x, x->last);
}

/* One outside of all units belongs to a main program. */
static int see_interface(finder *x)
{
    int rc = x->n == 0 ? push(x, UNNAMED, -1) : HPC_OK;
    return rc < 0 ? rc : push(x, INTERFACE, -1);
}

static int see_statement(finder *x)
{
    int64_t i = x->first;
    bool in_interface = x->n > 0 && x->stack[x->n - 1].kind == INTERFACE;
    int64_t word = procedure_word(x);
    if (word >= 0) return push(x, in_interface ? PROTOTYPE : PROCEDURE, word + 1);
    if (is(x, i, "interface") || (is(x, i, "abstract") && is(x, i + 1, "interface")))
        return is(x, i + 1, "=") ? HPC_OK : see_interface(x);
    if (is(x, i, "module") && is(x, i + 1, "procedure")) {
        bool body = !in_interface && is_name(x, i + 2) && i + 2 == x->last;
        return body ? push(x, PROCEDURE, i + 2) : HPC_OK;
    }
    if ((is(x, i, "module") && is_name(x, i + 1) && i + 1 == x->last) ||
        (is(x, i, "submodule") && is(x, i + 1, "(")) ||
        (is(x, i, "block") && is(x, i + 1, "data")) || is(x, i, "blockdata"))
        return push(x, MODULE, -1);
    if (is(x, i, "program") && is_name(x, i + 1) && i + 1 == x->last)
        return push(x, PROGRAM, i + 1);
    if (is(x, i, "end") || end_kind(x, i) >= 0) {
        end_unit(x);
        return HPC_OK;
    }
    if (is(x, i, "contains") && x->n == 1 && x->stack[0].kind == UNNAMED)
        x->stack[0].kind = PROGRAM;
    return x->n == 0 ? push(x, UNNAMED, -1) : HPC_OK;
}

/* The next statement from token i; returns where to go on, or t->n. */
static int next_statement(finder *x, int64_t *i)
{
    const hpc_tokens *t = x->t;
    x->first = x->last = -1;
    for (; *i < t->n; ++*i) {
        const hpc_token *k = &t->item[*i];
        if (k->kind == HPC_TOKEN_SENTINEL) {
            int rc = hpc_branch_at(&x->skip, &x->branches, t, x->text, *i, x->n);
            if (rc < 0) return rc;
        }
        if (x->skip || (k->flags & HPC_TOKEN_IN_DIRECTIVE) || k->kind == HPC_TOKEN_COMMENT ||
            (k->kind == HPC_TOKEN_LABEL && x->first < 0))
            continue;
        if (k->kind == HPC_TOKEN_NEWLINE) {
            if (x->first >= 0) break;
            continue;
        }
        if (x->first < 0) x->first = *i;
        x->last = *i;
    }
    x->behind = *i;
    return HPC_OK;
}

int hpc_functions_fortran(hpc_functions *out, const hpc_tokens *t, const char *text)
{
    finder x = {.t = t, .text = text, .out = out};
    int rc = HPC_OK;
    int64_t last = 0;
    for (int64_t i = 0; rc == HPC_OK && i < t->n; i++) {
        TRY(next_statement(&x, &i));
        if (x.first < 0) continue;
        rc = see_statement(&x);
        last = x.last;
    }
    if (rc == HPC_OK) forget_unnamed(&x);
    while (rc == HPC_OK && x.n > 0) pop(&x, last);
out:
    hpc_free(x.stack);
    hpc_free(x.branches.item);
    return rc;
}
