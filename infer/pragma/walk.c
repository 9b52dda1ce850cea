/*
 * walk.c: statements of one iteration: the values of variables, accesses, and the conditions around
 * them.
 */
#include "infer/pragma/walk.h"

#include "infer/pragma/reduce.h"

static void walk_statement(walk *w, int32_t i);

/* ---- the ways of the walk ----------------------------------------------------------------------
 */

/* Control leaves this path for the end of the loop. */
static void leave(walk *w)
{
    if (w->left)
        state_join(w, w->left, w->now);
    else
        w->left = state_copy(w, w->now);
    w->leaves = true;
}

static void note_uneven(walk *w, int32_t node, const char *why)
{
    if (w->loop->cost.uneven) return;
    w->loop->cost.uneven = true;
    w->loop->cost.uneven_at = node;
    w->loop->cost.uneven_why = why;
}

/* ---- declarations ---------------------------------------------------------------------------- */

static void declare(walk *w, int32_t i)
{
    const hpc_tree *t = w->t;
    int32_t v = t->node[i].symbol, k = slot_index(w->loop, v), first = hpc_tree_first(t, i);
    place p;
    if (t->node[i].kind != HPC_TREE_VARIABLE) return;
    if (v >= 0 && (t->symbol[v].flags & HPC_SYMBOL_STATIC) &&
        !(t->symbol[v].flags & HPC_SYMBOL_KNOWN))
        answer_unsafe(w->answer, "scalar", i, "%s is static: all iterations share it",
                      symbol_name(w->t, v));
    if (k >= 0 && kind_of(t, t->symbol[v].type) == HPC_TYPE_REFERENCE) {
        if (first)
            place_of(&p, w, first);
        else
            p = (place){.base = -1, .type = bare_type(t, t->symbol[v].type)};
        w->now[k] = (var_state){.refers = place_keep(w, &p), .assigned = true};
        return;
    }
    const poly *is = first ? value_of(w, first) : NULL;
    for (int32_t c = first ? hpc_tree_next(t, first) : 0; c; c = hpc_tree_next(t, c))
        value_of(w, c);
    if (k < 0 || (t->symbol[v].flags & HPC_SYMBOL_STATIC)) return;
    if (first && kind_of(t, t->symbol[v].type) == HPC_TYPE_INTEGER &&
        kind_of(t, t->node[first].type) == HPC_TYPE_FLOAT)
        is = NULL;
    slot_write(w, k, i, is);
    w->now[k].assigned = true;
}

/* ---- reductions ---------------------------------------------------------------------------------
 */

static void mark_update(walk *w, int32_t k, uint8_t op, int32_t node)
{
    slot *x = &w->loop->slots[k];
    x->update = x->update == 0 || x->update == op ? op : OP_MIXED;
    if (x->update_write < 0) x->update_write = node;
    w->now[k].is = NULL;
}

static bool is_float(const hpc_tree *t, int32_t e)
{
    return e >= 0 && kind_of(t, bare_type(t, t->node[e].type)) == HPC_TYPE_FLOAT;
}

/* x += e of an atomic: whole by itself, and in any order. */
static bool walk_atomic(walk *w, int32_t i, const reduction *r)
{
    place p;
    if (w->t->node[i].kind == HPC_TREE_IF) return false;
    if (w->t->node[i].kind == HPC_TREE_ASSIGN && w->t->node[i].op == '=') return false;
    if (r->value >= 0) value_of(w, r->value);
    answer_mute(w->answer, true);
    place_of(&p, w, r->target);
    answer_mute(w->answer, false);
    answer_note(w->answer, "memory", i, "%s is one atomic operation", node_text(w->loop->p, i));
    return p.base >= 0;
}

