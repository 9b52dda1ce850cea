/*
 * spell.c: see spell.h. A name is used only if the scope of its declaration covers the loop, and a
 * field only if the function names it. A pointer to void needs a variable or a cast in the function
 * that gives it its type. Nothing else has a spelling.
 */
#include "infer/pragma/spell.h"

#include <string.h>

/* ---- scopes -------------------------------------------------------------------------------------
 */

/* The node that ends the scope of a declaration. */
static int32_t scope_of(const hpc_tree *t, int32_t variable)
{
    int32_t up = t->node[variable].parent;
    while (up > 0 && t->node[up].kind == HPC_TREE_DECLARE) up = t->node[up].parent;
    return up;
}

/* True if a local variable is in scope at the loop, hidden or not. */
static bool is_in_scope(const loop_facts *l, int32_t symbol)
{
    const hpc_tree *t = l->p->t;
    const hpc_symbol *x = &t->symbol[symbol];
    bool local = x->kind == HPC_SYMBOL_VARIABLE || x->kind == HPC_SYMBOL_PARAMETER;
    if (!local || x->node < 0 || x->node >= l->node) return false;
    if (t->node[x->node].kind != HPC_TREE_VARIABLE) return false;
    int32_t scope = scope_of(t, x->node);
    return scope > 0 && l->node < t->node[scope].end;
}

/* True if another variable of this name, declared later, is in scope. */
static bool is_hidden(const loop_facts *l, int32_t symbol, int32_t from)
{
    const hpc_tree *t = l->p->t;
    const char *name = symbol_name(l->p->t, symbol);
    for (int64_t v = 0; v < t->symbols_n; v++)
        if (v != symbol && t->symbol[v].node > from && is_in_scope(l, (int32_t)v) &&
            strcmp(t->name + t->symbol[v].name, name) == 0)
            return true;
    return false;
}

/* A node between the function's beginning and the loop's end that names a symbol; -1. Not with one
 * of `flags`. */
static int32_t naming_node(const loop_facts *l, uint8_t kind, int32_t symbol, uint16_t flags)
{
    const hpc_tree *t = l->p->t;
    for (int32_t i = l->function; i < t->node[l->node].end; i++)
        if (t->node[i].kind == kind && t->node[i].symbol == symbol && !(t->node[i].flags & flags))
            return i;
    return -1;
}

bool is_visible(const loop_facts *l, int32_t symbol)
{
    const hpc_symbol *x = &l->p->t->symbol[symbol];
    if (*symbol_name(l->p->t, symbol) == '\0') return false;
    if (x->node < 0 || function_around(l->p->t, x->node) <= 0)
        return naming_node(l, HPC_TREE_NAME, symbol, 0) >= 0 && !is_hidden(l, symbol, -1);
    if (!is_in_scope(l, symbol) || is_hidden(l, symbol, x->node)) return false;
    /* a lambda captures what it names */
    return x->node >= l->function || naming_node(l, HPC_TREE_NAME, symbol, 0) >= 0;
}

/* "total", or "ns::total" if the function spells it so. */
static void put_symbol(spelling *x, int32_t symbol)
{
    const walk *w = x->w;
    if (symbol < 0 || !is_visible(w->loop, symbol)) {
        x->failed = true;
        return;
    }
    const char *name = symbol_name(w->t, symbol);
    int32_t at = naming_node(w->loop, HPC_TREE_NAME, symbol, HPC_TREE_MACRO);
    const char *text = at >= 0 ? node_text(w->loop->p, at) : name;
    size_t n = strlen(name), all = strlen(text);
    bool qualified = all > n + 2 && strcmp(text + all - n, name) == 0 &&
                     strncmp(text + all - n - 2, "::", 2) == 0;
    hpc_buf_text(&x->text, qualified ? text : name);
}

/* `before`: what separates the field from the text so far. Members of an anonymous struct or union
 * are named as if they were members of the struct around it. */
static void put_field(spelling *x, const char **before, int32_t field)
{
    const char *name = symbol_name(x->w->t, field);
    if (!*name) return;
    if (naming_node(x->w->loop, HPC_TREE_MEMBER, field, 0) < 0) x->failed = true;
    hpc_buf_printf(&x->text, "%s%s", *before, name);
    *before = ".";
}

