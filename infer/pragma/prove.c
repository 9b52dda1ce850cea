/*
 * prove.c: is this number never negative? Atoms are put away one by one, the latest first, in
 * favour of the bound that makes the number smallest, as long as the sign of their coefficient can
 * be proven in turn; what is left is compared with the facts that hold where it is asked.
 *
 * A budget bounds the search; what is not found within it counts as not proven. What was looked at
 * in vain is so again as deep or deeper.
 */
#include <string.h>

#include "infer/pragma/priv.h"

enum { PARTS_MOST = 600, TRIED = 128 };

struct tried {
    const poly *p;
    const fact *facts;
    int32_t depth;
};

static const fact *add(study *s, const fact *next, const poly *p, bool unequal)
{
    int64_t c;
    if (!p || poly_is_number(p, &c)) return next;
    fact *f = hpc_arena_alloc(s->arena, 1, sizeof *f);
    if (!f) {
        s->rc = HPC_E_NOMEM;
        return next;
    }
    *f = (fact){.p = p, .unequal = unequal, .next = next};
    return f;
}

const fact *fact_add(study *s, const fact *next, const poly *p)
{
    return add(s, next, p, false);
}

const fact *fact_unequal(study *s, const fact *next, const poly *p)
{
    return add(s, next, p, true);
}

static bool not_negative(study *s, const poly *p, const fact *facts, int depth);

/* A bound of an atom out of a fact that is c * atom + rest >= 0 with c = 1 (a lower bound, -rest)
 * or c = -1 (an upper one, rest). */
static const poly *bound_of_fact(study *s, const fact *f, int32_t which, bool lower)
{
    const poly *c, *rest;
    int64_t n;
    if (f->unequal || !poly_has(f->p, which) || !poly_split(s, f->p, which, &c, &rest)) return NULL;
    if (!poly_is_number(c, &n) || n != (lower ? 1 : -1)) return NULL;
    return lower ? poly_scaled(s, rest, -1) : rest;
}

/* c * atom + rest >= 0, with the atom at one of its bounds. */
static bool with_bound(study *s, const poly *c, const poly *rest, const poly *bound,
                       const fact *facts, int depth)
{
    if (!bound) return false;
    return not_negative(s, poly_sum(s, poly_product(s, c, bound), rest), facts, depth + 1);
}

/* The next atom below `than`, or -1: later ones may be bounded by earlier ones. */
static int32_t highest_below(const poly *p, int32_t than)
{
    int32_t best = -1;
    for (int32_t i = 0; i < p->n; i++)
        for (int k = 0; k < TERM_ATOMS; k++)
            if (p->t[i].atom[k] > best && p->t[i].atom[k] < than) best = p->t[i].atom[k];
    return best;
}

/* All numbers that one condition chose become what they are where it holds, or does not. */
static const poly *chosen(study *s, const poly *p, const atom *by, bool holds)
{
    for (int32_t a = p ? highest_below(p, INT32_MAX) : -1; a >= 0; a = highest_below(p, a)) {
        const atom x = s->atoms[a];
        if (x.kind == ATOM_CHOICE && x.of == by->of && x.op == by->op)
            p = poly_put(s, p, a, holds ? x.a : x.b);
        if (!p) return NULL;
    }
    return p;
}

static bool in_case(study *s, const poly *p, const atom *by, bool holds, const fact *facts,
                    int depth)
{
    const fact *all = NULL;
    for (const fact *f = facts; f; f = f->next)
        all = add(s, all, chosen(s, f->p, by, holds), f->unequal);
    for (const fact *f = holds ? by->yes : by->no; f; f = f->next)
        all = add(s, all, f->p, f->unequal);
    return not_negative(s, chosen(s, p, by, holds), all, depth + 1);
}

