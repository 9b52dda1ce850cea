/*
 * parts.c: see parts.h. Accesses come from the walk; a pair that a clause makes harmless still
 * joins its statements, because one loop would pass the value of its last iteration to the other.
 */
#include "infer/pragma/parts.h"

#include <string.h>

#include "infer/pragma/memory.h"
#include "infer/pragma/scalar.h"
#include "infer/pragma/splice.h"

enum { PAIRS_MOST = 3000, STEPS_MOST = 60000 };

/* The statement with a node; -1: none. */
static int index_of(const parts *p, int32_t node)
{
    for (int k = 0; k < p->n; k++)
        if (node >= p->node[k] && (k + 1 == p->n || node < p->node[k + 1])) return k;
    return -1;
}

/* A dependence between iterations. `ahead`: all sources in k may run before all sinks in l. */
static void note(parts *p, int k, int l, bool blocks, bool ahead)
{
    const int low = k < l ? k : l, high = k < l ? l : k;
    p->blocks[low][high] |= blocks;
    p->joined[low][high] |= low < high && !(ahead && k < l);
}

/* ---- statements ---- */

static bool leaves(const walk *w, int32_t jump)
{
    const hpc_tree *t = w->t;
    int32_t up = t->node[jump].parent;
    while (up > w->loop->node && !is_loop(t->node[up].kind) &&
           !(t->node[up].kind == HPC_TREE_SWITCH && t->node[jump].kind == HPC_TREE_BREAK))
        up = t->node[up].parent;
    return up <= w->loop->node;
}

/* All iterations execute all statements, and nothing else runs between them. */
static bool is_straight(const walk *w, int32_t body)
{
    const hpc_tree *t = w->t;
    for (int32_t i = body + 1; i < t->node[body].end; i++) switch (t->node[i].kind)
        {
        case HPC_TREE_BREAK:
        case HPC_TREE_CONTINUE:
            if (leaves(w, i)) return false;
            break;
        case HPC_TREE_RETURN:
        case HPC_TREE_GOTO:
        case HPC_TREE_LABEL:
        case HPC_TREE_THROW:
        case HPC_TREE_TRY:
        case HPC_TREE_ASM:
        case HPC_TREE_LAMBDA: return false;
        default: break;
        }
    return true;
}

static bool find_statements(parts *p, const walk *w)
{
    const hpc_tree *t = w->t;
    const int32_t loop = w->loop->node, body = w->loop->head.body;
    if (t->node[loop].kind != HPC_TREE_FOR && t->node[loop].kind != HPC_TREE_RANGE) return false;
    if (t->node[body].kind != HPC_TREE_BLOCK || (t->node[body].flags & HPC_TREE_ELSEWHERE))
        return false;
    for (int32_t c = hpc_tree_first(t, body); c; c = hpc_tree_next(t, c)) {
        if (p->n == PARTS_MOST || (t->node[c].flags & TREE_SPLICED)) return false;
        p->node[p->n++] = c;
    }
    return p->n > 1 && is_straight(w, body);
}

/* A part of an expression that has no effect and no hidden input. */
static bool is_plain_node(const hpc_tree *t, int32_t i)
{
    switch (t->node[i].kind) {
    case HPC_TREE_NUMBER:
    case HPC_TREE_FLOAT:
    case HPC_TREE_NAME:
    case HPC_TREE_MEMBER:
    case HPC_TREE_INDEX:
    case HPC_TREE_BINARY:
    case HPC_TREE_CHOOSE:
    case HPC_TREE_THIS:
    case HPC_TREE_CAST: return true;
    case HPC_TREE_UNARY: {
        const uint8_t op = t->node[i].op;
        return op != '&' && !(op >= HPC_OP_PRE_INCREMENT && op <= HPC_OP_POST_DECREMENT);
    }
    case HPC_TREE_CALL: return call_known_at(t, i) == CALL_VALUE;
    default: return false;
    }
}

/* ---- variables ---- */

/* The first use of a variable in each statement assigns it, so none gets a value from another. */
static bool assigns_itself(const walk *w, const slot *x, const parts *p, const bool *uses)
{
    if (x->stride || x->update || x->exposed >= 0 || is_live(w->loop, x->symbol)) return false;
    for (int k = 0; k < p->n; k++)
        if (uses[k] && !part_assigns_first(w->t, x->symbol, p->node[k])) return false;
    return true;
}

static bool is_in_head(const walk *w, int32_t symbol)
{
    const hpc_tree *t = w->t;
    for (int32_t i = w->loop->node; i < w->loop->head.body; i++)
        if (t->node[i].kind == HPC_TREE_NAME && t->node[i].symbol == symbol) return true;
    return false;
}

