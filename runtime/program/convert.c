/*
 * convert.c: see convert.h.
 */
#include "runtime/program/convert.h"

#include <string.h>

/* The transfer of so many bytes takes as long as the start of a collective. */
enum { START_BYTES = 4096 };

static int extent_of(const hpc_grid_shape *s, int axis)
{
    return s->extent[axis] > 1 ? s->extent[axis] : 1;
}

/* ---- moves ------------------------------------------------------------------------ */

/* True if another axis splits the dimension into finer parts, which hold the axis's parts. */
static bool is_held(const hpc_type *t, const hpc_grid_shape *s, int axis, int8_t split)
{
    int d = hpc_layout_dim(split);
    bool finer = false;
    for (int k = 0; k < 2 * HPC_AXIS_N; k++) {
        int a = hpc_axis_nesting[k % HPC_AXIS_N];
        bool inner = k >= HPC_AXIS_N;
        if (a == axis && inner == hpc_layout_inner(split))
            finer = true;
        else if (finer && extent_of(s, a) > 1 && t->layout[a] == hpc_layout_split(d, inner))
            return true;
    }
    return false;
}

static bool has_parts(const hpc_type *t, const hpc_grid_shape *s, int axis, int8_t split)
{
    return split > 0 && !hpc_layout_own(split) && hpc_layout_dim(split) < t->rank &&
           !is_held(t, s, axis, split);
}

bool hpc_layout_can_move(const hpc_type *t, const hpc_grid_shape *s, hpc_layout_move m)
{
    int8_t from = t->layout[m.axis];
    if (from == m.to || m.to < 0) return false;
    if (m.to == HPC_REPLICATED) return from < 0 || has_parts(t, s, m.axis, from);
    if (from == HPC_LOGARITHM || !has_parts(t, s, m.axis, m.to)) return false;
    if (t->extent[hpc_layout_dim(m.to)] % extent_of(s, m.axis) != 0) return false;
    if (from <= 0) return true;
    return has_parts(t, s, m.axis, from) && hpc_layout_dim(from) != hpc_layout_dim(m.to);
}

hpc_type hpc_layout_moved(const hpc_type *t, const hpc_grid_shape *s, hpc_layout_move m)
{
    hpc_type y = *t;
    int8_t from = t->layout[m.axis];
    if (from > 0) y.extent[hpc_layout_dim(from)] *= extent_of(s, m.axis);
    if (m.to > 0) y.extent[hpc_layout_dim(m.to)] /= extent_of(s, m.axis);
    y.layout[m.axis] = m.to;
    return y;
}

static int place_of(int axis, int8_t layout)
{
    int k = 0;
    while (hpc_axis_nesting[k] != axis) k++;
    return hpc_layout_inner(layout) ? HPC_AXIS_N + k : k;
}

hpc_layout_cost hpc_layout_cost_of(const hpc_type *t, const hpc_grid_shape *s, hpc_layout_move m)
{
    int8_t from = t->layout[m.axis];
    int64_t n = extent_of(s, m.axis), bytes = (int64_t)hpc_type_bytes(t);
    int64_t others = bytes * (n - 1) / n;
    hpc_layout_cost c = {.collectives = from != HPC_REPLICATED};
    if (from > 0)
        c.sent = m.to > 0 ? others : (n - 1) * bytes;
    else if (from < 0)
        c.sent = m.to > 0 ? others : 2 * others;
    if (from == HPC_LOGARITHM) c.sent *= 2, c.collectives++; /* maxima and sums */
    c.nested = c.sent * place_of(m.axis, from > 0 ? from : m.to);
    return c;
}

int64_t hpc_layout_price(const hpc_layout_cost *c)
{
    return c->sent + START_BYTES * (int64_t)c->collectives;
}

static bool is_cheaper(const hpc_layout_cost *a, const hpc_layout_cost *b)
{
    int64_t x = hpc_layout_price(a), y = hpc_layout_price(b);
    return x != y ? x < y : a->nested < b->nested;
}

/* ---- the search ------------------------------------------------------------------- */

typedef struct node {
    hpc_type type;
    hpc_value value; /* HPC_NONE: no instruction makes it so far */
    hpc_layout_cost cost;
    hpc_layout_move move; /* the last of the path, from node `before` */
    int64_t before;
    bool settled;
} node;

typedef struct search {
    const hpc_layout_question *q;
    int turn[HPC_AXIS_N]; /* of the axes' sums */
    bool inner;           /* a layout at either end is inner */
    node *node;
    int64_t n, cap;
} search;

static void order_sums(search *w)
{
    const int8_t *from = w->q->type->layout, *want = w->q->want;
    int next = 0;
    for (int k = 0; k < 2 * HPC_AXIS_N; k++) {
        int a = hpc_axis_nesting[k % HPC_AXIS_N];
        bool splits = from[a] < 0 && want[a] > 0;
        if (splits && hpc_layout_inner(want[a]) == (k >= HPC_AXIS_N)) w->turn[a] = next++;
    }
    for (int a = 0; a < HPC_AXIS_N; a++) {
        if (from[a] < 0 && want[a] <= 0) w->turn[a] = next++;
        w->inner = w->inner || hpc_layout_inner(from[a]) || hpc_layout_inner(want[a]);
    }
}

