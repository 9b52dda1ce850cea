/*
 * depend.c: dependence test of two accesses in different iterations. The indices of the second are
 * rewritten for an iteration `step` later or earlier. The accesses are independent if a difference
 * of indices is never 0: it has one sign, or the divisor of its variable part does not divide its
 * constant part.
 */
#include <stdlib.h>
#include <string.h>

#include "infer/pragma/memory.h"

enum { STEPS_TRIED = 64, INNER_MOST = 3, LAYERS_MOST = 4 };

typedef struct pair { /* the other iteration */
    const loop_facts *l;
    prover *pr;
    const poly *iteration; /* its variable */
    bool later;
    int depth;
} pair;

static const poly *twin(pair *w, const poly *p);
static const fact *twin_facts(pair *w, const fact *f, const fact *next);

static bool twin_place(pair *w, place *out, const place *p);

static const poly *twin_atom(pair *w, int32_t i)
{
    prover *pr = w->pr;
    atom a = pr->atoms[i];
    place p;
    if (!a.varies) return poly_atom(pr, i);
    if (++w->depth > 200) return NULL;
    switch (a.kind) {
    case ATOM_ITERATION: return w->iteration;
    case ATOM_FUNCTION:
        return poly_atom(pr, atom_function(pr, a.op, twin(w, a.a), twin(w, a.b), w->l->runs));
    case ATOM_LOAD:
        if (!twin_place(w, &p, a.place)) return NULL;
        return poly_atom(pr, atom_load(pr, &p));
    case ATOM_POINT:
        if (!twin_place(w, &p, a.place)) return NULL;
        return poly_atom(pr, atom_point(pr, &p));
    case ATOM_CHOICE:
        return poly_atom(pr, atom_choice(pr, &(atom){.op = 1 + w->later,
                                                     .of = a.of,
                                                     .a = twin(w, a.a),
                                                     .b = twin(w, a.b),
                                                     .yes = twin_facts(w, a.yes, NULL),
                                                     .no = twin_facts(w, a.no, NULL)}));
    case ATOM_SIZE:
        if (!twin_place(w, &p, a.place)) return NULL;
        return poly_atom(pr, atom_size(pr, &p));
    default: {
        const poly *lo = a.lo ? twin(w, a.lo) : NULL, *hi = a.hi ? twin(w, a.hi) : NULL;
        return poly_atom(pr, atom_new(pr, &(atom){.kind = ATOM_TWIN,
                                                  .op = w->later,
                                                  .varies = true,
                                                  .symbol = a.symbol,
                                                  .node = a.node,
                                                  .of = i,
                                                  .lo = lo,
                                                  .hi = hi}));
    }
    }
}

static const poly *twin(pair *w, const poly *p)
{
    prover *pr = w->pr;
    if (!p) return NULL;
    const poly *out = poly_number(pr, 0);
    for (int32_t i = 0; i < p->n; i++) {
        const poly *one = poly_number(pr, p->t[i].c);
        for (int k = 0; k < TERM_ATOMS && p->t[i].atom[k] >= 0; k++)
            one = poly_product(pr, one, twin_atom(w, p->t[i].atom[k]));
        out = poly_sum(pr, out, one);
    }
    return out;
}

static bool twin_place(pair *w, place *out, const place *p)
{
    *out = *p;
    const poly *base = p->base < 0 ? NULL : twin_atom(w, p->base);
    if (!base || base->n != 1 || base->t[0].atom[1] >= 0) return false;
    out->base = base->t[0].atom[0];
    for (int32_t k = 0; k < out->n; k++)
        if (out->step[k].field == STEP_INDEX) out->step[k].index = twin(w, p->step[k].index);
    return true;
}

/* ---- one direction ------------------------------------------------------------------------------
 */

typedef struct test {
    const fact *facts;
    const poly *difference[PLACE_STEPS];
    int32_t n, step; /* the atom of how many iterations lie between */
} test;

static int64_t gcd(int64_t a, int64_t b)
{
    while (b) {
        int64_t r = a % b;
        a = b;
        b = r;
    }
    return a < 0 ? -a : a;
}