/* ---- declarations that several loops can have ---- */

/* An expression with no effects. Each variable that it names has the same value in both loops. */
static bool is_repeatable(const parts *p, const walk *w, int32_t e)
{
    const hpc_tree *t = w->t;
    for (int32_t i = e; i < t->node[e].end; i++) {
        const hpc_tree_node *n = &t->node[i];
        const int32_t v = n->kind == HPC_TREE_NAME ? n->symbol : -1;
        if (!is_plain_node(t, i)) return false;
        if (v < 0 || v == w->loop->head.symbol || t->symbol[v].kind == HPC_SYMBOL_FUNCTION)
            continue;
        if (is_inside(w->loop, v)) {
            const int k = index_of(p, t->symbol[v].node);
            if (k < 0 || !p->repeats[k]) return false;
        } else if (slot_index(w->loop, v) >= 0) {
            return false;
        }
    }
    return true;
}

/* Nothing that the statement reads is written by the loop, in any iteration. */
static bool reads_constants(const parts *p, const walk *w, int k)
{
    const loop_facts *l = w->loop;
    for (int64_t i = 0; i < l->n; i++) {
        if (index_of(p, l->item[i].node) != k) continue;
        if (l->item[i].write) return false;
        for (int64_t j = 0; j < l->n; j++)
            if (l->item[j].write &&
                relate(l->p, w->prover, &l->item[i].place, &l->item[j].place) != RELATION_APART)
                return false;
    }
    return true;
}

/* No other statement is on the lines of a statement. */
static bool has_lines(const parts *p, const walk *w, int k)
{
    const uint32_t first = parts_first_line(p, w, k), last = parts_last_line(p, w, k);
    return first == last && first > w->t->node[w->loop->head.body].line &&
           (k == 0 || parts_last_line(p, w, k - 1) < first) &&
           (k + 1 == p->n || last < parts_first_line(p, w, k + 1));
}

static void find_repeated(parts *p, const walk *w)
{
    const hpc_tree *t = w->t;
    for (int k = 0; k < p->n; k++) {
        bool ok = t->node[p->node[k]].kind == HPC_TREE_DECLARE && reads_constants(p, w, k) &&
                  has_lines(p, w, k);
        for (int32_t c = hpc_tree_first(t, p->node[k]); c && ok; c = hpc_tree_next(t, c)) {
            const int32_t first = hpc_tree_first(t, c), v = t->node[c].symbol;
            const slot *x = t->node[c].kind == HPC_TREE_VARIABLE && slot_index(w->loop, v) >= 0
                                ? &w->loop->slots[slot_index(w->loop, v)]
                                : NULL;
            ok = x && x->inside && !x->escaped && !x->update && x->writes_n == 1 && first &&
                 kind_of(t, t->symbol[v].type) != HPC_TYPE_REFERENCE && is_repeatable(p, w, first);
        }
        p->repeats[k] = ok;
    }
}

/* ---- uses ---- */

/* Joins the statements that use one variable. */
static void join_uses(parts *p, const walk *w, int32_t symbol, const slot *x)
{
    const int declared = index_of(p, w->t->symbol[symbol].node);
    const hpc_tree *t = w->t;
    bool uses[PARTS_MOST] = {false};
    for (int32_t i = w->loop->head.body; i < t->node[w->loop->head.body].end; i++) {
        const uint8_t kind = t->node[i].kind;
        if ((kind == HPC_TREE_NAME || kind == HPC_TREE_VARIABLE) && t->node[i].symbol == symbol) {
            const int k = index_of(p, i);
            if (k >= 0) uses[k] = true;
        }
    }
    if (x && assigns_itself(w, x, p, uses)) return;
    if (x && x->inside && declared >= 0 && p->repeats[declared]) {
        for (int k = 0; k < p->n; k++) p->uses[declared][k] |= uses[k];
        return;
    }
    for (int k = 0; k < p->n; k++)
        for (int l = k; l < p->n; l++)
            if (uses[k] && uses[l]) note(p, k, l, x && x->blocks, false);
    for (int k = 0; k < p->n; k++) p->writes[k] |= uses[k] && x && !x->inside;
}