/* ---- memory that may be read before the loop ----------------------------------------------------
 */

typedef enum reading { READ_NEVER, READ_BY_ITERATIONS, READ_BEFORE } reading;

/* True if the loop's head reads at a node before the first iteration, or each iteration does. */
static reading reading_of(const walk *w, const access *a)
{
    const hpc_tree *t = w->t;
    int32_t first = hpc_tree_child(t, w->loop->node, 0),
            condition = hpc_tree_child(t, w->loop->node, 1);
    bool counts = t->node[w->loop->node].kind == HPC_TREE_FOR;
    if (a->depth > 0) return READ_NEVER;
    if (counts && a->node >= first && a->node < t->node[condition].end) return READ_BEFORE;
    for (int32_t up = t->node[a->node].parent; up > w->loop->node; up = t->node[up].parent) {
        bool head = t->node[up].kind == HPC_TREE_FOR && a->node < hpc_tree_child(t, up, 2);
        if (is_loop(t->node[up].kind) && !head) return READ_NEVER;
    }
    return READ_BY_ITERATIONS;
}

/* The steps of a place up to the last index: what follows are fields of one object. */
static int32_t indexed_steps(const place *p)
{
    int32_t n = p->n;
    while (n > 0 && p->step[n - 1].field >= 0) n--;
    return n;
}

static bool is_within(const place *object, place p)
{
    if (p.n < object->n) return false;
    p.n = object->n;
    return place_equal(&p, object);
}

/* True if a node is looked at whenever the first part of the loop's head is, and means there what
 * it means right before the loop. */
static bool is_always_read(const walk *w, int32_t node)
{
    const hpc_tree *t = w->t;
    for (int32_t up = t->node[node].parent; up > w->loop->node; up = t->node[up].parent) {
        uint8_t op = t->node[up].op;
        if (t->node[up].kind == HPC_TREE_CHOOSE) return false;
        if (t->node[up].kind == HPC_TREE_BINARY && (op == HPC_OP_AND || op == HPC_OP_OR))
            return false;
    }
    for (int32_t i = node; i < t->node[node].end; i++)
        if (t->node[i].kind == HPC_TREE_NAME && slot_index(w->loop, t->node[i].symbol) >= 0)
            return false;
    return true;
}

/* True if the first part of the loop's head, `j = start[i]`, reads an object. */
static bool is_read_first(walk *w, const place *object)
{
    const hpc_tree *t = w->t;
    int32_t first = hpc_tree_child(t, w->loop->node, 0);
    const double cost = w->loop->cost.operations;
    bool yes = false;
    if (t->node[w->loop->node].kind != HPC_TREE_FOR) return false;
    const bool quiet = answer_mute(w->answer, true);
    for (int32_t i = first; i < t->node[first].end && !yes; i++) {
        place p;
        if (t->node[i].kind != HPC_TREE_INDEX && t->node[i].kind != HPC_TREE_MEMBER) continue;
        yes = is_always_read(w, i) && place_of(&p, w, i) && is_within(object, p);
    }
    answer_mute(w->answer, quiet);
    w->loop->cost.operations = cost;
    return yes;
}

/* To look at memory that the loop would not look at may end the program. */
static void check_reading(spelling *x, const place *p)
{
    walk *w = x->w;
    place object = *p;
    reading best = READ_NEVER;
    object.n = indexed_steps(p);
    bool of_this = object.n == 1 && w->prover->atoms[p->base].kind == ATOM_THIS;
    if (object.n == 0 || of_this) return;
    for (int64_t i = 0; i < w->loop->n && best != READ_BEFORE; i++) {
        if (!is_within(&object, w->loop->item[i].place)) continue;
        reading r = reading_of(w, &w->loop->item[i]);
        if (r > best) best = r;
    }
    if (best != READ_BEFORE && is_read_first(w, &object)) best = READ_BEFORE;
    x->failed |= best == READ_NEVER;
    x->runs |= best == READ_BY_ITERATIONS;
}