/* c + g * (anything whole) is not 0 when g does not divide c. */
static bool never_divides(const poly *d)
{
    int64_t g = 0, c = 0;
    for (int32_t i = 0; i < d->n; i++) {
        if (d->t[i].atom[0] < 0)
            c = d->t[i].c;
        else
            g = gcd(g, d->t[i].c);
    }
    return g != 0 && c % g != 0;
}

/* x % n and y % n, for x and y less than n apart and not the same. */
static bool other_remainder(prover *pr, const poly *d, const fact *facts)
{
    if (d->n != 2 || d->t[0].c != -d->t[1].c || llabs(d->t[0].c) != 1) return false;
    int32_t i = d->t[0].atom[0], k = d->t[1].atom[0];
    if (i < 0 || k < 0 || d->t[0].atom[1] >= 0 || d->t[1].atom[1] >= 0) return false;
    const atom a = pr->atoms[i], b = pr->atoms[k];
    if (a.kind != ATOM_FUNCTION || b.kind != ATOM_FUNCTION || a.op != '%' || b.op != '%')
        return false;
    if (!poly_equal(a.b, b.b)) return false;
    for (int turn = 0; turn < 2; turn++) {
        const poly *between = turn ? poly_less(pr, b.a, a.a) : poly_less(pr, a.a, b.a);
        if (prove_positive(pr, between, facts) &&
            prove_positive(pr, poly_less(pr, a.b, between), facts))
            return true;
    }
    return false;
}

static bool never_zero(prover *pr, const poly *d, const fact *facts, int depth);

/* ---- arrays without repeated entries ---- */

static bool note_distinct(prover *pr, const place *p)
{
    for (int32_t i = 0; i < pr->distinct_n; i++)
        if (pr->distinct_of[i]->base == p->base && pr->distinct_of[i]->n == p->n) return true;
    if (pr->distinct_n == PROVER_DISTINCT) return false;
    pr->distinct_of[pr->distinct_n++] = p;
    return true;
}

/* c * (idx[x] - idx[y]) with x and y never equal: not 0 if the array has no repeated entry. */
static bool other_entry(prover *pr, const poly *d, const fact *facts, int depth)
{
    if (!pr->distinct || depth > LAYERS_MOST || d->n != 2 || d->t[0].c != -d->t[1].c) return false;
    int32_t i = d->t[0].atom[0], k = d->t[1].atom[0];
    if (i < 0 || k < 0 || d->t[0].atom[1] >= 0 || d->t[1].atom[1] >= 0) return false;
    const atom a = pr->atoms[i], b = pr->atoms[k];
    if (a.kind != ATOM_LOAD || b.kind != ATOM_LOAD) return false;
    const place *p = a.place, *q = b.place;
    if (p->base < 0 || p->base != q->base || p->n != q->n || pr->atoms[p->base].varies)
        return false;
    for (int32_t s = 0; s < p->n; s++)
        if (p->step[s].field != q->step[s].field) return false;
    for (int32_t s = 0; s < p->n; s++) {
        if (p->step[s].field != STEP_INDEX) continue;
        const poly *between = poly_less(pr, p->step[s].index, q->step[s].index);
        if (never_zero(pr, between, facts, depth + 1)) return note_distinct(pr, p);
    }
    return false;
}

/* d = n * q + r, with |r| < n: it is 0 only if both q and r are. So a[j * n + i] tells j and i
 * apart where 0 <= i < n, whichever of them the loop counts. */
static bool never_both(prover *pr, const poly *d, const poly *n, const poly *q, const poly *r,
                       const fact *facts, int depth)
{
    if (!q || !r || poly_equal(q, d)) return false;
    const poly *room = poly_plus(pr, n, -1);
    if (!prove_not_negative(pr, poly_less(pr, room, r), facts)) return false;
    if (!prove_not_negative(pr, poly_sum(pr, room, r), facts)) return false;
    return never_zero(pr, q, facts, depth + 1) || never_zero(pr, r, facts, depth + 1) ||
           never_zero(pr, poly_less(pr, q, r), facts, LAYERS_MOST) ||
           never_zero(pr, poly_sum(pr, q, r), facts, LAYERS_MOST);
}