/* A statement that folds a value into a variable that this iteration has not assigned. */
static bool walk_update(walk *w, int32_t i)
{
    const hpc_tree *t = w->t;
    reduction r;
    place p;
    if (!reduction_match(&r, t, i)) return false;
    int32_t v = t->node[r.target].kind == HPC_TREE_NAME ? t->node[r.target].symbol : -1;
    int32_t k = slot_index(w->loop, v);
    uint8_t kind = kind_of(t, bare_type(t, t->node[r.target].type));
    const bool open = w->loop->open && kind == HPC_TYPE_UNKNOWN && v >= 0 && k < 0;
    if (kind != HPC_TYPE_INTEGER && kind != HPC_TYPE_FLOAT && kind != HPC_TYPE_BOOL && !open)
        return false;
    if (kind == HPC_TYPE_INTEGER && is_float(t, r.value)) return false; /* cut each time */
    if ((r.op == HPC_OP_AND || r.op == HPC_OP_OR) && has_effects(w->loop->p, r.value))
        return false; /* the variable decides whether they happen */
    int32_t type = bare_type(t, t->node[r.target].type);
    if (type >= 0 && (t->type[type].flags & HPC_TYPE_VOLATILE)) return false;
    if (type >= 0 && (t->type[type].flags & HPC_TYPE_ATOMIC)) return walk_atomic(w, i, &r);
    if (r.op == '*' && t->node[i].op == '/' && kind != HPC_TYPE_FLOAT) return false;
    if (k >= 0 && (w->loop->slots[k].inside || w->now[k].assigned || w->loop->slots[k].stride))
        return false;
    if (k < 0 && t->node[r.target].kind == HPC_TREE_NAME && v >= 0 && is_inside(w->loop, v) &&
        kind_of(t, t->symbol[v].type) != HPC_TYPE_REFERENCE)
        return false;
    if (r.value >= 0) value_of(w, r.value);
    if (r.other) value_of(w, r.other);
    w->loop->cost.operations += 2;
    if (k >= 0 && !w->now[k].refers) {
        mark_update(w, k, r.op, i);
        return true;
    }
    place_of(&p, w, r.target);
    access_add(w, &p, r.target, false, r.op);
    access_add(w, &p, r.target, true, r.op);
    return true;
}

/* ---- branches -----------------------------------------------------------------------------------
 */

bool walk_ends(const hpc_tree *t, int32_t i)
{
    const hpc_tree_node *n = &t->node[i];
    int32_t last = 0;
    switch (n->kind) {
    case HPC_TREE_BREAK:
    case HPC_TREE_CONTINUE:
    case HPC_TREE_RETURN:
    case HPC_TREE_GOTO:
    case HPC_TREE_THROW: return true;
    case HPC_TREE_CALL: {
        const call_known is = call_known_of(t, n->symbol);
        return is == CALL_LEAVES || is == CALL_ASSERTS;
    }
    case HPC_TREE_BLOCK:
        for (int32_t c = hpc_tree_first(t, i); c; c = hpc_tree_next(t, c)) last = c;
        return last && walk_ends(t, last);
    case HPC_TREE_IF: {
        int32_t then = hpc_tree_child(t, i, 1), other = hpc_tree_child(t, i, 2);
        return then && other && walk_ends(t, then) && walk_ends(t, other);
    }
    default: return false;
    }
}

static void walk_if(walk *w, int32_t i)
{
    const hpc_tree *t = w->t;
    int32_t condition = hpc_tree_child(t, i, 0), then = hpc_tree_child(t, i, 1),
            other = hpc_tree_child(t, i, 2);
    if (!condition || !then) return;
    value_of(w, condition);
    const fact *facts = w->facts, *yes = facts_of(w, facts, condition, true),
               *no = facts_of(w, facts, condition, false);
    const fact *if_so = facts_of(w, NULL, condition, true),
               *if_not = facts_of(w, NULL, condition, false);
    var_state *before = state_copy(w, w->now);
    double cost = w->loop->cost.operations;
    w->depth++;
    w->facts = yes;
    walk_statement(w, then);
    bool then_ends = walk_ends(t, then), other_ends = other && walk_ends(t, other);
    var_state *after = w->now;
    double of_then = w->loop->cost.operations - cost;
    w->now = before;
    w->facts = no;
    if (other) walk_statement(w, other);
    w->depth--;
    if (of_then > 50 + 4 * (w->loop->cost.operations - cost - of_then))
        note_uneven(w, i, "most of the work depends on this condition");
    w->facts = then_ends ? no : other_ends ? yes : facts;
    if (other_ends && !then_ends)
        w->now = after;
    else if (!then_ends)
        state_join_if(w, after, if_so, if_not);
}

