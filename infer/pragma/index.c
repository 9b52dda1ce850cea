/*
 * index.c: assumptions about numbers under which two indices differ: one is large enough, or not 0.
 */
#include <string.h>

#include "infer/pragma/memory.h"
#include "infer/pragma/spell.h"

/* A condition, for people and as a check. */
typedef struct condition {
    hpc_buf text;
    spelling check;
} condition;

static void condition_add(condition *c, const char *text)
{
    hpc_buf_text(&c->text, text);
    hpc_buf_text(&c->check.text, text);
}

static void compare(condition *c, const poly *a, const char *op, const poly *b)
{
    poly_text(&c->text, c->check.w->prover, c->check.w->loop->p, a);
    hpc_buf_printf(&c->text, " %s ", op);
    poly_text(&c->text, c->check.w->prover, c->check.w->loop->p, b);
    spell_compare(&c->check, a, op, b);
}

static void condition_release(condition *c)
{
    hpc_buf_release(&c->text);
    hpc_buf_release(&c->check.text);
}

/* "ld >= n", put together from a coefficient and the range of the rest. */
static void at_least(condition *c, const poly *factor, const poly *least)
{
    if (c->text.n) condition_add(c, " && ");
    compare(c, factor, ">=", least);
}

/* |rest| is less than the factor: "ld >= n && ld >= m". False when that cannot be, or is known
 * already. */
static bool wider_than(condition *c, walk *w, const gap *g, const poly *least, const poly *most)
{
    const poly *factor = g->factor, *high = poly_plus(w->prover, most, 1),
               *low = poly_plus(w->prover, poly_scaled(w->prover, least, -1), 1);
    bool above = prove_not_negative(w->prover, poly_less(w->prover, factor, high), g->facts),
         below = prove_not_negative(w->prover, poly_less(w->prover, factor, low), g->facts);
    if (prove_positive(w->prover, poly_less(w->prover, high, factor), g->facts)) return false;
    if (prove_positive(w->prover, poly_less(w->prover, low, factor), g->facts)) return false;
    if (!above) at_least(c, factor, high);
    if (!below && (above || !poly_equal(high, low))) at_least(c, factor, low);
    return !above || !below;
}

/* The rest is 0, or beyond all iterations: "k == 0 || k > n - 1 || -k > n - 1". */
static bool out_of_reach(condition *c, walk *w, const gap *g, const poly *rest, const poly *span)
{
    const poly *less = poly_scaled(w->prover, rest, -1);
    bool within = prove_not_negative(w->prover, poly_less(w->prover, span, rest), g->facts) &&
                  prove_not_negative(w->prover, poly_sum(w->prover, span, rest), g->facts);
    if (within || poly_varies(w->prover, span)) return false;
    compare(c, rest, "==", poly_number(w->prover, 0));
    if (!prove_not_negative(w->prover, less, g->facts)) {
        condition_add(c, " || ");
        compare(c, rest, ">", span);
    }
    if (!prove_not_negative(w->prover, rest, g->facts)) {
        condition_add(c, " || ");
        compare(c, less, ">", span);
    }
    return true;
}

/* The indices are c * (iterations apart) - rest: they differ if |c| is more than |rest| can be.
 * With a number for c: if rest is 0, or more than all iterations span. */
static bool index_condition(condition *c, walk *w, const gap *g)
{
    int64_t number, zero;
    const poly *least = poly_extreme(w->prover, g->rest, false, g->facts),
               *most = poly_extreme(w->prover, g->rest, true, g->facts);
    if (!least || !most) return false;
    if (!poly_is_number(g->factor, &number)) {
        bool none =
            poly_is_number(least, &zero) && zero == 0 && poly_is_number(most, &zero) && zero == 0;
        if (none) {
            compare(c, g->factor, "!=", poly_number(w->prover, 0));
            return true;
        }
        return wider_than(c, w, g, least, most);
    }
    const poly *span = poly_less(w->prover, w->loop->head.hi, w->loop->head.lo);
    return span && poly_equal(least, most) && out_of_reach(c, w, g, least, span);
}

bool assume_index(walk *w, const access *a, const access *b)
{
    gap g[2]; /* one for each direction */
    condition c = {.check = {.w = w, .wide = true}};
    bool ok = places_gap(&g[0], w->loop, w->prover, a, b, true) && index_condition(&c, w, &g[0]);
    if (ok) {
        int64_t factor;
        condition other = {.check = {.w = w, .wide = true}};
        ok =
            places_gap(&g[1], w->loop, w->prover, a, b, false) && index_condition(&other, w, &g[1]);
        bool number = poly_is_number(g[0].factor, &factor); /* says the same of both */
        if (ok && !number && strcmp(c.text.data, other.text.data) != 0) {
            condition_add(&c, " && ");
            hpc_buf_text(&c.text, other.text.data);
            hpc_buf_text(&c.check.text, other.check.text.data);
            c.check.failed |= other.check.failed;
            c.check.runs |= other.check.runs;
        }
        condition_release(&other);
    }
    if (ok && !c.text.failed) {
        answer_assume(w->answer, c.text.data, spelled(&c.check));
    }
    condition_release(&c);
    return ok;
}