/* ---- types --------------------------------------------------------------------------------------
 */

static int32_t type_of_atom(const walk *w, const atom *a)
{
    int32_t type = a->kind == ATOM_SYMBOL ? w->t->symbol[a->symbol].type
                   : a->kind == ATOM_LOAD ? a->place->type
                                          : -1;
    return bare_type(w->t, type);
}

/* Unsigned types that arithmetic does not make signed. */
static bool is_unsigned_atom(const walk *w, int32_t i)
{
    const atom *a = &w->prover->atoms[i];
    int32_t type = type_of_atom(w, a);
    if (a->kind == ATOM_SIZE) return true;
    return kind_of(w->t, type) == HPC_TYPE_INTEGER && w->t->type[type].bytes >= 4 &&
           (w->t->type[type].flags & HPC_TYPE_UNSIGNED);
}

typedef struct signs { /* of the parts of a number */
    bool has_unsigned, has_minus, may_be_negative;
} signs;

static void add_signs(signs *out, walk *w, const term *t)
{
    out->has_minus |= t->c < 0;
    for (int k = 0; k < TERM_ATOMS && t->atom[k] >= 0; k++) {
        if (is_unsigned_atom(w, t->atom[k]))
            out->has_unsigned = true;
        else if (!prove_not_negative(w->prover, poly_atom(w->prover, t->atom[k]), w->loop->runs))
            out->may_be_negative = true;
    }
}

static signs signs_of(walk *w, const poly *p)
{
    signs out = {0};
    for (int32_t i = 0; p && i < p->n; i++) add_signs(&out, w, &p->t[i]);
    return out;
}

/* Unsigned arithmetic would wrap around below 0. */
static bool wraps(const signs *x)
{
    return x->has_unsigned && (x->has_minus || x->may_be_negative);
}

bool has_wide_index(const hpc_tree *t, const access *a)
{
    int32_t index = t->node[a->node].kind == HPC_TREE_INDEX ? hpc_tree_child(t, a->node, 1) : 0;
    int32_t type = index ? bare_type(t, t->node[index].type) : -1;
    return type < 0 || t->type[type].bytes > 4;
}

const char *spelled(spelling *x)
{
    if (x->text.failed) answer_fail(x->w->answer, x->text.failed);
    if (x->failed || x->text.failed || x->text.n == 0) return NULL;
    if (x->runs) answer_reads_loop(x->w->answer);
    return x->text.data;
}

/* ---- numbers ------------------------------------------------------------------------------------
 */

static void put_place(spelling *x, const place *p);
static void put_pointer(spelling *x, int32_t base);
static void put_sum(spelling *x, const poly *p, bool is_signed, bool first);

/* True if a local variable has a value in the loop, and can be named before it. */
static bool has_value(walk *w, int32_t v, const poly *value)
{
    return (w->t->symbol[v].flags & HPC_SYMBOL_LOCAL) && slot_index(w->loop, v) < 0 &&
           is_visible(w->loop, v) && poly_equal(settled_value(w, v), value);
}

/* An integer variable that has the value of an atom; -1. */
static int32_t variable_of(walk *w, int32_t i)
{
    const poly *value = poly_atom(w->prover, i);
    for (int32_t v = 0; v < w->t->symbols_n; v++)
        if (kind_of(w->t, w->t->symbol[v].type) == HPC_TYPE_INTEGER && has_value(w, v, value))
            return v;
    return -1;
}

static void put_function(spelling *x, const atom *a)
{
    static const char *const names[32] = {[HPC_OP_SHIFT_LEFT] = "<<", [HPC_OP_SHIFT_RIGHT] = ">>"};
    int64_t c;
    bool divides = a->op == '/' || a->op == '%', constant = poly_is_number(a->b, &c) && c != 0;
    const char one[2] = {(char)a->op, '\0'}, *op = a->op < 32 ? names[a->op] : one;
    if (!op || (divides && !constant)) { /* by 0, where no iteration runs */
        x->failed = true;
        return;
    }
    hpc_buf_text(&x->text, "((");
    spell_number(x, a->a);
    hpc_buf_printf(&x->text, ") %s (", op);
    spell_number(x, a->b);
    hpc_buf_text(&x->text, "))");
}

