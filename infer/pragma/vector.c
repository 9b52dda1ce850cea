/*
 * vector.c: which loops are worth running in vectors: innermost, of plain arithmetic on elements
 * that lie next to each other.
 */
#include <stdlib.h>
#include <string.h>

#include "infer/pragma/propose.h"

enum { STRIDE_MOST = 2, TRIPS_LEAST = 8 };

static bool is_innermost(const study *s)
{
    const hpc_tree *t = s->t;
    for (int32_t i = s->loop + 1; i < t->node[s->loop].end; i++)
        if (is_loop(t->node[i].kind)) return false;
    return t->node[s->loop].kind == HPC_TREE_FOR;
}

/* By how many elements an iteration moves on; false where it is not the same for all. */
static bool moves_by(int64_t *by, study *s, const poly *index)
{
    const poly *c, *rest;
    int64_t step;
    return index && poly_split(s->prover, index, s->iteration, &c, &rest) &&
           poly_is_number(c, by) && !poly_varies(s->prover, rest) &&
           poly_is_number(s->head.stride, &step) && !__builtin_mul_overflow(*by, step, by);
}

/* Whether what an access touches lies next to what the next iteration does, or is the same. */
static bool is_near(study *s, const access *a)
{
    const place *p = &a->place;
    if (p->base < 0 || s->prover->atoms[p->base].varies) return false;
    for (int32_t k = 0; k < p->n; k++) {
        int64_t by;
        if (p->step[k].field != STEP_INDEX) continue;
        if (!moves_by(&by, s, p->step[k].index)) return false;
        if (by == 0) continue;
        if (k + 1 < p->n || by > STRIDE_MOST || by < -STRIDE_MOST) return false;
    }
    return true;
}

static bool sums_arrays(const clauses *c)
{
    for (int k = 0; k < c->n; k++)
        if (strchr(c->reduction[k].names.data, '[')) return true;
    return false;
}

bool vector_fits(study *s, const clauses *c)
{
    const char *why;
    int32_t node;
    double trips = nest_trips(s, &s->head);
    if (!is_innermost(s)) return false;
    if (!propose_is_plain(&why, &node, s, true)) {
        answer_note(s->answer, "form", node, "no vectors: %s", why);
        return false;
    }
    for (int64_t i = 0; i < s->n; i++)
        if (!is_near(s, &s->item[i])) {
            answer_note(s->answer, "form", s->item[i].node,
                        "no vectors: successive iterations of %s are not adjacent in memory",
                        node_text(s->program, s->item[i].node));
            return false;
        }
    why = trips >= 0 && trips < TRIPS_LEAST ? "it has too few iterations"
          : s->uneven                       ? "its iterations differ too much"
          : c->conditional.n + c->linear.n > 0
              ? "a variable advances, or is assigned under a condition"
          : sums_arrays(c) ? "an array is reduced"
                           : NULL;
    if (why) answer_note(s->answer, "form", s->loop, "no vectors: %s", why);
    return !why;
}
