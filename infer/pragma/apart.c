/*
 * apart.c: the assumption that two unrelated pointers lead to disjoint memory, or to the same
 * memory as a whole, with an expression that tests it at run time.
 */
#include "infer/pragma/memory.h"
#include "infer/pragma/spell.h"

#include <string.h>

/* Range [*lo, *hi] of the elements that the loop accesses through a pointer; false: unknown. The
 * elements of a container lie outside the object, so containers have no range. */
static bool find_extent(walk *w, const poly **lo, const poly **hi, int32_t base)
{
    *lo = *hi = NULL;
    for (int64_t i = 0; i < w->loop->n; i++) {
        const access *a = &w->loop->item[i];
        if (a->place.base != base) continue;
        if (a->place.n < 1 || a->place.step[0].field != STEP_INDEX || is_container_place(&a->place))
            return false;
        const poly *x = poly_extreme(w->prover, a->place.step[0].index, false, a->facts),
                   *y = poly_extreme(w->prover, a->place.step[0].index, true, a->facts);
        if (!x || !y) return false;
        if (!*lo || prove_not_negative(w->prover, poly_less(w->prover, *lo, x), a->facts))
            *lo = x;
        else if (!prove_not_negative(w->prover, poly_less(w->prover, x, *lo), a->facts))
            return false;
        if (!*hi || prove_not_negative(w->prover, poly_less(w->prover, y, *hi), a->facts))
            *hi = y;
        else if (!prove_not_negative(w->prover, poly_less(w->prover, *hi, y), a->facts))
            return false;
    }
    return *lo && *hi;
}

static int32_t target_of(const walk *w, int32_t base)
{
    const atom *a = &w->prover->atoms[base];
    if (a->kind == ATOM_AS) return a->node;
    int32_t type = a->kind == ATOM_SYMBOL && a->symbol >= 0 ? w->t->symbol[a->symbol].type : -1;
    uint8_t kind = type < 0 ? HPC_TYPE_UNKNOWN : w->t->type[type].kind;
    return kind == HPC_TYPE_POINTER || kind == HPC_TYPE_ARRAY ? w->t->type[type].to : -1;
}

/* True for two pointers to the same type, const ignored. Unknown types, and types that differ
 * between the instances of a template, count as different. Integers of one size may have several
 * names, long and long long. */
static bool alike_pointers(const walk *w, int32_t p, int32_t q)
{
    int32_t a = target_of(w, p), b = target_of(w, q);
    if (a < 0 || b < 0 || w->loop->is_instance || kind_of(w->t, a) == HPC_TYPE_UNKNOWN)
        return false;
    const hpc_tree_type *x = &w->t->type[a];
    bool several = x->kind == HPC_TYPE_INTEGER && x->bytes != 2 && x->bytes != 4;
    return a == b || (!several && is_same_type(w->t, a, b));
}

/* "x + n <= y || y + n <= x". C compares pointers to other types as char pointers alone. */
static void no_overlap_check(spelling *x, int32_t p, int32_t q)
{
    walk *w = x->w;
    const poly *a, *c, *d, *e;
    bool bytes = !alike_pointers(w, p, q);
    if (!find_extent(w, &a, &c, p) || !find_extent(w, &d, &e, q)) {
        x->failed = true;
        return;
    }
    spell_address(x, p, poly_plus(w->prover, c, 1), bytes);
    hpc_buf_text(&x->text, " <= ");
    spell_address(x, q, d, bytes);
    hpc_buf_text(&x->text, " || ");
    spell_address(x, q, poly_plus(w->prover, e, 1), bytes);
    hpc_buf_text(&x->text, " <= ");
    spell_address(x, p, a, bytes);
}

/* Two arrays that may be one only as a whole, since then the two accesses never meet: a[i] =
 * f(b[i]).
 */
static bool harmless_as_one(walk *w, const access *a, const access *b)
{
    const place *p = &a->place, *q = &b->place;
    int64_t by;
    if (p->n != q->n || p->n == 0 || p->step[0].field != STEP_INDEX) return false;
    if (p->type < 0 || q->type < 0) return false;
    const hpc_tree_type *x = &w->t->type[p->type], *y = &w->t->type[q->type]; /* const or not */
    if (x->kind != y->kind || x->bytes != y->bytes || x->to != y->to) return false;
    for (int32_t k = 0; k < p->n; k++)
        if (p->step[k].field != q->step[k].field) return false;
    access other = *b;
    other.place.base = p->base;
    return places_meet(&by, w->loop, w->prover, w->answer, a, &other) == MEETING_NEVER;
}

static void apart_check(spelling *x, const access *a, const access *b, bool as_one)
{
    walk *w = x->w;
    const int32_t p = a->place.base, q = b->place.base;
    if (is_container_place(&a->place) && is_container_place(&b->place)) {
        spell_container(x, &a->place);
        hpc_buf_text(&x->text, " != ");
        spell_container(x, &b->place);
        return;
    }
    x->wide = true;
    if (as_one) {
        const bool bytes = !alike_pointers(w, p, q);
        spell_address(x, p, poly_number(w->prover, 0), bytes);
        hpc_buf_text(&x->text, " == ");
        spell_address(x, q, poly_number(w->prover, 0), bytes);
        hpc_buf_text(&x->text, " || ");
    }
    no_overlap_check(x, p, q);
}

