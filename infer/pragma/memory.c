/*
 * memory.c: pairs of accesses to memory: disjoint, in conflict, made harmless by a clause, or
 * disjoint under an assumption.
 */
#include <string.h>

#include "infer/pragma/memory.h"

#include "infer/pragma/conflict.h"
#include "infer/pragma/cover.h"
#include "infer/pragma/open.h"
#include "infer/pragma/scalar.h"
#include "infer/pragma/spell.h"

enum { PAIRS_MOST = 40000, PAIRS_BEHIND = 200, PARTS_BEHIND = 30000, PARTS_OF_LOOP = 400000 };

/* ---- the same access twice ---- */

static bool alike(const access *a, const access *b)
{
    return a->write == b->write && a->update == b->update && a->facts == b->facts &&
           place_equal(&a->place, &b->place);
}

/* ---- private variables ---- */

static int32_t object_of(const loop_facts *l, const prover *pr, const access *a)
{
    if (a->place.base < 0) return -1;
    const atom *x = &pr->atoms[a->place.base];
    if (x->kind != ATOM_OBJECT) return -1;
    uint8_t k = kind_of(l->p->t, l->p->t->symbol[x->symbol].type);
    const hpc_symbol *v = &l->p->t->symbol[x->symbol];
    bool local = (v->flags & HPC_SYMBOL_LOCAL) && !(v->flags & HPC_SYMBOL_STATIC) &&
                 v->kind == HPC_SYMBOL_VARIABLE;
    return local && (k == HPC_TYPE_ARRAY || k == HPC_TYPE_RECORD) ? x->symbol : -1;
}

/* True if no inner loop contains the access. */
static bool is_outer(const loop_facts *l, const access *a)
{
    for (int32_t up = l->p->t->node[a->node].parent; up > l->node; up = l->p->t->node[up].parent)
        if (is_loop(l->p->t->node[up].kind)) return false;
    return true;
}

static bool is_private(const loop_facts *l, prover *pr, int32_t symbol, int32_t base)
{
    return !l->p->use[symbol].addressed && !is_live(l, symbol) && assigns_first(l, pr, base);
}

/* ---- array reductions ---- */

/* The operator, if the loop only folds values into a base with one operator; 0. */
static uint8_t folded(const loop_facts *l, int32_t base)
{
    uint8_t op = 0;
    for (int64_t i = 0; i < l->n; i++) {
        const access *a = &l->item[i];
        if (a->place.base != base) continue;
        if (!a->update || (op && a->update != op)) return 0;
        op = a->update;
    }
    return op;
}

/* Name of a number that is reached by reference, or of a member of the method's object; or NULL. */
static const char *number_elsewhere(const loop_facts *l, const prover *pr, const access *a)
{
    const place *p = &a->place;
    uint8_t k = kind_of(l->p->t, p->type);
    if (p->base < 0 || (k != HPC_TYPE_INTEGER && k != HPC_TYPE_FLOAT && k != HPC_TYPE_BOOL))
        return NULL;
    const atom *x = &pr->atoms[p->base];
    if (x->kind == ATOM_OBJECT && (l->p->t->symbol[x->symbol].flags & HPC_SYMBOL_BINDING))
        return NULL;
    if (x->kind == ATOM_OBJECT && p->n == 0) return symbol_name(l->p->t, x->symbol);
    bool member = x->kind == ATOM_THIS && p->n == 2 && p->step[1].field >= 0;
    return member ? symbol_name(l->p->t, p->step[1].field) : NULL;
}

