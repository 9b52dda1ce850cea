/*
 * Profitability model of directives with threads. A loop is worth a fork and a join
 * per entry only if its trip count times the cost of an iteration reaches a floor. The floor is
 * checked here where the trip count is known, and by an if clause where it is not. The verdict of a
 * loop does not depend on this model.
 */
#include "infer/pragma/profit.h"

#include <math.h>

#include "infer/pragma/spell.h"

/* A fork and a join take 5 to 100 microseconds, and more if threads outnumber processors. */
enum { FLOOR_OPERATIONS = 1000000, ENTRIES_MOST = 1 };

/* ---- entries of a loop --------------------------------------------------------------------------
 */

static bool changes_in(const hpc_tree *t, int32_t around, int32_t symbol)
{
    const int32_t end = t->node[around].end, at = t->symbol[symbol].node;
    if (at > around && at < end) return true;
    for (int32_t i = around; i < end; i++) {
        const hpc_tree_node *n = &t->node[i];
        const int32_t to = root_of(t, hpc_tree_first(t, i));
        const bool steps = n->kind == HPC_TREE_UNARY && n->op >= HPC_OP_PRE_INCREMENT &&
                           n->op <= HPC_OP_POST_DECREMENT;
        if ((n->kind == HPC_TREE_ASSIGN || steps) && to == symbol) return true;
    }
    return false;
}

/* True if the nodes from `i` to `end` name a variable that the loop `around` changes. */
static bool varies_in(const hpc_tree *t, int32_t around, int32_t i, int32_t end, int32_t own)
{
    for (; i < end; i++) {
        const int32_t v = t->node[i].symbol;
        if (t->node[i].kind == HPC_TREE_CALL) return true;
        if (t->node[i].kind == HPC_TREE_NAME && v >= 0 && v != own && changes_in(t, around, v))
            return true;
    }
    return false;
}

typedef struct entries { /* how a loop is entered */
    int32_t loops;       /* around it, and around calls of its function */
    bool varies;         /* its trip count differs between entries */
} entries;

/* The loops in the function around a node. `from` to `end`: nodes that decide the trip count. */
static void count_around(entries *e, const hpc_tree *t, int32_t node, int32_t from, int32_t end,
                         int32_t own)
{
    const int32_t function = function_around(t, node);
    for (int32_t up = t->node[node].parent; up > function; up = t->node[up].parent) {
        if (!is_loop(t->node[up].kind)) continue;
        e->loops++;
        e->varies |= varies_in(t, up, from, end, own);
    }
}

/* Calls of the loop's function in the file: the one in the deepest loops counts. */
static void count_calls(entries *e, const walk *w)
{
    const hpc_tree *t = w->t;
    const int32_t symbol = t->node[w->loop->function].symbol;
    entries most = {0};
    for (int32_t i = 0; symbol >= 0 && i < t->n; i++) {
        entries at = {0};
        if (t->node[i].kind != HPC_TREE_CALL || t->node[i].symbol != symbol) continue;
        for (int32_t a = hpc_tree_next(t, hpc_tree_first(t, i)); a; a = hpc_tree_next(t, a)) {
            const int32_t type = t->node[a].type;
            at.loops = 0;
            if (is_plain_number(w->t, type) && t->type[type].kind != HPC_TYPE_POINTER)
                count_around(&at, t, i, a, t->node[a].end, -1);
        }
        at.loops = 0;
        count_around(&at, t, i, i, i, -1);
        if (at.loops > most.loops) most.loops = at.loops;
        most.varies |= at.varies;
    }
    e->loops += most.loops;
    e->varies |= most.varies;
}

static entries entries_of(const walk *w)
{
    entries e = {0};
    count_around(&e, w->t, w->loop->node, w->loop->node + 1, w->loop->head.body,
                 w->loop->head.symbol);
    count_calls(&e, w);
    return e;
}

/* ---- work of an entry ---------------------------------------------------------------------------
 */

/* Rounds up to one digit: a threshold that a person can read is as good as an exact one. */
static double rounded(double trips)
{
    const double unit = pow(10, floor(log10(trips)));
    return ceil(trips / unit) * unit;
}

/* The largest value of a factor by its type, or the least one; infinite where no type bounds it. */
static double extreme_of_atom(const walk *w, int32_t i, bool largest)
{
    const hpc_tree *t = w->t;
    const atom *a = &w->prover->atoms[i];
    int32_t type = a->kind == ATOM_SYMBOL ? t->symbol[a->symbol].type
                   : a->kind == ATOM_LOAD ? a->place->type
                                          : -1;
    type = bare_type(t, type);
    if (kind_of(t, type) != HPC_TYPE_INTEGER) return largest ? INFINITY : -INFINITY;
    const bool is_unsigned = t->type[type].flags & HPC_TYPE_UNSIGNED;
    const int bits = 8 * (int)t->type[type].bytes - !is_unsigned;
    return largest ? ldexp(1, bits) - 1 : is_unsigned ? 0 : -ldexp(1, bits);
}

