/*
 * scalar.c: clauses for assigned variables: private, lastprivate, reduction, linear; or the
 * evidence that a variable carries a value from one iteration to the next.
 */
#include "infer/pragma/scalar.h"

#include <string.h>

#include "infer/pragma/relate.h"
#include "infer/pragma/spell.h"

/* ---- verdicts -----------------------------------------------------------------------------------
 */

static void name_shared(walk *w, const slot *x)
{
    const char *name = symbol_name(w->t, x->symbol);
    bool live = is_live(w->loop, x->symbol);
    bool global = !(w->t->symbol[x->symbol].flags & HPC_SYMBOL_LOCAL);
    if (x->escaped && x->writes_n == 0 && !x->update) {
        answer_unknown(w->answer, "scalar", x->plain_read >= 0 ? x->plain_read : w->loop->node,
                       "the address of %s is taken", name);
        return;
    }
    if (!live) {
        clauses_add(&w->answer->clauses.privates, name_in_clause(w->loop, x->symbol));
        answer_note(w->answer, "scalar", x->write,
                    "%s is assigned before it is read: each thread gets a private copy", name);
    } else if (x->always) {
        clauses_add(&w->answer->clauses.last, name_in_clause(w->loop, x->symbol));
        answer_note(w->answer, "scalar", x->write, "%s keeps the value from the last iteration%s",
                    name, global ? ", because it outlives the function" : "");
    } else {
        clauses_add(&w->answer->clauses.conditional, name_in_clause(w->loop, x->symbol));
        answer_note(w->answer, "scalar", x->write,
                    "%s keeps the value from its last assignment, which may be in any iteration",
                    name);
    }
}

static bool sums_floats(const walk *w, int32_t type, uint8_t op)
{
    return kind_of(w->t, type) == HPC_TYPE_FLOAT && (op == '+' || op == '*');
}

static void reduce(walk *w, const slot *x)
{
    const char *name = symbol_name(w->t, x->symbol);
    int32_t type = w->t->symbol[x->symbol].type;
    if (kind_of(w->t, type) == HPC_TYPE_POINTER) {
        answer_unsafe(w->answer, "dependence", x->update_write,
                      "%s is a pointer, which each iteration advances", name);
        return;
    }
    bool bits = x->update == '&' || x->update == '|' || x->update == '^';
    if (bits && kind_of(w->t, type) == HPC_TYPE_FLOAT) {
        answer_unknown(w->answer, "reduction", x->update_write, "%s is not an integer", name);
        return;
    }
    clauses_reduce(&w->answer->clauses, x->update, name_in_clause(w->loop, x->symbol));
    answer_note(w->answer, "reduction", x->update_write, "%s is only updated with %s%s", name,
                reduction_name(x->update),
                sums_floats(w, type, x->update) ? "; the order of floating-point operations changes"
                                                : "");
}

static void induct(walk *w, const slot *x)
{
    spelling b = {.w = w};
    int64_t one;
    hpc_buf_text(&b.text, name_in_clause(w->loop, x->symbol));
    if (!poly_is_number(x->stride, &one) || one != 1) {
        hpc_buf_text(&b.text, ":");
        spell_number(&b, x->stride);
    }
    if (is_view(w->t, w->t->symbol[x->symbol].type))
        answer_unknown(w->answer, "scalar", x->step_node,
                       "%s is an iterator, which the clause linear does not take",
                       symbol_name(w->t, x->symbol));
    if (b.text.failed)
        answer_fail(w->answer, b.text.failed);
    else if (b.failed || b.runs)
        answer_unknown(w->answer, "scalar", x->step_node,
                       "the step of %s cannot be expressed before the loop",
                       symbol_name(w->t, x->symbol));
    else
        clauses_add(&w->answer->clauses.linear, b.text.data);
    answer_note(w->answer, "scalar", x->step_node, "%s advances by the same step in each iteration",
                symbol_name(w->t, x->symbol));
    hpc_buf_release(&b.text);
}