/* A case is entered from the switch itself, and from the one above it. */
static void walk_switch(walk *w, int32_t i)
{
    const hpc_tree *t = w->t;
    int32_t what = hpc_tree_child(t, i, 0), body = hpc_tree_child(t, i, 1);
    if (!what || !body) return;
    value_of(w, what);
    var_state *before = state_copy(w, w->now), *outer = w->broken;
    bool all = false, reached = false;
    w->broken = NULL;
    state_forget(w, body);
    w->depth++;
    w->breakable++;
    w->switches++;
    for (int32_t c = hpc_tree_first(t, body); c; c = hpc_tree_next(t, c)) {
        int32_t label = t->node[c].kind == HPC_TREE_CASE ? hpc_tree_first(t, c) : 0;
        if (label && reached)
            for (int32_t k = 0; k < w->loop->slots_n; k++) w->now[k].assigned &= before[k].assigned;
        else if (label)
            for (int32_t k = 0; k < w->loop->slots_n; k++) w->now[k].assigned = before[k].assigned;
        all |= label && t->node[label].kind == HPC_TREE_NOTHING;
        walk_statement(w, c);
        reached = !walk_ends(t, c);
        if (t->node[c].kind == HPC_TREE_CASE) {
            int32_t last = hpc_tree_child(t, c, 1);
            reached = !(last && walk_ends(t, last));
        }
    }
    w->switches--;
    w->breakable--;
    w->depth--;
    if (w->broken && !reached)
        w->now = w->broken;
    else if (w->broken)
        state_join(w, w->now, w->broken);
    if (!all) state_join(w, w->now, before);
    state_forget(w, body);
    w->broken = outer;
}

/* ---- loops within -------------------------------------------------------------------------------
 */

typedef struct inner {
    var_state *before, *left;
    bool leaves;
    loop_cost cost;
    const fact *facts;
    int32_t switches;
} inner;

static void inner_begin(inner *in, walk *w)
{
    *in = (inner){.before = state_copy(w, w->now),
                  .left = w->left,
                  .leaves = w->leaves,
                  .cost = w->loop->cost,
                  .facts = w->facts,
                  .switches = w->switches};
    w->loop->cost.nest = (nest_cost){0};
    w->switches = 0;
    w->left = NULL;
    w->leaves = false;
    w->breakable++;
}

/* `runs`: its body runs at least once; head: NULL if it is unknown how often. */
static void inner_end(const inner *in, walk *w, int32_t loop, bool runs, const loop_head *head)
{
    cost_add_inner(w, &in->cost, head);
    if (w->left) state_join(w, w->now, w->left);
    if (!runs)
        for (int32_t k = 0; k < w->loop->slots_n; k++) w->now[k].assigned &= in->before[k].assigned;
    state_forget(w, loop);
    w->left = in->left;
    w->leaves = in->leaves;
    w->breakable--;
    w->facts = in->facts;
    w->switches = in->switches;
}

/* True if the body has a break or a continue, which makes the statements after it conditional. */
static bool has_jump(const hpc_tree *t, int32_t body)
{
    for (int32_t i = body; i < t->node[body].end; i++)
        if (t->node[i].kind == HPC_TREE_BREAK || t->node[i].kind == HPC_TREE_CONTINUE) return true;
    return false;
}

static int32_t inner_atom(walk *w, const loop_head *h)
{
    int64_t c;
    bool by_one = poly_is_number(h->stride, &c) && (c == 1 || c == -1);
    return atom_new(w->prover, &(atom){.kind = ATOM_INNER,
                                       .op = by_one,
                                       .symbol = h->symbol,
                                       .node = h->node,
                                       .of = -1,
                                       .varies = true,
                                       .lo = h->lo,
                                       .hi = h->hi});
}

static bool is_pointer(const walk *w, int32_t symbol)
{
    return symbol >= 0 && kind_of(w->t, w->t->symbol[symbol].type) == HPC_TYPE_POINTER;
}

/* A pointer that counts is its first value and a number. */
static void count_pointer(walk *w, loop_head *h)
{
    h->lo = poly_less(w->prover, h->lo, h->first);
    h->hi = poly_less(w->prover, h->hi, h->first);
}

