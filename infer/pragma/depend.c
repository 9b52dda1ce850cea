/*
 * depend.c: does what one iteration does at a place meet what another does at a second one? The
 * second is written with the variables of the other iteration, `step` iterations later or earlier,
 * and for each index the difference is proven never to be 0: by its sign, or because what it is a
 * multiple of does not divide its constant part.
 */
#include <stdlib.h>
#include <string.h>

#include "infer/pragma/memory.h"

enum { STEPS_TRIED = 64, INNER_MOST = 3, LAYERS_MOST = 4 };

typedef struct pair { /* the other iteration */
    study *s;
    const poly *iteration; /* its variable */
    bool later;
    int depth;
} pair;

static const poly *twin(pair *w, const poly *p);
static const fact *twin_facts(pair *w, const fact *f, const fact *next);

static bool twin_place(pair *w, place *out, const place *p);

static const poly *twin_atom(pair *w, int32_t i)
{
    study *s = w->s;
    atom a = s->prover->atoms[i];
    place p;
    if (!a.varies) return poly_atom(s->prover, i);
    if (++w->depth > 200) return NULL;
    switch (a.kind) {
    case ATOM_ITERATION: return w->iteration;
    case ATOM_FUNCTION:
        return poly_atom(s->prover,
                         atom_function(s->prover, a.op, twin(w, a.a), twin(w, a.b), s->facts));
    case ATOM_LOAD:
        if (!twin_place(w, &p, a.place)) return NULL;
        return poly_atom(s->prover, atom_load(s->prover, &p));
    case ATOM_POINT:
        if (!twin_place(w, &p, a.place)) return NULL;
        return poly_atom(s->prover, atom_point(s->prover, &p));
    case ATOM_CHOICE:
        return poly_atom(s->prover,
                         atom_choice(s->prover, &(atom){.op = 1 + w->later,
                                                        .of = a.of,
                                                        .a = twin(w, a.a),
                                                        .b = twin(w, a.b),
                                                        .yes = twin_facts(w, a.yes, NULL),
                                                        .no = twin_facts(w, a.no, NULL)}));
    case ATOM_SIZE:
        if (!twin_place(w, &p, a.place)) return NULL;
        return poly_atom(s->prover, atom_size(s->prover, &p));
    default: {
        const poly *lo = a.lo ? twin(w, a.lo) : NULL, *hi = a.hi ? twin(w, a.hi) : NULL;
        return poly_atom(s->prover, atom_new(s->prover, &(atom){.kind = ATOM_TWIN,
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
    study *s = w->s;
    if (!p) return NULL;
    const poly *out = poly_number(s->prover, 0);
    for (int32_t i = 0; i < p->n; i++) {
        const poly *one = poly_number(s->prover, p->t[i].c);
        for (int k = 0; k < TERM_ATOMS && p->t[i].atom[k] >= 0; k++)
            one = poly_product(s->prover, one, twin_atom(w, p->t[i].atom[k]));
        out = poly_sum(s->prover, out, one);
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
static bool other_remainder(study *s, const poly *d, const fact *facts)
{
    if (d->n != 2 || d->t[0].c != -d->t[1].c || llabs(d->t[0].c) != 1) return false;
    int32_t i = d->t[0].atom[0], k = d->t[1].atom[0];
    if (i < 0 || k < 0 || d->t[0].atom[1] >= 0 || d->t[1].atom[1] >= 0) return false;
    const atom a = s->prover->atoms[i], b = s->prover->atoms[k];
    if (a.kind != ATOM_FUNCTION || b.kind != ATOM_FUNCTION || a.op != '%' || b.op != '%')
        return false;
    if (!poly_equal(a.b, b.b)) return false;
    for (int turn = 0; turn < 2; turn++) {
        const poly *between =
            turn ? poly_less(s->prover, b.a, a.a) : poly_less(s->prover, a.a, b.a);
        if (prove_positive(s->prover, between, facts) &&
            prove_positive(s->prover, poly_less(s->prover, a.b, between), facts))
            return true;
    }
    return false;
}

static bool never_zero(study *s, const poly *d, const fact *facts, int depth);

/* d = n * q + r, with |r| < n: it is 0 only if both q and r are. So a[j * n + i] tells j and i
 * apart where 0 <= i < n, whichever of them the loop counts. */
static bool never_both(study *s, const poly *d, const poly *n, const poly *q, const poly *r,
                       const fact *facts, int depth)
{
    if (!q || !r || poly_equal(q, d)) return false;
    const poly *room = poly_plus(s->prover, n, -1);
    if (!prove_not_negative(s->prover, poly_less(s->prover, room, r), facts)) return false;
    if (!prove_not_negative(s->prover, poly_sum(s->prover, room, r), facts)) return false;
    return never_zero(s, q, facts, depth + 1) || never_zero(s, r, facts, depth + 1) ||
           never_zero(s, poly_less(s->prover, q, r), facts, LAYERS_MOST) ||
           never_zero(s, poly_sum(s->prover, q, r), facts, LAYERS_MOST);
}

/* The terms of d that hold an atom, without it once, and the others. */
static void divide_by_atom(study *s, const poly *d, int32_t which, const poly **q, const poly **r)
{
    *q = *r = poly_number(s->prover, 0);
    for (int32_t i = 0; i < d->n; i++) {
        const poly *one = poly_number(s->prover, d->t[i].c);
        bool taken = false;
        for (int k = 0; k < TERM_ATOMS && d->t[i].atom[k] >= 0; k++) {
            bool take = !taken && d->t[i].atom[k] == which;
            if (!take) one = poly_product(s->prover, one, poly_atom(s->prover, d->t[i].atom[k]));
            taken |= take;
        }
        if (taken)
            *q = poly_sum(s->prover, *q, one);
        else
            *r = poly_sum(s->prover, *r, one);
    }
}

static void divide_by_number(study *s, const poly *d, int64_t by, const poly **q, const poly **r)
{
    *q = *r = poly_number(s->prover, 0);
    for (int32_t i = 0; i < d->n; i++) {
        int64_t c = d->t[i].c;
        const poly *one = poly_number(s->prover, c % by == 0 ? c / by : c);
        for (int k = 0; k < TERM_ATOMS && d->t[i].atom[k] >= 0; k++)
            one = poly_product(s->prover, one, poly_atom(s->prover, d->t[i].atom[k]));
        if (c % by == 0)
            *q = poly_sum(s->prover, *q, one);
        else
            *r = poly_sum(s->prover, *r, one);
    }
}

/* By each number and by each settled variable that d holds a multiple of. */
static bool in_layers(study *s, const poly *d, const fact *facts, int depth)
{
    const poly *q, *r;
    if (depth == LAYERS_MOST || d->n < 2) return false;
    for (int32_t i = 0; i < d->n; i++) {
        int64_t c = llabs(d->t[i].c);
        if (c > 1 && d->t[i].atom[0] >= 0) {
            divide_by_number(s, d, c, &q, &r);
            if (never_both(s, d, poly_number(s->prover, c), q, r, facts, depth)) return true;
        }
        for (int k = 0; k < TERM_ATOMS && d->t[i].atom[k] >= 0; k++) {
            int32_t a = d->t[i].atom[k];
            if (s->prover->atoms[a].varies || s->prover->atoms[a].kind == ATOM_STEP) continue;
            divide_by_atom(s, d, a, &q, &r);
            if (never_both(s, d, poly_atom(s->prover, a), q, r, facts, depth)) return true;
        }
    }
    return false;
}

static bool never_zero(study *s, const poly *d, const fact *facts, int depth)
{
    if (!d) return false;
    for (const fact *f = facts; f; f = f->next)
        if (f->unequal && (poly_equal(f->p, d) || poly_equal(poly_scaled(s->prover, f->p, -1), d)))
            return true;
    return never_divides(d) || prove_not_zero(s->prover, d, facts) ||
           other_remainder(s, d, facts) || in_layers(s, d, facts, depth);
}

static const fact *twin_facts(pair *w, const fact *f, const fact *next)
{
    for (; f; f = f->next) {
        const poly *p = poly_varies(w->s->prover, f->p) ? twin(w, f->p) : NULL;
        if (p)
            next =
                f->unequal ? fact_unequal(w->s->prover, next, p) : fact_add(w->s->prover, next, p);
    }
    return next;
}

/* c * (n / c) <= n where n / c is not negative, and n < c * (n / c) + c where n is not. */
static const fact *division_facts(study *s, const fact *facts)
{
    for (int64_t i = 0; i < s->prover->atoms_n; i++) {
        const atom a = s->prover->atoms[i];
        int64_t c;
        if (a.kind != ATOM_FUNCTION || a.op != '/' || !poly_is_number(a.b, &c) || c < 2) continue;
        const poly *q = poly_atom(s->prover, (int32_t)i), *cq = poly_scaled(s->prover, q, c);
        bool whole = prove_not_negative(s->prover, a.a, facts);
        if (whole)
            facts = fact_add(s->prover, facts,
                             poly_plus(s->prover, poly_less(s->prover, cq, a.a), c - 1));
        if (whole || prove_positive(s->prover, q, facts))
            facts = fact_add(s->prover, facts, poly_less(s->prover, a.a, cq));
    }
    return facts;
}

static void begin(test *x, study *s, const access *a, const access *b, bool later)
{
    *x = (test){.facts = a->facts};
    x->step = atom_new(s->prover, &(atom){.kind = ATOM_STEP,
                                          .op = later,
                                          .symbol = -1,
                                          .node = -1,
                                          .of = -1,
                                          .varies = false,
                                          .lo = poly_number(s->prover, 1)});
    const poly *i = poly_atom(s->prover, s->iteration),
               *way = poly_product(s->prover, s->head.stride, poly_atom(s->prover, x->step));
    pair w = {.s = s,
              .iteration = later ? poly_sum(s->prover, i, way) : poly_less(s->prover, i, way),
              .later = later};
    x->facts = twin_facts(&w, b->facts, x->facts);
    x->facts = fact_add(s->prover, x->facts, poly_less(s->prover, s->head.hi, w.iteration));
    x->facts = fact_add(s->prover, x->facts, poly_less(s->prover, w.iteration, s->head.lo));
    if (s->head.stride) { /* a symbolic step goes where the test says */
        const poly *size =
            s->head.down ? poly_scaled(s->prover, s->head.stride, -1) : s->head.stride;
        x->facts = fact_add(s->prover, x->facts, poly_plus(s->prover, size, -1));
    }
    x->facts = division_facts(s, x->facts);
    int32_t n = a->place.n < b->place.n ? a->place.n : b->place.n;
    for (int32_t k = 0; k < n; k++) {
        const place_step *p = &a->place.step[k], *q = &b->place.step[k];
        if (p->field != STEP_INDEX || q->field != STEP_INDEX) continue;
        x->difference[x->n++] = poly_less(s->prover, p->index, twin(&w, q->index));
    }
}

static bool apart(study *s, const access *a, const access *b, bool later)
{
    test x;
    begin(&x, s, a, b, later);
    for (int32_t k = 0; k < x.n; k++)
        if (never_zero(s, x.difference[k], x.facts, 0)) return true;
    for (int32_t k = 1; k < x.n; k++) { /* a[i][j] and a[j][i]: both 0 would be their sum 0 */
        const poly *p = x.difference[k - 1], *q = x.difference[k];
        if (never_zero(s, poly_sum(s->prover, p, q), x.facts, 0) ||
            never_zero(s, poly_less(s->prover, p, q), x.facts, 0))
            return true;
    }
    return false;
}

bool places_gap(gap *out, study *s, const access *a, const access *b, bool later)
{
    test x;
    begin(&x, s, a, b, later);
    for (int32_t k = 0; k < x.n; k++) {
        const poly *factor, *rest;
        int64_t c;
        if (!poly_split(s->prover, x.difference[k], x.step, &factor, &rest)) continue;
        if (poly_is_number(factor, &c) ? c == 0 : poly_varies(s->prover, factor)) continue;
        if (poly_has(rest, s->iteration)) continue;
        bool turn = poly_is_number(factor, &c) ? c < 0 : factor->n > 0 && factor->t[0].c < 0;
        *out = (gap){.factor = turn ? poly_scaled(s->prover, factor, -1) : factor,
                     .rest = turn ? rest : poly_scaled(s->prover, rest, -1),
                     .facts = x.facts};
        return true;
    }
    return false;
}

/* ---- do they surely meet? -----------------------------------------------------------------------
 */

/* An inner loop's variable in the other iteration may well be what it is in this one, `off` away.
 */
static const poly *with_inner(study *s, const poly *d, const int off[INNER_MOST])
{
    int used = 0;
    for (int64_t i = 0; i < s->prover->atoms_n && d; i++) {
        if (s->prover->atoms[i].kind != ATOM_TWIN || !poly_has(d, (int32_t)i)) continue;
        const atom *of = &s->prover->atoms[s->prover->atoms[i].of];
        if (of->kind != ATOM_INNER || used == INNER_MOST) return NULL;
        if (poly_varies(s->prover, of->lo) || poly_varies(s->prover, of->hi))
            return NULL; /* NULL bounds vary */
        d = poly_put(
            s->prover, d, (int32_t)i,
            poly_plus(s->prover, poly_atom(s->prover, s->prover->atoms[i].of), off[used++]));
    }
    return d;
}

/* How many iterations apart all differences are 0 with these offsets: 0 if never. */
static int64_t meets(study *s, const test *x, const int off[INNER_MOST])
{
    int64_t at = 0, c, zero;
    for (int32_t k = 0; k < x->n; k++) {
        const poly *d = with_inner(s, x->difference[k], off), *factor, *rest;
        if (!d) return 0;
        if (poly_is_number(d, &zero)) {
            if (zero != 0) return 0;
            continue;
        }
        if (!poly_split(s->prover, d, x->step, &factor, &rest)) return 0;
        if (!poly_is_number(factor, &c) || !poly_is_number(rest, &zero) || c == 0) return 0;
        if (zero % c != 0 || -zero / c < 1) return 0;
        if (at != 0 && at != -zero / c) return 0;
        at = -zero / c;
    }
    return at == 0 ? 1 : at;
}

static bool within_range(study *s, int64_t at)
{
    int64_t width, stride;
    const poly *w = poly_less(s->prover, s->head.hi, s->head.lo);
    if (!poly_is_number(w, &width) || !poly_is_number(s->head.stride, &stride)) return true;
    return at * llabs(stride) <= width;
}

static int64_t surely(study *s, const access *a, const access *b, bool later)
{
    static const int offs[][INNER_MOST] = {{0, 0, 0},  {1, 0, 0}, {-1, 0, 0}, {0, 1, 0},
                                           {0, -1, 0}, {2, 0, 0}, {-2, 0, 0}};
    test x;
    begin(&x, s, a, b, later);
    for (size_t k = 0; k < sizeof offs / sizeof *offs; k++) {
        int64_t at = meets(s, &x, offs[k]);
        if (at > 0 && at <= STEPS_TRIED * 1024 && within_range(s, at)) return at;
    }
    return 0;
}

/* ---- both ---------------------------------------------------------------------------------------
 */

bool field_in_union(const study *s, int32_t field)
{
    const hpc_tree *t = s->t;
    const char *of = t->name + t->symbol[field].scope;
    for (int64_t i = 0; i < t->types_n; i++) {
        const char *name = t->name + t->type[i].name;
        if (!(t->type[i].flags & HPC_TYPE_UNION)) continue;
        if (of[0] == '\0' || strcmp(of, name) == 0 || strchr(name, '(')) return true;
    }
    return false;
}

/* Fields of a record that are not the same are apart, unless it is a union. */
static bool other_field(const study *s, const place *a, const place *b)
{
    for (int32_t k = 0; k < a->n && k < b->n; k++) {
        int32_t x = a->step[k].field, y = b->step[k].field;
        if (x == y) continue;
        return x >= 0 && y >= 0 && !field_in_union(s, x) && !field_in_union(s, y);
    }
    return false;
}

/* Whether they are apart if arrays that say where rows begin never decrease, which is assumed. */
static bool apart_in_rows(study *s, const access *a, const access *b)
{
    s->prover->rises_n = 0;
    s->prover->rising = true;
    bool ok = apart(s, a, b, true) && apart(s, a, b, false);
    s->prover->rising = false;
    for (int32_t i = 0; i < s->prover->rises_n && ok; i++) {
        hpc_buf text = {0};
        place of = *s->prover->rises[i];
        of.n--;
        hpc_buf_text(&text, "the values of ");
        place_text(&text, s->prover, s->program, &of);
        hpc_buf_text(&text, " never decrease");
        if (!text.failed) answer_assume(s->answer, text.data, NULL);
        hpc_buf_release(&text);
    }
    return ok;
}

meeting places_meet(int64_t *apart_by, study *s, const access *a, const access *b)
{
    *apart_by = 0;
    if (other_field(s, &a->place, &b->place)) return MEETING_NEVER;
    if (apart(s, a, b, true) && apart(s, a, b, false)) return MEETING_NEVER;
    if (apart_in_rows(s, a, b)) return MEETING_NEVER;
    int64_t later = surely(s, a, b, true), earlier = later ? 0 : surely(s, a, b, false);
    *apart_by = later ? later : earlier;
    return *apart_by ? MEETING_SURE : MEETING_MAYBE;
}
