/*
 * prove.c: proof that a number is never negative. The search replaces atoms, the latest first, by
 * the bound that makes the number smallest, as long as it can prove the sign of their coefficient.
 * It compares the remaining number with the given facts.
 *
 * The search has a budget of steps; a proof that it does not find within the budget counts as none.
 * A table keeps failed goals, so that a search does not repeat one at the same or a greater depth.
 */
#include "infer/pragma/prover.h"

enum { PARTS_MOST = 600, TRIED = 128 };

typedef struct tried { /* a failed goal */
    const poly *p;
    const fact *facts;
    int32_t depth;
} tried;
typedef struct search {
    prover *pr;
    int32_t parts, depth_most; /* remaining steps; limit of the depth */
    bool deeper;               /* a limit cut it short */
    tried failed[TRIED];
} search;

static const fact *add(prover *pr, const fact *next, const poly *p, bool unequal)
{
    int64_t c;
    if (!p || poly_is_number(p, &c)) return next;
    fact *f = hpc_arena_alloc(pr->arena, 1, sizeof *f);
    if (!f) {
        pr->rc = HPC_E_NOMEM;
        return next;
    }
    *f = (fact){.p = p, .unequal = unequal, .id = ++pr->facts_n, .next = next};
    return f;
}

const fact *fact_add(prover *pr, const fact *next, const poly *p)
{
    return add(pr, next, p, false);
}

const fact *fact_unequal(prover *pr, const fact *next, const poly *p)
{
    return add(pr, next, p, true);
}

static bool not_negative(search *sr, const poly *p, const fact *facts, int depth);

/* A bound of an atom out of a fact that is c * atom + rest >= 0 with c = 1 (a lower bound, -rest)
 * or c = -1 (an upper one, rest). */
static const poly *bound_of_fact(prover *pr, const fact *f, int32_t which, bool lower)
{
    const poly *c, *rest;
    int64_t n;
    if (f->unequal || !poly_has(f->p, which) || !poly_split(pr, f->p, which, &c, &rest))
        return NULL;
    if (!poly_is_number(c, &n) || n != (lower ? 1 : -1)) return NULL;
    return lower ? poly_scaled(pr, rest, -1) : rest;
}