/* A triangle has rows that grow by the same each time. */
static const char *how_often(walk *w, const loop_head *h)
{
    const poly *width = poly_less(w->prover, h->hi, h->lo), *c, *rest;
    bool linear = width && poly_split(w->prover, width, w->loop->iteration, &c, &rest) &&
                  !poly_varies(w->prover, c) && !poly_varies(w->prover, rest);
    return linear ? "the trip count of this loop grows or shrinks from one iteration to the next, "
                    "as in a triangle"
                  : "the trip count of this loop varies between iterations";
}

static void walk_counted(walk *w, int32_t loop, loop_head *h)
{
    inner in;
    int32_t k = slot_index(w->loop, h->symbol);
    int64_t n = 0;
    bool pointer = is_pointer(w, h->symbol);
    const poly *first[HEAD_OTHERS] = {0};
    if (k >= 0) slot_write(w, k, loop, h->first);
    others_begin(w, h, first);
    inner_begin(&in, w);
    if (pointer) count_pointer(w, h);
    const poly *width = poly_less(w->prover, h->hi, h->lo),
               *var = poly_atom(w->prover, inner_atom(w, h));
    bool runs = prove_not_negative(w->prover, width, w->facts), jump = has_jump(w->t, h->body);
    if (poly_varies(w->prover, h->lo) || poly_varies(w->prover, h->hi))
        note_uneven(w, loop, how_often(w, h));
    state_forget(w, h->body);
    if (k >= 0) {
        w->now[k].is = pointer ? poly_sum(w->prover, h->first, var) : var;
        w->now[k].assigned = true;
        in.before[k].assigned = true;
    }
    others_step(w, h, first, var);
    w->facts = fact_add(w->prover, w->facts, width);
    w->depth += jump;
    walk_statement(w, h->body);
    w->depth -= jump;
    if (!poly_is_number(width, &n)) w->loop->cost.guessed = true;
    inner_end(&in, w, loop, runs && !w->leaves, h);
    if (k < 0) return;
    int64_t c;
    bool ends_at =
        runs && !jump && !pointer && poly_is_number(h->stride, &c) && (c == 1 || c == -1);
    w->now[k].is = ends_at ? poly_plus(w->prover, c > 0 ? h->hi : h->lo, c) : NULL;
}

static void bind_range(walk *w, const loop_head *h, int32_t index)
{
    const hpc_tree *t = w->t;
    int32_t i = hpc_tree_first(t, h->node), v = t->node[i].symbol, k = slot_index(w->loop, v);
    place p;
    int32_t type = bare_type(t, t->node[h->over].type);
    const poly *nth = poly_atom(w->prover, index);
    if (is_view(t, type))
        place_behind(&p, w, poly_sum(w->prover, value_of(w, h->over), nth), t->type[type].to);
    else
        place_of(&p, w, h->over);
    bool array = kind_of(t, type) == HPC_TYPE_ARRAY;
    container c = container_of(t, type);
    if (p.base >= 0 && !array && c != CONTAINER_NONE && p.n < PLACE_STEPS)
        p.step[p.n++] = (place_step){.field = STEP_CONTENT};
    if (p.base >= 0 && (array || c != CONTAINER_NONE) && p.n < PLACE_STEPS)
        p.step[p.n++] = (place_step){.field = STEP_INDEX, .index = nth};
    else if (!is_view(t, type))
        p.base = -1;
    p.type = v >= 0 ? bare_type(t, t->symbol[v].type) : -1;
    if (k >= 0 && kind_of(t, t->symbol[v].type) == HPC_TYPE_REFERENCE)
        w->now[k] = (var_state){.refers = place_keep(w, &p), .assigned = true};
    else if (k >= 0)
        slot_write(w, k, i, load_from(w, &p, i));
    else
        access_add(w, &p, i, false, 0);
}

static void walk_range(walk *w, int32_t loop, loop_head *h)
{
    inner in;
    inner_begin(&in, w);
    state_forget(w, h->body);
    bind_range(w, h, inner_atom(w, h));
    w->depth++;
    walk_statement(w, h->body);
    w->depth--;
    inner_end(&in, w, loop, false, NULL);
}

