/*
 * vector.c: innermost loops of plain arithmetic on adjacent elements.
 */
#include "infer/pragma/vector.h"

#include <string.h>

enum { STRIDE_MOST = 2, TRIPS_LEAST = 8 };

static bool is_innermost(const loop_facts *l)
{
    const hpc_tree *t = l->p->t;
    for (int32_t i = l->node + 1; i < t->node[l->node].end; i++)
        if (is_loop(t->node[i].kind)) return false;
    return t->node[l->node].kind == HPC_TREE_FOR;
}

/* By how many elements an iteration moves on; false where it is not the same for all. */
static bool moves_by(int64_t *by, const loop_facts *l, prover *pr, const poly *index)
{
    const poly *c, *rest;
    int64_t step;
    return index && poly_split(pr, index, l->iteration, &c, &rest) && poly_is_number(c, by) &&
           !poly_varies(pr, rest) && poly_is_number(l->head.stride, &step) &&
           !__builtin_mul_overflow(*by, step, by);
}

/* True if consecutive iterations access the same or adjacent elements. */
static bool is_near(const loop_facts *l, prover *pr, const access *a)
{
    const place *p = &a->place;
    if (p->base < 0 || pr->atoms[p->base].varies) return false;
    for (int32_t k = 0; k < p->n; k++) {
        int64_t by;
        if (p->step[k].field != STEP_INDEX) continue;
        if (!moves_by(&by, l, pr, p->step[k].index)) return false;
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

/* ---- bodies ---- */

static const char *plain_call(const loop_facts *l, int32_t call)
{
    const hpc_tree_node *n = &l->p->t->node[call];
    call_known k = call_known_of(l->p->t, n->symbol);
    bool element = k == CALL_METHOD_PLACE && (n->flags & HPC_TREE_OPERATOR);
    if (k == CALL_VALUE || k == CALL_METHOD_READ || element) return NULL;
    return hpc_arena_text(l->p->out, "%s is called",
                          n->symbol >= 0 ? symbol_name(l->p->t, n->symbol) : "something");
}

static const char *plain_node(const loop_facts *l, int32_t i, bool vectors)
{
    const hpc_tree_node *n = &l->p->t->node[i];
    uint8_t flags = n->type >= 0 ? l->p->t->type[n->type].flags : 0;
    if (flags & (HPC_TYPE_VOLATILE | HPC_TYPE_ATOMIC)) return "it is volatile or atomic";
    switch (n->kind) {
    case HPC_TREE_CALL: return plain_call(l, i);
    case HPC_TREE_SWITCH: return vectors ? "a switch cannot be vectorized" : NULL;
    case HPC_TREE_OTHER:
    case HPC_TREE_TRY:
    case HPC_TREE_ASM:
    case HPC_TREE_GOTO:
    case HPC_TREE_LABEL:
    case HPC_TREE_THROW:
    case HPC_TREE_NEW:
    case HPC_TREE_DELETE:
    case HPC_TREE_CONSTRUCT:
    case HPC_TREE_STRING:
    case HPC_TREE_LAMBDA: return "it is not plain arithmetic";
    default: return NULL;
    }
}

bool vector_is_plain(const char **why, int32_t *node, const loop_facts *l, bool vectors)
{
    const hpc_tree_node *n = &l->p->t->node[l->node];
    *node = l->node;
    *why = NULL;
    for (size_t i = n->at; i < n->to && i < l->p->text_n; i++)
        if (l->p->text[i] == '#' || (n->to - i > 7 && memcmp(l->p->text + i, "_Pragma", 7) == 0))
            *why = "it contains other directives";
    for (int32_t i = l->node + 1; i < n->end && !*why; i++) {
        *why = plain_node(l, i, vectors);
        *node = i;
    }
    return *why == NULL;
}

bool vector_fits(answer *a, const loop_facts *l, prover *pr)
{
    const clauses *c = &a->clauses;
    const char *why;
    int32_t node;
    double trips = trips_of(pr, &l->head);
    if (!is_innermost(l)) return false;
    if (!vector_is_plain(&why, &node, l, true)) {
        answer_note(a, "form", node, "no vectors: %s", why);
        return false;
    }
    for (int64_t i = 0; i < l->n; i++)
        if (!is_near(l, pr, &l->item[i])) {
            answer_note(a, "form", l->item[i].node,
                        "no vectors: successive iterations of %s are not adjacent in memory",
                        node_text(l->p, l->item[i].node));
            return false;
        }
    why = trips >= 0 && trips < TRIPS_LEAST ? "it has too few iterations"
          : l->cost.uneven                  ? "its iterations differ too much"
          : c->conditional.n + c->linear.n > 0
              ? "a variable advances, or is assigned under a condition"
          : sums_arrays(c) ? "an array is reduced"
                           : NULL;
    if (why) answer_note(a, "form", l->node, "no vectors: %s", why);
    return !why;
}