/* c * atom + rest >= 0, with the atom at one of its bounds. */
static bool with_bound(search *sr, const poly *c, const poly *rest, const poly *bound,
                       const fact *facts, int depth)
{
    prover *pr = sr->pr;
    if (!bound) return false;
    return not_negative(sr, poly_sum(pr, poly_product(pr, c, bound), rest), facts, depth + 1);
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
static const poly *chosen(prover *pr, const poly *p, const atom *by, bool holds)
{
    for (int32_t a = p ? highest_below(p, INT32_MAX) : -1; a >= 0; a = highest_below(p, a)) {
        const atom x = pr->atoms[a];
        if (x.kind == ATOM_CHOICE && x.of == by->of && x.op == by->op)
            p = poly_put(pr, p, a, holds ? x.a : x.b);
        if (!p) return NULL;
    }
    return p;
}

static bool in_case(search *sr, const poly *p, const atom *by, bool holds, const fact *facts,
                    int depth)
{
    prover *pr = sr->pr;
    const fact *all = NULL;
    for (const fact *f = facts; f; f = f->next)
        all = add(pr, all, chosen(pr, f->p, by, holds), f->unequal);
    for (const fact *f = holds ? by->yes : by->no; f; f = f->next)
        all = add(pr, all, f->p, f->unequal);
    return not_negative(sr, chosen(pr, p, by, holds), all, depth + 1);
}

static bool put_away(search *sr, const poly *p, int32_t which, const fact *facts, int depth)
{
    prover *pr = sr->pr;
    const poly *c, *rest;
    const atom by = pr->atoms[which];
    if (by.kind == ATOM_CHOICE)
        return in_case(sr, p, &by, true, facts, depth) && in_case(sr, p, &by, false, facts, depth);
    if (!poly_split(pr, p, which, &c, &rest)) return false;
    bool up = not_negative(sr, c, facts, depth + 1);
    if (!up && !not_negative(sr, poly_scaled(pr, c, -1), facts, depth + 1)) return false;
    if (with_bound(sr, c, rest, up ? by.lo : by.hi, facts, depth)) return true;
    for (const fact *f = facts; f; f = f->next)
        if (with_bound(sr, c, rest, bound_of_fact(pr, f, which, up), facts, depth)) return true;
    return false;
}

/* No atom can be negative, and with all at their least value the sum is not: it grows with each,
 * as only its constant part may be negative. */
static bool plainly(const prover *pr, const poly *p)
{
    double sum = 0;
    for (int32_t i = 0; i < p->n; i++) {
        double product = (double)p->t[i].c;
        if (product < 0 && p->t[i].atom[0] >= 0) return false;
        for (int k = 0; k < TERM_ATOMS && p->t[i].atom[k] >= 0; k++) {
            const poly *lo = pr->atoms[p->t[i].atom[k]].lo;
            int64_t least;
            if (!poly_is_number(lo, &least) || least < 0) return false;
            product *= (double)least;
        }
        sum += product;
    }
    return sum >= 0;
}

/* ---- arrays whose values never decrease: where rows begin ------------------------------------ */

static const atom *single_load(const prover *pr, const term *t)
{
    const atom *a = t->atom[0] >= 0 && t->atom[1] < 0 ? &pr->atoms[t->atom[0]] : NULL;
    return a && a->kind == ATOM_LOAD ? a : NULL;
}

/* Elements of one array: by how much the index of the first is above that of the second; NULL. */
static const poly *index_above(prover *pr, const place *p, const place *q)
{
    if (p->n != q->n || p->n == 0 || p->base != q->base || p->base < 0) return NULL;
    if (pr->atoms[p->base].varies || p->step[p->n - 1].field != STEP_INDEX) return NULL;
    for (int32_t k = 0; k + 1 < p->n; k++) {
        if (p->step[k].field != q->step[k].field) return NULL;
        if (p->step[k].field == STEP_INDEX && !poly_equal(p->step[k].index, q->step[k].index))
            return NULL;
    }
    return poly_less(pr, p->step[p->n - 1].index, q->step[q->n - 1].index);
}

static bool array_equal(const place *p, const place *q)
{
    place a = *p, b = *q;
    a.n--;
    b.n--;
    return place_equal(&a, &b);
}

static bool note_rising(prover *pr, const place *p)
{
    for (int32_t i = 0; i < pr->rises_n; i++)
        if (array_equal(pr->rises[i], p)) return true;
    if (pr->rises_n == (int32_t)(sizeof pr->rises / sizeof *pr->rises)) return false;
    pr->rises[pr->rises_n++] = p;
    return true;
}

/* start[i] - start[k] is not negative where i >= k, so the sum is not if it is not without them. */
static bool by_rising(search *sr, const poly *p, const fact *facts, int depth)
{
    prover *pr = sr->pr;
    for (int32_t i = 0; i < p->n; i++)
        for (int32_t k = 0; k < p->n; k++) {
            const atom *a = single_load(pr, &p->t[i]), *b = single_load(pr, &p->t[k]);
            if (!a || !b || p->t[i].c <= 0 || p->t[k].c != -p->t[i].c) continue;
            const place *of = a->place;
            const poly *rise =
                poly_less(pr, poly_atom(pr, p->t[i].atom[0]), poly_atom(pr, p->t[k].atom[0]));
            const poly *above = index_above(pr, of, b->place);
            if (!above || !not_negative(sr, above, facts, depth + 1)) continue;
            const poly *rest = poly_less(pr, p, poly_scaled(pr, rise, p->t[i].c));
            if (not_negative(sr, rest, facts, depth + 1)) return note_rising(pr, of);
        }
    return false;
}

/* ---- arrays whose entries do not exceed a number -----------------------------------------------
 */

static bool note_limit(prover *pr, const place *p, const poly *most)
{
    for (int32_t i = 0; i < pr->limits_n; i++)
        if (array_equal(pr->limit[i].of, p)) return poly_equal(pr->limit[i].most, most);
    if (pr->limits_n == PROVER_LIMITS) return false;
    pr->limit[pr->limits_n].of = p;
    pr->limit[pr->limits_n++].most = most;
    return true;
}

/* A number from 1 on, or one variable that the loop does not change. */
static bool is_plain_limit(const prover *pr, const poly *p)
{
    int64_t c;
    if (!p) return false;
    if (poly_is_number(p, &c)) return c >= 1;
    return p->n == 1 && p->t[0].c == 1 && p->t[0].atom[1] < 0 && !poly_varies(pr, p);
}

/* most - length[i] is not negative if no entry of the array exceeds `most`. */
static bool by_limit(prover *pr, const poly *p)
{
    for (int32_t i = 0; i < p->n; i++) {
        const atom *a = p->t[i].c == -1 ? single_load(pr, &p->t[i]) : NULL;
        if (!a || !a->varies) continue;
        const place *of = a->place;
        if (of->n == 0 || of->step[of->n - 1].field != STEP_INDEX || pr->atoms[of->base].varies)
            continue;
        const poly *most = poly_sum(pr, p, poly_atom(pr, p->t[i].atom[0]));
        return is_plain_limit(pr, most) && note_limit(pr, of, most);
    }
    return false;
}

/* What counts an inner loop, in either iteration: its bounds say more than anything else. */
static bool is_counter(const prover *pr, int32_t a)
{
    const atom *x = &pr->atoms[a];
    return x->kind == ATOM_INNER || (x->kind == ATOM_TWIN && pr->atoms[x->of].kind == ATOM_INNER);
}

static tried *tried_at(search *sr, const poly *p, const fact *facts)
{
    return &sr->failed[hpc_hash(p->t, (size_t)p->n * sizeof *p->t, facts ? facts->id : 0) % TRIED];
}

static bool by_atoms(search *sr, const poly *p, const fact *facts, int depth)
{
    prover *pr = sr->pr;
    int32_t choice = -1;
    bool counters = false;
    for (int32_t a = highest_below(p, INT32_MAX); a >= 0; a = highest_below(p, a)) {
        counters |= is_counter(pr, a);
        if (is_counter(pr, a) && put_away(sr, p, a, facts, depth)) return true;
        if (choice < 0 && pr->atoms[a].kind == ATOM_CHOICE) choice = a;
    }
    if (choice >= 0) return !counters && put_away(sr, p, choice, facts, depth);
    for (int32_t a = highest_below(p, INT32_MAX); a >= 0; a = highest_below(p, a))
        if (!is_counter(pr, a) && put_away(sr, p, a, facts, depth)) return true;
    return false;
}

static bool not_negative(search *sr, const poly *p, const fact *facts, int depth)
{
    prover *pr = sr->pr;
    int64_t c;
    if (!p) return false;
    if (depth > sr->depth_most || sr->parts <= 0) {
        sr->deeper = true;
        return false;
    }
    sr->parts--;
    pr->spent++;
    if (poly_is_number(p, &c)) return c >= 0;
    if (plainly(pr, p)) return true;
    for (const fact *f = facts; f; f = f->next) {
        if (!f->unequal && poly_differ_by(p, f->p, &c) && c >= 0) return true;
    }
    tried *before = tried_at(sr, p, facts);
    if (before->p && before->facts == facts && before->depth <= depth && poly_equal(before->p, p))
        return false;
    if (pr->rising && by_rising(sr, p, facts, depth)) return true;
    if (pr->limited && by_limit(pr, p)) return true;
    if (by_atoms(sr, p, facts, depth)) return true;
    *before = (tried){.p = p, .facts = facts, .depth = depth};
    return false;
}

/* Proves within a depth. Callers try short proofs first, so that a wrong first step does not use up
 * the budget. *more: in, false skips the search; out, a deeper search might succeed. */
static bool prove_within(prover *pr, bool *more, const poly *p, const fact *facts, int32_t depth,
                         int32_t parts)
{
    if (!*more) return false;
    search sr = {.pr = pr, .parts = parts, .depth_most = depth};
    bool is = not_negative(&sr, p, facts, 0);
    *more = sr.deeper;
    return is;
}

static const int32_t depths[] = {4, 7, 11};
enum { DEPTHS = sizeof depths / sizeof *depths, PARTS_FIRST = 60 };

bool prove_not_negative(prover *pr, const poly *p, const fact *facts)
{
    bool more = true;
    for (int k = 0; k < DEPTHS; k++)
        if (prove_within(pr, &more, p, facts, depths[k], PARTS_MOST)) return true;
    return false;
}

bool prove_positive(prover *pr, const poly *p, const fact *facts)
{
    return prove_not_negative(pr, poly_plus(pr, p, -1), facts);
}

/* At most one of the two signs has a proof, and a failed search is slow. */
bool prove_not_zero(prover *pr, const poly *p, const fact *facts)
{
    const poly *side[] = {poly_plus(pr, p, -1), poly_plus(pr, poly_scaled(pr, p, -1), -1)};
    bool more[] = {true, true};
    for (int k = -1; k < DEPTHS; k++)
        for (int i = 0; i < 2; i++)
            if (prove_within(pr, &more[i], side[i], facts, depths[k < 0 ? 0 : k],
                             k < 0 ? PARTS_FIRST : PARTS_MOST))
                return true;
    return false;
}

/* ---- extremes ---- */

const poly *poly_extreme(prover *pr, const poly *p, bool greatest, const fact *facts)
{
    for (int round = 0; p && round < 8; round++) {
        int32_t highest = -1;
        for (int32_t i = 0; i < p->n; i++)
            for (int k = 0; k < TERM_ATOMS; k++) {
                int32_t a = p->t[i].atom[k];
                if (a > highest && pr->atoms[a].varies) highest = a;
            }
        if (highest < 0) return p;
        const poly *c, *rest;
        atom a = pr->atoms[highest];
        if (!poly_split(pr, p, highest, &c, &rest)) return NULL;
        bool up = prove_not_negative(pr, c, facts);
        if (!up && !prove_not_negative(pr, poly_scaled(pr, c, -1), facts)) return NULL;
        const poly *bound = up == greatest ? a.hi : a.lo;
        p = bound ? poly_sum(pr, poly_product(pr, c, bound), rest) : NULL;
    }
    return NULL;
}
