/*
 * prove.c: is this number never negative? Atoms are put away one by one, the latest first, in
 * favour of the bound that makes the number smallest, as long as the sign of their coefficient can
 * be proven in turn; what is left is compared with the facts that hold where it is asked.
 *
 * A budget bounds the search; what is not found within it counts as not proven.
 */
#include "infer/pragma/priv.h"

enum { DEPTH_MOST = 10, PARTS_MOST = 600 };

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

static bool put_away(study *s, const poly *p, int32_t which, const fact *facts, int depth)
{
    const poly *c, *rest;
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

/* The next atom below `than`, or -1: later ones may be bounded by earlier ones. */
static int32_t highest_below(const poly *p, int32_t than)
{
    int32_t best = -1;
    for (int32_t i = 0; i < p->n; i++)
        for (int k = 0; k < TERM_ATOMS; k++)
            if (p->t[i].atom[k] > best && p->t[i].atom[k] < than) best = p->t[i].atom[k];
    return best;
}

static bool not_negative(study *s, const poly *p, const fact *facts, int depth)
{
    int64_t c;
    if (!p || depth > DEPTH_MOST || s->parts <= 0) return false;
    s->parts--;
    s->spent++;
    if (poly_is_number(p, &c)) return c >= 0;
    if (plainly(s, p)) return true;
    for (const fact *f = facts; f; f = f->next) {
        const poly *left = f->unequal ? NULL : poly_less(s, p, f->p);
        if (poly_is_number(left, &c) && c >= 0) return true;
    }
    for (int32_t a = highest_below(p, INT32_MAX); a >= 0; a = highest_below(p, a))
        if (put_away(s, p, a, facts, depth)) return true;
    return false;
}

bool prove_not_negative(study *s, const poly *p, const fact *facts)
{
    s->parts = PARTS_MOST;
    return not_negative(s, p, facts, 0);
}

bool prove_positive(study *s, const poly *p, const fact *facts)
{
    return prove_not_negative(s, poly_plus(s, p, -1), facts);
}