static bool put_away(study *s, const poly *p, int32_t which, const fact *facts, int depth)
{
    const poly *c, *rest;
    const atom by = s->atoms[which];
    if (by.kind == ATOM_CHOICE)
        return in_case(s, p, &by, true, facts, depth) && in_case(s, p, &by, false, facts, depth);
    if (!poly_split(s, p, which, &c, &rest)) return false;
    struct atom a = s->atoms[which];
    bool up = not_negative(s, c, facts, depth + 1);
    if (!up && !not_negative(s, poly_scaled(s, c, -1), facts, depth + 1)) return false;
    if (with_bound(s, c, rest, up ? a.lo : a.hi, facts, depth)) return true;
    for (const fact *f = facts; f; f = f->next)
        if (with_bound(s, c, rest, bound_of_fact(s, f, which, up), facts, depth)) return true;
    return false;
}

/* No atom can be negative, and with all at their least value the sum is not: it grows with each,
 * as only its constant part may be negative. */
static bool plainly(const study *s, const poly *p)
{
    double sum = 0;
    for (int32_t i = 0; i < p->n; i++) {
        double product = (double)p->t[i].c;
        if (product < 0 && p->t[i].atom[0] >= 0) return false;
        for (int k = 0; k < TERM_ATOMS && p->t[i].atom[k] >= 0; k++) {
            const poly *lo = s->atoms[p->t[i].atom[k]].lo;
            int64_t least;
            if (!poly_is_number(lo, &least) || least < 0) return false;
            product *= (double)least;
        }
        sum += product;
    }
    return sum >= 0;
}

/* ---- arrays whose values never decrease: where rows begin ------------------------------------ */

static const atom *single_load(const study *s, const term *t)
{
    const atom *a = t->atom[0] >= 0 && t->atom[1] < 0 ? &s->atoms[t->atom[0]] : NULL;
    return a && a->kind == ATOM_LOAD ? a : NULL;
}

/* Elements of one array: by how much the index of the first is above that of the second; NULL. */
static const poly *index_above(study *s, const place *p, const place *q)
{
    if (p->n != q->n || p->n == 0 || p->base != q->base || p->base < 0) return NULL;
    if (s->atoms[p->base].varies || p->step[p->n - 1].field != STEP_INDEX) return NULL;
    for (int32_t k = 0; k + 1 < p->n; k++) {
        if (p->step[k].field != q->step[k].field) return NULL;
        if (p->step[k].field == STEP_INDEX && !poly_equal(p->step[k].index, q->step[k].index))
            return NULL;
    }
    return poly_less(s, p->step[p->n - 1].index, q->step[q->n - 1].index);
}

static bool array_equal(const place *p, const place *q)
{
    place a = *p, b = *q;
    a.n--;
    b.n--;
    return place_equal(&a, &b);
}

static bool note_rising(study *s, const place *p)
{
    for (int32_t i = 0; i < s->rises_n; i++)
        if (array_equal(s->rises[i], p)) return true;
    if (s->rises_n == (int32_t)(sizeof s->rises / sizeof *s->rises)) return false;
    s->rises[s->rises_n++] = p;
    return true;
}

/* start[i] - start[k] is not negative where i >= k, so the sum is not if it is not without them. */
static bool by_rising(study *s, const poly *p, const fact *facts, int depth)
{
    for (int32_t i = 0; i < p->n; i++)
        for (int32_t k = 0; k < p->n; k++) {
            const atom *a = single_load(s, &p->t[i]), *b = single_load(s, &p->t[k]);
            if (!a || !b || p->t[i].c <= 0 || p->t[k].c != -p->t[i].c) continue;
            const place *of = a->place;
            const poly *rise =
                poly_less(s, poly_atom(s, p->t[i].atom[0]), poly_atom(s, p->t[k].atom[0]));
            const poly *above = index_above(s, of, b->place);
            if (!above || !not_negative(s, above, facts, depth + 1)) continue;
            const poly *rest = poly_less(s, p, poly_scaled(s, rise, p->t[i].c));
            if (not_negative(s, rest, facts, depth + 1)) return note_rising(s, of);
        }
    return false;
}