static bool join_variables(parts *p, const walk *w)
{
    const hpc_tree *t = w->t;
    const int32_t body = w->loop->head.body;
    find_repeated(p, w);
    for (int32_t k = 0; k < w->loop->slots_n; k++) {
        const slot *x = &w->loop->slots[k];
        if (x->symbol == w->loop->head.symbol) continue;
        if (t->symbol[x->symbol].node > w->loop->node && t->symbol[x->symbol].node < body)
            continue; /* the variable of a range */
        if (!x->inside && is_in_head(w, x->symbol)) return false;
        join_uses(p, w, x->symbol, x);
    }
    for (int32_t i = body; i < t->node[body].end; i++)
        if (t->node[i].kind == HPC_TREE_VARIABLE && t->node[i].symbol >= 0 &&
            slot_index(w->loop, t->node[i].symbol) < 0)
            join_uses(p, w, t->node[i].symbol, NULL);
    for (int64_t i = 0; i < w->loop->n; i++) { /* reads of a variable need not be accesses */
        const access *a = &w->loop->item[i];
        const atom *x = a->place.base < 0 ? NULL : &w->prover->atoms[a->place.base];
        if (a->write && x && x->kind == ATOM_OBJECT && a->place.n == 0)
            join_uses(p, w, x->symbol, NULL);
    }
    return true;
}

/* ---- memory ---- */

/* 1: the location that `a` accesses is that of `b` in a later iteration; -1: in an earlier one;
 * 0: not known. */
static int direction(walk *w, const access *a, const access *b)
{
    prover *pr = w->prover;
    for (int32_t k = 0; k < a->place.n && k < b->place.n; k++) {
        const poly *x = a->place.step[k].index, *y = b->place.step[k].index, *fx, *fy, *rx, *ry;
        int64_t by, factor;
        if (a->place.step[k].field != b->place.step[k].field) return 0;
        if (!x || !y || !poly_split(pr, x, w->loop->iteration, &fx, &rx) ||
            !poly_split(pr, y, w->loop->iteration, &fy, &ry))
            continue;
        if (!poly_is_number(fx, &factor) || factor == 0 || !poly_equal(fx, fy) ||
            poly_varies(pr, rx) || poly_varies(pr, ry) || !poly_differ_by(rx, ry, &by) || by == 0)
            continue;
        return ((by > 0) == (factor > 0)) == !w->loop->head.down ? 1 : -1;
    }
    return 0;
}

static bool note_pair(parts *p, walk *w, const access *a, const access *b)
{
    const pair_kind kind = pair_judge(w, a, b);
    const int k = index_of(p, a->node), l = index_of(p, b->node);
    if (kind == PAIR_APART) return true;
    if (k < 0 || l < 0 || kind == PAIR_UNKNOWN) return false;
    const int way = kind == PAIR_MEETS && a->place.base == b->place.base ? direction(w, a, b) : 0;
    if (way >= 0)
        note(p, k, l, kind == PAIR_MEETS, way > 0);
    else
        note(p, l, k, kind == PAIR_MEETS, true);
    return true;
}

static bool join_accesses(parts *p, walk *w)
{
    const int64_t from = w->prover->spent;
    int64_t pairs = 0;
    for (int64_t i = 0; i < w->loop->n; i++)
        for (int64_t k = i; k < w->loop->n; k++) {
            const access *a = &w->loop->item[i], *b = &w->loop->item[k];
            if (!a->write && !b->write) continue;
            if (++pairs > PAIRS_MOST || w->prover->spent - from > STEPS_MOST) return false;
            prover_mark mark = prover_here(w->prover);
            const bool ok = note_pair(p, w, a, b);
            prover_rewind(w->prover, mark);
            if (!ok) return false;
        }
    for (int64_t i = 0; i < w->loop->n; i++) {
        const int k = index_of(p, w->loop->item[i].node);
        if (k >= 0) p->writes[k] |= w->loop->item[i].write;
    }
    return true;
}

/* ---- input and output ---- */

/* An argument that leads to no memory of the loop: a number, a literal, a stream. */
static bool is_plain_argument(const hpc_tree *t, int32_t e)
{
    const int32_t type = bare_type(t, t->node[e].type);
    const uint8_t kind = kind_of(t, type);
    if (t->node[e].kind == HPC_TREE_STRING) return true;
    if (kind == HPC_TYPE_POINTER) {
        const int32_t to = t->type[type].to;
        return kind_of(t, to) == HPC_TYPE_RECORD && strstr(t->name + t->type[to].name, "FILE");
    }
    return kind == HPC_TYPE_INTEGER || kind == HPC_TYPE_FLOAT || kind == HPC_TYPE_BOOL;
}

