/*
 * cover.c: see cover.h.
 */
#include "infer/pragma/cover.h"

/* The counters over which one write covers a range of each index; every other index is equal. */
typedef struct sweep {
    int32_t counter[PLACE_STEPS];
    int32_t n;
} sweep;

/* True if a loop that ends before read r runs at least once, or sweeps an index. */
static bool runs(const sweep *s, prover *pr, const access *r, int32_t loop)
{
    for (int32_t k = 0; k < s->n; k++)
        if (pr->atoms[s->counter[k]].node == loop) return true;
    for (int32_t x = 0; x < pr->atoms_n; x++) {
        const atom j = pr->atoms[x];
        if (j.kind == ATOM_INNER && j.node == loop)
            return prove_not_negative(pr, poly_less(pr, j.hi, j.lo), r->facts);
    }
    return false;
}

/* True if each loop around the write contains read r or runs at least once, so that the write
 * precedes r whenever r runs. */
static bool before(const loop_facts *l, prover *pr, const sweep *s, const access *write,
                   const access *r)
{
    const hpc_tree *t = l->p->t;
    for (int32_t up = t->node[write->node].parent; up > l->node; up = t->node[up].parent)
        if (is_loop(t->node[up].kind) && !(r->node > up && r->node < t->node[up].end) &&
            !runs(s, pr, r, up))
            return false;
    return true;
}

static bool equal_steps(const access *write, const access *r)
{
    if (write->place.n > r->place.n) return false;
    place head = r->place;
    head.n = write->place.n;
    return place_equal(&write->place, &head);
}

/* Step `of` of a write covers a dimension, or [lo, hi] of its inner loop before r reads index b,
 * which lies within. */
static bool covers_index(const loop_facts *l, prover *pr, sweep *s, const access *r,
                         const place_step *of, const poly *b)
{
    const hpc_tree *t = l->p->t;
    const poly *a = of->index;
    if (of->whole || poly_equal(a, b)) return true;
    if (!a || !b || a->n < 1) return false;
    for (int32_t i = 0; i < a->n; i++) {
        int32_t x = a->t[i].atom[0];
        if (x < 0 || a->t[i].atom[1] >= 0 || a->t[i].c != 1 || pr->atoms[x].kind != ATOM_INNER)
            continue;
        const atom j = pr->atoms[x];
        if (!j.op || (r->node > j.node && r->node < t->node[j.node].end)) continue;
        const poly *rest = poly_less(pr, a, poly_atom(pr, x));
        if (!rest || poly_varies(pr, rest)) continue;
        const poly *low = poly_sum(pr, j.lo, rest), *high = poly_sum(pr, j.hi, rest);
        if (!prove_not_negative(pr, poly_less(pr, b, low), r->facts) ||
            !prove_not_negative(pr, poly_less(pr, high, b), r->facts))
            continue;
        s->counter[s->n++] = x;
        return true;
    }
    return false;
}

/* A counter in two indices, as in w[j][j], sweeps a diagonal and no range of either. */
static bool sweeps_apart(const sweep *s, const access *write)
{
    for (int32_t k = 0; k < s->n; k++) {
        int32_t indices = 0;
        for (int32_t i = 0; i < write->place.n; i++)
            indices += write->place.step[i].field == STEP_INDEX &&
                       poly_has(write->place.step[i].index, s->counter[k]);
        if (indices != 1) return false;
    }
    return true;
}

bool covers(const loop_facts *l, prover *pr, const access *write, const access *r)
{
    sweep s = {.n = 0};
    if (write->order > r->order || write->depth > 0 || write->place.n > r->place.n) return false;
    if (equal_steps(write, r)) return before(l, pr, &s, write, r);
    for (int32_t k = 0; k < write->place.n; k++) {
        const place_step *a = &write->place.step[k], *b = &r->place.step[k];
        if (a->field != b->field) return false;
        if (a->field == STEP_INDEX && !covers_index(l, pr, &s, r, a, b->index)) return false;
    }
    return sweeps_apart(&s, write) && before(l, pr, &s, write, r);
}

bool assigns_first(const loop_facts *l, prover *pr, int32_t base)
{
    for (int64_t i = 0; i < l->n; i++) {
        const access *r = &l->item[i];
        bool covered = r->write || r->place.base != base;
        for (int64_t k = 0; k < l->n && !covered; k++)
            covered = l->item[k].write && l->item[k].place.base == base && !l->item[k].update &&
                      covers(l, pr, &l->item[k], r);
        if (!covered) return false;
    }
    return true;
}