/* The name in a clause: "h", "h[:n]"; false: it has none. */
static bool section(hpc_buf *b, walk *w, const access *a)
{
    const place *p = &a->place;
    const atom *base = &w->prover->atoms[p->base];
    if (base->kind == ATOM_OBJECT &&
        (w->t->symbol[base->symbol].flags & (HPC_SYMBOL_UNSIZED | HPC_SYMBOL_BINDING)))
        return false;
    if (p->n == 0 && base->kind == ATOM_OBJECT) { /* a reference, or a variable of the file */
        hpc_buf_text(b, symbol_name(w->t, base->symbol));
        return true;
    }
    if (number_elsewhere(w->loop, w->prover, a)) {
        hpc_buf_text(b, number_elsewhere(w->loop, w->prover, a));
        return true;
    }
    for (int32_t k = 0; k < p->n; k++)
        if (p->step[k].field != STEP_INDEX) return false;
    if (base->kind == ATOM_OBJECT) {
        if (kind_of(w->t, w->t->symbol[base->symbol].type) != HPC_TYPE_ARRAY) return false;
        hpc_buf_text(b, symbol_name(w->t, base->symbol));
        return true;
    }
    if (base->kind != ATOM_SYMBOL || p->n != 1) return false;
    if (is_view(w->t, w->t->symbol[base->symbol].type)) return false;
    const poly *lo = poly_extreme(w->prover, p->step[0].index, false, a->facts),
               *hi = poly_extreme(w->prover, p->step[0].index, true, a->facts);
    int64_t least;
    if (!lo || !hi) return false;
    spelling x = {.w = w, .wide = has_wide_index(w->t, a)};
    if (!is_visible(w->loop, base->symbol)) return false;
    hpc_buf_printf(&x.text, "%s[", symbol_name(w->t, base->symbol));
    if (!poly_is_number(lo, &least) || least != 0) spell_number(&x, lo);
    hpc_buf_text(&x.text, ":");
    spell_number(&x, poly_plus(w->prover, poly_less(w->prover, hi, lo), 1));
    hpc_buf_text(&x.text, "]");
    bool ok = !x.failed && !x.runs && !x.text.failed;
    if (ok) hpc_buf_text(b, x.text.data);
    hpc_buf_release(&x.text);
    return ok;
}

static bool reduce_array(walk *w, const access *a)
{
    if (a->place.base < 0) return false;
    hpc_buf b = {0};
    uint8_t op = folded(w->loop, a->place.base);
    const atom *base = &w->prover->atoms[a->place.base];
    bool ok = op && !base->varies && section(&b, w, a);
    for (int64_t i = 0; i < w->loop->n && ok; i++) { /* all updates have one section */
        hpc_buf other = {0};
        if (w->loop->item[i].place.base == a->place.base)
            ok = clause_reaches(w, &w->loop->item[i]) && section(&other, w, &w->loop->item[i]) &&
                 strcmp(other.data, b.data) == 0;
        hpc_buf_release(&other);
    }
    if (ok && !b.failed) {
        clauses_reduce(&w->answer->clauses, op, b.data);
        answer_note(w->answer, "reduction", a->node, "%s is only updated with %s", b.data,
                    reduction_name(op));
    }
    hpc_buf_release(&b);
    return ok;
}

/* ---- evidence ---- */

/* True if an index is loaded from memory that varies. */
static bool is_indirect(const prover *pr, const place *p)
{
    for (int32_t k = 0; k < p->n; k++) {
        const poly *x = p->step[k].index;
        if (p->step[k].field != STEP_INDEX || !x) continue;
        for (int32_t i = 0; i < x->n; i++)
            for (int m = 0; m < TERM_ATOMS && x->t[i].atom[m] >= 0; m++) {
                const atom *a = &pr->atoms[x->t[i].atom[m]];
                if (a->kind == ATOM_LOAD && a->varies) return true;
            }
    }
    return false;
}

static const char *verb(const access *a)
{
    return a->write ? "written" : "read";
}

static void say_sure(walk *w, const access *a, const access *b, int64_t by)
{
    const access *write = a->write ? a : b, *o = a->write ? b : a;
    const char *x = node_text(w->loop->p, write->node), *y = node_text(w->loop->p, o->node);
    const int64_t before = w->answer->evidence_n;
    answer_conflict(w->answer, write->node, o->node);
    if (write == o || write->node == o->node)
        answer_unsafe(w->answer, "dependence", write->node,
                      "%s: iterations %lld apart write the same location", x, (long long)by);
    else
        answer_unsafe(
            w->answer, "dependence", write->node,
            "%s is written here, %s is %s at line %u: the same location, %lld iteration%s apart", x,
            y, verb(o), w->t->node[o->node].line, (long long)by, by == 1 ? "" : "s");
    conflict_note(w, write, o, true, w->answer->evidence_n > before);
}