/* The pointer that a view holds. That of an iterator has no spelling. */
static void put_data(spelling *x, int32_t type)
{
    static const char span[] = "std::span<", string[] = "std::basic_string_view<";
    if (!is_view(x->w->t, type)) return;
    const char *name = x->w->t->name + x->w->t->type[type].name;
    x->failed |=
        strncmp(name, span, sizeof span - 1) != 0 && strncmp(name, string, sizeof string - 1) != 0;
    hpc_buf_text(&x->text, ".data()");
}

static void put_atom(spelling *x, int32_t i)
{
    const atom *a = &x->w->prover->atoms[i];
    const int32_t type = type_of_atom(x->w, a);
    switch (a->kind) {
    case ATOM_SYMBOL:
        put_symbol(x, a->symbol);
        put_data(x, type);
        break;
    case ATOM_LOAD:
        x->failed |= kind_of(x->w->t, a->place->type) == HPC_TYPE_REFERENCE; /* an object's name */
        put_place(x, a->place);
        put_data(x, type);
        break;
    case ATOM_SIZE:
        put_place(x, a->place);
        hpc_buf_text(&x->text, ".size()");
        break;
    case ATOM_FUNCTION: {
        const atom function = *a; /* the table of atoms may move */
        int32_t v = variable_of(x->w, i);
        if (v >= 0)
            put_symbol(x, v);
        else
            put_function(x, &function);
        break;
    }
    default: x->failed = true; break;
    }
}

/* True if C computes with this atom in less than 64 bits. */
static bool is_narrow_atom(const walk *w, int32_t i)
{
    const atom *a = &w->prover->atoms[i];
    const int32_t type = type_of_atom(w, a);
    return a->kind != ATOM_SIZE && (type < 0 || w->t->type[type].bytes < 8);
}

static bool is_product(const term *t)
{
    return t->atom[0] >= 0 && (t->atom[1] >= 0 || (t->c != 1 && t->c != -1));
}

/* Products are computed in the type of their first factor, or a wider one. */
static void put_term(spelling *x, const term *t, bool is_signed)
{
    int64_t c = t->c < 0 ? -t->c : t->c;
    signs mixed = {0};
    if (t->atom[0] < 0 || c != 1) hpc_buf_printf(&x->text, "%lld", (long long)c);
    add_signs(&mixed, x->w, t);
    mixed.has_minus = false;
    for (int k = 0; k < TERM_ATOMS && t->atom[k] >= 0; k++) {
        bool is_unsigned = is_unsigned_atom(x->w, t->atom[k]);
        bool widens = k == 0 && x->wide && is_product(t) && is_narrow_atom(x->w, t->atom[k]);
        if (k > 0 || c != 1) hpc_buf_text(&x->text, "*");
        if ((is_unsigned && (is_signed || wraps(&mixed))) || widens)
            hpc_buf_text(&x->text, "(long long)");
        put_atom(x, t->atom[k]);
    }
}

/* Positive terms come first, and numbers last. first: the sum begins an expression. */
static void put_sum(spelling *x, const poly *p, bool is_signed, bool first)
{
    if (!p) {
        x->failed = true;
        return;
    }
    for (int pass = 0; pass < 3; pass++)
        for (int32_t i = 0; i < p->n && !x->failed; i++) {
            const term *t = &p->t[i];
            bool minus = t->c < 0;
            if ((t->atom[0] < 0 ? 2 : minus) != pass) continue;
            hpc_buf_text(&x->text, first ? (minus ? "-" : "") : minus ? " - " : " + ");
            put_term(x, t, is_signed);
            first = false;
        }
    if (first) hpc_buf_text(&x->text, "0");
}

void spell_number(spelling *x, const poly *p)
{
    signs all = signs_of(x->w, p);
    put_sum(x, p, wraps(&all), true);
}

/* True if C computes a number in 64 bits, where products are widened. */
static bool is_wide(const walk *w, const poly *p)
{
    for (int32_t i = 0; i < p->n; i++) {
        if (is_product(&p->t[i])) return true;
        if (p->t[i].atom[0] >= 0 && !is_narrow_atom(w, p->t[i].atom[0])) return true;
    }
    return false;
}

