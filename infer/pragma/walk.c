/*
 * walk.c: one iteration of a loop, statement by statement: what each variable is worth, what is
 * read and written, under which conditions.
 */
#include <string.h>

#include "infer/pragma/priv.h"

enum { TRIPS_GUESSED = 16 };

/* ---- the ways of the walk ----------------------------------------------------------------------
 */

/* The walk goes on elsewhere from here: at the end of the loop. */
static void leave(study *s)
{
    if (s->left)
        state_join(s, s->left, s->now);
    else
        s->left = state_copy(s, s->now);
    s->leaves = true;
}

static void note_uneven(study *s, int32_t node, const char *why)
{
    if (s->uneven) return;
    s->uneven = true;
    s->uneven_at = node;
    s->uneven_why = why;
}

/* ---- declarations ---------------------------------------------------------------------------- */

/* A reference that is bound to a reference which is bound to nothing yet, such as itself. */
static bool is_unbound(const study *s, const place *p)
{
    const atom *a = p->base < 0 ? NULL : &s->prover->atoms[p->base];
    return a && a->kind == ATOM_OBJECT && slot_index(s, a->symbol) >= 0 &&
           kind_of(s->t, s->t->symbol[a->symbol].type) == HPC_TYPE_REFERENCE;
}

static const place *keep_place(study *s, const place *p)
{
    place *kept = hpc_arena_alloc(s->program->work, 1, sizeof *kept);
    if (!kept) {
        s->rc = HPC_E_NOMEM;
        return NULL;
    }
    *kept = *p;
    if (is_unbound(s, p)) kept->base = -1;
    return kept;
}

static void declare(study *s, int32_t i)
{
    const hpc_tree *t = s->t;
    int32_t v = t->node[i].symbol, k = slot_index(s, v), first = hpc_tree_first(t, i);
    place p;
    if (t->node[i].kind != HPC_TREE_VARIABLE) return;
    if (v >= 0 && (t->symbol[v].flags & HPC_SYMBOL_STATIC) &&
        !(t->symbol[v].flags & HPC_SYMBOL_KNOWN))
        answer_unsafe(s->answer, "scalar", i, "%s is static: all iterations share it",
                      symbol_name(s->t, v));
    if (k >= 0 && kind_of(t, t->symbol[v].type) == HPC_TYPE_REFERENCE) {
        if (first)
            place_of(&p, s, first);
        else
            p = (place){.base = -1, .type = bare_type(t, t->symbol[v].type)};
        s->now[k] = (var_state){.refers = keep_place(s, &p), .assigned = true};
        return;
    }
    const poly *is = first ? value_of(s, first) : NULL;
    for (int32_t c = first ? hpc_tree_next(t, first) : 0; c; c = hpc_tree_next(t, c))
        value_of(s, c);
    if (k < 0) return;
    if (first && kind_of(t, t->symbol[v].type) == HPC_TYPE_INTEGER &&
        kind_of(t, t->node[first].type) == HPC_TYPE_FLOAT)
        is = NULL;
    slot_write(s, k, i, is);
    s->now[k].assigned = true;
}

/* ---- reductions ---------------------------------------------------------------------------------
 */

static void mark_update(study *s, int32_t k, uint8_t op, int32_t node)
{
    slot *x = &s->slots[k];
    x->update = x->update == 0 || x->update == op ? op : OP_MIXED;
    if (x->update_write < 0) x->update_write = node;
    s->now[k].is = NULL;
}

static bool is_float(const hpc_tree *t, int32_t e)
{
    return e >= 0 && kind_of(t, bare_type(t, t->node[e].type)) == HPC_TYPE_FLOAT;
}