/* A loop of which it is not known how often it runs. */
static void walk_uncounted(walk *w, int32_t loop)
{
    const hpc_tree *t = w->t;
    uint8_t kind = t->node[loop].kind;
    int32_t a = hpc_tree_child(t, loop, 0), b = hpc_tree_child(t, loop, 1);
    int32_t condition = kind == HPC_TREE_WHILE ? a : b;
    int32_t body = kind == HPC_TREE_FOR     ? hpc_tree_child(t, loop, 3)
                   : kind == HPC_TREE_WHILE ? b
                                            : a;
    inner in;
    if (!a || !b || !body) return;
    note_uneven(w, loop, "the trip count of this loop is unknown until it ends");
    if (kind == HPC_TREE_FOR) walk_statement(w, a);
    inner_begin(&in, w);
    state_forget(w, loop);
    if (kind != HPC_TREE_DO && t->node[condition].kind != HPC_TREE_NOTHING) {
        value_of(w, condition);
        w->facts = facts_of(w, w->facts, condition, true);
    }
    w->depth++;
    walk_statement(w, body);
    if (kind == HPC_TREE_DO) value_of(w, condition);
    if (kind == HPC_TREE_FOR) walk_statement(w, hpc_tree_child(t, loop, 2));
    w->depth--;
    inner_end(&in, w, loop, kind == HPC_TREE_DO && !w->leaves, NULL);
}

static void walk_inner(walk *w, int32_t loop)
{
    loop_head h;
    bool quiet = answer_mute(w->answer, true); /* first find out if it is a counted loop */
    var_state *before = state_copy(w, w->now);
    head_read_inner(&h, w, loop);
    answer_mute(w->answer, quiet);
    w->now = before;
    if (h.reason || !h.body) {
        walk_uncounted(w, loop);
        return;
    }
    head_read_inner(&h, w, loop);
    if (h.over >= 0)
        walk_range(w, loop, &h);
    else
        walk_counted(w, loop, &h);
}

/* ---- statements ---------------------------------------------------------------------------------
 */

static void walk_block(walk *w, int32_t i)
{
    const fact *facts = w->facts;
    int32_t skipped = 0;
    for (int32_t c = hpc_tree_first(w->t, i); c; c = hpc_tree_next(w->t, c)) {
        bool left = w->leaves;
        walk_statement(w, c);
        if (!left && w->leaves) skipped = 1; /* later statements are conditional */
        w->depth += skipped && !left && w->leaves;
        if (walk_ends(w->t, c)) break;
    }
    w->depth -= skipped;
    w->facts = facts;
}

static void walk_try(walk *w, int32_t i)
{
    var_state *before = state_copy(w, w->now);
    w->depth++;
    for (int32_t c = hpc_tree_first(w->t, i); c; c = hpc_tree_next(w->t, c)) {
        walk_statement(w, c);
        state_join(w, w->now, before);
    }
    w->depth--;
}

static void walk_jump(walk *w, int32_t i)
{
    switch (w->t->node[i].kind) {
    case HPC_TREE_BREAK:
        if (w->breakable == 0) answer_unsafe(w->answer, "control", i, "break leaves the loop");
        if (w->switches > 0) {
            if (w->broken)
                state_join(w, w->broken, w->now);
            else
                w->broken = state_copy(w, w->now);
        } else if (w->breakable > 0) {
            leave(w);
        }
        break;
    case HPC_TREE_CONTINUE: leave(w); break;
    case HPC_TREE_RETURN:
        for (int32_t c = hpc_tree_first(w->t, i); c; c = hpc_tree_next(w->t, c)) value_of(w, c);
        answer_unsafe(w->answer, "control", i, "return leaves the loop");
        break;
    default: answer_unsafe(w->answer, "control", i, "goto: its target is not analysed");
    }
}

