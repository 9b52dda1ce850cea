/*
 * bracket_fortran.c: finds the constructs that Fortran statements open and close. An end statement
 * closes the innermost construct of its kind, and unclosed ones inside it; a bare "end" closes a
 * unit. The label of a `do` closes all loops that end at it.
 */
#include "runtime/source/bracket_priv.h"
#include "runtime/source/statement.h"

typedef enum word { /* what an end names; UNIT: a procedure or program */
                    NOTHING,
                    DO,
                    IF,
                    SELECT,
                    WHERE,
                    FORALL,
                    ASSOCIATE,
                    BLOCK,
                    CRITICAL,
                    TEAM,
                    TYPE,
                    ENUM,
                    INTERFACE,
                    MODULE,
                    UNIT
} word;

static const struct {
    const char *name, *joined; /* after "end", or in one token with it */
    word means;
} ends[] = {
    {"do", "enddo", DO},
    {"if", "endif", IF},
    {"select", "endselect", SELECT},
    {"where", "endwhere", WHERE},
    {"forall", "endforall", FORALL},
    {"associate", "endassociate", ASSOCIATE},
    {"block", "endblock", BLOCK},
    {"critical", "endcritical", CRITICAL},
    {"team", "endteam", TEAM},
    {"type", "endtype", TYPE},
    {"enum", "endenum", ENUM},
    {"interface", "endinterface", INTERFACE},
    {"module", "endmodule", MODULE},
    {"submodule", "endsubmodule", MODULE},
    {"subroutine", "endsubroutine", UNIT},
    {"function", "endfunction", UNIT},
    {"procedure", "endprocedure", UNIT},
    {"program", "endprogram", UNIT},
};

/* An open statement or block; open brackets within a statement are not entries. */
typedef struct opened {
    uint8_t word;
    int32_t bracket;
    uint32_t label_at, label_n; /* of a labelled do; or 0 long */
} opened;

typedef struct finder {
    hpc_statement s;
    hpc_brackets *out;
    opened *stack;
    int64_t n, cap;
} finder;

static bool is(const finder *x, int64_t i, const char *name)
{
    return hpc_statement_is(&x->s, i, name);
}

static const hpc_token *token(const finder *x, int64_t i)
{
    return &x->s.t->item[i];
}

/* ---- what a statement begins ------------------------------------------------------------------
 */

static bool ends_with_group(const finder *x, int64_t i)
{
    return is(x, i, "(") && hpc_statement_behind_group(&x->s, i) > x->s.last;
}

/* "type :: t", "type, public :: t", "type t"; not "type(t) :: x" and not "type = 1". */
static bool begins_type(const finder *x, int64_t i)
{
    return is(x, i, ",") || is(x, i, "::") ||
           (hpc_statement_is_name(&x->s, i) && i == x->s.last && !is(x, i, "is"));
}

static word begun_in_function(const finder *x, int64_t i)
{
    static const char *const selects[] = {"case", "type", "rank", NULL};
    int64_t last = x->s.last;
    if (is(x, i, "do") && !is(x, i + 1, "=") && !is(x, i + 1, "(")) return DO;
    if (is(x, i, "if") && is(x, i + 1, "(") && is(x, last, "then") &&
        hpc_statement_behind_group(&x->s, i + 1) == last)
        return IF;
    if (is(x, i, "select") && hpc_statement_is_one_of(&x->s, i + 1, selects)) return SELECT;
    if (is(x, i, "selectcase") && is(x, i + 1, "(")) return SELECT;
    if (is(x, i, "where") && ends_with_group(x, i + 1)) return WHERE;
    if (is(x, i, "forall") && ends_with_group(x, i + 1)) return FORALL;
    if (is(x, i, "associate") && ends_with_group(x, i + 1)) return ASSOCIATE;
    if (is(x, i, "block") && i == last) return BLOCK;
    if (is(x, i, "critical") && (i == last || is(x, i + 1, "("))) return CRITICAL;
    if (is(x, i, "change") && is(x, i + 1, "team")) return TEAM;
    return NOTHING;
}

static word begun(const finder *x, int64_t i)
{
    bool alone = hpc_statement_is_name(&x->s, i + 1) && i + 1 == x->s.last;
    if (hpc_statement_procedure(&x->s) >= 0) return UNIT;
    if (is(x, i, "program") && alone) return UNIT;
    if (is(x, i, "module") && is(x, i + 1, "procedure") && i + 2 == x->s.last)
        return x->n > 0 && x->stack[x->n - 1].word == INTERFACE ? NOTHING : UNIT;
    if ((is(x, i, "module") && alone) || (is(x, i, "submodule") && is(x, i + 1, "(")))
        return MODULE;
    if (is(x, i, "interface") && !is(x, i + 1, "=")) return INTERFACE;
    if (is(x, i, "abstract") && is(x, i + 1, "interface")) return INTERFACE;
    if (is(x, i, "type") && begins_type(x, i + 1)) return TYPE;
    if (is(x, i, "enum") && is(x, i + 1, ",")) return ENUM;
    return begun_in_function(x, i);
}