/* The terms of d that hold an atom, without it once, and the others. */
static void divide_by_atom(prover *pr, const poly *d, int32_t which, const poly **q, const poly **r)
{
    *q = *r = poly_number(pr, 0);
    for (int32_t i = 0; i < d->n; i++) {
        const poly *one = poly_number(pr, d->t[i].c);
        bool taken = false;
        for (int k = 0; k < TERM_ATOMS && d->t[i].atom[k] >= 0; k++) {
            bool take = !taken && d->t[i].atom[k] == which;
            if (!take) one = poly_product(pr, one, poly_atom(pr, d->t[i].atom[k]));
            taken |= take;
        }
        if (taken)
            *q = poly_sum(pr, *q, one);
        else
            *r = poly_sum(pr, *r, one);
    }
}

static void divide_by_number(prover *pr, const poly *d, int64_t by, const poly **q, const poly **r)
{
    *q = *r = poly_number(pr, 0);
    for (int32_t i = 0; i < d->n; i++) {
        int64_t c = d->t[i].c;
        const poly *one = poly_number(pr, c % by == 0 ? c / by : c);
        for (int k = 0; k < TERM_ATOMS && d->t[i].atom[k] >= 0; k++)
            one = poly_product(pr, one, poly_atom(pr, d->t[i].atom[k]));
        if (c % by == 0)
            *q = poly_sum(pr, *q, one);
        else
            *r = poly_sum(pr, *r, one);
    }
}

/* By each number and by each settled variable that d holds a multiple of. */
static bool in_layers(prover *pr, const poly *d, const fact *facts, int depth)
{
    const poly *q, *r;
    if (depth == LAYERS_MOST || d->n < 2) return false;
    for (int32_t i = 0; i < d->n; i++) {
        int64_t c = llabs(d->t[i].c);
        if (c > 1 && d->t[i].atom[0] >= 0) {
            divide_by_number(pr, d, c, &q, &r);
            if (never_both(pr, d, poly_number(pr, c), q, r, facts, depth)) return true;
        }
        for (int k = 0; k < TERM_ATOMS && d->t[i].atom[k] >= 0; k++) {
            int32_t a = d->t[i].atom[k];
            if (pr->atoms[a].varies || pr->atoms[a].kind == ATOM_STEP) continue;
            divide_by_atom(pr, d, a, &q, &r);
            if (never_both(pr, d, poly_atom(pr, a), q, r, facts, depth)) return true;
        }
    }
    return false;
}

static bool never_zero(prover *pr, const poly *d, const fact *facts, int depth)
{
    if (!d) return false;
    for (const fact *f = facts; f; f = f->next)
        if (f->unequal && (poly_equal(f->p, d) || poly_equal(poly_scaled(pr, f->p, -1), d)))
            return true;
    return never_divides(d) || prove_not_zero(pr, d, facts) || other_remainder(pr, d, facts) ||
           other_entry(pr, d, facts, depth) || in_layers(pr, d, facts, depth);
}

static const fact *twin_facts(pair *w, const fact *f, const fact *next)
{
    for (; f; f = f->next) {
        const poly *p = poly_varies(w->pr, f->p) ? twin(w, f->p) : NULL;
        if (p) next = f->unequal ? fact_unequal(w->pr, next, p) : fact_add(w->pr, next, p);
    }
    return next;
}

/* c * (n / c) <= n where n / c is not negative, and n < c * (n / c) + c where n is not. */
static const fact *division_facts(prover *pr, const fact *facts)
{
    for (int64_t i = 0; i < pr->atoms_n; i++) {
        const atom a = pr->atoms[i];
        int64_t c;
        if (a.kind != ATOM_FUNCTION || a.op != '/' || !poly_is_number(a.b, &c) || c < 2) continue;
        const poly *q = poly_atom(pr, (int32_t)i), *cq = poly_scaled(pr, q, c);
        bool whole = prove_not_negative(pr, a.a, facts);
        if (whole) facts = fact_add(pr, facts, poly_plus(pr, poly_less(pr, cq, a.a), c - 1));
        if (whole || prove_positive(pr, q, facts))
            facts = fact_add(pr, facts, poly_less(pr, a.a, cq));
    }
    return facts;
}