/* Says why that the two never meet cannot be assumed. */
static bool is_no_assumption(walk *w, const access *a, const access *b)
{
    const char *x = node_text(w->loop->p, a->node), *y = node_text(w->loop->p, b->node);
    const int32_t p = a->place.base, q = b->place.base;
    uint32_t line = w->t->node[b->node].line;
    if ((p < 0 || q < 0) && strcmp(x, y) == 0)
        answer_alias(w->answer, a->node, b->node, "the address of %s is unknown",
                     access_text(w->loop->p, a->node));
    else if (p < 0 || q < 0)
        answer_alias(w->answer, a->node, b->node, "the addresses of %s and %s are unknown",
                     access_text(w->loop->p, a->node), access_text(w->loop->p, b->node));
    else if (w->prover->atoms[p].varies || w->prover->atoms[q].varies)
        answer_alias(w->answer, a->node, b->node, "%s and %s (line %u) may overlap", x, y, line);
    else if (p != q && atom_untyped(w->prover, p) == atom_untyped(w->prover, q))
        answer_alias(w->answer, a->node, b->node,
                     "%s and %s (line %u) access one pointer with two types", x, y, line);
    else
        return false;
    return true;
}

/* One of the accesses is through a reference, which refers to a part of the same object. */
static bool is_decided_by_reference(walk *w, const access *a, const access *b)
{
    access x = *a, y = *b;
    int64_t by;
    const bool one = place_referred(&x.place, w, &a->place),
               two = place_referred(&y.place, w, &b->place);
    if (!one && !two) return false;
    const relation r = relate(w->loop->p, w->prover, &x.place, &y.place);
    if (r == RELATION_APART) return true;
    if (r != RELATION_SAME) return false;
    if (places_meet(&by, w->loop, w->prover, w->answer, &x, &y) != MEETING_NEVER)
        answer_alias(w->answer, a->node, b->node, "%s and %s (line %u) are one location",
                     node_text(w->loop->p, a->node), node_text(w->loop->p, b->node),
                     w->t->node[b->node].line);
    return true;
}

void assume_apart(walk *w, const access *a, const access *b)
{
    if (is_decided_by_reference(w, a, b)) return;
    hpc_buf text = {0}, weak = {0}, one = {0}, two = {0};
    spelling check = {.w = w};
    bool both_hold = is_container_place(&a->place) && is_container_place(&b->place);
    if (assume_rows_apart(w, a, b) || is_no_assumption(w, a, b)) return;
    kinship kin = same_origin(w->loop, w->prover, &a->place, &b->place);
    /* Pointers of Fortran have bounds and strides of their own, and no value to compare. Objects of
     * open types have none either. */
    const bool fortran = w->loop->p->language == HPC_LANGUAGE_FORTRAN,
               no_test = fortran || is_open_base(w->prover, a->place.base) ||
                         is_open_base(w->prover, b->place.base);
    bool as_one = !fortran && kin != KIN_PARTS && !both_hold && harmless_as_one(w, a, b);
    if (kin == KIN_PARTS || (kin == KIN_SAME && !as_one)) {
        answer_alias(w->answer, a->node, b->node, "%s and %s (line %u) may derive from one pointer",
                     node_text(w->loop->p, a->node), node_text(w->loop->p, b->node),
                     w->t->node[b->node].line);
        return;
    }
    if (a->place.base > b->place.base) { /* one order for both */
        const access *c = a;
        a = b;
        b = c;
    }
    owner_text(&one, w, &a->place);
    owner_text(&two, w, &b->place);
    if (!one.failed && !two.failed) {
        hpc_buf_printf(&text, "%s and %s%s", one.data, two.data,
                       both_hold ? " are not the same object" : " do not overlap");
        hpc_buf_printf(&weak, "%s, or are equal", text.data ? text.data : "");
    }
    if (!no_test) apart_check(&check, a, b, as_one);
    if (text.data && !text.failed && weak.data && !weak.failed)
        answer_assume_instead(w->answer,
                              &(premise){.text = as_one ? weak.data : text.data,
                                         .check = no_test ? NULL : spelled(&check),
                                         .form = both_hold ? ASSUME_OTHER
                                                 : as_one  ? ASSUME_APART_OR_EQUAL
                                                           : ASSUME_APART,
                                         .one = one.data,
                                         .two = two.data,
                                         .place_one = &a->place,
                                         .place_two = &b->place},
                              as_one ? text.data : NULL, as_one ? NULL : weak.data);
    hpc_buf_release(&one);
    hpc_buf_release(&two);
    hpc_buf_release(&text);
    hpc_buf_release(&weak);
    hpc_buf_release(&check.text);
}
