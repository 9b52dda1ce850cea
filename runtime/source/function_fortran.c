/*
 * function_fortran.c: finds programs, subroutines and functions in Fortran, statement by statement,
 * with a stack of program units. Interface bodies declare functions and do not define them.
 * Statements before any unit are a main program if an "end" follows; include files have none.
 */
#include "runtime/source/statement.h"

typedef enum unit_kind { MODULE, INTERFACE, PROTOTYPE, PROGRAM, PROCEDURE, UNNAMED } unit_kind;
typedef struct unit {
    uint8_t kind;
    int32_t function; /* index of the definition, or -1 */
} unit;

typedef struct finder {
    hpc_statement s;
    hpc_functions *out;
    unit *stack;
    int64_t n, cap;
} finder;

static bool is(const finder *x, int64_t i, const char *word)
{
    return hpc_statement_is(&x->s, i, word);
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
        const hpc_token *t = x->s.t->item, *first = &t[x->s.first];
        if ((rc = hpc_grow(&f->item, &f->cap, f->n + 1, sizeof *f->item)) < 0) return rc;
        hpc_function *d = &f->item[f->n];
        *d =
            (hpc_function){.at = first->at, .name_at = first->at, .line = first->line, .outer = -1};
        d->body_at = first->at;
        if (kind != UNNAMED) {
            const hpc_token *end = &t[x->s.behind < x->s.t->n ? x->s.behind : x->s.last];
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
    const hpc_token *t = &x->s.t->item[last];
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
    if (hpc_statement_is_one_of(&x->s, i, joined)) return PROCEDURE;
    if (hpc_statement_is_one_of(&x->s, i, joined_modules)) return MODULE;
    if (is(x, i, "endprogram")) return PROGRAM;
    if (is(x, i, "endinterface")) return INTERFACE;
    if (!is(x, i, "end")) return -1;
    if (hpc_statement_is_one_of(&x->s, i + 1, procedures)) return PROCEDURE;
    if (hpc_statement_is_one_of(&x->s, i + 1, modules)) return MODULE;
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
    if (x->s.last == x->s.first && is(x, x->s.first, "end")) {
        if (x->n > 0) pop(x, x->s.last);
        return;
    }
    int kind = end_kind(x, x->s.first);
    if (kind < 0 || is(x, x->s.first + 1, "=") || is(x, x->s.first + 1, "(")) return;
    int64_t k = x->n - 1;
    while (k >= 0 && !closes(kind, &x->stack[k])) k--;
    if (k < 0) return; /* of nothing that is open */
    int64_t before = x->s.first > 0 ? x->s.first - 1 : 0;
    while (x->n - 1 > k) pop(x, before); /* their own ends are missing */
    pop(x, x->s.last);
}

/* One outside of all units belongs to a main program. */
static int see_interface(finder *x)
{
    int rc = x->n == 0 ? push(x, UNNAMED, -1) : HPC_OK;
    return rc < 0 ? rc : push(x, INTERFACE, -1);
}

static int see_statement(finder *x)
{
    int64_t i = x->s.first;
    bool in_interface = x->n > 0 && x->stack[x->n - 1].kind == INTERFACE;
    int64_t word = hpc_statement_procedure(&x->s);
    if (word >= 0) return push(x, in_interface ? PROTOTYPE : PROCEDURE, word + 1);
    if (is(x, i, "interface") || (is(x, i, "abstract") && is(x, i + 1, "interface")))
        return is(x, i + 1, "=") ? HPC_OK : see_interface(x);
    if (is(x, i, "module") && is(x, i + 1, "procedure")) {
        bool body = !in_interface && hpc_statement_is_name(&x->s, i + 2) && i + 2 == x->s.last;
        return body ? push(x, PROCEDURE, i + 2) : HPC_OK;
    }
    if ((is(x, i, "module") && hpc_statement_is_name(&x->s, i + 1) && i + 1 == x->s.last) ||
        (is(x, i, "submodule") && is(x, i + 1, "(")) ||
        (is(x, i, "block") && is(x, i + 1, "data")) || is(x, i, "blockdata"))
        return push(x, MODULE, -1);
    if (is(x, i, "program") && hpc_statement_is_name(&x->s, i + 1) && i + 1 == x->s.last)
        return push(x, PROGRAM, i + 1);
    if (is(x, i, "end") || end_kind(x, i) >= 0) {
        end_unit(x);
        return HPC_OK;
    }
    if (is(x, i, "contains") && x->n == 1 && x->stack[0].kind == UNNAMED)
        x->stack[0].kind = PROGRAM;
    return x->n == 0 ? push(x, UNNAMED, -1) : HPC_OK;
}

int hpc_functions_fortran(hpc_functions *out, const hpc_tokens *t, const char *text)
{
    finder x = {.s = {.t = t, .text = text}, .out = out};
    int rc = HPC_OK;
    int64_t last = 0;
    for (int64_t i = 0; rc == HPC_OK && i < t->n; i++) {
        TRY(hpc_statement_next(&x.s, &i, x.n));
        if (x.s.first < 0) continue;
        rc = see_statement(&x);
        last = x.s.last;
    }
    if (rc == HPC_OK) forget_unnamed(&x);
    while (rc == HPC_OK && x.n > 0) pop(&x, last);
out:
    hpc_free(x.stack);
    hpc_free(x.s.branches.item);
    return rc;
}