static void begin(test *x, const loop_facts *l, prover *pr, const access *a, const access *b,
                  bool later)
{
    *x = (test){.facts = a->facts};
    x->step = atom_new(pr, &(atom){.kind = ATOM_STEP,
                                   .op = later,
                                   .symbol = -1,
                                   .node = -1,
                                   .of = -1,
                                   .varies = false,
                                   .lo = poly_number(pr, 1)});
    const poly *i = poly_atom(pr, l->iteration),
               *way = poly_product(pr, l->head.stride, poly_atom(pr, x->step));
    pair w = {.l = l,
              .pr = pr,
              .iteration = later ? poly_sum(pr, i, way) : poly_less(pr, i, way),
              .later = later};
    x->facts = twin_facts(&w, b->facts, x->facts);
    x->facts = fact_add(pr, x->facts, poly_less(pr, l->head.hi, w.iteration));
    x->facts = fact_add(pr, x->facts, poly_less(pr, w.iteration, l->head.lo));
    if (l->head.stride) { /* a symbolic step goes where the test says */
        const poly *size = l->head.down ? poly_scaled(pr, l->head.stride, -1) : l->head.stride;
        x->facts = fact_add(pr, x->facts, poly_plus(pr, size, -1));
    }
    x->facts = division_facts(pr, x->facts);
    int32_t n = a->place.n < b->place.n ? a->place.n : b->place.n;
    for (int32_t k = 0; k < n; k++) {
        const place_step *p = &a->place.step[k], *q = &b->place.step[k];
        if (p->field != STEP_INDEX || q->field != STEP_INDEX) continue;
        x->difference[x->n++] = poly_less(pr, p->index, twin(&w, q->index));
    }
}

static bool apart(const loop_facts *l, prover *pr, const access *a, const access *b, bool later)
{
    test x;
    begin(&x, l, pr, a, b, later);
    for (int32_t k = 0; k < x.n; k++)
        if (never_zero(pr, x.difference[k], x.facts, 0)) return true;
    for (int32_t k = 1; k < x.n; k++) { /* a[i][j] and a[j][i]: both 0 would be their sum 0 */
        const poly *p = x.difference[k - 1], *q = x.difference[k];
        if (never_zero(pr, poly_sum(pr, p, q), x.facts, 0) ||
            never_zero(pr, poly_less(pr, p, q), x.facts, 0))
            return true;
    }
    return false;
}

bool places_gap(gap *out, const loop_facts *l, prover *pr, const access *a, const access *b,
                bool later)
{
    test x;
    begin(&x, l, pr, a, b, later);
    for (int32_t k = 0; k < x.n; k++) {
        const poly *factor, *rest;
        int64_t c;
        if (!poly_split(pr, x.difference[k], x.step, &factor, &rest)) continue;
        if (poly_is_number(factor, &c) ? c == 0 : poly_varies(pr, factor)) continue;
        if (poly_has(rest, l->iteration)) continue;
        bool turn = poly_is_number(factor, &c) ? c < 0 : factor->n > 0 && factor->t[0].c < 0;
        *out = (gap){.factor = turn ? poly_scaled(pr, factor, -1) : factor,
                     .rest = turn ? rest : poly_scaled(pr, rest, -1),
                     .facts = x.facts};
        return true;
    }
    return false;
}

/* ---- do they surely meet? -----------------------------------------------------------------------
 */

/* An inner loop's variable in the other iteration may well be what it is in this one, `off` away.
 */
static const poly *with_inner(prover *pr, const poly *d, const int off[INNER_MOST])
{
    int used = 0;
    for (int64_t i = 0; i < pr->atoms_n && d; i++) {
        if (pr->atoms[i].kind != ATOM_TWIN || !poly_has(d, (int32_t)i)) continue;
        const atom *of = &pr->atoms[pr->atoms[i].of];
        if (of->kind != ATOM_INNER || used == INNER_MOST) return NULL;
        if (poly_varies(pr, of->lo) || poly_varies(pr, of->hi)) return NULL; /* NULL bounds vary */
        d = poly_put(pr, d, (int32_t)i, poly_plus(pr, poly_atom(pr, pr->atoms[i].of), off[used++]));
    }
    return d;
}