void spell_product(spelling *x, const poly *const *factor, int32_t n)
{
    bool is_signed = false;
    x->wide = true;
    for (int32_t k = 0; k < n; k++) {
        const signs all = signs_of(x->w, factor[k]);
        is_signed |= wraps(&all);
    }
    for (int32_t k = 0; k < n; k++) {
        const poly *p = factor[k];
        const signs all = signs_of(x->w, p);
        const bool sum = n > 1 && (p->n > 1 || p->t[0].c < 0);
        const bool is_cast = is_signed && all.has_unsigned;
        const bool widens = k == 0 && n > 1 && !is_cast && !is_wide(x->w, p);
        hpc_buf_printf(&x->text, "%s%s%s", k > 0 ? "*" : "", widens ? "(long long)" : "",
                       sum ? "(" : "");
        put_sum(x, p, is_signed, true);
        hpc_buf_text(&x->text, sum ? ")" : "");
    }
}

/* The terms of p - q that are positive, or those that are not, with their signs changed. */
static const poly *part_of(walk *w, const poly *p, const poly *q, bool positive)
{
    const poly *d = poly_less(w->prover, p, q), *out = poly_number(w->prover, 0);
    for (int32_t i = 0; d && i < d->n; i++) {
        const term *t = &d->t[i];
        if ((t->c > 0) != positive) continue;
        const poly *one = poly_number(w->prover, positive ? t->c : -t->c);
        for (int k = 0; k < TERM_ATOMS && t->atom[k] >= 0; k++)
            one = poly_product(w->prover, one, poly_atom(w->prover, t->atom[k]));
        out = poly_sum(w->prover, out, one);
    }
    return d ? out : NULL;
}

void spell_compare(spelling *x, const poly *a, const char *op, const poly *b)
{
    signs p = signs_of(x->w, a), q = signs_of(x->w, b);
    signs both = {p.has_unsigned || q.has_unsigned, p.has_minus || q.has_minus,
                  p.may_be_negative || q.may_be_negative};
    int64_t c;
    if (wraps(&both)) { /* without a minus on either side */
        const poly *left = part_of(x->w, a, b, true), *right = part_of(x->w, a, b, false);
        const bool equality = strcmp(op, "==") == 0 || strcmp(op, "!=") == 0;
        const bool turn = equality && poly_is_number(left, &c); /* "k == 0" */
        a = turn ? right : left;
        b = turn ? left : right;
        both.has_minus = false;
    }
    put_sum(x, a, wraps(&both), true);
    hpc_buf_printf(&x->text, " %s ", op);
    put_sum(x, b, wraps(&both), true);
}

/* ---- places -------------------------------------------------------------------------------------
 */

static void put_step(spelling *x, const char **before, const place_step *e)
{
    if (e->field >= 0) {
        put_field(x, before, e->field);
    } else if (e->field == STEP_INDEX) {
        hpc_buf_text(&x->text, "[");
        spell_number(x, e->index);
        hpc_buf_text(&x->text, "]");
    }
}

static bool is_zero(const poly *p)
{
    int64_t c;
    return poly_is_number(p, &c) && c == 0;
}

static void put_steps(spelling *x, const place *p)
{
    const walk *w = x->w;
    bool pointer = w->prover->atoms[p->base].kind != ATOM_OBJECT;
    bool arrow = pointer && p->n > 1 && is_zero(p->step[0].index) && p->step[1].field >= 0;
    bool bare = arrow && w->prover->atoms[p->base].kind == ATOM_THIS &&
                *symbol_name(w->t, p->step[1].field) && !is_hidden(w->loop, p->step[1].field, -1);
    const char *before = bare ? "" : arrow ? "->" : ".";
    if (!bare) put_pointer(x, p->base);
    for (int32_t k = arrow ? 1 : 0; k < p->n && !x->failed; k++) put_step(x, &before, &p->step[k]);
}

static void put_place(spelling *x, const place *p)
{
    if (p->base < 0) {
        x->failed = true;
        return;
    }
    check_reading(x, p);
    if (!x->failed) put_steps(x, p);
}