static bool is_turn(const search *w, const node *x, int axis)
{
    for (int a = 0; a < HPC_AXIS_N; a++)
        if (extent_of(w->q->shape, a) > 1 && x->type.layout[a] < 0 &&
            w->q->want[a] != x->type.layout[a] && w->turn[a] < w->turn[axis])
            return false;
    return true;
}

static bool is_wanted(const search *w, const hpc_type *t)
{
    for (int a = 0; a < HPC_AXIS_N; a++)
        if (extent_of(w->q->shape, a) > 1 && t->layout[a] != w->q->want[a]) return false;
    return true;
}

static node *find(search *w, const hpc_type *t)
{
    for (int64_t k = 0; k < w->n; k++)
        if (memcmp(w->node[k].type.layout, t->layout, sizeof t->layout) == 0) return &w->node[k];
    return NULL;
}

static int reach(search *w, int64_t from, hpc_layout_move m)
{
    const hpc_layout_question *q = w->q;
    const node *x = &w->node[from];
    if (!hpc_layout_can_move(&x->type, q->shape, m)) return HPC_OK;
    node y = {.type = hpc_layout_moved(&x->type, q->shape, m),
              .value = HPC_NONE,
              .cost = x->cost,
              .move = m,
              .before = from};
    if (q->known && x->value != HPC_NONE) y.value = q->known(q->user, x->value, m);
    if (y.value == HPC_NONE) {
        hpc_layout_cost c = hpc_layout_cost_of(&x->type, q->shape, m);
        y.cost.sent += c.sent;
        y.cost.nested += c.nested;
        y.cost.collectives += c.collectives;
    }
    node *old = find(w, &y.type);
    if (old) {
        if (is_cheaper(&y.cost, &old->cost)) *old = y;
        return HPC_OK;
    }
    int rc = hpc_grow(&w->node, &w->cap, w->n + 1, sizeof *w->node);
    if (rc >= 0) w->node[w->n++] = y;
    return rc;
}

/* The layouts that an axis may take next. An axis that ends replicated or partial and was not split
 * moves once; the others may take any split on the way. */
static int reach_along(search *w, int64_t from, int axis)
{
    const hpc_layout_question *q = w->q;
    int8_t is = w->node[from].type.layout[axis], begin = q->type->layout[axis];
    int8_t want = q->want[axis];
    int rc = HPC_OK;
    if (extent_of(q->shape, axis) == 1 || hpc_layout_own(is)) return rc;
    if (is < 0 && (is == want || !is_turn(w, &w->node[from], axis))) return rc;
    if (is != HPC_REPLICATED) TRY(reach(w, from, (hpc_layout_move){axis, HPC_REPLICATED}));
    if (begin <= 0 && want <= 0) return rc;
    for (int d = 0; d < q->type->rank; d++)
        for (int inner = 0; inner <= w->inner; inner++)
            TRY(reach(w, from, (hpc_layout_move){axis, hpc_layout_split(d, inner)}));
out:
    return rc;
}

static int64_t cheapest(const search *w)
{
    int64_t best = -1;
    for (int64_t k = 0; k < w->n; k++)
        if (!w->node[k].settled && (best < 0 || is_cheaper(&w->node[k].cost, &w->node[best].cost)))
            best = k;
    return best;
}

static void trace_path(hpc_layout_path *out, const search *w, int64_t k)
{
    out->cost = w->node[k].cost;
    for (int64_t n = k; w->node[n].before >= 0; n = w->node[n].before) out->n++;
    hpc_assert(out->n <= HPC_LAYOUT_MOVES);
    for (int at = out->n; at > 0; k = w->node[k].before) out->move[--at] = w->node[k].move;
}

static int fail_search(const hpc_layout_question *q)
{
    char text[128];
    int a = 0;
    while (extent_of(q->shape, a) == 1 || q->type->layout[a] == q->want[a]) a++;
    return hpc_fail(HPC_E_UNSUPPORTED, "no conversion of %%%d, %s, to layout %d on axis %s",
                    q->value, hpc_type_text(text, q->type), q->want[a], hpc_axis_name((hpc_axis)a));
}

int hpc_layout_search(hpc_layout_path *out, const hpc_layout_question *q)
{
    search w = {.q = q};
    int64_t k;
    int rc;
    *out = (hpc_layout_path){.n = 0};
    if (is_wanted(&w, q->type)) return HPC_OK;
    order_sums(&w);
    TRY(hpc_grow(&w.node, &w.cap, 1, sizeof *w.node));
    w.node[w.n++] = (node){.type = *q->type, .value = q->value, .before = -1};
    while ((k = cheapest(&w)) >= 0 && !is_wanted(&w, &w.node[k].type)) {
        w.node[k].settled = true;
        for (int a = 0; a < HPC_AXIS_N; a++) TRY(reach_along(&w, k, a));
    }
    if (k < 0) TRY(fail_search(q));
    trace_path(out, &w, k);
out:
    hpc_free(w.node);
    return rc;
}