/* How many iterations apart all differences are 0 with these offsets: 0 if never. */
static int64_t meets(prover *pr, const test *x, const int off[INNER_MOST])
{
    int64_t at = 0, c, zero;
    for (int32_t k = 0; k < x->n; k++) {
        const poly *d = with_inner(pr, x->difference[k], off), *factor, *rest;
        if (!d) return 0;
        if (poly_is_number(d, &zero)) {
            if (zero != 0) return 0;
            continue;
        }
        if (!poly_split(pr, d, x->step, &factor, &rest)) return 0;
        if (!poly_is_number(factor, &c) || !poly_is_number(rest, &zero) || c == 0) return 0;
        if (zero % c != 0 || -zero / c < 1) return 0;
        if (at != 0 && at != -zero / c) return 0;
        at = -zero / c;
    }
    return at == 0 ? 1 : at;
}

static bool within_range(const loop_facts *l, prover *pr, int64_t at)
{
    int64_t width, stride;
    const poly *w = poly_less(pr, l->head.hi, l->head.lo);
    if (!poly_is_number(w, &width) || !poly_is_number(l->head.stride, &stride)) return true;
    return at * llabs(stride) <= width;
}

static int64_t surely(const loop_facts *l, prover *pr, const access *a, const access *b, bool later)
{
    static const int offs[][INNER_MOST] = {{0, 0, 0},  {1, 0, 0}, {-1, 0, 0}, {0, 1, 0},
                                           {0, -1, 0}, {2, 0, 0}, {-2, 0, 0}};
    test x;
    begin(&x, l, pr, a, b, later);
    for (size_t k = 0; k < sizeof offs / sizeof *offs; k++) {
        int64_t at = meets(pr, &x, offs[k]);
        if (at > 0 && at <= STEPS_TRIED * 1024 && within_range(l, pr, at)) return at;
    }
    return 0;
}

/* ---- both ---------------------------------------------------------------------------------------
 */

/* Fields of a record that are not the same are apart, unless it is a union. */
static bool other_field(const hpc_tree *t, const place *a, const place *b)
{
    for (int32_t k = 0; k < a->n && k < b->n; k++) {
        int32_t x = a->step[k].field, y = b->step[k].field;
        if (x == y) continue;
        return x >= 0 && y >= 0 && !field_in_union(t, x) && !field_in_union(t, y);
    }
    return false;
}

/* True if two accesses do not overlap under the assumption, which is recorded, that arrays of row
 * offsets never decrease. */
static bool apart_in_rows(const loop_facts *l, prover *pr, answer *assumed, const access *a,
                          const access *b)
{
    pr->rises_n = 0;
    pr->rising = true;
    bool ok = apart(l, pr, a, b, true) && apart(l, pr, a, b, false);
    pr->rising = false;
    for (int32_t i = 0; i < pr->rises_n && ok; i++) {
        hpc_buf text = {0};
        place of = *pr->rises[i];
        of.n--;
        hpc_buf_text(&text, "the values of ");
        place_text(&text, pr, l->p, &of);
        hpc_buf_text(&text, " never decrease");
        if (!text.failed) answer_assume(assumed, text.data, NULL);
        hpc_buf_release(&text);
    }
    return ok;
}

meeting places_meet(int64_t *apart_by, const loop_facts *l, prover *pr, answer *assumed,
                    const access *a, const access *b)
{
    *apart_by = 0;
    if (other_field(l->p->t, &a->place, &b->place)) return MEETING_NEVER;
    if (apart(l, pr, a, b, true) && apart(l, pr, a, b, false)) return MEETING_NEVER;
    if (apart_in_rows(l, pr, assumed, a, b)) return MEETING_NEVER;
    int64_t later = surely(l, pr, a, b, true), earlier = later ? 0 : surely(l, pr, a, b, false);
    *apart_by = later ? later : earlier;
    return *apart_by ? MEETING_SURE : MEETING_MAYBE;
}

bool apart_if_distinct(const loop_facts *l, prover *pr, const access *a, const access *b)
{
    pr->distinct_n = 0;
    pr->distinct = true;
    bool ok = apart(l, pr, a, b, true) && apart(l, pr, a, b, false);
    pr->distinct = false;
    return ok && pr->distinct_n > 0;
}

bool apart_if_limited(const loop_facts *l, prover *pr, const access *a, const access *b)
{
    pr->limits_n = 0;
    pr->limited = true;
    bool ok = apart(l, pr, a, b, true) && apart(l, pr, a, b, false);
    pr->limited = false;
    return ok && pr->limits_n > 0;
}