/* ---- pointers -----------------------------------------------------------------------------------
 */

/* A variable that has the value of a pointer to void, and the type; -1. */
static int32_t typed_variable(spelling *x, const atom *as)
{
    walk *w = x->w;
    const poly *value = poly_atom(w->prover, as->of);
    for (int32_t v = 0; v < w->t->symbols_n; v++) {
        int32_t type = w->t->symbol[v].type;
        if (kind_of(w->t, type) == HPC_TYPE_POINTER &&
            is_same_type(w->t, w->t->type[type].to, as->node) && has_value(w, v, value))
            return v;
    }
    return -1;
}

static bool names_are_visible(const walk *w, int32_t e)
{
    for (int32_t i = e; i < w->t->node[e].end; i++) {
        const hpc_tree_node *n = &w->t->node[i];
        if (n->flags & (HPC_TREE_MACRO | HPC_TREE_ELSEWHERE)) return false;
        if (n->kind == HPC_TREE_NAME && (n->symbol < 0 || !is_visible(w->loop, n->symbol)))
            return false;
        if (n->kind != HPC_TREE_NAME && n->kind != HPC_TREE_CAST) return false;
    }
    return true;
}

/* A cast of a variable, that the function writes, which gives it the type; -1. */
static int32_t typed_cast(spelling *x, const atom *as)
{
    walk *w = x->w;
    const hpc_tree *t = w->t;
    int32_t best = -1;
    const bool quiet = answer_mute(w->answer, true);
    for (int32_t i = w->loop->function; i < t->node[w->loop->node].end && best < 0; i++) {
        const hpc_tree_node *n = &t->node[i];
        if (n->kind != HPC_TREE_CAST || kind_of(t, n->type) != HPC_TYPE_POINTER) continue;
        if (!is_same_type(t, t->type[n->type].to, as->node) || !names_are_visible(w, i)) continue;
        if (poly_equal(value_of(w, i), poly_atom(w->prover, as->of))) best = i;
    }
    answer_mute(w->answer, quiet);
    return best;
}

static void put_typed(spelling *x, int32_t i)
{
    const atom as = x->w->prover->atoms[i];
    int32_t v = typed_variable(x, &as), cast = v < 0 ? typed_cast(x, &as) : -1;
    if (v >= 0) {
        put_symbol(x, v);
    } else if (cast >= 0) {
        const hpc_tree_node *n = &x->w->t->node[cast];
        hpc_buf_text(&x->text, "(");
        hpc_buf_add(&x->text, x->w->loop->p->text + n->at, n->to - n->at);
        hpc_buf_text(&x->text, ")");
        if (memchr(x->w->loop->p->text + n->at, '\n', n->to - n->at)) x->failed = true;
    } else {
        x->failed = true;
    }
}

/* "x", "s->x", "this", "&s->x": in an expression where it may stand in front of "->" and "[". */
static void put_pointer(spelling *x, int32_t base)
{
    const atom *a = &x->w->prover->atoms[base];
    switch (a->kind) {
    case ATOM_OBJECT: put_symbol(x, a->symbol); break;
    case ATOM_THIS: hpc_buf_text(&x->text, "this"); break;
    case ATOM_AS: put_typed(x, base); break;
    case ATOM_SYMBOL:
    case ATOM_LOAD: put_atom(x, base); break;
    default: x->failed = true; break;
    }
}

void spell_address(spelling *x, int32_t base, const poly *offset, bool as_bytes)
{
    bool plain = offset && is_zero(offset);
    if (as_bytes) hpc_buf_text(&x->text, plain ? "(const char *)" : "(const char *)(");
    put_pointer(x, base);
    if (!plain) put_sum(x, offset, false, false);
    if (as_bytes && !plain) hpc_buf_text(&x->text, ")");
}

void spell_container(spelling *x, const place *p)
{
    place head = *p;
    for (head.n = 0; head.n < p->n && head.step[head.n].field != STEP_CONTENT;) head.n++;
    hpc_buf_text(&x->text, "(const void *)&");
    put_place(x, &head);
}