/* What counts an inner loop, in either iteration: its bounds say more than anything else. */
static bool is_counter(const study *s, int32_t a)
{
    const atom *x = &s->atoms[a];
    return x->kind == ATOM_INNER || (x->kind == ATOM_TWIN && s->atoms[x->of].kind == ATOM_INNER);
}

static struct tried *tried_at(const study *s, const poly *p, const fact *facts)
{
    return &s->tried[hpc_hash(p->t, (size_t)p->n * sizeof *p->t, (uintptr_t)facts) % TRIED];
}

static bool by_atoms(study *s, const poly *p, const fact *facts, int depth)
{
    int32_t choice = -1;
    bool counters = false;
    for (int32_t a = highest_below(p, INT32_MAX); a >= 0; a = highest_below(p, a)) {
        counters |= is_counter(s, a);
        if (is_counter(s, a) && put_away(s, p, a, facts, depth)) return true;
        if (choice < 0 && s->atoms[a].kind == ATOM_CHOICE) choice = a;
    }
    if (choice >= 0) return !counters && put_away(s, p, choice, facts, depth);
    for (int32_t a = highest_below(p, INT32_MAX); a >= 0; a = highest_below(p, a))
        if (!is_counter(s, a) && put_away(s, p, a, facts, depth)) return true;
    return false;
}

static bool not_negative(study *s, const poly *p, const fact *facts, int depth)
{
    int64_t c;
    if (!p) return false;
    if (depth > s->depth_most || s->parts <= 0) {
        s->deeper = true;
        return false;
    }
    s->parts--;
    s->spent++;
    if (poly_is_number(p, &c)) return c >= 0;
    if (plainly(s, p)) return true;
    for (const fact *f = facts; f; f = f->next) {
        if (!f->unequal && poly_differ_by(p, f->p, &c) && c >= 0) return true;
    }
    struct tried *before = tried_at(s, p, facts);
    if (before->p && before->facts == facts && before->depth <= depth && poly_equal(before->p, p))
        return false;
    if (s->rising && by_rising(s, p, facts, depth)) return true;
    if (by_atoms(s, p, facts, depth)) return true;
    *before = (struct tried){.p = p, .facts = facts, .depth = depth};
    return false;
}

/* Short proofs first: a wrong turn at the beginning must not use up the budget. *more: a longer
 * one might be found where this one was not. */
static bool prove_within(study *s, bool *more, const poly *p, const fact *facts, int32_t depth,
                         int32_t parts)
{
    struct tried tried[TRIED];
    if (!*more) return false;
    memset(tried, 0, sizeof tried);
    s->tried = tried;
    s->parts = parts;
    s->depth_most = depth;
    s->deeper = false;
    bool is = not_negative(s, p, facts, 0);
    *more = s->deeper;
    return is;
}

static const int32_t depths[] = {4, 7, 11};
enum { DEPTHS = sizeof depths / sizeof *depths, PARTS_FIRST = 60 };

bool prove_not_negative(study *s, const poly *p, const fact *facts)
{
    bool more = true;
    for (int k = 0; k < DEPTHS; k++)
        if (prove_within(s, &more, p, facts, depths[k], PARTS_MOST)) return true;
    return false;
}

bool prove_positive(study *s, const poly *p, const fact *facts)
{
    return prove_not_negative(s, poly_plus(s, p, -1), facts);
}

/* Of one sign there is no proof, and looking for it takes long. */
bool prove_not_zero(study *s, const poly *p, const fact *facts)
{
    const poly *side[] = {poly_plus(s, p, -1), poly_plus(s, poly_scaled(s, p, -1), -1)};
    bool more[] = {true, true};
    for (int k = -1; k < DEPTHS; k++)
        for (int i = 0; i < 2; i++)
            if (prove_within(s, &more[i], side[i], facts, depths[k < 0 ? 0 : k],
                             k < 0 ? PARTS_FIRST : PARTS_MOST))
                return true;
    return false;
}
