/*
 * index.c: what must be assumed of numbers so that two indices differ: that one is large enough, or
 * not 0.
 */
#include <string.h>

#include "infer/pragma/memory.h"

/* "ld >= n", put together from a coefficient and the range of the rest. */
static void at_least(hpc_buf *b, const study *s, const poly *c, const poly *least)
{
    if (b->n) hpc_buf_text(b, " && ");
    poly_text(b, s, c);
    hpc_buf_text(b, " >= ");
    poly_text(b, s, least);
}

/* |rest| is less than c: "ld >= n && ld >= m". False when that cannot be, or is known already. */
static bool wider_than(hpc_buf *b, study *s, const gap *g, const poly *least, const poly *most)
{
    const poly *c = g->factor, *high = poly_plus(s, most, 1),
               *low = poly_plus(s, poly_scaled(s, least, -1), 1);
    bool above = prove_not_negative(s, poly_less(s, c, high), g->facts),
         below = prove_not_negative(s, poly_less(s, c, low), g->facts);
    if (prove_positive(s, poly_less(s, high, c), g->facts)) return false;
    if (prove_positive(s, poly_less(s, low, c), g->facts)) return false;
    if (!above) at_least(b, s, c, high);
    if (!below && (above || !poly_equal(high, low))) at_least(b, s, c, low);
    return !above || !below;
}

/* The rest is 0, or beyond all iterations: "k == 0 || k > n - 1 || -k > n - 1". */
static bool out_of_reach(hpc_buf *b, study *s, const gap *g, const poly *rest, const poly *span)
{
    bool within = prove_not_negative(s, poly_less(s, span, rest), g->facts) &&
                  prove_not_negative(s, poly_sum(s, span, rest), g->facts);
    if (within || poly_varies(s, span)) return false;
    poly_text(b, s, rest);
    hpc_buf_text(b, " == 0 || ");
    poly_text(b, s, rest);
    hpc_buf_text(b, " > ");
    poly_text(b, s, span);
    hpc_buf_text(b, " || ");
    poly_text(b, s, poly_scaled(s, rest, -1));
    hpc_buf_text(b, " > ");
    poly_text(b, s, span);
    return true;
}

/* The indices are c * (iterations apart) - rest: they differ if |c| is more than |rest| can be.
 * With a number for c: if rest is 0, or more than all iterations span. */
static bool index_condition(hpc_buf *b, study *s, const gap *g)
{
    int64_t c, zero;
    const poly *least = poly_extreme(s, g->rest, false, g->facts),
               *most = poly_extreme(s, g->rest, true, g->facts);
    if (!least || !most) return false;
    if (!poly_is_number(g->factor, &c)) {
        bool none =
            poly_is_number(least, &zero) && zero == 0 && poly_is_number(most, &zero) && zero == 0;
        if (none) {
            poly_text(b, s, g->factor);
            hpc_buf_text(b, " != 0");
            return true;
        }
        return wider_than(b, s, g, least, most);
    }
    const poly *span = poly_less(s, s->head.hi, s->head.lo);
    return span && poly_equal(least, most) && out_of_reach(b, s, g, least, span);
}

bool assume_index(study *s, const access *a, const access *b)
{
    gap g[2]; /* one for each direction */
    hpc_buf text = {0};
    bool ok = places_gap(&g[0], s, a, b, true) && index_condition(&text, s, &g[0]);
    if (ok) {
        int64_t c;
        hpc_buf other = {0};
        ok = places_gap(&g[1], s, a, b, false) && index_condition(&other, s, &g[1]);
        bool number = poly_is_number(g[0].factor, &c); /* says the same of both */
        if (ok && !number && strcmp(text.data, other.data) != 0) {
            hpc_buf_text(&text, " && ");
            hpc_buf_text(&text, other.data);
        }
        hpc_buf_release(&other);
    }
    if (ok && !text.failed) assume(s, text.data, text.data);
    hpc_buf_release(&text);
    return ok;
}