static void say_maybe(walk *w, const access *a, const access *b)
{
    const access *write = a->write ? a : b, *o = a->write ? b : a;
    const char *x = node_text(w->loop->p, write->node), *y = node_text(w->loop->p, o->node);
    uint32_t line = w->t->node[o->node].line;
    const int64_t before = w->answer->evidence_n;
    if (is_indirect(w->prover, &write->place) || is_indirect(w->prover, &o->place))
        answer_unsafe(
            w->answer, "dependence", write->node,
            "%s and %s (line %u): the index is read from memory, which may contain a value twice",
            x, y, line);
    else if (write->node == o->node)
        answer_unknown(w->answer, "dependence", write->node,
                       "%s: two iterations may write the same location", x);
    else
        answer_unknown(w->answer, "dependence", write->node,
                       "%s and %s (%s at line %u) may be the same location in different iterations",
                       x, y, verb(o), line);
    conflict_note(w, write, o, false, w->answer->evidence_n > before);
}

/* ---- pairs ---- */

static bool is_bits(const walk *w, const access *a)
{
    if (!is_container_place(&a->place) || a->place.base < 0) return false;
    const atom *x = &w->prover->atoms[a->place.base];
    return x->kind == ATOM_OBJECT &&
           container_of(w->t, w->t->symbol[x->symbol].type) == CONTAINER_BITS;
}

/* True if place q is a part of place p. */
static bool has_part(const place *p, const place *q)
{
    place head = *q;
    head.n = p->n;
    return p->n < q->n && place_equal(p, &head);
}

/* Each iteration writes it before it reads it, so the value of the last iteration remains. */
static bool keeps_last(walk *w, const access *a)
{
    const char *name = number_elsewhere(w->loop, w->prover, a);
    bool always = false;
    if (!name) return false;
    for (int64_t i = 0; i < w->loop->n; i++) {
        const access *r = &w->loop->item[i];
        if (has_part(&r->place, &a->place)) return false; /* a called function may use it */
        if (!place_equal(&r->place, &a->place)) continue;
        bool covered = r->write;
        if (!clause_reaches(w, r)) return false;
        always |= r->write && r->depth == 0 && !r->update && is_outer(w->loop, r);
        for (int64_t k = 0; k < w->loop->n && !covered; k++)
            covered = w->loop->item[k].write && place_equal(&w->loop->item[k].place, &a->place) &&
                      !w->loop->item[k].update && covers(w->loop, w->prover, &w->loop->item[k], r);
        if (!covered || r->update) return false;
    }
    if (!always) return false;
    clauses_add(&w->answer->clauses.last, name);
    answer_note(w->answer, "scalar", a->node, "%s keeps the value from the last iteration", name);
    return true;
}

/* A variable that each thread can have for itself, because nothing reads it after the loop. */
static bool make_private(walk *w, const access *a)
{
    int32_t v = object_of(w->loop, w->prover, a);
    if (v < 0 && keeps_last(w, a)) return true;
    if (v < 0 || !is_private(w->loop, w->prover, v, a->place.base)) return false;
    clauses_add(&w->answer->clauses.privates, symbol_name(w->t, v));
    answer_note(w->answer, "scalar", a->node,
                "%s is written before it is read: each thread gets a private copy",
                symbol_name(w->t, v));
    return true;
}

/* A variable of a type that only an instantiation decides. It may be a number with a reduction, or
 * private. */
static bool has_open_type(const walk *w, const access *a)
{
    const atom *x = a->place.base < 0 ? NULL : &w->prover->atoms[a->place.base];
    return x && x->kind == ATOM_OBJECT && a->place.n == 0 &&
           (w->t->symbol[x->symbol].flags & HPC_SYMBOL_LOCAL) &&
           !(w->t->symbol[x->symbol].flags & HPC_SYMBOL_BINDING) &&
           kind_of(w->t, bare_type(w->t, w->t->symbol[x->symbol].type)) == HPC_TYPE_UNKNOWN;
}