static int open_word(finder *x, word w, int64_t i)
{
    const hpc_token *first = token(x, x->s.first), *last = token(x, x->s.last);
    hpc_bracket_kind kind = w == UNIT   ? HPC_BRACKET_FUNCTION
                            : w >= TYPE ? HPC_BRACKET_HOLDER
                                        : HPC_BRACKET_BLOCK;
    int rc = hpc_grow(&x->stack, &x->cap, x->n + 1, sizeof *x->stack);
    if (rc < 0) return rc;
    rc = hpc_bracket_open(x->out, kind, first->at, last->at + last->n);
    if (rc < 0) return rc;
    opened *o = &x->stack[x->n++];
    *o = (opened){.word = (uint8_t)w, .bracket = x->out->open};
    if (w == DO && i < x->s.last && token(x, i + 1)->kind == HPC_TOKEN_NUMBER) {
        o->label_at = token(x, i + 1)->at;
        o->label_n = token(x, i + 1)->n;
    }
    return HPC_OK;
}

/* ---- what it ends -------------------------------------------------------------------------------
 */

/* The kind of block that an END statement names; NOTHING if it is not one. *bare: it names no
 * kind. */
static word ended(const finder *x, int64_t i, bool *bare)
{
    *bare = is(x, i, "end") && i == x->s.last;
    if (*bare) return UNIT;
    if (is(x, i + 1, "=") || is(x, i + 1, "(")) return NOTHING;
    for (size_t k = 0; k < sizeof ends / sizeof *ends; k++)
        if (is(x, i, ends[k].joined) || (is(x, i, "end") && is(x, i + 1, ends[k].name)))
            return ends[k].means;
    return NOTHING;
}

static int close_at(finder *x, int64_t k, int64_t from)
{
    const hpc_token *first = token(x, from), *last = token(x, x->s.last);
    int32_t partner = k >= 0 ? x->stack[k].bracket : -1;
    if (k >= 0) x->n = k;
    return hpc_bracket_close(x->out, partner, HPC_BRACKET_BLOCK, first->at, last->at + last->n);
}

static int close_word(finder *x, word w, bool bare)
{
    enum { NEAR = 64 };
    int64_t least = x->n > NEAR ? x->n - NEAR : 0, k = x->n - 1;
    while (k >= least && x->stack[k].word != w && !(bare && x->stack[k].word == MODULE)) k--;
    return close_at(x, k < least ? -1 : k, x->s.first);
}

static bool same_label(const finder *x, const opened *o)
{
    if (x->s.label < 0 || o->label_n == 0) return false;
    const hpc_token *l = token(x, x->s.label);
    return l->n == o->label_n && memcmp(x->s.text + l->at, x->s.text + o->label_at, l->n) == 0;
}

/* Closes all at its last token, after the brackets in it. */
static int close_labelled(finder *x)
{
    int rc = HPC_OK;
    while (rc >= 0 && x->n > 0 && same_label(x, &x->stack[x->n - 1]))
        rc = close_at(x, x->n - 1, x->s.last);
    return rc;
}

/* ---- brackets within a statement ---------------------------------------------------------- */

static int see_brackets(finder *x)
{
    hpc_brackets *b = x->out;
    int32_t before = b->open;
    int rc = HPC_OK;
    for (int64_t i = x->s.first; i <= x->s.last; i++) {
        const hpc_token *t = token(x, i);
        if (t->kind != HPC_TOKEN_PUNCT || t->n != 1 || (t->flags & HPC_TOKEN_IN_DIRECTIVE))
            continue;
        char c = x->s.text[t->at];
        hpc_bracket_kind kind = c == '(' || c == ')' ? HPC_BRACKET_ROUND : HPC_BRACKET_SQUARE;
        if (c == '(' || c == '[') TRY(hpc_bracket_open(b, kind, t->at, t->at + 1));
        if (c == ')' || c == ']')
            TRY(hpc_bracket_close(b, hpc_bracket_opened(b, kind), kind, t->at, t->at + 1));
    }
    /* None reaches beyond its statement, if that has ended. */
    if (x->s.behind < x->s.t->n && token(x, x->s.behind)->n > 0) b->open = before;
out:
    return rc;
}

/* What a statement begins stands before the brackets in it, so that the list is in order. */
static int see_statement(finder *x)
{
    int64_t i = x->s.first;
    bool bare;
    int rc = HPC_OK;
    if (hpc_statement_is_name(&x->s, i) && is(x, i + 1, ":")) i += 2;
    word end = ended(x, i, &bare), begin = end == NOTHING ? begun(x, i) : NOTHING;
    if (end != NOTHING) TRY(close_word(x, end, bare));
    if (begin != NOTHING) TRY(open_word(x, begin, i));
    if (end == NOTHING) TRY(see_brackets(x));
    TRY(close_labelled(x));
out:
    return rc;
}

int hpc_brackets_fortran(hpc_brackets *out, const hpc_tokens *t, const char *text)
{
    finder x = {.s = {.t = t, .text = text}, .out = out};
    int rc = HPC_OK;
    for (int64_t i = 0; i < t->n; i++) {
        TRY(hpc_statement_next(&x.s, &i, out->open));
        if (x.s.first >= 0) TRY(see_statement(&x));
    }
out:
    hpc_free(x.stack);
    hpc_free(x.s.branches.item);
    return rc;
}