static bool join_ordered(parts *p, const walk *w)
{
    const conflicts *c = &w->answer->conflicts;
    const hpc_tree *t = w->t;
    for (int i = 0; i < c->ordered_n; i++) {
        const int k = index_of(p, c->ordered[i]);
        if (k < 0) return false;
        for (int j = 0; j <= i; j++) {
            const int l = index_of(p, c->ordered[j]);
            if (l < 0) return false;
            note(p, k, l, true, false);
        }
        for (int32_t e = hpc_tree_child(t, c->ordered[i], 1); e; e = hpc_tree_next(t, e)) {
            if (is_plain_argument(t, e) && !(t->node[e].flags & HPC_TREE_BY_REFERENCE)) continue;
            for (int l = 0; l < p->n; l++) note(p, k, l, k == l, false);
        }
    }
    return true;
}

/* ---- stores of one value ---- */

static bool is_invariant(const walk *w, int32_t e)
{
    const hpc_tree *t = w->t;
    for (int32_t i = e; i < t->node[e].end; i++) {
        const int32_t v = t->node[i].kind == HPC_TREE_NAME ? t->node[i].symbol : -1;
        if (!is_plain_node(t, i) || t->node[i].kind == HPC_TREE_CALL) return false;
        if (v >= 0 &&
            (v == w->loop->head.symbol || is_inside(w->loop, v) || slot_index(w->loop, v) >= 0))
            return false;
    }
    return true;
}

static bool is_settled_place(const prover *pr, const place *p)
{
    if (p->base < 0 || pr->atoms[p->base].varies) return false;
    for (int32_t k = 0; k < p->n; k++)
        if (p->step[k].field == STEP_INDEX &&
            (!p->step[k].index || poly_varies(pr, p->step[k].index)))
            return false;
    return true;
}

static bool never_meet(walk *w, const access *a, const access *b)
{
    prover_mark mark = prover_here(w->prover);
    const bool apart = pair_judge(w, a, b) == PAIR_APART;
    prover_rewind(w->prover, mark);
    return apart;
}

/* Only later statements read the location, and no other one writes it or what the statement reads.
 */
static bool is_alone(const parts *p, walk *w, const access *put, int k)
{
    const loop_facts *l = w->loop;
    for (int64_t i = 0; i < l->n; i++) {
        const access *a = &l->item[i];
        const int at = index_of(p, a->node);
        if (a != put && (a->write || at <= k) && !never_meet(w, put, a)) return false;
        if (at != k || a->write) continue;
        for (int64_t j = 0; j < l->n; j++)
            if (l->item[j].write && !never_meet(w, a, &l->item[j])) return false;
    }
    return true;
}

bool parts_stores_one_value(const parts *p, walk *w, int k)
{
    const hpc_tree *t = w->t;
    const access *put = NULL;
    const int32_t s = p->node[k];
    if (t->node[s].kind != HPC_TREE_ASSIGN || t->node[s].op != '=' || !is_invariant(w, s + 1) ||
        !is_invariant(w, hpc_tree_child(t, s, 1)))
        return false;
    for (int64_t i = 0; i < w->loop->n; i++) {
        const access *a = &w->loop->item[i];
        if (!a->write || index_of(p, a->node) != k) continue;
        if (put || a->update || a->depth > 0) return false;
        put = a;
    }
    if (!put || !is_settled_place(w->prover, &put->place)) return false;
    const bool quiet = answer_mute(w->answer, true), is = is_alone(p, w, put, k);
    answer_mute(w->answer, quiet);
    return is;
}

/* ---- all ---- */

bool parts_read(parts *p, walk *w)
{
    const answer *a = w->answer;
    const conflicts *c = &a->conflicts;
    memset(p, 0, sizeof *p);
    if (!a->unsafe || a->unknown || c->cut || c->ordered_n > CONFLICT_ORDERED) return false;
    if (a->objections != c->memory + c->scalars + c->ordered_n) return false;
    if (!find_statements(p, w)) return false;
    const bool quiet = answer_mute(w->answer, true);
    const bool ok = join_variables(p, w) && join_accesses(p, w) && join_ordered(p, w);
    answer_mute(w->answer, quiet);
    return ok;
}

/* ---- lines ---- */

uint32_t parts_first_line(const parts *p, const walk *w, int k)
{
    return w->t->node[p->node[k]].line;
}

uint32_t parts_last_line(const parts *p, const walk *w, int k)
{
    const hpc_tree_node *n = &w->t->node[p->node[k]];
    uint32_t line = n->line;
    for (size_t i = n->at; i < n->to && i < w->loop->p->text_n; i++)
        line += w->loop->p->text[i] == '\n';
    return line;
}