static pair_kind judge_meeting(walk *w, const access *a, const access *b, bool same)
{
    int64_t by;
    meeting m = places_meet(&by, w->loop, w->prover, w->answer, a, b);
    if (m == MEETING_NEVER) return PAIR_APART;
    if (!same) { /* one object or two: if two, they do not meet */
        assume_apart(w, a, b);
        return PAIR_APART;
    }
    if (make_private(w, a)) return PAIR_HARMLESS;
    if (has_open_type(w, a) && open_reduction(w, a, b)) return PAIR_HARMLESS;
    if (!has_open_type(w, a) && a->update && a->update == b->update && reduce_array(w, a))
        return PAIR_HARMLESS;
    if (m == MEETING_MAYBE &&
        (assume_index(w, a, b) || assume_distinct(w, a, b) || assume_limited(w, a, b)))
        return PAIR_APART;
    if (has_open_type(w, a)) {
        answer_unknown(w->answer, "scalar", a->node,
                       "the type of %s is unknown until the template is instantiated",
                       node_text(w->loop->p, a->node));
        return PAIR_UNKNOWN;
    }
    if (m == MEETING_SURE)
        say_sure(w, a, b, by);
    else
        say_maybe(w, a, b);
    return PAIR_MEETS;
}

pair_kind pair_judge(walk *w, const access *a, const access *b)
{
    relation r = relate(w->loop->p, w->prover, &a->place, &b->place);
    if (r == RELATION_APART) return PAIR_APART;
    bool known = a->place.base >= 0 && b->place.base >= 0;
    if (known && rows_apart(w, a, b)) return PAIR_APART;
    if (known && (w->prover->atoms[a->place.base].varies || w->prover->atoms[b->place.base].varies))
        r = RELATION_MAYBE;
    if (r != RELATION_MAYBE) return judge_meeting(w, a, b, r == RELATION_SAME);
    assume_apart(w, a, b);
    return PAIR_APART;
}

/* Marks copies of an access, which need no test. */
static void set_aside(walk *w, uint8_t *aside)
{
    for (int64_t i = 0; i < w->loop->n; i++) {
        for (int64_t k = 0; k < i && !aside[i]; k++)
            aside[i] = aside[k] == 0 && alike(&w->loop->item[k], &w->loop->item[i]);
        if (is_bits(w, &w->loop->item[i]) && w->loop->item[i].write)
            answer_unsafe(w->answer, "memory", w->loop->item[i].node,
                          "%s: elements of std::vector<bool> share their bytes",
                          node_text(w->loop->p, w->loop->item[i].node));
    }
}

void memory_judge(walk *w)
{
    int64_t pairs = 0, certain = 0;
    uint8_t *aside = hpc_arena_alloc(w->loop->p->work, (size_t)w->loop->n + 1, 1);
    if (!aside) {
        answer_fail(w->answer, HPC_E_NOMEM);
        return;
    }
    set_aside(w, aside);
    for (int64_t i = 0; i < w->loop->n; i++)
        for (int64_t k = i; k < w->loop->n; k++) {
            if (aside[i] || aside[k] || !(w->loop->item[i].write || w->loop->item[k].write))
                continue;
            bool enough = ++certain > PAIRS_BEHIND || w->prover->spent > PARTS_BEHIND;
            if (w->answer->unsafe && enough) { /* further evidence adds nothing */
                w->answer->conflicts.cut = true;
                return;
            }
            if (++pairs > PAIRS_MOST || w->prover->spent > PARTS_OF_LOOP) {
                answer_unknown(w->answer, "form", w->loop->node, "the loop is too large");
                return;
            }
            prover_mark mark = prover_here(w->prover); /* the test's numbers are temporary */
            pair_judge(w, &w->loop->item[i], &w->loop->item[k]);
            prover_rewind(w->prover, mark);
        }
}