/* A variable that a pointer of the loop may point to. */
static void against_memory(walk *w, const slot *x)
{
    const hpc_symbol *v = &w->t->symbol[x->symbol];
    bool led_to = x->escaped || w->loop->p->use[x->symbol].bound;
    bool seen = !(v->flags & HPC_SYMBOL_LOCAL) || (led_to && !x->inside);
    if (!seen) return;
    place mine = {.base = atom_object(w->prover, x->symbol), .type = v->type};
    for (int64_t i = 0; i < w->loop->n; i++) {
        hpc_buf b = {0};
        if (relate(w->loop->p, w->prover, &mine, &w->loop->item[i].place) != RELATION_MAYBE)
            continue;
        if (w->loop->item[i].place.base < 0 ||
            same_origin(w->loop, w->prover, &mine, &w->loop->item[i].place) != KIN_NONE)
        {
            answer_unknown(w->answer, "alias", w->loop->item[i].node, "%s may be %s",
                           node_text(w->loop->p, w->loop->item[i].node),
                           symbol_name(w->t, x->symbol));
            continue;
        }
        atom_text(&b, w->prover, w->loop->p, w->loop->item[i].place.base);
        if (!b.failed) {
            const char *text = hpc_arena_text(w->loop->p->out, "%s does not point to %s", b.data,
                                              symbol_name(w->t, x->symbol));
            if (text) answer_assume(w->answer, text, NULL);
        }
        hpc_buf_release(&b);
    }
}

/* Another variable that an object refers to may be this one: a member that is a reference, or a
 * call, uses the shared variable and not the copy of a thread. */
static void against_references(walk *w, const slot *x)
{
    const hpc_tree *t = w->t;
    if (!w->loop->p->use[x->symbol].bound) return;
    for (int32_t i = w->loop->node; i < t->node[w->loop->node].end; i++) {
        const hpc_tree_node *n = &t->node[i];
        const bool member = n->kind == HPC_TREE_MEMBER && n->symbol >= 0 &&
                            kind_of(t, t->symbol[n->symbol].type) == HPC_TYPE_REFERENCE;
        const bool call = n->kind == HPC_TREE_CALL && call_known_at(t, i) == CALL_UNKNOWN;
        if (!member && !call) continue;
        answer_unknown(w->answer, "alias", i, "%s may use a reference to %s",
                       node_text(w->loop->p, i), symbol_name(t, x->symbol));
        return;
    }
}

static bool is_static_member(const walk *w, int32_t symbol)
{
    const hpc_symbol *v = &w->t->symbol[symbol];
    return (v->flags & HPC_SYMBOL_STATIC) && w->t->name[v->scope] != '\0';
}