/* The trip count that the types of the bounds allow. */
static double most_trips(walk *w)
{
    const poly *width = poly_less(w->prover, w->loop->head.hi, w->loop->head.lo);
    double most = 0;
    int64_t stride;
    if (!width || !poly_is_number(w->loop->head.stride, &stride) || stride == 0) return INFINITY;
    for (int32_t i = 0; i < width->n; i++) {
        const term *t = &width->t[i];
        if (t->atom[0] < 0)
            most += (double)t->c;
        else if (t->atom[1] < 0)
            most += (double)t->c * extreme_of_atom(w, t->atom[0], t->c > 0);
        else
            return INFINITY;
    }
    return floor(fmax(most, 0) / fabs((double)stride)) + 1;
}

/* The head reads its bounds at each entry, so the clause may read them where no iteration runs.
 * "n > 4000": true only if the loop has that many trips; NULL: nothing spells the trip count. */
static const char *condition_of_trips(walk *w, double trips)
{
    spelling x = {.w = w, .wide = true};
    const char *out = NULL;
    int64_t stride;
    if (!poly_is_number(w->loop->head.stride, &stride) || stride == 0) return NULL;
    const int64_t width = (int64_t)trips * (stride < 0 ? -stride : stride);
    /* "n > 4000" of 0 to n - 1 in C, and of 1 to n in Fortran */
    const int64_t past = w->loop->p->language == HPC_LANGUAGE_FORTRAN ? 0 : 1;
    const poly *end = poly_plus(w->prover, w->loop->head.hi, past),
               *begin = poly_plus(w->prover, w->loop->head.lo, width + past - 1);
    if (!end || !begin) return NULL;
    spell_compare(&x, end, ">", begin);
    if (!x.failed && !x.text.failed) out = hpc_arena_text(w->loop->p->out, "%s", x.text.data);
    hpc_buf_release(&x.text);
    return out;
}

/* True if an expression has the value of p before the loop, and reads no memory that only
 * iterations read. */
static bool can_test(walk *w, const poly *p)
{
    spelling x = {.w = w};
    int64_t c;
    if (!p || poly_is_number(p, &c)) return false;
    spell_number(&x, p);
    const bool ok = !x.failed && !x.runs && !x.text.failed;
    hpc_buf_release(&x.text);
    return ok;
}

/* "(long long)n*m > 4000": the trip counts of the loop and of the loops in its costliest nest.
 * NULL: no inner trip count can be tested, or most of the work is elsewhere. trips: -1 if unknown.
 */
static const char *condition_of_nest(walk *w, double trips)
{
    const nest_cost *nest = &w->loop->cost.nest;
    const loop_head *h = &w->loop->head;
    const poly *factor[NEST_LOOPS + 1];
    double work = nest->operations;
    int64_t stride = 1;
    int32_t n = 0;
    if (nest_estimate(nest) < (w->loop->cost.operations + 2) / 2) return NULL;
    if (trips >= 0) {
        work *= trips;
    } else {
        factor[n++] = poly_plus(w->prover, poly_less(w->prover, h->hi, h->lo), 1);
        if (!can_test(w, factor[0]) || !poly_is_number(h->stride, &stride) || stride == 0)
            return NULL;
    }
    const int32_t own = n;
    work /= fabs((double)stride) * nest->strides;
    for (int32_t k = nest->n - 1; k >= 0; k--) {
        if (can_test(w, nest->width[k]))
            factor[n++] = nest->width[k];
        else
            work *= TRIPS_GUESSED;
    }
    if (n == own || work <= 0) return NULL;
    spelling x = {.w = w};
    spell_product(&x, factor, n);
    hpc_buf_printf(&x.text, " > %.0f", rounded(fmax(ceil(FLOOR_OPERATIONS / work), 1)));
    const char *out =
        x.failed || x.text.failed ? NULL : hpc_arena_text(w->loop->p->out, "%s", x.text.data);
    hpc_buf_release(&x.text);
    return out;
}

void profit_of(hpc_pragma_loop *out, walk *w)
{
    const double trips = trips_of(w->prover, &w->loop->head), cost = w->loop->cost.operations + 2;
    const double least = ceil(FLOOR_OPERATIONS / cost);
    const entries e = entries_of(w);
    if (trips >= least) return;
    const char *tests_nest = condition_of_nest(w, trips);
    if (trips >= 0 && !tests_nest) { /* the cost may depend on a guess: prefer no threads */
        out->idle = hpc_arena_text(
            w->loop->p->out,
            "%.0f iterations of about %.0f operations do not pay for the start of threads", trips,
            cost);
    } else if (e.varies) {
        out->idle = "the trip count differs between entries and may be too small to pay for the "
                    "start of threads";
    } else if (e.loops > ENTRIES_MOST) {
        out->idle = "enclosing loops enter it often, and its trip count is unknown";
    } else if (tests_nest) {
        out->least = tests_nest;
    } else if (most_trips(w) < least) {
        out->idle = hpc_arena_text(w->loop->p->out,
                                   "its types allow at most %.0f iterations of about %.0f "
                                   "operations: too few to pay for the start of threads",
                                   most_trips(w), cost);
    } else if (least > 1) {
        out->least = condition_of_trips(w, rounded(least));
        if (!out->least) out->idle = "no if clause can test its unknown trip count";
    }
}
