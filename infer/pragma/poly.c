/*
 * poly.c: arithmetic on polynomials of atoms. A result that has too many terms, or that might
 * overflow, is NULL: an unknown number, which is always safe.
 */
#include <stdlib.h>
#include <string.h>

#include "infer/pragma/prover.h"

enum { COEFFICIENT_MOST = 1 << 30 };

static poly *poly_make(prover *pr, int32_t n)
{
    poly *p = hpc_arena_alloc(pr->arena, 1, sizeof *p + (size_t)n * sizeof p->t[0]);
    if (!p) pr->rc = HPC_E_NOMEM;
    return p;
}

static bool fits(int64_t c)
{
    return c <= ((int64_t)COEFFICIENT_MOST << 24) && c >= -((int64_t)COEFFICIENT_MOST << 24);
}

const poly *poly_number(prover *pr, int64_t c)
{
    static const int32_t none[TERM_ATOMS] = {-1, -1, -1, -1};
    poly *p = fits(c) ? poly_make(pr, c != 0) : NULL;
    if (p && c != 0) {
        p->n = 1;
        p->t[0].c = c;
        memcpy(p->t[0].atom, none, sizeof none);
    }
    return p;
}

const poly *poly_atom(prover *pr, int32_t which)
{
    poly *p = which < 0 ? NULL : poly_make(pr, 1);
    if (p) {
        p->n = 1;
        p->t[0] = (term){.c = 1, .atom = {which, -1, -1, -1}};
    }
    return p;
}

/* The order of terms: by atoms, those with none first. */
static int compare(const term *a, const term *b)
{
    for (int k = 0; k < TERM_ATOMS; k++)
        if (a->atom[k] != b->atom[k]) return a->atom[k] < b->atom[k] ? -1 : 1;
    return 0;
}

static const poly *combine(prover *pr, const poly *a, const poly *b, int64_t sign)
{
    if (!a || !b) return NULL;
    term out[2 * POLY_TERMS];
    int32_t n = 0, i = 0, j = 0;
    while (i < a->n || j < b->n) {
        int order = i == a->n ? 1 : j == b->n ? -1 : compare(&a->t[i], &b->t[j]);
        term t = order <= 0 ? a->t[i] : b->t[j];
        if (order > 0) t.c *= sign;
        if (order == 0) t.c += sign * b->t[j].c;
        i += order <= 0;
        j += order >= 0;
        if (!fits(t.c)) return NULL;
        if (t.c != 0) out[n++] = t;
    }
    if (n > POLY_TERMS) return NULL;
    poly *p = poly_make(pr, n);
    if (!p) return NULL;
    p->n = n;
    memcpy(p->t, out, (size_t)n * sizeof *out);
    return p;
}

const poly *poly_sum(prover *pr, const poly *a, const poly *b)
{
    return combine(pr, a, b, 1);
}

const poly *poly_less(prover *pr, const poly *a, const poly *b)
{
    return combine(pr, a, b, -1);
}

const poly *poly_plus(prover *pr, const poly *a, int64_t c)
{
    return c == 0 ? a : poly_sum(pr, a, poly_number(pr, c));
}

/* The product of two terms; false when it has too many atoms. */
static bool times(term *out, const term *a, const term *b)
{
    int n = 0, i = 0, j = 0;
    if (a->c > COEFFICIENT_MOST || a->c < -COEFFICIENT_MOST || b->c > COEFFICIENT_MOST ||
        b->c < -COEFFICIENT_MOST)
        return false;
    *out = (term){.c = a->c * b->c, .atom = {-1, -1, -1, -1}};
    for (;;) {
        bool more_a = i < TERM_ATOMS && a->atom[i] >= 0, more_b = j < TERM_ATOMS && b->atom[j] >= 0;
        if (!more_a && !more_b) return true;
        if (n == TERM_ATOMS) return false;
        bool take_a = more_a && (!more_b || a->atom[i] <= b->atom[j]);
        out->atom[n++] = take_a ? a->atom[i++] : b->atom[j++];
    }
}

/* The order of the terms stays. */
static const poly *scaled(prover *pr, const poly *a, int64_t c)
{
    if (c == 0) return poly_number(pr, 0);
    poly *p = poly_make(pr, a->n);
    if (!p) return NULL;
    p->n = a->n;
    for (int32_t i = 0; i < a->n; i++) {
        p->t[i] = a->t[i];
        if (llabs(a->t[i].c) > COEFFICIENT_MOST) return NULL;
        p->t[i].c *= c;
        if (!fits(p->t[i].c)) return NULL;
    }
    return p;
}