static void judge(walk *w, const slot *x)
{
    const char *name = symbol_name(w->t, x->symbol);
    bool thread = w->t->symbol[x->symbol].flags & HPC_SYMBOL_THREAD;
    int32_t type = w->t->symbol[x->symbol].type;
    uint8_t flags = type >= 0 ? w->t->type[type].flags : 0;
    if (flags & HPC_TYPE_VOLATILE) {
        answer_unsafe(w->answer, "memory", x->write,
                      "%s is volatile: its accesses must keep their order", name);
    } else if (flags & HPC_TYPE_ATOMIC) {
        answer_unsafe(w->answer, "dependence", x->write,
                      "%s is atomic, but its value depends on the order", name);
    } else if (thread) {
        answer_unknown(w->answer, "scalar", x->write, "%s is thread-local", name);
    } else if (is_static_member(w, x->symbol)) {
        answer_unknown(w->answer, "scalar", x->write >= 0 ? x->write : x->update_write,
                       "%s is a static member, which cannot appear in a clause", name);
    } else if (x->stride) {
        if (x->exposed >= 0 || x->update == OP_MIXED)
            answer_unsafe(w->answer, "dependence", x->step_node,
                          "%s carries a value from one iteration to the next", name);
        else if (x->plain_read < 0 &&
                 kind_of(w->t, w->t->symbol[x->symbol].type) == HPC_TYPE_INTEGER)
            clauses_reduce(&w->answer->clauses, '+', name_in_clause(w->loop, x->symbol));
        else
            induct(w, x);
    } else if (x->exposed >= 0 && x->write >= 0) {
        answer_unsafe(
            w->answer, "dependence", x->exposed,
            "%s is read here before this iteration assigns it (line %u): it carries a value "
            "from one iteration to the next",
            name, w->t->node[x->write].line);
    } else if (x->update == 0 && x->write >= 0) {
        name_shared(w, x);
    } else if (x->update == OP_MIXED) {
        answer_unsafe(w->answer, "dependence", x->update_write,
                      "%s is updated with different operators", name);
    } else if (x->update && (x->plain_read >= 0 || x->write >= 0)) {
        answer_unsafe(w->answer, "dependence", x->plain_read >= 0 ? x->plain_read : x->write,
                      "%s is used here, but it is also updated with %s (line %u)", name,
                      reduction_name(x->update), w->t->node[x->update_write].line);
    } else if (x->update) {
        reduce(w, x);
    } else if (x->escaped) {
        answer_unknown(w->answer, "scalar", w->loop->node, "the address of %s is taken", name);
    }
    against_memory(w, x);
    against_references(w, x);
}

void scalars_judge(walk *w)
{
    for (int32_t k = 0; k < w->loop->slots_n; k++) {
        slot *x = &w->loop->slots[k];
        const int64_t before = w->answer->objections;
        if (x->symbol == w->loop->head.symbol) {
            if (!w->loop->head.own && is_live(w->loop, x->symbol))
                clauses_add(&w->answer->clauses.last, symbol_name(w->t, x->symbol));
            continue;
        }
        if (!x->inside) judge(w, x);
        x->blocks = w->answer->objections > before;
        w->answer->conflicts.scalars += w->answer->objections - before;
    }
}

/* ---- default(none) ----
 * Static members are not listed: no clause may name them. */

/* True if a list like "a, b:2, h[:n]" has the variable. */
static bool is_listed(const hpc_buf *names, const char *name)
{
    size_t n = strlen(name);
    for (const char *p = names->data; p && names->n > 0;) {
        if (strncmp(p, name, n) == 0 && (p[n] == '\0' || strchr(",:[", p[n])) &&
            !(p[n] == ':' && p[n + 1] == ':'))
            return true;
        p = strstr(p, ", ");
        if (p) p += 2;
    }
    return false;
}

static bool is_named(const clauses *c, const char *name)
{
    const hpc_buf *lists[] = {&c->privates, &c->last, &c->conditional, &c->linear};
    for (size_t k = 0; k < sizeof lists / sizeof *lists; k++)
        if (is_listed(lists[k], name)) return true;
    for (int k = 0; k < c->n; k++)
        if (is_listed(&c->reduction[k].names, name)) return true;
    return false;
}

void share_rest(answer *a, const loop_facts *l)
{
    clauses *c = &a->clauses;
    const hpc_tree *t = l->p->t;
    for (int32_t i = l->node; i < t->node[l->node].end; i++) {
        int32_t v = t->node[i].kind == HPC_TREE_NAME ? t->node[i].symbol : -1;
        if (v < 0 || v == l->head.symbol || is_inside(l, v)) continue;
        const hpc_symbol *x = &t->symbol[v];
        if (x->kind != HPC_SYMBOL_VARIABLE && x->kind != HPC_SYMBOL_PARAMETER) continue;
        if (x->node > l->node && x->node < t->node[l->node].end) continue;
        bool member = (x->flags & HPC_SYMBOL_STATIC) && t->name[x->scope] != '\0';
        if (member || (x->flags & HPC_SYMBOL_THREAD)) continue;
        const char *name = name_in_clause(l, v);
        if (!is_named(c, name)) clauses_add(&c->shared, name);
    }
}