/* x += e of an atomic: whole by itself, and in any order. */
static bool walk_atomic(study *s, int32_t i, const reduction *r)
{
    place p;
    if (s->t->node[i].kind == HPC_TREE_IF) return false;
    if (s->t->node[i].kind == HPC_TREE_ASSIGN && s->t->node[i].op == '=') return false;
    if (r->value >= 0) value_of(s, r->value);
    answer_mute(s->answer, true);
    place_of(&p, s, r->target);
    answer_mute(s->answer, false);
    answer_note(s->answer, "memory", i, "%s is one atomic operation", node_text(s->program, i));
    return p.base >= 0;
}

/* A statement that folds a value into a variable that this iteration has not assigned. */
static bool walk_update(study *s, int32_t i)
{
    const hpc_tree *t = s->t;
    reduction r;
    place p;
    if (!reduction_match(&r, t, i)) return false;
    int32_t v = t->node[r.target].kind == HPC_TREE_NAME ? t->node[r.target].symbol : -1;
    int32_t k = slot_index(s, v);
    uint8_t kind = kind_of(t, bare_type(t, t->node[r.target].type));
    if (kind != HPC_TYPE_INTEGER && kind != HPC_TYPE_FLOAT && kind != HPC_TYPE_BOOL) return false;
    if (kind == HPC_TYPE_INTEGER && is_float(t, r.value)) return false; /* cut each time */
    int32_t type = bare_type(t, t->node[r.target].type);
    if (type >= 0 && (t->type[type].flags & HPC_TYPE_VOLATILE)) return false;
    if (type >= 0 && (t->type[type].flags & HPC_TYPE_ATOMIC)) return walk_atomic(s, i, &r);
    if (r.op == '*' && t->node[i].op == '/' && kind != HPC_TYPE_FLOAT) return false;
    if (k >= 0 && (s->slots[k].inside || s->now[k].assigned || s->slots[k].stride)) return false;
    if (k < 0 && t->node[r.target].kind == HPC_TREE_NAME && v >= 0 && is_inside(s, v) &&
        kind_of(t, t->symbol[v].type) != HPC_TYPE_REFERENCE)
        return false;
    if (r.value >= 0) value_of(s, r.value);
    if (r.other) value_of(s, r.other);
    s->cost += 2;
    if (k >= 0 && !s->now[k].refers) {
        mark_update(s, k, r.op, i);
        return true;
    }
    place_of(&p, s, r.target);
    access_add(s, &p, r.target, false, r.op);
    access_add(s, &p, r.target, true, r.op);
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
    case HPC_TREE_CALL: return call_known_of(t, n->symbol) == CALL_LEAVES;
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

static void walk_if(study *s, int32_t i)
{
    const hpc_tree *t = s->t;
    int32_t condition = hpc_tree_child(t, i, 0), then = hpc_tree_child(t, i, 1),
            other = hpc_tree_child(t, i, 2);
    if (!condition || !then) return;
    value_of(s, condition);
    const fact *facts = s->facts, *yes = facts_of(s, facts, condition, true),
               *no = facts_of(s, facts, condition, false);
    const fact *if_so = facts_of(s, NULL, condition, true),
               *if_not = facts_of(s, NULL, condition, false);
    var_state *before = state_copy(s, s->now);
    double cost = s->cost;
    s->depth++;
    s->facts = yes;
    walk_statement(s, then);
    bool then_ends = walk_ends(t, then), other_ends = other && walk_ends(t, other);
    var_state *after = s->now;
    double of_then = s->cost - cost;
    s->now = before;
    s->facts = no;
    if (other) walk_statement(s, other);
    s->depth--;
    if (of_then > 50 + 4 * (s->cost - cost - of_then))
        note_uneven(s, i, "most of the work depends on this condition");
    s->facts = then_ends ? no : other_ends ? yes : facts;
    if (other_ends && !then_ends)
        s->now = after;
    else if (!then_ends)
        state_join_if(s, after, if_so, if_not);
}

/* A case is entered from the switch itself, and from the one above it. */
static void walk_switch(study *s, int32_t i)
{
    const hpc_tree *t = s->t;
    int32_t what = hpc_tree_child(t, i, 0), body = hpc_tree_child(t, i, 1);
    if (!what || !body) return;
    value_of(s, what);
    var_state *before = state_copy(s, s->now), *outer = s->broken;
    bool all = false, reached = false;
    s->broken = NULL;
    state_forget(s, body);
    s->depth++;
    s->breakable++;
    s->switches++;
    for (int32_t c = hpc_tree_first(t, body); c; c = hpc_tree_next(t, c)) {
        int32_t label = t->node[c].kind == HPC_TREE_CASE ? hpc_tree_first(t, c) : 0;
        if (label && reached)
            for (int32_t k = 0; k < s->slots_n; k++) s->now[k].assigned &= before[k].assigned;
        else if (label)
            for (int32_t k = 0; k < s->slots_n; k++) s->now[k].assigned = before[k].assigned;
        all |= label && t->node[label].kind == HPC_TREE_NOTHING;
        walk_statement(s, c);
        reached = !walk_ends(t, c);
        if (t->node[c].kind == HPC_TREE_CASE) {
            int32_t last = hpc_tree_child(t, c, 1);
            reached = !(last && walk_ends(t, last));
        }
    }
    s->switches--;
    s->breakable--;
    s->depth--;
    if (s->broken && !reached)
        s->now = s->broken;
    else if (s->broken)
        state_join(s, s->now, s->broken);
    if (!all) state_join(s, s->now, before);
    state_forget(s, body);
    s->broken = outer;
}

/* ---- loops within -------------------------------------------------------------------------------
 */

typedef struct inner {
    var_state *before, *left;
    bool leaves;
    double cost;
    const fact *facts;
    int32_t switches;
} inner;

static void inner_begin(inner *in, study *s)
{
    *in = (inner){state_copy(s, s->now), s->left, s->leaves, s->cost, s->facts, s->switches};
    s->switches = 0;
    s->left = NULL;
    s->leaves = false;
    s->loops++;
    s->breakable++;
}

/* `runs`: its body runs at least once; `trips`: how often, or 0. */
static void inner_end(const inner *in, study *s, int32_t loop, bool runs, int64_t trips)
{
    if (s->left) state_join(s, s->now, s->left);
    if (!runs)
        for (int32_t k = 0; k < s->slots_n; k++) s->now[k].assigned &= in->before[k].assigned;
    state_forget(s, loop);
    s->left = in->left;
    s->leaves = in->leaves;
    s->loops--;
    s->breakable--;
    s->facts = in->facts;
    s->switches = in->switches;
    double body = s->cost - in->cost;
    s->cost = in->cost + (body + 1) * (trips > 0 ? (double)trips : TRIPS_GUESSED);
}

/* A break or a continue of its own makes what is behind it depend on conditions. */
static bool jumps(const hpc_tree *t, int32_t body)
{
    for (int32_t i = body; i < t->node[body].end; i++)
        if (t->node[i].kind == HPC_TREE_BREAK || t->node[i].kind == HPC_TREE_CONTINUE) return true;
    return false;
}

static int32_t inner_atom(study *s, const loop_head *h)
{
    int64_t c;
    bool by_one = poly_is_number(h->stride, &c) && (c == 1 || c == -1);
    return atom_new(s->prover, &(atom){.kind = ATOM_INNER,
                                       .op = by_one,
                                       .symbol = h->symbol,
                                       .node = h->node,
                                       .of = -1,
                                       .varies = true,
                                       .lo = h->lo,
                                       .hi = h->hi});
}

static bool is_pointer(const study *s, int32_t symbol)
{
    return symbol >= 0 && kind_of(s->t, s->t->symbol[symbol].type) == HPC_TYPE_POINTER;
}

/* A pointer that counts is its first value and a number. */
static void count_pointer(study *s, loop_head *h)
{
    h->lo = poly_less(s->prover, h->lo, h->first);
    h->hi = poly_less(s->prover, h->hi, h->first);
}

/* A triangle has rows that grow by the same each time. */
static const char *how_often(study *s, const loop_head *h)
{
    const poly *width = poly_less(s->prover, h->hi, h->lo), *c, *rest;
    bool linear = width && poly_split(s->prover, width, s->iteration, &c, &rest) &&
                  !poly_varies(s->prover, c) && !poly_varies(s->prover, rest);
    return linear ? "the trip count of this loop grows or shrinks from one iteration to the next, "
                    "as in a triangle"
                  : "the trip count of this loop varies between iterations";
}

static void walk_counted(study *s, int32_t loop, loop_head *h)
{
    inner in;
    int32_t k = slot_index(s, h->symbol);
    int64_t n = 0;
    bool pointer = is_pointer(s, h->symbol);
    if (k >= 0) slot_write(s, k, loop, h->first);
    inner_begin(&in, s);
    if (pointer) count_pointer(s, h);
    const poly *width = poly_less(s->prover, h->hi, h->lo),
               *var = poly_atom(s->prover, inner_atom(s, h));
    bool runs = prove_not_negative(s->prover, width, s->facts), jump = jumps(s->t, h->body);
    if (poly_varies(s->prover, h->lo) || poly_varies(s->prover, h->hi))
        note_uneven(s, loop, how_often(s, h));
    state_forget(s, h->body);
    if (k >= 0) {
        s->now[k].is = pointer ? poly_sum(s->prover, h->first, var) : var;
        s->now[k].assigned = true;
        in.before[k].assigned = true;
    }
    s->facts = fact_add(s->prover, s->facts, width);
    s->depth += jump;
    walk_statement(s, h->body);
    s->depth -= jump;
    if (!poly_is_number(width, &n)) {
        n = -1;
        s->guessed = true;
    }
    inner_end(&in, s, loop, runs && !s->leaves, n + 1);
    if (k < 0) return;
    int64_t c;
    bool ends_at =
        runs && !jump && !pointer && poly_is_number(h->stride, &c) && (c == 1 || c == -1);
    s->now[k].is = ends_at ? poly_plus(s->prover, c > 0 ? h->hi : h->lo, c) : NULL;
}

void walk_bind_range(study *s, const loop_head *h, int32_t index)
{
    const hpc_tree *t = s->t;
    int32_t i = hpc_tree_first(t, h->node), v = t->node[i].symbol, k = slot_index(s, v);
    place p;
    place_of(&p, s, h->over);
    int32_t type = bare_type(t, t->node[h->over].type);
    bool array = kind_of(t, type) == HPC_TYPE_ARRAY;
    container c = container_of(t, type);
    if (p.base >= 0 && !array && c != CONTAINER_NONE && p.n < PLACE_STEPS)
        p.step[p.n++] = (place_step){.field = STEP_CONTENT};
    if (p.base >= 0 && (array || c != CONTAINER_NONE) && p.n < PLACE_STEPS)
        p.step[p.n++] = (place_step){.field = STEP_INDEX, .index = poly_atom(s->prover, index)};
    else
        p.base = -1;
    p.type = v >= 0 ? bare_type(t, t->symbol[v].type) : -1;
    if (k >= 0 && kind_of(t, t->symbol[v].type) == HPC_TYPE_REFERENCE)
        s->now[k] = (var_state){.refers = keep_place(s, &p), .assigned = true};
    else if (k >= 0)
        slot_write(s, k, i, load_from(s, &p, i));
    else
        access_add(s, &p, i, false, 0);
}

static void walk_range(study *s, int32_t loop, loop_head *h)
{
    inner in;
    inner_begin(&in, s);
    state_forget(s, h->body);
    walk_bind_range(s, h, inner_atom(s, h));
    s->depth++;
    walk_statement(s, h->body);
    s->depth--;
    inner_end(&in, s, loop, false, 0);
}

/* A loop of which it is not known how often it runs. */
static void walk_uncounted(study *s, int32_t loop)
{
    const hpc_tree *t = s->t;
    uint8_t kind = t->node[loop].kind;
    int32_t a = hpc_tree_child(t, loop, 0), b = hpc_tree_child(t, loop, 1);
    int32_t condition = kind == HPC_TREE_WHILE ? a : b;
    int32_t body = kind == HPC_TREE_FOR     ? hpc_tree_child(t, loop, 3)
                   : kind == HPC_TREE_WHILE ? b
                                            : a;
    inner in;
    if (!a || !b || !body) return;
    note_uneven(s, loop, "the trip count of this loop is unknown until it ends");
    if (kind == HPC_TREE_FOR) walk_statement(s, a);
    inner_begin(&in, s);
    state_forget(s, loop);
    if (kind != HPC_TREE_DO && t->node[condition].kind != HPC_TREE_NOTHING) {
        value_of(s, condition);
        s->facts = facts_of(s, s->facts, condition, true);
    }
    s->depth++;
    walk_statement(s, body);
    if (kind == HPC_TREE_DO) value_of(s, condition);
    if (kind == HPC_TREE_FOR) walk_statement(s, hpc_tree_child(t, loop, 2));
    s->depth--;
    inner_end(&in, s, loop, kind == HPC_TREE_DO && !s->leaves, 0);
}

static void walk_inner(study *s, int32_t loop)
{
    loop_head h;
    bool quiet = answer_mute(s->answer, true); /* whether it is counted at all */
    var_state *before = state_copy(s, s->now);
    head_read(&h, s, loop);
    answer_mute(s->answer, quiet);
    s->now = before;
    if (h.reason || !h.body) {
        walk_uncounted(s, loop);
        return;
    }
    head_read(&h, s, loop);
    if (h.over >= 0)
        walk_range(s, loop, &h);
    else
        walk_counted(s, loop, &h);
}

/* ---- statements ---------------------------------------------------------------------------------
 */

static void walk_block(study *s, int32_t i)
{
    const fact *facts = s->facts;
    int32_t skipped = 0;
    for (int32_t c = hpc_tree_first(s->t, i); c; c = hpc_tree_next(s->t, c)) {
        bool left = s->leaves;
        walk_statement(s, c);
        if (!left && s->leaves) skipped = 1; /* what is behind it does not always run */
        s->depth += skipped && !left && s->leaves;
        if (walk_ends(s->t, c)) break;
    }
    s->depth -= skipped;
    s->facts = facts;
}

static void walk_try(study *s, int32_t i)
{
    var_state *before = state_copy(s, s->now);
    s->depth++;
    for (int32_t c = hpc_tree_first(s->t, i); c; c = hpc_tree_next(s->t, c)) {
        walk_statement(s, c);
        state_join(s, s->now, before);
    }
    s->depth--;
}

static void walk_jump(study *s, int32_t i)
{
    switch (s->t->node[i].kind) {
    case HPC_TREE_BREAK:
        if (s->breakable == 0) answer_unsafe(s->answer, "control", i, "break leaves the loop");
        if (s->switches > 0) {
            if (s->broken)
                state_join(s, s->broken, s->now);
            else
                s->broken = state_copy(s, s->now);
        } else if (s->breakable > 0) {
            leave(s);
        }
        break;
    case HPC_TREE_CONTINUE: leave(s); break;
    case HPC_TREE_RETURN:
        for (int32_t c = hpc_tree_first(s->t, i); c; c = hpc_tree_next(s->t, c)) value_of(s, c);
        answer_unsafe(s->answer, "control", i, "return leaves the loop");
        break;
    default: answer_unsafe(s->answer, "control", i, "goto: its target is not analysed");
    }
}

void walk_statement(study *s, int32_t i)
{
    const hpc_tree *t = s->t;
    const hpc_tree_node *n = &t->node[i];
    if (walk_update(s, i)) return;
    switch (n->kind) {
    case HPC_TREE_NOTHING: break;
    case HPC_TREE_DECLARE:
        for (int32_t c = hpc_tree_first(t, i); c; c = hpc_tree_next(t, c)) declare(s, c);
        break;
    case HPC_TREE_BLOCK: walk_block(s, i); break;
    case HPC_TREE_IF: walk_if(s, i); break;
    case HPC_TREE_FOR:
    case HPC_TREE_RANGE:
    case HPC_TREE_WHILE:
    case HPC_TREE_DO: walk_inner(s, i); break;
    case HPC_TREE_SWITCH: walk_switch(s, i); break;
    case HPC_TREE_CASE:
    case HPC_TREE_LABEL: {
        int32_t last = 0;
        for (int32_t c = hpc_tree_first(t, i); c; c = hpc_tree_next(t, c)) last = c;
        if (n->kind == HPC_TREE_LABEL)
            answer_unknown(s->answer, "control", i, "a label: gotos are not analysed");
        if (last) walk_statement(s, last);
        break;
    }
    case HPC_TREE_BREAK:
    case HPC_TREE_CONTINUE:
    case HPC_TREE_RETURN:
    case HPC_TREE_GOTO: walk_jump(s, i); break;
    case HPC_TREE_TRY:
    case HPC_TREE_CATCH: walk_try(s, i); break;
    case HPC_TREE_VARIABLE: declare(s, i); break;
    case HPC_TREE_BINARY:
        if (n->op == ',') { /* a++, b += 2 */
            for (int32_t c = hpc_tree_first(t, i); c; c = hpc_tree_next(t, c)) walk_statement(s, c);
            break;
        }
        value_of(s, i);
        break;
    default: value_of(s, i);
    }
}

/* ---- the loop itself ----------------------------------------------------------------------------
 */

static void bind_variable(study *s)
{
    loop_head *h = &s->head;
    bool pointer = is_pointer(s, h->symbol);
    if (pointer) count_pointer(s, h);
    int64_t c;
    s->iteration = atom_new(s->prover, &(atom){.kind = ATOM_ITERATION,
                                               .symbol = h->symbol,
                                               .node = s->loop,
                                               .of = -1,
                                               .varies = true,
                                               .lo = h->lo,
                                               .hi = h->hi});
    const poly *var = poly_atom(s->prover, s->iteration);
    int32_t k = slot_index(s, h->symbol);
    if (k >= 0) {
        s->now[k].is = pointer ? poly_sum(s->prover, h->first, var) : var;
        s->now[k].assigned = true;
    }
    bool by_one = poly_is_number(h->stride, &c) && (c == 1 || c == -1);
    const poly *nth = pointer ? var : poly_less(s->prover, var, h->first);
    if (by_one && c < 0) nth = poly_scaled(s->prover, nth, -1);
    for (k = 0; k < s->slots_n; k++) {
        slot *x = &s->slots[k];
        if (!x->stride || x->inside) continue;
        s->now[k].is =
            by_one ? poly_sum(s->prover, poly_atom(s->prover, atom_symbol(s->prover, x->symbol)),
                              poly_product(s->prover, nth, x->stride))
                   : NULL;
        s->now[k].assigned = true; /* in each iteration it is what the number of it says */
    }
}

void walk_loop(study *s)
{
    loop_head *h = &s->head;
    s->facts = fact_add(s->prover, s->facts, poly_less(s->prover, h->hi, h->lo));
    bind_variable(s);
    if (h->over >= 0) walk_bind_range(s, h, s->iteration);
    walk_statement(s, h->body);
    if (s->left) state_join(s, s->now, s->left);
    for (int32_t k = 0; k < s->slots_n; k++) s->slots[k].always = s->now[k].assigned;
}