const poly *poly_product(prover *pr, const poly *a, const poly *b)
{
    int64_t c;
    if (!a || !b) return NULL;
    if (poly_is_number(a, &c) && llabs(c) <= COEFFICIENT_MOST) return scaled(pr, b, c);
    if (poly_is_number(b, &c) && llabs(c) <= COEFFICIENT_MOST) return scaled(pr, a, c);
    const poly *sum = poly_number(pr, 0);
    poly *one = poly_make(pr, 1);
    if (!one) return NULL;
    one->n = 1;
    for (int32_t i = 0; i < a->n; i++)
        for (int32_t j = 0; j < b->n; j++) {
            if (!times(&one->t[0], &a->t[i], &b->t[j])) return NULL;
            sum = poly_sum(pr, sum, one);
        }
    return sum;
}

const poly *poly_scaled(prover *pr, const poly *a, int64_t c)
{
    return poly_product(pr, a, poly_number(pr, c));
}

bool poly_equal(const poly *a, const poly *b)
{
    if (!a || !b || a->n != b->n) return false;
    for (int32_t i = 0; i < a->n; i++)
        if (a->t[i].c != b->t[i].c || compare(&a->t[i], &b->t[i]) != 0) return false;
    return true;
}

bool poly_is_number(const poly *a, int64_t *c)
{
    if (!a || a->n > 1 || (a->n == 1 && a->t[0].atom[0] >= 0)) return false;
    *c = a->n ? a->t[0].c : 0;
    return true;
}

/* Terms without atoms come first. */
bool poly_differ_by(const poly *a, const poly *b, int64_t *c)
{
    int32_t i = a->n > 0 && a->t[0].atom[0]<0, k = b->n> 0 && b->t[0].atom[0] < 0;
    if (a->n - i != b->n - k) return false;
    *c = (i ? a->t[0].c : 0) - (k ? b->t[0].c : 0);
    for (; i < a->n; i++, k++)
        if (a->t[i].c != b->t[k].c || compare(&a->t[i], &b->t[k]) != 0) return false;
    return true;
}

static int power(const term *t, int32_t which)
{
    int n = 0;
    for (int k = 0; k < TERM_ATOMS; k++) n += t->atom[k] == which;
    return n;
}

bool poly_has(const poly *a, int32_t which)
{
    for (int32_t i = 0; a && i < a->n; i++)
        if (power(&a->t[i], which)) return true;
    return false;
}

/* A term divided by one of its atoms. */
static term without(const term *t, int32_t which)
{
    term out = {.c = t->c, .atom = {-1, -1, -1, -1}};
    bool gone = false;
    for (int k = 0, n = 0; k < TERM_ATOMS; k++) {
        if (t->atom[k] == which && !gone)
            gone = true;
        else
            out.atom[n++] = t->atom[k];
    }
    return out;
}

bool poly_split(prover *pr, const poly *a, int32_t which, const poly **c, const poly **rest)
{
    if (!a) return false;
    const poly *factor = poly_number(pr, 0), *others = factor;
    for (int32_t i = 0; i < a->n; i++) {
        int n = power(&a->t[i], which);
        poly *one = poly_make(pr, 1);
        if (n > 1 || !one) return false;
        one->n = 1;
        one->t[0] = n ? without(&a->t[i], which) : a->t[i];
        if (n)
            factor = poly_sum(pr, factor, one);
        else
            others = poly_sum(pr, others, one);
    }
    *c = factor;
    *rest = others;
    return factor && others;
}

const poly *poly_put(prover *pr, const poly *a, int32_t which, const poly *value)
{
    if (!a || !poly_has(a, which)) return a;
    if (!value) return NULL;
    const poly *sum = poly_number(pr, 0);
    for (int32_t i = 0; i < a->n; i++) {
        int n = power(&a->t[i], which);
        poly *one = poly_make(pr, 1);
        if (!one) return NULL;
        one->n = 1;
        one->t[0] = a->t[i];
        for (int k = 0; k < n; k++) one->t[0] = without(&one->t[0], which);
        const poly *product = one;
        for (int k = 0; k < n; k++) product = poly_product(pr, product, value);
        sum = poly_sum(pr, sum, product);
    }
    return sum;
}

/* ---- places ---- */

bool place_equal(const place *a, const place *b)
{
    if (a->base < 0 || a->base != b->base || a->n != b->n) return false;
    for (int32_t k = 0; k < a->n; k++) {
        if (a->step[k].field != b->step[k].field) return false;
        if (a->step[k].field == STEP_INDEX && !poly_equal(a->step[k].index, b->step[k].index))
            return false;
    }
    return true;
}