static void walk_statement(walk *w, int32_t i)
{
    const hpc_tree *t = w->t;
    const hpc_tree_node *n = &t->node[i];
    if (walk_update(w, i)) return;
    switch (n->kind) {
    case HPC_TREE_NOTHING: break;
    case HPC_TREE_DECLARE:
        for (int32_t c = hpc_tree_first(t, i); c; c = hpc_tree_next(t, c)) declare(w, c);
        break;
    case HPC_TREE_BLOCK: walk_block(w, i); break;
    case HPC_TREE_IF: walk_if(w, i); break;
    case HPC_TREE_FOR:
    case HPC_TREE_RANGE:
    case HPC_TREE_WHILE:
    case HPC_TREE_DO: walk_inner(w, i); break;
    case HPC_TREE_SWITCH: walk_switch(w, i); break;
    case HPC_TREE_CASE:
    case HPC_TREE_LABEL: {
        int32_t last = 0;
        for (int32_t c = hpc_tree_first(t, i); c; c = hpc_tree_next(t, c)) last = c;
        if (n->kind == HPC_TREE_LABEL)
            answer_unknown(w->answer, "control", i, "a label: gotos are not analysed");
        if (last) walk_statement(w, last);
        break;
    }
    case HPC_TREE_BREAK:
    case HPC_TREE_CONTINUE:
    case HPC_TREE_RETURN:
    case HPC_TREE_GOTO: walk_jump(w, i); break;
    case HPC_TREE_TRY:
    case HPC_TREE_CATCH: walk_try(w, i); break;
    case HPC_TREE_VARIABLE: declare(w, i); break;
    case HPC_TREE_OTHER:
        if (!is_assertion(t, i)) {
            value_of(w, i);
            break;
        }
        for (int32_t c = hpc_tree_first(t, i); c; c = hpc_tree_next(t, c)) walk_statement(w, c);
        break;
    case HPC_TREE_BINARY:
        if (n->op == ',') { /* a++, b += 2 */
            for (int32_t c = hpc_tree_first(t, i); c; c = hpc_tree_next(t, c)) walk_statement(w, c);
            break;
        }
        value_of(w, i);
        break;
    default: value_of(w, i);
    }
}

/* ---- the loop itself ----------------------------------------------------------------------------
 */

static void bind_variable(walk *w)
{
    loop_head *h = &w->loop->head;
    bool pointer = is_pointer(w, h->symbol);
    if (pointer) count_pointer(w, h);
    int64_t c;
    w->loop->iteration = atom_new(w->prover, &(atom){.kind = ATOM_ITERATION,
                                                     .symbol = h->symbol,
                                                     .node = w->loop->node,
                                                     .of = -1,
                                                     .varies = true,
                                                     .lo = h->lo,
                                                     .hi = h->hi});
    const poly *var = poly_atom(w->prover, w->loop->iteration);
    int32_t k = slot_index(w->loop, h->symbol);
    if (k >= 0) {
        w->now[k].is = pointer ? poly_sum(w->prover, h->first, var) : var;
        w->now[k].assigned = true;
    }
    bool by_one = poly_is_number(h->stride, &c) && (c == 1 || c == -1);
    const poly *nth = pointer ? var : poly_less(w->prover, var, h->first);
    if (by_one && c < 0) nth = poly_scaled(w->prover, nth, -1);
    for (k = 0; k < w->loop->slots_n; k++) {
        slot *x = &w->loop->slots[k];
        if (!x->stride || x->inside) continue;
        w->now[k].is =
            by_one ? poly_sum(w->prover, poly_atom(w->prover, atom_symbol(w->prover, x->symbol)),
                              poly_product(w->prover, nth, x->stride))
                   : NULL;
        w->now[k].assigned = true; /* in each iteration it is what the number of it says */
    }
}

int walk_begin(walk *w, loop_facts *l, prover *pr, answer *a)
{
    *w = (walk){.t = l->p->t, .prover = pr, .answer = a, .loop = l};
    w->now = hpc_arena_alloc(l->p->work, (size_t)l->slots_cap + 1, sizeof *w->now);
    return w->now ? HPC_OK : HPC_E_NOMEM;
}

void walk_loop(walk *w)
{
    loop_head *h = &w->loop->head;
    w->facts = fact_add(w->prover, w->facts, poly_less(w->prover, h->hi, h->lo));
    bind_variable(w);
    if (h->over >= 0) bind_range(w, h, w->loop->iteration);
    walk_statement(w, h->body);
    if (w->left) state_join(w, w->now, w->left);
    w->loop->runs = w->facts;
    for (int32_t k = 0; k < w->loop->slots_n; k++) w->loop->slots[k].always = w->now[k].assigned;
}
